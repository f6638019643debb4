// SPDX-License-Identifier: GPL-2.0-only
/*
 * The completion for bash, from the tables of commands, options and knobs. Lower-case words in a command's arguments
 * are offered as they are, IFACE is an interface, FILE and DIR are paths, POD and NS, a namespace, are those of the pods that
 * are here; the user types the rest.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "ctl/completion.h"

static char names[1024];

void completion_begin(void)
{
	fputs("# bash completion of sluicectl, made by sluicectl --completion\n"
	      "_sluicectl() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= words= i\n"
	      "\n"
	      "\tCOMPREPLY=()\n"
	      "\tif [[ $before == --pin-dir || $before == --bundles ]]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\tcase ${COMP_WORDS[i]} in\n"
	      "\t\t--pin-dir | --bundles) ((i++)) ;;\n"
	      "\t\t-*) ;;\n"
	      "\t\t*) command=${COMP_WORDS[i]}; break ;;\n"
	      "\t\tesac\n"
	      "\tdone\n"
	      "\tcase $command in\n",
	      stdout);
	names[0] = 0;
}

void completion_command(const char *name, const char *arguments)
{
	char copy[256], *word, *save;

	snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s", name);
	snprintf(copy, sizeof(copy), "%s", arguments);
	printf("\t%s)\n\t\twords='--json --pin-dir --bundles --help", name);
	for (word = strtok_r(copy, "[]| .", &save); word; word = strtok_r(NULL, "[]| .", &save)) {
		if (islower(word[0]))
			printf(" %s", word);
	}
}

void completion_option(const char *name)
{
	printf(" %s", name);
}

void completion_values(void)
{
	puts("'\n\t\tcase $before in");
}

/* Whether the help begins with a list of words: "sent, rate or last; ..." does, "a time of ..." does not. */
static int is_list(const char *help)
{
	size_t n = strcspn(help, " ");

	return help[n] && (help[n - 1] == ',' || !strncmp(help + n, " or ", 4));
}

void completion_value(const char *option, const char *value, const char *help)
{
	char copy[256], *word, *save;

	if (!strcmp(value, "FILE")) {
		printf("\t\t%s) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n", option);
		return;
	}
	if (!strcmp(value, "POD") || !strcmp(value, "NS")) {
		printf("\t\t%s) words=$(sluicectl pods 2>/dev/null | awk 'NR > 1 { print $%d }') ;;\n", option,
		       value[0] == 'P' ? 1 : 2);
		return;
	}
	printf("\t\t%s) words='", option);
	snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(help, ";"), is_list(help) ? help : "");
	for (word = strtok_r(copy, ", ", &save); word; word = strtok_r(NULL, ", ", &save))
		if (strcmp(word, "or"))
			printf("%s ", word);
	puts("' ;;");
}

void completion_command_end(const char *arguments)
{
	puts("\t\tesac");
	if (strstr(arguments, "IFACE"))
		puts("\t\twords+=\" $(ls /sys/class/net 2>/dev/null)\"");
	if (strstr(arguments, "FILE") || strstr(arguments, "DIR"))
		puts("\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")");
	puts("\t\t;;");
}

void completion_end(void)
{
	printf("\t'')\n\t\twords='%s --json --pin-dir --bundles --verbose --help --version'\n\t\t;;\n", names + 1);
	fputs("\tesac\n"
	      "\tmapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
	      "}\n"
	      "complete -F _sluicectl sluicectl\n",
	      stdout);
}
