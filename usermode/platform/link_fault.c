// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fault injection: the link drops, duplicates, delays and corrupts frames. The decisions follow
 * from the seed and the number of the frame. Frames that are held back are in memory of the link,
 * so any process of the NIC can release them.
 */
#include <string.h>

#include "link.h"

#define NSEC_PER_USEC 1000ull
#define NSEC_PER_SEC 1000000000ull
#define NEVER (~0ull)
/* Default of reorder_by, us. */
#define REORDER_BY 200

enum held_state {
	HELD_FREE = 0,
	HELD_FILLING,
	HELD_WAITING,
	HELD_RELEASING,
};

/* The state of an entry that this process fills or releases. */
static u32 held_by(const struct host *host, enum held_state state)
{
	return host->nic->self << 8 | state;
}

/* A 64-bit mixer in which each bit of the result depends on all bits (constants of splitmix64). */
static u64 mix(u64 x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Random words for one frame. */
struct dice {
	u64 state;
};

static u32 roll(struct dice *dice)
{
	dice->state += 0x9e3779b97f4a7c15ull;
	return (u32)(mix(dice->state) >> 32);
}

/*
 * Every decision draws its word, so that the probability of one fault does not affect the others.
 */
static bool happens(struct dice *dice, u32 share)
{
	return roll(dice) < share;
}

/*
 * link_memory.holds is set after a frame has begun to wait. A process that looks for frames clears
 * it first, and sets it again if any still wait. Both are read-modify-write operations, so the
 * process that clears it also sees every frame for which it was set before.
 */
static void set_holds(struct link_memory *memory)
{
	(void)__atomic_fetch_or(&memory->holds, 1, __ATOMIC_RELEASE);
}

bool link_hold(struct host *host, enum link_direction direction, const struct nic_address *peer,
	       const u8 *frame, u32 length, u64 due)
{
	struct link_memory *memory = host->link.memory;

	if (length > sizeof(memory->held[0].frame))
		return false;
	for (u32 i = 0; i < LINK_HELD; i++) {
		struct link_held *held = &memory->held[i];
		u32 free = HELD_FREE;

		if (nic_load(&held->state) != HELD_FREE ||
		    !__atomic_compare_exchange_n(&held->state, &free, held_by(host, HELD_FILLING),
						 false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		held->direction = direction;
		held->due = due;
		held->peer = *peer;
		held->length = length;
		memcpy(held->frame, frame, length);
		nic_store_release(&held->state, HELD_WAITING);
		set_holds(memory);
		return true;
	}
	return false;
}

u32 link_held(const struct link_memory *memory)
{
	u32 n = 0;

	for (u32 i = 0; i < LINK_HELD; i++)
		n += nic_load(&memory->held[i].state) == HELD_WAITING;
	return n;
}

static bool is_full(const struct link_memory *memory)
{
	for (u32 i = 0; i < LINK_HELD; i++)
		if (nic_load(&memory->held[i].state) == HELD_FREE)
			return false;
	return true;
}

void link_held_recover(struct link_memory *memory, u32 owner)
{
	for (u32 i = 0; i < LINK_HELD; i++)
		if (nic_load(&memory->held[i].state) >> 8 == owner)
			nic_store_release(&memory->held[i].state, HELD_FREE);
	/* The process may have died after it had cleared the word. */
	if (link_held(memory))
		set_holds(memory);
}

/* Returns when a frame may leave, if the rate lets one leave after the other. */
static u64 by_rate(const struct link_memory *memory, struct link_course *course,
		   enum link_direction direction, u64 rate, u32 length, u64 now)
{
	u64 *next = &course->next_departure[direction == LINK_IN];
	u64 takes = (u64)length * NSEC_PER_SEC / rate;
	u64 most = LINK_HELD * sizeof(memory->held[0].frame) * NSEC_PER_SEC / rate;
	u64 from = nic_load(next);
	u64 begin;

	do {
		/* A departure later than a full queue explains belongs to an earlier rate. */
		begin = from > now && from - now <= most ? from : now;
	} while (!__atomic_compare_exchange_n(next, &from, begin + takes, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return begin;
}

/* Count a fault for the link, and for the set of faults. */
static void count_fault(struct link_memory *memory, struct link_course *course,
			enum link_fault_kind kind)
{
	link_count(&memory->counters.injected[kind]);
	link_count(&course->injected[kind]);
}

static u64 late_by(struct link_memory *memory, struct link_course *course,
		   const struct link_faults *f, struct dice *dice)
{
	u64 late = f->delay + roll(dice) % (f->jitter + 1ull);

	if (happens(dice, f->reorder)) {
		late += f->reorder_by ? f->reorder_by : REORDER_BY;
		count_fault(memory, course, LINK_REORDERED);
	} else if (late) {
		count_fault(memory, course, LINK_DELAYED);
	}
	return late * NSEC_PER_USEC;
}

static void damage(u32 bit, u8 *frame, u32 length)
{
	frame[bit / 8 % length] ^= (u8)(1 << bit % 8);
}

/*
 * Returns the index of the faults for a peer's frames: 0 for the general ones, its own from 1 on.
 */
static u32 faults_of(const struct link_memory *memory, const struct nic_address *peer)
{
	u32 n = nic_load(&memory->faulty_peers.n);
	u8 ip[16];

	if (likely(!n))
		return 0;
	link_ip((const union link_address *)peer, ip);
	for (u32 i = 0; i < n && i < LINK_FAULTY_PEERS; i++)
		if (!memcmp(memory->faulty_peers.one[i].peer, ip, sizeof(ip)))
			return i + 1;
	return 0;
}

static const struct link_faults *faults_at(const struct link_memory *memory, u32 which)
{
	return which ? &memory->faulty_peers.one[which - 1].faults : &memory->faults;
}

enum link_action link_fault(struct host *host, enum link_direction direction,
			    const struct nic_address *peer, u8 *frame, u32 length)
{
	struct link_memory *memory = host->link.memory;
	const u32 which = faults_of(memory, peer);
	const struct link_faults f = *faults_at(memory, which);
	struct link_course *course = &memory->course[which];
	struct dice dice;
	u64 now, due;
	bool corrupt, twice;
	u32 bit;

	/* A link that is down stops frames in both directions. */
	if (f.down) {
		count_fault(memory, course, LINK_WHILE_DOWN);
		return LINK_CONSUMED;
	}
	if (!(f.directions & direction))
		return LINK_PASS;
	dice.state = f.seed + mix(__atomic_add_fetch(&course->considered, 1, __ATOMIC_RELAXED));
	if (happens(&dice, f.loss)) {
		count_fault(memory, course, LINK_LOST);
		return LINK_CONSUMED;
	}
	corrupt = happens(&dice, f.corrupt);
	bit = roll(&dice);
	if (corrupt && length) {
		damage(bit, frame, length);
		count_fault(memory, course, LINK_CORRUPTED);
	}
	twice = happens(&dice, f.duplicate);
	if (twice)
		count_fault(memory, course, LINK_DUPLICATED);
	/* A full queue drops the frame, which then does not count for the rate. */
	if (f.rate && is_full(memory)) {
		count_fault(memory, course, LINK_LIMITED);
		return LINK_CONSUMED;
	}
	now = plat_clock();
	due = now + late_by(memory, course, &f, &dice);
	if (f.rate) {
		u64 departure = by_rate(memory, course, direction, f.rate, length, now);

		if (departure > now && due == now)
			count_fault(memory, course, LINK_DELAYED);
		due = departure > due ? departure : due;
	}
	if (due == now)
		return twice ? LINK_SEND_TWICE : LINK_PASS;
	if (twice)
		(void)link_hold(host, direction, peer, frame, length, due);
	if (link_hold(host, direction, peer, frame, length, due))
		return LINK_CONSUMED;
	/* Other threads have filled the queue: a frame that is merely delayed is sent at once. */
	if (!f.rate)
		return LINK_PASS;
	count_fault(memory, course, LINK_LIMITED);
	return LINK_CONSUMED;
}

static void release(struct nic *nic, struct link_held *held,
		    void (*take)(struct nic *nic, const struct nic_address *from, u8 *frame,
				 u32 length))
{
	struct host *host = nic->host;
	struct link_memory *memory = host->link.memory;
	const u32 which = faults_of(memory, &held->peer);
	u32 length = held->length;

	/* The link went down while the frame was held back. */
	if (nic_load(&faults_at(memory, which)->down)) {
		count_fault(memory, &memory->course[which], LINK_WHILE_DOWN);
		return;
	}
	if (length <= sizeof(held->frame) && held->direction == LINK_OUT)
		link_queue(nic->host, &held->peer, held->frame, length);
	else if (length <= sizeof(held->frame))
		take(nic, &held->peer, held->frame, length);
}

u64 link_release(struct nic *nic, void (*take)(struct nic *nic, const struct nic_address *from,
					       u8 *frame, u32 length))
{
	struct host *host = nic->host;
	struct link_memory *memory = host->link.memory;
	u64 now = plat_clock();
	u64 next = NEVER;
	u32 n = 0;

	if (!__atomic_exchange_n(&memory->holds, 0, __ATOMIC_ACQUIRE))
		return NEVER;
	for (u32 i = 0; i < LINK_HELD; i++) {
		struct link_held *held = &memory->held[i];
		u32 waiting = HELD_WAITING;

		if (nic_load(&held->state) != HELD_WAITING)
			continue;
		if (nic_load(&held->due) > now) {
			next = nic_load(&held->due) < next ? nic_load(&held->due) : next;
			continue;
		}
		if (!__atomic_compare_exchange_n(&held->state, &waiting,
						 held_by(host, HELD_RELEASING), false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		release(nic, held, take);
		nic_store_release(&held->state, HELD_FREE);
		n++;
	}
	if (next != NEVER)
		set_holds(memory);
	if (n)
		link_flush(host);
	return next;
}
