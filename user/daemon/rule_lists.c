/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <bpf/bpf.h>

#include "user/classify/compile.h"
#include "user/classify/flow_rule.h"
#include "user/config/same_rules.h"
#include "user/daemon/rule_lists.h"
#include "user/datapath/counters.h"
#include "user/daemon/lists.h"
#include "user/lib/log.h"
#include "user/rtnl/rtnl_request.h"
#include "user/tables/kernel_lookup.h"

static const uint8_t families[] = { [SL_LIST_IP4] = AF_INET, [SL_LIST_IP6] = AF_INET6 };
#define FAMILIES 2

#define HOPS_A_SECOND 64 /* next hops that the kernel is asked to resolve, at most */

struct list {
	const struct sl_filter_list_settings *settings; /* borrowed */
	uint32_t slot;
	/* Of each rule, and last of the default: its counter, and what that held before. Owned. */
	uint32_t *number;
	struct sl_counter *before;
	uint64_t *identity;
	struct sl_image image[FAMILIES];
	struct sl_list map[FAMILIES];
	bool kept[FAMILIES]; /* the image, and so the map, is that of the previous list */
};

struct sl_rule_lists {
	struct sl_rtnl_request *requests;    /* owned; NULL: not needed yet, or it failed */
	uint32_t earlier_hits;		     /* sl_map_id of an earlier daemon's; 0: no more */
	uint32_t hops_asked;		     /* in all; the next ones in turn are asked next */
	struct sl_reserving_rule *reserving; /* owned; n_reserving */
	uint32_t n_reserving;
	uint32_t n;
	struct list list[SL_FILTER_LISTS];
};

/* --- Counters and slots --- */

static const struct list *find_list(const struct sl_rule_lists *lists, const char *name)
{
	for (uint32_t i = 0; lists && i < lists->n; i++)
		if (!strcmp(lists->list[i].settings->name, name))
			return &lists->list[i];
	return NULL;
}

static void mark_earlier(const struct sl_earlier_hits *earlier, bool *used)
{
	for (uint32_t i = 0; i < earlier->n; i++)
		used[earlier->hit[i].number] = true;
}

static void mark_numbers(const struct sl_rule_lists *lists, bool *used)
{
	for (uint32_t i = 0; lists && i < lists->n; i++)
		for (uint32_t j = 0; lists->list[i].number && j <= lists->list[i].settings->rules.n;
		     j++)
			used[lists->list[i].number[j]] = true;
}

/* The lowest number that no rule has, old or new: their frames must not mix. */
static uint32_t free_number(bool *used, uint32_t *from)
{
	while (used[*from])
		++*from;
	used[*from] = true;
	return *from;
}

/*
 * Counters of list: those of the same rules of old, which may be NULL, or of an earlier daemon, or
 * new ones. 0 or -ENOMEM.
 */
static int number_rules(struct list *list, const struct list *old,
			const struct sl_earlier_hits *earlier, bool *used, uint32_t *from)
{
	uint32_t n = list->settings->rules.n;
	int64_t *same = calloc(n + 1, sizeof(*same));
	int err;

	list->number = calloc(n + 1, sizeof(*list->number));
	list->before = calloc(n + 1, sizeof(*list->before));
	list->identity = calloc(n + 1, sizeof(*list->identity));
	err = same && list->number && list->before && list->identity
		      ? sl_same_rules(list->settings, old ? old->settings : NULL, same)
		      : -ENOMEM;
	if (!err)
		err = sl_rule_identities(list->settings, list->identity);
	if (!err)
		same[n] = old && old->settings->default_action == list->settings->default_action
				  ? (int64_t)old->settings->rules.n
				  : -1;
	for (uint32_t i = 0; i <= n && !err; i++) {
		const struct sl_earlier_hit *hit = sl_earlier_hits_find(earlier, list->identity[i]);

		if (hit) {
			list->number[i] = hit->number;
			list->before[i] = hit->before;
		} else if (same[i] >= 0) {
			list->number[i] = old->number[same[i]];
			list->before[i] = old->before[same[i]];
		} else {
			list->number[i] = free_number(used, from);
			list->before[i].packets = UINT64_MAX; /* read when it is put */
		}
	}
	free(same);
	return err;
}

static uint32_t free_slot(const struct sl_rule_lists *lists, const struct sl_rule_lists *previous)
{
	bool used[2 * SL_FILTER_LISTS] = { false };
	uint32_t slot = 0;

	for (uint32_t i = 0; i < lists->n; i++)
		used[lists->list[i].slot] = true;
	for (uint32_t i = 0; previous && i < previous->n; i++)
		used[previous->list[i].slot] = true;
	while (used[slot])
		slot++;
	return slot;
}

/* --- Life --- */

static int compile(struct list *list)
{
	uint32_t n = list->settings->rules.n;
	struct sl_rule *rules = calloc(n + 1, sizeof(*rules));
	int err = rules ? 0 : -ENOMEM;

	if (rules && n)
		memcpy(rules, list->settings->parsed, n * sizeof(*rules));
	for (uint32_t i = 0; rules && i < n; i++)
		rules[i].number = list->number[i];
	for (unsigned int f = 0; f < FAMILIES && !err; f++)
		err = sl_compile(rules, n, families[f], (uint32_t)list->settings->default_action,
				 list->number[n], &list->image[f]);
	free(rules);
	return err;
}

/*
 * Take over the maps of those images that are as they were. A change of one list leaves the others
 * alone, and rules of one family often the other's.
 */
static void keep_maps(struct list *list, const struct list *old)
{
	for (unsigned int f = 0; f < FAMILIES; f++) {
		const struct sl_image *image = &list->image[f], *before = &old->image[f];

		if (old->map[f].fd < 0 || image->n_bytes != before->n_bytes ||
		    memcmp(image->bytes, before->bytes, image->n_bytes) != 0)
			continue;
		list->map[f] = old->map[f];
		list->map[f].fd = fcntl(old->map[f].fd, F_DUPFD_CLOEXEC, 0);
		list->kept[f] = list->map[f].fd >= 0; /* else it gets a map of its own */
	}
}

static bool reserves(const struct list *list, uint32_t rule)
{
	return list->settings->parsed[rule].action & SL_RULE_RESERVE;
}

static int find_reserving(struct sl_rule_lists *lists)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < lists->n; i++)
		for (uint32_t j = 0; j < lists->list[i].settings->rules.n; j++)
			n += reserves(&lists->list[i], j);
	lists->reserving = calloc(n + 1, sizeof(*lists->reserving));
	if (!lists->reserving)
		return -ENOMEM;
	for (uint32_t i = 0; i < lists->n; i++)
		for (uint32_t j = 0; j < lists->list[i].settings->rules.n; j++) {
			const struct list *list = &lists->list[i];
			const char *name = sl_filter_rule(list->settings, j)->name;
			struct sl_reserving_rule *rule = &lists->reserving[lists->n_reserving];

			if (!reserves(list, j))
				continue;
			lists->n_reserving++;
			rule->number = list->number[j];
			rule->template = list->settings->parsed[j].reserve;
			if (name)
				snprintf(rule->name, sizeof(rule->name), "%s/%s",
					 list->settings->name, name);
			else
				snprintf(rule->name, sizeof(rule->name), "%s/%u",
					 list->settings->name, j);
		}
	return 0;
}

const struct sl_reserving_rule *sl_rule_lists_reserving(const struct sl_rule_lists *lists,
							uint32_t *n)
{
	*n = lists ? lists->n_reserving : 0;
	return lists ? lists->reserving : NULL;
}

static int check_hop(const struct sl_settings *settings, const char *list, uint32_t i,
		     const struct sl_rule *rule)
{
	/* The kernel's lookup does not tell an address of this node from one without a route. */
	if (settings->engine == SL_ENGINE_KERNEL) {
		sl_error("filters: list \"%s\": rule %u has a %s, which engine: kernel does not "
			 "know: write engine: fast",
			 list, i, rule->table ? "table" : "next_hop");
		return -EOPNOTSUPP;
	}
	if (rule->table && !sl_kernel_looks_up(SL_TABLE_LOOKUP)) {
		sl_error(
			"filters: list \"%s\": rule %u has a table, which this kernel does not look "
			"up for XDP (Linux 6.5 does): write a next_hop",
			list, i);
		return -EOPNOTSUPP;
	}
	return 0;
}

static int check_support(const struct sl_settings *settings,
			 const struct sl_filter_list_settings *list)
{
	for (uint32_t i = 0; i < list->rules.n; i++)
		if (list->parsed[i].action & SL_RULE_NEXT_HOP &&
		    check_hop(settings, list->name, i, &list->parsed[i]))
			return -EOPNOTSUPP;
	for (uint32_t i = 0; i < list->rules.n && !settings->cluster.reserve; i++)
		if (list->parsed[i].action & SL_RULE_RESERVE) {
			sl_error("filters: list \"%s\": rule %u has a reserve_rate, and this node "
				 "reserves nothing: write `reserve` into `cluster`",
				 list->name, i);
			return -EOPNOTSUPP;
		}
	return 0;
}

int sl_rule_lists_create(const struct sl_settings *settings, const struct sl_rule_lists *previous,
			 struct sl_rule_lists **out)
{
	struct sl_rule_lists *lists = calloc(1, sizeof(*lists));
	bool *used = calloc(SL_FILTER_COUNTERS + 1, sizeof(*used));
	struct sl_earlier_hits earlier = { 0 };
	uint32_t from = 0;
	int err = lists && used ? 0 : -ENOMEM;

	if (!err && !previous)
		err = sl_earlier_hits_open(settings->pin_dir, &earlier);
	/* Beside so many, those of new rules may not find a place. */
	if (earlier.n > SL_FILTER_COUNTERS / 2)
		sl_earlier_hits_close(&earlier);
	if (!err) {
		lists->earlier_hits = earlier.map_id;
		mark_earlier(&earlier, used);
		mark_numbers(previous, used);
	}
	for (uint32_t i = 0; i < settings->filters.n && !err; i++) {
		struct list *list = &lists->list[i];
		const struct list *old;

		list->settings = sl_filter_list(&settings->filters, i);
		list->map[SL_LIST_IP4].fd = list->map[SL_LIST_IP6].fd = -1;
		old = find_list(previous, list->settings->name);
		list->slot = old ? old->slot : free_slot(lists, previous);
		lists->n++;
		err = check_support(settings, list->settings);
		if (!err)
			err = number_rules(list, old, &earlier, used, &from);
		if (!err)
			err = compile(list);
		if (!err && old)
			keep_maps(list, old);
		if (err == -ENOSPC)
			sl_error("filters: list \"%s\" needs %zu MiB, and at most %zu fit: write "
				 "fewer different ports, lengths and flow labels, or fewer rules",
				 list->settings->name,
				 (list->image[0].n_bytes + list->image[1].n_bytes) >> 20,
				 sizeof(struct sl_classifier_large) >> 20);
	}
	if (!err)
		err = find_reserving(lists);
	if (err == -ENOMEM)
		sl_error("filters: not enough memory");
	free(used);
	sl_earlier_hits_close(&earlier);
	if (err)
		sl_rule_lists_destroy(lists);
	*out = err ? NULL : lists;
	return err;
}

void sl_rule_lists_destroy(struct sl_rule_lists *lists)
{
	for (uint32_t i = 0; lists && i < lists->n; i++) {
		struct list *list = &lists->list[i];

		for (unsigned int f = 0; f < FAMILIES; f++) {
			free(list->image[f].bytes);
			sl_list_close(&list->map[f]);
		}
		free(list->number);
		free(list->before);
		free(list->identity);
	}
	if (lists)
		sl_rtnl_request_close(lists->requests);
	if (lists)
		free(lists->reserving);
	free(lists);
}

/* --- Into the fast path --- */

static struct sl_list_maps maps_of(const struct sl_datapath *dp)
{
	return (struct sl_list_maps){ .small_fd = sl_datapath_map_fd(dp, "sl_filter_small"),
				      .large_fd = sl_datapath_map_fd(dp, "sl_filter_large") };
}

static uint32_t slot_of(const struct list *list, unsigned int family)
{
	return list->slot * FAMILIES + family;
}

int sl_rule_lists_prepare(struct sl_rule_lists *lists)
{
	int err = 0;

	for (uint32_t i = 0; i < lists->n && !err; i++)
		for (unsigned int f = 0; f < FAMILIES && !err; f++) {
			struct list *list = &lists->list[i];

			if (list->map[f].fd < 0)
				err = sl_list_make(list->image[f].bytes, list->image[f].n_bytes,
						   &list->map[f]);
			if (err)
				sl_error("filters: list \"%s\": cannot make its map: %s",
					 list->settings->name, strerror(-err));
		}
	return err;
}

static int read_hits(const struct sl_datapath *dp, uint32_t number, struct sl_counter *out)
{
	return sl_counter_read(sl_datapath_map_fd(dp, "sl_filter_hits"), number, out);
}

/* What the counters of new rules hold already, from rules that had them before. */
static int read_before(const struct list *list, const struct sl_datapath *dp)
{
	uint32_t first = UINT32_MAX, last = 0, n = list->settings->rules.n;
	struct sl_counter *counters;
	int err;

	for (uint32_t j = 0; j <= n; j++) {
		if (list->before[j].packets != UINT64_MAX)
			continue;
		first = list->number[j] < first ? list->number[j] : first;
		last = list->number[j] > last ? list->number[j] : last;
	}
	if (first > last)
		return 0;
	counters = calloc(last - first + 1, sizeof(*counters));
	if (!counters)
		return -ENOMEM;
	err = sl_counters_read_range(sl_datapath_map_fd(dp, "sl_filter_hits"), first,
				     last - first + 1, counters);
	for (uint32_t j = 0; j <= n && !err; j++)
		if (list->before[j].packets == UINT64_MAX)
			list->before[j] = counters[list->number[j] - first];
	free(counters);
	return err;
}

/* Where the counters are not those of the earlier daemon, all rules are new. */
static void judge_earlier(struct sl_rule_lists *lists, const struct sl_datapath *dp)
{
	if (lists->earlier_hits &&
	    lists->earlier_hits != sl_map_id(sl_datapath_map_fd(dp, "sl_filter_hits")))
		for (uint32_t i = 0; i < lists->n; i++)
			for (uint32_t j = 0; j <= lists->list[i].settings->rules.n; j++)
				lists->list[i].before[j].packets = UINT64_MAX;
	lists->earlier_hits = 0;
}

/* Tell the next daemon whose the counters are. */
static void own_counters(const struct list *list, struct sl_hits_owner *owners)
{
	for (uint32_t j = 0; owners && j <= list->settings->rules.n; j++)
		sl_hits_owner_set(&owners[list->number[j]], list->identity[j], &list->before[j]);
}

void sl_rule_lists_forget(const struct sl_rule_lists *lists, const struct sl_datapath *dp)
{
	static const struct sl_counter none;
	struct sl_hits_owner *owners = sl_hits_owners_map(sl_datapath_map_fd(dp, "sl_hits_owner"));
	bool *used = owners ? calloc(SL_FILTER_COUNTERS + 1, sizeof(*used)) : NULL;

	if (used)
		mark_numbers(lists, used);
	for (uint32_t i = 0; used && i < SL_FILTER_COUNTERS; i++)
		if (!used[i])
			sl_hits_owner_set(&owners[i], 0, &none);
	free(used);
	sl_hits_owners_unmap(owners);
}

/* --- Policers --- */

static void fill_policer(const struct sl_police *police, struct sl_policer *out)
{
	const uint64_t burst[SL_BUCKETS] = {
		[SL_BUCKET_COMMITTED] = police->burst_bytes,
		[SL_BUCKET_OTHER] = police->peak_rate_Bps ? police->peak_burst_bytes
							  : police->excess_burst_bytes,
	};

	*out = (struct sl_policer){
		.two_rates = police->peak_rate_Bps > 0,
		.exceed_dscp_plus1 = police->exceed_dscp_plus1,
		.rate_Bps = { police->rate_Bps, police->peak_rate_Bps },
	};
	for (unsigned int i = 0; i < SL_BUCKETS; i++)
		out->tokens[i] = out->burst[i] = burst[i] * SL_POLICER_SCALE;
	if (out->two_rates) {
		for (unsigned int i = 0; i < SL_BUCKETS; i++)
			out->full_ns[i] = out->burst[i] / out->rate_Bps[i];
	} else {
		out->full_ns[SL_BUCKET_COMMITTED] =
			(burst[0] + burst[1]) * SL_POLICER_SCALE / out->rate_Bps[0];
	}
}

/* Each rule that polices has its policer; one that stays as it was keeps its tokens. */
static void make_policers(const struct list *list, struct sl_datapath *dp)
{
	int fd = sl_datapath_map_fd(dp, "sl_policer");

	for (uint32_t i = 0; i < list->settings->rules.n; i++) {
		const struct sl_police *police = &list->settings->parsed[i].police;
		struct sl_policer policer;

		if (!police->rate_Bps)
			continue;
		fill_policer(police, &policer);
		if (bpf_map_update_elem(fd, &list->number[i], &policer, BPF_NOEXIST) &&
		    errno != EEXIST)
			sl_error("filters: list \"%s\": rule %u has no policer, so it lets nothing "
				 "pass: %s",
				 list->settings->name, i, strerror(errno));
	}
}

/* --- Next hops --- */

static void make_hops(const struct list *list, struct sl_datapath *dp)
{
	int fd = sl_datapath_map_fd(dp, "sl_rule_hop");

	for (uint32_t i = 0; i < list->settings->rules.n; i++) {
		const struct sl_rule *rule = &list->settings->parsed[i];
		struct sl_rule_hop hop = { .table = rule->table };

		if (!(rule->action & SL_RULE_NEXT_HOP))
			continue;
		memcpy(hop.address, rule->next_hop, sizeof(hop.address));
		if (bpf_map_update_elem(fd, &list->number[i], &hop, BPF_ANY))
			sl_error(
				"filters: list \"%s\": rule %u has no next hop, so it lets nothing "
				"pass: %s",
				list->settings->name, i, strerror(errno));
	}
}

/* --- Chains of elements --- */

static void make_chains(const struct list *list, struct sl_datapath *dp)
{
	int fd = sl_datapath_map_fd(dp, "sl_rule_chain");

	for (uint32_t i = 0; i < list->settings->rules.n; i++) {
		const struct sl_rule *rule = &list->settings->parsed[i];
		struct sl_rule_chain chain = { 0 };

		if (!(rule->action & SL_RULE_CHAIN))
			continue;
		memcpy(chain.name, rule->chain, sizeof(chain.name));
		chain.id = sl_chain_id(chain.name);
		if (bpf_map_update_elem(fd, &list->number[i], &chain, BPF_ANY))
			sl_error("filters: list \"%s\": rule %u has no chain, so it lets nothing "
				 "pass: %s",
				 list->settings->name, i, strerror(errno));
	}
}

/* --- Rules that exact flows name --- */

/* Under which number flows know the rule, and its name; 0: they cannot name it. */
static uint32_t flow_rule_id(const struct list *list, uint32_t i,
			     char name[SL_FLOW_RULE_NAME_BYTES])
{
	const struct sl_filter_rule_settings *rule = sl_filter_rule(list->settings, i);

	if (!rule->name || sl_rule_is_auxiliary(&list->settings->parsed[i]))
		return 0;
	sl_flow_rule_name(list->settings->name, rule->name, name);
	return sl_flow_rule_id(name);
}

/* Behind what belongs to a rule, and before that of a former one of its name goes. */
static void make_flow_rules(const struct list *list, struct sl_datapath *dp)
{
	const int fd = sl_datapath_map_fd(dp, "sl_flow_rule");

	for (uint32_t i = 0; sl_datapath_config(dp)->exact_flows && i < list->settings->rules.n;
	     i++) {
		const struct sl_rule *rule = &list->settings->parsed[i];
		struct sl_flow_rule value = {
			.action = rule->action,
			.number = list->number[i],
			.sample = rule->sample,
			.version = rule->family == AF_INET    ? 4
				   : rule->family == AF_INET6 ? 6
							      : 0,
		};
		const uint32_t id = flow_rule_id(list, i, value.name);

		if (id && bpf_map_update_elem(fd, &id, &value, BPF_ANY))
			sl_error("filters: list \"%s\": flows that name rule %u let nothing pass: "
				 "%s",
				 list->settings->name, i, strerror(errno));
	}
}

/* If it is that of this rule, and no later one of its name has taken its place. */
static void delete_flow_rule(const struct list *list, uint32_t i, struct sl_datapath *dp)
{
	const int fd = sl_datapath_map_fd(dp, "sl_flow_rule");
	struct sl_flow_rule value;
	const uint32_t id = flow_rule_id(list, i, value.name);

	if (id && !bpf_map_lookup_elem(fd, &id, &value) && value.number == list->number[i])
		bpf_map_delete_elem(fd, &id);
}

const struct sl_filter_rule_settings *sl_rule_lists_of_flow(const struct sl_rule_lists *lists,
							    uint32_t id)
{
	char name[SL_FLOW_RULE_NAME_BYTES];

	for (uint32_t i = 0; lists && i < lists->n; i++)
		for (uint32_t j = 0; j < lists->list[i].settings->rules.n; j++)
			if (flow_rule_id(&lists->list[i], j, name) == id)
				return sl_filter_rule(lists->list[i].settings, j);
	return NULL;
}

/* --- Next hops that the kernel resolves --- */

static bool names_hop(const struct list *list, uint32_t i)
{
	const struct sl_rule *rule = &list->settings->parsed[i];

	return rule->action & SL_RULE_NEXT_HOP && !rule->table;
}

static uint32_t count_hops(const struct sl_rule_lists *lists)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < lists->n; i++)
		for (uint32_t j = 0; j < lists->list[i].settings->rules.n; j++)
			n += names_hop(&lists->list[i], j);
	return n;
}

void sl_rule_lists_resolve(struct sl_rule_lists *lists)
{
	const uint32_t n = count_hops(lists);
	const uint32_t batch = n < HOPS_A_SECOND ? n : HOPS_A_SECOND;
	const uint32_t first = n ? lists->hops_asked % n : 0;
	uint32_t at = 0;

	if (n == 0 || (!lists->requests && sl_rtnl_request_open(&lists->requests)))
		return;
	for (uint32_t i = 0; i < lists->n; i++)
		for (uint32_t j = 0; j < lists->list[i].settings->rules.n; j++) {
			const struct sl_rule *rule = &lists->list[i].settings->parsed[j];

			/* Without a route there is nothing to ask; a later turn may find one. */
			if (names_hop(&lists->list[i], j) && (at++ + n - first) % n < batch)
				sl_rtnl_neigh_resolve(lists->requests, rule->family,
						      rule->next_hop);
		}
	lists->hops_asked += batch;
}

/* --- Of rules that are gone --- */

static bool is_used(const struct sl_rule_lists *lists, uint32_t number)
{
	for (uint32_t i = 0; i < lists->n; i++)
		for (uint32_t j = 0; j < lists->list[i].settings->rules.n; j++)
			if (lists->list[i].number[j] == number)
				return true;
	return false;
}

/* Delete what belongs to rules that are gone. */
static void delete_unused(const struct sl_rule_lists *lists, const struct sl_rule_lists *previous,
			  struct sl_datapath *dp)
{
	int policers = sl_datapath_map_fd(dp, "sl_policer");
	int hops = sl_datapath_map_fd(dp, "sl_rule_hop");

	for (uint32_t i = 0; i < previous->n; i++) {
		const struct list *old = &previous->list[i];

		for (uint32_t j = 0; j < old->settings->rules.n; j++) {
			const struct sl_rule *rule = &old->settings->parsed[j];

			if (!(rule->action & (SL_RULE_POLICE | SL_RULE_NEXT_HOP)) ||
			    is_used(lists, old->number[j]))
				continue;
			if (rule->action & SL_RULE_POLICE)
				bpf_map_delete_elem(policers, &old->number[j]);
			if (rule->action & SL_RULE_NEXT_HOP)
				bpf_map_delete_elem(hops, &old->number[j]);
		}
	}
}

static void delete_flow_rules(const struct sl_rule_lists *lists,
			      const struct sl_rule_lists *previous, struct sl_datapath *dp)
{
	bool *used = calloc(SL_FILTER_COUNTERS + 1, sizeof(*used));

	if (!used) {
		sl_error("filters: not enough memory: flows may go on as rules that are gone");
		return;
	}
	mark_numbers(lists, used);
	for (uint32_t i = 0; i < previous->n; i++)
		for (uint32_t j = 0; j < previous->list[i].settings->rules.n; j++)
			if (!used[previous->list[i].number[j]])
				delete_flow_rule(&previous->list[i], j, dp);
	free(used);
}

int sl_rule_list_policer(const struct sl_rule_lists *lists, const struct sl_datapath *dp,
			 uint32_t list, uint32_t rule, struct sl_policer *out)
{
	return bpf_map_lookup_elem(sl_datapath_map_fd(dp, "sl_policer"),
				   &lists->list[list].number[rule], out)
		       ? -errno
		       : 0;
}

void sl_rule_lists_put(struct sl_rule_lists *lists, struct sl_datapath *dp, bool all)
{
	struct sl_list_place places[SL_FILTER_SLOTS];
	struct sl_list_maps maps = maps_of(dp);
	struct sl_hits_owner *owners = sl_hits_owners_map(sl_datapath_map_fd(dp, "sl_hits_owner"));
	uint32_t n = 0;
	int err;

	judge_earlier(lists, dp);
	for (uint32_t i = 0; i < lists->n; i++) {
		struct list *list = &lists->list[i];

		err = read_before(list, dp);
		if (err)
			sl_error("filters: list \"%s\": the counters of its rules are wrong: %s",
				 list->settings->name, strerror(-err));
		own_counters(list, owners);
		make_policers(list, dp);
		make_hops(list, dp);
		make_chains(list, dp);
		make_flow_rules(list, dp);
		for (unsigned int f = 0; f < FAMILIES; f++)
			if (all || !list->kept[f])
				places[n++] = (struct sl_list_place){ .slot = slot_of(list, f),
								      .list = &list->map[f] };
	}
	if (lists->n && !owners)
		sl_error("filters: the next sluiced will not find the counters of rules");
	sl_hits_owners_unmap(owners);
	err = sl_lists_put(&maps, places, n);
	if (err)
		sl_error("filters: not all lists are in force: %s", strerror(-err));
}

void sl_rule_lists_remove_gone(const struct sl_rule_lists *lists,
			       const struct sl_rule_lists *previous, struct sl_datapath *dp)
{
	struct sl_list_maps maps = maps_of(dp);
	const struct sl_list none = { .fd = -1 };

	if (previous && sl_datapath_config(dp)->exact_flows)
		delete_flow_rules(lists, previous, dp);
	for (uint32_t i = 0; previous && i < previous->n; i++) {
		const struct list *old = &previous->list[i];

		for (unsigned int f = 0; f < FAMILIES; f++)
			if (!find_list(lists, old->settings->name))
				sl_list_put(&maps, slot_of(old, f), &none);
	}
	if (previous)
		delete_unused(lists, previous, dp);
}

static bool answers(uint32_t action)
{
	action &= SL_RULE_ACTION_MASK;
	return action == SL_FILTER_REJECT || action == SL_FILTER_RESET;
}

int sl_rule_lists_targets(const struct sl_rule_lists *lists, struct sl_copy_target **out,
			  uint32_t *n, bool *any)
{
	struct sl_copy_target *all = calloc(SL_FILTER_RULES_MAX, sizeof(*all));

	*out = all;
	*n = 0;
	*any = false;
	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < lists->n; i++) {
		const struct list *list = &lists->list[i];

		*any |= answers((uint32_t)list->settings->default_action);
		for (uint32_t j = 0; j < list->settings->rules.n; j++) {
			const struct sl_rule *rule = &list->settings->parsed[j];

			*any |= rule->sample || answers(rule->action);
			if (!rule->sample)
				continue;
			all[*n].number = list->number[j];
			memcpy(all[*n].netdev, rule->mirror, sizeof(all[*n].netdev));
			++*n;
		}
	}
	return 0;
}

static const struct list *list_for(const struct sl_rule_lists *lists, const char *netdev)
{
	const struct list *others = NULL;

	/* Its packets have been judged where they entered, and would go round in circles. */
	if (strcmp(netdev, SL_CHAIN_NETDEV) == 0)
		return NULL;
	for (uint32_t i = 0; lists && i < lists->n; i++) {
		const struct sl_filter_list_settings *settings = lists->list[i].settings;

		if (!settings->ports.n && !settings->for_flows)
			others = &lists->list[i];
		for (uint32_t j = 0; j < settings->ports.n; j++)
			if (!strcmp(sl_filter_port_name(settings, j), netdev))
				return &lists->list[i];
	}
	return others;
}

uint8_t sl_rule_lists_of(const struct sl_rule_lists *lists, const char *netdev)
{
	const struct list *list = list_for(lists, netdev);

	return list ? (uint8_t)(list->slot + 1) : 0;
}

const struct sl_filter_list_settings *sl_rule_list_for(const struct sl_rule_lists *lists,
						       const char *netdev)
{
	const struct list *list = list_for(lists, netdev);

	return list ? list->settings : NULL;
}

/* --- For views --- */

uint32_t sl_rule_lists_n(const struct sl_rule_lists *lists)
{
	return lists ? lists->n : 0;
}

const struct sl_filter_list_settings *sl_rule_list_settings(const struct sl_rule_lists *lists,
							    uint32_t list)
{
	return lists->list[list].settings;
}

size_t sl_rule_list_bytes(const struct sl_rule_lists *lists, uint32_t list)
{
	size_t bytes = 0;

	for (unsigned int f = 0; f < FAMILIES; f++)
		bytes += lists->list[list].map[f].small ? sizeof(struct sl_classifier_small)
							: sizeof(struct sl_classifier_large);
	return bytes;
}

int sl_rule_list_hits(const struct sl_rule_lists *lists, const struct sl_datapath *dp,
		      uint32_t list, uint32_t rule, struct sl_counter *out)
{
	const struct list *l = &lists->list[list];
	int err = read_hits(dp, l->number[rule], out);

	if (err)
		return err;
	out->packets -= l->before[rule].packets;
	out->bytes -= l->before[rule].bytes;
	return 0;
}
