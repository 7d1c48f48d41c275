/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "elements/signal/signal_socket.h"
#include "elements/worker/signalled_chains.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"

#define SIGNALS_PER_POLL 16

_Static_assert(EL_SIGNAL_NAME_BYTES == EL_NAME_BYTES, "names of chains fit into a key's");
_Static_assert(EL_SIGNAL_SAID_BYTES >= EL_ERROR_BYTES, "an error in a text fits into an answer");

static uint64_t wall_ns(void)
{
	return sl_clock_ns(CLOCK_REALTIME);
}

/* --- May the key have this chain? --- */

static enum el_signal_outcome __attribute__((format(printf, 2, 3)))
refuse(char *said, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(said, EL_SIGNAL_SAID_BYTES, format, args);
	va_end(args);
	return EL_SIGNAL_REFUSED;
}

static enum el_signal_outcome judge(const struct el_signal_key *key, const struct el_graph *graph,
				    char *said)
{
	const struct el_grant *grant = &graph->grant;

	if (!el_signal_names_have(&key->chains, graph->name))
		return refuse(said, "the key may not have a chain \"%s\"", graph->name);
	if (graph->fast)
		return refuse(said, "chain %s: a signal sets up no fast chain", graph->name);
	if (grant->kind == EL_GRANT_SHARE && grant->value > key->share)
		return refuse(said, "chain %s: the key may have a share of %u", graph->name,
			      key->share);
	if (grant->kind == EL_GRANT_RATE && grant->value > key->rate_percent * (EL_PPB_ALL / 100))
		return refuse(said, "chain %s: the key may have a rate of %u%%", graph->name,
			      key->rate_percent);
	for (uint32_t i = EL_AT_FIRST; key->classes.n && i < graph->n_instances; i++)
		if (!el_signal_names_have(&key->classes, graph->instances[i].class->name))
			return refuse(said, "the key may not use class %s",
				      graph->instances[i].class->name);
	return EL_SIGNAL_DONE;
}

/* --- Commands --- */

/* The signalled chain in each place, with one of them replaced by `graph`, which may be NULL. */
static void list(struct el_process *p, uint32_t place, const struct el_graph *graph,
		 const struct el_graph *out[EL_SIGNALLED_MAX])
{
	for (uint32_t i = 0; i < EL_SIGNALLED_MAX; i++)
		out[i] = EL_CHAINS_MAX + i == place ? graph : p->signalled[i].chains.chains;
}

static uint32_t find_free(const struct el_process *p)
{
	for (uint32_t i = 0; i < EL_SIGNALLED_MAX; i++)
		if (!p->signalled[i].chains.n)
			return EL_CHAINS_MAX + i;
	return EL_NONE;
}

/* The place for a command about the chain of that name; EL_NONE, and the reason in said. */
static uint32_t find_place(struct el_process *p, const struct el_signal_key *key,
			   enum el_signal_command command, const char *name, char *said)
{
	const uint32_t place = el_process_find(p, name);

	if (command == EL_SIGNAL_SETUP) {
		const uint32_t free_place = find_free(p);

		if (place != EL_NONE)
			refuse(said, "there is a chain \"%s\" already", name);
		else if (free_place == EL_NONE)
			refuse(said, "chain %s: signals have set up as many as they may", name);
		return place == EL_NONE ? free_place : EL_NONE;
	}
	if (place == EL_NONE) {
		refuse(said, "there is no chain \"%s\"", name);
		return EL_NONE;
	}
	if (place >= EL_CHAINS_MAX &&
	    strcmp(p->signalled[place - EL_CHAINS_MAX].key, key->name) == 0)
		return place;
	refuse(said, "this key has not set up chain \"%s\"", name);
	return EL_NONE;
}

/* Put the only chain of `read` in its place. */
static enum el_signal_outcome put(struct el_process *p, const struct el_signal_key *key,
				  enum el_signal_command command, const char *text,
				  uint32_t text_bytes, struct el_chains *read, char *said)
{
	const struct el_graph *all[EL_SIGNALLED_MAX];
	struct el_graph *graph = read->chains;
	uint32_t weights[EL_PLACES], place;
	struct el_signalled *chain;
	char *copy;

	if (judge(key, graph, said) != EL_SIGNAL_DONE)
		return EL_SIGNAL_REFUSED;
	place = find_place(p, key, command, graph->name, said);
	if (place == EL_NONE)
		return EL_SIGNAL_REFUSED;
	list(p, place, graph, all);
	if (el_process_plan(&p->chains, all, weights))
		return refuse(said, "chain %s: the rates of all chains would be more than %u%%",
			      graph->name, EL_RATES_PERCENT);
	copy = malloc(text_bytes);
	if (!copy) {
		refuse(said, "not enough memory");
		return EL_SIGNAL_BUSY;
	}
	memcpy(copy, text, text_bytes);
	chain = &p->signalled[place - EL_CHAINS_MAX];
	free(chain->text);
	chain->text = copy;
	chain->text_bytes = text_bytes;
	memcpy(chain->key, key->name, sizeof(chain->key));
	el_process_weigh(p, weights);
	if (command == EL_SIGNAL_SETUP) {
		chain->chains = *read;
		*read = (struct el_chains){ 0 };
		el_process_begin(p, place);
	} else {
		el_process_replace(p, place, graph);
	}
	snprintf(said, EL_SIGNAL_SAID_BYTES, "chain %s", chain->chains.chains->name);
	return EL_SIGNAL_DONE;
}

static enum el_signal_outcome obey_text(struct el_process *p, const struct el_signal_key *key,
					enum el_signal_command command, const char *text,
					uint32_t text_bytes, char *said)
{
	char error[EL_ERROR_BYTES];
	struct el_chains read;
	enum el_signal_outcome outcome;
	int err = el_chains_parse("text", text, text_bytes, p->installed.classes, &read, error);

	if (err) {
		refuse(said, "%s", err == -ENOMEM ? "not enough memory" : error);
		return err == -ENOMEM ? EL_SIGNAL_BUSY : EL_SIGNAL_REFUSED;
	}
	if (read.n == 1)
		outcome = put(p, key, command, text, text_bytes, &read, said);
	else
		outcome = refuse(said, "write one chain");
	el_chains_free(&read);
	return outcome;
}

static enum el_signal_outcome obey_name(struct el_process *p, const struct el_signal_key *key,
					enum el_signal_command command, const char *text,
					uint32_t text_bytes, char *said)
{
	const struct el_graph *all[EL_SIGNALLED_MAX], *graph;
	uint32_t weights[EL_PLACES], place;
	char name[EL_NAME_BYTES];

	if (!text_bytes || text_bytes >= sizeof(name) || memchr(text, '\0', text_bytes))
		return refuse(said, "write the name of a chain");
	memcpy(name, text, text_bytes);
	name[text_bytes] = '\0';
	if (!el_signal_names_have(&key->chains, name))
		return refuse(said, "the key may not have a chain of that name");
	place = find_place(p, key, command, name, said);
	if (place == EL_NONE)
		return EL_SIGNAL_REFUSED;
	graph = el_process_chain(p, place);
	if (command == EL_SIGNAL_QUERY) {
		snprintf(said, EL_SIGNAL_SAID_BYTES,
			 "chain %s: entered %" PRIu64 ", refused %" PRIu64 ", left %" PRIu64
			 ", dropped %" PRIu64 ", copied %" PRIu64 ", waiting %u",
			 name, graph->entered.packets, graph->refused.packets, graph->left.packets,
			 el_chain_dropped(graph).packets, el_chain_copied(graph).packets,
			 el_chain_waiting(graph) + p->worker.flows[EL_FLOWS_GLOBAL + place].saved);
		return EL_SIGNAL_DONE;
	}
	list(p, place, NULL, all);
	if (!el_process_plan(&p->chains, all, weights)) {
		el_process_remove(p, place);
		el_process_weigh(p, weights);
	}
	snprintf(said, EL_SIGNAL_SAID_BYTES, "chain %s", name);
	return EL_SIGNAL_DONE;
}

static enum el_signal_outcome obey(void *owner, const struct el_signal_key *key,
				   enum el_signal_command command, const char *text,
				   uint32_t text_bytes, char said[EL_SIGNAL_SAID_BYTES])
{
	struct el_process *p = owner;

	if (el_installed_is_saving(&p->installed)) {
		refuse(said, "an element is being installed");
		return EL_SIGNAL_BUSY;
	}
	if (command == EL_SIGNAL_SETUP || command == EL_SIGNAL_CONFIGURE)
		return obey_text(p, key, command, text, text_bytes, said);
	return obey_name(p, key, command, text, text_bytes, said);
}

static const struct el_signal_ops ops = { obey };

/* --- Packets --- */

static bool take_packet(struct el_process *p)
{
	static uint8_t buffer[EL_SIGNAL_PACKET_BYTES], answer[EL_SIGNAL_MESSAGE_BYTES];
	struct el_signal_packet packet;
	char from[EL_SIGNAL_TEXT_BYTES];
	int err = el_signal_receive(p->signal_sockets, buffer, &packet);
	size_t n;

	if (err)
		return false;
	n = el_signals_take(p->signals, packet.message, packet.n, &packet.way, wall_ns(),
			    sl_now_ns(), el_signal_address_text(packet.way.source, from), answer);
	err = n ? el_signal_send(p->signal_sockets, packet.way.source, answer, n) : 0;
	if (err)
		sl_warning("cannot answer the signal of %s: %s", from, strerror(-err));
	return true;
}

void el_signalled_poll(struct el_process *p)
{
	for (int i = 0; p->signals && i < SIGNALS_PER_POLL && take_packet(p); i++)
		;
}

/* --- Life --- */

static void drop_keys(struct el_signal_keys *keys)
{
	if (keys)
		el_signal_keys_wipe(keys);
	free(keys);
}

/* 0 with keys, NULL if path is, for drop_keys; or -errno, logged. */
static int read_keys(const char *path, struct el_signal_keys **out)
{
	char error[EL_SIGNAL_ERROR_BYTES];
	int err;

	*out = NULL;
	if (!path)
		return 0;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	err = el_signal_keys_read(path, *out, error);
	if (err) {
		sl_error("%s", error);
		drop_keys(*out);
		*out = NULL;
	}
	return err;
}

int el_signalled_check(const char *path)
{
	struct el_signal_keys *keys;
	int err = read_keys(path, &keys);

	drop_keys(keys);
	return err;
}

int el_signalled_open(struct el_process *p)
{
	struct el_signal_keys *keys;
	int err = read_keys(p->paths.signals, &keys);

	if (err || !keys)
		return err;
	p->signals = calloc(1, sizeof(*p->signals));
	if (!p->signals) {
		drop_keys(keys);
		return -ENOMEM;
	}
	el_signals_init(p->signals, &ops, p, wall_ns());
	el_signals_set_keys(p->signals, keys);
	sl_info("signals: %u keys of %s", keys->n, p->paths.signals);
	drop_keys(keys);
	err = el_signal_listen(&p->signal_sockets);
	if (err)
		sl_error("cannot listen for signals: %s%s", strerror(-err),
			 err == -EPERM ? "; that takes CAP_NET_RAW" : "");
	return err;
}

void el_signalled_close(struct el_process *p)
{
	if (!p->signals)
		return;
	el_signal_close(p->signal_sockets);
	p->signal_sockets = NULL;
	el_signals_fini(p->signals);
	free(p->signals);
	p->signals = NULL;
}

int el_signalled_reload(struct el_process *p)
{
	bool allowed[EL_SIGNALLED_MAX] = { false };
	struct el_signal_keys *keys;
	int err = read_keys(p->paths.signals, &keys);

	if (err)
		return err;
	for (uint32_t i = 0; keys && i < EL_SIGNALLED_MAX; i++) {
		const struct el_signalled *chain = &p->signalled[i];
		const struct el_signal_key *key = el_signal_keys_find(keys, chain->key);
		char said[EL_SIGNAL_SAID_BYTES];

		allowed[i] = chain->chains.n && key &&
			     judge(key, chain->chains.chains, said) == EL_SIGNAL_DONE;
	}
	err = el_process_reload(p, allowed);
	if (!err && keys)
		el_signals_set_keys(p->signals, keys);
	drop_keys(keys);
	return err;
}
