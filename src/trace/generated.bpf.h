/* Printed by `jobmeter trace --generate`: probes as BPF C.  Build it with
 *   clang -O2 -g -target bpf -D__TARGET_ARCH_x86 -I/usr/include/x86_64-linux-gnu -c FILE
 * and load it with libbpf, which attaches programs whose sections name a library and a symbol. */
#pragma clang diagnostic ignored "-Wunused"
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define VALUES 10
#define WORDS 12
#define TEXT_BYTES 128
#define STACK_MAX 8 /* probed functions that a thread is inside of; a power of 2 */

struct call {
	__u32 probe; /* as its functions are numbered */
	__u32 have; /* a bit a value */
	__u64 start_ns;
	__s64 values[VALUES];
	__u64 words[WORDS]; /* what is read at the return */
	bool is_skipped;
};

struct event {
	__u32 probe, pid, tid, cpu;
	__u64 start_ns, duration_ns; /* duration 0: the entry alone */
	__s64 result;
	__u32 have, has_bytes;
	__u64 bytes;
	__s64 values[VALUES];
	char text[TEXT_BYTES];
};

struct stack { /* of a thread */
	__u32 depth;
	struct call calls[STACK_MAX];
	char text[TEXT_BYTES];
};

struct learned_key {
	__u64 key;
	__u32 pid, map;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64); /* process and thread */
	__type(value, struct stack);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct learned_key);
	__type(value, __u64);
} learned SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps"); /* events for which there was no room */

static const struct stack no_stack;

static __always_inline bool load_user(__u64 *word, __s64 offset, __u32 width)
{
	__u64 loaded = 0;

	if (bpf_probe_read_user(&loaded, width, (const void *)(*word + offset)) < 0)
		return false;
	*word = loaded;
	return true;
}

static __always_inline bool load_kernel(__u64 *word, __s64 offset, __u32 width)
{
	__u64 loaded = 0;

	if (bpf_probe_read_kernel(&loaded, width, (const void *)(*word + offset)) < 0)
		return false;
	*word = loaded;
	return true;
}

static __always_inline bool find_learned(__u64 *word, __u32 map)
{
	struct learned_key key = { *word, bpf_get_current_pid_tgid() >> 32, map };
	const __u64 *value = bpf_map_lookup_elem(&learned, &key);

	if (!value)
		return false;
	*word = *value;
	return true;
}

static __always_inline void learn(__s64 key, __u32 map, __u64 value)
{
	struct learned_key at = { key, bpf_get_current_pid_tgid() >> 32, map };

	bpf_map_update_elem(&learned, &at, &value, BPF_ANY);
}

static __always_inline void forget(__s64 key, __u32 map)
{
	struct learned_key at = { key, bpf_get_current_pid_tgid() >> 32, map };

	bpf_map_delete_elem(&learned, &at);
}

static __always_inline bool has(const struct call *call, __u32 value)
{
	return call->have & 1U << value;
}

static __always_inline void set(struct call *call, __u32 value, __s64 number)
{
	call->values[value] = number;
	call->have |= 1U << value;
}

/* Known, and no negative number. */
static __always_inline bool counts(const struct call *call, __u32 value)
{
	return has(call, value) && call->values[value] >= 0;
}

static __always_inline bool multiply(__u64 *product, __u64 factor)
{
	__u64 most = ~0ULL >> 1;

	asm volatile("" : "+r"(most)); /* else this becomes a product of 128 bits */
	if (factor && *product > most / factor)
		return false;
	*product *= factor;
	return true;
}

/* The frame of a call that begins; NULL: the thread is inside too many. */
static __always_inline struct call *enter(__u32 probe, bool skips_inner, struct stack **ret)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct stack *stack = bpf_map_lookup_elem(&stacks, &thread);
	struct call *call;

	if (!stack) {
		bpf_map_update_elem(&stacks, &thread, &no_stack, BPF_NOEXIST);
		stack = bpf_map_lookup_elem(&stacks, &thread);
	}
	if (!stack || stack->depth >= STACK_MAX)
		return NULL;
	call = &stack->calls[stack->depth & (STACK_MAX - 1)];
	call->probe = probe;
	call->have = 0;
	call->start_ns = bpf_ktime_get_ns();
	call->is_skipped = skips_inner && stack->depth;
	*ret = stack;
	return call;
}

/* The frame of a call that ends, which is taken off with those above it; NULL: it has none. */
static __always_inline struct call *leave(__u32 probe, struct stack **ret)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct stack *stack = bpf_map_lookup_elem(&stacks, &thread);

	if (!stack)
		return NULL;
	for (int i = 0; i < STACK_MAX; i++) {
		if (!stack->depth)
			return NULL;
		stack->depth--;
		if (stack->calls[stack->depth & (STACK_MAX - 1)].probe == probe) {
			*ret = stack;
			return &stack->calls[stack->depth & (STACK_MAX - 1)];
		}
	}
	return NULL;
}

static __always_inline void send(const struct call *call, const char *text, __u64 end_ns,
				 __s64 result, bool has_bytes, __u64 bytes)
{
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	__u64 thread = bpf_get_current_pid_tgid();

	if (!event) {
		__u32 zero = 0;
		__u64 *count = bpf_map_lookup_elem(&lost, &zero);

		if (count)
			__sync_fetch_and_add(count, 1);
		return;
	}
	event->probe = call->probe;
	event->pid = thread >> 32;
	event->tid = (__u32)thread;
	event->cpu = bpf_get_smp_processor_id();
	event->start_ns = call->start_ns;
	event->duration_ns = end_ns ? end_ns - call->start_ns : 0;
	event->result = result;
	event->have = call->have;
	event->has_bytes = has_bytes;
	event->bytes = bytes;
	for (int i = 0; i < VALUES; i++)
		event->values[i] = call->have & 1U << i ? call->values[i] : 0;
	if (text)
		__builtin_memcpy(event->text, text, TEXT_BYTES);
	else
		event->text[0] = 0;
	bpf_ringbuf_submit(event, 0);
}
