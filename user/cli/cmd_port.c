/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice attach PORT, sluice detach PORT */
#include <stdio.h>

#include "user/cli/cmd.h"

static int change(const struct sl_cmd_options *options, const char *command, int argc, char **argv)
{
	int status;

	if (argc != 1) {
		fprintf(stderr, "sluice: %s: write one port, such as eth1\n", command);
		return SL_EXIT_USAGE;
	}
	status = sl_cmd_ask(options, json_pack("{s:s, s:s}", "command", command, "port", argv[0]),
			    NULL, NULL);
	if (options->json)
		puts(status == SL_EXIT_OK ? "{\"ok\": true}" : "{\"ok\": false}");
	else if (status == SL_EXIT_OK)
		printf("%s: %sed\n", argv[0], command);
	return status;
}

int sl_cmd_attach(const struct sl_cmd_options *options, int argc, char **argv)
{
	return change(options, "attach", argc, argv);
}

int sl_cmd_detach(const struct sl_cmd_options *options, int argc, char **argv)
{
	return change(options, "detach", argc, argv);
}
