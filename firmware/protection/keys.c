// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions and windows: look-up of keys, creation, binding, invalidation.
 *
 * Readers take no lock. A region's entry is constant while its key is valid. A window's entry is
 * changed by the executor that has exchanged its key for a claim; a reader compares key and version
 * before and after, and fails if they changed. A window names its region by key, and gives access
 * only while that key is valid. So a bound window never outlives its region, even if its executor
 * died half-way.
 */
#include "layout/lookup.h"
#include "layout/message.h"
#include "protection/protection.h"

#define NIC_ACCESS_REMOTE                                                                          \
	(NIC_ACCESS_REMOTE_WRITE | NIC_ACCESS_REMOTE_READ | NIC_ACCESS_REMOTE_ATOMIC |             \
	 NIC_ACCESS_FLUSH_GLOBAL)
/* Rights that require the right of local write. */
#define NIC_ACCESS_CHANGES                                                                         \
	(NIC_ACCESS_LOCAL_WRITE | NIC_ACCESS_REMOTE_WRITE | NIC_ACCESS_REMOTE_ATOMIC)

/* Consistent copy of an entry, for look-ups. */
struct nic_mr_view {
	u8 kind;
	u32 access;
	u32 pdn;
	u64 iova;
	u64 addr;
	u64 length;
	u32 space;
	u32 parent;
	u32 qpn;
};

/* The entry that a key names, which may have another key by now; NULL: not a key. */
static struct nic_mr *nic_mr_entry(struct nic *nic, u32 key)
{
	return nic_is_key(key) ? &nic->mr[nic_key_index(nic, key)] : NULL;
}

/* Equal except for the tag: keys of the same entry. */
static bool nic_same_but_tag(u32 a, u32 b)
{
	return !((a ^ b) >> NIC_KEY_TAG_BITS);
}

static inline bool nic_mr_look(struct nic *nic, u32 key, struct nic_mr_view *view)
{
	struct nic_mr *mr = nic_mr_entry(nic, key);
	u32 version;

	if (!mr)
		return false;
	/* Both pair with the release that made the key valid. */
	version = nic_load_acquire(&mr->version);
	if (nic_load_acquire(&mr->key) != key)
		return false;
	view->kind = nic_load(&mr->kind);
	view->access = nic_load(&mr->access);
	view->pdn = nic_load(&mr->pdn);
	view->iova = nic_load(&mr->iova);
	view->addr = nic_load(&mr->addr);
	view->length = nic_load(&mr->length);
	view->space = nic_load(&mr->space);
	view->parent = nic_load(&mr->parent);
	view->qpn = nic_load(&mr->qpn);
	/* Orders the loads above before those below. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return nic_load(&mr->key) == key && nic_load(&mr->version) == version;
}

/* Is [addr, addr + length) within the entry's range? Computes no sums, so nothing can overflow. */
static bool nic_mr_covers(const struct nic_mr_view *view, u64 addr, u64 length)
{
	u64 offset = addr - view->iova;

	return addr >= view->iova && offset <= view->length && length <= view->length - offset;
}

/* Is the entry constant from creation to destruction? */
static bool nic_is_region(u8 kind)
{
	return kind == NIC_MR_REGION || kind == NIC_MR_DEVICE;
}

static bool nic_is_window(u8 kind)
{
	return kind == NIC_MR_WINDOW_1 || kind == NIC_MR_WINDOW_2;
}

/* Does the window give access? Never local access, and none without its region. */
static bool nic_window_open(struct nic *nic, const struct nic_mr_view *view, u32 qpn, u32 access)
{
	if (!view->parent || !(access & NIC_ACCESS_REMOTE))
		return false;
	if (view->kind == NIC_MR_WINDOW_2 && view->qpn != qpn)
		return false;
	return nic_find_mr(nic, view->parent);
}

/*
 * Device memory is mapped in each executing process, so the piece gets this process' own space.
 * (Thus no payload for it is left in a CQE for another process to copy.)
 */
static bool nic_device_piece(struct nic *nic, struct nic_piece *piece)
{
	u64 skew = piece->addr % sizeof(u64);
	u8 *memory = plat_queue(nic, piece->addr - skew, piece->length + skew);

	if (!memory)
		return false;
	piece->addr = (u64)(unsigned long)(memory + skew);
	piece->space = nic->space;
	piece->mr |= NIC_PIECE_DEVICE;
	return true;
}

/* Checks for entries that are not ordinary regions. */
static bool nic_check_kind(struct nic *nic, const struct nic_mr_view *view, u32 qpn, u32 access,
			   struct nic_piece *piece)
{
	if (view->kind == NIC_MR_DEVICE)
		return nic_device_piece(nic, piece);
	if (!nic_is_window(view->kind))
		return true;
	piece->mr = nic_key_index(nic, view->parent);
	return nic_window_open(nic, view, qpn, access);
}

bool nic_check_any_key(struct nic *nic, u32 key, u32 pdn, u32 qpn, u32 access, u64 addr, u64 length,
		       struct nic_piece *piece)
{
	struct nic_mr_view view;

	piece->length = length;
	if (unlikely(!length)) {
		piece->addr = 0;
		piece->space = NIC_SPACE_POINTER;
		piece->mr = NIC_NONE;
		return true;
	}
	if (!nic_mr_look(nic, key, &view) || view.pdn != pdn || (access & ~view.access) ||
	    !nic_mr_covers(&view, addr, length))
		return false;
	piece->addr = view.addr + (addr - view.iova);
	piece->space = view.space;
	piece->mr = nic_key_index(nic, key);
	return likely(view.kind == NIC_MR_REGION) || nic_check_kind(nic, &view, qpn, access, piece);
}

bool nic_check_placement(struct nic *nic, u32 pdn, u32 qpn, const struct nic_placement *p)
{
	struct nic_mr_view view;

	if (!nic_mr_look(nic, p->key, &view) || view.pdn != pdn || (p->access & ~view.access))
		return false;
	if (!p->whole && !nic_mr_covers(&view, p->addr, p->length))
		return false;
	return !nic_is_window(view.kind) || nic_window_open(nic, &view, qpn, p->access);
}

/* ------------------------------------------------- creation, destruction */

static bool nic_mr_params_ok(const struct nic_mr_params *p)
{
	if (p->addr + p->length < p->addr || p->iova + p->length < p->iova)
		return false;
	if (nic_is_window(p->kind) || p->kind == NIC_MR_FAST)
		return !p->length;
	if (!nic_is_region(p->kind) || (p->kind == NIC_MR_DEVICE) != (p->space == NIC_SPACE_DEVICE))
		return false;
	if (p->access & NIC_ACCESS_FLUSH_PERSISTENT)
		return false;
	return !(p->access & (NIC_ACCESS_REMOTE_WRITE | NIC_ACCESS_REMOTE_ATOMIC)) ||
	       (p->access & NIC_ACCESS_LOCAL_WRITE);
}

enum nic_result nic_mr_create(struct nic *nic, const struct nic_mr_params *p)
{
	struct nic_mr *mr = nic_mr_entry(nic, p->key);

	if (!mr || !nic_mr_params_ok(p))
		return NIC_EINVAL;
	if (mr->kind != NIC_MR_FREE)
		return NIC_EINUSE;
	mr->kind = p->kind;
	mr->flags = p->flags & (NIC_MR_FILE | NIC_MR_CHECK_PAGES | NIC_MR_MAPPED);
	if (p->access & NIC_ACCESS_ON_DEMAND)
		mr->flags |= NIC_MR_ON_DEMAND;
	if (mr->flags & NIC_MR_FILE)
		nic_fetch_add(&nic->hdr->fetches, 1);
	mr->access = p->access;
	mr->pdn = p->pdn;
	mr->iova = p->iova;
	mr->addr = p->addr;
	mr->length = p->length;
	mr->space = p->space;
	mr->parent = 0;
	mr->qpn = 0;
	mr->windows = 0;
	nic_store_release(&mr->version, mr->version + 1);
	nic_store_release(&mr->key, p->key);
	return NIC_OK;
}

/*
 * Are windows bound to the region? The count is never too low, but too high if an executor died
 * while it was binding; so a non-zero count is verified.
 */
static bool nic_mr_has_windows(struct nic *nic, struct nic_mr *mr, u32 key)
{
	u32 i, seen = nic_load(&mr->windows);

	if (!seen)
		return false;
	for (i = 0; i < nic->max_mr; i++) {
		if (nic_is_window(nic->mr[i].kind) && nic_load(&nic->mr[i].parent) == key)
			return true;
	}
	return false;
}

/* The region has one bound window less. */
static void nic_region_close(struct nic *nic, u32 key)
{
	struct nic_mr *region = key ? nic_find_mr(nic, key) : NULL;

	if (region && nic_load(&region->windows))
		nic_fetch_add(&region->windows, -1u);
}

static enum nic_result nic_region_kill(struct nic *nic, struct nic_mr *mr, u32 key)
{
	if (nic_load(&mr->key) != key)
		return NIC_EINVAL;
	if (nic_mr_has_windows(nic, mr, key))
		return NIC_EINUSE;
	/* Full barrier; pairs with that of nic_region_open(). */
	nic_xchg(&mr->key, 0);
	if (nic_mr_has_windows(nic, mr, key)) {
		nic_store_release(&mr->key, key);
		return NIC_EINUSE;
	}
	mr->flags |= NIC_MR_DYING;
	return NIC_OK;
}

/* Last step for windows and fast registrations, when no executor can be changing them any more. */
static bool nic_window_close(struct nic *nic, struct nic_mr *mr)
{
	/* An executor that was binding it has made its key valid again. */
	if (nic_xchg(&mr->key, 0))
		return false;
	nic_region_close(nic, mr->parent);
	mr->parent = 0;
	return true;
}

enum nic_result nic_mr_destroy(struct nic *nic, u32 key)
{
	struct nic_mr *mr = nic_mr_entry(nic, key);
	enum nic_result result;

	if (!mr || mr->kind == NIC_MR_FREE)
		return NIC_EINVAL;
	if (!(mr->flags & NIC_MR_DYING)) {
		if (nic_is_region(mr->kind)) {
			result = nic_region_kill(nic, mr, key);
			if (result != NIC_OK)
				return result;
		} else {
			mr->flags |= NIC_MR_DYING;
			nic_xchg(&mr->key, 0);
		}
		mr->grace = nic_grace_begin(nic);
	}
	if (!nic_grace_over(nic, mr->grace, mr->pdn))
		return NIC_BUSY;
	if (!nic_is_region(mr->kind) && !nic_window_close(nic, mr)) {
		mr->grace = nic_grace_begin(nic);
		return NIC_BUSY;
	}
	if (mr->flags & NIC_MR_FILE)
		nic_fetch_add(&nic->hdr->fetches, -1u);
	mr->length = 0;
	mr->flags = 0;
	mr->kind = NIC_MR_FREE;
	return NIC_OK;
}

/* ------------------------------------------------------- windows: binding */

/* Can the window be bound so to this region (IB vol 1, 10.6.6.2)? */
static bool nic_bind_fits(const struct nic_mr_view *region, const struct nic_qp *qp,
			  const struct vnet_wqe_bind *bind)
{
	if (region->kind != NIC_MR_REGION || region->pdn != qp->pdn)
		return false;
	if (!(region->access & NIC_ACCESS_MW_BIND) || (region->access & NIC_ACCESS_ZERO_BASED))
		return false;
	if ((bind->access & NIC_ACCESS_CHANGES) && !(region->access & NIC_ACCESS_LOCAL_WRITE))
		return false;
	return nic_mr_covers(region, bind->addr, bind->length);
}

/* Count a window of the region; it cannot be destroyed until nic_region_close(). */
static bool nic_region_open(struct nic *nic, const struct nic_qp *qp,
			    const struct vnet_wqe_bind *bind, struct nic_mr_view *view)
{
	struct nic_mr *region = nic_find_mr(nic, bind->lkey);

	if (!region)
		return false;
	/*
	 * Full barrier: either this thread finds the key invalid, or nic_region_kill() finds the
	 * count.
	 */
	nic_fetch_add(&region->windows, 1);
	if (nic_mr_look(nic, bind->lkey, view) && nic_bind_fits(view, qp, bind))
		return true;
	if (nic_load(&region->windows))
		nic_fetch_add(&region->windows, -1u);
	return false;
}

/* Conditions that do not depend on the region. */
static bool nic_bind_allowed(const struct nic_mr *mw, const struct nic_qp *qp,
			     const struct vnet_wqe_bind *bind)
{
	u8 kind = nic_load(&mw->kind);
	u32 known = NIC_ACCESS_LOCAL_WRITE | NIC_ACCESS_REMOTE | NIC_ACCESS_ZERO_BASED;

	if (!nic_same_but_tag(bind->old_rkey, bind->new_rkey) || !bind->new_rkey ||
	    nic_load(&mw->pdn) != qp->pdn || (bind->access & ~known))
		return false;
	if (kind == NIC_MR_WINDOW_1)
		return !(bind->access & NIC_ACCESS_ZERO_BASED);
	/* Type 2 windows are unbound only by invalidation. */
	return kind == NIC_MR_WINDOW_2 && bind->length;
}

#define NIC_KEY_TAG ((1u << NIC_KEY_TAG_BITS) - 1)

/* The claim by which this owner replaces the key while it changes the entry. */
static u32 nic_claim_of(u32 owner, u32 key)
{
	return NIC_KEY_CLAIMED | owner << NIC_KEY_TAG_BITS | (key & NIC_KEY_TAG);
}

/*
 * Claim a window or fast registration for a change. Returns its present key, which the claim has
 * replaced; 0: not available. A type 1 window is named by its present key. The tag of others may
 * have changed since, so they are named by the rest of the key.
 */
static u32 nic_window_claim(struct nic *nic, struct nic_qp *executor, struct nic_mr *mw, u32 key)
{
	u32 present = nic_load(&mw->kind) == NIC_MR_WINDOW_1 ? key : nic_load(&mw->key);

	if (!nic_is_key(present) || !nic_same_but_tag(present, key))
		return 0;
	/* Stored before the claim: see nic_key_recover(). */
	nic_store(&executor->op_key, present);
	if (!__atomic_compare_exchange_n(&mw->key, &present, nic_claim_of(nic->self, present),
					 false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return 0;
	return present;
}

/* End the claim: the window has this key from now on. */
static void nic_window_release(struct nic_mr *mw, u32 key)
{
	nic_store_release(&mw->key, key);
}

/* Change a claimed window. */
static void nic_window_set(struct nic_mr *mw, const struct nic_qp *qp,
			   const struct vnet_wqe_bind *bind, const struct nic_mr_view *region)
{
	nic_store(&mw->version, mw->version + 1);
	/* The new version is visible before any of the following stores. */
	nic_barrier();
	nic_store(&mw->access, bind->access & (NIC_ACCESS_REMOTE | NIC_ACCESS_ZERO_BASED));
	nic_store(&mw->iova, bind->access & NIC_ACCESS_ZERO_BASED ? 0 : bind->addr);
	nic_store(&mw->addr, region->addr + (bind->addr - region->iova));
	nic_store(&mw->length, bind->length);
	nic_store(&mw->space, region->space);
	nic_store(&mw->qpn, nic_load(&qp->qpn));
	nic_store(&mw->parent, bind->length ? bind->lkey : 0);
}

enum vnet_wc_status nic_bind_window(struct nic *nic, struct nic_qp *qp,
				    const struct vnet_wqe_bind *bind)
{
	struct nic_mr *mw = nic_mr_entry(nic, bind->old_rkey);
	struct nic_mr_view region = { 0 };
	u32 key, parent;

	if (!mw || !nic_bind_allowed(mw, qp, bind))
		return VNET_WC_MW_BIND_ERR;
	if (bind->length && !nic_region_open(nic, qp, bind, &region))
		return VNET_WC_MW_BIND_ERR;
	plat_step(60);
	key = nic_window_claim(nic, qp, mw, bind->old_rkey);
	if (!key)
		goto close_region;
	parent = mw->parent;
	if (nic_load(&mw->kind) == NIC_MR_WINDOW_2 && parent)
		goto release_window;
	plat_step(61);
	nic_window_set(mw, qp, bind, &region);
	plat_step(62);
	nic_window_release(mw, bind->new_rkey);
	plat_step(63);
	nic_region_close(nic, parent);
	return VNET_WC_SUCCESS;

release_window:
	nic_window_release(mw, key);
close_region:
	if (bind->length)
		nic_region_close(nic, bind->lkey);
	return VNET_WC_MW_BIND_ERR;
}

/* ------------------------------------- regions registered by requests */

/* Change a claimed region. */
static void nic_region_set(struct nic_mr *mr, const struct vnet_wqe_bind *reg)
{
	nic_store(&mr->version, mr->version + 1);
	/* The new version is visible before any of the following stores. */
	nic_barrier();
	nic_store(&mr->access, reg->access);
	nic_store(&mr->iova, reg->addr);
	nic_store(&mr->addr, reg->page_offset);
	nic_store(&mr->length, reg->length);
}

static bool nic_registration_ok(const struct nic_mr *mr, const struct nic_qp *qp,
				const struct vnet_wqe_bind *reg)
{
	if (nic_load(&mr->kind) != NIC_MR_FAST || nic_load(&mr->pdn) != qp->pdn)
		return false;
	if (!nic_same_but_tag(reg->old_rkey, reg->new_rkey) || !reg->new_rkey || !reg->length)
		return false;
	if (reg->addr + reg->length < reg->addr ||
	    reg->page_offset + reg->length < reg->page_offset)
		return false;
	return !(reg->access & (NIC_ACCESS_REMOTE_WRITE | NIC_ACCESS_REMOTE_ATOMIC)) ||
	       (reg->access & NIC_ACCESS_LOCAL_WRITE);
}

enum vnet_wc_status nic_register(struct nic *nic, struct nic_qp *qp,
				 const struct vnet_wqe_bind *reg)
{
	struct nic_mr *mr = nic_mr_entry(nic, reg->old_rkey);
	u32 key;

	if (!mr || !nic_registration_ok(mr, qp, reg))
		return VNET_WC_MW_BIND_ERR;
	key = nic_window_claim(nic, qp, mr, reg->old_rkey);
	if (!key)
		return VNET_WC_MW_BIND_ERR;
	/* It must be invalidated before it is registered again. */
	if (nic_load(&mr->length)) {
		nic_window_release(mr, key);
		return VNET_WC_MW_BIND_ERR;
	}
	nic_region_set(mr, reg);
	nic_window_release(mr, reg->new_rkey);
	return VNET_WC_SUCCESS;
}

/*
 * The kernel reuses the memory when the request completes, so that must come after all operations
 * that may have begun before. Until then, the request is repeated.
 */
static u32 nic_region_invalidate(struct nic *nic, struct nic_qp *executor, const struct nic_qp *qp,
				 struct nic_mr *mr, u32 key)
{
	static const struct vnet_wqe_bind nothing;
	u32 present;

	if (nic_load(&mr->pdn) != qp->pdn)
		return VNET_WC_MW_BIND_ERR;
	present = nic_window_claim(nic, executor, mr, key);
	if (present && present != key)
		nic_window_release(mr, present);
	if (present != key)
		return VNET_WC_MW_BIND_ERR;
	if (nic_load(&mr->length)) {
		nic_region_set(mr, &nothing);
		mr->grace = nic_grace_begin(nic);
	}
	nic_window_release(mr, key);
	nic_grace_point(nic, executor);
	return nic_grace_over(nic, mr->grace, mr->pdn) ? VNET_WC_SUCCESS : NIC_EXEC_WAIT;
}

u32 nic_invalidate_key(struct nic *nic, struct nic_qp *executor, const struct nic_qp *qp, u32 key)
{
	static const struct vnet_wqe_bind closed;
	static const struct nic_mr_view nowhere;
	struct nic_mr *mw = nic_find_mr(nic, key);
	u32 parent;

	if (mw && nic_load(&mw->kind) == NIC_MR_FAST)
		return nic_region_invalidate(nic, executor, qp, mw, key);
	if (!mw || nic_load(&mw->kind) != NIC_MR_WINDOW_2 || nic_load(&mw->pdn) != qp->pdn)
		return VNET_WC_MW_BIND_ERR;
	if (nic_load(&mw->parent) && nic_load(&mw->qpn) != nic_load(&qp->qpn))
		return VNET_WC_MW_BIND_ERR;
	if (!nic_window_claim(nic, executor, mw, key))
		return VNET_WC_MW_BIND_ERR;
	plat_step(64);
	parent = mw->parent;
	nic_window_set(mw, qp, &closed, &nowhere);
	plat_step(65);
	nic_window_release(mw, key);
	plat_step(66);
	nic_region_close(nic, parent);
	return VNET_WC_SUCCESS;
}

/*
 * A window or region whose change was interrupted is closed (unbound, unregistered), whether the
 * change was a bind or an invalidation. Its key is valid afterwards, so a repeated invalidation
 * finds it, and changes nothing. The region's count of windows may remain too high: see
 * nic_mr_has_windows().
 */
void nic_key_recover(struct nic *nic, const struct nic_qp *executor, u32 owner)
{
	static const struct vnet_wqe_bind closed;
	static const struct nic_mr_view nowhere;
	u32 claim, key = nic_load(&executor->op_key);
	struct nic_mr *mr = nic_mr_entry(nic, key);

	claim = mr ? nic_load(&mr->key) : 0;
	if (claim != nic_claim_of(owner, claim))
		return;
	if (nic_load(&mr->kind) == NIC_MR_FAST) {
		nic_region_set(mr, &closed);
		/* Operations that looked up the old key may still use it. */
		mr->grace = nic_grace_begin(nic);
	} else {
		nic_window_set(mr, executor, &closed, &nowhere);
	}
	nic_window_release(mr, (key & ~NIC_KEY_TAG) | (claim & NIC_KEY_TAG));
}
