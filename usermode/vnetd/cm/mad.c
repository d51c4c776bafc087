// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The common header of CM messages. */
#include "mad.h"

void mad_begin(struct mad *mad, enum cm_attribute attribute, u64 tid)
{
	memset(mad, 0, sizeof(*mad));
	mad->byte[MAD_VERSION] = MAD_BASE_VERSION;
	mad->byte[MAD_CLASS] = MAD_CLASS_CM;
	mad->byte[MAD_CLASS_VERSION] = MAD_CM_VERSION;
	mad->byte[MAD_METHOD] = MAD_METHOD_SEND;
	mad_put64(mad, MAD_TID, tid);
	mad_put16(mad, MAD_ATTRIBUTE, attribute);
}

bool mad_is_cm(const struct mad *mad)
{
	enum cm_attribute attribute = mad_attribute(mad);

	return mad->byte[MAD_VERSION] == MAD_BASE_VERSION && mad->byte[MAD_CLASS] == MAD_CLASS_CM &&
	       mad->byte[MAD_CLASS_VERSION] == MAD_CM_VERSION &&
	       mad->byte[MAD_METHOD] == MAD_METHOD_SEND && attribute >= CM_REQ &&
	       attribute <= CM_SIDR_REP;
}
