// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Parser for the specifications of a flow. The firmware interprets those that match headers. */
#include <errno.h>
#include <string.h>

#include "objects.h"

struct spec {
	u32 type;
	const u8 *bytes;
	u32 size;
};

struct reading {
	struct uv_request *req;
	struct uv_flow *flow;
	struct nic_flow_specs specs;
};

static int read_count(struct reading *reading, const struct spec *spec)
{
	struct ib_uverbs_flow_spec_action_count action;
	struct uv_object *counters;

	if (spec->size != sizeof(action) || reading->flow->counters)
		return -EINVAL;
	memcpy(&action, spec->bytes, sizeof(action));
	counters = uv_object_read(reading->req, UVERBS_OBJECT_COUNTERS, action.handle);
	if (!counters)
		return -EINVAL;
	reading->flow->counters = UV_CAST(struct uv_flow_counters, counters);
	return 0;
}

static int read_tag(struct reading *reading, const struct spec *spec)
{
	struct ib_uverbs_flow_spec_action_tag action;

	if (spec->size != sizeof(action))
		return -EINVAL;
	memcpy(&action, spec->bytes, sizeof(action));
	if (action.reserved1)
		return -EINVAL;
	return uv_result(nic_flow_mark(&reading->specs, action.tag_id));
}

static int read_drop(struct reading *reading, const struct spec *spec)
{
	if (spec->size != sizeof(struct ib_uverbs_flow_spec_action_drop))
		return -EINVAL;
	reading->flow->params.flags |= NIC_FLOW_DROP;
	return 0;
}

static int read_header(struct reading *reading, const struct spec *spec)
{
	const u32 start = sizeof(struct ib_uverbs_flow_spec_hdr);

	return uv_result(nic_flow_match(&reading->specs, spec->type, spec->bytes + start,
					spec->size - start));
}

static int read_spec(struct reading *reading, const struct spec *spec)
{
	switch (spec->type) {
	case NIC_SPEC_ACTION_TAG:
		return read_tag(reading, spec);
	case NIC_SPEC_ACTION_DROP:
		return read_drop(reading, spec);
	case NIC_SPEC_ACTION_COUNT:
		return read_count(reading, spec);
	default:
		return read_header(reading, spec);
	}
}

int uv_flow_read_specs(struct uv_request *req, const u8 *specs, u32 length, u32 count,
		       struct uv_flow *flow)
{
	struct reading reading = { .req = req, .flow = flow, .specs = { .flow = &flow->params } };
	struct ib_uverbs_flow_spec_hdr hdr;
	struct spec spec;
	u32 at = 0;
	int err;

	for (; count; count--, at += spec.size) {
		if (length - at < sizeof(hdr))
			return -EINVAL;
		memcpy(&hdr, specs + at, sizeof(hdr));
		if (hdr.size < sizeof(hdr) || hdr.size > length - at || hdr.reserved)
			return -EINVAL;
		spec = (struct spec){ .type = hdr.type, .bytes = specs + at, .size = hdr.size };
		err = read_spec(&reading, &spec);
		if (err)
			return err;
	}
	return at == length ? 0 : -EINVAL;
}
