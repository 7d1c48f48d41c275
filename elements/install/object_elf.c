/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "elements/install/object_elf.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#error "object_elf.c: name the machine"
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTE_ORDER_HERE ELFDATA2LSB
#else
#define BYTE_ORDER_HERE ELFDATA2MSB
#endif

static int refuse(const char *reason, char why[EL_WHY_BYTES])
{
	snprintf(why, EL_WHY_BYTES, "%s", reason);
	return -EINVAL;
}

/* Do `length` bytes from `start` on lie within n? */
static bool within(uint64_t start, uint64_t length, size_t n)
{
	return start <= n && length <= n - start;
}

static int check_within(const char *what, uint64_t start, uint64_t length, size_t n,
			char why[EL_WHY_BYTES])
{
	if (within(start, length, n))
		return 0;
	snprintf(why, EL_WHY_BYTES,
		 "it is cut short: its %s has %llu bytes from byte %llu on, and the object %zu",
		 what, (unsigned long long)length, (unsigned long long)start, n);
	return -EINVAL;
}

static int check_header(const Elf64_Ehdr *header, char why[EL_WHY_BYTES])
{
	if (header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_ident[EI_DATA] != BYTE_ORDER_HERE || header->e_machine != MACHINE)
		return refuse("it was built for another kind of machine", why);
	if (header->e_type != ET_DYN)
		return refuse("it is of ELF and no shared object", why);
	if (!header->e_phnum || header->e_phentsize != sizeof(Elf64_Phdr) ||
	    (header->e_shnum && header->e_shentsize != sizeof(Elf64_Shdr)))
		return refuse("its tables of segments or sections are of another size", why);
	/* Such numbers mean that the true ones are in the first section. */
	if (header->e_phnum == PN_XNUM || (!header->e_shnum && header->e_shoff))
		return refuse("it has more segments or sections than an element can need", why);
	return 0;
}

static int check_segments(const uint8_t *bytes, size_t n, const Elf64_Ehdr *header,
			  char why[EL_WHY_BYTES])
{
	int err = check_within("table of segments", header->e_phoff,
			       (uint64_t)header->e_phnum * sizeof(Elf64_Phdr), n, why);

	for (uint32_t i = 0; !err && i < header->e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, bytes + header->e_phoff + i * sizeof(segment), sizeof(segment));
		err = check_within("segment", segment.p_offset, segment.p_filesz, n, why);
	}
	return err;
}

static int check_sections(const uint8_t *bytes, size_t n, const Elf64_Ehdr *header,
			  char why[EL_WHY_BYTES])
{
	int err = check_within("table of sections", header->e_shoff,
			       (uint64_t)header->e_shnum * sizeof(Elf64_Shdr), n, why);

	for (uint32_t i = 0; !err && i < header->e_shnum; i++) {
		Elf64_Shdr section;

		memcpy(&section, bytes + header->e_shoff + i * sizeof(section), sizeof(section));
		if (section.sh_type != SHT_NOBITS)
			err = check_within("section", section.sh_offset, section.sh_size, n, why);
	}
	return err;
}

int el_elf_check(const uint8_t *bytes, size_t n, char why[EL_WHY_BYTES])
{
	Elf64_Ehdr header = { 0 };
	int err;

	memcpy(&header, bytes, n < sizeof(header) ? n : sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return refuse("it is no shared object: its first bytes are not those of ELF", why);
	err = check_within("header", 0, sizeof(header), n, why);
	if (!err)
		err = check_header(&header, why);
	if (!err)
		err = check_segments(bytes, n, &header, why);
	return err ? err : check_sections(bytes, n, &header, why);
}

static Elf64_Shdr section_at(const uint8_t *bytes, const Elf64_Ehdr *header, uint32_t i)
{
	Elf64_Shdr section;

	memcpy(&section, bytes + header->e_shoff + i * sizeof(section), sizeof(section));
	return section;
}

const uint8_t *el_elf_section(const uint8_t *bytes, size_t n, const char *name,
			      size_t *section_bytes)
{
	const size_t name_bytes = strlen(name) + 1;
	Elf64_Shdr names, section;
	Elf64_Ehdr header;

	memcpy(&header, bytes, sizeof(header));
	if (header.e_shstrndx >= header.e_shnum)
		return NULL;
	names = section_at(bytes, &header, header.e_shstrndx);
	if (names.sh_type == SHT_NOBITS)
		return NULL;
	for (uint32_t i = 0; i < header.e_shnum; i++) {
		section = section_at(bytes, &header, i);
		if (section.sh_type != SHT_PROGBITS || section.sh_name >= names.sh_size ||
		    names.sh_size - section.sh_name < name_bytes ||
		    memcmp(bytes + names.sh_offset + section.sh_name, name, name_bytes) != 0 ||
		    !within(section.sh_offset, section.sh_size, n))
			continue;
		*section_bytes = section.sh_size;
		return bytes + section.sh_offset;
	}
	return NULL;
}
