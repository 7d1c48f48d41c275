/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "elements/classes/classes.h"
#include "elements/install/installed.h"
#include "elements/install/object_elf.h"
#include "elements/install/quarantine.h"
#include "user/datapath/datapath.h"
#include "user/lib/log.h"

#define LOOK_EVERY_NS 1000000 /* at start, while a trial runs */

static const struct el_installed_element nothing = { .fd = -1 };

static void element_close(struct el_installed_element *element)
{
	free(element->quarantined);
	el_object_close(&element->object);
	if (element->fd >= 0)
		close(element->fd);
	*element = nothing;
}

/* Load what is in element->fd. */
static int element_load(struct el_installed_element *element, char why[EL_WHY_BYTES])
{
	int err = el_object_open(element->fd, &element->object, why);

	if (err)
		return err;
	element->class = element->object.package->class;
	if (!el_class_find(NULL, element->class->name))
		return 0;
	snprintf(why, EL_WHY_BYTES, "%s is the name of a class that is built in",
		 element->class->name);
	return -EINVAL;
}

static uint32_t find(const struct el_installed *in, const char *name)
{
	uint32_t i = 0;

	while (i < in->n && strcmp(in->elements[i].class->name, name))
		i++;
	return i;
}

/* The list of classes, with one in the place i, or without it. */
static void list_classes(const struct el_installed *in, uint32_t i, const struct el_class *class,
			 const struct el_class *classes[EL_INSTALLED_MAX + 2])
{
	uint32_t n = 0;

	for (uint32_t j = 0; j < in->n; j++)
		if (j != i)
			classes[n++] = in->elements[j].class;
	if (class)
		classes[n++] = class;
	classes[n] = NULL;
}

/*
 * The programs of all elements, with one in the place i, or without it. Those of elements in
 * quarantine are none.
 */
static int make_set(const struct el_installed *in, uint32_t i,
		    const struct el_installed_element *element, struct el_own_set *out,
		    char why[EL_WHY_BYTES])
{
	struct el_own_member members[EL_INSTALLED_MAX + 1];
	uint32_t n = 0;

	for (uint32_t j = 0; j <= in->n; j++) {
		const struct el_installed_element *at = j == in->n ? element
							: j == i   ? NULL
								   : &in->elements[j];

		if (at && !at->quarantined && at->object.program.n_bytes)
			members[n++] =
				(struct el_own_member){ at->class->name, &at->object.program };
	}
	return el_own_set_make(members, n, out, why);
}

static void keep_set(struct el_installed *in)
{
	el_own_set_free(&in->own);
	in->own = in->next_own;
	in->next_own = (struct el_own_set){ 0 };
}

/* Of the thread that saves: */
static int offer(void *owner, char why[EL_WHY_BYTES])
{
	const struct el_installed *in = owner;

	return in->sluiced ? el_own_set_offer(&in->next_own, &in->own, in->sluiced, why) : 0;
}

static void take_back(void *owner)
{
	const struct el_installed *in = owner;

	if (in->sluiced && in->own.set != in->next_own.set)
		el_own_set_write(&in->own, in->sluiced);
}

static void keep_classes(struct el_installed *in)
{
	list_classes(in, EL_INSTALLED_MAX, NULL, in->classes);
}

/* --- Installing --- */

static int check_size(size_t n, char why[EL_WHY_BYTES])
{
	if (n && n <= EL_OBJECT_MAX_BYTES)
		return 0;
	snprintf(why, EL_WHY_BYTES, "an object has 1 to %u bytes, and this one %zu",
		 EL_OBJECT_MAX_BYTES, n);
	return -EINVAL;
}

static int busy(char why[EL_WHY_BYTES])
{
	snprintf(why, EL_WHY_BYTES, "another element is being installed");
	return -EBUSY;
}

int el_installed_begin(struct el_installed *in, const uint8_t *object, size_t n,
		       const uint8_t *signature, size_t signature_bytes, char why[EL_WHY_BYTES])
{
	struct el_installed_element *candidate = &in->candidate;
	int err = check_size(n, why);

	if (err)
		return err;
	if (in->state == EL_INSTALL_TRIAL || in->state == EL_INSTALL_SAVING)
		return busy(why);
	*candidate = nothing;
	err = el_signature_check(in->keys_dir, object, n, signature, signature_bytes,
				 candidate->key, why);
	if (!err)
		err = el_elf_check(object, n, why);
	if (err)
		return err;
	in->bytes = malloc(n);
	err = in->bytes ? 0 : -ENOMEM;
	if (!err) {
		memcpy(in->bytes, object, n);
		memcpy(in->signature, signature, EL_SIGNATURE_BYTES);
		in->n_bytes = n;
		candidate->fd = el_object_seal(object, n);
		err = candidate->fd < 0 ? candidate->fd : 0;
	}
	if (!err)
		err = el_trial_start(&in->trial, in->program, candidate->fd);
	if (err) {
		snprintf(why, EL_WHY_BYTES, "its trial cannot begin: %s", strerror(-err));
		element_close(candidate);
		free(in->bytes);
		in->bytes = NULL;
		return err;
	}
	in->ticket++;
	in->state = EL_INSTALL_TRIAL;
	return 0;
}

int el_installed_fd(const struct el_installed *in)
{
	if (in->state == EL_INSTALL_SAVING)
		return in->save.fd;
	return in->state == EL_INSTALL_TRIAL ? in->trial.pidfd : -1;
}

bool el_installed_is_saving(const struct el_installed *in)
{
	return in->state == EL_INSTALL_SAVING;
}

static int check_version(const struct el_installed *in, uint32_t i, char why[EL_WHY_BYTES])
{
	const struct el_class *class = in->candidate.class;

	if (i == EL_INSTALLED_MAX) {
		snprintf(why, EL_WHY_BYTES, "%u elements are installed already", EL_INSTALLED_MAX);
		return -EINVAL;
	}
	if (i == in->n || class->version >= in->elements[i].class->version)
		return 0;
	snprintf(why, EL_WHY_BYTES,
		 "version %u of %s is older than %u, which is installed: remove that first",
		 class->version, class->name, in->elements[i].class->version);
	return -EINVAL;
}

static int cannot_write(const struct el_installed *in, int err, char why[EL_WHY_BYTES])
{
	snprintf(why, EL_WHY_BYTES, "\"%s\" cannot be written: %s", in->store_dir, strerror(-err));
	return err;
}

/* The trial went well: make the chains, and begin to write the store. */
static int prepare(struct el_installed *in, char why[EL_WHY_BYTES])
{
	const struct el_class *classes[EL_INSTALLED_MAX + 2];
	struct el_installed_element *candidate = &in->candidate;
	int err = element_load(candidate, why);
	uint32_t i;

	if (err)
		return err;
	i = find(in, candidate->class->name);
	err = check_version(in, i, why);
	if (err)
		return err;
	list_classes(in, i, candidate->class, classes);
	err = make_set(in, i, candidate, &in->next_own, why);
	if (err)
		return err;
	err = in->ops->prepare(in->owner, classes, candidate->class->name, why);
	if (err) {
		el_own_set_free(&in->next_own);
		return err;
	}
	in->save = (struct el_store_save){ .dir = in->store_dir,
					   .name = candidate->class->name,
					   .signature = in->signature,
					   .object = in->bytes,
					   .object_bytes = in->n_bytes,
					   .before = offer,
					   .undo = take_back,
					   .owner = in };
	err = el_store_save_start(&in->save);
	if (!err)
		return 0;
	in->ops->commit(in->owner, false);
	el_own_set_free(&in->next_own);
	return cannot_write(in, err, why);
}

/* The store is written: switch the chains. */
static void switch_over(struct el_installed *in)
{
	struct el_installed_element *candidate = &in->candidate;
	const uint32_t i = find(in, candidate->class->name);

	keep_set(in);
	in->ops->commit(in->owner, true);
	snprintf(in->name, sizeof(in->name), "%s", candidate->class->name);
	in->version = candidate->class->version;
	if (i < in->n)
		element_close(&in->elements[i]);
	else
		in->n++;
	in->elements[i] = *candidate;
	*candidate = nothing;
	keep_classes(in);
}

static void end(struct el_installed *in, int err)
{
	element_close(&in->candidate);
	free(in->bytes);
	in->bytes = NULL;
	in->state = err ? EL_INSTALL_REFUSED : EL_INSTALL_DONE;
	if (err)
		sl_warning("an element was refused: %s", in->why);
	else
		sl_info("element %s, version %u, is installed", in->name, in->version);
}

void el_installed_poll(struct el_installed *in)
{
	int err;

	if (in->state == EL_INSTALL_TRIAL && el_trial_over(&in->trial, &err, in->why)) {
		if (!err)
			err = prepare(in, in->why);
		if (err)
			end(in, err);
		else
			in->state = EL_INSTALL_SAVING;
	} else if (in->state == EL_INSTALL_SAVING && el_store_save_over(&in->save, &err)) {
		if (err) {
			in->ops->commit(in->owner, false);
			el_own_set_free(&in->next_own);
			if (in->save.why[0])
				memcpy(in->why, in->save.why, sizeof(in->why));
			else
				cannot_write(in, err, in->why);
		} else {
			switch_over(in);
		}
		end(in, err);
	}
}

int el_installed_remove(struct el_installed *in, const char *name, char why[EL_WHY_BYTES])
{
	const struct el_class *classes[EL_INSTALLED_MAX + 2];
	uint32_t i = find(in, name);
	int err;

	if (i == in->n) {
		snprintf(why, EL_WHY_BYTES, "no element \"%s\" is installed", name);
		return -ENOENT;
	}
	if (in->state == EL_INSTALL_SAVING)
		return busy(why);
	list_classes(in, i, NULL, classes);
	err = make_set(in, i, NULL, &in->next_own, why);
	if (!err)
		err = in->ops->prepare(in->owner, classes, name, why);
	if (err) {
		el_own_set_free(&in->next_own);
		return err;
	}
	err = el_store_remove(in->store_dir, name);
	if (!err)
		keep_set(in);
	el_own_set_free(&in->next_own);
	in->ops->commit(in->owner, !err);
	if (err)
		return cannot_write(in, err, why);
	/* sluiced sees it within a second; until then nobody calls the program. */
	if (in->sluiced && el_own_set_write(&in->own, in->sluiced))
		sl_warning("the program of %s stays linked with sl_edge", name);
	sl_info("element %s is removed", name);
	element_close(&in->elements[i]);
	in->n--;
	memmove(&in->elements[i], &in->elements[i + 1], (in->n - i) * sizeof(in->elements[0]));
	in->elements[in->n] = nothing;
	keep_classes(in);
	return 0;
}

const struct el_installed_element *el_installed_find(const struct el_installed *in,
						     const struct el_class *class)
{
	for (uint32_t i = 0; i < in->n; i++)
		if (in->elements[i].class == class)
			return &in->elements[i];
	return NULL;
}

/* --- At start --- */

static int try_it(const char *program, int fd, char why[EL_WHY_BYTES])
{
	const struct timespec pause = { .tv_nsec = LOOK_EVERY_NS };
	struct el_trial trial;
	int err = el_trial_start(&trial, program, fd);

	if (err) {
		snprintf(why, EL_WHY_BYTES, "its trial cannot begin: %s", strerror(-err));
		return err;
	}
	while (!el_trial_over(&trial, &err, why))
		nanosleep(&pause, NULL);
	return err;
}

int el_installed_try(const char *path, const char *program, char why[EL_WHY_BYTES])
{
	uint8_t *bytes = malloc(EL_OBJECT_MAX_BYTES + 1);
	FILE *f = fopen(path, "re");
	int err = !f ? -errno : bytes ? 0 : -ENOMEM, fd = -1;
	size_t n = 0;

	if (!err) {
		n = fread(bytes, 1, EL_OBJECT_MAX_BYTES + 1, f);
		err = ferror(f) ? -EIO : 0;
	}
	if (err)
		snprintf(why, EL_WHY_BYTES, "it cannot be read: %s", strerror(-err));
	else
		err = check_size(n, why);
	if (!err)
		err = el_elf_check(bytes, n, why);
	if (!err) {
		fd = el_object_seal(bytes, n);
		err = fd < 0 ? fd : try_it(program, fd, why);
	}
	if (fd >= 0)
		close(fd);
	if (f)
		fclose(f);
	free(bytes);
	return err;
}

static int take(void *arg, const char *name, const uint8_t signature[EL_SIGNATURE_BYTES],
		const uint8_t *object, size_t n)
{
	struct el_installed *in = arg;
	struct el_installed_element *element = &in->elements[in->n];
	char why[EL_WHY_BYTES];
	int err = check_size(n, why);

	if (in->n == EL_INSTALLED_MAX)
		return 0;
	*element = nothing;
	if (!err)
		err = el_signature_check(in->keys_dir, object, n, signature, EL_SIGNATURE_BYTES,
					 element->key, why);
	if (!err)
		err = el_elf_check(object, n, why);
	if (!err) {
		element->fd = el_object_seal(object, n);
		err = element->fd < 0 ? element->fd : 0;
		if (err)
			return err;
		err = try_it(in->program, element->fd, why);
	}
	if (!err)
		err = element_load(element, why);
	if (!err && strcmp(element->class->name, name)) {
		snprintf(why, EL_WHY_BYTES, "its class is called %s", element->class->name);
		err = -EINVAL;
	}
	if (err) {
		sl_error("element %s of \"%s\" is left out: %s", name, in->store_dir, why);
		element_close(element);
		return 0;
	}
	el_store_fault(in->store_dir, name, element->fault);
	if (element->fault[0]) {
		element->quarantined = malloc(sizeof(*element->quarantined));
		if (!element->quarantined) {
			element_close(element);
			return -ENOMEM;
		}
		*element->quarantined = el_quarantined(element->class);
		element->class = element->quarantined;
		sl_warning("element %s is in quarantine, and drops its packets: %s", name,
			   element->fault);
	}
	in->n++;
	return 0;
}

int el_installed_open(struct el_installed *in, const char *keys_dir, const char *store_dir,
		      const char *program)
{
	int err;

	*in = (struct el_installed){ .keys_dir = keys_dir,
				     .store_dir = store_dir,
				     .program = program,
				     .candidate = nothing,
				     .trial = { .pidfd = -1, .said = -1 },
				     .save = { .fd = -1 } };
	err = el_store_each(store_dir, take, in);
	if (err)
		sl_error("cannot read the elements of \"%s\": %s", store_dir, strerror(-err));
	keep_classes(in);
	return err;
}

int el_installed_leave(struct el_installed *in, const char *sluiced)
{
	char why[EL_WHY_BYTES];
	int err = make_set(in, EL_INSTALLED_MAX, NULL, &in->own, why);

	if (err) {
		sl_error("the programs of installed elements stay out of the fast path: %s", why);
		return err;
	}
	in->sluiced = sluiced;
	err = el_own_set_write(&in->own, sluiced);
	if (err)
		sl_error("cannot write \"%s" SL_ELEMENTS_SUFFIX "\": %s", sluiced, strerror(-err));
	return err;
}

void el_installed_close(struct el_installed *in)
{
	if (in->state == EL_INSTALL_TRIAL)
		el_trial_stop(&in->trial);
	if (in->state == EL_INSTALL_SAVING) {
		el_store_save_finish(&in->save);
		in->ops->commit(in->owner, false);
	}
	if (in->state == EL_INSTALL_TRIAL || in->state == EL_INSTALL_SAVING)
		element_close(&in->candidate);
	free(in->bytes);
	for (uint32_t i = 0; i < in->n; i++)
		element_close(&in->elements[i]);
	el_own_set_free(&in->own);
	el_own_set_free(&in->next_own);
	in->n = 0;
	in->bytes = NULL;
	in->state = EL_INSTALL_NONE;
}
