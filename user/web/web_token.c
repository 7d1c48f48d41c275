/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/web/web_token.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool may_be_in_token(char c)
{
	return isascii(c) && (isalnum(c) || c == '-' || c == '_');
}

int sl_web_token_read(const char *path, char *token)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	char line[SL_WEB_TOKEN_MAX + 2];
	struct stat st;
	ssize_t n = 0;
	size_t len = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || (n = read(fd, line, sizeof(line))) < 0)
		err = -errno;
	else if (S_ISREG(st.st_mode) && st.st_mode & (S_IRWXG | S_IRWXO))
		err = -EACCES;
	close(fd);
	if (err)
		return err;
	while (len < (size_t)n && may_be_in_token(line[len]))
		len++;
	if (len < SL_WEB_TOKEN_MIN || len > SL_WEB_TOKEN_MAX ||
	    (len < (size_t)n && line[len] != '\n'))
		return -EINVAL;
	memcpy(token, line, len);
	token[len] = '\0';
	return 0;
}

bool sl_web_token_matches(const char *token, const char *given)
{
	const size_t len = strlen(token), given_len = given ? strlen(given) : 0;
	unsigned int differs = len != given_len;

	for (size_t i = 0; i < given_len; i++)
		differs |= (unsigned char)(given[i] ^ token[i % len]);
	return !differs;
}
