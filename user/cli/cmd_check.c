/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice check FILE */
#include <stdio.h>

#include "user/config/check_host.h"
#include "user/cli/cmd.h"
#include "user/config/config.h"

int sl_cmd_check(const struct sl_cmd_options *options, int argc, char **argv)
{
	const char *path = argc > 0 ? argv[0] : SL_CONFIG_DEFAULT_PATH;
	char error[SL_YAML_ERROR_BYTES] = "", warning[SL_YAML_ERROR_BYTES];
	struct sl_settings *settings;
	bool doubtful;
	int err;

	if (argc > 1) {
		fprintf(stderr, "sluice: check: write one file\n");
		return SL_EXIT_USAGE;
	}
	err = sl_settings_load(path, &settings, error);
	if (!err)
		err = sl_settings_check_ports(settings, error);
	if (!err)
		err = sl_check_cluster(settings, error);
	doubtful = !err && sl_doubt_cluster(settings, warning);
	if (options->json) {
		json_t *answer =
			json_pack("{s:s, s:b, s:s*, s:s*}", "file", path, "ok", !err, "error",
				  err ? error : NULL, "warning", doubtful ? warning : NULL);

		sl_cmd_dump(answer);
		json_decref(answer);
	} else if (err) {
		fprintf(stderr, "sluice: %s\n", error);
	} else {
		printf("%s: ok\n", path);
		if (doubtful)
			fprintf(stderr, "sluice: %s\n", warning);
	}
	sl_settings_free(settings);
	return err ? SL_EXIT_USAGE : SL_EXIT_OK;
}
