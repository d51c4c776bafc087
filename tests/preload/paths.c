// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Tests which paths lead to the device, with all functions that take a path. */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define IB "/sys/class/infiniband"
#define VERBS "/sys/class/infiniband_verbs"
#define CDEV "/dev/infiniband/uverbs0"

/* Paths, and whether they exist on the emulated device. */
static const struct {
	const char *path;
	bool exists;
} table[] = {
	{ IB, true },
	{ IB "/", true },
	{ IB "/vnet0", true },
	{ IB "/vnet0/ports/1/gids/0", true },
	{ IB "/vnet0/device/infiniband_verbs/uverbs0/dev", true },
	{ IB "/vnet0/device/numa_node", true },
	{ IB "/vnet0/../vnet0/fw_ver", true },
	{ IB "/vnet1", false },
	{ "//sys//class/./infiniband///vnet0/./node_guid", true },
	{ "/./sys/class/infiniband/vnet0", true },
	{ VERBS, true },
	{ VERBS "/uverbs0/ibdev", true },
	{ VERBS "/uverbs99", false },
	{ "/dev/infiniband", true },
	{ "/dev//infiniband/./uverbs0", true },
	{ CDEV, true },
	{ "/dev/infiniband/rdma_cm", true },
	{ "/dev/infiniband/umad0", false },
	{ "/dev/infinibandx", false },
	{ "/sys/class/misc/rdma_cm", true },
	{ "/sys/class/misc/rdma_cm/abi_version", true },
	{ "", false },
};

static void read_file(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");

	EXPECT(file);
	EXPECT(fgets(text, (int)size, file));
	fclose(file);
}

static void existence(void)
{
	struct statx stx;
	struct stat st;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *path = table[i].path;
		int want = table[i].exists ? 0 : -1;
		int fd = open(path, O_RDONLY);

		if (stat(path, &st) != want)
			fprintf(stderr, "of %s:\n", path);
		EXPECT(stat(path, &st) == want);
		EXPECT(lstat(path, &st) == want);
		EXPECT(fstatat(AT_FDCWD, path, &st, 0) == want);
		EXPECT(fstatat(-1, path, &st, 0) == want);
		EXPECT(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &stx) == want);
		EXPECT(access(path, R_OK) == want);
		EXPECT(faccessat(AT_FDCWD, path, R_OK, 0) == want);
		EXPECT(euidaccess(path, R_OK) == want);
		EXPECT((fd < 0 ? -1 : 0) == want);
		close(fd);
	}
}

/* For other paths, the result is that of the system call. */
static void others(void)
{
	static const char *const paths[] = { "/",
					     "/sys/class/net",
					     "/sys",
					     "/dev/null",
					     ".",
					     "/sys/devices/system/cpu",
					     "/proc/self/status" };
	struct stat ours, theirs;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		long ret = syscall(SYS_newfstatat, AT_FDCWD, paths[i], &theirs, 0);

		EXPECT(stat(paths[i], &ours) == ret);
		EXPECT(ret || (ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev &&
			       ours.st_mode == theirs.st_mode && ours.st_rdev == theirs.st_rdev));
	}
}

static void DELIBERATE no_path(void)
{
	const char *none = getenv("VNET_NOT_A_VARIABLE");
	struct stat st;

	REFUSES(open(none, O_RDONLY), EFAULT);
	REFUSES(stat(none, &st), EFAULT);
	REFUSES(access(none, F_OK), EFAULT);
	REFUSES(open("", O_RDONLY), ENOENT);
}

/* A successful call does not change errno. */
static void errno_stays(void)
{
	struct stat st;
	int fd;

	errno = E2BIG;
	fd = open(CDEV, O_RDWR | O_CLOEXEC);
	EXPECT(fd >= 0 && errno == E2BIG);
	EXPECT(!fstat(fd, &st) && errno == E2BIG);
	EXPECT(!stat(IB, &st) && errno == E2BIG);
	EXPECT(!close(fd) && errno == E2BIG);
}

static void folders(void)
{
	struct dirent *entry, **list;
	bool found = false;
	int fd, n, ours = 0;
	struct stat st;
	DIR *dir = opendir(IB);

	EXPECT(dir);
	while ((entry = readdir(dir)))
		found = found || !strcmp(entry->d_name, "vnet0");
	EXPECT(found);
	fd = openat(dirfd(dir), "vnet0/node_type", O_RDONLY);
	EXPECT(fd >= 0);
	close(fd);
	closedir(dir);

	n = scandir("/dev/infiniband", &list, NULL, alphasort);
	EXPECT(n > 2);
	while (n--) {
		ours += !strcmp(list[n]->d_name, "uverbs0");
		free(list[n]);
	}
	free(list);
	EXPECT(ours == 1);

	EXPECT(!chdir("/dev/infiniband"));
	EXPECT(!stat("uverbs0", &st) && S_ISCHR(st.st_mode));
	EXPECT(!chdir("/"));
}

static void links(void)
{
	char text[PATH_MAX], again[PATH_MAX];
	char *path;
	ssize_t n = readlink(IB "/vnet0", text, sizeof(text));

	EXPECT(n > 0 && memmem(text, (size_t)n, "devices/pci", 11));
	/* Returned paths are the public names, and can be used again. */
	path = realpath(IB "/vnet0/device", text);
	EXPECT(path == text && !strncmp(path, "/sys/devices/pci", 16));
	strcat(text, "/vendor");
	EXPECT(!access(text, R_OK));
	EXPECT(realpath(text, again) && !strcmp(text, again));
	path = canonicalize_file_name(VERBS "/uverbs0/../uverbs0/device/infiniband/vnet0");
	EXPECT(path && !strncmp(path, "/sys/devices/pci", 16));
	free(path);
	EXPECT(realpath("/sys/class/net", text) && !strcmp(text, "/sys/class/net"));
}

static void patterns(void)
{
	glob_t found = { 0 };

	EXPECT(!glob("/dev/infiniband/uverbs*", 0, NULL, &found));
	EXPECT(found.gl_pathc == 1 && !strcmp(found.gl_pathv[0], CDEV));
	globfree(&found);
	EXPECT(!glob(IB "/*/ports/*/state", 0, NULL, &found));
	EXPECT(found.gl_pathc == 1);
	globfree(&found);
	EXPECT(!glob("/proc/self/stat*", 0, NULL, &found));
	globfree(&found);
}

/* The device is a character device with the number that sysfs shows, by path and opened. */
static void character_device(void)
{
	unsigned int major_number, minor_number;
	struct stat st, opened, empty;
	struct statx stx;
	char text[64];
	int fd, dir;

	read_file(VERBS "/uverbs0/dev", text, sizeof(text));
	EXPECT(sscanf(text, "%u:%u", &major_number, &minor_number) == 2);
	EXPECT(!stat(CDEV, &st) && S_ISCHR(st.st_mode));
	EXPECT(st.st_rdev == makedev(major_number, minor_number));
	EXPECT(!statx(AT_FDCWD, CDEV, 0, STATX_BASIC_STATS, &stx) && S_ISCHR(stx.stx_mode));
	EXPECT(stx.stx_rdev_major == major_number && stx.stx_rdev_minor == minor_number);
	EXPECT(!access(CDEV, R_OK | W_OK));

	fd = open(CDEV, O_RDWR | O_CLOEXEC);
	EXPECT(fd >= 0);
	EXPECT(!fstat(fd, &opened) && S_ISCHR(opened.st_mode));
	EXPECT(opened.st_rdev == st.st_rdev && opened.st_ino == st.st_ino);
	EXPECT(!fstatat(fd, "", &empty, AT_EMPTY_PATH) && empty.st_rdev == st.st_rdev);
	EXPECT(!statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) && S_ISCHR(stx.stx_mode));
	EXPECT(fcntl(fd, F_GETFD) == FD_CLOEXEC && !(fcntl(fd, F_GETFL) & O_NONBLOCK));
	close(fd);

	dir = open("/dev/infiniband", O_RDONLY | O_DIRECTORY);
	EXPECT(dir >= 0);
	fd = openat(dir, "uverbs0", O_RDWR | O_NONBLOCK);
	EXPECT(fd >= 0 && !fstat(fd, &opened) && S_ISCHR(opened.st_mode));
	EXPECT(fcntl(fd, F_GETFD) == 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK));
	REFUSES(read(fd, text, sizeof(text)), EINVAL);
	close(fd);
	close(dir);
}

static void attributes(void)
{
	char text[64];

	EXPECT(getxattr(IB "/vnet0", "user.none", text, sizeof(text)) == -1 && errno != ENOENT);
	EXPECT(lgetxattr(IB "/vnet0", "user.none", text, sizeof(text)) == -1 && errno != ENOENT);
}

/* Programs cannot create files in the device's folders. */
static void no_creation(void)
{
	REFUSES(open("/dev/infiniband/made", O_CREAT | O_RDWR, 0600), ENOENT);
	REFUSES(creat(IB "/made", 0600), ENOENT);
}

int main(void)
{
	existence();
	others();
	no_path();
	errno_stays();
	folders();
	links();
	patterns();
	character_device();
	attributes();
	no_creation();
	return 0;
}
