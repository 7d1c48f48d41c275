/* SPDX-License-Identifier: BSD-2-Clause */
/* Big-endian integers in byte buffers, at any alignment. */
#ifndef RB_BYTES_H
#define RB_BYTES_H

#include <stdint.h>

static inline void rb_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void rb_put24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	rb_put16(p + 1, (uint16_t)v);
}

static inline void rb_put32(uint8_t *p, uint32_t v)
{
	rb_put16(p, (uint16_t)(v >> 16));
	rb_put16(p + 2, (uint16_t)v);
}

static inline void rb_put64(uint8_t *p, uint64_t v)
{
	rb_put32(p, (uint32_t)(v >> 32));
	rb_put32(p + 4, (uint32_t)v);
}

static inline uint16_t rb_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t rb_get24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | rb_get16(p + 1);
}

static inline uint32_t rb_get32(const uint8_t *p)
{
	return (uint32_t)rb_get16(p) << 16 | rb_get16(p + 2);
}

static inline uint64_t rb_get64(const uint8_t *p)
{
	return (uint64_t)rb_get32(p) << 32 | rb_get32(p + 4);
}

#endif
