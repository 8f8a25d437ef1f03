/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "made.h"
#include "codec/record_format.h"
#include "test.h"

/* Cells of each line; quoted ones may hold commas and line ends. */
static int count_cells(const char **text)
{
	bool is_quoted = false;
	int cells = 1;

	for (; **text; (*text)++) {
		if (**text == '"')
			is_quoted = !is_quoted;
		else if (**text == ',' && !is_quoted)
			cells++;
		else if (**text == '\n' && !is_quoted)
			break;
	}
	*text += **text == '\n';
	return cells;
}

TEST(header_and_rows_have_the_same_columns)
{
	static const enum record_rows each[] = { ROWS_RECORD, ROWS_MOUNT, ROWS_DEVICE };
	_cleanup_(record_freep) struct record *r = made_record(0);

	for (int i = 0; i < 3; i++)
		ASSERT_OK(block_add(&r->reading.block,
				    i == 0   ? "sda"
				    : i == 1 ? "sdb"
					     : "sdc",
				    BLOCK_READ, &(struct block_counts){}));
	for (size_t i = 0; i < ARRAY_SIZE(each); i++) {
		enum record_rows rows = each[i];
		_cleanup_free_ char *text = made_csv(r, rows);
		const char *p = text;
		int columns = count_cells(&p), lines = 0;

		for (; *p; lines++)
			ASSERT_EQ(count_cells(&p), columns);
		ASSERT_EQ(lines, rows == ROWS_RECORD ? 1 : 3);
	}
}

TEST(values_stand_in_their_units_and_mounts_are_summed)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	_cleanup_free_ char *text = made_csv(r, ROWS_RECORD);

	ASSERT_CONTAINS(text, "node,");
	ASSERT_CONTAINS(text, ",cpu_user_seconds,");
	ASSERT_CONTAINS(text, ",cpu_causes_file_write_seconds,");
	ASSERT_CONTAINS(text, ",cores_used,cores_balance,");
	ASSERT_CONTAINS(text, ",2,0.9973,");
	ASSERT_CONTAINS(text, ",190.000000001,");
	ASSERT_CONTAINS(text, ",8160444006,1900009,3,"); /* read_bytes, read_calls, read_errors */
	ASSERT_CONTAINS(text, ",mapped_read_bytes,mapped_write_bytes,meta_calls,meta_errors,"
			      "meta_not_found,meta_seconds,network_sent_bytes,");
	ASSERT_CONTAINS(text, ",0,8192,51,6,3,0.000039,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n");
}

TEST(a_name_is_no_formula)
{
	_cleanup_(record_freep) struct record *r = made_record(0);

	free(r->job.name);
	r->job.name = strdup("=1+1");
	ASSERT_TOLD(made_csv(r, ROWS_RECORD), ",'=1+1,");
}

TEST(a_mount_has_columns_of_every_operation_and_interface)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	_cleanup_free_ char *text = NULL;

	r->reading.mounts[0].lacks_not_found = true;
	text = made_csv(r, ROWS_MOUNT);
	ASSERT_CONTAINS(text, ",meta_seconds,open_calls,open_errors,open_not_found,open_seconds,");
	ASSERT_CONTAINS(text, ",sync_seconds,io_uring_read_bytes,io_uring_read_calls,");
	ASSERT_CONTAINS(text, ",splice_write_errors\n");
	ASSERT_LACKS(text, "mapping");
	ASSERT_CONTAINS(text, ",0,8192,17,2,,0.000013,17,2,,0.000013,0,0,,0,"); /* /scratch */
	ASSERT_CONTAINS(text, ",4095,7,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"); /* its sendfile */
	ASSERT_CONTAINS(text, ",0,0,17,2,1,0.000013,17,2,1,0.000013,0,0,0,0,"); /* the others */
}

TEST(text_is_quoted_where_it_has_to_be)
{
	_cleanup_(record_freep) struct record *r = made_record(0);

	r->job.name = strdup("a, \"b\"\nc\xff");
	ASSERT_TOLD(made_csv(r, ROWS_MOUNT), ",\"a, \"\"b\"\"\nc\uFFFD\",",
		    ",/scratch,lustre,,8160437862,1900007,1,50.700000017,", ",(pipe),,,4096,");
}

TEST(what_is_not_known_is_empty)
{
	_cleanup_(record_freep) struct record *r = record_new();
	_cleanup_free_ char *record = made_csv(r, ROWS_RECORD), *mount = made_csv(r, ROWS_MOUNT);

	ASSERT_CONTAINS(record, "\n,,,,0,false,,,,,,,,,,,,,,,,,,");
	ASSERT_CONTAINS(record, ",,,,,,,\n");
	ASSERT_STREQ(strchr(mount, '\n'), "\n"); /* nothing but the header */
}
