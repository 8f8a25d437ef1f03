/* SPDX-License-Identifier: MIT */
/* What leaves sent and received becomes that of jobs and steps. */
#include <errno.h>
#include <stdlib.h>

#include "registry_parts.h"

void registry_network_clear(struct registry_network *n)
{
	free(n->sum);
	*n = (struct registry_network){};
}

const struct network *registry_network_sum(const struct registry_network *n)
{
	static const struct network none;

	return n->sum ? n->sum : &none;
}

struct network *registry_network_own(struct registry_network *n)
{
	if (!n->sum)
		n->sum = calloc(1, sizeof(*n->sum));
	return n->sum;
}

/* NULL: the group used no socket. */
static const struct network *traffic_of(const struct registry *r, const struct registry_group *g)
{
	const struct network *n = g->task ? &r->tasks[g->task - 1].network : NULL;

	return n && !network_is_empty(n) ? n : NULL;
}

int registry_network_reserve(struct registry_member *m, const struct registry_group *g)
{
	if (!traffic_of(m->job->registry, g))
		return 0;
	return registry_network_own(&m->job->network) && (!m->step || registry_network_own(&m->step->network)) ? 0 : -ENOMEM;
}

static void fold(struct registry_network *n, const struct registry *r, const struct network *traffic)
{
	if (traffic)
		network_add(n->sum, traffic);
	n->is_lacking |= !registry_has(r, COUNTED_NETWORK);
	n->lacks_connections |= !registry_has(r, COUNTED_CONNECTIONS);
	n->lacks_details |= !registry_has(r, COUNTED_DETAILS);
}

void registry_network_fold(struct registry_member *m, const struct registry_group *g)
{
	const struct registry *r = m->job->registry;
	const struct network *traffic = traffic_of(r, g);

	fold(&m->job->network, r, traffic);
	if (m->step)
		fold(&m->step->network, r, traffic);
}

struct network registry_network_begin(const struct registry_network *n, const struct registry *r)
{
	struct network network = { .is_known = registry_has(r, COUNTED_NETWORK) && !n->is_lacking,
				   .has_connections = registry_has(r, COUNTED_CONNECTIONS) && !n->lacks_connections,
				   .has_details = registry_has(r, COUNTED_DETAILS) && !n->lacks_details };

	if (network.is_known)
		network_add(&network, registry_network_sum(n));
	return network.is_known ? network : (struct network){};
}

void registry_network_add_group(struct network *to, const struct registry *r, const struct registry_group *g)
{
	const struct network *traffic = traffic_of(r, g);

	if (traffic)
		network_add(to, traffic);
}
