// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Key files of the link, each for all peers or for those of a network. Of the keys for a peer,
 * the first is used to send, and all are accepted. So a key can be changed under traffic: give
 * every node the new key in addition to the old, then as the first, then alone. If a file has a
 * new key when it is read again, its former key is still accepted, until the file changes again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon.h"
#include "link.h"
#include "process/process.h"

#define LEAST_KEY 16
#define MOST_KEY 4096
/* Common key of the user's nodes, in the runtime directory. */
#define COMMON_KEY_NAME ".key"
#define COMMON_KEY_SIZE 32

/* Checks that only the owner has access to a key file: a holder of the key can act as a node. */
static int check_file(struct daemon *daemon, int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return failed(daemon, errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return failed(daemon, EINVAL, "%s is not a file", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return failed(daemon, EPERM, "key file %s belongs to another user", path);
	if (st.st_mode & 077)
		return failed(daemon, EPERM, "others have access to key file %s (chmod 600 it)",
			      path);
	if (st.st_size < LEAST_KEY || st.st_size > MOST_KEY)
		return failed(daemon, EINVAL, "key file %s: a key has from %u to %u bytes", path,
			      LEAST_KEY, MOST_KEY);
	return 0;
}

/* Reads the key file `name` in `dir`; `path` is for messages. */
static int read_key(struct daemon *daemon, int dir, const char *name, const char *path,
		    struct link_key *key)
{
	u8 secret[MOST_KEY];
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	/* A user's key file may be a symbolic link; the common key may not. */
	int fd = openat(dir, name, dir == AT_FDCWD ? flags : flags | O_NOFOLLOW);
	ssize_t n = 0;
	int error;

	if (fd < 0)
		return failed(daemon, errno, "key file %s: %s", path, strerror(errno));
	error = check_file(daemon, fd, path);
	if (!error) {
		n = read(fd, secret, sizeof(secret));
		if (n < LEAST_KEY)
			error = failed(daemon, EIO, "key file %s cannot be read", path);
	}
	close(fd);
	if (!error)
		link_key_derive(key, secret, (size_t)n);
	sodium_memzero(secret, sizeof(secret));
	return error;
}

/* Clears the address bits beyond the prefix length. */
static void clear_rest(struct link_network *network)
{
	for (u32 bit = network->bits; bit < 128; bit++)
		network->address[bit / 8] &= (u8) ~(0x80u >> bit % 8);
}

/*
 * Parses ADDRESS or ADDRESS/BITS. Returns 1 for a network, 0 if the text does not begin with an
 * address (and is part of a file name), or failed().
 */
static int parse_network(struct daemon *daemon, const char *text, struct link_network *network)
{
	char address[INET6_ADDRSTRLEN];
	size_t length = strcspn(text, "/");
	unsigned long bits, first = 0;
	char *end;

	if (length >= sizeof(address))
		return 0;
	snprintf(address, sizeof(address), "%.*s", (int)length, text);
	memset(network, 0, sizeof(*network));
	if (inet_pton(AF_INET, address, network->address + 12) == 1) {
		memset(network->address + 10, 0xff, 2);
		first = 96;
	} else if (inet_pton(AF_INET6, address, network->address) != 1) {
		return 0;
	}
	bits = 128 - first;
	if (text[length]) {
		const char *digits = text + length + 1;

		errno = 0;
		bits = strtoul(digits, &end, 10);
		if (*digits < '0' || *digits > '9' || *end || errno || bits > 128 - first)
			return failed(daemon, EINVAL, "'%s' is not a network", text);
	}
	network->bits = (u32)(first + bits);
	clear_rest(network);
	return 1;
}

/* Reads an entry FILE or FILE@NETWORK. A file name may contain '@', too. */
static int read_entry(struct daemon *daemon, char *entry, struct link_key *key)
{
	struct link_network peers = { .bits = 0 };
	char *at = strrchr(entry, '@');
	int is_network = at ? parse_network(daemon, at + 1, &peers) : 0;
	int error;

	if (is_network < 0)
		return is_network;
	if (is_network)
		*at = '\0';
	error = read_key(daemon, AT_FDCWD, entry, entry, key);
	if (!error && is_network)
		key->peers = peers;
	return error;
}

int link_keys_read(struct daemon *daemon, const char *files, struct link_keys *keys)
{
	memset(keys, 0, sizeof(*keys));
	keys->common = daemon->keys.common;
	while (files && *files) {
		size_t length = strcspn(files, ",");
		char path[PATH_MAX];
		int error;

		if (keys->n == LINK_KEYS)
			return failed(daemon, E2BIG, "more than %u keys", LINK_KEYS);
		if (!length || length >= sizeof(path))
			return failed(daemon, EINVAL, "'%s' is not a list of key files", files);
		snprintf(path, sizeof(path), "%.*s", (int)length, files);
		error = read_entry(daemon, path, &keys->key[keys->n]);
		if (error)
			return error;
		keys->n++;
		files += length + (files[length] == ',');
	}
	return 0;
}

static bool has_key(const struct link_keys *keys, const struct link_key *key)
{
	for (u32 i = 0; i < keys->n; i++)
		if (link_key_equal(&keys->key[i], key) &&
		    link_network_equal(&keys->key[i].peers, &key->peers))
			return true;
	return false;
}

/*
 * Whether `key`, one of the keys `before`, is still accepted beside the new `keys`, for peers
 * that have not read their files again yet.
 */
static bool is_kept(const struct link_keys *keys, const struct link_keys *before,
		    const struct link_key *key)
{
	const struct link_key *first = link_first_key(keys, &key->peers);
	const struct link_key *was = link_first_key(before, &key->peers);

	if (has_key(keys, key))
		return false;
	/* The first key for these peers is unchanged: keep the former keys. */
	if (first && link_key_equal(first, was))
		return key->former;
	return key == was;
}

void link_keys_use(struct daemon *daemon, const struct link_keys *keys)
{
	daemon->keys = *keys;
	for (u32 i = 0; i < daemon->ndevices; i++) {
		link_keys_set(daemon->device[i]->link_memory, &daemon->keys);
		nic_link_check(&daemon->device[i]->device.nic);
	}
}

void link_keys_reload(struct daemon *daemon)
{
	struct link_keys keys;

	if (!daemon->options.key)
		return;
	if (link_keys_read(daemon, daemon->options.key, &keys)) {
		log_line("the keys are not changed: %s", daemon->problem);
		return;
	}
	for (u32 i = 0; i < daemon->keys.n; i++) {
		const struct link_key *key = &daemon->keys.key[i];

		if (!is_kept(&keys, &daemon->keys, key))
			continue;
		if (keys.n == LINK_KEYS) {
			log_line("a former key is not accepted any more: the limit is %u keys",
				 LINK_KEYS);
			break;
		}
		keys.key[keys.n] = *key;
		keys.key[keys.n++].former = 1;
	}
	link_keys_use(daemon, &keys);
	log_line("keys were read again");
}

/* Former keys follow the others: they are still accepted, but no option names them. */
bool link_keys_differ(struct daemon *daemon, const char *files)
{
	const struct link_keys *now = &daemon->keys;
	struct link_keys keys;
	u32 i;

	if (link_keys_read(daemon, files, &keys))
		return true;
	for (i = 0; i < keys.n && i < now->n; i++)
		if (!link_key_equal(&keys.key[i], &now->key[i]) ||
		    !link_network_equal(&keys.key[i].peers, &now->key[i].peers))
			return true;
	return i < keys.n || (i < now->n && !now->key[i].former);
}

/* ------------------------------------------------- the key of the runtime directory */

/* Creates the common key file with a random key. link() makes it appear complete or not at all. */
static int make_common(struct daemon *daemon, int dir, const char *path)
{
	u8 secret[COMMON_KEY_SIZE];
	char fresh[sizeof(COMMON_KEY_NAME) + 16];
	int fd, error = 0;

	randombytes_buf(secret, sizeof(secret));
	snprintf(fresh, sizeof(fresh), COMMON_KEY_NAME ".%d", getpid());
	(void)unlinkat(dir, fresh, 0);
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return failed(daemon, errno, "%s: %s", path, strerror(errno));
	if (write(fd, secret, sizeof(secret)) != (ssize_t)sizeof(secret))
		error = failed(daemon, EIO, "%s cannot be written", path);
	/* Another node of this user may have created the file first; its key is used then. */
	else if (linkat(dir, fresh, dir, COMMON_KEY_NAME, 0) < 0 && errno != EEXIST)
		error = failed(daemon, errno, "%s: %s", path, strerror(errno));
	close(fd);
	(void)unlinkat(dir, fresh, 0);
	sodium_memzero(secret, sizeof(secret));
	return error;
}

/*
 * Reads the common key, and creates it if it is missing. Only this user can write the directory
 * (rundir.c); the file is checked, too.
 */
static int read_common(struct daemon *daemon)
{
	char path[PATH_MAX];
	int dir, error = 0;

	snprintf(path, sizeof(path), "%s/../" COMMON_KEY_NAME, daemon->dir);
	dir = openat(daemon->dir_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return failed(daemon, errno, "%s: %s", path, strerror(errno));
	if (faccessat(dir, COMMON_KEY_NAME, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		error = make_common(daemon, dir, path);
	if (!error)
		error = read_key(daemon, dir, COMMON_KEY_NAME, path, &daemon->keys.common);
	close(dir);
	return error;
}

int link_keys_init(struct daemon *daemon)
{
	int error;

	/* Also selects the fastest implementation for this CPU. */
	if (sodium_init() < 0)
		return failed(daemon, EIO, "libsodium cannot be used");
	error = read_common(daemon);
	if (error || !daemon->options.key)
		return error;
	return link_keys_read(daemon, daemon->options.key, &daemon->keys);
}
