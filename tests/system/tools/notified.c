// SPDX-License-Identifier: GPL-2.0-only
/* usage: notified SOCKET: plays the service manager: prints each message that comes, with ; for newlines. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	char text[1024], *newline;
	ssize_t n;

	if (argc != 2 || fd < 0)
		return 2;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", argv[1]);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at))) {
		perror(argv[1]);
		return 1;
	}
	while ((n = recv(fd, text, sizeof(text) - 1, 0)) >= 0) {
		text[n] = 0;
		while ((newline = strchr(text, '\n')))
			*newline = ';';
		puts(text);
		fflush(stdout);
	}
	return 1;
}
