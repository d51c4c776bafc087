// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The GID directory, by which nodes of one user find each other. <runtime directory>/.gids has a
 * symbolic link for each GID of the user's nodes. Its name is the GID, its target the address
 * that receives frames for it (platform/link_resolve.c reads it). <node>/link has the same
 * information for people.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "address/address.h"
#include "daemon.h"
#include "link.h"
#include "process/process.h"

#define GIDS_NAME ".gids"
#define FILE_NAME "link"

static void entry_path(const struct daemon *daemon, const u8 *gid, char *path, size_t size)
{
	char name[LINK_GID_NAME];

	link_gid_name(gid, name);
	snprintf(path, size, "%s/%s", daemon->gids_dir, name);
}

/* Replaces an entry atomically. */
static void put_entry(const struct daemon *daemon, const u8 *gid, const char *text)
{
	char path[PATH_MAX], fresh[PATH_MAX + 16];

	entry_path(daemon, gid, path, sizeof(path));
	snprintf(fresh, sizeof(fresh), "%s.%d", path, getpid());
	(void)unlink(fresh);
	if (symlink(text, fresh) < 0 || rename(fresh, path) < 0)
		log_line("%s: %m", path);
}

bool link_gid_is_at(const struct daemon *daemon, const u8 *gid, const char *text)
{
	char path[PATH_MAX], found[LINK_ADDRESS_TEXT];
	ssize_t n;

	entry_path(daemon, gid, path, sizeof(path));
	n = readlink(path, found, sizeof(found));
	return n == (ssize_t)strlen(text) && !memcmp(found, text, (size_t)n);
}

int link_gid_claim(struct daemon *daemon, const u8 *gid, const char *text)
{
	char path[PATH_MAX];

	entry_path(daemon, gid, path, sizeof(path));
	if (symlink(text, path) == 0)
		return 0;
	if (errno != EEXIST)
		return failed(daemon, errno, "%s: %s", path, strerror(errno));
	/* An entry with our own address was left by an earlier daemon of this node. */
	return link_gid_is_at(daemon, gid, text) ? 0 : -EEXIST;
}

/* Removes an entry, unless another daemon has replaced it. */
static void remove_entry(const struct daemon *daemon, const u8 *gid, const char *text)
{
	char path[PATH_MAX];

	if (!link_gid_is_at(daemon, gid, text))
		return;
	entry_path(daemon, gid, path, sizeof(path));
	(void)unlink(path);
}

void link_publish_gids(struct nic_device *made)
{
	const struct device *device = &made->device;
	const union link_address *own = &made->link_memory->own;
	char text[LINK_ADDRESS_TEXT], name[INET6_ADDRSTRLEN] = "";
	int fd;

	link_address_text(&own->nic, text);
	for (u32 i = 0; i < device->ngids; i++)
		put_entry(device->daemon, device->gid[i], text);
	fd = openat(device->daemon->dir_fd, FILE_NAME,
		    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	inet_ntop(own->any.sa_family,
		  own->any.sa_family == AF_INET ? (const void *)&own->in.sin_addr :
						  (const void *)&own->in6.sin6_addr,
		  name, sizeof(name));
	dprintf(fd, "%s %s %u\n", device->name, name, ntohs(own->in.sin_port));
	close(fd);
}

void link_publish_gid(const struct nic_device *made, const u8 *gid)
{
	char text[LINK_ADDRESS_TEXT];

	if (made->link.fd < 0)
		return;
	link_address_text(&made->link_memory->own.nic, text);
	put_entry(made->device.daemon, gid, text);
}

void link_withdraw_gid(const struct nic_device *made, const u8 *gid)
{
	char text[LINK_ADDRESS_TEXT];

	if (made->link.fd < 0)
		return;
	link_address_text(&made->link_memory->own.nic, text);
	remove_entry(made->device.daemon, gid, text);
}

void link_withdraw_gids(struct daemon *daemon)
{
	char text[LINK_ADDRESS_TEXT];
	u8 gid[16];

	for (u32 d = 0; d < daemon->ndevices; d++) {
		const struct nic_device *made = daemon->device[d];

		if (made->link.fd < 0)
			continue;
		link_address_text(&made->link_memory->own.nic, text);
		for (u32 i = 0; i < made->device.ngids; i++)
			remove_entry(daemon, made->device.gid[i], text);
		nic_lid_gid(made->device.lid, gid);
		if (made->device.lid)
			remove_entry(daemon, gid, text);
	}
	(void)unlinkat(daemon->dir_fd, FILE_NAME, 0);
}

/* Makes the text of an entry. */
static int parse_address(const char *ip, unsigned long port, char text[LINK_ADDRESS_TEXT])
{
	union link_address address;

	memset(&address, 0, sizeof(address));
	if (inet_pton(AF_INET, ip, &address.in.sin_addr) == 1)
		address.in.sin_family = AF_INET;
	else if (inet_pton(AF_INET6, ip, &address.in6.sin6_addr) == 1)
		address.in6.sin6_family = AF_INET6;
	else
		return -EINVAL;
	address.in.sin_port = htons((u16)port);
	link_address_text(&address.nic, text);
	return 0;
}

/* Parses a GID, or the LID of an InfiniBand port. */
static bool parse_name(const char *text, struct in6_addr *gid)
{
	char *end;
	unsigned long lid;

	if (inet_pton(AF_INET6, text, gid) == 1)
		return true;
	if (*text < '0' || *text > '9')
		return false;
	lid = strtoul(text, &end, 0);
	if (*end || lid > NIC_LID_LAST || !nic_lid_is_unicast((u32)lid))
		return false;
	nic_lid_gid((u16)lid, gid->s6_addr);
	return true;
}

/* Parses GID=ADDRESS[/PORT], where GID may be a LID, into the name and text of an entry. */
static int parse_peer(const struct daemon *daemon, char *item, struct in6_addr *gid,
		      char text[LINK_ADDRESS_TEXT])
{
	char *at = strchr(item, '='), *slash = strchr(item, '/'), *end = NULL;
	unsigned long port = daemon->options.port;

	if (!at)
		return -EINVAL;
	*at++ = '\0';
	if (slash) {
		*slash++ = '\0';
		port = strtoul(slash, &end, 10);
		if (*end || !port || port > 65535)
			return -EINVAL;
	}
	if (!parse_name(item, gid))
		return -EINVAL;
	return parse_address(at, port, text);
}

/* Calls the function for the entry of each item of the list, until one returns false. */
static int each_peer(struct daemon *daemon, const char *list,
		     bool (*call)(const struct daemon *daemon, const u8 *gid, const char *text))
{
	char item[128], text[LINK_ADDRESS_TEXT];
	struct in6_addr gid;

	while (list && *list) {
		size_t length = strcspn(list, ",");

		snprintf(item, sizeof(item), "%.*s", (int)length, list);
		if (length >= sizeof(item) || parse_peer(daemon, item, &gid, text))
			return failed(daemon, EINVAL, "--peers: '%.*s' is not GID=ADDRESS[/PORT]",
				      (int)length, list);
		if (!call(daemon, gid.s6_addr, text))
			return -ENOENT;
		list += length + (list[length] == ',');
	}
	return 0;
}

static bool put_peer(const struct daemon *daemon, const u8 *gid, const char *text)
{
	put_entry(daemon, gid, text);
	return true;
}

int link_peers(struct daemon *daemon)
{
	return each_peer(daemon, daemon->options.peers, put_peer);
}

bool link_peers_differ(struct daemon *daemon, const char *list)
{
	return each_peer(daemon, list, link_gid_is_at) != 0;
}

/* ------------------------------------------------------- entries of killed daemons */

/* Removes all entries with this text, also those that were being replaced. */
static void remove_entries(const struct daemon *daemon, const char *text)
{
	DIR *dir = opendir(daemon->gids_dir);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char found[LINK_ADDRESS_TEXT];
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, found, sizeof(found));

		if (n == (ssize_t)strlen(text) && !memcmp(found, text, (size_t)n))
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

/* Removes the entries of a node without a daemon. The caller holds the node's lock. */
static void remove_node(const struct daemon *daemon, int dir_fd)
{
	char ip[INET6_ADDRSTRLEN], text[LINK_ADDRESS_TEXT];
	int fd = openat(dir_fd, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned int port;

	while (file && fscanf(file, "%*s %45s %u", ip, &port) == 2)
		if (!parse_address(ip, port, text))
			remove_entries(daemon, text);
	if (file)
		fclose(file);
	(void)unlinkat(dir_fd, FILE_NAME, 0);
}

/* Removes the entries of this node's former daemon, and of all nodes whose daemons were killed. */
static void remove_ended(const struct daemon *daemon)
{
	int root = openat(daemon->dir_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = root < 0 ? NULL : fdopendir(root);
	struct dirent *entry;

	remove_node(daemon, daemon->dir_fd);
	while (dir && (entry = readdir(dir))) {
		int node = entry->d_name[0] == '.' ?
				   -1 :
				   openat(root, entry->d_name,
					  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int lock = node < 0 ? -1 : rundir_lock_ended(node);

		if (lock >= 0) {
			remove_node(daemon, node);
			close(lock);
		}
		if (node >= 0)
			close(node);
	}
	if (dir)
		closedir(dir);
}

int link_gid_dir_init(struct daemon *daemon)
{
	const char *slash = strrchr(daemon->dir, '/');
	struct stat st;

	if (asprintf(&daemon->gids_dir, "%.*s/" GIDS_NAME, (int)(slash - daemon->dir),
		     daemon->dir) < 0) {
		daemon->gids_dir = NULL;
		return -ENOMEM;
	}
	if (mkdir(daemon->gids_dir, 0700) < 0 && errno != EEXIST)
		return failed(daemon, errno, "%s: %s", daemon->gids_dir, strerror(errno));
	if (lstat(daemon->gids_dir, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    strlen(daemon->gids_dir) >= sizeof(((struct link_memory *)0)->gids))
		return failed(daemon, EINVAL, "%s is not a directory of this user",
			      daemon->gids_dir);
	remove_ended(daemon);
	return link_peers(daemon);
}
