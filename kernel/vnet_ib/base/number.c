// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Indices and numbers of objects, and look-up with references. An object ends when all
 * references that were taken by look-ups have been dropped.
 */
#include <linux/mm.h>

#include "base.h"

int vnet_numbers_init(struct vnet_numbers *numbers, u32 first, u32 count)
{
	u32 *fifo = kvcalloc(count, sizeof(*fifo), GFP_KERNEL);

	/* Look-ups also happen in interrupts. */
	xa_init_flags(&numbers->xa, XA_FLAGS_LOCK_IRQ);
	mutex_init(&numbers->lock);
	numbers->first = first;
	numbers->pool.fifo = fifo;
	numbers->last = kvcalloc(count, sizeof(*numbers->last), GFP_KERNEL);
	if (!fifo || !numbers->last)
		return -ENOMEM;
	nic_pool_init(&numbers->pool, fifo, first, count);
	return 0;
}

void vnet_numbers_fini(struct vnet_numbers *numbers)
{
	WARN_ON(!xa_empty(&numbers->xa));
	xa_destroy(&numbers->xa);
	kvfree(numbers->pool.fifo);
	kvfree(numbers->last);
}

static void vnet_object_init(struct vnet_object *obj)
{
	refcount_set(&obj->refs, 1);
	init_completion(&obj->gone);
}

/* Insert the object at its index. On error, the index becomes free again. */
static int vnet_number_enter(struct vnet_numbers *numbers, struct vnet_object *obj)
{
	int err;

	vnet_object_init(obj);
	err = xa_insert_irq(&numbers->xa, obj->index, obj, GFP_KERNEL);
	if (err)
		nic_pool_put(&numbers->pool, obj->index);
	return err;
}

int vnet_number_get(struct vnet_numbers *numbers, struct vnet_object *obj)
{
	int err = -ENOMEM;

	mutex_lock(&numbers->lock);
	obj->index = nic_pool_take(&numbers->pool);
	if (obj->index != NIC_NONE)
		err = vnet_number_enter(numbers, obj);
	mutex_unlock(&numbers->lock);
	return err;
}

int vnet_number_draw(struct vnet_dev *dev, struct vnet_numbers *numbers, vnet_draw_fn *draw,
		     struct vnet_object *obj, u32 *number)
{
	struct nic *nic = &dev->agent.nic;
	enum nic_result result;
	int err;

	mutex_lock(&numbers->lock);
	result = nic_pool_draw(nic, &numbers->pool, &obj->index);
	if (result != NIC_OK) {
		err = vnet_errno(result);
		goto unlock;
	}
	result = draw(nic, obj->index, numbers->last[obj->index], number);
	if (result != NIC_OK) {
		nic_pool_put(&numbers->pool, obj->index);
		err = vnet_errno(result);
		goto unlock;
	}
	numbers->last[obj->index] = *number;
	err = vnet_number_enter(numbers, obj);
unlock:
	mutex_unlock(&numbers->lock);
	return err;
}

int vnet_number_claim(struct vnet_numbers *numbers, struct vnet_object *obj, u32 index)
{
	vnet_object_init(obj);
	obj->index = index;
	return xa_insert_irq(&numbers->xa, index, obj, GFP_KERNEL);
}

struct vnet_object *vnet_object_get(struct vnet_numbers *numbers, u32 index)
{
	struct vnet_object *obj;
	unsigned long flags;

	xa_lock_irqsave(&numbers->xa, flags);
	obj = xa_load(&numbers->xa, index);
	if (obj)
		refcount_inc(&obj->refs);
	xa_unlock_irqrestore(&numbers->xa, flags);
	return obj;
}

void vnet_object_put(struct vnet_object *obj)
{
	if (refcount_dec_and_test(&obj->refs))
		complete(&obj->gone);
}

void vnet_number_end(struct vnet_numbers *numbers, struct vnet_object *obj)
{
	/* The first reference is dropped after the object has become unfindable. */
	xa_erase_irq(&numbers->xa, obj->index);
	vnet_object_put(obj);
	wait_for_completion(&obj->gone);
	if (obj->index < numbers->first)
		return;
	mutex_lock(&numbers->lock);
	nic_pool_put(&numbers->pool, obj->index);
	mutex_unlock(&numbers->lock);
}
