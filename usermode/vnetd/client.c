// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Clients: processes as address spaces and owners of locks, and their death.
 *
 * A slot of the client table is an owner id (slot + 1); a space id adds a
 * generation. A slot is given away again when nothing names the client any
 * more, the one that was free for longest first.
 *
 * Three signs of death: the pidfd becomes readable (the process has ended); its
 * memory descriptor reads nothing although the process lives (it has exec'd);
 * for the latter we look whenever a control connection closes, which an exec
 * does, and once a second at those who have none or no pidfd.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../platform/presence.h"
#include "daemon.h"

#define WATCH_INTERVAL NSEC_PER_SEC
/* How long an exec waits for peers that are copying: a large copy's time. */
#define LEAVE_TIME (100 * NSEC_PER_MSEC)
/* Copies of the preload library in one process; so that none takes all slots. */
#define MOST_OF_A_PROCESS 8

/* What the core adds to struct client. */
struct nic_client {
	struct client client;
	/* fd -1 where the system gives none. */
	struct source pidfd;
	u32 conns;
	/* Between LEAVE and exec, or STAY. */
	bool left;
	/* While LEAVE waits, and until when: grace tickets of all NICs. */
	bool waiting;
	u64 leave_by;
	u32 ticket[VNET_MAX_NICS];
};

static struct nic_client *nic_client(struct client *client)
{
	return container_of(client, struct nic_client, client);
}

static u32 slot_of(const struct client *client)
{
	return host_space_slot(client->space);
}

struct client *client_find(struct daemon *daemon, u32 space)
{
	u32 slot = host_space_slot(space);
	struct client *client = slot < HOST_MAX_CLIENTS ? daemon->slot[slot] : NULL;

	return client && client->space == space ? client : NULL;
}

struct client *client_get(struct client *client)
{
	client->refs++;
	return client;
}

void client_put(struct client *client)
{
	struct daemon *daemon = client->daemon;
	struct client **link = &daemon->clients;

	if (--client->refs)
		return;
	while (*link != client)
		link = &(*link)->next;
	*link = client->next;
	daemon->slot[slot_of(client)] = NULL;
	loop_remove(&daemon->loop, &nic_client(client)->pidfd, nic_client(client));
}

/* -------------------------------------------------- the table that all can see */

/* Its memory can be reached from now on, or not any more. */
static void publish(struct client *client, bool reachable)
{
	struct host_client *entry = &client->daemon->table[slot_of(client)];

	entry->pid = reachable ? (u32)client->pid : 0;
	/* Release: who reads the space reads this pid. */
	nic_store_release(&entry->space, reachable ? client->space : 0);
}

bool client_table_sane(struct daemon *daemon)
{
	struct client *client;

	for (client = daemon->clients; client; client = client->next) {
		const struct host_client *entry = &daemon->table[slot_of(client)];
		u32 space = client->dead || nic_client(client)->left ? 0 : client->space;

		if (nic_load(&entry->space) != space)
			return false;
	}
	return true;
}

/* -------------------------------------------------------------------- death */

/*
 * First nobody can reach its memory, then its locks are free, and only then do
 * the verbs objects learn of it: they can be destroyed without waiting for it.
 */
static void bury(struct client *client)
{
	struct daemon *daemon = client->daemon;
	struct source *pidfd = &nic_client(client)->pidfd;

	if (client->dead)
		return;
	client->dead = true;
	daemon->nclients--;
	publish(client, false);
	for (u32 i = 0; i < daemon->ndevices; i++) {
		nic_recover(&daemon->device[i]->device.nic, client->owner, client->space);
		nic_replay_recover(&daemon->device[i]->link_memory->replay, client->owner);
		host_drop_space(&daemon->device[i]->device.host, client->space);
	}
	uverbs_client_dead(client);

	close(client->mem_fd);
	client->mem_fd = -1;
	if (client->pagemap_fd >= 0)
		close(client->pagemap_fd);
	client->pagemap_fd = -1;
	loop_remove(&daemon->loop, pidfd, NULL);
	if (pidfd->fd >= 0)
		close(pidfd->fd);
	pidfd->fd = -1;

	conn_close_client(daemon, client);
	client_put(client);
}

static void pidfd_ready(struct source *source, u32 events)
{
	(void)events;
	bury(&container_of(source, struct nic_client, pidfd)->client);
}

/* Reading a gone address space gives nothing; a hole in a living one, EIO. */
static bool memory_gone(int mem_fd)
{
	char byte;

	return pread(mem_fd, &byte, 1, 0) == 0;
}

static void probe(struct client *client)
{
	if (!client->dead && memory_gone(client->mem_fd))
		bury(client);
}

void client_gave_up(struct client *client)
{
	bury(client);
}

void client_conn_added(struct client *client)
{
	client_get(client);
	nic_client(client)->conns++;
}

void client_conn_closed(struct client *client)
{
	nic_client(client)->conns--;
	probe(client);
	client_put(client);
}

u32 client_conns(const struct client *client)
{
	return container_of(client, const struct nic_client, client)->conns;
}

bool client_left(const struct client *client)
{
	return container_of(client, const struct nic_client, client)->left;
}

/* Nothing would tell us of its exec or end. */
static bool needs_watch(const struct nic_client *client)
{
	return !client->client.dead && (client->pidfd.fd < 0 || !client->conns);
}

u64 client_run(struct daemon *daemon, u64 now)
{
	struct client *client, *next;
	bool watch = false;

	if (now < daemon->watch_at)
		return daemon->watch_at;
	for (client = daemon->clients; client; client = next) {
		next = client->next;
		if (needs_watch(nic_client(client))) {
			watch = true;
			probe(client);
		}
	}
	daemon->watch_at = watch ? now + WATCH_INTERVAL : NEVER;
	return daemon->watch_at;
}

/* ------------------------------------------------------------ leave and stay */

enum call_outcome client_leave(struct client *client)
{
	struct nic_client *leaver = nic_client(client);
	struct daemon *daemon = client->daemon;

	if (!leaver->waiting) {
		leaver->left = true;
		leaver->waiting = true;
		leaver->leave_by = clock_now() + LEAVE_TIME;
		publish(client, false);
		for (u32 i = 0; i < daemon->ndevices; i++)
			leaver->ticket[i] = nic_grace_begin(&daemon->device[i]->device.nic);
	}
	/*
	 * Peers that found the space before may be copying into it. One that is
	 * stopped would keep us for ever, and can do no harm: whichever way it
	 * goes, it reaches this very address space or nothing.
	 */
	for (u32 i = 0; i < daemon->ndevices; i++)
		if (!nic_grace_over(&daemon->device[i]->device.nic, leaver->ticket[i], NIC_NONE) &&
		    clock_now() < leaver->leave_by)
			return CALL_PARK;
	leaver->waiting = false;
	return CALL_DONE;
}

void client_stay(struct client *client)
{
	nic_client(client)->left = false;
	nic_client(client)->waiting = false;
	publish(client, true);
}

int client_memory(struct client *client)
{
	int fd;

	if (client->dead || nic_client(client)->left)
		return -ESRCH;
	fd = fcntl(client->mem_fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

/* ---------------------------------------------------------------- newcomers */

/* Is this a /proc/PID/mem, of somebody who lives? */
static int check_memory(int mem_fd)
{
	char path[32], target[64];
	struct statfs fs;
	ssize_t n;

	if (mem_fd < 0)
		return EBADF;
	if (fstatfs(mem_fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", mem_fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 4 || memcmp(target + n - 4, "/mem", 4) != 0)
		return EINVAL;
	return memory_gone(mem_fd) ? ESRCH : 0;
}

/* A slot that nothing names; 0: there is none. Slot 0 is the daemon's. */
static u32 find_slot(struct daemon *daemon)
{
	u32 slot = daemon->last_slot;

	for (u32 i = 1; i < HOST_MAX_CLIENTS; i++) {
		slot = slot % (HOST_MAX_CLIENTS - 1) + 1;
		if (!daemon->slot[slot])
			return daemon->last_slot = slot;
	}
	return 0;
}

/* -1: this system gives no pidfds, so we do without. */
static int open_pidfd(pid_t pid, int *error)
{
	int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	if (fd < 0 && pid > 0 && (errno == ESRCH || errno == EMFILE || errno == ENFILE))
		*error = errno;
	return fd;
}

static struct client *admit(struct daemon *daemon, pid_t pid, int *error)
{
	struct nic_client *newcomer = calloc(1, sizeof(*newcomer));
	u32 slot = find_slot(daemon);

	if (!newcomer || !slot) {
		*error = ENOMEM;
		goto err;
	}
	newcomer->client.daemon = daemon;
	newcomer->client.pid = pid;
	newcomer->client.refs = 1;
	newcomer->client.owner = slot + 1;
	newcomer->pidfd.fd = open_pidfd(pid, error);
	if (*error)
		goto err;
	newcomer->pidfd.ready = pidfd_ready;
	if (newcomer->pidfd.fd >= 0 && loop_add(&daemon->loop, &newcomer->pidfd, EPOLLIN) < 0) {
		close(newcomer->pidfd.fd);
		*error = ENOMEM;
		goto err;
	}
	/* Generation 0 would make a space id that looks like a slot. */
	if (!++daemon->generation[slot])
		daemon->generation[slot] = 1;
	newcomer->client.space = (u32)daemon->generation[slot] << HOST_SPACE_SLOT_BITS | slot;
	daemon->slot[slot] = &newcomer->client;
	return &newcomer->client;
err:
	free(newcomer);
	return NULL;
}

/*
 * How many clients this process is already; the earlier life of one that has
 * exec'd ends here at the latest.
 */
static u32 count_of(struct daemon *daemon, pid_t pid)
{
	struct client *client, *next;
	u32 count = 0;

	for (client = daemon->clients; client; client = next) {
		next = client->next;
		if (client->pid != pid)
			continue;
		probe(client);
		count += !client->dead;
	}
	return count;
}

struct client *client_new(struct daemon *daemon, pid_t pid, int mem_fd, const char *command,
			  int *error)
{
	struct client *client = NULL;

	*error = check_memory(mem_fd);
	/* Processes of other PID namespaces are all the same one to us. */
	if (!*error && pid > 0 && count_of(daemon, pid) >= MOST_OF_A_PROCESS)
		*error = EMFILE;
	if (!*error)
		client = admit(daemon, pid, error);
	if (!client) {
		if (mem_fd >= 0)
			close(mem_fd);
		return NULL;
	}
	client->mem_fd = mem_fd;
	client->pagemap_fd = presence_open((u32)pid);
	memcpy(client->command, command, sizeof(client->command));
	if (getrandom(&client->cookie, sizeof(client->cookie), GRND_NONBLOCK) < 0)
		client->cookie = clock_now() * 0x9e3779b97f4a7c15ull;
	client->next = daemon->clients;
	daemon->clients = client;
	daemon->nclients++;
	daemon->watch_at = earlier(daemon->watch_at, clock_now() + WATCH_INTERVAL);
	publish(client, true);
	/* Its number was its own until the pidfd was open: see check_memory(). */
	if (memory_gone(mem_fd)) {
		bury(client);
		*error = ESRCH;
		return NULL;
	}
	return client;
}
