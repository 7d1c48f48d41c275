/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "user/lib/unix_address.h"

#define LOOK_MS 10

int sl_unix_address(const char *path, struct sockaddr_un *address, socklen_t *len)
{
	size_t n = strlen(path);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (n >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	memcpy(address->sun_path, path, n);
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	if (path[0] == '@')
		address->sun_path[0] = '\0';
	else
		*len += 1; /* the NUL */
	return 0;
}

static bool is_taken_now(const struct sockaddr_un *address, socklen_t len)
{
	/* The kernel looks for the socket first, and then finds that it is of another type. */
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool taken;

	if (fd < 0)
		return false;
	taken = connect(fd, (const struct sockaddr *)address, len) && errno == EPROTOTYPE;
	close(fd);
	return taken;
}

bool sl_unix_is_taken(const char *path)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	struct sockaddr_un address;
	socklen_t len;

	if (sl_unix_address(path, &address, &len))
		return false;
	for (int waited_ms = 0; is_taken_now(&address, len); waited_ms += LOOK_MS) {
		if (waited_ms >= SL_UNIX_PATIENCE_MS)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}
