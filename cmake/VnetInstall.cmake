# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# cmake --install: the vnet command and all its parts in lib/vnet, laid out as it
# finds them in a build tree, a link to it in bin, and the manual pages.
set(home "${CMAKE_INSTALL_LIBDIR}/vnet")
install(PROGRAMS vnet DESTINATION "${home}")
install(DIRECTORY usermode/cmd DESTINATION "${home}/usermode")
install(CODE "
  set(bin \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
  file(MAKE_DIRECTORY \"\${bin}\")
  file(CREATE_LINK \"\${CMAKE_INSTALL_PREFIX}/${home}/vnet\" \"\${bin}/vnet\" SYMBOLIC)
")
foreach(program IN ITEMS vnetd vnet-status vnet-launch vnet-trace)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION "${home}/bin")
  endif()
endforeach()
install(FILES
  "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libvnet-preload.so"
  "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libvnet-rdmav34.so"
  "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libvnet-trace.so"
  DESTINATION "${home}/lib"
  )
install(FILES doc/man/vnet.1 doc/man/vnet-launch.1 doc/man/vnet-sim.1
  DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES doc/man/vnetd.8 DESTINATION "${CMAKE_INSTALL_MANDIR}/man8")
