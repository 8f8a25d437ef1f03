/* SPDX-License-Identifier: MIT */
#include "model/sections/ports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/shape.h"

struct port *ports_find(struct ports *p, const char *device, const char *number)
{
	for (size_t i = 0; i < p->count; i++) {
		if (strcmp(p->items[i].device, device) == 0 &&
		    strcmp(p->items[i].number, number) == 0)
			return &p->items[i];
	}
	return NULL;
}

struct port *ports_add(struct ports *p, const char *device, const char *number)
{
	struct port *port = &p->items[p->count];

	if (p->count == PORTS_MAX || strlen(device) >= sizeof(port->device) ||
	    strlen(number) >= sizeof(port->number))
		return NULL;
	*port = (struct port){};
	memcpy(port->device, device, strlen(device));
	memcpy(port->number, number, strlen(number));
	p->count++;
	return port;
}

static struct value difference(const struct value *later, const struct value *earlier)
{
	if (!later->is_known || !earlier->is_known || later->number < earlier->number)
		return (struct value){};
	return (struct value){ later->number - earlier->number, true };
}

void ports_subtract(struct ports *p, const struct ports *earlier)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->count; i++) {
		struct port port = p->items[i];
		const struct port *before = ports_find((struct ports *)earlier, port.device,
						       port.number);

		if (!before)
			continue;
		port.from_ns = before->to_ns;
		for (size_t k = 0; k < PORT_COUNTERS; k++)
			port.counters[k] = difference(&port.counters[k], &before->counters[k]);
		p->items[kept++] = port;
	}
	p->count = kept;
}

static void merge_port(struct port *to, const struct port *from)
{
	to->from_ns = to->from_ns && from->from_ns ? MIN(to->from_ns, from->from_ns) : 0;
	to->to_ns = to->to_ns && from->to_ns ? MAX(to->to_ns, from->to_ns) : 0;
	to->is_shared |= from->is_shared;
	for (size_t k = 0; k < PORT_COUNTERS; k++) {
		uint64_t sum = (uint64_t)to->counters[k].number + from->counters[k].number;
		bool is_known = to->counters[k].is_known && from->counters[k].is_known &&
				sum <= VALUE_MAX;

		to->counters[k] = is_known ? (struct value){ sum, true } : (struct value){};
	}
}

void ports_merge(struct ports *to, const struct ports *from)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct port *source = &from->items[i];
		struct port *port = ports_find(to, source->device, source->number);

		if (port)
			merge_port(port, source);
		else if ((port = ports_add(to, source->device, source->number)))
			*port = *source;
	}
}

/* ---- as text ---- */

#define PORT(member) offsetof(struct port, member)
#define COUNTER(metric) PORT(counters[(metric)-METRIC_NODE_PORT_TRANSMIT_BYTES])

/* clang-format off */
static const struct field port_fields[] = {
	{ "device", SHAPE_TEXT, SHAPE_KEY | SHAPE_NEEDED, PORT(device), PORT_DEVICE_SIZE },
	{ "port", SHAPE_TEXT, SHAPE_KEY | SHAPE_NEEDED, PORT(number), PORT_NUMBER_SIZE },
	{ "from", SHAPE_TIME, 0, PORT(from_ns) },
	{ "to", SHAPE_TIME, 0, PORT(to_ns) },
	{ "shared", SHAPE_BOOL, 0, PORT(is_shared) },
	{ "transmit_bytes", SHAPE_VALUE, 0, COUNTER(METRIC_NODE_PORT_TRANSMIT_BYTES) },
	{ "receive_bytes", SHAPE_VALUE, 0, COUNTER(METRIC_NODE_PORT_RECEIVE_BYTES) },
	{ "transmit_packets", SHAPE_VALUE, 0, COUNTER(METRIC_NODE_PORT_TRANSMIT_PACKETS) },
	{ "receive_packets", SHAPE_VALUE, 0, COUNTER(METRIC_NODE_PORT_RECEIVE_PACKETS) },
	{ "transmit_discards", SHAPE_VALUE, 0, COUNTER(METRIC_NODE_PORT_TRANSMIT_DISCARDS) },
	{ "receive_errors", SHAPE_VALUE, 0, COUNTER(METRIC_NODE_PORT_RECEIVE_ERRORS) },
	{ "link_failures", SHAPE_VALUE, 0, COUNTER(METRIC_NODE_PORT_LINK_FAILURES) },
};
const struct shape port_shape = { SHAPE_OF(struct port, port_fields), .max = PORTS_MAX };
static const struct field fields[] = {
	{ NULL, SHAPE_ARRAY, 0, offsetof(struct ports, items), .rows = &port_shape },
};
/* clang-format on */
const struct shape ports_shape = { SHAPE_OF(struct ports, fields) };

/* ---- a record's, which has a pointer to them ---- */

static bool ports_are_known(const void *section)
{
	return *(struct ports *const *)section;
}

static int ports_begin(void *ret, unsigned int counted UNUSED)
{
	struct ports **ports = ret;

	*ports = calloc(1, sizeof(**ports));
	return *ports ? 0 : -ENOMEM;
}

static void ports_clear(void *section)
{
	free(*(struct ports **)section);
	*(struct ports **)section = NULL;
}

static int ports_add_section(void *sum, const void *part)
{
	const struct ports *from = *(struct ports *const *)part;
	struct ports *to = *(struct ports **)sum;

	if (to && from)
		ports_merge(to, from);
	else
		ports_clear(sum);
	return 0;
}

static int ports_subtract_section(void *later, const void *earlier, struct strings *notes UNUSED)
{
	const struct ports *before = *(struct ports *const *)earlier;
	struct ports *ports = *(struct ports **)later;

	if (ports && before)
		ports_subtract(ports, before);
	else
		ports_clear(later);
	return 0;
}

static void ports_format_section(const void *section, struct document *d)
{
	shape_format(&ports_shape, *(struct ports *const *)section, d);
}

static int ports_parse_section(const struct place *place, const json_t *list, void *ret)
{
	int r = ports_begin(ret, COUNTED_ALL);

	return r < 0 ? r : shape_parse(&ports_shape, place, list, *(struct ports **)ret);
}

const struct section ports_section = {
	.name = "ports",
	.size = sizeof(struct ports *),
	.offset = offsetof(struct record, ports),
	.is_known = ports_are_known,
	.begin = ports_begin,
	.clear = ports_clear,
	.add = ports_add_section,
	.subtract = ports_subtract_section,
	.format = ports_format_section,
	.type = JSON_ARRAY,
	.parse = ports_parse_section,
};
