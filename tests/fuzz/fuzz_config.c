/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Read any bytes as a configuration file: they give settings within their ranges, or one printable
 * line of error.
 */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "user/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_settings(const struct sl_settings *s)
{
	assert(s->engine < SL_ENGINE_COUNT);
	assert(s->log_level <= SL_LOG_DEBUG);
	assert(s->control.socket[0] == '/' && strlen(s->control.socket) < 108);
	assert(s->control.mode <= 0777);
	assert(s->pin_dir[0] == '/');
	for (uint32_t i = 0; i < s->ports.n; i++) {
		const struct sl_port_settings *port = sl_settings_port(s, i);

		assert(port->name[0] && strlen(port->name) < 16);
		assert(port->mode <= SL_XDP_GENERIC);
		assert(sl_settings_find_port(s, port->name) == port);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* of the exact size, so that the sanitizer sees a read beyond the end */
	char *text = malloc(size ? size : 1);
	char error[SL_YAML_ERROR_BYTES];
	struct sl_settings *settings;

	if (size)
		memcpy(text, data, size);
	if (sl_settings_parse("f", text, size, &settings, error)) {
		assert(!settings && strncmp(error, "f:", 2) == 0);
		for (const char *p = error; *p; p++)
			assert(isprint((unsigned char)*p));
	} else {
		assert(!error[0]);
		check_settings(settings);
	}
	sl_settings_free(settings);
	free(text);
	return 0;
}
