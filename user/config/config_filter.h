/* SPDX-License-Identifier: BSD-2-Clause */
/* The part `filters:` of the configuration: lists of rules, and the ports that they are for. */
#ifndef SL_CONFIG_FILTER_H
#define SL_CONFIG_FILTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "user/classify/rule.h"
#include "user/text/yaml.h"

/* The keys of a policer */
enum sl_police_key {
	SL_POLICE_RATE,
	SL_POLICE_BURST,
	SL_POLICE_EXCESS_BURST,
	SL_POLICE_PEAK_RATE,
	SL_POLICE_PEAK_BURST,
	SL_POLICE_EXCEED_DSCP,
	SL_POLICE_KEYS
};
extern const char *const sl_police_key_names[SL_POLICE_KEYS];

/* The keys of what a rule reserves for each of its flows */
enum sl_reserve_key { SL_RESERVE_RATE, SL_RESERVE_IDLE, SL_RESERVE_FLOWS, SL_RESERVE_KEYS };
extern const char *const sl_reserve_key_names[SL_RESERVE_KEYS];

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
	char *next_hop;
	char *table;
	char *chain;
	char *mirror;
	char *sample;
	char *police[SL_POLICE_KEYS];
	char *reserve[SL_RESERVE_KEYS];
};

struct sl_filter_port_settings {
	uint32_t line;
	char *name;
};

/* Where a list comes from, which says when it goes. */
enum sl_filter_origin {
	SL_ORIGIN_FILE,	   /* the configuration file: until a reload says otherwise */
	SL_ORIGIN_CHANGED, /* the same, changed by a command: until the next reload or restart */
	SL_ORIGIN_COMMAND, /* a command: until another deletes it */
};

struct sl_filter_list_settings {
	uint32_t line;
	enum sl_filter_origin origin;
	char *name;
	int default_action;	   /* enum sl_filter_action */
	struct sl_yaml_list ports; /* of struct sl_filter_port_settings; none: all other ports */
	bool for_flows;		   /* of no port: exact flows name its rules */
	struct sl_yaml_list rules; /* of struct sl_filter_rule_settings */
	/* owned; the rules again, one for one, as sl_filters_settings_check reads them */
	struct sl_rule *parsed;
};

extern const struct sl_yaml_key sl_filter_list_keys[];

/*
 * Read the rules of all lists into `parsed`, unless that is done, and refuse what the schema
 * cannot. 0; -EINVAL with one line in error; -ENOMEM.
 */
int sl_filters_settings_check(struct sl_yaml_list *lists, const char *file_name,
			      char error[SL_YAML_ERROR_BYTES]);
void sl_filters_settings_free(struct sl_yaml_list *lists); /* what the schema does not own */

/*
 * Read a text that has a key `filters` alone, as YAML or JSON, unchecked but for the schema. 0;
 * -EINVAL with one line in error; -ENOMEM. The caller calls sl_filters_free in every case.
 */
int sl_filters_parse(const char *file_name, const char *text, size_t text_bytes,
		     struct sl_yaml_list *out, char error[SL_YAML_ERROR_BYTES]);
void sl_filters_free(struct sl_yaml_list *lists);
/* Free what one list holds, but not its place in the array. */
void sl_filter_list_free(struct sl_filter_list_settings *list);
/* The list as it could stand in the file; a new reference, or NULL: not enough memory. */
json_t *sl_filter_list_json(const struct sl_filter_list_settings *list);
/* Write the same as text. */
void sl_filter_list_write(FILE *f, const struct sl_filter_list_settings *list);
const struct sl_filter_list_settings *sl_filters_find(const struct sl_yaml_list *lists,
						      const char *name); /* or NULL */

const struct sl_filter_list_settings *sl_filter_list(const struct sl_yaml_list *lists, uint32_t i);
const struct sl_filter_rule_settings *sl_filter_rule(const struct sl_filter_list_settings *list,
						     uint32_t i);
const char *sl_filter_port_name(const struct sl_filter_list_settings *list, uint32_t i);

/* The key of each field in the file, and the word for an action. */
extern const char *const sl_filter_field_names[SL_FIELD_COUNT];
const char *sl_filter_action_name(uint32_t action);
const char *sl_filter_origin_name(enum sl_filter_origin origin); /* "file", "changed", "command" */

#endif
