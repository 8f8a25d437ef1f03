/* SPDX-License-Identifier: MIT */
/*
 * truth - does each operation on files a known number of times, and tells what it did and got back.
 *
 * Everything that it asks of the kernel between its start and its end, and that a meter counts, is
 * in the document that it writes: all the work, the waiting for it, and the document itself.  It is
 * linked statically, so that no loader opens files before.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aio.h"
#include "document.h"
#include "basic/macro.h"
#include "mapped.h"
#include "meta.h"
#include "options.h"
#include "passing.h"
#include "storm.h"
#include "uring.h"
#include "waiting.h"
#include "work.h"

#define WAYS_OF_PASSING (1U << WAY_SENDFILE | 1U << WAY_COPY_FILE_RANGE | 1U << WAY_SPLICE)

static int fail(const char *what)
{
	dprintf(STDERR_FILENO, "truth: %s\n", what);
	return 1;
}

/* ---- workers ---- */

struct thread {
	const struct options *options;
	struct worker worker;
	char name[32];
	pthread_t id;
};

/* Within each folder, and from each to the next. */
static void pass_files(struct worker *w, const struct options *o)
{
	const struct target *last = NULL;

	for (size_t i = 0; i < o->target_count; i++) {
		const struct target *t = &o->targets[i];
		struct folder folder = { .place = t->place, .path = t->path };

		if (t->kind != TARGET_FOLDER)
			continue;
		pass_between(w, o->ways, folder, folder);
		if (last)
			pass_between(w, o->ways, (struct folder){ last->place, last->path },
				     folder);
		last = t;
	}
}

static void work_on_target(struct worker *w, const struct options *o, const struct target *t)
{
	switch (t->kind) {
	case TARGET_FOLDER:
		work_in_folder(w, t->place, t->path);
		if (o->with_meta)
			meta_in_folder(w, t->place, t->path, o->with_newest);
		if (o->ways & 1U << WAY_IO_URING)
			uring_in_folder(w, t->place, t->path);
		if (o->ways & 1U << WAY_LIBAIO)
			aio_in_folder(w, t->place, t->path);
		if (o->with_ring_splice)
			uring_splice(w, t->place, t->path);
		if (o->storm_opens || o->storm_stats)
			storm_in_folder(w, t->place, t->path, o->storm_opens, o->storm_stats);
		break;
	case TARGET_DEVICE:
		work_on_device(w, t->place, t->path);
		if (o->with_meta)
			meta_on_device(w, t->place, t->path);
		break;
	case TARGET_MAPPED:
		mapped_in_folder(w, t->place, t->path);
		break;
	}
}

static void *thread_main(void *data)
{
	struct thread *thread = data;
	const struct options *o = thread->options;
	struct worker *w = &thread->worker;

	for (size_t round = 0; round < o->repeat; round++) {
		for (size_t i = 0; i < o->target_count; i++)
			work_on_target(w, o, &o->targets[i]);
		work_on_pipes(w);
		work_on_sockets(w);
		work_on_pseudo_files(w);
		work_on_bad_descriptors(w);
		if (o->with_meta)
			meta_elsewhere(w);
		if (o->ways & WAYS_OF_PASSING)
			pass_files(w, o);
	}
	return NULL;
}

static bool prepare_thread(struct thread *thread, const struct options *o, struct ledgers *all,
			   size_t process, size_t i)
{
	thread->options = o;
	snprintf(thread->name, sizeof(thread->name), "%zu-%zu", process, i);
	thread->worker = (struct worker){ .ledger = ledgers_take(all),
					  .name = thread->name,
					  .buffer = work_buffer_new() };
	return thread->worker.buffer;
}

static bool is_well_done(const struct worker *w)
{
	if (w->wrong)
		dprintf(STDERR_FILENO, "truth: wrong: %s\n", w->wrong);
	return !w->wrong;
}

static bool run_worker(const struct options *o, struct ledgers *all, size_t process)
{
	static struct thread threads[THREADS_MAX];
	struct file hole = work_make_hole(ledgers_take(all));
	bool is_well;

	for (size_t i = 0; i < o->threads; i++) {
		if (!prepare_thread(&threads[i], o, all, process, i))
			return false;
		threads[i].worker.hole = hole;
	}
	for (size_t i = 1; i < o->threads; i++)
		if (pthread_create(&threads[i].id, NULL, thread_main, &threads[i]) != 0)
			return false;
	thread_main(&threads[0]);
	is_well = is_well_done(&threads[0].worker);
	for (size_t i = 1; i < o->threads; i++) {
		pthread_join(threads[i].id, NULL);
		is_well = is_well_done(&threads[i].worker) && is_well;
	}
	return is_well;
}

/* ---- processes ---- */

static bool run_signals(const struct options *o UNUSED, struct ledgers *all, size_t i UNUSED)
{
	return interrupt_readers(all);
}

static bool run_dup2(const struct options *o, struct ledgers *all, size_t i)
{
	return o->targets[i].kind != TARGET_FOLDER ||
	       replace_under_reader(all, o->targets[i].place, o->targets[i].path);
}

/* The static C library's start asks where the program lies, which is no work of ours but counts. */
static void note_start(struct ledger *l)
{
#ifdef __GLIBC__
	ledger_note(l, (struct deed){ .place = PLACE_PSEUDO, .op = OP_READLINK, .by = BY_PATH }, 0);
#endif
}

/* Does some work, then becomes another program, which closes descriptors without a close(). */
static bool run_exec(const struct options *o UNUSED, struct ledgers *all, size_t i UNUSED)
{
	char *const argv[] = { (char *)"truth", (char *)"--only-end", NULL };
	struct worker w = { .ledger = ledgers_take(all), .buffer = work_buffer_new() };
	struct file ends[2];

	if (!w.buffer || !pipe_make(ends, O_CLOEXEC))
		return false;
	work_on_pipes(&w);
	note_start(w.ledger);
	execv("/proc/self/exe", argv);
	return false;
}

struct crowd { /* the processes that are to be waited for */
	pid_t pids[PROCESSES_MAX + 2 * PLACES_MAX];
	size_t count;
};

typedef bool job_function(const struct options *o, struct ledgers *all, size_t i);

static bool start(struct crowd *crowd, job_function *job, const struct options *o,
		  struct ledgers *all, size_t i)
{
	pid_t pid = fork();

	if (pid < 0)
		return false;
	if (pid == 0)
		_exit(!job(o, all, i));
	crowd->pids[crowd->count++] = pid;
	return true;
}

static bool start_all(struct crowd *crowd, const struct options *o, struct ledgers *all)
{
	bool is_well = true;

	for (size_t i = 0; i < o->processes; i++)
		is_well = is_well && start(crowd, run_worker, o, all, i);
	if (o->with_signals)
		is_well = is_well && start(crowd, run_signals, o, all, 0);
	if (o->with_exec)
		is_well = is_well && start(crowd, run_exec, o, all, 0);
	for (size_t i = 0; o->with_dup2 && i < o->target_count; i++)
		is_well = is_well && start(crowd, run_dup2, o, all, i);
	return is_well;
}

static bool wait_for_all(const struct crowd *crowd)
{
	bool is_well = true;

	for (size_t i = 0; i < crowd->count; i++) {
		siginfo_t info;

		if (waitid(P_PID, (id_t)crowd->pids[i], &info, WEXITED) < 0)
			return false;
		is_well = is_well && info.si_code == CLD_EXITED && info.si_status == 0;
	}
	return is_well;
}

static bool work(const struct options *o, struct ledgers *all)
{
	static struct crowd crowd;
	struct herd herd = {};
	bool is_well;

	if (o->blocked && !herd_start(&herd, all, o->blocked))
		return false;
	is_well = start_all(&crowd, o, all);
	if (o->with_meta)
		meta_of_machine(ledgers_take(all));
	is_well = wait_for_all(&crowd) && is_well;
	if (o->blocked)
		is_well = herd_release(&herd, ledgers_take(all)) && is_well;
	return is_well;
}

/* ---- the program ---- */

/* How many ledgers are taken at most: see where ledgers_take() stands. */
static size_t ledgers_needed(const struct options *o)
{
	return o->processes * (o->threads + 1) + 2 * o->blocked + o->target_count * 16 + 32;
}

static int name_places(struct options *o, struct ledgers *all)
{
	for (size_t i = 0; i < o->target_count; i++) {
		o->targets[i].place = ledgers_get_place(all, o->targets[i].path);
		if (o->targets[i].place < 0)
			return o->targets[i].place;
	}
	return 0;
}

/* The document's own place: the folder it is in, as it was given. */
static int place_of_output(struct ledgers *all, const char *output)
{
	const char *slash = strrchr(output, '/');

	if (!slash)
		return ledgers_get_place(all, ".");
	return ledgers_get_place(all, strndup(output, slash == output ? 1 : slash - output));
}

int main(int argc, char **argv)
{
	struct options options;
	struct ledgers *all;
	int place;

	if (!options_parse(argc, argv, &options)) {
		dprintf(STDERR_FILENO, "%s", options_usage);
		return 2;
	}
	if (options.only_end)
		return 0;

	all = ledgers_new(ledgers_needed(&options));
	if (!all)
		return fail("no memory");
	place = place_of_output(all, options.output);
	if (place < 0 || name_places(&options, all) < 0)
		return fail("too many places, or one with a letter that JSON would escape");
	signal(SIGPIPE, SIG_IGN);
	note_start(ledgers_take(all));

	if (!work(&options, all))
		return fail("a case could not be made");
	errno = -document_publish(all, place, options.output);
	return errno ? fail(strerror(errno)) : 0;
}
