// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Devices: creates the memory of each NIC, attaches the firmware, and checks the memory for
 * damage. Clients map NIC memory and can overwrite it.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include <fcntl.h>
#include <linux/falloc.h>

#include "cm/cm.h"
#include "daemon.h"
#include "devices.h"
#include "link/link.h"
#include "process/process.h"
#include "uverbs/uverbs.h"

#define MOST_QUEUE_BYTES (4ull << 30)
#define LEAST_QUEUE_BYTES (64ull << 20)
#define STALL_NS (50 * NSEC_PER_MSEC)

static const struct nic_config sizes = {
	.max_qp = 16384,
	.max_cq = 8192,
	.max_srq = 1024,
	.max_mr = 65536,
	.max_channel = 1024,
	.max_client = HOST_MAX_CLIENTS,
	.stall_ns = STALL_NS,
};

struct device *device_by_minor(struct daemon *daemon, u32 minor)
{
	for (u32 i = 0; i < daemon->ndevices; i++)
		if (daemon->device[i]->device.minor == minor)
			return &daemon->device[i]->device;
	return NULL;
}

/* ------------------------------------------------------------------- memory */

/* Maps a sparse memfd of `size` bytes, sealed against truncation. Returns 0 or -errno. */
static int map_memory(struct device *device, u64 size)
{
	void *memory;
	int error;
	int fd = memfd_create("vnet-nic", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) < 0)
		goto err;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		goto err;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (memory == MAP_FAILED)
		goto err;
	madvise(memory, size, MADV_DONTDUMP);
	device->memory_fd = fd;
	device->memory = memory;
	device->memory_size = size;
	return 0;
err:
	error = -errno;
	close(fd);
	return error;
}

/* Maps NIC memory with as much queue memory as RLIMIT_FSIZE and RLIMIT_AS permit. */
static int make_memory(struct device *device, struct nic_config *config)
{
	int error = -ENOMEM;

	for (config->queue_bytes = MOST_QUEUE_BYTES; config->queue_bytes >= LEAST_QUEUE_BYTES;
	     config->queue_bytes /= 2) {
		error = map_memory(device, nic_memory_size(config));
		if (!error)
			return 0;
	}
	return error;
}

/* -------------------------------------------------- callbacks of the platform */

static int get_space(struct host *host, u32 space)
{
	struct device *device = container_of(host, struct device, host);
	struct client *client = client_find(device->daemon, space);
	int fd = client ? client_memory(client) : -1;

	return fd < 0 ? -1 : fd;
}

static int get_memory(struct host *host, u32 space)
{
	struct device *device = container_of(host, struct device, host);
	struct client *client = client_find(device->daemon, space);
	int fd = client ? client_memory_file(client, false) : -1;

	return fd < 0 ? -1 : fd;
}

static int get_channel(struct host *host, u32 channel, u32 generation)
{
	struct device *device = container_of(host, struct device, host);
	struct file *file = uverbs_channel_file(device, channel, generation);

	return file ? fcntl(file->sock, F_DUPFD_CLOEXEC, 0) : -1;
}

static int bring(const struct host *host, const struct nic_piece *piece, u64 length, u64 since)
{
	const struct device *device = container_of(host, struct device, host);
	struct client *client = client_find(device->daemon, piece->space);

	/* If the client is gone, the copy itself will fail. */
	return client ? pager_bring(client, piece->addr, length, since, 0) : 0;
}

static void on_refused(struct host *host, const u8 *gid, u32 why)
{
	struct device *device = container_of(host, struct device, host);
	static const char *const what[] = {
		[LINK_NO_KEY] = "no key for the node of",
		[LINK_OTHER_KEY] = "another key is used by the node of",
		[LINK_UNKNOWN] = "no node is known to have",
		[LINK_ELSEWHERE] = "another user or runtime directory has the node of",
	};
	char name[LINK_GID_TEXT];

	if (device->daemon->cm && why != LINK_ELSEWHERE)
		cm_refused(device->daemon->cm, device, gid);
	link_gid_text(gid, name);
	log_line("%s: %s %s: give both nodes a key (--key)", device->name,
		 why < sizeof(what) / sizeof(what[0]) ? what[why] : "refused:", name);
}

/* ----------------------------------------------------------------- creation */

static int start_firmware(struct nic_device *made)
{
	struct device *device = &made->device;
	struct nic_header *hdr = device->memory;
	struct daemon *daemon = device->daemon;

	if (nic_attach(&device->nic, device->memory, device->memory_size) != NIC_OK)
		return -EINVAL;
	device->nic.self = 1;
	device->nic.space = NIC_SPACE_POINTER;
	if (device->index == 0) {
		daemon->table = (void *)((u8 *)device->memory + hdr->off_client);
		daemon->table[0].pid = (u32)getpid();
	}
	made->kick.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (made->kick.fd < 0)
		return -errno;
	device->host.nic_index = device->index;
	device->host.kick_fd = made->kick.fd;
	device->host.client = daemon->table;
	device->host.get_space = get_space;
	device->host.get_channel = get_channel;
	device->host.get_memory = get_memory;
	device->host.bring = bring;
	device->host.refused = on_refused;
	return host_init(&device->host, &device->nic);
}

static int format(struct nic_device *made)
{
	struct device *device = &made->device;
	struct nic_config config = sizes;
	struct nic_header *hdr;
	int error;

	link_configure(made, &config);
	for (u32 i = 0; i < sizeof(device->node_guid); i++)
		config.node_guid = config.node_guid << 8 | device->node_guid[i];
	error = make_memory(device, &config);
	if (error)
		return error;
	if (nic_format(device->memory, device->memory_size, &config) != NIC_OK)
		return -EINVAL;
	hdr = device->memory;
	hdr->ngids = device->ngids;
	hdr->port_up = 1;
	hdr->link_gid = made->link_gid;
	memcpy(hdr->gid, device->gid, sizeof(hdr->gid));
	hdr->lid = device->lid;
	memcpy(made->header, hdr, sizeof(made->header));
	return 0;
}

static int make_device(struct daemon *daemon, const char *name, size_t length, u32 number)
{
	struct nic_device *made = calloc(1, sizeof(*made));
	struct device *device;
	int error;

	if (!made)
		return -ENOMEM;
	device = &made->device;
	device->daemon = daemon;
	device->index = daemon->ndevices;
	device->minor = VNET_UVERBS_FIRST_MINOR + number;
	memcpy(device->name, name, length);
	made->run_at = NEVER;
	error = link_open(made);
	if (error)
		return error;
	error = identity_init(made);
	if (!error)
		error = format(made);
	if (!error)
		error = start_firmware(made);
	if (!error)
		error = link_start(made);
	if (!error)
		error = uverbs_device_init(device);
	/* No clean-up on errors: the daemon exits then. */
	daemon->device[daemon->ndevices++] = made;
	return error;
}

/* Returns 1 + the highest N of entries in `class` that are named <prefix>N, or 0. */
static u32 next_number(const char *class, const char *prefix)
{
	DIR *dir = opendir(class);
	struct dirent *entry;
	u32 next = 0;

	while (dir && (entry = readdir(dir))) {
		size_t length = strlen(prefix);
		unsigned int number;

		if (!strncmp(entry->d_name, prefix, length) &&
		    sscanf(entry->d_name + length, "%u", &number) == 1 && number < 1000000 &&
		    number >= next)
			next = number + 1;
	}
	if (dir)
		closedir(dir);
	return next;
}

/* Returns the lowest N above all uverbsN and umadN of the host. */
static u32 first_free_number(void)
{
	u32 verbs = next_number("/sys/class/infiniband_verbs", "uverbs");
	u32 mad = next_number("/sys/class/infiniband_mad", "umad");

	return verbs > mad ? verbs : mad;
}

int devices_init(struct daemon *daemon)
{
	const char *name = daemon->options.devices;
	/* With --with-host-devices, programs also see the host's devices: use other numbers. */
	u32 number = first_free_number();

	for (;;) {
		size_t length = strcspn(name, ",");
		int error = make_device(daemon, name, length, number++);

		if (error || !name[length])
			return error;
		name += length + 1;
	}
}

/* ------------------------------------------------------------------- damage */

const char *devices_damage(struct daemon *daemon)
{
	for (u32 i = 0; i < daemon->ndevices; i++) {
		struct nic_device *device = daemon->device[i];
		const struct nic_header *hdr = device->device.memory;

		if (memcmp(device->header, hdr, sizeof(device->header)) != 0 ||
		    nic_load(&hdr->starves) != daemon->storm.starves)
			return "a NIC's header was overwritten";
		if (nic_load(&hdr->fatal))
			return "a NIC has failed";
	}
	if (!client_table_sane(daemon))
		return "the client table was overwritten";
	return agent_life_damage(daemon);
}

void device_set_gid(struct nic_device *made, u32 index)
{
	const struct device *device = &made->device;
	struct nic_header *hdr = device->nic.hdr;

	memcpy(hdr->gid[index], device->gid[index], sizeof(hdr->gid[index]));
	/* Release: a reader of the new count also reads the GID. */
	nic_store_release(&hdr->ngids, device->ngids);
	memcpy(made->header + offsetof(struct nic_header, gid), device->gid, sizeof(hdr->gid));
	memcpy(made->header + offsetof(struct nic_header, ngids), &device->ngids,
	       sizeof(hdr->ngids));
}

bool device_set_port(struct nic_device *made, bool up)
{
	u32 value = up;

	memcpy(made->header + offsetof(struct nic_header, port_up), &value, sizeof(value));
	return nic_xchg(&made->device.nic.hdr->port_up, value) != value;
}

/* Whether a lock is free or held by a living client. The daemon itself holds none now. */
static bool owner_lives(const struct daemon *daemon, nic_lock_t *lock)
{
	u32 owner = nic_load(lock);
	struct client *client;

	if (!owner)
		return true;
	client = owner > 1 && owner <= HOST_MAX_CLIENTS ? daemon->slot[owner - 1] : NULL;
	return client && !client->dead;
}

static bool locks_sane(const struct daemon *daemon, const struct nic *nic)
{
	bool sane = true;

	for (u32 i = 0; i < nic->max_qp; i++)
		sane = sane && owner_lives(daemon, &nic->qp[i].sq_lock) &&
		       owner_lives(daemon, &nic->qp[i].rq.lock);
	for (u32 i = 0; i < nic->max_cq; i++)
		sane = sane && owner_lives(daemon, &nic->cq[i].lock);
	for (u32 i = 0; i < nic->max_srq; i++)
		sane = sane && owner_lives(daemon, &nic->srq[i].rq.lock);
	for (u32 i = 0; i < nic->max_channel; i++)
		sane = sane && owner_lives(daemon, &nic->channel[i].lock);
	return sane;
}

const char *devices_stuck(struct daemon *daemon)
{
	for (u32 i = 0; i < daemon->ndevices; i++)
		if (!locks_sane(daemon, &daemon->device[i]->device.nic))
			return "a lock of a NIC is held by nobody";
	return NULL;
}

/* Resets the header's variable words, except those that describe the daemon. */
static void renew_header(struct nic_header *hdr)
{
	nic_store(&hdr->async_any, 0);
	nic_store(&hdr->pending_summary, 0);
	memset(hdr->atomic_lock, 0, sizeof(hdr->atomic_lock));
}

static bool renew(struct device *device)
{
	u64 tables = device->nic.qp ? (u64)((u8 *)device->nic.qp - (u8 *)device->memory) : 0;
	struct nic_config config = device->nic.hdr->config;
	int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	if (fallocate(device->memory_fd, mode, (off_t)tables,
		      (off_t)(device->memory_size - tables)) < 0)
		return false;
	renew_header(device->nic.hdr);
	return nic_format(device->memory, device->memory_size, &config) == NIC_OK;
}

bool devices_had_traffic(const struct daemon *daemon)
{
	for (u32 i = 0; i < daemon->ndevices; i++)
		if (nic_load(&daemon->device[i]->device.nic.hdr->row_high))
			return true;
	return false;
}

void devices_renew(struct daemon *daemon)
{
	if (devices_damage(daemon))
		return;
	for (u32 i = 0; i < daemon->ndevices; i++) {
		if (!renew(&daemon->device[i]->device))
			return;
		link_renew(daemon->device[i]);
	}
	cm_renew(daemon);
	daemon->table[0].pid = (u32)getpid();
}

void devices_fatal(struct daemon *daemon)
{
	for (u32 i = 0; i < daemon->ndevices; i++)
		nic_store(&daemon->device[i]->device.nic.hdr->fatal, 1);
}
