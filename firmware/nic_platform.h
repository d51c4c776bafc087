/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Functions that a host supplies to the firmware, bound at link time. Together with memcpy() and
 * memset() they are the firmware's only undefined symbols. None may block on another process,
 * allocate memory, or call the firmware. All may be called with locks of NIC memory held.
 */
#ifndef NIC_PLATFORM_H
#define NIC_PLATFORM_H

#include "layout/types.h"
#include "vnet_wire.h"

struct nic;
struct nic_mr;
struct nic_address;

/* In this address space, addresses are pointers of the executing thread. */
#define NIC_SPACE_POINTER 0u
/* In this one, addresses are offsets in NIC memory. Pieces of a copy never have it. */
#define NIC_SPACE_DEVICE 0xffffffffu

/* A piece of memory in a copy, already checked against its region. */
struct nic_piece {
	u64 addr;
	u64 length;
	/* Address space (see nic.space), or NIC_SPACE_POINTER. */
	u32 space;
	/*
	 * Index of the region, for hosts that translate by page. With NIC_PIECE_DEVICE, addr is
	 * device memory as mapped in this process.
	 */
	u32 mr;
};

#define NIC_PIECE_DEVICE 0x80000000u

enum nic_copy_result {
	NIC_COPY_OK = 0,
	/* Source or destination cannot be read or written. */
	NIC_COPY_SRC_FAULT = 1,
	NIC_COPY_DST_FAULT = 2,
	/* The address space of the source or destination no longer exists. */
	NIC_COPY_SRC_GONE = 3,
	NIC_COPY_DST_GONE = 4,
	/* Paged on demand, and not present: see plat_fetch(). */
	NIC_COPY_SRC_LATER = 5,
	NIC_COPY_DST_LATER = 6,
	/* Not returned by plat_copy(): one piece was copied, others follow. */
	NIC_COPY_PART = 7,
};

static inline bool nic_is_later(enum nic_copy_result result)
{
	return result == NIC_COPY_SRC_LATER || result == NIC_COPY_DST_LATER;
}

/*
 * The DMA engine: copies `length` bytes from src[], in order, to dst[], in order; both are at least
 * that long. The last bytes (up to eight, not crossing a page) become visible to other observers
 * after all others. A fault is returned, never raised as a signal; some bytes may have been copied
 * then. If pages are not present, nothing was copied, except perhaps some bytes of a message that
 * no frame carries; the caller repeats the whole copy.
 */
enum nic_copy_result plat_copy(struct nic *nic, const struct nic_piece *dst, u32 ndst,
			       const struct nic_piece *src, u32 nsrc, u64 length);

/*
 * Have the pages brought that such a copy lacks; ndst or nsrc may be 0. NIC_COPY_OK: they are
 * present. NIC_COPY_*_LATER: not yet; the NIC processor is woken when they are, or cannot be
 * brought. NIC_COPY_*_FAULT: an attempt at `since` (plat_clock()) or later has failed. Hosts whose
 * copies bring absent pages themselves have nothing to do.
 */
enum nic_copy_result plat_fetch(struct nic *nic, const struct nic_piece *dst, u32 ndst,
				const struct nic_piece *src, u32 nsrc, u64 length, u64 since);

/*
 * Pointer to `length` bytes of host queue memory at a ring's offset, for the executing thread.
 * NULL: the range is not queue memory, or does not begin at a multiple of 8.
 */
void *plat_queue(struct nic *nic, u64 offset, u64 length);

/* Monotonic clock of the whole NIC, ns. */
u64 plat_clock(void);

/* Wake the NIC processor: work is pending, or async_any was set. */
void plat_kick(struct nic *nic);

/*
 * Completion channel `channel` has a new event: wake those who wait for it. first: it was not
 * readable before, or its waiters want a signal; otherwise only edge-triggered waiters need to be
 * woken. Called with the channel's lock held.
 */
void plat_channel_ready(struct nic *nic, u32 channel, bool first);

/*
 * The link: frames to and from other NICs (abi/vnet_wire.h). On a host without one, plat_frame()
 * returns NULL and plat_resolve() false.
 *
 * plat_frame() returns the executing thread's buffer for the next frame: VNET_WIRE_MAX_FRAME bytes,
 * 8-aligned, with undefined contents. It is the same buffer until plat_send().
 */
void *plat_frame(struct nic *nic);
/*
 * Send the first `length` bytes of plat_frame()'s buffer. If the link cannot take the frame, it is
 * lost. Sending may be delayed until plat_flush(). The link appends a MAC if the frame must have
 * one (vnet_frame.proof); otherwise it stores the CRC (nic_frame_set_crc()).
 */
void plat_send(struct nic *nic, const struct nic_address *to, u32 length);
/* Send all frames that the executing thread has passed to plat_send(). */
void plat_flush(struct nic *nic);
/* Address for frames to this GID (16 bytes); false: none. */
bool plat_resolve(struct nic *nic, const u8 *gid, struct nic_address *to);
/*
 * Are the nodes at both addresses in the same key group? A node that has proven the key of one
 * group is not accepted as a node of another. b NULL: an unknown address, which is in the same
 * group as any other only if there is a single group.
 */
bool plat_same_key_group(struct nic *nic, const struct nic_address *a, const struct nic_address *b);
/*
 * Derive a secret from `text` (`length` bytes, a multiple of 16) and a key: key number `key` of
 * those for this peer; 0: the key for sending to it; peer NULL: a key that only this NIC has.
 * false: there is no such key, or the peer is not on this machine, so that its frames need a MAC.
 */
bool plat_secret(struct nic *nic, const struct nic_address *peer, u32 key, const void *text,
		 u32 length, u8 secret[VNET_WIRE_SECRET_SIZE]);
/*
 * The NIC with this GID does not have our key (enum vnet_refusal), so no communication is possible:
 * tell the user.
 */
void plat_report_refused(struct nic *nic, const u8 *gid, u32 why);
/* A program names this GID as a peer, and plat_resolve() knows no address: tell the user. */
void plat_report_unknown(struct nic *nic, const u8 *gid);
/* CRC32C as in iSCSI of `length` more bytes; the first call has crc 0. */
u32 plat_crc32c(u32 crc, const void *data, u64 length);

/*
 * Unpredictable random bytes: for nonces, secrets, and the numbers of objects. false: the host has
 * none now, and `bytes` is undefined.
 */
bool plat_random(struct nic *nic, void *bytes, u32 length);

/* Pause in a spin loop. */
void plat_relax(void);
/*
 * The end of a stretch (NIC_STRETCH_REQUESTS, NIC_STRETCH_BYTES). A host whose threads cannot be
 * preempted here runs others, and checks for fatal signals. false: the caller must return; what is
 * left is pending. Locks may be held.
 */
bool plat_yield(struct nic *nic);

/*
 * Numbered steps between taking and releasing locks. Empty, except in test builds (NIC_TEST_STEPS),
 * in which the host may stop or kill the process at a step.
 */
#ifdef NIC_TEST_STEPS
/* Steps that a process reaches only between NICs, or only as the NIC processor, have names. */
enum nic_step_name {
	NIC_STEP_TICK = 100,
	NIC_STEP_FAIL = 101,
};
void plat_step(int step);
#else
#define plat_step(step) ((void)0)
#endif

/*
 * Rules of the vn transport. Builds that test the tests (NIC_TEST_BREAK) may break them, as the
 * host decides.
 */
enum nic_vn_rule {
	/*
	 * An endpoint leaves its frame only when none of its packets is outstanding or undecided.
	 */
	NIC_RULE_UNLOAD = 1,
	/* Only a refusal of the latest transmission counts. */
	NIC_RULE_LATEST,
	/* A packet is acknowledged when it was written, not before. */
	NIC_RULE_WRITTEN,
	/* The expected packet number advances only with packets that were written. */
	NIC_RULE_EXPECTED,
	/* A repeated atomic operation is answered, not executed again. */
	NIC_RULE_ATOMIC_ONCE,
	/* Frames of another incarnation are dropped. */
	NIC_RULE_LIFE,
	/* A fence waits for reads. */
	NIC_RULE_FENCE,
	/* Requests are retired in order, when all before them are done. */
	NIC_RULE_RETIRE,
	/* The open receive of a message in pieces stays with its endpoint. */
	NIC_RULE_OPEN,
	/* The last piece of a write is written last. */
	NIC_RULE_LAST,
};

#ifdef NIC_TEST_BREAK
bool plat_broken(enum nic_vn_rule rule);
#else
#define plat_broken(rule) false
#endif

#endif /* NIC_PLATFORM_H */
