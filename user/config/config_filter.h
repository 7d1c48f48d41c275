/* SPDX-License-Identifier: BSD-2-Clause */
/* The part `filters:` of the configuration: lists of rules, and the ports that they are for. */
#ifndef SL_CONFIG_FILTER_H
#define SL_CONFIG_FILTER_H

#include "user/classify/rule.h"
#include "user/text/yaml.h"

/* A rule as it is written. NULL: the key is not there. */
struct sl_filter_rule_settings {
	uint32_t line;
	int action; /* enum sl_filter_action */
	int family; /* AF_INET, AF_INET6, or 0: both, or that of the prefixes */
	char *name;
	char *prefix[SL_SIDES];
	char *field[SL_FIELD_COUNT]; /* by enum sl_field */
	char *class;
	char *set_dscp;
};

struct sl_filter_port_settings {
	uint32_t line;
	char *name;
};

struct sl_filter_list_settings {
	uint32_t line;
	char *name;
	int default_action;	   /* enum sl_filter_action */
	struct sl_yaml_list ports; /* of struct sl_filter_port_settings; none: all other ports */
	struct sl_yaml_list rules; /* of struct sl_filter_rule_settings */
	/* owned; the rules again, one for one, as sl_filters_settings_check reads them */
	struct sl_rule *parsed;
};

extern const struct sl_yaml_key sl_filter_list_keys[];

/*
 * Read the rules of all lists into `parsed`, and refuse what the schema cannot. 0; -EINVAL with one
 * line in error; -ENOMEM.
 */
int sl_filters_settings_check(struct sl_yaml_list *lists, const char *file_name,
			      char error[SL_YAML_ERROR_BYTES]);
void sl_filters_settings_free(struct sl_yaml_list *lists); /* what the schema does not own */

const struct sl_filter_list_settings *sl_filter_list(const struct sl_yaml_list *lists, uint32_t i);
const struct sl_filter_rule_settings *sl_filter_rule(const struct sl_filter_list_settings *list,
						     uint32_t i);
const char *sl_filter_port_name(const struct sl_filter_list_settings *list, uint32_t i);

/* The key of each field in the file, and "permit", "deny" or "kernel". */
extern const char *const sl_filter_field_names[SL_FIELD_COUNT];
const char *sl_filter_action_name(uint32_t action);

#endif
