/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elements/fast/own_set.h"
#include "user/datapath/datapath.h"
#include "user/ipc/control_client.h"

#define PATIENCE_MS 60000 /* sluiced fills tables meanwhile */

static int by_class(const void *a, const void *b)
{
	return strcmp(((const struct el_own_member *)a)->class,
		      ((const struct el_own_member *)b)->class);
}

static int place(const struct el_own_member *member, uint32_t slot, struct sl_bpf_bytes *out)
{
	out->n_bytes = member->object->n_bytes;
	out->bytes = malloc(out->n_bytes);
	if (!out->bytes)
		return -ENOMEM;
	memcpy(out->bytes, member->object->bytes, out->n_bytes);
	return sl_bpf_object_place(out, slot);
}

int el_own_set_make(struct el_own_member *members, uint32_t n, struct el_own_set *out,
		    char why[EL_WHY_BYTES])
{
	struct sl_bpf_bytes objects[SL_OWN_SLOTS] = { { 0 } };
	int err = 0;

	*out = (struct el_own_set){ .n = n };
	if (n > SL_OWN_SLOTS) {
		snprintf(why, EL_WHY_BYTES, "%u installed elements have a program already",
			 SL_OWN_SLOTS);
		return -EINVAL;
	}
	qsort(members, n, sizeof(*members), by_class);
	for (uint32_t i = 0; i < n && !err; i++) {
		snprintf(out->class[i], EL_OWN_NAME_BYTES, "%s", members[i].class);
		err = place(&members[i], i, &objects[i]);
	}
	if (!err && n)
		err = sl_bpf_object_link(objects, n, &out->object);
	if (err)
		snprintf(why, EL_WHY_BYTES, "its program cannot be linked with the others: %s",
			 sl_bpf_object_said());
	else if (n)
		out->set = sl_bpf_object_hash(&out->object);
	for (uint32_t i = 0; i < n; i++)
		free(objects[i].bytes);
	if (err)
		el_own_set_free(out);
	return err;
}

void el_own_set_free(struct el_own_set *set)
{
	free(set->object.bytes);
	*set = (struct el_own_set){ 0 };
}

int el_own_set_slot(const struct el_own_set *set, const char *class)
{
	for (uint32_t i = 0; i < set->n; i++)
		if (strcmp(set->class[i], class) == 0)
			return (int)i;
	return -1;
}

int el_own_set_write(const struct el_own_set *set, const char *sluiced)
{
	char path[PATH_MAX], temporary[PATH_MAX + 8];
	int n = snprintf(path, sizeof(path), "%s" SL_ELEMENTS_SUFFIX, sluiced), fd, err = 0;

	if (n < 0 || n >= PATH_MAX)
		return -ENAMETOOLONG;
	if (!set->set)
		return unlink(path) && errno != ENOENT ? -errno : 0;
	snprintf(temporary, sizeof(temporary), "%s-new", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (write(fd, set->object.bytes, set->object.n_bytes) != (ssize_t)set->object.n_bytes)
		err = -EIO;
	if (!err && fchmod(fd, 0644))
		err = -errno;
	close(fd);
	if (!err && rename(temporary, path))
		err = -errno;
	if (err)
		unlink(temporary);
	return err;
}

/* 0: sluiced has it, or none runs. */
static int tell(const char *sluiced, char why[EL_WHY_BYTES])
{
	json_t *rows;

	if (!sl_client_listens(sluiced))
		return 0;
	rows = sl_client_ask("sluiced", sluiced, json_pack("{s:s}", "command", "elements"),
			     PATIENCE_MS, why, EL_WHY_BYTES);
	if (!rows)
		return -EINVAL;
	json_decref(rows);
	return 0;
}

int el_own_set_offer(const struct el_own_set *set, const struct el_own_set *former,
		     const char *sluiced, char why[EL_WHY_BYTES])
{
	int err;

	if (set->set == former->set)
		return 0;
	err = el_own_set_write(set, sluiced);
	if (err)
		snprintf(why, EL_WHY_BYTES, "its program cannot be left beside \"%s\": %s", sluiced,
			 strerror(-err));
	else
		err = tell(sluiced, why);
	if (err)
		el_own_set_write(former, sluiced);
	return err;
}
