/* SPDX-License-Identifier: BSD-2-Clause */
/* The words and signs of a text of chains, with the line of each. */
#ifndef EL_WORDS_H
#define EL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EL_WORD_BYTES 128 /* with its NUL */

enum el_word_kind {
	EL_WORD, /* letters, digits, _ . / %; or anything printable in double quotes */
	EL_SIGN, /* { } ( ) [ ] , ; = :: -> */
	EL_WORDS_END
};

struct el_class;

struct el_words {
	const struct el_class *const *more; /* classes beside the built-in ones, or NULL */
	const char *file;		    /* quoted in errors */
	const char *at, *end;		    /* of the text, borrowed */
	uint32_t line;
	char *error; /* borrowed: EL_ERROR_BYTES */
	enum el_word_kind kind;
	char word[EL_WORD_BYTES]; /* as it is written, without quotes; "end" at the end */
};

/* Read the next word or sign. 0, or -EINVAL with an error. */
int el_words_next(struct el_words *w);
/* The same where a value stands: it may have other characters (a range, a prefix). */
int el_words_next_value(struct el_words *w);
/* Read the next one, which must be this sign. */
int el_words_expect(struct el_words *w, const char *sign);
/* Is it this sign? */
bool el_words_is(const struct el_words *w, const char *sign);

/* Write `FILE:LINE: ...` into the error. Returns -EINVAL. */
int el_words_refuse(struct el_words *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
