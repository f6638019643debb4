// SPDX-License-Identifier: GPL-2.0-only
/* IPFIX messages by libfixbuf: the session with its templates, and the records. */
#include <arpa/inet.h>
#include <fixbuf/public.h>
#include <string.h>
#include "ipfix/elements.h"
#include "ipfix/encoder.h"
#include "lib/pins.h"

/* Of templates in messages; those of records in memory have the same number, or RECORD_FLOW. */
enum template_id {
	TEMPLATE_FLOW_V4 = 256,
	TEMPLATE_FLOW_V6,
	TEMPLATE_HOP,
	TEMPLATE_PORT,
	TEMPLATE_ELEMENT,
	RECORD_FLOW,
};

/* Fields of some templates only. */
#define FIELD_V4 1
#define FIELD_V6 2
#define FIELD_PADDING 4

static const fbInfoElement_t elements[] = {
#define ELEMENT(number, name, type, bytes, flags, what)                                                        \
	FB_IE_INIT_FULL(name, 0, number, bytes, (flags) | (FB_##type == FB_STRING ? 0 : FB_IE_F_ENDIAN), 0, 0, \
			FB_##type, (char *)what),
	SLUICE_ELEMENTS(ELEMENT)
#undef ELEMENT
};
#define ELEMENTS (sizeof(elements) / sizeof(elements[0]))

struct encoder {
	fbInfoModel_t *model;
	fbSession_t *session;	/* of buf, which owns it */
	fbExporter_t *exporter; /* the same */
	fBuf_t *buf;
	fbTemplate_t *hop;
	GError *error;
	__u32 domain;
	encoder_send *send;
	void *ctx;
	unsigned int records; /* in the message that is being filled */
	int filled;	      /* something is in it */
	int fresh;	      /* it was begun because something did not fit into the one before */
	__u8 message[65535];
};

/* --- records, each with the template that describes it --- */

struct flow_record {
	__u64 begin_ms, end_ms, bytes, layer2_bytes, layer2_total;
	__u64 window, rate, base_rtt, least_rtt, feedbacks;
	__u32 ifindex, u, u_max, v4[2];
	struct sluice_addr v6[2];
	__u16 port[2], path_id;
	__u8 proto, end_reason, bottleneck, pad[3];
	fbVarfield_t state, held_by;
	fbSubTemplateList_t hops;
};

static fbInfoElementSpec_t flow_fields[] = {
	{ "flowStartMilliseconds", 8, 0 },
	{ "flowEndMilliseconds", 8, 0 },
	{ "octetDeltaCount", 8, 0 },
	{ "layer2OctetDeltaCount", 8, 0 },
	{ "layer2OctetTotalCount", 8, 0 },
	{ "sluiceWindow", 8, 0 },
	{ "sluiceRate", 8, 0 },
	{ "sluiceBaseRtt", 8, 0 },
	{ "sluiceRttMin", 8, 0 },
	{ "sluiceFeedbackDeltaCount", 8, 0 },
	{ "egressInterface", 4, 0 },
	{ "sluiceUtilisation", 4, 0 },
	{ "sluiceUtilisationMax", 4, 0 },
	{ "sourceIPv4Address", 4, FIELD_V4 },
	{ "destinationIPv4Address", 4, FIELD_V4 },
	{ "sourceIPv6Address", 16, FIELD_V6 },
	{ "destinationIPv6Address", 16, FIELD_V6 },
	{ "sourceTransportPort", 2, 0 },
	{ "destinationTransportPort", 2, 0 },
	{ "sluicePathId", 2, 0 },
	{ "protocolIdentifier", 1, 0 },
	{ "flowEndReason", 1, 0 },
	{ "sluiceBottleneckHop", 1, 0 },
	{ "paddingOctets", 3, FIELD_PADDING },
	{ "sluiceFlowState", 0, 0 },
	{ "sluiceFlowHeldBy", 0, 0 },
	{ "subTemplateList", 0, 0 },
	FB_IESPEC_NULL,
};

struct hop_record {
	__u64 speed, queue_ns;
	__u32 queue, queue_max, busy_ppm;
	__u8 number, pad[3];
};

static fbInfoElementSpec_t hop_fields[] = {
	{ "sluiceHopSpeed", 8, 0 },	     { "sluiceHopQueueDelayMax", 8, 0 },
	{ "sluiceHopQueue", 4, 0 },	     { "sluiceHopQueueMax", 4, 0 },
	{ "sluiceHopUtilisationMax", 4, 0 }, { "sluiceHop", 1, 0 },
	{ "paddingOctets", 3, 0 },	     FB_IESPEC_NULL,
};

/* An options record (RFC 7011, section 3.4.2): of an interface, not of a flow. */
struct port_record {
	__u32 ifindex, pad;
	__u64 begin_ms, end_ms, layer2_bytes, drops, speed, queue, queue_max;
	fbVarfield_t name, role;
};

static fbInfoElementSpec_t port_fields[] = {
	{ "egressInterface", 4, 0 },	   { "paddingOctets", 4, FIELD_PADDING },
	{ "flowStartMilliseconds", 8, 0 }, { "flowEndMilliseconds", 8, 0 },
	{ "layer2OctetDeltaCount", 8, 0 }, { "droppedPacketDeltaCount", 8, 0 },
	{ "sluicePortSpeed", 8, 0 },	   { "sluicePortQueue", 8, 0 },
	{ "sluicePortQueueMax", 8, 0 },	   { "interfaceName", 0, 0 },
	{ "sluicePortRole", 0, 0 },	   FB_IESPEC_NULL,
};

/* --- the session --- */

static void encoder_check(struct encoder *e, int done)
{
	if (done)
		return;
	msg("libfixbuf: %s: this is a bug of Sluice", e->error ? e->error->message : "no reason");
	exit(EXIT_FAILED);
}

static fbTemplate_t *template_add(struct encoder *e, int in_memory, __u16 id, fbInfoElementSpec_t *fields, __u32 flags)
{
	fbTemplate_t *t = fbTemplateAlloc(e->model);

	encoder_check(e, fbTemplateAppendSpecArray(t, fields, flags, &e->error));
	if (id == TEMPLATE_PORT)
		fbTemplateSetOptionsScope(t, 1);
	encoder_check(e, fbSessionAddTemplate(e->session, in_memory, id, t, &e->error));
	return t;
}

static void element_template_add(struct encoder *e, int in_memory)
{
	fbTemplate_t *t = fbInfoElementAllocTypeTemplate(e->model, &e->error);

	encoder_check(e, t != NULL);
	encoder_check(e, fbSessionAddTemplate(e->session, in_memory, TEMPLATE_ELEMENT, t, &e->error));
}

void encoder_begin(struct encoder *e, __u16 most)
{
	if (e->buf)
		fBufFree(e->buf);
	e->records = 0;
	e->session = fbSessionAlloc(e->model);
	fbSessionSetDomain(e->session, e->domain);
	template_add(e, 1, RECORD_FLOW, flow_fields, ~0U);
	template_add(e, 0, TEMPLATE_FLOW_V4, flow_fields, FIELD_V4);
	template_add(e, 0, TEMPLATE_FLOW_V6, flow_fields, FIELD_V6);
	template_add(e, 1, TEMPLATE_HOP, hop_fields, ~0U);
	e->hop = template_add(e, 0, TEMPLATE_HOP, hop_fields, ~0U);
	template_add(e, 1, TEMPLATE_PORT, port_fields, ~0U);
	template_add(e, 0, TEMPLATE_PORT, port_fields, 0);
	element_template_add(e, 1);
	element_template_add(e, 0);
	e->exporter = fbExporterAllocBuffer(e->message, most);
	e->buf = fBufAllocForExport(e->session, e->exporter);
	fBufSetAutomaticMode(e->buf, FALSE);
}

struct encoder *encoder_new(__u32 domain, __u32 pen, encoder_send *send, void *ctx)
{
	struct encoder *e = g_new0(struct encoder, 1);
	unsigned int i;

	e->model = fbInfoModelAlloc();
	e->domain = domain;
	e->send = send;
	e->ctx = ctx;
	for (i = 0; i < ELEMENTS; i++) {
		fbInfoElement_t element = elements[i];

		element.ent = pen;
		fbInfoModelAddElement(e->model, &element);
	}
	return e;
}

void encoder_free(struct encoder *e)
{
	if (e->buf)
		fBufFree(e->buf);
	fbInfoModelFree(e->model);
	g_free(e);
}

void encoder_flush(struct encoder *e)
{
	encoder_check(e, fBufEmit(e->buf, &e->error));
	if (e->filled)
		e->send(e->ctx, e->message, fbExporterGetMsgLen(e->exporter), e->records);
	e->records = 0;
	e->filled = 0;
}

/* Whether it got into a message. If not, the message is sent, and the caller tries again in the next one. */
static int encoder_fits(struct encoder *e, int done)
{
	if (!done && !e->fresh && g_error_matches(e->error, FB_ERROR_DOMAIN, FB_ERROR_EOM)) {
		g_clear_error(&e->error);
		encoder_flush(e);
		e->fresh = 1;
		return 0;
	}
	encoder_check(e, done);
	e->filled = 1;
	e->fresh = 0;
	return 1;
}

static void template_send(struct encoder *e, __u16 id)
{
	while (!encoder_fits(e, fbSessionExportTemplate(e->session, id, &e->error)))
		;
}

void encoder_templates(struct encoder *e)
{
	unsigned int i, id;

	/* Elements first: a template tells no type. */
	template_send(e, TEMPLATE_ELEMENT);
	for (i = 0; i < ELEMENTS; i++) {
		const fbInfoElement_t *ie = fbInfoModelGetElementByName(e->model, elements[i].ref.name);

		while (!encoder_fits(
			e, fbInfoElementWriteOptionsRecord(e->buf, ie, TEMPLATE_ELEMENT, TEMPLATE_ELEMENT, &e->error)))
			;
	}
	for (id = TEMPLATE_FLOW_V4; id < TEMPLATE_ELEMENT; id++)
		template_send(e, id);
}

static int record_add(struct encoder *e, __u16 in_memory, __u16 id, void *record, size_t bytes)
{
	return fBufSetInternalTemplate(e->buf, in_memory, &e->error) && fBufSetExportTemplate(e->buf, id, &e->error) &&
	       fBufAppend(e->buf, record, bytes, &e->error);
}

static void encoder_add(struct encoder *e, __u16 in_memory, __u16 id, void *record, size_t bytes)
{
	while (!encoder_fits(e, record_add(e, in_memory, id, record, bytes)))
		;
	e->records++;
}

static fbVarfield_t text_of(const char *s)
{
	return (fbVarfield_t){ .len = strlen(s), .buf = (uint8_t *)s };
}

/* --- flows --- */

#define END_IDLE 1   /* flowEndReason: the entry is gone */
#define END_ACTIVE 2 /* it goes on */
#define END_SEEN 3   /* FIN or RST */

static __u8 flow_end_reason(const struct flow_mark *f, const struct marks *m)
{
	return f->flow.tx.flags & FLOW_F_CLOSED ? END_SEEN : mark_is_gone(f, m) ? END_IDLE : END_ACTIVE;
}

static __u32 u_ppm(q24_t u)
{
	__u64 ppm = (__u64)u * 1000000 >> 24;

	return ppm < BUSY_UNKNOWN ? ppm : BUSY_UNKNOWN;
}

static void record_hops(struct encoder *e, const struct flow_mark *f, struct flow_record *r)
{
	struct hop_record *hop = fbSubTemplateListInit(&r->hops, 4 /* ordered */, TEMPLATE_HOP, e->hop, f->hops);
	unsigned int i;

	for (i = 0; i < f->hops; i++)
		hop[i] = (struct hop_record){
			.number = i + 1,
			.speed = f->flow.cc.last[i].bps,
			.queue = f->flow.cc.last[i].qlen_bytes,
			.queue_max = f->hop[i].queue_bytes,
			.queue_ns = f->hop[i].queue_ns,
			.busy_ppm = f->hop[i].busy_ppm,
		};
}

static void record_addresses(const struct flow_key *k, struct flow_record *r)
{
	memcpy(&r->v4[0], &k->local.b[12], 4);
	memcpy(&r->v4[1], &k->remote.b[12], 4);
	r->v4[0] = ntohl(r->v4[0]);
	r->v4[1] = ntohl(r->v4[1]);
	r->v6[0] = k->local;
	r->v6[1] = k->remote;
	r->port[0] = ntohs(k->local_port);
	r->port[1] = ntohs(k->remote_port);
	r->proto = k->proto;
}

void encoder_flow(struct encoder *e, const struct flow_mark *f, const struct marks *m, const struct control *ctl,
		  __u64 real_ns)
{
	__u64 bytes = f->flow.tx.bytes - f->begin_bytes;
	struct flow_record r = {
		.begin_ms = (f->begin_ns + real_ns) / 1000000,
		.end_ms = (f->flow.tx.last_ns + real_ns) / 1000000,
		.bytes = bytes,
		.layer2_bytes = bytes,
		.layer2_total = f->flow.tx.bytes,
		.window = q12_to_bytes(f->flow.cc.w),
		.rate = f->flow.cc.rate_bps,
		.base_rtt = f->flow.params.t_ns,
		.least_rtt = f->flow.delay.least.ns.most_ns,
		.feedbacks = f->flow.rx.feedbacks - f->begin_feedbacks,
		.ifindex = f->flow.path.ifindex,
		.u = u_ppm(f->flow.cc.u),
		.u_max = u_ppm(f->u),
		.path_id = f->flow.cc.path_id,
		.bottleneck = f->hops ? f->flow.cc.bottleneck + 1 : 0,
		.end_reason = flow_end_reason(f, m),
		.state = text_of(flow_state_names[flow_state(&f->flow, ctl)]),
		.held_by = text_of(flow_why(&f->key, &f->flow, ctl, m->now_ns)),
	};

	record_addresses(&f->key, &r);
	record_hops(e, f, &r);
	encoder_add(e, RECORD_FLOW, addr_is_v4(&f->key.remote) ? TEMPLATE_FLOW_V4 : TEMPLATE_FLOW_V6, &r, sizeof(r));
	fbSubTemplateListClear(&r.hops);
}

/* --- ports --- */

void encoder_port(struct encoder *e, const struct port_mark *p, const struct marks *m, __u64 real_ns)
{
	struct port_record r = {
		.begin_ms = (p->begin_ns + real_ns) / 1000000,
		.end_ms = (m->now_ns + real_ns) / 1000000,
		.layer2_bytes = p->load.tx_bytes - p->begin_bytes,
		.drops = p->load.drops - p->begin_drops,
		.speed = p->port.speed_bps,
		.queue = p->load.backlog_bytes,
		.queue_max = p->backlog_bytes,
		.ifindex = p->ifindex,
		.name = text_of(p->port.name),
		.role = text_of(port_role(&p->port)),
	};

	encoder_add(e, TEMPLATE_PORT, TEMPLATE_PORT, &r, sizeof(r));
}
