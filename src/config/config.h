/* SPDX-License-Identifier: MIT */
/*
 * config - the settings of this node's agent: /etc/jobmeter/agent.yaml, overridden by JOBMETER_* in
 * the environment.  docs/sites/agent-config.md is made of the table in config.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/settings.h"
#include "sources/sources.h"

struct error;

#define CONFIG_PATH "/etc/jobmeter/agent.yaml"

enum config_key_hierarchy {
	CONFIG_KEY_AUTO,
	CONFIG_KEY_MEMORY,
	CONFIG_KEY_CPUACCT,
	CONFIG_KEY_FREEZER,
	CONFIG_KEY_CPUSET,
};

enum config_server_authentication {
	CONFIG_SERVER_BY_TOKEN,
	CONFIG_SERVER_BY_MUNGE,
};

enum config_log_level {
	CONFIG_LOG_ERROR,
	CONFIG_LOG_WARNING,
	CONFIG_LOG_INFO,
	CONFIG_LOG_DEBUG,
};

enum { CONFIG_MOUNT_PATH, CONFIG_MOUNT_NAME }; /* fields of mounts */
enum { CONFIG_RULE_NAME, CONFIG_RULE_MANAGER, CONFIG_RULE_PATTERN }; /* fields of rules */

/* Texts are never NULL; "" is none. */
struct config {
	char *listen; /* "127.0.0.1:9840" */
	bool is_insecure;
	char *token_file;
	char *tls_certificate, *tls_key; /* both or none */
	char *socket_path;
	struct setting_list admin_groups;
	bool everyone_sees_all;

	uint64_t interval_ns, retention_ns;
	bool has_t0, has_t1, has_t2, has_bpf, has_block, has_clock, has_histograms, names_syscalls,
		follows_files;
	unsigned int key_hierarchy; /* enum config_key_hierarchy */
	uint64_t budget; /* of each core, in millionths */
	uint64_t maps_memory_mib, jobs_max, user_jobs_max;

	struct setting_list mounts, rules;
	bool has_units, has_node_metrics;
	char *metrics_prefix;
	bool has_source[SOURCES_MAX]; /* as sources_all() has them */
	struct source_settings sources;
	struct setting_list filesystems;
	char *cpu_model;
	uint64_t cpu_tdp_watts;
	unsigned int idle_policy; /* enum energy_policy */
	char *cluster, *node;

	char *server, *server_token_file, *server_ca;
	unsigned int server_authentication; /* enum config_server_authentication */
	char *munge_socket; /* "": munge's own */
	uint64_t spool_mib, checkpoint_interval_ns;

	char *state_dir, *run_dir, *pin_dir;
	char *user;
	bool has_helper, traces_for_users;
	struct setting_list trace_sets; /* of all jobs */
	char *trace_otlp;
	char *cpu_affinity;
	unsigned int log_level; /* enum config_log_level */

	/* Where each comes from, by its row; and what it was read from. */
	struct setting_origin origins[SETTINGS_MAX];
	char *path;
	char *const *environment; /* the caller's */
	bool is_demanded;
};

/*
 * @path: NULL is CONFIG_PATH, which need not be there; another must.  @environment: as environ(7),
 * kept. -EINVAL, -EFBIG, -ENOENT...: *err says what is wrong in one line, with its place:
 * "agent.yaml:12: ...". *unknown (may be NULL): a name in the environment that looks like a setting
 * and is none; else "".
 */
int config_load(const char *path, char *const *environment, struct config **ret,
		struct error *unknown, struct error *err);
/* The same of a text, as if it stood in a file @name. */
int config_parse(const char *text, size_t length, const char *name, char *const *environment,
		 struct config **ret, struct error *unknown, struct error *err);
struct config *config_free(struct config *c); /* NULL is fine; returns NULL */
void config_freep(struct config **c);

/* Names of settings, separated by ", ". */
struct config_changes {
	char applied[1024]; /* hold from now on */
	char waiting[1024]; /* hold after a restart: *config keeps what it had */
};

/* Read it all again into *@config.  After an error *@config is as it was, and *err says why. */
int config_reload(struct config **config, struct config_changes *ret, struct error *err);

const struct settings *config_settings(void);

/* The current settings as YAML, with their origins: --dump-config. */
int config_dump(const struct config *c, FILE *out);
