// SPDX-License-Identifier: GPL-2.0-only
/* See predict.h. */
#include <stdlib.h>
#include <string.h>
#include "sim/engine.h"
#include "sim/predict.h"

#define PORTS_MAX 256 /* of a switch */
#define FRAME_BYTES 84

/* In an egress queue, of one ingress port and class. */
struct cell {
	uint32_t bytes, last; /* last: in the round before */
};

struct predictor {
	struct ppfc_params params;
	struct ppfc_random random;
	struct cell *cells; /* [egress][ingress][class] */
	uint64_t round_ns;  /* when the last round was */
};

struct predict_rules predict_rules;
static struct predictor *predictors; /* by node */

static struct cell *cell_of(const struct sim_node *n, uint32_t out, uint32_t in, uint32_t class)
{
	return &predictors[n - net.nodes].cells[(out * n->ports + in) * CLASSES + class];
}

void predict_count(const struct sim_port *out, const struct sim_port *in, uint32_t class, int32_t bytes)
{
	const struct sim_node *n = &net.nodes[out->node];

	cell_of(n, out - net.ports - n->ports_first, in - net.ports - n->ports_first, class)->bytes += bytes;
}

static void predictor_begin(uint32_t node)
{
	const struct sim_node *n = &net.nodes[node];
	const struct sim_port *first = &net.ports[n->ports_first];
	struct predictor *p = &predictors[node];

	ppfc_params_init(&p->params, n->buffer_bytes, n->buffer_bytes + (uint64_t)first->headroom * n->ports, n->ports,
			 first->bps, first->delay_ns + port_time_ns(first, FRAME_BYTES));
	if (predict_rules.t_thresh_ns)
		p->params.t_thresh_ns = predict_rules.t_thresh_ns;
	if (predict_rules.k_max)
		p->params.k_max = predict_rules.k_max;
	p->params.r = predict_rules.r * Q24_ONE;
	ppfc_seed(&p->random, predict_rules.seed + node);
	p->cells = grow(NULL, (size_t)n->ports * n->ports * CLASSES, sizeof(*p->cells));
	memset(p->cells, 0, (size_t)n->ports * n->ports * CLASSES * sizeof(*p->cells));
}

void predict_begin(void)
{
	uint32_t i;

	predictors = grow(NULL, net.nodes_count, sizeof(*predictors));
	memset(predictors, 0, net.nodes_count * sizeof(*predictors));
	for (i = 0; i < net.nodes_count; i++)
		if (!net.nodes[i].is_host)
			predictor_begin(i);
}

void predict_end(void)
{
	uint32_t i;

	for (i = 0; predictors && i < net.nodes_count; i++)
		free(predictors[i].cells);
	free(predictors);
	predictors = NULL;
}

/* Algorithm 1 for all queues of a class. */
static uint32_t queues_predict(const struct sim_node *n, uint32_t class, struct ppfc_queue *queues, uint64_t free,
			       uint64_t elapsed_ns)
{
	const struct predictor *p = &predictors[n - net.nodes];
	uint32_t out, in;

	for (out = 0; out < n->ports; out++) {
		const struct sim_port *port = &net.ports[n->ports_first + out];

		queues[out] = (struct ppfc_queue){ .bps = port->bps };
		for (in = 0; in < n->ports; in++) {
			const struct cell *c = cell_of(n, out, in, class);
			int64_t increment = (int64_t)c->bytes - c->last;

			queues[out].bytes += c->bytes;
			queues[out].increment += increment;
			/* A port is expected back where it has something. */
			if (c->bytes || c->last)
				queues[out].returning +=
					ppfc_returning(&net.ports[n->ports_first + in].told[class], &p->params,
						       engine.now_ns, increment, elapsed_ns);
		}
	}
	return ppfc_predict(queues, n->ports, &p->params, free, elapsed_ns);
}

/* Algorithms 2 and 3 for one queue. */
static void queue_predicted(const struct sim_node *n, uint32_t out, uint32_t class, const struct ppfc_queue *q,
			    uint64_t elapsed_ns, void (*tell)(struct sim_port *in, uint32_t class, uint64_t ns))
{
	struct predictor *p = &predictors[n - net.nodes];
	struct ppfc_share shares[PORTS_MAX];
	uint32_t in, quanta;

	for (in = 0; in < n->ports; in++) {
		const struct cell *c = cell_of(n, out, in, class);

		shares[in] = (struct ppfc_share){ .bytes = c->bytes, .increment = (int64_t)c->bytes - c->last };
	}
	ppfc_choose(shares, n->ports, &p->params, &p->random);
	for (in = 0; in < n->ports; in++) {
		struct sim_port *port = &net.ports[n->ports_first + in];

		if (!shares[in].drawn)
			continue;
		quanta = predict_rules.fixed_ns ? pfc_ns_quanta(predict_rules.fixed_ns, port->bps) :
						  ppfc_duration(&shares[in], q, &p->params, elapsed_ns, port->bps);
		if (!ppfc_tell(&port->told[class], engine.now_ns, quanta, port->bps, &shares[in], elapsed_ns))
			continue;
		port->predicted++;
		tell(port, class, pfc_quanta_ns(quanta, port->bps));
	}
}

void predict_round(uint32_t node, uint64_t free, void (*tell)(struct sim_port *in, uint32_t class, uint64_t ns))
{
	const struct sim_node *n = &net.nodes[node];
	struct predictor *p = &predictors[node];
	uint64_t elapsed_ns = engine.now_ns - p->round_ns;
	struct ppfc_queue queues[PORTS_MAX];
	uint32_t class, out, i;

	for (class = 1; elapsed_ns && class < CLASSES; class ++) {
		if (!queues_predict(n, class, queues, free, elapsed_ns))
			continue;
		for (out = 0; out < n->ports; out++)
			if (queues[out].acts)
				queue_predicted(n, out, class, &queues[out], elapsed_ns, tell);
	}
	for (i = 0; i < n->ports * n->ports * CLASSES; i++)
		p->cells[i].last = p->cells[i].bytes;
	p->round_ns = engine.now_ns;
}
