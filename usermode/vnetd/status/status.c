// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The state of the daemon as a JSON object in a memfd, for `vnet status`. */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clients/clients.h"
#include "clients/connections.h"
#include "cm/cm.h"
#include "daemon.h"
#include "loop/loop.h"
#include "status.h"
#include "uverbs/uverbs.h"

static void put_counters(const struct nic_counters *c, FILE *out)
{
	fprintf(out,
		"\"counters\": {\"drop_no_qp\": %llu, \"drop_qkey\": %llu, "
		"\"drop_no_receive\": %llu, \"drop_length\": %llu, \"drop_address\": %llu, "
		"\"kicks\": %llu, \"recovered\": %llu, \"longest_stretch_requests\": %llu, "
		"\"longest_stretch_bytes\": %llu}",
		nic_load(&c->drop_no_qp), nic_load(&c->drop_qkey), nic_load(&c->drop_no_receive),
		nic_load(&c->drop_length), nic_load(&c->drop_address), nic_load(&c->kicks),
		nic_load(&c->recovered), nic_load(&c->longest_requests),
		nic_load(&c->longest_bytes));
}

/* Completions of all CQs, also of destroyed ones, by the names of ibv_wc_status. */
static void put_completions(const struct nic *nic, FILE *out)
{
	static const char *const names[VNET_WC_STATUS_MAX] = {
		[VNET_WC_SUCCESS] = "success",
		[VNET_WC_LOC_LEN_ERR] = "local_length",
		[VNET_WC_LOC_QP_OP_ERR] = "local_qp_operation",
		[VNET_WC_LOC_PROT_ERR] = "local_protection",
		[VNET_WC_WR_FLUSH_ERR] = "flushed",
		[VNET_WC_MW_BIND_ERR] = "window_bind",
		[VNET_WC_REM_INV_REQ_ERR] = "remote_invalid_request",
		[VNET_WC_REM_ACCESS_ERR] = "remote_access",
		[VNET_WC_REM_OP_ERR] = "remote_operation",
		[VNET_WC_RETRY_EXC_ERR] = "retry_exceeded",
		[VNET_WC_RNR_RETRY_EXC_ERR] = "rnr_retry_exceeded",
	};
	u64 count = nic_load(&nic->hdr->completions[VNET_WC_SUCCESS]);
	u32 i;

	for (i = 0; i < nic->max_cq; i++)
		if (nic->cq[i].num)
			count += nic->cq[i].completions - nic->cq[i].errors;
	fprintf(out, "\"completions\": {\"success\": %llu", count);
	for (i = VNET_WC_SUCCESS + 1; i < VNET_WC_STATUS_MAX; i++)
		if (names[i])
			fprintf(out, ", \"%s\": %llu", names[i],
				nic_load(&nic->hdr->completions[i]));
	putc('}', out);
}

static void put_gids(const struct nic_device *made, FILE *out)
{
	char text[INET6_ADDRSTRLEN];

	fputs("\"gids\": [", out);
	for (u32 i = 0; i < made->device.gids_shown; i++) {
		inet_ntop(AF_INET6, made->device.gid[i], text, sizeof(text));
		fprintf(out, "%s{\"index\": %u, \"gid\": \"%s\", \"ndev\": ", i ? ", " : "", i,
			text);
		json_string(out, made->gid_ndev[i]);
		putc('}', out);
	}
	putc(']', out);
}

static void put_device(struct nic_device *made, FILE *out)
{
	const struct device *device = &made->device;
	const struct nic_header *hdr = device->nic.hdr;
	struct stat st;

	fputs("{\"name\": ", out);
	json_string(out, device->name);
	fprintf(out, ", \"index\": %u, \"uverbs\": \"uverbs%u\", \"node_guid\": \"", device->index,
		device->minor - VNET_UVERBS_FIRST_MINOR);
	for (u32 i = 0; i < sizeof(device->node_guid); i++)
		fprintf(out, "%02x", device->node_guid[i]);
	if (fstat(device->memory_fd, &st) < 0)
		st.st_blocks = 0;
	fprintf(out, "\", \"memory_size\": %llu, \"memory_used\": %llu, \"pending\": %s, ",
		device->memory_size, (unsigned long long)st.st_blocks * 512,
		nic_load(&hdr->pending_summary) ? "true" : "false");
	if (device->lid)
		fprintf(out, "\"lid\": %u, ", device->lid);
	put_gids(made, out);
	fputs(",\n  ", out);
	put_counters(&hdr->counters, out);
	fputs(",\n  ", out);
	link_status(made, out);
	fputs(",\n  ", out);
	put_completions(&device->nic, out);
	fputs(",\n  ", out);
	uverbs_status(&made->device, out);
	putc('}', out);
}

/* Dead clients are listed, too, while objects refer to them. */
static void put_clients(const struct daemon *daemon, FILE *out)
{
	const struct client *client;
	const char *separator = "";

	fputs("\"clients\": [", out);
	for (client = daemon->clients; client; client = client->next) {
		fprintf(out, "%s\n {\"pid\": %d, \"command\": ", separator, client->pid);
		json_string(out, client->command);
		fprintf(out,
			", \"space\": %u, \"owner\": %u, \"connections\": %u, "
			"\"bytes_mapped\": %llu, \"bytes_called\": %llu, \"state\": \"%s\"}",
			client->space, client->owner, client_conns(client),
			nic_load(&daemon->table[client->owner - 1].bytes_mapped),
			nic_load(&daemon->table[client->owner - 1].bytes_called),
			client->dead        ? "gone" :
			client_left(client) ? "leaving" :
					      "alive");
		separator = ",";
	}
	putc(']', out);
}

static void put_files(const struct daemon *daemon, FILE *out)
{
	static const char *const kinds[] = {
		[VNET_FILE_UVERBS] = "uverbs",   [VNET_FILE_CHANNEL] = "channel",
		[VNET_FILE_ASYNC] = "async",     [VNET_FILE_NETLINK] = "netlink",
		[VNET_FILE_RDMA_CM] = "rdma_cm", [VNET_FILE_UMAD] = "umad",
	};
	const char *separator = "";

	fputs("\"files\": [", out);
	for (u32 i = 0; i < FILE_BUCKETS; i++) {
		const struct file *file;

		for (file = daemon->files[i]; file; file = file->next) {
			fprintf(out,
				"%s\n {\"id\": %u, \"kind\": \"%s\", \"device\": \"%s\", "
				"\"closing\": %s}",
				separator, file->id, kinds[file->kind],
				file->device ? file->device->name : "",
				file->closing ? "true" : "false");
			separator = ",";
		}
	}
	putc(']', out);
}

/* Lists parked calls. */
static void put_waiting(const struct daemon *daemon, FILE *out)
{
	const struct conn *conn;
	const char *separator = "";

	fputs("\"waiting\": [", out);
	for (conn = daemon->conns; conn; conn = conn->next) {
		if (!conn->message)
			continue;
		fprintf(out, "%s\n {\"pid\": %d, \"for_ms\": %llu}", separator, conn->pid,
			(clock_now() - conn->parked.since) / NSEC_PER_MSEC);
		separator = ",";
	}
	putc(']', out);
}

static void put_all(struct daemon *daemon, FILE *out)
{
	fprintf(out, "{\"version\": \"%s\", \"pid\": %d, \"node\": ", VNET_VERSION, getpid());
	json_string(out, daemon->options.node);
	fputs(", \"directory\": ", out);
	json_string(out, daemon->dir);
	fprintf(out, ", \"uptime_ms\": %llu, \"connections\": %u,\n",
		(clock_now() - daemon->started) / NSEC_PER_MSEC, daemon->nconns);
	fputs("\"devices\": [", out);
	for (u32 i = 0; i < daemon->ndevices; i++) {
		fputs(i ? ",\n " : "\n ", out);
		put_device(daemon->device[i], out);
	}
	fputs("],\n", out);
	put_clients(daemon, out);
	fputs(",\n", out);
	put_files(daemon, out);
	fputs(",\n", out);
	cm_status(daemon, out);
	fputs(",\n", out);
	put_waiting(daemon, out);
	fputs("}\n", out);
}

int status_make(struct daemon *daemon)
{
	int fd = memfd_create("vnet-status", MFD_CLOEXEC);
	int copy = fd < 0 ? -1 : dup(fd);
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");
	int error = errno;

	if (!out)
		goto err;
	put_all(daemon, out);
	if (fclose(out) < 0) {
		error = errno;
		goto err_fd;
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
err:
	if (copy >= 0)
		close(copy);
err_fd:
	if (fd >= 0)
		close(fd);
	return -error;
}
