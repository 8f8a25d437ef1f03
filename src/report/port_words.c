/* SPDX-License-Identifier: MIT */
#include "port_words.h"

#include "humanize.h"
#include "ports.h"
#include "sentence.h"

static const struct value *counter_of(const struct port *port, enum metric_id id)
{
	return &port->counters[id - METRIC_NODE_PORT_TRANSMIT_BYTES];
}

static struct human tell(const struct port *port, enum metric_id id)
{
	const struct value *value = counter_of(port, id);

	if (!value->is_known)
		return (struct human){ "-" };
	return metric_get(id)->unit == UNIT_BYTES ? humanize_bytes(value->number) : humanize_count(value->number);
}

char *port_words(const struct port *port)
{
	static const struct {
		enum metric_id id;
		const char *what;
	} troubles[] = {
		{ METRIC_NODE_PORT_TRANSMIT_DISCARDS, "discarded" },
		{ METRIC_NODE_PORT_RECEIVE_ERRORS, "received with an error" },
		{ METRIC_NODE_PORT_LINK_FAILURES, "times the link went down" },
	};
	struct sentence s = {};

	sentence_add(&s, "", "%s/%s: sent %s, received %s (%s and %s packets)", port->device, port->number,
		     tell(port, METRIC_NODE_PORT_TRANSMIT_BYTES).text, tell(port, METRIC_NODE_PORT_RECEIVE_BYTES).text,
		     tell(port, METRIC_NODE_PORT_TRANSMIT_PACKETS).text, tell(port, METRIC_NODE_PORT_RECEIVE_PACKETS).text);
	for (size_t i = 0; i < ARRAY_SIZE(troubles); i++) {
		if (counter_of(port, troubles[i].id)->number)
			sentence_add(&s, ", ", "%s %s", tell(port, troubles[i].id).text, troubles[i].what);
	}
	return s.text;
}
