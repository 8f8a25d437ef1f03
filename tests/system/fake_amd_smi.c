/* SPDX-License-Identifier: MIT */
/*
 * A double of AMD's libamd_smi, for tests: it has no card, and says what its scenario says
 * (fake_driver.h), in lines of its own too:
 *
 *   version N                    of the library: 24 or 26, of which the structures differ
 *   CARD process PID MEMORY GFX ENC      percent of its time
 *   CARD metrics.NAME A          a number of amdsmi_get_gpu_metrics_info(), which another line
 * allows
 */
#define _GNU_SOURCE
#include <stddef.h>

enum { WELL = 0, NOT_SUPPORTED = 2, NOT_FOUND = 31 };

static int card_of(const void *device)
{
	return (int)(size_t)device - 1;
}

#include "fake_driver.h"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;

static int version(void)
{
	FILE *f = open_scenario();
	char line[512];
	int number = 26;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "version %d", &number);
	if (f)
		fclose(f);
	return number;
}

int amdsmi_init(u64 flags)
{
	u64 v[3];
	int r = look((void *)1, "amdsmi_init", -1, v);

	return flags != 2 ? 1 : r == NOT_SUPPORTED ? WELL : r;
}

int amdsmi_shut_down(void)
{
	return WELL;
}

/* One socket a card. */
int amdsmi_get_socket_handles(u32 *count, void **ret)
{
	u32 room = *count;
	int r = count_cards(count);

	for (u32 i = 0; i < *count && i < room; i++)
		ret[i] = (void *)(size_t)(i + 1);
	return r;
}

int amdsmi_get_processor_handles(void *socket, u32 *count, void **ret)
{
	*count = 1;
	*ret = socket;
	return WELL;
}

int amdsmi_get_processor_type(void *device, int *ret)
{
	(void)device;
	*ret = 1;
	return WELL;
}

int amdsmi_get_gpu_device_uuid(void *device, u32 *size, char *ret)
{
	snprintf(ret, *size, "amd-fake-%d", card_of(device));
	return WELL;
}

int amdsmi_get_gpu_device_bdf(void *device, u64 *ret)
{
	*ret = (u64)(card_of(device) + 0x20) << 8;
	return WELL;
}

int amdsmi_get_gpu_asic_info(void *device, char *ret)
{
	(void)device;
	memset(ret, 0, version() < 25 ? 496 : 900);
	strcpy(ret, "Fake MI300X");
	return WELL;
}

/* ---- numbers ---- */

#define U64_OF(name)                                           \
	int name(void *device, u32 argument, u64 *ret)         \
	{                                                      \
		u64 v[3];                                      \
		int r = look(device, #name, (int)argument, v); \
		*ret = v[0];                                   \
		return r;                                      \
	}

U64_OF(amdsmi_get_gpu_memory_total)
U64_OF(amdsmi_get_gpu_memory_usage)
U64_OF(amdsmi_get_gpu_fan_speed)

int amdsmi_get_temp_metric(void *device, u32 sensor, u32 metric, u64 *ret)
{
	u64 v[3];
	int r = look(device, "amdsmi_get_temp_metric", (int)sensor, v);

	(void)metric;
	*ret = v[0] * (version() < 25 ? 1000 : 1);
	return r;
}

int amdsmi_get_gpu_activity(void *device, u32 ret[16])
{
	u64 v[3];
	int r = look(device, "amdsmi_get_gpu_activity", -1, v);

	for (int i = 0; i < 3; i++)
		ret[i] = (u32)v[i];
	return r;
}

int amdsmi_get_clock_info(void *device, u32 type, u32 ret[8])
{
	u64 v[3];
	int r = look(device, "amdsmi_get_clock_info", (int)type, v);

	ret[0] = (u32)v[0];
	ret[1] = 500;
	ret[2] = 2100;
	return r;
}

int amdsmi_get_power_cap_info(void *device, u32 sensor, u64 ret[8])
{
	(void)sensor;
	ret[1] = 1;
	return look(device, "amdsmi_get_power_cap_info", -1, ret);
}

int amdsmi_get_energy_count(void *device, u64 *ret, float *unit, u64 *time)
{
	u64 v[3];
	int r = look(device, "amdsmi_get_energy_count", -1, v);

	*ret = v[0];
	*unit = 15.25f;
	*time = now_ms() * 1000000;
	return r;
}

int amdsmi_get_gpu_total_ecc_count(void *device, u64 ret[8])
{
	return look(device, "amdsmi_get_gpu_total_ecc_count", -1, ret);
}

int amdsmi_get_violation_status(void *device, u8 *ret)
{
	u64 v[3];
	int r = look(device, "amdsmi_get_violation_status", -1, v);

	memset(ret, 0xff, version() < 25 ? 136 : 9000);
	ret[122] = (u8)v[0]; /* the socket is hot */
	ret[121] = 1; /* the power limit */
	return r;
}

int amdsmi_get_gpu_metrics_info(void *device, u8 *ret)
{
	static const struct row {
		const char *name;
		int at, size;
	} rows[] = { { "metrics.power_mean", 22, 2 },
		     { "metrics.reasons", 112, 8 },
		     { "metrics.power", 120, 2 },
		     { "metrics.xgmi_received", 184, 8 },
		     { "metrics.xgmi_sent", 248, 8 } };
	u64 v[3];
	int r = look(device, "amdsmi_get_gpu_metrics_info", -1, v);

	if (r == WELL)
		memset(ret, 0xff, version() < 25 ? 464 : 5000);
	for (size_t i = 0; r == WELL && i < sizeof(rows) / sizeof(*rows); i++) {
		if (look(device, rows[i].name, -1, v) == WELL)
			memcpy(ret + rows[i].at, v, (size_t)rows[i].size);
	}
	return r;
}

/* ---- processes ---- */

#define PROCESS(text)                            \
	{                                        \
		char name[text];                 \
		u32 pid;                         \
		u64 memory, graphics, encoder;   \
		u32 reserved[12];                \
		u64 gtt, cpu, vram;              \
		u32 more[10];                    \
		char container[text];            \
		u32 last[(text) == 32 ? 4 : 12]; \
	}
struct process_24 PROCESS(32);
struct process_26 PROCESS(256);
_Static_assert(sizeof(struct process_24) == 224 && sizeof(struct process_26) == 704, "as it is");

int amdsmi_get_gpu_process_list(void *device, u32 *count, void *ret)
{
	u32 room = *count, n = 0;
	char rest[256];
	u64 v[3];
	int r = look(device, "amdsmi_get_gpu_process_list", -1, v);

	for (; n < room && find(card_of(device), "process", (int)n, rest); n++) {
		struct process_24 old = {};
		struct process_26 new = {};
		u64 graphics = 0, encoder = 0;

		sscanf(rest, "%u %llu %llu %llu", &old.pid, &old.memory, &graphics, &encoder);
		new.pid = old.pid;
		new.memory = new.vram = old.memory;
		new.graphics = old.graphics = now_ms() * 10000 * graphics;
		new.encoder = old.encoder = now_ms() * 10000 * encoder;
		if (version() < 25)
			((struct process_24 *)ret)[n] = old;
		else
			((struct process_26 *)ret)[n] = new;
	}
	*count = n;
	return r == NOT_SUPPORTED ? WELL : r;
}
