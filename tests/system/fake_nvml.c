/* SPDX-License-Identifier: MIT */
/*
 * A double of NVIDIA's libnvidia-ml, for tests: it has no card, and says what its scenario says
 * (fake_driver.h), in lines of its own too:
 *
 *   CARD process PID MEMORY GI CI SM MEM ENC DEC GRAPHICS
 *   CARD instance GI CI SLICES MIB
 *   CARD xid                     one error, told once
 */
#define _GNU_SOURCE
#include <stddef.h>

enum { WELL = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7 };
#define MIG_BASE 0x1000

static int card_of(const void *device)
{
	size_t n = (size_t)device;

	return (int)(n < MIG_BASE ? n - 1 : (n - MIG_BASE) / 16);
}

#include "fake_driver.h"

int nvmlInit_v2(void)
{
	u64 v[3];
	int r = look((void *)1, "nvmlInit_v2", -1, v);

	return r == NOT_SUPPORTED ? WELL : r;
}

int nvmlShutdown(void)
{
	return WELL;
}

const char *nvmlErrorString(int result)
{
	static char text[32];

	snprintf(text, sizeof(text), "error %d", result);
	return text;
}

int nvmlSystemGetDriverVersion(char *ret, unsigned int size)
{
	snprintf(ret, size, "999.1");
	return WELL;
}

int nvmlDeviceGetCount_v2(unsigned int *ret)
{
	return count_cards(ret);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **ret)
{
	*ret = (void *)(size_t)(index + 1);
	return WELL;
}

int nvmlDeviceGetUUID(void *device, char *ret, unsigned int size)
{
	if ((size_t)device >= MIG_BASE)
		snprintf(ret, size, "MIG-fake-%d-%zu", card_of(device),
			 ((size_t)device - MIG_BASE) % 16);
	else
		snprintf(ret, size, "GPU-fake-%d", card_of(device));
	return WELL;
}

int nvmlDeviceGetName(void *device, char *ret, unsigned int size)
{
	(void)device;
	snprintf(ret, size, "Fake H100");
	return WELL;
}

int nvmlDeviceGetMinorNumber(void *device, unsigned int *ret)
{
	*ret = (unsigned int)card_of(device);
	return WELL;
}

struct pci {
	char legacy[16];
	unsigned int numbers[5];
	char id[32];
};

int nvmlDeviceGetPciInfo_v3(void *device, struct pci *ret)
{
	snprintf(ret->id, sizeof(ret->id), "00000000:%02X:00.0",
		 (unsigned int)card_of(device) + 0x10);
	return WELL;
}

/* ---- numbers ---- */

#define U32(name)                                   \
	int name(void *device, unsigned int *ret)   \
	{                                           \
		u64 v[3];                           \
		int r = look(device, #name, -1, v); \
		*ret = (unsigned int)v[0];          \
		return r;                           \
	}
#define U32_OF(name)                                                     \
	int name(void *device, unsigned int argument, unsigned int *ret) \
	{                                                                \
		u64 v[3];                                                \
		int r = look(device, #name, (int)argument, v);           \
		*ret = (unsigned int)v[0];                               \
		return r;                                                \
	}
#define U32_PAIR(name)                                                    \
	int name(void *device, unsigned int *first, unsigned int *second) \
	{                                                                 \
		u64 v[3];                                                 \
		int r = look(device, #name, -1, v);                       \
		*first = (unsigned int)v[0];                              \
		*second = (unsigned int)v[1];                             \
		return r;                                                 \
	}
#define U64(name)                                   \
	int name(void *device, u64 *ret)            \
	{                                           \
		u64 v[3];                           \
		int r = look(device, #name, -1, v); \
		*ret = v[0];                        \
		return r;                           \
	}

U32(nvmlDeviceGetFanSpeed)
U32(nvmlDeviceGetPowerUsage)
U32(nvmlDeviceGetEnforcedPowerLimit)
U32_OF(nvmlDeviceGetTemperature)
U32_OF(nvmlDeviceGetClockInfo)
U32_PAIR(nvmlDeviceGetEncoderUtilization)
U32_PAIR(nvmlDeviceGetDecoderUtilization)
U32_PAIR(nvmlDeviceGetMigMode)
U64(nvmlDeviceGetTotalEnergyConsumption)
U64(nvmlDeviceGetCurrentClocksThrottleReasons)

int nvmlDeviceGetUtilizationRates(void *device, unsigned int ret[2])
{
	u64 v[3];
	int r = look(device, "nvmlDeviceGetUtilizationRates", -1, v);

	ret[0] = (unsigned int)v[0];
	ret[1] = (unsigned int)v[1];
	return r;
}

/* An instance has its MiB, of which half is in use. */
int nvmlDeviceGetMemoryInfo(void *device, u64 ret[3])
{
	unsigned int gi, ci, slices;
	char rest[256];

	if ((size_t)device < MIG_BASE)
		return look(device, "nvmlDeviceGetMemoryInfo", -1, ret);
	if (!find(card_of(device), "instance", (int)(((size_t)device - MIG_BASE) % 16), rest) ||
	    sscanf(rest, "%u %u %u %llu", &gi, &ci, &slices, &ret[0]) != 4)
		return NOT_FOUND;
	ret[0] <<= 20;
	ret[1] = ret[2] = ret[0] / 2;
	return WELL;
}

int nvmlDeviceGetTotalEccErrors(void *device, unsigned int type, unsigned int counter, u64 *ret)
{
	u64 v[3];
	int r = look(device, "nvmlDeviceGetTotalEccErrors", (int)type, v);

	(void)counter;
	*ret = v[0];
	return r;
}

struct field_value {
	unsigned int id, scope;
	long long times[2];
	unsigned int type;
	int result;
	u64 value;
};

int nvmlDeviceGetFieldValues(void *device, int count, struct field_value *values)
{
	u64 v[3];

	for (int i = 0; i < count; i++) {
		values[i].result = look(device, "nvmlDeviceGetFieldValues", (int)values[i].id, v);
		values[i].type = 3;
		values[i].value = v[0];
	}
	return WELL;
}

/* ---- MIG ---- */

static int read_instance(const void *device, unsigned int ret[4])
{
	char rest[256];

	if ((size_t)device < MIG_BASE ||
	    !find(card_of(device), "instance", (int)(((size_t)device - MIG_BASE) % 16), rest))
		return NOT_FOUND;
	return sscanf(rest, "%u %u %u %u", &ret[0], &ret[1], &ret[2], &ret[3]) == 4 ? WELL
										    : NOT_FOUND;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned int index, void **ret)
{
	char rest[256];

	if (!find(card_of(device), "instance", (int)index, rest))
		return NOT_FOUND;
	*ret = (void *)(size_t)(MIG_BASE + card_of(device) * 16 + (int)index);
	return WELL;
}

int nvmlDeviceGetGpuInstanceId(void *device, unsigned int *ret)
{
	unsigned int v[4] = {};
	int r = read_instance(device, v);

	*ret = v[0];
	return r;
}

int nvmlDeviceGetComputeInstanceId(void *device, unsigned int *ret)
{
	unsigned int v[4] = {};
	int r = read_instance(device, v);

	*ret = v[1];
	return r;
}

struct attributes {
	unsigned int numbers[8]; /* the last: compute slices */
	u64 mib;
};

int nvmlDeviceGetAttributes_v2(void *device, struct attributes *ret)
{
	unsigned int v[4] = {};
	int r = read_instance(device, v);

	ret->numbers[7] = v[2];
	ret->mib = v[3];
	return r;
}

/* ---- processes ---- */

struct process {
	unsigned int pid;
	u64 memory;
	unsigned int gi, ci;
};
struct process_use {
	unsigned int pid;
	u64 time;
	unsigned int sm, memory, encoder, decoder;
};

static int read_process(const void *device, int nth, struct process *p, struct process_use *use,
			int *is_graphics)
{
	char rest[256], memory[32];

	*is_graphics = 0;
	if (!find(card_of(device), "process", nth, rest))
		return 0;
	sscanf(rest, "%u %31s %u %u %u %u %u %u %d", &p->pid, memory, &p->gi, &p->ci, &use->sm,
	       &use->memory, &use->encoder, &use->decoder, is_graphics);
	p->memory = *memory == '-' ? ~0ULL : strtoull(memory, NULL, 10);
	use->pid = p->pid;
	use->time = now_ms() * 1000;
	return 1;
}

static int list(void *device, int wants_graphics, unsigned int *count, struct process *ret)
{
	unsigned int room = *count;
	struct process_use use;
	struct process p;
	int is_graphics;

	*count = 0;
	for (int i = 0; read_process(device, i, &p, &use, &is_graphics); i++) {
		if (is_graphics != wants_graphics)
			continue;
		if (*count == room)
			return TOO_SMALL;
		ret[(*count)++] = p;
	}
	return WELL;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *count, struct process *ret)
{
	return list(device, 0, count, ret);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned int *count, struct process *ret)
{
	return list(device, 1, count, ret);
}

/* GRAPHICS 2: a client of MPS. */
int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *device, unsigned int *count,
					       struct process *ret)
{
	return list(device, 2, count, ret);
}

int nvmlDeviceGetProcessUtilization(void *device, struct process_use *ret, unsigned int *count,
				    u64 since)
{
	unsigned int room = *count, mode = 0, pending;
	struct process p;
	int is_graphics;

	(void)since;
	*count = 0;
	if (nvmlDeviceGetMigMode(device, &mode, &pending) == WELL && mode)
		return NOT_SUPPORTED;
	for (int i = 0; *count < room && read_process(device, i, &p, &ret[*count], &is_graphics);
	     i++)
		(*count)++;
	return *count ? WELL : NOT_FOUND;
}

/* ---- events ---- */

struct event {
	void *device;
	u64 type, data;
	unsigned int ids[2];
};
struct events {
	void *device;
	int told;
};

int nvmlEventSetCreate(void **ret)
{
	*ret = calloc(1, sizeof(struct events));
	return WELL;
}

int nvmlDeviceRegisterEvents(void *device, u64 types, void *set)
{
	(void)types;
	((struct events *)set)->device = device;
	return WELL;
}

int nvmlEventSetWait_v2(void *set, struct event *ret, unsigned int timeout_ms)
{
	struct events *e = set;
	char rest[256];

	(void)timeout_ms;
	if (!find(card_of(e->device), "xid", e->told, rest))
		return 10;
	e->told++;
	*ret = (struct event){ .device = e->device, .type = 8, .data = 79 };
	return WELL;
}

int nvmlEventSetFree(void *set)
{
	free(set);
	return WELL;
}

/* ---- GPM ---- */

struct gpm_sample {
	void *device;
	int gi; /* -1: the whole card */
};

int nvmlGpmQueryDeviceSupport(void *device, unsigned int ret[2])
{
	u64 v[3];
	int r = look(device, "nvmlGpmQueryDeviceSupport", -1, v);

	ret[1] = (unsigned int)v[0];
	return r;
}

int nvmlGpmSampleAlloc(void **ret)
{
	*ret = calloc(1, sizeof(struct gpm_sample));
	return WELL;
}

int nvmlGpmSampleFree(void *sample)
{
	free(sample);
	return WELL;
}

int nvmlGpmSampleGet(void *device, void *sample)
{
	*(struct gpm_sample *)sample = (struct gpm_sample){ device, -1 };
	return WELL;
}

int nvmlGpmMigSampleGet(void *device, unsigned int gi, void *sample)
{
	*(struct gpm_sample *)sample = (struct gpm_sample){ device, (int)gi };
	return WELL;
}

struct gpm_get {
	unsigned int version, count;
	struct gpm_sample *before, *now;
	struct {
		unsigned int id;
		int result;
		double value;
		const char *names[3];
	} items[];
};

int nvmlGpmMetricsGet(struct gpm_get *get)
{
	u64 v[3];

	for (unsigned int i = 0; i < get->count; i++) {
		char name[64];

		if (get->now->gi < 0)
			snprintf(name, sizeof(name), "nvmlGpmMetricsGet");
		else
			snprintf(name, sizeof(name), "nvmlGpmMetricsGet.gi%d", get->now->gi);
		get->items[i].result = look(get->now->device, name, (int)get->items[i].id, v);
		get->items[i].value = (double)v[0];
	}
	return WELL;
}
