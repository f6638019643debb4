// SPDX-License-Identifier: GPL-2.0-only
/* See predict.h. */
#include <stdlib.h>
#include <string.h>
#include "sim/engine.h"
#include "sim/predict.h"

#define PORTS_MAX 256 /* ports of a switch */
#define FRAME_BYTES 84

/* The bytes in an egress queue from one ingress port, in one class. */
struct cell {
	uint32_t bytes, last; /* last: in the previous round, or at the start of the window */
	int32_t increment;    /* in the last window */
	int marked;	      /* the next packet from there becomes a pause */
};

/* An egress queue of a class, as arriving packets see it. */
struct arrivals {
	struct ppfc_meter meter;
	uint32_t bytes;
};

struct predictor {
	struct ppfc_params params;
	struct ppfc_random random;
	struct cell *cells;	   /* [egress][ingress][class] */
	struct arrivals *arrivals; /* [egress][class] */
	uint64_t round_ns;	   /* time of the last round */
};

struct predict_rules predict_rules;
static struct predictor *predictors; /* by node */

static struct cell *cell_of(const struct sim_node *n, uint32_t out, uint32_t in, uint32_t class)
{
	return &predictors[n - net.nodes].cells[(out * n->ports + in) * CLASSES + class];
}

static struct arrivals *arrivals_of(const struct sim_node *n, uint32_t out, uint32_t class)
{
	return &predictors[n - net.nodes].arrivals[out * CLASSES + class];
}

void predict_count(const struct sim_port *out, const struct sim_port *in, uint32_t class, int32_t bytes)
{
	const struct sim_node *n = &net.nodes[out->node];

	cell_of(n, out - net.ports - n->ports_first, in - net.ports - n->ports_first, class)->bytes += bytes;
	arrivals_of(n, out - net.ports - n->ports_first, class)->bytes += bytes;
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
	p->arrivals = grow(NULL, (size_t)n->ports * CLASSES, sizeof(*p->arrivals));
	memset(p->arrivals, 0, (size_t)n->ports * CLASSES * sizeof(*p->arrivals));
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

	for (i = 0; predictors && i < net.nodes_count; i++) {
		free(predictors[i].cells);
		free(predictors[i].arrivals);
	}
	free(predictors);
	predictors = NULL;
}

/* Algorithm 1 for all queues of a class, in a round. */
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
			/* A port with bytes in the queue is expected back. */
			if (c->bytes || c->last)
				queues[out].returning += ppfc_returning(&net.ports[n->ports_first + in].told[class],
									engine.now_ns, increment, elapsed_ns);
		}
	}
	return ppfc_predict(queues, n->ports, &p->params, free, elapsed_ns);
}

/* Algorithms 2 and 3 for one queue, in a round. */
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

/* --- at arrival --- */

/* The queue of a port, in the time of another queue's window. */
static struct ppfc_queue queue_seen(const struct sim_node *n, uint32_t out, uint32_t class, uint64_t elapsed_ns)
{
	const struct arrivals *a = arrivals_of(n, out, class);
	struct ppfc_queue q =
		ppfc_seen(&a->meter, engine.now_ns, a->bytes, net.ports[n->ports_first + out].bps, elapsed_ns);
	uint32_t in;

	for (in = 0; in < n->ports; in++) {
		const struct sim_port *port = &net.ports[n->ports_first + in];

		if (port->paused_for[class] == out)
			q.returning += ppfc_returning(&port->told[class], engine.now_ns, 0, elapsed_ns);
	}
	ppfc_seen_end(&q);
	return q;
}

/* Algorithm 1 for one queue. */
static int queue_is_to_blame(const struct sim_node *n, uint32_t out, uint32_t class, uint64_t free)
{
	const struct ppfc_params *params = &predictors[n - net.nodes].params;
	uint64_t elapsed_ns = arrivals_of(n, out, class)->meter.elapsed_ns;
	struct ppfc_queue own, other;
	struct ppfc_blame blame = {};
	uint32_t i;

	if (arrivals_of(n, out, class)->bytes <= params->k_max)
		return 0;
	own = queue_seen(n, out, class, elapsed_ns);
	for (i = 0; i < n->ports; i++) {
		if (i == out)
			continue;
		other = queue_seen(n, i, class, elapsed_ns);
		ppfc_blame_add(&blame, &own, &other, i < out, params, elapsed_ns);
	}
	return ppfc_blames(&blame, &own, params, free, elapsed_ns);
}

/* Starts a window of a queue: notes each port's growth in the previous one, and marks ports by Algorithm 2. */
static void window_turn(const struct sim_node *n, uint32_t out, uint32_t class, enum ppfc_step step, uint64_t free)
{
	struct predictor *p = &predictors[n - net.nodes];
	struct ppfc_share shares[PORTS_MAX];
	uint32_t in;

	for (in = 0; in < n->ports; in++) {
		struct cell *c = cell_of(n, out, in, class);

		c->increment = step == PPFC_STEP_ENDS ? (int32_t)(c->bytes - c->last) : 0;
		c->last = c->bytes;
		c->marked = 0;
		shares[in] = (struct ppfc_share){ .bytes = c->bytes };
	}
	if (step != PPFC_STEP_ENDS || !queue_is_to_blame(n, out, class, free))
		return;
	ppfc_draw_ports(shares, n->ports, &p->params, &p->random);
	for (in = 0; in < n->ports; in++)
		cell_of(n, out, in, class)->marked = shares[in].drawn;
}

void predict_arrival(const struct sim_port *egress, struct sim_port *in, uint32_t class, uint64_t free,
		     void (*tell)(struct sim_port *in, uint32_t class, uint64_t ns))
{
	const struct sim_node *n = &net.nodes[egress->node];
	const struct predictor *p = &predictors[n - net.nodes];
	uint32_t out = egress - net.ports - n->ports_first, quanta;
	struct cell *c = cell_of(n, out, in - net.ports - n->ports_first, class);
	struct arrivals *a = arrivals_of(n, out, class);
	uint64_t window_ns = ppfc_window_ns(egress->bps, rules.frame);
	enum ppfc_step step = ppfc_meter_step(&a->meter, engine.now_ns, a->bytes, window_ns);
	struct ppfc_share share;
	struct ppfc_queue q;

	if (step != PPFC_STEP_NONE)
		window_turn(n, out, class, step, free);
	share = ppfc_share_now(c->bytes, c->last, c->increment);
	if (!c->marked || share.increment <= 0)
		return;
	c->marked = 0;
	q = (struct ppfc_queue){ .bps = egress->bps, .bytes = a->bytes, .increment = a->meter.increment };
	quanta = predict_rules.fixed_ns ? pfc_ns_quanta(predict_rules.fixed_ns, in->bps) :
					  ppfc_duration(&share, &q, &p->params, a->meter.elapsed_ns, in->bps);
	if (!ppfc_tell(&in->told[class], engine.now_ns, quanta, in->bps, &share, a->meter.elapsed_ns))
		return;
	in->predicted++;
	in->paused_for[class] = out;
	tell(in, class, pfc_quanta_ns(quanta, in->bps));
}
