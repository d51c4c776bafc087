// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Compares the table of moved pages with the mappings of this process. */
#define _GNU_SOURCE
#include <sys/sysmacros.h>

#include "mapped/inside.h"

bool mapped_is_of(const struct session *s, const struct maps_entry *e)
{
	struct stat st = { 0 };

	return e->shared && e->inode && e->offset == e->start && !sys_fstat(s->memory_fd, &st) &&
	       st.st_ino == e->inode && major(st.st_dev) == e->major &&
	       minor(st.st_dev) == e->minor;
}

/*
 * The program may have unmapped pages, or mapped others in their place, without our notice: in a
 * library that bypasses ours, or in libc, whose free() calls munmap() itself. Such pages are taken
 * out of the table.
 */
struct check {
	/* Next range, and the first address in it that is not checked. */
	u32 i;
	u64 at;
	/* What is lost: parts of ranges. */
	struct mapped_range lost[MAPPED_PARTS];
	u32 nlost;
	/* Parts with other rights than the rest of their range. */
	struct mapped_range changed[MAPPED_PARTS];
	u32 nchanged;
};

static void lose(struct check *c, u64 end)
{
	if (c->at < end && c->nlost < MAPPED_PARTS)
		c->lost[c->nlost++] = (struct mapped_range){ .session = mapped_range[c->i].session,
							     .start = c->at,
							     .end = end };
	c->at = end;
}

static void next_range(struct check *c)
{
	lose(c, mapped_range[c->i].end);
	c->i++;
	c->at = c->i < mapped_count ? mapped_range[c->i].start : 0;
}

static bool check_entry(const struct maps_entry *e, void *arg)
{
	struct check *c = arg;

	while (c->i < mapped_count && mapped_range[c->i].end <= e->start)
		next_range(c);
	while (c->i < mapped_count && mapped_range[c->i].start < e->end) {
		struct mapped_range *r = &mapped_range[c->i];
		u64 end = smaller(r->end, e->end);

		lose(c, larger(c->at, smaller(e->start, end)));
		if (!mapped_is_of(r->session, e))
			lose(c, end);
		else if (e->prot != r->prot && c->nchanged < MAPPED_PARTS)
			c->changed[c->nchanged++] = (struct mapped_range){
				.session = r->session, .start = c->at, .end = end, .prot = e->prot
			};
		c->at = end;
		if (end < r->end)
			break;
		next_range(c);
	}
	return c->i < mapped_count;
}

static void split_changed(const struct mapped_range *part)
{
	mapped_change_table();
	mapped_forget(part->start, part->end);
	(void)mapped_insert(mapped_first_after(part->start), part);
	mapped_table_changed();
}

/* Returns 1 if more parts than one check can hold were found, 0 if not, or a negative errno. */
static int check_once(void)
{
	struct check c = { .at = mapped_range[0].start };
	int ret = maps_read(false, check_entry, &c);

	if (ret)
		return ret;
	while (c.i < mapped_count)
		next_range(&c);
	for (u32 i = 0; i < c.nchanged; i++)
		split_changed(&c.changed[i]);
	for (u32 i = 0; i < c.nlost; i++) {
		struct mapped_range *lost = &c.lost[i];

		mapped_forget(lost->start, lost->end);
		if (lost->session == session_current() && session_alive(lost->session))
			(void)mapped_tell(lost->session, VNET_MAP_GONE, 0, lost->start, lost->end);
		mapped_punch(lost->session, lost->start, lost->end);
	}
	return c.nlost == MAPPED_PARTS || c.nchanged == MAPPED_PARTS;
}

int mapped_check(void)
{
	int ret = 1;

	while (mapped_count && ret > 0)
		ret = check_once();
	return mapped_count ? ret : 0;
}
