/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses, MAC addresses and names of interfaces as JSON. Each function returns a new reference.
 */
#ifndef SL_JSON_VALUES_H
#define SL_JSON_VALUES_H

#include <jansson.h>
#include <stdint.h>

/* "192.0.2.1" or "2001:db8::1"; family 0: null. */
json_t *sl_json_addr(uint8_t family, const uint8_t *addr);
/* "02:00:00:00:00:01" */
json_t *sl_json_mac(const uint8_t mac[6]);
/* "eth1"; "if7" if interface 7 is gone; 0: null. */
json_t *sl_json_ifname(uint32_t ifindex);

#endif
