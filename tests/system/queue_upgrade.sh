# SPDX-License-Identifier: GPL-2.0-only
# A qdisc keeps the code that it was made with; another version of sluiced registers its own, and makes the qdisc anew.

queue_version() { bpftool -j map lookup pinned "$PINS/ssys-h1/queue_limits" key 0 0 0 0 | jq .formatted.value.version; }

# The kernel frees a qdisc's programs when every task has been seen to sleep or to yield.
queue_programs_gone() { bpftool -j prog show | jq -e 'map(.name) | index("queue_dequeue") == null' >/dev/null; }

# queue_other BUILD VERSION: h1's daemon dies, and that build's takes over.
queue_other() {
	daemon_kill h1
	BUILD=$1 daemon_start h1
	RUNS[h1]=$1
	expect "its version" "$(queue_version)" -eq "$2"
	expect "the qdisc of eth0" "$(queue_root)" has "qdisc sluice 5463: root"
	expect "qdiscs of this version" "$(queue_count 1)" -eq 1
	bulk_goes_on
	grows "packets that the qdisc of this version takes" 20 queue_count '.packets[0]'
	expect "interfaces with pauses of their own" "$(bpftool -j map dump pinned "$PINS/ssys-h1/queue_pauses" | jq length)" -eq 1
}

queue__is_renewed_by_an_upgrade_and_a_downgrade() {
	local version before

	upgrade_up
	queue_needed
	queue_config sluice
	before=$(queue_root)
	daemon_start h1
	queue_registered
	version=$(queue_version)
	daemon_start h2 sw
	server h2
	bulk_start h1 10.2.0.2 -P 4
	governed_soon h1
	queue_other "$NEXT" $((version + 1))
	queue_other "$NOW" "$version"
	bulk_stop
	daemon_stop h1 h2 sw
	expect "the qdisc of eth0 at the end" "$(queue_root)" = "$before"
	wait_for 300 "the programs of the qdisc are gone" queue_programs_gone
}
