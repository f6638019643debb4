/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the programs of the lab: time, namespaces, giving up. */
#ifndef LAB_H
#define LAB_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LAB_NETNS "/run/netns/slab-"

/* A long flow has begun when its port carried more than iperf3's control messages before the test. */
#define LAB_BEGUN_BYTES 8000

__attribute__((format(printf, 1, 2), noreturn)) static inline void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* Every file of a run has the same time base. */
static inline uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* Sockets opened after this belong to the namespace. */
static inline void netns_enter(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), LAB_NETNS "%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die("lab: cannot enter the namespace %s: %s (is the lab up?)", path,
		    strerror(errno));
	close(fd);
}

/* Measuring must not wait for the traffic it measures. */
static inline void realtime_enter(int priority)
{
	struct sched_param param = {.sched_priority = priority};

	if (sched_setscheduler(0, SCHED_FIFO, &param))
		fprintf(stderr, "lab: no SCHED_FIFO (%s): samples may be late\n", strerror(errno));
}

static inline uint64_t number_parse(const char *option, const char *text)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end)
		die("lab: %s %s: not a number", option, text);
	return value;
}

#endif
