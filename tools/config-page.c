/* SPDX-License-Identifier: MIT */
/* Print docs/sites/agent-config.md (config-page reference) or share/agent.yaml (config-page
 * example), from the table in src/config/config.c. */
#include <stdio.h>
#include <string.h>

#include "config/config.h"

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
	config_print_reference(stdout);
	return 0;
}

static int print_example(void)
{
	puts("# SPDX-License-Identifier: MIT\n"
	     "# The agent's settings: /etc/jobmeter/agent.yaml.  Commented lines show the defaults.\n"
	     "# Made by tools/config-page; docs/sites/agent-config.md has the same as a table.");
	return config_print_example(stdout) < 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "reference") == 0)
		return print_reference();
	if (argc == 2 && strcmp(argv[1], "example") == 0)
		return print_example();
	fputs("usage: config-page reference|example\n", stderr);
	return 2;
}
