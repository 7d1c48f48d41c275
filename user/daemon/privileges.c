/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/daemon/privileges.h"

/*
 * CAP_SYS_ADMIN stands in for CAP_BPF and CAP_PERFMON, as in the kernel's bpf_capable() and
 * perfmon_capable().
 */
static const struct {
	const char *name;
	unsigned int cap;
	bool admin_will_do;
} needed[] = {
	{ "CAP_BPF (load programs and maps)", CAP_BPF, true },
	{ "CAP_PERFMON (verifier: pointers into packets)", CAP_PERFMON, true },
	{ "CAP_NET_ADMIN (attach XDP, follow routes)", CAP_NET_ADMIN, false },
};

int sl_privileges_missing(char *out, size_t out_bytes)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	uint64_t effective;
	size_t used = 0;

	out[0] = '\0';
	/* libc has no wrapper, and one call is not worth a dependency on libcap. */
	if (syscall(SYS_capget, &header, data))
		return -errno;
	effective = data[0].effective | (uint64_t)data[1].effective << 32;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]) && used < out_bytes; i++) {
		uint64_t enough = UINT64_C(1) << needed[i].cap;

		if (needed[i].admin_will_do)
			enough |= UINT64_C(1) << CAP_SYS_ADMIN;
		if (!(effective & enough))
			used += (size_t)snprintf(out + used, out_bytes - used, "%s%s",
						 used ? ", " : "", needed[i].name);
	}
	return 0;
}
