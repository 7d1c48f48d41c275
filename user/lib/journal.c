/* SPDX-License-Identifier: BSD-2-Clause */
#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/lib/journal.h"
#include "user/lib/unix_address.h"

bool sl_journal_has_stderr(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat standard_error;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &standard_error) == 0 && standard_error.st_dev == device &&
	       standard_error.st_ino == inode;
}

static char *put_name(char *at, const char *name)
{
	for (; *name; name++) {
		if (*name >= 'a' && *name <= 'z')
			*at++ = (char)(*name - 'a' + 'A');
		else if ((*name >= 'A' && *name <= 'Z') || (*name >= '0' && *name <= '9'))
			*at++ = *name;
		else
			*at++ = '_';
	}
	return at;
}

/* The form for any bytes: the name, a newline, the length, the value, a newline. */
void sl_journal_text(struct sl_journal_entry *entry, const char *prefix, const char *name,
		     const char *text)
{
	const size_t name_bytes = strlen(prefix) + strlen(name), bytes = strlen(text);
	const uint64_t length = htole64(bytes);
	char *at = entry->bytes + entry->n;

	if (name_bytes + 1 + sizeof(length) + bytes + 1 > sizeof(entry->bytes) - entry->n)
		return;
	at = put_name(put_name(at, prefix), name);
	*at++ = '\n';
	memcpy(at, &length, sizeof(length));
	memcpy(at + sizeof(length), text, bytes);
	at += sizeof(length) + bytes;
	*at++ = '\n';
	entry->n = (size_t)(at - entry->bytes);
}

void sl_journal_number(struct sl_journal_entry *entry, const char *prefix, const char *name,
		       long long number)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", number);
	sl_journal_text(entry, prefix, name, text);
}

int sl_journal_send(const struct sl_journal_entry *entry, const char *socket_path)
{
	struct sockaddr_un address;
	socklen_t len;
	int fd, err = sl_unix_address(socket_path, &address, &len);

	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, entry->bytes, entry->n, MSG_NOSIGNAL | MSG_DONTWAIT,
		   (struct sockaddr *)&address, len) < 0)
		err = -errno;
	close(fd);
	return err;
}
