/* SPDX-License-Identifier: MIT */
#include "server/server_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "config/settings.h"
#include "energy/emission.h"
#include "server/factors.h"
#include "server/store/pg.h"

#define SECOND UINT64_C(1000000000)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)

static const char *const authentications[] = { "token", "munge", "either", NULL };
const char *const server_managers[] = { "none", "slurm", "pbs", "lsf", "flux", NULL };
static const char *const accounted_kinds[] = { "average_lifecycle", "average_direct", "marginal",
					       NULL }; /* of enum emission_kind: no forecast */
static const char *const log_levels[] = { "error", "warning", "info", "debug", NULL };

static bool is_database(size_t field, const char *text)
{
	return setting_is_path(field, text) || store_is_url(text);
}

static bool is_zone(size_t field UNUSED, const char *text)
{
	return strlen(text) < EMISSION_ZONE_SIZE && !strpbrk(text, "\"\\ ,");
}

static bool is_term(size_t field UNUSED, const char *text)
{
	uint64_t number;

	return !*text || emission_parse_number(text, &number) == 0;
}

static bool is_pue(size_t field UNUSED, const char *text)
{
	uint64_t number;

	return !*text || (emission_parse_number(text, &number) == 0 && number >= 1000);
}

static bool is_currency(size_t field UNUSED, const char *text)
{
	return strlen(text) == 3 && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 3;
}

static bool is_header(size_t field UNUSED, const char *text)
{
	return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") ==
	       strlen(text);
}

#define AT(member) .offset = offsetof(struct server_config, member)

/* Rows of one map are neighbours. */
/* clang-format off */
static const struct setting rows[] = {
	{ "listen", SETTING_TEXT, AT(listen), .standard = "127.0.0.1:9841", .needs_restart = true,
	  .is_allowed = setting_is_address, .allowed = "ADDRESS:PORT in numbers, or '' for no TCP",
	  .help = "Address and port that receive the nodes' records. Any address but 127.x.x.x and [::1] needs tls." },
	{ "insecure", SETTING_BOOL, AT(is_insecure), .standard = "off", .needs_restart = true,
	  .help = "Accept records from any sender, without the token, and without TLS even from other machines." },
	{ "token_file", SETTING_TEXT, AT(token_file), .standard = "/etc/jobmeter/push.token", .needs_restart = true,
	  .is_allowed = setting_is_path, .allowed = "an absolute path",
	  .help = "File with the bearer token that nodes must send. The first start makes it." },
	{ "authentication", SETTING_CHOICE, AT(authentication), .standard = "token", .words = authentications, .needs_restart = true,
	  .help = "How nodes authenticate: by the token, which all nodes share; by munge, which identifies the node and its user; or by either, while a site changes from one to the other." },
	{ "munge.user", SETTING_TEXT, AT(munge_user), .standard = "jobmeter", .needs_restart = true,
	  .is_allowed = setting_is_account, .allowed = "the name of a user",
	  .help = "With munge: the user of the agents. Only credentials of this user and of root are accepted." },
	{ "munge.socket", SETTING_TEXT, AT(munge_socket), .standard = "", .needs_restart = true,
	  .is_allowed = setting_is_path_or_none, .allowed = "an absolute path, or '' for munge's own",
	  .help = "With munge: the socket of munged." },
	{ "tls.certificate", SETTING_TEXT, AT(tls_certificate), .standard = "", .needs_restart = true,
	  .is_allowed = setting_is_path_or_none, .allowed = "an absolute path, or '' for no TLS",
	  .help = "TLS certificate in PEM, with its intermediate certificates." },
	{ "tls.key", SETTING_TEXT, AT(tls_key), .standard = "", .needs_restart = true,
	  .is_allowed = setting_is_path_or_none, .allowed = "an absolute path, or '' for no TLS",
	  .help = "Key of the TLS certificate, in PEM." },
	{ "socket.path", SETTING_TEXT, AT(socket_path), .standard = "/run/jobmeter/server.sock", .needs_restart = true,
	  .is_allowed = setting_is_socket_path, .allowed = "an absolute path of at most 107 bytes, or '' for no socket",
	  .help = "Unix socket on which users of this machine see their own jobs." },
	{ "socket.admin_groups", SETTING_LIST, AT(admin_groups), .standard = "", .max = 32, .needs_restart = true,
	  .is_allowed = setting_is_account, .allowed = "names of groups",
	  .help = "Groups whose members see all jobs on the socket, as root does." },
	{ "proxy.header", SETTING_TEXT, AT(proxy_header), .standard = "", .needs_restart = true,
	  .is_allowed = is_header, .allowed = "the name of a header, such as X-Remote-User, or '' for no proxy",
	  .help = "HTTP header in which an authenticating proxy sends the name of the user. It is accepted only together with the proxy's secret, in X-Jobmeter-Proxy-Secret." },
	{ "proxy.secret_file", SETTING_TEXT, AT(proxy_secret_file), .standard = "", .needs_restart = true,
	  .is_allowed = setting_is_path_or_none, .allowed = "an absolute path, or '' for no proxy",
	  .help = "File with the proxy's secret: one line of at least 16 characters, mode 0640 or stricter." },
	{ "database", SETTING_TEXT, AT(database), .standard = "/var/lib/jobmeter-server/jobs.db", .needs_restart = true,
	  .is_allowed = is_database, .allowed = "an absolute path, or postgresql://HOST/DATABASE",
	  .help = "SQLite file, with its log beside it; or a PostgreSQL database, which several servers can share." },
	{ "model_file", SETTING_TEXT, AT(model_file), .standard = "/var/lib/jobmeter-server/models", .needs_restart = true,
	  .is_allowed = setting_is_path, .allowed = "an absolute path",
	  .help = "File with the models that 'predict train' made. Without it predictions are medians of similar jobs." },
	{ "predict_from_estimates", SETTING_BOOL, AT(predicts_from_estimates), .standard = "off", .needs_restart = true,
	  .help = "Let estimated energies of jobs count for predictions of power and energy, which then say so. Off: only measured ones count." },
	{ "checkpoint_interval", SETTING_DURATION, AT(checkpoint_interval_ns), .standard = "5m", .min = SECOND, .max = 24 * HOUR,
	  .needs_restart = true,
	  .help = "How often nodes send a record of a running job: the agents' own checkpoint_interval. A job without a record for three times as long is closed as incomplete." },
	{ "retention.timelines", SETTING_DURATION, AT(timelines_ns), .standard = "90d", .min = SECOND, .max = 36500 * DAY,
	  .needs_restart = true,
	  .help = "How long the timelines of records are kept after they arrived." },
	{ "retention.records", SETTING_DURATION, AT(records_ns), .standard = "1826d", .min = SECOND, .max = 36500 * DAY,
	  .needs_restart = true,
	  .help = "How long records and events are kept." },
	{ "retention.ledger", SETTING_DURATION, AT(ledger_ns), .standard = "1826d", .min = SECOND, .max = 36500 * DAY,
	  .needs_restart = true,
	  .help = "How long the ledger of the nodes' energy is kept." },
	{ "emissions.zone", SETTING_TEXT, AT(emission_zone), .standard = "", .needs_restart = true,
	  .is_allowed = is_zone, .allowed = "a zone of the factors' table, such as DEU, or ''",
	  .help = "Zone of the electricity grid that supplies the nodes. With it, entries of /v1/ledger have their emissions." },
	{ "emissions.factors", SETTING_TEXT, AT(emission_factors), .standard = "", .needs_restart = true,
	  .is_allowed = setting_is_path_or_none, .allowed = "an absolute path, or ''",
	  .help = "File with the table of emission factors; share/jobmeter/factors/yearly.csv has averages of countries." },
	{ "emissions.kind", SETTING_CHOICE, AT(emission_kind), .standard = "average_lifecycle", .words = accounted_kinds,
	  .needs_restart = true, .help = "Kind of factor that is used from the table, or the kind of emissions.grams_per_kwh." },
	{ "emissions.grams_per_kwh", SETTING_NUMBER, AT(emission_grams), .standard = "0", .max = 5000, .needs_restart = true,
	  .help = "The site's own factor in g CO2e per kWh, for all times, instead of a table. 0: none." },
	{ "emissions.provider", SETTING_CHOICE, AT(emission_provider), .standard = "none", .words = factors_providers, .needs_restart = true,
	  .help = "Provider of current factors of the zone; one server queries it for the site. rte (France) and neso (Great Britain) are open and give average_direct; electricity_maps gives average_lifecycle; watttime gives marginal, which is used for advice and never summed. For times without a value emissions.factors or grams_per_kwh are used." },
	{ "emissions.provider_zone", SETTING_TEXT, AT(emission_provider_zone), .standard = "", .needs_restart = true,
	  .is_allowed = is_zone, .allowed = "the provider's name of the zone, such as CAISO_NORTH, or '' for emissions.zone",
	  .help = "Name of the zone at electricity_maps or watttime." },
	{ "emissions.provider_url", SETTING_TEXT, AT(emission_url), .standard = "", .needs_restart = true,
	  .is_allowed = setting_is_url, .allowed = "http://HOST[:PORT] or https://HOST[:PORT], or '' for the provider's own",
	  .help = "Other URL of the provider, such as a proxy of the site." },
	{ "emissions.provider_key_file", SETTING_TEXT, AT(emission_provider_key), .standard = "", .needs_restart = true,
	  .is_allowed = setting_is_path_or_none, .allowed = "an absolute path, or ''",
	  .help = "File with one line: the token of electricity_maps, or USER:PASSWORD of watttime. Mode 0640 or stricter." },
	{ "emissions.provider_file", SETTING_TEXT, AT(emission_provider_file), .standard = "/var/lib/jobmeter-server/factors.csv", .needs_restart = true,
	  .is_allowed = setting_is_path, .allowed = "an absolute path",
	  .help = "File in which the provider's factors are kept: a table like emissions.factors, with the source of each line." },
	{ "emissions.pue", SETTING_TEXT, AT(emission_pue), .standard = "", .needs_restart = true,
	  .is_allowed = is_pue, .allowed = "a number from 1 on, such as 1.25, or '' for not known",
	  .help = "Power usage effectiveness: the building's energy for each kWh of its machines. Used in the cost of energy, and for overhead_grams beside the emissions." },
	{ "emissions.embodied_grams_per_core_hour", SETTING_TEXT, AT(emission_embodied), .standard = "", .needs_restart = true,
	  .is_allowed = is_term, .allowed = "a number such as 1.9, or '' for not known",
	  .help = "Emissions of the machines' production, divided by the core-hours of their life. Shown as embodied_grams, in no other sum." },
	{ "tariff.per_kwh", SETTING_TEXT, AT(tariff), .standard = "", .needs_restart = true,
	  .is_allowed = is_term, .allowed = "a number such as 0.25, or '' for not known",
	  .help = "Price of a kWh. With it, jobs have a cost." },
	{ "tariff.file", SETTING_TEXT, AT(tariff_file), .standard = "", .needs_restart = true,
	  .is_allowed = setting_is_path_or_none, .allowed = "an absolute path, or ''",
	  .help = "File with prices over time: a table like emissions.factors, of the kind tariff. For times without a row tariff.per_kwh is used." },
	{ "tariff.currency", SETTING_TEXT, AT(currency), .standard = "EUR", .needs_restart = true,
	  .is_allowed = is_currency, .allowed = "three capital letters, as ISO 4217 has them",
	  .help = "Currency of prices." },
	{ "sync.manager", SETTING_CHOICE, AT(sync_manager), .standard = "none", .words = server_managers, .needs_restart = true,
	  .help = "Resource manager that is queried for the state and end of all jobs of the cluster: slurm by sacct, pbs (Pro, OpenPBS, Torque) by its accounting log, lsf by bjobs, flux by flux jobs." },
	{ "sync.interval", SETTING_DURATION, AT(sync_interval_ns), .standard = "5m", .min = SECOND, .max = 24 * HOUR,
	  .needs_restart = true,
	  .help = "How often the resource manager is queried." },
	{ "sync.directory", SETTING_TEXT, AT(sync_directory), .standard = "", .needs_restart = true,
	  .is_allowed = setting_is_path_or_none, .allowed = "an absolute path, or '' for those in PATH",
	  .help = "Directory of the resource manager's programs; for pbs, of its accounting log." },
	{ "sync.cluster", SETTING_TEXT, AT(sync_cluster), .standard = "", .needs_restart = true,
	  .help = "Name of the cluster in the nodes' records, which pbs, lsf and flux do not report." },
	{ "user", SETTING_TEXT, AT(user), .standard = "jobmeter-server", .needs_restart = true,
	  .is_allowed = setting_is_account, .allowed = "the name of a user",
	  .help = "User that the server becomes after its start, if root starts it. It keeps no right of root, not even as 'root'." },
	{ "log_level", SETTING_CHOICE, AT(log_level), .standard = "info", .words = log_levels, .needs_restart = true,
	  .help = "Lowest level of messages on the standard error." },
};
/* clang-format on */

static const struct settings settings = { rows, ARRAY_SIZE(rows), "JOBMETER_SERVER_" };

const struct settings *server_config_settings(void)
{
	return &settings;
}

static int check(const struct server_config *c, struct error *err)
{
	if (!*c->tls_certificate != !*c->tls_key)
		return error_set(err, -EINVAL,
				 "one of tls.certificate and tls.key is set; TLS wants both");
	if (!*c->proxy_header != !*c->proxy_secret_file)
		return error_set(err, -EINVAL,
				 "one of proxy.header and proxy.secret_file is set; a proxy wants "
				 "both");
	if (!setting_is_loopback(c->listen) && !*c->tls_certificate && !c->is_insecure)
		return error_set(err, -EINVAL,
				 "listen: '%s' can be reached from other machines, which wants "
				 "tls.certificate and tls.key (or 'insecure: on')",
				 c->listen);
	if (c->emission_grams && *c->emission_factors)
		return error_set(err, -EINVAL,
				 "emissions.grams_per_kwh and emissions.factors are both set: one "
				 "of them holds");
	if (strcmp(server_managers[c->sync_manager], "pbs") == 0 && !*c->sync_directory)
		return error_set(
			err, -EINVAL,
			"sync.manager: pbs wants sync.directory: where its accounting log is, "
			"such as /var/spool/pbs/server_priv/accounting");
	if (c->emission_provider && !*c->emission_zone)
		return error_set(err, -EINVAL,
				 "emissions.provider is set, and emissions.zone is not");
	if (c->emission_provider && factors_wants_key(c->emission_provider) &&
	    (!*c->emission_provider_key ||
	     !setting_url_is_private(*c->emission_url ? c->emission_url : "https://x")))
		return error_set(
			err, -EINVAL,
			"emissions.provider: %s wants emissions.provider_key_file, and https",
			factors_providers[c->emission_provider]);
	if ((*c->emission_factors || *c->tariff_file) && !*c->emission_zone)
		return error_set(err, -EINVAL,
				 "%s has the rows of many zones, and emissions.zone is not set",
				 *c->emission_factors ? "emissions.factors" : "tariff.file");
	if (store_url_has_password(c->database))
		return error_set(err, -EINVAL,
				 "database: a password stands in it, where others can read it: put "
				 "it into a file of mode 0600, and ?passfile=FILE behind the URL");
	return 0;
}

int server_config_load(const char *path, char *const *environment, struct server_config **ret,
		       struct error *unknown, struct error *err)
{
	_cleanup_(server_config_freep) struct server_config *c = calloc(1, sizeof(*c));
	_cleanup_free_ char *text = NULL;
	size_t length = 0;
	int r;

	if (!c)
		return error_set_errno(err, ENOMEM, "cannot read the configuration");
	c->path = path ? path : SERVER_CONFIG_PATH;
	r = settings_read(c->path, &text, &length, err);
	if (r < 0 && (r != -ENOENT || path))
		return r;
	r = settings_set_defaults(&settings, c);
	if (r >= 0)
		r = settings_parse_yaml(&settings, text ? text : "", length,
					settings_base_name(c->path), c, c->origins, err);
	if (r >= 0)
		r = settings_parse_environment(&settings, environment, c, c->origins, unknown, err);
	if (r == -ENOMEM)
		return error_set_errno(err, ENOMEM, "cannot read the configuration");
	if (r >= 0)
		r = check(c, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

void server_config_freep(struct server_config **c)
{
	if (*c)
		settings_clear(&settings, *c);
	free(*c);
}

int server_config_dump(const struct server_config *c, FILE *out)
{
	return settings_print(&settings, c, c->origins, settings_base_name(c->path), out);
}
