/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The words of ip(8) for numbers of rtnetlink: protocols, types and tables of routes, states of
 * neighbours.
 */
#ifndef SL_RTNETLINK_NAMES_H
#define SL_RTNETLINK_NAMES_H

#include <stdint.h>

/*
 * Read the names that this system has for protocols of routes, as ip(8) does: the lines "NUMBER
 * NAME" of rt_protos and of rt_protos.d in a directory. They replace those built in.
 * What cannot be read is left out.
 */
void sl_route_protocol_names_read(const char *directory);

/*
 * Each function returns the word for a number. It writes a number that has none into buf, and
 * returns buf.
 */
#define SL_NAME_BYTES 16
const char *sl_route_protocol_name(uint8_t protocol,
				   char buf[SL_NAME_BYTES]);		  /* RTPROT_*: "bird" */
const char *sl_route_type_name(uint8_t type, char buf[SL_NAME_BYTES]);	  /* RTN_*: "blackhole" */
const char *sl_route_table_name(uint32_t table, char buf[SL_NAME_BYTES]); /* "main" */
const char *sl_neighbour_state_name(uint16_t state,
				    char buf[SL_NAME_BYTES]); /* NUD_*: "REACHABLE" */

#endif
