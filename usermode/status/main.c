// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* vnet-status: prints the daemon's status, executes link commands, and stops the daemon. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../vnet_proto.h"
#include "../vnetd/process/environment.h"
#include "ask.h"
#include "link.h"
#include "table.h"

#define DEFAULT_ROWS 40

static const char usage[] =
	"Usage: vnet-status [OPTIONS]\n"
	"Prints devices, clients, queue pairs and memory regions of the daemon of this user\n"
	"and node.\n"
	"\n"
	"  --json              print JSON\n"
	"  --watch             print every second, with rates, until interrupted\n"
	"  --interval SECONDS  between two reports\n"
	"  --all               print long lists in full\n"
	"  --stop              end the daemon\n"
	"  --link COMMAND      \"show\", \"fault LIST\", \"device LIST\",\n"
	"                      \"settings LIST\", \"key FILES\": execute it on links, devices\n"
	"  --ignored           print the options of \"vnet run\" in the environment whose\n"
	"                      values differ from those of the running node\n"
	"  --settings          with --link: also print the settings of the transport\n"
	"  --runtime-dir DIR   directory of the daemon's state; default: $VNET_RUNTIME_DIR,\n"
	"                      $XDG_RUNTIME_DIR/vnet, /tmp/vnet-UID\n"
	"  --node NAME         node; default: $VNET_NODE, \"default\"\n"
	"  --help, --version\n"
	"\n"
	"Status 1: no daemon runs, or it does not answer.\n";

struct options {
	bool json;
	bool watch;
	bool stop;
	bool settings;
	bool ignored;
	const char *link;
	double interval;
	struct table_options table;
};

static void __attribute__((noreturn)) mistake(const char *what, const char *value)
{
	fprintf(stderr, "vnet-status: %s '%s'; see vnet-status --help\n", what, value);
	exit(2);
}

static double seconds(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (!isdigit((unsigned char)*text) || *end || value < 0.01 || value > 1e6)
		mistake("--interval wants seconds, 0.01 to 1000000, not", text);
	return value;
}

static void parse(struct options *options, struct ask *ask, int argc, char **argv)
{
	enum {
		JSON = 1,
		WATCH,
		INTERVAL,
		ALL,
		STOP,
		LINK,
		SETTINGS,
		IGNORED,
		DIR_,
		NODE,
		HELP,
		VERSION
	};
	static const struct option longs[] = {
		{ "json", no_argument, NULL, JSON },
		{ "watch", no_argument, NULL, WATCH },
		{ "interval", required_argument, NULL, INTERVAL },
		{ "all", no_argument, NULL, ALL },
		{ "stop", no_argument, NULL, STOP },
		{ "link", required_argument, NULL, LINK },
		{ "settings", no_argument, NULL, SETTINGS },
		{ "ignored", no_argument, NULL, IGNORED },
		{ "runtime-dir", required_argument, NULL, DIR_ },
		{ "node", required_argument, NULL, NODE },
		{ "help", no_argument, NULL, HELP },
		{ "version", no_argument, NULL, VERSION },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "hw", longs, NULL)) != -1) {
		switch (c) {
		case JSON:
			options->json = true;
			break;
		case 'w':
		case WATCH:
			options->watch = true;
			break;
		case INTERVAL:
			options->interval = seconds(optarg);
			break;
		case ALL:
			options->table.rows = 0;
			break;
		case STOP:
			options->stop = true;
			break;
		case LINK:
			options->link = optarg;
			break;
		case SETTINGS:
			options->settings = true;
			break;
		case IGNORED:
			options->ignored = true;
			break;
		case DIR_:
			ask->dir = optarg;
			break;
		case NODE:
			ask->node = optarg;
			break;
		case 'h':
		case HELP:
			fputs(usage, stdout);
			exit(0);
		case VERSION:
			puts("vnet-status " VNET_VERSION);
			exit(0);
		default:
			exit(2);
		}
	}
	if (optind < argc)
		mistake("there is no option", argv[optind]);
}

static double clock_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Print the status once. `*last` is the previous status, and is replaced by this one. */
static bool look(struct options *options, struct ask *ask, struct json **last, FILE *out)
{
	size_t length;
	char *text = ask_status(ask, &length);
	struct json *status;

	if (!text)
		return false;
	if (options->json) {
		fwrite(text, 1, length, out);
		free(text);
		return true;
	}
	status = json_read(text, length);
	free(text);
	if (!status) {
		snprintf(ask->problem, sizeof(ask->problem), "vnetd answered what is not JSON");
		return false;
	}
	table_print(out, status, *last, &options->table);
	json_free(*last);
	*last = status;
	return true;
}

/* Execute a link command, and print the resulting state of the links. */
static bool command_link(struct options *options, struct ask *ask)
{
	size_t length;
	char *text = ask_link(ask, options->link, &length);
	struct json *answer = text ? json_read(text, length) : NULL;
	const struct json *device;

	if (text && !answer)
		snprintf(ask->problem, sizeof(ask->problem), "vnetd answered what is not JSON");
	if (answer && *json_text(answer, "problem"))
		snprintf(ask->problem, sizeof(ask->problem), "%s", json_text(answer, "problem"));
	if (answer && options->json && !ask->problem[0])
		fwrite(text, 1, length, stdout);
	for (device = json_first(answer, "links"); device && !options->json && !ask->problem[0];
	     device = device->next) {
		printf("%s\n", json_text(device, "device"));
		link_print(stdout, device);
		if (options->settings)
			link_print_settings(stdout, device);
	}
	json_free(answer);
	free(text);
	return !ask->problem[0];
}

/*
 * Print the options that count only when a node starts, if the running node has other values. An
 * option is not printed if the daemon cannot be asked.
 */
static void print_ignored(struct ask *ask)
{
	static const struct {
		const char *variable, *option;
	} all[] = {
		{ "VNET_LISTEN", "listen" }, { "VNET_PORT", "port" },
		{ "VNET_PEERS", "peers" },   { "VNET_KEY_FILE", "key" },
		{ "VNET_FAULT", "fault" },   { "VNET_SETTINGS", "settings" },
	};
	const char *before = "";

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const char *value = env_or_default(all[i].variable, NULL);
		char command[VNET_LINK_TEXT], *text;
		struct json *answer;
		size_t length;

		if (!value || snprintf(command, sizeof(command), "compare %s %s", all[i].option,
				       value) >= (int)sizeof(command))
			continue;
		text = ask_link(ask, command, &length);
		answer = text ? json_read(text, length) : NULL;
		if (answer && *json_text(answer, "problem")) {
			printf("%s--%s", before, all[i].option);
			before = ", ";
		}
		json_free(answer);
		free(text);
		if (!text)
			return;
	}
	if (*before)
		putchar('\n');
}

/* Print a whole screen at once, so that it does not flicker. */
static void show(const char *text, size_t length)
{
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	fwrite(text, 1, length, stdout);
	fflush(stdout);
}

/* An interrupt is the normal way to end --watch, so the exit status is 0. */
static void interrupted(int sig)
{
	(void)sig;
	_exit(0);
}

static int watch(struct options *options, struct ask *ask)
{
	struct json *last = NULL;
	double before = clock_seconds();

	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	while (!ferror(stdout)) {
		char *text = NULL;
		size_t length = 0;
		FILE *out = open_memstream(&text, &length);
		struct timespec pause = {
			.tv_sec = (time_t)options->interval,
			.tv_nsec = (long)((options->interval - (double)(time_t)options->interval) *
					  1e9),
		};
		double now = clock_seconds();

		if (!out)
			return 1;
		options->table.elapsed = now - before;
		before = now;
		ask->nobody = false;
		if (!look(options, ask, &last, out)) {
			/* A daemon that starts later is shown when it runs. */
			json_free(last);
			last = NULL;
			fprintf(out, "vnet: %s\n", ask->problem);
		}
		fclose(out);
		show(text, length);
		free(text);
		nanosleep(&pause, NULL);
	}
	return 1;
}

/* A write error (disk full, closed pipe) is a failure. */
static bool written(struct ask *ask)
{
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	snprintf(ask->problem, sizeof(ask->problem), "cannot write the answer: %s",
		 strerror(errno));
	return false;
}

int main(int argc, char **argv)
{
	struct options options = { .interval = 1, .table.rows = DEFAULT_ROWS };
	struct ask ask = { .dir = env_runtime_dir(), .node = env_node_name() };
	struct json *last = NULL;
	bool good;

	parse(&options, &ask, argc, argv);
	if (options.ignored) {
		print_ignored(&ask);
		good = true;
	} else if (options.link) {
		good = command_link(&options, &ask);
	} else if (options.stop) {
		good = ask_stop(&ask);
	} else if (options.watch) {
		return watch(&options, &ask);
	} else {
		good = look(&options, &ask, &last, stdout);
		json_free(last);
	}
	good = good && written(&ask);
	if (!good)
		fprintf(stderr, "vnet: %s\n", ask.problem);
	return good ? 0 : 1;
}
