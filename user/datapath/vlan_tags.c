/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/abi/l3_port.h"
#include "user/datapath/vlan_tags.h"
#include "user/lib/log.h"

/* --- ethtool --- */

#define FEATURES_MAX \
	256 /* features that a kernel may have, a multiple of 32; Linux 6.18 has some 65 */

/* A request about the netdev; the kernel takes it on any socket. 0 or -errno. */
static int ethtool(const char *name, void *request)
{
	struct ifreq ifr = { .ifr_data = request };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	strncpy(ifr.ifr_name, name, sizeof(ifr.ifr_name) - 1);
	if (ioctl(fd, SIOCETHTOOL, &ifr) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* The numbers of our two offloads, which depend on the kernel alone; -1: it does not have it. */
struct offload_bits {
	bool known;
	int bit[2]; /* of SL_OFFLOAD_CTAG, SL_OFFLOAD_STAG */
};

/* -E2BIG: more than FEATURES_MAX. */
static int count_features(const char *name, uint32_t *n)
{
	struct ethtool_sset_info *request = calloc(1, sizeof(*request) + sizeof(request->data[0]));
	int err = request ? 0 : -ENOMEM;

	*n = 0;
	if (!err) {
		request->cmd = ETHTOOL_GSSET_INFO;
		request->sset_mask = 1ULL << ETH_SS_FEATURES;
		err = ethtool(name, request);
	}
	if (!err)
		*n = request->data[0];
	free(request);
	return err ? err : *n > FEATURES_MAX ? -E2BIG : 0;
}

static int find_bits(const char *name, struct offload_bits *out)
{
	static const char *const names[2] = { "rx-vlan-hw-parse", "rx-vlan-stag-hw-parse" };
	static struct offload_bits found;
	struct ethtool_gstrings *strings;
	int err;

	if (found.known) {
		*out = found;
		return 0;
	}
	strings = calloc(1, sizeof(*strings) + FEATURES_MAX * ETH_GSTRING_LEN);
	if (!strings)
		return -ENOMEM;
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_FEATURES;
	/* Kernels give nothing to a program that expects another number of names. */
	err = count_features(name, &strings->len);
	if (!err)
		err = ethtool(name, strings);
	found = (struct offload_bits){ .known = !err, .bit = { -1, -1 } };
	for (uint32_t i = 0; !err && i < strings->len; i++)
		for (int which = 0; which < 2; which++)
			if (strncmp((const char *)strings->data + i * ETH_GSTRING_LEN, names[which],
				    ETH_GSTRING_LEN) == 0)
				found.bit[which] = (int)i;
	free(strings);
	*out = found;
	return err;
}

/* A request that ends in blocks of features; the caller frees it. */
#define BLOCKS_MAX (FEATURES_MAX / 32)

static void *make_request(size_t head_bytes, size_t block_bytes, uint32_t command)
{
	uint32_t *request = calloc(1, head_bytes + BLOCKS_MAX * block_bytes);

	if (request)
		request[0] = command;
	return request;
}

/* The offloads that are on, as SL_OFFLOAD_*, and how many blocks of features the kernel has. */
static int get_offloads(const char *name, uint32_t *features, uint32_t *n_blocks)
{
	struct ethtool_gfeatures *request =
		make_request(sizeof(*request), sizeof(request->features[0]), ETHTOOL_GFEATURES);
	struct offload_bits bits;
	int err = request ? find_bits(name, &bits) : -ENOMEM;

	*features = 0;
	if (!err) {
		request->size = BLOCKS_MAX;
		err = ethtool(name, request);
	}
	for (int which = 0; !err && which < 2; which++) {
		uint32_t bit = (uint32_t)bits.bit[which];

		if (bits.bit[which] >= 0 && request->features[bit / 32].active & 1u << bit % 32)
			*features |= 1u << which;
	}
	*n_blocks = err ? 0 : request->size;
	free(request);
	return err;
}

/* A driver may keep an offload as it is: look afterwards. */
static int set_offloads(const char *name, uint32_t features, bool on)
{
	struct ethtool_sfeatures *request =
		make_request(sizeof(*request), sizeof(request->features[0]), ETHTOOL_SFEATURES);
	struct offload_bits bits;
	uint32_t now;
	int err = request ? find_bits(name, &bits) : -ENOMEM;

	if (!err)
		err = get_offloads(name, &now, &request->size);
	for (int which = 0; !err && which < 2; which++) {
		uint32_t bit = (uint32_t)bits.bit[which];

		if (!(features & 1u << which) || bits.bit[which] < 0)
			continue;
		request->features[bit / 32].valid |= 1u << bit % 32;
		request->features[bit / 32].requested |= on ? 1u << bit % 32 : 0;
	}
	if (!err)
		err = ethtool(name, request);
	free(request);
	return err;
}

/* --- What hides tags whatever its offloads are --- */

static const struct {
	const char *driver; /* as `ethtool -i` shows it */
	enum sl_vlan_tags tags;
	const char *why;
} kinds[] = {
	{ "veth", SL_TAGS_BESIDE, "a sender on a veth leaves VLAN tags to its device" },
	{ "netkit", SL_TAGS_BESIDE, "a sender on a netkit leaves VLAN tags to its device" },
	{ "macvlan", SL_TAGS_OUT_OF_SIGHT, "the netdev below a macvlan has taken VLAN tags off" },
	{ "ipvlan", SL_TAGS_OUT_OF_SIGHT, "the netdev below an ipvlan has taken VLAN tags off" },
	{ "bridge", SL_TAGS_OUT_OF_SIGHT, "the members of a bridge have taken VLAN tags off" },
	{ "bonding", SL_TAGS_OUT_OF_SIGHT, "the members of a bond have taken VLAN tags off" },
	{ "team", SL_TAGS_OUT_OF_SIGHT, "the members of a team have taken VLAN tags off" },
	{ "macsec", SL_TAGS_OUT_OF_SIGHT, "the netdev below a macsec has taken VLAN tags off" },
	{ "openvswitch", SL_TAGS_OUT_OF_SIGHT, "Open vSwitch has taken VLAN tags off" },
};

static void judge_kind(const char *name, enum sl_vlan_tags *tags, const char **why)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };

	if (ethtool(name, &info))
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(info.driver, kinds[i].driver) == 0) {
			*tags = kinds[i].tags;
			*why = kinds[i].why;
		}
}

bool sl_netdev_has_driver(uint32_t ifindex, const char *driver)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	char name[IF_NAMESIZE];

	return if_indextoname(ifindex, name) && !ethtool(name, &info) &&
	       strcmp(info.driver, driver) == 0;
}

/* --- Off and on --- */

/* Noted first: a record of an offload that is on does no harm, but one that is missing does. */
static int switch_off(int record_fd, uint32_t ifindex, const char *name, uint32_t features)
{
	uint32_t record = 0;
	int err;

	bpf_map_lookup_elem(record_fd, &ifindex, &record);
	record |= features;
	err = bpf_map_update_elem(record_fd, &ifindex, &record, BPF_ANY);
	return err ? err : set_offloads(name, features, false);
}

int sl_vlan_tags_settle(int record_fd, uint32_t ifindex, enum sl_vlan_tags *tags, const char **why)
{
	char name[IF_NAMESIZE];
	uint32_t on, n_blocks;
	int err;

	*tags = SL_TAGS_IN_FRAME;
	*why = NULL;
	if (!if_indextoname(ifindex, name))
		return -ENODEV;
	err = get_offloads(name, &on, &n_blocks);
	if (!err && on) {
		err = switch_off(record_fd, ifindex, name, on);
		if (!err)
			err = get_offloads(name, &on, &n_blocks);
	}
	if (err && err != -EOPNOTSUPP)
		return err;
	if (on) {
		*tags = SL_TAGS_BESIDE;
		*why = "its driver keeps VLAN offload (rxvlan) on";
	}
	judge_kind(name, tags, why);
	return 0;
}

bool sl_vlan_tags_disturbed(int record_fd, uint32_t ifindex)
{
	uint32_t record, on, n_blocks;
	char name[IF_NAMESIZE];

	return if_indextoname(ifindex, name) &&
	       !bpf_map_lookup_elem(record_fd, &ifindex, &record) &&
	       !get_offloads(name, &on, &n_blocks) && on & record;
}

void sl_vlan_tags_restore(int record_fd, uint32_t ifindex)
{
	char name[IF_NAMESIZE];
	uint32_t record;
	int err = 0;

	if (bpf_map_lookup_elem(record_fd, &ifindex, &record))
		return;
	if (if_indextoname(ifindex, name))
		err = set_offloads(name, record, true);
	if (err)
		sl_warning("%s: cannot switch VLAN offload on again: %s; it was on before: ethtool "
			   "-K %s rxvlan on",
			   name, strerror(-err), name);
	bpf_map_delete_elem(record_fd, &ifindex);
}
