// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The translation table: maps indices to destinations. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "connections/am_connections.h"
#include "objects/am_process.h"

#define MAX_TRANSLATIONS (1 << 20)

static void bind_entry(struct am_entry *entry, const en_t *name, tag_t tag)
{
	*entry = (struct am_entry){ .inuse = true, .name = *name, .tag = tag };
}

/* Finds entry @i, and locks @ea's bundle. On failure, returns the reason and holds no lock. */
static int lock_entry(ep_t ea, int i, struct am_entry **entry)
{
	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea)
		return AM_ERR_BAD_ARG;
	am_lock(ea->eb);
	if (i >= 0 && i < ea->ntranslations) {
		*entry = &ea->entry[i];
		return AM_OK;
	}
	am_unlock(ea->eb);
	return AM_ERR_BAD_ARG;
}

/* Copies a field of entry @i to @to, if the entry is bound. */
static int get_field(ep_t ea, int i, void *to, size_t offset, size_t size)
{
	struct am_entry *entry;
	int err = lock_entry(ea, i, &entry);

	if (err)
		return err;
	if (!to)
		err = AM_ERR_BAD_ARG;
	else if (entry->inuse)
		memcpy(to, (const char *)entry + offset, size);
	else
		err = AM_ERR_RESOURCE;
	am_unlock(ea->eb);
	return err;
}

int AM_Map(ep_t ea, int index, en_t name, tag_t tag)
{
	struct am_entry *entry;
	int err = lock_entry(ea, index, &entry);

	if (err)
		return err;
	if (entry->inuse)
		err = AM_ERR_IN_USE;
	else
		bind_entry(entry, &name, tag);
	am_unlock(ea->eb);
	return err;
}

int AM_MapAny(ep_t ea, int *index, en_t name, tag_t tag)
{
	int err = AM_ERR_RESOURCE;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea || !index)
		return AM_ERR_BAD_ARG;
	am_lock(ea->eb);
	for (int i = 0; i < ea->ntranslations && err; i++) {
		if (ea->entry[i].inuse)
			continue;
		bind_entry(&ea->entry[i], &name, tag);
		*index = i;
		err = AM_OK;
	}
	am_unlock(ea->eb);
	return err;
}

/* A broken connection is freed with the last entry that is bound to its peer. */
static void unbind_entry(struct am_ep *ep, struct am_entry *entry)
{
	struct am_conn *conn = entry->conn ? entry->conn : am_conn_find(ep, &entry->name);

	entry->inuse = false;
	entry->conn = NULL;
	if (conn)
		am_conn_check(conn);
}

int AM_UnMap(ep_t ea, int index)
{
	struct am_entry *entry;
	int err = lock_entry(ea, index, &entry);

	if (err)
		return err;
	if (!entry->inuse)
		err = AM_ERR_BAD_ARG;
	else if (entry->outstanding)
		err = AM_ERR_IN_USE;
	else
		unbind_entry(ea, entry);
	am_unlock(ea->eb);
	return err;
}

int AM_GetTranslationInuse(ep_t ea, int i)
{
	bool inuse;

	return get_field(ea, i, &inuse, offsetof(struct am_entry, inuse), sizeof(inuse));
}

int AM_GetTranslationTag(ep_t ea, int i, tag_t *tag)
{
	return get_field(ea, i, tag, offsetof(struct am_entry, tag), sizeof(*tag));
}

int AM_GetTranslationName(ep_t ea, int i, en_t *gan)
{
	return get_field(ea, i, gan, offsetof(struct am_entry, name), sizeof(*gan));
}

int AM_GetNumTranslations(ep_t ep, int *pntrans)
{
	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ep || !pntrans)
		return AM_ERR_BAD_ARG;
	am_lock(ep->eb);
	*pntrans = ep->ntranslations;
	am_unlock(ep->eb);
	return AM_OK;
}

int AM_MaxNumTranslations(int *ntrans)
{
	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ntrans)
		return AM_ERR_BAD_ARG;
	*ntrans = MAX_TRANSLATIONS;
	return AM_OK;
}

static int resize(struct am_ep *ep, int ntrans)
{
	struct am_entry *entry;

	for (int i = ntrans; i < ep->ntranslations; i++) {
		if (ep->entry[i].inuse)
			return AM_ERR_IN_USE;
	}
	entry = realloc(ep->entry, (size_t)ntrans * sizeof(*entry));
	if (!entry)
		return AM_ERR_RESOURCE;
	ep->entry = entry;
	if (ntrans > ep->ntranslations)
		memset(&entry[ep->ntranslations], 0,
		       (size_t)(ntrans - ep->ntranslations) * sizeof(*entry));
	ep->ntranslations = ntrans;
	return AM_OK;
}

int AM_SetNumTranslations(ep_t ep, int ntrans)
{
	int err;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ep || ntrans < 1)
		return AM_ERR_BAD_ARG;
	if (ntrans > MAX_TRANSLATIONS)
		return AM_ERR_RESOURCE;
	am_lock(ep->eb);
	err = resize(ep, ntrans);
	am_unlock(ep->eb);
	return err;
}
