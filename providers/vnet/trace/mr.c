// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Records the memory regions of a traced program, and checks accesses to them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

const struct vnet_trace_name vnet_trace_access_names[] = {
	{ IBV_ACCESS_LOCAL_WRITE, "LOCAL_WRITE" },
	{ IBV_ACCESS_REMOTE_WRITE, "REMOTE_WRITE" },
	{ IBV_ACCESS_REMOTE_READ, "REMOTE_READ" },
	{ IBV_ACCESS_REMOTE_ATOMIC, "REMOTE_ATOMIC" },
	{ IBV_ACCESS_MW_BIND, "MW_BIND" },
	{ IBV_ACCESS_ZERO_BASED, "ZERO_BASED" },
	{ IBV_ACCESS_ON_DEMAND, "ON_DEMAND" },
	{ IBV_ACCESS_HUGETLB, "HUGETLB" },
	{ IBV_ACCESS_RELAXED_ORDERING, "RELAXED_ORDERING" },
	{ 0, NULL },
};

static struct vnet_trace_mr **bucket_of(struct vnet_trace *trace, uint32_t lkey)
{
	/* The lower bits are a tag. */
	return &trace->mr[(lkey ^ lkey >> 8) % TRACE_BUCKETS];
}

static void show(const struct ibv_mr *mr, const char *event, const struct vnet_trace_mr *known)
{
	struct vnet_trace_line line;

	if (!vnet_trace_settings()->lines)
		return;
	vnet_trace_begin(&line, mr->context, NULL, 0, event, TRACE_DIM);
	vnet_trace_hex(&line, "lkey", "lkey", mr->lkey);
	vnet_trace_hex(&line, "rkey", "rkey", mr->rkey);
	if (known && known->length) {
		vnet_trace_hex(&line, "addr", "addr", known->iova);
		vnet_trace_number(&line, "length", "", known->length, "B");
		vnet_trace_flags(&line, "access", "", known->access, vnet_trace_access_names);
	}
	vnet_trace_end(&line);
}

/*
 * Record a region. If there is no memory for the record, the region stays unknown and is not
 * checked.
 */
static void add(const struct ibv_pd *pd, const struct ibv_mr *mr, uint64_t iova, uint64_t length,
		unsigned int access, const char *event)
{
	struct vnet_trace *trace = vnet_trace_of(mr->context);
	struct vnet_trace_mr *known = calloc(1, sizeof(*known));
	struct vnet_trace_mr **bucket;

	if (!known)
		return;
	known->mr = mr;
	known->iova = iova;
	known->length = length;
	known->lkey = mr->lkey;
	known->rkey = mr->rkey;
	known->pd = pd->handle;
	known->access = access;
	show(mr, event, known);
	pthread_mutex_lock(&trace->mutex);
	bucket = bucket_of(trace, mr->lkey);
	known->next = *bucket;
	*bucket = known;
	pthread_mutex_unlock(&trace->mutex);
}

/* Remove a region's record from the table and return it; NULL: there is none. */
static struct vnet_trace_mr *take(struct vnet_trace *trace, const struct ibv_mr *mr)
{
	struct vnet_trace_mr **place, *known;

	pthread_mutex_lock(&trace->mutex);
	for (place = bucket_of(trace, mr->lkey); *place; place = &(*place)->next)
		if ((*place)->mr == mr)
			break;
	known = *place;
	*place = known ? known->next : NULL;
	pthread_mutex_unlock(&trace->mutex);
	return known;
}

static void put_back(struct vnet_trace *trace, struct vnet_trace_mr *known)
{
	struct vnet_trace_mr **bucket;

	if (!known)
		return;
	pthread_mutex_lock(&trace->mutex);
	bucket = bucket_of(trace, known->lkey);
	known->next = *bucket;
	*bucket = known;
	pthread_mutex_unlock(&trace->mutex);
}

struct ibv_mr *vnet_trace_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				 int access)
{
	struct ibv_mr *mr = vnet_reg_mr(pd, addr, length, iova, access);

	if (mr)
		add(pd, mr, iova, length, (unsigned int)access, "reg_mr");
	return mr;
}

struct ibv_mr *vnet_trace_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					uint64_t iova, int fd, int access)
{
	struct ibv_mr *mr = vnet_reg_dmabuf_mr(pd, offset, length, iova, fd, access);

	if (mr)
		add(pd, mr, iova, length, (unsigned int)access, "reg_dmabuf_mr");
	return mr;
}

struct ibv_mr *vnet_trace_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm, uint64_t dm_offset,
				    size_t length, unsigned int access)
{
	struct ibv_mr *mr = vnet_reg_dm_mr(pd, ibdm, dm_offset, length, access);

	if (mr)
		add(pd, mr, 0, length, access, "reg_dm_mr");
	return mr;
}

struct ibv_mr *vnet_trace_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct ibv_mr *mr = vnet_import_mr(pd, handle);

	if (mr)
		add(pd, mr, 0, 0, 0, "import_mr");
	return mr;
}

void vnet_trace_unimport_mr(struct ibv_mr *mr)
{
	free(take(vnet_trace_of(mr->context), mr));
	vnet_unimport_mr(mr);
}

int vnet_trace_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd, void *addr,
			size_t length, int access)
{
	struct vnet_trace *trace = vnet_trace_of(vmr->ibv_mr.context);
	struct vnet_trace_mr *known = take(trace, &vmr->ibv_mr);
	int ret = vnet_rereg_mr(vmr, flags, pd, addr, length, access);

	if (!known)
		return ret;
	if (!ret && flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		known->iova = (uintptr_t)addr;
		known->length = length;
	}
	if (!ret && flags & IBV_REREG_MR_CHANGE_ACCESS)
		known->access = (unsigned int)access;
	if (!ret && flags & IBV_REREG_MR_CHANGE_PD)
		known->pd = pd->handle;
	known->lkey = vmr->ibv_mr.lkey;
	known->rkey = vmr->ibv_mr.rkey;
	show(&vmr->ibv_mr, "rereg_mr", known);
	put_back(trace, known);
	return ret;
}

int vnet_trace_dereg_mr(struct verbs_mr *vmr)
{
	struct vnet_trace *trace = vnet_trace_of(vmr->ibv_mr.context);
	struct ibv_mr mr = vmr->ibv_mr;
	/* Before the command: afterwards another region may have its key. */
	struct vnet_trace_mr *known = take(trace, &vmr->ibv_mr);
	int ret = vnet_dereg_mr(vmr);

	if (ret) {
		put_back(trace, known);
		return ret;
	}
	show(&mr, "dereg_mr", NULL);
	free(known);
	return 0;
}

void vnet_trace_forget_mrs(struct vnet_trace *trace)
{
	struct vnet_trace_mr *known, *next;
	unsigned int i;

	for (i = 0; i < TRACE_BUCKETS; i++)
		for (known = trace->mr[i]; known; known = next) {
			next = known->next;
			free(known);
		}
}

/* ------------------------------------------------------------------ checking */

static const struct vnet_trace_mr *find(const struct vnet_trace *trace, bool remote, uint32_t key)
{
	const struct vnet_trace_mr *mr;
	unsigned int i;

	for (i = 0; i < TRACE_BUCKETS; i++)
		for (mr = trace->mr[i]; mr; mr = mr->next)
			if ((remote ? mr->rkey : mr->lkey) == key)
				return mr;
	return NULL;
}

static const struct vnet_trace_mr *find_local(const struct vnet_trace *trace, uint32_t lkey)
{
	const struct vnet_trace_mr *mr;

	for (mr = trace->mr[(lkey ^ lkey >> 8) % TRACE_BUCKETS]; mr; mr = mr->next)
		if (mr->lkey == lkey)
			return mr;
	return NULL;
}

static const char *missing_access(unsigned int missing)
{
	if (missing & IBV_ACCESS_LOCAL_WRITE)
		return "the region was registered without IBV_ACCESS_LOCAL_WRITE";
	if (missing & IBV_ACCESS_REMOTE_WRITE)
		return "the region was registered without IBV_ACCESS_REMOTE_WRITE";
	if (missing & IBV_ACCESS_REMOTE_READ)
		return "the region was registered without IBV_ACCESS_REMOTE_READ";
	if (missing & IBV_ACCESS_REMOTE_ATOMIC)
		return "the region was registered without IBV_ACCESS_REMOTE_ATOMIC";
	if (missing & VNETDV_ACCESS_FLUSH_GLOBAL)
		return "the region was registered without IBV_ACCESS_FLUSH_GLOBAL";
	return NULL;
}

const char *vnet_trace_check_memory(const struct vnet_trace *trace, const struct ibv_pd *pd,
				    bool remote, uint32_t key, uint64_t addr, uint64_t length,
				    unsigned int access, bool *known)
{
	const struct vnet_trace_mr *mr = remote ? find(trace, true, key) : find_local(trace, key);

	*known = mr;
	/* Imported regions, and those of the whole address space, are not checked. */
	if (!mr || !mr->length)
		return NULL;
	if (pd && mr->pd != pd->handle)
		return "the region is of another protection domain";
	if (missing_access(access & ~mr->access))
		return missing_access(access & ~mr->access);
	if (mr->length != UINT64_MAX &&
	    (addr < mr->iova || length > mr->length || addr - mr->iova > mr->length - length))
		return "this is not within the region";
	return NULL;
}
