/* SPDX-License-Identifier: MIT */
#include "load/loading.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "load/kernel_types.h"
#include "load/named_types.h"
#include "bpf/settings.h"
#include "load/skeletons.h"

/* ---- maps ---- */

/* The map that @map of object @id, which need not be loaded, is one with: that of the same name of
 * the first object before it that has one.  NULL: it is its own; so are all that libbpf makes of
 * data. */
static const struct bpf_map *find_shared(struct any_bpf *const *items, size_t id,
					 const struct bpf_map *map)
{
	const struct bpf_map *found = NULL;

	if (bpf_map__is_internal(map))
		return NULL;
	for (size_t owner = 0; owner < id && !found; owner++) {
		if (items[owner])
			found = bpf_object__find_map_by_name(items[owner]->object,
							     bpf_map__name(map));
	}
	return found;
}

int maps_share(struct any_bpf *const *items, enum object_id id)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, items[id]->object)
	{
		const struct bpf_map *found = find_shared(items, id, map);
		int r = found ? bpf_map__reuse_fd(map, bpf_map__fd(found)) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static struct map_form form_of(const struct bpf_map *map)
{
	struct map_form form = {
		.type = bpf_map__type(map),
		.flags = bpf_map__map_flags(map),
		.key_bytes = bpf_map__key_size(map),
		.value_bytes = bpf_map__value_size(map),
		.entries = bpf_map__max_entries(map),
	};

	snprintf(form.name, sizeof(form.name), "%s", bpf_map__name(map));
	return form;
}

void maps_list(struct any_bpf *const *items, struct map_list *ret)
{
	struct bpf_map *map;

	ret->count = 0;
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		if (!items[id])
			continue;
		bpf_object__for_each_map(map, items[id]->object)
		{
			if (find_shared(items, id, map))
				continue;
			assert(ret->count < MAPS_MAX);
			ret->maps[ret->count] = map;
			ret->objects[ret->count] = (enum object_id)id;
			ret->forms[ret->count++] = form_of(map);
		}
	}
}

void maps_size(struct any_bpf *const *items, const struct sizing *sizing, struct map_list *ret)
{
	maps_list(items, ret);
	sizing_choose(sizing, ret->forms, ret->count);
	for (size_t i = 0; i < ret->count; i++) {
		if (ret->forms[i].type != BPF_MAP_TYPE_TASK_STORAGE) /* which has no bound */
			bpf_map__set_max_entries(ret->maps[i], ret->forms[i].entries);
		bpf_map__set_map_flags(ret->maps[i], ret->forms[i].flags);
	}
}

/* ---- programs ---- */

/* In words, where a load failed. */
static void explain_load(struct loading *l, enum object_id id, const char *part, int error_number)
{
	const char *heard = l->complaint.text;
	char why[160];

	if (error_number == -EPERM && id == OBJECT_FENTRY) /* EACCES is the verifier's */
		snprintf(why, sizeof(why), "this kernel offers no fentry");
	else if (error_number == -EPERM)
		snprintf(why, sizeof(why), "the kernel does not permit BPF to this user");
	else if (id == OBJECT_TIME && error_number == -EINVAL && /* 4cf1bc1f1045, Linux 5.11 */
		 libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) <= 0)
		snprintf(why, sizeof(why), "this kernel offers no storage in tasks");
	else
		snprintf(why, sizeof(why), "cannot load: %.40s (%.100s)", strerror(-error_number),
			 *heard ? heard : "no reason given");
	hooks_refuse(l->hooks, id, part, why);
}

/* Programs that do not fit this kernel, or were refused, are not loaded, nor those that are not of
 * @part. */
static void choose_programs(struct loading *l, const struct any_bpf *bpf, const char *part)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, bpf->object)
	{
		const char *name = bpf_program__name(program);
		struct hook *hook = hooks_find(l->hooks, name);

		if (hook && !*hook->why && !hook_has_target(hook, l->opening->types))
			snprintf(hook->why, sizeof(hook->why), "this kernel has no function '%s'",
				 hook_target(hook));
		if (!hook || *hook->why || !hook_is_part(hook, part))
			bpf_program__set_autoload(program, false);
	}
}

/* What libbpf reads of the kernel's types: those that the programs name.  NULL: all, where there
 * may be types of modules among them. */
static const char *types_path(const struct loading *l, enum object_id id)
{
	return l->named && id != OBJECT_FENTRY ? named_types_path(l->named) : NULL;
}

/*
 * ---- targets ----
 *
 * Give libbpf the type numbers that programs on typed tracepoints and iterators attach to; else it
 * would read and search all of the kernel's types again for each object.
 */

static const char *const read_only_types[] = {
	[READ_ONLY_TASK] = "task_struct",
	[READ_ONLY_FOLIO] = "folio",
};

/* @call: of bpf_rdonly_cast(), and the type before it; a move where the kernel has no such cast. */
static int fill_in_cast(struct bpf_insn *call, const struct kernel_types *types)
{
	int cast = kernel_types_find(types, "bpf_rdonly_cast", BTF_KIND_FUNC), type;

	if (cast < 0) {
		*call = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X,
					   .dst_reg = BPF_REG_0,
					   .src_reg = BPF_REG_1 };
		return 0;
	}
	type = kernel_types_find(types, read_only_types[call[-1].imm], BTF_KIND_STRUCT);
	if (type < 0)
		return type;
	call[-1].imm = type;
	call->src_reg = BPF_PSEUDO_KFUNC_CALL;
	call->imm = cast;
	return 0;
}

/* See read_only() of the programs. */
static int fill_in_casts(struct bpf_program *program, struct bpf_prog_load_opts *options,
			 long types)
{
	size_t count = bpf_program__insn_cnt(program), bytes = count * sizeof(struct bpf_insn);
	_cleanup_free_ struct bpf_insn *insns = malloc(bytes);
	int r = insns ? 0 : -ENOMEM;

	(void)options;
	if (r < 0)
		return r;
	memcpy(insns, bpf_program__insns(program), bytes);
	for (size_t i = 1; i < count && r >= 0; i++) {
		if (insns[i].code == (BPF_JMP | BPF_CALL) && !insns[i].src_reg &&
		    insns[i].imm == READ_ONLY_CALL)
			r = fill_in_cast(&insns[i], (const struct kernel_types *)types);
	}
	return r < 0 ? r : bpf_program__set_insns(program, insns, count);
}

/* Such a program has a type of its own only from here on: else libbpf would read the kernel's types
 * before. */
static int aim(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
	const struct kernel_types *types = (const struct kernel_types *)cookie;
	const char *section = bpf_program__section_name(program), *target = strchr(section, '/');
	const bool is_iterator = strncmp(section, "iter/", 5) == 0;
	char name[128];
	int id = fill_in_casts(program, options, cookie);

	if (id < 0)
		return id;
	if (!target)
		return -EINVAL;
	snprintf(name, sizeof(name), "%s%s", is_iterator ? "bpf_iter_" : "btf_trace_", target + 1);
	id = kernel_types_find(types, name, is_iterator ? BTF_KIND_FUNC : BTF_KIND_TYPEDEF);
	if (id < 0)
		return id;
	options->attach_btf_id = (uint32_t)id;
	return bpf_program__set_type(program, BPF_PROG_TYPE_TRACING);
}

/*
 * libbpf before 1.3 reuses freed memory after its last handler goes: keep one that matches no
 * program.
 */
static int keep_one_handler(void)
{
	static int kept = -1; /* as long as the process lives */

	if (kept < 0)
		kept = libbpf_register_prog_handler("jobmeter/", BPF_PROG_TYPE_RAW_TRACEPOINT,
						    BPF_TRACE_RAW_TP, NULL);
	return kept;
}

#define NO_TARGETS ((struct targets){ { -1, -1, -1 } })

static void targets_stop(struct targets *targets)
{
	for (size_t i = 0; i < ARRAY_SIZE(targets->handlers); i++) {
		if (targets->handlers[i] >= 0)
			(void)libbpf_unregister_prog_handler(targets->handlers[i]);
	}
	*targets = NO_TARGETS;
}

/* From now on, until targets_stop(), for each object that is opened; to be loaded before that.  On
 * failure nothing has changed. */
static int targets_start(const struct kernel_types *types, struct targets *ret)
{
	static const struct {
		const char *section;
		enum bpf_prog_type type;
		enum bpf_attach_type attach;
		libbpf_prog_prepare_load_fn_t prepare;
	} sections[] = {
		{ "tp_btf/", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_RAW_TP, aim },
		{ "iter/", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_ITER, aim },
		{ "perf_event", BPF_PROG_TYPE_PERF_EVENT, 0, fill_in_casts },
	};
	bool is_whole = true;

	*ret = NO_TARGETS;
	if (keep_one_handler() < 0)
		return -ENOTSUP;
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		LIBBPF_OPTS(libbpf_prog_handler_opts, options, .cookie = (long)types,
			    .prog_prepare_load_fn = sections[i].prepare);

		ret->handlers[i] = libbpf_register_prog_handler(
			sections[i].section, sections[i].type, sections[i].attach, &options);
		is_whole &= ret->handlers[i] >= 0;
	}
	if (is_whole)
		return 0;
	targets_stop(ret);
	return -ENOTSUP;
}

/* ---- opening ---- */

static int open_skeleton(struct loading *l, enum object_id id, bool is_older, struct any_bpf **ret)
{
	const struct kernel_types *types = l->opening->types;
	const char *path = types_path(l, id);
	int r = skeleton_open(id, is_older, types, path, ret);

	if (r < 0 || !path || named_types_add(l->named, bpf_object__btf((*ret)->object)) >= 0)
		return r;
	skeleton_close(*ret);
	return skeleton_open(id, is_older, types, NULL, ret);
}

/* Not yet loaded, and only @part of it. */
static int open_object(struct loading *l, enum object_id id, bool is_older, const char *part)
{
	struct settings *its_settings;
	struct watch *watch;
	struct any_bpf *bpf;
	int r = open_skeleton(l, id, is_older, &bpf);

	if (r < 0)
		return r;
	its_settings = skeleton_map_value(bpf, ".rodata.settings");
	watch = skeleton_map_value(bpf, ".data.watch");
	if (its_settings) /* an object that has no use for them has none */
		*its_settings = *l->opening->settings;
	if (watch)
		watch->id = l->opening->watched_id;
	choose_programs(l, bpf, part);
	l->items[id] = bpf;
	return 0;
}

static int load_object(struct loading *l, enum object_id id)
{
	struct any_bpf *bpf = l->items[id];
	int r = maps_share(l->items, id);

	l->complaint = (struct complaint){};
	if (r >= 0)
		r = bpf_object__load_skeleton(bpf->skeleton);
	if (r < 0)
		l->items[id] = skeleton_close(bpf);
	return r;
}

/* A program that does nothing, tried before much is prepared for others of its kind. */
static int try_fentry(const struct kernel_types *types)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int id = kernel_types_find(types, "security_inode_permission", BTF_KIND_FUNC);
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = (unsigned int)id);
	int fd;

	if (id < 0)
		return id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "try_fentry", "Dual MIT/GPL", nothing,
			   ARRAY_SIZE(nothing), &options);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void prepare_object(struct loading *l, enum object_id id)
{
	int r = id == OBJECT_FENTRY ? try_fentry(l->opening->types) : 0;

	l->complaint = (struct complaint){};
	if (r >= 0)
		r = open_object(l, id, false, NULL);
	if (r < 0)
		explain_load(l, id, NULL, r);
}

static int open_and_load(struct loading *l, enum object_id id, bool is_older, const char *part)
{
	int r = open_object(l, id, is_older, part);

	if (r < 0)
		return r;
	maps_size(l->items, l->opening->sizing, &l->maps); /* those of objects that are loaded stay
							      as they are */
	return load_object(l, id);
}

/* Load an opened object, or its code for older kernels if the newer does not fit; missing rights
 * are missing for both. */
static int load_either(struct loading *l, enum object_id id)
{
	int r = load_object(l, id);

	if (r >= 0 || r == -EPERM)
		return r;
	l->of_newer = l->complaint;
	r = open_and_load(l, id, true, NULL);
	if (r < 0)
		return r;
	l->needs_older = true;
	older_note(&l->older, id, l->of_newer.text);
	return 0;
}

static int try_part(struct loading *l, enum object_id id, bool is_older, const char *part)
{
	int r = open_and_load(l, id, is_older, part);

	l->items[id] = skeleton_close(l->items[id]);
	return r;
}

/* One program that the kernel does not take would cost the whole object: try each thing of T2+
 * alone, and refuse what fails.  True: something was refused. */
static bool refuse_bad_parts(struct loading *l, enum object_id id, bool is_older)
{
	bool is_any = false;

	for (size_t i = 0; i < l->hooks->count; i++) {
		const struct hook *hook = &l->hooks->items[i];
		int r;

		if (hook->object != id || strcmp(hook->tier, "T2+") != 0 ||
		    !hooks_is_first(l->hooks, i))
			continue;
		r = try_part(l, id, is_older, hook->gives);
		if (r < 0)
			explain_load(l, id, hook->gives, r);
		is_any |= r < 0;
	}
	return is_any;
}

static int load_what_can_be(struct loading *l, enum object_id id)
{
	int r = load_either(l, id);
	const struct complaint of_all = l->complaint;

	if (r >= 0 || r == -EPERM || (id != OBJECT_FILES && id != OBJECT_FENTRY))
		return r; /* the others have no hooks of T2+, which they can do without */
	if (!l->needs_older && try_part(l, id, false, "T2") < 0) {
		l->needs_older = true; /* then of others too */
		l->of_newer = l->complaint;
	}
	if (!refuse_bad_parts(l, id, l->needs_older)) {
		l->complaint = of_all;
		return r;
	}
	r = open_and_load(l, id, l->needs_older, NULL); /* what is left of it */
	if (r >= 0 && l->needs_older)
		older_note(&l->older, id, l->of_newer.text);
	return r;
}

void loading_prepare(const struct opening *opening, struct hooks *hooks, struct loading *ret)
{
	*ret = (struct loading){ .opening = opening, .hooks = hooks, .targets = NO_TARGETS };
	complaint_listen(&ret->complaint);
	if (opening->types && targets_start(opening->types, &ret->targets) >= 0)
		(void)named_types_open(opening->types, &ret->named);
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		if (opening->wanted & 1U << id)
			prepare_object(ret, (enum object_id)id);
		else
			hooks_refuse(hooks, (enum object_id)id, NULL, "switched off");
	}
	maps_size(ret->items, opening->sizing, &ret->maps);
}

struct any_bpf *loading_load(struct loading *l, enum object_id id)
{
	int r;

	if (!l->items[id])
		return NULL;
	if (id == OBJECT_FENTRY && !l->items[OBJECT_FILES]) {
		l->items[id] = skeleton_close(l->items[id]);
		hooks_refuse(l->hooks, id, NULL, "files are not measured");
		return NULL;
	}
	r = load_what_can_be(l, id);
	if (r < 0)
		explain_load(l, id, NULL, r);
	return l->items[id];
}

void loading_clear(struct loading *l)
{
	complaint_stop();
	for (size_t id = OBJECT_COUNT; id-- > 0;)
		l->items[id] = skeleton_close(l->items[id]);
	targets_stop(&l->targets);
	l->named = named_types_free(l->named);
}
