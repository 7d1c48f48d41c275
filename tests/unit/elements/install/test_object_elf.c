/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole, cut and altered shared objects. The objects are those of this machine's libraries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements/install/object_elf.h"

static uint8_t *object;
static size_t object_bytes;

/* The bytes of a library that others have written: cmocka's. */
static int read_object(void **state)
{
	Dl_info info;
	FILE *f;

	(void)state;
	object = malloc(1 << 20);
	if (!object || !dladdr((void *)(uintptr_t)_cmocka_run_group_tests, &info))
		return -1;
	f = fopen(info.dli_fname, "re");
	object_bytes = f ? fread(object, 1, 1 << 20, f) : 0;
	if (f)
		fclose(f);
	return object_bytes && object_bytes < 1 << 20 ? 0 : -1;
}

static int free_object(void **state)
{
	(void)state;
	free(object);
	return 0;
}

/* A copy of the exact size, so that the sanitizer sees a read beyond the end. */
static int check(size_t n, size_t at, uint8_t value, char why[EL_WHY_BYTES])
{
	uint8_t *bytes = malloc(n ? n : 1);
	int err;

	assert_non_null(bytes);
	memcpy(bytes, object, n);
	if (at < n)
		bytes[at] = value;
	why[0] = '\0';
	err = el_elf_check(bytes, n, why);
	free(bytes);
	return err;
}

static void whole_object_passes(void **state)
{
	char why[EL_WHY_BYTES];

	(void)state;
	assert_int_equal(check(object_bytes, SIZE_MAX, 0, why), 0);
}

static void section_is_found_by_its_whole_name(void **state)
{
	const uint8_t *section;
	size_t n = 0;

	(void)state;
	section = el_elf_section(object, object_bytes, ".rodata", &n);
	assert_true(section > object && n && section + n <= object + object_bytes);
	assert_null(el_elf_section(object, object_bytes, ".rodat", &n));
	assert_null(el_elf_section(object, object_bytes, ".rodata.", &n));
}

static void object_cut_at_any_length_is_refused_with_a_reason(void **state)
{
	char why[EL_WHY_BYTES];

	(void)state;
	for (size_t n = 0; n < object_bytes; n += n < 1024 ? 1 : 61) {
		assert_int_equal(check(n, SIZE_MAX, 0, why), -EINVAL);
		assert_non_null(strstr(why, n < SELFMAG ? "first bytes" : "cut short"));
	}
	assert_int_equal(check(object_bytes - 1, SIZE_MAX, 0, why), -EINVAL);
	assert_non_null(strstr(why, "its table of sections has"));
}

static void altered_headers_are_refused_by_name(void **state)
{
	static const struct {
		const char *name;
		size_t at;
		uint8_t value;
		const char *reason;
	} cases[] = {
		{ "magic", 0, 'E', "first bytes are not those of ELF" },
		{ "class 32", EI_CLASS, ELFCLASS32, "another kind of machine" },
		{ "byte order", EI_DATA, ELFDATANONE, "another kind of machine" },
		{ "machine", offsetof(Elf64_Ehdr, e_machine), EM_386, "another kind of machine" },
		{ "program", offsetof(Elf64_Ehdr, e_type), ET_EXEC, "no shared object" },
		{ "segment size", offsetof(Elf64_Ehdr, e_phentsize), 55, "of another size" },
		{ "section size", offsetof(Elf64_Ehdr, e_shentsize), 63, "of another size" },
		{ "sections beyond 16 bits", offsetof(Elf64_Ehdr, e_shnum), 0, "than an element" },
		{ "segments far", offsetof(Elf64_Ehdr, e_phoff) + 7, 0xff, "table of segments" },
		{ "sections far", offsetof(Elf64_Ehdr, e_shoff) + 6, 0xff, "table of sections" },
		{ "segment far", sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_offset) + 5, 1,
		  "its segment has" },
		{ "segment long", sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz) + 7, 0xff,
		  "its segment has" },
	};
	char why[EL_WHY_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (check(object_bytes, cases[i].at, cases[i].value, why) != -EINVAL ||
		    !strstr(why, cases[i].reason))
			fail_msg("%s: \"%s\"", cases[i].name, why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_object_passes),
		cmocka_unit_test(section_is_found_by_its_whole_name),
		cmocka_unit_test(object_cut_at_any_length_is_refused_with_a_reason),
		cmocka_unit_test(altered_headers_are_refused_by_name),
	};

	return cmocka_run_group_tests(tests, read_object, free_object);
}
