/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "trace/probe.h"

static const char prologue[] =
#include "trace/generated_bpf.h"
	;

static const struct {
	const char *entry, *leave;
} section_names[] = {
	[PROBE_FUNCTION] = { "uprobe", "uretprobe" },
	[PROBE_USDT] = { "usdt", NULL },
	[PROBE_KERNEL] = { "kprobe", "kretprobe" },
	[PROBE_TRACEPOINT] = { "tracepoint", NULL },
};

/* The first of the library's names, without what is a pattern: "libz.so.1" of "libz.so.1*". */
static void generate_section(const struct probe *probe, const char *kind, FILE *out)
{
	const char *file = probe->library ? probe->library->patterns[0] : "";
	size_t length = strcspn(file, "*?[");
	const char *symbol = probe->symbols[0], *colon = strchr(symbol, ':');

	fprintf(out, "SEC(\"%s", kind);
	if (strpbrk(symbol, "*?[\"\\") || strpbrk(file, "\"\\"))
		fputs("\") /* no one symbol: attach it by hand", out);
	else if (probe->site == PROBE_TRACEPOINT && colon)
		fprintf(out, "/%.*s/%s\")", (int)(colon - symbol), symbol, colon + 1);
	else if (probe->site == PROBE_KERNEL)
		fprintf(out, "/%s\")", symbol);
	else
		fprintf(out, "/%.*s:%s\")", (int)length, file, symbol);
	fputs(strpbrk(symbol, "*?[\"\\") || strpbrk(file, "\"\\") ? " */\n" : "\n", out);
}

static void generate_source(const struct probe *probe, const struct probe_value *v, FILE *out)
{
	if (v->source == PROBE_RESULT)
		fputs("\tword = PT_REGS_RC(ctx);\n", out);
	else if (v->source == PROBE_CONSTANT)
		fprintf(out, "\tword = %d;\n", v->offsets[0]);
	else if (v->source == PROBE_RECORD)
		fputs("\tword = (__u64)ctx;\n", out);
	else if (v->source == PROBE_STACK)
		fprintf(out,
			"\tword = PT_REGS_SP(ctx) + %u;\n\tif (!load_user(&word, 0, 8))\n\t\tword = 0;\n",
			8 * v->index);
	else if (probe->site == PROBE_USDT)
		fprintf(out,
			"\tif (bpf_usdt_arg(ctx, %u, &argument) < 0)\n\t\targument = 0;\n\tword = argument;\n",
			v->index - 1);
	else if (v->index == 6)
		fputs("\tword = ctx->r9;\n", out);
	else
		fprintf(out, "\tword = PT_REGS_PARM%u(ctx);\n", v->index);
}

/* "(__s32)word", "word >> 8 & 0xff" */
static void generate_kept(const struct probe_value *v, FILE *out)
{
	if (v->bit_count)
		fprintf(out, "word >> %u & 0x%" PRIx64, v->low_bit,
			UINT64_MAX >> (64 - v->bit_count));
	else
		fprintf(out, "(__%c%u)word", v->is_signed && v->map < 0 ? 's' : 'u', 8 * v->width);
}

/* From the word of the source to the capture. */
static void generate_value(const struct probe *probe, const struct probe_value *v, FILE *out)
{
	bool is_user = probe->site == PROBE_FUNCTION || probe->site == PROBE_USDT;

	fprintf(out, "\tif (!has(call, %u)", v->capture);
	for (unsigned int i = 0; i < v->deref_count; i++)
		fprintf(out, " && load_%s(&word, %d, %u)", is_user ? "user" : "kernel",
			v->offsets[i], i + 1 < v->deref_count ? 8 : v->width);
	if (v->if_count)
		fprintf(out, " &&\n\t    (word >> %u & 0x%" PRIx64 ") == 0x%" PRIx64, v->if_low_bit,
			UINT64_MAX >> (64 - v->if_count), v->if_equal);
	if (v->map >= 0) {
		fputs(" &&\n\t    ((word = ", out);
		generate_kept(v, out);
		fprintf(out, "), find_learned(&word, %d)))\n\t\tset(call, %u, word);\n", v->map,
			v->capture);
		return;
	}
	fprintf(out, ")\n\t\tset(call, %u, ", v->capture);
	generate_kept(v, out);
	fputs(");\n", out);
}

static void generate_factor(const struct probe_factor *f, FILE *out)
{
	if (f->kind == PROBE_FACTOR_CONSTANT)
		fprintf(out, " && multiply(&bytes, %" PRIu64 ")", f->constant);
	else if (f->kind == PROBE_FACTOR_CAPTURE)
		fprintf(out, " && counts(call, %u) && multiply(&bytes, call->values[%u])",
			f->capture, f->capture);
	else
		fprintf(out,
			" && counts(call, %u) && call->values[%u] < %u &&\n\t\t\t    "
			"table_%u[call->values[%u] & %u] && multiply(&bytes, table_%u[call->values[%u] & %u])",
			f->capture, f->capture, PROBE_TABLE_ROWS, f->table, f->capture,
			PROBE_TABLE_ROWS - 1, f->table, f->capture, PROBE_TABLE_ROWS - 1);
}

static void generate_bytes(const struct probe *probe, FILE *out)
{
	for (size_t i = 0; i < probe->bytes_count; i++) {
		fputs("\tif (!has_bytes) {\n\t\tbytes = 1;\n\t\thas_bytes = true", out);
		for (size_t k = 0; k < probe->bytes[i].factor_count; k++)
			generate_factor(&probe->bytes[i].factors[k], out);
		fputs(";\n\t}\n", out);
	}
}

/* What is done when a call is complete. */
static void generate_end(const struct probe *probe, bool is_return, FILE *out)
{
	const struct probe_map_change *c = &probe->change;

	generate_bytes(probe, out);
	if (c->action != PROBE_MAP_NONE) {
		fprintf(out, "\tif (has(call, %u)", c->key);
		if (is_return && probe->fails != PROBE_FAILS_NEVER)
			fputs(probe->fails == PROBE_FAILS_BELOW_0
				      ? " && (__s32)PT_REGS_RC(ctx) >= 0"
				      : " && !(__u32)PT_REGS_RC(ctx)",
			      out);
		if (c->action == PROBE_MAP_PUT)
			fprintf(out,
				" && has(call, %u))\n\t\tlearn(call->values[%u], %u, call->values[%u]);\n",
				c->value, c->key, c->map, c->value);
		else if (c->action == PROBE_MAP_PUT_BYTES)
			fprintf(out, " && has_bytes)\n\t\tlearn(call->values[%u], %u, bytes);\n",
				c->key, c->map);
		else
			fprintf(out, ")\n\t\tforget(call->values[%u], %u);\n", c->key, c->map);
	}
	if (!probe->is_silent || probe->is_naming)
		fprintf(out, "\tsend(call, %s, %s, %s, has_bytes, bytes);\n",
			probe->text.max_bytes ? "stack->text" : "NULL",
			is_return ? "bpf_ktime_get_ns()" : "0",
			is_return ? "(__s64)PT_REGS_RC(ctx)" : "0");
}

static void generate_head(const struct probe *probe, const char *what, size_t number, FILE *out)
{
	bool is_usdt = probe->site == PROBE_USDT, is_record = probe->site == PROBE_TRACEPOINT;

	fprintf(out, "int %s_%zu(%s *ctx)\n{\n", what, number,
		is_record ? "void" : "struct pt_regs");
	fputs("\tstruct stack *stack = NULL;\n\t__u64 word = 0, bytes = 0;\n\tbool has_bytes = false;\n",
	      out);
	fprintf(out, "%s\tstruct call *call;\n\n", is_usdt ? "\tlong argument = 0;\n" : "");
}

static void generate_text(const struct probe *probe, FILE *out)
{
	const struct probe_value *v = &probe->text.pointer;
	const char *of = probe->site == PROBE_FUNCTION || probe->site == PROBE_USDT ? "user"
										    : "kernel";

	generate_source(probe, v, out);
	fputs("\tstack->text[0] = 0;\n\tif (1", out);
	for (unsigned int i = 0; i < v->deref_count; i++)
		fprintf(out, " && load_%s(&word, %d, 8)", of, v->offsets[i]);
	if (probe->is_sleepable) /* up to the end of the page, where the next may not be there */
		fprintf(out,
			" &&\n\t    bpf_copy_from_user(stack->text, %u, (const void *)word) < 0)\n"
			"\t\tbpf_probe_read_user_str(stack->text, %u, (const void *)word);\n",
			probe->text.max_bytes, probe->text.max_bytes);
	else
		fprintf(out, ")\n\t\tbpf_probe_read_%s_str(stack->text, %u, (const void *)word);\n",
			of, probe->text.max_bytes);
	fprintf(out, "\tstack->text[%u] = 0;\n", probe->text.max_bytes - 1);
}

static void generate_probe(const struct probe *probe, size_t number, FILE *out)
{
	bool has_exit = probe->exit != PROBE_EXIT_NONE;
	const char *entry = section_names[probe->site].entry;

	fprintf(out, "\n/* %zu: %s%s%s, line %u", number, probe->name, probe->library ? " of " : "",
		probe->library ? probe->library->name : "", probe->line);
	for (size_t i = 0; i < probe->capture_count; i++)
		fprintf(out, "%s %s", i ? "," : ";", probe->captures[i].name);
	fputs(" */\n", out);
	generate_section(probe, probe->is_sleepable ? "uprobe.s" : entry, out);
	generate_head(probe, "enter", number, out);
	fprintf(out,
		"\tcall = enter(%zu, %s, &stack);\n\tif (!call)\n\t\treturn 0;\n"
		"\tif (call->is_skipped)\n\t\tgoto out;\n",
		number, probe->is_inner_skipped ? "true" : "false");
	if (probe->text.max_bytes)
		generate_text(probe, out);
	for (size_t i = 0; i < probe->value_count; i++) {
		const struct probe_value *v = &probe->values[i];

		if (v->source == PROBE_RESULT)
			continue;
		generate_source(probe, v, out);
		if (v->is_at_return)
			fprintf(out, "\tcall->words[%zu] = word;\n", i);
		else
			generate_value(probe, v, out);
	}
	if (!has_exit)
		generate_end(probe, false, out);
	fprintf(out, "out:\n\tstack->depth += %d;\n\treturn 0;\n}\n", has_exit);
	if (!has_exit)
		return;
	fputs("\n", out);
	if (*probe->until)
		fprintf(out, "SEC(\"uprobe\") /* attach it to the USDT probe %s */\n",
			probe->until);
	else if (probe->exit == PROBE_EXIT_RET_INSN)
		fputs("SEC(\"uprobe\") /* attach it to each `ret` instruction of the function */\n",
		      out);
	else
		generate_section(probe, section_names[probe->site].leave, out);
	generate_head(probe, "leave", number, out);
	fprintf(out,
		"\tcall = leave(%zu, &stack);\n\tif (!call || call->is_skipped)\n\t\treturn 0;\n",
		number);
	for (size_t i = 0; i < probe->value_count; i++) {
		const struct probe_value *v = &probe->values[i];

		if (!v->is_at_return)
			continue;
		if (v->source == PROBE_RESULT)
			generate_source(probe, v, out);
		else
			fprintf(out, "\tword = call->words[%zu];\n", i);
		generate_value(probe, v, out);
	}
	generate_end(probe, true, out);
	fputs("\treturn 0;\n}\n", out);
}

void probe_set_generate(const struct probe_set *set, FILE *out)
{
	bool has_usdt = false;

	for (size_t i = 0; i < set->probe_count; i++)
		has_usdt |= set->probes[i]->site == PROBE_USDT;
	fputs(prologue, out);
	if (has_usdt)
		fputs("\n#include <bpf/usdt.bpf.h>\n", out);
	for (size_t i = 0; i < set->table_count; i++) {
		fprintf(out, "\nstatic const __u64 table_%zu[%d] = {", i, PROBE_TABLE_ROWS);
		for (size_t k = 0; k < set->tables[i].row_count; k++)
			fprintf(out, " %" PRIu64 ",", set->tables[i].rows[k]);
		fprintf(out, " }; /* %s */\n", set->tables[i].name);
	}
	for (size_t i = 0; i < set->probe_count; i++)
		generate_probe(set->probes[i], i, out);
	fputs("\nchar LICENSE[] SEC(\"license\") = \"Dual MIT/GPL\";\n", out);
}
