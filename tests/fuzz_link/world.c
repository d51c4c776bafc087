// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <arpa/inet.h>
#include <sodium.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "peer.h"
#include "world.h"

#define PORT 4790
/* Limit of frames in one world_look(). */
#define MOST_FRAMES (SOCKET_DATAGRAMS * 65536u)

struct nic nic;
struct link_memory *link_memory;
union link_address world_own, world_address[WORLD_ADDRESSES];
u64 now_ns;
u64 world_sent;
u8 world_last[2048];
u32 world_last_length;

enum { config_rows = 4 };

static const struct nic_config config = {
	.max_qp = 16,
	.max_cq = 16,
	.max_srq = 4,
	.max_mr = 16,
	.max_channel = 4,
	.max_client = 4,
	.max_row = config_rows,
	.max_frame = 4,
	.queue_bytes = 65536,
	.stall_ns = 1000000,
};

static struct host host;
static u8 *nic_memory, *nic_before;
static u64 nic_size;
static bool faulty;

/* Number of frames by their verdicts, and of all frames. */
static u64 verdicts[VERDICTS];
static u64 came;
/* Frames that the firmware must get next, in order. */
static struct due {
	const u8 *bytes;
	u32 length;
	bool proven;
} * due;
static u32 ndue, due_at;

/* HELLO frames under an unknown key, and REFUSE frames. */
static u64 strange_calls, refused;
static u64 now_drawn;

/* ---------------------------------------------------------------- the platform */

bool plat_random(struct nic *of, void *bytes, u32 length)
{
	/* All results differ, and are the same in each run of an input. */
	memset(bytes, 0x5a, length);
	now_drawn++;
	memcpy(bytes, &now_drawn, length < sizeof(now_drawn) ? length : sizeof(now_drawn));
	return true;
}

u64 plat_clock(void)
{
	return now_ns;
}

void plat_kick(struct nic *of)
{
}

void plat_relax(void)
{
}

bool plat_yield(struct nic *of)
{
	return true;
}

void plat_step(int step)
{
}

void plat_channel_ready(struct nic *of, u32 channel, bool first)
{
	abort();
}

void *plat_queue(struct nic *of, u64 offset, u64 length)
{
	return NULL;
}

/* There is no queue pair, so no memory of clients is accessed. */
enum nic_copy_result plat_copy(struct nic *of, const struct nic_piece *dst, u32 ndst,
			       const struct nic_piece *src, u32 nsrc, u64 length)
{
	abort();
}

enum nic_copy_result plat_fetch(struct nic *of, const struct nic_piece *dst, u32 ndst,
				const struct nic_piece *src, u32 nsrc, u64 length, u64 since)
{
	return plat_copy(of, dst, ndst, src, nsrc, length);
}

/* -------------------------------------------------- libsodium's random numbers */

/* Results differ from each other, and are the same in each run of an input. */
static u64 drawn;

static const char *random_name(void)
{
	return "of the test";
}

static uint32_t random_word(void)
{
	return (uint32_t)++drawn;
}

static void random_bytes(void *buf, size_t size)
{
	memset(buf, 0, size);
	drawn++;
	memcpy(buf, &drawn, size < sizeof(drawn) ? size : sizeof(drawn));
}

static struct randombytes_implementation randomness = {
	.implementation_name = random_name,
	.random = random_word,
	.buf = random_bytes,
};

/* -------------------------------------------------------------------- verdicts */

void on_arrival(const struct datagram *datagram)
{
	bool is_cut = datagram->joined && datagram->segment > 0;
	u32 each = is_cut ? (u32)datagram->segment : datagram->length;

	if (judge_is_stranger(&datagram->from)) {
		verdicts[STRANGER]++;
		return;
	}
	for (u32 at = 0; at < datagram->length; at += each) {
		u32 length = datagram->length - at < each ? datagram->length - at : each;
		enum verdict verdict;
		u32 whole = length;
		bool proven;

		came++;
		/* Faults may still change the frames. */
		if (faulty) {
			verdicts[OVERSIZE] += length > VNET_WIRE_MAX_FRAME + TRAILER;
			continue;
		}
		verdict = judge_frame(&datagram->from, datagram->bytes + at, &length, &proven);
		verdicts[verdict]++;
		if (verdict == TAKEN)
			due[ndue++] = (struct due){ datagram->bytes + at, length, proven };
		if (verdict == UNKNOWN_KEY)
			strange_calls += judge_is_call(datagram->bytes + at, whole);
	}
}

/* Number of frames that the firmware has dropped. */
u64 world_dropped(void)
{
	const struct nic_counters *c = &nic.hdr->counters;

	return c->bad_length + c->bad_version + c->bad_crc + c->bad_field + c->bad_incarnation +
	       c->bad_row + c->bad_gid + c->bad_proof + c->bad_claim;
}

static void check_due(const struct nic_address *from, const u8 *frame, u32 length, bool proven)
{
	if (faulty) {
		u32 judged = proven ? length + TRAILER : length;
		bool is_proven;

		CHECK(judge_frame((const union link_address *)from, frame, &judged, &is_proven) ==
		      TAKEN);
		CHECK(judged == length && is_proven == proven);
		verdicts[TAKEN]++;
		return;
	}
	CHECK(due_at < ndue && due[due_at].length == length && due[due_at].proven == proven);
	CHECK(!memcmp(due[due_at].bytes, frame, length));
	due_at++;
}

/* State of a peer in the NIC, which must not change without a valid reason. */
struct belief {
	u32 id, state, peer_row, refused, local;
	u64 incarnation;
	struct nic_address address;
	u8 gid[16], share[16], peer_share[16], secret_in[16], secret_out[16];
};

static void note_beliefs(struct belief *belief)
{
	memset(belief, 0, config.max_row * sizeof(*belief));
	for (u32 i = 0; i < config.max_row; i++, belief++) {
		const struct nic_row *row = &nic.row[i];

		belief->id = row->id;
		belief->state = row->state;
		belief->peer_row = row->peer_row;
		belief->refused = row->refused;
		belief->local = row->local;
		belief->incarnation = row->incarnation;
		belief->address = row->address;
		memcpy(belief->gid, row->gid, 16);
		memcpy(belief->share, row->share, 16);
		memcpy(belief->peer_share, row->peer_share, 16);
		memcpy(belief->secret_in, row->secret_in, 16);
		memcpy(belief->secret_out, row->secret_out, 16);
	}
}

static u32 number_of(const union link_address *address)
{
	u32 i = 0;

	while (i < WORLD_ADDRESSES && memcmp(&world_address[i], address, sizeof(*address)) != 0)
		i++;
	return i;
}

/* Whether the sender has proved that it receives at this address, by data that was sent there. */
static bool may_change_beliefs(u32 who, const struct vnet_frame *frame, bool proven)
{
	const struct vnet_frame_hello *hello = (const void *)(frame + 1);

	if (who == WORLD_ADDRESSES)
		return false;
	switch (frame->kind) {
	case VNET_FRAME_HELLO:
		return proven && peer_has_cookie(who, hello->cookie);
	case VNET_FRAME_WELCOME:
		return proven && peer_was_called(who, hello->nonce);
	case VNET_FRAME_REFUSE:
		return peer_was_called(who, hello->nonce);
	default:
		return false;
	}
}

/* Checked with the secret of the row that the frame names. */
static bool is_proven(const struct vnet_frame *frame, const union link_address *from)
{
	const struct nic_row *row = &nic.row[le32toh(frame->dst_row) & 0xffff];

	if (!judge_is_local(from) || frame->proof != VNET_PROOF_SECRET ||
	    row >= nic.row + config.max_row || row->id != le32toh(frame->dst_row))
		return false;
	return judge_is_secret(row->peer_share, row->share, frame->secret) ||
	       !memcmp(row->secret_was, frame->secret, sizeof(frame->secret));
}

static void check_secrets(void)
{
	for (u32 i = 0; i < config.max_row; i++) {
		const struct nic_row *row = &nic.row[i];

		if (row->state != NIC_ROW_UP || !row->local)
			continue;
		CHECK(judge_is_local((const union link_address *)&row->address));
		CHECK(judge_is_secret(row->share, row->peer_share, row->secret_out));
		CHECK(judge_is_secret(row->peer_share, row->share, row->secret_in));
		CHECK(memcmp(row->secret_in, row->secret_out, sizeof(row->secret_in)) != 0 ||
		      !memcmp(row->share, row->peer_share, sizeof(row->share)));
	}
}

void on_frame(struct nic *of, const struct nic_address *from, u8 *frame, u32 length,
	      const struct nic_proof *proof)
{
	u64 before = world_dropped(), bad_crc = nic.hdr->counters.bad_crc;
	const union link_address *address = (const void *)from;
	static struct belief then[config_rows], now[config_rows];
	const struct vnet_frame *head = (const void *)frame;

	CHECK(of == &nic && (u64)frame % 8 == 0);
	CHECK(proof->local == judge_is_local(address));
	check_due(from, frame, length, proof->given);
	note_beliefs(then);
	nic_receive(of, from, frame, length, proof);
	note_beliefs(now);
	/* A frame is dropped for at most one reason. */
	CHECK(world_dropped() <= before + 1 &&
	      (!proof->given || nic.hdr->counters.bad_crc == bad_crc));
	if (length >= sizeof(*head) && world_dropped() == before && !proof->given)
		CHECK(head->kind == VNET_FRAME_REFUSE || is_proven(head, address));
	if (memcmp(then, now, sizeof(now)) != 0)
		CHECK(length >= sizeof(*head) && world_dropped() == before &&
		      may_change_beliefs(number_of(address), head, proof->given));
	check_secrets();
}

void on_departure(const union link_address *to, const u8 *frame, u32 length)
{
	u32 who = number_of(to);

	world_sent++;
	judge_sent(to, frame, length);
	CHECK(to->any.sa_family == world_own.any.sa_family);
	refused += ((const struct vnet_frame *)(const void *)frame)->kind == VNET_FRAME_REFUSE;
	if (who < WORLD_ADDRESSES)
		peer_heard(who, frame, length);
	world_last_length = length < sizeof(world_last) ? length : sizeof(world_last);
	memcpy(world_last, frame, world_last_length);
}

/* ------------------------------------------------------------------ invariants */

/* Each frame has its verdict; with faults, each frame is counted once. */
static void check_counters(void)
{
	const struct link_counters *c = &link_memory->counters;

	CHECK(c->strangers == verdicts[STRANGER] && c->oversize == verdicts[OVERSIZE]);
	CHECK(nic.hdr->counters.frames_received == verdicts[TAKEN] && !c->unsent);
	if (!faulty)
		CHECK(c->no_mac == verdicts[NO_MAC] && c->unknown_key == verdicts[UNKNOWN_KEY] &&
		      c->bad_mac == verdicts[BAD_MAC] && c->replayed == verdicts[REPLAYED]);
	/*
	 * A cable that is down also counts departing frames; and the number of held frames is
	 * limited.
	 */
	if (!c->injected[LINK_WHILE_DOWN] && (!faulty || came < LINK_HELD / 2))
		CHECK(came + c->injected[LINK_DUPLICATED] ==
		      verdicts[TAKEN] + c->oversize + c->no_mac + c->unknown_key + c->bad_mac +
			      c->replayed + c->injected[LINK_LOST] + link_held(link_memory));
}

/*
 * Nothing changes but the NIC's counters. The link's list of senders changes only if a MAC was
 * valid and the number was not.
 */
static void check_unchanged(const struct nic_replay_sender *senders, bool proven)
{
	u64 counters = offsetof(struct nic_header, counters);
	u64 after = counters + sizeof(nic.hdr->counters);

	CHECK(!memcmp(nic_before, nic_memory, counters));
	CHECK(!memcmp(nic_before + after, nic_memory + after, nic_size - after));
	CHECK(proven ||
	      !memcmp(senders, link_memory->replay.sender, sizeof(link_memory->replay.sender)));
}

void world_look(void)
{
	static struct nic_replay_sender senders[NIC_REPLAY_SENDERS];
	u64 taken = verdicts[TAKEN], repeated = link_memory->counters.replayed;
	u64 sent, calls = strange_calls, answers = refused;
	u64 unknown = link_memory->counters.unknown_key;

	/* Acknowledgements that are owed leave before the new datagrams arrive. */
	(void)nic_receive_end(&nic);
	plat_flush(&nic);
	sent = world_sent;
	memcpy(nic_before, nic_memory, nic_size);
	memcpy(senders, link_memory->replay.sender, sizeof(senders));
	ndue = due_at = 0;
	(void)link_poll(&nic, 4);
	CHECK(due_at == ndue);
	check_counters();
	if (verdicts[TAKEN] == taken) {
		check_unchanged(senders, link_memory->counters.replayed != repeated);
		CHECK(world_sent - sent == refused - answers);
	}
	/* Each HELLO under another key is refused once, and nothing else is. */
	if (faulty)
		CHECK(refused - answers <= link_memory->counters.unknown_key - unknown);
	else
		CHECK(refused - answers == strange_calls - calls);
}

void world_settle(void)
{
	const struct link_faults none = { .loss = 0 };

	world_look();
	if (!faulty)
		return;
	/* Later than all held frames are due. */
	now_ns += 20000000000ull;
	link_memory->faulty_peers.n = 0;
	world_faults(&none, NULL);
	world_look();
	CHECK(!link_memory->holds);
}

u64 world_taken(void)
{
	return verdicts[TAKEN];
}

/* --------------------------------------------------------------------- the world */

static union link_address address(bool ipv6, const char *text)
{
	union link_address made;

	memset(&made, 0, sizeof(made));
	made.any.sa_family = ipv6 ? AF_INET6 : AF_INET;
	if (ipv6)
		made.in6.sin6_port = htons(PORT);
	else
		made.in.sin_port = htons(PORT);
	CHECK(inet_pton(made.any.sa_family, text,
			ipv6 ? (void *)&made.in6.sin6_addr : (void *)&made.in.sin_addr) == 1);
	return made;
}

void gid_of(const union link_address *of, u8 gid[16])
{
	memset(gid, 0, 16);
	if (of->any.sa_family == AF_INET6) {
		memcpy(gid, &of->in6.sin6_addr, 16);
		return;
	}
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, &of->in.sin_addr, 4);
}

static void make_addresses(bool ipv6)
{
	static const char *const text[2][WORLD_ADDRESSES] = {
		{ "127.0.0.2", "127.0.1.2", "127.0.1.3", "127.9.9.9", "10.1.2.3", "192.0.2.1" },
		{ "::1", "fd00::2", "fd77::3", "fe80::4", "2001:db8::5", "::ffff:127.0.0.1" },
	};

	world_own = address(ipv6, ipv6 ? "fd00::1" : "127.0.0.1");
	for (u32 i = 0; i < WORLD_ADDRESSES; i++)
		world_address[i] = address(ipv6, text[ipv6][i]);
}

/* Once: hosts and their mappings stay. */
static void make_memory(void)
{
	if (nic_memory)
		return;
	CHECK(sodium_init() >= 0 && randombytes_set_implementation(&randomness) == 0);
	nic_size = nic_memory_size(&config);
	nic_memory = aligned_alloc(4096, (nic_size + 4095) & ~4095ull);
	nic_before = malloc(nic_size);
	due = mmap(NULL, MOST_FRAMES * sizeof(*due), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	link_memory = mmap(NULL, sizeof(*link_memory), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(nic_memory && nic_before && due != MAP_FAILED && link_memory != MAP_FAILED);
	link_memory->magic = LINK_MAGIC;
	CHECK(host_link_open(&host, socket_descriptor(), link_memory, sizeof(*link_memory)) == 0);
}

/* Words of the replay window are cleared when a sender gets them. */
static void make_link(void)
{
	memset(link_memory, 0, offsetof(struct link_memory, replay.word));
	link_memory->magic = LINK_MAGIC;
	link_memory->own = world_own;
	link_memory->port = PORT;
	link_memory->mtu = 1472;
	link_memory->segments = 1;
	for (u32 i = 0; faulty && i < LINK_HELD; i++)
		link_memory->held[i].state = 0;
}

static void make_nic(void)
{
	memset(nic_memory, 0, nic_size);
	memset(&nic, 0, sizeof(nic));
	CHECK(nic_format(nic_memory, nic_size, &config) == NIC_OK);
	CHECK(nic_attach(&nic, nic_memory, nic_size) == NIC_OK);
	nic.self = 1;
	nic.host = &host;
	nic.hdr->ngids = 1;
	nic.hdr->port_up = 1;
	gid_of(&world_own, nic.hdr->gid[0]);
	host.nic = &nic;
	nic_link_renew(&nic, WORLD_INCARNATION);
}

void world_keys(u32 set)
{
	static struct link_keys keys;

	judge_use_keys(set, &keys);
	link_keys_set(link_memory, &keys);
	nic_link_check(&nic);
	plat_flush(&nic);
}

void world_faults(const struct link_faults *faults, const union link_address *peer)
{
	struct link_faulty_peers *peers = &link_memory->faulty_peers;

	faulty = true;
	link_memory->faulty = 1;
	if (peer) {
		link_ip(peer, peers->one[0].peer);
		peers->one[0].faults = *faults;
		peers->n = 1;
	} else {
		link_memory->faults = *faults;
	}
}

void world_begin(bool ipv6, u32 keys)
{
	make_memory();
	make_addresses(ipv6);
	make_link();
	faulty = false;
	now_ns = 1000000000;
	drawn = 0;
	came = world_sent = strange_calls = refused = now_drawn = 0;
	peers_begin();
	world_last_length = 0;
	memset(verdicts, 0, sizeof(verdicts));
	socket_clear();
	judge_begin(&world_own);
	make_nic();
	world_keys(keys);
}

void world_end(void)
{
	const struct nic_header *hdr = nic.hdr;

	for (u32 i = 0; i < nic.max_row; i++)
		CHECK(!nic.row[i].lock);
	CHECK(!hdr->row_lock && !hdr->frame_lock && !link_memory->replay.lock);
}
