// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The directory tree that programs see as /sys/class/infiniband* and /dev/infiniband. Its layout
 * is the kernel's, so that relative links, realpath() and ".." work. The device appears as a PCI
 * function in a PCI domain that no machine uses. Its net/ has the network interface that owns the
 * first GIDs.
 */
#include <errno.h>
#include <limits.h>
#include <rdma/ib_user_mad.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "daemon.h"
#include "link/lid.h"
#include "sysfs.h"
#include "uverbs/uverbs.h"

#define PCI_ROOT "pci766e:00"
#define PCI_CLASS 0x020700

/* A directory of the tree in which files are created. `error` keeps the first error. */
struct folder {
	int dir_fd;
	int error;
	char path[256];
};

static void folder_open(struct folder *folder, const struct daemon *daemon, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void folder_open(struct folder *folder, const struct daemon *daemon, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(folder->path, sizeof(folder->path), format, args);
	va_end(args);
	folder->dir_fd = daemon->dir_fd;
	folder->error = n < (int)sizeof(folder->path) ? tree_dir(daemon->dir_fd, folder->path) :
							-ENAMETOOLONG;
}

static void put(struct folder *folder, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Creates a file with one line. */
static void put(struct folder *folder, const char *name, const char *format, ...)
{
	char path[PATH_MAX], text[512];
	va_list args;

	if (folder->error)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	folder->error = tree_file(folder->dir_fd, path, "%s\n", text);
}

static void put_link(struct folder *folder, const char *name, const char *target)
{
	char path[PATH_MAX];

	if (folder->error)
		return;
	snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	folder->error = tree_link(folder->dir_fd, path, target);
}

static void put_numbered(struct folder *folder, const char *dir, u32 number, const char *text)
{
	char name[64];

	snprintf(name, sizeof(name), "%s/%u", dir, number);
	put(folder, name, "%s", text);
}

/* --------------------------------------------------------------- text formats */

#define ADDRESS_LENGTH 16

static void pci_address(char *text, const struct device *device)
{
	snprintf(text, ADDRESS_LENGTH, "766e:00:%02x.0", device->index);
}

/* Formats GUIDs and GIDs: groups of four hex digits, separated by colons. */
static void groups(char *text, const u8 *bytes, u32 length)
{
	for (u32 i = 0; i < length; i += 2)
		text += sprintf(text, "%s%02x%02x", i ? ":" : "", bytes[i], bytes[i + 1]);
}

static u32 uverbs_number(const struct device *device)
{
	return device->minor - VNET_UVERBS_FIRST_MINOR;
}

/* -------------------------------------------------------------- PCI function */

static void put_pci_links(struct folder *folder)
{
	put(folder, "current_link_speed", "16.0 GT/s PCIe");
	put(folder, "max_link_speed", "16.0 GT/s PCIe");
	put(folder, "current_link_width", "16");
	put(folder, "max_link_width", "16");
	put_link(folder, "subsystem", "../../../bus/pci");
	put_link(folder, "driver", "../../../bus/pci/drivers/vnet");
}

/* Copies the first line of a file of the host's sysfs, "0" if it cannot be read. */
static void copy_line(char *text, size_t size, const char *path)
{
	FILE *file = fopen(path, "re");

	if (!file || !fgets(text, (int)size, file))
		snprintf(text, size, "0");
	text[strcspn(text, "\n")] = '\0';
	if (file)
		fclose(file);
}

/* Links the network interface of the GIDs to that of the host's sysfs. */
static void put_net(struct folder *folder, const struct nic_device *made)
{
	char name[16 + IF_NAMESIZE], target[64 + IF_NAMESIZE];
	const char *ifname = made->gid_ndev[made->device.ngids > 1];

	snprintf(name, sizeof(name), "net/%s", ifname);
	snprintf(target, sizeof(target), "/sys/class/net/%s", ifname);
	put_link(folder, name, target);
}

static int make_pci(struct daemon *daemon, const struct nic_device *made)
{
	const struct device *device = &made->device;
	char address[ADDRESS_LENGTH], target[128], modalias[80], cpus[256];
	struct folder folder;

	pci_address(address, device);
	snprintf(modalias, sizeof(modalias), "pci:v%08Xd%08Xsv%08Xsd%08Xbc02sc07i00",
		 DEVICE_VENDOR_ID, DEVICE_PART_ID, DEVICE_VENDOR_ID, DEVICE_PART_ID);
	copy_line(cpus, sizeof(cpus), "/sys/devices/system/cpu/online");

	folder_open(&folder, daemon, "sys/devices/" PCI_ROOT "/%s", address);
	put(&folder, "vendor", "0x%04x", DEVICE_VENDOR_ID);
	put(&folder, "device", "0x%04x", DEVICE_PART_ID);
	put(&folder, "subsystem_vendor", "0x%04x", DEVICE_VENDOR_ID);
	put(&folder, "subsystem_device", "0x%04x", DEVICE_PART_ID);
	put(&folder, "class", "0x%06x", PCI_CLASS);
	put(&folder, "revision", "0x%02x", DEVICE_HW_REV);
	put(&folder, "modalias", "%s", modalias);
	put(&folder, "uevent",
	    "DRIVER=vnet\nPCI_CLASS=%X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\n"
	    "PCI_SLOT_NAME=%s\nMODALIAS=%s",
	    PCI_CLASS, DEVICE_VENDOR_ID, DEVICE_PART_ID, DEVICE_VENDOR_ID, DEVICE_PART_ID, address,
	    modalias);
	put(&folder, "numa_node", "-1");
	put(&folder, "local_cpulist", "%s", cpus);
	put(&folder, "enable", "1");
	put(&folder, "irq", "0");
	put_pci_links(&folder);
	put_net(&folder, made);
	if (folder.error)
		return folder.error;

	folder_open(&folder, daemon, "sys/bus/pci/devices");
	snprintf(target, sizeof(target), "../../../devices/" PCI_ROOT "/%s", address);
	put_link(&folder, address, target);
	return folder.error;
}

/* ------------------------------------------------------------------ the port */

static void put_gids(struct folder *folder, const struct nic_device *made)
{
	static const u8 none[16];
	const struct device *device = &made->device;
	char text[64];

	/* All entries of the table have a GID file; only those in use have attributes. */
	for (u32 i = 0; i < NIC_MAX_GIDS; i++) {
		groups(text, i < device->gids_shown ? device->gid[i] : none, 16);
		put_numbered(folder, "gids", i, text);
	}
	for (u32 i = 0; i < device->gids_shown; i++) {
		put_numbered(folder, "gid_attrs/types", i, device->lid ? "IB/RoCE v1" : "RoCE v2");
		/* On InfiniBand, the kernel has this file, but it cannot be read. */
		if (!device->lid)
			put_numbered(folder, "gid_attrs/ndevs", i, made->gid_ndev[i]);
	}
}

/* ------------------------------------------------------------------ counters */

#define PORT_FOLDER "sys/devices/" PCI_ROOT "/%s/infiniband/%s/ports/1"
#define MOST_FILES (2 * MOST_COUNTERS)

/* A counter file and its value. */
struct line {
	const char *folder;
	const char *name;
	u64 value;
};

/* Present contents of each device's counter files. */
static struct line told[VNET_MAX_NICS][MOST_FILES];

static u32 port_counters(const struct device *device, struct line *lines)
{
	struct counter counters[MOST_COUNTERS];
	u32 count = port_counters_read(device, counters);

	for (u32 i = 0; i < count; i++)
		lines[i] = (struct line){ "counters", counters[i].name, counters[i].value };
	return count;
}

static u32 all_counters(const struct device *device, struct line lines[MOST_FILES])
{
	struct counter counters[MOST_COUNTERS];
	u32 count = port_counters(device, lines);
	u32 more = counters_read(device, counters);

	for (u32 i = 0; i < more; i++)
		lines[count++] =
			(struct line){ "hw_counters", counters[i].name, counters[i].value };
	return count;
}

static void put_counters(struct folder *folder, const struct device *device)
{
	struct line *lines = told[device->index];
	u32 count = all_counters(device, lines);
	char name[64];

	for (u32 i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s/%s", lines[i].folder, lines[i].name);
		put(folder, name, "%llu", lines[i].value);
	}
}

/* Replaces the files of counters whose value has changed. */
static int renew_counters(const struct daemon *daemon, const struct device *device)
{
	struct line *old = told[device->index], lines[MOST_FILES];
	char address[ADDRESS_LENGTH], path[PATH_MAX];
	u32 count = all_counters(device, lines);
	int error = 0;

	pci_address(address, device);
	for (u32 i = 0; i < count && !error; i++) {
		if (lines[i].value == old[i].value)
			continue;
		snprintf(path, sizeof(path), PORT_FOLDER "/%s/%s", address, device->name,
			 lines[i].folder, lines[i].name);
		error = tree_replace(daemon->dir_fd, path, "%llu\n", lines[i].value);
		if (!error)
			old[i].value = lines[i].value;
	}
	return error;
}

int sysfs_counters(struct daemon *daemon)
{
	int error = 0;

	for (u32 i = 0; i < daemon->ndevices && !error; i++)
		error = renew_counters(daemon, &daemon->device[i]->device);
	return error;
}

void sysfs_port(struct daemon *daemon, const struct device *device, bool up)
{
	char address[ADDRESS_LENGTH], path[PATH_MAX];

	pci_address(address, device);
	snprintf(path, sizeof(path), PORT_FOLDER "/state", address, device->name);
	tree_replace(daemon->dir_fd, path, "%s\n", up ? "4: ACTIVE" : "1: DOWN");
	snprintf(path, sizeof(path), PORT_FOLDER "/phys_state", address, device->name);
	tree_replace(daemon->dir_fd, path, "%s\n", up ? "5: LinkUp" : "3: Disabled");
}

void sysfs_gid(const struct nic_device *made, u32 index)
{
	static const char *const attribute[] = { "types", "ndevs" };
	const struct device *device = &made->device;
	char address[ADDRESS_LENGTH], path[PATH_MAX], text[64];
	struct daemon *daemon = device->daemon;

	if (device->lid)
		return;
	pci_address(address, device);
	groups(text, device->gid[index], 16);
	snprintf(path, sizeof(path), PORT_FOLDER "/gids/%u", address, device->name, index);
	tree_replace(daemon->dir_fd, path, "%s\n", text);
	for (u32 i = 0; i < ARRAY_SIZE(attribute); i++) {
		snprintf(path, sizeof(path), PORT_FOLDER "/gid_attrs/%s/%u", address, device->name,
			 attribute[i], index);
		if (gid_is_none(device->gid[index]))
			tree_remove(daemon->dir_fd, path);
		else
			tree_replace(daemon->dir_fd, path, "%s\n",
				     i ? made->gid_ndev[index] : "RoCE v2");
	}
}

static int make_port(struct daemon *daemon, const struct nic_device *made)
{
	const struct device *device = &made->device;
	char address[ADDRESS_LENGTH];
	struct folder folder;

	pci_address(address, device);
	folder_open(&folder, daemon, PORT_FOLDER, address, device->name);
	put(&folder, "state", "4: ACTIVE");
	put(&folder, "phys_state", "5: LinkUp");
	put(&folder, "link_layer", "%s", device->lid ? "InfiniBand" : "Ethernet");
	put(&folder, "rate", "100 Gb/sec (4X EDR)");
	put(&folder, "lid", "0x%x", device->lid);
	put(&folder, "lid_mask_count", "0");
	put(&folder, "sm_lid", "0x%x", device->lid ? LID_SUBNET_MANAGER : 0);
	put(&folder, "sm_sl", "0");
	put(&folder, "cap_mask", "0x%08x", device_cap_mask(device));
	put(&folder, "pkeys/0", "0xffff");
	put_gids(&folder, made);
	put_counters(&folder, device);
	return folder.error;
}

/* --------------------------------------------------------- device and uverbs */

static int make_ibdev(struct daemon *daemon, const struct device *device)
{
	char address[ADDRESS_LENGTH], guid[32], target[160], host[64];
	struct folder folder;

	pci_address(address, device);
	groups(guid, device->node_guid, sizeof(device->node_guid));
	if (gethostname(host, sizeof(host)) < 0)
		strcpy(host, "localhost");
	host[sizeof(host) - 1] = '\0';

	folder_open(&folder, daemon, "sys/devices/" PCI_ROOT "/%s/infiniband/%s", address,
		    device->name);
	put(&folder, "node_type", "1: CA");
	put(&folder, "node_guid", "%s", guid);
	put(&folder, "sys_image_guid", "%s", guid);
	put(&folder, "node_desc", "%s %s", host, device->name);
	put(&folder, "fw_ver", "%s", DEVICE_FW_VER);
	put(&folder, "hw_rev", "0x%x", DEVICE_HW_REV);
	put(&folder, "hca_type", "vnet");
	put(&folder, "board_id", "VNET%010d", DEVICE_HW_REV);
	put(&folder, "uevent", "NAME=%s", device->name);
	snprintf(target, sizeof(target), "../../../%s", address);
	put_link(&folder, "device", target);
	put_link(&folder, "subsystem", "../../../../../class/infiniband");
	if (folder.error)
		return folder.error;

	folder_open(&folder, daemon, "sys/class/infiniband");
	snprintf(target, sizeof(target), "../../devices/" PCI_ROOT "/%s/infiniband/%s", address,
		 device->name);
	put_link(&folder, device->name, target);
	return folder.error;
}

/* A device file: its class, name and minor number, and one more sysfs attribute. */
struct chardev {
	const char *class;
	const char *prefix;
	u32 minor;
	const char *attribute;
	u32 value;
};

static int make_chardev(struct daemon *daemon, const struct device *device,
			const struct chardev *chardev)
{
	char address[ADDRESS_LENGTH], target[160], name[32];
	struct folder folder;

	pci_address(address, device);
	snprintf(name, sizeof(name), "%s%u", chardev->prefix, uverbs_number(device));
	folder_open(&folder, daemon, "sys/devices/" PCI_ROOT "/%s/%s/%s", address, chardev->class,
		    name);
	put(&folder, "ibdev", "%s", device->name);
	put(&folder, chardev->attribute, "%u", chardev->value);
	put(&folder, "dev", "%d:%u", VNET_UVERBS_MAJOR, chardev->minor);
	put(&folder, "uevent", "MAJOR=%d\nMINOR=%u\nDEVNAME=infiniband/%s", VNET_UVERBS_MAJOR,
	    chardev->minor, name);
	snprintf(target, sizeof(target), "../../../%s", address);
	put_link(&folder, "device", target);
	snprintf(target, sizeof(target), "../../../../../class/%s", chardev->class);
	put_link(&folder, "subsystem", target);
	if (folder.error)
		return folder.error;

	folder_open(&folder, daemon, "sys/class/%s", chardev->class);
	snprintf(target, sizeof(target), "../../devices/" PCI_ROOT "/%s/%s/%s", address,
		 chardev->class, name);
	put_link(&folder, name, target);
	if (folder.error)
		return folder.error;

	/* Target of open() on the device file. The preload library does the rest. */
	folder_open(&folder, daemon, "dev/infiniband");
	put(&folder, name, "%d:%u", VNET_UVERBS_MAJOR, chardev->minor);
	return folder.error;
}

static int make_uverbs(struct daemon *daemon, const struct device *device)
{
	const struct chardev uverbs = { "infiniband_verbs", "uverbs", device->minor, "abi_version",
					VNET_UVERBS_ABI_VERSION };

	return make_chardev(daemon, device, &uverbs);
}

/* Only InfiniBand ports have a umad file. */
static int make_umad(struct daemon *daemon, const struct device *device)
{
	const struct chardev umad = { "infiniband_mad", "umad", device->index, "port", 1 };

	return device->lid ? make_chardev(daemon, device, &umad) : 0;
}

/* rdma_cm is a miscellaneous device, which belongs to no RDMA device. */
static int make_rdma_cm(struct daemon *daemon)
{
	struct folder folder;

	folder_open(&folder, daemon, "sys/class/misc/rdma_cm");
	put(&folder, "abi_version", "%d", VNET_RDMA_CM_ABI_VERSION);
	put(&folder, "dev", "%d:%d", VNET_RDMA_CM_MAJOR, VNET_RDMA_CM_MINOR);
	put(&folder, "uevent", "MAJOR=%d\nMINOR=%d\nDEVNAME=infiniband/rdma_cm\nDEVMODE=0666",
	    VNET_RDMA_CM_MAJOR, VNET_RDMA_CM_MINOR);
	put_link(&folder, "subsystem", "../../misc");
	if (folder.error)
		return folder.error;
	folder_open(&folder, daemon, "dev/infiniband");
	put(&folder, "rdma_cm", "%d:%d", VNET_RDMA_CM_MAJOR, VNET_RDMA_CM_MINOR);
	return folder.error;
}

/* Creates the class directories, with the ABI versions of the classes. */
static int make_classes(struct daemon *daemon)
{
	struct folder folder;

	folder_open(&folder, daemon, "sys/class/infiniband_verbs");
	put(&folder, "abi_version", "6");
	if (folder.error)
		return folder.error;
	folder_open(&folder, daemon, "sys/class/infiniband_mad");
	put(&folder, "abi_version", "%d", IB_USER_MAD_ABI_VERSION);
	if (folder.error)
		return folder.error;
	folder_open(&folder, daemon, "sys/bus/pci/drivers/vnet");
	return folder.error;
}

int sysfs_init(struct daemon *daemon)
{
	/* "merged" is the preload library's union of this tree and the host's. */
	static const char *const stale[] = { "sys", "dev", "merged" };
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(stale) && !error; i++)
		error = tree_remove(daemon->dir_fd, stale[i]);
	if (!error)
		error = make_classes(daemon);
	if (!error)
		error = make_rdma_cm(daemon);
	for (u32 i = 0; i < daemon->ndevices && !error; i++) {
		const struct nic_device *made = daemon->device[i];

		error = make_pci(daemon, made);
		if (!error)
			error = make_ibdev(daemon, &made->device);
		if (!error)
			error = make_port(daemon, made);
		if (!error)
			error = make_uverbs(daemon, &made->device);
		if (!error)
			error = make_umad(daemon, &made->device);
	}
	return error;
}
