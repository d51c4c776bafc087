# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# vnet_test(): declares a test of a suite.
#
# vnet_test(NAME <suite>.<what> COMMAND <program> [args...]
#           [TIMEOUT <seconds>]       default 60
#           [PROCESSORS <n>]          processors that it keeps busy, default 1. One more if its
#                                     programs measure the processor's clock: they fail on a machine
#                                     with more work than processors, and "vnet test" runs one test
#                                     more than there are processors
#           [GUEST]                   runs a guest. Only one guest runs at a time. It counts as one
#                                     processor although it uses up to two: a slow guest is no failure
#           [SERIAL]                  no other test may run at the same time
#           [SOAK]                    long: only with "vnet test --soak"
#           [VARIANT]                 a variant of another test. Variants take turns: a commit
#                                     runs one in VNET_TURNS, "vnet test --soak" all
#           [BUILDS <target>]         target that the test builds first, because "all" omits it
#           [SANITIZERS address|thread ...]
#                                     also a test of these sanitizer builds, as a variant; without
#                                     this option, only of the unsanitized builds
#           [SANITIZED_ONLY]          not a test of the unsanitized builds
#           [FIXED_ADDRESSES]         without address space randomisation
#           [ENVIRONMENT <VAR=value> ...]
#           [BARE])                   run directly, not through tests/isolated
#
# The test's label, by which ctest sums up times, is its <suite>. A test passes with status 0, is
# skipped with 77 after a line "SKIP: <reason>", and fails otherwise. tests/README.md describes its
# environment, which tests/isolated creates.

# The number of turns. Variants get them in the order of their declarations, so those of one suite
# are distributed evenly.
set(VNET_TURNS 6)
set_property(GLOBAL PROPERTY VNET_NEXT_TURN 0)

set(VNET_TEST_PREFIX "")
set(VNET_TEST_SANITIZERS "")
if(VNET_SANITIZE MATCHES "address")
  set(VNET_TEST_PREFIX "asan.")
  list(APPEND VNET_TEST_SANITIZERS address)
elseif(VNET_SANITIZE MATCHES "thread")
  set(VNET_TEST_PREFIX "tsan.")
  list(APPEND VNET_TEST_SANITIZERS thread)
endif()

function(vnet_test)
  cmake_parse_arguments(PARSE_ARGV 0 T "GUEST;SERIAL;SOAK;VARIANT;SANITIZED_ONLY;FIXED_ADDRESSES;BARE"
    "NAME;TIMEOUT;PROCESSORS;BUILDS" "COMMAND;SANITIZERS;ENVIRONMENT")
  if(T_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vnet_test ${T_NAME}: what is ${T_UNPARSED_ARGUMENTS}?")
  endif()
  if(NOT T_NAME MATCHES "^([a-z0-9_-]+)\\.")
    message(FATAL_ERROR "vnet_test: the name '${T_NAME}' does not begin with a suite")
  endif()
  set(suite "${CMAKE_MATCH_1}")

  if(VNET_TEST_SANITIZERS)
    if(NOT VNET_TEST_SANITIZERS IN_LIST T_SANITIZERS)
      return()
    endif()
    set(T_VARIANT ON)
  elseif(T_SANITIZED_ONLY)
    return()
  endif()

  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 60)
  endif()
  if(NOT T_PROCESSORS)
    set(T_PROCESSORS 1)
  endif()
  set(labels "${suite}")
  if(T_SOAK)
    list(APPEND labels soak)
  elseif(T_VARIANT)
    get_property(turn GLOBAL PROPERTY VNET_NEXT_TURN)
    list(APPEND labels "turn-${turn}")
    math(EXPR turn "(${turn} + 1) % ${VNET_TURNS}")
    set_property(GLOBAL PROPERTY VNET_NEXT_TURN "${turn}")
  endif()

  set(command ${T_COMMAND})
  if(T_BUILDS)
    list(PREPEND command "${PROJECT_SOURCE_DIR}/tests/build" "${PROJECT_BINARY_DIR}" "${T_BUILDS}")
  endif()
  if(NOT T_BARE)
    set(options --timeout "${T_TIMEOUT}")
    if(T_FIXED_ADDRESSES OR "thread" IN_LIST VNET_TEST_SANITIZERS)
      list(APPEND options --fixed-addresses)
    endif()
    list(PREPEND command "${PROJECT_SOURCE_DIR}/tests/isolated" ${options})
    math(EXPR T_TIMEOUT "${T_TIMEOUT} + 20")	# it needs time to clean up
  endif()

  set(name "${VNET_TEST_PREFIX}${T_NAME}")
  add_test(NAME "${name}" COMMAND ${command})
  set_tests_properties("${name}" PROPERTIES
    LABELS "${labels}"
    TIMEOUT "${T_TIMEOUT}"
    PROCESSORS "${T_PROCESSORS}"
    SKIP_RETURN_CODE 77
    ENVIRONMENT "VNET=${PROJECT_SOURCE_DIR}/vnet;VNET_SOURCE_DIR=${PROJECT_SOURCE_DIR};VNET_TREE=${PROJECT_BINARY_DIR};${T_ENVIRONMENT}"
    )
  # ctest starts tests in the order of their costs. The guests, one after the other, take longest.
  # Tests of one processor come last, because they fit beside any other.
  set(cost "${T_PROCESSORS}")
  if(T_GUEST)
    set(cost 100)
    set_tests_properties("${name}" PROPERTIES RESOURCE_LOCK guest)
  endif()
  set_tests_properties("${name}" PROPERTIES COST "${cost}")
  if(T_SERIAL)
    set_tests_properties("${name}" PROPERTIES RUN_SERIAL TRUE)
  endif()
endfunction()
