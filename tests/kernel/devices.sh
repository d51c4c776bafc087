#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# In a guest: several devices, of user mode and of the driver. In network namespaces, moved
# between them, and under restrictions of ptrace. All in one boot, which takes most of the time.
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
"$here/host_devices.sh" && "$here/namespaces.sh" && "$here/several.sh" && "$here/yama.sh"
