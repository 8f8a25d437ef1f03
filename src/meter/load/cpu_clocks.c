/* SPDX-License-Identifier: MIT */
#include "load/cpu_clocks.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "load/sizing.h"

static int start_clock(unsigned int cpu, int program_fd, uint64_t interval_ns, int *ret)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = interval_ns,
		.disabled = true,
		.exclude_idle = true,
	};
	_cleanup_close_ int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, (int)cpu, -1,
					      PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	*ret = TAKE_FD(fd);
	return 0;
}

int cpu_clocks_start(int program_fd, uint64_t interval_ns, struct cpu_clocks *ret)
{
	unsigned int cpus = sizing_cpus();
	struct cpu_clocks c = { .fds = calloc(cpus, sizeof(*c.fds)) };
	int r = c.fds ? 0 : -ENOMEM;

	for (unsigned int cpu = 0; cpu < cpus && r >= 0; cpu++) {
		r = start_clock(cpu, program_fd, interval_ns, &c.fds[c.count]);
		if (r >= 0)
			c.count++;
		else if (r == -ENODEV) /* that CPU is offline */
			r = 0;
	}
	if (r >= 0 && !c.count)
		r = -ENODEV;
	if (r < 0)
		cpu_clocks_stop(&c);
	else
		*ret = c;
	return r;
}

void cpu_clocks_stop(struct cpu_clocks *c)
{
	while (c->count > 0)
		close(c->fds[--c->count]);
	free(c->fds);
	*c = (struct cpu_clocks){};
}
