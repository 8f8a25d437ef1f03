/* SPDX-License-Identifier: MIT */
#include "targets.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "kernel_types.h"

/* Such a program has a type of its own only from here on: else libbpf would read the kernel's types before. */
static int aim(struct bpf_program *program, const struct kernel_types *types, const char *prefix, unsigned int kind,
	       struct bpf_prog_load_opts *options)
{
	const char *target = strchr(bpf_program__section_name(program), '/');
	char name[128];
	int id;

	if (!target)
		return -EINVAL;
	snprintf(name, sizeof(name), "%s%s", prefix, target + 1);
	id = kernel_types_find(types, name, kind);
	if (id < 0)
		return id;
	options->attach_btf_id = (uint32_t)id;
	return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
}

static int aim_at_tracepoint(struct bpf_program *program, struct bpf_prog_load_opts *options, long types)
{
	return aim(program, (const struct kernel_types *)types, "btf_trace_", BTF_KIND_TYPEDEF, options);
}

static int aim_at_iterator(struct bpf_program *program, struct bpf_prog_load_opts *options, long types)
{
	return aim(program, (const struct kernel_types *)types, "bpf_iter_", BTF_KIND_FUNC, options);
}

/*
 * Until 1.3 libbpf frees the room of its handlers with the last of them, and uses it again: so there is
 * one that stays, for programs that nobody has.
 */
static int keep_one_handler(void)
{
	static int kept = -1; /* as long as the process lives */

	if (kept < 0)
		kept = libbpf_register_prog_handler("jobmeter/", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_RAW_TP, NULL);
	return kept;
}

int targets_start(const struct kernel_types *types, struct targets *ret)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, tracepoint, .cookie = (long)types,
		    .prog_prepare_load_fn = aim_at_tracepoint);
	LIBBPF_OPTS(libbpf_prog_handler_opts, iterator, .cookie = (long)types,
		    .prog_prepare_load_fn = aim_at_iterator);

	*ret = (struct targets){ -1, -1 };
	if (keep_one_handler() < 0)
		return -ENOTSUP;
	ret->tracepoints = libbpf_register_prog_handler("tp_btf/", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_RAW_TP,
							&tracepoint);
	ret->iterators = libbpf_register_prog_handler("iter/", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_ITER, &iterator);
	if (ret->tracepoints >= 0 && ret->iterators >= 0)
		return 0;
	targets_stop(ret);
	return -ENOTSUP;
}

static void stop(int *handler)
{
	if (*handler >= 0)
		(void)libbpf_unregister_prog_handler(*handler);
	*handler = -1;
}

void targets_stop(struct targets *targets)
{
	stop(&targets->tracepoints);
	stop(&targets->iterators);
}
