/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/reserve/reserve_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/lib/log.h"
#include "user/reserve/flow_words.h"

/* The request that made a reservation; a new reference. */
static json_t *request_of(const struct sl_reservation *v)
{
	json_t *request =
		json_pack("{s:o, s:o, s:b}", "flow", sl_flow_json(&v->flow), "rate",
			  json_sprintf("%" PRIu64 "bit", 8 * v->rate_Bps), "pin", v->pinned);

	if (request && v->netdev[0])
		json_object_set_new(request, "port", json_string(v->netdev));
	return request;
}

int sl_reserve_file_write(struct sl_reservation *const *reservations, uint32_t n)
{
	static const char temporary[] = SL_RESERVES_PATH ".new";
	json_t *all = json_array();
	mode_t mask = umask(077);
	int err = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!reservations[i]->refresh_s && !reservations[i]->rule_plus1)
			json_array_append_new(all, request_of(reservations[i]));
	if (!json_array_size(all))
		err = unlink(SL_RESERVES_PATH) && errno != ENOENT ? -errno : 0;
	else if (json_dump_file(all, temporary, JSON_INDENT(1)))
		err = -EIO;
	else if (rename(temporary, SL_RESERVES_PATH))
		err = -errno;
	umask(mask);
	json_decref(all);
	return err;
}

json_t *sl_reserve_file_read(void)
{
	json_error_t why;
	json_t *all;

	if (access(SL_RESERVES_PATH, F_OK))
		return json_array();
	all = json_load_file(SL_RESERVES_PATH, 0, &why);
	if (json_is_array(all))
		return all;
	sl_error(SL_RESERVES_PATH ": %s: reserved flows of before are forgotten",
		 all ? "it is not a list" : why.text);
	json_decref(all);
	return json_array();
}
