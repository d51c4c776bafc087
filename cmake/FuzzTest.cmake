# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# fuzz_test(): builds and runs a libFuzzer target. It needs clang, and has its own sanitizers, so
# sanitizer builds have no fuzz tests.
#
# fuzz_test(NAME fuzz.<what> PROGRAM <program> RUNS <n>
#           SOURCES <file or pattern>...   from the project's root
#           HEADERS <folder>...            folders of the headers that it depends on
#           INCLUDES <folder>...           include path
#           [CORPUS <folder>]              initial inputs; only read
#           [LIBRARIES <name>...]          libraries of the sources
#           [OPTIONS <option>...]          further options of libFuzzer
#           [CMOCKA])                      the sources use cmocka
#
# Every target contains the firmware; SOURCES need not name it. The test builds its target.
#
# fuzz.<what> makes the same n runs each time (if address space randomisation can be disabled), so a
# new failure is due to a change. fuzz.<what>-long has a random seed, and takes ten minutes.
find_program(VNET_CLANG clang)
find_path(CMOCKA_INCLUDE cmocka.h)
find_library(CMOCKA_LIBRARY cmocka)

function(fuzz_files variable)
  set(found "")
  foreach(pattern IN LISTS ARGN)
    file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${pattern}")
    if(NOT files)
      message(FATAL_ERROR "fuzz_test: there is no ${pattern}")
    endif()
    list(APPEND found ${files})
  endforeach()
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

set(VNET_FUZZ_FLAGS -std=gnu11 -O1 -g -Wall -Wextra -Wshadow -Werror -Wno-unused-parameter
  -Wno-gnu-variable-sized-type-not-at-end -fno-strict-aliasing
  -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
  -DNIC_TEST_STEPS "-DVNET_VERSION=\"${PROJECT_VERSION}\"")
set(VNET_FUZZ_FIRMWARE "${CMAKE_CURRENT_BINARY_DIR}/libfuzz_firmware.a")

# The firmware, compiled once for all fuzz targets.
function(fuzz_firmware)
  fuzz_files(sources firmware/*/*.c)
  fuzz_files(headers abi/*.h firmware/*.h firmware/*/*.h)
  set(objects "")
  foreach(source IN LISTS sources)
    file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}/firmware" "${source}")
    string(MAKE_C_IDENTIFIER "${name}" name)	# two rooms may have a file of one name
    set(object "${CMAKE_CURRENT_BINARY_DIR}/fuzz_${name}.o")
    add_custom_command(OUTPUT "${object}"
      COMMAND "${VNET_CLANG}" ${VNET_FUZZ_FLAGS} "-I${PROJECT_SOURCE_DIR}/firmware"
        "-I${PROJECT_SOURCE_DIR}/abi" -c "${source}" -o "${object}"
      DEPENDS "${source}" ${headers}
      COMMENT "Building ${source} for the fuzz targets"
      VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  add_custom_command(OUTPUT "${VNET_FUZZ_FIRMWARE}"
    COMMAND "${CMAKE_COMMAND}" -E rm -f "${VNET_FUZZ_FIRMWARE}"
    COMMAND "${CMAKE_AR}" rcs "${VNET_FUZZ_FIRMWARE}" ${objects}
    DEPENDS ${objects}
    VERBATIM)
  add_custom_target(fuzz_firmware_archive DEPENDS "${VNET_FUZZ_FIRMWARE}")
endfunction()

if(VNET_CLANG AND NOT VNET_SANITIZE)
  fuzz_firmware()
endif()

function(fuzz_runs name program corpus)
  set(start "mkdir -p \"$VNET_TEST_DIR/found\" && exec \"$0\" \"$@\" \"$VNET_TEST_DIR/found\" ${corpus}")
  vnet_test(NAME ${name} VARIANT BUILDS ${F_PROGRAM}_program PROCESSORS 2 TIMEOUT 600 FIXED_ADDRESSES
    COMMAND sh -c "${start}" "${program}" -seed=1 -runs=${F_RUNS} -reload=0 ${ARGN})
  vnet_test(NAME ${name}-long BUILDS ${F_PROGRAM}_program TIMEOUT 1200 SOAK
    COMMAND sh -c "${start}" "${program}" -max_total_time=600 ${ARGN})
endfunction()

function(fuzz_test)
  cmake_parse_arguments(PARSE_ARGV 0 F "CMOCKA" "NAME;PROGRAM;RUNS;CORPUS"
    "SOURCES;HEADERS;INCLUDES;LIBRARIES;OPTIONS")
  if(F_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "fuzz_test ${F_NAME}: what is ${F_UNPARSED_ARGUMENTS}?")
  endif()
  if(VNET_SANITIZE)
    return()
  endif()
  if(NOT VNET_CLANG OR (F_CMOCKA AND NOT (CMOCKA_LIBRARY AND CMOCKA_INCLUDE)))
    vnet_test(NAME ${F_NAME}
      COMMAND sh -c "echo 'SKIP: no clang or no cmocka (Debian: clang, libcmocka-dev)'; exit 77")
    return()
  endif()

  set(program "${CMAKE_CURRENT_BINARY_DIR}/${F_PROGRAM}")
  fuzz_files(sources ${F_SOURCES})
  list(TRANSFORM F_HEADERS APPEND "/*.h" OUTPUT_VARIABLE patterns)
  fuzz_files(headers ${patterns})
  list(TRANSFORM F_INCLUDES PREPEND "-I${PROJECT_SOURCE_DIR}/")
  set(libraries ${F_LIBRARIES})
  list(TRANSFORM libraries PREPEND "-l")
  if(F_CMOCKA)
    list(APPEND libraries "${CMOCKA_LIBRARY}")
  endif()
  add_custom_command(OUTPUT "${program}"
    COMMAND "${VNET_CLANG}" ${VNET_FUZZ_FLAGS}
      ${F_INCLUDES} ${sources} "${VNET_FUZZ_FIRMWARE}" -o "${program}" ${libraries}
    DEPENDS ${sources} ${headers} "${VNET_FUZZ_FIRMWARE}"
    COMMENT "Building the fuzz target ${F_PROGRAM}"
    VERBATIM)
  add_custom_target(${F_PROGRAM}_program DEPENDS "${program}")
  add_dependencies(${F_PROGRAM}_program fuzz_firmware_archive)

  set(corpus "")
  if(F_CORPUS)
    set(corpus "'${CMAKE_CURRENT_SOURCE_DIR}/${F_CORPUS}'")
  endif()
  fuzz_runs(${F_NAME} "${program}" "${corpus}" -timeout=20 -rss_limit_mb=4096
    -print_final_stats=1 ${F_OPTIONS})
endfunction()
