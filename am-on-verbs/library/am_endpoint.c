// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Endpoints: allocation, name, tag, handlers, and the move to another bundle. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "am_library.h"
#include "connections/am_connections.h"
#include "messages/am_messages.h"
#include "objects/am_process.h"
#include "objects/am_wiring.h"

#define INITIAL_TRANSLATIONS 256

static int make_name(struct am_ep *ep)
{
	struct am_device *device = ep->eb->device;

	memset(&ep->name, 0, sizeof(ep->name));
	memcpy(ep->name.gid, device->gid.raw, sizeof(ep->name.gid));
	ep->name.lid = device->port_attr.lid;
	ep->eb->wiring->address(ep->eb, &ep->name);
	ep->name.endpoint = am_endpoint_number();
	if (getrandom(&ep->name.incarnation, sizeof(ep->name.incarnation), 0) !=
	    sizeof(ep->name.incarnation))
		return -1;
	return 0;
}

static struct am_ep *endpoint_make(struct am_eb *eb)
{
	struct am_ep *ep = calloc(1, sizeof(*ep));

	if (!ep)
		return NULL;
	ep->eb = eb;
	ep->tag = AM_NONE;
	ep->ntranslations = INITIAL_TRANSLATIONS;
	ep->entry = calloc(INITIAL_TRANSLATIONS, sizeof(*ep->entry));
	ep->handler[0] = (am_handler_fn_t)am_default_error;
	if (ep->entry && !make_name(ep))
		return ep;
	free(ep->entry);
	free(ep);
	return NULL;
}

static void link_endpoint(struct am_eb *eb, struct am_ep *ep)
{
	am_endpoints_lock();
	ep->next = eb->eps;
	eb->eps = ep;
	am_endpoints_unlock();
}

int AM_AllocateEndpoint(eb_t bundle, ep_t *endp, en_t *endpoint_name)
{
	struct am_ep *ep;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!bundle || !endp || !endpoint_name)
		return AM_ERR_BAD_ARG;
	ep = endpoint_make(bundle);
	if (!ep)
		return AM_ERR_RESOURCE;
	am_lock(bundle);
	link_endpoint(bundle, ep);
	am_unlock(bundle);
	*endp = ep;
	*endpoint_name = ep->name;
	return AM_OK;
}

static void unlink_endpoint(struct am_ep *ep)
{
	struct am_ep **at = &ep->eb->eps;

	am_endpoints_lock();
	while (*at != ep)
		at = &(*at)->next;
	*at = ep->next;
	am_endpoints_unlock();
}

/* Removes an endpoint's messages from a queue. Their buffers are freed with the connection. */
static void forget_messages(struct am_queue *queue, const struct am_ep *ep)
{
	struct am_buffer **at = &queue->first;

	while (*at) {
		if ((*at)->conn->ep == ep)
			*at = (*at)->next;
		else
			at = &(*at)->next;
	}
	queue->last = at;
}

static void forget_returned(struct am_eb *eb, const struct am_ep *ep)
{
	struct am_returned **at = &eb->returned, *gone;

	while (*at) {
		if ((*at)->arguments.ep != ep) {
			at = &(*at)->next;
			continue;
		}
		gone = *at;
		*at = gone->next;
		free(gone);
	}
	eb->returned_last = at;
}

void am_endpoint_free(struct am_ep *ep)
{
	struct am_eb *eb = ep->eb;
	struct am_conn *conn;
	bool written = false;

	am_conns_drain(ep);
	for (conn = ep->conns; conn; conn = conn->next)
		written |= am_wire_goodbye(conn);
	if (written)
		am_conns_drain(ep);
	/* Messages that arrive after this are dropped. */
	for (conn = ep->conns; conn; conn = conn->next)
		am_conn_broken(conn, EUNREACHABLE);
	forget_messages(&eb->requests, ep);
	forget_messages(&eb->replies, ep);
	while ((conn = ep->conns)) {
		ep->conns = conn->next;
		am_conn_free(conn);
	}
	forget_returned(eb, ep);
	unlink_endpoint(ep);
	if (ep->segment_mr)
		ibv_dereg_mr(ep->segment_mr);
	free(ep->entry);
	free(ep);
}

int AM_FreeEndpoint(ep_t ea)
{
	struct am_eb *eb;
	int err = AM_OK;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea)
		return AM_ERR_BAD_ARG;
	eb = ea->eb;
	am_lock(eb);
	/* A handler's own message would be freed. */
	if (eb->running)
		err = AM_ERR_BAD_ARG;
	else
		am_endpoint_free(ea);
	am_unlock(eb);
	return err;
}

int AM_MoveEndpoint(ep_t ea, eb_t from_bundle, eb_t to_bundle)
{
	int err = AM_OK;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea || !from_bundle || !to_bundle || ea->eb != from_bundle)
		return AM_ERR_BAD_ARG;
	if (from_bundle == to_bundle)
		return AM_OK;
	am_lock(from_bundle);
	if (ea->conns)
		err = AM_ERR_IN_USE;
	else
		unlink_endpoint(ea);
	am_unlock(from_bundle);
	if (err)
		return err;
	ea->eb = to_bundle;
	am_lock(to_bundle);
	link_endpoint(to_bundle, ea);
	am_unlock(to_bundle);
	return AM_OK;
}

int AM_GetTag(ep_t ea, tag_t *tag)
{
	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea || !tag)
		return AM_ERR_BAD_ARG;
	am_lock(ea->eb);
	*tag = ea->tag;
	am_unlock(ea->eb);
	return AM_OK;
}

int AM_SetTag(ep_t ea, tag_t tag)
{
	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea)
		return AM_ERR_BAD_ARG;
	am_lock(ea->eb);
	ea->tag = tag;
	/*
	 * Peers compare the tag on the board before they send a bulk transfer as one work
	 * request.
	 */
	am_segment_tell_all(ea);
	am_unlock(ea->eb);
	return AM_OK;
}

int AM_SetHandlerFn(ep_t ea, handler_t handler, am_handler_fn_t function)
{
	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea)
		return AM_ERR_BAD_ARG;
	if (!handler && !function)
		function = (am_handler_fn_t)am_default_error;
	am_lock(ea->eb);
	ea->handler[handler] = function;
	am_unlock(ea->eb);
	return AM_OK;
}

int AM_SetHandlerAnyFn(ep_t ea, handler_t *handler, am_handler_fn_t function)
{
	int err = AM_ERR_RESOURCE;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea || !handler || !function)
		return AM_ERR_BAD_ARG;
	am_lock(ea->eb);
	for (int i = 1; i < AM_MaxNumHandlers() && err; i++) {
		if (ea->handler[i])
			continue;
		ea->handler[i] = function;
		*handler = (handler_t)i;
		err = AM_OK;
	}
	am_unlock(ea->eb);
	return err;
}

int AM_GetNumHandlers(ep_t ep, int *nhandlers)
{
	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ep || !nhandlers)
		return AM_ERR_BAD_ARG;
	*nhandlers = AM_MaxNumHandlers();
	return AM_OK;
}

int AM_SetNumHandlers(ep_t ep, int nhandlers)
{
	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ep || nhandlers < 1)
		return AM_ERR_BAD_ARG;
	return nhandlers == AM_MaxNumHandlers() ? AM_OK : AM_ERR_RESOURCE;
}

int AM_SetExpectedResources(ep_t ea, int n_endpoints, int n_outstanding_requests)
{
	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea || n_endpoints < 0 || n_outstanding_requests < 0)
		return AM_ERR_BAD_ARG;
	if (n_outstanding_requests > AM_MAX_CREDITS)
		n_outstanding_requests = AM_MAX_CREDITS;
	am_lock(ea->eb);
	ea->credits = (unsigned int)n_outstanding_requests;
	am_unlock(ea->eb);
	return AM_OK;
}

int AM_GetEndpointStatistics(ep_t ep, struct am_statistics *statistics)
{
	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ep || !statistics)
		return AM_ERR_BAD_ARG;
	am_lock(ep->eb);
	*statistics = ep->statistics;
	am_unlock(ep->eb);
	return AM_OK;
}
