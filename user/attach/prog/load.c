// SPDX-License-Identifier: GPL-2.0-only
/* The messages of libbpf about programs that do not load, and why the kernel refused them. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/prog/load.h"
#include "lib/util.h"

static char libbpf_reason[512];

/*
 * libbpf is verbose; its messages are logged one level lower. The verifier's first error, the line before its summary,
 * is kept as the reason when a load fails.
 */
static int libbpf_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text, *line, *rest, *before = "";

	if (level == LIBBPF_DEBUG || vasprintf(&text, fmt, ap) < 0)
		return 0;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		if (!*line)
			continue;
		msg_debug("%s", line);
		if (!strncmp(line, "processed ", 10) && !libbpf_reason[0])
			snprintf(libbpf_reason, sizeof(libbpf_reason), "%.511s", before);
		before = line;
	}
	free(text);
	return 0;
}

void libbpf_init(void)
{
	libbpf_set_print(libbpf_print);
}

const char *load_reason(void)
{
	return libbpf_reason;
}

/* The kernel keeps programs from reading its memory. */
static int is_locked_down(void)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char modes[128] = "";
	int locked = f && fgets(modes, sizeof(modes), f) && strstr(modes, "[confidentiality]");

	if (f)
		fclose(f);
	return locked;
}

const char *load_error(int err)
{
	switch (err) {
	case -ENOMEM:
		return "no memory: the limit of its cgroup (memory.max, MemoryMax=), or the machine, has too little for the maps: raise it, or write a smaller max_flows";
	case -EMFILE:
		return "too many open files: raise the limit of this process (ulimit -n, LimitNOFILE=)";
	case -ENFILE:
		return "too many open files on this machine: raise fs.file-max";
	case -EPERM:
	case -EACCES:
	case -EINVAL:
		if (is_locked_down())
			return "kernel lockdown (confidentiality, by Secure Boot or lockdown= of the command line) forbids it";
		return err == -EPERM ? "not permitted: a security module or seccomp forbids it, see dmesg and audit" :
				       NULL;
	default:
		return NULL;
	}
}
