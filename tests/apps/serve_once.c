// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A web server for one request, whose sockets must be rsockets. A TCP socket would also be
 * reached, because librspreload falls back to TCP; so the program checks its socket.
 *
 *   apps_serve_once ADDRESS PORT FILE
 */
#include <arpa/inet.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static char text[1 << 16];

static size_t read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		err(1, "%s", path);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	return n;
}

static int listen_at(const char *address, const char *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
	struct stat st;

	if (fd < 0)
		err(1, "socket");
	/* The descriptor of an rsocket is that of a file that is no socket. */
	if (fstat(fd, &st) || S_ISSOCK(st.st_mode))
		errx(1, "this is not an rsocket");
	if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
		errx(1, "%s is not an address", address);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1))
		err(1, "%s:%s", address, port);
	return fd;
}

/* Receives the request, up to the empty line. */
static void hear(int fd)
{
	static char request[4096];
	size_t n = 0;
	ssize_t more;

	do {
		more = recv(fd, request + n, sizeof(request) - 1 - n, 0);
		if (more <= 0)
			errx(1, "this is no request: '%s'", request);
		n += (size_t)more;
	} while (!strstr(request, "\r\n\r\n"));
}

static void say(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t sent = send(fd, bytes, n, 0);

		if (sent <= 0)
			err(1, "send");
		bytes += sent;
		n -= (size_t)sent;
	}
}

int main(int argc, char **argv)
{
	char head[128];
	int listener, fd;
	size_t n;

	if (argc != 4)
		errx(2, "usage: %s ADDRESS PORT FILE", argv[0]);
	n = read_file(argv[3]);
	listener = listen_at(argv[1], argv[2]);
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		err(1, "accept");
	hear(fd);
	snprintf(head, sizeof(head), "HTTP/1.0 200 OK\r\nContent-Length: %zu\r\n\r\n", n);
	say(fd, head, strlen(head));
	say(fd, text, n);
	shutdown(fd, SHUT_RDWR);
	close(fd);
	return 0;
}
