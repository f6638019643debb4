// SPDX-License-Identifier: GPL-2.0-only
/* The files of uet-htsim that sluice-sim reads: a topology or a matrix, as the first byte of the input says. */
#include "file.h"
#include "sim/matrix.h"
#include "sim/topology_file.h"

static int topology(void)
{
	struct scenario s = {};
	__u32 hosts;

	if (topology_file_read(file_path, &s))
		return -1;
	hosts = s.topology.hosts * s.topology.leaves * s.topology.pods;
	FUZZ_ASSERT(hosts >= 2 && hosts <= 100000 && s.topology.spines && s.topology.speed && s.topology.uplink);
	FUZZ_ASSERT(s.topology.kind == TOPOLOGY_LEAF_SPINE ?
			    s.topology.pods == 1 :
			    !(s.topology.cores % s.topology.spines) && s.topology.core);
	return 0;
}

static int matrix(void)
{
	struct matrix m;
	__u32 i;

	if (matrix_load(file_path, &m)) {
		FUZZ_ASSERT(!m.flows && !m.triggers);
		return -1;
	}
	FUZZ_ASSERT(m.count && m.flows);
	for (i = 0; i < m.count; i++) {
		const struct matrix_flow *f = &m.flows[i];

		FUZZ_ASSERT(f->from < m.nodes && f->to < m.nodes && f->from != f->to && f->size);
		FUZZ_ASSERT(f->fires <= m.triggers_count && f->trigger <= m.triggers_count);
		FUZZ_ASSERT(!f->trigger || (!f->start_ns && m.triggers[f->trigger].waits));
	}
	matrix_free(&m);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, size };
	int is_topology = fuzz_coin(&f), err;

	file_is(f.at, f.left);
	err = is_topology ? topology() : matrix();
	FUZZ_ASSERT(!err == !said_bytes);
	return 0;
}
