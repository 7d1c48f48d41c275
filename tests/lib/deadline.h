/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long a test waits for what should come at once. It ends a test that hangs, and says nothing
 * about time: on a slow machine all may take its time. So look for what is waited for first, and at
 * the clock only if it is not there.
 */
#ifndef TEST_DEADLINE_H
#define TEST_DEADLINE_H

#define DEADLINE_S  60
#define DEADLINE_NS (DEADLINE_S * 1000000000ULL)

#endif
