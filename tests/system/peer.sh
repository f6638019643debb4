# SPDX-License-Identifier: GPL-2.0-only
# Peers that do not strip telemetry: that never did, and that stop.

# Nobody at h2. TCP is as fast as without Sluice, and h1 asks from time to time.
peer__without_sluice_gets_plain_packets() {
	net_up
	server h2
	# No more than what fits into the switch's buffer however fast it starts.
	transfer h1 10.2.0.2 -n 1500K
	PEER_PLAIN=$(jq '.end.sum_sent.seconds * 1000 | round' "$TRANSFER")
	daemon_start h1 sw
	wait_for 60 "1.5 MB take less than twice as long with sluiced at one end" peer_is_as_fast
	transfer h1 fd00:2::2 -n 1M
	expect "handshakes that had to be repeated" "$(net_snmp h1 TcpExt.TCPSynRetrans)" -eq 0
	wait_for 20 "nothing is lost" nothing_lost
	expect "packets to peers not known to strip" "$(stat_of h1 tx_peer_unknown)" -gt 30
	expect "questions" "$(stat_of h1 probe_sent)" -ge 2
	expect "packets with telemetry" "$(stat_of h1 tx_data)" -eq 0
	# As soon as h2 strips, flows are governed without anybody's doing.
	bulk_start h1 10.2.0.2
	flow_soon h1 "state of the flow" .state plain
	expect "flow in the list as text" "$(ctl h1 flows)" has "plain"
	daemon_start h2
	governed_soon h1
	bulk_stop
}

# The machine may have been slow for once.
peer_is_as_fast() {
	transfer h1 10.2.0.2 -n 1500K
	(($(jq '.end.sum_sent.seconds * 1000 | round' "$TRANSFER") < 2 * PEER_PLAIN))
}

# h2's sluiced is killed and its filters are removed by hand: packets of h1 are dropped there, until h1 sees that
# nothing comes back.
peer__that_stops_stripping_in_mid_transfer() {
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	peer_lost_and_found
	bulk_stop
}

# Meanwhile h1 sends plain packets; the next sluiced adopts h2's maps and is heard of again.
peer_lost_and_found() {
	daemon_kill h2
	filters_remove h2 eth0
	wait_for 20 "h1 notices that h2 is silent" peer_silent h1
	bulk_goes_on 20
	expect "flow of h1 has telemetry" "$(flow_of h1 .telemetry)" = false
	grows "plain packets" 20 stat_of h1 tx_peer_unknown
	grows "and again" 20 bulk_acked
	daemon_start h2
	governed_soon h1
	bulk_goes_on
}

peer_silent() { (($(stat_of "$1" peer_silent) >= 1)); }

# A peer outside of the prefixes is none, whatever it sends.
peer__outside_of_the_prefixes_is_left_alone() {
	net_up
	host_config h1 "peers: [{prefix: 10.9.0.0/16, base_rtt: 2ms}]" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h2
	transfer h1 10.2.0.2 -n 1M
	expect "h1: packets to addresses outside of its peers" "$(stat_of h1 tx_no_peer)" -gt 20
	expect "h1: questions and telemetry" "$(stat_of h1 probe_sent tx_data)" -eq 0
	expect "h1: flows" "$(status_of h1 .flows)" -eq 0
	expect "h2 asks, h1 does not answer" "$(stat_of h2 probe_sent)" -ge 1
	expect "h1: questions of a stranger" "$(stat_of h1 rx_foreign)" -ge 1
	expect "h2: packets with telemetry" "$(stat_of h2 tx_data)" -eq 0
	wait_for 20 "nothing is lost" nothing_lost
}
