/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Settings of a NIC, checked, with defaults for those that are 0. */
#ifndef NIC_LAYOUT_SETTINGS_H
#define NIC_LAYOUT_SETTINGS_H

#include "nic_settings.h"

void nic_vn_settings_init(struct nic_settings *to, const struct nic_settings *wanted);

#endif /* NIC_LAYOUT_SETTINGS_H */
