/* SPDX-License-Identifier: BSD-2-Clause */
/* Tokens: their text, and what they seal, which nobody else opens and nobody alters unseen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/join/join_token.h"

static const char text[] = "0123456789abcdef.000102030405060708090a0b0c0d0e0f";

/*
 * Sealed by another implementation, Python's cryptography 38:
 *   d = HKDF(hashes.SHA256(), 44, id, b"sluice cluster join 1").derive(secret)
 *   AESGCM(d[:32]).encrypt(d[32:], b"\1" + b"\0\x20" + key + b"\0\x12" + also, None)
 */
static const char key[] = "0123456789abcdefghijklmnopqrstuv", also[] = "an older key, 16+\n";
static const char vector[] = "f91b39d597f543eb2dddc34002360ec874710c7e2849bf91ac90a03b7e927a5a"
			     "9a91064f045e8c233981240ebe1add51455228d4ad9ebbbc83213585f5f8b67a"
			     "bf05461ade7a6b";

static struct sl_join_token token_of(const char *from)
{
	struct sl_join_token token;

	assert_int_equal(sl_join_token_parse(from, &token), 0);
	return token;
}

static struct sl_join_keys some_keys(void)
{
	struct sl_join_keys keys = { .key_bytes = sizeof(key) - 1, .also_bytes = sizeof(also) - 1 };

	memcpy(keys.key, key, keys.key_bytes);
	memcpy(keys.also, also, keys.also_bytes);
	return keys;
}

static size_t vector_bytes(uint8_t out[SL_JOIN_SEALED_MAX])
{
	const size_t n = (sizeof(vector) - 1) / 2;

	for (size_t i = 0; i < n; i++) {
		const char pair[3] = { vector[2 * i], vector[2 * i + 1] };

		out[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return n;
}

static void a_token_is_its_text(void **state)
{
	static const char *const wrong[] = {
		"",
		"0123456789abcdef",
		"0123456789abcdef.000102030405060708090a0b0c0d0e0",
		"0123456789abcdef.000102030405060708090a0b0c0d0e0f0",
		"0123456789abcdef-000102030405060708090a0b0c0d0e0f",
		"0123456789ABCDEF.000102030405060708090a0b0c0d0e0f",
		"0123456789abcdeg.000102030405060708090a0b0c0d0e0f",
		"0123456789abcdef.000102030405060708090a0b0c0d0e/f",
		"0123456789abcdef.000102030405060708090a0b0c0d0e f",
	};
	struct sl_join_token token = token_of(text), other;
	char out[SL_JOIN_TOKEN_CHARS + 1], id[2 * SL_JOIN_ID_BYTES + 1];

	(void)state;
	sl_join_token_text(&token, out);
	assert_string_equal(out, text);
	sl_join_token_id(&token, id);
	assert_string_equal(id, "0123456789abcdef");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (sl_join_token_parse(wrong[i], &other) != -EINVAL)
			fail_msg("\"%s\" is taken", wrong[i]);
	assert_int_equal(sl_join_token_create(&token), 0);
	assert_int_equal(sl_join_token_create(&other), 0);
	assert_memory_not_equal(&token, &other, sizeof(token));
}

static void it_seals_and_opens_as_another_implementation(void **state)
{
	uint8_t expected[SL_JOIN_SEALED_MAX], sealed[SL_JOIN_SEALED_MAX];
	const struct sl_join_token token = token_of(text);
	struct sl_join_keys keys = some_keys(), opened;
	const size_t n = vector_bytes(expected);

	(void)state;
	assert_int_equal(sl_join_seal(&token, &keys, sealed), n);
	assert_memory_equal(sealed, expected, n);
	assert_int_equal(sl_join_open(&token, expected, n, &opened), 0);
	assert_int_equal(opened.key_bytes, sizeof(key) - 1);
	assert_memory_equal(opened.key, key, opened.key_bytes);
	assert_int_equal(opened.also_bytes, sizeof(also) - 1);
	assert_memory_equal(opened.also, also, opened.also_bytes);
}

static void assert_refused(const struct sl_join_token *token, const uint8_t *sealed, size_t n,
			   int expected)
{
	static const struct sl_join_keys none;
	struct sl_join_keys opened;

	assert_int_equal(sl_join_open(token, sealed, n, &opened), expected);
	assert_memory_equal(&opened, &none, sizeof(none));
}

static void each_altered_bit_and_length_is_refused(void **state)
{
	const struct sl_join_token token = token_of(text);
	uint8_t sealed[SL_JOIN_SEALED_MAX] = { 0 };
	struct sl_join_token other = token;
	const size_t n = vector_bytes(sealed);

	(void)state;
	for (size_t bit = 0; bit < 8 * n; bit++) {
		sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_refused(&token, sealed, n, -EBADMSG);
		sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < 8 * sizeof(token); bit++) {
		((uint8_t *)&other)[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_refused(&other, sealed, n, -EBADMSG);
		other = token;
	}
	for (size_t less = 0; less < n; less++)
		assert_refused(&token, sealed, less, -EBADMSG);
	assert_refused(&token, sealed, n + 1, -EBADMSG);
	assert_refused(&token, sealed, SL_JOIN_SEALED_MAX + 1, -EBADMSG);
}

static void keys_of_all_sizes_come_back(void **state)
{
	static const struct {
		size_t key, also;
		int expected;
	} cases[] = {
		{ 16, 0, 0 },	    { 1024, 0, 0 },	 { 1024, 1024, 0 },  { 16, 16, 0 },
		{ 15, 0, -EPROTO }, { 16, 15, -EPROTO }, { 0, 16, -EPROTO }, { 1025, 0, -EPROTO },
	};
	const struct sl_join_token token = token_of(text);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sl_join_keys keys = { .key_bytes = cases[i].key,
					     .also_bytes = cases[i].also },
				    opened;
		uint8_t sealed[SL_JOIN_SEALED_MAX];
		int n;

		memset(keys.key, 'k', keys.key_bytes);
		memset(keys.also, 'a', keys.also_bytes);
		n = sl_join_seal(&token, &keys, sealed);
		assert_int_equal(sl_join_open(&token, sealed, (size_t)n, &opened),
				 cases[i].expected);
		if (!cases[i].expected)
			assert_memory_equal(&opened, &keys, sizeof(keys));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_is_its_text),
		cmocka_unit_test(it_seals_and_opens_as_another_implementation),
		cmocka_unit_test(each_altered_bit_and_length_is_refused),
		cmocka_unit_test(keys_of_all_sizes_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
