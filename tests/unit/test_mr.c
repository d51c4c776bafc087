// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Memory keys: bounds, access rights, memory windows, and destruction of regions in use. */
#include "layout/message.h"
#include "protection/protection.h"
#include "world.h"

#define READ NIC_ACCESS_REMOTE_READ
#define WRITE NIC_ACCESS_REMOTE_WRITE
#define LOCAL NIC_ACCESS_LOCAL_WRITE

static struct nic_mr_params region(u64 addr, u64 length, u32 access)
{
	return (struct nic_mr_params){
		.key = new_key(),
		.kind = NIC_MR_REGION,
		.access = access,
		.pdn = 1,
		.iova = addr,
		.addr = addr,
		.length = length,
		.space = 1,
	};
}

static bool check(u32 key, u32 access, u64 addr, u64 length)
{
	struct nic_piece piece;

	return nic_check_key(&w.agent, key, 1, 0, access, addr, length, &piece);
}

static void create_checks(void **state)
{
	struct nic_mr_params good = region(4096, 4096, LOCAL | WRITE), p;

	p = good, p.key = 0;
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_EINVAL);
	p = good, p.key |= NIC_KEY_CLAIMED;
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_EINVAL);
	p = good, p.kind = NIC_MR_FREE;
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_EINVAL);
	p = good, p.kind = NIC_MR_DEVICE + 1;
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_EINVAL);
	p = good, p.addr = ~0ull - 4094;
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_EINVAL);
	p = good, p.iova = ~0ull - 4094;
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_EINVAL);
	p = good, p.access = WRITE;
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_EINVAL);
	p = good, p.access = NIC_ACCESS_REMOTE_ATOMIC;
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_EINVAL);
	p = good, p.access |= NIC_ACCESS_FLUSH_PERSISTENT;
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_EINVAL);
	p = good, p.kind = NIC_MR_WINDOW_1;
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_EINVAL);
	assert_int_equal(nic_mr_create(&w.agent, &good), NIC_OK);
	assert_int_equal(nic_mr_create(&w.agent, &good), NIC_EINUSE);
	p = good, p.key ^= 1; /* same entry */
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_EINUSE);
}

static void bounds(void **state)
{
	struct nic_mr_params p = region(0x10000, 0x1000, LOCAL);
	static const struct {
		u64 addr;
		u64 length;
		bool good;
	} t[] = {
		{ 0x10000, 0x1000, true },
		{ 0x10000, 1, true },
		{ 0x10fff, 1, true },
		{ 0x10fff, 2, false },
		{ 0x11000, 1, false },
		{ 0x0ffff, 1, false },
		{ 0x0ffff, 2, false },
		{ 0x10000, 0x1001, false },
		{ 0, 0x20000, false },
		{ 0x10001, ~0ull, false },
		{ 0x10001, ~0ull - 0x10000, false }, /* the sum wraps to 0 */
		{ 0x10fff, ~0ull - 0x10ffd, false }, /* ... and to 1 */
		{ ~0ull, 0x10002, false },
		{ 0x8000000000010000ull, 1, false },
		/* An access of length 0 needs no valid key. */
		{ 0, 0, true },
		{ ~0ull, 0, true },
	};

	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_OK);
	for (u32 i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		if (check(p.key, LOCAL, t[i].addr, t[i].length) != t[i].good)
			fail_msg("line %u", i);
	}
}

static void bounds_at_the_end_of_everything(void **state)
{
	struct nic_mr_params p = region(~0ull - 0xfff, 0xfff, LOCAL);

	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_OK);
	assert_true(check(p.key, LOCAL, ~0ull - 0xfff, 0xfff));
	assert_true(check(p.key, LOCAL, ~0ull - 1, 1));
	assert_false(check(p.key, LOCAL, ~0ull - 1, 2));
	assert_false(check(p.key, LOCAL, ~0ull - 1, 3));
	assert_false(check(p.key, LOCAL, 0, 1));
}

static void key_zero_length_anything(void **state)
{
	assert_true(check(0, LOCAL | WRITE | READ, 123, 0));
	assert_true(check(0xffffffffu, LOCAL, 123, 0));
	assert_false(check(0, 0, 0x10000, 1));
	assert_false(check(0xffffffffu, 0, 0x10000, 1));
}

static void rights(void **state)
{
	for (u32 have = 0; have < 16; have++) {
		struct nic_mr_params p = region(0x10000, 0x1000, have);
		bool legal = !(have & (WRITE | NIC_ACCESS_REMOTE_ATOMIC)) || (have & LOCAL);

		assert_int_equal(nic_mr_create(&w.agent, &p), legal ? NIC_OK : NIC_EINVAL);
		if (!legal)
			continue;
		for (u32 want = 0; want < 16; want++)
			assert_int_equal(check(p.key, want, 0x10000, 1), (want & ~have) == 0);
	}
}

static void domain_and_tag_must_match(void **state)
{
	struct nic_mr_params p = region(0x10000, 0x1000, LOCAL);
	struct nic_piece piece;

	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_OK);
	assert_false(nic_check_key(&w.agent, p.key, 2, 0, LOCAL, 0x10000, 1, &piece));
	assert_false(check(p.key ^ 1, LOCAL, 0x10000, 1));
	/* The bits above the index are compared, too. */
	assert_false(check(p.key + (w.config.max_mr << NIC_KEY_TAG_BITS), LOCAL, 0x10000, 1));
	assert_false(check(p.key | NIC_KEY_CLAIMED, LOCAL, 0x10000, 1));
}

static void translation(void **state)
{
	struct nic_mr_params p = region(0x10000, 0x1000, LOCAL);
	struct nic_piece piece;

	p.iova = 0;
	p.space = 3;
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_OK);
	assert_true(nic_check_key(&w.agent, p.key, 1, 0, LOCAL, 0xff0, 0x10, &piece));
	assert_int_equal(piece.addr, 0x10ff0);
	assert_int_equal(piece.length, 0x10);
	assert_int_equal(piece.space, 3);
	assert_int_equal(piece.mr, p.key >> NIC_KEY_TAG_BITS);
	assert_false(check(p.key, LOCAL, 0x10000, 1));
}

static void old_keys_stay_dead(void **state)
{
	struct nic_mr_params p = region(0x10000, 0x1000, LOCAL);
	u32 old = p.key;

	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_OK);
	assert_int_equal(nic_mr_destroy(&w.agent, old ^ 1), NIC_EINVAL);
	assert_int_equal(nic_mr_destroy(&w.agent, old), NIC_OK);
	assert_int_equal(nic_mr_destroy(&w.agent, old), NIC_EINVAL);
	assert_false(check(old, LOCAL, 0x10000, 1));
	p.key = old ^ 0x33;
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_OK);
	assert_false(check(old, LOCAL, 0x10000, 1));
	assert_true(check(p.key, LOCAL, 0x10000, 1));
	assert_int_equal(nic_mr_destroy(&w.agent, old), NIC_EINVAL);
}

/* ------------------------------------------------------------ grace period */

static struct nic_qp *any_frame(u32 n)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct qp *qp = NULL;

	while (n--)
		qp = make_qp(&w.p[0], NIC_QPT_RC, cq, cq);
	return frame(qp);
}

static void destroy_waits_for_operations(void **state)
{
	struct nic_mr_params p = region(0x10000, 0x1000, LOCAL);
	struct nic_qp *qp = any_frame(3);

	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_OK);
	qp->sq_lock = 7;
	assert_int_equal(nic_mr_destroy(&w.agent, p.key), NIC_BUSY);
	/* No operation can begin to use it, and the entry is not free yet. */
	assert_false(check(p.key, LOCAL, 0x10000, 1));
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_EINUSE);
	assert_int_equal(nic_mr_destroy(&w.agent, p.key), NIC_BUSY);
	qp->sq_lock = 0;
	assert_int_equal(nic_mr_destroy(&w.agent, p.key), NIC_OK);
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_OK);
}

/* The lock is never seen free, but each operation ends: that is sufficient. */
static void destroy_ends_under_constant_traffic(void **state)
{
	struct nic_mr_params p = region(0x10000, 0x1000, LOCAL);
	struct nic_qp *qp = any_frame(1);

	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_OK);
	qp->sq_lock = w.p[0].nic.self;
	nic_grace_point(&w.p[0].nic, qp);
	assert_int_equal(nic_mr_destroy(&w.agent, p.key), NIC_BUSY);
	nic_grace_point(&w.p[0].nic, qp);
	assert_int_equal(nic_mr_destroy(&w.agent, p.key), NIC_OK);
	qp->sq_lock = 0;
}

/* Two destructions do not shorten each other's grace period. */
static void destroys_side_by_side(void **state)
{
	struct nic_mr_params a = region(0x10000, 0x1000, LOCAL);
	struct nic_mr_params b = region(0x20000, 0x1000, LOCAL);
	struct nic_qp *qp = any_frame(1);

	assert_int_equal(nic_mr_create(&w.agent, &a), NIC_OK);
	assert_int_equal(nic_mr_create(&w.agent, &b), NIC_OK);
	qp->sq_lock = w.p[0].nic.self;
	assert_int_equal(nic_mr_destroy(&w.agent, a.key), NIC_BUSY);
	nic_grace_point(&w.p[0].nic, qp);
	assert_int_equal(nic_mr_destroy(&w.agent, b.key), NIC_BUSY);
	assert_int_equal(nic_mr_destroy(&w.agent, a.key), NIC_OK);
	assert_int_equal(nic_mr_destroy(&w.agent, b.key), NIC_BUSY);
	nic_grace_point(&w.p[0].nic, qp);
	assert_int_equal(nic_mr_destroy(&w.agent, b.key), NIC_OK);
	qp->sq_lock = 0;
}

static struct nic_qp *spinning;

static void finish_meanwhile(void)
{
	spinning->sq_lock = 0;
}

static void destroy_spins_before_it_is_busy(void **state)
{
	struct nic_mr_params p = region(0x10000, 0x1000, LOCAL);

	spinning = any_frame(1);
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_OK);
	spinning->sq_lock = 7;
	tp.on_relax = finish_meanwhile;
	assert_int_equal(nic_mr_destroy(&w.agent, p.key), NIC_OK);
}

/* ----------------------------------------------------------------- windows */

struct window {
	struct qp *qp;
	u32 region;
	u32 rkey;
	u64 addr;
};

static struct window make_window(u8 kind, u32 access)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct window win = {
		.qp = make_qp(&w.p[0], NIC_QPT_RC, cq, cq),
		.region = reg_mr(&w.p[0], 0x1000, 0x1000, access),
		.rkey = alloc_mw(&w.p[0], kind),
		.addr = at(&w.p[0], 0x1000),
	};

	return win;
}

static struct vnet_wqe_bind bind_all(const struct window *win, u32 access)
{
	return (struct vnet_wqe_bind){
		.addr = win->addr,
		.length = 0x1000,
		.old_rkey = win->rkey,
		.new_rkey = win->rkey ^ 0x11,
		.lkey = win->region,
		.access = access,
	};
}

static enum vnet_wc_status do_bind(struct window *win, const struct vnet_wqe_bind *bind)
{
	enum vnet_wc_status status = nic_bind_window(&win->qp->p->nic, frame(win->qp), bind);

	if (status == VNET_WC_SUCCESS)
		win->rkey = bind->new_rkey;
	return status;
}

static bool open_to(const struct window *win, u32 qpn, u32 access, u64 addr, u64 length)
{
	struct nic_piece piece;

	return nic_check_key(&w.agent, win->rkey, w.p[0].pdn, qpn, access, addr, length, &piece);
}

static u32 windows_in(u32 key)
{
	return w.agent.mr[key >> NIC_KEY_TAG_BITS].windows;
}

static void unbound_window_gives_nothing(void **state)
{
	struct window one = make_window(NIC_MR_WINDOW_1, ALL_ACCESS);

	assert_false(open_to(&one, one.qp->qpn, READ, one.addr, 1));
	assert_false(open_to(&one, one.qp->qpn, READ, 0, 1));
}

static void bind_type_1(void **state)
{
	struct window win = make_window(NIC_MR_WINDOW_1, ALL_ACCESS);
	struct vnet_wqe_bind bind = bind_all(&win, READ);
	struct nic_piece piece;
	u32 first = win.rkey;

	bind.addr += 0x100;
	bind.length = 0x200;
	assert_int_equal(do_bind(&win, &bind), VNET_WC_SUCCESS);
	assert_true(open_to(&win, 1234, READ, win.addr + 0x100, 0x200));
	assert_false(open_to(&win, 1234, READ, win.addr + 0x100, 0x201));
	assert_false(open_to(&win, 1234, READ, win.addr + 0xff, 1));
	assert_false(open_to(&win, 1234, WRITE, win.addr + 0x100, 1));
	/* The key is not a local key, and the previous key is invalid. */
	assert_false(open_to(&win, 1234, 0, win.addr + 0x100, 1));
	assert_false(open_to(&win, 1234, LOCAL, win.addr + 0x100, 1));
	assert_false(nic_check_key(&w.agent, first, 1, 0, READ, win.addr + 0x100, 1, &piece));
	assert_true(nic_check_key(&w.agent, win.rkey, 1, 0, READ, win.addr + 0x120, 8, &piece));
	assert_int_equal(piece.addr, win.addr + 0x120);
	assert_int_equal(piece.space, 1);
	assert_int_equal(piece.mr, win.region >> NIC_KEY_TAG_BITS);
	assert_int_equal(windows_in(win.region), 1);
}

static void rebind_and_unbind_type_1(void **state)
{
	struct window win = make_window(NIC_MR_WINDOW_1, ALL_ACCESS);
	u32 other = reg_mr(&w.p[0], 0x8000, 0x1000, ALL_ACCESS);
	struct vnet_wqe_bind bind = bind_all(&win, READ | WRITE);

	assert_int_equal(do_bind(&win, &bind), VNET_WC_SUCCESS);
	bind = bind_all(&win, READ);
	bind.lkey = other;
	bind.addr = at(&w.p[0], 0x8000);
	assert_int_equal(do_bind(&win, &bind), VNET_WC_SUCCESS);
	assert_int_equal(windows_in(win.region), 0);
	assert_int_equal(windows_in(other), 1);
	assert_true(open_to(&win, 1, READ, bind.addr, 0x1000));
	assert_false(open_to(&win, 1, READ, win.addr, 1));
	/* The old key cannot be used to bind. */
	bind.old_rkey ^= 0x11;
	bind.old_rkey ^= 0x22;
	assert_int_equal(do_bind(&win, &bind), VNET_WC_MW_BIND_ERR);
	bind = bind_all(&win, 0);
	bind.length = 0;
	bind.lkey = 0;
	assert_int_equal(do_bind(&win, &bind), VNET_WC_SUCCESS);
	assert_int_equal(windows_in(other), 0);
	assert_false(open_to(&win, 1, READ, at(&w.p[0], 0x8000), 1));
}

struct refusal {
	const char *what;
	u8 kind;
	u32 region_access;
	u32 access;
	s64 addr;
	u64 length;
	u32 new_key_xor;
};

static void bind_refusals(void **state)
{
	static const struct refusal t[] = {
		{ "region without MW_BIND", NIC_MR_WINDOW_1, LOCAL | WRITE | READ, READ, 0, 1, 1 },
		{ "writable, region is not", NIC_MR_WINDOW_1, READ | NIC_ACCESS_MW_BIND, WRITE, 0,
		  1, 1 },
		{ "atomic, region not writable", NIC_MR_WINDOW_2, READ | NIC_ACCESS_MW_BIND,
		  NIC_ACCESS_REMOTE_ATOMIC, 0, 1, 1 },
		{ "begins before", NIC_MR_WINDOW_1, ALL_ACCESS, READ, -1, 2, 1 },
		{ "ends after", NIC_MR_WINDOW_2, ALL_ACCESS, READ, 0, 0x1001, 1 },
		{ "wraps", NIC_MR_WINDOW_2, ALL_ACCESS, READ, 1, ~0ull, 1 },
		{ "zero based type 1", NIC_MR_WINDOW_1, ALL_ACCESS, READ | NIC_ACCESS_ZERO_BASED, 0,
		  1, 1 },
		{ "zero based region", NIC_MR_WINDOW_2, ALL_ACCESS | NIC_ACCESS_ZERO_BASED, READ, 0,
		  1, 1 },
		{ "type 2 of length 0", NIC_MR_WINDOW_2, ALL_ACCESS, READ, 0, 0, 1 },
		{ "another entry's key", NIC_MR_WINDOW_1, ALL_ACCESS, READ, 0, 1, 0x100 },
		{ "unknown access", NIC_MR_WINDOW_1, ALL_ACCESS, READ | 0x80, 0, 1, 1 },
		{ "persistent", NIC_MR_WINDOW_1, ALL_ACCESS, READ | NIC_ACCESS_FLUSH_PERSISTENT, 0,
		  1, 1 },
	};

	for (u32 i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct window win = make_window(t[i].kind, t[i].region_access);
		struct vnet_wqe_bind bind = bind_all(&win, t[i].access);
		u32 key = win.rkey;

		bind.addr += (u64)t[i].addr;
		bind.length = t[i].length;
		bind.new_rkey = win.rkey ^ t[i].new_key_xor;
		if (do_bind(&win, &bind) != VNET_WC_MW_BIND_ERR)
			fail_msg("bound: %s", t[i].what);
		assert_int_equal(windows_in(win.region), 0);
		assert_int_equal(w.agent.mr[key >> NIC_KEY_TAG_BITS].key, key);
	}
}

static void bind_needs_its_domain(void **state)
{
	struct window win = make_window(NIC_MR_WINDOW_1, ALL_ACCESS);
	struct vnet_wqe_bind bind = bind_all(&win, READ);
	u32 theirs = reg_mr(&w.p[1], 0x1000, 0x1000, ALL_ACCESS);
	u32 window = alloc_mw(&w.p[1], NIC_MR_WINDOW_1);

	bind.lkey = theirs;
	bind.addr = at(&w.p[1], 0x1000);
	assert_int_equal(do_bind(&win, &bind), VNET_WC_MW_BIND_ERR);
	bind = bind_all(&win, READ);
	bind.old_rkey = window;
	bind.new_rkey = window ^ 1;
	assert_int_equal(do_bind(&win, &bind), VNET_WC_MW_BIND_ERR);
	/* A window cannot replace a region, nor a region a window. */
	bind = bind_all(&win, READ);
	bind.lkey = win.rkey;
	assert_int_equal(do_bind(&win, &bind), VNET_WC_MW_BIND_ERR);
	bind = bind_all(&win, READ);
	bind.old_rkey = win.region;
	bind.new_rkey = win.region ^ 1;
	assert_int_equal(do_bind(&win, &bind), VNET_WC_MW_BIND_ERR);
	bind.old_rkey = 0;
	assert_int_equal(do_bind(&win, &bind), VNET_WC_MW_BIND_ERR);
	bind.old_rkey = bind.new_rkey = 0xffffffffu;
	assert_int_equal(do_bind(&win, &bind), VNET_WC_MW_BIND_ERR);
}

static void type_2_belongs_to_its_qp(void **state)
{
	struct window win = make_window(NIC_MR_WINDOW_2, ALL_ACCESS);
	struct vnet_wqe_bind bind = bind_all(&win, READ | WRITE);

	assert_int_equal(do_bind(&win, &bind), VNET_WC_SUCCESS);
	assert_true(open_to(&win, win.qp->qpn, WRITE, win.addr, 0x1000));
	assert_false(open_to(&win, win.qp->qpn + 1, WRITE, win.addr, 0x1000));
	assert_false(open_to(&win, win.qp->qpn + w.config.max_qp, WRITE, win.addr, 0x1000));
	/* A bound window of type 2 cannot be bound again before it is invalidated. */
	bind = bind_all(&win, READ);
	assert_int_equal(do_bind(&win, &bind), VNET_WC_MW_BIND_ERR);
	assert_true(open_to(&win, win.qp->qpn, WRITE, win.addr, 0x1000));
	assert_int_equal(windows_in(win.region), 1);
}

static void zero_based_type_2(void **state)
{
	struct window win = make_window(NIC_MR_WINDOW_2, ALL_ACCESS);
	struct vnet_wqe_bind bind = bind_all(&win, READ | NIC_ACCESS_ZERO_BASED);
	struct nic_piece piece;

	bind.addr += 0x80;
	bind.length = 0x10;
	assert_int_equal(do_bind(&win, &bind), VNET_WC_SUCCESS);
	assert_true(nic_check_key(&w.agent, win.rkey, 1, win.qp->qpn, READ, 8, 8, &piece));
	assert_int_equal(piece.addr, win.addr + 0x88);
	assert_false(open_to(&win, win.qp->qpn, READ, 8, 9));
	assert_false(open_to(&win, win.qp->qpn, READ, win.addr + 0x80, 1));
}

static bool closes(struct qp *qp, u32 key)
{
	return nic_invalidate_key(&w.p[0].nic, frame(qp), frame(qp), key) == VNET_WC_SUCCESS;
}

static void invalidate(void **state)
{
	struct window win = make_window(NIC_MR_WINDOW_2, ALL_ACCESS);
	struct window one = make_window(NIC_MR_WINDOW_1, ALL_ACCESS);
	struct vnet_wqe_bind bind = bind_all(&win, READ);

	assert_int_equal(do_bind(&win, &bind), VNET_WC_SUCCESS);
	assert_false(closes(one.qp, win.rkey)); /* another QP */
	assert_false(closes(win.qp, win.rkey ^ 1));
	assert_false(closes(win.qp, 0));
	assert_true(open_to(&win, win.qp->qpn, READ, win.addr, 1));
	assert_true(closes(win.qp, win.rkey));
	assert_false(open_to(&win, win.qp->qpn, READ, win.addr, 1));
	assert_false(open_to(&win, win.qp->qpn, READ, 0, 1));
	assert_int_equal(windows_in(win.region), 0);
	/* Free again, whatever tag the process uses. */
	bind = bind_all(&win, READ);
	bind.old_rkey ^= 0x44;
	assert_int_equal(do_bind(&win, &bind), VNET_WC_SUCCESS);
	assert_true(open_to(&win, win.qp->qpn, READ, win.addr, 1));

	/* Neither a window of type 1 nor a region can be invalidated. */
	bind = bind_all(&one, READ);
	assert_int_equal(do_bind(&one, &bind), VNET_WC_SUCCESS);
	assert_false(closes(one.qp, one.rkey));
	assert_false(closes(one.qp, one.region));
	assert_true(open_to(&one, 0, READ, one.addr, 1));
}

/* ------------------------------------------- regions registered by requests */

static u32 make_fast(u32 *pdn)
{
	struct nic_mr_params p = region(0, 0, 0);

	p.kind = NIC_MR_FAST;
	*pdn = p.pdn;
	assert_int_equal(nic_mr_create(&w.agent, &p), NIC_OK);
	return p.key;
}

/* A key of an earlier region in the same entry has other bits above the index. */
static void key_of_another_life(void **state)
{
	struct window win = make_window(NIC_MR_WINDOW_2, ALL_ACCESS);
	struct vnet_wqe_bind bind = bind_all(&win, READ);
	struct vnet_wqe_bind reg = { .length = 1 };
	struct nic_qp *qp = frame(win.qp);
	struct nic *nic = &win.qp->p->nic;
	u32 lives = w.config.max_mr << NIC_KEY_TAG_BITS, key = make_fast(&qp->pdn);

	bind.old_rkey ^= lives;
	bind.new_rkey ^= lives;
	assert_int_equal(nic_bind_window(nic, qp, &bind), VNET_WC_MW_BIND_ERR);
	reg.old_rkey = reg.new_rkey = key ^ lives;
	assert_int_equal(nic_register(nic, qp, &reg), VNET_WC_MW_BIND_ERR);
	assert_int_equal(nic_invalidate_key(nic, qp, qp, key ^ lives), VNET_WC_MW_BIND_ERR);
}

static void registered_by_request(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct nic_qp *qp = frame(make_qp(&w.p[0], NIC_QPT_RC, cq, cq));
	struct nic *nic = &w.p[0].nic;
	struct vnet_wqe_bind reg = { .addr = 0x5123, .length = 0x2000, .page_offset = 0x123 };
	struct nic_piece piece;
	u32 key = make_fast(&qp->pdn);

	reg.old_rkey = key;
	reg.new_rkey = key ^ 1;
	reg.access = READ;
	assert_false(check(key, READ, 0x5123, 1));
	assert_int_equal(nic_register(nic, qp, &reg), VNET_WC_SUCCESS);
	/* It can be registered once, and is valid under the new key, in its bounds and rights. */
	assert_int_equal(nic_register(nic, qp, &reg), VNET_WC_MW_BIND_ERR);
	assert_false(check(key, READ, 0x5123, 1));
	assert_true(nic_check_key(nic, key ^ 1, 1, 0, READ, 0x5124, 0x1fff, &piece));
	assert_int_equal(piece.addr, 0x124);
	assert_int_equal(piece.mr, key >> NIC_KEY_TAG_BITS);
	assert_false(check(key ^ 1, WRITE, 0x5123, 1));
	assert_false(check(key ^ 1, READ, 0x5122, 1));
	assert_false(check(key ^ 1, READ, 0x5124, 0x2000));
	assert_int_equal(nic_invalidate_key(nic, qp, qp, key), VNET_WC_MW_BIND_ERR);
	assert_int_equal(nic_invalidate_key(nic, qp, qp, key ^ 1), VNET_WC_SUCCESS);
	assert_false(check(key ^ 1, READ, 0x5123, 1));
	assert_int_equal(nic_mr_destroy(&w.agent, key ^ 1), NIC_OK);
}

static void registration_checks(void **state)
{
	static const struct vnet_wqe_bind wrong[] = {
		{ .addr = ~0ull, .length = 2 },
		{ .addr = 0, .length = 2, .page_offset = ~0ull },
		{ .addr = 0, .length = 0 },
		{ .addr = 0, .length = 2, .access = WRITE },
	};
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct nic_qp *qp = frame(make_qp(&w.p[0], NIC_QPT_RC, cq, cq));
	struct nic *nic = &w.p[0].nic;
	struct vnet_wqe_bind reg;
	u32 key = make_fast(&qp->pdn);

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		reg = wrong[i];
		reg.old_rkey = reg.new_rkey = key;
		assert_int_equal(nic_register(nic, qp, &reg), VNET_WC_MW_BIND_ERR);
	}
	reg = (struct vnet_wqe_bind){ .length = 1, .old_rkey = key, .new_rkey = key + 256 };
	assert_int_equal(nic_register(nic, qp, &reg), VNET_WC_MW_BIND_ERR);
	reg.new_rkey = key;
	qp->pdn++;
	assert_int_equal(nic_register(nic, qp, &reg), VNET_WC_MW_BIND_ERR);
	qp->pdn--;
	assert_int_equal(nic_register(nic, qp, &reg), VNET_WC_SUCCESS);
}

/* An invalidation completes after all copies that may use the old key. */
static void invalidation_waits(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct nic_qp *qp = frame(make_qp(&w.p[0], NIC_QPT_RC, cq, cq));
	struct nic_qp *busy = frame(make_qp(&w.p[1], NIC_QPT_RC, cq, cq));
	struct nic *nic = &w.p[0].nic;
	struct vnet_wqe_bind reg = { .length = 64 };
	u32 key = make_fast(&qp->pdn);

	busy->pdn = qp->pdn;
	reg.old_rkey = reg.new_rkey = key;
	assert_int_equal(nic_register(nic, qp, &reg), VNET_WC_SUCCESS);
	busy->sq_lock = w.p[1].nic.self;
	assert_int_equal(nic_invalidate_key(nic, qp, qp, key), NIC_EXEC_WAIT);
	assert_false(check(key, 0, 0, 1));
	assert_int_equal(nic_invalidate_key(nic, qp, qp, key), NIC_EXEC_WAIT);
	busy->sq_lock = 0;
	assert_int_equal(nic_invalidate_key(nic, qp, qp, key), VNET_WC_SUCCESS);
}

static jmp_buf death;
static int death_at;

static void die(int step)
{
	if (step == death_at)
		longjmp(death, 1);
}

/* Process p begins an invalidation, and dies at this step. */
static void invalidate_until(struct process *p, struct qp *qp, u32 key, int step)
{
	frame(qp)->sq_lock = p->nic.self;
	death_at = step;
	tp.on_step = die;
	if (!setjmp(death)) {
		nic_invalidate_key(&p->nic, frame(qp), frame(qp), key);
		fail();
	}
	tp.on_step = NULL;
}

static void bury(const struct process *p)
{
	nic_recover(&w.agent, p->nic.self, p->nic.space);
}

/*
 * A process dies while it invalidates a window for another one: a repeated invalidation
 * succeeds.
 */
static void invalidation_is_repeated(void **state)
{
	for (int step = 64; step <= 66; step++) {
		struct window win = make_window(NIC_MR_WINDOW_2, ALL_ACCESS);
		struct vnet_wqe_bind bind = bind_all(&win, READ);

		assert_int_equal(do_bind(&win, &bind), VNET_WC_SUCCESS);
		invalidate_until(&w.p[2], win.qp, win.rkey, step);
		bury(&w.p[2]);
		assert_false(open_to(&win, win.qp->qpn, READ, win.addr, 1));
		assert_true(closes(win.qp, win.rkey));
		bind = bind_all(&win, READ);
		assert_int_equal(do_bind(&win, &bind), VNET_WC_SUCCESS);
		assert_true(open_to(&win, win.qp->qpn, READ, win.addr, 1));
		assert_true(closes(win.qp, win.rkey));
		assert_int_equal(nic_mr_destroy(&w.agent, win.region), NIC_OK);
	}
}

/* A key that a living process is changing cannot be changed by others. */
static void claims_are_ones_own(void **state)
{
	struct window win = make_window(NIC_MR_WINDOW_2, ALL_ACCESS);
	struct nic_mr *mr = &w.agent.mr[win.rkey >> NIC_KEY_TAG_BITS];
	struct vnet_wqe_bind bind = bind_all(&win, READ);
	u32 claim;

	invalidate_until(&w.p[0], win.qp, win.rkey, 65);
	claim = mr->key;
	assert_true(claim & NIC_KEY_CLAIMED);
	assert_int_equal(do_bind(&win, &bind), VNET_WC_MW_BIND_ERR);
	assert_false(closes(win.qp, win.rkey));
	/* Another process of this NIC dies, which had not got the claim. */
	frame(win.qp)->sq_lock = w.p[2].nic.self;
	bury(&w.p[2]);
	assert_int_equal(mr->key, claim);
	assert_int_equal(nic_mr_destroy(&w.agent, win.rkey), NIC_OK);
}

/* The same for a region: the invalidation waits for copies that may use the key. */
static void half_invalidated_region(void **state)
{
	struct cq *cq = make_cq(&w.p[0], 8, 0);
	struct nic_qp *qp = frame(make_qp(&w.p[0], NIC_QPT_RC, cq, cq));
	struct nic_qp *busy = frame(make_qp(&w.p[1], NIC_QPT_RC, cq, cq));
	struct vnet_wqe_bind reg = { .length = 64 };
	u32 key = make_fast(&qp->pdn), dead = w.p[2].nic.self;
	struct nic_mr *mr = &w.agent.mr[key >> NIC_KEY_TAG_BITS];

	busy->pdn = qp->pdn;
	reg.old_rkey = reg.new_rkey = key;
	assert_int_equal(nic_register(&w.p[2].nic, qp, &reg), VNET_WC_SUCCESS);
	/* The process dies between the claim and the invalidation. */
	mr->key = NIC_KEY_CLAIMED | dead << NIC_KEY_TAG_BITS |
		  (key & ((1u << NIC_KEY_TAG_BITS) - 1));
	qp->sq_lock = dead;
	busy->sq_lock = w.p[1].nic.self;
	bury(&w.p[2]);
	assert_false(check(key, 0, 0, 1));
	assert_int_equal(nic_invalidate_key(&w.agent, qp, qp, key), NIC_EXEC_WAIT);
	busy->sq_lock = 0;
	assert_int_equal(nic_invalidate_key(&w.agent, qp, qp, key), VNET_WC_SUCCESS);
	assert_int_equal(nic_register(&w.p[0].nic, qp, &reg), VNET_WC_SUCCESS);
}

static void region_with_windows_stays(void **state)
{
	struct window win = make_window(NIC_MR_WINDOW_2, ALL_ACCESS);
	struct vnet_wqe_bind bind = bind_all(&win, READ);

	assert_int_equal(do_bind(&win, &bind), VNET_WC_SUCCESS);
	assert_int_equal(nic_mr_destroy(&w.agent, win.region), NIC_EINUSE);
	assert_true(open_to(&win, win.qp->qpn, READ, win.addr, 1));
	assert_true(closes(win.qp, win.rkey));
	assert_int_equal(nic_mr_destroy(&w.agent, win.region), NIC_OK);
}

static void destroyed_window_is_unbound(void **state)
{
	struct window win = make_window(NIC_MR_WINDOW_1, ALL_ACCESS);
	struct vnet_wqe_bind bind = bind_all(&win, READ);
	u32 allocated = win.rkey;

	assert_int_equal(do_bind(&win, &bind), VNET_WC_SUCCESS);
	frame(win.qp)->sq_lock = 7;
	/* The agent knows the window by the key that it was allocated with. */
	assert_int_equal(nic_mr_destroy(&w.agent, allocated), NIC_BUSY);
	assert_false(open_to(&win, 0, READ, win.addr, 1));
	bind = bind_all(&win, READ);
	assert_int_equal(do_bind(&win, &bind), VNET_WC_MW_BIND_ERR);
	frame(win.qp)->sq_lock = 0;
	assert_int_equal(nic_mr_destroy(&w.agent, allocated), NIC_OK);
	assert_int_equal(windows_in(win.region), 0);
	assert_int_equal(nic_mr_destroy(&w.agent, win.region), NIC_OK);
}

/* A concurrent bind makes the window valid again; it is still destroyed. */
static void destroy_against_a_bind(void **state)
{
	struct window win = make_window(NIC_MR_WINDOW_1, ALL_ACCESS);
	struct nic_mr *mr = &w.agent.mr[win.rkey >> NIC_KEY_TAG_BITS];

	frame(win.qp)->sq_lock = 7;
	assert_int_equal(nic_mr_destroy(&w.agent, win.rkey), NIC_BUSY);
	mr->length = 0x1000;
	mr->iova = mr->addr = win.addr;
	mr->access = READ;
	mr->parent = win.region;
	w.agent.mr[win.region >> NIC_KEY_TAG_BITS].windows++;
	mr->key = win.rkey ^ 1;
	frame(win.qp)->sq_lock = 0;
	assert_int_equal(nic_mr_destroy(&w.agent, win.rkey), NIC_BUSY);
	assert_int_equal(mr->key, 0);
	assert_int_equal(nic_mr_destroy(&w.agent, win.rkey), NIC_OK);
	assert_int_equal(windows_in(win.region), 0);
	assert_int_equal(nic_mr_destroy(&w.agent, win.region), NIC_OK);
}

/* A window count that a dead process left too high does not keep the region. */
static void region_with_a_wrong_count_goes(void **state)
{
	struct window win = make_window(NIC_MR_WINDOW_1, ALL_ACCESS);

	w.agent.mr[win.region >> NIC_KEY_TAG_BITS].windows = 3;
	assert_int_equal(nic_mr_destroy(&w.agent, win.region), NIC_OK);
}

/* A window whose region is gone (after memory corruption) gives no access. */
static void window_never_outlives_its_region(void **state)
{
	struct window win = make_window(NIC_MR_WINDOW_1, ALL_ACCESS);
	struct vnet_wqe_bind bind = bind_all(&win, READ);

	assert_int_equal(do_bind(&win, &bind), VNET_WC_SUCCESS);
	w.agent.mr[win.region >> NIC_KEY_TAG_BITS].windows = 0;
	assert_int_equal(nic_mr_destroy(&w.agent, win.region), NIC_OK);
	assert_false(open_to(&win, 0, READ, win.addr, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(create_checks),
		TEST(bounds),
		TEST(bounds_at_the_end_of_everything),
		TEST(key_zero_length_anything),
		TEST(rights),
		TEST(domain_and_tag_must_match),
		TEST(translation),
		TEST(old_keys_stay_dead),
		TEST(destroy_waits_for_operations),
		TEST(destroy_ends_under_constant_traffic),
		TEST(destroys_side_by_side),
		TEST(destroy_spins_before_it_is_busy),
		TEST(unbound_window_gives_nothing),
		TEST(bind_type_1),
		TEST(rebind_and_unbind_type_1),
		TEST(bind_refusals),
		TEST(bind_needs_its_domain),
		TEST(type_2_belongs_to_its_qp),
		TEST(zero_based_type_2),
		TEST(invalidate),
		TEST(invalidation_is_repeated),
		TEST(claims_are_ones_own),
		TEST(half_invalidated_region),
		TEST(region_with_windows_stays),
		TEST(registered_by_request),
		TEST(key_of_another_life),
		TEST(registration_checks),
		TEST(invalidation_waits),
		TEST(destroyed_window_is_unbound),
		TEST(destroy_against_a_bind),
		TEST(region_with_a_wrong_count_goes),
		TEST(window_never_outlives_its_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
