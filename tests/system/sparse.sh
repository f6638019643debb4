# SPDX-License-Identifier: GPL-2.0-only
# Telemetry less often than in every packet.

# sparse_config MODE: of h1, which sends.
sparse_config() { host_config h1 "hpcc: {telemetry: $1}" >"$CASE_DIR/h1.yaml"; }

# One flow through all of them.
sparse__each_mode_while_a_flow_runs() {
	local mode address

	for address in 10.2.0.2 fd00:2::2; do
		net_up
		sparse_config every
		daemon_start h1 h2 sw
		server h2
		bulk_start h1 $address
		governed_soon h1
		expect "data without telemetry" "$(stat_of h1 tx_bare)" -eq 0
		for mode in rtt probe congestion; do
			sparse_config $mode
			daemon_hup h1 reloaded
			flow_soon h1 "telemetry" .telemetry_mode $mode
			# With congestion there is none while U is eta or more, which one flow alone is at times.
			grows "data without telemetry ($mode)" 30 stat_of h1 tx_bare
			grows "feedback ($mode)" 20 flow_of h1 .feedbacks
			[[ $mode != probe ]] || grows "answers to probes" 20 stat_of h1 rx_probe_reply
			governed_soon h1
		done
		bulk_unharmed
		bulk_stop
		servers_stop
		expect "peers that fell silent" "$(stat_of h1 peer_silent)" -eq 0
		daemon_stop h1 h2 sw
		net_down
	done
}

# Where data asks for no answer, a PROBE that gets none tells that the peer is gone; see peer.sh.
sparse__by_probes_to_a_peer_that_stops_stripping() {
	net_up
	sparse_config probe
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	peer_lost_and_found
	bulk_stop
}
