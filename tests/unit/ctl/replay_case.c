// SPDX-License-Identifier: GPL-2.0-only
#include <criterion/criterion.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay_case.h"

#define ARGS 24
#define LEAKED 99

#if defined(__SANITIZE_ADDRESS__)
int __lsan_do_recoverable_leak_check(void);
#else
static int __lsan_do_recoverable_leak_check(void)
{
	return 0;
}
#endif

static char *file_text(FILE *f)
{
	size_t size;
	char *text;

	fseek(f, 0, SEEK_END);
	size = ftell(f);
	rewind(f);
	text = calloc(1, size + 1);
	cr_assert_eq(fread(text, 1, size, f), size);
	fclose(f);
	return text;
}

FILE *text_file(const char *text, size_t size)
{
	FILE *f = tmpfile();

	cr_assert_not_null(f);
	cr_assert_eq(fwrite(text, 1, size, f), size);
	rewind(f);
	return f;
}

struct result replay_to(int out_fd, FILE *in, const char *const *args)
{
	char *argv[ARGS + 2] = { "replay" };
	struct result r = { 0 };
	FILE *out = tmpfile(), *err = tmpfile();
	int argc = 1, status;
	pid_t pid;

	while (args[argc - 1]) {
		cr_assert_leq(argc, ARGS);
		argv[argc] = (char *)args[argc - 1];
		argc++;
	}
	fflush(NULL);
	pid = fork();
	if (!pid) {
		int code;

		if (in)
			dup2(fileno(in), STDIN_FILENO);
		dup2(out_fd >= 0 ? out_fd : fileno(out), STDOUT_FILENO);
		dup2(fileno(err), STDERR_FILENO);
		code = cmd_replay(argc, argv);
		/* The leak check prints a lot even if there is no leak. */
		cr_assert_not_null(freopen("/dev/null", "w", stderr));
		_exit(__lsan_do_recoverable_leak_check() ? LEAKED : code);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status), "killed by signal %d", WTERMSIG(status));
	r.code = WEXITSTATUS(status);
	r.out = file_text(out);
	r.err = file_text(err);
	cr_assert_neq(r.code, LEAKED, "memory leak; %s", r.err);
	return r;
}

struct result replay_args(const char *csv, const char *const *args)
{
	FILE *in = text_file(csv, strlen(csv));
	struct result r = replay_to(-1, in, args);

	fclose(in);
	return r;
}

void result_free(struct result *r)
{
	free(r->out);
	free(r->err);
}

int lines(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}
