/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elements/signal/signal_keys.h"

#define FILE_MAX_BYTES	 65536u
#define SECRET_MIN_BYTES (EL_SIGNAL_SECRET_BYTES / 4)
#define SHARE_MAX	 1000000u
#define RATE_MAX	 100u

static int read_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_secret(const char *value, size_t n, struct el_signal_key *key)
{
	if (n % 2 || n / 2 < SECRET_MIN_BYTES || n / 2 > EL_SIGNAL_SECRET_BYTES)
		return false;
	for (size_t i = 0; i < n; i++) {
		int digit = read_digit(value[i]);

		if (digit < 0)
			return false;
		key->secret[i / 2] = (uint8_t)(key->secret[i / 2] << 4 | digit);
	}
	key->secret_bytes = (uint32_t)(n / 2);
	return true;
}

static bool is_name(const char *value, size_t n, size_t max)
{
	if (!n || n >= max)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)value[i]) && !strchr("_-.", value[i]))
			return false;
	return true;
}

static bool read_names(const char *value, size_t n, struct el_signal_names *out)
{
	out->n = 0;
	for (;;) {
		const char *comma = memchr(value, ',', n);
		size_t name_bytes = comma ? (size_t)(comma - value) : n;

		if (out->n == EL_SIGNAL_NAMES_MAX ||
		    !is_name(value, name_bytes, EL_SIGNAL_NAME_BYTES))
			return false;
		memcpy(out->name[out->n], value, name_bytes);
		out->name[out->n++][name_bytes] = '\0';
		if (!comma)
			return true;
		n -= name_bytes + 1;
		value = comma + 1;
	}
}

static bool read_number(const char *value, size_t n, uint32_t max, uint32_t *out)
{
	uint32_t number = 0;

	for (size_t i = 0; i < n; i++) {
		if (!isdigit((unsigned char)value[i]))
			return false;
		number = number * 10 + (uint32_t)(value[i] - '0');
		if (number > max)
			return false;
	}
	*out = number;
	return number > 0;
}

static bool read_rate(const char *value, size_t n, struct el_signal_key *key)
{
	return n > 1 && value[n - 1] == '%' &&
	       read_number(value, n - 1, RATE_MAX, &key->rate_percent);
}

static bool read_share(const char *value, size_t n, struct el_signal_key *key)
{
	return read_number(value, n, SHARE_MAX, &key->share);
}

static bool read_chains(const char *value, size_t n, struct el_signal_key *key)
{
	return read_names(value, n, &key->chains);
}

static bool read_classes(const char *value, size_t n, struct el_signal_key *key)
{
	return read_names(value, n, &key->classes);
}

static const struct {
	const char *name, *right;
	bool (*read)(const char *value, size_t n, struct el_signal_key *key);
} words[] = {
	{ "secret", "16 to 64 bytes, in hexadecimal digits", read_secret },
	{ "chains", "up to 16 names of chains, with commas between", read_chains },
	{ "classes", "up to 16 classes of elements, with commas between", read_classes },
	{ "share", "1 to 1000000", read_share },
	{ "rate", "1% to 100%", read_rate },
};
#define WORDS (sizeof(words) / sizeof(words[0]))

/* What is being read: for errors. */
struct place {
	const char *file;
	uint32_t line;
	char *error; /* borrowed */
};

static int __attribute__((format(printf, 2, 3)))
refuse(const struct place *at, const char *format, ...)
{
	int n = snprintf(at->error, EL_SIGNAL_ERROR_BYTES, "%s:%u: ", at->file, at->line);
	va_list args;

	va_start(args, format);
	if (n >= 0 && n < EL_SIGNAL_ERROR_BYTES)
		vsnprintf(at->error + n, EL_SIGNAL_ERROR_BYTES - (size_t)n, format, args);
	va_end(args);
	return -EINVAL;
}

static int read_word(const struct place *at, const char *word, size_t n, uint32_t *seen,
		     struct el_signal_key *key)
{
	for (size_t i = 0; i < WORDS; i++) {
		size_t name_bytes = strlen(words[i].name);

		if (n <= name_bytes || memcmp(word, words[i].name, name_bytes) ||
		    word[name_bytes] != '=')
			continue;
		if (*seen >> i & 1)
			return refuse(at, "%s= stands there twice", words[i].name);
		*seen |= 1u << i;
		if (words[i].read(word + name_bytes + 1, n - name_bytes - 1, key))
			return 0;
		return refuse(at, "%s= must be %s", words[i].name, words[i].right);
	}
	return refuse(at, "behind a key's name write secret=, chains=, classes=, share= or rate=");
}

/* One line without its newline. */
static int read_line(const struct place *at, const char *line, size_t n, struct el_signal_keys *out)
{
	struct el_signal_key *key = &out->keys[out->n];
	const char *hash = memchr(line, '#', n), *end = hash ? hash : line + n;
	uint32_t seen = 0, word = 0;
	int err;

	for (;; word++) {
		const char *begin;

		while (line < end && isspace((unsigned char)*line))
			line++;
		begin = line;
		while (line < end && !isspace((unsigned char)*line))
			line++;
		if (begin == line)
			break;
		if (word) {
			err = read_word(at, begin, (size_t)(line - begin), &seen, key);
			if (err)
				return err;
			continue;
		}
		if (out->n == EL_SIGNAL_KEYS_MAX)
			return refuse(at, "more than %u keys", EL_SIGNAL_KEYS_MAX);
		if (!is_name(begin, (size_t)(line - begin), EL_SIGNAL_KEY_BYTES))
			return refuse(at, "a line begins with the name of a key: up to 15 letters, "
					  "digits, _, - or .");
		*key = (struct el_signal_key){ .share = 1 };
		memcpy(key->name, begin, (size_t)(line - begin));
		if (el_signal_keys_find(out, key->name))
			return refuse(at, "there is a key \"%s\" already", key->name);
	}
	if (!word)
		return 0;
	out->n++;
	if (!key->secret_bytes || !key->chains.n)
		return refuse(at, "key \"%s\" needs secret= and chains=", key->name);
	return 0;
}

int el_signal_keys_parse(const char *file_name, const char *text, struct el_signal_keys *out,
			 char error[EL_SIGNAL_ERROR_BYTES])
{
	struct place at = { .file = file_name, .line = 1, .error = error };
	int err = 0;

	out->n = 0;
	for (; *text && !err; at.line++) {
		const char *end = strchrnul(text, '\n');

		err = read_line(&at, text, (size_t)(end - text), out);
		text = *end ? end + 1 : end;
	}
	if (err)
		el_signal_keys_wipe(out);
	return err;
}

static int read_file(const char *path, char *text, char error[EL_SIGNAL_ERROR_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = fd < 0 ? -errno : 0;
	struct stat status;
	ssize_t n = 0;

	if (!err && fstat(fd, &status))
		err = -errno;
	if (!err && (status.st_mode & (S_IRWXG | S_IRWXO))) {
		snprintf(error, EL_SIGNAL_ERROR_BYTES,
			 "%s: others than its owner may use it: it has secrets, so write "
			 "`chmod 600`",
			 path);
		close(fd);
		return -EINVAL;
	}
	if (!err) {
		n = read(fd, text, FILE_MAX_BYTES);
		err = n < 0 ? -errno : n == FILE_MAX_BYTES ? -EFBIG : 0;
	}
	if (fd >= 0)
		close(fd);
	if (err)
		snprintf(error, EL_SIGNAL_ERROR_BYTES, "cannot read \"%s\": %s", path,
			 strerror(-err));
	else
		text[n] = '\0';
	return err;
}

int el_signal_keys_read(const char *path, struct el_signal_keys *out,
			char error[EL_SIGNAL_ERROR_BYTES])
{
	char *text = malloc(FILE_MAX_BYTES);
	int err = -ENOMEM;

	out->n = 0;
	if (text)
		err = read_file(path, text, error);
	else
		snprintf(error, EL_SIGNAL_ERROR_BYTES, "not enough memory");
	if (!err)
		err = el_signal_keys_parse(path, text, out, error);
	if (text)
		explicit_bzero(text, FILE_MAX_BYTES);
	free(text);
	return err;
}

void el_signal_keys_wipe(struct el_signal_keys *keys)
{
	explicit_bzero(keys, sizeof(*keys));
}

const struct el_signal_key *el_signal_keys_find(const struct el_signal_keys *keys, const char *name)
{
	for (uint32_t i = 0; i < keys->n; i++)
		if (strcmp(keys->keys[i].name, name) == 0)
			return &keys->keys[i];
	return NULL;
}

bool el_signal_names_have(const struct el_signal_names *names, const char *name)
{
	for (uint32_t i = 0; i < names->n; i++)
		if (strcmp(names->name[i], name) == 0)
			return true;
	return false;
}
