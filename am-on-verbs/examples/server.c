// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A key-value server whose threads sleep until a message arrives.
 *
 * Clients write, read and watch values:
 *
 *	vnet run build/release/bin/am_server serve /tmp/store 4 &
 *	vnet run build/release/bin/am_server put /tmp/store colour green
 *	vnet run build/release/bin/am_server get /tmp/store colour
 *	vnet run build/release/bin/am_server watch /tmp/store colour	(and put, elsewhere)
 *	vnet run build/release/bin/am_server stop /tmp/store
 *
 * It shows what ring.c does not: processes that are started independently, threads, waiting
 * without using a CPU, medium and bulk messages, and a peer that dies.
 *
 * Each thread of the server has a bundle with one endpoint, and the keys that hash to its
 * number. Only that thread accesses these keys, so no lock is needed.
 */
#include <am.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define MAX_THREADS 64
#define BUCKETS 1024u

/* Indices of handlers. Messages carry them, so both sides must use the same numbers. */
enum {
	RETURNED, /* the error handler, always 0 */
	PUT, /* server: medium message: key, followed by value */
	GET, /* server: medium message: key */
	WATCH, /* server: medium message: key */
	STOP, /* server: short message */
	HEARD, /* server: reply to CHANGED */
	DONE, /* client: reply to PUT, WATCH and STOP */
	VALUE, /* client: reply to GET: bulk message into the client's segment */
	CHANGED, /* client: short message: a watched value has changed */
};

enum { OK, NO_SUCH_KEY, TOO_LONG, NO_ROOM, NONSENSE };

static const char *const status_text[] = { "ok", "no such key", "the value is too long",
					   "the server has no room",
					   "the server does not understand" };

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "am_server: %s: error %d\n", what, err);
	exit(1);
}

/* ---- How clients find the server -------------------------------------------- */

/*
 * To send to an endpoint, a process needs its name and its tag. A name is plain bytes, and
 * may be transferred in any way; here, in a file with a record per thread. A process that
 * can read the file can use the server, because the tag is its credential.
 */
struct door {
	en_t name;
	tag_t tag;
};

static void write_doors(const char *path, const struct door *door, int n)
{
	char new[4096];
	FILE *file;

	snprintf(new, sizeof(new), "%s.new", path);
	file = fopen(new, "w");
	/* Renamed when it is complete, so that no client reads a partial file. */
	if (!file || fwrite(door, sizeof(*door), (size_t)n, file) != (size_t)n || fclose(file) ||
	    rename(new, path)) {
		perror(path);
		exit(1);
	}
}

static int read_doors(const char *path, struct door *door)
{
	FILE *file = fopen(path, "r");
	int n;

	if (!file) {
		perror(path);
		exit(1);
	}
	n = (int)fread(door, sizeof(*door), MAX_THREADS, file);
	fclose(file);
	return n;
}

static tag_t random_tag(void)
{
	tag_t tag = AM_NONE;

	while (tag == AM_NONE || tag == AM_ALL) {
		if (getrandom(&tag, sizeof(tag), 0) != sizeof(tag))
			check(1, "getrandom");
	}
	return tag;
}

static unsigned int hash(const char *key, size_t length)
{
	unsigned int h = 5381;

	while (length--)
		h = h * 33 + (unsigned char)*key++;
	return h;
}

/* ---- The server -------------------------------------------------------------- */

struct item {
	struct item *next;
	char *value;
	size_t value_length, key_length;
	char key[];
};

/* A client that watches a key. */
struct watcher {
	struct watcher *next;
	const struct item *item;
	int index; /* of the client, in the translation table */
	int32_t number; /* the client's number for this watch */
	bool changed; /* the client is to be notified */
	bool told; /* the client has been notified, and has not replied yet */
	bool dead;
};

struct shard {
	pthread_t thread;
	eb_t eb;
	ep_t ep;
	struct item *bucket[BUCKETS];
	struct watcher *watchers;
	unsigned int handled; /* number of messages handled */
	bool stop;
};

/* The shard of this thread. Handlers run in the thread that polls. */
static _Thread_local struct shard *my;

static struct item **place_of(const char *key, size_t length)
{
	struct item **at = &my->bucket[hash(key, length) / MAX_THREADS % BUCKETS];

	while (*at && ((*at)->key_length != length || memcmp((*at)->key, key, length) != 0))
		at = &(*at)->next;
	return at;
}

static struct item *find_or_make(const char *key, size_t length)
{
	struct item **at = place_of(key, length);

	if (!*at) {
		*at = calloc(1, sizeof(**at) + length);
		if (!*at)
			return NULL;
		(*at)->key_length = length;
		memcpy((*at)->key, key, length);
	}
	return *at;
}

static int32_t set_value(struct item *item, const char *value, size_t length, bool append)
{
	size_t old = append ? item->value_length : 0;
	char *room;

	if (old + length > AM_MaxLong())
		return TOO_LONG;
	room = realloc(item->value, old + length + 1);
	if (!room)
		return NO_ROOM;
	memcpy(room + old, value, length);
	item->value = room;
	item->value_length = old + length;
	for (struct watcher *w = my->watchers; w; w = w->next) {
		if (w->item == item)
			w->changed = true;
	}
	return OK;
}

/*
 * @buf points into the message, and is valid until the handler returns. The contents come
 * from another process, so they are checked.
 */
static void put_handler(void *token, void *buf, int nbytes, int32_t key_length, int32_t append)
{
	const char *key = buf;
	int32_t status = NONSENSE;
	struct item *item;

	my->handled++;
	if (key_length > 0 && key_length <= nbytes) {
		item = find_or_make(key, (size_t)key_length);
		status = NO_ROOM;
		if (item)
			status = set_value(item, key + key_length, (size_t)(nbytes - key_length),
					   append);
	}
	check(AM_Reply1(token, DONE, status), "AM_Reply1");
}

/*
 * The reply copies the value directly into the client's segment. The client's handler runs
 * when all of it has arrived. AM_ReplyXfer0() returns when the value may be changed again.
 */
static void get_handler(void *token, void *buf, int nbytes)
{
	const struct item *item = nbytes > 0 ? *place_of(buf, (size_t)nbytes) : NULL;

	my->handled++;
	if (!item || !item->value)
		check(AM_Reply1(token, DONE, NO_SUCH_KEY), "AM_Reply1");
	else if (AM_ReplyXfer0(token, 0, VALUE, item->value, item->value_length))
		/* The client has no segment, or a smaller one. */
		check(AM_Reply1(token, DONE, TOO_LONG), "AM_Reply1");
}

/*
 * To be notified, the client must be in the translation table. The token has its name; the
 * message contains its tag.
 */
static void watch_handler(void *token, void *buf, int nbytes, int32_t number, int32_t tag_low,
			  int32_t tag_high)
{
	tag_t tag = (tag_t)(uint32_t)tag_high << 32 | (uint32_t)tag_low;
	struct watcher *w = calloc(1, sizeof(*w));
	int32_t status = NO_ROOM;
	en_t client;

	my->handled++;
	if (w && nbytes > 0)
		w->item = find_or_make(buf, (size_t)nbytes);
	if (w && w->item && !AM_GetSourceEndpoint(token, &client) &&
	    !AM_MapAny(my->ep, &w->index, client, tag)) {
		w->number = number;
		w->next = my->watchers;
		my->watchers = w;
		w = NULL;
		status = OK;
	}
	free(w);
	check(AM_Reply1(token, DONE, status), "AM_Reply1");
}

static void stop_handler(void *token)
{
	my->handled++;
	my->stop = true;
	check(AM_Reply1(token, DONE, OK), "AM_Reply1");
}

static void heard_handler(void *token, int32_t index)
{
	(void)token;
	my->handled++;
	for (struct watcher *w = my->watchers; w; w = w->next) {
		if (w->index == index)
			w->told = false;
	}
}

/*
 * A request has been returned. The server only sends requests to watchers. The reason makes
 * no difference here: EUNREACHABLE if the client has died, EBADENDPOINT if it has exited
 * normally. Without this handler, the default one would print the message and abort the
 * server.
 */
static void returned_handler(int status, op_t opcode, void *argblock)
{
	const struct am_arguments *request = argblock;

	(void)opcode;
	my->handled++;
	fprintf(stderr, "am_server: a client that watched is gone (%d)\n", status);
	for (struct watcher *w = my->watchers; w; w = w->next) {
		if (w->index == request->index)
			w->dead = true;
	}
}

static void remove_dead(void)
{
	struct watcher **at = &my->watchers, *w;

	while ((w = *at)) {
		if (!w->dead || AM_UnMap(my->ep, w->index)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		free(w);
	}
}

/*
 * Notifies the watchers whose value has changed. A request handler may not send requests,
 * so this is done outside of handlers. A client is notified again only after it has
 * replied; otherwise a slow or dead client could use up the credits and block this thread.
 * Returns whether anything was sent.
 *
 * A request may run handlers, which may insert watchers at the head of the list.
 */
static bool tell_watchers(void)
{
	bool any = false;

	for (struct watcher *w = my->watchers; w; w = w->next) {
		if (!w->changed || w->told || w->dead)
			continue;
		w->changed = false;
		w->told = true;
		any = true;
		check(AM_Request2(my->ep, w->index, CHANGED, w->number, w->index), "AM_Request2");
	}
	return any;
}

/* Polls until a poll has run no handler. */
static void process_batch(void)
{
	unsigned int before;

	do {
		before = my->handled;
		check(AM_Poll(my->eb), "AM_Poll");
	} while (my->handled != before);
}

/*
 * Main loop of a server thread. It sleeps until a message arrives. Then it disables events,
 * which would only cost time, until it has handled all messages. A message that arrives
 * between the last poll and the wait is not missed: AM_WaitSema() returns at once if a
 * message is waiting.
 */
static void *serve(void *arg)
{
	my = arg;
	while (!my->stop) {
		check(AM_SetEventMask(my->eb, AM_NOTEMPTY), "AM_SetEventMask");
		check(AM_WaitSema(my->eb), "AM_WaitSema");
		check(AM_SetEventMask(my->eb, AM_NOEVENTS), "AM_SetEventMask");
		do {
			process_batch();
			remove_dead();
		} while (tell_watchers());
	}
	/* Waits until the last replies have been delivered. */
	check(AM_FreeBundle(my->eb), "AM_FreeBundle");
	return NULL;
}

static void open_shard(struct shard *shard, struct door *door)
{
	/* AM_SEQ: only one thread uses the bundle, so it needs no lock. */
	check(AM_AllocateBundle(AM_SEQ, &shard->eb), "AM_AllocateBundle");
	check(AM_AllocateEndpoint(shard->eb, &shard->ep, &door->name), "AM_AllocateEndpoint");
	check(AM_SetHandler(shard->ep, RETURNED, returned_handler), "AM_SetHandler");
	check(AM_SetHandler(shard->ep, PUT, put_handler), "AM_SetHandler");
	check(AM_SetHandler(shard->ep, GET, get_handler), "AM_SetHandler");
	check(AM_SetHandler(shard->ep, WATCH, watch_handler), "AM_SetHandler");
	check(AM_SetHandler(shard->ep, STOP, stop_handler), "AM_SetHandler");
	check(AM_SetHandler(shard->ep, HEARD, heard_handler), "AM_SetHandler");
	door->tag = random_tag();
	/* From here on, messages are accepted: the tag was AM_NONE. */
	check(AM_SetTag(shard->ep, door->tag), "AM_SetTag");
}

static int run_server(const char *path, int n)
{
	static struct shard shard[MAX_THREADS];
	struct door door[MAX_THREADS];

	memset(door, 0, sizeof(door));
	for (int i = 0; i < n; i++)
		open_shard(&shard[i], &door[i]);
	write_doors(path, door, n);
	for (int i = 0; i < n; i++)
		check(pthread_create(&shard[i].thread, NULL, serve, &shard[i]), "pthread_create");
	for (int i = 0; i < n; i++)
		pthread_join(shard[i].thread, NULL);
	remove(path);
	return 0;
}

/* ---- A client ---------------------------------------------------------------- */

static struct client {
	eb_t eb;
	ep_t ep;
	tag_t tag;
	/* number of the server's endpoints, which are entries 0 to servers - 1 of the table */
	int servers;
	char *segment; /* receives values */
	int32_t status; /* of the last reply */
	size_t length; /* length of the value that was received */
	bool waiting, changed;
} client;

static void done_handler(void *token, int32_t status)
{
	(void)token;
	client.status = status;
	client.waiting = false;
}

static void value_handler(void *token, void *buf, int nbytes)
{
	(void)buf; /* it is the segment */
	client.length = (size_t)nbytes;
	done_handler(token, OK);
}

static void changed_handler(void *token, int32_t number, int32_t index)
{
	(void)number; /* this client watches only one key */
	client.changed = true;
	check(AM_Reply1(token, HEARD, index), "AM_Reply1");
}

static void server_gone(int status, op_t opcode, void *argblock)
{
	(void)opcode;
	(void)argblock;
	fprintf(stderr, "am_server: the server does not take it (%s)\n",
		status == EUNREACHABLE || status == EBADENDPOINT ? "it is gone" : "error");
	exit(1);
}

static void open_client(const char *path)
{
	struct door door[MAX_THREADS];
	en_t name;

	client.servers = read_doors(path, door);
	check(!client.servers, "no server");
	check(AM_AllocateBundle(AM_SEQ, &client.eb), "AM_AllocateBundle");
	check(AM_AllocateEndpoint(client.eb, &client.ep, &name), "AM_AllocateEndpoint");
	for (int i = 0; i < client.servers; i++)
		check(AM_Map(client.ep, i, door[i].name, door[i].tag), "AM_Map");
	check(AM_SetHandler(client.ep, RETURNED, server_gone), "AM_SetHandler");
	check(AM_SetHandler(client.ep, DONE, done_handler), "AM_SetHandler");
	check(AM_SetHandler(client.ep, VALUE, value_handler), "AM_SetHandler");
	check(AM_SetHandler(client.ep, CHANGED, changed_handler), "AM_SetHandler");
	client.segment = malloc(AM_MaxLong());
	check(!client.segment, "malloc");
	check(AM_SetSeg(client.ep, client.segment, AM_MaxLong()), "AM_SetSeg");
	client.tag = random_tag();
	check(AM_SetTag(client.ep, client.tag), "AM_SetTag");
}

/* The server thread that has the key. */
static int server_of(const char *key)
{
	return (int)(hash(key, strlen(key)) % (unsigned int)client.servers);
}

/*
 * Waits for a reply. This client has nothing else to do, so it polls. Others would sleep,
 * as the server does.
 */
static int32_t answer(void)
{
	client.waiting = true;
	while (client.waiting)
		check(AM_Poll(client.eb), "AM_Poll");
	return client.status;
}

/* Sends the value in pieces that fit into a medium message. Other clients may see a part of it. */
static int32_t put(const char *key, const char *value, size_t length, bool append)
{
	char message[AM_MaxMedium()], *behind_key;
	size_t key_length = strlen(key), room, part;
	int32_t status;

	if (key_length >= sizeof(message) / 2)
		return TOO_LONG;
	behind_key = stpcpy(message, key);
	room = sizeof(message) - key_length;
	do {
		part = length < room ? length : room;
		memcpy(behind_key, value, part);
		check(AM_RequestI2(client.ep, server_of(key), PUT, message, key_length + part,
				   (int32_t)key_length, append),
		      "AM_RequestI2");
		status = answer();
		value += part;
		length -= part;
		append = true;
	} while (length && status == OK);
	return status;
}

static int32_t get(const char *key)
{
	check(AM_RequestI0(client.ep, server_of(key), GET, key, strlen(key)), "AM_RequestI0");
	return answer();
}

static int32_t print_value(const char *key)
{
	int32_t status = get(key);

	if (status == OK) {
		fwrite(client.segment, 1, client.length, stdout);
		putchar('\n');
		fflush(stdout);
	}
	return status;
}

/* Prints each new value of the key until the process is killed. It need not unsubscribe. */
static int32_t watch(const char *key)
{
	int32_t status;

	check(AM_RequestI3(client.ep, server_of(key), WATCH, key, strlen(key), 0,
			   (int32_t)client.tag, (int32_t)(client.tag >> 32)),
	      "AM_RequestI3");
	status = answer();
	print_value(key); /* the current value, if any */
	while (status == OK) {
		check(AM_SetEventMask(client.eb, AM_NOTEMPTY), "AM_SetEventMask");
		while (!client.changed) {
			check(AM_WaitSema(client.eb), "AM_WaitSema");
			check(AM_Poll(client.eb), "AM_Poll");
		}
		client.changed = false;
		status = print_value(key);
	}
	return status;
}

static int32_t stop_server(void)
{
	for (int i = 0; i < client.servers; i++) {
		check(AM_Request0(client.ep, i, STOP), "AM_Request0");
		answer();
	}
	return OK;
}

static int usage(void)
{
	fprintf(stderr, "usage: am_server serve FILE [THREADS]\n"
			"       am_server put|append FILE KEY VALUE\n"
			"       am_server get|watch FILE KEY\n"
			"       am_server stop FILE\n");
	return 2;
}

static int run_client(int argc, char **argv)
{
	const char *command = argv[1], *key = argv[3];
	int32_t status;

	open_client(argv[2]);
	if (argc == 5 && !strcmp(command, "put"))
		status = put(key, argv[4], strlen(argv[4]), false);
	else if (argc == 5 && !strcmp(command, "append"))
		status = put(key, argv[4], strlen(argv[4]), true);
	else if (argc == 4 && !strcmp(command, "get"))
		status = print_value(key);
	else if (argc == 4 && !strcmp(command, "watch"))
		status = watch(key);
	else if (argc == 3 && !strcmp(command, "stop"))
		status = stop_server();
	else
		return usage();
	if (status == OK)
		return 0;
	fprintf(stderr, "am_server: %s\n",
		status > 0 && status <= NONSENSE ? status_text[status] : "?");
	return 1;
}

int main(int argc, char **argv)
{
	int threads = argc == 4 ? atoi(argv[3]) : 1, result;

	if (argc < 3 ||
	    (!strcmp(argv[1], "serve") && (argc > 4 || threads < 1 || threads > MAX_THREADS)))
		return usage();
	check(AM_Init(), "AM_Init");
	result = strcmp(argv[1], "serve") ? run_client(argc, argv) : run_server(argv[2], threads);
	AM_Terminate();
	return result;
}
