/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses and configures a policy by the contract of fq.h. */
#include <errno.h>
#include <string.h>

#include "queues/fq.h"

#define FQ_LIST_OPS(id, name) &fq_##name##_ops,
const struct fq_ops *const fq_policies[] = { FQ_POLICIES(FQ_LIST_OPS) NULL };

static int check_params(const struct fq_ops *ops)
{
	if (ops->n_params > FQ_PARAMS_MAX || (ops->n_params > 0 && !ops->params))
		return -EINVAL;
	for (unsigned int i = 0; i < ops->n_params; i++) {
		const struct fq_param *p = &ops->params[i];

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

int fq_ops_check(const struct fq_ops *ops)
{
	if (!ops || !ops->name || !ops->name[0] || strlen(ops->name) >= FQ_NAME_BYTES)
		return -EINVAL;
	if (ops->policy >= FQ_N_POLICIES || ops->n_ranks > FQ_RANKS_MAX)
		return -EINVAL;
	if (ops->state_bytes > FQ_STATE_BYTES_MAX || ops->state_bytes % 8)
		return -EINVAL;
	if (ops->n_ranks > 0 && !ops->changed)
		return -EINVAL;
	return check_params(ops);
}

const struct fq_ops *fq_lookup(const char *name)
{
	for (const struct fq_ops *const *ops = fq_policies; *ops; ops++)
		if (strcmp((*ops)->name, name) == 0)
			return *ops;
	return NULL;
}

static bool shape_is_valid(const struct fq_shape *shape)
{
	return shape->queues >= 1 && shape->queues <= FQ_QUEUES_MAX &&
	       shape->reserved < shape->queues && shape->frame_max_bytes >= 60 &&
	       shape->frame_max_bytes <= FQ_FRAME_MAX_BYTES &&
	       (shape->quantum_bytes == 0 ||
		(shape->quantum_bytes <= shape->frame_max_bytes &&
		 shape->quantum_bytes * FQ_TURNS_MAX >= shape->frame_max_bytes)) &&
	       shape->limit_bytes >= shape->frame_max_bytes && shape->limit_bytes <= FQ_BYTES_MAX &&
	       shape->limit_frames >= 1 && shape->limit_frames <= FQ_FRAMES_MAX &&
	       shape->rate_Bps >= 1 && shape->rate_Bps <= FQ_RATE_MAX_BPS;
}

int fq_config_init(struct fq_config *cfg, const char *name, const struct fq_shape *shape)
{
	const struct fq_ops *ops = fq_lookup(name);

	if (!ops)
		return -ENOENT;
	if (!shape_is_valid(shape))
		return -EINVAL;
	memset(cfg, 0, sizeof(*cfg));
	cfg->ops = ops;
	cfg->shape = *shape;
	if (cfg->shape.quantum_bytes == 0)
		cfg->shape.quantum_bytes = shape->frame_max_bytes;
	for (unsigned int i = 0; i < ops->n_params; i++)
		cfg->param[i] = ops->params[i].value;
	return 0;
}

int fq_config_set(struct fq_config *cfg, const char *param, int64_t value)
{
	for (unsigned int i = 0; i < cfg->ops->n_params; i++) {
		const struct fq_param *p = &cfg->ops->params[i];

		if (strcmp(p->name, param) != 0)
			continue;
		if (value < p->min || value > p->max)
			return -ERANGE;
		cfg->param[i] = value;
		return 0;
	}
	return -ENOENT;
}

int fq_config_prepare(struct fq_config *cfg, const char **why)
{
	const char *unused;

	if (!why)
		why = &unused;
	*why = NULL;
	memset(cfg->gains, 0, sizeof(cfg->gains));
	return cfg->ops->prepare ? cfg->ops->prepare(cfg, why) : 0;
}
