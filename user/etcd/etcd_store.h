/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a cluster has in etcd, under a prefix:
 *
 *   current                the number of the version that is to be in force, in decimal
 *   versions/0000000007    the text of version 7, as the operator wrote it
 *   applied/0000000007     when, by whom, from which version: an object of JSON
 *   present/3              what the agent of node 3 says, as long as its lease lasts
 *   tokens/3f1c...         sealed bytes for one node that joins, as long as their lease lasts
 *
 * Numbers only grow: a rollback is a new version with the text of an old one. So a `current` below
 * what a node has in force can only come from a backup of etcd.
 */
#ifndef SL_ETCD_STORE_H
#define SL_ETCD_STORE_H

#include <jansson.h>
#include <stddef.h>

#include "user/etcd/etcd_client.h"

#define SL_ETCD_VERSIONS_KEPT 100
#define SL_ETCD_NUMBER_MAX    9999999999LL /* ten digits */

struct sl_etcd_current {
	long long number;	    /* 0: nothing has been applied */
	long long revision;	    /* of etcd, at which that was last changed; 0: never */
	long long now;		    /* revision of etcd at the answer */
	unsigned long long cluster; /* id of etcd's cluster; another one after it was restored */
};

/* All return 0 or what sl_etcd_call returns, with sl_etcd_why; -ENOMEM. */
int sl_etcd_read_current(struct sl_etcd *etcd, const char *prefix, struct sl_etcd_current *out);
/* The text of a version, new, with a NUL behind; NULL with 0: there is no such version. */
int sl_etcd_read_version(struct sl_etcd *etcd, const char *prefix, long long number, char **text,
			 size_t *bytes);
/* An array of what was applied, from the oldest, each with its `version`; a new reference. */
int sl_etcd_read_applied(struct sl_etcd *etcd, const char *prefix, json_t **out);
/* What the agents say, by node id in decimal; a new reference. */
int sl_etcd_read_present(struct sl_etcd *etcd, const char *prefix, json_t **out);

/* Sealed bytes that one node may use, once. */
struct sl_etcd_token {
	const char *id;	    /* borrowed; letters and digits */
	long long revision; /* of etcd, at which it was written */
};

/*
 * Write version `number` and make it current, if current is still as `based_on` has it, and remove
 * versions that are older than SL_ETCD_VERSIONS_KEPT. applied is borrowed. -ESTALE: another one
 * came in between; nothing has changed. Safe to be called again after -EHOSTUNREACH: a version with
 * just this `applied` counts as written. With a token, which may be NULL, the same transaction
 * removes that; -ESTALE also if it is gone.
 */
int sl_etcd_write_version(struct sl_etcd *etcd, const char *prefix,
			  const struct sl_etcd_current *based_on, long long number,
			  const char *text, size_t bytes, const json_t *applied,
			  const struct sl_etcd_token *token);

/* Write bytes under a token's id until the lease ends. -EEXIST: that id is taken. */
int sl_etcd_write_token(struct sl_etcd *etcd, const char *prefix, const char *id, const void *bytes,
			size_t n, long long lease);
/* Its bytes, new, and its revision; NULL with 0: there is none. */
int sl_etcd_read_token(struct sl_etcd *etcd, const char *prefix, struct sl_etcd_token *token,
		       char **bytes, size_t *n);
/* Remove it, if it is there as it was read. -ESTALE: it is gone. */
int sl_etcd_use_token(struct sl_etcd *etcd, const char *prefix, const struct sl_etcd_token *token);

/* A lease of so many seconds: *lease. And keep it: *left is 0 if it has ended. */
int sl_etcd_lease(struct sl_etcd *etcd, unsigned int seconds, long long *lease);
int sl_etcd_keep_lease(struct sl_etcd *etcd, long long lease, long long *left);
int sl_etcd_end_lease(struct sl_etcd *etcd, long long lease);
/* Say what node has to say, for as long as the lease lasts; takes the reference to value. */
int sl_etcd_write_present(struct sl_etcd *etcd, const char *prefix, unsigned int node,
			  json_t *value, long long lease);

#endif
