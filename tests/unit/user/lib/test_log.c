/* SPDX-License-Identifier: BSD-2-Clause */
/* What the log writes: text, JSON, entries of the journal, and no more than it may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include <errno.h>
#include <jansson.h>

#include "user/lib/log.h"

static int standard_error, file;

static void begin(const char *form)
{
	standard_error = dup(STDERR_FILENO);
	file = memfd_create("log", MFD_CLOEXEC);
	assert_true(file >= 0);
	assert_int_equal(dup2(file, STDERR_FILENO), STDERR_FILENO);
	unsetenv("JOURNAL_STREAM");
	sl_log_set_prefix("sluiced: ");
	assert_int_equal(sl_log_set_form(form), 0);
}

/* All that was written since, owned by the caller. */
static char *written(void)
{
	off_t bytes = lseek(file, 0, SEEK_END);
	char *text = calloc(1, (size_t)bytes + 1);

	dup2(standard_error, STDERR_FILENO);
	close(standard_error);
	assert_int_equal(pread(file, text, (size_t)bytes, 0), bytes);
	close(file);
	return text;
}

static uint32_t lines_of(const char *text)
{
	uint32_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void text_has_the_daemon_and_the_level(void **state)
{
	char *text;

	(void)state;
	begin("text");
	errno = ENOENT;
	sl_error("%s: %d", "eth1", 7);
	sl_warning("w");
	sl_info("i");
	sl_debug("not at this level");
	assert_int_equal(errno, ENOENT);
	text = written();
	assert_string_equal(text, "sluiced: error: eth1: 7\nsluiced: warning: w\nsluiced: i\n");
	free(text);
}

static void text_is_one_line_whatever_a_message_quotes(void **state)
{
	char *text;

	(void)state;
	begin("text");
	sl_warning("etcd says %s", "no\nsluiced: error: forged\r\x1b[2J\x7f, gr\xc3\xb6\xc3\x9f"
				   "er");
	text = written();
	assert_string_equal(text, "sluiced: warning: etcd says no sluiced: error: forged  [2J , "
				  "gr\xc3\xb6\xc3\x9f"
				  "er\n");
	free(text);
}

/* Standard error, which is a file here, is the journal's stream. */
static void set_stream(void)
{
	struct stat stream;
	char name[64];

	assert_int_equal(fstat(STDERR_FILENO, &stream), 0);
	snprintf(name, sizeof(name), "%llu:%llu", (unsigned long long)stream.st_dev,
		 (unsigned long long)stream.st_ino);
	setenv("JOURNAL_STREAM", name, 1);
}

static void the_stream_of_a_journal_without_socket_gets_levels_as_numbers(void **state)
{
	char *text;

	(void)state;
	begin("text");
	set_stream();
	sl_log_set_journal("@sluice-test-nobody-is-here");
	errno = ENOENT;
	sl_warning("w");
	sl_info("i");
	assert_int_equal(errno, ENOENT);
	unsetenv("JOURNAL_STREAM");
	text = written();
	assert_string_equal(text, "<4>w\n<6>i\n");
	free(text);
}

/* A socket like the journal's, under an abstract name that the kernel chose. */
static int journal_open(char path[64])
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(address);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	snprintf(path, 64, "@%.*s", (int)(len - sizeof(sa_family_t) - 1), address.sun_path + 1);
	sl_log_set_journal(path);
	return fd;
}

static void the_journal_gets_an_entry_with_the_fields_of_an_event(void **state)
{
	static const char expected[] = "MESSAGE\n\x10\0\0\0\0\0\0\0node 2\nis \"down\"\n"
				       "PRIORITY\n\1\0\0\0\0\0\0\0006\n"
				       "SYSLOG_IDENTIFIER\n\7\0\0\0\0\0\0\0sluiced\n"
				       "CODE_FILE\n\3\0\0\0\0\0\0\0f.c\n"
				       "CODE_LINE\n\2\0\0\0\0\0\0\00042\n"
				       "SLUICE_EVENT\n\4\0\0\0\0\0\0\0peer\n"
				       "SLUICE_NODE_ID\n\1\0\0\0\0\0\0\0002\n"
				       "SLUICE_STATE\n\3\0\0\0\0\0\0\0a\nb\n";
	struct sl_log_place place = { .file = "f.c", .line = 42 };
	char bytes[1024], path[64], *text;
	int journal;

	(void)state;
	begin("text");
	journal = journal_open(path);
	set_stream();
	sl_log_event(&place, SL_LOG_INFO, "peer",
		     SL_LOG_FIELDS({ "node-id", NULL, 2 }, { "state", "a\nb", 0 }),
		     "node %d\nis \"down\"", 2);
	unsetenv("JOURNAL_STREAM");
	text = written();
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(recv(journal, bytes, sizeof(bytes), 0), sizeof(expected) - 1);
	assert_memory_equal(bytes, expected, sizeof(expected) - 1);
	close(journal);
}

static void the_journal_gets_nothing_where_standard_error_is_not_its_stream(void **state)
{
	char byte, path[64], *text;
	int journal;

	(void)state;
	begin("text");
	journal = journal_open(path);
	setenv("JOURNAL_STREAM", "8:1", 1);
	sl_warning("w");
	unsetenv("JOURNAL_STREAM");
	sl_info("i");
	text = written();
	assert_string_equal(text, "sluiced: warning: w\nsluiced: i\n");
	free(text);
	begin("json");
	set_stream();
	sl_info("an object");
	unsetenv("JOURNAL_STREAM");
	text = written();
	assert_int_equal(text[0], '{');
	free(text);
	assert_int_equal(recv(journal, &byte, 1, 0), -1);
	assert_int_equal(errno, EAGAIN);
	close(journal);
}

static void a_journal_that_is_full_makes_nobody_wait_and_nothing_is_lost(void **state)
{
	uint32_t entries = 0;
	char byte, path[64], *text;
	int journal;

	(void)state;
	begin("text");
	journal = journal_open(path);
	set_stream();
	for (uint32_t i = 0; i < SL_LOG_LINES_MAX; i++)
		sl_info("line");
	unsetenv("JOURNAL_STREAM");
	text = written();
	while (recv(journal, &byte, 1, 0) == 1)
		entries++;
	assert_true(lines_of(text) > 0);
	assert_int_equal(entries + lines_of(text), SL_LOG_LINES_MAX);
	free(text);
	close(journal);
}

/* A parser that we did not write reads each line. */
static void json_is_an_object_a_line(void **state)
{
	static const char *const messages[] = { "plain", "with \"quotes\", \\ and\ttab",
						"two\nlines", "\xc3\xbc is a letter" };
	char *text, *line, *rest;
	size_t n = 0;

	(void)state;
	begin("json");
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		sl_warning("%s", messages[i]);
	text = written();
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), n++) {
		json_t *object = json_loads(line, 0, NULL);
		const char *when;

		assert_non_null(object);
		assert_int_equal(json_object_size(object), 5);
		assert_string_equal(json_string_value(json_object_get(object, "message")),
				    messages[n]);
		assert_string_equal(json_string_value(json_object_get(object, "level")), "warning");
		assert_string_equal(json_string_value(json_object_get(object, "daemon")),
				    "sluiced");
		assert_non_null(strstr(json_string_value(json_object_get(object, "place")),
				       "unit/user/lib/test_log.c:"));
		when = json_string_value(json_object_get(object, "time"));
		assert_int_equal(strlen(when), strlen("2026-01-31T12:00:00.123456Z"));
		assert_true(when[10] == 'T' && when[19] == '.' && when[26] == 'Z');
		json_decref(object);
	}
	assert_int_equal(n, sizeof(messages) / sizeof(messages[0]));
	free(text);
}

static void an_event_has_its_name_and_its_fields_as_members(void **state)
{
	json_t *object;
	char *text;

	(void)state;
	begin("json");
	sl_event("peer", SL_LOG_FIELDS({ "node", NULL, 300 }, { "state", "a\xff\"b", 0 }),
		 "node %d is up", 300);
	text = written();
	object = json_loads(text, 0, NULL);
	assert_non_null(object);
	assert_int_equal(json_object_size(object), 8);
	assert_string_equal(json_string_value(json_object_get(object, "event")), "peer");
	assert_int_equal(json_integer_value(json_object_get(object, "node")), 300);
	assert_string_equal(json_string_value(json_object_get(object, "state")), "a\"b");
	assert_string_equal(json_string_value(json_object_get(object, "message")),
			    "node 300 is up");
	assert_string_equal(json_string_value(json_object_get(object, "level")), "info");
	json_decref(object);
	free(text);
}

static void an_event_is_a_line_of_text_like_any_other(void **state)
{
	char *text;

	(void)state;
	begin("text");
	sl_event("peer", SL_LOG_FIELDS({ "node", NULL, 2 }), "node %d is up", 2);
	text = written();
	assert_string_equal(text, "sluiced: node 2 is up\n");
	free(text);
}

static void bytes_that_are_no_text_are_left_out_of_json(void **state)
{
	char *text;

	(void)state;
	begin("json");
	sl_info("a\xff\xfe"
		"b");
	text = written();
	assert_non_null(strstr(text, "\"message\":\"ab\""));
	free(text);
}

static void a_long_line_is_cut_and_stays_an_object(void **state)
{
	char *text, message[3000];
	json_t *object;

	(void)state;
	memset(message, '"', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	begin("json");
	sl_info("%s", message);
	text = written();
	object = json_loads(text, 0, NULL);
	assert_non_null(object);
	assert_int_equal(strlen(json_string_value(json_object_get(object, "message"))), 999);
	json_decref(object);
	free(text);
}

static void a_place_that_floods_says_how_many_it_left_out(void **state)
{
	struct sl_log_place place = { .file = "f.c", .line = 1 },
			    other = { .file = "g.c", .line = 2 };
	char *text;

	(void)state;
	begin("text");
	for (uint32_t i = 0; i < SL_LOG_LINES_MAX + 70; i++)
		sl_log(&place, SL_LOG_INFO, "again");
	sl_log(&other, SL_LOG_INFO, "other");
	assert_int_equal(place.left_out, 70);
	place.window_ns -= SL_LOG_WINDOW_NS; /* ten seconds later */
	sl_log(&place, SL_LOG_INFO, "last");
	text = written();
	assert_int_equal(lines_of(text), SL_LOG_LINES_MAX + 1 + 2);
	assert_non_null(strstr(text,
			       "sluiced: other\nsluiced: 70 more lines like the next one were "
			       "left out\nsluiced: last\n"));
	free(text);
}

static void another_form_is_refused(void **state)
{
	(void)state;
	assert_int_equal(sl_log_set_form("xml"), -EINVAL);
	assert_int_equal(sl_log_set_form(""), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_has_the_daemon_and_the_level),
		cmocka_unit_test(text_is_one_line_whatever_a_message_quotes),
		cmocka_unit_test(the_stream_of_a_journal_without_socket_gets_levels_as_numbers),
		cmocka_unit_test(the_journal_gets_an_entry_with_the_fields_of_an_event),
		cmocka_unit_test(the_journal_gets_nothing_where_standard_error_is_not_its_stream),
		cmocka_unit_test(a_journal_that_is_full_makes_nobody_wait_and_nothing_is_lost),
		cmocka_unit_test(json_is_an_object_a_line),
		cmocka_unit_test(an_event_has_its_name_and_its_fields_as_members),
		cmocka_unit_test(an_event_is_a_line_of_text_like_any_other),
		cmocka_unit_test(bytes_that_are_no_text_are_left_out_of_json),
		cmocka_unit_test(a_long_line_is_cut_and_stays_an_object),
		cmocka_unit_test(a_place_that_floods_says_how_many_it_left_out),
		cmocka_unit_test(another_form_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
