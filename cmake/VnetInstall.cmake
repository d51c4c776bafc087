# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# cmake --install: installs the vnet command, its parts, and the manual pages. The command and its
# parts are in lib/vnet, with the layout of a build tree; bin has a link to the command.
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
