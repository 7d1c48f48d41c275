/* SPDX-License-Identifier: BSD-2-Clause */
/* Neighbours: which MAC address an IP address on a link has, as the kernel resolved it. */
#ifndef SL_MIRROR_NEIGH_H
#define SL_MIRROR_NEIGH_H

#include "user/mirror/mirror_link.h"

struct sl_neigh {
	struct sl_hnode node;
	struct sl_link *link; /* holds a reference */
	uint8_t family;
	uint8_t addr[16];
	bool present;	/* the kernel has it; false: only hops name it */
	bool seen;	/* the current dump listed it */
	uint16_t state; /* NUD_* */
	uint8_t flags;	/* NTF_* */
	bool managed;	/* the kernel itself keeps it resolved */
	uint8_t mac[6]; /* if has_mac */
	bool has_mac;
	bool in_use; /* XDP sent through it in the last period */
	struct sl_hop_list hops;
	bool listed;		/* among its store's hosts (mirror_rib.h) */
	struct sl_hop *host;	/* hop of its host route; NULL: it has none. Holds a reference */
	bool wanted;		/* in mirror.wanted: hops need it, and it is not usable */
	uint32_t probe_delay_s; /* from the next question to the one after it */
	uint64_t probe_at_ns;	/* of the next question */
	LIST_ENTRY(sl_neigh) wanted_entry;
};

/* The neighbour, made if it is unknown; sl_neigh_put undoes that. NULL: no memory. */
struct sl_neigh *sl_neigh_get(struct sl_mirror *m, struct sl_link *link, uint8_t family,
			      const uint8_t *addr);
struct sl_neigh *sl_neigh_find(const struct sl_mirror *m, uint32_t ifindex, uint8_t family,
			       const uint8_t *addr); /* NULL: unknown */
/* Free it, unless the kernel has it or a hop names it. */
void sl_neigh_put(struct sl_mirror *m, struct sl_neigh *n);
bool sl_neigh_usable(const struct sl_neigh *n); /* frames can be sent to it */
void sl_neigh_message(struct sl_mirror *m, const struct sl_rtnl_neigh *msg);
void sl_neigh_clear_seen(struct sl_mirror *m); /* before a dump */
void sl_neigh_sweep(struct sl_mirror *m);      /* after it: remove what it did not list */
/* Its hops or its state changed: begin to ask the kernel for it, or cease. */
void sl_neigh_want(struct sl_mirror *m, struct sl_neigh *n);
/* Its link came up: if it is wanted, ask at once, and without back-off. */
void sl_neigh_ask_soon(struct sl_mirror *m, struct sl_neigh *n);
/* Ask for wanted neighbours, and for those in use, as far as that is due. */
void sl_neigh_tick(struct sl_mirror *m, uint64_t now_ns);

#endif
