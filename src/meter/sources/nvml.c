/* SPDX-License-Identifier: MIT */
/* NVIDIA's driver, through libnvidia-ml (NVML). */
#include "sources/gpu_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/error.h"
#include "basic/macro.h"

enum { WELL = 0, NO_FUNCTION = 13, LOST = 15 }; /* nvmlReturn_t */

#define NOT_AVAILABLE UINT64_MAX /* a process' memory */
#define EVENT_XID UINT64_C(8)
#define EVENTS_MAX 64 /* taken at one reading */
#define GPM_GRAPHICS 1 /* of an instance, which has no utilization */
#define FIELD_OF_LINKS_MAX 150 /* of these a scope means which link */
static const struct {
	uint64_t bit; /* nvmlClocksThrottleReason...: others are of an idle card, or settings */
	enum gpu_reason reason;
} reasons[] = { { 0x04, GPU_POWER_LIMIT },
		{ 0x08, GPU_HARDWARE },
		{ 0x20, GPU_HEAT },
		{ 0x40, GPU_HEAT },
		{ 0x80, GPU_POWER_BRAKE } };

/* ---- what the library's functions take ---- */

struct memory { /* nvmlMemory_t */
	unsigned long long total, free, used;
};
struct process { /* nvmlProcessInfo_t of version 2 and 3 */
	unsigned int pid;
	unsigned long long memory;
	unsigned int gpu_instance, compute_instance;
};
struct process_use { /* nvmlProcessUtilizationSample_t */
	unsigned int pid;
	unsigned long long time;
	unsigned int sm, memory, encoder, decoder;
};
struct attributes { /* nvmlDeviceAttributes_t */
	unsigned int others[7], compute_slices;
	unsigned long long memory_mib;
};
struct pci { /* nvmlPciInfo_t */
	char legacy[16];
	unsigned int others[5];
	char id[32];
};
struct field_value { /* nvmlFieldValue_t */
	unsigned int id, scope;
	long long times[2];
	unsigned int type; /* nvmlValueType_t: 0 double, 1 unsigned int */
	int result;
	union {
		double real;
		unsigned int u32;
		unsigned long long u64;
	} value;
};
struct event { /* nvmlEventData_t */
	void *device;
	unsigned long long type, data;
	unsigned int gpu_instance, compute_instance;
};
struct gpm_metrics { /* nvmlGpmMetricsGet_t, as far as it is read: one metric */
	unsigned int version, count;
	void *before, *now;
	unsigned int id;
	int result;
	double value;
	const char *names[3];
};
_Static_assert(sizeof(struct process) == 24 && sizeof(struct process_use) == 32 &&
		       sizeof(struct pci) == 68 && sizeof(struct field_value) == 40 &&
		       sizeof(struct event) == 32 && sizeof(struct attributes) == 40 &&
		       sizeof(struct gpm_metrics) == 64,
	       "as NVIDIA's header has them");

/* ---- the library ---- */

#define CALL GPU_CALL
/* Of a device, which fills a variable or, with its size, a text. */
#define GET(n, name, device, ret) CALL(n, name, (void *, void *), device, ret)
#define GET_TEXT(n, name, device, ret) \
	CALL(n, name, (void *, char *, unsigned int), device, ret, sizeof(ret))

/* ---- its cards ---- */

static void identify(struct gpu_library *n, uint32_t index, void *device, struct gpu_identity *ret)
{
	struct pci pci = {};

	*ret = (struct gpu_identity){ .handle = device, .index = index, .minor = UINT32_MAX };
	if (GET_TEXT(n, "nvmlDeviceGetUUID", device, ret->uuid) != WELL)
		snprintf(ret->uuid, sizeof(ret->uuid), "gpu-%u", index);
	(void)GET_TEXT(n, "nvmlDeviceGetName", device, ret->model);
	(void)GET(n, "nvmlDeviceGetMinorNumber", device, &ret->minor);
	if (GET(n, "nvmlDeviceGetPciInfo_v3", device, &pci) == WELL)
		snprintf(ret->pci, sizeof(ret->pci), "%.31s", pci.id);
}

static int list_cards(struct gpu_library *n, struct gpu_identity ret[GPU_CARDS_MAX],
		      size_t *ret_count, struct error *err)
{
	unsigned int count = 0;
	void *device;
	int r = n->has_begun ? WELL : CALL(n, "nvmlInit_v2", (void));

	*ret_count = 0;
	n->has_begun |= r == WELL;
	if (r == WELL)
		r = CALL(n, "nvmlDeviceGetCount_v2", (unsigned int *), &count);
	if (r != WELL) { /* reloaded, for instance */
		if (n->has_begun)
			(void)CALL(n, "nvmlShutdown", (void));
		n->has_begun = false;
		return error_set(err, -ENODEV, "the driver does not answer (error %d of NVML)", r);
	}
	for (unsigned int i = 0; i < MIN(count, GPU_CARDS_MAX); i++) {
		if (CALL(n, "nvmlDeviceGetHandleByIndex_v2", (unsigned int, void **), i, &device) ==
		    WELL)
			identify(n, i, device, &ret[(*ret_count)++]);
	}
	return 0;
}

/* ---- one card ---- */

struct gpm { /* of the card, or of one of its GPU instances */
	uint32_t gpu_instance;
	void *samples[2]; /* that before, and now */
	bool has_before, has_both;
};

struct gpu_card {
	struct gpu_library *nvml;
	void *device;
	bool has_begun, has_gpm;
	void *events; /* NULL: there are none */
	uint64_t xid_errors;
	unsigned long long last_use; /* in NVML's time */
	struct gpm gpms[1 + GPU_INSTANCES_MAX]; /* the card's first */
	size_t gpm_count;
	struct process running[GPU_PROCESSES_MAX];
	struct process_use uses[GPU_PROCESSES_MAX];
};

static void open_card(struct gpu_card *c, struct gpu_library *n, void *handle)
{
	c->nvml = n;
	c->device = handle;
	c->gpms[0].gpu_instance = GPU_WHOLE;
	c->gpm_count = 1;
}

static void close_card(struct gpu_card *c)
{
	for (size_t i = 0; i < 2 * c->gpm_count; i++) {
		if (c->gpms[i / 2].samples[i % 2])
			(void)CALL(c->nvml, "nvmlGpmSampleFree", (void *),
				   c->gpms[i / 2].samples[i % 2]);
	}
	if (c->events)
		(void)CALL(c->nvml, "nvmlEventSetFree", (void *), c->events);
}

/* Once, in the card's own thread: calls on a card that hangs hang too. */
static void begin_card(struct gpu_card *c)
{
	unsigned int support[2] = { 1 }; /* nvmlGpmSupport_t: its version, and the answer */

	if (c->has_begun)
		return;
	c->has_begun = true;
	c->has_gpm = GET(c->nvml, "nvmlGpmQueryDeviceSupport", c->device, support) == WELL &&
		     support[1];
	if (CALL(c->nvml, "nvmlEventSetCreate", (void **), &c->events) == WELL &&
	    CALL(c->nvml, "nvmlDeviceRegisterEvents", (void *, unsigned long long, void *),
		 c->device, EVENT_XID, c->events) == WELL)
		return;
	if (c->events)
		(void)CALL(c->nvml, "nvmlEventSetFree", (void *), c->events);
	c->events = NULL;
}

static int get_xids(struct gpu_card *c, uint64_t *ret)
{
	struct event event = {};

	for (size_t i = 0;
	     c->events && i < EVENTS_MAX &&
	     CALL(c->nvml, "nvmlEventSetWait_v2", (void *, struct event *, unsigned int), c->events,
		  &event, 0) == WELL;
	     i++)
		c->xid_errors += (event.type & EVENT_XID) != 0;
	*ret = c->xid_errors;
	return c->events ? WELL : NO_FUNCTION;
}

/* ---- GPM ---- */

/* Of the card, or of that GPU instance; NULL: there is no room. */
static struct gpm *sample_gpm(struct gpu_card *c, uint32_t gpu_instance)
{
	struct gpm *g = c->gpms;
	void *before;
	int r = WELL;

	while (g < c->gpms + c->gpm_count && g->gpu_instance != gpu_instance)
		g++;
	if (g == c->gpms + ARRAY_SIZE(c->gpms))
		return NULL;
	if (g == c->gpms + c->gpm_count)
		c->gpms[c->gpm_count++] = (struct gpm){ .gpu_instance = gpu_instance };
	for (size_t k = 0; r == WELL && k < 2; k++) {
		if (!g->samples[k])
			r = CALL(c->nvml, "nvmlGpmSampleAlloc", (void **), &g->samples[k]);
	}
	before = g->samples[0];
	g->samples[0] = g->samples[1];
	g->samples[1] = before;
	if (r == WELL && gpu_instance == GPU_WHOLE)
		r = GET(c->nvml, "nvmlGpmSampleGet", c->device, g->samples[1]);
	else if (r == WELL)
		r = CALL(c->nvml, "nvmlGpmMigSampleGet", (void *, unsigned int, void *), c->device,
			 gpu_instance, g->samples[1]);
	g->has_both = r == WELL && g->has_before;
	g->has_before = r == WELL;
	return g;
}

/* In percent. */
static int get_gpm(struct gpu_card *c, const struct gpm *g, uint32_t metric, uint64_t *ret)
{
	struct gpm_metrics m = { 1, 1, g->samples[0], g->samples[1], .id = metric };
	int r = g->has_both ? CALL(c->nvml, "nvmlGpmMetricsGet", (struct gpm_metrics *), &m)
			    : NO_FUNCTION;

	if (r == WELL && !(m.value >= 0 && m.value <= 100))
		return NO_FUNCTION;
	*ret = r == WELL ? (uint64_t)(m.value + 0.5) : 0;
	return r == WELL ? m.result : r;
}

/* ---- the table of fields ---- */

enum call {
	CALL_NONE,
	CALL_U32, /* (device, unsigned *), of which some have a second one: the period */
	CALL_U32_OF, /* (device, argument, unsigned *) */
	CALL_U64, /* (device, unsigned long long *) */
	CALL_REASONS, /* the same, bits of which some are meant */
	CALL_RATES, /* (device, nvmlUtilization_t *): argument: 0 gpu, 1 memory */
	CALL_MEMORY, /* (device, struct memory *): argument: 0 total, 1 used */
	CALL_ECC, /* (device, argument, 1: over its life, unsigned long long *) */
	CALL_FIELD, /* (device, 1, struct field_value *): argument: the field's id */
	CALL_GPM, /* between two samples: argument: the metric's id */
	CALL_XID, /* of events */
};

/* clang-format off */
#define DEVICE "nvmlDeviceGet"
static const struct field {
	const char *function;
	enum call call;
	uint32_t argument;
	uint64_t multiply; /* to the metric's stored unit */
} fields[GPU_FIELDS] = {
	[GPU_FIELD(UTILIZATION)]        = { DEVICE "UtilizationRates", CALL_RATES, 0, 1 },
	[GPU_FIELD(MEMORY_UTILIZATION)] = { DEVICE "UtilizationRates", CALL_RATES, 1, 1 },
	[GPU_FIELD(ENCODER)]            = { DEVICE "EncoderUtilization", CALL_U32, 0, 1 },
	[GPU_FIELD(DECODER)]            = { DEVICE "DecoderUtilization", CALL_U32, 0, 1 },
	[GPU_FIELD(SM_ACTIVE)]          = { NULL, CALL_GPM, 2, 1 },
	[GPU_FIELD(SM_OCCUPANCY)]       = { NULL, CALL_GPM, 3, 1 },
	[GPU_FIELD(TENSOR_ACTIVE)]      = { NULL, CALL_GPM, 5, 1 },
	[GPU_FIELD(DRAM_ACTIVE)]        = { NULL, CALL_GPM, 10, 1 },
	[GPU_FIELD(MEMORY_TOTAL)]       = { DEVICE "MemoryInfo", CALL_MEMORY, 0, 1 },
	[GPU_FIELD(MEMORY_USED)]        = { DEVICE "MemoryInfo", CALL_MEMORY, 1, 1 },
	[GPU_FIELD(TEMPERATURE)]        = { DEVICE "Temperature", CALL_U32_OF, 0, 1000 },
	[GPU_FIELD(FAN)]                = { DEVICE "FanSpeed", CALL_U32, 0, 1 },
	[GPU_FIELD(SM_CLOCK)]           = { DEVICE "ClockInfo", CALL_U32_OF, 1, 1000000 },
	[GPU_FIELD(MEMORY_CLOCK)]       = { DEVICE "ClockInfo", CALL_U32_OF, 2, 1000000 },
	[GPU_FIELD(POWER)]              = { DEVICE "PowerUsage", CALL_U32, 0, 1000 },
	[GPU_FIELD(POWER_LIMIT)]        = { DEVICE "EnforcedPowerLimit", CALL_U32, 0, 1000 },
	[GPU_FIELD(ENERGY)]             = { DEVICE "TotalEnergyConsumption", CALL_U64, 0, 1000 },
	[GPU_FIELD(THROTTLED)]          = { DEVICE "CurrentClocksThrottleReasons", CALL_REASONS, 0, 1 },
	[GPU_FIELD(ECC_CORRECTED)]      = { DEVICE "TotalEccErrors", CALL_ECC, 0, 1 },
	[GPU_FIELD(ECC_UNCORRECTED)]    = { DEVICE "TotalEccErrors", CALL_ECC, 1, 1 },
	[GPU_FIELD(XID_ERRORS)]         = { NULL, CALL_XID, 0, 1 },
	[GPU_FIELD(PCIE_SENT)]          = { DEVICE "FieldValues", CALL_FIELD, 197, 1 },
	[GPU_FIELD(PCIE_RECEIVED)]      = { DEVICE "FieldValues", CALL_FIELD, 198, 1 },
	[GPU_FIELD(NVLINK_SENT)]        = { DEVICE "FieldValues", CALL_FIELD, 138, 1024 },
	[GPU_FIELD(NVLINK_RECEIVED)]    = { DEVICE "FieldValues", CALL_FIELD, 139, 1024 },
};

static int get_number(struct gpu_card *c, const struct field *f, uint64_t *ret)
{
	/* links: all of them together; other fields have no scope */
	struct field_value v = { .id = f->argument, .scope = f->argument < FIELD_OF_LINKS_MAX ? UINT32_MAX : 0 };
	unsigned int small[2] = {};
	struct memory memory = {};
	unsigned long long large = 0;
	int r = NO_FUNCTION;

	*ret = 0;
	switch (f->call) {
	case CALL_NONE: break;
	case CALL_GPM: return get_gpm(c, &c->gpms[0], f->argument, ret);
	case CALL_XID: return get_xids(c, ret);
	case CALL_U32: r = CALL(c->nvml, f->function, (void *, unsigned int *, unsigned int *), c->device, &small[0], &small[1]); break;
	case CALL_U32_OF: r = CALL(c->nvml, f->function, (void *, unsigned int, unsigned int *), c->device, f->argument, small); break;
	case CALL_RATES: r = GET(c->nvml, f->function, c->device, small); break;
	case CALL_MEMORY: r = GET(c->nvml, f->function, c->device, &memory); break;
	case CALL_ECC: r = CALL(c->nvml, f->function, (void *, unsigned int, unsigned int, void *), c->device, f->argument, 1, &large); break;
	case CALL_FIELD: r = CALL(c->nvml, f->function, (void *, int, struct field_value *), c->device, 1, &v); break;
	case CALL_U64:
	case CALL_REASONS: r = GET(c->nvml, f->function, c->device, &large); break;
	}
	if (f->call == CALL_FIELD && r == WELL) {
		*ret = v.type == 0 ? (uint64_t)v.value.real : v.type == 1 ? v.value.u32 : v.value.u64;
		return v.result;
	}
	*ret = f->call == CALL_MEMORY ? (f->argument ? memory.used : memory.total)
	     : f->call == CALL_RATES ? small[f->argument]
	     : large + small[0];
	return r;
}
/* clang-format on */

static void read_fields(struct gpu_card *c, struct gpu_reading *ret)
{
	struct value *lost = &ret->fields[GPU_FIELD(LOST)];

	lost->is_known = true;
	for (size_t i = 0; i < GPU_FIELDS && !lost->number; i++) {
		uint64_t number;
		int r = get_number(c, &fields[i], &number);

		lost->number = r == LOST;
		for (size_t k = 0; fields[i].call == CALL_REASONS && k < ARRAY_SIZE(reasons); k++)
			ret->reasons |= number & reasons[k].bit ? reasons[k].reason : 0;
		if (fields[i].call == CALL_REASONS)
			number = (ret->reasons & ~(unsigned int)GPU_POWER_LIMIT) != 0;
		if (r == WELL && number <= VALUE_MAX / fields[i].multiply)
			ret->fields[i] = (struct value){ number * fields[i].multiply, true };
	}
}

/* ---- instances ---- */

static void read_instance(struct gpu_card *c, void *device, struct gpu_reading *to)
{
	struct gpu_instance *i = &to->instances[to->instance_count];
	struct attributes attributes = {};
	struct memory memory = {};
	const struct gpm *g;
	uint64_t busy;

	*i = (struct gpu_instance){ .slices = 1 };
	if (GET(c->nvml, DEVICE "GpuInstanceId", device, &i->gpu_instance) != WELL ||
	    GET_TEXT(c->nvml, DEVICE "UUID", device, i->uuid) != WELL)
		return;
	to->instance_count++;
	(void)GET(c->nvml, DEVICE "ComputeInstanceId", device, &i->compute_instance);
	if (GET(c->nvml, DEVICE "Attributes_v2", device, &attributes) == WELL)
		i->slices = MAX(attributes.compute_slices, 1U);
	if (GET(c->nvml, DEVICE "MemoryInfo", device, &memory) == WELL) {
		i->memory_total = (struct value){ memory.total, true };
		i->memory_used = (struct value){ memory.used, true };
	}
	g = c->has_gpm ? sample_gpm(c, i->gpu_instance) : NULL;
	if (g && get_gpm(c, g, GPM_GRAPHICS, &busy) == WELL)
		i->busy = (struct value){ busy, true };
}

static void read_instances(struct gpu_card *c, struct gpu_reading *to)
{
	unsigned int mode = 0, pending;
	void *device;

	to->has_instances = CALL(c->nvml, DEVICE "MigMode", (void *, void *, void *), c->device,
				 &mode, &pending) == WELL &&
			    mode;
	for (unsigned int i = 0; to->has_instances && i < GPU_INSTANCES_MAX; i++) {
		if (CALL(c->nvml, DEVICE "MigDeviceHandleByIndex", (void *, unsigned int, void **),
			 c->device, i, &device) == WELL)
			read_instance(c, device, to);
	}
}

/* ---- processes ---- */

static struct gpu_process *find_process(const struct gpu_reading *r, uint32_t pid)
{
	for (size_t i = 0; i < r->process_count; i++) {
		if (r->processes[i].pid == pid)
			return &r->processes[i];
	}
	return NULL;
}

static void add_processes(struct gpu_card *c, const char *function, struct gpu_reading *to)
{
	const bool is_mps = strstr(function, "MPS");
	unsigned int count = GPU_PROCESSES_MAX;

	if (CALL(c->nvml, function, (void *, unsigned int *, struct process *), c->device, &count,
		 c->running) != WELL)
		return;
	for (size_t i = 0; i < MIN(count, GPU_PROCESSES_MAX); i++) {
		const struct process *from = &c->running[i];
		struct gpu_process *known = find_process(to, from->pid);

		if (known)
			known->is_mps |= is_mps;
		if (to->process_count == GPU_PROCESSES_MAX || known)
			continue;
		to->processes[to->process_count++] = (struct gpu_process){
			.pid = from->pid,
			.gpu_instance = to->has_instances ? from->gpu_instance : GPU_WHOLE,
			.compute_instance = to->has_instances ? from->compute_instance : GPU_WHOLE,
			.is_graphics = strstr(function, "Graphics"),
			.is_mps = is_mps,
			.memory_bytes = { from->memory == NOT_AVAILABLE ? 0 : from->memory,
					  from->memory != NOT_AVAILABLE },
			.uid = -1,
		};
	}
}

/* Processes without activity since then are not listed. */
static void add_use(struct gpu_card *c, struct gpu_reading *to)
{
	unsigned int count = GPU_PROCESSES_MAX;
	const unsigned long long since = c->last_use;

	if (CALL(c->nvml, DEVICE "ProcessUtilization",
		 (void *, struct process_use *, unsigned int *, unsigned long long), c->device,
		 c->uses, &count, since) != WELL)
		return;
	for (size_t i = 0; i < MIN(count, GPU_PROCESSES_MAX); i++) {
		const struct process_use *u = &c->uses[i];
		struct gpu_process *p = find_process(to, u->pid);

		c->last_use = MAX(c->last_use, u->time);
		if (!p || u->sm > 100)
			continue;
		p->sm = (struct value){ u->sm, true };
		p->memory = (struct value){ u->memory, true };
		p->encoder = (struct value){ u->encoder, true };
		p->decoder = (struct value){ u->decoder, true };
	}
}

static void read_card(struct gpu_card *c, struct gpu_reading *to)
{
	begin_card(c);
	if (c->has_gpm)
		sample_gpm(c, GPU_WHOLE);
	read_fields(c, to);
	if (to->fields[GPU_FIELD(LOST)].number)
		return;
	read_instances(c, to);
	add_processes(c, DEVICE "ComputeRunningProcesses_v3", to);
	add_processes(c, DEVICE "GraphicsRunningProcesses_v3", to);
	add_processes(c, DEVICE "MPSComputeRunningProcesses_v3", to);
	add_use(c, to);
}

const struct gpu_driver nvml_driver = {
	.files = { "libnvidia-ml.so.1" },
	.counter = "nvml",
	.power = "nvml-power",
	.list = list_cards,
	.card_size = sizeof(struct gpu_card),
	.open = open_card,
	.read = read_card,
	.close = close_card,
};
