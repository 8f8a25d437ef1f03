/* SPDX-License-Identifier: MIT */
/* traced - calls functions that tests probe, so and so often; what each mode does stands in its
 * function. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_attribute(noipa)
#define PROBED __attribute__((noipa, patchable_function_entry(1)))
#else
#define PROBED __attribute__((noinline, patchable_function_entry(1)))
#endif

long traced_work(long bytes);
long traced_nested(long depth);
long traced_leave(long how);
long traced_text(const char *text);

static volatile long sink;
static jmp_buf back;

/* ---- what is probed; all begin with a nop, which the kernel emulates ---- */

PROBED long traced_work(long bytes)
{
	sink = bytes;
	return bytes;
}

PROBED long traced_nested(long depth)
{
	long below;

	if (depth <= 1)
		return 1;
	below = traced_nested(depth - 1);
	__asm__ volatile("nop");
	return below + 1;
}

PROBED long traced_leave(long how)
{
	if (how)
		longjmp(back, 1);
	return 0;
}

PROBED long traced_text(const char *text)
{
	sink = (long)text;
	return 0;
}

/* ---- modes ---- */

struct job {
	long calls, pause_every;
};

static void *work(void *context)
{
	const struct job *job = context;

	for (long i = 0; i < job->calls; i++) {
		traced_work(i % 7 * 1024);
		if (job->pause_every && i % job->pause_every == 0)
			usleep(1000);
	}
	return NULL;
}

/* CALLS THREADS PAUSE_EVERY */
static int work_mode(char **argv)
{
	struct job job = { atol(argv[0]), atol(argv[2]) };
	long threads = atol(argv[1]);
	pthread_t others[64];

	for (long i = 1; i < threads; i++)
		pthread_create(&others[i], NULL, work, &job);
	work(&job);
	for (long i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	return 0;
}

/* TIMES DEPTH */
static int nested_mode(char **argv)
{
	for (long i = 0; i < atol(argv[0]); i++)
		traced_nested(atol(argv[1]));
	return 0;
}

/* TIMES: each leaves the function by longjmp(), then it returns once, and then work is done. */
static int leave_mode(char **argv)
{
	for (volatile long i = 0; i < atol(argv[0]); i++) {
		if (!setjmp(back))
			traced_leave(1);
	}
	traced_leave(0);
	traced_work(1);
	return 0;
}

/* LIBRARY TIMES: once a line comes; then says so, and does it again with the next. */
static int late_mode(char **argv)
{
	long (*call)(long);
	void *library;

	puts("ready");
	fflush(stdout);
	getchar();
	library = dlopen(argv[0], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	call = (long (*)(long))dlsym(library, "late_work");
	puts("open");
	fflush(stdout);
	getchar();
	for (long i = 0; call && i < atol(argv[1]); i++)
		call(i);
	return 0;
}

/* PROGRAM ARGUMENT...: work 11 times, then become that. */
static int exec_mode(char **argv)
{
	for (int i = 0; i < 11; i++)
		traced_work(i);
	execv(argv[0], argv);
	return 1;
}

/* For ever, in bursts: who waits for its calls needs a processor, too. */
static int endless_mode(char **argv)
{
	(void)argv;
	puts("ready");
	fflush(stdout);
	while (sink >= 0) {
		for (int i = 0; i < 64; i++)
			traced_work(1);
		usleep(500);
	}
	return 0;
}

/* OFFSET: of a text in the program's own file, whose page nobody has touched. */
static int text_mode(char **argv)
{
	static const char pages[3 * 4096]
		__attribute__((aligned(4096))) = { [4096] = 'u', 'n', 't', 'o', 'u',
						   'c',		 'h', 'e', 'd' };
	(void)argv;
	traced_text(pages + 4096);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(char **argv);
	int arguments;
} modes[] = {
	{ "work", work_mode, 3 }, { "nested", nested_mode, 2 }, { "leave", leave_mode, 1 },
	{ "late", late_mode, 2 }, { "exec", exec_mode, 1 },	{ "endless", endless_mode, 0 },
	{ "text", text_mode, 0 },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]) == 0 && argc - 2 >= modes[i].arguments)
			return modes[i].run(argv + 2);
	}
	fputs("usage: traced MODE ARGUMENT...\n", stderr);
	return 2;
}
