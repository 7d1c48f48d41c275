/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/port/injector.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>

#include "bpf/abi/inject.h"
#include "rdma-bridge/port/inject.skel.h"
#include "user/lib/clock.h"

/*
 * Frames after which a test run lets the receivers work: as many as a NAPI poll takes. On a busy
 * processor a receiver takes only that many then, and the rest of a larger batch (the kernel allows
 * 256) would find a veth's ring full.
 */
#define RUN_BATCH_MAX 64
#define FRAME_BYTES   60 /* of a fresh page; the program lengthens it to the frame */
#define MASK	      (SL_INJECT_SLOTS - 1)
/* how long AF_XDP sends instead: page pools whose frames are in use keep their ids so long */
#define REST_NS 1000000000ULL

struct rb_injector {
	struct rb_inject_bpf *bpf;    /* owned */
	struct sl_inject_slot *slots; /* owned mapping */
	int anchor_fd;		      /* owned; the netdev that the program is attached to */
	bool counts;
	uint64_t rest_until_ns; /* no test run before; 0: the kernel allowed the last one */
};

struct rb_inject {
	struct rb_tx tx;
	struct rb_injector *injector;	/* borrowed */
	struct rb_tx *few;		/* borrowed */
	const struct rb_chunks *chunks; /* borrowed */
	uint32_t ifindex;
	bool few_waits; /* `few` still has frames to send */
	bool shut;
	struct rb_frame staged[SL_INJECT_SLOTS]; /* put and not yet flushed */
	uint32_t n_staged;
	uint64_t sent[SL_INJECT_SLOTS]; /* injected and not yet reaped */
	uint32_t n_sent;
};

/* --- The program --- */

/* Attach the program to a TAP that nobody uses and that goes with its descriptor. */
static int open_anchor(struct rb_injector *injector)
{
	struct ifreq request = { .ifr_name = "slinject%d", .ifr_flags = IFF_TAP | IFF_NO_PI };

	injector->anchor_fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (injector->anchor_fd < 0 || ioctl(injector->anchor_fd, TUNSETIFF, &request))
		return -errno;
	return bpf_xdp_attach((int)if_nametoindex(request.ifr_name),
			      bpf_program__fd(injector->bpf->progs.sl_inject), XDP_FLAGS_DRV_MODE,
			      NULL);
}

static int load(struct rb_injector *injector, bool counts)
{
	struct rb_inject_bpf *bpf = rb_inject_bpf__open();
	int err;

	if (!bpf)
		return -errno;
	bpf_program__set_autoload(bpf->progs.sl_inject_batch, counts);
	bpf_program__set_autoload(bpf->progs.sl_inject_refused, counts);
	err = rb_inject_bpf__load(bpf);
	if (!err && counts)
		err = rb_inject_bpf__attach(bpf);
	if (err) {
		rb_inject_bpf__destroy(bpf);
		return err;
	}
	injector->bpf = bpf;
	injector->counts = counts;
	return 0;
}

static int map_slots(struct rb_injector *injector)
{
	void *slots = mmap(NULL, SL_INJECT_SLOTS * sizeof(*injector->slots), PROT_READ | PROT_WRITE,
			   MAP_SHARED, bpf_map__fd(injector->bpf->maps.inject_slots), 0);

	if (slots == MAP_FAILED)
		return -errno;
	injector->slots = slots;
	return 0;
}

int rb_injector_open(struct rb_injector **out)
{
	struct rb_injector *injector = calloc(1, sizeof(*injector));
	struct stat pid_namespace;
	int err;

	*out = NULL;
	if (!injector)
		return -ENOMEM;
	injector->anchor_fd = -1;
	err = load(injector, true);
	if (err == -EPERM || err == -EACCES)
		err = load(injector, false);
	if (!err)
		err = map_slots(injector);
	if (!err)
		err = open_anchor(injector);
	if (!err && stat("/proc/self/ns/pid", &pid_namespace))
		err = -errno;
	if (err) {
		rb_injector_close(injector);
		return err;
	}
	injector->bpf->bss->pid_namespace_dev = pid_namespace.st_dev;
	injector->bpf->bss->pid_namespace_ino = pid_namespace.st_ino;
	*out = injector;
	return 0;
}

void rb_injector_close(struct rb_injector *injector)
{
	if (!injector)
		return;
	if (injector->anchor_fd >= 0)
		close(injector->anchor_fd);
	if (injector->slots)
		munmap(injector->slots, SL_INJECT_SLOTS * sizeof(*injector->slots));
	rb_inject_bpf__destroy(injector->bpf);
	free(injector);
}

bool rb_injector_counts(const struct rb_injector *injector)
{
	return injector->counts;
}

/*
 * Is the injector waiting for page pools? Each test run has a pool of its own, and the kernel has
 * 65,534 ids for the pools of the whole machine. When no id is left, AF_XDP sends for REST_NS.
 */
static bool rests(struct rb_injector *injector)
{
	if (injector->rest_until_ns && sl_now_ns() >= injector->rest_until_ns)
		injector->rest_until_ns = 0;
	return injector->rest_until_ns != 0;
}

/*
 * Send the n frames in the slots from `next` on. Returns how many the kernel took: fewer than n if
 * it has no memory or no pool.
 */
static uint32_t run(struct rb_injector *injector, uint32_t n)
{
	/* The kernel wants an input of at least an Ethernet header. */
	static const uint8_t frame[FRAME_BYTES];
	struct rb_inject_bpf__bss *bss = injector->bpf->bss;
	uint32_t first = bss->next, done = 0;

	bss->thread = (uint32_t)gettid();
	while (done < n) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = FRAME_BYTES,
			    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .repeat = (int)(n - done),
			    .batch_size = n - done < RUN_BATCH_MAX ? n - done : RUN_BATCH_MAX);
		int err = bpf_prog_test_run_opts(bpf_program__fd(injector->bpf->progs.sl_inject),
						 &opts);

		done = __atomic_load_n(&bss->next, __ATOMIC_ACQUIRE) - first;
		/* A signal ends a run early. */
		if (err == -ENOSPC)
			injector->rest_until_ns = sl_now_ns() + REST_NS;
		if (err && err != -EINTR)
			break;
	}
	return done;
}

/* --- A port --- */

static struct rb_inject *of(struct rb_tx *tx)
{
	return (struct rb_inject *)tx;
}

static void inject_closed(struct rb_tx *tx)
{
	(void)tx;
}

static uint32_t inject_room(struct rb_tx *tx)
{
	const struct rb_inject *inject = of(tx);

	return inject->shut ? 0 : SL_INJECT_SLOTS - inject->n_staged - inject->n_sent;
}

static uint32_t inject_put(struct rb_tx *tx, const struct rb_frame *frames, uint32_t n)
{
	struct rb_inject *inject = of(tx);

	if (n > inject_room(tx))
		n = inject_room(tx);
	memcpy(inject->staged + inject->n_staged, frames, n * sizeof(*frames));
	inject->n_staged += n;
	return n;
}

static void fill_slot(const struct rb_inject *inject, struct sl_inject_slot *slot,
		      const struct rb_frame *frame)
{
	slot->ifindex = inject->ifindex;
	slot->len_bytes = frame->len_bytes;
	/* The program refuses a frame that is too long for the kernel's pages, by its length. */
	if (frame->len_bytes <= SL_INJECT_FRAME_MAX_BYTES)
		memcpy(slot->frame, rb_chunk_data(inject->chunks, frame->offset), frame->len_bytes);
}

/* Forget the first n staged frames, which have left. */
static void unstage(struct rb_inject *inject, uint32_t n)
{
	inject->n_staged -= n;
	memmove(inject->staged, inject->staged + n, inject->n_staged * sizeof(*inject->staged));
}

static void inject_many(struct rb_inject *inject)
{
	struct rb_inject_bpf__bss *bss = inject->injector->bpf->bss;
	uint64_t refused = bss->refused;
	uint32_t done;

	for (uint32_t i = 0; i < inject->n_staged; i++)
		fill_slot(inject, &inject->injector->slots[(bss->next + i) & MASK],
			  &inject->staged[i]);
	done = run(inject->injector, inject->n_staged);
	inject->tx.refused += bss->refused - refused;
	for (uint32_t i = 0; i < done; i++)
		inject->sent[inject->n_sent++] = inject->staged[i].offset;
	unstage(inject, done);
}

/* Send what `few` has room for. Returns as rb_tx_ops.flush. */
static int send_few(struct rb_inject *inject)
{
	struct rb_tx *few = inject->few;
	int err;

	if (!inject->few_waits)
		unstage(inject, few->ops->put(few, inject->staged, inject->n_staged));
	err = few->ops->flush(few);
	inject->few_waits = err == -EAGAIN;
	return err;
}

/* Frames that `few` has not sent yet go first, so that order stays. */
static int inject_flush(struct rb_tx *tx)
{
	struct rb_inject *inject = of(tx);
	int err = 0;

	if (inject->shut)
		return 0;
	if (!inject->few_waits && inject->n_staged >= RB_INJECT_FEW && !rests(inject->injector))
		inject_many(inject);
	else
		err = send_few(inject);
	return !err && inject->n_staged ? -EAGAIN : err;
}

static uint32_t inject_reap(struct rb_tx *tx, uint64_t *offsets, uint32_t max)
{
	struct rb_inject *inject = of(tx);
	uint32_t n = 0;

	while (n < max && inject->n_sent > 0)
		offsets[n++] = inject->sent[--inject->n_sent];
	while (inject->shut && n < max && inject->n_staged > 0)
		offsets[n++] = inject->staged[--inject->n_staged].offset;
	return n < max ? n + inject->few->ops->reap(inject->few, offsets + n, max - n) : n;
}

static const struct rb_tx_ops inject_ops = {
	.name = "inject",
	.close = inject_closed,
	.room = inject_room,
	.put = inject_put,
	.flush = inject_flush,
	.reap = inject_reap,
};

int rb_inject_open(struct rb_injector *injector, uint32_t ifindex, struct rb_tx *few,
		   const struct rb_chunks *chunks, struct rb_inject **out)
{
	struct rb_inject *inject = calloc(1, sizeof(*inject));

	*out = inject;
	if (!inject)
		return -ENOMEM;
	inject->tx.ops = &inject_ops;
	inject->injector = injector;
	inject->few = few;
	inject->chunks = chunks;
	inject->ifindex = ifindex;
	return 0;
}

void rb_inject_close(struct rb_inject *inject)
{
	free(inject);
}

void rb_inject_shut(struct rb_inject *inject)
{
	if (inject)
		inject->shut = true;
}

struct rb_tx *rb_inject_tx(struct rb_inject *inject)
{
	return &inject->tx;
}
