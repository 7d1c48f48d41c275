/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Images of rule lists in the maps that XDP reads: sl_filter_small and sl_filter_large, one slot
 * for each list and family (bpf/abi/classifier.h). A list is replaced whole: a packet sees the old
 * one or the new one.
 */
#ifndef SL_LISTS_H
#define SL_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_list_maps {
	int small_fd, large_fd; /* borrowed */
};

/* An image in a map of its own, not yet in a slot. fd -1: none. */
struct sl_list {
	int fd; /* owned */
	bool small;
};

/*
 * Make a map that holds the image, of the smaller size that it fits. 0; -ENOSPC: larger than struct
 * sl_classifier_large; else -errno.
 */
int sl_list_make(const void *image, size_t image_bytes, struct sl_list *out);
void sl_list_close(struct sl_list *list);

struct sl_list_place {
	uint32_t slot;
	const struct sl_list *list; /* borrowed; its fd -1: the slot gets none */
};

/*
 * Put n lists into their slots, each another, and take out what else is there. When this returns no
 * packet sees an old list any more, which the kernel waits for once for all of them. 0 or -errno:
 * some may be in their slots.
 */
int sl_lists_put(const struct sl_list_maps *maps, const struct sl_list_place *places, uint32_t n);
/* The same for one. */
int sl_list_put(const struct sl_list_maps *maps, uint32_t slot, const struct sl_list *list);

#endif
