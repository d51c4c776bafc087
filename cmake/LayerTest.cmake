# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# layer_test(): declares tests of a layer over verbs (am, splitc), one for each of its mappings. The
# suite's script "run" starts the program <suite>_test_<program>.
#
# layer_test(WHAT "SANITIZERS" "SETTINGS" WORLDS PROCESSES PROGRAM [ARGS...])
#
# With more than two mappings, the test of the last one always runs, and the others are variants.
#
# Variables of the caller: mappings, all mappings of the layer; layer_test_mappings, if the test is
# only for some of them; layer_test_options, further options of vnet_test();
# layer_test_environment, further environment variables.
function(layer_test what sanitizers settings worlds processes program)
  get_filename_component(suite "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  string(TOUPPER "${suite}" layer)
  set(for "${mappings}")
  if(layer_test_mappings)
    set(for "${layer_test_mappings}")
  endif()
  if(sanitizers)
    list(PREPEND sanitizers SANITIZERS)
  endif()
  list(LENGTH for last)
  math(EXPR last "${last} - 1")
  foreach(mapping IN LISTS for)
    list(FIND for "${mapping}" index)
    set(variant VARIANT)
    if(last LESS 2 OR index EQUAL last)
      set(variant "")
    endif()
    vnet_test(NAME ${suite}.${what}-${mapping} PROCESSORS 2 TIMEOUT 120 ${variant} ${sanitizers}
        ${layer_test_options}
      ENVIRONMENT "${layer}_SETTINGS=${settings}" ${layer_test_environment}
      COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/run" ${mapping} ${worlds} ${processes}
        $<TARGET_FILE:${suite}_test_${program}> ${ARGN})
  endforeach()
endfunction()
