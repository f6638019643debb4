# SPDX-License-Identifier: GPL-2.0-only
# Many senders with invented addresses.

FLOOD=${FLOOD:-20000} # more than the addresses that are remembered

flood() {
	net_in sw "$BUILD/flood" p1 "$1" "$2" 2>"$CASE_DIR/flood.log" || fail "flood: $(<"$CASE_DIR/flood.log")"
}

# The sequence below which h1 takes nothing of h2, for a flow that it does not know.
flood_floor() { bpftool -j map dump pinned "$PINS/ssys-h1/hosts" | jq '[.[].formatted.value.rx_seq] | max // 0'; }

# The bytes that h1 has sent by its port.
flood_sent() { net_in h1 ip -s -j link show dev eth0 | jq ".[].stats64.tx.bytes"; }

flood_over() { (($(net_in h1 awk '/^Tcp: [0-9]/ { print $15 }' /proc/net/snmp) >= $1)); }

# SYNs to a closed port leave no state, and h1 probes none of their addresses.
flood__of_syns_makes_no_flow_and_no_probe() {
	local floor made probes sent

	need "$BUILD/flood"
	net_up
	daemon_start h1 h2 sw
	server h2
	transfer h1 10.2.0.2 -n 1M
	floor=$(flood_floor)
	expect "the newest sequence of h2" "$floor" -gt 0
	made=$(stat_of h1 flow_made) probes=$(stat_of h1 probe_sent) sent=$(flood_sent)
	flood 9 "$FLOOD"
	wait_for 20 "h1 has answered with RSTs" flood_over $((FLOOD / 2))
	echo "$FLOOD SYNs: $(($(stat_of h1 flow_made) - made)) flows," \
		"$(($(stat_of h1 probe_sent) - probes)) PROBEs, $(($(flood_sent) - sent)) bytes"
	expect "flows made" "$(($(stat_of h1 flow_made) - made))" -le 10
	expect "PROBEs sent" "$(($(stat_of h1 probe_sent) - probes))" -le 10
	expect "the newest sequence of h2, still" "$(flood_floor)" -ge "$floor"
}
