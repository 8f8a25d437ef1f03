/* SPDX-License-Identifier: MIT */
#include "report_network.h"

#include "cleanup.h"
#include "humanize.h"
#include "network_lines.h"
#include "port_words.h"
#include "record.h"
#include "report_rows.h"

void report_ports(const struct record *r, struct page *page)
{
	for (size_t i = 0; r->ports && i < r->ports->count; i++) {
		_cleanup_free_ char *words = port_words(&r->ports->items[i]);

		if (words)
			page_paragraph(page, i ? NULL : "fabric", words);
	}
}

void report_network(const struct record *r, struct page *page)
{
	struct network_line lines[REACH_COUNT];
	unsigned int count = network_lines(r, lines);

	for (unsigned int i = 0; i < count; i++) {
		page_label(page, lines[i].label);
		page_put(page, PAGE_PLAIN, "%ssent %s  received %s  (%s, %s)%s%s", rows_bound(r),
			 humanize_bytes(lines[i].sent).text, humanize_bytes(lines[i].received).text,
			 lines[i].kinds, lines[i].how_many, *lines[i].again ? "  " : "",
			 lines[i].again);
		page_end_line(page);
		if (*lines[i].round_trips) {
			page_label(page, NULL);
			page_put(page, PAGE_PLAIN, "round trips: %s", lines[i].round_trips);
			page_end_line(page);
		}
	}
}
