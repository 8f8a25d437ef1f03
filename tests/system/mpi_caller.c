/* SPDX-License-Identifier: MIT */
/*
 * mpi_caller - calls functions of fake_mpi, as its arguments say, one after the other:
 *
 *	N		that many calls of MPI_Barrier
 *	bcast=N		of MPI_Bcast, of 101 items of 4 bytes
 *	wait		until a line comes on stdin
 *	fork=N		a child that makes N calls, and is waited for
 *	leave=N		a child that makes N calls once a line comes on stdin, and is not waited for
 *	undumpable	from here on nobody but root may look
 *	dumpable	and again others, as far as ids say
 *	ids=UID		this thread alone takes all ids of that user, while another, which is
 *			waiting, keeps those that it has
 *	other=N		calls of that other thread
 *	exec=PROGRAM	it becomes that, with all arguments that follow
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int MPI_Barrier(int comm);
int MPI_Bcast(const void *buffer, int count, int type, int root, int comm);

#define COMM_WORLD 0x44000000
#define INT 0x4c000405

static sem_t begin_other, other_ended;
static long other_calls;

static void call(long count)
{
	for (long i = 0; i < count; i++)
		MPI_Barrier(COMM_WORLD);
}

static void *be_other(void *context)
{
	while (sem_wait(&begin_other) == 0) {
		call(other_calls);
		sem_post(&other_ended);
	}
	return context;
}

static void take_ids(const char *text)
{
	long id = atol(text);
	pthread_t other;

	sem_init(&begin_other, 0, 0);
	sem_init(&other_ended, 0, 0);
	pthread_create(&other, NULL, be_other, NULL);
	syscall(SYS_setgroups, 0, NULL);
	if (syscall(SYS_setresgid, id, id, id) < 0 || syscall(SYS_setresuid, id, id, id) < 0)
		exit(3);
	prctl(PR_SET_DUMPABLE, 1);
}

static void fork_and_call(long count)
{
	pid_t pid = fork();

	if (pid == 0) {
		call(count);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void wait_for_line(void)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n')
		;
}

static void leave(long count)
{
	if (fork() != 0)
		return;
	wait_for_line();
	call(count);
	_exit(0);
}

static const char *is(const char *word, const char *name)
{
	size_t length = strlen(name);

	return strncmp(word, name, length) == 0 ? word + length : NULL;
}

static void act(char **argv)
{
	const char *rest;

	if (strcmp(*argv, "wait") == 0) {
		puts("waits");
		fflush(stdout);
		wait_for_line();
	} else if (strcmp(*argv, "undumpable") == 0) {
		prctl(PR_SET_DUMPABLE, 0);
	} else if (strcmp(*argv, "dumpable") == 0) {
		prctl(PR_SET_DUMPABLE, 1);
	} else if ((rest = is(*argv, "bcast="))) {
		for (long i = atol(rest); i > 0; i--)
			MPI_Bcast(argv, 101, INT, 0, COMM_WORLD);
	} else if ((rest = is(*argv, "fork="))) {
		fork_and_call(atol(rest));
	} else if ((rest = is(*argv, "leave="))) {
		leave(atol(rest));
	} else if ((rest = is(*argv, "ids="))) {
		take_ids(rest);
	} else if ((rest = is(*argv, "other="))) {
		other_calls = atol(rest);
		sem_post(&begin_other);
		sem_wait(&other_ended);
	} else if ((rest = is(*argv, "exec="))) {
		execv(rest, argv);
		exit(5);
	} else {
		call(atol(*argv));
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		act(argv + i);
	return 0;
}
