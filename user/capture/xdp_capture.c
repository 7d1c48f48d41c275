/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "user/capture/xdp_capture.h"
#include "user/datapath/bpf_object.h"

#define MAPS_OF_A_PROGRAM_MAX 64

/* Maps that all objects share; the first that is loaded makes them. */
static const char *const shared_names[] = { "sl_capture_ring", "sl_capture_ports",
					    "sl_capture_counts", "sl_capture_state" };
enum { RING, PORTS, COUNTS, STATE, N_SHARED };

/* Tracing programs around one XDP program. */
struct traced {
	uint32_t prog_id;
	struct bpf_object *object; /* owned */
	struct bpf_link *links[2]; /* owned */
};

struct sl_xdp_capture {
	char object_path[4096];
	const char *const *wanted; /* borrowed until close; none: all */
	uint32_t n_wanted;
	uint32_t snap_bytes, sampling;
	struct sl_capture_filter filter;
	uint64_t netns_cookie;
	int shared[N_SHARED]; /* owned by the first object */
	uint32_t n_cpus;

	struct sl_capture_port *port; /* owned; by slot */
	uint32_t n_ports;
	struct traced *traced; /* owned; the first is of no XDP program: sl_capture_sent */
	uint32_t n_traced;
	char blind[512];

	struct perf_buffer *ring; /* owned */
	sl_capture_on_record on_record;
	void *arg;
};

__attribute__((format(printf, 2, 3))) static void say(struct sl_capture_error *error,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
}

static int netns_cookie(uint64_t *cookie)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;
	socklen_t len = sizeof(*cookie);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &len))
		err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

/* --- Tracing programs --- */

static int open_object(const struct sl_xdp_capture *c, bool fabric, struct bpf_object **out)
{
	const struct sl_capture_config config = {
		.netns_cookie = c->netns_cookie,
		.snap_bytes = c->snap_bytes,
		.fabric = fabric,
		.sampling = c->sampling,
	};
	int err = sl_bpf_object_open(c->object_path, out);

	if (!err)
		err = sl_bpf_object_set_rodata(*out, "sl_capture_config", &config, sizeof(config));
	if (!err)
		err = sl_bpf_object_set_rodata(*out, "sl_capture_filter", &c->filter,
					       sizeof(c->filter));
	for (int i = 0; !err && i < N_SHARED && c->n_traced; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(*out, shared_names[i]);

		err = map ? bpf_map__reuse_fd(map, c->shared[i]) : -EINVAL;
	}
	return err;
}

/* Let the object read the drops and punts that the XDP program counts. */
static int use_counters(struct bpf_object *object, int prog_fd)
{
	uint32_t ids[MAPS_OF_A_PROGRAM_MAX] = { 0 }, len, n;
	struct bpf_prog_info info = { .map_ids = (uintptr_t)ids,
				      .nr_map_ids = MAPS_OF_A_PROGRAM_MAX };
	int err;

	len = sizeof(info);
	err = bpf_obj_get_info_by_fd(prog_fd, &info, &len);
	n = info.nr_map_ids < MAPS_OF_A_PROGRAM_MAX ? info.nr_map_ids : MAPS_OF_A_PROGRAM_MAX;
	for (uint32_t i = 0; !err && i < n; i++) {
		struct bpf_map_info map_info = { 0 };
		int fd = bpf_map_get_fd_by_id(ids[i]);

		len = sizeof(map_info);
		err = fd < 0 ? fd : bpf_obj_get_info_by_fd(fd, &map_info, &len);
		if (!err && (strcmp(map_info.name, "sl_drops") == 0 ||
			     strcmp(map_info.name, "sl_punts") == 0))
			err = bpf_map__reuse_fd(bpf_object__find_map_by_name(object, map_info.name),
						fd);
		if (fd >= 0)
			close(fd);
	}
	return err;
}

static void traced_close(struct traced *t)
{
	for (int i = 0; i < 2; i++)
		bpf_link__destroy(t->links[i]);
	bpf_object__close(t->object);
	*t = (struct traced){ 0 };
}

static const char *const around_xdp[] = { "sl_capture_in", "sl_capture_end" };

static struct bpf_program *program_of(const struct traced *t, const char *name)
{
	return bpf_object__find_program_by_name(t->object, name);
}

static int attach(struct traced *t, int i, const char *name)
{
	t->links[i] = bpf_program__attach(program_of(t, name));
	return t->links[i] ? 0 : -errno;
}

/* Trace the program of a port; prog_fd stays the caller's. */
static int trace_xdp(const struct sl_xdp_capture *c, struct traced *t, int prog_fd,
		     const char *function, bool fabric)
{
	int err = open_object(c, fabric, &t->object);

	if (!err)
		err = bpf_program__set_autoload(program_of(t, "sl_capture_sent"), false);
	if (!err && !fabric)
		err = use_counters(t->object, prog_fd);
	for (int i = 0; !err && i < 2; i++)
		err = bpf_program__set_attach_target(program_of(t, around_xdp[i]), prog_fd,
						     function);
	if (!err)
		err = bpf_object__load(t->object);
	/* The end first: a beginning without an end would be waited for. */
	for (int i = 1; !err && i >= 0; i--)
		err = attach(t, i, around_xdp[i]);
	return err;
}

/* The first object: it makes the maps, and sees what AF_XDP sockets send, if the kernel lets it. */
static int trace_sockets(struct sl_xdp_capture *c, bool with_program)
{
	struct traced *t = &c->traced[0];
	int err = open_object(c, false, &t->object);

	for (int i = 0; !err && i < 2; i++)
		err = bpf_program__set_autoload(program_of(t, around_xdp[i]), false);
	if (!err)
		err = bpf_program__set_autoload(program_of(t, "sl_capture_sent"), with_program);
	if (!err)
		err = bpf_object__load(t->object);
	if (!err && with_program)
		err = attach(t, 0, "sl_capture_sent");
	if (err)
		traced_close(t);
	return err;
}

static int make_maps(struct sl_xdp_capture *c, struct sl_capture_error *error)
{
	int err;

	c->traced = calloc(1, sizeof(*c->traced));
	if (!c->traced)
		return -ENOMEM;
	err = trace_sockets(c, !c->sampling);
	if (err && !c->sampling) {
		snprintf(c->blind, sizeof(c->blind), "%s: %.400s", strerror(-err),
			 sl_bpf_object_said());
		err = trace_sockets(c, false);
	}
	if (err) {
		say(error, "%s cannot be loaded: %s: %s", c->object_path, strerror(-err),
		    sl_bpf_object_said());
		return err;
	}
	c->n_traced = 1;
	for (int i = 0; i < N_SHARED; i++)
		c->shared[i] =
			bpf_object__find_map_fd_by_name(c->traced[0].object, shared_names[i]);
	return 0;
}

static bool is_traced(const struct sl_xdp_capture *c, uint32_t prog_id)
{
	for (uint32_t i = 0; i < c->n_traced; i++)
		if (c->traced[i].prog_id == prog_id)
			return true;
	return false;
}

static int trace_port(struct sl_xdp_capture *c, const struct sl_capture_port *port,
		      struct sl_capture_error *error)
{
	struct traced new = { .prog_id = port->prog_id }, *more;
	char function[16];
	int fd, err = 0;

	if (is_traced(c, port->prog_id))
		return 0;
	more = realloc(c->traced, (c->n_traced + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	c->traced = more;
	fd = sl_capture_program_open(port->prog_id, function);
	err = fd < 0 ? fd : trace_xdp(c, &new, fd, function, port->fabric);
	if (fd >= 0)
		close(fd);
	if (err) {
		say(error, "the kernel does not let the XDP program of \"%s\" be traced: %s: %s",
		    port->name, strerror(-err), sl_bpf_object_said());
		traced_close(&new);
		return err;
	}
	c->traced[c->n_traced++] = new;
	return 0;
}

/* --- Ports --- */

/* The port is captured under its slot, an old one if the netdev had one. */
static int add_port(struct sl_xdp_capture *c, const struct sl_capture_port *port)
{
	struct sl_capture_port *more;
	uint32_t slot;

	for (slot = 0; slot < c->n_ports; slot++)
		if (c->port[slot].ifindex == port->ifindex)
			break;
	if (slot == SL_CAPTURE_PORTS_MAX)
		return -E2BIG;
	if (slot == c->n_ports) {
		more = realloc(c->port, (slot + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		c->port = more;
		c->n_ports++;
	}
	c->port[slot] = *port;
	return bpf_map_update_elem(c->shared[PORTS], &port->ifindex, &slot, BPF_ANY);
}

static bool is_wanted(const struct sl_xdp_capture *c, const char *name)
{
	for (uint32_t i = 0; i < c->n_wanted; i++)
		if (strcmp(c->wanted[i], name) == 0)
			return true;
	return c->n_wanted == 0;
}

/* Programs that no port runs any more: their links keep them alive. */
static void forget_old(struct sl_xdp_capture *c, const struct sl_capture_port *found, uint32_t n)
{
	uint32_t kept = 1;

	for (uint32_t i = 1; i < c->n_traced; i++) {
		bool runs = false;

		for (uint32_t k = 0; k < n; k++)
			runs |= found[k].prog_id == c->traced[i].prog_id;
		if (runs)
			c->traced[kept++] = c->traced[i];
		else
			traced_close(&c->traced[i]);
	}
	c->n_traced = kept;
}

/*
 * All programs of this namespace are traced, not only those of the ports wanted: a frame leaves by
 * a port that it did not enter by, and a drop's reason is known only if all who count are seen.
 */
static int follow(struct sl_xdp_capture *c, struct sl_capture_error *error)
{
	struct sl_capture_port *found;
	uint32_t n;
	int err = sl_capture_port_list(&found, &n);

	if (err)
		say(error, "the netdevs' XDP programs cannot be listed: %s", strerror(-err));
	for (uint32_t i = 0; !err && i < n; i++) {
		if (c->sampling && found[i].fabric)
			continue;
		if (is_wanted(c, found[i].name))
			err = add_port(c, &found[i]);
		if (err)
			say(error, "\"%s\" cannot be captured: %s", found[i].name, strerror(-err));
		else
			err = trace_port(c, &found[i], error);
	}
	if (!err)
		forget_old(c, found, n);
	free(found);
	return err;
}

bool sl_xdp_capture_follow(struct sl_xdp_capture *c, struct sl_capture_error *error)
{
	error->text[0] = '\0';
	return follow(c, error) == 0;
}

/* n = 0: is there any port at all? */
static int check_wanted(const char *const *wanted, uint32_t n, struct sl_capture_error *error)
{
	struct sl_capture_port port, *all = NULL;
	const char *name = n ? wanted[0] : "all";
	uint32_t n_all = 0;
	int err = 0;

	for (uint32_t i = 0; !err && i < n; i++) {
		name = wanted[i];
		err = sl_capture_port_find(name, &port);
	}
	if (!n)
		err = sl_capture_port_list(&all, &n_all);
	free(all);
	if (!err && !n && !n_all) {
		err = -ENOENT;
		say(error, "no netdev here runs an XDP program of sluice's: is sluiced running, in "
			   "this network namespace?");
	} else if (err == -ENODEV) {
		say(error, "\"%s\" is not a netdev here: write one that `ip link` shows, or all",
		    name);
	} else if (err == -ENOENT) {
		say(error, "\"%s\" runs no XDP program: what it forwards, tcpdump sees", name);
	} else if (err == -EBUSY) {
		say(error, "\"%s\" runs an XDP program that is not sluice's", name);
	} else if (err == -EPERM) {
		say(error, "you may not look at XDP programs: be root");
	} else if (err) {
		say(error, "\"%s\" cannot be asked for its XDP program: %s", name, strerror(-err));
	}
	return err;
}

/* --- The ring --- */

struct sample {
	struct perf_event_header header;
	uint32_t bytes;
	uint8_t data[];
} __attribute__((packed));

static enum bpf_perf_event_ret on_event(void *arg, int cpu, struct perf_event_header *event)
{
	struct sl_xdp_capture *c = arg;
	const struct sample *sample = (const void *)event;
	struct sl_captured record;

	/* Of lost records the programs know more than the ring does. */
	if (event->type != PERF_RECORD_SAMPLE || sample->bytes < sizeof(record))
		return LIBBPF_PERF_EVENT_CONT;
	memcpy(&record, sample->data, sizeof(record));
	if (record.copied_bytes <= sample->bytes - sizeof(record))
		c->on_record(c->arg, cpu, &record, sample->data + sizeof(record));
	return LIBBPF_PERF_EVENT_CONT;
}

static int open_ring(struct sl_xdp_capture *c, uint32_t ring_bytes, struct sl_capture_error *error)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.watermark = 1,
	};
	uint32_t page_bytes = (uint32_t)sysconf(_SC_PAGESIZE), pages = 1;
	int err;

	while (pages * page_bytes < ring_bytes)
		pages *= 2;
	/* The reader comes by itself every few milliseconds; wake it only when there is much. */
	attr.wakeup_watermark = pages * page_bytes / 4;
	c->ring = perf_buffer__new_raw(c->shared[RING], pages, &attr, on_event, c, NULL);
	err = c->ring ? 0 : -errno;
	if (err)
		say(error, "no rings of %u KiB for each processor: %s", pages * page_bytes / 1024,
		    strerror(-err));
	return err;
}

int sl_xdp_capture_poll(struct sl_xdp_capture *c, int timeout_ms, sl_capture_on_record on_record,
			void *arg)
{
	struct pollfd ready = { .fd = perf_buffer__epoll_fd(c->ring), .events = POLLIN };

	c->on_record = on_record;
	c->arg = arg;
	if (poll(&ready, 1, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	return perf_buffer__consume(c->ring);
}

/* --- Open and close --- */

int sl_xdp_capture_open(const char *object_path, const char *const *ports, uint32_t n,
			uint32_t snap_bytes, uint32_t sampling,
			const struct sl_frame_filter *filter, uint32_t ring_bytes,
			struct sl_xdp_capture **out, struct sl_capture_error *error)
{
	struct sl_xdp_capture *c = calloc(1, sizeof(*c));
	int err = c ? 0 : -ENOMEM;

	*out = NULL;
	error->text[0] = '\0';
	if (!err && access("/sys/kernel/btf/vmlinux", R_OK)) {
		err = -ENOENT;
		say(error,
		    "this kernel has no BTF, without which XDP programs cannot be traced: it "
		    "needs CONFIG_DEBUG_INFO_BTF");
	}
	if (!err)
		err = check_wanted(ports, sampling ? 0 : n, error);
	if (!err) {
		snprintf(c->object_path, sizeof(c->object_path), "%s", object_path);
		c->wanted = ports;
		c->n_wanted = n;
		c->snap_bytes = snap_bytes;
		c->sampling = sampling;
		sl_frame_filter_for_kernel(filter, &c->filter);
		c->n_cpus = (uint32_t)libbpf_num_possible_cpus();
		err = netns_cookie(&c->netns_cookie);
	}
	if (!err)
		err = make_maps(c, error);
	if (!err)
		err = open_ring(c, ring_bytes, error);
	if (!err)
		err = follow(c, error);
	if (err) {
		if (!error->text[0])
			say(error, "%s", strerror(-err));
		sl_xdp_capture_close(c);
		return err;
	}
	*out = c;
	return 0;
}

void sl_xdp_capture_stop(struct sl_xdp_capture *c)
{
	for (uint32_t i = 0; i < c->n_traced; i++)
		for (int k = 0; k < 2; k++) {
			bpf_link__destroy(c->traced[i].links[k]);
			c->traced[i].links[k] = NULL;
		}
	/*
	 * One may still run on another processor, which has put a frame into its ring and not
	 * counted it yet. The kernel waits for all that run (synchronize_rcu); with nohz_full= it
	 * refuses, and the count may miss that frame.
	 */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

const struct sl_capture_port *sl_xdp_capture_ports(const struct sl_xdp_capture *c, uint32_t *n)
{
	*n = c->n_ports;
	return c->port;
}

void sl_xdp_capture_counts(const struct sl_xdp_capture *c, uint32_t slot, uint32_t direction,
			   struct sl_capture_count *out)
{
	struct sl_capture_count *each = calloc(c->n_cpus, sizeof(*each));
	uint32_t key = SL_CAPTURE_COUNT(slot, direction);

	*out = (struct sl_capture_count){ 0 };
	if (each && !bpf_map_lookup_elem(c->shared[COUNTS], &key, each))
		for (uint32_t i = 0; i < c->n_cpus; i++) {
			out->seen += each[i].seen;
			out->lost += each[i].lost;
			out->pool += each[i].pool;
			out->left += each[i].left;
		}
	free(each);
}

const char *sl_xdp_capture_blind(const struct sl_xdp_capture *c)
{
	return c->blind[0] ? c->blind : NULL;
}

void sl_xdp_capture_close(struct sl_xdp_capture *c)
{
	if (!c)
		return;
	perf_buffer__free(c->ring);
	for (uint32_t i = c->n_traced; i-- > 0;)
		traced_close(&c->traced[i]);
	free(c->traced);
	free(c->port);
	free(c);
}
