/* SPDX-License-Identifier: MIT */
#include "made.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "model/cause.h"
#include "codec/record_format.h"
#include "codec/record_parse.h"

static char *text_of(const char *format, int number)
{
	char *text;

	if (asprintf(&text, format, number) < 0)
		abort();
	return text;
}

static void add_mount(struct reading *r, const char *mount, const char *fstype, uint64_t calls,
		      uint64_t bytes)
{
	struct mount_row *row = reading_get_mount(r, row_kind_of(mount), mount, fstype);

	row->has_seconds = row->has_histograms = true;
	row->ops[OP_READ] = (struct op_counts){ calls, bytes, 1, 50700000017 };
	row->ops[OP_OPEN] =
		(struct op_counts){ .calls = 17, .errors = 2, .ns = 13000, .not_found = 1 };
	row->sizes[OP_READ].counts[13] = calls;
	row->latencies[OP_READ].counts[14] = calls;
}

static void fill_reading(struct reading *r, int rank)
{
	reading_set(r, METRIC_CPU_USER, 190000000001);
	reading_set(r, METRIC_CPU_SYSTEM, 91000000000);
	reading_set(r, METRIC_CPU_ALLOCATED, 2000);
	reading_set(r, METRIC_CPU_MIGRATIONS, 13);
	for (size_t cause = 0; cause < CAUSE_COUNT; cause++)
		reading_set(r, cause_metric((enum cause)cause), 1000000007 * cause);
	reading_set(r, METRIC_MEMORY_PEAK, UINT64_C(3328599654) + (unsigned int)rank);
	reading_set(r, METRIC_MEMORY_LIMIT, UINT64_C(17179869184));
	reading_set(r, METRIC_IO_CHARS_READ, 8160437862 + 2048 + 4096);
	reading_set(r, METRIC_IO_CHARS_WRITTEN, 0);
	r->has_mounts = true;
	add_mount(r, "/scratch", "lustre", 1900007, 8160437862);
	add_mount(r, "/", "ext4", 1, 2048);
	add_mount(r, "(pipe)", NULL, 1, 4096);
	r->mounts[0].interfaces[INTERFACE_SENDFILE][OP_READ] = (struct op_counts){ .calls = 7,
										   .bytes = 4095 };
	r->mounts[0].interfaces[INTERFACE_MAPPING][OP_WRITE].bytes = 8192;
	if (mount_row_add_alias(&r->mounts[0], "/work") < 0)
		abort();
	reading_sort_mounts(r);
}

struct record *made_record(int rank)
{
	static char *const argv[] = { "./train.sh", "--epochs", "3", NULL };
	struct record *r = record_new();

	if (!r || record_set_command(r, argv) < 0 || strings_add(&r->coverage.tiers, "T0") < 0 ||
	    strings_add(&r->coverage.tiers, rank % 2 ? "T1" : "T2") < 0 ||
	    strings_add(&r->coverage.missing, "GPU: no driver") < 0 ||
	    record_add_survivor(r, 100 + rank, "sleep") < 0)
		abort();
	r->node = text_of("made-node%d", rank / 2);
	r->job.cpus_allowed = text_of(rank % 2 ? "2-%d" : "0-%d", rank % 2 ? 3 : 1);
	r->job.manager = strdup("run");
	r->job.user = strdup("made-user");
	r->job.dir = strdup("/home/made-user");
	r->job.uid = 1000;
	r->job.exit_code = 0;
	r->job.rank = rank;
	r->is_final = true;
	r->time.start_ns = UINT64_C(1770091506123456789) + (unsigned int)rank;
	r->time.elapsed_ns = UINT64_C(134000000000) + (unsigned int)rank;
	r->time.end_ns = r->time.start_ns + r->time.elapsed_ns;
	r->time.measured_from_ns = r->time.start_ns;
	fill_reading(&r->reading, rank);
	r->cores = (struct balance){ { 2, true }, { 9973, true } };
	record_close_accounting(r);
	return r;
}

FILE *made_text_stream(struct made_text *t)
{
	t->out = open_memstream(&t->text, &t->size);
	if (!t->out)
		abort();
	return t->out;
}

struct document *made_text_document(struct made_text *t, enum document_style style)
{
	t->document = document_new_json(made_text_stream(t), style);
	if (!t->document)
		abort();
	return t->document;
}

char *made_text_end(struct made_text *t)
{
	if (t->document && document_finish(t->document) < 0)
		abort();
	document_free(t->document);
	fclose(t->out);
	return t->text;
}

char *made_json(const struct record *record)
{
	struct made_text t = {};

	record_format(record, made_text_document(&t, DOCUMENT_INDENTED));
	return made_text_end(&t);
}

struct record *made_again(const char *json, struct error *err)
{
	json_t *root = json_loads(json, 0, NULL);
	struct record *record = NULL;

	(void)record_parse(root, &record, err);
	json_decref(root);
	return record;
}

char *made_csv(const struct record *record, enum record_rows rows)
{
	struct made_text t = {};

	record_format_csv_header(rows, made_text_stream(&t));
	record_format_csv(record, rows, t.out);
	return made_text_end(&t);
}
