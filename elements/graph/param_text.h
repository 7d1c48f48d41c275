/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters of elements as people write them. */
#ifndef EL_PARAM_TEXT_H
#define EL_PARAM_TEXT_H

#include "elements/core/element.h"

/*
 * Read text as the parameter says. 0; -EINVAL: not of its kind; -ERANGE: outside its range. On
 * error *out is untouched.
 */
int el_param_parse(const struct el_param *param, const char *text, struct el_value *out);

#define EL_PARAM_RANGE_BYTES 96
/* "a number, 1 to 255", "ipip or gre": completes `is not`. Returns text. */
const char *el_param_expects(const struct el_param *param, char text[EL_PARAM_RANGE_BYTES]);

#endif
