/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/assembly/config_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct rb_config_reader {
	rb_config_load_fn load;
	const void *context;
	struct sl_settings *settings;
	int err;
	bool done; /* atomic: settings and err are set */
	pthread_t thread;
};

static void *run(void *context)
{
	struct rb_config_reader *r = context;

	r->err = r->load(r->context, &r->settings);
	__atomic_store_n(&r->done, true, __ATOMIC_RELEASE);
	return NULL;
}

int rb_config_reader_open(rb_config_load_fn load, const void *context,
			  struct rb_config_reader **out)
{
	struct rb_config_reader *r = calloc(1, sizeof(*r));
	int err = -ENOMEM;

	*out = NULL;
	if (!r)
		return err;
	r->load = load;
	r->context = context;
	err = -pthread_create(&r->thread, NULL, run, r);
	if (err)
		free(r);
	else
		*out = r;
	return err;
}

bool rb_config_reader_has_read(struct rb_config_reader *r, struct sl_settings **settings, int *err)
{
	if (!__atomic_load_n(&r->done, __ATOMIC_ACQUIRE))
		return false;
	*settings = r->settings;
	*err = r->err;
	r->settings = NULL;
	return true;
}

void rb_config_reader_close(struct rb_config_reader *r)
{
	if (!r)
		return;
	pthread_join(r->thread, NULL);
	if (r->settings)
		sl_settings_free(r->settings);
	free(r);
}
