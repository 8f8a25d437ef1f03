/* SPDX-License-Identifier: MIT */
#include "report/shade.h"

#include <assert.h>

#include "analysis/core_time.h"
#include "report/html.h"

enum colour { BLUE, VERMILLION, ORANGE, PURPLE, SKY, GREEN, YELLOW, GREY };

/* clang-format off */
const struct shade shade_on_cpu = { .label = "on a CPU", .word = "on CPU", .colour = BLUE };
const struct shade shade_system = { .label = "in the kernel", .colour = BLUE, .is_striped = true };
const struct shade shade_idle = { .label = "idle", .word = "idle", .colour = GREY };
const struct shade shade_read = { .label = "read", .colour = VERMILLION };
const struct shade shade_write = { .label = "written", .colour = VERMILLION, .is_striped = true };
const struct shade shade_received = { .label = "received", .colour = SKY };
const struct shade shade_sent = { .label = "sent", .colour = SKY, .is_striped = true };
const struct shade shade_memory = { .label = "in use", .colour = GREEN };
const struct shade shade_power = { .label = "power", .colour = YELLOW };

static const struct shade causes[LOST_COUNT] = {
	[CAUSE_FILE_READ]  = { "reading files", "reading files", "reads", VERMILLION, false },
	[CAUSE_FILE_WRITE] = { "writing files", "writing files", "writes", VERMILLION, true },
	[CAUSE_FILE_META]  = { "metadata calls", "in metadata calls", "metadata", ORANGE, false },
	[CAUSE_FILE_ASYNC] = { "asynchronous I/O", "for libaio or io_uring", "async I/O", ORANGE, true },
	[CAUSE_SYNC]       = { "sync to disk", "in sync", "sync", PURPLE, false },
	[CAUSE_PAGE_FAULT] = { "page faults", "in page faults", "page faults", PURPLE, true },
	[CAUSE_NETWORK]    = { "network", "for the network", "network", SKY, false },
	[CAUSE_LOCK]       = { "locks", "for locks", "lock waits", GREEN, false },
	[CAUSE_PIPE]       = { "pipes", "in pipes", "pipe", GREY, false },
	[CAUSE_POLL]       = { "poll", "in poll", "poll", GREY, false },
	[CAUSE_SLEEP]      = { "sleep", "asleep", "sleep", GREY, false },
	[CAUSE_CHILDREN]   = { "children", "for children", "children", GREY, false },
	[CAUSE_THREADS]    = { "other threads", "for other threads", "threads", GREY, false },
	[CAUSE_STOPPED]    = { "stopped", "stopped", "stopped", GREY, false },
	[CAUSE_OTHER]      = { "other", "elsewhere", "other", GREY, false },
	[LOST_RUN_QUEUE]   = { "waiting for a CPU", NULL, "CPU wait", YELLOW, false },
	[LOST_STOLEN]      = { "stolen by a hypervisor or interrupts", NULL, "stolen", YELLOW, true },
};
/* clang-format on */

const struct shade *shade_of_cause(size_t cause)
{
	assert(cause < LOST_COUNT);
	return &causes[cause];
}

/* Stripes run across, since plots are stretched along. */
static void put_pattern(unsigned int colour, struct html *h)
{
	html_begin(h, "pattern");
	html_attribute(h, "id", "stripes%u", colour);
	html_attribute(h, "patternUnits", "userSpaceOnUse");
	html_attribute(h, "width", "5");
	html_attribute(h, "height", "5");
	html_begin(h, "rect");
	html_attribute(h, "class", "c%u", colour);
	html_attribute(h, "width", "5");
	html_attribute(h, "height", "5");
	html_end(h);
	html_begin_class(h, "rect", "stripe");
	html_attribute(h, "y", "2");
	html_attribute(h, "width", "5");
	html_attribute(h, "height", "1.5");
	html_end(h);
	html_end(h);
}

void shade_put_patterns(struct html *h)
{
	html_begin_class(h, "svg", "patterns");
	html_attribute(h, "width", "0");
	html_attribute(h, "height", "0");
	html_attribute(h, "aria-hidden", "true");
	html_begin(h, "defs");
	for (unsigned int colour = 0; colour < SHADE_COLOURS; colour++)
		put_pattern(colour, h);
	html_end(h);
	html_end(h);
}

void shade_put_fill(const struct shade *shade, struct html *h)
{
	if (shade->is_striped)
		html_attribute(h, "fill", "url(#stripes%u)", shade->colour);
	else
		html_attribute(h, "class", "c%u", shade->colour);
}

void shade_put_swatch(const struct shade *shade, struct html *h)
{
	html_begin_class(h, "svg", "swatch");
	html_attribute(h, "width", "14");
	html_attribute(h, "height", "14");
	html_attribute(h, "aria-hidden", "true");
	html_begin(h, "rect");
	shade_put_fill(shade, h);
	html_attribute(h, "width", "14");
	html_attribute(h, "height", "14");
	html_end(h);
	html_end(h);
}
