/* SPDX-License-Identifier: MIT */
#include "sources/machine.h"

#include <fcntl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "model/record.h"

/* Words by which a virtual machine's product or maker gives itself away, where no CPU flag does. */
static const char *const virtual_products[] = {
	"KVM",	     "QEMU", "VMware",	   "VirtualBox",     "Virtual Machine",
	"OpenStack", "Xen",  "Amazon EC2", "Google Compute",
};

static void read_line(int root_fd, const char *path, char *ret, size_t size)
{
	char text[1024];

	*ret = '\0';
	if (file_read_small(root_fd, path, text, sizeof(text)) < 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	snprintf(ret, size, "%.*s", (int)size - 1, text);
}

static unsigned int count_cpus(int root_fd, const char *path)
{
	struct cpulist list;
	char text[1024];

	read_line(root_fd, path, text, sizeof(text));
	return cpulist_parse(text, &list) < 0 ? 0 : cpulist_count(&list);
}

static uint64_t read_memory(int root_fd)
{
	char text[16384];
	uint64_t kib;

	if (file_read_small(root_fd, "proc/meminfo", text, sizeof(text)) < 0 ||
	    parse_keyed_u64(text, "MemTotal", ':', &kib) < 0 || kib > UINT64_MAX / 1024)
		return 0;
	return kib * 1024;
}

bool machine_parse_hypervisor(const char *cpuinfo)
{
	const char *flags = strncmp(cpuinfo, "flags", 5) == 0 ? cpuinfo
							      : strstr(cpuinfo, "\nflags");
	const char *end = flags ? strchr(flags + 1, '\n') : NULL;
	const char *word = flags ? strstr(flags, " hypervisor") : NULL;

	return word && (!end || word < end) && strchr(" \n", word[strlen(" hypervisor")]);
}

static void read_virtual(int root_fd, struct machine *m)
{
	_cleanup_free_ char *cpuinfo = NULL;
	char maker[64], name[64];

	if (file_read(root_fd, "proc/cpuinfo", 16u << 20, &cpuinfo, NULL) == 0)
		m->is_virtual = machine_parse_hypervisor(cpuinfo);
	read_line(root_fd, "sys/class/dmi/id/sys_vendor", maker, sizeof(maker));
	read_line(root_fd, "sys/class/dmi/id/product_name", name, sizeof(name));
	snprintf(m->product, sizeof(m->product), "%s%s%s", maker, *maker && *name ? " " : "", name);
	for (size_t i = 0; i < ARRAY_SIZE(virtual_products); i++)
		m->is_virtual |= strstr(m->product, virtual_products[i]) != NULL;
}

/* The scheduler's file has the mode in brackets: "none voluntary (full)"; it is in debugfs, for
 * root only. Kernels without a choice have it in their version line. */
static void read_preemption(int root_fd, struct machine *m)
{
	char text[256];
	const char *mode;
	size_t length;

	m->preemption_source = "the scheduler";
	read_line(root_fd, "sys/kernel/debug/sched/preempt", text, sizeof(text));
	mode = text + strcspn(text, "(") + (strchr(text, '(') != NULL);
	length = strspn(mode, "abcdefghijklmnopqrstuvwxyz_");
	if (mode[length] == ')' && length < sizeof(m->preemption)) {
		snprintf(m->preemption, sizeof(m->preemption), "%.*s", (int)length, mode);
		return;
	}
	m->preemption_source = "the kernel's version";
	read_line(root_fd, "proc/sys/kernel/version", text, sizeof(text));
	snprintf(m->preemption, sizeof(m->preemption), "%s",
		 strstr(text, "PREEMPT_RT") ? "rt"
		 : strstr(text, "PREEMPT ") ? "full"
					    : "");
}

unsigned int machine_cpus_online(int root_fd)
{
	return count_cpus(root_fd, "sys/devices/system/cpu/online");
}

int machine_read_busy(int root_fd, uint64_t *ret_ns)
{
	/* "cpu  USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ..."; user has guest in it */
	static const bool is_busy[] = { true, true, true, false, false, true, true };
	const uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
	char text[512], *at = text;
	uint64_t sum = 0, ticks;
	_cleanup_close_ int fd = openat(root_fd, "proc/stat", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (length < 0)
		return -ENOENT;
	text[length] = '\0';
	at = parse_next_line(&at);
	if (!at || strncmp(at, "cpu ", 4) != 0)
		return -EINVAL;
	parse_next_word(&at);
	for (size_t i = 0; i < ARRAY_SIZE(is_busy); i++) {
		const char *word = parse_next_word(&at);

		if (!word || parse_u64(word, &ticks) < 0)
			return -EINVAL;
		sum += is_busy[i] ? ticks : 0;
	}
	*ret_ns = sum * tick_ns;
	return 0;
}

struct energy_machine machine_for_energy(int root_fd)
{
	struct machine machine;

	machine_read(root_fd, &machine);
	return (struct energy_machine){ .root_fd = root_fd,
					.cpus = machine.cpus_online,
					.memory_kib = machine.memory_bytes / 1024,
					.read_busy = machine_read_busy };
}

void machine_read(int root_fd, struct machine *ret)
{
	struct utsname running;

	*ret = (struct machine){};
	read_line(root_fd, "proc/sys/kernel/hostname", ret->node, sizeof(ret->node));
	read_line(root_fd, "proc/sys/kernel/osrelease", ret->kernel, sizeof(ret->kernel));
	read_line(root_fd, "proc/sys/kernel/arch", ret->arch, sizeof(ret->arch));
	/* older kernels have no such file: then uname() counts, if it is the same kernel */
	if (!*ret->arch && uname(&running) == 0 && strcmp(running.release, ret->kernel) == 0)
		snprintf(ret->arch, sizeof(ret->arch), "%.31s", running.machine);
	ret->has_btf = faccessat(root_fd, "sys/kernel/btf/vmlinux", F_OK, 0) == 0;
	read_preemption(root_fd, ret);
	ret->cpus_online = machine_cpus_online(root_fd);
	ret->cpus_possible = count_cpus(root_fd, "sys/devices/system/cpu/possible");
	ret->memory_bytes = read_memory(root_fd);
	read_virtual(root_fd, ret);
}

/* ---- NUMA nodes ---- */

#define LIST_SIZE 16384 /* all of CPULIST_MAX, one by one, would not fit: it is no machine's */

static int read_list(int root_fd, const char *path, struct cpulist *ret)
{
	char text[LIST_SIZE];
	int r = file_read_small(root_fd, path, text, sizeof(text));

	return r < 0 ? r : cpulist_parse(text, ret);
}

/* Those of @nodes that have one of the CPUs. */
static int find_nodes(int root_fd, const struct cpulist *nodes, const char *cpus, char **ret)
{
	struct cpulist wanted, found = {};

	if (!cpus || cpulist_parse(cpus, &wanted) < 0)
		return 0;
	for (unsigned int i = 0; i < NUMA_NODES_MAX; i++) {
		struct cpulist of_node;
		char path[64];

		if (!cpulist_contains(nodes, i))
			continue;
		snprintf(path, sizeof(path), "sys/devices/system/node/node%u/cpulist", i);
		if (read_list(root_fd, path, &of_node) < 0)
			return 0;
		for (size_t k = 0; k < ARRAY_SIZE(wanted.bits); k++) {
			if (wanted.bits[k] & of_node.bits[k])
				cpulist_set(&found, i);
		}
	}
	if (!cpulist_count(&found))
		return 0;
	free(*ret);
	*ret = cpulist_format(&found);
	return *ret ? 0 : -ENOMEM;
}

int machine_describe_numa(int root_fd, struct record *record)
{
	struct cpulist nodes;
	int r;

	if (read_list(root_fd, "sys/devices/system/node/online", &nodes) < 0)
		return 0;
	r = find_nodes(root_fd, &nodes, record->job.cpus_allowed, &record->job.numa_allowed);
	return r < 0 ? r
		     : find_nodes(root_fd, &nodes, record->job.cpus_used, &record->job.numa_used);
}
