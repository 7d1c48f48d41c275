/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a shared object with an element: refused in one printable line, or all of its
 * segments lie within it, as libelf reads them. The mutator puts the first bytes of an
 * object before most inputs.
 */
#include <assert.h>
#include <ctype.h>
#include <elf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "elements/install/object_elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

static void mend(uint8_t *data, size_t size, unsigned int seed)
{
	Elf64_Ehdr header;

	if (size < sizeof(header))
		return;
	memcpy(&header, data, sizeof(header));
	memcpy(header.e_ident, ELFMAG "\2\1\1", 7);
	header.e_type = ET_DYN;
	header.e_machine = EM_X86_64;
	header.e_version = EV_CURRENT;
	header.e_ehsize = sizeof(header);
	header.e_phentsize = sizeof(Elf64_Phdr);
	header.e_shentsize = sizeof(Elf64_Shdr);
	if (seed & 16) {
		header.e_phnum = 1 + (seed >> 8) % 3;
		header.e_shnum = (seed >> 16) % 4;
		header.e_phoff = sizeof(header);
		header.e_shoff = size > 300 ? 240 : sizeof(header);
	}
	memcpy(data, &header, sizeof(header));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	size = LLVMFuzzerMutate(data, size, max_size);
	if (seed & 15)
		mend(data, size, seed);
	return size;
}

static void check_whole(char *bytes, size_t size)
{
	Elf *elf = elf_memory(bytes, size);
	size_t segments;
	GElf_Phdr segment;

	/* libelf asks for more, such as a right table of names. */
	if (!elf || elf_getphdrnum(elf, &segments))
		segments = 0;
	for (size_t i = 0; i < segments; i++) {
		assert(gelf_getphdr(elf, (int)i, &segment));
		assert(segment.p_offset <= size && segment.p_filesz <= size - segment.p_offset);
	}
	elf_end(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[EL_WHY_BYTES] = "";
	uint8_t *bytes = malloc(size ? size : 1); /* of the exact size, for the sanitizer */
	const uint8_t *section;
	size_t n = 0;

	elf_version(EV_CURRENT);
	if (size)
		memcpy(bytes, data, size);
	if (el_elf_check(bytes, size, why)) {
		assert(*why);
		for (const char *p = why; *p; p++)
			assert(isprint((unsigned char)*p));
	} else {
		check_whole((char *)bytes, size);
		section = el_elf_section(bytes, size, ".text", &n);
		assert(!section || (section >= bytes && section <= bytes + size &&
				    n <= size - (size_t)(section - bytes)));
	}
	free(bytes);
	return 0;
}
