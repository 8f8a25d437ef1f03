/* SPDX-License-Identifier: MIT */
#include "predict/trace_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "test.h"

static int parse(int (*parser)(char *text, struct trace_file *ret, struct error *err),
		 const char *text, struct trace_file *ret)
{
	_cleanup_free_ char *copy = strdup(text);
	struct error err = {};

	return parser(copy, ret, &err);
}

#define SWF(run, status, user) \
	"1 1000 5 " run " 4 90 2048 8 3600 -1 " status " " user " 3 2 1 1 -1 -1\n"

TEST(jobs_of_a_workload_file_are_read)
{
	_cleanup_(trace_file_clear) struct trace_file file = {};

	ASSERT_OK(parse(trace_file_parse_swf,
			"; a head\r\n\r\n" SWF("100", "1", "92605928607567") SWF("3601", "0", "7")
				SWF("3601", "1", "7") SWF("10", "5", "7") SWF("-1", "0", "7")
					SWF("10", "1", "-1") "1 2 3\n",
			&file));
	ASSERT_EQ(file.count, (size_t)3);
	ASSERT_EQ(file.silent, (size_t)2);
	ASSERT_EQ(file.refused, (size_t)2);
	ASSERT(test_is_near(file.jobs[0].outcome.values[TARGET_RUNTIME], 100));
	ASSERT(test_is_near(file.jobs[0].outcome.values[TARGET_MEMORY], 4 * 2048 * 1024.0));
	ASSERT(test_is_near(file.jobs[0].request.cores, 8));
	ASSERT(isnan(file.jobs[0].outcome.values[TARGET_ENERGY]));
	ASSERT_EQ(file.jobs[0].outcome.end_ns, UINT64_C(1105000000000));
	ASSERT(!file.jobs[0].outcome.is_lower_bound);
	ASSERT(file.jobs[1].outcome.is_lower_bound); /* it took all of its limit */
	ASSERT(!file.jobs[2].outcome.is_lower_bound); /* and ended by itself */
}

#define HEAD \
	"JobID|User|JobName|State|Submit|End|ElapsedRaw|TimelimitRaw|ReqCPUS|MaxRSS|ConsumedEnergyRaw|NNodes\n"
#define MOMENTS "2026-11-27T10:00:00|2026-11-27T10:10:00|600|60|4"

TEST(jobs_of_sacct_are_read)
{
	_cleanup_(trace_file_clear) struct trace_file file = {};

	ASSERT_OK(parse(trace_file_parse_sacct,
			HEAD "1|ann|run-1|COMPLETED|" MOMENTS "||120000|2\n"
			     "1.batch||batch|COMPLETED|" MOMENTS "|60832K||1\n"
			     "1.0||a|COMPLETED|" MOMENTS "|2G||1\n"
			     "2|ann|run-2|TIMEOUT|" MOMENTS "||0|2\n"
			     "3|ann|run-3|CANCELLED by 7|" MOMENTS "|||2\n"
			     "4|ann|a|b|COMPLETED|" MOMENTS "|||2\n",
			&file));
	ASSERT_EQ(file.count, (size_t)2);
	ASSERT_EQ(file.silent, (size_t)1);
	ASSERT_EQ(file.refused, (size_t)1); /* of a "|" in a name nobody knows what it cuts */
	ASSERT(test_is_near(file.jobs[0].outcome.values[TARGET_MEMORY], 2048.0 * 1024 * 1024));
	ASSERT(test_is_near(file.jobs[0].outcome.values[TARGET_POWER], 100));
	ASSERT(test_is_near(file.jobs[0].request.limit_s, 3600));
	ASSERT_EQ(file.jobs[0].request.name, file.jobs[1].request.name);
	ASSERT(file.jobs[1].outcome.is_lower_bound);
}

/* As NREL/eagle-jobs has them; the numbers are made. */
TEST(jobs_of_eagle_are_read)
{
	_cleanup_(trace_file_clear) struct trace_file file = {};

	ASSERT_OK(parse(
		trace_file_parse_sacct,
		"\xef\xbb\xbf"
		"job_id,\"user\",account,partition,qos,wallclock_req,nodes_req,processors_req,"
		"gpus_req,mem_req,submit_time,start_time,end_time,run_time,state,name,"
		"work_dir,submit_line\n"
		"17,u1,a1,p1,normal,1800.0,2,72,4,0.0,2026-01-01 08:55:55,2026-01-01 "
		"08:55:56,2026-01-01 09:12:36,1000.0,COMPLETED,n1,w1,s1\n"
		"18,u1,a1,p1,normal,1800.0,2,72,0,0.0,2026-01-01 08:55:55,2026-01-01 "
		"08:55:56,2026-01-01 09:26:06,1810.0,TIMEOUT,n1,w1,\"s1, \"\"of\"\" two\"\n"
		"\"20\",u1,a1,p1,normal,,,,-1,,2026-01-01 08:55:55,,,,\"CANCELLED\",,,\"\n"
		"19,u1,a1,p1,normal,1800.0,2,72,0,0.0,2026-01-01 08:55:55,2026-01-01 "
		"08:55:56,2026-01-01 09:26:06,1810.0,TIMEOUT,n1,w1\n",
		&file));
	ASSERT_EQ(file.count, (size_t)2);
	ASSERT_EQ(file.silent, (size_t)1); /* which did not begin */
	ASSERT_EQ(file.refused, (size_t)1); /* it lacks a cell */
	ASSERT(test_is_near(file.jobs[0].outcome.values[TARGET_RUNTIME], 1000));
	ASSERT(test_is_near(file.jobs[0].request.limit_s, 1800));
	ASSERT(test_is_near(file.jobs[0].request.gpus, 4));
	ASSERT_EQ(file.jobs[0].outcome.end_ns - file.jobs[0].request.submit_ns,
		  UINT64_C(1001000000000));
	ASSERT(file.jobs[1].outcome.is_lower_bound);
}

TEST(other_files_are_refused)
{
	_cleanup_(trace_file_clear) struct trace_file file = {};

	ASSERT_ERR(parse(trace_file_parse_swf, "", &file), -EINVAL);
	ASSERT_ERR(parse(trace_file_parse_swf, HEAD, &file), -EINVAL);
	ASSERT_ERR(parse(trace_file_parse_sacct, "", &file), -EINVAL);
	ASSERT_ERR(parse(trace_file_parse_sacct, "JobID|User\n1|2\n", &file), -EINVAL);
	ASSERT_ERR(parse(trace_file_parse_sacct, HEAD, &file), -EINVAL);
}
