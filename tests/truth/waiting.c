/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "basic/macro.h"
#include "waiting.h"

#define THREADS_MAX 1024

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* Look again until it is so; looking is no system call. */
static void wait_for(const size_t *counter, size_t at_least)
{
	while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < at_least)
		pause_ms(1);
}

static void count_up(size_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELEASE);
}

static bool wait_for_children(size_t count)
{
	bool is_well = true;

	for (size_t i = 0; i < count; i++) {
		siginfo_t info;

		if (waitid(P_ALL, 0, &info, WEXITED) < 0)
			return false;
		is_well = is_well && info.si_code == CLD_EXITED && info.si_status == 0;
	}
	return is_well;
}

static size_t *shared_counter_new(void)
{
	size_t *counter = mmap(NULL, sizeof(*counter), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return counter == MAP_FAILED ? NULL : counter;
}

/* A task that reads one byte, however often it is told EINTR. */
struct reader {
	struct ledger *ledger;
	struct file file;
	size_t *about_to_read; /* one up each time a reader comes there */
	pid_t tid;
	char byte;
	long result;
};

static void reader_read(struct reader *reader)
{
	reader->tid = gettid();
	count_up(reader->about_to_read);
	do
		reader->result = counted_read(reader->ledger, reader->file, &reader->byte, 1);
	while (reader->result == -EINTR);
}

static void *reader_main(void *data)
{
	reader_read(data);
	return NULL;
}

/* The letter of a task's state in /proc; 0: it does not say. */
static char read_state(struct ledger *l, pid_t tid)
{
	char path[64], text[513] = "";
	struct file file;
	const char *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	file = counted_open_existing(l, PLACE_PSEUDO, path, O_RDONLY | O_CLOEXEC);
	if (file.fd < 0)
		return 0;
	counted_read(l, file, text, sizeof(text) - 1);
	counted_close(l, file);
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

/* Return when the reader, who is about to read, sleeps in the call; what this reads is counted too.
 */
static void wait_until_blocked(struct ledger *l, const struct reader *reader)
{
	char state;

	do {
		pause_ms(1);
		state = read_state(l, reader->tid);
	} while (state && state != 'S');
	if (!state)
		pause_ms(50); /* no /proc here */
}

/* ---- the herd ---- */

static bool run_threads(struct reader *readers, size_t count)
{
	static pthread_t threads[THREADS_MAX];

	for (size_t i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, reader_main, &readers[i]) != 0)
			return false;
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return true;
}

/* One process of the herd, with @threads threads, or none: then it reads itself.  It must not hold
 * the writing end, or the pipe would never end. */
static bool herd_process(const struct herd *herd, struct ledgers *all, size_t *waiting,
			 size_t threads)
{
	static struct reader readers[THREADS_MAX];

	counted_close(ledgers_take(all), herd->ends[1]);
	for (size_t i = 0; i < MAX(threads, 1); i++)
		readers[i] = (struct reader){ .ledger = ledgers_take(all),
					      .file = herd->ends[0],
					      .about_to_read = waiting };
	if (threads)
		return run_threads(readers, threads);
	reader_read(&readers[0]);
	return true;
}

bool herd_start(struct herd *herd, struct ledgers *all, size_t count)
{
	size_t threads = count / 2;
	size_t *waiting = shared_counter_new();

	herd->count = count;
	herd->process_count = count - threads + (threads ? 1 : 0);
	if (threads > THREADS_MAX || !waiting || !pipe_make(herd->ends, O_CLOEXEC))
		return false;
	for (size_t i = 0; i < herd->process_count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return false;
		if (pid == 0)
			_exit(!herd_process(herd, all, waiting, i == 0 ? threads : 0));
	}
	wait_for(waiting, count);
	return true;
}

bool herd_release(struct herd *herd, struct ledger *l)
{
	for (size_t i = 0; i < herd->count - herd->count / 3; i++)
		counted_write(l, herd->ends[1], "b", 1);
	counted_close(l, herd->ends[1]);
	counted_close(l, herd->ends[0]);
	return wait_for_children(herd->process_count);
}

/* ---- signals ---- */

/* What the handler finds; it runs in the reader alone, who is the only one that is sent the signal.
 */
static struct interruption {
	struct ledger *ledger;
	struct file writes_to; /* below 0: it writes nothing */
	size_t handled;
} interruption;

static void handle(int number UNUSED)
{
	int saved_errno = errno;

	if (interruption.writes_to.fd >= 0)
		counted_write(interruption.ledger, interruption.writes_to, "hand", 4);
	count_up(&interruption.handled);
	errno = saved_errno;
}

#define SIGNALS_EACH 5

static bool interrupt_reader(struct ledgers *all, int flags, bool writes)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = flags };
	struct ledger *l = ledgers_take(all);
	size_t about_to_read = 0;
	struct file ends[2], others[2];
	struct reader reader = { .ledger = ledgers_take(all), .about_to_read = &about_to_read };
	pthread_t thread;

	if (!pipe_make(ends, 0) || !pipe_make(others, 0))
		return false;
	reader.file = ends[0];
	interruption = (struct interruption){ .ledger = ledgers_take(all),
					      .writes_to = { .fd = -1 } };
	if (writes)
		interruption.writes_to = others[1];

	if (sigaction(SIGUSR1, &action, NULL) < 0 ||
	    pthread_create(&thread, NULL, reader_main, &reader) != 0)
		return false;
	wait_for(&about_to_read, 1);
	for (size_t i = 1; i <= SIGNALS_EACH; i++) {
		wait_until_blocked(l, &reader);
		syscall(SYS_tgkill, getpid(), reader.tid, SIGUSR1);
		wait_for(&interruption.handled, i);
	}
	wait_until_blocked(l, &reader);
	counted_write(l, ends[1], "s", 1);
	pthread_join(thread, NULL);

	for (int i = 0; i < 2; i++) {
		counted_close(l, ends[i]);
		counted_close(l, others[i]);
	}
	return reader.result == 1;
}

/* A read that is stopped by job control restarts too, without any handler. */
static bool stop_reader(struct ledgers *all)
{
	struct reader *reader = mmap(NULL, sizeof(*reader), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ledger *l = ledgers_take(all);
	struct file ends[2];
	siginfo_t info;
	pid_t pid;

	if (reader == MAP_FAILED || !pipe_make(ends, 0))
		return false;
	*reader = (struct reader){ .ledger = ledgers_take(all),
				   .file = ends[0],
				   .about_to_read = shared_counter_new() };
	pid = reader->about_to_read ? fork() : -1;
	if (pid < 0)
		return false;
	if (pid == 0) {
		reader_read(reader);
		_exit(reader->result != 1);
	}
	wait_for(reader->about_to_read, 1);
	for (int i = 0; i < 3; i++) {
		wait_until_blocked(l, reader);
		kill(pid, SIGSTOP);
		waitid(P_PID, (id_t)pid, &info, WSTOPPED);
		kill(pid, SIGCONT);
		waitid(P_PID, (id_t)pid, &info, WCONTINUED);
	}
	wait_until_blocked(l, reader);
	counted_write(l, ends[1], "c", 1);
	return wait_for_children(1);
}

bool interrupt_readers(struct ledgers *all)
{
	return interrupt_reader(all, SA_RESTART, false) && interrupt_reader(all, 0, false) &&
	       interrupt_reader(all, SA_RESTART, true) && interrupt_reader(all, 0, true) &&
	       stop_reader(all);
}

/* ---- other files under a waiting read ---- */

/* Put @file where @old is, in one step or in two. */
static void replace(struct ledger *l, struct file old, struct file file, bool by_dup2)
{
	if (!by_dup2)
		counted_close(l, old);
	dup2((int)file.fd, (int)old.fd);
}

static bool replace_once(struct ledgers *all, struct file file, bool by_dup2)
{
	struct ledger *l = ledgers_take(all);
	size_t about_to_read = 0;
	struct reader reader = { .ledger = ledgers_take(all), .about_to_read = &about_to_read };
	struct file ends[2], replaced;
	pthread_t thread;
	char byte;

	if (!pipe_make(ends, 0))
		return false;
	reader.file = ends[0];
	if (pthread_create(&thread, NULL, reader_main, &reader) != 0)
		return false;
	wait_for(&about_to_read, 1);
	wait_until_blocked(l, &reader);
	replace(l, ends[0], file, by_dup2);
	counted_write(l, ends[1], "p", 1);
	pthread_join(thread, NULL);

	replaced = (struct file){ .fd = ends[0].fd, .place = file.place };
	lseek((int)replaced.fd, 0, SEEK_SET);
	counted_read(l, replaced, &byte, 1);
	counted_close(l, replaced);
	counted_close(l, ends[1]);
	return reader.byte == 'p'; /* else the file was there before the read began */
}

bool replace_under_reader(struct ledgers *all, int place, const char *folder)
{
	struct ledger *l = ledgers_take(all);
	char path[4096];
	struct file file;
	bool is_well = true;

	snprintf(path, sizeof(path), "%s/truth-replaced", folder);
	file = counted_open(l, place,
			    &(struct opening){ .call = CALL_OPENAT,
					       .dir_fd = AT_FDCWD,
					       .path = path,
					       .flags = O_CREAT | O_EXCL | O_RDWR,
					       .creates = true });
	counted_write(l, file, "file", 4);
	for (int i = 0; i < 3; i++)
		is_well = is_well && replace_once(all, file, true) &&
			  replace_once(all, file, false);
	counted_close(l, file);
	counted_unlink(l, place, path);
	return is_well && file.fd >= 0;
}
