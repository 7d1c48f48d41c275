/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/sflow/netdev_counters.h"

/* The columns of /proc/net/dev; a drop there is also a frame that the netdev missed. */
enum {
	IN_BYTES,
	IN_PACKETS,
	IN_ERRORS,
	IN_DISCARDS,
	IN_MULTICAST = 7,
	OUT_BYTES,
	OUT_PACKETS,
	OUT_ERRORS,
	OUT_DISCARDS,
	COLUMNS
};

/* What follows "NAME:" in its line, or NULL. */
static const char *find_line(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += strspn(line, " \n");
		if (strncmp(line, name, n) == 0 && line[n] == ':')
			return line + n + 1;
	}
	return NULL;
}

int sl_netdev_counters_parse(const char *text, const char *name, struct sl_sflow_counters *out)
{
	const char *at = find_line(text, name);
	uint64_t column[COLUMNS];

	if (!at)
		return -ENODEV;
	for (int i = 0; i < COLUMNS; i++) {
		at += strspn(at, " ");
		if (*at < '0' || *at > '9')
			return -EPROTO;
		column[i] = strtoull(at, (char **)&at, 10);
	}
	out->in_bytes = column[IN_BYTES];
	out->in_packets = (uint32_t)(column[IN_PACKETS] - column[IN_MULTICAST]);
	out->in_multicast = (uint32_t)column[IN_MULTICAST];
	out->in_errors = (uint32_t)column[IN_ERRORS];
	out->in_discards = (uint32_t)column[IN_DISCARDS];
	out->out_bytes = column[OUT_BYTES];
	out->out_packets = (uint32_t)column[OUT_PACKETS];
	out->out_errors = (uint32_t)column[OUT_ERRORS];
	out->out_discards = (uint32_t)column[OUT_DISCARDS];
	return 0;
}

static int read_counters(const char *name, struct sl_sflow_counters *out)
{
	FILE *f = fopen("/proc/self/net/dev", "re");
	char *line = NULL;
	size_t n = 0;
	int err = -ENODEV;

	if (!f)
		return -errno;
	while (err == -ENODEV && getline(&line, &n, f) > 0)
		err = sl_netdev_counters_parse(line, name, out);
	free(line);
	fclose(f);
	return err;
}

/* The text of an attribute below /sys/class/net; "" if it has none now, such as a speed. */
static void read_attribute(const char *name, const char *attribute, char out[16])
{
	char path[64 + IF_NAMESIZE];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", name, attribute);
	f = fopen(path, "re");
	if (!f || !fgets(out, 16, f))
		out[0] = '\0';
	if (f)
		fclose(f);
}

static int read_flags(const char *name, struct sl_sflow_counters *out)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;
	struct ifreq request = { 0 };

	strncpy(request.ifr_name, name, sizeof(request.ifr_name) - 1);
	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request))
		err = -errno;
	if (fd >= 0)
		close(fd);
	out->admin_up = !err && request.ifr_flags & IFF_UP;
	out->oper_up = !err && request.ifr_flags & IFF_RUNNING;
	out->promiscuous = !err && request.ifr_flags & IFF_PROMISC;
	return err;
}

int sl_netdev_counters_read(const char *name, struct sl_sflow_counters *out)
{
	char text[16];
	int err, mbit;

	*out = (struct sl_sflow_counters){ .ifindex = if_nametoindex(name) };
	if (!out->ifindex)
		return -ENODEV;
	err = read_counters(name, out);
	if (!err)
		err = read_flags(name, out);
	read_attribute(name, "speed", text);
	out->speed_bps = sscanf(text, "%d", &mbit) == 1 && mbit > 0 ? mbit * 1000000ULL : 0;
	read_attribute(name, "duplex", text);
	out->full_duplex = strncmp(text, "full", 4) == 0;
	return err;
}
