// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The cost model: default costs and the reader of cost files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cost.h"

#define KEY(name, value)                                                                           \
	{                                                                                          \
#name, offsetof(struct cost, name), value                                          \
	}

/* sim/costs.default explains each cost and its value. */
static const struct {
	const char *name;
	size_t at;
	double value;
} cost_keys[] = {
	KEY(post, 75),
	KEY(post_recv, 40),
	KEY(poll, 20),
	KEY(poll_empty, 20),
	KEY(doorbell, 40),
	KEY(event, 2000),
	KEY(wqe_fetch, 350),
	KEY(frame_tx, 60),
	KEY(frame_rx, 60),
	KEY(ack_tx, 30),
	KEY(ack_rx, 20),
	KEY(nic_run, 10),
	KEY(dma, 150),
	KEY(dma_rate, 24000),
	KEY(link_rate, 12500),
	KEY(wire, 600),
	KEY(hop, 200),
	KEY(overhead, 66),
	KEY(roce, 200),
	KEY(switch_buffer, 512 << 10),
	KEY(nic_buffer, 1 << 20),
	KEY(link_slack, 16 << 10),
	KEY(star_ports, 64),
	KEY(taper, 1),
};

#define KEYS (sizeof(cost_keys) / sizeof(cost_keys[0]))

static double *cost_field(struct cost *cost, u32 i)
{
	return (double *)(void *)((char *)cost + cost_keys[i].at);
}

void cost_default(struct cost *cost)
{
	u32 i;

	for (i = 0; i < KEYS; i++)
		*cost_field(cost, i) = cost_keys[i].value;
}

bool cost_set(struct cost *cost, const char *key, double value)
{
	u32 i;

	for (i = 0; i < KEYS; i++) {
		if (strcmp(cost_keys[i].name, key) != 0 || !(value >= 0 && value < 1e15))
			continue;
		*cost_field(cost, i) = value;
		/* These are divisors. */
		return cost->link_rate > 0 && cost->dma_rate > 0 && cost->taper >= 1;
	}
	return false;
}

static bool cost_line(struct cost *cost, char *text)
{
	char key[32], rest;
	double value;

	text[strcspn(text, "#\n")] = '\0';
	if (sscanf(text, " %c", &rest) != 1)
		return true;
	return sscanf(text, " %31[a-z_] = %lf %c", key, &value, &rest) == 2 &&
	       cost_set(cost, key, value);
}

bool cost_read(struct cost *cost, const char *path, u32 *line)
{
	FILE *file = fopen(path, "r");
	char text[256];
	bool ok = true;

	*line = 0;
	if (!file)
		return false;
	while (ok && fgets(text, sizeof(text), file)) {
		(*line)++;
		ok = cost_line(cost, text);
	}
	fclose(file);
	return ok;
}
