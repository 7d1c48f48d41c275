/* SPDX-License-Identifier: BSD-2-Clause */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "elements/worker/chain_process.h"
#include "elements/worker/install_commands.h"

/* The bytes of a member in base64; NULL: it has none, or there is no memory. Owned by the caller.
 */
static uint8_t *bytes_of(const json_t *request, const char *key, size_t *n)
{
	const char *text = json_string_value(json_object_get(request, key));
	size_t length = text ? strlen(text) : 0;
	uint8_t *bytes;
	int decoded;

	if (!length || length % 4 || length > EL_INSTALL_REQUEST_BYTES)
		return NULL;
	bytes = malloc(length / 4 * 3);
	decoded = bytes ? EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)length) : -1;
	if (decoded < 0) {
		free(bytes);
		return NULL;
	}
	/* EVP_DecodeBlock counts what fills up as bytes. */
	*n = (size_t)decoded - (text[length - 1] == '=') - (text[length - 2] == '=');
	return bytes;
}

void el_install_command(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	size_t object_bytes = 0, signature_bytes = 0;
	uint8_t *object = bytes_of(request, "object", &object_bytes);
	uint8_t *signature = bytes_of(request, "signature", &signature_bytes);
	struct el_process *p = ctx;
	char why[EL_WHY_BYTES];

	if (!object || !signature)
		sl_ctl_fail(answer, "write object and signature in base64");
	else if (el_installed_begin(&p->installed, object, object_bytes, signature, signature_bytes,
				    why))
		sl_ctl_fail(answer, "refused: %s", why);
	else
		sl_ctl_put(answer, json_pack("{s:I}", "ticket", (json_int_t)p->installed.ticket));
	free(object);
	free(signature);
}

void el_installation_command(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct el_installed *in = &((struct el_process *)ctx)->installed;

	if (json_integer_value(json_object_get(request, "ticket")) != (json_int_t)in->ticket ||
	    in->state == EL_INSTALL_NONE)
		sl_ctl_fail(answer, "no installation has this ticket, or another has begun since");
	else if (in->state == EL_INSTALL_TRIAL || in->state == EL_INSTALL_SAVING)
		sl_ctl_put(answer, json_pack("{s:s}", "state", "trial"));
	else if (in->state == EL_INSTALL_REFUSED)
		sl_ctl_fail(answer, "refused: %s", in->why);
	else
		sl_ctl_put(answer, json_pack("{s:s, s:s, s:I}", "state", "installed", "class",
					     in->name, "version", (json_int_t)in->version));
}

void el_remove_command(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const char *name = json_string_value(json_object_get(request, "class"));
	struct el_process *p = ctx;
	char why[EL_WHY_BYTES];

	if (!name)
		sl_ctl_fail(answer, "write the class");
	else if (el_installed_remove(&p->installed, name, why))
		sl_ctl_fail(answer, "%s", why);
	else
		sl_ctl_put(answer, json_pack("{s:s, s:s}", "state", "removed", "class", name));
}
