// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The translation table: indices for destinations. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "am_core.h"

#define MAX_TRANSLATIONS (1 << 20)

static bool in_table(ep_t ea, int index)
{
	return index >= 0 && index < ea->ntranslations;
}

static void bind_entry(struct am_entry *entry, const en_t *name, tag_t tag)
{
	*entry = (struct am_entry){ .inuse = true, .name = *name, .tag = tag };
}

int AM_Map(ep_t ea, int index, en_t name, tag_t tag)
{
	int err = AM_OK;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea)
		return AM_ERR_BAD_ARG;
	am_lock(ea->eb);
	if (!in_table(ea, index))
		err = AM_ERR_BAD_ARG;
	else if (ea->entry[index].inuse)
		err = AM_ERR_IN_USE;
	else
		bind_entry(&ea->entry[index], &name, tag);
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

int AM_UnMap(ep_t ea, int index)
{
	int err = AM_OK;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea)
		return AM_ERR_BAD_ARG;
	am_lock(ea->eb);
	if (!in_table(ea, index))
		err = AM_ERR_BAD_ARG;
	else if (!ea->entry[index].inuse)
		err = AM_ERR_BAD_ARG;
	else if (ea->entry[index].outstanding)
		err = AM_ERR_IN_USE;
	else
		ea->entry[index].inuse = false;
	am_unlock(ea->eb);
	return err;
}

int AM_GetTranslationInuse(ep_t ea, int i)
{
	int err;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea)
		return AM_ERR_BAD_ARG;
	am_lock(ea->eb);
	if (!in_table(ea, i))
		err = AM_ERR_BAD_ARG;
	else
		err = ea->entry[i].inuse ? AM_OK : AM_ERR_RESOURCE;
	am_unlock(ea->eb);
	return err;
}

int AM_GetTranslationTag(ep_t ea, int i, tag_t *tag)
{
	int err = AM_OK;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea || !tag)
		return AM_ERR_BAD_ARG;
	am_lock(ea->eb);
	if (!in_table(ea, i))
		err = AM_ERR_BAD_ARG;
	else if (ea->entry[i].inuse)
		*tag = ea->entry[i].tag;
	else
		err = AM_ERR_RESOURCE;
	am_unlock(ea->eb);
	return err;
}

int AM_GetTranslationName(ep_t ea, int i, en_t *gan)
{
	int err = AM_OK;

	if (!am_initialised())
		return AM_ERR_NOT_INIT;
	if (!ea || !gan)
		return AM_ERR_BAD_ARG;
	am_lock(ea->eb);
	if (!in_table(ea, i))
		err = AM_ERR_BAD_ARG;
	else if (ea->entry[i].inuse)
		*gan = ea->entry[i].name;
	else
		err = AM_ERR_RESOURCE;
	am_unlock(ea->eb);
	return err;
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
