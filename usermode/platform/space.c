// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "raw.h"
#include "space.h"
#include "token.h"
#include "window.h"

bool space_is_alive(const struct host *host, u32 id)
{
	return nic_load_acquire(&host->client[host_space_slot(id)].space) == id;
}

/* Close the descriptors of all processes that have ended. */
static void sweep(struct host *host)
{
	for (u32 slot = 0; slot < host->nspaces; slot++) {
		struct host_space *cached = &host->space[slot];
		u32 id = host_fd_key(&cached->mem);

		if (id && !space_is_alive(host, id))
			(void)host_fd_clear(&cached->mem);
	}
}

/*
 * May process_vm_*() be used for this space? Every process of the user can write the PID and the
 * token in the client table, and the PID may be one of another PID namespace. So read the token
 * page of that process to verify both.
 */
static void identify(const struct host *host, u32 id, struct space *space)
{
	const struct host_client *client = &host->client[host_space_slot(id)];

	space->pid = nic_load(&client->pid);
	space->token = nic_load_acquire(&client->token);
	if (!host->process_vm || !space->token || !token_verify(space->pid, space->token))
		space->token = 0;
}

/* Cache the descriptor, and pin it, unless the slot is in use for another space. */
static void keep(struct host *host, u32 id, struct space *space)
{
	struct host_space *cached = &host->space[host_space_slot(id)];

	if (!host_fd_clear(&cached->mem))
		return;
	nic_store(&cached->pid, space->pid);
	nic_store(&cached->token, space->token);
	host_fd_set(&cached->mem, id, space->mem);
	(void)host_fd_pin(&cached->mem, id);
	space->cached = cached;
}

static bool fetch(struct host *host, u32 id, struct space *space)
{
	struct host_space *cached = &host->space[host_space_slot(id)];

	/* Another thread may have fetched it meanwhile. */
	space->mem = host_fd_pin(&cached->mem, id);
	if (space->mem >= 0) {
		space->pid = nic_load(&cached->pid);
		space->token = nic_load(&cached->token);
		space->cached = cached;
		return true;
	}
	if (!space_is_alive(host, id))
		return false;
	sweep(host);
	space->cached = NULL;
	space->mem = host->get_space(host, id);
	if (space->mem < 0)
		return false;
	identify(host, id, space);
	keep(host, id, space);
	return true;
}

bool space_open_slow(struct host *host, u32 id, struct space *space)
{
	bool found;

	pthread_mutex_lock(&host->lock);
	found = fetch(host, id, space);
	pthread_mutex_unlock(&host->lock);
	return found;
}

void space_close_slow(struct space *space)
{
	raw_close(space->mem);
}

void space_disable_vm(struct space *space)
{
	space->token = 0;
	if (space->cached)
		nic_store(&space->cached->token, 0);
}

void space_forget(struct host *host, u32 id, bool stolen)
{
	u32 slot = host_space_slot(id);
	struct host_fd *mem;

	if (slot >= host->nspaces)
		return;
	mem = &host->space[slot].mem;

	/*
	 * The kernel knows of a death before vnetd does. Until vnetd has cleared the space in the
	 * client table, keep the entry: it might be fetched again at once.
	 */
	if (!stolen && space_is_alive(host, id))
		return;
	if (pthread_mutex_trylock(&host->lock))
		return;
	if (host_fd_key(mem) == id)
		(void)(stolen ? host_fd_abandon(mem) : host_fd_clear(mem));
	if (!stolen)
		window_drop(host, id);
	pthread_mutex_unlock(&host->lock);
}

void host_drop_space(struct host *host, u32 space)
{
	space_forget(host, space, false);
}
