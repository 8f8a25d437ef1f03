// SPDX-License-Identifier: MIT
/* hog - takes memory bit by bit, then works on it.
 *
 *	cc -O2 hog.c -o hog; jobmeter run -- ./hog MIB SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
	size_t size = (size_t)(argc > 1 ? atoi(argv[1]) : 100) << 20, sum = 0;
	int seconds = argc > 2 ? atoi(argv[2]) : 10;
	time_t end = time(NULL) + seconds;
	unsigned char *memory = malloc(size);

	if (!memory)
		return 1;
	for (size_t i = 0; i < 16; i++) {
		memset(memory + size / 16 * i, (int)i + 1, size / 16);
		usleep((useconds_t)seconds * 500000 / 16);
	}
	while (time(NULL) < end) {
		for (size_t i = 0; i < size; i += 64)
			sum += memory[i];
	}
	printf("%zu\n", sum);
	return 0;
}
