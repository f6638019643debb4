# SPDX-License-Identifier: GPL-2.0-only
# Telemetry beside the data: packets leave as the stack made them, and companions are asked how full the path is.

# Of both hosts.
companion_config() {
	host_config h1 "hpcc: {telemetry: companion}" >"$CASE_DIR/h1.yaml"
	host_config h2 "hpcc: {telemetry: companion}" >"$CASE_DIR/h2.yaml"
}

companion__governs_data_that_leaves_as_it_is() {
	local address

	for address in 10.2.0.2 fd00:2::2; do
		net_up
		companion_config
		daemon_start h1 h2 sw
		server h2
		bulk_start h1 $address
		governed_soon h1
		flow_soon h1 "telemetry" .telemetry_mode companion
		grows "companions" 20 stat_of h1 companion_sent
		grows "answers" 20 stat_of h1 rx_probe_reply
		grows "stamps" 20 stat_of sw hop_stamped
		grows "feedback" 20 flow_of h1 .feedbacks
		bulk_unharmed
		bulk_stop
		transfer h1 $address -u -b 10M -t 1
		expect "datagrams lost" "$(jq .end.sum.lost_packets "$TRANSFER")" -eq 0
		expect "data of h1 with a header of ours" "$(stat_of h1 tx_data)" -eq 0
		expect "route of h1 to its peers" "$(net_route h1 10.2.0.0/24) $(net_route h1 fd00:2::/64)" has-no mtu
		expect "errors that h2's stack saw" "$(net_snmp h2 Tcp.InErrs Udp.InErrors Udp6InErrors)" -eq 0
		servers_stop
		daemon_stop h1 h2 sw
		net_down
	done
}

# The sink goes while companions are on their way: h2's stack sees them then, and throws them away. What applications read
# is what was sent.
companion__that_reaches_a_stack_harms_nothing() {
	local got before

	need python3 curl
	net_up
	companion_config
	daemon_start h1 h2 sw
	head -c 20000000 /dev/urandom >"$CASE_DIR/file"
	net_exec h1 setsid python3 -m http.server -d "$CASE_DIR" 8000 >"$CASE_DIR/http.log" 2>&1 9>&- &
	SERVERS+=($!)
	wait_for 20 "the web server listens" server_listens h1 8000
	net_exec h2 curl -sS --limit-rate 8M http://10.1.0.2:8000/file -o "$CASE_DIR/got" 2>"$CASE_DIR/curl.log" 9>&- &
	got=$!
	wait_for 20 "companions are answered" counted h1 20 rx_probe_reply
	companion_sink_goes
	wait $got || fail "curl: $(<"$CASE_DIR/curl.log")"
	same "what was read and what was sent" "$CASE_DIR/got" "$CASE_DIR/file"
	expect "companions that h2's stack threw away" "$(net_snmp h2 Tcp.InErrs)" -ge 1
	expect "resets" "$(net_snmp h1 Tcp.OutRsts) $(net_snmp h2 Tcp.OutRsts) $(net_snmp h2 Tcp.EstabResets)" = "0 0 0"
	expect "segments sent again" "$(net_snmp h1 Tcp.RetransSegs)" -le 1
	daemon_start h2
	server h2
	before=$(stat_of h1 rx_probe_reply)
	net_exec h1 iperf3 -J -c 10.2.0.2 -u -b 10M -t 3 >"$CASE_DIR/udp.json" 2>>"$CASE_DIR/iperf3.log" 9>&- &
	got=$!
	wait_for 20 "companions of UDP are answered" counted h1 $((before + 20)) rx_probe_reply
	companion_sink_goes
	wait $got || fail "iperf3: $(<"$CASE_DIR/iperf3.log")"
	expect "datagrams lost" "$(jq .end.sum.lost_packets "$CASE_DIR/udp.json")" -eq 0
	expect "companions that h2's stack threw away" "$(net_snmp h2 Udp.InErrors)" -ge 1
	daemon_start h2
}

companion_sink_goes() {
	daemon_kill h2
	net_in h2 tc qdisc del dev eth0 clsact
}

companion__with_int_md_is_refused() {
	net_up
	host_config h1 "hpcc: {telemetry: companion, encoding: int-md}" >"$CASE_DIR/h1.yaml"
	daemon_fails h1 1 "telemetry 'companion' and encoding 'int-md'"
}
