/* SPDX-License-Identifier: MIT */
#include "model/sections/ports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "model/json_place.h"
#include "basic/macro.h"
#include "model/metric_json.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"

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

/* "jobmeter_node_infiniband_transmit_bytes_total" is "transmit_bytes". */
static const char *key_of(size_t i, char ret[64])
{
	static const char begin[] = "jobmeter_node_infiniband_", end[] = "_total";
	const char *name = metric_get(port_metric(i))->name + strlen(begin);
	size_t length = strlen(name) - strlen(end);

	memcpy(ret, name, length);
	ret[length] = '\0';
	return ret;
}

static void format_port(const struct port *port, struct document *d)
{
	char key[64];

	document_begin_map(d);
	document_put_string(d, "device", port->device);
	document_put_string(d, "port", port->number);
	document_put_time(d, "from", port->from_ns);
	document_put_time(d, "to", port->to_ns);
	document_put_boolean(d, "shared", port->is_shared);
	for (size_t i = 0; i < PORT_COUNTERS; i++) {
		document_key(d, key_of(i, key));
		if (port->counters[i].is_known)
			document_unsigned(d, port->counters[i].number);
		else
			document_null(d);
	}
	document_end_map(d);
}

void ports_format(const struct ports *p, struct document *d)
{
	document_begin_list(d);
	for (size_t i = 0; i < p->count; i++)
		format_port(&p->items[i], d);
	document_end_list(d);
}

static int take_port(const struct place *place, const json_t *map, void *data)
{
	struct ports *ret = data;
	const char *device = json_string_value(place_member(map, "device")),
		   *number = json_string_value(place_member(map, "port"));
	struct port *port = device && number ? ports_add(ret, device, number) : NULL;
	char key[64];
	int r;

	if (!port)
		return place_refuse(place, "", "has no device and port of that name");
	r = place_take_time(place, map, "from", &port->from_ns);
	if (r == 0)
		r = place_take_time(place, map, "to", &port->to_ns);
	if (r == 0)
		r = place_take_boolean(place, map, "shared", &port->is_shared);
	for (size_t i = 0; r == 0 && i < PORT_COUNTERS; i++)
		r = value_take(place, map, key_of(i, key), 0, &port->counters[i]);
	return r;
}

int ports_parse(const struct place *place, const json_t *list, struct ports *ret)
{
	return place_each(place, list, PORTS_MAX, take_port, ret);
}

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
	ports_format(*(struct ports *const *)section, d);
}

static int ports_parse_section(const struct place *place, const json_t *list, void *ret)
{
	int r = ports_begin(ret, COUNTED_ALL);

	return r < 0 ? r : ports_parse(place, list, *(struct ports **)ret);
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
