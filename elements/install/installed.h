/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The elements that a worker has beside the built-in ones: installed, replaced and removed while
 * packets go through its chains.
 *
 * In this order: the signature is checked; the trial runs in a process of its own, while the worker
 * serves; the object is loaded; its owner makes the chains with it anew; a thread has sluiced link
 * its program with sl_edge, if it has one, and writes the store, while the worker serves; the
 * chains are switched. What fails undoes all before it.
 */
#ifndef EL_INSTALLED_H
#define EL_INSTALLED_H

#include "elements/fast/own_set.h"
#include "elements/install/object.h"
#include "elements/install/store.h"
#include "elements/install/trial.h"

#define EL_INSTALLED_MAX 64u

struct el_installed_ops {
	/*
	 * Make the chains anew for these classes, up to NULL; those with a class `changed` differ,
	 * the others stay. 0; -EINVAL with the reason in why; -ENOMEM. Nothing changes yet.
	 */
	int (*prepare)(void *owner, const struct el_class *const *classes, const char *changed,
		       char why[EL_WHY_BYTES]);
	/* Put them in the place of the former ones, or, if not `now`, forget them. Between the two
	 * the chains must stay as they are: el_installed_is_saving. */
	void (*commit)(void *owner, bool now);
};

struct el_installed_element {
	int fd; /* owned: sealed memory */
	struct el_object object;
	struct el_class *quarantined; /* owned: in its place; NULL without a fault */
	const struct el_class *class; /* that of the object, or quarantined */
	char key[EL_KEY_NAME_BYTES];  /* that has signed it */
	char fault[EL_WHY_BYTES];     /* "": none */
};

enum el_install_state {
	EL_INSTALL_NONE,
	EL_INSTALL_TRIAL,
	EL_INSTALL_SAVING,
	EL_INSTALL_DONE,
	EL_INSTALL_REFUSED
};

struct el_installed {
	const char *keys_dir, *store_dir, *program; /* borrowed */
	const char *sluiced; /* borrowed: its control socket; NULL: programs stay here */
	struct el_own_set own, next_own; /* of elements; and, while one is saved, to be */
	const struct el_installed_ops *ops;
	void *owner;
	uint32_t n;
	struct el_installed_element elements[EL_INSTALLED_MAX + 1];
	const struct el_class *classes[EL_INSTALLED_MAX + 2]; /* of elements, up to NULL */
	/* The latest installation: a number that a client asks by */
	uint32_t ticket;
	enum el_install_state state;
	struct el_trial trial;
	struct el_store_save save;
	struct el_installed_element candidate;
	uint8_t signature[EL_SIGNATURE_BYTES];
	uint8_t *bytes; /* owned, until it is saved or refused */
	size_t n_bytes;
	char name[EL_STORE_NAME_BYTES]; /* of what was installed */
	uint32_t version;
	char why[EL_WHY_BYTES]; /* it was refused */
};

/*
 * Take what is in the store, each after its trial; what fails is logged and left out. program: for
 * trials; the strings are borrowed. 0 or -errno.
 */
int el_installed_open(struct el_installed *installed, const char *keys_dir, const char *store_dir,
		      const char *program);
/* Leave the programs of all for the sluiced of that socket. 0 or -errno; logged. */
int el_installed_leave(struct el_installed *installed, const char *sluiced);
/* Chains with such classes must be gone. Zeroed memory is fine. */
void el_installed_close(struct el_installed *installed);

/* The trial alone, of the object in a file. 0 or -errno, with the reason in why. */
int el_installed_try(const char *path, const char *program, char why[EL_WHY_BYTES]);

/*
 * Begin to install an object: state and ticket say how it goes on. 0; -EACCES, -EINVAL, -EBUSY or
 * another -errno, with the reason in why.
 */
int el_installed_begin(struct el_installed *installed, const uint8_t *object, size_t n,
		       const uint8_t *signature, size_t signature_bytes, char why[EL_WHY_BYTES]);
/* Readable when el_installed_poll has work; -1: nothing is tried. */
int el_installed_fd(const struct el_installed *installed);
void el_installed_poll(struct el_installed *installed);
/* The chains to come have been made, and the store is being written. */
bool el_installed_is_saving(const struct el_installed *installed);

/* 0; -ENOENT, -EINVAL (a chain uses it) or another -errno, with the reason in why. */
int el_installed_remove(struct el_installed *installed, const char *name, char why[EL_WHY_BYTES]);

/* The element of a class, or NULL: it is built in. */
const struct el_installed_element *el_installed_find(const struct el_installed *installed,
						     const struct el_class *class);

#endif
