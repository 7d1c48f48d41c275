/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Macros that define maps: with BTF types for key and value, and pinned by name, so that BPF
 * objects that name the same map share it.
 */
#ifndef SL_MAPDEF_BPF_H
#define SL_MAPDEF_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "bpf/abi/reasons.h"

#define SL_ARRAY(map, value_type, entries, map_flags_) \
	struct {                                       \
		__uint(type, BPF_MAP_TYPE_ARRAY);      \
		__uint(max_entries, entries);          \
		__uint(map_flags, map_flags_);         \
		__type(key, __u32);                    \
		__type(value, value_type);             \
		__uint(pinning, LIBBPF_PIN_BY_NAME);   \
	} map SEC(".maps")

#define SL_COUNTERS(map, entries)                        \
	struct {                                         \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); \
		__uint(max_entries, entries);            \
		__type(key, __u32);                      \
		__type(value, struct sl_counter);        \
		__uint(pinning, LIBBPF_PIN_BY_NAME);     \
	} map SEC(".maps")

#define SL_LPM(map, key_type)                         \
	struct {                                      \
		__uint(type, BPF_MAP_TYPE_LPM_TRIE);  \
		__uint(max_entries, 1);               \
		__uint(map_flags, BPF_F_NO_PREALLOC); \
		__type(key, key_type);                \
		__type(value, __u32);                 \
		__uint(pinning, LIBBPF_PIN_BY_NAME);  \
	} map SEC(".maps")

/*
 * Slots for maps of one element, which user space makes and replaces whole. Without BTF types:
 * clang 14 emits none for the value of an inner map.
 */
#define SL_LISTS(map, value_type)                         \
	struct map##_element {                            \
		__uint(type, BPF_MAP_TYPE_ARRAY);         \
		__uint(max_entries, 1);                   \
		__uint(map_flags, BPF_F_MMAPABLE);        \
		__uint(key_size, sizeof(__u32));          \
		__uint(value_size, sizeof(value_type));   \
	};                                                \
	struct {                                          \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); \
		__uint(max_entries, SL_FILTER_SLOTS);     \
		__type(key, __u32);                       \
		__uint(pinning, LIBBPF_PIN_BY_NAME);      \
		__array(values, struct map##_element);    \
	} map SEC(".maps")

#endif
