/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "analysis/rules_internal.h"

#define BILLINGS_MAX 64
#define PARTITION_MAX 64

/* The one of that partition, which an earlier file may have given; NULL: no memory. */
static struct billing *find_or_add(struct billings *billings, const char *partition)
{
	struct billing *larger;

	for (size_t i = 0; i < billings->count; i++) {
		if (strcmp(billings->items[i].partition, partition) == 0)
			return &billings->items[i];
	}
	larger = reallocarray(billings->items, billings->count + 1, sizeof(*larger));
	if (!larger)
		return NULL;
	billings->items = larger;
	larger[billings->count] = (struct billing){ .partition = strdup(partition) };
	return larger[billings->count].partition ? &larger[billings->count++] : NULL;
}

static int read_billing(struct rules_reader *reader, const struct yaml_node *o,
			void *context UNUSED)
{
	struct billings *billings = &reader->rules->billings;
	_cleanup_(billing_clear) struct billing read = {};
	struct billing *billing;
	int r = rules_want_text(reader, o);

	if (r < 0)
		return r;
	if (strlen(o->key) > PARTITION_MAX)
		return rules_refuse(reader, o->line, "billing: '%.16s...' is longer than %d bytes",
				    o->key, PARTITION_MAX);
	r = billing_parse(o->text, &read, reader->err);
	if (r < 0)
		return rules_refuse_within(reader, o, r);
	billing = find_or_add(billings, o->key);
	if (!billing)
		return -ENOMEM;
	if (billings->count > BILLINGS_MAX)
		return rules_refuse(reader, o->line, "billing: there are more than %d",
				    BILLINGS_MAX);
	read.partition = TAKE_PTR(billing->partition);
	billing_clear(billing);
	*billing = read;
	read = (struct billing){};
	return 0;
}

int rules_read_billing(struct rules_reader *reader)
{
	return rules_read_each(reader, "billing", YAML_NODE_MAP, read_billing, NULL);
}
