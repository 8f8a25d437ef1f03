/* SPDX-License-Identifier: MIT */
#include "sources/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"

/* nvmlReturn_t */
enum { WELL = 0, NO_FUNCTION = 13, LOST = 15 };

#define MIB (UINT64_C(1) << 20)
#define NOT_AVAILABLE UINT64_MAX /* a process' memory */
#define EVENT_XID UINT64_C(8)
#define EVENTS_MAX 64 /* taken at one reading */
#define COMPUTE_SLICES 7
#define ALL_LINKS UINT32_MAX
/* Slowed down by the hardware, by heat, or by a power brake; not idle, nor at its power limit, as a
 * card under full load is. */
#define THROTTLED (UINT64_C(0x08) | 0x20 | 0x40 | 0x80)

/* ---- what the library's functions take ---- */

struct utilization { /* nvmlUtilization_t */
	unsigned int gpu, memory;
};
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
	unsigned int multiprocessors, copy_engines, decoders, encoders, jpegs, ofas, gpu_slices,
		compute_slices;
	unsigned long long memory_mib;
};
struct pci { /* nvmlPciInfo_t */
	char legacy[16];
	unsigned int domain, bus, device, device_id, subsystem_id;
	char id[32];
};
struct field_value { /* nvmlFieldValue_t */
	unsigned int id, scope;
	long long timestamp, latency_us;
	unsigned int type; /* nvmlValueType_t */
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
struct gpm_support { /* nvmlGpmSupport_t */
	unsigned int version, is_supported;
};
#define GPM_METRICS 5
struct gpm_metrics { /* nvmlGpmMetricsGet_t, as far as it is read */
	unsigned int version, count;
	void *before, *now;
	struct {
		unsigned int id;
		int result;
		double value;
		const char *names[3];
	} items[GPM_METRICS];
};
_Static_assert(sizeof(struct process) == 24 && sizeof(struct process_use) == 32 &&
		       sizeof(struct pci) == 68 && sizeof(struct field_value) == 40 &&
		       sizeof(struct event) == 32 && sizeof(struct attributes) == 40,
	       "as NVIDIA's header has them");

/* ---- the table of fields ---- */

enum call {
	CALL_U32, /* (device, unsigned *) */
	CALL_U32_OF, /* (device, argument, unsigned *) */
	CALL_U32_PERIOD, /* (device, unsigned *, unsigned *period) */
	CALL_U64, /* (device, unsigned long long *) */
	CALL_REASONS, /* the same, bits of which some are meant */
	CALL_UTILIZATION, /* (device, struct utilization *): argument: 0 gpu, 1 memory */
	CALL_MEMORY, /* (device, struct memory *): argument: 0 total, 1 used */
	CALL_ECC, /* (device, argument, 1: over its life, unsigned long long *) */
	CALL_FIELD, /* (device, 1, struct field_value *): argument: the field's id */
	CALL_GPM, /* between two samples: argument: the metric's id */
};

/* clang-format off */
static const struct field {
	struct gpu_field_info info;
	const char *function;
	enum call call;
	uint32_t argument;
	uint64_t multiply; /* to the metric's stored unit */
} fields[GPU_FIELD_COUNT] = {
	[GPU_UTILIZATION]        = { { "utilization", METRIC_NODE_GPU_UTILIZATION, METRIC_GPU_BUSY }, "nvmlDeviceGetUtilizationRates", CALL_UTILIZATION, 0, 1 },
	[GPU_MEMORY_UTILIZATION] = { { "memory_utilization", METRIC_NODE_GPU_MEMORY_UTILIZATION, METRIC_GPU_MEMORY_BUSY }, "nvmlDeviceGetUtilizationRates", CALL_UTILIZATION, 1, 1 },
	[GPU_ENCODER]            = { { "encoder", METRIC_NODE_GPU_ENCODER, METRIC_GPU_ENCODER }, "nvmlDeviceGetEncoderUtilization", CALL_U32_PERIOD, 0, 1 },
	[GPU_DECODER]            = { { "decoder", METRIC_NODE_GPU_DECODER, METRIC_GPU_DECODER }, "nvmlDeviceGetDecoderUtilization", CALL_U32_PERIOD, 0, 1 },
	[GPU_MEMORY_BYTES]       = { { "memory_total_bytes", METRIC_NODE_GPU_MEMORY_TOTAL, METRIC_COUNT }, "nvmlDeviceGetMemoryInfo", CALL_MEMORY, 0, 1 },
	[GPU_MEMORY_USED]        = { { "memory_used_bytes", METRIC_NODE_GPU_MEMORY_USED, METRIC_COUNT }, "nvmlDeviceGetMemoryInfo", CALL_MEMORY, 1, 1 },
	[GPU_TEMPERATURE]        = { { "temperature_celsius", METRIC_NODE_GPU_TEMPERATURE, METRIC_GPU_TEMPERATURE_PEAK }, "nvmlDeviceGetTemperature", CALL_U32_OF, 0, 1000 },
	[GPU_FAN]                = { { "fan", METRIC_NODE_GPU_FAN, METRIC_COUNT }, "nvmlDeviceGetFanSpeed", CALL_U32, 0, 1 },
	[GPU_SM_CLOCK]           = { { "sm_clock_hertz", METRIC_NODE_GPU_SM_CLOCK, METRIC_COUNT }, "nvmlDeviceGetClockInfo", CALL_U32_OF, 1, 1000000 },
	[GPU_MEMORY_CLOCK]       = { { "memory_clock_hertz", METRIC_NODE_GPU_MEMORY_CLOCK, METRIC_COUNT }, "nvmlDeviceGetClockInfo", CALL_U32_OF, 2, 1000000 },
	[GPU_POWER]              = { { "power_watts", METRIC_NODE_GPU_POWER, METRIC_COUNT }, "nvmlDeviceGetPowerUsage", CALL_U32, 0, 1000 },
	[GPU_POWER_LIMIT]        = { { "power_limit_watts", METRIC_NODE_GPU_POWER_LIMIT, METRIC_COUNT }, "nvmlDeviceGetEnforcedPowerLimit", CALL_U32, 0, 1000 },
	[GPU_ENERGY]             = { { "energy_counter_joules", METRIC_NODE_GPU_ENERGY, METRIC_COUNT }, "nvmlDeviceGetTotalEnergyConsumption", CALL_U64, 0, 1000 },
	[GPU_THROTTLED]          = { { "throttled", METRIC_NODE_GPU_THROTTLED, METRIC_GPU_THROTTLED }, "nvmlDeviceGetCurrentClocksThrottleReasons", CALL_REASONS, 0, 1 },
	[GPU_ECC_CORRECTED]      = { { "ecc_corrected_errors", METRIC_NODE_GPU_ECC_CORRECTED, METRIC_COUNT }, "nvmlDeviceGetTotalEccErrors", CALL_ECC, 0, 1 },
	[GPU_ECC_UNCORRECTED]    = { { "ecc_uncorrected_errors", METRIC_NODE_GPU_ECC_UNCORRECTED, METRIC_GPU_ECC_ERRORS }, "nvmlDeviceGetTotalEccErrors", CALL_ECC, 1, 1 },
	[GPU_PCIE_SENT]          = { { "pcie_sent_bytes", METRIC_NODE_GPU_PCIE_SENT, METRIC_GPU_PCIE_SENT }, "nvmlDeviceGetFieldValues", CALL_FIELD, 197, 1 },
	[GPU_PCIE_RECEIVED]      = { { "pcie_received_bytes", METRIC_NODE_GPU_PCIE_RECEIVED, METRIC_GPU_PCIE_RECEIVED }, "nvmlDeviceGetFieldValues", CALL_FIELD, 198, 1 },
	[GPU_NVLINK_SENT]        = { { "nvlink_sent_bytes", METRIC_NODE_GPU_NVLINK_SENT, METRIC_GPU_NVLINK_SENT }, "nvmlDeviceGetFieldValues", CALL_FIELD, 138, 1024 },
	[GPU_NVLINK_RECEIVED]    = { { "nvlink_received_bytes", METRIC_NODE_GPU_NVLINK_RECEIVED, METRIC_GPU_NVLINK_RECEIVED }, "nvmlDeviceGetFieldValues", CALL_FIELD, 139, 1024 },
	[GPU_SM_ACTIVE]          = { { "sm_active", METRIC_NODE_GPU_SM_ACTIVE, METRIC_COUNT }, "nvmlGpmMetricsGet", CALL_GPM, 2, 1 },
	[GPU_SM_OCCUPANCY]       = { { "sm_occupancy", METRIC_NODE_GPU_SM_OCCUPANCY, METRIC_COUNT }, "nvmlGpmMetricsGet", CALL_GPM, 3, 1 },
	[GPU_TENSOR_ACTIVE]      = { { "tensor_active", METRIC_NODE_GPU_TENSOR_ACTIVE, METRIC_COUNT }, "nvmlGpmMetricsGet", CALL_GPM, 5, 1 },
	[GPU_DRAM_ACTIVE]        = { { "dram_active", METRIC_NODE_GPU_DRAM_ACTIVE, METRIC_COUNT }, "nvmlGpmMetricsGet", CALL_GPM, 10, 1 },
};
#define GPM_GRAPHICS 1 /* of an instance, which has no utilization */

enum function {
	INIT,
	SHUTDOWN,
	COUNT,
	HANDLE,
	ERROR,
	DRIVER,
	UUID,
	NAME,
	MINOR,
	PCI,
	MIG_MODE,
	MIG_HANDLE,
	GPU_INSTANCE,
	COMPUTE_INSTANCE,
	ATTRIBUTES,
	MEMORY,
	COMPUTE,
	COMPUTE_2,
	GRAPHICS,
	GRAPHICS_2,
	PROCESS_USE,
	EVENT_SET,
	EVENT_REGISTER,
	EVENT_WAIT,
	EVENT_FREE,
	GPM_SUPPORT,
	GPM_ALLOC,
	GPM_FREE,
	GPM_SAMPLE,
	GPM_MIG_SAMPLE,
	GPM_GET,
	FUNCTION_COUNT,
};
static const char *const names[FUNCTION_COUNT] = {
	[INIT] = "nvmlInit_v2",
	[SHUTDOWN] = "nvmlShutdown",
	[COUNT] = "nvmlDeviceGetCount_v2",
	[HANDLE] = "nvmlDeviceGetHandleByIndex_v2",
	[ERROR] = "nvmlErrorString",
	[DRIVER] = "nvmlSystemGetDriverVersion",
	[UUID] = "nvmlDeviceGetUUID",
	[NAME] = "nvmlDeviceGetName",
	[MINOR] = "nvmlDeviceGetMinorNumber",
	[PCI] = "nvmlDeviceGetPciInfo_v3",
	[MIG_MODE] = "nvmlDeviceGetMigMode",
	[MIG_HANDLE] = "nvmlDeviceGetMigDeviceHandleByIndex",
	[GPU_INSTANCE] = "nvmlDeviceGetGpuInstanceId",
	[COMPUTE_INSTANCE] = "nvmlDeviceGetComputeInstanceId",
	[ATTRIBUTES] = "nvmlDeviceGetAttributes_v2",
	[MEMORY] = "nvmlDeviceGetMemoryInfo",
	[COMPUTE] = "nvmlDeviceGetComputeRunningProcesses_v3",
	[COMPUTE_2] = "nvmlDeviceGetComputeRunningProcesses_v2",
	[GRAPHICS] = "nvmlDeviceGetGraphicsRunningProcesses_v3",
	[GRAPHICS_2] = "nvmlDeviceGetGraphicsRunningProcesses_v2",
	[PROCESS_USE] = "nvmlDeviceGetProcessUtilization",
	[EVENT_SET] = "nvmlEventSetCreate",
	[EVENT_REGISTER] = "nvmlDeviceRegisterEvents",
	[EVENT_WAIT] = "nvmlEventSetWait_v2",
	[EVENT_FREE] = "nvmlEventSetFree",
	[GPM_SUPPORT] = "nvmlGpmQueryDeviceSupport",
	[GPM_ALLOC] = "nvmlGpmSampleAlloc",
	[GPM_FREE] = "nvmlGpmSampleFree",
	[GPM_SAMPLE] = "nvmlGpmSampleGet",
	[GPM_MIG_SAMPLE] = "nvmlGpmMigSampleGet",
	[GPM_GET] = "nvmlGpmMetricsGet",
};
/* clang-format on */

const struct gpu_field_info *gpu_field_info(enum gpu_field field)
{
	return &fields[field].info;
}

/* ---- the library ---- */

struct nvml {
	atomic_uint refs;
	bool has_begun; /* of who lists */
	void (*functions[FUNCTION_COUNT])(void); /* NULL: it has none such */
	void (*fields[GPU_FIELD_COUNT])(void);
};

/* Its result, of a function of these types; of one that an older library lacks that it is not
 * there. */
#define CALL_AS(function, types, ...) \
	((function) ? ((int(*) types)(function))(__VA_ARGS__) : NO_FUNCTION)
#define CALL(n, which, types, ...) CALL_AS((n)->functions[which], types, __VA_ARGS__)

static void (*find_function(void *library, const char *name))(void)
{
	void *symbol = dlsym(library, name);
	void (*ret)(void);

	memcpy(&ret, &symbol, sizeof(ret));
	return ret;
}

int nvml_load(const char *file, struct nvml **ret, struct error *err)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	struct nvml *n;

	if (!library)
		return error_set(err, -ENODEV, "no driver (%s is not installed)", file);
	n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->refs = 1;
	for (size_t i = 0; i < FUNCTION_COUNT; i++)
		n->functions[i] = find_function(library, names[i]);
	for (size_t i = 0; i < GPU_FIELD_COUNT; i++)
		n->fields[i] = find_function(library, fields[i].function);
	*ret = n;
	return 0;
}

struct nvml *nvml_ref(struct nvml *n)
{
	n->refs++;
	return n;
}

struct nvml *nvml_unref(struct nvml *n)
{
	if (n && --n->refs == 0)
		free(n);
	return NULL;
}

static const char *text_of(const struct nvml *n, int result)
{
	const char *(*text)(int);

	if (!n->functions[ERROR])
		return "an error";
	memcpy(&text, &n->functions[ERROR], sizeof(text));
	return text(result);
}

void nvml_driver_version(struct nvml *n, char *ret, size_t size)
{
	if (CALL(n, DRIVER, (char *, unsigned int), ret, (unsigned int)size) != WELL)
		*ret = '\0';
}

/* ---- its cards ---- */

static void identify(struct nvml *n, uint32_t index, void *device, struct gpu_identity *ret)
{
	struct pci pci = {};
	unsigned int minor;

	*ret = (struct gpu_identity){ .handle = device, .index = index, .minor = UINT32_MAX };
	if (CALL(n, UUID, (void *, char *, unsigned int), device, ret->uuid, sizeof(ret->uuid)) !=
	    WELL)
		snprintf(ret->uuid, sizeof(ret->uuid), "gpu-%u", index);
	if (CALL(n, NAME, (void *, char *, unsigned int), device, ret->model, sizeof(ret->model)) !=
	    WELL)
		*ret->model = '\0';
	if (CALL(n, MINOR, (void *, unsigned int *), device, &minor) == WELL)
		ret->minor = minor;
	if (CALL(n, PCI, (void *, struct pci *), device, &pci) == WELL)
		snprintf(ret->pci, sizeof(ret->pci), "%.31s", pci.id);
}

int nvml_list(struct nvml *n, struct gpu_identity ret[GPU_CARDS_MAX], size_t *ret_count,
	      struct error *err)
{
	unsigned int count = 0;
	void *device;
	int r = n->has_begun ? WELL : CALL(n, INIT, (void));

	*ret_count = 0;
	if (r == WELL) {
		n->has_begun = true;
		r = CALL(n, COUNT, (unsigned int *), &count);
	}
	if (r != WELL) { /* it is loaded again, say */
		if (n->has_begun)
			(void)CALL(n, SHUTDOWN, (void));
		n->has_begun = false;
		return error_set(err, -ENODEV, "the driver does not answer (%s)", text_of(n, r));
	}
	for (unsigned int i = 0; i < count && *ret_count < GPU_CARDS_MAX; i++) {
		if (CALL(n, HANDLE, (unsigned int, void **), i, &device) == WELL)
			identify(n, i, device, &ret[(*ret_count)++]);
	}
	return 0;
}

/* ---- one card ---- */

/* Of the card, or of one of its GPU instances. */
struct gpm {
	uint32_t gpu_instance;
	void *samples[2]; /* that before, and now */
	bool has_before, has_both;
};

struct nvml_card {
	struct nvml *nvml;
	void *device;
	void *events; /* NULL: there are none */
	uint64_t xid_errors, last_use; /* what NVML counts in us */
	bool has_gpm;
	struct gpm gpms[1 + COMPUTE_SLICES]; /* the card's first */
	size_t gpm_count;
	struct process running[GPU_PROCESSES_MAX];
	struct process_use uses[GPU_PROCESSES_MAX];
};

int nvml_card_open(struct nvml *n, const struct gpu_identity *identity, struct nvml_card **ret)
{
	struct nvml_card *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->nvml = nvml_ref(n);
	c->device = identity->handle;
	c->gpms[0].gpu_instance = GPU_WHOLE;
	c->gpm_count = 1;
	*ret = c;
	return 0;
}

struct nvml_card *nvml_card_free(struct nvml_card *c)
{
	for (size_t i = 0; c && i < c->gpm_count; i++) {
		for (size_t k = 0; k < 2; k++) {
			if (c->gpms[i].samples[k])
				(void)CALL(c->nvml, GPM_FREE, (void *), c->gpms[i].samples[k]);
		}
	}
	if (c && c->events)
		(void)CALL(c->nvml, EVENT_FREE, (void *), c->events);
	if (c)
		nvml_unref(c->nvml);
	free(c);
	return NULL;
}

/* Once, in the card's own thread: calls on a card that hangs hang too. */
static void begin_card(struct nvml_card *c)
{
	struct gpm_support support = { .version = 1 };

	if (c->events || c->last_use)
		return;
	c->last_use = 1;
	if (CALL(c->nvml, EVENT_SET, (void **), &c->events) != WELL)
		c->events = NULL;
	else if (CALL(c->nvml, EVENT_REGISTER, (void *, unsigned long long, void *), c->device,
		      EVENT_XID, c->events) != WELL) {
		(void)CALL(c->nvml, EVENT_FREE, (void *), c->events);
		c->events = NULL;
	}
	c->has_gpm = CALL(c->nvml, GPM_SUPPORT, (void *, struct gpm_support *), c->device,
			  &support) == WELL &&
		     support.is_supported;
}

static void read_events(struct nvml_card *c)
{
	struct event event;

	for (size_t i = 0; c->events && i < EVENTS_MAX; i++) {
		event = (struct event){};
		if (CALL(c->nvml, EVENT_WAIT,
			 (void *, struct event *, unsigned int, unsigned int *), c->events, &event,
			 0, NULL) != WELL)
			return;
		c->xid_errors += (event.type & EVENT_XID) != 0;
	}
}

/* ---- GPM ---- */

static struct gpm *find_gpm(struct nvml_card *c, uint32_t gpu_instance)
{
	size_t i = 0;

	while (i < c->gpm_count && c->gpms[i].gpu_instance != gpu_instance)
		i++;
	if (i == ARRAY_SIZE(c->gpms))
		return NULL;
	if (i == c->gpm_count)
		c->gpms[c->gpm_count++] = (struct gpm){ .gpu_instance = gpu_instance };
	return &c->gpms[i];
}

static void sample_gpm(struct nvml_card *c, struct gpm *g)
{
	void *before;
	int r = WELL;

	for (size_t k = 0; r == WELL && k < 2; k++) {
		if (!g->samples[k])
			r = CALL(c->nvml, GPM_ALLOC, (void **), &g->samples[k]);
	}
	if (r != WELL)
		return;
	before = g->samples[0];
	g->samples[0] = g->samples[1];
	g->samples[1] = before;
	r = g->gpu_instance == GPU_WHOLE
		    ? CALL(c->nvml, GPM_SAMPLE, (void *, void *), c->device, g->samples[1])
		    : CALL(c->nvml, GPM_MIG_SAMPLE, (void *, unsigned int, void *), c->device,
			   g->gpu_instance, g->samples[1]);
	g->has_both = r == WELL && g->has_before;
	g->has_before = r == WELL;
}

/* In percent. */
static int get_gpm(struct nvml_card *c, const struct gpm *g, uint32_t metric, uint64_t *ret)
{
	struct gpm_metrics m = { .version = 1,
				 .count = 1,
				 .before = g->samples[0],
				 .now = g->samples[1],
				 .items = { { .id = metric } } };
	int r = g->has_both ? CALL(c->nvml, GPM_GET, (struct gpm_metrics *), &m) : NO_FUNCTION;

	if (r == WELL)
		r = m.items[0].result;
	if (r == WELL && !(m.items[0].value >= 0 && m.items[0].value <= 100))
		return NO_FUNCTION;
	*ret = r == WELL ? (uint64_t)(m.items[0].value + 0.5) : 0;
	return r;
}

/* ---- fields ---- */

static int get_field_value(void (*function)(void), void *device, uint32_t id, uint64_t *ret)
{
	/* nvlinks are asked for all of them together; other fields have no scope */
	struct field_value v = { .id = id, .scope = id < 150 ? ALL_LINKS : 0 };
	int r = CALL_AS(function, (void *, int, struct field_value *), device, 1, &v);

	*ret = v.type == 0 ? (uint64_t)v.value.real : v.type == 1 ? v.value.u32 : v.value.u64;
	return r == WELL ? v.result : r;
}

static int get_number(struct nvml_card *c, enum gpu_field which, uint64_t *ret)
{
	void (*function)(void) = c->nvml->fields[which];
	const struct field *f = &fields[which];
	void *device = c->device;
	struct utilization utilization = {};
	struct memory memory = {};
	unsigned long long large = 0;
	unsigned int small = 0, period;
	int r = NO_FUNCTION;

	*ret = 0;
	switch (f->call) {
	case CALL_U32:
		r = CALL_AS(function, (void *, unsigned int *), device, &small);
		*ret = small;
		break;
	case CALL_U32_OF:
		r = CALL_AS(function, (void *, unsigned int, unsigned int *), device, f->argument,
			    &small);
		*ret = small;
		break;
	case CALL_U32_PERIOD:
		r = CALL_AS(function, (void *, unsigned int *, unsigned int *), device, &small,
			    &period);
		*ret = small;
		break;
	case CALL_U64:
	case CALL_REASONS:
		r = CALL_AS(function, (void *, unsigned long long *), device, &large);
		*ret = f->call == CALL_REASONS ? (large & THROTTLED) != 0 : large;
		break;
	case CALL_UTILIZATION:
		r = CALL_AS(function, (void *, struct utilization *), device, &utilization);
		*ret = f->argument ? utilization.memory : utilization.gpu;
		break;
	case CALL_MEMORY:
		r = CALL_AS(function, (void *, struct memory *), device, &memory);
		*ret = f->argument ? memory.used : memory.total;
		break;
	case CALL_ECC:
		r = CALL_AS(function, (void *, unsigned int, unsigned int, unsigned long long *),
			    device, f->argument, 1, &large);
		*ret = large;
		break;
	case CALL_FIELD:
		r = get_field_value(function, device, f->argument, ret);
		break;
	case CALL_GPM:
		r = get_gpm(c, &c->gpms[0], f->argument, ret);
		break;
	}
	return r;
}

static void read_fields(struct nvml_card *c, struct gpu_reading *ret)
{
	for (size_t i = 0; i < GPU_FIELD_COUNT && !ret->is_lost; i++) {
		uint64_t number;
		int r = get_number(c, (enum gpu_field)i, &number);

		ret->is_lost = r == LOST;
		if (r == WELL && number <= VALUE_MAX / fields[i].multiply)
			ret->fields[i] = (struct value){ number * fields[i].multiply, true };
	}
}

/* ---- instances ---- */

static void read_instance(struct nvml_card *c, void *device, struct gpu_reading *to)
{
	struct gpu_instance *i = &to->instances[to->instance_count];
	struct attributes attributes = {};
	struct memory memory = {};
	uint64_t busy;
	unsigned int id = 0;
	struct gpm *g;

	*i = (struct gpu_instance){ .slices = 1 };
	if (CALL(c->nvml, GPU_INSTANCE, (void *, unsigned int *), device, &id) != WELL)
		return;
	i->gpu_instance = id;
	if (CALL(c->nvml, COMPUTE_INSTANCE, (void *, unsigned int *), device, &id) == WELL)
		i->compute_instance = id;
	if (CALL(c->nvml, UUID, (void *, char *, unsigned int), device, i->uuid, sizeof(i->uuid)) !=
	    WELL)
		return;
	if (CALL(c->nvml, ATTRIBUTES, (void *, struct attributes *), device, &attributes) == WELL) {
		i->slices = MAX(attributes.compute_slices, 1U);
		i->memory_total = (struct value){ attributes.memory_mib * MIB, true };
	}
	if (CALL(c->nvml, MEMORY, (void *, struct memory *), device, &memory) == WELL) {
		i->memory_total = (struct value){ memory.total, true };
		i->memory_used = (struct value){ memory.used, true };
	}
	to->instance_count++;
	g = c->has_gpm ? find_gpm(c, i->gpu_instance) : NULL;
	if (!g)
		return;
	sample_gpm(c, g);
	if (get_gpm(c, g, GPM_GRAPHICS, &busy) == WELL)
		i->busy = (struct value){ busy, true };
}

static void read_instances(struct nvml_card *c, struct gpu_reading *to)
{
	unsigned int mode = 0, pending;
	void *device;

	if (CALL(c->nvml, MIG_MODE, (void *, unsigned int *, unsigned int *), c->device, &mode,
		 &pending) != WELL ||
	    !mode)
		return;
	to->has_instances = true;
	for (unsigned int i = 0; i < COMPUTE_SLICES && to->instance_count < GPU_INSTANCES_MAX;
	     i++) {
		if (CALL(c->nvml, MIG_HANDLE, (void *, unsigned int, void **), c->device, i,
			 &device) == WELL)
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

/* Version 3, or 2 of an older library. */
static size_t list_processes(struct nvml_card *c, enum function function)
{
	unsigned int count = GPU_PROCESSES_MAX;
	int r = CALL(c->nvml, function, (void *, unsigned int *, struct process *), c->device,
		     &count, c->running);

	if (r == NO_FUNCTION) {
		count = GPU_PROCESSES_MAX;
		r = CALL(c->nvml, function + 1, (void *, unsigned int *, struct process *),
			 c->device, &count, c->running);
	}
	return r == WELL ? MIN(count, (unsigned int)GPU_PROCESSES_MAX) : 0;
}

static void add_processes(struct nvml_card *c, bool is_graphics, struct gpu_reading *to)
{
	const size_t count = list_processes(c, is_graphics ? GRAPHICS : COMPUTE);

	for (size_t i = 0; i < count; i++) {
		const struct process *from = &c->running[i];

		if (!from->pid || to->process_count == GPU_PROCESSES_MAX ||
		    (is_graphics && find_process(to, from->pid)))
			continue;
		to->processes[to->process_count++] = (struct gpu_process){
			.pid = from->pid,
			.gpu_instance = to->has_instances ? from->gpu_instance : GPU_WHOLE,
			.compute_instance = to->has_instances ? from->compute_instance : GPU_WHOLE,
			.is_graphics = is_graphics,
			.memory_bytes = { from->memory == NOT_AVAILABLE ? 0 : from->memory,
					  from->memory != NOT_AVAILABLE },
			.uid = -1,
		};
	}
}

/* Who did nothing since the last time is not told. */
static void add_use(struct nvml_card *c, struct gpu_reading *to)
{
	unsigned int count = GPU_PROCESSES_MAX;
	unsigned long long latest = c->last_use;

	if (CALL(c->nvml, PROCESS_USE,
		 (void *, struct process_use *, unsigned int *, unsigned long long), c->device,
		 c->uses, &count, c->last_use) != WELL)
		return;
	for (size_t i = 0; i < MIN(count, (unsigned int)GPU_PROCESSES_MAX); i++) {
		const struct process_use *u = &c->uses[i];
		struct gpu_process *p = find_process(to, u->pid);

		latest = MAX(latest, u->time);
		if (!p || u->sm > 100 || u->memory > 100)
			continue;
		p->sm = (struct value){ u->sm, true };
		p->memory = (struct value){ u->memory, true };
		p->encoder = (struct value){ u->encoder, true };
		p->decoder = (struct value){ u->decoder, true };
	}
	c->last_use = latest;
}

int nvml_card_read(struct nvml_card *c, uint64_t boot_ns, struct gpu_reading *ret)
{
	*ret = (struct gpu_reading){ .boot_ns = boot_ns };
	ret->processes = calloc(GPU_PROCESSES_MAX, sizeof(*ret->processes));
	if (!ret->processes)
		return -ENOMEM;
	begin_card(c);
	if (c->has_gpm)
		sample_gpm(c, &c->gpms[0]);
	read_fields(c, ret);
	if (ret->is_lost)
		return 0;
	read_instances(c, ret);
	add_processes(c, false, ret);
	add_processes(c, true, ret);
	add_use(c, ret);
	read_events(c);
	ret->xid_errors = (struct value){ c->xid_errors, c->events != NULL };
	return 0;
}

void gpu_reading_clear(struct gpu_reading *r)
{
	for (size_t i = 0; i < r->process_count; i++)
		free(r->processes[i].path);
	free(r->processes);
	*r = (struct gpu_reading){};
}
