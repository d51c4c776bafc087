#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: devices side by side, of user mode and of the kernel, in network
# namespaces and on their way between them, and where no process may look at another.
# In one boot, because that takes most of the time.
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
"$here/host_devices.sh" && "$here/namespaces.sh" && "$here/several.sh" && "$here/yama.sh"
