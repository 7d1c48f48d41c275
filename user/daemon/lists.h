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

/*
 * Put a list into the slot, and take out what else is there; `none` of fd -1 takes out alone. When
 * this returns no packet sees the old list any more. 0 or -errno.
 */
int sl_list_put(const struct sl_list_maps *maps, uint32_t slot, const struct sl_list *list);

#endif
