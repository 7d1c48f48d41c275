/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "user/lib/unix_address.h"

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
