/* SPDX-License-Identifier: MIT */
#include "offered.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "basic/macro.h"
#include "cli/commands.h"
#include "server/server.h"

static void add(struct offered *offered, const struct cli_option *row, const void *target)
{
	struct offered_option *option = &offered->options[offered->count++];

	assert(offered->count <= OFFERED_MAX);
	*option = (struct offered_option){ .row = row };
	for (const char *word; row->word && (word = row->word(target, option->word_count));) {
		assert(option->word_count < OFFERED_WORDS_MAX);
		option->words[option->word_count++] = word;
	}
}

/* The targets of the groups live until this returns, and no longer. */
static void take(const struct cli_command *command, const struct cli_options *groups,
		 size_t group_count)
{
	struct offered *offered = (struct offered *)(uintptr_t)command;

	static_assert(offsetof(struct offered, command) == 0, "the command is found by the other");
	for (size_t i = 0; i < group_count; i++) {
		for (size_t j = 0; j < groups[i].count; j++)
			add(offered, &groups[i].rows[j], groups[i].target);
	}
	add(offered, &cli_help_option, NULL);
}

void offered_read(const struct cli_command *command, struct offered *ret)
{
	char name[] = "asked", help[] = "--help", *argv[] = { name, help, NULL };

	*ret = (struct offered){ .command = *command };
	ret->command.show = take;
	ret->command.run(&ret->command, 2, argv);
	assert(ret->count);
}

const char *offered_operands(const struct offered *offered)
{
	if (offered->command.is_for_command)
		return "COMMAND";
	return strstr(offered->command.arguments, "FILE") ? "FILE" : "";
}

size_t offered_read_program(const char *program, struct offered **ret)
{
	static const struct cli_command *const daemons[] = { &cmd_agent, &cmd_server };
	const struct cli_command *const *all = NULL;
	size_t count = 0;

	if (strcmp(program, "jobmeter") == 0) {
		all = commands;
		count = command_count;
	}
	for (size_t i = 0; i < ARRAY_SIZE(daemons); i++) {
		if (strcmp(program, daemons[i]->program) != 0)
			continue;
		all = &daemons[i];
		count = 1;
	}
	*ret = calloc(count + 1, sizeof(**ret));
	assert(*ret);
	for (size_t i = 0; i < count; i++)
		offered_read(all[i], &(*ret)[i]);
	return count;
}

const char *offered_name(const struct offered *offered)
{
	return offered->command.name ? offered->command.name : "";
}
