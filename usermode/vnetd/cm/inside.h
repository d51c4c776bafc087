/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal interface of the connection manager, grouped by implementing file. An *id* is what a
 * program creates, and binds, resolves, listens or connects with. A *connection* is its state in
 * the CM protocol. It may outlive the id, because the peer must still get a DREQ. Functions
 * that return int return 0 or the negative errno value that the kernel would return.
 *
 * There is one thread, and nothing blocks. Messages between ids of this daemon are queued and
 * handled later, so that no handler runs inside another.
 */
#ifndef CM_INSIDE_H
#define CM_INSIDE_H

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include "cm.h"
#include "daemon.h"
#include "link/lid.h"
#include "mad.h"

/* Values of librdmacm's enum rdma_cm_event_type. */
enum cm_event_type {
	CM_EVENT_ADDR_RESOLVED,
	CM_EVENT_ADDR_ERROR,
	CM_EVENT_ROUTE_RESOLVED,
	CM_EVENT_ROUTE_ERROR,
	CM_EVENT_CONNECT_REQUEST,
	CM_EVENT_CONNECT_RESPONSE,
	CM_EVENT_CONNECT_ERROR,
	CM_EVENT_UNREACHABLE,
	CM_EVENT_REJECTED,
	CM_EVENT_ESTABLISHED,
	CM_EVENT_DISCONNECTED,
	CM_EVENT_DEVICE_REMOVAL,
	CM_EVENT_MULTICAST_JOIN,
	CM_EVENT_MULTICAST_ERROR,
	CM_EVENT_ADDR_CHANGE,
	CM_EVENT_TIMEWAIT_EXIT,
};

#define CM_AF_IB 27
#define CM_UD_QKEY 0x01234567u
/* P_Key of the default partition. */
#define CM_PKEY 0xffff

struct cm_address_ib {
	u16 family;
	u16 pkey;
	u32 flowinfo;
	u8 gid[16];
	u8 sid[8];
	u8 sid_mask[8];
	u64 scope_id;
};

union cm_address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct cm_address_ib ib;
	struct sockaddr_storage storage;
};

/* The path between the two ends. */
struct cm_path {
	struct device *device;
	u8 sgid_index;
	u8 dgid[16];
	/*
	 * On InfiniBand, dgid and sgid_index are the GIDs of IP addresses, by which messages are
	 * routed; programs see the GIDs and LIDs of the ports.
	 */
	struct lid_port port;
	u8 traffic_class;
	u8 hop_limit;
	/* Packet life time: 4.096 µs << n. */
	u8 life_time;
};

enum cm_id_state {
	CM_ID_IDLE,
	CM_ID_BOUND,
	CM_ID_ADDR_RESOLVED,
	CM_ID_ROUTE_RESOLVED,
	CM_ID_CONNECT,
	CM_ID_DISCONNECT,
	CM_ID_LISTEN,
};

struct cm;
struct cm_conn;
struct cm_group;

/* An open /dev/infiniband/rdma_cm. */
struct cm_file {
	struct cm *cm;
	struct file *file;
	/* Unread events, oldest first. */
	struct cm_event *head;
	struct cm_event **tail;
	struct cm_id *ids;
};

struct cm_id {
	struct cm *cm;
	struct cm_file *file;
	struct cm_id *next;
	u32 handle;
	/* Process id of the owner, for status output. */
	pid_t pid;
	/* The program's uid for the id; 0: a connection request that is not accepted yet. */
	u64 uid;
	u16 ps;
	u8 qp_type;
	enum cm_id_state state;
	union cm_address src, dst;
	/* device is NULL until an address determines it. */
	struct cm_path path;
	bool route;
	/* The id's port and port space: see port.c. */
	bool has_port;
	u16 port_space;
	struct cm_id *next_bound;
	/* Options. */
	u8 tos;
	bool tos_set, reuseaddr, afonly, afonly_set, ack_timeout_set;
	u8 ack_timeout;
	u32 backlog;
	u32 psn;
	u32 qpn;
	u32 qkey;
	bool srq;
	struct cm_conn *conn;
	struct cm_group *groups;
	/* Number of events that the program has read. */
	u32 events_reported;
	/* Unread CONNECT_REQUEST event for this id; NULL: the program knows the id. */
	struct cm_event *unread;
	/* Requests that arrived before the id listened, oldest first; see early_requests.c. */
	struct cm_arrival *early;
};

/* A multicast group that an id has joined. */
struct cm_group {
	struct cm_id *id;
	struct cm_group *next;
	u32 handle;
	u64 uid;
	union cm_address address;
	/* MGID and MLID of the group. */
	struct lid_port port;
	u32 events_reported;
};

struct cm_event {
	struct cm_event *next;
	/* Receiver of the event: an id, or one of its groups. */
	struct cm_id *id;
	struct cm_group *group;
	/* CONNECT_REQUEST: the new id; NULL once that is destroyed. */
	struct cm_id *request;
	struct rdma_ucm_event_resp resp;
};

enum cm_conn_state {
	CM_REQ_SENT,
	CM_REQ_RECEIVED,
	CM_REP_SENT,
	CM_REP_RECEIVED,
	CM_ESTABLISHED,
	CM_DREQ_SENT,
	CM_DREQ_RECEIVED,
	CM_TIMEWAIT,
	CM_SIDR_REQ_SENT,
	CM_SIDR_REQ_RECEIVED,
	CM_SIDR_ANSWERED,
	/* Ended: cm_conns_run() frees it. */
	CM_CLOSED,
};

struct cm_conn {
	struct cm *cm;
	struct cm_conn *next;
	/* NULL once the program has destroyed the id. */
	struct cm_id *id;
	enum cm_conn_state state;
	/* This end sent the request. */
	bool active;
	struct cm_path path;
	u32 local_id;
	u32 remote_id;
	u64 remote_guid;
	u64 tid;
	u64 service_id;
	u32 local_qpn;
	u32 remote_qpn;
	/* First PSNs of packets sent and received. */
	u32 sq_psn, rq_psn;
	u8 path_mtu;
	u8 responder_resources, initiator_depth;
	u8 retry_count, rnr_retry_count;
	/* Local ACK timeout, as in a queue pair. */
	u8 ack_timeout;
	/* Retransmission timeout of messages (4.096 µs << n), and the retry limit. */
	u8 response_timeout, most_retries;
	u8 retries_left;
	/* When to resend `last`, or to end timewait; NEVER: no timer. */
	u64 due;
	struct mad last;
};

/* A received MAD and its address information. */
struct cm_arrival {
	struct cm_arrival *next;
	struct device *device;
	u8 sgid[16];
	u8 dgid[16];
	struct mad mad;
};

struct cm_qp1;

#define CM_MAX_IDS 65536

struct cm {
	struct daemon *daemon;
	/* Ids, indexed by handle. */
	struct cm_id **id;
	u32 capacity;
	u32 lowest_free;
	struct cm_id *bound;
	struct cm_conn *conns;
	struct cm_early_port *absent;
	u32 last_group;
	u16 last_port;
	/* Earliest `due` of all connections. */
	u64 due;
	struct cm_arrival *head;
	struct cm_arrival **tail;
	/* See orphaned_ids.c. */
	struct vnet_cm_orphans *orphans;
	int wills_fd;
	/* Queue pair 1 of each device; NULL without a link. */
	struct cm_qp1 *qp1[VNET_MAX_NICS];
};

/* A command that is being executed. */
struct cm_call {
	struct cm *cm;
	struct cm_file *file;
	struct client *client;
	/* The command's payload: address in the program's memory, and bytes in the daemon's. */
	u64 addr;
	const u8 *in;
	u32 given;
	/* Lengths from the command header. */
	u32 in_length;
	u32 out_length;
	/* MIGRATE_ID: id of the file that the command's descriptor refers to. */
	u32 other_file;
};

/* ---------------------------------------------------------------- command.c */

/* Copies the command's payload; bytes beyond the write() are read from the program's memory. */
int cm_get(const struct cm_call *call, void *dst, size_t size);
int cm_put(const struct cm_call *call, u64 response, const void *src, size_t size);
/* Finds an id of this file. -ENOENT: unknown handle; -EINVAL: id of another file. */
int cm_call_id(const struct cm_call *call, u32 handle, struct cm_id **out);
/* Likewise; -EINVAL if the id has no device. */
int cm_call_device_id(const struct cm_call *call, u32 handle, struct cm_id **out);

/* ------------------------------------------------------------------- file.c */

/*
 * Queues an event for an id, or for one of its groups; `resp` has the contents. false: no memory.
 */
bool cm_event(struct cm_id *id, struct cm_group *group, struct cm_id *request,
	      const struct rdma_ucm_event_resp *resp);
/* Queues an event with a status only. */
void cm_plain_event(struct cm_id *id, u32 event, int status);
/* Drops unread events of an id, or (group not NULL) of one of its groups. */
void cm_drop_events(struct cm_id *id, const struct cm_group *group);
int cm_cmd_get_event(const struct cm_call *call);

/* --------------------------------------------------------------------- id.c */

/* Returns 0; -ENOMEM (also at the limit of ids); -EAGAIN without random bytes. */
int cm_id_new(struct cm_file *file, u16 ps, u8 qp_type, struct cm_id **made);
/* Destroys an id: ends its connection, and drops its unread events. */
void cm_id_destroy(struct cm_id *id);
int cm_cmd_create_id(const struct cm_call *call);
int cm_cmd_destroy_id(const struct cm_call *call);
int cm_cmd_migrate_id(const struct cm_call *call);
int cm_cmd_set_option(const struct cm_call *call);

/* ------------------------------------------------------------------- orphaned_ids.c */

int cm_orphans_init(struct cm *cm);
/* Updates the record after its contents changed: owner, device, or number of events read. */
void cm_orphan_write(const struct cm_id *id);
void cm_orphan_forget(const struct cm_id *id);

/* ---------------------------------------------------------------- address.c */

/* Size of an address of this family, 0 if it is not supported. */
u32 cm_address_size(const union cm_address *address);
bool cm_address_is_any(const union cm_address *address);
bool cm_address_same(const union cm_address *a, const union cm_address *b);
bool cm_address_is_multicast(const union cm_address *address);
u16 cm_address_port(const union cm_address *address);
void cm_address_set_port(union cm_address *address, u16 port);
/* Copies an address from the program. Returns false if family or length is wrong. */
bool cm_address_copy(union cm_address *to, const void *from, size_t room);
/* Whether the address is local; if so, stores its device and GID index. */
bool cm_address_local(struct daemon *daemon, const union cm_address *address,
		      struct device **device, u8 *gid_index);
/* Index of the device's GID to use as the source towards dgid. */
u8 cm_address_source(const struct device *device, const u8 *dgid);
/* Converts an address to its GID. */
void cm_address_gid(const union cm_address *address, u8 *gid);
/* Makes the AF_IB address of a port; service_id 0: without a service id. */
void cm_address_of_port(const u8 *gid, u64 service_id, union cm_address *address);
/* Converts a GID to an IP address. */
void cm_address_of_gid(const u8 *gid, union cm_address *address);
/* Finds the local device with this GID, and its index; NULL if there is none. */
struct device *cm_gid_device(struct daemon *daemon, const u8 *gid, u8 *index);

/* 127.0.0.1 or ::1. */
bool cm_gid_is_localhost(const u8 *gid);
/* Whether an interface of the host has this address. */
bool cm_gid_is_machines(const u8 *gid);
/* Whether the GID directory has this GID. */
bool cm_gid_is_published(const struct daemon *daemon, const u8 *gid);
/* Whether the link port at this address of the host is bound, as by a node of another user. */
bool cm_gid_is_taken(const struct daemon *daemon, const u8 *gid);

/* -------------------------------------------------------------- neighbour.c */

/*
 * Whether a neighbour, which shares the host's addresses, serves the request: this node and the
 * neighbour have a common --key, and no id of this node listens there.
 */
bool cm_neighbour_serves(const struct cm_id *id, const struct device *device);
/* Reports that a local request found no listener, but may have been meant for a neighbour. */
void cm_neighbour_report(struct cm *cm, const struct cm_arrival *arrival,
			 const union cm_address *dst);

/* ------------------------------------------------------------------- port.c */

/*
 * Takes the port of id->src, or chooses one if it is 0. A privileged port requires that `client`
 * has CAP_NET_BIND_SERVICE.
 */
int cm_port_take(struct cm_id *id, const struct client *client);
/* Whether the id may listen on its port. */
int cm_port_may_listen(const struct cm_id *id);
void cm_port_give_back(struct cm_id *id);
u64 cm_service_id(const struct cm_id *id, const union cm_address *address);
/* Finds an id that is BOUND or in LISTEN. `address`: destination; NULL: any. */
struct cm_id *cm_port_owner(struct cm *cm, enum cm_id_state state, u64 service_id,
			    const union cm_address *address, const struct device *device);

/* -------------------------------------------------------------------- path.c */

/* Completes a path that has dgid and device for its link layer. Returns 0 or -EHOSTUNREACH. */
int cm_path_complete(struct cm_path *path);
/* GIDs as programs see them. */
const u8 *cm_path_sgid(const struct cm_path *path);
const u8 *cm_path_dgid(const struct cm_path *path);
u8 cm_path_hops(const struct cm_path *path);
/* Converts a multicast address to MGID and MLID. */
void cm_path_group(const struct cm_path *path, u16 ps, const union cm_address *address,
		   struct lid_port *group);
void cm_path_ah(const struct cm_path *path, struct ib_uverbs_ah_attr *ah);
void cm_path_group_ah(const struct cm_path *path, const struct lid_port *group, u8 tos,
		      struct ib_uverbs_ah_attr *ah);

/* ---------------------------------------------------------------- resolve.c */

/* `client` may be NULL if the address has no port. */
int cm_bind(struct cm_id *id, const union cm_address *address, const struct client *client);
int cm_cmd_bind_ip(const struct cm_call *call);
int cm_cmd_bind(const struct cm_call *call);
int cm_cmd_resolve_ip(const struct cm_call *call);
int cm_cmd_resolve_addr(const struct cm_call *call);
int cm_cmd_resolve_route(const struct cm_call *call);
/* Completes route resolution, also if the program has supplied the path. */
int cm_set_route(struct cm_id *id);

/* ------------------------------------------------------------------ query.c */

int cm_cmd_query_route(const struct cm_call *call);
int cm_cmd_query(const struct cm_call *call);
int cm_cmd_init_qp_attr(const struct cm_call *call);

/* ---------------------------------------------------------------- connect.c */

int cm_cmd_connect(const struct cm_call *call);
int cm_cmd_listen(const struct cm_call *call);
int cm_cmd_accept(const struct cm_call *call);
int cm_cmd_reject(const struct cm_call *call);
int cm_cmd_disconnect(const struct cm_call *call);
int cm_cmd_notify(const struct cm_call *call);

/* --------------------------------------------------------------- protocol.c */

/* 4.096 µs << n, in nanoseconds. */
u64 cm_interval(u32 exponent);
/* Fills with random bytes. Returns false if there are none at present. */
bool cm_random(void *bytes, size_t length);
/* Creates a connection. `id` may be NULL. Returns 0, -ENOMEM, or -EAGAIN without random bytes. */
int cm_conn_new(struct cm *cm, struct cm_id *id, const struct cm_path *path, struct cm_conn **made);
/* Ends a connection; cm_conns_run() frees it. */
void cm_conn_close(struct cm_conn *conn);
/*
 * Detaches a connection from its id, and sends a DREQ or REJ to the peer. quiet: sends nothing for
 * a request that was not answered.
 */
void cm_conn_release(struct cm_conn *conn, bool quiet);
/* Sends conn->last, and resends it until it is answered. */
void cm_conn_send(struct cm_conn *conn, enum cm_conn_state state);
/* Stops the retransmission timer. */
void cm_conn_answered(struct cm_conn *conn);
void cm_conn_timewait(struct cm_conn *conn);
/* Each sends one message. Only the DREQ is resent until it is answered. */
void cm_send_rej(struct cm_conn *conn, u32 reason, const void *data, u32 length);
void cm_send_rtu(struct cm_conn *conn);
void cm_send_dreq(struct cm_conn *conn);
void cm_send_drep(struct cm_conn *conn);
void cm_send_mra(struct cm_conn *conn);
/* Handles expired timers. Returns the time of the next call. */
u64 cm_conns_run(struct cm *cm, u64 now);
/* Queues DISCONNECTED if the id is still in CONNECT. */
void cm_disconnected(struct cm_conn *conn, int status);

/* ------------------------------------------------------------------- sidr.c */

int cm_sidr_connect(struct cm_id *id, const struct rdma_ucm_conn_param *param);
int cm_sidr_accept(struct cm_id *id, const struct rdma_ucm_conn_param *param);
void cm_sidr_reply(struct cm_conn *conn, enum cm_sidr_status status, const void *data, u32 length);
void cm_on_sidr_req(struct cm *cm, const struct cm_arrival *arrival);
/* Answers a SIDR_REQ without a listener. */
void cm_refuse_sidr(struct cm *cm, const struct cm_arrival *arrival, enum cm_sidr_status status);
void cm_on_sidr_rep(struct cm *cm, const struct cm_arrival *arrival);

/* ---------------------------------------------------------------- request.c */

/* Size of the IP addressing header in private data, 0 with AF_IB addresses; and its encoder. */
u32 cm_ip_header_size(const struct cm_id *id);
void cm_put_ip_header(struct mad *mad, u32 at, const struct cm_id *id);
/* Reads the IP addressing header. Returns false, and AF_IB addresses, if there is none. */
bool cm_get_addresses(const struct cm_arrival *arrival, u32 at, u64 service_id,
		      union cm_address *src, union cm_address *dst);
/*
 * Creates an id for a received request, with addresses and path. If the listener has an AF_IB
 * address, so has the id, whatever header the request has. Returns NULL on failure.
 */
struct cm_id *cm_request_id(struct cm_id *listener, const struct cm_arrival *arrival,
			    const union cm_address *src, const union cm_address *dst,
			    u64 service_id);
/* Destroys the id of a request, and gives its slot in the backlog back. */
void cm_request_drop(struct cm_id *listener, struct cm_id *id);
/* Path for answers to a received message; false if its destination is no GID of its device. */
bool cm_arrival_path(const struct cm_arrival *arrival, struct cm_path *path);
/*
 * Whether the message comes from the connection's peer. This prevents other nodes from acting for
 * the peer even if they know the communication ids.
 */
bool cm_is_peers(const struct cm_conn *conn, const struct cm_arrival *arrival);
void cm_on_req(struct cm *cm, const struct cm_arrival *arrival);
/* Refuses a REQ, with a CM_REJ_* reason. */
void cm_refuse_req(struct cm *cm, const struct cm_arrival *arrival, u32 reason);

/* --------------------------------------------------------- early_requests.c */

/*
 * Returns the listener for a request, or, if this request has not been kept before, an id that is
 * bound to its port. In both cases, drops the kept copy of the request.
 */
struct cm_id *cm_early_owner(struct cm *cm, const struct cm_arrival *arrival, u64 service_id,
			     const union cm_address *dst);
/* Keeps a request for an id that is bound. Returns false if the id listens, or keeps too many. */
bool cm_early_keep(struct cm_id *id, const struct cm_arrival *arrival);
/* Keeps a request for a port without an id. Returns false unless an id listened there recently. */
bool cm_early_keep_port(struct cm *cm, const struct cm_arrival *arrival, u64 service_id);
/* An id is about to be destroyed: if it listened, requests for its port are kept for a while. */
void cm_early_leave(const struct cm_id *id);
/* Refuses kept requests whose time has expired. Returns the time of the next call. */
u64 cm_early_run(struct cm *cm, u64 now);
/* Drops a kept request. Returns false if there was none. */
bool cm_early_forget(struct cm *cm, const struct cm_arrival *arrival, enum cm_attribute attribute);
/* Handles the kept requests: the id listens now. */
void cm_early_deliver(struct cm_id *id);
/* Refuses the kept requests: the id will not listen. */
void cm_early_refuse(struct cm_id *id);

/* ---------------------------------------------------------------- receive.c */

void cm_receive(struct cm *cm, const struct cm_arrival *arrival);

/* -------------------------------------------------------------- multicast.c */

int cm_cmd_join_ip_mcast(const struct cm_call *call);
int cm_cmd_join_mcast(const struct cm_call *call);
int cm_cmd_leave_mcast(const struct cm_call *call);
void cm_groups_leave(struct cm_id *id);

/* ------------------------------------------------------------------- wire.c */

/* Sends a message along the path, which may lead to this node. */
void cm_transmit(struct cm *cm, const struct cm_path *path, const struct mad *mad);

/* -------------------------------------------------------------------- qp1.c */

int cm_qp1_open(struct cm *cm, struct device *device);
void cm_qp1_send(struct cm *cm, const struct cm_path *path, const struct mad *mad);
/* Handles received MADs. */
void cm_qp1_poll(struct cm *cm);

#endif /* CM_INSIDE_H */
