/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/join/join.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <openssl/rand.h>

#include "rdma-bridge/transport/roce.h"
#include "user/lib/log.h"
#include "user/text/prefix.h"

#define OURS_MAX      254 /* one to each other node, however many cannot be reached */
#define STRANGERS_MAX 16  /* connections from addresses that are no peer's */
#define INCOMING_MAX  (254 + STRANGERS_MAX) /* all that others opened: peers may come at once */
/* Incoming connections from one address: another program there may call beside the peer. */
#define ADDRESS_MAX	3
#define CALLS_MAX	(OURS_MAX + INCOMING_MAX + 1) /* one more, to judge while all are taken */
#define LOG_INTERVAL_NS 60000000000ULL
#define VERSIONS_BYTES	24

/* One connection. */
struct call {
	int fd;	   /* -1: free */
	bool ours; /* we called `node`, to open or to knock */
	bool connecting;
	bool stranger; /* from an address that is no peer's */
	uint8_t node;
	uint64_t number; /* counts all calls: the oldest has the smallest */
	uint64_t deadline_ns;
	uint8_t from[16];      /* address of the other side */
	uint8_t standing[256]; /* incoming: what each node id means from there, for the exchange */
	struct rb_exchange x;
};

struct peer {
	bool known, wanted, calling;
	bool knocked;		 /* and we have not called it since */
	enum rb_refusal refusal; /* of the latest exchange, by either side */
	uint8_t address[16];
	uint64_t called_ns;	/* when we called it last, or an exchange ended well; 0: never */
	uint64_t introduced_ns; /* when one did; 0: never */
	uint64_t away_ns;	/* since when no call has reached it; 0: the last one has */
};

struct rb_join {
	struct rb_join_config config;
	struct rb_join_stats stats;
	int listen_fd, epoll_fd;
	uint64_t now_ns;
	uint64_t due_ns;       /* no call begins or ends by the clock before; 0: not known */
	uint64_t away_next_ns; /* when the next peer that is away may be called */
	uint8_t away_called;   /* the turn of the peer that was away and was called last */
	struct peer peers[256];
	struct call calls[CALLS_MAX];
	uint64_t n_calls; /* since it was opened */
	/* When a line was logged last: by peer and reason; the peer's reasons follow ours. */
	uint64_t logged_ns[256][2 * RB_REFUSAL_COUNT];
};

static socklen_t socket_address(const uint8_t gid[16], uint16_t port, struct sockaddr_storage *out)
{
	memset(out, 0, sizeof(*out));
	if (rb_ip_is_v4(gid)) {
		struct sockaddr_in *in = (struct sockaddr_in *)out;

		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, gid + 12, 4);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, gid, 16);
	return sizeof(*in6);
}

static void gid_of(const struct sockaddr_storage *address, uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (address->ss_family == AF_INET) {
		memcpy(gid, mapped, sizeof(mapped));
		memcpy(gid + 12, &((const struct sockaddr_in *)address)->sin_addr, 4);
	} else {
		memcpy(gid, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
	}
}

static const char *text_of(const uint8_t gid[16], char buf[SL_PREFIX_STRLEN])
{
	return rb_ip_is_v4(gid) ? sl_addr_format(AF_INET, gid + 12, buf)
				: sl_addr_format(AF_INET6, gid, buf);
}

/* --- What went wrong --- */

static const char *versions_text(struct rb_versions versions, char out[VERSIONS_BYTES])
{
	if (versions.oldest == versions.newest)
		snprintf(out, VERSIONS_BYTES, "version %u", versions.oldest);
	else
		snprintf(out, VERSIONS_BYTES, "versions %u to %u", versions.oldest,
			 versions.newest);
	return out;
}

static void log_refusal(struct rb_join *join, const struct call *call)
{
	const struct rb_exchange *x = &call->x;
	uint8_t node = x->peer_node ? x->peer_node : call->node;
	uint64_t *logged_ns =
		&join->logged_ns[node][x->refusal + (x->by_peer ? RB_REFUSAL_COUNT : 0)];
	char address[SL_PREFIX_STRLEN], configured[SL_PREFIX_STRLEN];
	char theirs[VERSIONS_BYTES], ours[VERSIONS_BYTES];

	if (*logged_ns && join->now_ns - *logged_ns < LOG_INTERVAL_NS)
		return;
	*logged_ns = join->now_ns;
	text_of(call->from, address);
	if (x->refusal == RB_REFUSAL_NODE_SAME)
		sl_error("fabric: the node at %s has id %u, and so have we; ids must differ",
			 address, join->config.self.node);
	else if (x->refusal == RB_REFUSAL_ADDRESS && !x->by_peer)
		sl_error("fabric: %s says that it is node %u, which is at %s by our "
			 "configuration; two nodes have one id, or `nodes` differs",
			 address, node, text_of(join->peers[node].address, configured));
	else if (x->refusal == RB_REFUSAL_VERSION)
		sl_error(
			"fabric: node %u at %s speaks %s of the protocol, we speak %s: upgrade the "
			"node with the older ones",
			node, address, versions_text(x->speaks, theirs),
			versions_text(join->config.self.versions, ours));
	else if (x->refusal == RB_REFUSAL_TRANSPORT && !x->by_peer)
		sl_error("fabric: node %u at %s uses transport %u, we use %u", node, address,
			 x->peer.transport, join->config.self.transport);
	else if (x->refusal == RB_REFUSAL_WORKERS && !x->by_peer)
		sl_error(
			"fabric: node %u at %s has %u workers, we have %u; they must have the same number",
			node, address, x->peer.further_qps + 1, join->config.self.further_qps + 1);
	else
		sl_error("fabric: node %u at %s %s: %s (%s)", node, address,
			 x->by_peer ? "refuses us" : "is refused", rb_refusal_text(x->refusal),
			 rb_refusal_name(x->refusal));
}

/* --- Connections --- */

static void hang_up(struct rb_join *join, struct call *call)
{
	if (call->fd < 0)
		return;
	close(call->fd);
	call->fd = -1;
	if (call->ours)
		join->peers[call->node].calling = false;
}

static struct call *take_call(struct rb_join *join, int fd)
{
	for (int i = 0; i < CALLS_MAX; i++)
		if (join->calls[i].fd < 0) {
			join->calls[i].fd = fd;
			join->calls[i].ours = false;
			join->calls[i].connecting = false;
			join->calls[i].stranger = false;
			join->calls[i].node = 0;
			join->calls[i].number = join->n_calls++;
			join->calls[i].deadline_ns = join->now_ns + RB_JOIN_PATIENCE_NS;
			return &join->calls[i];
		}
	join->stats.overflow++;
	close(fd);
	return NULL;
}

/* Note what each node id means on a call from this address, and whether a peer is there. */
static void set_standing(struct rb_join *join, struct call *call)
{
	call->stranger = true;
	for (int node = 0; node < 256; node++) {
		const struct peer *peer = &join->peers[node];
		bool here = peer->known && memcmp(peer->address, call->from, 16) == 0;

		call->standing[node] = here	     ? RB_STANDING_PEER
				       : peer->known ? RB_STANDING_ELSEWHERE
						     : RB_STANDING_NONE;
		if (here)
			call->stranger = false;
	}
}

/*
 * Is there room for this incoming call? One too many from its address takes the place of the oldest
 * from there. So a caller that holds connections open keeps nobody out, and a caller that opens
 * them without end keeps out only its own address.
 */
static bool has_room(struct rb_join *join, const struct call *call)
{
	uint32_t incoming = 0, strangers = 0, from_there = 0;
	struct call *oldest = NULL;

	for (int i = 0; i < CALLS_MAX; i++) {
		struct call *other = &join->calls[i];

		if (other->fd < 0 || other->ours)
			continue;
		incoming++;
		strangers += other->stranger;
		if (memcmp(other->from, call->from, sizeof(call->from)) != 0)
			continue;
		from_there++;
		if (!oldest || other->number < oldest->number)
			oldest = other;
	}
	if (from_there > ADDRESS_MAX) {
		join->stats.overflow++;
		hang_up(join, oldest);
		return true;
	}
	return incoming <= INCOMING_MAX && strangers <= STRANGERS_MAX;
}

static int watch(struct rb_join *join, struct call *call, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = call };

	return epoll_ctl(join->epoll_fd, EPOLL_CTL_ADD, call->fd, &event) ? -errno : 0;
}

static bool nonce(uint8_t out[RB_NONCE_BYTES])
{
	return RAND_bytes(out, RB_NONCE_BYTES) == 1;
}

static void accept_calls(struct rb_join *join)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	uint8_t random[RB_NONCE_BYTES];
	struct call *call;
	int fd;

	while ((fd = accept4(join->listen_fd, (struct sockaddr *)&from, &len,
			     SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		len = sizeof(from);
		call = take_call(join, fd);
		if (!call)
			continue;
		gid_of(&from, call->from);
		set_standing(join, call);
		if (!has_room(join, call)) {
			join->stats.overflow++;
			hang_up(join, call);
			continue;
		}
		if (!nonce(random) || watch(join, call, EPOLLIN)) {
			hang_up(join, call);
			continue;
		}
		rb_exchange_answer(&call->x, join->config.keys, &join->config.self, call->standing,
				   random);
	}
}

static void not_reached(struct rb_join *join, struct call *call)
{
	struct peer *peer = &join->peers[call->node];

	join->stats.unreachable++;
	if (!peer->away_ns)
		peer->away_ns = join->now_ns;
	hang_up(join, call);
}

static void start_call(struct rb_join *join, uint8_t node)
{
	struct peer *peer = &join->peers[node];
	struct sockaddr_storage from, to;
	socklen_t from_len = socket_address(join->config.self.gid, 0, &from);
	socklen_t to_len = socket_address(
		peer->address, join->config.port ? join->config.port : RB_JOIN_PORT, &to);
	uint8_t random[RB_NONCE_BYTES];
	struct call *call;
	int fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	peer->called_ns = join->now_ns;
	peer->knocked = false;
	if (fd < 0)
		return;
	call = take_call(join, fd);
	if (!call)
		return;
	call->ours = true;
	call->connecting = true;
	call->node = node;
	call->deadline_ns = join->now_ns + RB_JOIN_CONNECT_NS;
	memcpy(call->from, peer->address, sizeof(call->from));
	peer->calling = true;
	if (!nonce(random) || bind(fd, (struct sockaddr *)&from, from_len) ||
	    (connect(fd, (struct sockaddr *)&to, to_len) && errno != EINPROGRESS) ||
	    watch(join, call, EPOLLIN | EPOLLOUT)) {
		not_reached(join, call);
		return;
	}
	if (node > join->config.self.node)
		rb_exchange_open(&call->x, join->config.keys, &join->config.self, node, random);
	else
		rb_exchange_knock(&call->x, &join->config.self);
}

/* Why it failed with that peer; a stranger may have claimed any id. */
static void note_refusal(struct rb_join *join, const struct call *call)
{
	uint8_t node = call->ours ? call->node : call->x.peer_node;

	if (call->ours || call->standing[node] == RB_STANDING_PEER)
		join->peers[node].refusal = call->x.refusal;
}

/* Neither side needs a knock any more. */
static void introduced(const struct rb_join *join, struct peer *peer)
{
	peer->refusal = RB_REFUSAL_NONE;
	peer->knocked = false;
	peer->called_ns = peer->introduced_ns = join->now_ns;
}

static void conclude(struct rb_join *join, struct call *call)
{
	struct rb_exchange *x = &call->x;
	bool knock = call->ours && call->node < join->config.self.node;

	if (x->state == RB_EXCHANGE_DONE &&
	    memcmp(x->peer.gid, join->peers[x->peer.node].address, 16) != 0) {
		/* The peer has the key, but receives at another address than the configured. */
		x->state = RB_EXCHANGE_REFUSED;
		x->refusal = RB_REFUSAL_INTRODUCTION;
	}
	if (x->state == RB_EXCHANGE_DONE) {
		join->stats.introduced++;
		introduced(join, &join->peers[x->peer.node]);
		join->config.introduced(join->config.context, &x->peer, x->key);
	} else if (x->state == RB_EXCHANGE_KNOCKED) {
		join->stats.knocks++;
		/* One that crossed an exchange is not a new life's. */
		if (join->now_ns >= join->peers[x->peer_node].introduced_ns + RB_JOIN_KNOCK_NS)
			join->peers[x->peer_node].knocked = true;
	} else if (!knock || x->by_peer) { /* the other side ends a knock by closing */
		if (x->by_peer)
			join->stats.refused_us[x->refusal]++;
		else
			join->stats.refused[x->refusal]++;
		note_refusal(join, call);
		log_refusal(join, call);
	}
	hang_up(join, call);
}

/* Send what waits. False if the connection is broken. */
static bool push(struct call *call)
{
	struct rb_exchange *x = &call->x;

	while (x->n_out > 0) {
		ssize_t n = send(call->fd, x->out, x->n_out, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN;
		rb_exchange_sent(x, (uint32_t)n);
	}
	return true;
}

/* Was the connection made that we opened? */
static bool is_connected(struct rb_join *join, struct call *call)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = call };
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(call->fd, SOL_SOCKET, SO_ERROR, &err, &len) || err)
		return false;
	call->connecting = false;
	join->peers[call->node].away_ns = 0;
	call->deadline_ns = join->now_ns + RB_JOIN_PATIENCE_NS;
	return epoll_ctl(join->epoll_fd, EPOLL_CTL_MOD, call->fd, &event) == 0;
}

/* Feed the exchange what has come, and send what it answers. */
static void pull(struct call *call)
{
	struct rb_exchange *x = &call->x;
	uint8_t bytes[RB_EXCHANGE_MAX_BYTES];

	while (x->state == RB_EXCHANGE_RUNNING) {
		ssize_t n = recv(call->fd, bytes, sizeof(bytes), 0);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n > 0)
			rb_exchange_input(x, bytes, (size_t)n);
		if (n <= 0 || !push(call))
			rb_exchange_closed(x);
	}
}

static void serve(struct rb_join *join, struct call *call)
{
	if (call->fd < 0)
		return; /* hung up since the event was reported */
	if (call->connecting && !is_connected(join, call)) {
		not_reached(join, call);
		return;
	}
	if (!push(call))
		rb_exchange_closed(&call->x);
	pull(call);
	if (call->x.state != RB_EXCHANGE_RUNNING)
		conclude(join, call);
}

/* --- Opening and polling --- */

static int listen_on(struct rb_join *join)
{
	const struct rb_join_config *config = &join->config;
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };
	struct sockaddr_storage address;
	socklen_t len = socket_address(config->self.gid, config->port ? config->port : RB_JOIN_PORT,
				       &address);
	int one = 1;

	join->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	join->listen_fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (join->epoll_fd < 0 || join->listen_fd < 0 ||
	    setsockopt(join->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    (config->netdev && setsockopt(join->listen_fd, SOL_SOCKET, SO_BINDTODEVICE,
					  config->netdev, (socklen_t)strlen(config->netdev))) ||
	    bind(join->listen_fd, (struct sockaddr *)&address, len) ||
	    listen(join->listen_fd, CALLS_MAX) ||
	    epoll_ctl(join->epoll_fd, EPOLL_CTL_ADD, join->listen_fd, &event))
		return -errno;
	return 0;
}

int rb_join_open(const struct rb_join_config *config, struct rb_join **out)
{
	struct rb_join *join = calloc(1, sizeof(*join));
	int err;

	*out = NULL;
	if (!join)
		return -ENOMEM;
	join->config = *config;
	join->listen_fd = join->epoll_fd = -1;
	for (int i = 0; i < CALLS_MAX; i++)
		join->calls[i].fd = -1;
	err = listen_on(join);
	if (err)
		rb_join_close(join);
	else
		*out = join;
	return err;
}

void rb_join_close(struct rb_join *join)
{
	if (!join)
		return;
	for (int i = 0; i < CALLS_MAX; i++)
		hang_up(join, &join->calls[i]);
	if (join->listen_fd >= 0)
		close(join->listen_fd);
	if (join->epoll_fd >= 0)
		close(join->epoll_fd);
	free(join);
}

void rb_join_add(struct rb_join *join, uint8_t node, const uint8_t address[16])
{
	join->peers[node] = (struct peer){ .known = true, .wanted = true };
	memcpy(join->peers[node].address, address, 16);
	join->due_ns = 0;
}

void rb_join_remove(struct rb_join *join, uint8_t node)
{
	for (int i = 0; i < CALLS_MAX; i++)
		if (join->calls[i].fd >= 0 &&
		    (join->calls[i].node == node || join->calls[i].x.peer_node == node))
			hang_up(join, &join->calls[i]);
	join->peers[node] = (struct peer){ 0 };
}

void rb_join_set_self(struct rb_join *join, const struct rb_introduction *self)
{
	join->config.self = *self;
}

void rb_join_want(struct rb_join *join, uint8_t node, bool wanted)
{
	join->peers[node].wanted = wanted;
	join->due_ns = 0;
}

enum rb_refusal rb_join_refusal(const struct rb_join *join, uint8_t node)
{
	return join->peers[node].refusal;
}

int rb_join_fd(const struct rb_join *join)
{
	return join->epoll_fd;
}

void rb_join_stats(const struct rb_join *join, struct rb_join_stats *out)
{
	*out = join->stats;
}

/* A peer that has been away for long is called less often: in a sixteenth of that time. */
static uint64_t pause_ns(const struct peer *peer, uint64_t now_ns)
{
	uint64_t pause_ns = peer->away_ns ? (now_ns - peer->away_ns) / 16 : 0;

	if (pause_ns < RB_JOIN_RETRY_NS)
		return RB_JOIN_RETRY_NS;
	return pause_ns < RB_JOIN_PAUSE_NS ? pause_ns : RB_JOIN_PAUSE_NS;
}

/* When is this peer to be called? UINT64_MAX: not, as things are. */
static uint64_t call_due_ns(const struct rb_join *join, const struct peer *peer)
{
	uint64_t due_ns;

	if (!peer->known || peer->calling || (!peer->wanted && !peer->knocked))
		return UINT64_MAX;
	if (!peer->called_ns)
		return 0;
	if (peer->knocked)
		return peer->called_ns + RB_JOIN_KNOCK_NS;
	due_ns = peer->called_ns + pause_ns(peer, join->now_ns);
	return peer->away_ns && due_ns < join->away_next_ns ? join->away_next_ns : due_ns;
}

static void due_by(struct rb_join *join, uint64_t ns)
{
	if (ns < join->due_ns)
		join->due_ns = ns;
}

static void end_late_calls(struct rb_join *join)
{
	for (int i = 0; i < CALLS_MAX; i++) {
		struct call *call = &join->calls[i];

		if (call->fd < 0)
			continue;
		if (join->now_ns < call->deadline_ns) {
			due_by(join, call->deadline_ns);
		} else if (call->connecting) {
			not_reached(join, call);
		} else {
			rb_exchange_closed(&call->x);
			conclude(join, call);
		}
	}
}

/*
 * The peer of that turn: first those of a higher id, upwards, with whom we open exchanges, then the
 * others downwards, at whom we knock. Where all nodes start together, most of these have opened an
 * exchange with us by then, and need no knock.
 */
static uint8_t node_of_turn(const struct rb_join *join, uint8_t turn)
{
	const uint8_t higher = UINT8_MAX - join->config.self.node;

	return turn <= higher ? join->config.self.node + turn : UINT8_MAX - turn;
}

/*
 * Call those whose time has come, some in each poll: a call costs the caller tens of microseconds,
 * during which a lane sends nothing. Peers that are away are called one after the other, so that a
 * large cluster of which little is there costs no more than a small one.
 */
static void begin_calls(struct rb_join *join)
{
	uint32_t begun = 0;
	uint8_t last = join->away_called;

	for (int i = 1; i <= 256; i++) { /* the one called last comes last */
		const uint8_t turn = (uint8_t)(last + i), node = node_of_turn(join, turn);
		struct peer *peer = &join->peers[node];
		uint64_t due_ns = call_due_ns(join, peer);

		if (due_ns <= join->now_ns && begun < RB_JOIN_BEGIN_MAX) {
			begun++;
			if (peer->away_ns) {
				join->away_next_ns = join->now_ns + RB_JOIN_AWAY_NS;
				join->away_called = turn;
			}
			start_call(join, node);
			due_ns = join->now_ns; /* its deadline, or the next call, is to be noted */
		}
		due_by(join, due_ns);
	}
}

void rb_join_poll(struct rb_join *join, uint64_t now_ns)
{
	struct epoll_event events[CALLS_MAX + 1];
	int n = epoll_wait(join->epoll_fd, events, CALLS_MAX + 1, 0);

	join->now_ns = now_ns;
	for (int i = 0; i < n; i++) {
		if (!events[i].data.ptr)
			accept_calls(join);
		else
			serve(join, events[i].data.ptr);
	}
	if (n <= 0 && now_ns < join->due_ns)
		return;
	join->due_ns = UINT64_MAX;
	end_late_calls(join);
	begin_calls(join);
}
