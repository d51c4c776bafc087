// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of HELLO and of opened files. Checks which clients are accepted, what they receive, and
 * which files they can use.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout/memory.h"
#include "client.h"

static void welcome_brings_the_nics(void)
{
	struct welcome welcome;
	int sock = client_enter(&welcome);
	const struct nic_header *hdr;

	expect(welcome.msg.version == VNET_PROTO_VERSION);
	expect(welcome.msg.nics == 1);
	/* Memory and kick of the NIC. If it has a link, then also the link's memory and socket. */
	expect(welcome.nfds == (welcome.msg.links & 1 ? 4 : 2));
	expect(welcome.msg.space != 0 && welcome.msg.owner != 0);
	hdr = mmap(NULL, welcome.msg.memory_size[0], PROT_READ | PROT_WRITE, MAP_SHARED,
		   welcome.fd[0], 0);
	expect(hdr != MAP_FAILED);
	expect(hdr->magic == NIC_MAGIC);
	expect(hdr->agent_life == (u32)vnetd_pid());
	/* No client can truncate the memory that others have mapped. */
	expect(ftruncate(welcome.fd[0], 4096) < 0 && errno == EPERM);
	expect(ftruncate(welcome.fd[0], (off_t)welcome.msg.memory_size[0] * 2) < 0);
	close(sock);
}

static void other_versions_are_told(void)
{
	struct vnet_msg_hello msg = {
		.msg = { .type = VNET_MSG_HELLO, .length = sizeof(msg) },
		.version = VNET_PROTO_VERSION + 1,
	};
	struct vnet_msg_open open_msg = {
		.msg = { .type = VNET_MSG_OPEN, .length = sizeof(open_msg) },
		.version = VNET_PROTO_VERSION + 1,
		.minor = VNET_UVERBS_FIRST_MINOR,
	};
	struct vnet_msg_welcome welcome;
	struct vnet_msg_opened opened;
	int other = vnetd_connect();
	int sock = vnetd_connect();

	expect(exchange(sock, &msg, sizeof(msg), &welcome, sizeof(welcome), NULL, NULL) ==
	       sizeof(welcome));
	expect(welcome.error == EPROTO && welcome.version == VNET_PROTO_VERSION);
	close(sock);
	close(other);
	sock = vnetd_connect();
	expect(exchange(sock, &open_msg, sizeof(open_msg), &opened, sizeof(opened), NULL, NULL) ==
	       sizeof(opened));
	expect(opened.error == EPROTO);
	expect(hung_up(sock));
	close(sock);
}

static void memory_must_be_a_process(void)
{
	struct welcome welcome;
	int sock = vnetd_connect();
	int null = open("/dev/null", O_RDWR);
	int maps = open("/proc/self/maps", O_RDONLY);
	int fds[2];

	expect(pipe(fds) == 0);
	expect(hello(sock, 0, 0, -2, &welcome) == EBADF);
	expect(hello(sock, 0, 0, null, &welcome) == EINVAL);
	expect(hello(sock, 0, 0, fds[0], &welcome) == EINVAL);
	expect(hello(sock, 0, 0, maps, &welcome) == EINVAL);
	/* A refused HELLO does not end the connection. */
	expect(hello(sock, 0, 0, -1, &welcome) == 0);
	close(sock);
}

static int in_child(int (*function)(const struct welcome *welcome), const struct welcome *welcome)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(function(welcome));
	expect(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int join(const struct welcome *welcome)
{
	struct welcome again;
	int sock = vnetd_connect();

	return hello(sock, welcome->msg.space, welcome->msg.cookie, -2, &again);
}

static void only_the_process_itself_joins(void)
{
	struct welcome welcome, again;
	int sock = client_enter(&welcome);
	int second = vnetd_connect();
	struct welcome wrong = welcome;

	expect(hello(second, welcome.msg.space, welcome.msg.cookie, -2, &again) == 0);
	expect(again.msg.space == welcome.msg.space && again.nfds == 0);
	wrong.msg.cookie++;
	expect(join(&wrong) == EPERM);
	wrong = welcome;
	wrong.msg.space += 1 << 16;
	expect(join(&wrong) == ESRCH);
	expect(in_child(join, &welcome) == EPERM);
	close(second);
	close(sock);
}

/*
 * A process may be a limited number of clients with a limited number of connections each. Further
 * ones are refused.
 */
static int so_many(const struct welcome *none)
{
	enum { MOST_CLIENTS = 8, MOST_CONNECTIONS = 256 };
	static int sock[MOST_CLIENTS + MOST_CONNECTIONS + 2];
	struct rlimit limit;
	struct welcome welcome, again;
	int error = 0, clients, n = 0;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < 4096)
		return 0;
	sock[n++] = client_enter(&welcome);
	for (int i = 0; i < MOST_CONNECTIONS && !error; i++) {
		sock[n] = vnetd_connect();
		expect(sock[n] >= 0);
		error = hello(sock[n++], welcome.msg.space, welcome.msg.cookie, -2, &again);
	}
	expect(error == EMFILE && n <= MOST_CONNECTIONS + 1);
	clients = 0;
	for (error = 0; clients <= MOST_CLIENTS && !error; clients++) {
		sock[n] = vnetd_connect();
		expect(sock[n] >= 0);
		error = hello(sock[n++], 0, 0, -1, &again);
		for (u32 i = 0; !error && i < again.nfds; i++)
			close(again.fd[i]);
	}
	expect(error == EMFILE);
	while (n)
		close(sock[--n]);
	return 0;
}

/* ------------------------------------------------------------------- files */

static void files_open_by_minor(void)
{
	struct vnet_msg_opened opened;
	int sock = client_open(VNET_UVERBS_FIRST_MINOR, &opened);

	expect(opened.error == 0 && opened.file_id != 0);
	expect(opened.kind == VNET_FILE_UVERBS && opened.minor == VNET_UVERBS_FIRST_MINOR);
	close(sock);
	sock = client_open(VNET_UVERBS_FIRST_MINOR + 1, &opened);
	expect(opened.error == ENXIO);
	expect(hung_up(sock));
	close(sock);
}

static int which(int sock, uint64_t nonce, struct vnet_msg_opened *opened)
{
	struct vnet_msg_adopt msg = {
		.msg = { .type = VNET_MSG_WHICH, .length = sizeof(msg) },
		.nonce = nonce,
	};

	expect(exchange(sock, &msg, sizeof(msg), opened, sizeof(*opened), NULL, NULL) ==
	       sizeof(*opened));
	return (int)opened->error;
}

static int inherited_file;
static struct vnet_msg_opened inherited;

static int adopt(const struct welcome *welcome)
{
	struct vnet_msg_adopt msg = {
		.msg = { .type = VNET_MSG_ADOPT, .length = sizeof(msg) },
		.nonce = 0x1234567890abcdef,
	};
	struct vnet_msg_opened opened;
	struct welcome mine;
	int sock = client_enter(&mine);

	expect(which(sock, msg.nonce, &opened) == ENOENT);
	/* Many repetitions, so that both messages reach the daemon in either order. */
	for (int i = 0; i < 200; i++) {
		msg.nonce++;
		expect(send_message(inherited_file, &msg, sizeof(msg), NULL, 0));
		expect(which(sock, msg.nonce, &opened) == 0);
		expect(opened.file_id == inherited.file_id);
		expect(opened.kind == VNET_FILE_UVERBS);
	}
	return 0;
}

static void an_inherited_file_is_recognised(void)
{
	inherited_file = client_open(VNET_UVERBS_FIRST_MINOR, &inherited);
	expect(in_child(adopt, NULL) == 0);
	close(inherited_file);
}

static void calls_need_a_file(void)
{
	struct vnet_msg_call msg = {
		.msg = { .type = VNET_MSG_WRITE, .length = sizeof(msg) },
		.file_id = 4711,
	};
	struct vnet_msg_opened opened;
	struct welcome welcome;
	int sock = client_enter(&welcome);
	int file = client_open(VNET_UVERBS_FIRST_MINOR, &opened);

	expect(request(sock, &msg, sizeof(msg), NULL, NULL) == EBADF);
	/* A file of the wrong kind. */
	msg.msg.type = VNET_MSG_ASYNC_READ;
	msg.file_id = opened.file_id;
	expect(request(sock, &msg, sizeof(msg), NULL, NULL) == EBADF);
	close(file);
	msg.msg.type = VNET_MSG_WRITE;
	while (request(sock, &msg, sizeof(msg), NULL, NULL) != EBADF)
		usleep(1000);
	close(sock);
}

static int hello_for(const char *devices, struct vnet_msg_welcome *welcome)
{
	struct vnet_msg_hello msg = {
		.msg = { .type = VNET_MSG_HELLO, .length = sizeof(msg) },
		.version = VNET_PROTO_VERSION,
	};
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	int sock = vnetd_connect();
	ssize_t n;

	memset(welcome, 0, sizeof(*welcome));
	strcpy(msg.devices, devices);
	expect(send_message(sock, &msg, sizeof(msg), &mem, 1));
	close(mem);
	n = recv(sock, welcome, sizeof(*welcome), 0);
	close(sock);
	return n == sizeof(*welcome) ? (int)welcome->error : -1;
}

/*
 * An unused daemon with other devices ends for a new one. A daemon in use reports that it has other
 * devices.
 */
static void other_devices_are_made_way_for(void)
{
	char option[] = "--devices=fast0,fast1";
	char *more[] = { option, NULL };
	struct vnet_msg_welcome welcome;
	int others;

	expect(hello_for("vnet0", &welcome) == 0 && !welcome.other_devices);
	expect(hello_for("fast0,fast1", &welcome) == 0 && welcome.other_devices);
	vnetd_kill(SIGTERM);
	vnetd_start();
	expect(hello_for("fast0,fast1", &welcome) == -1);
	expect(vnetd_run(more) == 0);
	others = vnetd_connect();
	expect(hello_for("fast1", &welcome) == 0 && !welcome.other_devices);
	expect(welcome.nics == 2);
	close(others);
}

int main(void)
{
	vnetd_start();
	welcome_brings_the_nics();
	other_versions_are_told();
	memory_must_be_a_process();
	only_the_process_itself_joins();
	files_open_by_minor();
	an_inherited_file_is_recognised();
	calls_need_a_file();
	expect(in_child(so_many, NULL) == 0);
	other_devices_are_made_way_for();
	return 0;
}
