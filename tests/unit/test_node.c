/* SPDX-License-Identifier: MIT */
#include "sources/source.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "sources/node_ports.h"
#include "sources/sources.h"
#include "test.h"
#include "tree.h"

static bool is_no_xfs(const void *context, const char *fstype)
{
	(void)context;
	return strcmp(fstype, "xfs") != 0;
}

static struct samples sampled(struct sources *sources)
{
	struct samples samples = {};

	ASSERT_OK(sources_sample(sources, 1));
	ASSERT_OK(sources_put_node(sources, 1, &samples));
	return samples;
}

static struct samples read_node(int root_fd, bool has_remote)
{
	const struct source_options options = { .root_fd = root_fd,
						.may_ask = has_remote ? is_no_xfs : NULL };
	_cleanup_(sources_freep) struct sources *sources = NULL;

	ASSERT_OK(sources_open(sources_all(), NULL, &options, &sources));
	return sampled(sources);
}

/* Of a mount that is asked apart: a sample has what it answered before. */
static struct samples await_remote(int root_fd, const char *point)
{
	const struct source_options options = { .root_fd = root_fd, .may_ask = is_no_xfs };
	_cleanup_(sources_freep) struct sources *sources = NULL;
	struct samples samples;

	ASSERT_OK(sources_open(sources_all(), NULL, &options, &sources));
	while (samples = sampled(sources),
	       !samples_find(&samples, METRIC_NODE_FILESYSTEM_SIZE, point)) {
		samples_clear(&samples);
		usleep(1000);
	}
	return samples;
}

static void expect(const struct samples *s, enum metric_id id, const char *label, uint64_t number)
{
	const struct sample *found = samples_find(s, id, label);

	if (!found)
		printf("  no %s\n", metric_get(id)->name);
	ASSERT(found);
	ASSERT_EQ(found->number, number);
}

TEST(time_of_cpus_is_exact_and_guests_are_users)
{
	_cleanup_close_ int root_fd = tree_open("stat");
	_cleanup_(samples_clear) struct samples s = {};

	tree_write(root_fd, "proc/stat",
		   "cpu  101 103 107 109 113 127 131 137 139 149\ncpu0 1 2 3\ncpu7 1\ncpu  7 7\n"
		   "intr 5 1 2\nctxt 10007\nbtime 1790000000\nprocesses 1009\n"
		   "procs_running 3\nprocs_blocked 2\n");
	s = read_node(root_fd, false);
	expect(&s, METRIC_NODE_CPU_USER, NULL, 1010000000);
	expect(&s, METRIC_NODE_CPU_IDLE, NULL, 1090000000);
	expect(&s, METRIC_NODE_CPU_STEAL, NULL, 1370000000);
	expect(&s, METRIC_NODE_CPUS, NULL, 2);
	expect(&s, METRIC_NODE_SWITCHES, NULL, 10007);
	expect(&s, METRIC_NODE_FORKS, NULL, 1009);
	expect(&s, METRIC_NODE_PROCS_BLOCKED, NULL, 2);
	expect(&s, METRIC_NODE_BOOT_TIME, NULL, UINT64_C(1790000000000000000));
}

TEST(memory_load_and_pressure_are_exact)
{
	_cleanup_close_ int root_fd = tree_open("memory");
	_cleanup_(samples_clear) struct samples s = {};

	tree_write(root_fd, "proc/meminfo",
		   "MemTotal:       16000003 kB\nMemFree: 7 kB\nMemAvailable:   11 kB\n"
		   "Buffers: 13 kB\nCached: 17 kB\nSwapCached: 19 kB\nSwapTotal: 0 kB\n");
	tree_write(root_fd, "proc/loadavg", "0.07 1.25 112.00 1/234 5678\n");
	tree_write(root_fd, "proc/pressure/cpu",
		   "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\n"
		   "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	tree_write(root_fd, "proc/pressure/io",
		   "some avg10=1.00 avg60=0.00 avg300=0.00 total=13\n"
		   "full avg10=0.00 avg60=0.00 avg300=0.00 total=17\n");
	s = read_node(root_fd, false);
	expect(&s, METRIC_NODE_MEMORY_TOTAL, NULL, UINT64_C(16000003) * 1024);
	expect(&s, METRIC_NODE_MEMORY_CACHED, NULL, 17 * 1024);
	expect(&s, METRIC_NODE_SWAP_TOTAL, NULL, 0);
	ASSERT(!samples_find(&s, METRIC_NODE_SWAP_FREE, NULL));
	expect(&s, METRIC_NODE_LOAD_1, NULL, 7);
	expect(&s, METRIC_NODE_LOAD_5, NULL, 125);
	expect(&s, METRIC_NODE_LOAD_15, NULL, 11200);
	expect(&s, METRIC_NODE_PRESSURE_CPU_WAITING, NULL, 11000);
	expect(&s, METRIC_NODE_PRESSURE_IO_STALLED, NULL, 17000);
	ASSERT(!samples_find(&s, METRIC_NODE_PRESSURE_MEMORY_WAITING, NULL));
}

TEST(devices_are_told_apart_and_partitions_are_none)
{
	_cleanup_close_ int root_fd = tree_open("devices");
	_cleanup_(samples_clear) struct samples s = {};

	tree_write(
		root_fd, "proc/net/dev",
		"Inter-|   Receive       |  Transmit\n face |bytes    packets|bytes    packets\n"
		"    lo:    3267      29    0    0    0     0          0         0     3271      31    0 0 0 0 0 0\n"
		" eth0:1:18446744073709551615 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n torn: 1 2 3\n");
	tree_write(
		root_fd, "proc/diskstats",
		"   8       0 sda 1009 0 2003 7 3001 0 4001 11 0 13 17 0 0 0 0 0 0\n"
		"   8       1 sda1 1 0 2 7 3 0 4 11 0 13 17\n"
		"   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n"
		" 259       0 nvme0n1 18446744073709551615 0 18446744073709551615 0 0 0 0 0 0 0 0\n");
	tree_write(root_fd, "sys/class/block/sda1/partition", "1\n");
	s = read_node(root_fd, false);
	expect(&s, METRIC_NODE_NETWORK_RECEIVE_BYTES, "lo", 3267);
	expect(&s, METRIC_NODE_NETWORK_TRANSMIT_PACKETS, "lo", 31);
	expect(&s, METRIC_NODE_NETWORK_RECEIVE_BYTES, "eth0:1", UINT64_MAX);
	expect(&s, METRIC_NODE_NETWORK_TRANSMIT_DROPS, "eth0:1", 12);
	ASSERT(!samples_find(&s, METRIC_NODE_NETWORK_RECEIVE_BYTES, "torn"));
	expect(&s, METRIC_NODE_DISK_READ_CALLS, "sda", 1009);
	expect(&s, METRIC_NODE_DISK_READ_BYTES, "sda", 2003 * 512);
	expect(&s, METRIC_NODE_DISK_WRITE_BYTES, "sda", 4001 * 512);
	expect(&s, METRIC_NODE_DISK_BUSY, "sda", 13000000);
	expect(&s, METRIC_NODE_DISK_WEIGHTED, "sda", 17000000);
	ASSERT(!samples_find(&s, METRIC_NODE_DISK_READ_CALLS, "sda1"));
	ASSERT(!samples_find(&s, METRIC_NODE_DISK_READ_CALLS, "loop0")); /* never used */
	expect(&s, METRIC_NODE_DISK_READ_CALLS, "nvme0n1", UINT64_MAX);
	ASSERT(!samples_find(&s, METRIC_NODE_DISK_READ_BYTES, "nvme0n1")); /* over 64 bits */
}

TEST(a_file_system_is_asked_only_where_it_is_the_one_that_is_mounted)
{
	_cleanup_close_ int root_fd = tree_open("mounts");
	_cleanup_(samples_clear) struct samples local = {}, all = {};
	char text[512];
	struct statvfs now;
	struct stat st;

	tree_write(root_fd, "data/x", "");
	tree_write(root_fd, "nfs/x", "");
	tree_write(root_fd, "other/x", "");
	tree_write(root_fd, "proc/x", "");
	ASSERT_OK(fstatat(root_fd, "data", &st, 0));
	snprintf(
		text, sizeof(text),
		"1 0 0:9997 / / rw - ext4 /dev/root rw\n1 0 0:9998 / /other rw - ext4 /dev/a rw\n2 1 %u:%u /x /bind rw - ext4 /dev/b rw\n"
		"2 1 %u:%u / /data rw - ext4 /dev/b rw\n3 1 0:9999 / /proc rw - proc proc rw\n",
		major(st.st_dev), minor(st.st_dev), major(st.st_dev), minor(st.st_dev));
	tree_write(root_fd, "proc/self/mountinfo", text);
	local = read_node(root_fd, false);
	ASSERT_OK(statvfs(test_dir(), &now));
	expect(&local, METRIC_NODE_FILESYSTEM_SIZE, "/data", now.f_blocks * now.f_frsize);
	ASSERT(!samples_find(&local, METRIC_NODE_FILESYSTEM_SIZE, "/other"));
	ASSERT(!samples_find(&local, METRIC_NODE_FILESYSTEM_SIZE, "/bind"));
	ASSERT(!samples_find(&local, METRIC_NODE_FILESYSTEM_SIZE, "/proc"));
	snprintf(text, sizeof(text),
		 "1 0 0:9997 / / rw - ext4 /dev/root rw\n2 1 %u:%u / /nfs rw - nfs4 server:/ rw\n",
		 major(st.st_dev), minor(st.st_dev));
	tree_write(root_fd, "proc/self/mountinfo", text);
	samples_clear(&local);
	local = read_node(root_fd, false);
	ASSERT(!samples_find(&local, METRIC_NODE_FILESYSTEM_SIZE, NULL));
	all = await_remote(root_fd, "/nfs");
	expect(&all, METRIC_NODE_FILESYSTEM_SIZE, "/nfs", now.f_blocks * now.f_frsize);
	snprintf(text, sizeof(text),
		 "1 0 0:9997 / / rw - ext4 /dev/root rw\n2 1 %u:%u / /nfs rw - xfs /dev/c rw\n",
		 major(st.st_dev), minor(st.st_dev));
	tree_write(root_fd, "proc/self/mountinfo", text);
	samples_clear(&all);
	all = read_node(root_fd, true);
	ASSERT(!samples_find(&all, METRIC_NODE_FILESYSTEM_SIZE, NULL));
}

TEST(a_path_through_what_may_hang_is_not_walked)
{
	_cleanup_close_ int root_fd = tree_open("through");
	_cleanup_(samples_clear) struct samples local = {}, all = {};
	char text[512];
	struct stat st;

	tree_write(root_fd, "home/fast/x", "");
	ASSERT_OK(fstatat(root_fd, "home", &st, 0));
	snprintf(text, sizeof(text),
		 "1 0 0:9997 / / rw - ext4 /dev/root rw\n2 1 0:9998 / /home rw - nfs4 server:/ rw\n"
		 "3 2 %u:%u / /home/fast rw - ext4 /dev/fast rw\n",
		 major(st.st_dev), minor(st.st_dev));
	tree_write(root_fd, "proc/self/mountinfo", text);
	local = read_node(root_fd, false);
	ASSERT(!samples_find(&local, METRIC_NODE_FILESYSTEM_SIZE, NULL));
	all = await_remote(root_fd, "/home/fast");
	ASSERT(samples_find(&all, METRIC_NODE_FILESYSTEM_SIZE, "/home/fast"));
}

TEST(files_are_read_anew_each_time_and_may_vanish)
{
	_cleanup_close_ int root_fd = tree_open("again");
	const struct source_options options = { .root_fd = root_fd };
	_cleanup_(sources_freep) struct sources *sources = NULL;
	_cleanup_(samples_clear) struct samples first = {}, second = {}, broken = {};

	ASSERT_OK(sources_open(sources_all(), NULL, &options, &sources));
	first = sampled(sources);
	ASSERT_EQ(first.count, 1u); /* it has a name, at most */
	tree_write(root_fd, "proc/loadavg", "0.07 1.25 112.00 1/234 5678\n");
	second = sampled(sources);
	expect(&second, METRIC_NODE_LOAD_1, NULL, 7);
	tree_write(root_fd, "proc/loadavg", "0.1 x 1.234");
	tree_write(root_fd, "proc/stat", "cpu  x 1\ncpu");
	tree_write(root_fd, "proc/meminfo", "MemTotal: 18446744073709551615 kB\nMemFree: -3 kB");
	tree_write(root_fd, "proc/pressure/io", "some total=x\nfull\n total=3\n");
	tree_write(root_fd, "proc/diskstats",
		   "8\n8 0\n8 0 sda\n8 0 ../etc 1 2 3 4 5 6 7 8 9 10 11\n");
	tree_write(root_fd, "proc/net/dev", ":\n  :1\n");
	broken = sampled(sources);
	ASSERT(!samples_find(&broken, METRIC_NODE_LOAD_1, NULL));
	ASSERT(!samples_find(&broken, METRIC_NODE_MEMORY_TOTAL, NULL));
	ASSERT(!samples_find(&broken, METRIC_NODE_DISK_READ_CALLS, NULL));
}

/* The real machine's own. */
TEST(this_machine_is_read)
{
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(samples_clear) struct samples s = read_node(root_fd, false);

	ASSERT(samples_find(&s, METRIC_NODE_CPU_USER, NULL));
	expect(&s, METRIC_NODE_CPUS, NULL, (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	expect(&s, METRIC_NODE_MEMORY_TOTAL, NULL,
	       (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
	ASSERT(samples_find(&s, METRIC_NODE_LOAD_1, NULL));
}

#define PORT "sys/class/infiniband/mlx5_0/ports/1/"

/* As the kernel's documentation of sysfs has them: a layout, not captured. */
TEST(ports_of_a_fabric_are_counted_in_bytes)
{
	_cleanup_close_ int root_fd = tree_open("made-sysfs-infiniband");
	_cleanup_(samples_clear) struct samples s = {};

	tree_write(root_fd, PORT "counters/port_xmit_data", "1000003\n");
	tree_write(root_fd, PORT "counters/port_rcv_data", "4611686018427387904\n"); /* times 4 is
											over 64 bits
										      */
	tree_write(root_fd, PORT "counters/port_xmit_packets", "1009\n");
	tree_write(root_fd, PORT "counters/port_rcv_packets", "N/A (no PMA)\n");
	tree_write(root_fd, PORT "counters/link_downed", "3\n");
	tree_write(root_fd, PORT "state", "4: ACTIVE\n");
	tree_write(root_fd, PORT "rate", "100 Gb/sec (4X EDR)\n");
	tree_write(root_fd, "sys/class/infiniband/hfi1_0/ports/1/state", "1: DOWN\n");
	tree_write(root_fd, "sys/class/infiniband/hfi1_0/ports/1/rate", "2.5 Gb/sec (1X SDR)\n");
	tree_write(root_fd, "sys/class/infiniband/hfi1_0/ports/2/rate", "fast\n");
	ASSERT(node_ports_exist(root_fd));
	s = read_node(root_fd, false);
	expect(&s, METRIC_NODE_PORT_TRANSMIT_BYTES, "mlx5_0", 4000012);
	ASSERT_STREQ(samples_find(&s, METRIC_NODE_PORT_TRANSMIT_BYTES, "mlx5_0")->labels[1], "1");
	ASSERT(!samples_find(&s, METRIC_NODE_PORT_RECEIVE_BYTES, NULL));
	ASSERT(!samples_find(&s, METRIC_NODE_PORT_RECEIVE_PACKETS, NULL));
	expect(&s, METRIC_NODE_PORT_TRANSMIT_PACKETS, "mlx5_0", 1009);
	expect(&s, METRIC_NODE_PORT_LINK_FAILURES, "mlx5_0", 3);
	expect(&s, METRIC_NODE_PORT_ACTIVE, "mlx5_0", 1);
	expect(&s, METRIC_NODE_PORT_RATE, "mlx5_0", UINT64_C(12500000000));
	expect(&s, METRIC_NODE_PORT_ACTIVE, "hfi1_0", 0);
	expect(&s, METRIC_NODE_PORT_RATE, "hfi1_0", 312500000);
}

/* 32, 16 and 8 bits, as PortCounters has them: then nobody knows how much more there was. */
TEST(counters_of_ports_that_stand_at_their_end_are_left_out)
{
	_cleanup_close_ int root_fd = tree_open("made-sysfs-infiniband-full");
	const struct source_options options = { .root_fd = root_fd };
	_cleanup_(sources_freep) struct sources *sources = NULL;
	_cleanup_(samples_clear) struct samples s = {};
	struct ports ports = {};

	tree_write(root_fd, PORT "counters/port_xmit_data", "4294967295\n");
	tree_write(root_fd, PORT "counters/port_rcv_data", "4294967296\n"); /* of 64 bits */
	tree_write(root_fd, PORT "counters/port_rcv_packets", "4294967294\n");
	tree_write(root_fd, PORT "counters/port_xmit_discards", "65535\n");
	tree_write(root_fd, PORT "counters/link_downed", "255\n");
	s = read_node(root_fd, false);
	ASSERT(!samples_find(&s, METRIC_NODE_PORT_TRANSMIT_BYTES, NULL));
	expect(&s, METRIC_NODE_PORT_RECEIVE_BYTES, "mlx5_0", UINT64_C(17179869184));
	expect(&s, METRIC_NODE_PORT_RECEIVE_PACKETS, "mlx5_0", UINT64_C(4294967294));
	ASSERT(!samples_find(&s, METRIC_NODE_PORT_TRANSMIT_DISCARDS, NULL));
	ASSERT(!samples_find(&s, METRIC_NODE_PORT_LINK_FAILURES, NULL));
	ASSERT_OK(sources_open(sources_all(), NULL, &options, &sources));
	ASSERT_OK(sources_sample(sources, 1)); /* jobs' numbers are made of these */
	node_ports_take(sources_find(sources, NODE_PORTS_SOURCE), &ports);
	ASSERT_EQ(ports.count, (size_t)1);
	ASSERT_STREQ(ports.items[0].device, "mlx5_0");
	ASSERT_STREQ(ports.items[0].number, "1");
	for (size_t i = 0; i < PORT_COUNTERS; i++) {
		const struct sample *found = samples_find(&s, port_metric(i), NULL);

		ASSERT_EQ(ports.items[0].counters[i].is_known, found ? 1U : 0U);
		ASSERT(!found || found->number == ports.items[0].counters[i].number);
	}
}

TEST(frequency_and_temperature_of_the_node)
{
	_cleanup_close_ int root_fd = tree_open("made-sysfs-thermal");
	_cleanup_(samples_clear) struct samples s = {};

	tree_write(root_fd, "sys/devices/system/cpu/online", "0-1\n");
	tree_write(root_fd, "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1300000\n");
	tree_write(root_fd, "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2900000\n");
	tree_write(root_fd, "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count",
		   "7\n");
	tree_write(root_fd, "sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count",
		   "11\n");
	tree_write(root_fd, "sys/class/hwmon/hwmon3/name", "coretemp\n");
	tree_write(root_fd, "sys/class/hwmon/hwmon3/temp1_label", "Package id 0\n");
	tree_write(root_fd, "sys/class/hwmon/hwmon3/temp1_input", "61003\n");
	ASSERT(!node_ports_exist(root_fd));
	s = read_node(root_fd, false);
	expect(&s, METRIC_NODE_FREQUENCY_MEAN, NULL, UINT64_C(2100000000));
	expect(&s, METRIC_NODE_FREQUENCY_MIN, NULL, UINT64_C(1300000000));
	expect(&s, METRIC_NODE_FREQUENCY_MAX, NULL, UINT64_C(2900000000));
	expect(&s, METRIC_NODE_THROTTLES_CORE, NULL, 7);
	expect(&s, METRIC_NODE_THROTTLES_PACKAGE, NULL, 11);
	expect(&s, METRIC_NODE_TEMPERATURE, "coretemp", 61003);
	ASSERT_STREQ(samples_find(&s, METRIC_NODE_TEMPERATURE, NULL)->labels[2], "0");
}
