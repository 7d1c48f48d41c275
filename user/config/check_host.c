/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/config/check_host.h"

#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "user/text/prefix.h"

#define KEY_MIN_BYTES 16
#define KEY_MAX_BYTES 1024
/*
 * The kernel takes 50 ms of each second from a real-time thread that fills its core; pauses of 54
 * ms were seen. When a pause begins, the last hello is up to a fifth of liveness_ms old, and after
 * it the thread has to be scheduled again.
 */
#define REALTIME_LIVENESS_MIN_MS 100

static bool is_address(const struct ifaddrs *entry, uint8_t family, const uint8_t addr[16])
{
	if (!entry->ifa_addr || entry->ifa_addr->sa_family != family)
		return false;
	if (family == AF_INET)
		return !memcmp(&((const struct sockaddr_in *)entry->ifa_addr)->sin_addr, addr, 4);
	return !memcmp(&((const struct sockaddr_in6 *)entry->ifa_addr)->sin6_addr, addr, 16);
}

/* Does the netdev have this address? True, too, if that cannot be found out. */
static bool has_address(const char *netdev, const char *text)
{
	struct ifaddrs *list;
	uint8_t family, addr[16];
	bool found = false;

	if (sl_addr_parse(text, &family, addr) || getifaddrs(&list))
		return true;
	for (const struct ifaddrs *entry = list; entry && !found; entry = entry->ifa_next)
		found = !strcmp(entry->ifa_name, netdev) && is_address(entry, family, addr);
	freeifaddrs(list);
	return found;
}

/* Returns what is wrong with the key file; NULL: nothing, or we may not read it. */
static const char *key_problem(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == ENOENT ? "is not there: write the same random 32 bytes on all nodes"
				       : NULL;
	if (!S_ISREG(st.st_mode))
		return "is not a file";
	if (st.st_mode & 077)
		return "may be read by others than its owner: chmod 600";
	if (st.st_size < KEY_MIN_BYTES || st.st_size > KEY_MAX_BYTES + 1)
		return "is no key: a key has 16 to 1024 bytes";
	return NULL;
}

/* The key that is taken, too, need not be there. */
static const char *also_problem(const char *path)
{
	char also[PATH_MAX];
	struct stat st;

	if (snprintf(also, sizeof(also), "%s" SL_KEY_ALSO, path) >= (int)sizeof(also))
		return "has too long a name";
	return stat(also, &st) ? NULL : key_problem(also);
}

int sl_check_cluster(const struct sl_settings *settings, char error[SL_YAML_ERROR_BYTES])
{
	const struct sl_cluster_settings *c = &settings->cluster;
	const struct sl_cluster_node *self = sl_cluster_find_node(c, c->node);
	const char *problem;

	if (!self || !sl_cluster_has_fabric(c))
		return 0;
	if (!if_nametoindex(c->device)) {
		sl_yaml_error(error, settings->file_name, c->line, "cluster.fabric.device",
			      c->device, "is not a netdev here: write one that `ip link` shows");
		return -EINVAL;
	}
	if (!has_address(c->device, self->address)) {
		sl_yaml_error(error, settings->file_name, self->line, "cluster.nodes[].address",
			      self->address, "is not an address of %s here, and this is node %u",
			      c->device, c->node);
		return -EINVAL;
	}
	problem = key_problem(c->key_file);
	if (problem) {
		sl_yaml_error(error, settings->file_name, c->line, "cluster.key_file", c->key_file,
			      "%s", problem);
		return -EINVAL;
	}
	problem = also_problem(c->key_file);
	if (problem) {
		sl_yaml_error(error, settings->file_name, c->line, "cluster.key_file", c->key_file,
			      "with " SL_KEY_ALSO " at its end %s", problem);
		return -EINVAL;
	}
	return 0;
}

bool sl_doubt_cluster(const struct sl_settings *settings, char warning[SL_YAML_ERROR_BYTES])
{
	const struct sl_cluster_settings *c = &settings->cluster;
	char value[16];

	if (!sl_cluster_has_fabric(c) || !c->bridge.realtime ||
	    c->liveness_ms >= REALTIME_LIVENESS_MIN_MS)
		return false;
	snprintf(value, sizeof(value), "%u", c->liveness_ms);
	sl_yaml_error(
		warning, settings->file_name, c->line, "cluster.liveness_ms", value,
		"is short beside `realtime`: the kernel takes 50 ms of each second from a thread that "
		"fills its core, and to its peers the bridge seems dead: write %d or more",
		REALTIME_LIVENESS_MIN_MS);
	return true;
}
