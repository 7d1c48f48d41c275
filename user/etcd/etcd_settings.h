/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The settings file of sluice-cluster(8), which `sluice cluster apply` and its sisters read, too:
 * where etcd is, how to prove oneself there, and which node this is.
 */
#ifndef SL_ETCD_SETTINGS_H
#define SL_ETCD_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "user/text/yaml.h"

#define SL_ETCD_DEFAULT_SETTINGS "/etc/sluice/etcd.yaml"
#define SL_ETCD_DEFAULT_PREFIX	 "/sluice/"
#define SL_ETCD_ENDPOINTS_MAX	 16

struct sl_etcd_settings {
	uint32_t node;		 /* 1..255; 0: not given, which the agent refuses */
	char *endpoints;	 /* URLs, with commas between */
	char *prefix;		 /* of all keys; begins and ends with a slash */
	char *ca;		 /* PEM files; NULL: those of the system */
	char *certificate, *key; /* PEM files of this client; NULL: it has none */
	char *user, *password_file;
	char *config;	  /* the configuration that the agent writes */
	char *control;	  /* the agent's control socket */
	uint32_t lease_s; /* so long a node counts as present after its last word */
};

/*
 * Read a settings file. The caller owns *out, to be released by sl_etcd_settings_free. 0, or -errno
 * with one line in error.
 */
int sl_etcd_settings_load(const char *path, struct sl_etcd_settings **out,
			  char error[SL_YAML_ERROR_BYTES]);
/* The same of a text; messages quote it by that path. */
int sl_etcd_settings_parse(const char *path, const char *text, size_t bytes,
			   struct sl_etcd_settings **out, char error[SL_YAML_ERROR_BYTES]);
/* Settings without a file: these endpoints, and defaults. -EINVAL: they are no URLs; -ENOMEM. */
int sl_etcd_settings_make(const char *endpoints, struct sl_etcd_settings **out,
			  char error[SL_YAML_ERROR_BYTES]);
/* Take other endpoints. As above. */
int sl_etcd_settings_set_endpoints(struct sl_etcd_settings *settings, const char *endpoints,
				   char error[SL_YAML_ERROR_BYTES]);
void sl_etcd_settings_free(struct sl_etcd_settings *settings); /* NULL is fine */

#endif
