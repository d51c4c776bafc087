/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The connection manager's inner contract; grouped by the file that implements
 * it. An *id* is what a program has made and binds, resolves, listens or
 * connects with; a *connection* is what the protocol knows of it, and may
 * outlive the id, because the peer must be told. Functions that answer int give
 * 0 or a negative errno value, which the kernel would give in that place.
 *
 * One thread, nothing waits: messages between ids of this daemon are queued and
 * handled later, so that no handler runs inside another one.
 */
#ifndef CM_H
#define CM_H

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include "../lid.h"
#include "mad.h"

/* As librdmacm's enum rdma_cm_event_type. */
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
/* The default partition's. */
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

/* How the two ends reach each other. */
struct cm_path {
	struct device *device;
	u8 sgid_index;
	u8 dgid[16];
	/*
	 * On InfiniBand, dgid and sgid_index are of the addresses, by which messages
	 * find their way; programs hear of the ports.
	 */
	struct lid_port port;
	u8 traffic_class;
	u8 hop_limit;
	/* 4.096 µs << n, for a packet one way. */
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

/* An opened /dev/infiniband/rdma_cm. */
struct cm_file {
	struct cm *cm;
	struct file *file;
	/* Unread, the oldest first. */
	struct cm_event *head;
	struct cm_event **tail;
	struct cm_id *ids;
};

struct cm_id {
	struct cm *cm;
	struct cm_file *file;
	struct cm_id *next;
	u32 handle;
	/* Whose it is, for people. */
	pid_t pid;
	/* The program's name for it; 0: a request that is not accepted yet. */
	u64 uid;
	u16 ps;
	u8 qp_type;
	enum cm_id_state state;
	union cm_address src, dst;
	/* device is NULL until an address says which. */
	struct cm_path path;
	bool route;
	/* By which it has its port; see port.c. */
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
	/* Of events that were read. */
	u32 events_reported;
	/* A request, which its program has not read of; NULL: it knows the id. */
	struct cm_event *unread;
	/* Requests that came before it listened, the oldest first; see early.c. */
	struct cm_arrival *early;
};

/* An address that an id receives from as a member. */
struct cm_group {
	struct cm_id *id;
	struct cm_group *next;
	u32 handle;
	u64 uid;
	union cm_address address;
	/* What it means on the link. */
	struct lid_port port;
	u32 events_reported;
};

struct cm_event {
	struct cm_event *next;
	/* Whose it is. */
	struct cm_id *id;
	struct cm_group *group;
	/* CONNECT_REQUEST: the id that was made for it, until that is gone. */
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
	/* Over: it is freed when nobody names it. */
	CM_CLOSED,
};

struct cm_conn {
	struct cm *cm;
	struct cm_conn *next;
	/* NULL once the program has let go of it. */
	struct cm_id *id;
	enum cm_conn_state state;
	/* We asked. */
	bool active;
	struct cm_path path;
	u32 local_id;
	u32 remote_id;
	u64 remote_guid;
	u64 tid;
	u64 service_id;
	u32 local_qpn;
	u32 remote_qpn;
	/* Of packets that we send, and that we receive. */
	u32 sq_psn, rq_psn;
	u8 path_mtu;
	u8 responder_resources, initiator_depth;
	u8 retry_count, rnr_retry_count;
	/* As in local ACK timeout. */
	u8 ack_timeout;
	/* 4.096 µs << n, until a message is repeated; and how often it is. */
	u8 response_timeout, most_retries;
	u8 retries_left;
	/* What to do at this time: repeat `last`, or end timewait. NEVER: nothing. */
	u64 due;
	struct mad last;
};

/* A datagram that came, and from where. */
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
	/* By handle. */
	struct cm_id **id;
	u32 capacity;
	u32 lowest_free;
	struct cm_id *bound;
	struct cm_conn *conns;
	struct cm_absence *absent;
	u32 last_group;
	u16 last_port;
	/* When something in conns is due. */
	u64 due;
	struct cm_arrival *head;
	struct cm_arrival **tail;
	/* See will.c. */
	struct vnet_cm_wills *wills;
	int wills_fd;
	/* Of each device; NULL where there is no link. */
	struct cm_qp1 *qp1[VNET_MAX_NICS];
};

/* A command of write() under way. */
struct cm_call {
	struct cm *cm;
	struct cm_file *file;
	struct client *client;
	/* Of the command's own part, in the program's memory and in ours. */
	u64 addr;
	const u8 *in;
	u32 given;
	/* What the header says. */
	u32 in_length;
	u32 out_length;
	/* MIGRATE_ID: the file that the descriptor is. */
	u32 other_file;
};

/* ---------------------------------------------------------------- command.c */

/* The request: what is beyond the bytes that came is in the program's memory. */
int cm_get(const struct cm_call *call, void *dst, size_t size);
int cm_put(const struct cm_call *call, u64 response, const void *src, size_t size);
/* The file's id: -ENOENT (its program knows of none), -EINVAL (another file's). */
int cm_call_id(const struct cm_call *call, u32 handle, struct cm_id **out);
/* The same, -EINVAL without a device. */
int cm_call_device_id(const struct cm_call *call, u32 handle, struct cm_id **out);

/* ------------------------------------------------------------------- file.c */

/* An event of an id, or of a group of it; what it tells is in `resp`. */
void cm_event(struct cm_id *id, struct cm_group *group, struct cm_id *request,
	      const struct rdma_ucm_event_resp *resp);
/* One with nothing but a status. */
void cm_plain_event(struct cm_id *id, u32 event, int status);
/* Forget what was not read, of an id or (not NULL) of one group. */
void cm_drop_events(struct cm_id *id, const struct cm_group *group);
int cm_cmd_get_event(const struct cm_call *call);

/* --------------------------------------------------------------------- id.c */

/* 0; -ENOMEM, also for too many; -EAGAIN without random bytes. */
int cm_id_new(struct cm_file *file, u16 ps, u8 qp_type, struct cm_id **made);
/* Tell the peer, and forget it; unread events are dropped. */
void cm_id_destroy(struct cm_id *id);
int cm_cmd_create_id(const struct cm_call *call);
int cm_cmd_destroy_id(const struct cm_call *call);
int cm_cmd_migrate_id(const struct cm_call *call);
int cm_cmd_set_option(const struct cm_call *call);

/* ------------------------------------------------------------------- will.c */

int cm_will_init(struct cm *cm);
/* What it says changed: whose the id is, what it is bound to, what was read of it. */
void cm_will_write(const struct cm_id *id);
void cm_will_forget(const struct cm_id *id);

/* ---------------------------------------------------------------- address.c */

/* Bytes of an address of this family; 0: there is no such. */
u32 cm_address_size(const union cm_address *address);
bool cm_address_is_any(const union cm_address *address);
bool cm_address_same(const union cm_address *a, const union cm_address *b);
bool cm_address_is_multicast(const union cm_address *address);
u16 cm_address_port(const union cm_address *address);
void cm_address_set_port(union cm_address *address, u16 port);
/* A copy of an address from the program; family and length are right. */
bool cm_address_copy(union cm_address *to, const void *from, size_t room);
/*
 * Is it one of ours? Then which device has it, and by which GID. false: it is
 * not.
 */
bool cm_address_local(struct daemon *daemon, const union cm_address *address,
		      struct device **device, u8 *gid_index);
/* Which GID of the device would talk to that one. */
u8 cm_address_source(const struct device *device, const u8 *dgid);
/* The GID that is this address. */
void cm_address_gid(const union cm_address *address, u8 *gid);
/* InfiniBand's address of a port; service_id 0: of no service. */
void cm_address_of_port(const u8 *gid, u64 service_id, union cm_address *address);
/* The address that is this GID. */
void cm_address_of_gid(const u8 *gid, union cm_address *address);
/* Our device that has this GID, and where in its table; NULL. */
struct device *cm_gid_device(struct daemon *daemon, const u8 *gid, u8 *index);

/* 127.0.0.1 or ::1: everybody's own. */
bool cm_gid_is_localhost(const u8 *gid);
/* Of an interface of this machine. */
bool cm_gid_is_machines(const u8 *gid);
/* Another node of this runtime directory tells that it has it. */
bool cm_gid_is_told(const struct daemon *daemon, const u8 *gid);
/* A link is at this address of the machine, which is not ours: a node of another user. */
bool cm_gid_is_taken(const struct daemon *daemon, const u8 *gid);

/* -------------------------------------------------------------- neighbour.c */

/*
 * Where the machine's addresses are another user's node's, too: does that serve what
 * the id asks for? It has a given key with us, and nobody of ours listens there.
 */
bool cm_neighbour_serves(const struct cm_id *id, const struct device *device);
/* A request of our own finds nobody: tell the user of the node that he may have meant. */
void cm_neighbour_tell(struct cm *cm, const struct cm_arrival *arrival,
		       const union cm_address *dst);

/* ------------------------------------------------------------------- port.c */

/* Take the port of id->src, or (0) any; for this client, if it has chosen the port. */
int cm_port_take(struct cm_id *id, const struct client *client);
/* May it listen on the port that it has? */
int cm_port_may_listen(const struct cm_id *id);
void cm_port_give_back(struct cm_id *id);
u64 cm_service_id(const struct cm_id *id, const union cm_address *address);
/*
 * Who is there in that state (bound, or listens); destination in the terms of the program, NULL:
 * whichever.
 */
struct cm_id *cm_port_owner(struct cm *cm, enum cm_id_state state, u64 service_id,
			    const union cm_address *address, const struct device *device);

/* -------------------------------------------------------------------- path.c */

/* dgid and device are known: what the link layer needs beside. 0 or -EHOSTUNREACH. */
int cm_path_complete(struct cm_path *path);
/* GIDs as programs see them. */
const u8 *cm_path_sgid(const struct cm_path *path);
const u8 *cm_path_dgid(const struct cm_path *path);
u8 cm_path_hops(const struct cm_path *path);
/* The group that an address means. */
void cm_path_group(const struct cm_path *path, u16 ps, const union cm_address *address,
		   struct lid_port *group);
void cm_path_ah(const struct cm_path *path, struct ib_uverbs_ah_attr *ah);
void cm_path_group_ah(const struct cm_path *path, const struct lid_port *group, u8 tos,
		      struct ib_uverbs_ah_attr *ah);

/* ---------------------------------------------------------------- resolve.c */

/* For this client, which may be NULL if the address has no port. */
int cm_bind(struct cm_id *id, const union cm_address *address, const struct client *client);
int cm_cmd_bind_ip(const struct cm_call *call);
int cm_cmd_bind(const struct cm_call *call);
int cm_cmd_resolve_ip(const struct cm_call *call);
int cm_cmd_resolve_addr(const struct cm_call *call);
int cm_cmd_resolve_route(const struct cm_call *call);
/* A path that the program says. */
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
/* Fill with random bytes; false if there are none at present. */
bool cm_random(void *bytes, size_t length);
/* A connection of this id, or (NULL) without one. 0; -ENOMEM; -EAGAIN without random bytes. */
int cm_conn_new(struct cm *cm, struct cm_id *id, const struct cm_path *path, struct cm_conn **made);
/* Nobody names it any more. */
void cm_conn_close(struct cm_conn *conn);
/* The program lets go of it: say so to the peer. quiet: as if it had never been. */
void cm_conn_release(struct cm_conn *conn, bool quiet);
/* conn->last, now and until it is answered. */
void cm_conn_send(struct cm_conn *conn, enum cm_conn_state state);
/* The answer came, or is not waited for any more. */
void cm_conn_answered(struct cm_conn *conn);
void cm_conn_timewait(struct cm_conn *conn);
/* Send once. */
void cm_send_rej(struct cm_conn *conn, u32 reason, const void *data, u32 length);
void cm_send_rtu(struct cm_conn *conn);
void cm_send_dreq(struct cm_conn *conn);
void cm_send_drep(struct cm_conn *conn);
void cm_send_mra(struct cm_conn *conn);
/* Repeat and end what is due; answers when to come back. */
u64 cm_conns_run(struct cm *cm, u64 now);
/* The id's connection ended: the program has heard it or not. */
void cm_disconnected(struct cm_conn *conn, int status);

/* ------------------------------------------------------------------- sidr.c */

int cm_sidr_connect(struct cm_id *id, const struct rdma_ucm_conn_param *param);
int cm_sidr_accept(struct cm_id *id, const struct rdma_ucm_conn_param *param);
void cm_sidr_reply(struct cm_conn *conn, enum cm_sidr_status status, const void *data, u32 length);
void cm_on_sidr_req(struct cm *cm, const struct cm_arrival *arrival);
/* Answers a question that nobody will hear of. */
void cm_refuse_sidr(struct cm *cm, const struct cm_arrival *arrival, enum cm_sidr_status status);
void cm_on_sidr_rep(struct cm *cm, const struct cm_arrival *arrival);

/* ---------------------------------------------------------------- request.c */

/* Addresses and ports before private data, if its addresses are of IP: how many bytes; and back. */
u32 cm_ip_header_size(const struct cm_id *id);
void cm_put_ip_header(struct mad *mad, u32 at, const struct cm_id *id);
/* false: there are none, so the service is asked for by its ports alone. */
bool cm_get_addresses(const struct cm_arrival *arrival, u32 at, u64 service_id,
		      union cm_address *src, union cm_address *dst);
/*
 * An id of the listener's for a request that came, with addresses and path. One that listens
 * to an address of InfiniBand has such ones, whatever came.
 */
struct cm_id *cm_request_id(struct cm_id *listener, const struct cm_arrival *arrival,
			    const union cm_address *src, const union cm_address *dst,
			    u64 service_id);
/* The request comes to nothing: the listener's backlog has room for another. */
void cm_request_drop(struct cm_id *listener, struct cm_id *id);
/* Where answers to that go. */
bool cm_arrival_path(const struct cm_arrival *arrival, struct cm_path *path);
/* It comes from where the connection leads: nobody else speaks for the peer, whatever ids he knows. */
bool cm_is_peers(const struct cm_conn *conn, const struct cm_arrival *arrival);
void cm_on_req(struct cm *cm, const struct cm_arrival *arrival);
/* Answers, with a CM_REJ_*, for a request that nobody will hear of. */
void cm_refuse_req(struct cm *cm, const struct cm_arrival *arrival, u32 reason);

/* ------------------------------------------------------------------ early.c */

/*
 * Who listens to what is asked for; or, if the request has not waited yet, who is bound to
 * it. Whichever: no request like it waits any more.
 */
struct cm_id *cm_early_owner(struct cm *cm, const struct cm_arrival *arrival, u64 service_id,
			     const union cm_address *dst);
/* false: the owner listens, or keeps no more. */
bool cm_early_keep(struct cm_id *id, const struct cm_arrival *arrival);
/* Nobody is bound: false: nor listened there lately. */
bool cm_early_await(struct cm *cm, const struct cm_arrival *arrival, u64 service_id);
/* Its program gives it up; it may have listened. */
void cm_early_leave(const struct cm_id *id);
/* Refuse what nobody came for; answers when to come back. */
u64 cm_early_run(struct cm *cm, u64 now);
/* The request of the peer that says something new of it; false: none waited. */
bool cm_early_forget(struct cm *cm, const struct cm_arrival *arrival, enum cm_attribute attribute);
/* It listens now. */
void cm_early_hear(struct cm_id *id);
/* It never will. */
void cm_early_refuse(struct cm_id *id);

/* ---------------------------------------------------------------- receive.c */

void cm_receive(struct cm *cm, const struct cm_arrival *arrival);

/* -------------------------------------------------------------- multicast.c */

int cm_cmd_join_ip_mcast(const struct cm_call *call);
int cm_cmd_join_mcast(const struct cm_call *call);
int cm_cmd_leave_mcast(const struct cm_call *call);
void cm_groups_leave(struct cm_id *id);

/* ------------------------------------------------------------------- wire.c */

/* To the other end of the path, wherever that is. */
void cm_transmit(struct cm *cm, const struct cm_path *path, const struct mad *mad);

/* -------------------------------------------------------------------- qp1.c */

int cm_qp1_open(struct cm *cm, struct device *device);
void cm_qp1_send(struct cm *cm, const struct cm_path *path, const struct mad *mad);
/* From a port of InfiniBand to another. */
void cm_qp1_send_lid(struct cm *cm, struct device *device, u16 lid, const struct mad *mad);
/* Handle what has come. */
void cm_qp1_poll(struct cm *cm);

#endif /* CM_H */
