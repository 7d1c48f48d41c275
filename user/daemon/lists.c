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

static int take_out(int outer_fd, uint32_t slot)
{
	return bpf_map_delete_elem(outer_fd, &slot) && errno != ENOENT ? -errno : 0;
}

int sl_list_put(const struct sl_list_maps *maps, uint32_t slot, const struct sl_list *list)
{
	int err;

	if (list->fd < 0) {
		err = take_out(maps->small_fd, slot);
		return err ? err : take_out(maps->large_fd, slot);
	}
	if (bpf_map_update_elem(list->small ? maps->small_fd : maps->large_fd, &slot, &list->fd,
				BPF_ANY))
		return -errno;
	/* XDP looks into the small map first: a small list is in force now, a large one after this.
	 */
	return take_out(list->small ? maps->large_fd : maps->small_fd, slot);
}
