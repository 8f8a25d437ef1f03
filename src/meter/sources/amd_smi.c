/* SPDX-License-Identifier: MIT */
/*
 * AMD's driver, through libamd_smi of versions 23 to 26, of which the structures differ.
 *
 * Only what all versions have at one place is read: calls that fill plain variables, the beginning
 * of a structure, or a list whose rows tell their size.  A media engine's utilization is that of
 * encoder and decoder together, and PCIe bytes are not counted: both are absent.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "sources/gpu_driver.h"

enum {
	WELL = 0,
	NOT_SUPPORTED = 2,
	NO_FUNCTION = 2,
	NO_PERMISSION = 10,
	NO_ROOM = 15
}; /* amdsmi_status_t */

#define CALL GPU_CALL
#define GPUS_ONLY UINT64_C(2)
#define TYPE_GPU 1
#define SOCKETS_MAX 64
#define ROOM (GPU_PROCESSES_MAX * 1024) /* bytes, more than any structure or list takes */
#define UNTOUCHED 0xa5 /* bytes of it that the library has not filled */

/* ---- its cards ---- */

static void identify(struct gpu_library *l, uint32_t index, void *device, struct gpu_identity *ret)
{
	unsigned int size = sizeof(ret->uuid);
	char board[4096] = ""; /* amdsmi_asic_info_t, of which the name comes first */
	uint64_t pci = 0;

	*ret = (struct gpu_identity){ .handle = device, .index = index, .minor = index };
	if (CALL(l, "amdsmi_get_gpu_device_uuid", (void *, unsigned int *, char *), device, &size,
		 ret->uuid) != WELL ||
	    !*ret->uuid)
		snprintf(ret->uuid, sizeof(ret->uuid), "amd-gpu-%u", index);
	if (CALL(l, "amdsmi_get_gpu_asic_info", (void *, void *), device, board) == WELL)
		snprintf(ret->model, sizeof(ret->model), "%.63s", board);
	if (CALL(l, "amdsmi_get_gpu_device_bdf", (void *, uint64_t *), device, &pci) == WELL)
		snprintf(ret->pci, sizeof(ret->pci), "%08llx:%02x:%02x.%x",
			 (unsigned long long)(pci >> 16) & UINT32_MAX,
			 (unsigned int)(pci >> 8) & 0xff, (unsigned int)(pci >> 3) & 0x1f,
			 (unsigned int)pci & 7);
}

static void list_socket(struct gpu_library *l, void *socket, struct gpu_identity *ret,
			size_t *ret_count)
{
	void *devices[GPU_CARDS_MAX];
	uint32_t count = ARRAY_SIZE(devices);

	if (CALL(l, "amdsmi_get_processor_handles", (void *, uint32_t *, void **), socket, &count,
		 devices) != WELL)
		return;
	for (uint32_t i = 0; i < MIN(count, GPU_CARDS_MAX) && *ret_count < GPU_CARDS_MAX; i++) {
		struct gpu_identity *card = &ret[*ret_count];
		int type = TYPE_GPU;
		bool is_taken = false;

		(void)CALL(l, "amdsmi_get_processor_type", (void *, int *), devices[i], &type);
		if (type != TYPE_GPU)
			continue;
		identify(l, (uint32_t)*ret_count, devices[i], card);
		for (size_t n = 0; n < *ret_count; n++)
			is_taken |= strcmp(ret[n].uuid, card->uuid) == 0;
		if (is_taken) { /* of older versions all partitions of a card have one */
			const size_t length = strlen(card->uuid);

			snprintf(card->uuid + length, sizeof(card->uuid) - length, "-%s",
				 card->pci);
		}
		++*ret_count;
	}
}

/* A list would hang with one of its cards, so that the cards' own threads tell whether the driver
 * is there: gone, with all cards lost, it begins anew when none of them is inside the library. */
static int list_cards(struct gpu_library *l, struct gpu_identity ret[GPU_CARDS_MAX],
		      size_t *ret_count, struct error *err)
{
	void *sockets[SOCKETS_MAX];
	uint32_t count = ARRAY_SIZE(sockets);
	int r = WELL;

	*ret_count = 0;
	if (l->has_begun && l->lost && l->lost == l->open)
		l->has_begun = false;
	else if (l->has_begun || l->refs <= 2) { /* the source, and this thread */
		if (!l->has_begun) {
			(void)CALL(l, "amdsmi_shut_down", (void)); /* of the time before */
			r = CALL(l, "amdsmi_init", (uint64_t), GPUS_ONLY);
		}
		l->has_begun = r == WELL;
	}
	if (l->has_begun)
		r = CALL(l, "amdsmi_get_socket_handles", (uint32_t *, void **), &count, sockets);
	if (!l->has_begun || r != WELL)
		return error_set(err, -ENODEV,
				 r ? "the driver does not answer (error %d of AMD SMI)"
				   : "the driver is gone",
				 r);
	for (uint32_t i = 0; i < MIN(count, SOCKETS_MAX); i++)
		list_socket(l, sockets[i], ret, ret_count);
	return 0;
}

/* ---- one card ---- */

struct process { /* the middle of amdsmi_proc_info_t: what it took since it began, and holds */
	uint32_t pid;
	uint64_t memory, graphics_ns, encoder_ns;
	uint32_t others[12];
	uint64_t host_memory[2], card_memory;
};

struct gpu_card {
	struct gpu_library *library;
	void *device;
	struct process before[GPU_PROCESSES_MAX];
	size_t before_count;
	uint64_t before_ns;
	uint8_t room[ROOM] __attribute__((aligned(8)));
};

static void open_card(struct gpu_card *c, struct gpu_library *l, void *handle)
{
	c->library = l;
	c->device = handle;
}

/* ---- the table of fields ---- */

enum form { /* what a function takes */
	    FORM_PLAIN, /* (device, what it fills) */
	    FORM_OF, /* (device, argument, what it fills) */
	    FORM_TEMPERATURE, /* (device, sensor, 0: now, what it fills) */
	    FORM_ENERGY, /* (device, what it fills, float *resolution, uint64_t *time) */
};

/* Of what is filled: a number of so many bytes, or the sum of several.  Of one that a card lacks
 * all bits are set.  Rows of one field: the first that is known. */
/* clang-format off */
#define GET "amdsmi_get_"
#define METRICS GET "gpu_metrics_info", FORM_PLAIN, 0
static const struct row {
	size_t field;
	const char *function;
	enum form form;
	uint32_t argument;
	unsigned int at, bytes, count;
	uint64_t multiply, divide; /* to the metric's stored unit */
	uint64_t heat; /* 0: it is a number; else the bits that mean heat or the board */
	uint64_t most; /* what is more is absent; 0: all is right */
} rows[] = {
	{ GPU_FIELD(UTILIZATION), GET "gpu_activity", FORM_PLAIN, 0, 0, 4, 1, 1, 1, 0, 100 },
	{ GPU_FIELD(MEMORY_UTILIZATION), GET "gpu_activity", FORM_PLAIN, 0, 4, 4, 1, 1, 1, 0, 100 },
	{ GPU_FIELD(MEMORY_TOTAL), GET "gpu_memory_total", FORM_OF, 0, 0, 8, 1, 1, 1, 0 },
	{ GPU_FIELD(MEMORY_USED), GET "gpu_memory_usage", FORM_OF, 0, 0, 8, 1, 1, 1, 0 },
	{ GPU_FIELD(TEMPERATURE), GET "temp_metric", FORM_TEMPERATURE, 0, 0, 8, 1, 1, 1, 0 }, /* edge */
	{ GPU_FIELD(TEMPERATURE), GET "temp_metric", FORM_TEMPERATURE, 1, 0, 8, 1, 1, 1, 0 }, /* hotspot */
	{ GPU_FIELD(FAN), GET "gpu_fan_speed", FORM_OF, 0, 0, 8, 1, 100, 255, 0 },
	{ GPU_FIELD(SM_CLOCK), GET "clock_info", FORM_OF, 0, 0, 4, 1, 1000000, 1, 0 },
	{ GPU_FIELD(MEMORY_CLOCK), GET "clock_info", FORM_OF, 4, 0, 4, 1, 1000000, 1, 0 },
	{ GPU_FIELD(POWER), METRICS, 120, 2, 1, 1000000, 1, 0 }, /* current */
	{ GPU_FIELD(POWER), METRICS, 22, 2, 1, 1000000, 1, 0 }, /* average */
	{ GPU_FIELD(POWER_LIMIT), GET "power_cap_info", FORM_OF, 0, 0, 8, 1, 1, 1, 0 },
	{ GPU_FIELD(ENERGY), GET "energy_count", FORM_ENERGY, 0, 0, 8, 1, 1, 1, 0 },
	{ GPU_FIELD(THROTTLED), METRICS, 112, 8, 1, 1, 1, 0x0000ffff00000000 },
	{ GPU_FIELD(THROTTLED), GET "violation_status", FORM_PLAIN, 0, 122, 1, 1, 1, 1, 1 }, /* the socket's heat */
	{ GPU_FIELD(ECC_CORRECTED), GET "gpu_total_ecc_count", FORM_PLAIN, 0, 0, 8, 1, 1, 1, 0 },
	{ GPU_FIELD(ECC_UNCORRECTED), GET "gpu_total_ecc_count", FORM_PLAIN, 0, 8, 8, 1, 1, 1, 0 },
	{ GPU_FIELD(NVLINK_SENT), METRICS, 248, 8, 8, 1024, 1, 0 }, /* XGMI */
	{ GPU_FIELD(NVLINK_RECEIVED), METRICS, 184, 8, 8, 1024, 1, 0 },
};
/* clang-format on */

static int fill(struct gpu_card *c, const struct row *row)
{
	uint64_t time, number = 0;
	float unit = 0;
	int r;

	memset(c->room, 0xff, 512); /* older versions fill less */
	if (row->form == FORM_PLAIN)
		return CALL(c->library, row->function, (void *, void *), c->device, c->room);
	if (row->form == FORM_OF)
		return CALL(c->library, row->function, (void *, uint32_t, void *), c->device,
			    row->argument, c->room);
	if (row->form == FORM_TEMPERATURE) {
		r = CALL(c->library, row->function, (void *, uint32_t, uint32_t, void *), c->device,
			 row->argument, 0, &number);
		number *= r == WELL && number < 1000 ? 1000 : 1; /* older ones: in thousandths */
	} else {
		r = CALL(c->library, row->function, (void *, void *, float *, uint64_t *),
			 c->device, &number, &unit, &time);
		if (r == WELL && (!number || number == UINT64_MAX))
			return NOT_SUPPORTED; /* what cards without a counter give */
		number = r == WELL ? (uint64_t)((double)number * (double)unit) : 0;
	}
	memcpy(c->room, &number, sizeof(number));
	return r;
}

static int get_number(struct gpu_card *c, const struct row *row, uint64_t *ret)
{
	int r = fill(c, row), is_absent = NOT_SUPPORTED;

	*ret = 0;
	for (size_t i = 0; r == WELL && i < row->count; i++) {
		const uint64_t all = UINT64_MAX >> (64 - 8 * row->bytes);
		uint64_t number = 0;

		memcpy(&number, c->room + row->at + i * row->bytes, row->bytes);
		if (number == all)
			continue;
		if (row->most && number > row->most)
			continue; /* 16 bits that were all set, in 32 */
		is_absent = WELL;
		*ret += row->heat ? number : number * row->multiply / row->divide;
	}
	return r == WELL ? is_absent : r;
}

/* Lost is one that tells neither its memory nor what it does. */
static void read_fields(struct gpu_card *c, struct gpu_reading *ret)
{
	bool is_lost = true;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct value *to = &ret->fields[rows[i].field];
		uint64_t number;
		int r = to->is_known ? NOT_SUPPORTED : get_number(c, &rows[i], &number);

		if (rows[i].field == GPU_FIELD(UTILIZATION) ||
		    rows[i].field == GPU_FIELD(MEMORY_TOTAL))
			is_lost &= r != WELL && r != NOT_SUPPORTED;
		if (r == WELL && rows[i].heat) {
			ret->reasons = number & rows[i].heat ? GPU_HEAT : 0;
			ret->reasons |= number & ~rows[i].heat ? GPU_POWER_LIMIT : 0;
			number = ret->reasons & GPU_HEAT;
		}
		if (r == WELL && number <= VALUE_MAX)
			*to = (struct value){ number, true };
	}
	ret->fields[GPU_FIELD(LOST)] = (struct value){ is_lost, true };
}

/* ---- processes ---- */

/* A share of the time since the reading before; without a counter, or before, nothing. */
static struct value share_of(uint64_t ns, uint64_t before_ns, uint64_t interval_ns)
{
	if (!ns || ns < before_ns || !interval_ns)
		return (struct value){};
	return (struct value){ MIN((ns - before_ns) * 100 / interval_ns, UINT64_C(100)), true };
}

static void add_process(const struct gpu_card *c, const struct process *now, struct gpu_reading *to)
{
	struct gpu_process *p = &to->processes[to->process_count++];
	const uint64_t interval_ns = to->boot_ns - c->before_ns;

	*p = (struct gpu_process){
		.pid = now->pid,
		.gpu_instance = GPU_WHOLE,
		.compute_instance = GPU_WHOLE,
		.memory_bytes = { now->card_memory ? now->card_memory : now->memory, true },
		.uid = -1,
	};
	for (size_t i = 0; i < c->before_count; i++) {
		const struct process *before = &c->before[i];

		if (before->pid != now->pid)
			continue;
		p->sm = share_of(now->graphics_ns, before->graphics_ns, interval_ns);
		p->encoder = share_of(now->encoder_ns, before->encoder_ns, interval_ns);
	}
}

/* Before and behind the middle of a row stands a text, whose size depends on the version, as that
 * of the row does. */
static size_t text_size_of(size_t row)
{
	return row < 256 ? 32 : row < 512 ? 64 : 256;
}

static void read_processes(struct gpu_card *c, struct gpu_reading *to)
{
	uint32_t count = GPU_PROCESSES_MAX;
	struct process now[GPU_PROCESSES_MAX];
	size_t end = ROOM, row;

	int r;

	memset(c->room, UNTOUCHED, ROOM);
	r = CALL(c->library, GET "gpu_process_list", (void *, uint32_t *, void *), c->device,
		 &count, c->room);
	/* filled all the same: one cannot be looked at, or there are more */
	if (r != WELL && r != NO_PERMISSION && r != NO_ROOM)
		return;
	while (end && c->room[end - 1] == UNTOUCHED)
		end--;
	count = MIN(count, GPU_PROCESSES_MAX);
	row = count ? ((end + count - 1) / count + 7) / 8 * 8 : 0;
	for (uint32_t i = 0; row >= 208 && i < count && (i + 1) * row <= ROOM; i++) {
		memcpy(&now[i], c->room + i * row + text_size_of(row), sizeof(*now));
		add_process(c, &now[i], to);
	}
	memcpy(c->before, now, to->process_count * sizeof(*now));
	c->before_count = to->process_count;
	c->before_ns = to->boot_ns;
}

static void read_card(struct gpu_card *c, struct gpu_reading *to)
{
	read_fields(c, to);
	if (!to->fields[GPU_FIELD(LOST)].number)
		read_processes(c, to);
}

const struct gpu_driver amd_smi_driver = {
	.files = { "libamd_smi.so", "libamd_smi.so.26", "libamd_smi.so.25", "libamd_smi.so.24" },
	.counter = "amd-smi",
	.power = "amd-smi-power",
	.list = list_cards,
	.card_size = sizeof(struct gpu_card),
	.open = open_card,
	.read = read_card,
};
