// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests that registrations of bulk sources are kept as long as their memory exists, and no longer.
 * An endpoint sends to itself, and wrappers of ibv_reg_mr() count the registrations.
 *
 *	memory [--unwatched | --copied]
 *
 * --unwatched: userfaultfd is forbidden, as in some sandboxes. All data must arrive, and no
 * registration may be kept.
 *
 * --copied: likewise, but with copies of sources where they are faster. After the first transfers,
 * no memory of the program may be registered.
 */
#include <am.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <infiniband/verbs.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE ((size_t)256 << 10)
#define BULK 1
#define KEEP "8" /* registrations */

static unsigned int registrations;
static bool watched = true, copied;
static eb_t eb;
static ep_t ep;
static uint8_t *segment;
static volatile int arrived;
static int failures;

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access);
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	static struct ibv_mr *(*next)(struct ibv_pd *, void *, size_t, int);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "ibv_reg_mr");
	__atomic_add_fetch(&registrations, 1, __ATOMIC_RELAXED);
	return next(pd, address, length, access);
}

/* libibverbs' macro calls this one unless the access flags are a constant without optional flags. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
				unsigned int access)
{
	static struct ibv_mr *(*next)(struct ibv_pd *, void *, size_t, uint64_t, unsigned int);

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "ibv_reg_mr_iova2");
	__atomic_add_fetch(&registrations, 1, __ATOMIC_RELAXED);
	return next(pd, address, length, iova, access);
}

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static void expect(bool ok, const char *what)
{
	if (ok)
		return;
	printf("not so: %s\n", what);
	failures++;
}

static void bulk_handler(void *token, void *buf, int nbytes)
{
	arrived = nbytes;
}

static void fill(uint8_t *memory, uint8_t seed)
{
	for (size_t i = 0; i < SIZE; i++)
		memory[i] = (uint8_t)(seed + i * 7 + (i >> 12));
}

/* Sends SIZE bytes at @source. Returns the number of registrations. */
static unsigned int send_bytes(const void *source)
{
	unsigned int before = registrations;

	arrived = -1;
	memset(segment, 0xee, SIZE);
	must(!AM_RequestXfer0(ep, 0, 0, BULK, source, SIZE), "AM_RequestXfer0");
	while (arrived < 0)
		must(!AM_Poll(eb), "AM_Poll");
	expect((size_t)arrived == SIZE, "all has arrived");
	return registrations - before;
}

/* The data must arrive as the program sees them. @kept: no new registration is needed. */
static void transfer(const void *source, bool kept, const char *what)
{
	unsigned int n = send_bytes(source);

	if (memcmp(segment, source, SIZE) != 0) {
		printf("%s: other bytes have arrived\n", what);
		failures++;
	}
	if (!copied && n != !(kept && watched)) {
		printf("%s: registered %u times\n", what, n);
		failures++;
	}
}

static uint8_t *map_at(void *address, int flags)
{
	uint8_t *memory = mmap(address, SIZE, PROT_READ | PROT_WRITE, flags, -1, 0);

	must(memory != MAP_FAILED, "mmap");
	return memory;
}

static uint8_t *map(void)
{
	return map_at(NULL, MAP_PRIVATE | MAP_ANONYMOUS);
}

static void kept(void)
{
	uint8_t *memory = map();

	for (uint8_t i = 0; i < 10; i++) {
		fill(memory, i);
		transfer(memory, i > 0, "the same memory again");
	}
	munmap(memory, SIZE);
}

static void unmapped(void)
{
	uint8_t *memory = map(), *again;

	for (uint8_t i = 0; i < 10; i++) {
		fill(memory, i);
		transfer(memory, false, "memory at an address that was unmapped");
		munmap(memory, SIZE);
		again = map_at(memory, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE);
		must(again == memory, "the address is free");
	}
	munmap(memory, SIZE);
}

static void mapped_over(void)
{
	uint8_t *memory = map();

	fill(memory, 99);
	transfer(memory, false, "new memory");
	must(mmap(memory + SIZE / 2, 4096, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory + SIZE / 2,
	     "mmap");
	transfer(memory, false, "a page of it mapped over");
	munmap(memory, SIZE);
}

static void advised(void)
{
	uint8_t *memory = map(), *shared = map_at(NULL, MAP_SHARED | MAP_ANONYMOUS);

	fill(memory, 1);
	transfer(memory, false, "new memory");
	must(!madvise(memory, SIZE, MADV_DONTNEED), "MADV_DONTNEED");
	transfer(memory, false, "pages given back");
	fill(memory, 2);
	transfer(memory, true, "the same pages");
	must(!madvise(memory, SIZE, MADV_FREE), "MADV_FREE");
	fill(memory, 3);
	transfer(memory, false, "pages that may be taken");
	munmap(memory, SIZE);

	fill(shared, 4);
	transfer(shared, false, "shared memory");
	transfer(shared, true, "shared memory again");
	must(!madvise(shared, SIZE, MADV_REMOVE), "MADV_REMOVE");
	transfer(shared, false, "a hole in shared memory");
	munmap(shared, SIZE);
}

static void moved(void)
{
	uint8_t *memory = map(), *place = map(), *there;

	fill(memory, 5);
	transfer(memory, false, "before it moves");
	there = mremap(memory, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	must(there == place, "mremap");
	must(map_at(memory, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE) == memory, "free");
	fill(memory, 6);
	transfer(memory, false, "where it was");
	transfer(there, false, "where it is");
	transfer(memory, true, "where it was, again");
	transfer(there, true, "where it is, again");
	munmap(memory, SIZE);
	munmap(there, SIZE);
}

/* The end of the heap, which malloc() may give back by sbrk(). */
static void broken(void)
{
	intptr_t size = (intptr_t)SIZE + 4096;

	for (uint8_t i = 0; i < 3; i++) {
		uint8_t *end = sbrk(size), *begin = end + 4096 - ((uintptr_t)end & 4095);

		if (end == (uint8_t *)-1) {
			printf("SKIP: the heap cannot grow\n");
			return;
		}
		fill(begin, i);
		transfer(begin, false, "the end of the heap");
		if (sbrk(0) != end + size) {
			printf("SKIP: somebody else needs the heap\n");
			return;
		}
		sbrk(-size);
	}
}

static void allocated(void)
{
	for (unsigned int i = 0; i < 100; i++) {
		uint8_t *memory = calloc(1, SIZE + 4096 * (i % 5));

		must(memory, "calloc");
		fill(memory, (uint8_t)i);
		send_bytes(memory);
		expect(memcmp(segment, memory, SIZE) == 0, "what was allocated arrives");
		free(memory);
	}
}

/*
 * Registrations of file mappings are not kept, because truncation of a file is not reported. The C
 * library serves as the file.
 */
static void of_a_file(void)
{
	struct statfs fs;
	uint8_t *memory;
	Dl_info info;
	int fd;

	must(dladdr((void *)dlsym(RTLD_NEXT, "mmap"), &info), "dladdr");
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && lseek(fd, 0, SEEK_END) >= (off_t)SIZE && !fstatfs(fd, &fs), info.dli_fname);
	if (fs.f_type == TMPFS_MAGIC) {
		printf("SKIP: %s is in memory, not in a file\n", info.dli_fname);
		close(fd);
		return;
	}
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	must(memory != MAP_FAILED, "mmap");
	for (uint8_t i = 0; i < 3; i++) {
		fill(memory, i);
		transfer(memory, false, "memory of a file");
	}
	munmap(memory, SIZE);
	close(fd);
}

/* If more sources are used than are kept, the least recently used one is dropped. */
static void many(void)
{
	size_t n = strtoul(KEEP, NULL, 10) + 1;
	uint8_t *memory =
		mmap(NULL, n * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(memory != MAP_FAILED, "mmap");
	for (size_t i = 0; i < n; i++)
		transfer(memory + i * SIZE, false, "one of many");
	transfer(memory + SIZE, true, "the second");
	transfer(memory, false, "the first, which was forgotten");
	transfer(memory + SIZE, true, "the second, used since");
	munmap(memory, n * SIZE);
}

/* True if userfaultfd watches any page in [@begin, @end). */
static bool is_watched(const uint8_t *begin, const uint8_t *end)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	bool within = false, found = false;
	uintptr_t low, high;
	char line[512];

	must(maps, "/proc/self/smaps");
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &low, &high) == 2)
			within = low < (uintptr_t)end && (uintptr_t)begin < high;
		else if (within && !strncmp(line, "VmFlags:", 8))
			found |= strstr(line, " uw ") || strstr(line, " um ");
	}
	fclose(maps);
	return found;
}

/* A range in two registrations is watched until both are dropped, and no longer. */
static void overlapping(void)
{
	size_t n = strtoul(KEEP, NULL, 10);
	uint8_t *others =
		mmap(NULL, n * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *memory =
		mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(memory != MAP_FAILED && others != MAP_FAILED, "mmap");
	transfer(memory, false, "the beginning");
	transfer(memory + SIZE / 2, false, "the middle");
	for (size_t i = 1; i < n; i++)
		transfer(others + i * SIZE, false, "another");
	expect(is_watched(memory + SIZE / 2, memory + SIZE) == watched, "one still needs it");
	expect(!is_watched(memory, memory + SIZE / 2), "the beginning is forgotten");
	transfer(others, false, "another");
	expect(!is_watched(memory, memory + 2 * SIZE), "what is forgotten is not watched");
	munmap(memory, 2 * SIZE);
	munmap(others, n * SIZE);
}

static void forked(void)
{
	uint8_t *memory = map();
	pid_t child;
	int status;

	fill(memory, 8);
	transfer(memory, false, "before fork");
	child = fork();
	must(child >= 0, "fork");
	if (!child) {
		/* This changes only the child's memory. Nothing may wait for the parent. */
		munmap(memory, SIZE);
		_exit(map_at(memory, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED)[0]);
	}
	must(waitpid(child, &status, 0) == child && !status, "the child");
	transfer(memory, true, "after fork");
	munmap(memory, SIZE);
}

static bool stop;

/* Maps and unmaps memory while the other thread registers. */
static void *unmapper(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		uint8_t *memory = map();

		memory[0] = 1;
		munmap(memory, SIZE);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, unmapper, NULL), "pthread_create");
	for (unsigned int i = 0; i < 100; i++) {
		uint8_t *memory = map();

		fill(memory, (uint8_t)i);
		send_bytes(memory);
		expect(memcmp(segment, memory, SIZE) == 0, "it arrives beside another thread");
		munmap(memory, SIZE);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

static void start(const char *keep)
{
	en_t name;

	must(!AM_SetOption("regions", keep), "AM_SetOption");
	must(!AM_Init(), "AM_Init");
	must(!AM_AllocateBundle(AM_SEQ, &eb), "AM_AllocateBundle");
	must(!AM_AllocateEndpoint(eb, &ep, &name), "AM_AllocateEndpoint");
	must(!AM_SetTag(ep, AM_ALL) && !AM_Map(ep, 0, name, 1), "AM_Map");
	must(!AM_SetHandler(ep, BULK, bulk_handler), "AM_SetHandler");
	must(!AM_SetSeg(ep, segment, SIZE), "AM_SetSeg");
	/* Connects the endpoint, which registers the library's own memory. */
	must(!AM_RequestXfer0(ep, 0, 0, BULK, segment, 0), "AM_RequestXfer0");
	for (arrived = -1; arrived < 0;)
		must(!AM_Poll(eb), "AM_Poll");
}

/* After AM_Terminate(), munmap() must not wait for the library. */
static void ended(void)
{
	uint8_t *memory = map();

	fill(memory, 7);
	transfer(memory, false, "before the end");
	must(!AM_Terminate(), "AM_Terminate");
	munmap(memory, SIZE);
}

static bool userfaultfd_is_there(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void forbid_userfaultfd(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

	must(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		     !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program),
	     "seccomp");
	must(!userfaultfd_is_there(), "userfaultfd is forbidden");
}

static void run_all(void)
{
	start(KEEP);
	kept();
	unmapped();
	mapped_over();
	advised();
	moved();
	broken();
	allocated();
	of_a_file();
	many();
	overlapping();
	forked();
	threads();
	ended();

	/* No registrations are kept at all. */
	watched = false;
	must(!AM_SetOption("copies", "0"), "AM_SetOption");
	start("0");
	kept();
	ended();
}

/* 100 transfers, one after the other, that copy the source. */
static void copies(void)
{
	uint8_t *memory = map();
	unsigned int before;

	fill(memory, 1);
	/*
	 * The first transfer finds that nothing can be kept; later ones allocate the copy buffers.
	 */
	for (int i = 0; i < 20; i++)
		transfer(memory, false, "one of the first");
	before = registrations;
	for (uint8_t i = 0; i < 100; i++) {
		fill(memory, i);
		transfer(memory, false, "a copy");
	}
	expect(registrations == before, "what is copied is not registered");
	munmap(memory, SIZE);
}

/* The source may be changed when the call returns, even with asynchronous requests. */
static void copies_at_once(void)
{
	uint8_t *memory = map(), *same = map();

	fill(same, 3);
	for (int i = 0; i < 30; i++) {
		fill(memory, 3);
		must(!AM_RequestXferAsync0(ep, 0, 0, BULK, memory, SIZE) ||
			     !AM_RequestXfer0(ep, 0, 0, BULK, memory, SIZE),
		     "AM_RequestXfer");
	}
	expect(!send_bytes(same), "buffers come back");
	expect(!memcmp(segment, same, SIZE), "all is as it was sent");
	munmap(memory, SIZE);
	munmap(same, SIZE);
}

static void run_copied(void)
{
	copied = true;
	start(KEEP);
	copies();
	copies_at_once();
	threads();
	ended();
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--unwatched")) {
		forbid_userfaultfd();
		watched = false;
		must(!AM_SetOption("copies", "0"), "AM_SetOption");
	} else if (argc > 1 && !strcmp(argv[1], "--copied")) {
		forbid_userfaultfd();
	} else if (!userfaultfd_is_there()) {
		printf("SKIP: no userfaultfd: %s\n", strerror(errno));
		return 77;
	}
	segment = map();
	if (argc > 1 && !strcmp(argv[1], "--copied"))
		run_copied();
	else
		run_all();
	printf("%d failures\n", failures);
	return failures != 0;
}
