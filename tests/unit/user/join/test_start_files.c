/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of a node that begins: all come with their modes, or none does and nothing is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/join/start_files.h"

static char dir[64], first[80], second[80], third[80];

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void assert_text(const char *path, const char *expected)
{
	char text[64] = "";
	FILE *f = fopen(path, "re");

	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(text, expected);
}

static unsigned int names(void)
{
	unsigned int n = 0;
	DIR *d = opendir(dir);

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static int begin(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/sluice-start-files.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(first, sizeof(first), "%s/first", dir);
	snprintf(second, sizeof(second), "%s/second", dir);
	snprintf(third, sizeof(third), "%s/third", dir);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(first);
	unlink(second);
	unlink(third);
	return rmdir(dir);
}

/* Three files, the last of which has a former text. */
static struct sl_start_files three(void)
{
	struct sl_start_files files = { .n = 0 };

	write_text(third, "old");
	sl_start_files_add(&files, &(struct sl_start_file){
					   .path = first, .bytes = "1", .n = 1, .mode = 0600 });
	sl_start_files_add(&files, &(struct sl_start_file){ .path = "/nonexistent/none" });
	sl_start_files_add(&files, &(struct sl_start_file){
					   .path = second, .bytes = "22", .n = 2, .mode = 0644 });
	sl_start_files_add(
		&files,
		&(struct sl_start_file){
			.path = third, .bytes = "new", .n = 3, .mode = 0644, .former = "old" });
	return files;
}

static void all_come_at_once_and_go_again(void **state)
{
	struct sl_start_files files = three();
	const char *at;
	struct stat st;

	(void)state;
	assert_int_equal(sl_start_files_write(&files, &at), 0);
	assert_int_equal(names(), 1);
	assert_int_equal(sl_start_files_place(&files, &at), 0);
	assert_int_equal(names(), 3);
	assert_text(first, "1");
	assert_text(second, "22");
	assert_text(third, "new");
	assert_int_equal(stat(first, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(second, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	sl_start_files_undo(&files);
	assert_int_equal(names(), 1);
	assert_text(third, "old");
}

static void one_that_is_there_stays_and_none_comes(void **state)
{
	struct sl_start_files files = three();
	const char *at;

	(void)state;
	write_text(second, "mine");
	assert_int_equal(sl_start_files_write(&files, &at), -EEXIST);
	assert_string_equal(at, second);
	sl_start_files_undo(&files);
	assert_int_equal(names(), 2);
	/* Or it comes between the two steps. */
	unlink(second);
	files = three();
	assert_int_equal(sl_start_files_write(&files, &at), 0);
	write_text(second, "mine");
	assert_int_equal(sl_start_files_place(&files, &at), -EEXIST);
	assert_string_equal(at, second);
	assert_int_equal(names(), 2);
	assert_text(second, "mine");
	assert_text(third, "old");
}

static void a_folder_that_is_not_there_is_told(void **state)
{
	struct sl_start_files files = three();
	const char *at;

	(void)state;
	sl_start_files_add(
		&files, &(struct sl_start_file){
				.path = "/nonexistent/file", .bytes = "1", .n = 1, .mode = 0600 });
	assert_int_equal(sl_start_files_write(&files, &at), -ENOENT);
	assert_string_equal(at, "/nonexistent/file");
	sl_start_files_undo(&files);
	assert_int_equal(names(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_come_at_once_and_go_again, begin, end),
		cmocka_unit_test_setup_teardown(one_that_is_there_stays_and_none_comes, begin, end),
		cmocka_unit_test_setup_teardown(a_folder_that_is_not_there_is_told, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
