// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * vnet-launch: starts the processes of one parallel program on this machine.
 *
 * It is the PMIx server by which the processes find each other. If one process fails, it
 * ends all.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guard.h"
#include "input.h"
#include "output.h"
#include "ranks.h"
#include "server.h"

/* Time from SIGTERM to SIGKILL, in ms. */
#define GRACE 1000

#define EXIT_USAGE 2
#define EXIT_LAUNCH 125
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND 127

static const char usage[] =
	"Usage: vnet-launch -n N [OPTIONS] PROGRAM [ARGUMENTS...]\n"
	"Starts N processes of PROGRAM on this machine, which find each other by PMIx.\n"
	"When one of them fails, all are ended, and it is told which one and how.\n"
	"\n"
	"  -n N, --np N        how many, 1 to 256\n"
	"  -x NAME=VALUE       set a variable of their environment\n"
	"  --nodes A,B,...     spread them over vnet's emulated nodes of these names: rank 0\n"
	"                      on A, rank 1 on B, and so on round robin (VNET_NODE)\n"
	"  --tag-output        begin each line of output with the rank that wrote it\n"
	"  --help, --version\n"
	"\n"
	"Status: 0 when all ended well; otherwise that of the process that failed first,\n"
	"128 and the signal's number if a signal ended it, or what it aborted the job with.\n"
	"125: vnet-launch failed, 126: PROGRAM cannot be run, 127: there is no PROGRAM.\n";

struct options {
	int n;
	bool tag;
	char *nodes; /* separated by commas, or NULL */
	char **variables; /* NAME=VALUE */
	int nvariables;
	char **program;
};

struct launch {
	struct options options;
	char directory[256];
	struct guard guard;
	struct input input;
	struct output *output; /* NULL: the processes inherit stdout and stderr */
	sigset_t mask; /* the signal mask before open_signals() */
	int signal_fd;
	pid_t pids[MAX_RANKS]; /* 0: ended */
	bool strayed[MAX_RANKS]; /* ended with status 0 without having joined the job */
	int alive;
	int interrupt; /* the first terminating signal that the launcher received, or 0 */
	int status;
	bool failed; /* a process has failed; all are to end */
	long kill_at; /* when to send SIGKILL; 0: not */
};

/* The launcher's stderr. silence_library() moves it away from descriptor 2. */
static int stderr_fd = STDERR_FILENO;

static void __attribute__((format(printf, 1, 2))) say(const char *format, ...)
{
	char line[2048];
	va_list args;
	int n = snprintf(line, sizeof(line), "vnet-launch: ");

	va_start(args, format);
	vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	va_end(args);
	dprintf(stderr_fd, "%s\n", line);
}

static void __attribute__((noreturn)) mistake(const char *what, const char *value)
{
	fprintf(stderr, "vnet-launch: %s: '%s'; see vnet-launch --help\n", what, value);
	exit(EXIT_USAGE);
}

static int number(const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || value < 1 || value > MAX_RANKS)
		mistake("-n wants a number from 1 to 256", text);
	return (int)value;
}

static bool is_name(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	return length > 0 && !isdigit((unsigned char)*text);
}

static char *variable(char *text)
{
	if (!is_name(text, strcspn(text, "=")) || !strchr(text, '='))
		mistake("-x wants NAME=VALUE", text);
	return text;
}

/* Node names follow the rules of "vnet run --node". */
static char *nodes(char *list)
{
	for (const char *name = list;; name++) {
		size_t length = strcspn(name, ",");

		if (length < 1 || length > 32 || *name == '.')
			mistake("--nodes wants names, with commas between", list);
		for (size_t i = 0; i < length; i++)
			if (!isalnum((unsigned char)name[i]) && !strchr("_.-", name[i]))
				mistake("--nodes wants names, with commas between", list);
		name += length;
		if (!*name)
			return list;
	}
}

static void parse(struct options *options, int argc, char **argv)
{
	enum { NODES = 1, TAG, HELP, VERSION };
	static const struct option longs[] = {
		{ "np", required_argument, NULL, 'n' },
		{ "nodes", required_argument, NULL, NODES },
		{ "tag-output", no_argument, NULL, TAG },
		{ "help", no_argument, NULL, HELP },
		{ "version", no_argument, NULL, VERSION },
		{ 0 },
	};
	int c;

	options->variables = calloc((size_t)argc, sizeof(*options->variables));
	if (!options->variables)
		exit(EXIT_LAUNCH);
	while ((c = getopt_long(argc, argv, "+hn:x:", longs, NULL)) != -1) {
		switch (c) {
		case 'n':
			options->n = number(optarg);
			break;
		case 'x':
			options->variables[options->nvariables++] = variable(optarg);
			break;
		case NODES:
			options->nodes = nodes(optarg);
			break;
		case TAG:
			options->tag = true;
			break;
		case VERSION:
			puts("vnet-launch " VNET_VERSION);
			exit(0);
		case 'h':
		case HELP:
			fputs(usage, stdout);
			exit(0);
		default:
			exit(EXIT_USAGE); /* getopt_long() has printed the error */
		}
	}
	options->program = argv + optind;
	if (!options->n)
		mistake("how many processes?", "-n N");
	if (!*options->program)
		mistake("which program?", "PROGRAM");
}

static long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Returns the name of the node of rank @rank (not terminated), and its length in *@length. */
static const char *node_of(const struct launch *l, int rank, int *length)
{
	const char *name = l->options.nodes;
	int count = 1;

	*length = 0;
	if (!name)
		return NULL;
	for (const char *c = name; *c; c++)
		count += *c == ',';
	for (int i = rank % count; i > 0; i--)
		name = strchr(name, ',') + 1;
	*length = (int)strcspn(name, ",");
	return name;
}

/* Returns a string such as "rank 3 (process 4711, node B)". */
static const char *describe(const struct launch *l, int rank, pid_t pid)
{
	static char text[128];
	int length;
	const char *node = node_of(l, rank, &length);

	if (node)
		snprintf(text, sizeof(text), "rank %d (process %d, node %.*s)", rank, (int)pid,
			 length, node);
	else
		snprintf(text, sizeof(text), "rank %d (process %d)", rank, (int)pid);
	return text;
}

static void signal_all(const struct launch *l, int sig)
{
	for (int rank = 0; rank < l->options.n; rank++)
		if (l->pids[rank])
			kill(-l->pids[rank], sig);
}

/*
 * Ends the job. The first failure determines the status. The other processes get SIGTERM,
 * and SIGKILL after GRACE.
 */
static void fail(struct launch *l, int status)
{
	if (l->failed)
		return;
	l->failed = true;
	l->status = status;
	l->kill_at = now() + GRACE;
	signal_all(l, SIGTERM);
	signal_all(l, SIGCONT); /* so that stopped processes handle SIGTERM */
}

/* Replaces control characters: the text comes from a process, and may be printed on a terminal. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text))
			*text = ' ';
}

static void look_for_abort(struct launch *l)
{
	struct server_abort abort;

	if (l->failed || !server_aborted(&abort))
		return;
	make_printable(abort.message);
	say("%s ended the job with status %d: %s", describe(l, abort.rank, l->pids[abort.rank]),
	    abort.status, *abort.message ? abort.message : "(no message)");
	fail(l, abort.status >= 1 && abort.status <= 255 ? abort.status : 1);
}

static const char *others(const struct launch *l)
{
	return l->alive ? "; ending the others" : "";
}

static void killed_by(struct launch *l, int rank, pid_t pid, int status)
{
	int sig = WTERMSIG(status);
	const char *name = sigabbrev_np(sig);

	if (!l->failed && sig != l->interrupt)
		say("%s was killed by signal %d (%s%s)%s%s", describe(l, rank, pid), sig,
		    name ? "SIG" : "", name ? name : strsignal(sig),
		    WCOREDUMP(status) ? ", core dumped" : "", others(l));
	fail(l, 128 + sig);
}

/*
 * If some processes have joined the job and others ended without joining, the former may
 * wait for ever: end the job.
 */
static void look_for_strays(struct launch *l)
{
	if (l->failed || !server_somebody_joined())
		return;
	for (int rank = 0; rank < l->options.n; rank++) {
		if (!l->strayed[rank])
			continue;
		say("rank %d ended, with status 0, and had not joined the job, which others have%s",
		    rank, others(l));
		fail(l, 1);
		return;
	}
}

static void exited(struct launch *l, int rank, pid_t pid, int status)
{
	enum member member = server_member(rank);

	if (status) {
		if (!l->failed)
			say("%s exited with status %d%s", describe(l, rank, pid), status,
			    others(l));
		fail(l, status);
	} else if (member == MEMBER_JOINED) {
		if (!l->failed)
			say("%s exited, with status 0, without leaving the job%s",
			    describe(l, rank, pid), others(l));
		fail(l, 1);
	}
	l->strayed[rank] = member == MEMBER_STRANGER;
}

static void rank_ended(struct launch *l, int rank)
{
	pid_t pid = l->pids[rank];
	bool had_failed = l->failed;
	int status;

	status = rank_reap(pid);
	l->guard.groups[rank] = 0;
	look_for_abort(l); /* an abort counts before the exit status that it causes */
	l->pids[rank] = 0;
	l->alive--;
	if (WIFSIGNALED(status))
		killed_by(l, rank, pid, status);
	else
		exited(l, rank, pid, WEXITSTATUS(status));
	if (l->failed && !had_failed && l->alive)
		server_tell_death(rank);
}

static void reap(struct launch *l)
{
	pid_t pid;

	while ((pid = rank_next_ended()) > 0) {
		int rank = 0;

		while (rank < l->options.n && l->pids[rank] != pid)
			rank++;
		if (rank < l->options.n)
			rank_ended(l, rank);
		else
			waitpid(pid, NULL, 0); /* the guard has been killed */
	}
	look_for_strays(l);
}

/* Handles a terminating signal: the first one is forwarded, the second one kills all processes. */
static void interrupted(struct launch *l, int sig)
{
	if (l->interrupt) {
		fail(l, 128 + sig);
		signal_all(l, SIGKILL);
		return;
	}
	l->interrupt = sig;
	say("got SIG%s, passing it on", sigabbrev_np(sig));
	signal_all(l, sig);
	signal_all(l, SIGCONT);
}

static void handle_signal(struct launch *l, int sig)
{
	switch (sig) {
	case SIGCHLD:
		reap(l);
		break;
	case SIGINT:
	case SIGQUIT:
	case SIGTERM:
	case SIGHUP:
		interrupted(l, sig);
		break;
	case SIGTSTP:
		signal_all(l, SIGSTOP);
		raise(SIGSTOP);
		signal_all(l, SIGCONT);
		break;
	default:
		signal_all(l, sig);
	}
}

static void handle_signals(struct launch *l)
{
	struct signalfd_siginfo info;

	while (read(l->signal_fd, &info, sizeof(info)) == sizeof(info))
		handle_signal(l, (int)info.ssi_signo);
}

static int open_signals(struct launch *l)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGCONT);
	l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->signal_fd < 0)
		return errno;
	sigaddset(&set, SIGPIPE); /* write() returns EPIPE instead */
	/* Blocked before PMIx starts its threads, which inherit the mask. */
	return sigprocmask(SIG_BLOCK, &set, &l->mask) ? errno : 0;
}

static int open_directory(struct launch *l)
{
	const char *parent = getenv("TMPDIR");
	int n;

	n = snprintf(l->directory, sizeof(l->directory), "%s/vnet-launch.XXXXXX",
		     parent && *parent ? parent : "/tmp");
	if (n >= (int)sizeof(l->directory))
		return ENAMETOOLONG;
	return mkdtemp(l->directory) ? 0 : errno;
}

/* The environment of all processes, with room for one more variable per rank. */
static char **base_environment(const struct options *options)
{
	char **base;
	size_t n = 0;

	for (int i = 0; i < options->nvariables; i++) {
		char *text = options->variables[i];
		char *value = strchr(text, '=');

		*value = '\0';
		setenv(text, value + 1, 1);
		*value = '=';
	}
	if (options->nodes)
		unsetenv("VNET_NODE");
	while (environ[n])
		n++;
	base = calloc(n + 2, sizeof(*base));
	if (base)
		memcpy(base, environ, n * sizeof(*base));
	return base;
}

static pid_t start_rank(struct launch *l, struct rank_start *start, int rank, char **base,
			size_t length)
{
	int null = rank ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
	int out = STDOUT_FILENO, err = stderr_fd, error, node_length;
	const char *name = node_of(l, rank, &node_length);
	char node[64];
	pid_t pid = -1;

	if (name) {
		snprintf(node, sizeof(node), "VNET_NODE=%.*s", node_length, name);
		base[length] = node;
	}
	error = l->output ? output_pipes(l->output, rank, &out, &err) : 0;
	if (error) {
		errno = error;
		goto close_null;
	}
	start->fds[0] = rank ? null : l->input.rank_fd;
	start->fds[1] = out;
	start->fds[2] = err;
	start->env = server_environment(rank, base);
	errno = ENOMEM;
	if (start->env)
		pid = rank_start(start);
	error = errno;
	server_free(start->env);
	base[length] = NULL;
	if (l->output) {
		close(out);
		close(err);
	}
	errno = error;
close_null:
	if (null >= 0)
		close(null);
	return pid;
}

/* Exit status if a process cannot be started, like that of env(1). */
static int start_status(int error)
{
	switch (error) {
	case ENOENT:
		return EXIT_NOT_FOUND;
	case EAGAIN:
	case EMFILE:
	case ENFILE:
	case ENOMEM:
		return EXIT_LAUNCH;
	default:
		return EXIT_CANNOT_RUN;
	}
}

/* Starts all processes. Returns 0, or the exit status. */
static int start_ranks(struct launch *l)
{
	struct rank_start start = { .argv = l->options.program, .mask = l->mask };
	char **base = base_environment(&l->options);
	size_t length = 0;
	int error;

	if (!base) {
		say("no memory");
		return EXIT_LAUNCH;
	}
	while (base[length])
		length++;
	for (int rank = 0; rank < l->options.n; rank++) {
		pid_t pid = start_rank(l, &start, rank, base, length);

		if (pid < 0) {
			error = errno;
			free(base);
			say("rank %d cannot run %s: %s", rank, start.argv[0], strerror(error));
			return start_status(error);
		}
		l->pids[rank] = l->guard.groups[rank] = pid;
		l->alive++;
	}
	free(base);
	if (l->input.pipe_fd >= 0)
		close(l->input.rank_fd);
	return 0;
}

static int poll_timeout(const struct launch *l)
{
	long left = l->kill_at - now();

	if (!l->kill_at)
		return -1;
	return left > 0 ? (int)left : 0;
}

static void supervise(struct launch *l)
{
	struct pollfd fds[3 + OUTPUT_FDS(MAX_RANKS)];
	nfds_t outputs, n;
	bool relay;

	while (l->alive) {
		n = 0;
		fds[n++] = (struct pollfd){ l->signal_fd, POLLIN, 0 };
		fds[n++] = (struct pollfd){ server_fd(), POLLIN, 0 };
		relay = input_poll_fd(&l->input, &fds[n]);
		n += relay;
		outputs = l->output ? output_poll_fds(l->output, &fds[n]) : 0;
		if (poll(fds, n + outputs, poll_timeout(l)) < 0 && errno != EINTR)
			break;
		if (l->kill_at && now() >= l->kill_at) {
			signal_all(l, SIGKILL);
			l->kill_at = 0;
		}
		if (fds[1].revents) {
			server_look();
			look_for_abort(l);
			look_for_strays(l);
		}
		if (fds[0].revents)
			handle_signals(l);
		if (relay)
			input_handle(&l->input, &fds[2]);
		if (outputs)
			output_handle(l->output, &fds[n], outputs);
	}
}

/*
 * Redirects descriptor 2 to /dev/null. PMIx would write to it when a process is gone to
 * which it had something to send. The launcher's own message about that process is more
 * useful.
 */
static int silence_library(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	if (null < 0 || copy < 0 || dup2(null, STDERR_FILENO) < 0)
		return errno;
	close(null);
	stderr_fd = copy;
	return 0;
}

/* Sets up all that is needed before processes are started. False: failed, with a message. */
static bool prepare(struct launch *l)
{
	const char *problem;
	int err;

	err = open_signals(l);
	if (!err)
		err = open_directory(l);
	if (err) {
		say("no temporary directory: %s", strerror(err));
		return false;
	}
	err = guard_open(&l->guard, l->directory);
	if (err) {
		say("cannot start a process: %s", strerror(err));
		rmdir(l->directory);
		return false;
	}
	problem = server_open(l->directory, l->options.n);
	if (problem) {
		say("PMIx does not start: %s", problem);
		goto err_guard;
	}
	err = silence_library();
	if (!err)
		err = input_open(&l->input);
	if (!err && l->options.tag) {
		l->output = output_open(l->options.n, stderr_fd);
		err = l->output ? 0 : ENOMEM;
	}
	if (!err)
		return true;
	say("%s", strerror(err));
err_guard:
	guard_close(&l->guard);
	return false;
}

int main(int argc, char **argv)
{
	static struct launch launch;
	struct launch *l = &launch;
	int status;

	parse(&l->options, argc, argv);
	if (!prepare(l))
		return EXIT_LAUNCH;
	status = start_ranks(l);
	if (status)
		fail(l, status);
	supervise(l);
	/* From here on, signals have their default effect on the launcher. */
	sigprocmask(SIG_SETMASK, &l->mask, NULL);
	if (l->output)
		output_close(l->output);
	if (!l->failed)
		server_close();
	guard_close(&l->guard);
	free(l->options.variables);
	return l->status;
}
