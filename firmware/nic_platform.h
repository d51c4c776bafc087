/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a host of the firmware must supply; bound at link time as plain
 * functions. Together with memcpy() and memset() these are the only undefined
 * symbols of the firmware. None may block on another process, allocate, or
 * call back into the firmware. All may be called with locks of NIC memory held.
 */
#ifndef NIC_PLATFORM_H
#define NIC_PLATFORM_H

#include "layout/types.h"
#include "vnet_wire.h"

struct nic;
struct nic_mr;
struct nic_address;

/* Addresses of this "space" are pointers that the executing thread may use. */
#define NIC_SPACE_POINTER 0u
/* Addresses of this one are offsets in NIC memory; never that of a piece in a copy. */
#define NIC_SPACE_DEVICE 0xffffffffu

/* One piece of memory in a copy, checked against its region already. */
struct nic_piece {
	u64 addr;
	u64 length;
	/* Address space (see nic.space), or NIC_SPACE_POINTER. */
	u32 space;
	/*
	 * Region's index in the table, for hosts that translate by page; with
	 * NIC_PIECE_DEVICE it is device memory, as mapped here.
	 */
	u32 mr;
};

#define NIC_PIECE_DEVICE 0x80000000u

enum nic_copy_result {
	NIC_COPY_OK = 0,
	/* Source or destination cannot be read or written any more. */
	NIC_COPY_SRC_FAULT = 1,
	NIC_COPY_DST_FAULT = 2,
	/* The source's or destination's address space is gone. */
	NIC_COPY_SRC_GONE = 3,
	NIC_COPY_DST_GONE = 4,
	/* Paged on demand, and not there yet: see plat_fetch(). */
	NIC_COPY_SRC_LATER = 5,
	NIC_COPY_DST_LATER = 6,
	/* Never by plat_copy(): a piece of it was moved, and more is to follow. */
	NIC_COPY_PART = 7,
};

static inline bool nic_is_later(enum nic_copy_result result)
{
	return result == NIC_COPY_SRC_LATER || result == NIC_COPY_DST_LATER;
}

/*
 * The DMA engine: moves `length` bytes, gathered from src[] in order, to dst[]
 * in order; both have at least so many. The last bytes (up to eight, never
 * crossing a page) become visible to observers after all others. A fault is
 * reported, never a signal; some bytes may have been moved then. Where pages are not
 * there yet nothing was moved, or some bytes of what no frame carries; all of it is done
 * again, from the first byte to the last.
 */
enum nic_copy_result plat_copy(struct nic *nic, const struct nic_piece *dst, u32 ndst,
			       const struct nic_piece *src, u32 nsrc, u64 length);

/*
 * Have the pages brought that such a copy lacks; ndst or nsrc may be 0. NIC_COPY_OK: they
 * are there. NIC_COPY_*_LATER: not yet; when they are, or cannot be, the NIC processor
 * is woken. NIC_COPY_*_FAULT: they could not be, when that was tried at `since`
 * (plat_clock()) or after. Hosts that copy what is not there have nothing to do.
 */
enum nic_copy_result plat_fetch(struct nic *nic, const struct nic_piece *dst, u32 ndst,
				const struct nic_piece *src, u32 nsrc, u64 length, u64 since);

/*
 * Host queue memory at a ring's offset: a pointer to `length` bytes that the
 * executing thread may use, or NULL if the range is not queue memory or does
 * not begin at a multiple of 8.
 */
void *plat_queue(struct nic *nic, u64 offset, u64 length);

/* Monotonic clock of the whole NIC, ns. */
u64 plat_clock(void);

/* Wake the NIC processor: work is pending, or async_any was set. */
void plat_kick(struct nic *nic);

/*
 * Completion channel `channel` became readable: wake those who wait for it. Not `first`:
 * it was, and has one event more, of which those learn who wait for edges. Called with the
 * channel's lock held.
 */
void plat_channel_ready(struct nic *nic, u32 channel, bool first);

/*
 * The link: frames to and from other NICs (abi/vnet_wire.h). Where the host has
 * none, plat_frame() answers NULL and plat_resolve() false.
 *
 * A buffer of VNET_WIRE_MAX_FRAME bytes, 8-aligned, of the executing thread, for
 * the next frame; its contents are undefined. The same one until plat_send().
 */
void *plat_frame(struct nic *nic);
/*
 * Send the first `length` bytes of plat_frame()'s buffer. A frame that the link
 * cannot take is lost. It may be kept back until plat_flush(). The link gives it a
 * MAC if it is to have one (vnet_frame.proof), else a CRC (nic_frame_sum()).
 */
void plat_send(struct nic *nic, const struct nic_address *to, u32 length);
/* What the executing thread has given to plat_send() goes out. */
void plat_flush(struct nic *nic);
/* Where frames for this GID (16 bytes) go; false: nowhere. */
bool plat_resolve(struct nic *nic, const u8 *gid, struct nic_address *to);
/*
 * Whether nodes at these addresses are of one group, which has a key of its own: one that
 * proves to be of another is not believed that it is there. b: NULL for where nobody knows,
 * which only counts as one group with everybody where there is a single one.
 */
bool plat_same_key_group(struct nic *nic, const struct nic_address *a, const struct nic_address *b);
/*
 * A secret that follows from `text` (`length` bytes, a multiple of 16) and a key: the one
 * with number `key` of those that peer is spoken to with, or (0) that for sending to it; peer
 * NULL: a key that nobody but this NIC has. false: there is no such key; or the peer is not
 * on this machine, so that its frames need a MAC.
 */
bool plat_secret(struct nic *nic, const struct nic_address *peer, u32 key, const void *text,
		 u32 length, u8 secret[VNET_WIRE_SECRET_SIZE]);
/*
 * The NIC with this GID does not have our key (enum vnet_refusal), so nobody speaks with it:
 * tell the user.
 */
void plat_refused(struct nic *nic, const u8 *gid, u32 why);
/* A program names this GID as a peer, and plat_resolve() knows no place for it: tell the user. */
void plat_unknown(struct nic *nic, const u8 *gid);
/* CRC32C of `length` more bytes, begun with 0, as iSCSI has it. */
u32 plat_crc32c(u32 crc, const void *data, u64 length);

/*
 * Random bytes that nobody who has not seen them can predict: nonces, secrets and the
 * numbers that objects are named by. false: the host has none now, `bytes` is undefined.
 */
bool plat_random(struct nic *nic, void *bytes, u32 length);

/* One turn of a spin loop. */
void plat_relax(void);
/*
 * A stretch of work (NIC_STRETCH_REQUESTS, NIC_STRETCH_BYTES) ends: a host whose threads
 * cannot be preempted here lets others run, and looks for fatal signals. false: the caller
 * must return; what is left is pending. Locks may be held.
 */
bool plat_turn(struct nic *nic);

/*
 * Numbered places between taking and releasing locks. Nothing, but in test
 * builds (NIC_TEST_STEPS), where the host may end or stop the process there.
 */
#ifdef NIC_TEST_STEPS
/* Places to which only the NIC processor comes, and no process, have names. */
enum nic_step_name {
	NIC_STEP_TICK = 100,
};
void plat_step(int step);
#else
#define plat_step(step) ((void)0)
#endif

/*
 * Rules of the vn transport, which only builds that prove the tests (NIC_TEST_BREAK)
 * may break, as the host says.
 */
enum nic_vn_rule {
	/* An endpoint leaves only when nothing of it is under way or undecided. */
	NIC_RULE_UNLOAD = 1,
	/* A refusal counts only if it is of the latest transmission. */
	NIC_RULE_LATEST,
	/* A packet is acknowledged when it is written, not before. */
	NIC_RULE_WRITTEN,
	/* What is expected next moves on only with what was written. */
	NIC_RULE_EXPECTED,
	/* An atomic operation that comes again is answered, not repeated. */
	NIC_RULE_ATOMIC_ONCE,
	/* Frames of another life are not for this one. */
	NIC_RULE_LIFE,
	/* A fence waits for reads. */
	NIC_RULE_FENCE,
	/* Requests are retired in order, when all before them are done. */
	NIC_RULE_RETIRE,
	/* The receive of a message in pieces stays with its endpoint. */
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
