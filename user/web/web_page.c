/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/web/web_page.h"

/* page.html, line by line as string literals */
const char sl_web_page[] =
#include "user/web/page.inc"
	;
