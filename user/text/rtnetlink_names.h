/* SPDX-License-Identifier: BSD-2-Clause */
/* The words that ip(8) uses for numbers of rtnetlink. */
#ifndef SL_RTNETLINK_NAMES_H
#define SL_RTNETLINK_NAMES_H

#include <stdint.h>

/* A number without a name is written into buf, which is returned. */
#define SL_NAME_BYTES 16
const char *sl_route_protocol_name(uint8_t protocol,
				   char buf[SL_NAME_BYTES]);		  /* RTPROT_*: "bird" */
const char *sl_route_type_name(uint8_t type, char buf[SL_NAME_BYTES]);	  /* RTN_*: "blackhole" */
const char *sl_route_table_name(uint32_t table, char buf[SL_NAME_BYTES]); /* "main" */
const char *sl_neighbour_state_name(uint16_t state,
				    char buf[SL_NAME_BYTES]); /* NUD_*: "REACHABLE" */

#endif
