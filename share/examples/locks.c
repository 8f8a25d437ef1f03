// SPDX-License-Identifier: MIT
/* locks - eight threads that fight for one lock, which each holds while it works.
 *
 *	cc -O2 -pthread locks.c -o locks; jobmeter run -- ./locks SECONDS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static time_t end;
static unsigned long turns;
static volatile double sum;

static void *fight(void *arg)
{
	while (time(NULL) < end) {
		pthread_mutex_lock(&lock);
		for (int i = 1; i < 200000; i++)
			sum = sum + 1.0 / i;
		turns++;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int main(int argc, char *argv[])
{
	pthread_t threads[THREADS];

	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, fight, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%lu turns\n", turns);
	return 0;
}
