/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>

#include "user/rtnl/xdp_features.h"

/* Of linux/netdev.h, which is younger than the oldest headers we build with. */
enum { NETDEV_CMD_DEV_GET = 1 };
enum {
	NETDEV_A_DEV_IFINDEX = 1,
	NETDEV_A_DEV_XDP_FEATURES = 3,
	NETDEV_A_DEV_XDP_RX_METADATA_FEATURES = 5
};
#define NETDEV_XDP_ACT_NDO_XMIT		4u
#define NETDEV_XDP_ACT_NDO_XMIT_SG	64u
#define NETDEV_XDP_RX_METADATA_VLAN_TAG 4u

#define BUFFER_BYTES 8192

struct sl_xdp_features {
	struct mnl_socket *socket; /* owned */
	uint16_t family;
	uint32_t sequence;
};

/* An attribute of an answer, by its type, with at least `len` bytes. */
struct wanted {
	uint16_t type;
	size_t len;
	void *value;
	int found;
};

static int find_attribute(const struct nlattr *attr, void *arg)
{
	struct wanted *wanted = arg;

	if (mnl_attr_get_type(attr) == wanted->type &&
	    mnl_attr_get_payload_len(attr) >= wanted->len) {
		memcpy(wanted->value, mnl_attr_get_payload(attr), wanted->len);
		wanted->found = 1;
	}
	return MNL_CB_OK;
}

static int find_in_message(const struct nlmsghdr *nlh, void *arg)
{
	return mnl_attr_parse(nlh, sizeof(struct genlmsghdr), find_attribute, arg);
}

/*
 * Send the request in buffer and take one attribute of the answer. -ENODATA: the answer lacks it.
 */
static int ask(struct sl_xdp_features *f, char *buffer, struct wanted *wanted)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)(void *)buffer;
	unsigned int port = mnl_socket_get_portid(f->socket);
	uint32_t sequence = ++f->sequence;
	ssize_t n;
	int more;

	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	nlh->nlmsg_seq = sequence;
	if (mnl_socket_sendto(f->socket, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	do {
		n = mnl_socket_recvfrom(f->socket, buffer, BUFFER_BYTES);
		if (n < 0)
			return -errno;
		more = mnl_cb_run(buffer, (size_t)n, sequence, port, find_in_message, wanted);
		if (more < 0)
			return -errno;
	} while (more > 0);
	return wanted->found ? 0 : -ENODATA;
}

static struct nlmsghdr *start_message(char *buffer, uint16_t type, uint8_t command)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	nlh->nlmsg_type = type;
	genl->cmd = command;
	genl->version = 1;
	return nlh;
}

static int find_family(struct sl_xdp_features *f)
{
	struct wanted id = { CTRL_ATTR_FAMILY_ID, sizeof(f->family), &f->family, 0 };
	char buffer[BUFFER_BYTES];
	struct nlmsghdr *nlh = start_message(buffer, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	int err;

	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, "netdev");
	err = ask(f, buffer, &id);
	return err == -ENOENT || err == -ENODATA ? -EOPNOTSUPP : err;
}

int sl_xdp_features_open(struct sl_xdp_features **out)
{
	struct sl_xdp_features *f = calloc(1, sizeof(*f));
	int err = -ENOMEM;

	*out = NULL;
	if (!f)
		return err;
	f->socket = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!f->socket || mnl_socket_bind(f->socket, 0, MNL_SOCKET_AUTOPID) < 0)
		err = -errno;
	else
		err = find_family(f);
	if (err)
		sl_xdp_features_close(f);
	else
		*out = f;
	return err;
}

void sl_xdp_features_close(struct sl_xdp_features *f)
{
	if (!f)
		return;
	if (f->socket)
		mnl_socket_close(f->socket);
	free(f);
}

/* One set of features of a netdev. 0 or -errno; -ENODATA: this kernel does not tell it. */
static int get_features(struct sl_xdp_features *f, uint32_t ifindex, uint16_t attribute,
			uint64_t *features)
{
	struct wanted wanted = { attribute, sizeof(*features), features, 0 };
	char buffer[BUFFER_BYTES];
	struct nlmsghdr *nlh = start_message(buffer, f->family, NETDEV_CMD_DEV_GET);

	*features = 0;
	mnl_attr_put_u32(nlh, NETDEV_A_DEV_IFINDEX, ifindex);
	return ask(f, buffer, &wanted);
}

int sl_xdp_features_takes(struct sl_xdp_features *f, uint32_t ifindex, struct sl_xdp_takes *out)
{
	uint64_t features;
	int err = get_features(f, ifindex, NETDEV_A_DEV_XDP_FEATURES, &features);

	out->frames = features & NETDEV_XDP_ACT_NDO_XMIT;
	out->buffers = out->frames && features & NETDEV_XDP_ACT_NDO_XMIT_SG;
	return err;
}

bool sl_xdp_features_tells_tag(struct sl_xdp_features *f, uint32_t ifindex)
{
	uint64_t features;

	return !get_features(f, ifindex, NETDEV_A_DEV_XDP_RX_METADATA_FEATURES, &features) &&
	       features & NETDEV_XDP_RX_METADATA_VLAN_TAG;
}
