# SPDX-License-Identifier: GPL-2.0-only
# Another version takes over, under traffic: build/next is one (tests/system/next).

declare -A RUNS=() # node -> where its version is

upgrade_up() {
	NEXT=$BUILD/next
	[[ -x $NEXT/sluiced && -e $BUILD/accident.so ]] || skip "no $NEXT/sluiced, or no accident.so: make build/next/sluiced build/accident.so"
	NOW=$BUILD
	# Each is asked by its own tool.
	ctl() {
		local ns=$1

		shift
		net_in "$ns" "${RUNS[$ns]:-$BUILD}/sluicectl" --pin-dir "$PINS/ssys-$ns" "$@" 9>&-
	}
	net_up
}

# A datagram every 2 ms, and at the end how many of them did not arrive.
upgrade_udp_start() {
	net_exec h2 setsid iperf3 -s -1 -J -p 5203 >"$CASE_DIR/udp-server.json" 2>&1 9>&- &
	SERVERS+=($!)
	wait_for 20 "iperf3 listens on h2" server_listens h2 5203
	net_exec h1 iperf3 -u -l 500 -b 2M -t 1000 -p 5203 -c 10.2.0.2 >"$CASE_DIR/udp.log" 2>&1 9>&- &
	UDP=$!
	wait_for 20 "datagrams are governed" upgrade_udp_governed
}

upgrade_udp_flow() { ctl h1 flows --json | jq "[.[] | select(.protocol == \"udp\")][0] | $1"; }

upgrade_udp_governed() { [[ $(upgrade_udp_flow .telemetry) == true ]]; }

upgrade_udp_stop() {
	kill -TERM $UDP || fail "iperf3 -u ended: $(tail -n 2 "$CASE_DIR/udp.log")"
	wait $UDP
	wait_for 20 "the server tells of the datagrams" grep -q '"end"' "$CASE_DIR/udp-server.json"
	expect "datagrams that came" "$(jq '[.intervals[].sum.packets] | add' "$CASE_DIR/udp-server.json")" -gt 1000
	# Datagrams that iperf3 was too slow to read were not lost by the network.
	expect "datagrams that did not, but for those that iperf3 was too slow for" "$(($(jq '[.intervals[].sum.lost_packets] | add' \
		"$CASE_DIR/udp-server.json") - $(net_snmp h2 Udp.RcvbufErrors)))" -le 0
}

# upgrade_node NODE DIR: the daemon dies and the one of DIR takes over.
upgrade_node() {
	local node=$1 port tx_bytes feedbacks tx_data hop

	bpf_of "$node" >"$CASE_DIR/of-before.txt"
	port=$(flow_of h1 .local_port) tx_bytes=$(flow_of h1 .tx_bytes) feedbacks=$(flow_of h1 .feedbacks)
	tx_data=$(stat_of "$node" tx_data) hop=$(stat_of "$node" hop_stamped)
	daemon_kill "$node"
	if [[ $node == h1 ]]; then
		port=$(flow_of h1 .local_port) tx_bytes=$(flow_of h1 .tx_bytes) feedbacks=$(flow_of h1 .feedbacks)
	fi
	BUILD=$2 daemon_start "$node"
	RUNS[$node]=$2
	expect "maps of $node: tx_data and hop_stamped go on" $(($(stat_of "$node" tx_data) >= tx_data && $(stat_of "$node" hop_stamped) >= hop)) -eq 1
	expect "what is left in the pin directory" "$(compgen -G "$PINS/ssys-$node/*/*")" = ""
	if [[ $node == h1 ]]; then
		expect "port of the flow" "$(flow_of h1 .local_port)" -eq "$port"
		expect "bytes of the flow, before and after" "$(flow_of h1 .tx_bytes)" -ge "$tx_bytes"
		expect "feedback of the flow, before and after" "$(flow_of h1 .feedbacks)" -ge "$feedbacks"
		grows "bytes with the new daemon" 20 flow_of h1 .tx_bytes
		grows "feedback with the new daemon" 20 flow_of h1 .feedbacks
		governed_soon h1
		expect "congestion control of the socket" "$(net_in h1 ss -tinH "dst 10.2.0.2")" has "${CC}h1"
		wait_for 20 "the socket has W of the new maps" upgrade_socket_obeys
	fi
	bulk_unharmed
	# Everything that only the other version had is gone, also the resources of its congestion control.
	bpf_of "$node" | comm -13 - "$CASE_DIR/of-before.txt" >"$CASE_DIR/of-gone.txt"
	wait_for 300 "the BPF objects of the other version are gone (left.txt)" bpf_none_left "$CASE_DIR/of-gone.txt"
}

# Its own congestion control is at work: the receive window is left alone.
upgrade_socket_obeys() {
	local before

	before=$(stat_of h1 rx_window_cut)
	sleep 0.3
	(($(stat_of h1 rx_window_cut) == before))
}

# Every daemon, one after another, and back; nobody loses a packet or a connection.
upgrade__and_downgrade_under_traffic() {
	local node abi

	upgrade_up
	state_keep h1 h2 sw
	daemon_start h1 h2 sw
	abi=$(upgrade_abi h1)
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	upgrade_udp_start
	for node in h1 h2 sw; do
		upgrade_node $node "$NEXT"
		expect_said $node "of another version (ABI $abi)"
		net_in $node "$NOW/sluicectl" --pin-dir "$PINS/ssys-$node" status >"$CASE_DIR/status.log" 2>&1 9>&-
		expect "exit status of the other sluicectl" $? -eq 1
		expect "what it says" "$(<"$CASE_DIR/status.log")" has "of another version"
	done
	expect_said h1 "begins at 0, because the other version does not know it in that form: rx.next_ns, fb_came_ns"
	expect "counter that the other version does not know" "$(stat_of h1 next_news)" -eq 0
	# The version before the upgrade still knows the flow.
	for node in sw h2 h1; do
		upgrade_node $node "$NOW"
		expect_said $node "of another version (ABI $((abi + 1)))"
	done
	expect "messages that were refused" "$(stat_of h1 rx_bad_auth rx_no_auth)$(stat_of h2 rx_bad_auth rx_no_auth)" = 00
	upgrade_udp_stop
	server h2 5202
	transfer h1 10.2.0.2 -p 5202 -n 300K
	bulk_unharmed
	bulk_stop
	bpf_of h1 h2 sw >"$CASE_DIR/objects.txt"
	daemon_stop h1 h2 sw
	state_back "$CASE_DIR/objects.txt" h1 h2 sw
}

# The first byte of control.
upgrade_abi() { echo $(($(bpftool -j map dump pinned "$PINS/ssys-$1/control" | jq -r '.[0].value[0]'))); }

# With no more capabilities than the unit gives.
upgrade__capabilities_are_enough() {
	need setpriv
	upgrade_up
	host_config h1 >"$CASE_DIR/h1.yaml"
	service_spawn h1
	daemon_start h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	for BUILD in "$NEXT" "$NOW"; do
		daemon_kill h1
		service_spawn h1
		bulk_unharmed
		governed_soon h1
		wait_for 20 "the socket has W of the new maps" upgrade_socket_obeys
	done
	expect "adoptions" "$(grep -c 'of another version' "$CASE_DIR/h1.log")" -eq 2
	bulk_stop
}

# upgrade_accident NODE DIR ACCIDENT: a start at which that happens; its exit status.
upgrade_accident() {
	net_in "$1" timeout 60 env LD_PRELOAD="$NOW/accident.so" ACCIDENT="$3" "$2/sluiced" \
		--config "$CASE_DIR/$1.yaml" >"$CASE_DIR/$1-accident.log" 2>&1 9>&-
}

# kill -9 where it hurts: whichever version comes next completes it, and traffic has gone on.
upgrade__killed_half_way() {
	local at after status port last

	attach_by_clsact
	upgrade_up
	daemon_start h1 h2 sw
	bpf_of h1 >"$CASE_DIR/objects.txt"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	# Two for each pin, but for those of the congestion control and of the daemon's record; control is the last of them.
	last=$((1 + 2 * $(find "$PINS/ssys-h1" -mindepth 1 -maxdepth 1 ! -name tcp_cc ! -name daemon | wc -l)))
	port=$(flow_of h1 .local_port)
	# The second rmdir is that of new, when all pins have changed places; the first looks for an earlier next.
	for at in "rename 1" "rename 2" "rename 3" "rename 20" "rename $((last - 1))" "rename $last" "rmdir 2" \
		"bpf_tc_attach 1" "bpf_tc_attach 2" "bpf_map__attach_struct_ops 1" "bpf_program__attach_iter 1"; do
		for after in "$NEXT" "$NOW"; do
			daemon_kill h1
			upgrade_accident h1 "$NEXT" "kill $at"
			status=$?
			expect "exit status of the one that is killed at $at" $status -eq 137
			bulk_goes_on
			BUILD=$after
			daemon_start h1
			bpf_of h1 >>"$CASE_DIR/objects.txt"
			expect "port of the flow after $at" "$(flow_of h1 .local_port)" -eq "$port"
			expect "what is left in the pin directory after $at" "$(compgen -G "$PINS/ssys-h1/*/*")" = ""
			expect "congestion control of the socket after $at" "$(net_in h1 ss -tinH "dst 10.2.0.2")" has "${CC}h1"
			grows "feedback after $at" 20 flow_of h1 .feedbacks
			bulk_unharmed
			if [[ $after == "$NEXT" ]]; then
				daemon_kill h1
				BUILD=$NOW
				daemon_start h1
			fi
		done
	done
	# The other version takes off what a kill left.
	daemon_kill h1
	upgrade_accident h1 "$NEXT" "kill bpf_tc_attach 2"
	net_in h1 "$NOW/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
	expect "exit status of --detach" $? -eq 0
	[[ ! -e $PINS/ssys-h1 ]] || fail "pins are left: $(ls "$PINS/ssys-h1")"
	expect "filters that are left" "$(filters_of)" = ""
	# It does not know whose the default was, and that holds what it names.
	net_in h1 bash -c 'echo reno >/proc/sys/net/ipv4/tcp_congestion_control'
	bulk_stop
	servers_stop
	sort -u -o "$CASE_DIR/objects.txt" "$CASE_DIR/objects.txt"
	wait_for 300 "the BPF objects of the daemons are gone (left.txt)" bpf_none_left "$CASE_DIR/objects.txt"
}

# If an interrupted upgrade cannot be completed either, --detach uses the counters, also if somebody removed a pin.
upgrade__detach_of_what_cannot_be_completed() {
	local what says at

	attach_by_clsact
	upgrade_up
	xdp_config h1 native >"$CASE_DIR/h1.yaml"
	# Before the first pin, between the halves of one, and behind the last; then with a pin in `old` that nothing replaced,
	# whose map is found again.
	for at in "rename 2" "rename 3" "rename 21" "rmdir 2" control stats; do
		daemon_start h1
		daemon_kill h1
		if [[ $at == control || $at == stats ]]; then
			mkdir "$PINS/ssys-h1/old"
			mv "$PINS/ssys-h1/$at" "$PINS/ssys-h1/old"
			what='' says="$at: is missing: the programs that run hold its map, which is pinned again"
		else
			upgrade_accident h1 "$NEXT" "kill $at"
			expect "exit status of the one that is killed at $at" $? -eq 137
			what="fail rename 1" says="was half of another version: filters of 1 interface"
			[[ $at != rmdir* ]] || what="fail rmdir 2"
		fi
		if [[ $what ]]; then
			upgrade_accident h1 "$NOW" "$what"
			expect "what a start says, $what after $at" "$(<"$CASE_DIR/h1-accident.log")" has \
				"run 'sluiced --detach --pin-dir $PINS/ssys-h1'"
		fi
		net_in h1 env LD_PRELOAD="$NOW/accident.so" ACCIDENT="$what" "$NOW/sluiced" --detach --pin-dir "$PINS/ssys-h1" \
			>"$CASE_DIR/detach.log" 2>&1
		expect "exit status of --detach, $what after $at" $? -eq 0
		expect "what it says" "$(<"$CASE_DIR/detach.log")" has "$says"
		[[ ! -e $PINS/ssys-h1 ]] || fail "pins are left after $at: $(ls "$PINS/ssys-h1")"
		expect "filters after $at" "$(filters_of)" = ""
		expect "XDP after $at" "$(net_in h1 ip link show eth0)" has-no xdp
		expect "routes after $at" "$(net_in h1 ip route show proto 83)" = ""
		net_in h1 bash -c 'echo reno >/proc/sys/net/ipv4/tcp_congestion_control'
	done
}

# A failure before the maps are swapped has changed nothing, and its message says what to do.
upgrade__that_fails_changes_nothing() {
	local at

	upgrade_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	daemon_kill h1
	net_state h1 >"$CASE_DIR/before.txt"
	for at in "bpf_map_update_batch 1" "rename 1"; do
		upgrade_accident h1 "$NEXT" "fail $at"
		expect "exit status, $at fails" $? -eq 1
		expect "what it says" "$(<"$CASE_DIR/h1-accident.log")" has "the maps of the other version stay at work"
		expect "what it says" "$(<"$CASE_DIR/h1-accident.log")" has "what the earlier daemon attached stays as it was"
		net_state h1 >"$CASE_DIR/after.txt"
		same "what tc, ip and sysctl show" "$CASE_DIR/before.txt" "$CASE_DIR/after.txt"
		expect "mode in the maps of before" "$(status_of h1 .mode)" = enforce
		grows "feedback in the maps of before" 20 flow_of h1 .feedbacks
		expect "what is left in the pin directory" "$(compgen -G "$PINS/ssys-h1/*/*")" = ""
	done
	# A layout that is none, or is of other maps, or of none of them.
	# shellcheck disable=SC2046 # a list
	bpftool map update pinned "$PINS/ssys-h1/layout" key 0 0 0 0 value hex $(
		bpftool -j map show pinned "$PINS/ssys-h1/layout" | jq -r '[range(.bytes_value)] | map("0") | join(" ")')
	BUILD=$NEXT daemon_fails h1 1 "its layout cannot be read" "sluiced --detach --pin-dir $PINS/ssys-h1"
	rm "$PINS/ssys-h1/layout"
	BUILD=$NEXT daemon_fails h1 1 "its layout cannot be read" "sluiced --detach --pin-dir $PINS/ssys-h1"
	grows "feedback in the maps of before" 20 flow_of h1 .feedbacks
	daemon_start h1
	expect_said h1 "adopting the maps in $PINS/ssys-h1"
	bulk_unharmed
	bulk_stop
}

# The sink at XDP is found by counters that are the other version's, also where that one was killed.
upgrade__takes_the_xdp_sink_along() {
	local version

	attach_by_clsact
	upgrade_up
	xdp_config h1 native >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	need_sink h1 "native XDP"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	for version in "$NEXT" "$NOW"; do
		daemon_kill h1
		BUILD=$version daemon_start h1
		RUNS[h1]=$version
		expect "sink" "$(sink_of h1)" = "native XDP"
		grows "feedback" 20 flow_of h1 .feedbacks
	done
	daemon_kill h1
	upgrade_accident h1 "$NEXT" "kill bpf_tc_attach 1"
	daemon_start h1
	expect "sink" "$(sink_of h1)" = "native XDP"
	grows "feedback" 20 flow_of h1 .feedbacks
	bulk_goes_on
	bulk_stop
	daemon_stop h1
	expect "XDP" "$(net_in h1 ip link show eth0)" has-no xdp
}

upgrade__detach_by_the_other_version() {
	upgrade_up
	net_in h1 tc qdisc add dev eth0 clsact
	host_config h1 "tcp: {name: ${CC}h1}" >"$CASE_DIR/h1.yaml"
	state_keep h1
	daemon_start h1
	bpf_of h1 >"$CASE_DIR/objects.txt"
	daemon_kill h1
	crash_detach_other "$NEXT"
}

# As much of it as another kernel may do differently, in a VM, too, where packets and the verifier share one slow CPU.
upgrade__of_a_sender() {
	upgrade_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2 -b 2M
	governed_soon h1
	upgrade_node h1 "$NEXT"
	upgrade_node h1 "$NOW"
	bulk_stop
}

# Its pins may be out of sight, in a container for example: that it lives shows in the maps of its programs.
upgrade__clean_sees_that_another_version_runs() {
	attach_by_clsact
	upgrade_up
	BUILD=$NEXT daemon_start h1
	pins_remove # it pins again what is removed
	sleep 4 # longer than a heartbeat counts
	net_in h1 "$NOW/sluicectl" --pin-dir "$PINS/ssys-none" clean >"$CASE_DIR/clean.txt"
	expect "what clean says" "$(<"$CASE_DIR/clean.txt")" has "stays          eth0 egress: filter with program egress of $PINS/ssys-h1"
	expect "what it removed" "$(<"$CASE_DIR/clean.txt")" has-no removed
	daemon_kill h1
	pins_remove
	wait_for 20 "the daemon is taken for dead" clean_would_remove 2
	net_in h1 "$NOW/sluicectl" --pin-dir "$PINS/ssys-h1" clean >"$CASE_DIR/clean.txt" 2>"$CASE_DIR/clean.log"
	expect "exit status of clean" $? -eq 0
	expect "filters" "$(filters_of)" = ""
}
