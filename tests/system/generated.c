/* SPDX-License-Identifier: MIT */
/*
 * generated OBJECT - load what `jobmeter trace --generate` printed and clang compiled, and print
 * its events until the input ends:
 *
 *     PROBE RESULT BYTES|- VALUE|- ... (8) TEXT
 *
 * The first line says that it is attached.  Programs whose symbol a library lacks are left out.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#define VALUES 10

struct event { /* as src/trace/generated.bpf.h has it */
	uint32_t probe, pid, tid, cpu;
	uint64_t start_ns, duration_ns;
	int64_t result;
	uint32_t have, has_bytes;
	uint64_t bytes;
	int64_t values[VALUES];
	char text[128];
};

static int print_event(void *context, void *data, size_t size)
{
	const struct event *e = data;

	(void)context;
	if (size < sizeof(*e))
		return -1;
	printf("%u %" PRId64, e->probe, e->result);
	if (e->has_bytes)
		printf(" %" PRIu64, e->bytes);
	else
		printf(" -");
	for (unsigned int i = 0; i < VALUES; i++) {
		if (e->have & 1U << i)
			printf(" %" PRId64, e->values[i]);
		else
			printf(" -");
	}
	printf(" %.*s\n", (int)sizeof(e->text), e->text);
	return 0;
}

int main(int argc, char **argv)
{
	struct bpf_object *object = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	struct bpf_program *program;
	struct ring_buffer *ring;
	unsigned int attached = 0;

	if (!object || bpf_object__load(object) < 0)
		return 1;
	bpf_object__for_each_program(program, object)
	{
		attached += bpf_program__attach(program) != NULL;
	}
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "events"), print_event,
				NULL, NULL);
	if (!ring)
		return 1;
	printf("attached %u\n", attached);
	fflush(stdout);
	while (poll(&input, 1, 10) == 0)
		ring_buffer__consume(ring);
	ring_buffer__consume(ring);
	ring_buffer__free(ring);
	bpf_object__close(object);
	return 0;
}
