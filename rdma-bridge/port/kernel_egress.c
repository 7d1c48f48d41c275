/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/port/kernel_egress.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <bpf/libbpf.h>

#include "rdma-bridge/port/kernel_egress.skel.h"

/* Where the filter stands among those of the netdev: other programs' filters stay. */
#define PRIORITY 0x51ce
#define HANDLE	 1

struct rb_kernel_egress {
	struct rb_tap *tap;		  /* owned */
	struct rb_kernel_egress_bpf *bpf; /* owned */
	uint32_t ifindex;		  /* the netdev that has the program; 0: none */
};

/* libbpf says on standard error what it could not find; that is nothing to anybody here. */
static int silent(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static int detach(uint32_t ifindex)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex,
			    .attach_point = BPF_TC_EGRESS);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, filter, .handle = HANDLE, .priority = PRIORITY);
	libbpf_print_fn_t print = libbpf_set_print(silent);
	int err = bpf_tc_detach(&hook, &filter);

	libbpf_set_print(print);
	return err;
}

int rb_kernel_egress_open(uint8_t number, const struct rb_maps *maps, struct rb_chunks *chunks,
			  struct sl_counter *counters, struct rb_kernel_egress **out)
{
	struct rb_kernel_egress *kernel = calloc(1, sizeof(*kernel));
	char name[IF_NAMESIZE];
	int err;

	*out = NULL;
	if (!kernel)
		return -ENOMEM;
	snprintf(name, sizeof(name), "slkernel%u", number);
	err = rb_tap_create(name, maps, chunks, counters, &kernel->tap);
	if (err)
		goto out;
	kernel->bpf = rb_kernel_egress_bpf__open_and_load();
	if (!kernel->bpf) {
		err = -errno;
		goto out;
	}
	kernel->bpf->bss->tap_ifindex = if_nametoindex(name);
	kernel->bpf->bss->frame_max_bytes = rb_chunk_bytes(chunks) - RB_CHUNK_HEADROOM_BYTES;
	*out = kernel;
	return 0;
out:
	rb_kernel_egress_close(kernel);
	return err;
}

void rb_kernel_egress_close(struct rb_kernel_egress *kernel)
{
	if (!kernel)
		return;
	rb_kernel_egress_detach(kernel);
	rb_kernel_egress_bpf__destroy(kernel->bpf);
	rb_tap_close(kernel->tap);
	free(kernel);
}

struct rb_tap *rb_kernel_egress_tap(struct rb_kernel_egress *kernel)
{
	return kernel->tap;
}

int rb_kernel_egress_attach(struct rb_kernel_egress *kernel, uint32_t ifindex)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex,
			    .attach_point = BPF_TC_EGRESS);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, filter, .handle = HANDLE, .priority = PRIORITY,
			    .flags = BPF_TC_F_REPLACE,
			    .prog_fd = bpf_program__fd(kernel->bpf->progs.sl_kernel_egress));
	libbpf_print_fn_t print = libbpf_set_print(silent);
	int err = bpf_tc_hook_create(&hook);

	libbpf_set_print(print);
	if (err && err != -EEXIST)
		return err;
	err = bpf_tc_attach(&hook, &filter);
	if (!err)
		kernel->ifindex = ifindex;
	return err;
}

void rb_kernel_egress_detach(struct rb_kernel_egress *kernel)
{
	if (kernel->ifindex)
		detach(kernel->ifindex);
	kernel->ifindex = 0;
}

void rb_kernel_egress_forget(uint32_t ifindex)
{
	detach(ifindex);
}

void rb_kernel_egress_alive(struct rb_kernel_egress *kernel, uint64_t until_ns)
{
	kernel->bpf->bss->alive_until_ns = until_ns;
}
