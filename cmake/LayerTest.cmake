# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# How the suites of layers over verbs (am, splitc) declare the runs of their
# programs: <suite>_test_<program>, once for each of the layer's mappings, by the
# suite's script "run".
#
# layer_test(WHAT "SANITIZERS" "SETTINGS" WORLDS PROCESSES PROGRAM [ARGS...])
#
# Of more than two mappings, the last one is run always and the others are variants.
#
# The caller's variables: mappings, all that there are; layer_test_mappings, where
# it is only for some; layer_test_options, more of vnet_test()'s.
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
      ENVIRONMENT "${layer}_SETTINGS=${settings}"
        "TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/thread-suppressions"
      COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/run" ${mapping} ${worlds} ${processes}
        $<TARGET_FILE:${suite}_test_${program}> ${ARGN})
  endforeach()
endfunction()
