/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Layout of CM messages (IB vol 1, chapter 12; annex A11 for the IP addressing header). */
#ifndef CM_MAD_H
#define CM_MAD_H

#include "mad/mad.h"

#define MAD_DATA 24
#define MAD_CM_VERSION 2

enum cm_attribute {
	CM_REQ = 0x10,
	CM_MRA,
	CM_REJ,
	CM_REP,
	CM_RTU,
	CM_DREQ,
	CM_DREP,
	CM_SIDR_REQ,
	CM_SIDR_REP,
};

/* Message that an MRA or REJ refers to. */
enum cm_message { CM_ABOUT_REQ, CM_ABOUT_REP, CM_ABOUT_OTHER };

enum cm_reject_reason {
	CM_REJ_TIMEOUT = 4,
	CM_REJ_INVALID_SERVICE_ID = 8,
	CM_REJ_STALE_CONN = 10,
	CM_REJ_INVALID_LID = 13,
	CM_REJ_CONSUMER_DEFINED = 28,
	CM_REJ_VENDOR_OPTION_NOT_SUPPORTED = 35,
};

enum cm_sidr_status { CM_SIDR_SUCCESS, CM_SIDR_UNSUPPORTED, CM_SIDR_REJECT };

/* In all messages but SIDR. */
enum { CM_LOCAL_ID = 24, CM_REMOTE_ID = 28 };

/* Fields of REQ and REP that are always zero (Q_Key, flow label, packet rate) are left out. */
enum cm_req {
	REQ_VENDOR_ID = 29,
	REQ_SERVICE_ID = 32,
	REQ_CA_GUID = 40,
	REQ_QPN = 56,
	REQ_RESPONDER_RESOURCES = 59,
	REQ_INITIATOR_DEPTH = 63,
	/* Response timeout (5 bits), transport (2), flow control (1). */
	REQ_TRANSPORT = 67,
	REQ_PSN = 68,
	/* Response timeout (5), retry count (3). */
	REQ_RETRY = 71,
	REQ_PKEY = 72,
	/* Path MTU (4), RDC exists (1), RNR retry count (3). */
	REQ_MTU_RNR = 74,
	/* Most CM retries (4), SRQ (1), extended transport (3). */
	REQ_CM_RETRIES = 75,
	REQ_LOCAL_LID = 76,
	REQ_REMOTE_LID = 78,
	REQ_LOCAL_GID = 80,
	REQ_REMOTE_GID = 96,
	REQ_TCLASS = 116,
	REQ_HOPS = 117,
	/* SL (4), subnet local (1). */
	REQ_SL = 118,
	/* ACK timeout (5). */
	REQ_ACK_TIMEOUT = 119,
	REQ_PRIVATE = 164,
	REQ_PRIVATE_SIZE = 92,
};

enum cm_rep {
	REP_QPN = 36,
	REP_VENDOR_LOW = 39,
	REP_VENDOR_MIDDLE = 43,
	REP_PSN = 44,
	REP_VENDOR_HIGH = 47,
	REP_RESPONDER_RESOURCES = 48,
	REP_INITIATOR_DEPTH = 49,
	/* Target ACK delay (5), failover (2), flow control (1). */
	REP_FLOW_CONTROL = 50,
	/* RNR retry count (3), SRQ (1). */
	REP_RNR_SRQ = 51,
	REP_CA_GUID = 52,
	REP_PRIVATE = 60,
	REP_PRIVATE_SIZE = 196,
};

enum cm_rej {
	/* Two high bits. */
	REJ_MESSAGE = 32,
	/* Seven high bits: bytes of additional information. */
	REJ_INFO_LENGTH = 33,
	REJ_REASON = 34,
	REJ_INFO = 36,
	REJ_PRIVATE = 108,
	REJ_PRIVATE_SIZE = 148,
};

enum cm_mra {
	/* Two high bits. */
	MRA_MESSAGE = 32,
	/* Five high bits. */
	MRA_TIMEOUT = 33,
};

enum cm_dreq { DREQ_QPN = 32 };

enum cm_sidr_req {
	SIDR_REQ_ID = 24,
	SIDR_REQ_PKEY = 28,
	SIDR_REQ_SERVICE_ID = 32,
	SIDR_REQ_PRIVATE = 40,
	SIDR_REQ_PRIVATE_SIZE = 216,
};

enum cm_sidr_rep {
	SIDR_REP_ID = 24,
	SIDR_REP_STATUS = 28,
	SIDR_REP_QPN = 32,
	SIDR_REP_SERVICE_ID = 36,
	SIDR_REP_QKEY = 44,
	SIDR_REP_PRIVATE = 120,
	SIDR_REP_PRIVATE_SIZE = 136,
};

/* IP addressing header, before the user's private data in REQ and SIDR_REQ. */
enum cm_ip_header {
	IP_HEADER_VERSION = 0,
	/* High four bits. */
	IP_HEADER_FAMILY = 1,
	IP_HEADER_PORT = 2,
	IP_HEADER_SOURCE = 4,
	IP_HEADER_DESTINATION = 20,
	IP_HEADER_SIZE = 36,
};

/* Initialises an empty CM message. */
void mad_begin(struct mad *mad, enum cm_attribute attribute, u64 tid);
/* Whether it is a CM message of a known attribute. */
bool mad_is_cm(const struct mad *mad);

static inline enum cm_attribute mad_attribute(const struct mad *mad)
{
	return (enum cm_attribute)mad_get16(mad, MAD_ATTRIBUTE);
}

#endif /* CM_MAD_H */
