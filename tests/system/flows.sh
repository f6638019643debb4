# SPDX-License-Identifier: GPL-2.0-only
# The flow map: full, and emptied again.

flows__that_find_no_room_pass_plainly() {
	net_up
	host_config h1 "max_flows: 4" "flow_timeout: 2s" >"$CASE_DIR/h1.yaml"
	host_config h2 "flow_timeout: 2s" >"$CASE_DIR/h2.yaml"
	daemon_start h1 h2 sw
	expect "room" "$(bpftool -j map show pinned "$PINS/ssys-h1/flows" | jq .max_entries)" -eq 4
	server h2
	bulk_start h1 10.2.0.2 -P 12 -C reno -w 30K
	wait_for 20 "all connections move" flows_all_move 12
	grows "packets of flows without room" 20 stat_of h1 tx_flow_full
	expect "flows" "$(status_of h1 .flows)" -le 4
	expect "flows" "$(status_of h1 .flows)" -ge 1
	expect "flows at the other end" "$(status_of h2 .flows)" -ge 1
	bulk_unharmed
	bulk_stop
	# The ends of these connections were seen, and their entries have to go; so have those that are idle.
	wait_for 60 "the flow map of h1 is empty" flows_none h1
	wait_for 60 "the flow map of h2 is empty" flows_none h2
	# There is room again.
	bulk_start h1 10.2.0.2
	governed_soon h1
	bulk_stop
}

# The receiver's map is full: telemetry is not echoed, and everything arrives.
flows__full_at_the_receiver() {
	net_up
	host_config h2 "max_flows: 4" >"$CASE_DIR/h2.yaml"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2 -P 12 -w 30K
	wait_for 20 "all connections move" flows_all_move 12
	wait_for 20 "the counter of telemetry not echoed, or of packets that found no room" flows_counted h2
	bulk_unharmed
	bulk_stop
}

# A flood of one-packet flows fills the map. Flows that live get their place back while the flood goes on.
flows__of_one_packet_keep_nobody_out() {
	local port

	net_up
	host_config h1 "max_flows: 64" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h2
	# With bash: a datagram to each port.
	for ((port = 10000; port < 10200; port++)); do
		echo "echo >/dev/udp/10.2.0.2/$port"
	done >"$CASE_DIR/flood.sh"
	net_in h1 bash "$CASE_DIR/flood.sh" 2>/dev/null
	grows "packets of flows without room" 20 flows_flooded
	expect "flows" "$(status_of h1 .flows)" -ge 60
	wait_for 20 "h1 says that the map is nearly full" said h1 "the flow map is nearly full"
	bulk_start h1 10.2.0.2
	governed_soon h1
	bulk_goes_on
	bulk_stop
	wait_for 20 "the flood is forgotten long before flow_timeout" flows_few h1
}

flows_flooded() {
	net_in h1 bash "$CASE_DIR/flood.sh" 2>/dev/null
	stat_of h1 tx_flow_full
}

flows_few() { (($(status_of "$1" .flows) < 32)); }

flows_counted() { (($(stat_of "$1" rx_flow_full tx_flow_full) > 0)); }

flows_none() { (($(status_of "$1" .flows) == 0)); }

flows_all_move() {
	(($(net_in "$BULK_NODE" ss -tinH "dst $BULK_ADDRESS" | grep -o 'bytes_acked:[0-9]*' | cut -d: -f2 |
		awk '$1 > 20000' | wc -l) >= $1))
}
