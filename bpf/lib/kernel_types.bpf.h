/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel's own types with the fields that our programs read; the loader finds the real offsets
 * (CO-RE).
 */
#ifndef SL_KERNEL_TYPES_BPF_H
#define SL_KERNEL_TYPES_BPF_H

#include <linux/types.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define SL_KERNEL_TYPE __attribute__((preserve_access_index))

struct hlist_node {
	struct hlist_node *next;
} SL_KERNEL_TYPE;

struct hlist_head {
	struct hlist_node *first;
} SL_KERNEL_TYPE;

struct nf_hook_entry {
	void *hook;
	void *priv;
} SL_KERNEL_TYPE;

struct nf_hook_entries {
	__u16 num_hook_entries;
	struct nf_hook_entry hooks[];
} SL_KERNEL_TYPE;

struct netns_nf {
	struct nf_hook_entries *hooks_ipv4[5]; /* by enum nf_inet_hooks */
	struct nf_hook_entries *hooks_ipv6[5];
} SL_KERNEL_TYPE;

struct net {
	__u64 net_cookie; /* unlike an inode number, the kernel never reuses it */
	struct hlist_head *dev_index_head;
	struct netns_nf nf;
} SL_KERNEL_TYPE;

struct nsproxy {
	struct net *net_ns;
} SL_KERNEL_TYPE;

struct task_struct {
	struct nsproxy *nsproxy;
} SL_KERNEL_TYPE;

typedef struct {
	struct net *net;
} SL_KERNEL_TYPE possible_net_t;

struct bpf_prog_aux {
	__u32 id;
	char name[16];
} SL_KERNEL_TYPE;

struct bpf_prog {
	struct bpf_prog_aux *aux;
} SL_KERNEL_TYPE;

struct bpf_link {
	struct bpf_prog *prog;
} SL_KERNEL_TYPE;

struct bpf_xdp_link {
	struct bpf_link link;
} SL_KERNEL_TYPE;

struct bpf_xdp_entity {
	struct bpf_prog *prog; /* NULL if a link attached it */
	struct bpf_xdp_link *link;
} SL_KERNEL_TYPE;

struct net_device {
	__u32 ifindex; /* int in the kernel, never negative */
	const unsigned char *dev_addr;
	possible_net_t nd_net;
	struct hlist_node index_hlist;
	struct bpf_xdp_entity xdp_state[3];
	__u32 xdp_features;
} SL_KERNEL_TYPE;

struct xdp_rxq_info {
	struct net_device *dev;
} SL_KERNEL_TYPE;

struct xdp_buff {
	struct xdp_rxq_info *rxq;
	__u32 flags; /* enum xdp_buff_flags */
} SL_KERNEL_TYPE;

struct sk_buff;

/* What a veth hands to XDP; the driver's own type, and its BTF may be a module's. */
struct veth_xdp_buff {
	struct sk_buff *skb; /* NULL: the frame came from XDP */
} SL_KERNEL_TYPE;

enum xdp_buff_flags {
	XDP_FLAGS_HAS_FRAGS = 1,
};

/* The context of an XDP program as the kernel has it, and any address as one of a type (6.2). */
extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym __weak;
extern void *bpf_rdonly_cast(const void *address, __u32 btf_id) __ksym __weak;

#define SL_AS(type, address) \
	((struct type *)bpf_rdonly_cast(address, bpf_core_type_id_kernel(struct type)))

/* Indices of net_device.xdp_state: enum bpf_xdp_mode */
#define SL_XDP_MODE_SKB 0
#define SL_XDP_MODE_DRV 1

/* The XDP program that a netdev runs in this mode, or NULL. */
static __always_inline const struct bpf_prog *sl_xdp_program(const struct net_device *dev, int mode)
{
	const struct bpf_xdp_link *link = dev->xdp_state[mode].link;

	return link ? link->link.prog : dev->xdp_state[mode].prog;
}

#endif
