/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libibverbs, loaded when a transport on verbs is opened, so that a host without RDMA need not
 * install it. Functions that infiniband/verbs.h calls through an object's own table (ibv_post_send,
 * ibv_poll_cq, ...) need no entry here.
 */
#ifndef RB_VERBS_LIBRARY_H
#define RB_VERBS_LIBRARY_H

#include <infiniband/verbs.h>

#define RB_VERBS_FUNCTIONS(X)                                                                    \
	X(get_device_list, struct ibv_device **, (int *n))                                       \
	X(free_device_list, void, (struct ibv_device * *list))                                   \
	X(get_device_name, const char *, (struct ibv_device * device))                           \
	X(open_device, struct ibv_context *, (struct ibv_device * device))                       \
	X(close_device, int, (struct ibv_context * context))                                     \
	X(query_device, int, (struct ibv_context * context, struct ibv_device_attr * attr))      \
	X(query_port, int,                                                                       \
	  (struct ibv_context * context, uint8_t port, struct _compat_ibv_port_attr * attr))     \
	X(get_async_event, int, (struct ibv_context * context, struct ibv_async_event * event))  \
	X(ack_async_event, void, (struct ibv_async_event * event))                               \
	X(alloc_pd, struct ibv_pd *, (struct ibv_context * context))                             \
	X(dealloc_pd, int, (struct ibv_pd * pd))                                                 \
	X(reg_mr_iova2, struct ibv_mr *,                                                         \
	  (struct ibv_pd * pd, void *address, size_t bytes, uint64_t iova, unsigned int access)) \
	X(dereg_mr, int, (struct ibv_mr * mr))                                                   \
	X(create_comp_channel, struct ibv_comp_channel *, (struct ibv_context * context))        \
	X(destroy_comp_channel, int, (struct ibv_comp_channel * channel))                        \
	X(create_cq, struct ibv_cq *,                                                            \
	  (struct ibv_context * context, int entries, void *cq_context,                          \
	   struct ibv_comp_channel *channel, int vector))                                        \
	X(destroy_cq, int, (struct ibv_cq * cq))                                                 \
	X(get_cq_event, int,                                                                     \
	  (struct ibv_comp_channel * channel, struct ibv_cq * *cq, void **cq_context))           \
	X(ack_cq_events, void, (struct ibv_cq * cq, unsigned int n))                             \
	X(create_srq, struct ibv_srq *, (struct ibv_pd * pd, struct ibv_srq_init_attr * attr))   \
	X(destroy_srq, int, (struct ibv_srq * srq))                                              \
	X(create_qp, struct ibv_qp *, (struct ibv_pd * pd, struct ibv_qp_init_attr * attr))      \
	X(destroy_qp, int, (struct ibv_qp * qp))                                                 \
	X(modify_qp, int, (struct ibv_qp * qp, struct ibv_qp_attr * attr, int mask))             \
	X(create_ah, struct ibv_ah *, (struct ibv_pd * pd, struct ibv_ah_attr * attr))           \
	X(destroy_ah, int, (struct ibv_ah * ah))                                                 \
	X(fork_init, int, (void))

struct rb_verbs_library {
#define RB_VERBS_MEMBER(name, type, arguments) type(*name) arguments;
	RB_VERBS_FUNCTIONS(RB_VERBS_MEMBER)
	ssize_t (*query_gid_table)(struct ibv_context *context, struct ibv_gid_entry *entries,
				   size_t max, uint32_t flags, size_t entry_bytes);
};

/*
 * Load the library at the first call; it is never unloaded. Returns NULL if the host has none. Not
 * thread-safe.
 */
const struct rb_verbs_library *rb_verbs_library(void);

#endif
