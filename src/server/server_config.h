/* SPDX-License-Identifier: MIT */
/* server_config - what the site set for its server: /etc/jobmeter/server.yaml, and
 * JOBMETER_SERVER_* in the environment, which goes before it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/settings.h"

struct error;

#define SERVER_CONFIG_PATH "/etc/jobmeter/server.yaml"

enum server_authentication {
	SERVER_BY_TOKEN,
	SERVER_BY_MUNGE,
	SERVER_BY_EITHER,
};

extern const char *const server_managers[]; /* "none" first; NULL-ended */

/* Texts are never NULL; "" is none. */
struct server_config {
	char *listen; /* "127.0.0.1:9841" */
	bool is_insecure;
	char *token_file;
	unsigned int authentication; /* enum server_authentication */
	char *munge_user, *munge_socket;
	char *tls_certificate, *tls_key; /* both or none */
	char *socket_path;
	struct setting_list admin_groups;
	char *proxy_header, *proxy_secret_file; /* both or none */
	char *database;
	char *model_file;
	bool predicts_from_estimates;
	uint64_t checkpoint_interval_ns;
	uint64_t timelines_ns, records_ns, ledger_ns; /* how long they are kept */
	char *emission_zone, *emission_factors; /* "": none */
	unsigned int emission_kind; /* enum emission_kind */
	unsigned int emission_provider; /* place in factors_providers[] */
	char *emission_provider_zone, *emission_url; /* "": emissions.zone; the provider's own */
	char *emission_provider_key, *emission_provider_file;
	uint64_t emission_grams; /* per kWh, instead of a table; 0: none */
	char *emission_pue, *emission_embodied, *tariff, *tariff_file; /* numbers as
							    emission_parse_number() has them; "":
							    not known */
	char *currency;
	unsigned int sync_manager; /* place in server_managers[] */
	char *sync_directory, *sync_cluster;
	uint64_t sync_interval_ns;
	char *user;
	unsigned int log_level; /* enum config_log_level */

	struct setting_origin origins[SETTINGS_MAX];
	const char *path; /* the caller's, if he gave one */
};

/* As config_load() of the agent. */
int server_config_load(const char *path, char *const *environment, struct server_config **ret,
		       struct error *unknown, struct error *err);
void server_config_freep(struct server_config **c);

int server_config_dump(const struct server_config *c, FILE *out);
const struct settings *server_config_settings(void);
