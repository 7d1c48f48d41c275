/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice cluster key */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "user/config/config.h"
#include "user/keys/cluster_key.h"
#include "user/keys/key_files.h"

static const char usage[] =
	"Usage: sluice [OPTION]... cluster key add FILE | switch | remove [OPTION]...\n"
	"\n"
	"Change the cluster's key while the nodes forward. Take each step on all nodes before the\n"
	"next one; `sluice show peers` says which key each peer has proven.\n"
	"\n"
	"  add FILE   from now on this node takes the key in FILE, too\n"
	"  switch     it proves itself by that key, and takes the former one, too\n"
	"  remove     it takes the former key no more\n"
	"\n"
	"The bridge, if it runs, reads the keys at once. Peers that are up stay up.\n"
	"\n"
	"Options:\n"
	"  -c, --config FILE   the configuration that names the key file\n"
	"                      (default " SL_CONFIG_DEFAULT_PATH ")\n"
	"  -f, --force         remove: also if a peer has not proven the new key\n"
	"  -h, --help          this text\n";

struct request {
	const struct sl_cmd_options *options;
	const char *config, *step, *file;
	bool force;
	struct sl_key_files files;
	const char *at; /* borrowed: the file that an error is about */
};

/* --- What the bridge says --- */

#define WHO_MAX 10 /* peers that a message names */

struct keys {
	char first[16], second[16]; /* names; empty: there is none */
	uint32_t others;	    /* peers that have proven another key than the first */
	char who[64];		    /* the first WHO_MAX of them */
};

static void on_keys(void *arg, const json_t *row)
{
	const json_t *names = json_object_get(row, "keys");
	struct keys *keys = arg;

	for (size_t i = 0; i < json_array_size(names) && i < 2; i++)
		snprintf(i ? keys->second : keys->first, sizeof(keys->first), "%s",
			 json_string_value(json_array_get(names, i)));
}

static void on_peer(void *arg, const json_t *row)
{
	struct keys *keys = arg;
	const char *name = sl_cmd_text(row, "key");
	size_t used = strlen(keys->who);

	if (strcmp(name, keys->first) == 0)
		return;
	if (keys->others++ < WHO_MAX)
		snprintf(keys->who + used, sizeof(keys->who) - used, "%s%lld", used ? ", " : "",
			 sl_cmd_number(row, "node"));
	else if (keys->others == WHO_MAX + 1)
		snprintf(keys->who + used, sizeof(keys->who) - used, ", ...");
}

static int ask(const struct request *r, const char *command, void (*row)(void *, const json_t *),
	       struct keys *keys)
{
	return sl_cmd_ask_bridge(r->options, json_pack("{s:s}", "command", command), row, keys);
}

/* May the second key go: do all peers hold the first one? */
static int may_remove(const struct request *r)
{
	struct keys keys = { 0 };
	int status = ask(r, "fabric", on_keys, &keys);

	if (status == SL_EXIT_OK)
		status = ask(r, "peers", on_peer, &keys);
	if (status == SL_EXIT_OK && keys.others) {
		fprintf(stderr,
			"sluice: cluster: %u peer%s not proven the key %s (node %s): without the "
			"other key %s; switch there first, or write --force\n",
			keys.others, keys.others == 1 ? " has" : "s have", keys.first, keys.who,
			keys.others == 1 ? "it could not come back" : "they could not come back");
		return SL_EXIT_FAILED;
	}
	return status;
}

static int tell_bridge(const struct request *r)
{
	struct keys keys = { 0 };
	int status = ask(r, "read-keys", on_keys, &keys);

	if (status == SL_EXIT_NOT_RUNNING)
		fputs("sluice: cluster: the files are changed; the bridge reads them when it "
		      "starts\n",
		      stderr);
	if (status != SL_EXIT_OK)
		return status;
	if (r->options->json)
		sl_cmd_dump(json_pack("{s:s, s:s?}", "key", keys.first, "also",
				      *keys.second ? keys.second : NULL));
	else if (*keys.second)
		printf("proves itself by %s, takes %s, too\n", keys.first, keys.second);
	else
		printf("proves itself by %s\n", keys.first);
	return SL_EXIT_OK;
}

/* --- Steps --- */

static int failed(const struct request *r, int err)
{
	const char *also = r->files.also;

	if (err == -ENOENT && r->at == also && !r->file)
		fprintf(stderr,
			"sluice: cluster: there is no second key \"%s\": begin with `add`\n", also);
	else if (err == -EEXIST)
		fprintf(stderr,
			"sluice: cluster: there is a second key already, \"%s\": `switch` to it, or "
			"`remove` it\n",
			also);
	else if (err == -EINVAL && r->at == r->file)
		fprintf(stderr, "sluice: cluster: \"%s\" is no key: a key has 16 to 1024 bytes\n",
			r->file);
	else
		fprintf(stderr, "sluice: cluster: \"%s\": %s\n", r->at, strerror(-err));
	return SL_EXIT_FAILED;
}

static int take_step(struct request *r)
{
	int err = 0, status;

	r->at = r->files.also;
	if (strcmp(r->step, "add") == 0) {
		err = sl_key_files_add(&r->files, r->file, &r->at);
	} else if (strcmp(r->step, "switch") == 0) {
		err = sl_key_files_switch(&r->files);
	} else {
		err = sl_key_files_look(&r->files);
		status = err || r->force ? SL_EXIT_OK : may_remove(r);
		if (status != SL_EXIT_OK)
			return status;
		if (!err)
			err = sl_key_files_remove(&r->files);
	}
	return err ? failed(r, err) : tell_bridge(r);
}

static int run(struct request *r)
{
	char error[SL_YAML_ERROR_BYTES] = "";
	struct sl_settings *settings = NULL;
	int status = SL_EXIT_USAGE;

	if (sl_settings_load(r->config, &settings, error)) {
		fprintf(stderr, "sluice: %s\n", error);
		return status;
	}
	if (!sl_cluster_has_fabric(&settings->cluster))
		fprintf(stderr,
			"sluice: %s: there is no `cluster:`, and a node alone proves itself to nobody\n",
			r->config);
	else if (sl_key_files_init(&r->files, settings->cluster.key_file))
		status = SL_EXIT_FAILED;
	else
		status = take_step(r);
	sl_key_files_free(&r->files);
	sl_settings_free(settings);
	return status;
}

static bool is_step(const char *word)
{
	return strcmp(word, "add") == 0 || strcmp(word, "switch") == 0 ||
	       strcmp(word, "remove") == 0;
}

static int wrong(const char *text)
{
	fprintf(stderr, "sluice: cluster key: %s\nTry 'sluice cluster key --help'.\n", text);
	return SL_EXIT_USAGE;
}

int sl_cmd_cluster_key(const struct sl_cmd_options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "force", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct request r = { .options = options, .config = SL_CONFIG_DEFAULT_PATH };
	int option, words;

	optind = 0;
	while ((option = getopt_long(argc, argv, "c:fh", longs, NULL)) != -1) {
		switch (option) {
		case 'c':
			r.config = optarg;
			break;
		case 'f':
			r.force = true;
			break;
		default:
			return sl_cmd_other_option(option, usage, "cluster key");
		}
	}
	words = argc - optind;
	if (words < 1 || !is_step(argv[optind]))
		return wrong("which step?: write add FILE, switch or remove");
	r.step = argv[optind];
	if (words != (strcmp(r.step, "add") == 0 ? 2 : 1))
		return wrong(strcmp(r.step, "add") == 0 ? "write one file after add"
							: "nothing goes after that step");
	if (words == 2)
		r.file = argv[optind + 1];
	return run(&r);
}
