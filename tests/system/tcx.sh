# SPDX-License-Identifier: GPL-2.0-only
# Programs are attached by tcx where the kernel has it (Linux 6.6): also where a qdisc `ingress` has the place of clsact.

need_tcx() { has_tcx || skip "no tcx in this kernel"; }

# tcx_ingress NODE DEVICE: a stranger's qdisc ingress, with a filter that counts.
tcx_ingress() {
	net_in "$1" tc qdisc add dev "$2" ingress || fail "no qdisc ingress here"
	net_in "$1" tc filter add dev "$2" ingress protocol all prio 1 u32 match u32 0 0 action mirred egress mirror dev lo continue \
		2>>"$CASE_DIR/tc.log" || skip "no u32 and mirred here: $(tail -n 1 "$CASE_DIR/tc.log")"
}

# tcx_hits NODE DEVICE: bytes that this filter has seen.
tcx_hits() { net_in "$1" tc -s filter show dev "$2" ingress pref 1 | awk '$1 == "Sent" { n += $2 } END { print n + 0 }'; }

# tcx_pins NODE: its pinned links, without the number of the interface.
tcx_pins() { ls "$PINS/ssys-$1" 2>/dev/null | sed -n 's/^tcx_[0-9]*_//p' | sort | xargs; }

# tcx_pod_pins NODE: those at veths of its pods, without those of its uplink.
tcx_pod_pins() {
	ls "$PINS/ssys-$1" 2>/dev/null | sed -n "/^tcx_$(net_in "$1" ip -j link show eth0 | jq '.[0].ifindex')_/d; s/^tcx_[0-9]*_//p" | sort | xargs
}

tcx_pod_pins_are() { WAIT_SEEN=$(tcx_pod_pins "$1") && [[ $WAIT_SEEN == "$2" ]]; }

tcx_pod_pins_soon() { wait_for 20 "tcx links of pods of $1 are '$2'" tcx_pod_pins_are "$1" "$2"; }

tcx_pins_are() { WAIT_SEEN=$(tcx_pins "$1") && [[ $WAIT_SEEN == "$2" ]]; }

tcx_pins_soon() { wait_for 20 "tcx links of $1 are '$2'" tcx_pins_are "$1" "$2"; }

# tcx_ids NODE: the links by their numbers.
tcx_ids() {
	local pin

	for pin in "$PINS/ssys-$1"/tcx_*; do
		bpftool -j link show pinned "$pin" | jq .id
	done | sort -n | xargs
}

# tcx_attached NODE DEVICE: how status says that it is attached.
tcx_attached() { status_of "$1" ".interfaces[] | select(.name == \"$2\") | .attached_by"; }

# Crash, adoption and end of both hosts, under traffic. A link does not touch the port's queue, so nothing is lost.
tcx_hosts() {
	local ids

	need_tcx
	net_up
	tcx_ingress h1 eth0
	tcx_ingress h2 eth0
	state_keep h1 h2 sw
	daemon_start h1 h2 sw
	bpf_of h1 h2 sw >"$CASE_DIR/objects.txt"
	expect "status as text" "$(ctl h1 status)" has "attached by tcx"
	expect "how h2 is attached" "$(tcx_attached h2 eth0)" = tcx
	expect "how sw is attached" "$(tcx_attached sw p1)" = tcx
	expect "links of h1" "$(tcx_pins h1)" = "egress ingress"
	ids=$(tcx_ids h1)
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	grows "bytes that the filter of h2 sees" 20 tcx_hits h2 eth0
	daemon_kill h1 h2
	grows "feedback without a daemon" 20 flow_of h1 .feedbacks
	daemon_start h1 h2
	bpf_of h1 h2 >>"$CASE_DIR/objects.txt"
	sort -u -o "$CASE_DIR/objects.txt" "$CASE_DIR/objects.txt"
	expect "links of h1 after it" "$(tcx_ids h1)" = "$ids"
	grows "feedback with the next daemon" 20 flow_of h1 .feedbacks
	daemon_hup h1 reloaded
	expect "links of h1 after a reload" "$(tcx_ids h1)" = "$ids"
	bulk_unharmed
	daemon_stop h1 h2 sw
	grows "bytes that the filter of h2 sees afterwards" 20 tcx_hits h2 eth0
	bulk_stop
	state_back "$CASE_DIR/objects.txt" h1 h2 sw
}

tcx__hosts_with_an_ingress_qdisc() {
	tcx_hosts
}

tcx__hosts_with_an_ingress_qdisc_and_telemetry_in_the_data() {
	telemetry_in_data
	tcx_hosts
}

# The switch stamps at egress, and hears pauses at ingress.
tcx__switch_with_an_ingress_qdisc() {
	need_tcx
	net_up
	tcx_ingress sw p2
	state_keep sw
	{ switch_config && echo "pfc: {}"; } | sed 's/id: 2/id: 2, pfc: obey/' >"$CASE_DIR/sw.yaml"
	daemon_start h1 h2 sw
	bpf_of sw >"$CASE_DIR/objects.txt"
	expect "links" "$(tcx_pins sw)" = "egress egress ingress"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	grows "packets that are stamped" 20 stat_of sw hop_stamped
	# Without pauses nothing is wanted at ingress.
	switch_config >"$CASE_DIR/sw.yaml"
	daemon_hup sw reloaded
	expect "links then" "$(tcx_pins sw)" = "egress egress"
	grows "packets that are stamped then" 20 stat_of sw hop_stamped
	bulk_stop
	daemon_stop h1 h2 sw
	state_back "$CASE_DIR/objects.txt" sw
}

# A clsact that came would empty the queue: that waits for the next start.
tcx__stays_until_the_next_start() {
	need_tcx
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	attach_by_clsact
	host_config h1 >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	expect "how it is attached" "$(tcx_attached h1 eth0)" = tcx
	grows "feedback" 20 flow_of h1 .feedbacks
	expect "qdiscs" "$(net_in h1 tc qdisc show dev eth0)" has-no clsact
	daemon_kill h1
	daemon_start h1
	expect "how it is attached then" "$(tcx_attached h1 eth0)" = clsact
	expect "links" "$(tcx_pins h1)" = ""
	expect "filters" "$(filters_of | grep -c 'pref 21603 .*handle 0x1')" -eq 2
	grows "feedback then" 20 flow_of h1 .feedbacks
	bulk_stop
	daemon_stop h1 h2 sw
	expect "qdiscs at the end" "$(net_in h1 tc qdisc show dev eth0)" has-no clsact
}

# tcx_after_clsact WORD: h1's programs were filters of clsact, as an earlier version has it; now they come to tcx, by a
# start over the pins of a dead daemon, or a reload. No packet is lost, none is wrapped twice, and clsact stays until the
# end: if it went, so would the queue.
tcx_after_clsact() {
	local twice

	need_tcx
	attach_by_clsact
	net_up
	daemon_start h1 h2 sw
	expect "how it is attached" "$(tcx_attached h1 eth0)$(tcx_attached sw p1)" = clsactclsact
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	twice=$(stat_of h2 rx_mismatch rx_bad_length rx_truncated rx_foreign)
	ATTACH=
	host_config h1 >"$CASE_DIR/h1.yaml"
	host_config h2 >"$CASE_DIR/h2.yaml"
	switch_config >"$CASE_DIR/sw.yaml"
	if [[ $1 == start ]]; then
		daemon_kill h1 h2 sw
		daemon_start h1 h2 sw
	else
		daemon_hup h1 reloaded
		daemon_hup h2 reloaded
		daemon_hup sw reloaded
	fi
	expect_said h1 "eth0: attached by clsact -> tcx"
	for node in h1 h2; do
		expect "how $node is attached then" "$(tcx_attached $node eth0)" = tcx
		expect "links of $node" "$(tcx_pins $node)" = "egress ingress"
		expect "filters of $node" "$(net_in $node tc filter show dev eth0 egress)$(net_in $node tc filter show dev eth0 ingress)" = ""
	done
	expect "qdiscs" "$(net_in h1 tc qdisc show dev eth0)" has clsact
	governed_soon h1
	grows "feedback" 20 flow_of h1 .feedbacks
	grows "packets that are stamped" 20 stat_of sw hop_stamped
	bulk_unharmed
	expect "messages that were not understood" "$(stat_of h2 rx_mismatch rx_bad_length rx_truncated rx_foreign)" -eq "$twice"
	bulk_stop
	daemon_stop h1 h2 sw
	expect "qdiscs at the end" "$(net_in h1 tc qdisc show dev eth0)" has-no clsact
}

tcx__after_clsact_by_a_start() {
	tcx_after_clsact start
}

tcx__after_clsact_by_a_start_with_telemetry_in_the_data() {
	telemetry_in_data
	tcx_after_clsact start
}

tcx__after_clsact_by_a_reload() {
	tcx_after_clsact reload
}

# wondershaper, tcconfig: they make a qdisc ingress while Sluice is there, and a clsact would be in their way.
tcx__leaves_the_place_of_clsact_to_others() {
	need_tcx
	net_up
	daemon_start h1 h2 sw
	for node in h1 h2; do
		expect "qdiscs of $node" "$(net_in $node tc qdisc show dev eth0)" has-no clsact
	done
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	tcx_ingress h1 eth0
	grows "bytes that the filter of h1 sees" 20 tcx_hits h1 eth0
	grows "feedback" 20 flow_of h1 .feedbacks
	net_in h1 tc qdisc del dev eth0 ingress || fail "the qdisc ingress cannot be removed"
	net_in h1 tc qdisc add dev eth0 clsact || fail "no clsact beside tcx"
	grows "feedback then" 20 flow_of h1 .feedbacks
	bulk_goes_on
	bulk_stop
	daemon_stop h1 h2 sw
	expect "the clsact of somebody else" "$(net_in h1 tc qdisc show dev eth0)" has clsact
}

# As a CNI does it: a program that was there before ends with "ok", and so no other program behind it sees the packet.
tcx__is_in_front_of_who_ends_with_ok() {
	local where

	need_tcx
	need_neighbour
	net_up
	for where in egress ingress; do
		NEIGHBOUR_ENDS=1 neighbour "x-$where" h1 "tcx-$where" 5301 || fail "no neighbour at tcx: $(<"$CASE_DIR/x-$where.log")"
		net_in h1 tc qdisc add dev eth0 clsact 2>/dev/null
		NEIGHBOUR_ENDS=1 neighbour "c-$where" h1 "$where:1" 5302 || fail "no neighbour at clsact: $(<"$CASE_DIR/c-$where.log")"
	done
	daemon_start h1 h2 sw
	expect "warnings" "$(status_of h1 '.warnings | length')" -eq 0
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	for where in egress ingress; do
		grows "packets that the neighbour at tcx $where sees" 20 neighbour_has "x-$where" seen
	done
	bulk_stop
	daemon_stop h1
	for where in egress ingress; do
		neighbour_stop "x-$where"
		neighbour_stop "c-$where"
	done
}

# One that comes later and asks for the first place gets it: that is said, with its name and what to do.
tcx__names_who_comes_in_front_of_it() {
	need_tcx
	need_neighbour
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	NEIGHBOUR_ENDS=1 neighbour n1 h1 tcx-ingress-first 5301 || fail "no neighbour at ingress: $(<"$CASE_DIR/n1.log")"
	wait_for 10 "sluiced names it" said h1 "eth0: ingress: the tcx program neighbour_tc (id "
	expect_said h1 ") runs before Sluice's: packets that it ends with 'ok' arrive with their telemetry, which is lost; to fix: start sluiced again"
	ctl_text "eth0 ingress: the tcx program neighbour_tc (id " status
	ctl_json '.warnings | map(select(.warning | contains("the tcx program neighbour_tc"))) | length == 1' status --json
	daemon_stop h1
	daemon_start h1
	expect "warnings after another start" "$(ctl h1 status)" has-no neighbour_tc
	governed_soon h1
	neighbour_stop n1
}

# By clsact, as before Linux 6.6, a filter with an earlier preference hides packets: check, start and status name it.
tcx__names_the_filter_in_front_of_clsact() {
	need_neighbour
	attach_by_clsact
	net_up
	net_in h1 tc qdisc add dev eth0 clsact
	NEIGHBOUR_ENDS=1 neighbour n1 h1 ingress:1 5301 || fail "no neighbour at ingress: $(<"$CASE_DIR/n1.log")"
	NEIGHBOUR_ENDS=1 neighbour n2 h1 egress:7 5301 || fail "no neighbour at egress: $(<"$CASE_DIR/n2.log")"
	host_config h1 >"$CASE_DIR/h1.yaml"
	expect "what check says" "$(ctl h1 check "$CASE_DIR/h1.yaml")" has "neighbour_tc"
	ctl h1 --json check "$CASE_DIR/h1.yaml" >"$CASE_DIR/check.json"
	expect "what check says of the preference" "$(jq -r '.[] | select(.check == "eth0 in front") | .detail' "$CASE_DIR/check.json")" has \
		"preference 7) runs before Sluice's"
	daemon_start h1 h2 sw
	expect_said h1 "eth0: egress: the filter neighbour_tc (id "
	expect_said h1 ", preference 1) runs before Sluice's: packets that it ends with 'ok' arrive with their telemetry, which is lost; to fix: "
	ctl_text ", preference 7) runs before Sluice's: packets that it ends with 'ok' leave without Sluice: " status
	server h2
	bulk_start h1 10.2.0.2
	sleep 1
	expect "flows that it sees" "$(ctl h1 flows --json | jq length)" -eq 0
	bulk_stop
	neighbour_stop n1
	neighbour_stop n2
	wait_for 10 "status has no warning" tcx_no_warning
}

tcx_no_warning() { [[ $(status_of h1 '.warnings | length') == 0 ]]; }

# Somebody replaces the clsact that Sluice made by a qdisc ingress.
tcx__takes_over_from_a_clsact_that_was_replaced() {
	need_tcx
	attach_by_clsact
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	net_in h1 tc qdisc del dev eth0 clsact
	tcx_ingress h1 eth0
	ATTACH=
	host_config h1 >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	expect "how it is attached" "$(tcx_attached h1 eth0)" = tcx
	tcx_pins_soon h1 "egress ingress"
	grows "feedback" 20 flow_of h1 .feedbacks
	bulk_stop
	daemon_stop h1 h2 sw
	expect "qdiscs at the end" "$(net_in h1 tc qdisc show dev eth0)" has "qdisc ingress"
}

# The key rules tcx out, so a qdisc ingress is in the way again.
tcx__attach_clsact_refuses_a_qdisc_ingress() {
	need_tcx
	attach_by_clsact
	net_up
	net_in h1 tc qdisc add dev eth0 ingress || fail "no qdisc ingress here"
	host_config h1 >"$CASE_DIR/h1.yaml"
	daemon_fails h1 4 "eth0: has a qdisc 'ingress'" "'attach: clsact' rules out tcx" "nothing is left attached"
}

# tcx_second: h1 has eth9 too, which gets its name after its qdisc ingress: sluiced does not come before. eth0 has no links.
tcx_second() {
	attach_by_clsact
	net_in h1 ip link add eth8 type veth peer name peer9 || fail "no second interface"
	tcx_ingress h1 eth8
	net_in h1 ip link set eth8 name eth9 && net_in h1 ip link set eth9 up || fail "no second interface"
}

tcx_second_config() {
	host_config h1 "interfaces: [{name: eth0, role: host, speed: 100Mbit$ATTACH}, {name: eth9, role: host, speed: 1Gbit}]" \
		>"$CASE_DIR/h1.yaml"
}

tcx__reload_takes_it_out_and_puts_it_back() {
	need_tcx
	net_up
	tcx_second
	tcx_second_config
	daemon_start h1
	expect "links" "$(tcx_pins h1)" = "egress ingress"
	host_config h1 >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	tcx_pins_soon h1 ""
	status_soon h1 "interfaces" '[.interfaces[].name] | join(" ")' eth0
	tcx_second_config
	daemon_hup h1 reloaded
	tcx_pins_soon h1 "egress ingress"
	expect "how it is attached" "$(tcx_attached h1 eth9)" = tcx
	daemon_stop h1
}

# Linux takes the links off; the pins are Sluice's to remove, also if nobody was there when it happened.
tcx__interface_that_is_deleted_leaves_no_pin() {
	need_tcx
	net_up
	tcx_second
	tcx_second_config
	daemon_start h1
	net_in h1 ip link del eth9
	wait_for 20 "sluiced says that it went away" said h1 "eth9: interface"
	tcx_pins_soon h1 ""
	tcx_second
	wait_for 20 "sluiced says that it is back" said h1 "eth9: reappeared"
	tcx_pins_soon h1 "egress ingress"
	daemon_kill h1
	net_in h1 ip link del eth9
	expect "links of the dead daemon" "$(tcx_pins h1)" = "egress ingress"
	daemon_start h1
	tcx_pins_soon h1 ""
	tcx_second
	tcx_pins_soon h1 "egress ingress"
	daemon_kill h1
	net_in h1 ip link del eth9
	net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
	expect "exit status of --detach" $? -eq 0
	! pins_left || fail "pins are left: $(ls "$PINS/ssys-h1")"
	# The same where it was the only one.
	tcx_second
	host_config h1 "interfaces: [{name: eth9, role: host, speed: 1Gbit}]" >"$CASE_DIR/h1.yaml"
	daemon_start h1
	expect "how it is attached" "$(tcx_attached h1 eth9)" = tcx
	daemon_kill h1
	net_in h1 ip link del eth9
	net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
	expect "exit status of --detach" $? -eq 0
	! pins_left || fail "pins are left: $(ls "$PINS/ssys-h1")"
}

# The links in objects.txt are gone.
tcx_gone() { bpf_none_left "$CASE_DIR/objects.txt"; }

tcx__clean_and_detach() {
	local pin

	need_tcx
	net_up
	tcx_ingress h1 eth0
	daemon_start h1
	bpf_of h1 | sed -n '/^link/p' >"$CASE_DIR/objects.txt"
	expect "links that are known" "$(wc -l <"$CASE_DIR/objects.txt")" -ge 2
	daemon_kill h1
	# Another network namespace has other interfaces, though of the same numbers.
	net_in h2 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
	expect "exit status of --detach in another network namespace" $? -eq 1
	expect "what it says" "$(<"$CASE_DIR/detach.log")" has "another network namespace"
	ctl_text "would go" clean --dry-run
	expect "what a dry run says" "$(ctl h1 clean --dry-run)" has "eth0 egress: tcx link with program egress of $PINS/ssys-h1"
	expect "links after a dry run" "$(tcx_pins h1)" = "egress ingress"
	ctl h1 clean >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of clean" $? -eq 0
	expect "what it prints" "$(<"$CASE_DIR/ctl.txt")" has "removed        eth0 ingress: tcx link with program ingress"
	! pins_left || fail "pins are left: $(ls "$PINS/ssys-h1")"
	wait_for 60 "the links are gone (left.txt)" tcx_gone
	# The maps' pins are gone, and those of the links are not.
	daemon_start h1
	bpf_of h1 | sed -n '/^link/p' >"$CASE_DIR/objects.txt"
	daemon_kill h1
	for pin in "$PINS/ssys-h1"/*; do
		[[ $pin == */tcx_* || $pin == */tcp_cc || $pin == */queue_ops ]] || rm "$pin"
	done
	net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
	expect "exit status of --detach" $? -eq 0
	! pins_left || fail "pins are left: $(ls "$PINS/ssys-h1")"
	wait_for 60 "the links are gone (left.txt)" tcx_gone
	# And clean finds links whose counters are pinned nowhere by the kernel's list of them.
	daemon_start h1
	bpf_of h1 | sed -n '/^link/p' >"$CASE_DIR/objects.txt"
	daemon_kill h1
	rm "$PINS/ssys-h1/stats"
	wait_for 20 "the daemon is taken for dead" tcx_would_go
	net_in h1 "$BUILD/sluicectl" --pin-dir "$PINS/ssys-none" clean >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of clean" $? -eq 0
	expect "programs that are at tcx" "$(net_in h1 "$BUILD/sluicectl" --pin-dir "$PINS/ssys-none" clean --dry-run)" has-no "tcx link"
	net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
	expect "exit status of --detach" $? -eq 0
	! pins_left || fail "pins are left: $(ls "$PINS/ssys-h1")"
	wait_for 60 "the links are gone (left.txt)" tcx_gone
}

tcx_would_go() {
	[[ $(net_in h1 "$BUILD/sluicectl" --pin-dir "$PINS/ssys-none" --json clean --dry-run |
		jq 'map(select(.would_be_removed)) | length') -ge 2 ]]
}

# A kill between the two links, and between the programs of two versions.
tcx__start_that_is_killed_half_way() {
	need_tcx
	[[ -e $BUILD/accident.so ]] || skip "no accident.so: make build/accident.so"
	net_up
	tcx_ingress h1 eth0
	daemon_start h2 sw
	host_config h1 >"$CASE_DIR/h1.yaml"
	net_in h1 env LD_PRELOAD="$BUILD/accident.so" ACCIDENT="kill bpf_link_create 2" "$BUILD/sluiced" --config "$CASE_DIR/h1.yaml" \
		>"$CASE_DIR/killed.log" 2>&1
	expect "exit status of the killed one" $? -eq 137
	expect "links that it left" "$(tcx_pins h1)" = ingress
	daemon_start h1
	expect "links" "$(tcx_pins h1)" = "egress ingress"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	bulk_stop
	daemon_stop h1 h2 sw
	# A start that fails there is undone.
	net_in h1 env LD_PRELOAD="$BUILD/accident.so" ACCIDENT="fail bpf_link_create 2" "$BUILD/sluiced" --config "$CASE_DIR/h1.yaml" \
		>"$CASE_DIR/failed.log" 2>&1
	expect "exit status of the failed one" $? -eq 4
	expect "what it says" "$(<"$CASE_DIR/failed.log")" has "eth0: attaching the tcx link: "
	! pins_left || fail "pins are left: $(ls "$PINS/ssys-h1")"
	expect "the qdisc ingress" "$(net_in h1 tc qdisc show dev eth0)" has "qdisc ingress"
}

# Another version takes over, back, and takes off what a kill left.
tcx__upgrade_downgrade_and_detach_of_another_version() {
	local ids

	need_tcx
	upgrade_up
	tcx_ingress h1 eth0
	daemon_start h1 h2 sw
	ids=$(tcx_ids h1)
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	upgrade_node h1 "$NEXT"
	expect "links of the next version" "$(tcx_ids h1)" = "$ids"
	upgrade_node h1 "$NOW"
	expect "links of this version" "$(tcx_ids h1)" = "$ids"
	bpf_of h1 | sed -n '/^link/p' >"$CASE_DIR/objects.txt"
	daemon_kill h1
	net_in h1 "$NEXT/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
	expect "exit status of --detach" $? -eq 0
	[[ ! -e $PINS/ssys-h1 ]] || fail "pins are left: $(ls "$PINS/ssys-h1")"
	wait_for 60 "the links are gone (left.txt)" tcx_gone
	net_in h1 bash -c 'echo reno >/proc/sys/net/ipv4/tcp_congestion_control'
	bulk_stop
	daemon_stop h2 sw
}

# CAP_SYS_ADMIN is not among them: links are found by their pins.
tcx__capabilities_of_the_unit_are_enough() {
	local ids

	need_tcx
	need setpriv
	net_up
	tcx_ingress h1 eth0
	host_config h1 >"$CASE_DIR/h1.yaml"
	service_spawn h1
	ids=$(tcx_ids h1)
	daemon_start h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	daemon_kill h1
	service_spawn h1
	expect "links" "$(tcx_ids h1)" = "$ids"
	grows "feedback" 20 flow_of h1 .feedbacks
	bulk_unharmed
	bulk_stop
	daemon_stop h1 h2 sw
}

# Ours is the first: at ingress the neighbour sees packets without telemetry, at egress packets and their companions.
tcx__place_among_neighbours() {
	need_tcx
	need_neighbour
	net_up
	tcx_ingress h1 eth0
	tcx_ingress h2 eth0
	neighbour n1 h1 tcx-egress 5301 || fail "no neighbour at egress: $(<"$CASE_DIR/n1.log")"
	neighbour n2 h2 tcx-ingress 5302 || fail "no neighbour at ingress: $(<"$CASE_DIR/n2.log")"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	wait_for 20 "the neighbour at egress sees TCP" tcx_sees_tcp n1
	wait_for 20 "the neighbour at ingress sees TCP" tcx_sees_tcp n2
	expect_dropped 5301 n1
	expect_dropped 5302 n2
	daemon_stop h1 h2
	bulk_goes_on
	bulk_stop
	neighbour_stop n1
	neighbour_stop n2
}

# With telemetry in the data that is so at ingress; what leaves is wrapped before others see it.
tcx__place_among_neighbours_with_telemetry_in_the_data() {
	need_tcx
	need_neighbour
	telemetry_in_data
	net_up
	neighbour n2 h2 tcx-ingress 5302 || fail "no neighbour at ingress: $(<"$CASE_DIR/n2.log")"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	wait_for 20 "the neighbour at ingress sees TCP" tcx_sees_tcp n2
	expect_dropped 5302 n2
	bulk_stop
	daemon_stop h1 h2
	neighbour_stop n2
}

# With telemetry in every packet, TCP that is not in UDP is handshakes only.
tcx_sees_tcp() { (($(neighbour_has "$1" tcp) > 500)); }

# tcx_lacking COMMAND...: as on a kernel before 6.6.
tcx_lacking() { LD_PRELOAD=$BUILD/accident.so ACCIDENT="lack tcx_link 1" "$@"; }

tcx__older_kernel_refuses_with_the_remedy() {
	[[ -e $BUILD/accident.so ]] || skip "no accident.so: make build/accident.so"
	net_up
	net_in h1 tc qdisc add dev eth0 ingress || fail "no qdisc ingress here"
	net_state h1 >"$CASE_DIR/before.txt"
	host_config h1 >"$CASE_DIR/h1.yaml"
	tcx_lacking daemon_fails h1 4 "eth0: has a qdisc 'ingress'" "this kernel has no tcx (Linux 6.6 has)" "tc qdisc del dev eth0 ingress" \
		"nothing is left attached"
	net_state h1 >"$CASE_DIR/after.txt"
	same "what tc, ip and sysctl show" "$CASE_DIR/before.txt" "$CASE_DIR/after.txt"
	expect "what probe says" "$(tcx_lacking net_in h1 "$BUILD/sluicectl" probe eth0)" has "tc qdisc del dev eth0 ingress"
	net_in h1 tc qdisc del dev eth0 ingress
	daemon_start h1
}
