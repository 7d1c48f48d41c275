/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The edge ports of this router: which netdev each one is, and whether the fast path runs on it.
 *
 * Trouble with one port never stops the others: the kernel forwards for that port, and its state
 * says so.
 */
#ifndef SL_EDGE_PORTS_H
#define SL_EDGE_PORTS_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/config/config.h"
#include "user/datapath/datapath.h"
#include "user/rtnl/xdp_features.h"

#define SL_EDGE_PORTS_MAX 512

enum sl_port_state {
	SL_PORT_ABSENT,	 /* no such netdev now */
	SL_PORT_ON,	 /* the fast path runs here */
	SL_PORT_OFF,	 /* taken off by hand; stays off until attached by hand, or a reload */
	SL_PORT_REFUSED, /* could not be attached; tried again when the netdev changes */
};
const char *sl_port_state_name(enum sl_port_state state);

struct sl_edge_port {
	char name[IF_NAMESIZE];
	uint32_t ifindex; /* 0: absent */
	enum sl_port_state state;
	enum sl_xdp_mode want; /* SL_XDP_NONE: whatever works */
	enum sl_xdp_mode mode; /* as attached */
	bool up;	       /* the netdev, administratively */
	bool transmits;	       /* its driver takes redirected frames; else the kernel sends them */
	bool takes_buffers;    /* also those of several buffers */
	bool transmit_warned;  /* a warning has said that the driver takes none */
	uint8_t number;	       /* in the cluster; 0: none */
	bool configured;       /* by the file, not only by `sluice attach` */
	enum sl_hidden_tags hidden_tags;
};

/* Zeroed is empty. */
struct sl_edge_ports {
	struct sl_edge_port port[SL_EDGE_PORTS_MAX];
	uint32_t n;
	/* owned by the router; NULL: this kernel does not say what drivers take */
	struct sl_xdp_features *xdp_features;
	/* The mirror has to look at all next hops again; the router tells it and clears this. */
	bool changed;
};

/* NULL: it is no port. ifindex 0 is none. */
struct sl_edge_port *sl_edge_port_by_name(struct sl_edge_ports *ports, const char *name);
struct sl_edge_port *sl_edge_port_by_ifindex(struct sl_edge_ports *ports, uint32_t ifindex);

/* A new port, not yet attached. NULL: too many ports. */
struct sl_edge_port *sl_edge_port_add(struct sl_edge_ports *ports, const char *name,
				      enum sl_xdp_mode want);
/* The fast path has left the port: give back what was changed for it. */
void sl_edge_port_restore(struct sl_datapath *dp, const struct sl_edge_port *port);
/* Remove the port from the list; another one may take its place in memory. */
void sl_edge_port_forget(struct sl_edge_ports *ports, struct sl_edge_port *port);

/*
 * Bring the list in line with the file. Ports that the file does not name stay, with `configured`
 * false. 0, or -ENOSPC.
 */
int sl_edge_ports_configure(struct sl_edge_ports *ports, const struct sl_settings *settings);

/* Prepare the tables of dp for the port: its program is on the port, or will be in a moment. */
void sl_edge_port_open(struct sl_edge_ports *ports, struct sl_datapath *dp,
		       struct sl_edge_port *port);
/* Put the program of dp on the port; logged. 0 or as sl_datapath_attach: then it is REFUSED. */
int sl_edge_port_attach(struct sl_edge_ports *ports, struct sl_datapath *dp,
			struct sl_edge_port *port);
/* Both of the above. */
int sl_edge_port_open_and_attach(struct sl_edge_ports *ports, struct sl_datapath *dp,
				 struct sl_edge_port *port);
/* Take the program off by hand; a port that the file does not name is forgotten. 0 or -errno. */
int sl_edge_port_take_off(struct sl_edge_ports *ports, struct sl_datapath *dp,
			  struct sl_edge_port *port);
/* The same for every port that the file does not name. */
void sl_edge_ports_drop_unconfigured(struct sl_edge_ports *ports, struct sl_datapath *dp);

/* A netdev of a port's name is here. */
void sl_edge_port_appeared(struct sl_edge_ports *ports, struct sl_datapath *dp,
			   struct sl_edge_port *port, uint32_t ifindex, bool up);
/* A netdev has come, gone, been renamed, or changed otherwise; `up` of its port is set already. */
void sl_edge_ports_link_event(struct sl_edge_ports *ports, struct sl_datapath *dp, uint32_t ifindex,
			      const char *name, bool present, bool up);
/* Once a second: does each driver still take redirected frames, and show VLAN tags? */
void sl_edge_ports_tick(struct sl_edge_ports *ports, struct sl_datapath *dp);

#endif
