/* SPDX-License-Identifier: MIT */
#include "trace/tracing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/dir.h"
#include "basic/endings.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/idmap.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "cgroup/descendants.h"
#include "cgroup/group.h"
#include "cgroup/hierarchy.h"
#include "load/kernel_types.h"
#include "load/meter.h"
#include "trace/inside.h"
#include "trace/libraries.h"
#include "trace/mapped.h"
#include "trace/owner.h"

#define RING_BYTES (32U << 20)
#define RING_BYTES_OF_AGENT (8U << 20) /* it is charged to the agent's service */
#define SUMS_MAX 131072 /* of 0.5 KiB each, which are there when they are used */
#define PROCESSES_MAX 65536
#define TURN_MS 10 /* between two looks at the ring, where no event fills it */
#define TURN_OF_ALL_MS 100 /* of a trace that goes on for days */
#define RESCAN_NS UINT64_C(100000000) /* between two looks at what is mapped, at first */
#define SCAN_NS UINT64_C(30000000) /* after that events are read, and then it goes on */
#define RESCAN_LATER_NS UINT64_C(1000000000)
#define FIRST_NS UINT64_C(10000000000)
#define SCANS_PART 10 /* of the time: scans because of new programs take at most a tenth */
#define BUDGET_NS UINT64_C(1000000000) /* over which a cost is looked at */
#define TELL_NS UINT64_C(10000000000) /* between two words of what is counted */
#define TELL_NEW_NS UINT64_C(200000000) /* where a group has called for the first time */
#define DRAIN_TURNS 1000
#define LOOK_LATEST_NS UINT64_C(60000000000) /* between two looks at one of all processes */

/* Whose calls. */
struct scope {
	int root_fd;
	struct hierarchy hierarchy;
	struct group *group; /* of a job; NULL: of processes, or all */
	bool is_of_all;
	pid_t pid;
	pid_t *pids;
};

static void scope_close(struct scope *s)
{
	group_remove(s->group); /* it is others', and only closed */
	hierarchy_clear(&s->hierarchy);
	if (s->root_fd >= 0)
		close(s->root_fd);
	free(s->pids);
}

static int scope_open(const struct tracing_options *options, struct scope *ret, struct error *err)
{
	int r = 0;

	ret->pid = options->pid;
	ret->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ret->pids = calloc(PROCESSES_MAX, sizeof(*ret->pids));
	if (ret->root_fd < 0 || !ret->pids)
		return error_set_errno(err, errno, "cannot trace");
	ret->is_of_all = options->is_of_all;
	if (options->is_of_all || options->group)
		r = hierarchy_read(ret->root_fd, &ret->hierarchy, err);
	if (r < 0 || options->is_of_all)
		return r;
	if (options->group)
		return group_open(ret->root_fd, &ret->hierarchy, options->group, &ret->group, err);
	if (kill(options->pid, 0) < 0 && errno == ESRCH)
		return error_set(err, -ESRCH, "there is no process %d", options->pid);
	return 0;
}

static size_t list_alive(const struct scope *s, const struct tracer *t)
{
	const size_t count = tracer_list_processes(t, s->pids, PROCESSES_MAX);
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (descendants_is_alive(s->root_fd, s->pids[i]))
			s->pids[kept++] = s->pids[i];
	}
	return kept;
}

static ssize_t list_all(const struct scope *s)
{
	DIR *proc = dir_open(s->root_fd, "proc");
	const struct dirent *entry;
	ssize_t count = 0;

	while (proc && count < PROCESSES_MAX && (entry = readdir(proc))) {
		if (parse_int(entry->d_name, 1, INT32_MAX, &s->pids[count]) == 0)
			count++;
	}
	if (proc)
		closedir(proc);
	return count;
}

/* Those that are there now; @t may be NULL. */
static size_t scope_list(struct scope *s, const struct tracer *t)
{
	ssize_t count;

	if (s->is_of_all)
		count = list_all(s);
	else if (s->group)
		count = group_list_processes(s->group, s->pids, PROCESSES_MAX);
	else if (t)
		count = (ssize_t)list_alive(s, t);
	else {
		s->pids[0] = s->pid;
		count = descendants_list(s->root_fd, s->pid, s->pids + 1, PROCESSES_MAX - 1) + 1;
	}
	return (size_t)MAX(0, MIN(count, PROCESSES_MAX));
}

struct core_use {
	uint64_t ran_ns, waited_ns;
};

struct session {
	const struct tracing_options *options;
	struct scope scope;
	struct tracer *tracer;
	struct sites *sites;
	size_t processes; /* now */
	struct idmap looks; /* struct look, of all processes */
	uint64_t scanned_ns, budget_ns, told_ns;
	uint64_t groups; /* when that was told */
	uint64_t fresh_ns, execs; /* when traced processes last began programs, and how many */
	bool is_cut; /* the last scan: files are left */
	uint64_t scan_ns; /* CPU time that the last scan took */
	struct row_cost **costs; /* of each row */
	struct core_use core_use; /* of the traced processes, so far */
	bool is_crowded;
	struct traced traced;
	struct error *err;
};

static int add_library(void *context, const char *path, bool is_program)
{
	struct session *s = context;
	_cleanup_close_ int fd = -EBADF;
	struct site_file *file;

	if (!sites_want(s->sites, path, is_program))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	return s->tracer ? tracer_add_file(s->tracer, fd, path, is_program, s->err)
			 : sites_add(s->sites, fd, path, is_program, &file, s->err);
}

/* When its libraries have been added. */
static int await_program(void *context, const char *path, bool is_program)
{
	struct session *s = context;

	if (!is_program)
		return 0;
	if (s->tracer)
		return tracer_await_program(s->tracer, path, s->err);
	(void)sites_await_program(s->sites, path);
	return 0;
}

/* Files that the sets name by their paths. */
static int session_add_named(struct session *s)
{
	int r = 0;

	for (size_t i = 0; i < s->sites->set_count; i++) {
		const struct probe_set *set = s->sites->sets[i];

		for (size_t n = 0; n < set->library_count && r == 0; n++) {
			const struct probe_library *library = set->libraries[n];

			for (size_t k = 0; k < library->pattern_count && r == 0; k++) {
				if (*library->patterns[k] == '/')
					r = add_library(s, library->patterns[k], false);
			}
		}
	}
	return r;
}

/* When to scan one of all processes: at once, and again each time its age has doubled. */
struct look {
	pid_t pid;
	uint64_t since_ns, next_ns, seen_ns;
};

static bool session_is_due(struct session *s, pid_t pid)
{
	struct look *l = idmap_get(&s->looks, (uint64_t)pid);

	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l || idmap_put(&s->looks, (uint64_t)pid, l) < 0) {
			free(l);
			return true;
		}
		*l = (struct look){ pid, s->scanned_ns, s->scanned_ns, 0 };
	}
	l->seen_ns = s->scanned_ns;
	if (s->scanned_ns < l->next_ns)
		return false;
	l->next_ns = s->scanned_ns + MIN(s->scanned_ns - l->since_ns, LOOK_LATEST_NS);
	return true;
}

/* Of those that are gone; @seen_ns UINT64_MAX: of all. */
static void session_forget_looks(struct session *s, uint64_t seen_ns)
{
	struct look *l, *gone[64];
	size_t at = 0, count = 0;

	while ((l = idmap_next(&s->looks, &at))) {
		if (l->seen_ns < seen_ns && count < ARRAY_SIZE(gone))
			gone[count++] = l;
	}
	for (size_t i = 0; i < count; i++) {
		idmap_remove(&s->looks, (uint64_t)gone[i]->pid);
		free(gone[i]);
	}
	if (count == ARRAY_SIZE(gone))
		session_forget_looks(s, seen_ns);
}

/* What cannot be probed of one file leaves all others.  Where there is no room for more, the trace
 * of all processes is to begin again, without files that are gone. */
static int session_look(struct session *s, pid_t pid, bool is_held)
{
	int r;

	if (s->options->owner && owner_check(s->options->owner, pid, NULL) != 0)
		return 0;
	if (s->options->is_of_all && !session_is_due(s, pid))
		return 0;
	r = tracer_add_process(
		s->tracer, pid, is_held,
		s->options->is_of_all || !s->traced.start_ns ? UINT64_MAX : s->scanned_ns + SCAN_NS,
		s->err);
	if (s->options->is_of_all)
		return r == -E2BIG || r == -ENOMEM ? r : 0;
	s->traced.files_left_out += r == -E2BIG;
	return r == -E2BIG ? 0 : r;
}

static int session_scan(struct session *s)
{
	const uint64_t now = clock_now_ns(CLOCK_MONOTONIC);
	const uint64_t used_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
	const uint64_t execs = tracer_exec_count(s->tracer);
	const bool is_fresh = execs != s->execs;
	/* a user's command, which has mapped what it will need, is not that program yet */
	const bool is_held = s->options->owner && !s->scanned_ns;
	int r = 0;

	if (is_fresh || !s->scanned_ns)
		s->fresh_ns = now;
	if (s->scanned_ns && !s->is_cut &&
	    now - s->scanned_ns < (is_fresh ? MIN(s->scan_ns * SCANS_PART, RESCAN_LATER_NS)
				   : now - s->fresh_ns < FIRST_NS ? RESCAN_NS
								  : RESCAN_LATER_NS))
		return 0;
	s->execs = execs;
	s->scanned_ns = now;
	s->processes = scope_list(&s->scope, s->tracer);
	for (size_t i = 0; i < s->processes && is_fresh && s->options->see; i++)
		s->options->see(s->options->context, s->scope.pids[i]);
	for (size_t i = 0; i < s->processes && r == 0; i++)
		r = session_look(s, s->scope.pids[i], is_held);
	s->is_cut = r == -EAGAIN;
	session_forget_looks(s, now);
	s->scan_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - used_ns;
	return s->is_cut ? 0 : r;
}

/* What a row cost since the last check. */
struct row_cost {
	uint64_t outside, added_outside; /* what others paid of it so far, and since */
	uint64_t cpus[]; /* on each, so far, and behind all of these, since */
};

static struct row_cost *session_add_cost(struct session *s, size_t row)
{
	const size_t cpus = tracer_cpu_count();
	struct row_cost *c = s->costs[row];
	uint64_t outside;

	if (!c)
		c = s->costs[row] = calloc(1, sizeof(*c) + 2 * cpus * sizeof(c->cpus[0]));
	if (!c)
		return NULL;
	outside = tracer_add_costs(s->tracer, row, c->cpus, c->cpus + cpus);
	c->added_outside = outside - MIN(outside, c->outside);
	c->outside = outside;
	return c;
}

static int session_drop(struct session *s, size_t row, uint64_t cost_ns)
{
	const size_t cpus = tracer_cpu_count();
	int r = tracer_drop(s->tracer, row, s->err);

	memset(s->costs[row]->cpus + cpus, 0, cpus * sizeof(uint64_t));
	s->options->drop(s->options->context, s->sites->rows[row], cost_ns);
	return r;
}

/* The row of which others pay the most goes, if they pay too much of all together for a user. */
static int session_hold_outside(struct session *s, uint64_t passed)
{
	uint64_t all = 0, most = 0;
	size_t worst = 0;

	for (size_t i = 0; i < s->sites->row_count; i++) {
		const uint64_t added = s->costs[i]->added_outside;

		all += added;
		s->traced.outside_ns += added;
		if (added <= most || s->sites->rows[i]->is_dropped)
			continue;
		most = added;
		worst = i;
	}
	return all > passed / TRACING_OUTSIDE_PART && most ? session_drop(s, worst, most) : 0;
}

/* What a CPU loses is what the programs on it lose, however many others are traced and call
 * nothing.  No row may take more of it than the budget, nor all of them half. */
static int session_hold_cpu(struct session *s, size_t cpu, uint64_t passed, uint64_t most)
{
	const size_t at = tracer_cpu_count() + cpu;
	int r = 0;

	while (r == 0) {
		uint64_t all = 0, added = 0;
		size_t worst = 0;

		for (size_t i = 0; i < s->sites->row_count; i++) {
			const uint64_t of = s->costs[i]->cpus[at];

			all += of;
			if (of > added)
				worst = i;
			added = MAX(added, of);
		}
		if (added <= most && all <= passed / 2)
			return 0;
		r = session_drop(s, worst, added);
	}
	return r;
}

/* Of the main thread: ranks and workers have no more that are busy. */
static void add_core_use(int root_fd, pid_t pid, struct core_use *to)
{
	char path[64], text[128];
	const char *at = text;
	uint64_t ran = 0, waited = 0;

	snprintf(path, sizeof(path), "proc/%d/schedstat", pid);
	if (file_read_small(root_fd, path, text, sizeof(text)) > 0 &&
	    parse_leading_u64(&at, &ran) == 0 && at++ && parse_leading_u64(&at, &waited) == 0) {
		to->ran_ns += ran;
		to->waited_ns += waited;
	}
}

/* Do the traced processes call what waits for others? */
static bool session_waits_for_others(const struct session *s)
{
	struct trace_counts counts;

	for (size_t i = 0; i < s->sites->row_count; i++) {
		const enum probe_kind kind = s->sites->rows[i]->probe->kind;

		if (kind >= PROBE_SEND && kind <= PROBE_ROOTED &&
		    tracer_get_counts(s->tracer, i, &counts) == 0 && counts.hits > counts.outside)
			return true;
	}
	return false;
}

/* Ranks that share cores yield them when they poll for each other: a few microseconds of a probe
 * can then cost a time slice, which no budget covers. */
static void session_watch_cores(struct session *s, uint64_t passed)
{
	struct core_use now = {}, *before = &s->core_use;

	if (s->scope.is_of_all)
		return;
	s->processes = scope_list(&s->scope, s->tracer);
	for (size_t i = 0; i < s->processes; i++)
		add_core_use(s->scope.root_fd, s->scope.pids[i], &now);
	if (now.ran_ns >= before->ran_ns && now.waited_ns >= before->waited_ns) {
		const uint64_t ran = now.ran_ns - before->ran_ns,
			       waited = now.waited_ns - before->waited_ns;

		if (waited > ran / 2 && ran + waited > passed / 2 && s->options->crowded &&
		    !s->is_crowded && session_waits_for_others(s)) {
			s->is_crowded = true;
			s->options->crowded(s->options->context);
		}
	}
	*before = now;
}

/* Drop and report the rows that cost more than the budget. */
static int session_hold(struct session *s)
{
	const uint64_t now = clock_now_ns(CLOCK_MONOTONIC), passed = now - s->budget_ns,
		       most = passed / 100 * s->options->budget;
	const size_t cores = (size_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1),
		     cpus = tracer_cpu_count();
	int r = 0;

	if (passed < BUDGET_NS)
		return 0;
	s->budget_ns = now;
	session_watch_cores(s, passed);
	if (!s->options->budget)
		return 0;
	for (size_t i = 0; i < s->sites->row_count && r == 0; i++) {
		struct row_cost *c = session_add_cost(s, i);
		uint64_t all = 0;

		if (!c)
			return error_set_errno(s->err, ENOMEM, "cannot trace");
		if (s->sites->rows[i]->is_dropped) /* what came before it was gone */
			memset(c->cpus + cpus, 0, cpus * sizeof(c->cpus[0]));
		for (size_t cpu = cpus; cpu < 2 * cpus; cpu++)
			all += c->cpus[cpu];
		if (s->options->is_of_all && all > most * cores)
			r = session_drop(s, i, all);
	}
	if (r == 0 && s->options->owner)
		r = session_hold_outside(s, passed);
	for (size_t i = 0; i < cpus && r == 0; i++)
		r = session_hold_cpu(s, i, passed, s->options->is_of_all ? passed / 2 : most);
	return r;
}

/* Returns 1 while it goes on. */
static int session_wait(struct session *s, int endings_fd, int timeout_ms)
{
	struct pollfd p = { .fd = endings_fd, .events = POLLIN };

	int r = s->options->wait ? s->options->wait(s->options->context, timeout_ms, s->err)
				 : poll(&p, 1, timeout_ms) <= 0;

	return r > 0 ? s->processes > 0 : r;
}

static void session_tell(struct session *s, bool is_last)
{
	const uint64_t now = clock_now_ns(CLOCK_MONOTONIC);
	const struct tracing_moment moment = {
		.tracer = s->tracer,
		.group_id = s->scope.group ? group_id(s->scope.group) : 0,
		.traced_ns = (is_last ? s->traced.end_ns : now) - s->traced.start_ns,
		.is_last = is_last,
	};

	const uint64_t groups = tracer_group_count(s->tracer);
	const bool is_due = now - s->told_ns >= TELL_NS ||
			    (groups > s->groups && now - s->told_ns >= TELL_NEW_NS);

	if (!s->options->tell || (!is_last && !is_due))
		return;
	s->told_ns = now;
	s->groups = groups;
	s->options->tell(s->options->context, &moment);
}

static int session_take(void *context, const struct trace_event *event)
{
	struct session *s = context;
	struct trace_event open = *event;
	size_t row;

	if (!(event->flags & TRACE_IS_OPEN))
		return s->options->read(s->options->context, event);
	if (!s->options->open)
		return 0;
	if (event->row != TRACE_NO_CALL)
		return s->options->open(s->options->context, event);
	if (inside_find(s->sites, (pid_t)event->tgid, (uint64_t)event->captures[0],
			(uint64_t)event->captures[1], &row) < 0)
		return 0;
	open.row = (uint16_t)row;
	return s->options->open(s->options->context, &open);
}

static int session_turn(struct session *s, int endings_fd)
{
	int r = session_scan(s), read;

	if (r == 0)
		r = session_hold(s);
	if (r < 0)
		return r;
	session_tell(s, false);
	read = tracer_read(s->tracer, session_take, s);
	if (read < 0)
		return error_set_errno(s->err, read, "cannot take events");
	if (read > 0 && fflush(NULL) != 0) /* whoever reads them need not wait for more */
		return error_set_errno(s->err, errno, "cannot write");
	r = session_wait(s, endings_fd,
			 read >= TRACER_BATCH	 ? 0
			 : s->options->is_of_all ? TURN_OF_ALL_MS
						 : TURN_MS);
	if (r > 0 && s->options->duration_ns &&
	    clock_now_ns(CLOCK_MONOTONIC) - s->traced.start_ns >= s->options->duration_ns)
		return 0;
	return r;
}

static int session_open_tracer(struct session *s)
{
	_cleanup_(kernel_types_freep) struct kernel_types *types = NULL;
	struct tracer_options options = {
		.cgroup = s->scope.group ? group_id(s->scope.group) : 0,
		.key_subsys = -1,
		.process = s->scope.group ? 0 : s->scope.pid,
		.is_by_group = s->options->is_of_all,
		.is_by_owner = s->options->owner,
		.owner = s->options->owner ? s->options->owner->uid : 0,
		.owner_group = s->options->owner ? s->options->owner->gid : 0,
		.ring_bytes = s->options->owner || s->options->is_of_all ? RING_BYTES_OF_AGENT
									 : RING_BYTES,
		.sums_max = SUMS_MAX,
	};
	size_t count;
	int r;

	if ((s->scope.group || s->scope.is_of_all) && !s->scope.hierarchy.is_v2) {
		(void)kernel_types_open(&types);
		options.key_subsys = meter_find_subsys(&s->scope.hierarchy, types);
	}
	r = tracer_open(&options, s->sites, &s->tracer, s->err);
	if (r < 0 || s->scope.group || s->scope.is_of_all)
		return r;
	count = scope_list(&s->scope, NULL); /* what it forked before us */
	for (size_t i = 0; i < count && r == 0; i++)
		r = tracer_trace_process(s->tracer, s->scope.pids[i], s->err);
	return r;
}

static int session_begin(struct session *s, int endings_fd)
{
	char *const *command = s->options->command;
	int r = session_open_tracer(s);

	if (r == 0 && !s->options->owner)
		r = session_add_named(s);
	if (r == 0)
		r = command ? libraries_visit(command, add_library, s) : session_scan(s);
	if (r == 0 && command)
		r = libraries_visit(command, await_program, s);
	s->costs = calloc(TRACE_ROWS_MAX, sizeof(*s->costs));
	if (r == 0 && !s->costs)
		r = error_set_errno(s->err, ENOMEM, "cannot trace");
	if (r < 0)
		return r;
	s->traced.start_ns = s->budget_ns = clock_now_ns(CLOCK_MONOTONIC);
	tracer_switch(s->tracer, true);
	r = tracer_end_with(s->tracer, endings_fd, s->options->duration_ns);
	if (r < 0)
		return error_set_errno(s->err, r, "cannot trace");
	return s->options->begun ? s->options->begun(s->options->context, s->err) : 0;
}

/* All that is on its way is taken, which is bounded: nothing is added any more. */
static int session_drain(struct session *s)
{
	int r = 1;

	if (s->options->open) /* what cannot be said is left out */
		(void)tracer_show_open(s->tracer);
	tracer_detach(s->tracer);
	for (int i = 0; i < DRAIN_TURNS && r > 0; i++)
		r = tracer_read(s->tracer, session_take, s);
	return r < 0 ? error_set_errno(s->err, r, "cannot take events") : 0;
}

int tracing_run(const struct tracing_options *options, struct sites *sites, struct tracer **ret,
		struct traced *ret_traced, struct error *err)
{
	struct session s = {
		.options = options, .sites = sites, .err = err, .scope.root_fd = -EBADF
	};
	_cleanup_close_ int endings_fd = -EBADF;
	int r;

	r = scope_open(options, &s.scope, err);
	if (r == 0 && !options->wait) {
		endings_fd = endings_open();
		r = endings_fd < 0 ? error_set_errno(err, endings_fd, "cannot trace") : 0;
	}
	if (r == 0)
		r = session_begin(&s, endings_fd);
	for (r = r == 0 ? 1 : r; r > 0;)
		r = session_turn(&s, endings_fd);
	s.traced.end_ns = clock_now_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; options->owner && s.tracer && s.costs && i < sites->row_count; i++) {
		const struct row_cost *c = session_add_cost(&s, i);

		s.traced.outside_ns += c ? c->added_outside : 0;
	}
	if (s.tracer && r == 0)
		r = session_drain(&s);
	if (s.tracer && r == 0)
		session_tell(&s, true);
	for (size_t i = 0; i < TRACE_ROWS_MAX && s.costs; i++)
		free(s.costs[i]);
	free(s.costs);
	session_forget_looks(&s, UINT64_MAX);
	idmap_clear(&s.looks);
	scope_close(&s.scope);
	if (r < 0) {
		tracer_close(s.tracer);
		return r;
	}
	*ret = s.tracer;
	*ret_traced = s.traced;
	return 0;
}

static int look_at_mapped(void *context, const struct mapped_file *file)
{
	struct session *s = context;
	struct site_file *found;
	int r = 0;

	if (sites_want(s->sites, file->path, file->is_program))
		r = sites_add(s->sites, file->fd, file->path, file->is_program, &found, s->err);
	sites_see(s->sites, sites_know(s->sites, file->fd, file->path));
	return r;
}

int tracing_look(const struct tracing_options *options, struct sites *sites, struct error *err)
{
	struct session s = {
		.options = options, .sites = sites, .err = err, .scope.root_fd = -EBADF
	};
	size_t count = 0;
	int r;

	if (options->command) {
		r = libraries_visit(options->command, add_library, &s);
		return r < 0 ? r : libraries_visit(options->command, await_program, &s);
	}
	r = scope_open(options, &s.scope, err);
	if (r == 0)
		count = scope_list(&s.scope, NULL);
	for (size_t i = 0; i < count && r == 0; i++) {
		sites_begin_process(sites);
		r = mapped_visit(s.scope.pids[i], NULL, look_at_mapped, &s);
		(void)sites_end_process(sites, false);
	}
	scope_close(&s.scope);
	return r;
}
