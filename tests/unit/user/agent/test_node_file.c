/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of a node: whichever step the agent dies behind, there is a whole file, and the good
 * one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/agent/node_file.h"

static char folder[] = "/tmp/node_file.XXXXXX", path[PATH_MAX];

static void write_text(const char *name, const char *text)
{
	FILE *f = fopen(name, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	fclose(f);
}

static void assert_text(const char *ending, const char *text)
{
	char name[PATH_MAX + 16], has[64] = "";
	FILE *f;

	snprintf(name, sizeof(name), "%s%s", path, ending);
	f = fopen(name, "re");
	if (!text) {
		assert_null(f);
		return;
	}
	assert_non_null(f);
	has[fread(has, 1, sizeof(has) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(has, text);
}

static int begin(void **state)
{
	(void)state;
	memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/sluice.yaml", folder);
	return 0;
}

static int end(void **state)
{
	static const char *const endings[] = { "",	   ".former", ".refused",
					       ".version", ".new",    ".version.new" };
	char name[PATH_MAX + 16];

	(void)state;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", path, endings[i]);
		unlink(name);
	}
	return rmdir(folder);
}

static struct sl_node_file read_again(void)
{
	struct sl_node_file file = { .path = path };

	assert_int_equal(sl_node_file_read(&file), 0);
	return file;
}

static void a_file_that_is_kept_is_that_version_also_for_the_next_agent(void **state)
{
	struct sl_node_file file = read_again();

	(void)state;
	assert_int_equal(file.sum, 0);
	assert_int_equal(sl_node_file_replace(&file, "one\n", 4), 0);
	assert_int_equal(read_again().version, 0);
	assert_int_equal(sl_node_file_keep(&file, 7), 0);
	assert_int_equal(read_again().version, 7);
	assert_true(sl_node_file_is(&file, "one\n", 4));
	assert_false(sl_node_file_is(&file, "one", 3));
	assert_text(".former", NULL);
	/* Changed by hand, it is no version, and one can see of which it was. */
	write_text(path, "two\n");
	assert_int_equal(read_again().version, 0);
	assert_int_equal(read_again().recorded, 7);
}

static void a_file_that_is_taken_back_is_the_former_one(void **state)
{
	struct sl_node_file file;
	struct stat made, had;

	(void)state;
	write_text(path, "one\n");
	assert_int_equal(chmod(path, 0640), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(path, (uid_t)-1, 65534), 0);
	assert_int_equal(stat(path, &made), 0);
	file = read_again();
	assert_int_equal(sl_node_file_keep(&file, 3), 0);
	assert_int_equal(sl_node_file_replace(&file, "two\n", 4), 0);
	assert_text("", "two\n");
	assert_text(".former", "one\n");
	assert_int_equal(stat(path, &had), 0);
	assert_int_equal(had.st_mode & 07777, 0640);
	assert_int_equal(had.st_gid, made.st_gid);
	assert_int_equal(sl_node_file_take_back(&file), 0);
	assert_text("", "one\n");
	assert_text(".former", NULL);
	assert_text(".refused", "two\n");
	assert_int_equal(file.version, 3);
	assert_int_equal(sl_node_file_take_back(&file), -ENOENT);
	assert_text("", "one\n");
}

/* An agent that has died left the new text and the former one: the next text does not become it. */
static void the_good_one_outlives_an_agent_that_died(void **state)
{
	struct sl_node_file file;

	(void)state;
	write_text(path, "good\n");
	file = read_again();
	assert_int_equal(sl_node_file_keep(&file, 3), 0);
	assert_int_equal(sl_node_file_replace(&file, "untried\n", 8), 0);
	file = read_again();
	assert_int_equal(file.version, 0);
	assert_int_equal(file.recorded, 3);
	assert_int_equal(sl_node_file_replace(&file, "bad\n", 4), 0);
	assert_int_equal(sl_node_file_take_back(&file), 0);
	assert_text("", "good\n");
	assert_int_equal(file.version, 3);
}

static void a_folder_that_is_not_there_is_an_error(void **state)
{
	struct sl_node_file file = { .path = "/nowhere/at/all" };

	(void)state;
	assert_int_equal(sl_node_file_read(&file), 0);
	assert_int_equal(sl_node_file_replace(&file, "x", 1), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_file_that_is_kept_is_that_version_also_for_the_next_agent, begin, end),
		cmocka_unit_test_setup_teardown(a_file_that_is_taken_back_is_the_former_one, begin,
						end),
		cmocka_unit_test_setup_teardown(the_good_one_outlives_an_agent_that_died, begin,
						end),
		cmocka_unit_test(a_folder_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
