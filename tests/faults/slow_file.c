// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The FUSE server of a slow file: implements the kernel's protocol itself, without libfuse. It
 * serves a root directory with one regular file, which uses the page cache.
 */
#define _GNU_SOURCE
#include "slow_file.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILE_NODE (FUSE_ROOT_ID + 1)
#define FILE_NAME "file"
/* The kernel may cache names and attributes: they do not change. */
#define VALID_SECONDS 3600
#define MOST_KEPT 256
#define MOST_WRITTEN 65536
#define ROOM (MOST_WRITTEN + SLOW_PAGE)

/* Shared by the test and the server. */
struct slow_control {
	uint32_t holding;
	/* Requests that the server is to answer now. */
	uint32_t pass;
	/* Requests that are held back. */
	uint32_t kept;
};

/* ------------------------------------------------------------------- the server */

struct request {
	const struct fuse_in_header *header;
	/* What follows the header in the request. */
	const void *body;
};

struct kept_read {
	uint64_t unique;
	uint64_t offset;
	uint32_t size;
};

struct server {
	const struct slow_file *file;
	/* /dev/fuse. Only the server has it open, so the connection ends with the server. */
	int device;
	struct kept_read kept[MOST_KEPT];
	unsigned int count;
};

/* Fails harmlessly if the kernel has aborted the request. */
static void answer(const struct server *s, uint64_t unique, int error, const void *data,
		   size_t length)
{
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + length),
		.error = -error,
		.unique = unique,
	};
	struct iovec iov[2] = {
		{ .iov_base = &header, .iov_len = sizeof(header) },
		{ .iov_base = (void *)(uintptr_t)data, .iov_len = length },
	};

	if (writev(s->device, iov, length ? 2 : 1) < 0)
		CHECK(errno == ENOENT || errno == EINTR || errno == ENODEV);
}

static void answer_error(const struct server *s, const struct request *r, int error)
{
	answer(s, r->header->unique, error, NULL, 0);
}

static void on_init(const struct server *s, const struct request *r)
{
	const struct fuse_init_in *in = r->body;
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = in->minor < FUSE_KERNEL_MINOR_VERSION ? in->minor :
								 FUSE_KERNEL_MINOR_VERSION,
		/* One read request for each page. */
		.max_readahead = 0,
		.max_write = MOST_WRITTEN,
		.time_gran = 1,
	};

	CHECK_EQ(in->major, FUSE_KERNEL_VERSION);
	answer(s, r->header->unique, 0, &out, sizeof(out));
}

static struct fuse_attr attributes(const struct server *s, uint64_t node)
{
	struct fuse_attr attr = {
		.ino = node,
		.mode = S_IFDIR | 0700,
		.nlink = 2,
		.uid = getuid(),
		.gid = getgid(),
		.blksize = SLOW_PAGE,
	};

	if (node == FILE_NODE) {
		attr.mode = S_IFREG | 0600;
		attr.nlink = 1;
		attr.size = s->file->length;
	}
	return attr;
}

static void on_lookup(const struct server *s, const struct request *r)
{
	struct fuse_entry_out out = {
		.nodeid = FILE_NODE,
		.entry_valid = VALID_SECONDS,
		.attr_valid = VALID_SECONDS,
		.attr = attributes(s, FILE_NODE),
	};

	if (r->header->nodeid != FUSE_ROOT_ID || strcmp(r->body, FILE_NAME) != 0)
		answer_error(s, r, ENOENT);
	else
		answer(s, r->header->unique, 0, &out, sizeof(out));
}

/* GETATTR and SETATTR. Attributes do not change. */
static void on_attributes(const struct server *s, const struct request *r)
{
	struct fuse_attr_out out = {
		.attr_valid = VALID_SECONDS,
		.attr = attributes(s, r->header->nodeid),
	};

	answer(s, r->header->unique, 0, &out, sizeof(out));
}

static void on_open(const struct server *s, const struct request *r)
{
	/* No FOPEN_DIRECT_IO: mappings use the page cache. */
	struct fuse_open_out out = { .open_flags = FOPEN_KEEP_CACHE };

	answer(s, r->header->unique, 0, &out, sizeof(out));
}

static void answer_read(const struct server *s, const struct kept_read *read)
{
	size_t length = s->file->length, offset = read->offset < length ? read->offset : length;
	size_t size = read->size < length - offset ? read->size : length - offset;

	answer(s, read->unique, 0, s->file->content + offset, size);
}

static void show_kept(const struct server *s)
{
	__atomic_store_n(&s->file->control->kept, s->count, __ATOMIC_RELEASE);
}

static void on_read(struct server *s, const struct request *r)
{
	const struct fuse_read_in *in = r->body;
	struct kept_read read = {
		.unique = r->header->unique,
		.offset = in->offset,
		.size = in->size,
	};

	if (!__atomic_load_n(&s->file->control->holding, __ATOMIC_ACQUIRE)) {
		answer_read(s, &read);
		return;
	}
	CHECK(s->count < MOST_KEPT);
	s->kept[s->count++] = read;
	show_kept(s);
}

static void on_write(const struct server *s, const struct request *r)
{
	const struct fuse_write_in *in = r->body;
	struct fuse_write_out out = { .size = in->size };

	if (in->offset > s->file->length || in->size > s->file->length - in->offset) {
		answer_error(s, r, EFBIG);
		return;
	}
	memcpy(s->file->content + in->offset, in + 1, in->size);
	answer(s, r->header->unique, 0, &out, sizeof(out));
}

static void serve_request(struct server *s, const struct request *r)
{
	switch (r->header->opcode) {
	case FUSE_INIT:
		on_init(s, r);
		break;
	case FUSE_LOOKUP:
		on_lookup(s, r);
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		on_attributes(s, r);
		break;
	case FUSE_OPEN:
		on_open(s, r);
		break;
	case FUSE_READ:
		on_read(s, r);
		break;
	case FUSE_WRITE:
		on_write(s, r);
		break;
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_RELEASE:
		answer_error(s, r, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		/* These have no answer. */
	case FUSE_INTERRUPT:
		/* Ignored, so that the interrupted process continues to wait. */
		break;
	default:
		answer_error(s, r, ENOSYS);
		break;
	}
}

static void receive_request(struct server *s)
{
	static uint8_t bytes[ROOM + 1] __attribute__((aligned(8)));
	struct request r = {
		.header = (const struct fuse_in_header *)(const void *)bytes,
		.body = bytes + sizeof(*r.header),
	};
	ssize_t n = read(s->device, bytes, ROOM);

	if (n < 0 && errno == ENODEV)
		_exit(0);
	if (n < 0) {
		CHECK(errno == EINTR || errno == EAGAIN || errno == ENOENT);
		return;
	}
	CHECK((size_t)n >= sizeof(*r.header));
	/* Terminates names. */
	bytes[n] = '\0';
	serve_request(s, &r);
}

/* Answers as many held-back requests as the test has released, the oldest first. */
static void answer_kept(struct server *s)
{
	struct slow_control *control = s->file->control;
	uint32_t pass = __atomic_exchange_n(&control->pass, 0, __ATOMIC_ACQUIRE);
	unsigned int i;

	if (!__atomic_load_n(&control->holding, __ATOMIC_ACQUIRE) || pass > s->count)
		pass = s->count;
	for (i = 0; i < pass; i++)
		answer_read(s, &s->kept[i]);
	s->count -= pass;
	memmove(s->kept, s->kept + pass, s->count * sizeof(s->kept[0]));
	show_kept(s);
}

static void serve(const struct slow_file *f, int device, pid_t parent)
{
	struct server s = { .file = f, .device = device };
	struct pollfd pfd[2] = {
		{ .fd = device, .events = POLLIN },
		{ .fd = f->wake, .events = POLLIN },
	};
	uint64_t since = now_ns(), woken;

	set_role("slow file");
	CHECK_EQ(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
	while (getppid() == parent && !is_past(since, SLOW_FILE_LIFE * 1000000000ull)) {
		if (poll(pfd, 2, 1000) <= 0)
			continue;
		if (pfd[1].revents) {
			CHECK_EQ(read(f->wake, &woken, sizeof(woken)), sizeof(woken));
			answer_kept(&s);
		}
		if (pfd[0].revents)
			receive_request(&s);
	}
	_exit(0);
}

/* --------------------------------------------------------------------- the mount */

static const char *why_not(const char *what)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));
	return text;
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written;

	if (fd < 0)
		return false;
	written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return written;
}

/* Maps the user and group to themselves, so that files and processes remain accessible. */
static const char *enter_user_namespace(void)
{
	unsigned int uid = getuid(), gid = getgid();
	char text[64];

	if (unshare(CLONE_NEWUSER) < 0)
		return why_not("no user namespace is to be had");
	/* The kernel requires this before an ordinary user maps groups. */
	if (!write_file("/proc/self/setgroups", "deny"))
		return why_not("setgroups cannot be denied");
	snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	if (!write_file("/proc/self/uid_map", text))
		return why_not("the user cannot be mapped");
	snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	if (!write_file("/proc/self/gid_map", text))
		return why_not("the group cannot be mapped");
	return NULL;
}

static const char *enter_namespaces(void)
{
	const char *why = geteuid() ? enter_user_namespace() : NULL;

	if (why)
		return why;
	if (unshare(CLONE_NEWNS) < 0)
		return why_not("no mount namespace is to be had");
	/* The mounts must not propagate. */
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return why_not("mounts cannot be made private");
	return NULL;
}

static const char *mount_file(int device, const char *directory)
{
	char options[128];

	snprintf(options, sizeof(options), "fd=%d,rootmode=%o,user_id=%u,group_id=%u", device,
		 S_IFDIR, getuid(), getgid());
	if (mkdir(directory, 0700) < 0)
		return why_not("no directory to mount at");
	if (mount("slow_file", directory, "fuse", MS_NOSUID | MS_NODEV, options) < 0)
		return why_not("FUSE cannot be mounted");
	return NULL;
}

static void *share_memory(size_t length)
{
	void *memory =
		mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static void start_server(struct slow_file *f, int device)
{
	pid_t parent = getpid();

	f->content = share_memory(f->length);
	f->control = share_memory(sizeof(*f->control));
	f->wake = eventfd(0, EFD_CLOEXEC);
	CHECK(f->wake >= 0);
	f->server = fork();
	CHECK(f->server >= 0);
	if (!f->server)
		serve(f, device, parent);
	/* The server must be the only process that has the connection open. */
	close(device);
}

const char *slow_file_start(struct slow_file *f, size_t length)
{
	const char *scratch = getenv("VNET_TEST_DIR");
	char directory[512], path[sizeof(directory) + sizeof("/" FILE_NAME)];
	const char *why;
	int device;

	CHECK(scratch);
	memset(f, 0, sizeof(*f));
	f->length = length;
	snprintf(directory, sizeof(directory), "%s/slow", scratch);
	snprintf(path, sizeof(path), "%s/" FILE_NAME, directory);
	why = enter_namespaces();
	if (why)
		return why;
	/* To be opened in the user namespace that mounts it. */
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (device < 0)
		return why_not("/dev/fuse cannot be opened");
	why = mount_file(device, directory);
	if (why) {
		close(device);
		return why;
	}
	start_server(f, device);
	f->fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(f->fd >= 0);
	return NULL;
}

void slow_file_stop(struct slow_file *f)
{
	CHECK_EQ(kill(f->server, SIGKILL), 0);
	CHECK_EQ(waitpid(f->server, NULL, 0), f->server);
	close(f->fd);
	close(f->wake);
}

uint8_t *slow_file_map(const struct slow_file *f, int flags)
{
	uint8_t *map = mmap(NULL, f->length, PROT_READ | PROT_WRITE, flags, f->fd, 0);

	CHECK(map != MAP_FAILED);
	/* No pages around a page that is touched. */
	CHECK_EQ(madvise(map, f->length, MADV_RANDOM), 0);
	return map;
}

/* -------------------------------------------------------------------- the control */

static void wake_server(const struct slow_file *f)
{
	const uint64_t one = 1;

	CHECK_EQ(write(f->wake, &one, sizeof(one)), sizeof(one));
}

void slow_file_hold(struct slow_file *f)
{
	__atomic_store_n(&f->control->holding, 1, __ATOMIC_RELEASE);
}

void slow_file_release_one(struct slow_file *f)
{
	__atomic_fetch_add(&f->control->pass, 1, __ATOMIC_RELEASE);
	wake_server(f);
}

void slow_file_release(struct slow_file *f)
{
	__atomic_store_n(&f->control->holding, 0, __ATOMIC_RELEASE);
	wake_server(f);
}

void slow_file_await_kept(const struct slow_file *f, uint32_t count)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t since = now_ns();

	while (__atomic_load_n(&f->control->kept, __ATOMIC_ACQUIRE) < count) {
		if (is_past(since, TIME_LIMIT * 1000000000ull))
			FAIL("nobody waits for the page");
		(void)nanosleep(&pause, NULL);
	}
}
