/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A shared object with an element, in memory of its own that nobody can write any more: what the
 * signature was checked for is what is tried and what is loaded.
 */
#ifndef EL_OBJECT_H
#define EL_OBJECT_H

#include "elements/core/package.h"
#include "elements/install/signature.h"
#include "user/datapath/bpf_object.h"

#define EL_OBJECT_MAX_BYTES (1u << 20)

/* A descriptor of sealed memory with these bytes, close-on-exec; or -errno. */
int el_object_seal(const uint8_t *bytes, size_t n);

struct el_object {
	void *handle;			  /* owned */
	const struct el_package *package; /* lies in the object */
	struct sl_bpf_bytes program;	  /* owned: of the class in the fast path; empty: none */
};

/*
 * Load what the descriptor has, which must stay open as long: its number names the object, and the
 * dynamic linker takes two of one name for the same. 0; -EINVAL with the reason in why.
 */
int el_object_open(int fd, struct el_object *out, char why[EL_WHY_BYTES]);
/* A copy of the BPF object in it, empty where it has none. 0 or -errno. */
int el_object_program(int fd, struct sl_bpf_bytes *out);
void el_object_close(struct el_object *object); /* twice is fine */
/* After el_object_close: does the linker keep it? Such an object could never be replaced. */
bool el_object_stays(int fd);

#endif
