# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The compiler options of all C files of the project.
#
#   vnet_options   link to it (PRIVATE) from every target
#   vnet_abi       include path of abi/; the firmware, the agents and the
#                  provider link to it
#
# VNET_SANITIZE=address,undefined | thread | OFF

set(VNET_SANITIZE OFF CACHE STRING "Sanitizers: address,undefined or thread or OFF")
set_property(CACHE VNET_SANITIZE PROPERTY STRINGS OFF "address,undefined" thread)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)			# -std=gnu11
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)		# clang-tidy reads it
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# Debug information in every build: a crash in a test of the release build
# should name a line. It costs nothing at run time.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-Og -g3")
if(VNET_SANITIZE)
  # Reports of sanitizers need line numbers only, and files compile faster.
  set(CMAKE_C_FLAGS_DEBUG "-Og -g1")
endif()

add_library(vnet_options INTERFACE)
target_compile_options(vnet_options INTERFACE
  -Wall
  -Wextra
  -Wshadow
  -Wstrict-prototypes
  -Wmissing-prototypes
  -Wcast-qual
  -Wpointer-arith
  -Werror
  -fno-common
  -fno-strict-aliasing	# rings and SRAM are bytes seen as several types
  )

target_compile_definitions(vnet_options INTERFACE VNET_VERSION="${PROJECT_VERSION}")

add_library(vnet_abi INTERFACE)
target_include_directories(vnet_abi INTERFACE "${PROJECT_SOURCE_DIR}/abi")

if(VNET_SANITIZE)
  target_compile_options(vnet_options INTERFACE
    "-fsanitize=${VNET_SANITIZE}"
    -fno-sanitize-recover=all
    -fno-omit-frame-pointer
    )
  target_link_options(vnet_options INTERFACE "-fsanitize=${VNET_SANITIZE}")
  if(VNET_SANITIZE MATCHES "thread")
    # ThreadSanitizer does not support fences, and the compiler warns of each. If a fence orders
    # plain accesses, tests of this build may report races that do not exist.
    target_compile_options(vnet_options INTERFACE -Wno-tsan)
  endif()
endif()

# In vnetd and the preload library, the firmware and its platform are inlined into each other.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT VNET_SANITIZE)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT VNET_LTO OUTPUT reason LANGUAGES C)
  if(VNET_LTO)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  else()
    message(WARNING "no link-time optimisation: ${reason}")
  endif()
endif()
