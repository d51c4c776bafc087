// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The robust futex words by which clients notice the daemon's death. The header of each NIC has a
 * word with the daemon's thread id, in which the kernel sets FUTEX_OWNER_DIED when the daemon
 * ends for any reason. The kernel finds the words by the thread's robust list. It follows the
 * pointers in that list, so the entries must not be in memory that clients can write. But all
 * words must have the same distance from their entries. So the daemon maps one range in which
 * private pages with an entry alternate with the NIC's page that has the word.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon.h"
#include "process.h"

#define WORD_OFFSET offsetof(struct nic_header, agent_life)

static struct robust_list_head head;
static u32 thread_id;

static int map_word(u8 *at, const struct device *device, size_t page)
{
	off_t offset = (off_t)(WORD_OFFSET & ~(page - 1));

	if (mmap(at, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, device->memory_fd,
		 offset) == MAP_FAILED)
		return -errno;
	return 0;
}

int agent_life_init(struct daemon *daemon)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct robust_list **link = &head.list.next;
	u8 *range = mmap(NULL, 2 * page * daemon->ndevices, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (range == MAP_FAILED)
		return -errno;
	thread_id = (u32)syscall(SYS_gettid);
	for (u32 i = 0; i < daemon->ndevices; i++) {
		struct robust_list *entry = (void *)(range + 2 * i * page);
		int error = map_word((u8 *)entry + page, &daemon->device[i]->device, page);

		if (error)
			return error;
		*link = entry;
		link = &entry->next;
		nic_store(&daemon->device[i]->device.nic.hdr->agent_life, thread_id);
	}
	*link = &head.list;
	head.futex_offset = (long)(page + (WORD_OFFSET & (page - 1)));
	/* Replaces libc's list: this thread uses no robust mutexes. */
	return syscall(SYS_set_robust_list, &head, sizeof(head)) < 0 ? -errno : 0;
}

const char *agent_life_damage(struct daemon *daemon)
{
	for (u32 i = 0; i < daemon->ndevices; i++) {
		u32 word = nic_load(&daemon->device[i]->device.nic.hdr->agent_life);

		if ((word & ~FUTEX_WAITERS) != thread_id)
			return "a NIC's sign of our life was overwritten";
	}
	return NULL;
}
