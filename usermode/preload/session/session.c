// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#define _GNU_SOURCE
#include "session/session.h"

#include <arpa/inet.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>

#include "base/entries.h"
#include "base/real.h"
#include "base/say.h"
#include "base/settings.h"
#include "base/signals.h"
#include "session/control.h"
#include "session/fdtable.h"
#include "session/merged.h"
#include "session/own_files.h"
#include "session/answer_timeout.h"
#include "session/provider.h"
#include "session/start.h"

/* A daemon that is about to exit may hang up before it sends WELCOME. */
#define SESSION_ATTEMPTS 5
/* After a failure, do not retry for this time: ns. */
#define SESSION_PAUSE 1000000000ull

static struct session *current;
/* Held by the thread that makes a session; see session_get(). */
static struct turn making;
static u64 failed_at;
static int failed_with;

/* ------------------------------------------------------------------- the NICs */

static struct client_nic *client_nic_of(struct host *host)
{
	return (struct client_nic *)(void *)((u8 *)host - offsetof(struct client_nic, host));
}

/* Ask the daemon for a descriptor, and keep it as one of the library's own. Returns it, or -1. */
static int get_fd(struct host *host, u32 type, u32 number, u32 generation)
{
	struct client_nic *cn = client_nic_of(host);
	struct vnet_msg_get get = {
		.msg = { .type = type, .length = sizeof(get) },
		.nic = host->nic_index,
		.number = number,
		.generation = generation,
	};
	struct iovec iov = { .iov_base = &get, .iov_len = sizeof(get) };
	struct reply reply;

	if (cn->foreign || control_request(cn->session, &iov, 1, &reply))
		return -1;
	if (reply.result.error || reply.nfds != 1) {
		control_drop_fds(&reply);
		return -1;
	}
	/* It is closed at once, so it need not be hidden from the program. */
	if (type == VNET_MSG_GET_MEMORY)
		return reply.fd[0];
	return fdtable_keep(reply.fd[0], type == VNET_MSG_GET_CHANNEL);
}

static int get_space(struct host *host, u32 space)
{
	return get_fd(host, VNET_MSG_GET_SPACE, space, 0);
}

static int get_memory(struct host *host, u32 space)
{
	return get_fd(host, VNET_MSG_GET_MEMORY, space, 0);
}

static int get_channel(struct host *host, u32 channel, u32 generation)
{
	return get_fd(host, VNET_MSG_GET_CHANNEL, channel, generation);
}

/* Programs retry refused calls: report each NIC once, for the last eight NICs. */
static bool was_reported(const u8 *gid)
{
	static struct {
		u8 gid[16];
	} told[8];
	static u32 n;
	u32 i;

	for (i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		if (!memcmp(told[i].gid, gid, sizeof(told[i].gid)))
			return true;
	i = __atomic_fetch_add(&n, 1, __ATOMIC_RELAXED) % (sizeof(told) / sizeof(told[0]));
	memcpy(told[i].gid, gid, sizeof(told[i].gid));
	return false;
}

/*
 * Callback of the link: this NIC cannot talk to the NIC with this GID. Print the reason and the
 * remedy.
 */
static void say_refused(struct host *host, const u8 *gid, u32 why)
{
	char name[LINK_GID_TEXT];

	(void)host;
	if (was_reported(gid))
		return;
	link_gid_text(gid, name);
	switch (why) {
	case LINK_OTHER_KEY:
		say("the node of %s refuses this one: it has another key "
		    "(give both nodes one: --key FILE)",
		    name);
		break;
	case LINK_UNKNOWN:
		say("no known node has the GID %s. A node of another user or VNET_RUNTIME_DIR "
		    "is found by a GID that contains its IP address, or by --peers; give "
		    "both nodes one key: --key FILE",
		    name);
		break;
	case LINK_ELSEWHERE:
		say("no program listens there on this node. The node of %s belongs to another "
		    "user or VNET_RUNTIME_DIR; to connect to it, give both nodes one key: "
		    "--key FILE",
		    name);
		break;
	default:
		say("no key for the node of %s (give both nodes one: --key FILE)", name);
		break;
	}
}

/*
 * Report a refusal that is still unreported at exit: it may be the only explanation that the
 * program's user gets.
 */
static __attribute__((destructor)) void report_at_exit(void)
{
	struct session *s = session_current();

	for (u32 i = 0; s && i < s->nnics; i++)
		if (s->nic[i]->link)
			link_report_refusals(&s->nic[i]->host);
}

/* Consumes kick_fd; memory_fd remains the caller's. */
static int attach_nic(struct session *s, u32 index, u64 size, int memory_fd, int kick_fd)
{
	struct client_nic *cn = sys_mmap(NULL, sizeof(*cn), PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	kick_fd = fdtable_keep(kick_fd, false);
	if (!cn)
		return -ENOMEM;
	s->nic[index] = cn;
	cn->session = s;
	cn->size = size;
	cn->link_fd = -1;
	cn->host.nic_index = index;
	cn->host.kick_fd = kick_fd;
	cn->host.get_space = get_space;
	cn->host.get_channel = get_channel;
	cn->host.get_memory = get_memory;
	cn->host.refused = say_refused;
	cn->memory = sys_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			      memory_fd, 0);
	if (!cn->memory)
		return -ENOMEM;
	(void)sys(SYS_madvise, cn->memory, size, MADV_DONTDUMP);
	if (nic_attach(&cn->nic, cn->memory, size) != NIC_OK)
		return -EPROTO;
	cn->nic.self = s->owner;
	cn->nic.space = s->space;
	cn->host.client =
		(struct host_client *)(void *)(s->nic[0]->memory + s->nic[0]->nic.hdr->off_client);
	return host_init(&cn->host, &cn->nic);
}

/* Consumes the socket; memory_fd remains the caller's. */
static int attach_link(struct client_nic *cn, int memory_fd, int fd)
{
	cn->link_fd = fdtable_keep(fd, false);
	cn->link = sys_mmap(NULL, sizeof(*cn->link), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_NORESERVE, memory_fd, 0);
	if (!cn->link)
		return -ENOMEM;
	(void)sys(SYS_madvise, cn->link, sizeof(*cn->link), MADV_DONTDUMP);
	/* Refusals before this program started do not concern it. */
	cn->host.link.refusals_told = nic_load(&cn->link->refusal.count);
	cn->host.link.refusals_said = cn->host.link.refusals_told;
	return host_link_open(&cn->host, cn->link_fd, cn->link, sizeof(*cn->link));
}

/* Attach one NIC with the reply's descriptors from *next on. Consumed descriptors become -1. */
static int attach(struct session *s, u32 index, struct reply *reply, u32 *next)
{
	int *fd = &reply->fd[*next];
	int ret = attach_nic(s, index, reply->welcome.memory_size[index], fd[0], fd[1]);

	fd[1] = -1;
	*next += 2;
	if (!(reply->welcome.links & (1u << index)))
		return ret;
	if (!ret) {
		ret = attach_link(s->nic[index], fd[2], fd[3]);
		fd[3] = -1;
	}
	*next += 2;
	return ret;
}

static u32 count_fds(const struct vnet_msg_welcome *welcome)
{
	u32 all = (1u << welcome->nics) - 1;

	return 2 * welcome->nics + 2 * (u32)__builtin_popcount(welcome->links & all);
}

static int attach_nics(struct session *s, struct reply *reply)
{
	u32 i, next = 0;
	int ret = 0;

	s->space = reply->welcome.space;
	s->owner = reply->welcome.owner;
	s->cookie = reply->welcome.cookie;
	if (reply->truncated)
		ret = -EMFILE;
	else if (!reply->welcome.nics || reply->welcome.nics > VNET_MAX_NICS ||
		 reply->nfds != count_fds(&reply->welcome))
		ret = -EPROTO;
	else
		ret = sys_identity(reply->fd[0], &s->agent_id);
	for (i = 0; !ret && i < reply->welcome.nics; i++)
		ret = attach(s, i, reply, &next);
	s->nnics = ret ? 0 : i;
	control_drop_fds(reply);
	return ret;
}

/* ----------------------------------------------------------------- device files */

/* Read the device's minor number from sysfs ("major:minor"). */
static int read_minor(const char *class, const char *name, u32 *minor)
{
	char path[PATH_MAX], text[32];
	unsigned int major;
	long n;
	int fd;

	if (snprintf(path, sizeof(path), "%s/sys/class/%s/%s/dev", node_place()->node_dir, class,
		     name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = sys_open(path, O_RDONLY);
	if (fd < 0)
		return fd;
	n = sys(SYS_read, fd, text, sizeof(text) - 1);
	sys_close(fd);
	if (n <= 0)
		return -EIO;
	text[n] = '\0';
	return sscanf(text, "%u:%u", &major, minor) == 2 ? 0 : -EINVAL;
}

static void add_file(struct session *s, const char *name, u32 minor)
{
	struct device_node *node = &s->node[s->nnodes];
	char path[PATH_MAX];
	struct stat st = { 0 };

	if (snprintf(path, sizeof(path), "%s/dev/infiniband/%s", node_place()->node_dir, name) >=
		    (int)sizeof(path) ||
	    sys_stat(path, &st))
		return;
	node->minor = minor;
	node->id.dev = st.st_dev;
	node->id.ino = st.st_ino;
	s->nnodes++;
}

/* The class whose devices are being added, and the prefix of their names. */
struct adding {
	struct session *session;
	const char *class;
	const char *prefix;
	u32 most;
};

static void add_node(const char *name, void *arg)
{
	const struct adding *adding = arg;
	struct session *s = adding->session;
	u32 minor;

	if (!strncmp(name, adding->prefix, strlen(adding->prefix)) && s->nnodes < adding->most &&
	    !read_minor(adding->class, name, &minor))
		add_file(s, name, minor);
}

static void add_class(struct session *s, const char *class, const char *prefix)
{
	struct adding adding = {
		.session = s,
		.class = class,
		.prefix = prefix,
		.most = s->nnodes + VNET_MAX_NICS,
	};
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/sys/class/%s", node_place()->node_dir, class) <
	    (int)sizeof(path))
		(void)entries_each(path, add_node, &adding);
}

static void find_nodes(struct session *s)
{
	add_class(s, "infiniband_verbs", "uverbs");
	add_class(s, "infiniband_mad", "umad");
	add_file(s, "rdma_cm", VNET_RDMA_CM_MINOR);
}

/*
 * Keep descriptors of the folders: the program may change its user or root directory, and goes on
 * using the device.
 */
static void open_tree(struct session *s)
{
	static const char *const folder[TREE_FOLDERS] = { [TREE_SYS] = "sys", [TREE_DEV] = "dev" };
	char path[PATH_MAX];
	int fd;
	u32 i;

	for (i = 0; i < TREE_FOLDERS; i++) {
		if (snprintf(path, sizeof(path), "%s/%s", node_place()->node_dir, folder[i]) >=
		    (int)sizeof(path))
			continue;
		fd = sys_open(path, O_PATH | O_DIRECTORY);
		s->tree_fd[i] = fd < 0 ? -1 : fdtable_keep(fd, false);
	}
}

/* ----------------------------------------------------------------- the session */

static void drop_connections(struct session *s)
{
	u32 i;

	for (i = 0; i < SESSION_CONNECTIONS; i++)
		if (__atomic_exchange_n(&s->connection[i].state, 0, __ATOMIC_ACQUIRE))
			fdtable_drop(s->connection[i].fd);
	if (s->door_fd >= 0)
		fdtable_drop(s->door_fd);
	s->door_fd = -1;
	for (i = 0; i < TREE_FOLDERS; i++) {
		if (s->tree_fd[i] >= 0)
			fdtable_drop(s->tree_fd[i]);
		s->tree_fd[i] = -1;
	}
}

/*
 * Close the descriptors that the firmware uses, but keep its memory. The daemon is dead, and the
 * session was replaced long ago: threads that were in the firmware at that time have left it.
 */
static void release_descriptors(struct session *s)
{
	u32 i;

	for (i = 0; i < s->nnics; i++) {
		struct client_nic *cn = s->nic[i];
		int kick = cn->host.kick_fd, link = cn->link_fd;

		nic_store(&cn->host.kick_fd, -1);
		nic_store(&cn->host.link.fd, -1);
		cn->link_fd = -1;
		fdtable_drop(kick);
		fdtable_drop(link);
		host_drop_all(&cn->host);
	}
}

/* Free a session that was never published, so that no other code refers to it. */
static void session_drop(struct session *s)
{
	u32 i;

	drop_connections(s);
	for (i = 0; i < VNET_MAX_NICS && s->nic[i]; i++) {
		if (s->nic[i]->nic.host)
			host_fini(&s->nic[i]->host);
		fdtable_drop(s->nic[i]->host.kick_fd);
		if (s->nic[i]->link_fd >= 0)
			fdtable_drop(s->nic[i]->link_fd);
		if (s->nic[i]->link)
			(void)sys(SYS_munmap, s->nic[i]->link, sizeof(*s->nic[i]->link));
		if (s->nic[i]->memory)
			(void)sys(SYS_munmap, s->nic[i]->memory, s->nic[i]->size);
		(void)sys(SYS_munmap, s->nic[i], sizeof(*s->nic[i]));
	}
	(void)sys(SYS_munmap, s, sizeof(*s));
}

/*
 * Connect, starting the daemon if necessary, and send HELLO. This may take long, so the program's
 * signals are handled meanwhile, and no lock is held except the turn.
 */
static int hello(struct session *s, struct reply *reply)
{
	struct ucred peer = { 0 };
	socklen_t length = sizeof(peer);
	int attempt, sock, ret = -EIO;

	for (attempt = 0; attempt < SESSION_ATTEMPTS && ret == -EIO; attempt++) {
		sock = daemon_connect_or_start();
		if (sock < 0)
			return sock;
		if (!sys(SYS_getsockopt, sock, SOL_SOCKET, SO_PEERCRED, &peer, &length))
			s->agent = peer.pid;
		ret = control_hello(sock, s, reply);
		if (ret) {
			sys_close(sock);
			continue;
		}
		s->door_fd = fdtable_keep(sock, false);
	}
	if (!ret && reply->welcome.other_devices)
		say("the running daemon (process %d) has other devices than %s, and is in use: "
		    "\"vnet stop\" ends it, --node starts another",
		    s->agent, settings()->devices);
	if (!ret && reply->welcome.other_link_layer)
		say("the running daemon (process %d) has ports of another link layer than %s, and "
		    "is in use: \"vnet stop\" ends it, --node starts another",
		    s->agent, settings()->link_layer);
	if (ret == -EPROTO)
		say("no RDMA device: the running daemon (process %d) is of another version; "
		    "\"vnet stop\" ends it",
		    s->agent);
	else if (ret == -ETIMEDOUT && daemon_first_timeout())
		say("no RDMA device: the running daemon (process %d) has not answered for %u s; is "
		    "it stopped? \"vnet stop\" ends it",
		    s->agent, answer_limit());
	else if (ret && ret != -ETIMEDOUT && ret != -ECANCELED)
		say("no RDMA device: the daemon refuses: %s", strerrordesc_np(-ret));
	return ret;
}

/* Say HELLO, and attach the NICs. */
static int session_begin(struct session *s)
{
	struct reply reply;
	int ret = hello(s, &reply);

	if (ret)
		return ret;
	own_files_allow_ptrace();
	ret = host_guard_init();
	if (ret) {
		control_drop_fds(&reply);
		return ret;
	}
	signals_guarded();
	ret = attach_nics(s, &reply);
	if (ret)
		say("no RDMA device: its memory cannot be used: %s", strerrordesc_np(-ret));
	return ret;
}

static int session_make(struct session **out)
{
	struct session *s = sys_mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u32 i;
	int ret;

	if (!s)
		return -ENOMEM;
	s->pid = sys_getpid();
	s->door_fd = -1;
	s->memory_fd = -1;
	for (i = 0; i < TREE_FOLDERS; i++)
		s->tree_fd[i] = -1;
	node_place_renew();
	ret = session_begin(s);
	if (ret) {
		session_drop(s);
		return ret;
	}
	find_nodes(s);
	open_tree(s);
	provider_load();
	if (settings()->host_devices)
		merged_update();
	*out = s;
	return 0;
}

bool session_alive(struct session *s)
{
	const struct nic_header *hdr = s->nic[0]->nic.hdr;

	return !(nic_load(&hdr->agent_life) & FUTEX_OWNER_DIED) && !nic_load(&hdr->fatal);
}

bool session_exists(void)
{
	return __atomic_load_n(&current, __ATOMIC_RELAXED);
}

struct session *session_current(void)
{
	struct session *s = __atomic_load_n(&current, __ATOMIC_ACQUIRE);

	return s && s->pid == sys_getpid() ? s : NULL;
}

bool session_in_vfork_child(void)
{
	struct session *s = __atomic_load_n(&current, __ATOMIC_ACQUIRE);

	return s && s->pid != sys_getpid();
}

/*
 * Publish the new session. If a signal handler has taken over the turn (and made a session, or
 * failed), drop this one and return the handler's.
 */
static struct session *session_publish(struct session *made, int ret, const struct hold *hold,
				       int *error)
{
	if (!turn_is_held(hold)) {
		if (!ret)
			session_drop(made);
		*error = -EIO;
		return session_current();
	}
	failed_with = ret;
	if (ret) {
		failed_at = plat_clock();
		*error = ret;
		return NULL;
	}
	__atomic_store_n(&current, made, __ATOMIC_RELEASE);
	return made;
}

static struct session *session_get_held(const struct hold *hold, int *error)
{
	struct session *s = current, *before = s;
	u64 now = plat_clock();
	int ret;

	if (s && s->pid != sys_getpid()) {
		*error = -EIO;
		return NULL;
	}
	if (s && session_alive(s))
		return s;
	if (failed_with && now - failed_at < SESSION_PAUSE) {
		*error = failed_with;
		return NULL;
	}
	if (s)
		drop_connections(s);
	if (s && s->before)
		release_descriptors(s->before);
	ret = session_make(&s);
	if (!ret)
		s->before = before;
	return session_publish(s, ret, hold, error);
}

struct session *session_get(int *error)
{
	struct session *s = session_current();
	int ignored, saved_errno = errno;
	struct hold hold;

	if (s && session_alive(s))
		return s;
	if (!error)
		error = &ignored;
	if (settings()->off) {
		*error = -ENODEV;
		return NULL;
	}
	s = NULL;
	*error = turn_acquire(&making, &hold);
	if (!*error) {
		s = session_get_held(&hold, error);
		turn_release(&hold);
	}
	errno = saved_errno;
	return s;
}

static void end_channel(int fd, const struct fd_entry *entry, void *arg)
{
	(void)arg;
	if (entry->kind == FD_CHANNEL || entry->channel_end)
		(void)sys(SYS_shutdown, fd, SHUT_RDWR);
}

void session_ended(struct session *s)
{
	u32 i;

	for (i = 0; i < s->nnics; i++)
		nic_flush_own(&s->nic[i]->nic);
	if (__atomic_exchange_n(&s->ended, true, __ATOMIC_SEQ_CST))
		return;
	fdtable_each(FD_CHANNEL, end_channel, NULL);
	fdtable_each(FD_KEPT, end_channel, NULL);
}

bool session_same_agent(const struct session *a, const struct session *b)
{
	return a->agent_id.dev == b->agent_id.dev && a->agent_id.ino == b->agent_id.ino;
}

const struct device_node *session_node(const struct stat *st)
{
	const struct session *s = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
	u32 i;

	for (i = 0; s && i < s->nnodes; i++)
		if (st->st_ino == s->node[i].id.ino && st->st_dev == s->node[i].id.dev)
			return &s->node[i];
	return NULL;
}

const struct device_node *session_node_of(u32 minor)
{
	const struct session *s = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
	u32 i;

	for (i = 0; s && i < s->nnodes; i++)
		if (s->node[i].minor == minor)
			return &s->node[i];
	return NULL;
}

int session_tree(enum tree_folder folder)
{
	const struct session *s = __atomic_load_n(&current, __ATOMIC_ACQUIRE);

	return s ? s->tree_fd[folder] : -1;
}

void session_vacate(int fd)
{
	struct session *s;
	u32 i;

	for (s = current; s; s = s->before)
		for (i = 0; i < s->nnics; i++)
			(void)host_vacate(&s->nic[i]->host, fd);
}

static void fd_moved(struct session *s, int from, int to)
{
	u32 i;

	for (i = 0; i < SESSION_CONNECTIONS; i++)
		if (s->connection[i].state && s->connection[i].fd == from)
			nic_store(&s->connection[i].fd, to);
	if (s->door_fd == from)
		nic_store(&s->door_fd, to);
	if (s->memory_fd == from)
		nic_store(&s->memory_fd, to);
	for (i = 0; i < TREE_FOLDERS; i++)
		if (s->tree_fd[i] == from)
			nic_store(&s->tree_fd[i], to);
	for (i = 0; i < s->nnics; i++) {
		struct client_nic *cn = s->nic[i];

		if (cn->host.kick_fd == from)
			nic_store(&cn->host.kick_fd, to);
		if (cn->link_fd != from)
			continue;
		cn->link_fd = to;
		nic_store(&cn->host.link.fd, to);
	}
}

void session_fd_moved(int from, int to)
{
	struct session *s;

	for (s = current; s; s = s->before)
		fd_moved(s, from, to);
}

/* ------------------------------------------------------------------------ fork */

/*
 * A forked child has copies of the parent's descriptors and memory, but is another process for the
 * daemon: it says HELLO anew when it uses the device.
 */
static void forked(void)
{
	struct session *s = current;
	u32 i;

	own_files_forked();
	fdtable_forked();
	turn_forked(&making);
	control_forked();
	failed_with = 0;
	for (i = 0; s && i < s->nnics; i++)
		s->nic[i]->foreign = true;
	current = NULL;
}

static void __attribute__((constructor)) session_load(void)
{
	real_init();
	(void)settings();
	pthread_atfork(NULL, NULL, forked);
}
