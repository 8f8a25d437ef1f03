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
	     "They stand in `/etc/jobmeter/agent.yaml`, which need not be there: then the defaults "
	     "hold.\n"
	     "[share/agent.yaml](../../share/agent.yaml) is an example with all of them. A setting "
	     "`a.b` is `b` in the\n"
	     "map `a`. What the environment says goes before the file; lists are `a, b` there, or "
	     "`[...]` as in YAML.\n\n"
	     "    jobmeter-agent --check-config    is it right?  0, or 2 and the line that is "
	     "wrong\n"
	     "    jobmeter-agent --dump-config     what holds, and where each setting comes "
	     "from\n\n"
	     "An unknown name, a value that is not allowed, a name that stands twice: each is an "
	     "error with its line,\n"
	     "and the agent does not start. `systemctl reload jobmeter-agent` (SIGHUP) reads it "
	     "all again. When\n"
	     "something is wrong, what held before goes on holding, and the log says why. Settings "
	     "changed by\n"
	     "*restart* keep what they have until then, and are named in the log.\n\n"
	     "YAML is taken in its plain forms: no anchors, aliases, tags or second documents, at "
	     "most 256 KiB. The\n"
	     "file must be root's and not writable by everyone.\n");
	config_print_reference(stdout);
	return 0;
}

static int print_example(void)
{
	puts("# SPDX-License-Identifier: MIT\n"
	     "# The agent's settings: /etc/jobmeter/agent.yaml.  What is commented out is the "
	     "default.\n"
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
