/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is this a whole shared object of this machine? The dynamic linker maps what the headers of a file
 * say, without asking whether the file is as long.
 */
#ifndef EL_OBJECT_ELF_H
#define EL_OBJECT_ELF_H

#include "elements/install/signature.h"

/*
 * Read the file's header, and the tables of segments and sections: each must be of the size of this
 * machine's and lie within the n bytes, and so must each segment and section. 0; -EINVAL with the
 * reason in why. Format: System V ABI, chapter 4.
 */
int el_elf_check(const uint8_t *bytes, size_t n, char why[EL_WHY_BYTES]);

/*
 * The first section of that name in an object that el_elf_check has found right. Returns where its
 * bytes begin, within the n bytes, or NULL: it has none.
 */
const uint8_t *el_elf_section(const uint8_t *bytes, size_t n, const char *name,
			      size_t *section_bytes);

#endif
