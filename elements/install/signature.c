/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements/install/signature.h"

static EVP_PKEY *read_key(const char *path)
{
	FILE *f = fopen(path, "re");
	EVP_PKEY *key = f ? PEM_read_PUBKEY(f, NULL, NULL, NULL) : NULL;

	if (f)
		fclose(f);
	if (key && !EVP_PKEY_is_a(key, "ED25519")) {
		EVP_PKEY_free(key);
		key = NULL;
	}
	return key;
}

static int verify(EVP_PKEY *key, const uint8_t *bytes, size_t n, const uint8_t *signature)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	int right = ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
		    EVP_DigestVerify(ctx, signature, EL_SIGNATURE_BYTES, bytes, n) == 1;

	EVP_MD_CTX_free(ctx);
	return right;
}

/* The length of the file's name without `.pub`; 0: it is no key's. */
static size_t stem_bytes(const char *name)
{
	size_t n = strlen(name);

	if (n < 5 || n - 4 >= EL_KEY_NAME_BYTES || strcmp(name + n - 4, ".pub"))
		return 0;
	return n - 4;
}

int el_signature_check(const char *keys_dir, const uint8_t *bytes, size_t n,
		       const uint8_t *signature, size_t signature_bytes,
		       char key_name[EL_KEY_NAME_BYTES], char why[EL_WHY_BYTES])
{
	DIR *dir = opendir(keys_dir);
	const struct dirent *entry;
	uint32_t keys = 0;

	if (signature_bytes != EL_SIGNATURE_BYTES) {
		snprintf(why, EL_WHY_BYTES, "its signature has %zu bytes; one of ed25519 has %u",
			 signature_bytes, EL_SIGNATURE_BYTES);
		goto refused;
	}
	while (dir && (entry = readdir(dir))) {
		size_t stem = stem_bytes(entry->d_name);
		char path[PATH_MAX];
		EVP_PKEY *key;
		int right;

		snprintf(path, sizeof(path), "%s/%s", keys_dir, entry->d_name);
		key = stem ? read_key(path) : NULL;
		if (!key)
			continue;
		keys++;
		right = verify(key, bytes, n, signature);
		EVP_PKEY_free(key);
		if (!right)
			continue;
		memcpy(key_name, entry->d_name, stem);
		key_name[stem] = '\0';
		closedir(dir);
		return 0;
	}
	if (keys)
		snprintf(why, EL_WHY_BYTES, "none of the %u keys in \"%s\" has signed it", keys,
			 keys_dir);
	else
		snprintf(why, EL_WHY_BYTES,
			 "\"%s\" has no key: write public keys of ed25519 there, NAME.pub",
			 keys_dir);
refused:
	if (dir)
		closedir(dir);
	return -EACCES;
}
