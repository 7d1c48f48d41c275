/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bridges of a whole cluster in one process, as far as sluiced sees them (user/ipc/relay.h). It
 * carries announcements from socket to socket in memory, and sets the carrier of the remote ports'
 * TAPs.
 *
 *   fake-bridge CONTROL NODE=NETNS=SOCKET...
 *
 * It opens the TAPs of a node in NETNS, a file such as /proc/PID/ns/net, and makes SOCKET. From the
 * FIFO CONTROL it reads lines, and answers each with a line on standard output when it is done:
 *
 *   down NODE     the node is silent to the others
 *   up NODE       it is back, with a new epoch
 *   mute NODE     as down, but the ports of the node keep their carrier
 *   close NODE    its bridge is dead: its TAPs and its client are closed, its socket is gone
 *   open NODE     its bridge runs again
 *   frames NODE   how many frames its TAPs gave
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <linux/if_tun.h>

#include "user/lib/unix_address.h"
#include "user/ipc/relay.h"

#ifndef IFF_NO_CARRIER
#define IFF_NO_CARRIER 0x0040
#endif
enum { NODES_MAX = 8, TAPS_MAX = 32 };

struct tap {
	uint16_t system_port;
	int fd;
	bool up;
};

static struct node {
	uint8_t id;
	const char *netns, *path;
	int listen_fd, client_fd;
	bool up, mute;
	uint32_t epoch;
	struct tap taps[TAPS_MAX];
	int n_taps;
	unsigned long frames;
} nodes[NODES_MAX];
static int n_nodes;

static struct node *node_of(unsigned int id)
{
	for (int i = 0; i < n_nodes; i++)
		if (nodes[i].id == id)
			return &nodes[i];
	return NULL;
}

static void to_client(struct node *n, const struct sl_relay_message *message)
{
	uint8_t bytes[SL_RELAY_MAX_BYTES];
	size_t len = sl_relay_encode(message, bytes);

	if (n->client_fd >= 0 && len)
		send(n->client_fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool connected(const struct node *a, const struct node *b)
{
	return a != b && a->up && b->up && a->listen_fd >= 0 && b->listen_fd >= 0;
}

static void tell_peer(struct node *n, const struct node *peer)
{
	bool up = connected(n, peer) && !n->mute && !peer->mute;

	to_client(n, &(struct sl_relay_message){ .kind = SL_RELAY_PEER,
						 .node = peer->id,
						 .up = up,
						 .epoch = up ? peer->epoch : 0,
						 .mtu_bytes = up ? 3000 : 0 });
}

static void set_carrier(const struct node *n, const struct tap *tap)
{
	const struct node *owner = node_of(tap->system_port >> 8);
	int up = tap->up && owner && connected(n, owner);

	if (ioctl(tap->fd, TUNSETCARRIER, &up))
		perror("fake-bridge: TUNSETCARRIER");
}

static void tell_all(void)
{
	for (int i = 0; i < n_nodes; i++) {
		for (int j = 0; j < n_nodes; j++)
			if (i != j)
				tell_peer(&nodes[i], &nodes[j]);
		for (int t = 0; t < nodes[i].n_taps; t++)
			set_carrier(&nodes[i], &nodes[i].taps[t]);
	}
}

static int open_tap(const struct node *n, uint16_t system_port)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_NO_CARRIER };
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int there = open(n->netns, O_RDONLY | O_CLOEXEC);
	int fd = -1;

	sl_relay_tap_name(system_port, request.ifr_name);
	if (home >= 0 && there >= 0 && !setns(there, CLONE_NEWNET)) {
		fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 && ioctl(fd, TUNSETIFF, &request)) {
			close(fd);
			fd = -1;
		}
		if (setns(home, CLONE_NEWNET))
			abort();
	}
	if (fd < 0)
		perror("fake-bridge: TAP");
	close(home);
	close(there);
	return fd;
}

static void close_tap(struct node *n, int t)
{
	close(n->taps[t].fd);
	n->taps[t] = n->taps[--n->n_taps];
}

static void on_port(struct node *n, const struct sl_relay_message *message)
{
	struct tap *tap = NULL;
	int t;

	for (t = 0; t < n->n_taps; t++) {
		if (n->taps[t].system_port != message->system_port)
			continue;
		tap = &n->taps[t];
		break;
	}
	if (message->gone) {
		if (tap)
			close_tap(n, t);
		return;
	}
	/* The TAP may be gone, and another netdev have its name. */
	if (tap && ioctl(tap->fd, TUNGETIFF, &(struct ifreq){ 0 })) {
		close_tap(n, t);
		tap = NULL;
	}
	if (!tap) {
		if (n->n_taps == TAPS_MAX)
			return;
		tap = &n->taps[n->n_taps];
		tap->system_port = message->system_port;
		tap->fd = open_tap(n, message->system_port);
		if (tap->fd < 0)
			return;
		n->n_taps++;
	}
	tap->up = message->up;
	set_carrier(n, tap);
}

static void on_client(struct node *n)
{
	uint8_t bytes[SL_RELAY_MAX_BYTES + 1];
	struct sl_relay_message m;
	ssize_t len = recv(n->client_fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (len <= 0) {
		if (len == 0 || errno != EAGAIN) {
			close(n->client_fd);
			n->client_fd = -1;
		}
		return;
	}
	if (sl_relay_parse(bytes, (size_t)len, &m)) {
		fprintf(stderr, "fake-bridge: node %u says nonsense\n", n->id);
		return;
	}
	if (m.kind == SL_RELAY_PORT)
		on_port(n, &m);
	for (int i = 0; m.kind == SL_RELAY_SEND && i < n_nodes; i++) {
		if (!connected(n, &nodes[i]) || (m.node && m.node != nodes[i].id))
			continue;
		to_client(&nodes[i], &(struct sl_relay_message){ .kind = SL_RELAY_RECEIVED,
								 .node = n->id,
								 .part = m.part,
								 .part_bytes = m.part_bytes });
	}
}

static int offer(struct node *n)
{
	struct sockaddr_un address;
	socklen_t len;

	unlink(n->path);
	n->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sl_unix_address(n->path, &address, &len) ||
	    bind(n->listen_fd, (const struct sockaddr *)&address, len) || listen(n->listen_fd, 4)) {
		perror(n->path);
		return -1;
	}
	return 0;
}

static void die(struct node *n)
{
	while (n->n_taps)
		close_tap(n, n->n_taps - 1);
	if (n->client_fd >= 0)
		close(n->client_fd);
	close(n->listen_fd);
	unlink(n->path);
	n->client_fd = n->listen_fd = -1;
}

static void command(char *line)
{
	char word[16];
	unsigned int id;
	struct node *n;

	if (sscanf(line, "%15s %u", word, &id) != 2 || !(n = node_of(id))) {
		printf("what? %s\n", line);
		return;
	}
	if (strcmp(word, "frames") == 0) {
		printf("frames %u %lu\n", id, n->frames);
		return;
	}
	if (strcmp(word, "close") == 0)
		die(n);
	else if (strcmp(word, "open") == 0 && offer(n) == 0)
		n->epoch++;
	else if (strcmp(word, "up") == 0)
		n->epoch++;
	if (strcmp(word, "up") == 0 || strcmp(word, "down") == 0)
		n->up = word[0] == 'u';
	n->mute = strcmp(word, "mute") == 0;
	tell_all();
	printf("%s %u\n", word, id);
}

static void on_listen(struct node *n)
{
	int fd = accept4(n->listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (n->client_fd >= 0)
		close(n->client_fd);
	n->client_fd = fd;
	for (int i = 0; i < n_nodes; i++)
		if (&nodes[i] != n)
			tell_peer(n, &nodes[i]);
}

static void on_tap(struct node *n, const struct tap *tap)
{
	uint8_t frame[65536];
	ssize_t len = read(tap->fd, frame, sizeof(frame));

	/* Bridges carry unicast IP only. */
	if (len >= 14 && !(frame[0] & 1) &&
	    ((frame[12] == 0x08 && frame[13] == 0x00) || (frame[12] == 0x86 && frame[13] == 0xdd)))
		n->frames++;
	if (len >= 14 && frame[12] == 0x08 && frame[13] == 0x06)
		fprintf(stderr, "fake-bridge: ARP at node %u\n", n->id);
}

/* Wait for any of the descriptors, then handle each that is ready, once. */
static void serve(int control_fd)
{
	struct pollfd fds[1 + NODES_MAX * (2 + TAPS_MAX)];
	int n = 0, at = 1;
	char lines[512];

	fds[n++] = (struct pollfd){ .fd = control_fd, .events = POLLIN };
	for (int i = 0; i < n_nodes; i++) {
		fds[n++] = (struct pollfd){ .fd = nodes[i].listen_fd, .events = POLLIN };
		fds[n++] = (struct pollfd){ .fd = nodes[i].client_fd, .events = POLLIN };
	}
	for (int i = 0; i < n_nodes; i++)
		for (int t = 0; t < nodes[i].n_taps; t++)
			fds[n++] = (struct pollfd){ .fd = nodes[i].taps[t].fd, .events = POLLIN };
	if (poll(fds, (nfds_t)n, -1) < 0)
		return;
	/*
	 * TAPs first: the other handlers may close some. A TAP whose netdev is gone reports only
	 * POLLERR.
	 */
	at = 1 + 2 * n_nodes;
	for (int i = 0; i < n_nodes; i++) {
		const int n_taps = nodes[i].n_taps;

		for (int t = n_taps - 1; t >= 0; t--) {
			if (fds[at + t].revents & (POLLERR | POLLNVAL))
				close_tap(&nodes[i], t);
			else if (fds[at + t].revents)
				on_tap(&nodes[i], &nodes[i].taps[t]);
		}
		at += n_taps;
	}
	for (int i = 0; i < n_nodes; i++) {
		if (fds[2 + 2 * i].revents && fds[2 + 2 * i].fd >= 0)
			on_client(&nodes[i]);
		if (fds[1 + 2 * i].revents && fds[1 + 2 * i].fd >= 0)
			on_listen(&nodes[i]);
	}
	if (fds[0].revents) {
		ssize_t got = read(control_fd, lines, sizeof(lines) - 1);

		lines[got > 0 ? got : 0] = '\0';
		for (char *line = lines, *next; *line; line = next) {
			next = line + strcspn(line, "\n");
			if (*next)
				*next++ = '\0';
			command(line);
		}
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	int control_fd;

	for (int i = 2; i < argc && n_nodes < NODES_MAX; i++) {
		struct node *n = &nodes[n_nodes++];
		char *netns = strchr(argv[i], '='), *path = netns ? strchr(netns + 1, '=') : NULL;

		if (!path) {
			fprintf(stderr, "fake-bridge: \"%s\" is not NODE=NETNS=SOCKET\n", argv[i]);
			return 2;
		}
		*netns = *path = '\0';
		*n = (struct node){ .id = (uint8_t)strtoul(argv[i], NULL, 10),
				    .netns = netns + 1,
				    .path = path + 1,
				    .client_fd = -1,
				    .up = true,
				    .epoch = 100 };
		if (offer(n))
			return 1;
	}
	/* Open it for writing, too: a FIFO without a writer would always be readable. */
	control_fd = argc > 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
	if (control_fd < 0) {
		fprintf(stderr, "Usage: fake-bridge CONTROL NODE=NETNS=SOCKET...\n");
		return 2;
	}
	for (;;)
		serve(control_fd);
}
