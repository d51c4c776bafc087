// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Command-line options of vnetd. Defaults come from environment variables that "vnet run" passes
 * on.
 */
#include <ctype.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "process.h"
#include "environment.h"

#define DEFAULT_IDLE_EXIT (30 * NSEC_PER_SEC)

#define STRING_(x) #x
#define STRING(x) STRING_(x)

static const char usage[] =
	"Usage: vnetd [OPTIONS]\n"
	"The daemon of vnet's emulated RDMA devices: one for each user and node. It is\n"
	"started by the first program that uses the device, and ends when it is idle.\n"
	"\n"
	"  --runtime-dir DIR    sockets and state are below DIR/NODE; default:\n"
	"                       $VNET_RUNTIME_DIR, $XDG_RUNTIME_DIR/vnet, /tmp/vnet-UID\n"
	"  --node NAME          emulated machine; default: $VNET_NODE, \"default\"\n"
	"  --devices NAME,...   one NIC for each; default: $VNET_DEVICES, \"vnet0\"\n"
	"  --idle-exit SECONDS  end when unused for this time; 0: never; default: 30\n"
	"  --listen ADDRESS,... addresses of the NICs for other nodes; default:\n"
	"                       $VNET_LISTEN, an address of the loopback network\n"
	"  --port PORT          UDP port; default: $VNET_PORT, " STRING(
		VNET_WIRE_PORT) "\n"
				"  --key FILE[@NETWORK],...  keys of frames, for all peers or those of a\n"
				"                       network; the first one signs; default:\n"
				"                       $VNET_KEY_FILE; needed for other machines\n"
				"  --peers GID=ADDRESS[/PORT],...  addresses of GIDs that contain none;\n"
				"                       default: $VNET_PEERS\n"
				"  --fault LIST         lose and damage frames; default: $VNET_FAULT; see vnet(1)\n"
				"  --link-layer KIND    of the ports: ethernet or infiniband; default:\n"
				"                       $VNET_LINK_LAYER, \"ethernet\"\n"
				"  --settings LIST      of the transport: NAME=VALUE,...; default: $VNET_SETTINGS\n"
				"  --ready-fd FD        write \"ready\" to FD when the daemon can be reached,\n"
				"                       otherwise the reason\n"
				"  --foreground         do not become a daemon; log to stderr\n"
				"  --help, --version\n"
				"\n"
				"Without --foreground, it returns when the daemon can be reached: status 0, also\n"
				"if another one serves this node already; otherwise 1.\n";

static void __attribute__((noreturn)) mistake(const char *what, const char *value)
{
	fprintf(stderr, "vnetd: %s: '%s'; see vnetd --help\n", what, value);
	exit(2);
}

/* Whether this is a valid file name without a slash or a leading dot. */
static bool good_name(const char *name, size_t length, size_t max)
{
	if (length == 0 || length > max || name[0] == '.')
		return false;
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_.-", name[i]))
			return false;
	return true;
}

static bool good_devices(const char *list)
{
	u32 count = 0;

	for (;;) {
		size_t length = strcspn(list, ",");

		if (!good_name(list, length, sizeof(((struct device *)0)->name) - 1))
			return false;
		if (++count > VNET_MAX_NICS)
			return false;
		/* Refuse duplicate names. */
		for (const char *other = list + length; *other; other += strcspn(other, ",")) {
			other++;
			if (strcspn(other, ",") == length && !strncmp(list, other, length))
				return false;
		}
		if (!list[length])
			return true;
		list += length + 1;
	}
}

static int descriptor(const char *option, const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || value > INT_MAX)
		mistake(option, text);
	return (int)value;
}

static u64 seconds(const char *option, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (!isdigit((unsigned char)*text) || *end || value > 1e9)
		mistake(option, text);
	return (u64)(value * (double)NSEC_PER_SEC);
}

static bool is_infiniband(const char *option, const char *text)
{
	if (!strcmp(text, "infiniband"))
		return true;
	if (strcmp(text, "ethernet") != 0)
		mistake(option, text);
	return false;
}

static u32 port(const char *option, const char *text)
{
	int value = descriptor(option, text);

	if (value < 1 || value > 65535)
		mistake(option, text);
	return (u32)value;
}

/*
 * Makes the paths of a comma-separated list absolute, as the daemon changes its working
 * directory. Returns NULL for an empty list.
 */
static const char *absolute_paths(const char *list)
{
	char *all = strdup("");

	while (list && *list && all) {
		size_t length = strcspn(list, ",");
		char *here = *list != '/' ? getcwd(NULL, 0) : NULL, *more;

		if (asprintf(&more, "%s%s%s%s%.*s", all, *all ? "," : "", here ? here : "",
			     here ? "/" : "", (int)length, list) < 0)
			more = NULL;
		free(here);
		free(all);
		all = more;
		list += length + (list[length] == ',');
	}
	if (all && !*all) {
		free(all);
		all = NULL;
	}
	return all;
}

static bool good_node(const char *node)
{
	return node && good_name(node, strlen(node), MAX_NODE_NAME);
}

static void check(const struct options *options)
{
	if (!good_node(options->node))
		mistake("not a name for a node", options->node);
	if (!good_devices(options->devices))
		mistake("not a list of different device names", options->devices);
	if (options->runtime_dir[0] != '/')
		mistake("not an absolute path", options->runtime_dir);
}

void options_parse(struct options *options, int argc, char **argv)
{
	enum {
		DIR_ = 1,
		NODE,
		DEVICES,
		IDLE,
		LISTEN,
		PORT,
		KEY,
		PEERS,
		FAULT,
		SETTINGS,
		LINK_LAYER,
		READY,
		FOREGROUND,
		HELP,
		VERSION
	};
	static const struct option longs[] = {
		{ "runtime-dir", required_argument, NULL, DIR_ },
		{ "node", required_argument, NULL, NODE },
		{ "devices", required_argument, NULL, DEVICES },
		{ "idle-exit", required_argument, NULL, IDLE },
		{ "listen", required_argument, NULL, LISTEN },
		{ "port", required_argument, NULL, PORT },
		{ "key", required_argument, NULL, KEY },
		{ "peers", required_argument, NULL, PEERS },
		{ "fault", required_argument, NULL, FAULT },
		{ "settings", required_argument, NULL, SETTINGS },
		{ "link-layer", required_argument, NULL, LINK_LAYER },
		{ "ready-fd", required_argument, NULL, READY },
		{ "foreground", no_argument, NULL, FOREGROUND },
		{ "help", no_argument, NULL, HELP },
		{ "version", no_argument, NULL, VERSION },
		{ 0 },
	};
	int c;

	*options = (struct options){
		.node = env_node_name(),
		.devices = env_or_default("VNET_DEVICES", "vnet0"),
		.ready_fd = -1,
		.idle_exit = DEFAULT_IDLE_EXIT,
		.listen = env_or_default("VNET_LISTEN", NULL),
		.key = env_or_default("VNET_KEY_FILE", NULL),
		.peers = env_or_default("VNET_PEERS", NULL),
		.faults = env_or_default("VNET_FAULT", NULL),
		.settings = env_or_default("VNET_SETTINGS", NULL),
		.infiniband = is_infiniband("VNET_LINK_LAYER",
					    env_or_default("VNET_LINK_LAYER", "ethernet")),
		.port = port("VNET_PORT", env_or_default("VNET_PORT", STRING(VNET_WIRE_PORT))),
	};
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case DIR_:
			options->runtime_dir = optarg;
			break;
		case NODE:
			options->node = optarg;
			break;
		case DEVICES:
			options->devices = optarg;
			break;
		case IDLE:
			options->idle_exit = seconds("--idle-exit", optarg);
			break;
		case LISTEN:
			options->listen = optarg;
			break;
		case PORT:
			options->port = port("--port", optarg);
			break;
		case KEY:
			options->key = optarg;
			break;
		case PEERS:
			options->peers = optarg;
			break;
		case FAULT:
			options->faults = optarg;
			break;
		case SETTINGS:
			options->settings = optarg;
			break;
		case LINK_LAYER:
			options->infiniband = is_infiniband("--link-layer", optarg);
			break;
		case READY:
			options->ready_fd = descriptor("--ready-fd", optarg);
			break;
		case FOREGROUND:
			options->foreground = true;
			break;
		case 'h':
		case HELP:
			fputs(usage, stdout);
			exit(0);
		case VERSION:
			puts("vnetd " VNET_VERSION);
			exit(0);
		default:
			exit(2);
		}
	}
	if (optind < argc)
		mistake("not an option", argv[optind]);
	if (!options->runtime_dir)
		options->runtime_dir = env_runtime_dir();
	options->key = absolute_paths(options->key);
	check(options);
}
