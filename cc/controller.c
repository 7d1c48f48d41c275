/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses, configures and runs a controller by the contract of cc.h, and keeps the rules that all
 * controllers share. Whatever an algorithm does and whatever the fabric loses:
 *
 *   - a record older than one already taken, or of another algorithm, is refused;
 *   - without feedback for stale_intervals the rate loses an eighth per interval down to the floor,
 *     and the algorithm does not run; from the next record on, it raises the rate by its own rules;
 *   - the rate stays within floor and line, and the floors of all VOQs to a port use a quarter of
 * it at most: else they alone could fill it;
 *   - the bucket holds what the rate sends in one interval, and at least burst_frames frames.
 */
#include <errno.h>
#include <string.h>

#include "cc/arith.h"

#define CC_LIST_OPS(number, id, name) &cc_##name##_ops,
const struct cc_ops *const cc_algorithms[] = { CC_ALGORITHMS(CC_LIST_OPS) NULL };

static int cc_params_check(const struct cc_ops *ops)
{
	if (!ops->params || ops->n_params < CC_COMMON_PARAMS || ops->n_params > CC_PARAMS_MAX)
		return -EINVAL;
	for (unsigned int i = 0; i < ops->n_params; i++) {
		const struct cc_param *p = &ops->params[i];

		if (!p->name || !p->unit || !p->source)
			return -EINVAL;
		if (p->min < 0 || p->value < p->min || p->value > p->max)
			return -EINVAL;
		for (unsigned int j = 0; j < i; j++)
			if (strcmp(p->name, ops->params[j].name) == 0)
				return -EINVAL;
	}
	return 0;
}

int cc_ops_check(const struct cc_ops *ops)
{
	if (!ops || !ops->name || !ops->name[0] || strlen(ops->name) >= CC_NAME_BYTES)
		return -EINVAL;
	if (!ops->algorithm || !ops->prepare || !ops->ingress_init || !ops->ingress_tick)
		return -EINVAL;
	if (ops->needs_feedback &&
	    (!ops->egress_sample || !ops->egress_feedback || !ops->ingress_feedback))
		return -EINVAL;
	if (ops->egress_bytes > CC_EGRESS_BYTES || ops->ingress_bytes > CC_INGRESS_BYTES)
		return -EINVAL;
	return cc_params_check(ops);
}

const struct cc_ops *cc_lookup(const char *name)
{
	for (const struct cc_ops *const *ops = cc_algorithms; *ops; ops++)
		if (strcmp((*ops)->name, name) == 0)
			return *ops;
	return NULL;
}

const struct cc_ops *cc_lookup_number(unsigned int algorithm)
{
	for (const struct cc_ops *const *ops = cc_algorithms; *ops; ops++)
		if ((*ops)->algorithm == algorithm)
			return *ops;
	return NULL;
}

static bool cc_port_valid(const struct cc_port *port)
{
	return port->capacity_ups >= 1 && port->capacity_ups <= CC_RATE_MAX &&
	       port->line_ups >= 1 && port->line_ups <= CC_RATE_MAX &&
	       port->interval_ns >= CC_INTERVAL_MIN_NS && port->interval_ns <= CC_INTERVAL_MAX_NS &&
	       port->frame_bytes >= 60 && port->frame_bytes <= 65535 &&
	       (port->units == CC_PACKETS || port->units == CC_BYTES) && port->reserved == 0 &&
	       port->sources >= 1 && port->sources <= CC_SOURCES_MAX;
}

int cc_config_init(struct cc_config *cfg, const char *name, const struct cc_port *port)
{
	const struct cc_ops *ops = cc_lookup(name);

	if (!ops)
		return -ENOENT;
	if (!cc_port_valid(port))
		return -EINVAL;
	memset(cfg, 0, sizeof(*cfg));
	cfg->ops = ops;
	cfg->port = *port;
	for (unsigned int i = 0; i < ops->n_params; i++)
		cfg->param[i] = ops->params[i].value;
	return 0;
}

int cc_config_set(struct cc_config *cfg, const char *param, int64_t value)
{
	for (unsigned int i = 0; i < cfg->ops->n_params; i++) {
		const struct cc_param *p = &cfg->ops->params[i];

		if (strcmp(p->name, param) != 0)
			continue;
		if (value < p->min || value > p->max)
			return -ERANGE;
		cfg->param[i] = value;
		return 0;
	}
	return -ENOENT;
}

int cc_config_prepare(struct cc_config *cfg, const char **why)
{
	const char *unused;

	if (!why)
		why = &unused;
	*why = NULL;
	memset(cfg->gains, 0, sizeof(cfg->gains));
	/* Once here, as every VOQ needs it twice an interval, and at high rates it is a long
	 * division. */
	cfg->floor_q16 =
		cc_min(cc_ppb(cfg->port.capacity_ups << 16, cfg->param[CC_FLOOR_PPB]),
		       (cfg->port.capacity_ups << 16) / (4 * CC_CLASSES * cfg->port.sources));
	return cfg->ops->prepare(cfg, why);
}

uint32_t cc_frame_units(const struct cc_port *port)
{
	return port->units == CC_BYTES ? port->frame_bytes : 1;
}

void cc_egress_init(struct cc_egress *e, const struct cc_config *cfg)
{
	memset(e, 0, sizeof(*e));
	if (cfg->ops->egress_init)
		cfg->ops->egress_init(e->priv, cfg);
}

uint32_t cc_egress_sample(struct cc_egress *e, const struct cc_config *cfg,
			  const struct cc_sample *s)
{
	e->seq++;
	if (!cfg->ops->egress_sample || s->n_sources > CC_SOURCES_MAX)
		return 0;
	return cfg->ops->egress_sample(e->priv, cfg, s);
}

bool cc_egress_feedback(struct cc_egress *e, const struct cc_config *cfg, const struct cc_sample *s,
			const struct cc_source *source, struct cc_feedback *out)
{
	*out = (struct cc_feedback){
		.capacity_ups = cc_clamp(s->capacity_ups, 1, CC_RATE_MAX),
		.seq = e->seq,
		.point = cfg->port.point,
		.algorithm = cfg->ops->algorithm,
	};
	if (!cfg->ops->egress_feedback || source->id >= CC_SOURCES_MAX)
		return false;
	return cfg->ops->egress_feedback(e->priv, cfg, s, source, out);
}

static void cc_ingress_bound(struct cc_ingress *in, const struct cc_config *cfg)
{
	const struct cc_port *port = &cfg->port;
	uint64_t line_q16 = port->line_ups << 16;
	uint64_t frames = (uint64_t)cfg->param[CC_BURST_FRAMES] * cc_frame_units(port);

	in->rate_q16 = cc_clamp(in->rate_q16, cc_clamp(cfg->floor_q16, 1, line_q16), line_q16);
	in->burst_units = (uint32_t)cc_max(cc_min(frames, CC_UNITS_MAX),
					   cc_units_in(in->rate_q16 >> 16, port->interval_ns));
}

void cc_ingress_init(struct cc_ingress *in, const struct cc_config *cfg, uint16_t weight)
{
	memset(in, 0, sizeof(*in));
	in->weight = (uint16_t)cc_clamp(weight, 1, CC_WEIGHT_MAX);
	/* Before anything is known: as if every source were sending. */
	in->rate_q16 = (cfg->port.capacity_ups << 16) / cfg->port.sources;
	cc_ingress_switch(in, cfg);
}

void cc_ingress_switch(struct cc_ingress *in, const struct cc_config *cfg)
{
	memset(in->priv, 0, sizeof(in->priv));
	cc_ingress_forget(in);
	in->age_ns = 0;
	cfg->ops->ingress_init(in, cfg);
	cc_ingress_bound(in, cfg);
}

void cc_ingress_forget(struct cc_ingress *in)
{
	in->ever = false;
	in->heard = false;
}

static bool cc_ingress_stale(const struct cc_ingress *in, const struct cc_config *cfg)
{
	return in->age_ns > (uint64_t)cfg->param[CC_STALE_INTERVALS] * cfg->port.interval_ns;
}

int cc_ingress_feedback(struct cc_ingress *in, const struct cc_config *cfg,
			const struct cc_feedback *fb)
{
	if (fb->algorithm != cfg->ops->algorithm || !cfg->ops->ingress_feedback)
		return -EPROTO;
	/* Half of the number space is older: a difference of 2^31 or more is a step back. */
	if (in->ever && !cc_ingress_stale(in, cfg) && fb->seq - in->seq - 1 >= UINT32_MAX / 2)
		return -ESTALE;
	in->ever = true;
	in->heard = true;
	in->seq = fb->seq;
	cfg->ops->ingress_feedback(in, cfg, fb);
	in->age_ns = 0;
	in->point = fb->point;
	cc_ingress_bound(in, cfg);
	return 0;
}

void cc_ingress_sent(struct cc_ingress *in, const struct cc_config *cfg, uint32_t units)
{
	if (!cfg->ops->ingress_sent || cc_ingress_stale(in, cfg))
		return;
	cfg->ops->ingress_sent(in, cfg, units);
	cc_ingress_bound(in, cfg);
}

uint32_t cc_ingress_urgency(const struct cc_ingress *in, const struct cc_config *cfg)
{
	return cfg->ops->ingress_urgency ? cfg->ops->ingress_urgency(in, cfg) : 0;
}

void cc_ingress_tick(struct cc_ingress *in, const struct cc_config *cfg, const struct cc_usage *u)
{
	in->age_ns += u->elapsed_ns;
	if (cfg->ops->needs_feedback && cc_ingress_stale(in, cfg))
		in->rate_q16 -= in->rate_q16 >> 3;
	else
		cfg->ops->ingress_tick(in, cfg, u);
	in->heard = false;
	cc_ingress_bound(in, cfg);
}

uint64_t cc_ingress_rate_ups(const struct cc_ingress *in)
{
	return cc_max(in->rate_q16 >> 16, 1);
}
