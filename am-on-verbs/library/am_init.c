// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Initialises and terminates the library. */
#include <stdlib.h>

#include "am_library.h"
#include "messages/am_messages.h"
#include "objects/am_process.h"

/*
 * Held by AM_Init() and AM_Terminate() until they return: the device is opened and closed by one
 * thread at a time.
 */
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;

int AM_SetOption(const char *name, const char *value)
{
	if (!name || !value)
		return AM_ERR_BAD_ARG;
	if (am_initialised())
		return AM_ERR_IN_USE;
	return am_settings_set(name, value) ? AM_ERR_BAD_ARG : AM_OK;
}

static int init(void)
{
	const char *list = getenv("AM_SETTINGS");
	struct am_device_choice choice;

	if (list && am_settings_read(list))
		return AM_ERR_BAD_ARG;
	choice = (struct am_device_choice){ .who = "am",
					    .device = am_settings.device,
					    .port = am_settings.port,
					    .gid_index = am_settings.gid_index,
					    .regions = am_settings.regions };
	if (am_device_open(&am_process.device, &choice))
		return AM_ERR_RESOURCE;
	return AM_OK;
}

int AM_Init(void)
{
	int err = AM_OK;

	pthread_mutex_lock(&life);
	if (!am_process.users)
		err = init();
	if (!err)
		__atomic_add_fetch(&am_process.users, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&life);
	return err;
}

void am_drain_all(void)
{
	for (struct am_eb *eb = am_bundles(); eb; eb = eb->next) {
		am_lock(eb);
		am_bundle_drain(eb);
		am_unlock(eb);
	}
}

/*
 * Frees all bundles, without the lock of their list: a bundle that drains may receive a connection
 * request, for which am_endpoint_elsewhere() takes that lock.
 */
static void end(void)
{
	struct am_eb *eb;

	while ((eb = am_bundle_take()))
		am_bundle_free(eb);
	am_device_close(&am_process.device);
}

int AM_Terminate(void)
{
	int err = AM_OK;

	pthread_mutex_lock(&life);
	if (!am_process.users)
		err = AM_ERR_NOT_INIT;
	else if (am_process.users == 1)
		end();
	if (!err)
		__atomic_sub_fetch(&am_process.users, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&life);
	return err;
}
