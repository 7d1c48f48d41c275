/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/rehearsal/no_kernel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <linux/rtnetlink.h>

#include "user/rtnl/rtnl.h"

#define FDS_MAX 65536

static uint64_t now_ns;
static _Thread_local struct rehearsed_node *opening;
static struct rehearsed_node *node_of_fd[FDS_MAX];
static bool off[256];
static struct no_kernel_counts counts;

void no_kernel_set_clock(uint64_t ns)
{
	now_ns = ns;
}

void no_kernel_opens(struct rehearsed_node *node)
{
	opening = node;
	node_of_fd[node->relay_fd] = node;
}

void no_kernel_set_off(uint8_t id, bool is_off)
{
	off[id] = is_off;
}

void no_kernel_counts(struct no_kernel_counts *out)
{
	*out = counts;
}

/* --- Clock and timers --- */

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	if (clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
		return __real_clock_gettime(clock, out);
	out->tv_sec = (time_t)(now_ns / 1000000000ULL);
	out->tv_nsec = (long)(now_ns % 1000000000ULL);
	return 0;
}

uint64_t no_kernel_real_ns(clockid_t clock)
{
	struct timespec now;

	__real_clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

/* The rehearsal asks each daemon itself when something is due. */
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	(void)fd;
	(void)flags;
	(void)new;
	(void)old;
	return 0;
}

/* --- TCP to machines that are off --- */

int __real_connect(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len);

/*
 * An address that never answers: the kernel drops what would connect to a listener that has no room
 * for another connection.
 */
static const struct sockaddr_in *nobody(void)
{
	static _Thread_local struct sockaddr_in address;
	socklen_t len = sizeof(address);
	int listener, caller;

	if (address.sin_family)
		return &address;
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	caller = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || caller < 0 ||
	    bind(listener, (const struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, 0) || getsockname(listener, (struct sockaddr *)&address, &len) ||
	    __real_connect(caller, (const struct sockaddr *)&address, sizeof(address))) {
		address.sin_family = 0;
		return NULL;
	}
	return &address;
}

int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)to;

	__atomic_add_fetch(&counts.calls, 1, __ATOMIC_RELAXED);
	if (to->sa_family != AF_INET || !off[ntohl(in->sin_addr.s_addr) & 0xff])
		return __real_connect(fd, to, len);
	in = nobody();
	if (in)
		return __real_connect(fd, (const struct sockaddr *)in, sizeof(*in));
	errno = ENETDOWN;
	return -1;
}

/* --- The relay --- */

int __wrap_sl_relay_connect(struct sl_relay_client *client, const char *path);
void __wrap_sl_relay_disconnect(struct sl_relay_client *client);
int __wrap_sl_relay_send(struct sl_relay_client *client, const struct sl_relay_message *message);
int __wrap_sl_relay_receive(struct sl_relay_client *client, struct sl_relay_message *message);

void no_kernel_put(struct rehearsed_relay *relay, const uint8_t *bytes, size_t n_bytes)
{
	const uint16_t len = (uint16_t)n_bytes;

	if (relay->first == relay->n_bytes)
		relay->first = relay->n_bytes = 0;
	if (relay->n_bytes + sizeof(len) + n_bytes > relay->room) {
		relay->room = 2 * (relay->room + sizeof(len) + n_bytes);
		relay->bytes = realloc(relay->bytes, relay->room);
		if (!relay->bytes)
			abort();
	}
	memcpy(relay->bytes + relay->n_bytes, &len, sizeof(len));
	memcpy(relay->bytes + relay->n_bytes + sizeof(len), bytes, n_bytes);
	relay->n_bytes += sizeof(len) + n_bytes;
}

size_t no_kernel_take(struct rehearsed_relay *relay, uint8_t bytes[SL_RELAY_MAX_BYTES])
{
	uint16_t len;

	if (relay->first == relay->n_bytes)
		return 0;
	memcpy(&len, relay->bytes + relay->first, sizeof(len));
	memcpy(bytes, relay->bytes + relay->first + sizeof(len), len);
	relay->first += sizeof(len) + len;
	return len;
}

int __wrap_sl_relay_connect(struct sl_relay_client *client, const char *path)
{
	(void)path;
	client->fd = opening->relay_fd;
	opening->connected = true;
	return 0;
}

void __wrap_sl_relay_disconnect(struct sl_relay_client *client)
{
	client->fd = -1;
}

int __wrap_sl_relay_send(struct sl_relay_client *client, const struct sl_relay_message *message)
{
	uint8_t bytes[SL_RELAY_MAX_BYTES];
	const size_t n = sl_relay_encode(message, bytes);

	if (!n)
		return -EINVAL;
	if (client->fd < 0)
		return -ENOTCONN;
	no_kernel_put(&node_of_fd[client->fd]->to_bridge, bytes, n);
	return 0;
}

int __wrap_sl_relay_receive(struct sl_relay_client *client, struct sl_relay_message *message)
{
	const size_t n = no_kernel_take(&node_of_fd[client->fd]->to_daemon, client->bytes);

	return n ? sl_relay_parse(client->bytes, n, message) : -EAGAIN;
}

/* --- Rtnetlink: the handles are nodes --- */

int __wrap_sl_rtnl_open(struct sl_rtnl_socket **out);
int __wrap_sl_rtnl_open_events(const uint32_t *groups, uint32_t n, uint32_t buffer_bytes,
			       struct sl_rtnl_socket **out);
void __wrap_sl_rtnl_close(struct sl_rtnl_socket *s);
int __wrap_sl_rtnl_fd(const struct sl_rtnl_socket *s);
int __wrap_sl_rtnl_receive(struct sl_rtnl_socket *s, sl_rtnl_cb cb, void *arg);
int __wrap_sl_rtnl_dump(struct sl_rtnl_socket *s, uint16_t type, uint8_t family, uint32_t ifindex,
			sl_rtnl_cb cb, void *arg);
int __wrap_sl_rtnl_parse_addr(const struct nlmsghdr *nlh, struct sl_rtnl_addr *out);
void __wrap_sl_rtnl_link_sync(struct sl_rtnl_socket *s, uint32_t ifindex);
int __wrap_sl_rtnl_request_open(struct sl_rtnl_request **out);
void __wrap_sl_rtnl_request_close(struct sl_rtnl_request *r);
int __wrap_sl_rtnl_route_add(struct sl_rtnl_request *r, const struct sl_own_route *route);
int __wrap_sl_rtnl_route_delete(struct sl_rtnl_request *r, const struct sl_own_route *route,
				uint32_t metric);
int __wrap_sl_rtnl_neigh_set(struct sl_rtnl_request *r, uint32_t ifindex, uint8_t family,
			     const uint8_t *addr, const uint8_t mac[6]);
int __wrap_sl_rtnl_neigh_delete(struct sl_rtnl_request *r, uint32_t ifindex, uint8_t family,
				const uint8_t *addr);
int __wrap_sl_remote_port_make(struct sl_remote_port *port, struct sl_rtnl_request *requests,
			       bool *made);
void __wrap_sl_remote_port_set(struct sl_remote_port *port, struct sl_rtnl_request *requests,
			       const uint8_t mac[6], uint32_t mtu_bytes);

static struct rehearsed_node *node_of(const void *handle)
{
	return (struct rehearsed_node *)handle;
}

int __wrap_sl_rtnl_open(struct sl_rtnl_socket **out)
{
	*out = (struct sl_rtnl_socket *)opening;
	return 0;
}

int __wrap_sl_rtnl_open_events(const uint32_t *groups, uint32_t n, uint32_t buffer_bytes,
			       struct sl_rtnl_socket **out)
{
	(void)groups;
	(void)n;
	(void)buffer_bytes;
	return __wrap_sl_rtnl_open(out);
}

void __wrap_sl_rtnl_close(struct sl_rtnl_socket *s)
{
	(void)s;
}

int __wrap_sl_rtnl_fd(const struct sl_rtnl_socket *s)
{
	return node_of(s)->event_fd;
}

/* The event of an address: whatever it is, the daemon reads what the kernel has. */
int __wrap_sl_rtnl_receive(struct sl_rtnl_socket *s, sl_rtnl_cb cb, void *arg)
{
	const struct nlmsghdr event = { .nlmsg_len = sizeof(event), .nlmsg_type = RTM_NEWADDR };

	if (!node_of(s)->event)
		return -EAGAIN;
	node_of(s)->event = false;
	cb(arg, &event);
	return 0;
}

int __wrap_sl_rtnl_parse_addr(const struct nlmsghdr *nlh, struct sl_rtnl_addr *out)
{
	(void)nlh;
	*out = (struct sl_rtnl_addr){ .removed = true };
	return 0;
}

/* An earlier life has left nothing. */
int __wrap_sl_rtnl_dump(struct sl_rtnl_socket *s, uint16_t type, uint8_t family, uint32_t ifindex,
			sl_rtnl_cb cb, void *arg)
{
	(void)s;
	(void)type;
	(void)family;
	(void)ifindex;
	(void)cb;
	(void)arg;
	return 0;
}

void __wrap_sl_rtnl_link_sync(struct sl_rtnl_socket *s, uint32_t ifindex)
{
	(void)ifindex;
	node_of(s)->syncs++;
}

int __wrap_sl_rtnl_request_open(struct sl_rtnl_request **out)
{
	*out = (struct sl_rtnl_request *)opening;
	return 0;
}

void __wrap_sl_rtnl_request_close(struct sl_rtnl_request *r)
{
	(void)r;
}

int __wrap_sl_rtnl_route_add(struct sl_rtnl_request *r, const struct sl_own_route *route)
{
	(void)route;
	node_of(r)->changes++;
	return 0;
}

int __wrap_sl_rtnl_route_delete(struct sl_rtnl_request *r, const struct sl_own_route *route,
				uint32_t metric)
{
	(void)route;
	(void)metric;
	node_of(r)->changes++;
	return 0;
}

int __wrap_sl_rtnl_neigh_set(struct sl_rtnl_request *r, uint32_t ifindex, uint8_t family,
			     const uint8_t *addr, const uint8_t mac[6])
{
	(void)ifindex;
	(void)family;
	(void)addr;
	(void)mac;
	node_of(r)->changes++;
	return 0;
}

int __wrap_sl_rtnl_neigh_delete(struct sl_rtnl_request *r, uint32_t ifindex, uint8_t family,
				const uint8_t *addr)
{
	(void)ifindex;
	(void)family;
	(void)addr;
	node_of(r)->changes++;
	return 0;
}

/* --- Ports --- */

int __wrap_sl_remote_port_make(struct sl_remote_port *port, struct sl_rtnl_request *requests,
			       bool *made)
{
	(void)requests;
	*made = !port->ifindex;
	port->ifindex = port->system_port;
	return 0;
}

void __wrap_sl_remote_port_set(struct sl_remote_port *port, struct sl_rtnl_request *requests,
			       const uint8_t mac[6], uint32_t mtu_bytes)
{
	(void)requests;
	port->mtu_bytes = mtu_bytes;
	memcpy(port->mac, mac, sizeof(port->mac));
}

/* --- What the node has itself --- */

int __wrap_sl_local_read(struct sl_local_state *local, struct sl_rtnl_socket *requests);

static struct sl_announce_record at_port(const struct rehearsed_node *node, uint8_t type,
					 uint8_t port, uint8_t family, uint8_t host)
{
	struct sl_announce_record record = { .type = type,
					     .system_port = SL_SYSTEM_PORT(node->id, port),
					     .mac = { 2, 0, 0, node->id, port, host } };

	if (type == SL_ANNOUNCE_PORT) {
		record.up = node->port_up[port];
		record.mtu_bytes = REHEARSED_MTU;
		return record;
	}
	record.family = family;
	record.prefix_len = type == SL_ANNOUNCE_NEIGHBOUR ? 0 : family == AF_INET ? 24 : 64;
	if (type == SL_ANNOUNCE_ADDRESS)
		memset(record.mac, 0, sizeof(record.mac));
	if (family == AF_INET)
		memcpy(record.addr, (const uint8_t[]){ 10, node->id, port, host }, 4);
	else
		memcpy(record.addr,
		       (const uint8_t[16]){ 0xfd, [5] = node->id, [7] = port, [15] = host }, 16);
	return record;
}

static int read_here(const struct rehearsed_node *node, struct sl_local_state *local)
{
	int err = 0;

	for (uint32_t i = 0; i < local->n_nodes && !err; i++)
		err = sl_remote_here_add(&local->here, &local->nodes[i], true);
	for (uint32_t i = 0; i < local->n && !err; i++) {
		const struct sl_announce_record *record = &local->records[i];
		struct sl_prefix prefix = { .family = record->family, .len = record->prefix_len };

		if (record->type != SL_ANNOUNCE_ADDRESS)
			continue;
		memcpy(prefix.addr, record->addr, sizeof(prefix.addr));
		sl_addr_mask(prefix.addr, prefix.len);
		err = sl_remote_here_add(&local->here, &prefix, false);
	}
	memcpy(local->here.sources.addr4, (const uint8_t[]){ 10, node->id, 1, 1 }, 4);
	sl_remote_here_sort(&local->here);
	local->here_changes = 1;
	return err;
}

/* As the real one, from a kernel that has four ports with an address of each family and hosts. */
int __wrap_sl_local_read(struct sl_local_state *local, struct sl_rtnl_socket *requests)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	struct rehearsed_node *node = node_of(requests);
	struct sl_announce_record *to;

	if (local->here_changes && !node->changed)
		return 0;
	node->changed = false;
	free(local->records);
	to = local->records = calloc(
		REHEARSED_PORTS * (1 + 2 + REHEARSED_HOSTS) + node->further_hosts, sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (uint8_t p = 1; p <= REHEARSED_PORTS; p++) {
		local->ports[p - 1].ifindex = SL_SYSTEM_PORT(node->id, p);
		local->ports[p - 1].up = node->port_up[p];
		*to++ = at_port(node, SL_ANNOUNCE_PORT, p, 0, 1);
	}
	for (uint8_t p = 1; p <= REHEARSED_PORTS; p++)
		for (uint32_t f = 0; f < 2; f++)
			*to++ = at_port(node, SL_ANNOUNCE_ADDRESS, p, families[f], 1);
	for (uint8_t p = 1; p <= REHEARSED_PORTS; p++)
		for (uint32_t f = 0; f < REHEARSED_HOSTS; f++)
			*to++ = at_port(node, SL_ANNOUNCE_NEIGHBOUR, p, families[f % 2], 2);
	for (uint32_t i = 0; i < node->further_hosts; i++)
		*to++ = at_port(node, SL_ANNOUNCE_NEIGHBOUR, 2, AF_INET, (uint8_t)(3 + i));
	local->n = (uint32_t)(to - local->records);
	return !local->here_changes && read_here(node, local) ? -ENOMEM : 1;
}
