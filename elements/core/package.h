/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a shared object has that brings an element class: one symbol, `el_package`. Its sizes let a
 * worker refuse an object that was built for another one.
 *
 * An object may use the functions of packet_pool.h and ip_rewrite.h, which the worker has, and
 * those of the C library. The trial (elements/install/trial.h) allows no other system calls than
 * those for memory.
 */
#ifndef EL_PACKAGE_H
#define EL_PACKAGE_H

#include "elements/core/element.h"

/* Of a reason for people, with its NUL */
#define EL_WHY_BYTES 256u

#define EL_PACKAGE_ABI	  1u
#define EL_PACKAGE_SYMBOL "el_package"

struct el_package {
	uint32_t abi; /* EL_PACKAGE_ABI */
	uint32_t class_bytes, param_bytes, value_bytes, context_bytes, packet_bytes;
	const struct el_class *class;
	/* Parameters of the instance that the trial sends packets through: "rate=2mbit, burst=20k"
	 */
	const char *trial_parameters; /* NULL: none */
	/* NULL, or why the element is wrong. May be NULL. */
	const char *(*self_test)(void);
};

/* Once in an object: its class, the parameters for the trial, its own test. */
#define EL_PACKAGE(CLASS, TRIAL_PARAMETERS, SELF_TEST)                                \
	extern const struct el_package el_package;                                    \
	__attribute__((visibility("default"))) const struct el_package el_package = { \
		.abi = EL_PACKAGE_ABI,                                                \
		.class_bytes = sizeof(struct el_class),                               \
		.param_bytes = sizeof(struct el_param),                               \
		.value_bytes = sizeof(struct el_value),                               \
		.context_bytes = sizeof(struct el_context),                           \
		.packet_bytes = sizeof(struct el_packet),                             \
		.class = (CLASS),                                                     \
		.trial_parameters = (TRIAL_PARAMETERS),                               \
		.self_test = (SELF_TEST),                                             \
	}

/*
 * Once in the object of a class with `fast`: the BPF object, a file, with its function for the fast
 * path (bpf/abi/own_element.h). One file, and one signature, has both halves.
 */
#define EL_FAST_SECTION ".sluice.bpf"
#define EL_FAST_PROGRAM(PATH)                                        \
	__asm__(".pushsection " EL_FAST_SECTION ",\"a\",@progbits\n" \
		".incbin \"" PATH "\"\n"                             \
		".popsection\n")

/* NULL, or why a worker of this build cannot use the package or its class. */
const char *el_package_check(const struct el_package *package);
/* NULL, or what of the class contradicts element.h. */
const char *el_class_check(const struct el_class *class);

#endif
