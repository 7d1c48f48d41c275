/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/transport/verbs/verbs_library.h"

#include <dlfcn.h>
#include <stdbool.h>

static bool find(void *handle, const char *name, void *out)
{
	/* POSIX recommends this conversion of dlsym's object pointer to a function pointer. */
	*(void **)out = dlsym(handle, name);
	return *(void **)out != NULL;
}

const struct rb_verbs_library *rb_verbs_library(void)
{
	static struct rb_verbs_library library;
	static bool tried, found;
	void *handle;

	if (tried)
		return found ? &library : NULL;
	tried = true;
	handle = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return NULL;
	found = find(handle, "_ibv_query_gid_table", &library.query_gid_table);
#define FIND(name, type, arguments) found = found && find(handle, "ibv_" #name, &library.name);
	RB_VERBS_FUNCTIONS(FIND)
	if (!found) {
		dlclose(handle);
		return NULL;
	}
	/* The bridge does not fork, but a library might. From Linux 5.12 on this does nothing. */
	library.fork_init();
	return &library;
}
