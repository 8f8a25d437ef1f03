/* SPDX-License-Identifier: MIT */
#include "sources/node_ports.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/file.h"
#include "basic/dir.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "sources/source.h"

#define CLASS "sys/class/infiniband"
#define NAME_MAX_LENGTH 63
#define DEVICE_PORTS_MAX 64
#define WORD_BYTES                                                                           \
	4 /* PortXmitData and PortRcvData count octets divided by 4 (InfiniBand Architecture \
	     volume 1, PortCounters); Omni-Path's driver the same */
#define RATE_MAX 100000 /* Gb/s */

struct place {
	int root_fd;
	const char *device, *number;
};

/*
 * @end: where the counter of PortCounters, which has no more bits, stops until it is reset. Data
 * and packets have 64 bits on ports with PortCountersExtended, which the kernel uses then under the
 * same name (since Linux 4.5): a value of just 2^32 - 1 is ambiguous, and one reading in 4 thousand
 * million is lost.
 */
/* clang-format off */
static const struct {
	const char *file;
	enum metric_id id;
	uint64_t scale, end;
} counters[] = {
	{ "counters/port_xmit_data",     METRIC_NODE_PORT_TRANSMIT_BYTES,    WORD_BYTES, UINT32_MAX },
	{ "counters/port_rcv_data",      METRIC_NODE_PORT_RECEIVE_BYTES,     WORD_BYTES, UINT32_MAX },
	{ "counters/port_xmit_packets",  METRIC_NODE_PORT_TRANSMIT_PACKETS,  1, UINT32_MAX },
	{ "counters/port_rcv_packets",   METRIC_NODE_PORT_RECEIVE_PACKETS,   1, UINT32_MAX },
	{ "counters/port_xmit_discards", METRIC_NODE_PORT_TRANSMIT_DISCARDS, 1, UINT16_MAX },
	{ "counters/port_rcv_errors",    METRIC_NODE_PORT_RECEIVE_ERRORS,    1, UINT16_MAX },
	{ "counters/link_downed",        METRIC_NODE_PORT_LINK_FAILURES,     1, UINT8_MAX },
};
/* clang-format on */

static bool name_file(const struct place *p, const char *file, char ret[256])
{
	return snprintf(ret, 256, CLASS "/%s/ports/%s/%s", p->device, p->number, file) < 256;
}

static int add(struct samples *to, enum metric_id id, const struct place *p, uint64_t number)
{
	const char *labels[SAMPLE_LABELS_MAX] = { p->device, p->number };

	return samples_add(to, id, labels, number);
}

/* False: not counted, or at its end. */
static bool read_counter(const struct place *p, size_t i, uint64_t *ret)
{
	char path[256];

	return name_file(p, counters[i].file, path) && file_read_u64(p->root_fd, path, ret) == 0 &&
	       *ret != counters[i].end && !__builtin_mul_overflow(*ret, counters[i].scale, ret) &&
	       *ret <= VALUE_MAX;
}

/* "100 Gb/sec (4X EDR)", "2.5 Gb/sec (1X SDR)": in bytes a second. */
static bool parse_rate(const char *text, uint64_t *ret)
{
	const char *rest = text;
	uint64_t whole, tenths = 0;

	if (parse_leading_u64(&rest, &whole) < 0 || rest == text || whole > RATE_MAX)
		return false;
	if (*rest == '.' && rest[1] >= '0' && rest[1] <= '9') {
		tenths = (uint64_t)(rest[1] - '0');
		rest += 2;
	}
	if (strncmp(rest, " Gb/sec", strlen(" Gb/sec")) != 0)
		return false;
	*ret = (whole * 10 + tenths) * 100000000 / 8;
	return true;
}

/* Its counters, its state ("4: ACTIVE" carries data) and its rate. */
static int add_port(const struct place *p, struct samples *to)
{
	char path[256], text[64];
	uint64_t number;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(counters); i++) {
		if (read_counter(p, i, &number))
			r = add(to, counters[i].id, p, number);
	}
	if (r == 0 && name_file(p, "state", path) &&
	    file_read_small(p->root_fd, path, text, sizeof(text)) > 0)
		r = add(to, METRIC_NODE_PORT_ACTIVE, p, strncmp(text, "4:", 2) == 0);
	if (r == 0 && name_file(p, "rate", path) &&
	    file_read_small(p->root_fd, path, text, sizeof(text)) > 0 && parse_rate(text, &number))
		r = add(to, METRIC_NODE_PORT_RATE, p, number);
	return r;
}

static int add_device(int root_fd, const char *device, size_t *left, struct samples *to)
{
	_cleanup_(dir_clear) struct dir ports = {};
	char path[256];
	int r = 0;

	if (snprintf(path, sizeof(path), CLASS "/%s/ports", device) >= (int)sizeof(path) ||
	    dir_read(root_fd, path, DEVICE_PORTS_MAX, &ports) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < ports.count && *left; i++) {
		const struct place port = { root_fd, device, ports.names[i] };

		if (strlen(port.number) > NAME_MAX_LENGTH)
			continue;
		(*left)--;
		r = add_port(&port, to);
	}
	return r;
}

bool node_ports_exist(int root_fd)
{
	_cleanup_(dir_clear) struct dir devices = {};

	return dir_read(root_fd, CLASS, NODE_DEVICES_MAX, &devices) == 0 && devices.count > 0;
}

void node_ports_take(const struct samples *from, struct ports *ret)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct sample *s = &from->items[i];
		struct port *port = ports_find(ret, s->labels[0], s->labels[1]);
		size_t counter = s->id - METRIC_NODE_PORT_TRANSMIT_BYTES;

		if (!port)
			port = ports_add(ret, s->labels[0], s->labels[1]);
		if (port && counter < PORT_COUNTERS)
			port->counters[counter] = (struct value){ s->number, true };
	}
}

/* ---- the source ---- */

struct source_state {
	int root_fd;
};

static int open_source(const struct source_options *options, struct source_state *s,
		       struct error *err UNUSED)
{
	s->root_fd = options->root_fd; /* devices may come later */
	return 0;
}

static int sample(struct source_state *s, uint64_t boot_ns UNUSED, struct samples *to)
{
	_cleanup_(dir_clear) struct dir devices = {};
	size_t left = NODE_DEVICES_MAX;
	int r = 0;

	if (dir_read(s->root_fd, CLASS, NODE_DEVICES_MAX, &devices) < 0)
		return 0;
	for (size_t i = 0; r == 0 && i < devices.count; i++) {
		if (strlen(devices.names[i]) <= NAME_MAX_LENGTH)
			r = add_device(s->root_fd, devices.names[i], &left, to);
	}
	return r;
}

const struct source source_ports = {
	.name = NODE_PORTS_SOURCE,
	.label = NODE_PORTS_LABEL,
	.help = "Sample traffic through InfiniBand and Omni-Path ports: of the node, and of jobs that have the node for themselves.",
	.is_for_jobs = true,
	.size = sizeof(struct source_state),
	.open = open_source,
	.sample = sample,
};
