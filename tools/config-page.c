/* SPDX-License-Identifier: MIT */
/* Print docs/sites/agent-config.md (config-page reference) and share/agent.yaml (example), from the
 * table in src/config/config.c; docs/sites/server-config.md (server-reference) and
 * share/server/server.yaml (server-example), from that in src/server/server_config.c. */
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "config/config.h"
#include "server/server_config.h"

static int print_reference(void)
{
	puts("<!-- Made by tools/config-page from the table in src/config/config.c; a test compares "
	     "them. -->\n"
	     "# The agent's settings\n\n"
	     "They are in `/etc/jobmeter/agent.yaml`. The file may be missing: then the defaults "
	     "apply.\n"
	     "[share/agent.yaml](../../share/agent.yaml) is an example with all of them. A setting "
	     "`a.b` is `b` in the\n"
	     "map `a`. The environment overrides the file: `JOBMETER_A_B` sets `a.b`; lists are `a, b` "
	     "there, or `[...]`\n"
	     "as in YAML. For `on` and `off`, `yes`, `no`, `true` and `false` do as well.\n\n"
	     "    jobmeter-agent --check-config    check the settings: 0, or 2 and the line that is "
	     "wrong\n"
	     "    jobmeter-agent --dump-config     print every setting and where it comes from\n\n"
	     "An unknown name, a value that is not allowed and a name given twice are errors, "
	     "reported with their line;\n"
	     "the agent then does not start. `systemctl reload jobmeter-agent` (SIGHUP) reads the "
	     "file again. If a\n"
	     "setting is wrong, the old settings stay and the log says why. Settings marked "
	     "*restart* change at the next\n"
	     "start, and the log names them until then.\n\n"
	     "The YAML may have no anchors, aliases, tags or second documents, and at most 256 KiB. "
	     "The file must\n"
	     "belong to root and must not be writable by everyone.\n");
	settings_print_reference(config_settings(), stdout);
	return 0;
}

static int print_example(void)
{
	puts("# SPDX-License-Identifier: MIT\n"
	     "# The agent's settings: /etc/jobmeter/agent.yaml.  Commented lines show the defaults.\n"
	     "# Made by tools/config-page; docs/sites/agent-config.md has the same as a table.");
	return settings_print_example(config_settings(), stdout) < 0;
}

static int print_server_reference(void)
{
	puts("<!-- Made by tools/config-page from the table in src/server/server_config.c; a test "
	     "compares them. -->\n"
	     "# The server's settings\n\n"
	     "They are in `/etc/jobmeter/server.yaml`. The file may be missing: then the defaults "
	     "apply.\n"
	     "[share/server/server.yaml](../../share/server/server.yaml) is an example with all of "
	     "them. A setting\n"
	     "`a.b` is `b` in the map `a`. The environment overrides the file "
	     "(`JOBMETER_SERVER_A_B` sets `a.b`), and options\n"
	     "of the command override both.\n\n"
	     "    jobmeter-server --dump-config    print every setting and where it comes from; 2: "
	     "one is wrong\n\n"
	     "An unknown name, a value that is not allowed and a name given twice are errors, "
	     "reported with their line;\n"
	     "the server then does not start. A change takes effect at the next start. "
	     "[server.md](server.md) and\n"
	     "[postgresql.md](postgresql.md) say what they are for.\n");
	settings_print_reference(server_config_settings(), stdout);
	return 0;
}

static int print_server_example(void)
{
	puts("# SPDX-License-Identifier: MIT\n"
	     "# The server's settings: /etc/jobmeter/server.yaml.  What is commented out is the "
	     "default.\n"
	     "# Made by tools/config-page; docs/sites/server-config.md has the same as a table.\n"
	     "#\n"
	     "# Most sites set these, and nothing else:\n"
	     "#listen: 10.0.0.5:9841\n"
	     "#tls: {certificate: /etc/jobmeter/server.crt, key: /etc/jobmeter/server.key}\n"
	     "#socket: {admin_groups: [operators]}\n"
	     "#sync: {manager: slurm}");
	return settings_print_example(server_config_settings(), stdout) < 0;
}

static const struct {
	const char *word;
	int (*print)(void);
} pages[] = {
	{ "reference", print_reference },
	{ "example", print_example },
	{ "server-reference", print_server_reference },
	{ "server-example", print_server_example },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < ARRAY_SIZE(pages); i++) {
		if (strcmp(argv[1], pages[i].word) == 0)
			return pages[i].print();
	}
	fputs("usage: config-page [server-]reference|[server-]example\n", stderr);
	return 2;
}
