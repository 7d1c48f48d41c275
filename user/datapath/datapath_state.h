/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside a generation: datapath_load.c loads its maps, datapath_programs.c its programs,
 * datapath_port.c puts it on ports.
 */
#ifndef SL_DATAPATH_STATE_H
#define SL_DATAPATH_STATE_H

#include "user/datapath/bpf_object.h"
#include "user/datapath/datapath.h"

struct bpf_object;
struct bpf_program;
struct sl_txdrops;

#define SL_COUNTER_MAPS 4 /* sl_stats, sl_drops, sl_punts, sl_port_drops */
#define SL_ALONE_MAPS	6 /* and sl_offload, sl_heartbeat */
/*
 * and in a cluster sl_voq, sl_backlog, sl_xsk, sl_ring, sl_express, sl_system_ports;
 * sl_fast_chain, sl_fast_count, sl_filter_hits, sl_hits_owner; sl_exact_flow, sl_exact_hits,
 * sl_exact_puts
 */
#define SL_SHARED_MAPS 19

/* The pin of the program; those of bound programs begin so. */
#define SL_PROG_PIN "sl_edge"

#define SL_PROG_FRAGS "sl_edge_frags"
#define SL_PROG_PLAIN "sl_edge"

/* A program that is bound to a netdev. */
struct sl_bound {
	uint32_t ifindex;
	int fd; /* owned */
};

/* What runs on the netdevs. Other own elements are other programs on the same maps. */
struct sl_programs {
	struct sl_bpf_bytes linked; /* owned; sluice.bpf.o with own elements; no bytes: without */
	uint32_t own_set;	    /* of the own elements in it; 0: none */
	int fd;			    /* owned; of sl_edge or sl_edge_frags */
	struct sl_bound *bound;	    /* owned */
	size_t n_bound;
};

struct sl_datapath {
	struct sl_bpf_bytes file;  /* owned; sluice.bpf.o, which an upgrade may replace on disk */
	struct bpf_object *object; /* owned; the maps, and sl_beat */
	struct bpf_program *beat;
	struct sl_programs programs;
	/* Owned: programs of the previous generation or of an earlier daemon, maybe still attached.
	 */
	int *earlier_fds;
	size_t n_earlier;
	struct sl_txdrops *txdrops; /* owned; NULL: none, or it could not be loaded */
	char *pin_dir;		    /* owned; NULL: nothing is pinned */
	bool published;		    /* its pins are at pin_dir, no more beside it */
	struct sl_config config;
	bool frags;
	struct sl_fib_tables tables;
	size_t mapped_bytes[7]; /* of nexthop, adj, group, root4, root6, runs4, runs6 */
	uint32_t n_ports;
	int shared_fds[SL_SHARED_MAPS]; /* owned; of an earlier generation, or -1 */
	int former_flows_fd;  /* owned; sl_exact_flow of an earlier one, of another size; or -1 */
	uint64_t *exact_puts; /* owned; NULL: there are no exact flows */
};

/* Set what the programs of an object that is not loaded yet read as constants. 0 or -errno. */
int sl_datapath_set_constants(const struct sl_datapath *dp, struct bpf_object *object);
/* Pin its programs and maps beside the published set. 0 or -errno; logged. */
int sl_datapath_stage(struct sl_datapath *dp);

/*
 * Link own elements, or none (NULL, or no such file), with the file's programs, which are to be
 * loaded from what results. 0 or -errno.
 */
int sl_programs_link(struct sl_datapath *dp, const char *elements_path);
/* Open the object that the programs are loaded from. 0 or -errno. */
int sl_programs_open_object(const struct sl_datapath *dp, struct bpf_object **out);
void sl_programs_free(struct sl_programs *programs);
/*
 * In the place of all programs, load those with other own elements, on the same maps. The former
 * ones are noted as earlier ones. 0, or -errno: nothing has changed.
 */
int sl_programs_replace(struct sl_datapath *dp, const char *elements_path);

/* Note the programs of both pinned sets, or of a generation of this process. 0 or -errno. */
int sl_earlier_of_pins(struct sl_datapath *dp);
int sl_earlier_of_generation(struct sl_datapath *dp, const struct sl_datapath *previous);
/* They have been replaced: an open descriptor would keep them and their tables in memory. */
void sl_earlier_forget(struct sl_datapath *dp);

/* A descriptor, borrowed, of the program for a netdev; one that is to be bound is loaded first. */
int sl_program_for(struct sl_datapath *dp, uint32_t ifindex, bool bound, int *fd);
/* The netdev has gone, or its program: let go of the one that is bound to it. */
void sl_program_unbind(struct sl_datapath *dp, uint32_t ifindex);
bool sl_program_is_current(const struct sl_datapath *dp, uint32_t ifindex, uint32_t prog_id);
/* A new descriptor of the program if it is of this generation or an earlier one; else -ENOENT. */
int sl_program_open_known(const struct sl_datapath *dp, uint32_t ifindex, uint32_t prog_id);

#endif
