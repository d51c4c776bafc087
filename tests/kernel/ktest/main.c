// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The module's device file, and its list of RDMA devices.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ktest.h"
#include "vnet_ktest.h"

MODULE_DESCRIPTION("A consumer of RDMA devices in the kernel, for tests of vnet");
MODULE_AUTHOR("The vnet authors");
MODULE_LICENSE("Dual BSD/GPL");

/* ------------------------------------------------------------------- devices */

struct kt_device {
	struct list_head list;
	struct ib_device *dev;
};

/* An opened file. */
struct kt_file {
	struct list_head list;
	struct kt_session *session;
};

/* Protects the lists and sessions. Held while a device is used, so that it is not removed. */
static DEFINE_MUTEX(kt_lock);
static LIST_HEAD(kt_devices);
static LIST_HEAD(kt_files);

static int kt_add_device(struct ib_device *dev)
{
	struct kt_device *device = kzalloc(sizeof(*device), GFP_KERNEL);

	if (!device)
		return -ENOMEM;
	device->dev = dev;
	mutex_lock(&kt_lock);
	list_add_tail(&device->list, &kt_devices);
	mutex_unlock(&kt_lock);
	return 0;
}

static void kt_close_session(struct kt_file *file)
{
	if (file->session)
		kt_session_close(file->session);
	file->session = NULL;
}

static void kt_remove_device(struct ib_device *dev, void *client_data)
{
	struct kt_device *device, *next;
	struct kt_file *file;

	mutex_lock(&kt_lock);
	list_for_each_entry(file, &kt_files, list)
	{
		if (file->session && kt_session_is_on(file->session, dev))
			kt_close_session(file);
	}
	list_for_each_entry_safe(device, next, &kt_devices, list)
	{
		if (device->dev == dev) {
			list_del(&device->list);
			kfree(device);
		}
	}
	mutex_unlock(&kt_lock);
}

static struct ib_client kt_client = {
	.name = "vnet_ktest",
	.add = kt_add_device,
	.remove = kt_remove_device,
};

static struct ib_device *kt_find(const char *name)
{
	struct kt_device *device;

	lockdep_assert_held(&kt_lock);
	list_for_each_entry(device, &kt_devices, list)
	{
		if (!strcmp(dev_name(&device->dev->dev), name))
			return device->dev;
	}
	return NULL;
}

/* --------------------------------------------------------------------- tests */

static const char *const kt_poll_names[] = {
	[IB_POLL_DIRECT] = "direct",
	[IB_POLL_SOFTIRQ] = "softirq",
	[IB_POLL_WORKQUEUE] = "workqueue",
};

static int kt_run_one(struct ib_device *dev, const struct kt_test *test, enum ib_poll_context poll,
		      enum kt_from from)
{
	struct kt_pair *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int err;

	if (!p)
		return -ENOMEM;
	p->dev = dev;
	p->poll = poll;
	p->type = test->type;
	p->with_srq = test->with_srq;
	p->depth = max_t(u32, test->depth, KT_DEPTH);
	err = kt_pair_open(p);
	if (!err)
		err = test->run(p, from);
	kt_pair_close(p);
	kfree(p);
	if (err)
		pr_err("%s: %s (polled by %s, posted from %s) FAILED: %d\n", dev_name(&dev->dev),
		       test->name, kt_poll_names[poll], kt_from_names[from], err);
	return err;
}

/* Uses each way to poll and to post at least once; all combinations if at_length. */
static int kt_run_all(struct ib_device *dev, const struct kt_test *test, bool at_length)
{
	static const enum ib_poll_context polls[] = { IB_POLL_DIRECT, IB_POLL_SOFTIRQ,
						      IB_POLL_WORKQUEUE };
	enum kt_from from;
	unsigned int i;
	int err = 0;

	for (; test->run; test++) {
		for (i = 0; i < ARRAY_SIZE(polls) && !err; i++) {
			for (from = 0; from < KT_FROMS && !err; from++) {
				if (at_length || from == i)
					err = kt_run_one(dev, test, polls[i], from);
			}
		}
		if (err)
			return err;
		pr_info("%s: %s: ok\n", dev_name(&dev->dev), test->name);
	}
	return 0;
}

static int kt_run(struct ib_device *dev, bool at_length)
{
	return kt_run_all(dev, kt_data_tests, at_length)           ?:
		       kt_run_all(dev, kt_list_tests, at_length)   ?:
		       kt_run_all(dev, kt_key_tests, at_length)    ?:
		       kt_run_all(dev, kt_resize_tests, at_length) ?:
		       kt_run_all(dev, kt_ending_tests, at_length);
}

/* ----------------------------------------------------------------- the file */

static int kt_open(struct inode *inode, struct file *filp)
{
	struct kt_file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	filp->private_data = file;
	mutex_lock(&kt_lock);
	list_add_tail(&file->list, &kt_files);
	mutex_unlock(&kt_lock);
	return 0;
}

static int kt_release(struct inode *inode, struct file *filp)
{
	struct kt_file *file = filp->private_data;

	mutex_lock(&kt_lock);
	kt_close_session(file);
	list_del(&file->list);
	mutex_unlock(&kt_lock);
	kfree(file);
	return 0;
}

/* Sets the session of a file, which has none yet. */
static int kt_set_session(struct kt_file *file, struct kt_session *session)
{
	if (IS_ERR(session))
		return PTR_ERR(session);
	file->session = session;
	return 0;
}

static int kt_order(struct kt_file *file, const char *verb, const char *name)
{
	struct ib_device *dev = kt_find(name);

	if (!dev)
		return -ENODEV;
	if (!strcmp(verb, "run") || !strcmp(verb, "soak"))
		return kt_run(dev, verb[0] == 's');
	if (!strcmp(verb, "lists"))
		return kt_run_all(dev, kt_list_tests, false);
	if (!strcmp(verb, "resize"))
		return kt_run_all(dev, kt_resize_tests, false);
	if (strcmp(verb, "hold"))
		return -EINVAL;
	return file->session ? -EBUSY : kt_set_session(file, kt_session_hold(dev));
}

static ssize_t kt_write(struct file *filp, const char __user *from, size_t count, loff_t *at)
{
	char line[80], verb[8], name[64];
	int err;

	if (count >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, count))
		return -EFAULT;
	line[count] = 0;
	if (sscanf(line, "%7s %63s", verb, name) != 2)
		return -EINVAL;
	mutex_lock(&kt_lock);
	err = kt_order(filp->private_data, verb, name);
	mutex_unlock(&kt_lock);
	return err ? err : (ssize_t)count;
}

static int kt_connect(struct kt_file *file, struct vnet_ktest_connect __user *user)
{
	struct vnet_ktest_connect connect;
	struct ib_device *dev;
	int err;

	if (copy_from_user(&connect, user, sizeof(connect)))
		return -EFAULT;
	connect.device[sizeof(connect.device) - 1] = 0;
	dev = kt_find(connect.device);
	if (!dev)
		return -ENODEV;
	if (file->session)
		return -EBUSY;
	err = kt_set_session(file, kt_session_open(dev, &connect));
	if (err)
		return err;
	return copy_to_user(user, &connect, sizeof(connect)) ? -EFAULT : 0;
}

static long kt_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct kt_file *file = filp->private_data;
	long err = -ENOTTY;

	mutex_lock(&kt_lock);
	if (cmd == VNET_KTEST_CONNECT)
		err = kt_connect(file, (void __user *)arg);
	else if (cmd == VNET_KTEST_WRITE || cmd == VNET_KTEST_READ)
		err = file->session ? kt_session_copy(file->session, cmd == VNET_KTEST_WRITE) :
				      -ENOTCONN;
	mutex_unlock(&kt_lock);
	return err;
}

static const struct file_operations kt_ops = {
	.owner = THIS_MODULE,
	.open = kt_open,
	.release = kt_release,
	.write = kt_write,
	.unlocked_ioctl = kt_ioctl,
};

static struct miscdevice kt_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "vnet_ktest",
	.fops = &kt_ops,
	.mode = 0666,
};

static int __init kt_init(void)
{
	int err = ib_register_client(&kt_client);

	if (err)
		return err;
	err = misc_register(&kt_misc);
	if (err)
		ib_unregister_client(&kt_client);
	return err;
}

static void __exit kt_exit(void)
{
	misc_deregister(&kt_misc);
	ib_unregister_client(&kt_client);
}

module_init(kt_init);
module_exit(kt_exit);
