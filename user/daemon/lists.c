/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/abi/classifier.h"
#include "user/daemon/lists.h"

int sl_list_make(const void *image, size_t image_bytes, struct sl_list *out)
{
	/* type, sizes and flags like those of the template, or the outer map refuses it */
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	bool small = image_bytes <= sizeof(struct sl_classifier_small);
	size_t value_bytes =
		small ? sizeof(struct sl_classifier_small) : sizeof(struct sl_classifier_large);
	void *memory;
	int fd, err;

	*out = (struct sl_list){ .fd = -1 };
	if (image_bytes > sizeof(struct sl_classifier_large))
		return -ENOSPC;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "sl_filter_list", sizeof(uint32_t),
			    (uint32_t)value_bytes, 1, &opts);
	if (fd < 0)
		return -errno;
	memory = mmap(NULL, image_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		err = -errno;
		close(fd);
		return err;
	}
	memcpy(memory, image, image_bytes); /* the rest of the map is zero */
	munmap(memory, image_bytes);
	*out = (struct sl_list){ .fd = fd, .small = small };
	return 0;
}

void sl_list_close(struct sl_list *list)
{
	if (list->fd >= 0)
		close(list->fd);
	list->fd = -1;
}

/*
 * The kernel waits for a grace period in each call that changes an array of maps, also in one that
 * deletes what is not there.
 */
static int take_out(int outer_fd, uint32_t slot)
{
	uint32_t id;

	if (bpf_map_lookup_elem(outer_fd, &slot, &id))
		return errno == ENOENT ? 0 : -errno;
	return bpf_map_delete_elem(outer_fd, &slot) && errno != ENOENT ? -errno : 0;
}

/* All lists of one size, in one call. */
static int put_size(int outer_fd, const struct sl_list_place *places, uint32_t n, bool small)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t slots[SL_FILTER_SLOTS], count = 0;
	int fds[SL_FILTER_SLOTS];

	for (uint32_t i = 0; i < n; i++) {
		if (places[i].list->fd < 0 || places[i].list->small != small)
			continue;
		slots[count] = places[i].slot;
		fds[count++] = places[i].list->fd;
	}
	return count && bpf_map_update_batch(outer_fd, slots, fds, &count, &opts) ? -errno : 0;
}

int sl_lists_put(const struct sl_list_maps *maps, const struct sl_list_place *places, uint32_t n)
{
	int err;

	if (n > SL_FILTER_SLOTS)
		return -E2BIG;
	err = put_size(maps->small_fd, places, n, true);
	if (!err)
		err = put_size(maps->large_fd, places, n, false);
	/* XDP looks into the small map first: a small list is in force now, a large one after this.
	 */
	for (uint32_t i = 0; i < n && !err; i++) {
		const struct sl_list *list = places[i].list;

		if (list->fd < 0 || !list->small)
			err = take_out(maps->small_fd, places[i].slot);
		if (!err && (list->fd < 0 || list->small))
			err = take_out(maps->large_fd, places[i].slot);
	}
	return err;
}

int sl_list_put(const struct sl_list_maps *maps, uint32_t slot, const struct sl_list *list)
{
	const struct sl_list_place place = { .slot = slot, .list = list };

	return sl_lists_put(maps, &place, 1);
}
