/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi/abi.h"
#include "user/lib/log.h"
#include "user/datapath/bpf_object.h"
#include "user/datapath/txdrops.h"

enum { LINK_BATCH, LINK_REFUSED, CONFIG, N_FDS };
static const char *const pin_names[N_FDS] = { "sl_tx_batch", "sl_tx_refused", "sl_txdrops" };

struct sl_txdrops {
	struct bpf_object *object; /* owned; NULL: the pair was kept, or runs */
	int fds[N_FDS];		   /* owned; two links and the map of the read-only data, or -1 */
};

/* --- Is it the same pair? --- */

/* FNV-1a of the object file: other code, other value. */
static int hash_file(const char *path, uint32_t *hash)
{
	FILE *f = fopen(path, "re");
	int c, err;

	if (!f)
		return -errno;
	*hash = 2166136261u;
	while ((c = fgetc(f)) != EOF)
		*hash = (*hash ^ (uint32_t)c) * 16777619u;
	err = ferror(f) ? -EIO : 0;
	fclose(f);
	return err;
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

static int make_config(const char *object_path, int drops_fd, struct sl_txdrops_config *config)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info), hash = 0;
	uint64_t cookie = 0;
	int err = hash_file(object_path, &hash);

	if (!err)
		err = netns_cookie(&cookie);
	if (!err)
		err = bpf_obj_get_info_by_fd(drops_fd, &info, &len);
	if (!err)
		*config = (struct sl_txdrops_config){
			.netns_cookie = cookie,
			.drops_map_id = info.id,
			.object_hash = hash,
		};
	return err;
}

static bool has_config(int map_fd, const struct sl_txdrops_config *wanted)
{
	struct sl_txdrops_config found = { 0 };
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info), zero = 0;

	return !bpf_obj_get_info_by_fd(map_fd, &info, &len) && info.value_size == sizeof(found) &&
	       !bpf_map_lookup_elem(map_fd, &zero, &found) &&
	       memcmp(&found, wanted, sizeof(found)) == 0;
}

static void close_fds(struct sl_txdrops *tx)
{
	for (int i = 0; i < N_FDS; i++) {
		if (tx->fds[i] >= 0)
			close(tx->fds[i]);
		tx->fds[i] = -1;
	}
}

/*
 * Take the pair of the previous generation, of the published set or of a set left staged, if it is
 * the same.
 */
static bool keep(struct sl_txdrops *tx, const struct sl_txdrops_config *config, const char *pin_dir,
		 const struct sl_txdrops *previous)
{
	enum { FROM_PREVIOUS, FROM_PUBLISHED, FROM_STAGED, N_FROM };

	for (int from = FROM_PREVIOUS; from < N_FROM; from++) {
		bool complete = true;

		if (from == FROM_PREVIOUS ? !previous : !pin_dir)
			continue;
		for (int i = 0; i < N_FDS; i++) {
			tx->fds[i] =
				from == FROM_PREVIOUS
					? dup(previous->fds[i])
					: sl_pins_get(pin_dir, from == FROM_STAGED, pin_names[i]);
			complete &= tx->fds[i] >= 0;
		}
		if (complete && has_config(tx->fds[CONFIG], config))
			return true;
		close_fds(tx);
	}
	return false;
}

/* --- Loading --- */

static int load(struct sl_txdrops *tx, const char *object_path, int drops_fd,
		const struct sl_txdrops_config *config)
{
	struct bpf_map *drops;
	int err = sl_bpf_object_open(object_path, &tx->object);

	if (err)
		return err;
	drops = bpf_object__find_map_by_name(tx->object, "sl_drops");
	err = drops ? bpf_map__reuse_fd(drops, drops_fd) : -EINVAL;
	if (!err)
		err = sl_bpf_object_set_rodata(tx->object, "sl_txdrops_config", config,
					       sizeof(*config));
	if (!err)
		err = bpf_object__load(tx->object);
	return err;
}

static void log_loss(const char *what, int err)
{
	sl_warning(
		"%s (%s: %s); frames that an egress driver refuses are counted by that driver only",
		what, strerror(-err), sl_bpf_object_said());
}

int sl_txdrops_open(const char *object_path, int drops_fd, const char *pin_dir,
		    const struct sl_txdrops *previous, struct sl_txdrops **out)
{
	struct sl_txdrops *tx = calloc(1, sizeof(*tx));
	struct sl_txdrops_config config;
	int err;

	*out = NULL;
	if (!tx)
		return -ENOMEM;
	for (int i = 0; i < N_FDS; i++)
		tx->fds[i] = -1;
	err = make_config(object_path, drops_fd, &config);
	if (!err && !keep(tx, &config, pin_dir, previous))
		err = load(tx, object_path, drops_fd, &config);
	if (err) {
		log_loss("this kernel does not load the tracing programs of txdrops.bpf.o", err);
		sl_txdrops_close(tx);
		return err;
	}
	*out = tx;
	return 0;
}

size_t sl_txdrops_pins(const struct sl_txdrops *tx, struct sl_pin pins[SL_TXDROPS_PINS])
{
	if (!tx || tx->object)
		return 0;
	for (int i = 0; i < N_FDS; i++) {
		snprintf(pins[i].name, sizeof(pins[i].name), "%s", pin_names[i]);
		pins[i].fd = tx->fds[i];
	}
	return N_FDS;
}

static int attach(struct sl_txdrops *tx, const char *program_name)
{
	struct bpf_program *program = bpf_object__find_program_by_name(tx->object, program_name);
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	int fd = program ? bpf_link_create(bpf_program__fd(program), 0,
					   bpf_program__expected_attach_type(program), &opts)
			 : -EINVAL;

	return fd;
}

int sl_txdrops_start(struct sl_txdrops *tx, const char *pin_dir)
{
	int err = 0;

	if (!tx || !tx->object)
		return 0;
	tx->fds[CONFIG] = dup(bpf_map__fd(sl_bpf_object_rodata(tx->object)));
	tx->fds[LINK_BATCH] = attach(tx, "sl_tx_batch");
	tx->fds[LINK_REFUSED] = attach(tx, "sl_tx_refused");
	for (int i = 0; i < N_FDS && !err; i++) {
		err = tx->fds[i] < 0 ? tx->fds[i] : 0;
		if (!err && pin_dir)
			err = sl_pins_add(pin_dir, 0, pin_names[i], tx->fds[i]);
	}
	/* From here on the pair is like one that was kept. */
	bpf_object__close(tx->object);
	tx->object = NULL;
	if (err)
		log_loss("the tracing programs of txdrops.bpf.o cannot be attached", err);
	return err;
}

void sl_txdrops_close(struct sl_txdrops *tx)
{
	if (!tx)
		return;
	close_fds(tx);
	bpf_object__close(tx->object);
	free(tx);
}
