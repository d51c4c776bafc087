// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Parser for link faults, and their transfer to the links. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon.h"
#include "link.h"
#include "process/process.h"

/* Parses "1%" or "0.01" into a fraction of 2^32. */
static bool parse_share(const char *text, u32 *share)
{
	char *end;
	double value = strtod(text, &end);

	if (*end == '%') {
		value /= 100;
		end++;
	}
	if (end == text || *end || !(value >= 0) || value > 1)
		return false;
	value *= 4294967296.0;
	*share = value >= 4294967295.0 ? 0xffffffffu : (u32)value;
	return true;
}

struct unit {
	const char *name;
	double factor;
};

static bool parse_with(const char *text, const struct unit *unit, double most, double *value)
{
	char *end;

	*value = strtod(text, &end);
	if (end == text || !(*value >= 0))
		return false;
	while (unit->name && strcmp(end, unit->name) != 0)
		unit++;
	*value *= unit->factor;
	return unit->name && *value <= most;
}

bool link_parse_time(const char *text, u32 *us)
{
	static const struct unit units[] = {
		{ "us", 1 }, { "ms", 1e3 }, { "s", 1e6 }, { "", 1 }, { NULL, 0 },
	};
	double value;

	if (!parse_with(text, units, 10e6, &value))
		return false;
	*us = (u32)value;
	return true;
}

/* Parses a rate into bytes per second. */
static bool parse_rate(const char *text, u64 *rate)
{
	static const struct unit units[] = {
		{ "bit", 1.0 / 8 },  { "kbit", 1e3 / 8 }, { "mbit", 1e6 / 8 },
		{ "gbit", 1e9 / 8 }, { "kB", 1e3 },       { "MB", 1e6 },
		{ "GB", 1e9 },       { "", 1 },           { NULL, 0 },
	};
	double value;

	if (!parse_with(text, units, 1e12, &value))
		return false;
	*rate = (u64)value;
	return true;
}

static bool parse_number(const char *text, u64 *number)
{
	char *end;

	*number = strtoull(text, &end, 0);
	return isdigit((unsigned char)*text) && !*end;
}

static bool parse_direction(const char *text, u32 *directions)
{
	*directions = !strcmp(text, "out")  ? LINK_OUT :
		      !strcmp(text, "in")   ? LINK_IN :
		      !strcmp(text, "both") ? LINK_OUT | LINK_IN :
					      0;
	return *directions;
}

static bool set_word(struct link_faults *f, const char *word)
{
	if (!strcmp(word, "off"))
		*f = (struct link_faults){ .directions = LINK_OUT };
	else if (!strcmp(word, "down"))
		f->down = 1;
	else if (!strcmp(word, "up"))
		f->down = 0;
	else
		return false;
	return true;
}

static bool set_value(struct link_faults *f, const char *name, const char *value)
{
	const struct {
		const char *name;
		u32 *share;
	} shares[] = {
		{ "loss", &f->loss },
		{ "duplicate", &f->duplicate },
		{ "reorder", &f->reorder },
		{ "corrupt", &f->corrupt },
	};
	const struct {
		const char *name;
		u32 *us;
	} times[] = {
		{ "delay", &f->delay },
		{ "jitter", &f->jitter },
		{ "reorder-by", &f->reorder_by },
	};

	for (u32 i = 0; i < ARRAY_SIZE(shares); i++)
		if (!strcmp(name, shares[i].name))
			return parse_share(value, shares[i].share);
	for (u32 i = 0; i < ARRAY_SIZE(times); i++)
		if (!strcmp(name, times[i].name))
			return link_parse_time(value, times[i].us);
	if (!strcmp(name, "rate"))
		return parse_rate(value, &f->rate);
	if (!strcmp(name, "seed"))
		return parse_number(value, &f->seed);
	if (!strcmp(name, "direction"))
		return parse_direction(value, &f->directions);
	return false;
}

/* Returns an error message for an item; `value` may be NULL. */
static const char *mistake(const char *name, const char *value)
{
	static const struct {
		const char *name, *wants;
	} all[] = {
		{ "loss", "a share, as 1% or 0.01" },
		{ "duplicate", "a share, as 1% or 0.01" },
		{ "reorder", "a share, as 1% or 0.01" },
		{ "corrupt", "a share, as 1% or 0.01" },
		{ "delay", "a time, as 50us or 3ms, to 10s" },
		{ "jitter", "a time, as 50us or 3ms, to 10s" },
		{ "reorder-by", "a time, as 50us or 3ms, to 10s" },
		{ "rate", "a rate, as 100mbit or 5MB" },
		{ "seed", "a number" },
		{ "direction", "in, out or both" },
		{ "peer", "an address, as 127.0.0.2 or fd00::2" },
	};
	static char text[192];

	for (u32 i = 0; i < ARRAY_SIZE(all); i++) {
		if (strcmp(name, all[i].name) != 0)
			continue;
		snprintf(text, sizeof(text), "%s wants %s, not '%s'", name, all[i].wants,
			 value ? value : "");
		return text;
	}
	snprintf(text, sizeof(text), "there is no fault '%s%s%s'", name, value ? "=" : "",
		 value ? value : "");
	return text;
}

/* ----------------------------------------------------------- faults of single peers */

static const u8 nobody[16];

bool link_peer_in_use(const u8 ip[16])
{
	return memcmp(ip, nobody, sizeof(nobody)) != 0;
}

static struct link_peer_faults *place_of(struct link_faulty_peers *peers, const u8 ip[16])
{
	for (u32 i = 0; i < LINK_FAULTY_PEERS; i++)
		if (!memcmp(peers->one[i].peer, ip, sizeof(nobody)))
			return &peers->one[i];
	return NULL;
}

/*
 * Returns the faults of this peer, in a new entry if it has none. Returns `spare` if the table is
 * full, NULL if `text` is no address.
 */
static struct link_faults *faults_of_peer(struct link_faulty_peers *peers, const char *text,
					  struct link_faults *spare)
{
	union link_address address = { .any = { .sa_family = AF_INET } };
	struct link_peer_faults *place;
	u8 ip[16] = { 0 };

	if (inet_pton(AF_INET, text, &address.in.sin_addr) != 1) {
		address.any.sa_family = AF_INET6;
		if (inet_pton(AF_INET6, text, &address.in6.sin6_addr) != 1)
			address.in6.sin6_addr = in6addr_any;
	}
	link_ip(&address, ip);
	if (!link_peer_in_use(ip))
		return NULL;
	place = place_of(peers, ip);
	if (place)
		return &place->faults;
	*spare = (struct link_faults){ .directions = LINK_OUT };
	place = place_of(peers, nobody);
	if (!place)
		return spare;
	memcpy(place->peer, ip, sizeof(ip));
	place->faults = *spare;
	return &place->faults;
}

/*
 * Ends the items of one peer. If its last item was "off", frees its entry: the general faults
 * apply to the peer again. Returns false if the peer needs an entry and the table was full.
 */
static bool peer_is_done(struct link_faulty_peers *peers, const struct link_faults *faults,
			 const struct link_faults *spare, bool off)
{
	if (!off)
		return faults != spare;
	for (u32 i = 0; i < LINK_FAULTY_PEERS; i++)
		if (&peers->one[i].faults == faults)
			memset(&peers->one[i], 0, sizeof(peers->one[i]));
	return true;
}

static u32 places_in_use(const struct link_faulty_peers *peers)
{
	u32 n = LINK_FAULTY_PEERS;

	while (n && !link_peer_in_use(peers->one[n - 1].peer))
		n--;
	return n;
}

const char *link_faults_parse(struct link_faults *all, struct link_faulty_peers *peers,
			      const char *text)
{
	static const char too_many[] =
		"there are as many peers with faults of their own as there can be";
	struct link_faulty_peers p = *peers;
	struct link_faults f = *all, spare, *to = &f;
	bool off = false;
	char item[64];

	if (!f.directions)
		f.directions = LINK_OUT;
	while (*text) {
		size_t length = strcspn(text, ",");
		char *value;

		snprintf(item, sizeof(item), "%.*s", (int)length, text);
		value = strchr(item, '=');
		if (value)
			*value++ = '\0';
		if (length >= sizeof(item))
			return mistake(item, value);
		if (value && !strcmp(item, "peer")) {
			if (!peer_is_done(&p, to, &spare, off))
				return too_many;
			to = faults_of_peer(&p, value, &spare);
			if (!to)
				return mistake(item, value);
		} else if (!(value ? set_value(to, item, value) : set_word(to, item))) {
			return mistake(item, value);
		}
		off = !value && !strcmp(item, "off");
		text += length + (text[length] == ',');
	}
	if (!peer_is_done(&p, to, &spare, off))
		return too_many;
	p.n = places_in_use(&p);
	*all = f;
	*peers = p;
	return NULL;
}

bool link_faults_differ(const struct daemon *daemon, const char *text)
{
	struct link_faulty_peers peers = { 0 }, peers_now = daemon->faulty_peers;
	struct link_faults all = { 0 }, all_now = daemon->faults;

	/* An empty list changes nothing, but fills in the default direction. */
	(void)link_faults_parse(&all_now, &peers_now, "");
	return link_faults_parse(&all, &peers, text) || memcmp(&all, &all_now, sizeof(all)) != 0 ||
	       memcmp(&peers, &peers_now, sizeof(peers)) != 0;
}

/* --------------------------------------------------------------- transfer to a link */

static bool does_something(const struct link_faults *f)
{
	return f->directions && (f->loss || f->duplicate || f->reorder || f->corrupt || f->delay ||
				 f->jitter || f->rate || f->down);
}

/* A new seed restarts the sequence of random decisions. */
static void set_one(struct link_faults *to, struct link_course *course, const struct link_faults *f)
{
	if (to->seed != f->seed)
		nic_store(&course->considered, 0);
	*to = *f;
}

/* An entry with a new peer starts with new counters and a new random sequence. */
static void set_peers(struct link_memory *link, const struct link_faulty_peers *peers)
{
	struct link_faulty_peers *to = &link->faulty_peers;

	for (u32 i = 0; i < LINK_FAULTY_PEERS; i++) {
		const struct link_peer_faults *from = &peers->one[i];
		struct link_course *course = &link->course[1 + i];

		if (memcmp(to->one[i].peer, from->peer, sizeof(from->peer)) != 0)
			memset(course, 0, sizeof(*course));
		set_one(&to->one[i].faults, course, &from->faults);
		memcpy(to->one[i].peer, from->peer, sizeof(from->peer));
	}
	nic_store_release(&to->n, peers->n);
}

void link_faults_set(struct link_memory *link, const struct link_faults *all,
		     const struct link_faulty_peers *peers)
{
	bool any = does_something(all);

	set_one(&link->faults, &link->course[0], all);
	set_peers(link, peers);
	for (u32 i = 0; i < peers->n; i++)
		any = any || does_something(&peers->one[i].faults);
	nic_store_release(&link->faulty, any);
}

int link_faults_init(struct daemon *daemon)
{
	const char *text = daemon->options.faults;
	const char *wrong = text ? link_faults_parse(&daemon->faults, &daemon->faulty_peers, text) :
				   NULL;

	return wrong ? failed(daemon, EINVAL, "--fault: %s", wrong) : 0;
}
