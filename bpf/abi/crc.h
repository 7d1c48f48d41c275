/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CRC-32 as Ethernet and RoCE have it (IEEE 802.3, reflected), eight bytes at a time: XDP has no
 * function of the kernel for it. User space fills the table before it loads a program.
 */
#ifndef SL_CRC_H
#define SL_CRC_H

#include <linux/types.h>

/* after[n][b]: the CRC of the byte b and n bytes 0 behind it, from 0, without a final inversion. */
struct sl_crc_table {
	__u32 after[8][256];
};

static inline void sl_crc_table_fill(struct sl_crc_table *table)
{
	for (__u32 b = 0; b < 256; b++) {
		__u32 crc = b;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
		table->after[0][b] = crc;
	}
	for (int n = 1; n < 8; n++)
		for (__u32 b = 0; b < 256; b++) {
			__u32 crc = table->after[n - 1][b];

			table->after[n][b] = crc >> 8 ^ table->after[0][crc & 0xff];
		}
}

#endif
