// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbells of processes: uverbs command, ioctl of a doorbell descriptor, or polled page of
 * bits. The uverbs command is the one for posting. The NIC processor polls the pages.
 */
#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/mm.h>

#include "doorbells.h"

/* Queues of one page that have a turn each time the page is read. */
#define VNET_DOOR_TURNS 8

void vnet_ring_send(struct vnet_dev *dev, struct vnet_view *view, u32 qpn)
{
	vnet_enter();
	nic_send_doorbell(&view->nic, qpn);
	vnet_leave();
	vnet_deliver(dev);
}

void vnet_run_sender(struct vnet_view *view, struct vnet_view *as, u32 num, bool is_srq)
{
	const struct nic_qp *qp = &view->nic.qp[num % VNET_MAX_QP];

	/* Datagram and shared receive queues may have many senders. */
	if (is_srq || nic_load(&qp->qpn) != num || nic_load(&qp->space) != view->nic.space)
		return;
	/* The requests are the sender's: the poster executes a limited number of them. */
	vnet_run_turn(as, nic_load(&qp->attr.dest_qpn), nic_budget(&as->nic));
}

void vnet_ring_recv(struct vnet_dev *dev, struct vnet_view *view, u32 num, bool is_srq)
{
	vnet_enter();
	nic_recv_doorbell(&view->nic, num, is_srq);
	vnet_run_sender(view, &dev->agent, num, is_srq);
	vnet_leave();
	vnet_deliver(dev);
}

void vnet_ring_tags(struct vnet_dev *dev, struct vnet_view *view, u32 srqn)
{
	vnet_enter();
	nic_tm_doorbell(&view->nic, srqn);
	vnet_leave();
	vnet_deliver(dev);
}

/* -------------------------------------------------------------- descriptor */

static void vnet_door_free(struct kref *kref)
{
	kfree(container_of(kref, struct vnet_door, kref));
}

static int vnet_doorbell_release(struct inode *inode, struct file *file)
{
	struct vnet_door *door = file->private_data;

	kref_put(&door->kref, vnet_door_free);
	return 0;
}

/* The CQ must belong to the caller's context, as the firmware checks for other queues. */
static void vnet_ring_cq(struct vnet_dev *dev, struct vnet_view *view, u32 cqn)
{
	struct vnet_object *obj = vnet_object_get(&dev->cqs, cqn - 1);

	if (!obj)
		return;
	if (container_of(obj, struct vnet_cq, obj)->space == view->nic.space) {
		vnet_enter();
		nic_cq_doorbell(&view->nic, cqn);
		vnet_leave();
	}
	vnet_object_put(obj);
	vnet_deliver(dev);
}

static long vnet_doorbell_in(struct vnet_dev *dev, struct vnet_view *view, unsigned int cmd,
			     u32 num)
{
	switch (cmd) {
	case VNET_DOORBELL_SEND:
		vnet_ring_send(dev, view, num);
		return 0;
	case VNET_DOORBELL_RECV:
	case VNET_DOORBELL_SRQ_RECV:
		vnet_ring_recv(dev, view, num, cmd == VNET_DOORBELL_SRQ_RECV);
		return 0;
	case VNET_DOORBELL_CQ:
		vnet_ring_cq(dev, view, num);
		return 0;
	case VNET_DOORBELL_TAG:
		vnet_ring_tags(dev, view, num);
		return 0;
	case VNET_DOORBELL_WAKE:
		plat_kick(&view->nic);
		return 0;
	default:
		return -ENOTTY;
	}
}

static long vnet_doorbell_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct vnet_door *door = file->private_data;
	struct vnet_dev *dev;
	long ret = -EBADFD;
	int idx;

	idx = srcu_read_lock(&vnet_inside);
	dev = srcu_dereference(door->dev, &vnet_inside);
	if (likely(dev))
		ret = vnet_doorbell_in(dev, &door->view, cmd, (u32)arg);
	srcu_read_unlock(&vnet_inside, idx);
	return ret;
}

static const struct file_operations vnet_doorbell_ops = {
	.owner = THIS_MODULE,
	.release = vnet_doorbell_release,
	.unlocked_ioctl = vnet_doorbell_ioctl,
	.compat_ioctl = vnet_doorbell_ioctl,
};

struct file *vnet_door_file(struct vnet_door *door)
{
	struct file *file;

	kref_get(&door->kref);
	file = anon_inode_getfile("[vnet-doorbell]", &vnet_doorbell_ops, door, O_RDWR);
	if (IS_ERR(file))
		kref_put(&door->kref, vnet_door_free);
	return file;
}

/* -------------------------------------------------------------------- pages */

/*
 * Run the queues that are marked in one word of the page. The process can write any bits there.
 * After VNET_DOOR_TURNS turns, further queues become pending, and have their turn with all
 * others.
 */
static void vnet_door_word(struct vnet_door *door, struct vnet_doorbell_page *page, u32 word,
			   u32 *turns)
{
	struct nic *nic = &door->view.nic;
	u64 bits = nic_xchg(&page->word[word], 0);

	while (bits) {
		u32 index = word * 64 + __ffs64(bits);

		bits &= bits - 1;
		vnet_enter();
		/* Both check that the queue exists and belongs to this process. */
		if (++*turns <= VNET_DOOR_TURNS)
			vnet_run_turn(&door->view, nic_load(&nic->qp[index % VNET_MAX_QP].qpn),
				      NIC_STRETCH_REQUESTS);
		else
			vnet_run_later(&door->view, nic_load(&nic->qp[index % VNET_MAX_QP].qpn));
		vnet_leave();
	}
}

static bool vnet_door_run(struct vnet_door *door)
{
	struct vnet_doorbell_page *page = (void *)door->page.ring;
	u32 i, word, turns = 0;
	bool any = false;
	u64 bits;

	for (i = 0; i < ARRAY_SIZE(page->summary); i++) {
		if (!nic_load(&page->summary[i]))
			continue;
		any = true;
		/*
		 * Clear the summary before the words are read: a process sets bits of words
		 * first.
		 */
		for (bits = nic_xchg(&page->summary[i], 0); bits; bits &= bits - 1) {
			word = i * 64 + __ffs64(bits);
			vnet_door_word(door, page, word, &turns);
			cond_resched();
		}
	}
	return any;
}

bool vnet_doors_run(struct vnet_dev *dev)
{
	struct vnet_door *door;
	bool any = false;
	int idx;

	idx = srcu_read_lock(&vnet_inside);
	list_for_each_entry_srcu(door, &dev->doors, list, srcu_read_lock_held(&vnet_inside))
	{
		if (READ_ONCE(door->paged) && vnet_door_run(door))
			any = true;
	}
	srcu_read_unlock(&vnet_inside, idx);
	return any;
}

bool vnet_doors_sleep(struct vnet_dev *dev, bool sleeps)
{
	struct vnet_doorbell_page *page;
	struct vnet_door *door;
	bool any = false;
	int idx;

	if (list_empty(&dev->doors))
		return false;
	idx = srcu_read_lock(&vnet_inside);
	list_for_each_entry_srcu(door, &dev->doors, list, srcu_read_lock_held(&vnet_inside))
	{
		if (!READ_ONCE(door->paged))
			continue;
		page = (void *)door->page.ring;
		nic_store(&page->need_wakeup, sleeps);
		/*
		 * Pairs with the process' barrier between setting its bits and reading
		 * need_wakeup.
		 */
		smp_mb();
		any = any || nic_load(&page->summary[0]) || nic_load(&page->summary[1]);
	}
	srcu_read_unlock(&vnet_inside, idx);
	return any;
}

/* -------------------------------------------------------- creation and end */

struct vnet_door *vnet_door_make(struct vnet_ucontext *uc)
{
	struct vnet_dev *dev = to_vdev(uc->ibuc.device);
	struct vnet_door *door = kzalloc(sizeof(*door), GFP_KERNEL);

	if (!door)
		return NULL;
	if (vnet_shared_make(&door->page, &uc->ibuc, sizeof(struct vnet_doorbell_page))) {
		kfree(door);
		return NULL;
	}
	kref_init(&door->kref);
	RCU_INIT_POINTER(door->dev, dev);
	door->view = dev->agent;
	door->view.nic.space = uc->obj.index;
	door->view.nic.host = &door->view;
	door->page.mmap->mapped = &door->paged;
	((struct vnet_doorbell_page *)door->page.ring)->need_wakeup = 1;
	mutex_lock(&dev->doors_lock);
	list_add_tail_rcu(&door->list, &dev->doors);
	mutex_unlock(&dev->doors_lock);
	return door;
}

void vnet_door_close(struct vnet_door *door)
{
	struct vnet_dev *dev = rcu_replace_pointer(door->dev, NULL, true);

	mutex_lock(&dev->doors_lock);
	list_del_rcu(&door->list);
	mutex_unlock(&dev->doors_lock);
	synchronize_srcu(&vnet_inside);
	vnet_ring_free(&door->page);
	kref_put(&door->kref, vnet_door_free);
}
