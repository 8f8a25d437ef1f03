/* SPDX-License-Identifier: MIT */
#include "config/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "sources/sources.h"
#include "made.h"
#include "test.h"

static char *no_environment[] = { NULL };

static int parse(const char *text, struct config **ret, struct error *err)
{
	return config_parse(text, strlen(text), "/etc/jobmeter/agent.yaml", no_environment, ret,
			    NULL, err);
}

static struct config *parsed(const char *text)
{
	struct config *c = NULL;
	struct error err = {};

	if (parse(text, &c, &err) < 0)
		printf("  %s\n", err.text);
	ASSERT(c != NULL);
	return c;
}

static void expect_refused(const char *text, const char *wanted)
{
	struct config *c = NULL;
	struct error err = {};

	ASSERT_ERR(parse(text, &c, &err), -EINVAL);
	ASSERT(c == NULL);
	ASSERT_STREQ(err.text, wanted);
}

static void expect_contained(const char *text, const char *wanted)
{
	struct config *c = NULL;
	struct error err = {};

	ASSERT_ERR(parse(text, &c, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, wanted);
}

static char *dumped(const struct config *c)
{
	struct made_text t = {};

	ASSERT_OK(config_dump(c, made_text_stream(&t)));
	return made_text_end(&t);
}

/* What holds, without where it comes from. */
static void expect_equal(const struct config *a, const struct config *b)
{
	const struct settings *settings = config_settings();

	for (size_t i = 0; i < settings->count; i++) {
		int is_equal = setting_is_equal(&settings->rows[i], a, b);

		if (is_equal != 1)
			printf("  %s differs\n", settings->rows[i].name);
		ASSERT_EQ(is_equal, 1);
	}
}

TEST(without_a_word_the_defaults_hold)
{
	_cleanup_(config_freep) struct config *c = parsed(""), *d = parsed("# nothing\n---\n");

	ASSERT_STREQ(c->listen, "127.0.0.1:9840");
	ASSERT(!c->is_insecure && c->has_bpf && c->has_t0 && c->has_t1 && c->has_t2 &&
	       c->has_clock && c->has_histograms);
	ASSERT_STREQ(c->token_file, "/etc/jobmeter/scrape.token");
	ASSERT_STREQ(c->socket_path, "/run/jobmeter/agent.sock");
	ASSERT_EQ(c->interval_ns, UINT64_C(10000000000));
	ASSERT_EQ(c->retention_ns, UINT64_C(300000000000));
	ASSERT_EQ(c->maps_memory_mib, UINT64_C(50));
	ASSERT_EQ(c->budget, UINT64_C(20000));
	ASSERT_STREQ(c->user, "jobmeter");
	ASSERT_EQ(c->mounts.count, 0);
	ASSERT(c->filesystems.count > 5);
	ASSERT_EQ(c->key_hierarchy, (unsigned int)CONFIG_KEY_AUTO);
	expect_equal(c, d);
}

TEST(each_kind_of_value_is_read)
{
	_cleanup_(config_freep) struct config *c = parsed(
		"listen: '[::1]:9841'\n"
		"insecure: yes\n"
		"tls: {certificate: /a.pem, key: /b.pem}\n"
		"socket:\n"
		"  admin_groups: [staff, \"ops\"]\n"
		"  everyone_sees_all: true\n"
		"interval: 1500ms\n"
		"retention: 2h\n"
		"tiers: {totals: off, files: no}\n"
		"maps_memory_mib: 1GiB\n"
		"budget: 1.0203%\n"
		"jobs_max: 64\n"
		"user_jobs_max: 0\n"
		"key_hierarchy: freezer\n"
		"mounts:\n"
		"- {path: /lustre/scratch, name: SCRATCH}\n"
		"- path: /home\n"
		"  name: the homes\n"
		"rules: [{name: ours, manager: grid, pattern: 'grid/<job:#>'},"
		" {name: top, manager: grid, pattern: '/grid_<job:#>'}]\n"
		"cluster: \"caf\\u00e9\"\n"
		"cpu_affinity: 0-1,3\n"
		"log_level: debug\n");

	ASSERT_STREQ(c->listen, "[::1]:9841");
	ASSERT(c->is_insecure && c->everyone_sees_all && !c->has_t0 && !c->has_t2);
	ASSERT_STREQ(c->tls_key, "/b.pem");
	ASSERT_EQ(c->admin_groups.count, 2);
	ASSERT_STREQ(setting_list_get(&c->admin_groups, 1, 0), "ops");
	ASSERT_EQ(c->interval_ns, UINT64_C(1500000000));
	ASSERT_EQ(c->retention_ns, UINT64_C(7200000000000));
	ASSERT_EQ(c->maps_memory_mib, UINT64_C(1024));
	ASSERT_EQ(c->budget, UINT64_C(10203));
	ASSERT_EQ(c->jobs_max, UINT64_C(64));
	ASSERT_EQ(c->user_jobs_max, UINT64_C(0));
	ASSERT_EQ(c->key_hierarchy, (unsigned int)CONFIG_KEY_FREEZER);
	ASSERT_EQ(c->mounts.count, 2);
	ASSERT_STREQ(setting_list_get(&c->mounts, 1, CONFIG_MOUNT_PATH), "/home");
	ASSERT_STREQ(setting_list_get(&c->mounts, 1, CONFIG_MOUNT_NAME), "the homes");
	ASSERT_STREQ(setting_list_get(&c->rules, 0, CONFIG_RULE_PATTERN), "grid/<job:#>");
	ASSERT_STREQ(setting_list_get(&c->rules, 1, CONFIG_RULE_PATTERN), "/grid_<job:#>");
	ASSERT_STREQ(c->cluster, "caf\xc3\xa9");
	ASSERT_EQ(c->log_level, (unsigned int)CONFIG_LOG_DEBUG);
}

TEST(an_unknown_name_is_guessed)
{
	expect_contained("# a\n\nintervall: 5s\n", "agent.yaml:3: 'intervall' is not known here; "
						   "did you mean 'interval'? (allowed: listen, ");
	expect_refused("tls:\n  certficate: /x\n",
		       "agent.yaml:2: 'certficate' is not known here; did you mean 'certificate'? "
		       "(allowed: certificate, key)");
	expect_contained("everyone_sees_all: on\n", "did you mean 'socket.everyone_sees_all'?");
	expect_contained("palette: red\n",
			 "agent.yaml:1: 'palette' is not known here (allowed: listen, ");
	expect_contained("palette: red\n", "tiers, block, clock, ");
	expect_contained("tls.key: /x\n", "agent.yaml:1: 'tls.key' is not known here");
	expect_contained("'': 1\n", "agent.yaml:1: '' is not known here");
}

TEST(a_wrong_type_is_named)
{
	expect_refused(
		"interval: [1s]\n",
		"agent.yaml:1: interval cannot be a list (allowed: 1s to 1h, in ms, s, m, h or d)");
	expect_refused(
		"units: 1\n",
		"agent.yaml:1: units cannot be '1' (allowed: on, off, yes, no, true, false)");
	expect_refused("tls: /x\n", "agent.yaml:1: tls cannot be a scalar: it is a map");
	expect_refused("tls:\n", "agent.yaml:1: tls cannot be empty: it is a map");
	expect_refused("user:\n", "agent.yaml:1: user has no value (allowed: the name of a user)");
	expect_refused("mounts: /x\n",
		       "agent.yaml:1: mounts cannot be a scalar (allowed: a list of {path, name}: "
		       "an absolute path and a name, at most 64)");
	expect_refused("mounts:\n- /x\n",
		       "agent.yaml:2: mounts cannot be a scalar (allowed: a list of {path, name}: "
		       "an absolute path and a name, at most 64)");
	expect_refused("mounts:\n- path: /x\n",
		       "agent.yaml:2: 'name' is missing in an entry of mounts");
	expect_contained("mounts:\n- {path: /x, name: y, size: 1}\n",
			 "agent.yaml:2: 'size' is not known in mounts");
	expect_refused("- 1\n", "agent.yaml:1: lines of 'NAME: VALUE' must stand here, not a list");
	expect_refused("hello\n",
		       "agent.yaml:1: lines of 'NAME: VALUE' must stand here, not a scalar");
}

TEST(a_bad_range_says_what_is_allowed)
{
	static const char *const refused[] = {
		"interval: 10",
		"interval: 0s",
		"interval: 999ms",
		"interval: 2h",
		"interval: -5s",
		"interval: 1.5s",
		"interval: 99999999999999999999s",
		"interval: 400000000000d",
		"interval: 5 s",
		"jobs_max: 15",
		"jobs_max: 0x20",
		"jobs_max: +20",
		"maps_memory_mib: 3",
		"budget: 0%",
		"budget: 101%",
		"budget: 100.1%",
		"budget: 0.5",
		"budget: .5%",
		"budget: 1.%",
		"budget: 0.00005%",
		"budget: -1%",
		"maps_memory_mib: 40MB",
		"listen: localhost:9840",
		"listen: 127.0.0.1",
		"listen: 127.0.0.1:0",
		"listen: 127.0.0.1:65536",
		"listen: '::1:9840'",
		"listen: 1.2.3:80",
		"listen: '[::1]9840'",
		"listen: ':9840'",
		"listen: '[]:80'",
		"listen: 127.0.0.1:+80",
		"state_dir: here",
		"state_dir: ''",
		"user: ''",
		"user: a b",
		"user: -x",
		"cpu_affinity: one",
		"metrics_prefix: ''",
		"metrics_prefix: 1x",
		"metrics_prefix: a-b",
		"metrics_prefix: a234567890123456789012345678901234",
		"log_level: loud",
		"token_file: etc",
		"socket: {admin_groups: ['']}",
		"filesystems: [ext4, 'a,b']",
		"cluster: \"a\\nb\"",
		"cluster: \"\\e[1m\"",
		"mounts: [{path: x, name: y}]",
		"mounts: [{path: /x, name: ''}]",
		"rules: [{name: a, manager: b c, pattern: d}]",
	};
	char long_path[128] = "socket: {path: /";

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		expect_contained(refused[i], " (allowed: ");
	memset(long_path + strlen(long_path), 'x', 107);
	strcat(long_path, "}");
	expect_contained(long_path, "at most 107 bytes");
	expect_refused("listen: nowhere",
		       "agent.yaml:1: listen cannot be 'nowhere' (allowed: ADDRESS:PORT in "
		       "numbers, or '' for no TCP)");
}

TEST(a_name_stands_once)
{
	expect_refused("interval: 5s\nunits: on\ninterval: 6s\n",
		       "agent.yaml:3: 'interval' is given twice, first in line 1");
	expect_contained("tls: {key: /a, key: /b}\n", "'key' is given twice");
	expect_refused("units: on\nmounts: [{path: /a, name: b}, {path: /a, name: c}]\n",
		       "agent.yaml:2: mounts: '/a' is given twice");
}

TEST(what_yaml_can_do_besides_is_refused)
{
	expect_refused("user: &a jobmeter\n", "agent.yaml:1: anchors ('&NAME') are not taken here");
	expect_refused("tls: &a {}\n", "agent.yaml:1: anchors ('&NAME') are not taken here");
	expect_contained("units: on\nuser: *a\n",
			 "agent.yaml:2: aliases ('*NAME') are not taken here");
	expect_refused("user: !!str jobmeter\n", "agent.yaml:1: tags ('!NAME') are not taken here");
	expect_refused("units: on\n---\nunits: off\n",
		       "agent.yaml:2: a second document begins here");
	expect_refused("[a]: b\n", "agent.yaml:1: a name must stand here, and not a list or a map");
	expect_contained("mounts: [[[[[[[[[[[[1]]]]]]]]]]]]\n",
			 "agent.yaml:1: this is nested too deep");
}

TEST(what_is_no_yaml_or_no_text_is_refused)
{
	struct config *c = NULL;
	struct error err;

	expect_refused("units: on\ntls:\n\tkey: /x\n",
		       "agent.yaml:3: a tab stands here; YAML is indented by blanks");
	expect_refused("units: on\nuser: a: b\n",
		       "agent.yaml:2: mapping values are not allowed in this context");
	expect_contained("tls: {key: /x\n", "agent.yaml:");
	expect_refused("units: on\nuser: caf\xe9\n", "agent.yaml:2: this is not UTF-8");
	expect_refused("user: \"a\\0b\"\n", "agent.yaml:1: a NUL byte stands here");
	ASSERT_ERR(config_parse("units: on\n\0", 11, "agent.yaml", no_environment, &c, NULL, &err),
		   -EINVAL);
	ASSERT_STREQ(err.text, "agent.yaml:2: a NUL byte stands here");
}

TEST(too_much_is_refused)
{
	size_t size = 300 << 10;
	_cleanup_free_ char *text = malloc(size + 1);
	struct config *c = NULL;
	struct error err;

	memset(text, '#', size);
	text[size] = '\0';
	ASSERT_ERR(config_parse(text, size, "agent.yaml", no_environment, &c, NULL, &err), -EFBIG);
	ASSERT_STREQ(err.text, "agent.yaml: larger than 256 KiB");
	strcpy(text, "filesystems: [");
	for (int i = 0; i < 65; i++)
		strcat(text, "a, ");
	strcat(text, "b]\n");
	expect_contained(text, "filesystems cannot be 'a list as long as this'");
	strcpy(text, "filesystems: [");
	for (int i = 0; i < 20000; i++)
		memcpy(text + 14 + 2 * i, "a,", 3);
	strcat(text, "]");
	expect_contained(text, "there is too much in this file");
}

TEST(tls_wants_two_files_and_the_world_wants_tls)
{
	_cleanup_(config_freep) struct config *c = NULL, *d = NULL;

	expect_refused("units: on\ntls: {key: /k}\n",
		       "agent.yaml:2: tls.key is set, and tls.certificate is not; TLS wants both");
	expect_refused("units: on\nlisten: 0.0.0.0:9840\n",
		       "agent.yaml:2: listen: '0.0.0.0:9840' can be reached from other machines, "
		       "which wants "
		       "tls.certificate and tls.key (or 'insecure: on')");
	expect_contained("listen: '[::]:9840'\n", "which wants tls");
	c = parsed("listen: 0.0.0.0:9840\ninsecure: on\n");
	d = parsed("listen: 127.9.9.9:9840\n");
}

TEST(a_server_is_a_url_and_beyond_this_machine_it_is_https)
{
	static const char *const good[] = {
		"''",
		"http://127.0.0.1:9841",
		"http://localhost:9841",
		"'http://[::1]:9841'",
		"https://jobs.example.org",
		"https://jobs.example.org:443",
		"'https://[2001:db8::1]:9841'",
	};
	static const char *const bad[] = {
		"jobs.example.org:9841", "ftp://a",	  "https://",	     "https://a/",
		"https://a/b",		 "https://a:0",	  "https://a:99999", "'https://a:'",
		"https://u@a",		 "'https://a b'", "'https://[::1'",  "https://a?b",
	};
	char text[128];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		_cleanup_(config_freep) struct config *c = NULL;

		snprintf(text, sizeof(text), "server: %s\n", good[i]);
		c = parsed(text);
		ASSERT_EQ(c->checkpoint_interval_ns, UINT64_C(300000000000));
		ASSERT_EQ(c->spool_mib, (uint64_t)256);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(text, sizeof(text), "server: %s\n", bad[i]);
		expect_contained(text, "server cannot be ");
	}
	expect_refused("units: on\nserver: http://127.0.0.1.example.org\n",
		       "agent.yaml:2: server: 'http://127.0.0.1.example.org' is another machine, "
		       "which wants https (or 'insecure: on')");
	config_free(parsed("server: http://10.0.0.1\ninsecure: on\n"));
}

TEST(the_environment_goes_before_the_file)
{
	char *environment[] = { "PATH=/bin",
				"JOBMETER_INTERVAL=7s",
				"JOBMETER_TLS_KEY=/k",
				"JOBMETER_TLS_CERTIFICATE=/c",
				"JOBMETER_FILESYSTEMS=ext4, xfs",
				"JOBMETER_MOUNTS=[{path: /a, name: b}]",
				"JOBMETER_SOCKET_ADMIN_GROUPS=",
				NULL };
	_cleanup_(config_freep) struct config *c = NULL;
	static const char text[] = "interval: 5s\nretention: 9s\nsocket: {admin_groups: [a]}\n";
	struct error err = {}, unknown = { "x" };

	ASSERT_OK(config_parse(text, strlen(text), "agent.yaml", environment, &c, &unknown, &err));
	ASSERT_STREQ(unknown.text, "");
	ASSERT_EQ(c->interval_ns, UINT64_C(7000000000));
	ASSERT_EQ(c->retention_ns, UINT64_C(9000000000));
	ASSERT_STREQ(c->tls_key, "/k");
	ASSERT_EQ(c->filesystems.count, 2);
	ASSERT_STREQ(setting_list_get(&c->filesystems, 1, 0), "xfs");
	ASSERT_STREQ(setting_list_get(&c->mounts, 0, CONFIG_MOUNT_NAME), "b");
	ASSERT_EQ(c->admin_groups.count, 0);
}

static void expect_environment_refused(char *line, const char *wanted)
{
	char *environment[] = { line, NULL };
	struct config *c = NULL;
	struct error err;

	ASSERT_ERR(config_parse("", 0, "agent.yaml", environment, &c, NULL, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, wanted);
}

TEST(the_environment_is_checked_too)
{
	char *unknown_name[] = { "JOBMETER_INTERVALL=7s", "JOBMETER_BUILD", NULL };
	_cleanup_(config_freep) struct config *c = NULL;
	struct error unknown, err;

	expect_environment_refused("JOBMETER_INTERVAL=7",
				   "JOBMETER_INTERVAL: interval cannot be '7' (allowed: 1s to 1h");
	expect_environment_refused("JOBMETER_INTERVAL=",
				   "JOBMETER_INTERVAL: interval cannot be ''");
	expect_environment_refused("JOBMETER_MOUNTS=/x", "JOBMETER_MOUNTS: mounts cannot be '/x'");
	expect_environment_refused("JOBMETER_MOUNTS=[{path: /x}]",
				   "JOBMETER_MOUNTS: 'name' is missing");
	expect_environment_refused("JOBMETER_MOUNTS=[", "JOBMETER_MOUNTS:");
	expect_environment_refused("JOBMETER_LISTEN=0.0.0.0:80",
				   "JOBMETER_LISTEN: listen: '0.0.0.0:80' can be reached");
	expect_environment_refused("JOBMETER_CLUSTER=a\xff", "JOBMETER_CLUSTER: cluster cannot be");
	ASSERT_OK(config_parse("", 0, "agent.yaml", unknown_name, &c, &unknown, &err));
	ASSERT_STREQ(unknown.text,
		     "'JOBMETER_INTERVALL' in the environment is no setting; did you mean "
		     "'JOBMETER_INTERVAL'?");
}

TEST(what_holds_can_be_read_again_and_says_where_it_comes_from)
{
	char *environment[] = { "JOBMETER_RETENTION=90s", NULL };
	_cleanup_(config_freep) struct config *c = NULL, *again = NULL;
	_cleanup_free_ char *dump = NULL;
	static const char text[] =
		"interval: 1500ms\ncluster: 'it''s: #1'\nsocket: {admin_groups: [a, 'null', off, "
		"1]}\n"
		"mounts: [{path: /a b, name: '{x}, y'}, {path: '/c:d', name: '~'}]\nuser: 'no'\n";
	struct error err;

	ASSERT_OK(config_parse(text, strlen(text), "agent.yaml", environment, &c, NULL, &err));
	dump = dumped(c);
	ASSERT_CONTAINS(dump, "interval: 1500ms  # agent.yaml:1\n");
	ASSERT_CONTAINS(dump, "retention: 90s  # JOBMETER_RETENTION\n");
	ASSERT_CONTAINS(dump, "listen: 127.0.0.1:9840  # default\n");
	ASSERT_CONTAINS(dump,
			"socket:\n  path: /run/jobmeter/agent.sock  # default\n  admin_groups: ");
	again = parsed(dump);
	expect_equal(c, again);
}

static const char *write_file(const char *name, const char *text, mode_t mode)
{
	static char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", test_dir(), name);
	unlink(path);
	file = fopen(path, "we");
	fputs(text, file);
	fclose(file);
	ASSERT_OK(chmod(path, mode));
	return path;
}

TEST(a_file_that_is_named_must_be_there_and_plain)
{
	struct config *c = NULL;
	struct error err;

	ASSERT_ERR(config_load("/nonexistent/a.yaml", no_environment, &c, NULL, &err), -ENOENT);
	ASSERT_STREQ(err.text, "cannot read '/nonexistent/a.yaml': No such file or directory");
	ASSERT_ERR(config_load(test_dir(), no_environment, &c, NULL, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "it is no plain file");
	ASSERT_ERR(config_load(write_file("w.yaml", "", 0666), no_environment, &c, NULL, &err),
		   -EPERM);
	ASSERT_CONTAINS(err.text, "everyone may write to it");
	ASSERT(c == NULL);
}

TEST(a_file_of_another_users_is_not_read)
{
	const char *path = write_file("o.yaml", "", 0644);
	struct config *c = NULL;
	struct error err;

	if (geteuid() != 0)
		return; /* nobody but root can give one away */
	ASSERT_OK(chown(path, 1, 1));
	ASSERT_ERR(config_load(path, no_environment, &c, NULL, &err), -EPERM);
	ASSERT_CONTAINS(err.text, "is not read: it belongs to another user (UID 1)");
	ASSERT(c == NULL);
}

TEST(a_reload_takes_what_it_can_and_names_the_rest)
{
	_cleanup_(config_freep) struct config *c = NULL;
	struct config_changes changes;
	struct config *before;
	struct error err = {};

	ASSERT_OK(config_load(write_file("r.yaml", "interval: 5s\nuser: a\n", 0644), no_environment,
			      &c, NULL, &err));
	write_file("r.yaml", "user: b\ninterval: 6s\nsocket: {everyone_sees_all: on, path: /s}\n",
		   0644);
	ASSERT_OK(config_reload(&c, &changes, &err));
	ASSERT_STREQ(changes.applied, "socket.everyone_sees_all, interval");
	ASSERT_STREQ(changes.waiting, "socket.path, user");
	ASSERT_EQ(c->interval_ns, UINT64_C(6000000000));
	ASSERT_STREQ(c->user, "a");
	ASSERT_STREQ(c->socket_path, "/run/jobmeter/agent.sock");

	/* It says so each time, until the restart. */
	ASSERT_OK(config_reload(&c, &changes, &err));
	ASSERT_STREQ(changes.applied, "");
	ASSERT_STREQ(changes.waiting, "socket.path, user");

	before = c;
	write_file("r.yaml", "interval: 7s\nuser: [\n", 0644);
	ASSERT_ERR(config_reload(&c, &changes, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "r.yaml:");
	ASSERT(c == before);
	ASSERT_EQ(c->interval_ns, UINT64_C(6000000000));

	unlink(write_file("r.yaml", "", 0644));
	ASSERT_ERR(config_reload(&c, &changes, &err), -ENOENT);
	ASSERT(c == before);
}

TEST(the_example_is_the_defaults)
{
	_cleanup_(config_freep) struct config *c = parsed(""), *d = NULL, *e = NULL;
	_cleanup_free_ char *text = NULL, *bare = NULL;
	size_t size, used = 0;
	FILE *out = open_memstream(&text, &size);

	ASSERT_OK(settings_print_example(config_settings(), out));
	fclose(out);
	d = parsed(text); /* all of it is comment */
	expect_equal(c, d);
	bare = calloc(1, size + 1);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		ASSERT_EQ(*line, '#');
		if (line[1] == ' ' && !(line[2] == ' ' && line[3] != ' '))
			continue; /* words, and no setting */
		used += (size_t)sprintf(bare + used, "%s\n", line + 1);
	}
	ASSERT_CONTAINS(bare, "\nsocket:\n  path: ");
	e = parsed(bare);
	expect_equal(c, e);
	for (size_t i = 0; i < config_settings()->count; i++)
		ASSERT_EQ(e->origins[i].source, (unsigned int)SETTING_FROM_FILE);
}

TEST(every_row_says_what_it_is)
{
	const struct settings *settings = config_settings();

	for (size_t i = 0; i < settings->count; i++) {
		const struct setting *row = &settings->rows[i];
		size_t length = row->help ? strlen(row->help) : 0;

		ASSERT(length > 10 && row->help[length - 1] == '.');
		ASSERT(!row->is_allowed == !row->allowed);
		for (size_t j = 0; j < i; j++) {
			ASSERT(strcmp(settings->rows[j].name, row->name) != 0);
			ASSERT(settings->rows[j].offset != row->offset);
			ASSERT(strcmp(settings_environment_name(settings, &settings->rows[j]).text,
				      settings_environment_name(settings, row).text) != 0);
		}
	}
}

TEST(each_source_has_a_switch_and_no_name_stands_there_twice)
{
	_cleanup_(config_freep) struct config *c = parsed("thermal: off\nhardware: on\n");
	const struct settings *settings = config_settings();
	const struct source_list sources = sources_all();

	ASSERT(c->has_source[sources_index("hardware")]); /* off, unless it is wanted */
	ASSERT(!c->has_source[sources_index("thermal")]);
	ASSERT(c->has_source[sources_index("ports")]);
	for (size_t i = 0; i < sources.count; i++) {
		size_t rows = 0;

		for (size_t k = 0; k < settings->count; k++)
			rows += strcmp(settings->rows[k].name, sources.items[i]->name) == 0;
		ASSERT_EQ(rows, (size_t)1);
	}
}
