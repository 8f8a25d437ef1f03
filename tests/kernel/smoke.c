/* SPDX-License-Identifier: MIT */
/* smoke - attach the programs of smoke.bpf.o, read a file 997 times, print what each of them saw.
 */
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { READS = 997 };

int main(int argc, char **argv)
{
	struct bpf_object *object = argc > 1 ? bpf_object__open_file(argv[1], NULL) : NULL;
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct bpf_program *program;
	uint64_t counts[2] = {};
	uint32_t key = 0;
	char byte;

	if (!object || bpf_object__load(object))
		return 1;
	bpf_object__for_each_program(program, object) if (!bpf_program__attach(program)) return 1;
	for (int i = 0; i < READS; i++)
		if (read(zero, &byte, 1) != 1)
			return 1;
	if (bpf_map__lookup_elem(bpf_object__find_map_by_name(object, ".bss"), &key, sizeof(key),
				 counts, sizeof(counts), 0))
		return 1;
	printf("vfs_read %ju\nsystem calls %ju\n", (uintmax_t)counts[0], (uintmax_t)counts[1]);
	return 0;
}
