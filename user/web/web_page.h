/* SPDX-License-Identifier: BSD-2-Clause */
/* The page of `sluice web`: HTML with its style and script, which asks for /api/ and no one else.
 */
#ifndef SL_WEB_PAGE_H
#define SL_WEB_PAGE_H

extern const char sl_web_page[];

#endif
