# SPDX-License-Identifier: GPL-2.0-only
# Tunnels over the managed interface, with telemetry beside the data: a tunnel's packets are flows of their outer headers,
# and what runs inside knows nothing of it.

# The inside of a tunnel: h1 is 192.168.9.1 and fd09::1, h2 is .2 and ::2. Its sockets keep the control of pods, CUBIC.
OVERLAY_INNER=192.168.9.2

# overlay_ends DEVICE: addresses on the tunnel's device at both ends.
overlay_ends() {
	local n

	for n in 1 2; do
		net_in h$n ip -batch - <<-END || fail "$1 cannot be set up on h$n"
			link set $1 up
			address add 192.168.9.$n/24 dev $1
			address add fd09::$n/64 dev $1 nodad
		END
	done
}

# overlay_vxlan PREFIX: over IPv4 or IPv6 of the hosts.
overlay_vxlan() {
	local n

	net_has_link vxlan id 7 dstport 4789 local 10.1.0.1 remote 10.1.0.2 || skip "this kernel has no VXLAN"
	for n in 1 2; do
		net_in h$n ip link add vx0 type vxlan id 7 dstport 4789 local "$(overlay_end "$1" $n)" \
			remote "$(overlay_end "$1" $((3 - n)))" dev eth0 || fail "no VXLAN device on h$n"
	done
	overlay_ends vx0
}

# overlay_end 4|6 N: the outer address of host N.
overlay_end() {
	if [[ $1 == 6 ]]; then echo "fd00:$2::2"; else echo "10.$2.0.2"; fi
}

overlay_config() {
	local n

	for n in 1 2; do
		host_config h$n "hpcc: {telemetry: companion}" "tcp: {name: $CC${n}h, default: false}" >"$CASE_DIR/h$n.yaml"
	done
}

# A tunnel to the address REMOTE is governed by its outer headers, of protocol PROTOCOL; packets of h1 leave whole.
overlay_is_governed() {
	local protocol=$1 remote=$2 packets bytes

	server h2
	bulk_start h1 $OVERLAY_INNER -C cubic
	governed_soon h1
	flow_soon h1 "remote end" .remote "$remote"
	expect "protocol" "$(flow_of h1 .protocol)" = "$protocol"
	expect "telemetry" "$(flow_of h1 .telemetry_mode)" = companion
	grows "companions" 20 stat_of h1 companion_sent
	grows "answers" 20 stat_of h1 rx_probe_reply
	grows "stamps" 20 stat_of sw hop_stamped
	grows "feedback" 20 flow_of h1 .feedbacks
	expect "packets that a header was to be added to" "$(stat_of h1 tx_encap_failed tx_data)" -eq 0
	expect "route of h1 to its peers" "$(net_route h1 10.2.0.0/24) $(net_route h1 fd00:2::/64)" has-no mtu
	packets=$(net_in h1 ip -j -s link show eth0 | jq '.[0].stats64.tx.packets')
	bytes=$(net_in h1 ip -j -s link show eth0 | jq '.[0].stats64.tx.bytes')
	expect "bytes in a packet of h1, which leave whole" $((bytes / packets)) -gt 1500
	bulk_goes_on
	bulk_stop
	expect "errors that h2's stack saw" "$(net_snmp h2 Tcp.InErrs Udp.InErrors Udp6InErrors)" -eq 0
}

overlay__of_vxlan_is_governed() {
	local v

	for v in 4 6; do
		net_up
		overlay_vxlan $v
		overlay_config
		daemon_start h1 h2 sw
		overlay_is_governed udp "$(overlay_end $v 2)"
		servers_stop
		daemon_stop h1 h2 sw
		net_down
	done
}
