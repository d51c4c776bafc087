// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Client processes as address spaces and lock owners, and the detection of their death.
 *
 * A slot of the client table determines the owner id (slot + 1); the space id adds a generation.
 * A slot is reused when no object refers to the client any more. Slots are searched round-robin,
 * so that a freed slot is reused as late as possible.
 *
 * The daemon detects the end of a client in two ways. If the process exits, its pidfd becomes
 * readable. If the process calls exec(), it lives on, but reads from its memory descriptor return
 * nothing. The daemon probes the memory descriptor when a control connection closes, as exec()
 * closes them, and once a second for clients without connections or without a pidfd.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../../platform/presence.h"
#include "clients.h"
#include "connections.h"
#include "control.h"
#include "daemon.h"
#include "loop/loop.h"

#define WATCH_INTERVAL NSEC_PER_SEC
/*
 * Limit of the time for which LEAVE waits for peers that copy into the space: that of a large copy.
 */
#define LEAVE_TIME (100 * NSEC_PER_MSEC)
/* Limit of clients (copies of the preload library) per process: none can take all slots. */
#define MOST_OF_A_PROCESS 8

/* Indices into client_files.fd. */
enum client_file {
	CLIENT_MEM,
	CLIENT_PAGEMAP,
	CLIENT_MAPS,
	CLIENT_STATUS,
	CLIENT_FILES,
};

/* struct client, with the private part of this file. */
struct nic_client {
	struct client client;
	/* fd is -1 if the kernel has no pidfds. */
	struct source pidfd;
	u32 conns;
	/* LEAVE was received, and neither exec() nor STAY followed yet. */
	bool left;
	/* LEAVE is parked, until leave_by at the latest, for these grace periods of all NICs. */
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

/* --------------------------------------------------------- shared client table */

/* Publishes in the shared client table whether peers may access the client's memory. */
static void publish(struct client *client, bool reachable)
{
	struct host_client *entry = &client->daemon->table[slot_of(client)];

	entry->pid = reachable ? (u32)client->pid : 0;
	/* Release: a process that reads the new space id also reads this pid. */
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

static void drop_file(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/*
 * Handles the death of a client; idempotent. The order matters. First the client table no longer
 * names the space, so that no peer starts a copy. Then nic_recover() releases the client's locks.
 * Only then uverbs destroys its objects, which must not wait for those locks.
 */
static void client_died(struct client *client)
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
		link_held_recover(daemon->device[i]->link_memory, client->owner);
		host_drop_space(&daemon->device[i]->device.host, client->space);
	}
	control_client_dead(client);
	pager_client_dead(client);

	client_map_free(client);
	drop_file(&client->mem_fd);
	drop_file(&client->pagemap_fd);
	drop_file(&client->maps_fd);
	drop_file(&client->status_fd);
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
	client_died(&container_of(source, struct nic_client, pidfd)->client);
}

/* Reads of an ended address space return 0 bytes; those of unmapped pages fail with EIO. */
static bool memory_gone(int mem_fd)
{
	char byte;

	return pread(mem_fd, &byte, 1, 0) == 0;
}

static void probe(struct client *client)
{
	if (!client->dead && memory_gone(client->mem_fd))
		client_died(client);
}

void client_gave_up(struct client *client)
{
	client_died(client);
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

/* Must the client be probed, because neither a pidfd nor a closing connection shows its end? */
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
	 * Peers that read the table before may still copy into the space. A stopped peer would
	 * delay exec() without limit, so the wait is bounded. A late copy does no harm: its
	 * descriptor is bound to this address space, and after exec() it reaches nothing.
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

/* -------------------------------------------------------------- new clients */

/* A process' folder in /proc: the device number of that proc mount, and the folder's path. */
struct proc_folder {
	dev_t dev;
	char name[64];
};

/* Finds the /proc folder of `fd`. Returns false if `fd` is no file `name` in a proc mount. */
static bool find_folder(int fd, const char *name, struct proc_folder *folder)
{
	size_t length = strlen(name) + 1;
	char path[32];
	struct statfs fs;
	struct stat st;
	ssize_t n;

	memset(folder, 0, sizeof(*folder));
	if (fstatfs(fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC || fstat(fd, &st) < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, folder->name, sizeof(folder->name) - 1);
	if (n <= (ssize_t)length || folder->name[(size_t)n - length] != '/' ||
	    strcmp(folder->name + (size_t)n - length + 1, name) != 0)
		return false;
	folder->name[(size_t)n - length] = '\0';
	folder->dev = st.st_dev;
	return true;
}

/*
 * mem, pagemap and maps may come from another proc mount. The status file decides about
 * privileges, so it must be the one of `pid` in the daemon's own /proc.
 */
static bool is_of_client(const struct proc_folder *folder, u32 kind, pid_t pid)
{
	char own[32];

	snprintf(own, sizeof(own), "/proc/%d", (int)pid);
	return kind != CLIENT_STATUS || (pid > 0 && !strcmp(folder->name, own));
}

/*
 * All accepted files must be of one process, so that a client cannot pass another process'
 * privileges or page map as its own.
 */
void client_files_take(struct client_files *files, int *fd, u32 n, pid_t pid)
{
	static const char *const name[CLIENT_FILES] = {
		[CLIENT_MEM] = "mem",
		[CLIENT_PAGEMAP] = "pagemap",
		[CLIENT_MAPS] = "maps",
		[CLIENT_STATUS] = "status",
	};
	struct proc_folder memory = { .dev = 0 }, folder;

	files->given = n;
	for (u32 kind = 0; kind < CLIENT_FILES; kind++) {
		files->fd[kind] = -1;
		for (u32 i = 0; i < n && files->fd[kind] < 0; i++) {
			if (fd[i] < 0 || !find_folder(fd[i], name[kind], &folder))
				continue;
			if (kind == CLIENT_MEM)
				memory = folder;
			if (folder.dev != memory.dev || strcmp(folder.name, memory.name) != 0 ||
			    !is_of_client(&folder, kind, pid))
				continue;
			files->fd[kind] = fd[i];
			fd[i] = -1;
		}
	}
}

/* Opens missing files by pid: without them, the daemon could block on pages (usermem.c). */
static void open_others(struct client_files *files, pid_t pid)
{
	char path[32];

	if (pid <= 0)
		return;
	if (files->fd[CLIENT_PAGEMAP] < 0)
		files->fd[CLIENT_PAGEMAP] = presence_open((u32)pid);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	if (files->fd[CLIENT_MAPS] < 0)
		files->fd[CLIENT_MAPS] = open(path, O_RDONLY | O_CLOEXEC);
}

/* Checks that the files include the memory of a living process. Returns 0 or an errno value. */
static int check_memory(struct client_files *files, pid_t pid)
{
	if (files->fd[CLIENT_MEM] < 0)
		return files->given ? EINVAL : EBADF;
	open_others(files, pid);
	/* A client of another PID namespace must pass these files itself. */
	if (pid <= 0 && (files->fd[CLIENT_PAGEMAP] < 0 || files->fd[CLIENT_MAPS] < 0))
		return EACCES;
	return memory_gone(files->fd[CLIENT_MEM]) ? ESRCH : 0;
}

/* Returns an unused slot, or 0 if there is none. Slot 0 is the daemon's. */
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

/*
 * Returns -1 if the kernel has no pidfds (*error stays 0) or if the process is gone or
 * descriptors ran out (*error is set).
 */
static int open_pidfd(pid_t pid, int *error)
{
	int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	if (fd < 0 && pid > 0 && (errno == ESRCH || errno == EMFILE || errno == ENFILE))
		*error = errno;
	return fd;
}

static struct client *add_client(struct daemon *daemon, pid_t pid, int *error)
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
	/* Generation 0 would make a space id that looks like a slot number. */
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
 * Counts the living clients of this process. Also ends the client of the program that the process
 * ran before its last exec().
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

struct client *client_new(struct daemon *daemon, pid_t pid, struct client_files *files,
			  const char *command, int *error)
{
	struct client *client = NULL;

	*error = check_memory(files, pid);
	/* Processes of other PID namespaces all have pid 0 here, so they are not counted. */
	if (!*error && pid > 0 && count_of(daemon, pid) >= MOST_OF_A_PROCESS)
		*error = EMFILE;
	if (!*error)
		client = add_client(daemon, pid, error);
	if (!client) {
		for (u32 i = 0; i < CLIENT_FILES; i++)
			drop_file(&files->fd[i]);
		return NULL;
	}
	client->mem_fd = files->fd[CLIENT_MEM];
	client->pagemap_fd = files->fd[CLIENT_PAGEMAP];
	client->maps_fd = files->fd[CLIENT_MAPS];
	client->status_fd = files->fd[CLIENT_STATUS];
	memcpy(client->command, command, sizeof(client->command));
	if (getrandom(&client->cookie, sizeof(client->cookie), GRND_NONBLOCK) < 0)
		client->cookie = clock_now() * 0x9e3779b97f4a7c15ull;
	client->next = daemon->clients;
	daemon->clients = client;
	daemon->nclients++;
	daemon->watch_at = earlier(daemon->watch_at, clock_now() + WATCH_INTERVAL);
	daemon->table[slot_of(client)].bytes_mapped = 0;
	daemon->table[slot_of(client)].bytes_called = 0;
	publish(client, true);
	/* The pid could have been reused before the pidfd was opened: check again. */
	if (memory_gone(client->mem_fd)) {
		client_died(client);
		*error = ESRCH;
		return NULL;
	}
	return client;
}
