# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# cmake --install: the vnet command in bin, its parts in lib/vnet, man pages.
