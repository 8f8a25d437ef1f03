/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <stdlib.h>

#include "basic/macro.h"
#include "options.h"

#define TIMES_MAX 10000000

const char options_usage[] =
	"usage: truth --output FILE [--mount DIR]... [--bind DIR]... [--device FILE]...\n"
	"	[--processes N] [--threads N] [--repeat N] [--blocked N] [--dup2] [--signals]\n"
	"	[--exec] [--meta] [--newest] [--storm OPENS STATS]\n"
	"	[--ways] [--sendfile] [--splice] [--copy-file-range] [--io-uring]\n"
	"	[--io-uring-splice] [--libaio] [--mapped DIR]...\n";

static const struct option known[] = {
	/* clang-format off */
	{ "output",          required_argument, NULL, 'o' },
	{ "mount",           required_argument, NULL, 'm' },
	{ "bind",            required_argument, NULL, 'm' }, /* a folder as any other */
	{ "device",          required_argument, NULL, 'd' },
	{ "mapped",          required_argument, NULL, 'P' }, /* a folder on a disk, to map files of */
	{ "processes",       required_argument, NULL, 'p' },
	{ "threads",         required_argument, NULL, 't' },
	{ "repeat",          required_argument, NULL, 'r' },
	{ "blocked",         required_argument, NULL, 'b' },
	{ "storm",           required_argument, NULL, 'n' }, /* and a second number */
	{ "dup2",            no_argument,       NULL, '2' },
	{ "signals",         no_argument,       NULL, 's' },
	{ "exec",            no_argument,       NULL, 'x' },
	{ "meta",            no_argument,       NULL, 'M' },
	{ "newest",          no_argument,       NULL, 'N' }, /* calls that strace may not know */
	{ "ways",            no_argument,       NULL, 'w' }, /* all of the next five */
	{ "sendfile",        no_argument,       NULL, 'S' },
	{ "splice",          no_argument,       NULL, 'L' },
	{ "copy-file-range", no_argument,       NULL, 'C' },
	{ "io-uring",        no_argument,       NULL, 'U' },
	{ "libaio",          no_argument,       NULL, 'A' },
	{ "io-uring-splice", no_argument,       NULL, 'R' }, /* apart, for strace sees all splices but these */
	{ "only-end",        no_argument,       NULL, 'e' }, /* what --exec starts: ends at once */
	{}
	/* clang-format on */
};

static bool parse_count(const char *text, size_t min, size_t max, size_t *ret)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < min || n > max)
		return false;
	*ret = n;
	return true;
}

static bool add_target(struct options *o, const char *path, int kind)
{
	if (o->target_count == ARRAY_SIZE(o->targets))
		return false;
	o->targets[o->target_count].path = path;
	o->targets[o->target_count++].kind = kind;
	return true;
}

static bool take_value(struct options *o, int letter, const char *value)
{
	switch (letter) {
	case 'o':
		o->output = value;
		return true;
	case 'm':
		return add_target(o, value, TARGET_FOLDER);
	case 'd':
		return add_target(o, value, TARGET_DEVICE);
	case 'P':
		return add_target(o, value, TARGET_MAPPED);
	case 'p':
		return parse_count(value, 0, PROCESSES_MAX, &o->processes);
	case 't':
		return parse_count(value, 1, THREADS_MAX, &o->threads);
	case 'r':
		return parse_count(value, 1, 1000, &o->repeat);
	case 'b':
		return parse_count(value, 0, 1000, &o->blocked);
	default:
		return false;
	}
}

static bool take_way(struct options *o, int letter)
{
	static const struct {
		char letter;
		enum way way;
	} ways[] = {
		{ 'S', WAY_SENDFILE }, { 'L', WAY_SPLICE }, { 'C', WAY_COPY_FILE_RANGE },
		{ 'U', WAY_IO_URING }, { 'A', WAY_LIBAIO },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (letter == 'w' || letter == ways[i].letter)
			o->ways |= 1U << ways[i].way;
	return true;
}

static bool take_flag(struct options *o, int letter)
{
	switch (letter) {
	case '2':
		return o->with_dup2 = true;
	case 's':
		return o->with_signals = true;
	case 'x':
		return o->with_exec = true;
	case 'M':
		return o->with_meta = true;
	case 'R':
		return o->with_ring_splice = true;
	case 'N':
		return o->with_newest = true;
	case 'e':
		return o->only_end = true;
	default:
		return letter != '?' && take_way(o, letter);
	}
}

/* Its second number stands behind the first, where getopt_long() has not been yet. */
static bool take_storm(struct options *o, const char *opens, int argc, char **argv)
{
	return parse_count(opens, 0, TIMES_MAX, &o->storm_opens) && optind < argc &&
	       parse_count(argv[optind++], 0, TIMES_MAX, &o->storm_stats);
}

bool options_parse(int argc, char **argv, struct options *ret)
{
	struct options o = { .processes = 1, .threads = 1, .repeat = 1 };
	int letter;

	while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
		bool is_known = letter == 'n' ? take_storm(&o, optarg, argc, argv)
				: optarg      ? take_value(&o, letter, optarg)
					      : take_flag(&o, letter);

		if (!is_known)
			return false;
	}
	*ret = o;
	return optind == argc && (o.output || o.only_end);
}
