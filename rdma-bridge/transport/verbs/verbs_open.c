/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of the transports on verbs, and the words for what the device says. */
#include "rdma-bridge/transport/verbs/verbs.h"

#include <errno.h>
#include <stddef.h>

#include "rdma-bridge/transport/verbs/verbs_rc.h"
#include "rdma-bridge/transport/verbs/verbs_ud.h"

typedef int (*open_fn)(const struct rb_verbs_config *config, struct rb_transport **out);

static const open_fn open_by_kind[] = {
	[RB_VERBS_UD] = rb_verbs_ud_open,
	[RB_VERBS_RC] = rb_verbs_rc_open,
};

int rb_verbs_open(const struct rb_verbs_config *config, struct rb_transport **out)
{
	return open_by_kind[config->kind](config, out);
}

const char *rb_verbs_problem(int err)
{
	switch (-err) {
	case ENOSYS:
		return "libibverbs is not installed: package libibverbs1";
	case ENODEV:
		return "no RDMA device has this address: see `rdma link` and `ibv_devinfo -v`";
	case EPROTONOSUPPORT:
		return "the RDMA device has this address for RoCE v1 only";
	case ENETDOWN:
		return "the port of the RDMA device is not active";
	case EPERM:
	case EACCES:
		return "no access to /dev/infiniband, or too little locked memory (ulimit -l)";
	default:
		return NULL;
	}
}

const char *rb_verbs_status_name(uint32_t status)
{
#define NAME(name) name,
	static const char *const names[] = { RB_VERBS_STATUSES(NAME) };

	return names[status];
}
