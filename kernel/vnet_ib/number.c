// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Numbers of objects. Events find objects by number; an object ends when nobody
 * who found it still uses it.
 */
#include <linux/mm.h>

#include "vnet_ib.h"

int vnet_numbers_init(struct vnet_numbers *numbers, u32 first, u32 count)
{
	/* Events are told of in interrupts, too. */
	xa_init_flags(&numbers->xa, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	numbers->next = first;
	numbers->limit = XA_LIMIT(first, count - 1);
	numbers->uses = kvcalloc(count, sizeof(*numbers->uses), GFP_KERNEL);
	return numbers->uses ? 0 : -ENOMEM;
}

void vnet_numbers_fini(struct vnet_numbers *numbers)
{
	WARN_ON(!xa_empty(&numbers->xa));
	xa_destroy(&numbers->xa);
	kvfree(numbers->uses);
}

static void vnet_object_init(struct vnet_object *obj)
{
	refcount_set(&obj->refs, 1);
	init_completion(&obj->gone);
}

int vnet_number_get(struct vnet_numbers *numbers, struct vnet_object *obj)
{
	int err;

	vnet_object_init(obj);
	err = xa_alloc_cyclic_irq(&numbers->xa, &obj->index, obj, numbers->limit, &numbers->next,
				  GFP_KERNEL);
	if (err < 0)
		return -ENOMEM;
	numbers->uses[obj->index]++;
	return 0;
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
	/* The life's reference is held until nobody can find it. */
	xa_erase_irq(&numbers->xa, obj->index);
	vnet_object_put(obj);
	wait_for_completion(&obj->gone);
}
