/* SPDX-License-Identifier: BSD-2-Clause */
/* The texts with which a cluster and its nodes begin, from options. */
#ifndef SL_START_TEXTS_H
#define SL_START_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#define SL_START_PORTS_MAX 64

struct sl_start_port {
	uint32_t number;
	const char *name; /* borrowed: of the netdev */
};

/* What options say; NULL and 0: nothing. All is borrowed. */
struct sl_start_options {
	uint32_t node;
	const char *address, *fabric, *transport; /* address: on the fabric */
	struct sl_start_port port[SL_START_PORTS_MAX];
	uint32_t ports;
	/* How to reach etcd, of user/etcd/etcd_settings.h */
	const char *endpoints, *prefix, *ca, *certificate, *key, *user, *password_file;
};

/* "2=eth1", or "eth1", which has the number after the last one's. -EINVAL, -ENOSPC. */
int sl_start_port_add(struct sl_start_options *options, const char *text);

/* New texts with a NUL behind; NULL: not enough memory. */
char *sl_start_entry(const struct sl_start_options *options); /* of cluster.nodes, in braces */
char *sl_start_document(const struct sl_start_options *options);
/* The settings of etcd; or `former` with the node's id above it. */
char *sl_start_settings(const struct sl_start_options *options, const char *former);

#endif
