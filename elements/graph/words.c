/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "elements/graph/graph.h"
#include "elements/graph/words.h"

static const char *const signs[] = { "::", "->", "{", "}", "(", ")", "[", "]", ",", ";", "=" };

#define N_SIGNS (sizeof(signs) / sizeof(signs[0]))

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '/' || c == '%';
}

/* A value may be a range. */
static bool is_value(char c)
{
	return is_word(c) || c == '-' || c == ':';
}

int el_words_refuse(struct el_words *w, const char *format, ...)
{
	size_t n;
	va_list args;

	n = (size_t)snprintf(w->error, EL_ERROR_BYTES, "%.100s:%u: ", w->file, w->line);
	va_start(args, format);
	vsnprintf(w->error + n, EL_ERROR_BYTES - n, format, args);
	va_end(args);
	return -EINVAL;
}

static void skip_blanks(struct el_words *w)
{
	while (w->at < w->end) {
		if (*w->at == '#') {
			while (w->at < w->end && *w->at != '\n')
				w->at++;
			continue;
		}
		if (*w->at == '\n')
			w->line++;
		else if (*w->at != ' ' && *w->at != '\t' && *w->at != '\r')
			return;
		w->at++;
	}
}

static int take(struct el_words *w, enum el_word_kind kind, size_t n)
{
	if (n >= EL_WORD_BYTES)
		return el_words_refuse(w, "a word has more than %d characters", EL_WORD_BYTES - 1);
	memcpy(w->word, w->at, n);
	memset(w->word + n, 0, sizeof(w->word) - n);
	w->kind = kind;
	w->at += n;
	return 0;
}

static int take_quoted(struct el_words *w)
{
	const char *close = ++w->at;

	while (close < w->end && *close >= ' ' && *close <= '~' && *close != '"')
		close++;
	if (close == w->end || *close != '"')
		return el_words_refuse(w, "a quote does not end on its line, or a character in it "
					  "is not printable");
	if (take(w, EL_WORD, (size_t)(close - w->at)))
		return -EINVAL;
	w->at++;
	return 0;
}

static int take_sign(struct el_words *w)
{
	size_t left = (size_t)(w->end - w->at);

	for (size_t i = 0; i < N_SIGNS; i++) {
		size_t n = strlen(signs[i]);

		if (n <= left && memcmp(w->at, signs[i], n) == 0)
			return take(w, EL_SIGN, n);
	}
	if (*w->at > ' ' && *w->at <= '~')
		return el_words_refuse(w, "'%c' has no meaning here", *w->at);
	return el_words_refuse(w, "a byte 0x%02x has no meaning here", (unsigned char)*w->at);
}

static int read_word(struct el_words *w, bool (*belongs)(char c))
{
	size_t n = 0;

	skip_blanks(w);
	if (w->at == w->end) {
		memset(w->word, 0, sizeof(w->word));
		memcpy(w->word, "end", 3);
		w->kind = EL_WORDS_END;
		return 0;
	}
	if (*w->at == '"')
		return take_quoted(w);
	while (w->at + n < w->end && belongs(w->at[n]))
		n++;
	return n ? take(w, EL_WORD, n) : take_sign(w);
}

int el_words_next(struct el_words *w)
{
	return read_word(w, is_word);
}

int el_words_next_value(struct el_words *w)
{
	if (read_word(w, is_value))
		return -EINVAL;
	return w->kind == EL_WORD ? 0
				  : el_words_refuse(w, "\"%s\" where a value should be", w->word);
}

int el_words_expect(struct el_words *w, const char *sign)
{
	if (el_words_next(w))
		return -EINVAL;
	return el_words_is(w, sign)
		       ? 0
		       : el_words_refuse(w, "\"%s\" where %s should be", w->word, sign);
}

bool el_words_is(const struct el_words *w, const char *sign)
{
	return w->kind == EL_SIGN && strcmp(w->word, sign) == 0;
}
