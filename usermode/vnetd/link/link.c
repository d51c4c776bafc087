// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The UDP link of each NIC: its socket, its address, and the choice of its receiver. If no client
 * polls the link, the socket is in the daemon's epoll set. If a client polls, the daemon removes
 * it from there, and checks periodically (LINK_FRESH_NS) that the client still polls.
 */
#include "daemon.h"
#include "link.h"
#include "loop/loop.h"
#include "process/process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/udp.h>
#include <sodium.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* Requested size of socket buffers; the kernel may give less. */
#define SOCKET_BUFFER (8 << 20)
/* Number of addresses of the loopback network that are tried. */
#define ATTEMPTS 64
/* Batches of frames per turn of the event loop. */
#define TURNS 4
/* IP and UDP headers. */
#define HEADERS_IPV4 28u
#define HEADERS_IPV6 48u
/* Bytes of a frame besides the payload, with piggybacked acknowledgements. */
#define FRAME_OVERHEAD                                                                             \
	((u32)(sizeof(struct vnet_frame) + sizeof(struct vnet_frame_op) +                          \
	       4 * sizeof(struct vnet_frame_ack) + sizeof(struct vnet_wire_trailer)))
#define MOST_PAYLOAD 16384u
/* Poll interval while fault injection holds frames back, ns. */
#define HELD_LOOK (200 * NSEC_PER_USEC)

static const struct nic_config rows = { .max_row = 256, .max_frame = 1024 };

/* ------------------------------------------------------------------- address */

/* FNV-1a. */
static u64 hash(u64 state, const void *data, size_t length)
{
	const u8 *bytes = data;

	while (length--)
		state = (state ^ *bytes++) * 0x100000001b3ull;
	return state;
}

/* Returns the nth address to try on the loopback network, for this user, node and device. */
static struct in_addr loopback_address(const struct nic_device *device, u32 n)
{
	const char *node = device->device.daemon->options.node;
	uid_t uid = geteuid();
	u64 h = 0xcbf29ce484222325ull;

	if (n == 0 && device->device.index == 0 && !strcmp(node, DEFAULT_NODE))
		return (struct in_addr){ htonl(INADDR_LOOPBACK) };
	h = hash(h, &uid, sizeof(uid));
	h = hash(h, node, strlen(node) + 1);
	h = hash(h, device->device.name, strlen(device->device.name) + 1);
	h = hash(h, &n, sizeof(n));
	h ^= h >> 32;
	return (struct in_addr){ htonl(127u << 24 | (1 + (u32)(h % 253)) << 16 |
				       (u32)(h >> 8 & 0xff) << 8 | (1 + (u32)(h >> 16) % 253)) };
}

/* Copies item `index` of a comma-separated list. Returns false if there is none. */
static bool pick(const char *list, u32 index, char *item, size_t size)
{
	size_t length;

	for (; index; index--) {
		list += strcspn(list, ",");
		if (!*list)
			return false;
		list++;
	}
	length = strcspn(list, ",");
	if (!length || length >= size)
		return false;
	memcpy(item, list, length);
	item[length] = '\0';
	return true;
}

/* Parses and validates an address of --listen. */
static int parse_listen(struct nic_device *device, const char *text, union link_address *address)
{
	struct daemon *daemon = device->device.daemon;

	memset(address, 0, sizeof(*address));
	if (inet_pton(AF_INET, text, &address->in.sin_addr) == 1)
		address->in.sin_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &address->in6.sin6_addr) == 1)
		address->in6.sin6_family = AF_INET6;
	else
		return failed(daemon, EINVAL, "--listen: '%s' is not an IP address", text);
	if ((address->any.sa_family == AF_INET && !address->in.sin_addr.s_addr) ||
	    (address->any.sa_family == AF_INET6 &&
	     (IN6_IS_ADDR_UNSPECIFIED(&address->in6.sin6_addr) ||
	      IN6_IS_ADDR_LINKLOCAL(&address->in6.sin6_addr) ||
	      IN6_IS_ADDR_MULTICAST(&address->in6.sin6_addr))))
		return failed(daemon, EINVAL,
			      "--listen: '%s' names no node: the address is also the node's GID",
			      text);
	if (!link_is_loopback(address) && !daemon->options.key)
		return failed(daemon, EPERM,
			      "--listen %s: an address that others can reach needs a key (--key)",
			      text);
	return 0;
}

static bool same_host(const struct sockaddr *a, const union link_address *b)
{
	if (!a || a->sa_family != b->any.sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
		       b->in.sin_addr.s_addr;
	return !memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
		       &b->in6.sin6_addr, sizeof(b->in6.sin6_addr));
}

bool link_listen_differs(struct nic_device *device, const char *list)
{
	const union link_address *own = &device->link_memory->own;
	union link_address wanted;
	char text[64];

	if (!pick(list, device->device.index, text, sizeof(text)))
		return device->link.fd >= 0;
	return device->link.fd < 0 || parse_listen(device, text, &wanted) ||
	       !same_host(&wanted.any, own);
}

/* -------------------------------------------------------------------- socket */

static void set(int fd, int level, int name, int value)
{
	/* All of these options are optional. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

static int make_socket(const union link_address *address)
{
	int family = address->any.sa_family;
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error;

	if (fd < 0)
		return -errno;
	if (family == AF_INET6)
		set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	/* Permit IP fragmentation of frames that exceed the path MTU. */
	if (family == AF_INET6)
		set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT);
	else
		set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT);
	set(fd, SOL_SOCKET, SO_RCVBUF, SOCKET_BUFFER);
	set(fd, SOL_SOCKET, SO_RCVBUFFORCE, SOCKET_BUFFER);
	set(fd, SOL_SOCKET, SO_SNDBUF, SOCKET_BUFFER);
	set(fd, SOL_SOCKET, SO_SNDBUFFORCE, SOCKET_BUFFER);
	set(fd, SOL_UDP, UDP_GRO, 1);
	if (bind(fd, &address->any, link_address_length(address)) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

/* Binds to the first free address of the loopback network. */
static int open_loopback(struct nic_device *device, union link_address *address)
{
	int fd = -EADDRINUSE;

	for (u32 n = 0; n < ATTEMPTS && fd == -EADDRINUSE; n++) {
		memset(address, 0, sizeof(*address));
		address->in.sin_family = AF_INET;
		address->in.sin_port = htons((u16)device->device.daemon->options.port);
		address->in.sin_addr = loopback_address(device, n);
		fd = make_socket(address);
	}
	return fd;
}

static int open_wanted(struct nic_device *device, const char *text, union link_address *address)
{
	struct daemon *daemon = device->device.daemon;
	int fd = parse_listen(device, text, address);

	if (fd < 0)
		return fd;
	/* sin_port and sin6_port have the same offset. */
	address->in.sin_port = htons((u16)daemon->options.port);
	fd = make_socket(address);
	if (fd < 0)
		return failed(daemon, -fd, "--listen %s: port %u: %s", text, daemon->options.port,
			      strerror(-fd));
	return fd;
}

/* -------------------------------------------------------------------- memory */

static int make_memory(struct nic_device *device)
{
	int fd = memfd_create("vnet-link", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *memory = MAP_FAILED;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(struct link_memory)) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		memory = mmap(NULL, sizeof(struct link_memory), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (memory == MAP_FAILED) {
		int error = -errno;

		close(fd);
		return error;
	}
	madvise(memory, sizeof(struct link_memory), MADV_DONTDUMP);
	device->link_memory_fd = fd;
	device->link_memory = memory;
	return 0;
}

/* Finds the interface with this address, "lo" if none. Returns its MTU, 1500 if unknown. */
static u32 find_interface(int fd, const union link_address *address, char name[IF_NAMESIZE])
{
	struct ifaddrs *list = NULL;
	struct ifreq request = { 0 };

	snprintf(name, IF_NAMESIZE, "lo");
	if (getifaddrs(&list) == 0)
		for (const struct ifaddrs *ifa = list; ifa; ifa = ifa->ifa_next)
			if (same_host(ifa->ifa_addr, address)) {
				snprintf(name, IF_NAMESIZE, "%s", ifa->ifa_name);
				break;
			}
	if (list)
		freeifaddrs(list);
	memcpy(request.ifr_name, name, IF_NAMESIZE);
	return ioctl(fd, SIOCGIFMTU, &request) < 0 ? 1500 : (u32)request.ifr_mtu;
}

static void fill_memory(struct nic_device *device, const union link_address *address)
{
	struct daemon *daemon = device->device.daemon;
	struct link_memory *memory = device->link_memory;
	u32 headers = address->any.sa_family == AF_INET6 ? HEADERS_IPV6 : HEADERS_IPV4;
	u32 mtu = find_interface(device->link.fd, address, device->link_ndev);
	int none = 0;

	memory->own = *address;
	memory->port = daemon->options.port;
	memory->mtu = mtu > headers ? mtu - headers : 0;
	memory->segments = setsockopt(device->link.fd, SOL_UDP, UDP_SEGMENT, &none, sizeof(none)) ==
			   0;
	snprintf(memory->gids, sizeof(memory->gids), "%s",
		 daemon->gids_dir ? daemon->gids_dir : "");
	link_keys_set(memory, &daemon->keys);
	randombytes_buf(memory->own_secret, sizeof(memory->own_secret));
	link_faults_set(memory, &daemon->faults, &daemon->faulty_peers);
	nic_store_release(&memory->magic, LINK_MAGIC);
}

/* Sets payload and window so that frames fit the MTU, and the window fits the socket buffer. */
static void fit_settings(const struct nic_device *device, struct nic_settings *settings)
{
	int room = 0;
	socklen_t length = sizeof(room);
	u32 mtu = device->link_memory->mtu;
	u32 payload = mtu > FRAME_OVERHEAD + VNET_WIRE_MIN_PAYLOAD ? mtu - FRAME_OVERHEAD :
								     VNET_WIRE_MIN_PAYLOAD;

	payload = payload < MOST_PAYLOAD ? payload : MOST_PAYLOAD;
	settings->payload = payload & ~63u;
	if (getsockopt(device->link.fd, SOL_SOCKET, SO_RCVBUF, &room, &length) < 0 || room <= 0)
		return;
	/* The kernel charges the memory of each datagram, which exceeds its length. */
	settings->window = (u32)room / 4;
}

/* ---------------------------------------------------------- start and reset */

/* Returns a static string. */
static const char *why_no_link(int error)
{
	const char *text = strerrordesc_np(-error);

	if (error == -ENOENT)
		return "--listen names no address for it";
	return text ? text : "unknown error";
}

int link_open(struct nic_device *device)
{
	struct daemon *daemon = device->device.daemon;
	const char *listen = daemon->options.listen;
	union link_address address;
	char wanted[64];
	int error;

	device->link.fd = -1;
	device->link_memory_fd = -1;
	device->link_at = NEVER;
	error = make_memory(device);
	if (error)
		return error;
	if (listen && !pick(listen, device->device.index, wanted, sizeof(wanted)))
		device->link.fd = -ENOENT;
	else
		device->link.fd = listen ? open_wanted(device, wanted, &address) :
					   open_loopback(device, &address);
	if (listen && device->link.fd < 0 && device->link.fd != -ENOENT)
		return device->link.fd;
	if (device->link.fd < 0) {
		device->link_problem = why_no_link(device->link.fd);
		log_line("%s has no link to other nodes: %s", device->device.name,
			 device->link_problem);
		device->link.fd = -1;
		device->link_memory->magic = LINK_MAGIC;
		return 0;
	}
	fill_memory(device, &address);
	return 0;
}

void link_configure(const struct nic_device *device, struct nic_config *config)
{
	const char *settings = device->device.daemon->options.settings;
	struct nic_settings ignored = { .rto_max = ~0u, .sequence_bits = 32 };

	if (device->link.fd < 0)
		return;
	config->max_row = rows.max_row;
	config->max_frame = rows.max_frame;
	/* Only `frames` is used here. choose_settings() uses and validates the others. */
	if (settings)
		(void)link_settings_parse(&ignored, &config->max_frame, settings);
}

static int choose_settings(struct nic_device *device)
{
	struct daemon *daemon = device->device.daemon;
	const char *text = daemon->options.settings, *wrong = NULL;
	u32 frames;

	device->settings = device->device.nic.hdr->settings;
	fit_settings(device, &device->settings);
	if (text)
		wrong = link_settings_parse(&device->settings, &frames, text);
	return wrong ? failed(daemon, EINVAL, "--settings: %s", wrong) : 0;
}

static void begin_incarnation(struct nic_device *device)
{
	struct timespec ts;

	/* The incarnation must exceed all earlier ones on this host: use the real-time clock. */
	clock_gettime(CLOCK_REALTIME, &ts);
	device->device.nic.hdr->settings = device->settings;
	nic_link_renew(&device->device.nic, (u64)ts.tv_sec * NSEC_PER_SEC + (u64)ts.tv_nsec);
}

static void link_ready(struct source *source, u32 events);

int link_start(struct nic_device *device)
{
	struct daemon *daemon = device->device.daemon;
	int error = host_link_open(&device->device.host, device->link.fd, device->link_memory,
				   sizeof(*device->link_memory));

	if (error || device->link.fd < 0)
		return error;
	error = choose_settings(device);
	if (error)
		return error;
	begin_incarnation(device);
	link_publish_gids(device);
	device->link.ready = link_ready;
	nic_store(&device->link_memory->agent_listens, 1);
	return loop_add(&daemon->loop, &device->link, EPOLLIN);
}

void link_renew(struct nic_device *device)
{
	struct nic_header *hdr = device->device.nic.hdr;

	if (device->link.fd < 0)
		return;
	nic_store(&hdr->row_high, 0);
	nic_store(&hdr->row_lock, 0);
	nic_store(&hdr->frame_lock, 0);
	nic_store(&device->link_memory->replay.lock, 0);
	nic_store(&hdr->row_active, 0);
	nic_store(&hdr->link_polled, 0);
	begin_incarnation(device);
}

/* ----------------------------------------------------------------- receiving */

static void listen_no_more(struct nic_device *device, u64 now)
{
	struct daemon *daemon = device->device.daemon;

	nic_store(&device->link_memory->agent_listens, 0);
	/* Pairs with the barrier in link_hand_back(). */
	nic_barrier();
	if (!link_is_polled(&device->device.nic, plat_clock())) {
		nic_store(&device->link_memory->agent_listens, 1);
		return;
	}
	loop_listen(&daemon->loop, &device->link, false);
	device->link_at = now + LINK_FRESH_NS;
}

static void link_ready(struct source *source, u32 events)
{
	struct nic_device *device = container_of(source, struct nic_device, link);

	(void)events;
	if (link_is_polled(&device->device.nic, plat_clock())) {
		listen_no_more(device, clock_now());
		return;
	}
	(void)link_poll(&device->device.nic, TURNS);
	/*
	 * Received frames may require answers, or have made queue pairs runnable: run the firmware.
	 */
	device->run_at = 0;
}

void link_receive_now(struct nic_device *device)
{
	struct nic *nic = &device->device.nic;

	/* If the socket is in the epoll set (link_at is NEVER), link_ready() receives from it. */
	if (device->link.fd >= 0 && device->link_at != NEVER && nic_is_wired(nic) &&
	    !link_is_polled(nic, plat_clock()))
		(void)link_poll(nic, TURNS);
}

static u64 run_device(struct nic_device *device, u64 now)
{
	struct daemon *daemon = device->device.daemon;
	u64 held = NEVER;

	if (device->link.fd < 0)
		return NEVER;
	if (device->link_at != NEVER && !link_is_polled(&device->device.nic, plat_clock())) {
		device->link_at = NEVER;
		nic_store(&device->link_memory->agent_listens, 1);
		loop_listen(&daemon->loop, &device->link, true);
	} else if (device->link_at <= now) {
		device->link_at = now + LINK_FRESH_NS;
	}
	/* Frames that fault injection holds back are released by link_poll(). */
	if (nic_load(&device->link_memory->holds)) {
		(void)link_poll(&device->device.nic, TURNS);
		if (nic_load(&device->link_memory->holds))
			held = now + HELD_LOOK;
	}
	return earlier(device->link_at, held);
}

u64 link_run(struct daemon *daemon, u64 now)
{
	u64 deadline = NEVER;

	for (u32 i = 0; i < daemon->ndevices; i++)
		deadline = earlier(deadline, run_device(daemon->device[i], now));
	return deadline;
}
