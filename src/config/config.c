/* SPDX-License-Identifier: MIT */
#include "config/config.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "config/settings.h"
#include "basic/parse.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define HOUR (3600 * SECOND)

/* ---- allowed values ---- */

static bool is_metrics_prefix(size_t field UNUSED, const char *text)
{
	return strlen(text) <= 32 && isalpha((unsigned char)*text) && setting_is_word(text, "_");
}

static bool is_filesystem(size_t field UNUSED, const char *text)
{
	return setting_is_word(text, "._-");
}

static bool is_probe_set(size_t field UNUSED, const char *text)
{
	return setting_is_word(text, "-");
}

static bool is_label(size_t field UNUSED, const char *text)
{
	return strlen(text) < SETTING_WORD_BYTES;
}

/* A name for the dynamic linker, or a path that does not depend on where the agent was started. */
static bool is_library(size_t field, const char *text)
{
	return setting_is_path(field, text) ||
	       (*text && !strchr(text, '/') && is_label(field, text));
}

static bool is_mount(size_t field, const char *text)
{
	return field == CONFIG_MOUNT_PATH ? setting_is_path(0, text) : *text && is_label(0, text);
}

static bool is_rule(size_t field, const char *text)
{
	return field == CONFIG_RULE_PATTERN ? *text : setting_is_word(text, "_-");
}

static bool is_https(size_t field, const char *text)
{
	return !*text ||
	       (strncmp(text, "https://", strlen("https://")) == 0 && setting_is_url(field, text));
}

static bool is_cpulist(size_t field UNUSED, const char *text)
{
	struct cpulist list;

	return cpulist_parse(text, &list) == 0;
}

/* ---- the table ---- */

/* As enum energy_policy has them. */
static const char *const idle_policies[] = { "allocated", "active", "none", NULL };
static const char *const key_hierarchies[] = { "auto",	  "memory", "cpuacct",
					       "freezer", "cpuset", NULL };
static const char *const server_authentications[] = { "token", "munge", NULL };
static const char *const log_levels[] = { "error", "warning", "info", "debug", NULL };
static const char *const mount_fields[] = { "path", "name", NULL };
static const char *const rule_fields[] = { "name", "manager", "pattern", NULL };

#define AT(member) .offset = offsetof(struct config, member)

/* Rows of one map are neighbours. */
/* clang-format off */
static const struct setting rows_before[] = {
	{ "listen", SETTING_TEXT, AT(listen), .standard = "127.0.0.1:9840", .needs_restart = true,
	  .is_allowed = setting_is_address, .allowed = "ADDRESS:PORT in numbers, or '' for no TCP",
	  .help = "Address and port of the HTTP server. Any address but 127.x.x.x and [::1] needs tls." },
	{ "insecure", SETTING_BOOL, AT(is_insecure), .standard = "off", .needs_restart = true,
	  .help = "Serve TCP to anyone, without the token, and without TLS even to other machines; send to a server without TLS, too." },
	{ "token_file", SETTING_TEXT, AT(token_file), .standard = "/etc/jobmeter/scrape.token", .needs_restart = true,
	  .is_allowed = setting_is_path, .allowed = "an absolute path",
	  .help = "File with the bearer token that a scraper must send. The first start makes it." },
	{ "tls.certificate", SETTING_TEXT, AT(tls_certificate), .standard = "", .needs_restart = true,
	  .is_allowed = setting_is_path_or_none, .allowed = "an absolute path, or '' for no TLS",
	  .help = "TLS certificate in PEM, with its intermediate certificates." },
	{ "tls.key", SETTING_TEXT, AT(tls_key), .standard = "", .needs_restart = true,
	  .is_allowed = setting_is_path_or_none, .allowed = "an absolute path, or '' for no TLS",
	  .help = "Key of the TLS certificate, in PEM." },
	{ "socket.path", SETTING_TEXT, AT(socket_path), .standard = "/run/jobmeter/agent.sock", .needs_restart = true,
	  .is_allowed = setting_is_socket_path, .allowed = "an absolute path of at most 107 bytes, or '' for no socket",
	  .help = "Unix socket on which users of this machine see their own jobs." },
	{ "socket.admin_groups", SETTING_LIST, AT(admin_groups), .standard = "", .max = 32,
	  .is_allowed = setting_is_account, .allowed = "names of groups",
	  .help = "Groups whose members see all jobs on the socket, as root does." },
	{ "socket.everyone_sees_all", SETTING_BOOL, AT(everyone_sees_all), .standard = "off",
	  .help = "Every user sees all jobs on the socket." },

	{ "interval", SETTING_DURATION, AT(interval_ns), .standard = "10s", .min = SECOND, .max = HOUR,
	  .help = "Time between samples when nothing asks for one, at multiples of it by the wall clock." },
	{ "retention", SETTING_DURATION, AT(retention_ns), .standard = "5m", .min = SECOND, .max = 24 * HOUR,
	  .needs_restart = true,
	  .help = "How long a job stays exposed after its end." },
	{ "bpf", SETTING_BOOL, AT(has_bpf), .standard = "on", .needs_restart = true,
	  .help = "Load BPF programs into the kernel. Without them only the numbers of cgroup files are known." },
	{ "tiers.totals", SETTING_BOOL, AT(has_t0), .standard = "on", .needs_restart = true,
	  .help = "Totals of tasks: CPU time, memory, faults, bytes." },
	{ "tiers.wait_times", SETTING_BOOL, AT(has_t1), .standard = "on", .needs_restart = true,
	  .help = "Wait times: what threads wait for when they are not on a CPU." },
	{ "tiers.files", SETTING_BOOL, AT(has_t2), .standard = "on", .needs_restart = true,
	  .help = "Files by mount: each call, its bytes, errors and time." },
	{ "block", SETTING_BOOL, AT(has_block), .standard = "on", .needs_restart = true,
	  .help = "With tiers.files: what each job does on block devices: bytes, requests and their time." },
	{ "clock", SETTING_BOOL, AT(has_clock), .standard = "on", .needs_restart = true,
	  .help = "Measure the time of file operations." },
	{ "histograms", SETTING_BOOL, AT(has_histograms), .standard = "on", .needs_restart = true,
	  .help = "Keep histograms of file operations, by size and by time." },
	{ "syscalls", SETTING_BOOL, AT(names_syscalls), .standard = "off", .needs_restart = true,
	  .help = "Count all system calls of each job by name: calls, errors and time. Every system call of the node then costs more: docs/sites/sizing.md." },
	{ "files", SETTING_BOOL, AT(follows_files), .standard = "off", .needs_restart = true,
	  .help = "Measure single files of each job; needs tiers.files. They take a fifth of maps_memory_mib, and every call on a file costs more: docs/sites/sizing.md." },
};

/* Between them a switch for each source of numbers. */
static const struct setting rows_behind[] = {
	{ "thermal_warning", SETTING_NUMBER, AT(sources.thermal_warning), .standard = "75", .min = 1, .max = 150,
	  .needs_restart = true,
	  .help = "Temperature of a processor package, in degrees Celsius, that begins a thermal event of severity `warning`." },
	{ "thermal_critical", SETTING_NUMBER, AT(sources.thermal_critical), .standard = "85", .min = 1, .max = 150,
	  .needs_restart = true,
	  .help = "The same for the severity `critical`." },
	{ "redfish_url", SETTING_TEXT, AT(sources.redfish_url), .standard = "", .needs_restart = true,
	  .is_allowed = is_https, .allowed = "https://HOST[:PORT], or '' for none",
	  .help = "URL of the Redfish service of this node's BMC; see docs/sites/energy-sources.md." },
	{ "redfish_credentials", SETTING_TEXT, AT(sources.redfish_credentials), .standard = "/etc/jobmeter/redfish.credentials",
	  .needs_restart = true, .is_allowed = setting_is_path, .allowed = "an absolute path",
	  .help = "File with one line USER:PASSWORD of a BMC account that may read. It must belong to root, with mode 0600." },
	{ "redfish_ca", SETTING_TEXT, AT(sources.redfish_ca), .standard = "", .needs_restart = true,
	  .is_allowed = setting_is_path_or_none, .allowed = "an absolute path, or '' for those that the system trusts",
	  .help = "CA certificates in PEM that verify the BMC's certificate, or that certificate itself." },
	{ "redfish_chassis", SETTING_TEXT, AT(sources.redfish_chassis), .standard = "", .needs_restart = true,
	  .is_allowed = is_label, .allowed = "a text of at most 63 bytes",
	  .help = "Id of the Redfish chassis that is this node. Needed only if several chassis report a power." },
	{ "nvml_library", SETTING_TEXT, AT(sources.nvml_library), .standard = "libnvidia-ml.so.1", .needs_restart = true,
	  .is_allowed = is_library, .allowed = "a name of a library, or an absolute path",
	  .help = "NVIDIA's library that the source gpu loads." },
	{ "amd_smi_library", SETTING_TEXT, AT(sources.amd_smi_library), .standard = "libamd_smi.so", .needs_restart = true,
	  .is_allowed = is_library, .allowed = "a name of a library, or an absolute path",
	  .help = "AMD's library that the source gpu loads. By default also its versions 24 to 26." },
	{ "budget", SETTING_PERCENT, AT(budget), .standard = "2%", .min = 1, .max = 1000000,
	  .help = "Share of each core that the BPF programs may take. Above it the agent stops timing file operations until the load falls." },
	{ "key_hierarchy", SETTING_CHOICE, AT(key_hierarchy), .standard = "auto", .needs_restart = true,
	  .words = key_hierarchies,
	  .help = "cgroup v1: the hierarchy whose cgroups identify jobs. auto: memory, else cpuacct, else freezer." },
	{ "maps_memory_mib", SETTING_MIB, AT(maps_memory_mib), .standard = "50MiB", .min = 4, .max = 65536,
	  .needs_restart = true,
	  .help = "Kernel memory for all counters together." },
	{ "jobs_max", SETTING_NUMBER, AT(jobs_max), .standard = "16384", .min = 16, .max = 1 << 20, .needs_restart = true,
	  .help = "Jobs kept at once. Further jobs wait until others are no longer exposed." },
	{ "user_jobs_max", SETTING_NUMBER, AT(user_jobs_max), .standard = "64", .min = 0, .max = 1 << 16, .needs_restart = true,
	  .help = "Jobs kept at once whose cgroups one user made, such as rootless containers; at most a sixteenth of jobs_max. 0: they are not jobs." },

	{ "mounts", SETTING_LIST, AT(mounts), .standard = "", .max = 64, .words = mount_fields, .needs_restart = true,
	  .is_allowed = is_mount, .allowed = "an absolute path and a name",
	  .help = "The site's own names for mounts, such as [{path: /lustre/scratch, name: SCRATCH}]." },
	{ "rules", SETTING_LIST, AT(rules), .standard = "", .max = 64, .words = rule_fields, .needs_restart = true,
	  .is_allowed = is_rule, .allowed = "two words and a pattern",
	  .help = "Identity rules: which job a cgroup path belongs to. They come before the built-in rules: docs/internals/doctor.md." },
	{ "units", SETTING_BOOL, AT(has_units), .standard = "off", .needs_restart = true,
	  .help = "Count systemd units and sessions as jobs too." },
	{ "node_metrics", SETTING_BOOL, AT(has_node_metrics), .standard = "on",
	  .help = "Expose metrics of the node as a whole." },
	{ "metrics_prefix", SETTING_TEXT, AT(metrics_prefix), .standard = "jobmeter",
	  .is_allowed = is_metrics_prefix, .allowed = "at most 32 letters, digits and '_', a letter first",
	  .help = "Prefix of metric names: with 'site', jobmeter_job_info becomes site_job_info." },
	{ "filesystems", SETTING_LIST, AT(filesystems), .max = 64,
	  .standard = "bcachefs,btrfs,erofs,exfat,ext2,ext3,ext4,f2fs,overlay,ramfs,squashfs,tmpfs,vfat,xfs,zfs",
	  .is_allowed = is_filesystem, .allowed = "types of file systems",
	  .help = "File system types whose size and free space the agent may query. A listed network file system is queried on a separate thread." },
	{ "cpu_model", SETTING_TEXT, AT(cpu_model), .standard = "", .needs_restart = true,
	  .is_allowed = is_label, .allowed = "a text of at most 63 bytes, or '' for what the processor says",
	  .help = "Model of the processor, such as 'AMD EPYC 9654', from which energy is estimated where no sensor measures it. Virtual machines often hide it." },
	{ "cpu_tdp", SETTING_NUMBER, AT(cpu_tdp_watts), .standard = "0", .max = 100000, .needs_restart = true,
	  .help = "Thermal design power of all processors of the node together, in watts. Used to estimate energy without a sensor, for models that are not in the table. 0: unknown." },
	{ "idle_energy", SETTING_CHOICE, AT(idle_policy), .standard = "allocated", .needs_restart = true,
	  .words = idle_policies,
	  .help = "Who pays for the node's idle power. allocated: jobs, by their allocated cores. active: jobs and the system, by their CPU time. none: no job." },
	{ "cluster", SETTING_TEXT, AT(cluster), .standard = "", .needs_restart = true,
	  .is_allowed = is_label, .allowed = "a text of at most 63 bytes",
	  .help = "Name of the cluster in records." },
	{ "node", SETTING_TEXT, AT(node), .standard = "", .needs_restart = true,
	  .is_allowed = is_label, .allowed = "a text of at most 63 bytes, or '' for the machine's own name",
	  .help = "Name of this node in records." },

	{ "server", SETTING_TEXT, AT(server), .standard = "",
	  .is_allowed = setting_is_url, .allowed = "http://HOST[:PORT] or https://HOST[:PORT], or '' for no server",
	  .help = "URL of the site's jobmeter-server, which gets the record of each job. Any machine other than this one needs https." },
	{ "server_token_file", SETTING_TEXT, AT(server_token_file), .standard = "/etc/jobmeter/push.token",
	  .is_allowed = setting_is_path_or_none, .allowed = "an absolute path, or '' for no token",
	  .help = "File with the token that the server made for its nodes." },
	{ "server_authentication", SETTING_CHOICE, AT(server_authentication), .standard = "token", .words = server_authentications,
	  .help = "How this node authenticates to the server: by the token, or by munge; the server's setting must match." },
	{ "munge_socket", SETTING_TEXT, AT(munge_socket), .standard = "",
	  .is_allowed = setting_is_path_or_none, .allowed = "an absolute path, or '' for munge's own",
	  .help = "With munge: the socket of munged." },
	{ "server_ca", SETTING_TEXT, AT(server_ca), .standard = "",
	  .is_allowed = setting_is_path_or_none, .allowed = "an absolute path, or '' for those that the system trusts",
	  .help = "CA certificates in PEM that verify the server's certificate." },
	{ "spool_mib", SETTING_MIB, AT(spool_mib), .standard = "256MiB", .min = 1, .max = 1 << 20,
	  .help = "Largest size on disk of the records that wait for the server. Above it the agent drops checkpoints first, then final records." },
	{ "checkpoint_interval", SETTING_DURATION, AT(checkpoint_interval_ns), .standard = "5m", .min = SECOND, .max = HOUR,
	  .help = "How often the server gets a record (a checkpoint) of a running job." },

	{ "state_dir", SETTING_TEXT, AT(state_dir), .standard = "/var/lib/jobmeter", .needs_restart = true,
	  .is_allowed = setting_is_path, .allowed = "an absolute path",
	  .help = "Directory for state that must outlive the agent." },
	{ "run_dir", SETTING_TEXT, AT(run_dir), .standard = "/run/jobmeter", .needs_restart = true,
	  .is_allowed = setting_is_path, .allowed = "an absolute path",
	  .help = "Directory for the lock, and for jobs/, where the site's prolog writes job data." },
	{ "pin_dir", SETTING_TEXT, AT(pin_dir), .standard = "/sys/fs/bpf/jobmeter", .needs_restart = true,
	  .is_allowed = setting_is_path, .allowed = "an absolute path",
	  .help = "Directory in a BPF file system for programs and maps that outlive the agent." },
	{ "user", SETTING_TEXT, AT(user), .standard = "jobmeter", .needs_restart = true,
	  .is_allowed = setting_is_account, .allowed = "the name of a user",
	  .help = "User that the agent becomes after its start. root: it stays root, with only the rights in docs/sites/security.md." },
	{ "helper", SETTING_BOOL, AT(has_helper), .standard = "on", .needs_restart = true,
	  .help = "Keep a small root process that makes the cgroup of a user's `jobmeter run`." },
	{ "trace.users", SETTING_BOOL, AT(traces_for_users), .standard = "off", .needs_restart = true,
	  .help = "Let users trace library functions of their own processes with `jobmeter trace`. A second helper process then keeps the rights for it: docs/sites/security.md." },
	{ "trace.sets", SETTING_LIST, AT(trace_sets), .standard = "", .max = 16, .needs_restart = true,
	  .is_allowed = is_probe_set, .allowed = "names of probe sets",
	  .help = "Trace library functions of all jobs by these sets, such as [mpi-io, mpi]: calls, bytes and time are in their records and metrics. See docs/sites/probe-sets.md." },
	{ "trace.otlp", SETTING_TEXT, AT(trace_otlp), .standard = "", .needs_restart = true,
	  .is_allowed = setting_is_url, .allowed = "http://HOST[:PORT] or https://HOST[:PORT], or '' for none",
	  .help = "Collector of OpenTelemetry for the calls of trace.sets, as spans: docs/sites/opentelemetry.md." },
	{ "cpu_affinity", SETTING_TEXT, AT(cpu_affinity), .standard = "", .needs_restart = true,
	  .is_allowed = is_cpulist, .allowed = "a list of CPUs such as 0-3,8, or '' for all",
	  .help = "CPUs that the agent may use." },
	{ "log_level", SETTING_CHOICE, AT(log_level), .standard = "info", .words = log_levels,
	  .help = "Lowest level of messages on the standard error." },
};
/* clang-format on */

static_assert(ARRAY_SIZE(rows_before) + SOURCES_MAX + ARRAY_SIZE(rows_behind) <= SETTINGS_MAX,
	      "origins have no room");

static void add_rows(struct setting *rows, size_t *count, const struct setting *more,
		     size_t more_count)
{
	memcpy(rows + *count, more, more_count * sizeof(*more));
	*count += more_count;
}

static struct setting switch_of(const struct source *source, size_t index)
{
	return (struct setting){
		.name = source->name,
		.type = SETTING_BOOL,
		.offset = offsetof(struct config, has_source) + index * sizeof(bool),
		.standard = source->is_off ? "off" : "on",
		.needs_restart = true,
		.help = source->help,
	};
}

/* Made at the first call, of tables that never change. */
const struct settings *config_settings(void)
{
	static struct setting rows[SETTINGS_MAX];
	static struct settings settings = { rows, 0, "JOBMETER_" };
	const struct source_list sources = sources_all();

	if (settings.count)
		return &settings;
	add_rows(rows, &settings.count, rows_before, ARRAY_SIZE(rows_before));
	for (size_t i = 0; i < sources.count; i++)
		rows[settings.count++] = switch_of(sources.items[i], i);
	add_rows(rows, &settings.count, rows_behind, ARRAY_SIZE(rows_behind));
	return &settings;
}

/* ---- what must fit together ---- */

static size_t row_of(const char *name)
{
	size_t i = 0;

	while (strcmp(config_settings()->rows[i].name, name) != 0)
		i++;
	return i;
}

/* "agent.yaml:12: " or "JOBMETER_LISTEN: " or nothing, before the text. */
static int refuse(const struct config *c, const char *name, const char *base, struct error *err)
{
	const struct setting_origin *origin = &c->origins[row_of(name)];

	if (origin->source == SETTING_FROM_FILE)
		return error_prefix(err, -EINVAL, "%s:%u", base, origin->line);
	if (origin->source == SETTING_FROM_ENVIRONMENT)
		return error_prefix(
			err, -EINVAL, "%s",
			settings_environment_name(config_settings(),
						  &config_settings()->rows[row_of(name)])
				.text);
	return -EINVAL;
}

static int check_server(const struct config *c, const char *base, struct error *err)
{
	if (!*c->server || c->is_insecure || setting_url_is_private(c->server))
		return 0;
	error_set(err, 0,
		  "server: '%.200s' is another machine, which wants https (or 'insecure: on')",
		  c->server);
	return refuse(c, "server", base, err);
}

static int check_tls(const struct config *c, const char *base, struct error *err)
{
	bool has_certificate = *c->tls_certificate;

	if (has_certificate != !!*c->tls_key) {
		const char *has = has_certificate ? "tls.certificate" : "tls.key";

		error_set(err, 0, "%s is set, and %s is not; TLS wants both", has,
			  has_certificate ? "tls.key" : "tls.certificate");
		return refuse(c, has, base, err);
	}
	if (setting_is_loopback(c->listen) || has_certificate || c->is_insecure)
		return 0;
	error_set(err, 0,
		  "listen: '%s' can be reached from other machines, which wants tls.certificate "
		  "and tls.key "
		  "(or 'insecure: on')",
		  c->listen);
	return refuse(c, "listen", base, err);
}

/* A name belongs to one entry of a list. */
static int check_unique(const struct config *c, const char *name, const struct setting_list *list,
			size_t field, const char *base, struct error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		for (size_t j = 0; j < i; j++) {
			const char *text = setting_list_get(list, i, field);

			if (strcmp(text, setting_list_get(list, j, field)) != 0)
				continue;
			error_set(err, 0, "%s: '%.64s' is given twice", name, text);
			return refuse(c, name, base, err);
		}
	}
	return 0;
}

static int check(const struct config *c, const char *base, struct error *err)
{
	int r = check_tls(c, base, err);

	if (r >= 0)
		r = check_server(c, base, err);
	if (r >= 0)
		r = check_unique(c, "mounts", &c->mounts, CONFIG_MOUNT_PATH, base, err);
	if (r >= 0)
		r = check_unique(c, "rules", &c->rules, CONFIG_RULE_NAME, base, err);
	return r;
}

/* ---- reading ---- */

struct config *config_free(struct config *c)
{
	if (!c)
		return NULL;
	settings_clear(config_settings(), c);
	free(c->path);
	free(c);
	return NULL;
}

void config_freep(struct config **c)
{
	config_free(*c);
}

int config_parse(const char *text, size_t length, const char *name, char *const *environment,
		 struct config **ret, struct error *unknown, struct error *err)
{
	_cleanup_(config_freep) struct config *c = calloc(1, sizeof(*c));
	const char *base = settings_base_name(name);
	int r;

	if (!c)
		return error_set_errno(err, ENOMEM, "cannot read the configuration");
	c->path = strdup(name);
	c->environment = environment;
	r = c->path ? settings_set_defaults(config_settings(), c) : -ENOMEM;
	if (r >= 0)
		r = settings_parse_yaml(config_settings(), text, length, base, c, c->origins, err);
	if (r >= 0)
		r = settings_parse_environment(config_settings(), environment, c, c->origins,
					       unknown, err);
	if (r == -ENOMEM)
		return error_set_errno(err, ENOMEM, "cannot read the configuration");
	if (r >= 0)
		r = check(c, base, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

int config_load(const char *path, char *const *environment, struct config **ret,
		struct error *unknown, struct error *err)
{
	const char *name = path ? path : CONFIG_PATH;
	_cleanup_free_ char *text = NULL;
	struct config *c = NULL;
	size_t length = 0;
	int r = settings_read(name, &text, &length, err);

	if (r == -ENOENT && !path)
		text = strdup("");
	else if (r < 0)
		return r;
	if (!text)
		return error_set_errno(err, ENOMEM, "cannot read the configuration");
	r = config_parse(text, length, name, environment, &c, unknown, err);
	if (r < 0 || !c)
		return r;
	c->is_demanded = path != NULL;
	*ret = c;
	return 0;
}

/* ---- reading again ---- */

int config_reload(struct config **config, struct config_changes *ret, struct error *err)
{
	_cleanup_(config_freep) struct config *fresh = NULL;
	const struct settings *settings = config_settings();
	struct config *old = *config;
	struct config_changes changes = {};
	int r = config_load(old->is_demanded ? old->path : NULL, old->environment, &fresh, NULL,
			    err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < settings->count; i++) {
		char *names = settings->rows[i].needs_restart ? changes.waiting : changes.applied;
		size_t used = strlen(names);

		r = setting_is_equal(&settings->rows[i], old, fresh);
		if (r < 0)
			return error_set_errno(err, r, "cannot read the configuration again");
		if (!r)
			snprintf(names + used, sizeof(changes.applied) - used, "%s%s",
				 used ? ", " : "", settings->rows[i].name);
	}
	assert(fresh); /* which was read */
	for (size_t i = 0; i < settings->count; i++) { /* from here on nothing fails */
		if (!settings->rows[i].needs_restart)
			continue;
		setting_swap(&settings->rows[i], old, fresh);
		fresh->origins[i] = old->origins[i];
	}
	*config = TAKE_PTR(fresh);
	config_free(old);
	*ret = changes;
	return 0;
}

/* ---- showing ---- */

int config_dump(const struct config *c, FILE *out)
{
	return settings_print(config_settings(), c, c->origins, settings_base_name(c->path), out);
}
