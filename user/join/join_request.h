/* SPDX-License-Identifier: BSD-2-Clause */
/* What init, token and join share: options, the files of this node, messages. */
#ifndef SL_JOIN_REQUEST_H
#define SL_JOIN_REQUEST_H

#include <stdint.h>

#include "user/config/config.h"
#include "user/join/join_token.h"
#include "user/join/start_files.h"
#include "user/join/start_texts.h"
#include "user/versions/version_request.h"

struct sl_join_request {
	struct sl_version_request version; /* settings, etcd, answer */
	struct sl_start_options options;
	const char *file;	 /* of the node's entry; NULL: none is given */
	uint64_t ttl_ns;	 /* of a token */
	char *settings, *former; /* owned: the settings to be written, what they replace; or NULL */
	char *key_file, *also;	 /* owned: paths */
	char *own;		 /* owned: the configuration of this node */
	size_t own_bytes;
	struct sl_start_files files;
};

int sl_join_init(struct sl_join_request *r);
int sl_join_make_token(struct sl_join_request *r);
int sl_join_node(struct sl_join_request *r);

/* All below return an exit status, and have written to standard error why it is not SL_EXIT_OK. */

/* The settings of etcd: those of the file, with the id of this node, or of the options. */
int sl_join_settings(struct sl_join_request *r);
/* Make the text of a configuration that of this node; and where its key files are. */
int sl_join_own(struct sl_join_request *r, const char *name, const char *text, size_t bytes);
/* Write all files of this node, as yet without names; and give them their names. */
int sl_join_write_files(struct sl_join_request *r, const struct sl_join_keys *keys);
int sl_join_place_files(struct sl_join_request *r);
/* Say what has been written, and what to start. */
void sl_join_say_next(struct sl_join_request *r);

#endif
