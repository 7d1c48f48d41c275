/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/agent/agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/agent/node_daemons.h"
#include "user/agent/node_file.h"
#include "user/agent/node_release.h"
#include "user/agent/node_traffic.h"
#include "user/document/document.h"
#include "user/etcd/etcd_store.h"
#include "user/etcd/etcd_watch.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"

#define NS_PER_MS      1000000ULL
#define NS_PER_S       1000000000ULL
#define RETRY_FIRST_MS 500u
#define RETRY_MAX_MS   10000u
#define LOOK_MIN_NS    (200 * NS_PER_MS) /* between two looks, whatever a watch says */
#define WAIT_MAX_MS    1000

struct sl_agent {
	const struct sl_etcd_settings *settings; /* borrowed until close */
	struct sl_etcd *etcd;			 /* owned */
	struct sl_etcd_watch *watch;		 /* owned */
	struct sl_node_file file;
	void (*serve)(void *arg); /* NULL: nobody asks */
	void *serve_arg;

	/* etcd */
	struct sl_etcd_current current; /* as heard last */
	bool reached, heard;		/* at the last look; ever */
	uint64_t away_ns, looked_ns, due_ns, kept_ns;
	unsigned int retry_ms;
	unsigned long long failures;
	char why[SL_ETCD_WHY_BYTES]; /* why it is away */
	long long lease;	     /* 0: none */
	json_t *said;		     /* owned: what etcd has of this node; NULL: nothing */

	/* This node */
	bool in_force;
	char waits[128]; /* what the version in the file waits for */
	long long refused, refused_revision, compared_revision;
	char refused_why[SL_DAEMON_WHY_BYTES];
	char note[256];
	struct sl_node_traffic traffic;
	json_t *release; /* owned; NULL: nobody has asked yet */
	uint64_t asked_ns;
};

/* --- What is said --- */

/* Say something about the state once, as long as it stays so. */
static void set_note(struct sl_agent *a, const char *note)
{
	if (*note && strcmp(a->note, note) != 0)
		sl_warning("%s", note);
	snprintf(a->note, sizeof(a->note), "%s", note);
}

static void refuse(struct sl_agent *a, const char *why)
{
	a->refused = a->current.number;
	a->refused_revision = a->current.revision;
	snprintf(a->refused_why, sizeof(a->refused_why), "%s", why);
	sl_error("version %lld is refused: %s; %s stays as it is", a->refused, why, a->file.path);
}

/* The current version, and has nobody asked for another attempt? */
static bool is_refused(const struct sl_agent *a)
{
	return a->refused && a->refused == a->current.number &&
	       a->refused_revision == a->current.revision;
}

static void forget_refusal(struct sl_agent *a)
{
	a->refused = a->refused_revision = 0;
	a->refused_why[0] = '\0';
}

static json_t *refusal_json(const struct sl_agent *a)
{
	if (!a->refused)
		return json_null();
	return json_pack("{s:I, s:s}", "version", (json_int_t)a->refused, "why", a->refused_why);
}

static json_t *stand_json(const struct sl_agent *a)
{
	json_t *row = json_pack("{s:I, s:s, s:s, s:o, s:s}", "version", (json_int_t)a->file.version,
				"state", a->in_force ? "in-force" : "waiting", "waits", a->waits,
				"refused", refusal_json(a), "note", a->note);

	if (row && a->traffic.row)
		json_object_set(row, "drain", a->traffic.row);
	if (row && a->release)
		json_object_set(row, "release", a->release);
	return row;
}

json_t *sl_agent_status(const struct sl_agent *a)
{
	const uint64_t away_ns = a->reached ? 0 : sl_now_ns() - a->away_ns;
	json_t *row = stand_json(a);

	json_object_set_new(row, "node", json_integer(a->settings->node));
	json_object_set_new(row, "current",
			    a->heard ? json_integer(a->current.number) : json_null());
	json_object_set_new(row, "etcd",
			    json_pack("{s:b, s:s, s:I, s:I, s:s}", "reached", a->reached,
				      "endpoint",
				      sl_etcd_endpoint(a->etcd, sl_etcd_chosen(a->etcd)), "away_s",
				      (json_int_t)(away_ns / NS_PER_S), "failures",
				      (json_int_t)a->failures, "why", a->reached ? "" : a->why));
	return row;
}

/* --- Presence --- */

static int keep_lease(struct sl_agent *a)
{
	const uint64_t now_ns = sl_now_ns();
	long long left;
	int err = 0;

	if (a->lease && now_ns - a->kept_ns < a->settings->lease_s * NS_PER_S / 3)
		return 0;
	if (a->lease) {
		err = sl_etcd_keep_lease(a->etcd, a->lease, &left);
		if (err)
			return err;
		if (left <= 0) /* it has ended, or this etcd has never known it */
			a->lease = 0;
	}
	if (!a->lease) {
		json_decref(a->said);
		a->said = NULL;
		err = sl_etcd_lease(a->etcd, a->settings->lease_s, &a->lease);
	}
	if (!err)
		a->kept_ns = now_ns;
	return err;
}

static int write_presence(struct sl_agent *a, json_t *stand)
{
	int err = sl_etcd_write_present(a->etcd, a->settings->prefix, a->settings->node,
					json_incref(stand), a->lease);

	json_decref(a->said);
	a->said = err ? NULL : json_incref(stand);
	return err;
}

static int say_presence(struct sl_agent *a)
{
	json_t *stand = stand_json(a);
	/* While daemons reloaded, the lease may have ended, and etcd have given no other one. */
	int err = stand ? keep_lease(a) : -ENOMEM;

	if (!err && (!a->said || !json_equal(stand, a->said)))
		err = write_presence(a, stand);
	/* The lease has ended just now, as after a long pause of this process. */
	if (err == -EREMOTEIO && strstr(sl_etcd_why(a->etcd), "lease not found")) {
		a->lease = 0;
		err = keep_lease(a);
		if (!err)
			err = write_presence(a, stand);
	}
	json_decref(stand);
	return err;
}

/* While daemons reload, which may take long. */
static void stay_present(void *arg)
{
	const struct sl_agent *a = arg;

	keep_lease(arg);
	if (a->serve)
		a->serve(a->serve_arg);
}

/* --- Taking a version --- */

/* The text of the current version for this node. 1: it has one; 0: refused; else -errno. */
static int read_own(struct sl_agent *a, char **own, size_t *own_bytes)
{
	char name[40], error[SL_YAML_ERROR_BYTES], *text;
	size_t bytes;
	int err;

	*own = NULL;
	err = sl_etcd_read_version(a->etcd, a->settings->prefix, a->current.number, &text, &bytes);
	if (err)
		return err;
	if (!text) {
		refuse(a, "etcd names it as current, and does not have it");
		return 0;
	}
	snprintf(name, sizeof(name), "version %lld", a->current.number);
	err = sl_document_for_node(name, text, bytes, a->settings->node, own, own_bytes, error);
	free(text);
	if (err == -EINVAL)
		refuse(a, error);
	return err == -EINVAL ? 0 : err ? err : 1;
}

/* A daemon refuses what is in the file: everything as it was. */
static void take_back(struct sl_agent *a, bool bridge_took, const char *why)
{
	char unused[SL_DAEMON_WHY_BYTES];
	int err = sl_node_file_take_back(&a->file);

	refuse(a, why);
	if (err == -ENOENT)
		return; /* there was none, and the daemons have another one by other means */
	if (err)
		sl_error("cannot put \"%s\" back: %s", a->file.path, strerror(-err));
	else if (bridge_took)
		sl_node_daemons_reload(a->file.path, a->file.sum, stay_present, a, &bridge_took,
				       unused);
}

/* Where the daemons listen that run: by the former file, if the new one says otherwise. */
static void sockets_path(const struct sl_agent *a, char out[4096])
{
	snprintf(out, 4096, "%.4000s.former", a->file.path);
	if (access(out, R_OK))
		snprintf(out, 4096, "%s", a->file.path);
}

static void take(struct sl_agent *a, const char *own, size_t bytes, bool ask_daemons)
{
	char why[SL_DAEMON_WHY_BYTES], sockets[4096];
	bool bridge_took = false;
	int err = 0;

	if (!sl_node_file_is(&a->file, own, bytes))
		err = sl_node_file_replace(&a->file, own, bytes);
	if (err) {
		snprintf(why, sizeof(why), "cannot write \"%.200s\": %s", a->file.path,
			 strerror(-err));
		refuse(a, why);
		return;
	}
	sockets_path(a, sockets);
	if (ask_daemons)
		err = sl_node_daemons_reload(sockets, a->file.sum, stay_present, a, &bridge_took,
					     why);
	if (err) {
		take_back(a, bridge_took, why);
		return;
	}
	err = sl_node_file_keep(&a->file, a->current.number);
	if (err)
		sl_error("cannot write \"%s.version\": %s", a->file.path, strerror(-err));
	forget_refusal(a);
	a->compared_revision = a->current.revision;
	sl_info("version %lld is in \"%s\"", a->current.number, a->file.path);
}

/* Is the version that is in force the one of that number in etcd? Looked at once a change. */
static int compare(struct sl_agent *a, char note[256])
{
	size_t bytes;
	char *own;
	int err;

	if (a->compared_revision == a->current.revision || is_refused(a))
		return 0;
	err = read_own(a, &own, &bytes);
	if (err <= 0)
		return err;
	if (sl_node_file_is(&a->file, own, bytes))
		a->compared_revision = a->current.revision;
	else
		snprintf(note, 256,
			 "etcd has another text as version %lld than the one in force here: apply "
			 "it again, so that it gets a new number",
			 a->current.number);
	free(own);
	return 0;
}

/* Follow what etcd names as current. 0, or what etcd answers instead. */
static int follow(struct sl_agent *a, bool ask_daemons)
{
	const long long number = a->current.number, has = a->file.recorded;
	char note[256] = "";
	size_t bytes;
	char *own;
	int err = 0;

	if (number < has)
		snprintf(note, sizeof(note),
			 "etcd has version %lld as current, which is older than version %lld here: "
			 "was it restored from a backup? version %lld stays",
			 number, has, has);
	else if (number == has && number && !a->file.version)
		snprintf(note, sizeof(note),
			 "the file has been changed by hand since version %lld: the next version "
			 "replaces it",
			 has);
	else if (number == has && number)
		err = compare(a, note);
	else if (number && !is_refused(a)) {
		err = read_own(a, &own, &bytes);
		if (err == 1)
			take(a, own, bytes, ask_daemons);
		free(own);
		err = err < 0 ? err : 0;
	}
	set_note(a, note);
	return err;
}

/* Do the daemons have in force what is in the file? */
static void look_at_daemons(struct sl_agent *a)
{
	static const char *const words[] = {
		[SL_DAEMON_AWAY] = "does not run",
		[SL_DAEMON_SILENT] = "does not answer",
		[SL_DAEMON_OTHER] = "has another configuration in force",
	};
	const struct sl_node_daemons d = sl_node_daemons_ask(a->file.path, a->file.sum);
	const bool was = a->in_force;

	a->asked_ns = sl_now_ns();
	json_decref(a->release);
	a->release = sl_node_release_ask(a->file.path);
	a->in_force = a->file.sum && d.daemon == SL_DAEMON_HAS_IT && d.bridge == SL_DAEMON_HAS_IT;
	a->waits[0] = '\0';
	if (!a->file.sum)
		snprintf(a->waits, sizeof(a->waits), "there is no configuration yet");
	else if (d.daemon != SL_DAEMON_HAS_IT)
		snprintf(a->waits, sizeof(a->waits), "sluiced %s", words[d.daemon]);
	else if (d.bridge != SL_DAEMON_HAS_IT)
		snprintf(a->waits, sizeof(a->waits), "sluice-bridge %s", words[d.bridge]);
	if (a->in_force && !was)
		sl_info("both daemons have it in force");
	else if (was && !a->in_force)
		sl_warning("%s", a->waits);
}

/* --- etcd comes and goes --- */

static void away(struct sl_agent *a, int err)
{
	const uint64_t now_ns = sl_now_ns();

	snprintf(a->why, sizeof(a->why), "%s", sl_etcd_why(a->etcd));
	a->failures++;
	if (a->reached || a->failures == 1) {
		a->away_ns = now_ns;
		sl_warning("etcd %s: %s; the configuration stays as it is, and so does forwarding",
			   err == -EHOSTUNREACH ? "does not answer" : "refuses", a->why);
	}
	a->reached = false;
	a->retry_ms = a->retry_ms ? a->retry_ms * 2 : RETRY_FIRST_MS;
	if (a->retry_ms > RETRY_MAX_MS)
		a->retry_ms = RETRY_MAX_MS;
	a->due_ns = now_ns + a->retry_ms * NS_PER_MS;
	sl_etcd_watch_close(a->watch);
}

static void back(struct sl_agent *a)
{
	if (!a->reached && a->failures)
		sl_info("etcd answers again, after %llu s",
			(unsigned long long)((sl_now_ns() - a->away_ns) / NS_PER_S));
	a->reached = a->heard = true;
	a->retry_ms = 0;
	a->due_ns = sl_now_ns() + a->settings->lease_s * NS_PER_S / 3;
}

static int read_current(struct sl_agent *a)
{
	struct sl_etcd_current current;
	int err = sl_etcd_read_current(a->etcd, a->settings->prefix, &current);

	if (err)
		return err;
	if (a->heard && current.cluster != a->current.cluster)
		sl_warning("another cluster of etcd answers than before: was it restored?");
	a->current = current;
	if (sl_etcd_watch_is_open(a->watch, sl_etcd_chosen(a->etcd)))
		return 0;
	return sl_etcd_watch_open(a->watch, a->etcd, a->settings->prefix, "current",
				  current.now + 1);
}

static void look(struct sl_agent *a)
{
	int err;

	a->looked_ns = sl_now_ns();
	err = sl_node_file_read(&a->file);
	if (err)
		sl_error("cannot read \"%s\": %s", a->file.path, strerror(-err));
	err = keep_lease(a);
	if (!err)
		err = read_current(a);
	if (!err)
		err = follow(a, true);
	look_at_daemons(a);
	if (!err)
		err = say_presence(a);
	if (err)
		away(a, err);
	else
		back(a);
}

/*
 * Of a node that is drained: whoever waits for it to come to rest, or to run another release, hears
 * of each change.
 */
static void look_at_traffic(struct sl_agent *a)
{
	bool news = sl_node_traffic_look(&a->traffic, a->file.path, a->file.sum);
	int err = 0;

	if (a->traffic.row && sl_now_ns() - a->asked_ns >= SL_TRAFFIC_EVERY_NS) {
		look_at_daemons(a);
		news = true;
	}
	if (news && a->reached)
		err = say_presence(a);
	if (err)
		away(a, err);
}

void sl_agent_wait(struct sl_agent *a, const int *fds, unsigned int n)
{
	uint64_t now_ns = sl_now_ns();
	uint64_t wait_ms = a->due_ns > now_ns ? (a->due_ns - now_ns) / NS_PER_MS + 1 : 0;

	if (wait_ms > WAIT_MAX_MS)
		wait_ms = WAIT_MAX_MS;
	/* While etcd is away, the watch is closed, and what ended it no reason to hurry. */
	if (sl_etcd_watch_wait(a->watch, fds, n, (int)wait_ms) && a->reached)
		a->due_ns = a->looked_ns + LOOK_MIN_NS;
	if (sl_now_ns() >= a->due_ns)
		look(a);
	look_at_traffic(a);
}

void sl_agent_serve(struct sl_agent *a, int fd, void (*serve)(void *arg), void *arg)
{
	a->serve = serve;
	a->serve_arg = arg;
	sl_etcd_serve(a->etcd, fd, serve, arg);
}

void sl_agent_retry(struct sl_agent *a)
{
	forget_refusal(a);
	a->due_ns = 0;
}

int sl_agent_fetch(struct sl_agent *a)
{
	int err = sl_node_file_read(&a->file);

	if (err) {
		sl_error("cannot read \"%s\": %s", a->file.path, strerror(-err));
		return err;
	}
	err = sl_etcd_read_current(a->etcd, a->settings->prefix, &a->current);
	if (!err)
		err = follow(a, false);
	if (err) {
		sl_error("etcd does not answer: %s", sl_etcd_why(a->etcd));
		return err;
	}
	if (a->current.number && a->file.version == a->current.number && !a->note[0])
		return 0;
	if (!a->current.number && !a->note[0])
		sl_error("nothing has been applied yet: `sluice cluster apply FILE`");
	return a->note[0] ? -ESTALE : a->current.number ? -EINVAL : -ENOENT;
}

/* --- Open and close --- */

int sl_agent_open(const struct sl_etcd_settings *settings, struct sl_agent **out)
{
	struct sl_agent *a = calloc(1, sizeof(*a));
	char why[SL_ETCD_WHY_BYTES] = "not enough memory";
	int err = -ENOMEM;

	*out = NULL;
	if (a) {
		a->settings = settings;
		a->file.path = settings->config;
		err = sl_etcd_open(settings, &a->etcd, why);
	}
	if (!err)
		err = sl_etcd_watch_create(&a->watch);
	if (err) {
		sl_error("%s", why);
		sl_agent_close(a);
		return err;
	}
	a->away_ns = sl_now_ns();
	*out = a;
	return 0;
}

void sl_agent_close(struct sl_agent *a)
{
	if (!a)
		return;
	if (a->lease && a->reached)
		sl_etcd_end_lease(a->etcd, a->lease);
	sl_etcd_watch_destroy(a->watch);
	sl_etcd_close(a->etcd);
	sl_node_traffic_fini(&a->traffic);
	json_decref(a->release);
	json_decref(a->said);
	free(a);
}
