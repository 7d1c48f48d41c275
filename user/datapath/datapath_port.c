/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A generation and its ports: where XDP may send, how it treats packets that enter, and the program
 * on the netdev.
 */
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/abi/l3_port.h"
#include "user/datapath/datapath_state.h"
#include "user/lib/log.h"
#include "user/datapath/bpf_object.h"

static int tx_put(const struct sl_datapath *dp, const char *map, uint32_t ifindex, bool present)
{
	struct bpf_devmap_val value = { .ifindex = ifindex };
	int fd = sl_datapath_map_fd(dp, map), err;

	if (present)
		return bpf_map_update_elem(fd, &ifindex, &value, BPF_ANY);
	err = bpf_map_delete_elem(fd, &ifindex);
	return err == -ENOENT ? 0 : err;
}

int sl_datapath_tx_add(struct sl_datapath *dp, uint32_t ifindex, bool buffers)
{
	int err = tx_put(dp, "sl_tx", ifindex, true);

	return err ? err : tx_put(dp, "sl_tx_buffers", ifindex, buffers);
}

int sl_datapath_tx_del(struct sl_datapath *dp, uint32_t ifindex)
{
	int err = tx_put(dp, "sl_tx", ifindex, false);
	int err_buffers = tx_put(dp, "sl_tx_buffers", ifindex, false);

	return err ? err : err_buffers;
}

int sl_datapath_chain_port(struct sl_datapath *dp, uint32_t ifindex)
{
	const struct bpf_devmap_val value = { .ifindex = ifindex };
	const uint32_t zero = 0;
	int fd = sl_datapath_map_fd(dp, "sl_chain_tx"), err;

	if (ifindex)
		return bpf_map_update_elem(fd, &zero, &value, BPF_ANY);
	err = bpf_map_delete_elem(fd, &zero);
	return err == -ENOENT ? 0 : err;
}

int sl_datapath_port_set(struct sl_datapath *dp, const struct sl_port *port,
			 const struct sl_vlan_key *vlan)
{
	int fd = sl_datapath_map_fd(dp, "sl_port"), err;
	uint32_t element = port->ifindex & (SL_PORTS_MAX - 1);
	struct sl_port old = { 0 }, merged = *port;

	err = bpf_map_lookup_elem(fd, &element, &old);
	if (err)
		return err;
	if (old.ifindex && old.ifindex != port->ifindex)
		return -EEXIST;
	merged.flags |= old.flags & SL_PORT_RESERVES;
	err = bpf_map_update_elem(fd, &element, &merged, BPF_ANY);
	if (!err && vlan)
		err = bpf_map_update_elem(sl_datapath_map_fd(dp, "sl_vlan"), vlan, &port->ifindex,
					  BPF_ANY);
	return err;
}

int sl_datapath_port_filter(struct sl_datapath *dp, uint32_t l3_ifindex, uint8_t filter)
{
	int fd = sl_datapath_map_fd(dp, "sl_port"), err;
	uint32_t element = l3_ifindex & (SL_PORTS_MAX - 1);
	struct sl_port port = { 0 };

	err = bpf_map_lookup_elem(fd, &element, &port);
	if (err || port.ifindex != l3_ifindex || port.filter == filter)
		return err;
	port.filter = filter;
	return bpf_map_update_elem(fd, &element, &port, BPF_ANY);
}

int sl_datapath_port_reserves(struct sl_datapath *dp, uint32_t l3_ifindex, bool reserves)
{
	const uint32_t element = l3_ifindex & (SL_PORTS_MAX - 1);
	const uint32_t flag = reserves ? SL_PORT_RESERVES : 0;
	const int fd = sl_datapath_map_fd(dp, "sl_port");
	struct sl_port port = { 0 };
	int err = bpf_map_lookup_elem(fd, &element, &port);

	if (err || port.ifindex != l3_ifindex || (port.flags & SL_PORT_RESERVES) == flag)
		return err;
	port.flags = (port.flags & ~SL_PORT_RESERVES) | flag;
	return bpf_map_update_elem(fd, &element, &port, BPF_ANY);
}

bool sl_datapath_reserves(const struct sl_datapath *dp)
{
	return dp->config.reserves;
}

void sl_datapath_port_clear(struct sl_datapath *dp, uint32_t l3_ifindex,
			    const struct sl_vlan_key *vlan)
{
	int fd = sl_datapath_map_fd(dp, "sl_port");
	uint32_t element = l3_ifindex & (SL_PORTS_MAX - 1);
	struct sl_port port = { 0 };

	if (vlan)
		bpf_map_delete_elem(sl_datapath_map_fd(dp, "sl_vlan"), vlan);
	if (bpf_map_lookup_elem(fd, &element, &port) || port.ifindex != l3_ifindex)
		return;
	port = (struct sl_port){ 0 };
	bpf_map_update_elem(fd, &element, &port, BPF_ANY);
}

/* --- Attaching --- */

/* A descriptor of the attached program if it is one of ours; the caller closes it. */
static int open_attached(const struct sl_datapath *dp, uint32_t ifindex, uint32_t prog_id)
{
	char port[IF_NAMESIZE] = "?", name[16] = "";
	int fd = sl_program_open_known(dp, ifindex, prog_id);

	if (fd >= 0)
		return fd;
	fd = sl_xdp_open_ours(prog_id, name);
	if (fd >= 0)
		return fd;
	if_indextoname(ifindex, port);
	if (fd == -EPERM)
		sl_error("datapath: %s: XDP program %u is attached, and seeing whose it is needs "
			 "CAP_SYS_ADMIN; if it may go: ip link set dev %s xdp off",
			 port, prog_id, port);
	else
		sl_error(
			"datapath: %s: another XDP program, \"%s\" (id %u), is attached; if it may "
			"go: ip link set dev %s xdp off",
			port, name, prog_id, port);
	return fd == -EPERM ? fd : -EBUSY;
}

/* Attach the right program in this mode, or put it in the place of old_fd. */
static int put(struct sl_datapath *dp, uint32_t ifindex, enum sl_xdp_mode mode, bool bound,
	       int old_fd)
{
	int fd, err = sl_program_for(dp, ifindex, bound, &fd);

	return err ? err : sl_xdp_attach(ifindex, mode, fd, old_fd);
}

static int attach_first(struct sl_datapath *dp, uint32_t ifindex, enum sl_xdp_mode want, bool bound,
			enum sl_xdp_mode *mode)
{
	char port[IF_NAMESIZE] = "?";
	int err = -EOPNOTSUPP;

	if_indextoname(ifindex, port);
	if (want != SL_XDP_GENERIC) {
		*mode = SL_XDP_NATIVE;
		err = put(dp, ifindex, SL_XDP_NATIVE, bound, -1);
		if (!err || err == -ENODEV || err == -EPERM || err == -EBUSY || err == -EEXIST)
			goto out;
		if (want == SL_XDP_NATIVE || bound)
			goto out;
		sl_warning("datapath: %s: the driver does not take XDP (%s: %s); generic mode is "
			   "used, which is slower",
			   port, strerror(-err), sl_bpf_object_said());
	}
	*mode = SL_XDP_GENERIC;
	err = put(dp, ifindex, SL_XDP_GENERIC, false, -1);
out:
	if (err)
		sl_error("datapath: %s: cannot attach in %s mode: %s (%s)", port,
			 sl_xdp_mode_name(*mode), strerror(-err), sl_bpf_object_said());
	return err;
}

static bool is_right(struct sl_datapath *dp, uint32_t ifindex, bool bound, uint32_t prog_id)
{
	int fd;

	return !sl_program_for(dp, ifindex, bound, &fd) && sl_xdp_prog_id(fd) == prog_id;
}

int sl_datapath_attach(struct sl_datapath *dp, uint32_t ifindex, enum sl_xdp_mode want, bool bound,
		       enum sl_xdp_mode *mode)
{
	char port[IF_NAMESIZE] = "?";
	struct sl_xdp_state now;
	int old_fd = -1, err = sl_xdp_query(ifindex, &now);

	*mode = SL_XDP_NONE;
	if_indextoname(ifindex, port);
	if (err) {
		sl_error("datapath: %s: cannot see what XDP program is attached: %s", port,
			 strerror(-err));
		return err;
	}
	if (now.mode == SL_XDP_NONE)
		return attach_first(dp, ifindex, want, bound, mode);
	old_fd = open_attached(dp, ifindex, now.prog_id);
	if (old_fd < 0)
		return old_fd;
	if (bound)
		want = SL_XDP_NATIVE;
	if (want != SL_XDP_NONE && want != now.mode) {
		/*
		 * The kernel cannot change the mode in one step. In between it forwards by itself.
		 */
		err = sl_xdp_detach(ifindex, now.mode, old_fd);
		if (!err)
			err = attach_first(dp, ifindex, want, bound, mode);
		goto out;
	}
	if (!is_right(dp, ifindex, bound, now.prog_id))
		err = put(dp, ifindex, now.mode, bound, old_fd);
	if (!err)
		*mode = now.mode;
	else
		sl_error("datapath: %s: cannot replace XDP program %u: %s (%s)", port, now.prog_id,
			 strerror(-err), sl_bpf_object_said());
out:
	close(old_fd);
	return err;
}

int sl_datapath_detach(struct sl_datapath *dp, uint32_t ifindex)
{
	struct sl_xdp_state now;
	int fd, err = sl_xdp_query(ifindex, &now);

	if (err || now.mode == SL_XDP_NONE)
		return err;
	fd = open_attached(dp, ifindex, now.prog_id);
	if (fd < 0)
		return fd;
	err = sl_xdp_detach(ifindex, now.mode, fd);
	close(fd);
	if (!err)
		sl_program_unbind(dp, ifindex);
	return err;
}

void sl_datapath_port_gone(struct sl_datapath *dp, uint32_t ifindex)
{
	sl_program_unbind(dp, ifindex);
}

bool sl_datapath_attached(const struct sl_datapath *dp, uint32_t ifindex)
{
	struct sl_xdp_state now;

	return !sl_xdp_query(ifindex, &now) && now.mode != SL_XDP_NONE &&
	       sl_program_is_current(dp, ifindex, now.prog_id);
}
