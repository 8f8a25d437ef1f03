/* SPDX-License-Identifier: MIT */
/*
 * Counters of the whole node from the kernel's own files: CPU time, memory, load, pressure,
 * network, disks.
 *
 * Any file may be missing, and any line may differ: what cannot be read is left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "sources/machine.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "sources/source.h"

#define TEXT_SIZE (256 << 10) /* proc/stat of 4,096 CPUs */
#define NS_OF_A_MS UINT64_C(1000000)
#define NS_OF_A_US UINT64_C(1000)
#define NS_OF_A_SECOND UINT64_C(1000000000)

/* Kept open, since they are read with each scrape. */
enum node_file {
	FILE_STAT,
	FILE_MEMINFO,
	FILE_LOADAVG,
	FILE_NET_DEV,
	FILE_DISKSTATS,
	FILE_PRESSURE_CPU,
	FILE_PRESSURE_IO,
	FILE_PRESSURE_MEMORY,
	FILE_COUNT,
};

static const char *const paths[FILE_COUNT] = {
	[FILE_STAT] = "proc/stat",
	[FILE_MEMINFO] = "proc/meminfo",
	[FILE_LOADAVG] = "proc/loadavg",
	[FILE_NET_DEV] = "proc/net/dev",
	[FILE_DISKSTATS] = "proc/diskstats",
	[FILE_PRESSURE_CPU] = "proc/pressure/cpu",
	[FILE_PRESSURE_IO] = "proc/pressure/io",
	[FILE_PRESSURE_MEMORY] = "proc/pressure/memory",
};

struct source_state {
	int root_fd; /* the caller's */
	int fds[FILE_COUNT];
	uint64_t ns_of_a_tick;
	struct machine machine;
	char text[TEXT_SIZE]; /* of the file read last */
};

/* ---- files ---- */

/* The whole file, NUL-ended; false: missing, or too large. */
static bool read_file(struct source_state *n, enum node_file file)
{
	size_t used = 0;
	ssize_t r;

	if (n->fds[file] < 0)
		n->fds[file] = openat(n->root_fd, paths[file], O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (n->fds[file] < 0)
		return false;
	while ((r = pread(n->fds[file], n->text + used, sizeof(n->text) - used, (off_t)used)) > 0) {
		used += (size_t)r;
		if (used == sizeof(n->text))
			return false;
	}
	n->text[used] = '\0';
	return r == 0 && used > 0;
}

/* A number in another unit; more than 64 bits of it are not known.  Of a line that is there twice
 * the first counts: a page must not have a series twice. */
static int add_scaled(struct samples *to, enum metric_id id, const char *label, uint64_t number,
		      uint64_t scale)
{
	const char *labels[SAMPLE_LABELS_MAX] = { label };

	if (!label && samples_find(to, id, NULL))
		return 0;
	return __builtin_mul_overflow(number, scale, &number) ? 0
							      : samples_add(to, id, labels, number);
}

struct key {
	const char *key;
	enum metric_id id;
	uint64_t scale;
};

/* Lines of "KEY VALUE". */
static int add_keyed(const char *text, char separator, const struct key *keys, size_t count,
		     struct samples *to)
{
	uint64_t number = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		if (parse_keyed_u64(text, keys[i].key, separator, &number) == 0)
			r = add_scaled(to, keys[i].id, NULL, number, keys[i].scale);
	}
	return r;
}

/* ---- proc/stat ---- */

/* "cpu  USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL GUEST GUEST_NICE"; user has guest in it. */
static int add_modes(const struct source_state *n, char *line, struct samples *to)
{
	uint64_t ticks = 0;
	int r = 0;

	parse_next_word(&line);
	for (size_t id = METRIC_NODE_CPU_USER; r == 0 && id <= METRIC_NODE_CPU_STEAL; id++) {
		const char *word = parse_next_word(&line);

		if (!word || parse_u64(word, &ticks) < 0)
			break;
		r = add_scaled(to, (enum metric_id)id, NULL, ticks, n->ns_of_a_tick);
	}
	return r;
}

static int read_stat(struct source_state *n, struct samples *to)
{
	static const struct key keys[] = {
		{ "ctxt", METRIC_NODE_SWITCHES, 1 },
		{ "processes", METRIC_NODE_FORKS, 1 },
		{ "procs_running", METRIC_NODE_PROCS_RUNNING, 1 },
		{ "procs_blocked", METRIC_NODE_PROCS_BLOCKED, 1 },
		{ "btime", METRIC_NODE_BOOT_TIME, NS_OF_A_SECOND },
	};
	char *rest = n->text, *line;
	uint64_t cpus = 0;
	int r;

	if (!read_file(n, FILE_STAT))
		return 0;
	r = add_keyed(n->text, '\0', keys, ARRAY_SIZE(keys), to);
	while (r == 0 && (line = parse_next_line(&rest))) {
		if (strncmp(line, "cpu ", strlen("cpu ")) == 0)
			r = add_modes(n, line, to);
		else if (strncmp(line, "cpu", strlen("cpu")) == 0)
			cpus++;
	}
	return r == 0 && cpus ? samples_add_plain(to, METRIC_NODE_CPUS, cpus) : r;
}

/* ---- proc/meminfo, proc/loadavg, proc/pressure ---- */

static int read_meminfo(struct source_state *n, struct samples *to)
{
	static const struct key keys[] = {
		{ "MemTotal", METRIC_NODE_MEMORY_TOTAL, 1024 },
		{ "MemFree", METRIC_NODE_MEMORY_FREE, 1024 },
		{ "MemAvailable", METRIC_NODE_MEMORY_AVAILABLE, 1024 },
		{ "Buffers", METRIC_NODE_MEMORY_BUFFERS, 1024 },
		{ "Cached", METRIC_NODE_MEMORY_CACHED, 1024 },
		{ "SwapTotal", METRIC_NODE_SWAP_TOTAL, 1024 },
		{ "SwapFree", METRIC_NODE_SWAP_FREE, 1024 },
	};

	return read_file(n, FILE_MEMINFO) ? add_keyed(n->text, ':', keys, ARRAY_SIZE(keys), to) : 0;
}

/* "0.07" is 7. */
static int parse_hundredths(const char *word, uint64_t *ret)
{
	uint64_t whole = 0, part = 0;
	const char *p = word;

	if (parse_leading_u64(&p, &whole) < 0 || *p != '.' || strlen(p) != strlen(".00") ||
	    parse_u64(p + 1, &part) < 0 || whole > UINT32_MAX)
		return -EINVAL;
	*ret = whole * 100 + part;
	return 0;
}

static int read_loadavg(struct source_state *n, struct samples *to)
{
	char *rest = n->text, *word;
	uint64_t load = 0;
	int r = 0;

	if (!read_file(n, FILE_LOADAVG))
		return 0;
	for (size_t id = METRIC_NODE_LOAD_1; r == 0 && id <= METRIC_NODE_LOAD_15; id++) {
		word = parse_next_word(&rest);
		if (!word || parse_hundredths(word, &load) < 0)
			break;
		r = samples_add_plain(to, (enum metric_id)id, load);
	}
	return r;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", in us; then the same with "full".  All
 * threads cannot wait for a CPU at once: the kernel's line of that is always 0. */
static int read_pressures(struct source_state *n, struct samples *to)
{
	static const struct {
		enum node_file file;
		const char *line;
		enum metric_id id;
	} lines[] = {
		{ FILE_PRESSURE_CPU, "some", METRIC_NODE_PRESSURE_CPU_WAITING },
		{ FILE_PRESSURE_IO, "some", METRIC_NODE_PRESSURE_IO_WAITING },
		{ FILE_PRESSURE_IO, "full", METRIC_NODE_PRESSURE_IO_STALLED },
		{ FILE_PRESSURE_MEMORY, "some", METRIC_NODE_PRESSURE_MEMORY_WAITING },
		{ FILE_PRESSURE_MEMORY, "full", METRIC_NODE_PRESSURE_MEMORY_STALLED },
	};
	bool has_file = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(lines); i++) {
		uint64_t us;

		if (!i || lines[i].file != lines[i - 1].file)
			has_file = read_file(n, lines[i].file); /* false also: switched off */
		if (has_file && parse_labelled_u64(n->text, lines[i].line, "total", &us) == 0)
			r = add_scaled(to, lines[i].id, NULL, us, NS_OF_A_US);
	}
	return r;
}

/* ---- devices ---- */

/* A column of numbers in a line, from 0 on. */
struct column {
	size_t index;
	enum metric_id id;
	uint64_t scale;
};

#define COLUMNS_MAX 17

/* Whether the line has all columns; then they are in @numbers. */
static bool parse_columns(char *line, const struct column *columns, size_t count, uint64_t *numbers)
{
	uint64_t all[COLUMNS_MAX] = {};
	size_t found = 0;
	char *word;

	while (found < COLUMNS_MAX && (word = parse_next_word(&line)) &&
	       parse_u64(word, &all[found]) == 0)
		found++;
	for (size_t i = 0; i < count; i++) {
		if (columns[i].index >= found)
			return false;
		numbers[i] = all[columns[i].index];
	}
	return true;
}

static int add_columns(char *line, const char *device, const struct column *columns, size_t count,
		       struct samples *to)
{
	uint64_t numbers[COLUMNS_MAX] = {};
	int r = 0;

	if (!parse_columns(line, columns, count, numbers) ||
	    samples_find(to, columns[0].id, device))
		return 0;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_scaled(to, columns[i].id, device, numbers[i], columns[i].scale);
	return r;
}

/* clang-format off */
static const struct column interface_columns[] = {
	{ 0, METRIC_NODE_NETWORK_RECEIVE_BYTES, 1 }, { 1, METRIC_NODE_NETWORK_RECEIVE_PACKETS, 1 },
	{ 2, METRIC_NODE_NETWORK_RECEIVE_ERRORS, 1 }, { 3, METRIC_NODE_NETWORK_RECEIVE_DROPS, 1 },
	{ 8, METRIC_NODE_NETWORK_TRANSMIT_BYTES, 1 }, { 9, METRIC_NODE_NETWORK_TRANSMIT_PACKETS, 1 },
	{ 10, METRIC_NODE_NETWORK_TRANSMIT_ERRORS, 1 }, { 11, METRIC_NODE_NETWORK_TRANSMIT_DROPS, 1 },
};

static const struct column disk_columns[] = { /* a sector has 512 bytes here, whatever the disk's have */
	{ 0, METRIC_NODE_DISK_READ_CALLS, 1 }, { 2, METRIC_NODE_DISK_READ_BYTES, 512 },
	{ 4, METRIC_NODE_DISK_WRITE_CALLS, 1 }, { 6, METRIC_NODE_DISK_WRITE_BYTES, 512 },
	{ 9, METRIC_NODE_DISK_BUSY, NS_OF_A_MS }, { 10, METRIC_NODE_DISK_WEIGHTED, NS_OF_A_MS },
};
/* clang-format on */

/* "  eth0: BYTES PACKETS ERRORS DROPS FIFO FRAME COMPRESSED MULTICAST BYTES PACKETS ..." */
static int read_net_dev(struct source_state *n, struct samples *to)
{
	char *rest = n->text, *line;
	size_t devices = 0;
	int r = 0;

	if (!read_file(n, FILE_NET_DEV))
		return 0;
	while (r == 0 && devices < NODE_DEVICES_MAX && (line = parse_next_line(&rest))) {
		char *colon = strrchr(line, ':'), *name = line + strspn(line, " ");

		if (!colon || colon == name || strchr(line, '|'))
			continue;
		*colon = '\0';
		devices++;
		r = add_columns(colon + 1, name, interface_columns, ARRAY_SIZE(interface_columns),
				to);
	}
	return r;
}

/* Partitions are parts of their disk; disks that the kernel does not know (a captured tree may
 * lack sys) count as whole. */
static bool is_whole_disk(int root_fd, const char *name)
{
	char path[128];

	if (strchr(name, '/') || faccessat(root_fd, "sys/class/block", F_OK, 0) < 0)
		return !strchr(name, '/');
	snprintf(path, sizeof(path), "sys/class/block/%.64s/partition", name);
	return faccessat(root_fd, path, F_OK, 0) < 0;
}

/* "  8  0 sda READS MERGED SECTORS MS WRITES MERGED SECTORS MS UNDERWAY BUSY_MS WEIGHTED_MS ..." */
static int read_diskstats(struct source_state *n, struct samples *to)
{
	char *rest = n->text, *line;
	size_t devices = 0;
	int r = 0;

	if (!read_file(n, FILE_DISKSTATS))
		return 0;
	while (r == 0 && devices < NODE_DEVICES_MAX && (line = parse_next_line(&rest))) {
		char *name = parse_next_word(&line) && parse_next_word(&line)
				     ? parse_next_word(&line)
				     : NULL;

		if (!name || !is_whole_disk(n->root_fd, name) || strspn(line, " 0") == strlen(line))
			continue;
		devices++;
		r = add_columns(line, name, disk_columns, ARRAY_SIZE(disk_columns), to);
	}
	return r;
}

/* ---- all ---- */

static int sample(struct source_state *n, uint64_t boot_ns UNUSED, struct samples *to)
{
	static int (*const readers[])(struct source_state * n, struct samples * to) = {
		read_stat, read_meminfo, read_loadavg, read_pressures, read_net_dev, read_diskstats,
	};
	const char *labels[SAMPLE_LABELS_MAX] = { n->machine.node, n->machine.kernel,
						  n->machine.arch };
	int r = samples_add(to, METRIC_NODE_INFO, labels, 1);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(readers); i++)
		r = readers[i](n, to);
	return r;
}

static int open_source(const struct source_options *options, struct source_state *n,
		       struct error *err UNUSED)
{
	n->root_fd = options->root_fd;
	n->ns_of_a_tick = NS_OF_A_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
	for (size_t i = 0; i < FILE_COUNT; i++)
		n->fds[i] = -EBADF;
	machine_read(n->root_fd, &n->machine);
	return 0;
}

static void close_source(struct source_state *n)
{
	for (size_t i = 0; i < FILE_COUNT; i++)
		closep(&n->fds[i]);
}

const struct source source_node_files = {
	.name = NODE_FILES_SOURCE,
	.label = "CPUs, memory, network and disks of the node: ",
	.help = "Sample CPU time, memory, load, pressure, network interfaces and disks of the node as a whole.",
	.size = sizeof(struct source_state),
	.open = open_source,
	.sample = sample,
	.close = close_source,
};
