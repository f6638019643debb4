# SPDX-License-Identifier: GPL-2.0-only
# Changes by an operator while traffic flows: bypass, mode, configuration.

control__bypass_on_and_off_under_load() {
	local data

	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1

	expect "answer" "$(ctl h1 bypass on)" = "bypass: off -> on"
	expect "status" "$(status_of h1 .bypass)" = true
	expect "state of the flow" "$(flow_of h1 .state)" = bypassed
	grows "packets passed because of bypass" 20 stat_of h1 tx_bypass
	data=$(stat_of h1 tx_beside)
	bulk_goes_on
	expect "packets with telemetry while bypass is on" "$(stat_of h1 tx_beside)" -eq "$data"
	bulk_unharmed
	# The daemon writes to the same entry: at every heartbeat, and more when it reloads.
	daemon_hup h1 "reloaded"
	wait_for 20 "two heartbeats" control_beaten_since h1 $(($(uptime_ms) + 1000))
	expect "status after them" "$(status_of h1 .bypass)" = true
	expect "answer" "$(ctl h1 bypass off --json | jq -c .)" = '{"bypass":false,"was":true}'
	wait_for 20 "telemetry after bypass" control_grown_past h1 "$data"
	governed_soon h1
	bulk_unharmed

	# The other end strips, and sends nothing, so that h1 takes it for a peer without Sluice.
	ctl h2 bypass on >/dev/null
	wait_for 20 "h1 sends plain" control_plain h1
	sleep 1
	expect "telemetry of the flow" "$(flow_of h1 .telemetry)" = false
	bulk_unharmed
	ctl h2 bypass off >/dev/null
	wait_for 20 "telemetry after h2's bypass" control_telemetry h1
	grows "feedback" 20 flow_of h1 .feedbacks
	bulk_unharmed
	bulk_stop
}

# control_beaten_since NODE MS: its heartbeat is later than that.
control_beaten_since() { (($(uptime_ms) - $(status_of "$1" '.heartbeat_age_s * 1000 | round') > $2)); }

control_grown_past() { (($(stat_of "$1" tx_beside) > $2)); }
control_plain() { [[ $(flow_of "$1" .telemetry) == false ]]; }
control_telemetry() { [[ $(flow_of "$1" .telemetry) == true ]]; }

# As in a container without privileges: all else is in place.
control__default_stays_where_proc_sys_is_read_only() {
	net_up
	host_config h1 >"$CASE_DIR/h1.yaml"
	# shellcheck disable=SC2016
	net_exec h1 unshare --mount --propagation unchanged bash -c 'mount --make-rprivate /proc &&
		mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"' \
		bash "$BUILD/sluiced" --config "$CASE_DIR/h1.yaml" >"$CASE_DIR/h1.log" 2>&1 9>&- &
	DAEMON[h1]=$!
	wait_for 60 "sluiced is ready" daemon_ready_or_gone h1 0
	expect_said h1 "as /proc/sys is read-only here; to fix it, on the machine itself: sysctl net.ipv4.tcp_congestion_control=${CC}h1"
	expect_said h1 "ready: 1 interface, mode enforce"
	expect "default congestion control" "$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)" != ${CC}h1
}

# enforce -> dry-run -> observe -> enforce. cwnd is W in segments in enforce only.
control__modes_by_sighup_under_load() {
	local w feedbacks before

	net_up
	before=$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)
	daemon_start h1 h2 sw
	expect_said h1 "default congestion control: $before -> ${CC}h1, by tcp: default in mode enforce"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	wait_for 20 "cwnd is small" control_cwnd_at_most 22

	host_config h1 "mode: dry-run" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "mode enforce -> dry-run"
	expect_said h1 "default congestion control: ${CC}h1 -> $before, as the mode is not enforce"
	expect "mode" "$(status_of h1 .mode)" = dry-run
	wait_for 20 "cwnd grows past W" control_cwnd_more_than 24
	flow_soon h1 "W < W_init, computed all the same," '.w_bytes < .w_init_bytes' true
	grows "feedback in dry-run" 20 flow_of h1 .feedbacks
	expect "default congestion control, as before sluiced" \
		"$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = \
		"$(</proc/sys/net/ipv4/tcp_congestion_control)"
	bulk_unharmed

	host_config h1 "mode: observe" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "mode dry-run -> observe"
	w=$(flow_of h1 '"\(.w_bytes) \(.wc_bytes) \(.inc_stage)"') feedbacks=$(flow_of h1 .feedbacks)
	grows "feedback in observe" 20 flow_of h1 .feedbacks
	sleep 0.5
	expect "W, Wc and stage, which stay" "$(flow_of h1 '"\(.w_bytes) \(.wc_bytes) \(.inc_stage)"')" = "$w"
	bulk_unharmed

	host_config h1 "mode: enforce" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "mode observe -> enforce"
	wait_for 20 "cwnd is small again" control_cwnd_at_most 22
	expect "default congestion control" "$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = ${CC}h1
	bulk_unharmed
	bulk_stop
	daemon_stop h1
	expect_said h1 "default congestion control: ${CC}h1 -> $before, as it was before"
}

control_cwnd_at_most() { (($(bulk_field cwnd) <= $1)); }
control_cwnd_more_than() { (($(bulk_field cwnd) > $1)); }

# A daemon that starts in dry-run or observe leaves new connections to the system's congestion control.
control__dry_run_and_observe_from_the_start() {
	local mode began

	net_up
	for mode in dry-run observe; do
		host_config h1 "mode: $mode" >"$CASE_DIR/h1.yaml"
		host_config h2 "mode: $mode" >"$CASE_DIR/h2.yaml"
		daemon_start h1 h2 sw
		server h2
		bulk_start h1 10.2.0.2 -w 60K
		grows "feedback" 20 flow_of h1 .feedbacks
		sleep 0.3
		expect "congestion control of the socket" "$(net_in h1 ss -tinH "dst 10.2.0.2")" has-no $CC
		expect "packets given a departure time" "$(stat_of h1 paced)" -eq 0
		flow_soon h1 "state of the flow" .state $mode
		why_soon observe
		expect "the mode, named in the answer" "$(ctl h1 why ":$(bulk_port)")" has "mode $mode"
		if [[ $mode == dry-run ]]; then
			wait_for 20 "W is computed" governed h1
			counts h1 5 fb_fast fb_full
		else
			began=$(flow_of h1 .w_bytes)
			grows "more feedback" 20 flow_of h1 .feedbacks
			expect "W, which is not computed" "$(flow_of h1 .w_bytes)" -eq "$began"
			flow_soon h1 "U != 1, as measured," '.u != 1' true
		fi
		bulk_unharmed
		bulk_stop
		servers_stop
		daemon_stop h1 h2 sw
	done
}

control__broken_file_at_sighup_changes_nothing() {
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	net_state h1 >"$CASE_DIR/before.txt"

	host_config h1 "mode: observe" "colour: green" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "keeping the current configuration"
	expect_said h1 "colour"
	expect "mode" "$(status_of h1 .mode)" = enforce
	host_config h1 "max_flows: 5" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "max_flows stays 65536"
	host_config h1 "mode: observe" "pin_dir: $PINS/ssys-other" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "change only with a restart"
	expect "mode" "$(status_of h1 .mode)" = enforce
	rm "$CASE_DIR/h1.yaml"
	daemon_hup h1 "cannot read the configuration"
	net_state h1 >"$CASE_DIR/after.txt"
	same "what tc, ip and sysctl show" "$CASE_DIR/before.txt" "$CASE_DIR/after.txt"
	[[ ! -e $PINS/ssys-other ]] || fail "the other pin_dir was made"
	grows "feedback" 20 flow_of h1 .feedbacks
	bulk_unharmed
	bulk_stop
}

# Interfaces and peers come and go with the file.
control__interfaces_and_peers_by_sighup() {
	telemetry_in_data
	net_up
	state_keep sw h1
	daemon_start h1 h2 sw
	bpf_of h1 sw >"$CASE_DIR/objects.txt"
	expect "interfaces of sw" "$(status_of sw '.interfaces | length')" -eq 2
	switch_config | grep -v p1 >"$CASE_DIR/sw.yaml"
	daemon_hup sw "reloaded"
	expect "interfaces of sw" "$(status_of sw '[.interfaces[].name] | join(" ")')" = p2
	expect_said sw "p1: switch -> detached: no longer in the configuration"
	expect "filters of p1" "$(filters_of sw p1 egress)" = ""
	expect "filters of p2" "$(filters_of sw p2 egress)" has hop
	server h2
	transfer h1 10.2.0.2 -n 1M
	flow_soon h1 "base RTT" .base_rtt_ns 2000000
	flow_soon h1 "variant" .variant plain
	host_config h1 "peers: [{prefix: 10.0.0.0/8, base_rtt: 3ms, variant: vai-sf}]" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "reloaded"
	expect "route of the prefix that is gone" "$(net_route h1 fd00::/16)" = ""
	expect_said h1 "eth0: routes of ours: 1 removed, as no peer of the configuration needs them any more"
	expect "route of the prefix that stays" "$(net_route h1 10.0.0.0/8)" has "mtu 1348"
	bulk_start h1 10.2.0.2
	flow_soon h1 "base RTT" .base_rtt_ns 3000000
	flow_soon h1 "W_init" .w_init_bytes 37500
	flow_soon h1 "variant" .variant vai-sf
	expect "flows as text" "$(ctl h1 flows)" has ", vai-sf"
	expect "its tokens and dampener" "$(flow_of h1 '[.bank_tokens, .dampener] | map(type) | join(" ")')" = "number number"
	governed_soon h1
	bulk_stop
	bulk_start h1 fd00:2::2
	grows "packets outside of the peers" 20 stat_of h1 tx_no_peer
	bulk_stop
	daemon_stop h1 sw
	state_back "$CASE_DIR/objects.txt" h1 sw
}

# The program chooses it when its peer is known to strip, as iperf3 -C does it: after connect().
control__chosen_after_connect_is_held_as_a_foreign_one() {
	net_up
	daemon_start h1 h2 sw
	server h2
	transfer h1 10.2.0.2 -n 300K
	bulk_start h1 10.2.0.2 -C reno
	expect "congestion control of the socket" "$(net_in h1 ss -tinH "dst 10.2.0.2" | grep -c 'reno')" -eq 1
	grows "windows that are cut" 20 stat_of h1 rx_window_cut
	governed_soon h1
	wait_for 20 "the queue is short" control_backlog_at_most 60000
	bulk_goes_on
	bulk_stop
}

control_backlog_at_most() {
	WAIT_SEEN=$(net_in sw tc -s -j qdisc show dev p2 | jq '.[] | select(.kind == "tbf").backlog')
	((WAIT_SEEN <= $1))
}

# control_of NODE ADDRESS: the congestion control of its connection there that has sent most.
control_of() {
	net_in "$1" ss -tinH "dst $2" | awk '
		{ for (i = 1; i <= NF; i++) if (index($i, "bytes_sent:") == 1 && substr($i, 12) + 0 > most) {
			most = substr($i, 12) + 0; name = $1 } }
		END { print name }'
}

control_is() { WAIT_SEEN="it is '$(control_of "$1" "$2")'" && [[ $(control_of "$1" "$2") == "$3" ]]; }

control_is_paced() { WAIT_SEEN=$(net_in h1 ss -tinH "dst 10.2.0.2") && [[ $WAIT_SEEN == *"${CC}h1"*pacing_rate* ]]; }

# To a host without Sluice, to one that is no peer and to this one: the control that the machine had before.
control__of_a_socket_to_a_host_without_sluice_is_the_machines_own() {
	local before address idle

	net_up
	before=$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)
	host_config h1 "peers: [{prefix: 10.2.0.0/16, base_rtt: 2ms}]" >"$CASE_DIR/h1.yaml"
	daemon_start h1 sw
	expect "default" "$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = "${CC}h1"
	server h2
	server h2 5203
	server h1 5202
	# Nobody knows yet. By its pacing rate TCP sizes the first packets.
	net_exec h1 bash -c 'exec 3<>/dev/tcp/10.2.0.2/5203; exec sleep 1000' 9>&- &
	idle=$!
	wait_for 20 "a connection that sends nothing is ours, and has a pacing rate" control_is_paced
	kill "$idle"
	wait "$idle" 2>/dev/null
	# The first ACK after two round trips decides. The others know from the beginning.
	bulk_start h1 10.2.0.2
	wait_for 20 "control of the first connection" control_is h1 10.2.0.2 "$before"
	bulk_stop
	transfer h1 10.2.0.2 -n 20K
	for address in 10.2.0.2 fd00:2::2; do
		bulk_start h1 $address
		expect "control of a connection to $address" "$(control_of h1 "$BULK_ADDRESS")" = "$before"
		bulk_unharmed
		bulk_stop
	done
	transfer h1 127.0.0.1 -p 5202 -n 100K -i 0
	expect "control of a connection to itself" "$(jq -r .end.sender_tcp_congestion "$TRANSFER")" = "$before"
	expect "packets to a peer that is unknown" "$(stat_of h1 tx_peer_unknown)" -gt 0

	# The other end gets Sluice: it answers the next question, and new connections are ours.
	daemon_start h2
	transfer h1 10.2.0.2 -n 20K
	sleep 1.2
	transfer h1 10.2.0.2 -n 20K
	bulk_start h1 10.2.0.2
	governed_soon h1
	expect "control of a connection to a host that strips" "$(control_of h1 10.2.0.2)" = "${CC}h1"
	# An operator's other mode: as before, also where a program asks for ours.
	ctl h1 bypass on >/dev/null
	bulk_goes_on
	expect "control of the socket that was governed" "$(control_of h1 10.2.0.2)" = "${CC}h1"
	bulk_stop
	bulk_start h1 10.2.0.2
	expect "control of a new connection, with bypass" "$(control_of h1 10.2.0.2)" = "$before"
	bulk_stop
}

# control_lengths FILE OPTION...: what leaves h1 while iperf3 runs, as TCP hands it down: the lengths of the first packets.
control_lengths() {
	local file=$1 dump

	shift
	net_exec h1 tcpdump -nn -q -l -c 40 -i eth0 "tcp and dst port $TRAFFIC_PORT and greater 1000" >"$file.dump" 2>"$file.log" 9>&- &
	dump=$!
	wait_for 20 "tcpdump listens" grep -q listening "$file.log"
	transfer h1 10.2.0.2 "$@"
	kill "$dump" 2>/dev/null
	wait "$dump" 2>/dev/null
	sed -n 's/.*: tcp \([0-9]*\)$/\1/p' "$file.dump" >"$file"
}

control_bps() { jq '.end.sum_received.bits_per_second | round' "$TRANSFER"; }

# 20 ms, 200 Mbit/s and a buffer of 50 KB: what is lost decides, and how long packets are.
control__to_a_host_without_sluice_is_as_fast_as_without_sluice() {
	local plain new known

	net_has_qdisc netem delay 1ms || skip "no netem in this kernel"
	need tcpdump
	NET_RATE=200mbit
	net_up
	net_in sw tc qdisc replace dev p2 root handle 1: tbf rate 200mbit burst 5000 limit 50000
	net_in h2 tc qdisc replace dev eth0 root netem delay 20ms limit 10000
	server h2
	control_lengths "$CASE_DIR/plain.txt" -t 3
	plain=$(control_bps)
	daemon_start h1 sw
	transfer h1 10.2.0.2 -t 3
	new=$(control_bps)
	control_lengths "$CASE_DIR/known.txt" -t 3
	known=$(control_bps)
	echo "# bit/s: $plain without sluiced, $new while its peer is unknown, $known when it is known" \
		"to have no Sluice; packets: $(wc -l <"$CASE_DIR/plain.txt")"
	# Its first two round trips are a slow start of ours, which ends where CUBIC's has not looked for delay yet.
	expect "bit/s, while its peer is unknown" "$new" -ge $((plain / 100 * 95))
	expect "bit/s, to a peer without Sluice" "$known" -ge $((plain / 100 * 98))
	# How the first window is divided, and how long packets are by then; what the timers of a pace shift is left out.
	head -n 5 "$CASE_DIR/plain.txt" >"$CASE_DIR/plain-first.txt"
	head -n 5 "$CASE_DIR/known.txt" >"$CASE_DIR/known-first.txt"
	same "the lengths of the first packets" "$CASE_DIR/plain-first.txt" "$CASE_DIR/known-first.txt"
	expect "bytes of 40 packets" "$(control_sum known)" -le $(($(control_sum plain) * 11 / 10))
	expect "bytes of 40 packets" "$(control_sum known)" -ge $(($(control_sum plain) * 9 / 10))
}

control_sum() { awk '{ sum += $1 } END { print sum + 0 }' "$CASE_DIR/$1.txt"; }

# A namespace that is made while the machine's first one has our default begins with it: here it is given it by hand,
# because the hosts of the tests are not the first one.
control__namespaces_that_inherited_the_default_get_the_one_before() {
	local before

	net_up
	ip netns add "${NET_PREFIX}pod1"
	before=$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)
	daemon_start h1
	control_heir_begins
	host_config h1 "mode: dry-run" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "default congestion control of 1 other network namespace: ${CC}h1 -> $before"
	expect "its default, in another mode" "$(net_in pod1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = "$before"
	host_config h1 "mode: enforce" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "mode dry-run -> enforce"
	control_heir_begins
	bpf_of h1 >"$CASE_DIR/objects.txt"
	daemon_stop h1
	expect "its default, after the end" "$(net_in pod1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = "$before"
	wait_for 300 "the BPF objects of the daemon are gone (left.txt)" bpf_none_left "$CASE_DIR/objects.txt"
}

control_heir_begins() {
	net_in pod1 sysctl -qw "net.ipv4.tcp_congestion_control=${CC}h1" || fail "the namespace does not take it"
}
