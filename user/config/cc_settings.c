/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/config/cc_settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES 64

const char *sl_cc_names(void)
{
	static char names[256];
	size_t n = 0;

	for (const struct cc_ops *const *ops = cc_algorithms; *ops; ops++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "",
				      (*ops)->name);
	return names;
}

int sl_cc_settings_init(struct sl_cc_settings *s, const char *controller)
{
	*s = (struct sl_cc_settings){ .interval_us = SL_CC_INTERVAL_DEFAULT_US,
				      .frame_bytes = SL_CC_FRAME_DEFAULT_BYTES };
	memset(s->node_weight, 1, sizeof(s->node_weight));
	return sl_cc_settings_switch(s, controller);
}

int sl_cc_settings_switch(struct sl_cc_settings *s, const char *controller)
{
	const struct cc_ops *ops = cc_lookup(controller);

	if (!ops)
		return -ENOENT;
	if (ops == s->ops)
		return 0;
	s->ops = ops;
	memset(s->param, 0, sizeof(s->param));
	for (uint32_t i = 0; i < ops->n_params; i++)
		s->param[i] = ops->params[i].value;
	return 0;
}

static int refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(char *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, SL_CC_WHY_BYTES, format, args);
	va_end(args);
	return -EINVAL;
}

static int out_of_range(char *why, const char *name, int64_t min, int64_t max)
{
	return refuse(why, "%s is a whole number from %lld to %lld", name, (long long)min,
		      (long long)max);
}

static int parse_number(const char *text, int64_t min, int64_t max, int64_t *out)
{
	long long number;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	number = strtoll(text, &end, 10);
	if (*end || errno || number < min || number > max)
		return -ERANGE;
	*out = number;
	return 0;
}

/* 12 of "node12.weight" with prefix "node"; -1: the name is something else. */
static int weight_of(const char *name, const char *prefix, int max)
{
	size_t n = strlen(prefix);
	char *end;
	long index;

	if (strncmp(name, prefix, n) != 0 || !isdigit((unsigned char)name[n]))
		return -1;
	index = strtol(name + n, &end, 10);
	return strcmp(end, ".weight") == 0 && index <= max ? (int)index : -1;
}

static int set_weight(uint8_t *weight, const char *name, const char *value, char *why)
{
	int64_t number;

	if (parse_number(value, 1, CC_WEIGHT_MAX, &number))
		return out_of_range(why, name, 1, CC_WEIGHT_MAX);
	*weight = (uint8_t)number;
	return 0;
}

static int set_u32(uint32_t *field, const char *name, const char *value, uint32_t min, uint32_t max,
		   char *why)
{
	int64_t number;

	if (parse_number(value, min, max, &number))
		return out_of_range(why, name, min, max);
	*field = (uint32_t)number;
	return 0;
}

static int unknown(const struct cc_ops *ops, const char *name, char *why)
{
	int n = snprintf(why, SL_CC_WHY_BYTES, "%s has no parameter \"%s\": write one of ",
			 ops->name, name);

	for (uint32_t i = 0; i < ops->n_params && n < SL_CC_WHY_BYTES; i++)
		n += snprintf(why + n, (size_t)(SL_CC_WHY_BYTES - n), "%s, ", ops->params[i].name);
	if (n < SL_CC_WHY_BYTES)
		snprintf(why + n, (size_t)(SL_CC_WHY_BYTES - n),
			 "interval_us, frame_bytes or nodeN.weight");
	return -EINVAL;
}

static int set_param(struct sl_cc_settings *s, const char *name, const char *value, char *why)
{
	for (uint32_t i = 0; i < s->ops->n_params; i++) {
		const struct cc_param *p = &s->ops->params[i];

		if (strcmp(p->name, name) != 0)
			continue;
		return parse_number(value, p->min, p->max, &s->param[i])
			       ? out_of_range(why, name, p->min, p->max)
			       : 0;
	}
	return unknown(s->ops, name, why);
}

int sl_cc_settings_set(struct sl_cc_settings *s, const char *word, char why[SL_CC_WHY_BYTES])
{
	const char *value = strchr(word, '=');
	char name[WORD_BYTES];
	int index;

	if (!value || value == word || (size_t)(value - word) >= sizeof(name))
		return refuse(why, "\"%.64s\" is no parameter: write name=value", word);
	memcpy(name, word, (size_t)(value - word));
	name[value - word] = '\0';
	value++;
	if (strcmp(name, "interval_us") == 0)
		return set_u32(&s->interval_us, name, value, SL_CC_INTERVAL_MIN_US,
			       SL_CC_INTERVAL_MAX_US, why);
	if (strcmp(name, "frame_bytes") == 0)
		return set_u32(&s->frame_bytes, name, value, 60, 65535, why);
	index = weight_of(name, "node", 255);
	if (index > 0)
		return set_weight(&s->node_weight[index], name, value, why);
	if (weight_of(name, "class", SL_CLASSES - 1) >= 0)
		return refuse(why,
			      "\"%s\" is no parameter: classes share a port by the weights of its "
			      "queues: write `queues` of the port",
			      name);
	return set_param(s, name, value, why);
}

int sl_cc_settings_set_all(struct sl_cc_settings *s, const char *words, char why[SL_CC_WHY_BYTES])
{
	static const char blanks[] = " \t\n";
	char word[2 * WORD_BYTES];

	for (words += strspn(words, blanks); *words; words += strspn(words, blanks)) {
		size_t n = strcspn(words, blanks);
		int err;

		if (n >= sizeof(word))
			return refuse(why, "\"%.64s\" is no parameter: write name=value", words);
		memcpy(word, words, n);
		word[n] = '\0';
		words += n;
		err = sl_cc_settings_set(s, word, why);
		if (err)
			return err;
	}
	return 0;
}

int sl_cc_settings_text(const struct sl_cc_settings *s, char **out)
{
	size_t bytes;
	FILE *f = open_memstream(out, &bytes);

	if (!f)
		return -ENOMEM;
	fputs(s->ops->name, f);
	for (uint32_t i = 0; i < s->ops->n_params; i++)
		if (s->param[i] != s->ops->params[i].value)
			fprintf(f, " %s=%lld", s->ops->params[i].name, (long long)s->param[i]);
	if (s->interval_us != SL_CC_INTERVAL_DEFAULT_US)
		fprintf(f, " interval_us=%u", s->interval_us);
	if (s->frame_bytes != SL_CC_FRAME_DEFAULT_BYTES)
		fprintf(f, " frame_bytes=%u", s->frame_bytes);
	for (int i = 1; i < 256; i++)
		if (s->node_weight[i] != 1)
			fprintf(f, " node%d.weight=%u", i, s->node_weight[i]);
	return fclose(f) ? -ENOMEM : 0;
}

int sl_cc_settings_read(struct sl_cc_settings *s, const char *text, char why[SL_CC_WHY_BYTES])
{
	size_t n = strcspn(text, " ");
	char name[CC_NAME_BYTES];
	int err;

	snprintf(name, sizeof(name), "%.*s", (int)n, text);
	if (sl_cc_settings_init(s, name))
		return refuse(why, "\"%s\" is not a controller: write one of %s", name,
			      sl_cc_names());
	err = sl_cc_settings_set_all(s, text + n, why);
	return err ? err : sl_cc_settings_check(s, why);
}

int sl_cc_settings_check(const struct sl_cc_settings *s, char why[SL_CC_WHY_BYTES])
{
	const struct cc_port port = {
		.capacity_ups = 1000000,
		.line_ups = 10000000,
		.interval_ns = s->interval_us * 1000,
		.frame_bytes = s->frame_bytes,
		.units = CC_PACKETS,
		.sources = 2,
	};
	struct cc_config config;
	const char *text;

	if (sl_cc_settings_config(s, &port, &config, &text) == 0)
		return 0;
	return refuse(why, "%s does not work with these parameters: %s", s->ops->name,
		      text ? text : "a value is out of its range");
}

int sl_cc_settings_config(const struct sl_cc_settings *s, const struct cc_port *port,
			  struct cc_config *out, const char **why)
{
	int err = cc_config_init(out, s->ops->name, port);

	*why = err ? "the port's rate or interval is out of range" : NULL;
	if (err)
		return err;
	for (uint32_t i = 0; i < s->ops->n_params; i++)
		out->param[i] = s->param[i];
	return cc_config_prepare(out, why);
}
