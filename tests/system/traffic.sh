# SPDX-License-Identifier: GPL-2.0-only
# Packets of every kind through attached hosts and switch ports.

# Counters that well-formed packets must not move.
traffic_complaints() {
	echo $(($(stat_of h1 tx_encap_failed tx_mtu tx_no_port rx_truncated rx_not_hpcc rx_bad_version rx_bad_msg \
		rx_bad_hops rx_bad_length rx_foreign rx_mismatch rx_strip_failed rx_bad_telem rx_bad_voq rx_no_auth rx_bad_auth fb_no_flow) +
		$(stat_of h2 tx_encap_failed tx_mtu tx_no_port rx_truncated rx_not_hpcc rx_bad_version rx_bad_msg \
			rx_bad_hops rx_bad_length rx_foreign rx_mismatch rx_strip_failed rx_bad_telem rx_bad_voq rx_no_auth rx_bad_auth fb_no_flow) +
		$(stat_of sw hop_bad hop_full hop_no_queue)))
}

# A TCP flow to ADDRESS from end to end: through telemetry, stamp, echo and Algorithm 1 into the socket.
traffic_is_governed() {
	local address=$1

	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 "$address"
	governed_soon h1
	expect "remote end of the flow" "$(flow_of h1 .remote)" = "$address"
	expect "hops" "$(flow_of h1 '.hops | length')" -eq 1
	expect "speed of the hop in bit/s" "$(flow_of h1 '.hops[0].speed_bps')" -eq 100000000
	expect "path, which is the id of the switch port" "$(flow_of h1 .path_id)" -eq 2
	expect "W_init, 2 ms of 100 Mbit/s" "$(flow_of h1 .w_init_bytes)" -eq 25000
	expect "congestion control of the socket" \
		"$(net_in h1 ss -tinH "dst $BULK_ADDRESS")" has "${CC}h1"
	bulk_goes_on
	traffic_window_is_in_the_socket
	counts h1 100 tx_beside
	counts h1 10 fb_fast fb_full
	counts h1 2 fb_full
	bulk_unharmed
	bulk_stop

	expect "h1: questions" "$(stat_of h1 probe_sent)" -ge 1
	expect "h1: answers" "$(stat_of h1 rx_probe_reply)" -ge 1
	expect "h2: questions answered" "$(stat_of h2 rx_probe)" -ge 1
	expect "h1: first feedback" "$(stat_of h1 fb_first)" -ge 1
	expect "h1: handshakes" "$(stat_of h1 tx_handshake)" -ge 2
	wait_for 20 "sw has stamped as many companions as h1 sent" traffic_at_least sw hop_stamped
	wait_for 20 "h2 has answered as many" traffic_at_least h2 rx_probe
	expect "complaints" "$(traffic_complaints)" -eq 0
}

traffic_at_least() { (($(stat_of "$1" "$2") >= $(stat_of h1 companion_sent))); }

# The socket's congestion window is W and a quarter of it for bursts, in segments, rounded up, and one more. W never exceeds
# W_init, 25,000 bytes.
traffic_window_is_in_the_socket() {
	wait_for 20 "cwnd is W in segments, rounded up, and one more" traffic_cwnd_is_w
	expect "cwnd" "$(bulk_field cwnd)" -le $(((25000 + 25000 / 4 + 1513) / 1514 + 1))
	expect "sysctl" "$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = ${CC}h1
}

# W moves while we look: of a few pairs of looks one has to fit.
traffic_cwnd_is_w() {
	local w cwnd

	w=$(flow_of h1 .w_bytes) cwnd=$(bulk_field cwnd)
	((cwnd >= w / 1514 && cwnd <= w / 1000 + 3))
}

traffic__tcp_over_ipv4_is_governed() {
	traffic_is_governed 10.2.0.2
}

traffic__tcp_over_ipv6_is_governed() {
	traffic_is_governed fd00:2::2
}

# The bulk connection, by ss: R of the socket, and the most that its owner allows, in bit/s.
traffic_pacing() {
	net_in h1 ss -tinH "dst $BULK_ADDRESS" | awk -v n="$1" '
		{ for (i = 1; i < NF; i++) if ($i == "pacing_rate") split($(i + 1), rate, "/")
		  for (i = 1; i <= NF; i++) if (index($i, "bytes_acked:") == 1 && substr($i, 13) + 0 > most) {
			most = substr($i, 13) + 0; best = rate[n] + 0 } }
		END { print best + 0 }'
}

traffic__socket_keeps_the_rate_that_its_owner_set() {
	local most

	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2 --fq-rate 5M
	flow_soon h1 "the flow has feedback" '.telemetry and .feedbacks > 20' true
	expect "R, in bit/s" "$(flow_of h1 .rate_bps)" -gt 20000000
	most=$(traffic_pacing 2)
	expect "SO_MAX_PACING_RATE" "$most" -gt 4000000
	expect "the socket's rate" "$(traffic_pacing 1)" -le "$most"
	# No longer governed: as under Reno, at its own rate.
	ctl h1 bypass on
	grows "bytes that the bulk flow has got through" 20 bulk_acked
	expect "the socket's rate, with bypass" "$(traffic_pacing 1)" -le "$most"
	bulk_unharmed
	bulk_stop
}

# In INT-MD, there and back: the switch lengthens the packets of both, over both versions of IP, whole GSO packets, too.
traffic__int_md_is_governed() {
	local node address

	# W_init is 500 KB, and two flows share a port: all of it may be there while no feedback gets a CPU.
	NET_RATE=2gbit NET_BURST=200000 NET_LIMIT=4000000
	net_up
	for node in h1 h2; do
		host_config $node "hpcc: {encoding: int-md}" >"$CASE_DIR/$node.yaml"
	done
	daemon_start h1 h2 sw
	expect "room" "$(net_route h1 10.0.0.0/8)" has "mtu 1256"
	expect "with IPv6, of which every path carries as much" "$(net_route h1 fd00::/16)" has "mtu 1280"
	server h2
	for address in 10.2.0.2 fd00:2::2; do
		bulk_start h1 $address -P 2 --bidir
		fed_soon h1
		fed_soon h2
		expect "hops" "$(flow_of h1 '.hops | length')" -eq 1
		expect "encoding" "$(flow_of h1 .encoding)" = int-md
		expect "path, which is the id of the switch port" "$(flow_of h1 .path_id)" -eq 2
		bulk_goes_on
		counts h2 10 fb_fast fb_full
		bulk_unharmed
		bulk_stop
	done
	expect "stamps" "$(stat_of sw hop_stamped)" -gt 100
	expect "complaints" "$(traffic_complaints)" -eq 0
	expect "what INT-MD complains of" \
		"$(stat_of h1 rx_int_version rx_int_length rx_int_hops rx_int_fields rx_int_values rx_int_full rx_int_mtu)" -eq 0
	expect "packets that had no room" "$(stat_of sw hop_mtu)" -eq 0
}

# A receiver that asks for the other encoding, and has no setting for this one.
traffic__int_md_one_way() {
	net_up
	host_config h1 "hpcc: {encoding: int-md}" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	expect "hops" "$(flow_of h1 '.hops | length')" -eq 1
	# 100 Mbit/s, a speed of the table: said as it is.
	expect "speed of the hop in bit/s" "$(flow_of h1 '.hops[0].speed_bps')" -eq 100000000
	bulk_goes_on
	bulk_unharmed
	bulk_stop
	wait_for 20 "h2 has stripped at least what h1 sent" traffic_stripped
	expect "complaints" "$(traffic_complaints)" -eq 0
}

traffic_stripped() { (($(stat_of h2 rx_data) >= $(stat_of h1 tx_data))); }

# Many connections at once, in both directions, so that echoes ride on data too.
traffic__flows_in_both_directions_are_governed() {
	telemetry_in_data
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2 -P 3 --bidir
	governed_soon h1
	governed_soon h2
	bulk_goes_on
	expect "flows of h1" "$(status_of h1 .flows)" -ge 7
	# Echoes that rode on packets with payload.
	counts h2 10 fb_fast fb_full
	bulk_unharmed
	bulk_stop
	expect "complaints" "$(traffic_complaints)" -eq 0
}

# No tbf on the way that would take GSO packets apart: the sender hands down packets of many segments, the
# receiver gets them, and each wears one header.
traffic__gso_packets_stay_whole() {
	local packets bytes

	telemetry_in_data
	NET_RATE=2gbit NET_BURST=200000
	net_up
	daemon_start h1 h2 sw
	server h2
	transfer h1 10.2.0.2 -n 30M
	packets=$(stat_of h1 tx_data) bytes=$(jq .end.sum_sent.bytes "$TRANSFER")
	expect "payload bytes per packet with telemetry" $((bytes / packets)) -gt 3000
	wait_for 20 "nothing is lost" nothing_lost
	expect "feedback" "$(stat_of h1 fb_fast fb_full)" -gt 10
	expect "complaints" "$(traffic_complaints)" -eq 0
}

# A one-way flow of UDP at twice what the port carries: nothing replies, so its feedback is what its probes bring.
# Its other end's iperf3 speaks by TCP.
traffic_udp_is_governed() {
	net_up "${2:-}"
	daemon_start h1 h2 sw
	server h2
	bulk_udp_start h1 "$1" -b 200M -l 1200
	wait_for 20 "the flow of UDP is governed" governed h1
	expect "remote end of the flow" "$(flow_of h1 .remote)" = "$1"
	expect "hops" "$(flow_of h1 '.hops | length')" -eq 1
	expect "path, which is the id of the switch port" "$(flow_of h1 .path_id)" -eq 2
	grows "answers to its companions" 20 stat_of h1 rx_probe_reply
	grows "its feedback" 20 flow_of h1 .feedbacks
	expect "companions of it" "$(stat_of h1 companion_sent)" -ge 10
}

# Held packets leave at R; the rest is dropped here, and not in the switch.
traffic_udp_is_held() {
	net_has_qdisc fq || skip "no fq in this kernel"
	traffic_udp_is_governed "$1"
	grows "datagrams given a departure time" 20 stat_of h1 paced
	grows "datagrams beyond the horizon" 20 stat_of h1 tx_horizon
	expect "datagrams that nothing holds" "$(stat_of h1 unheld)" -eq 0
	expect "complaints" "$(traffic_complaints)" -eq 0
}

traffic__udp_over_ipv4_is_governed() {
	traffic_udp_is_held 10.2.0.2
}

traffic__udp_over_ipv6_is_governed() {
	traffic_udp_is_held fd00:2::2
}

# R is shown, and nothing holds them to it.
traffic__udp_without_fq_is_counted() {
	local address

	for address in 10.2.0.2 fd00:2::2; do
		traffic_udp_is_governed $address without-fq
		grows "datagrams that nothing holds" 20 stat_of h1 unheld
		why_soon unheld
		expect "datagrams held" "$(stat_of h1 paced tx_horizon horizon_mark)" -eq 0
		expect "complaints" "$(traffic_complaints)" -eq 0
		bulk_udp_stop
		servers_stop
		daemon_stop h1 h2 sw
		net_down
	done
}

# The base RTT is 2 ms. The PROBE for the host, once a second, is the flow's too.
traffic__udp_asks_at_most_once_in_a_base_rtt() {
	local asked began

	telemetry_in_data
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_udp_start h1 10.2.0.2 -b 50M -l 500
	wait_for 20 "there is feedback" traffic_feedbacks_past 2
	began=$(uptime_ms) asked=$(stat_of h1 probe_sent)
	wait_for 60 "500 more feedbacks" traffic_feedbacks_past $(($(flow_of h1 .feedbacks) + 500))
	asked=$(($(stat_of h1 probe_sent) - asked))
	expect "probes" $asked -ge 500
	expect "probes in $(($(uptime_ms) - began)) ms" $asked -le $((($(uptime_ms) - began) / 2 + 1))
	expect "complaints" "$(traffic_complaints)" -eq 0
}

traffic_feedbacks_past() { (($(flow_of h1 .feedbacks) > $1)); }

# traffic_udp ADDRESS BYTES LENGTH: that many datagrams arrive at h2's UDP as h1's has sent.
traffic_udp() {
	local sent arrived

	sent=$(traffic_udp_sent)
	arrived=$(traffic_udp_arrived)
	transfer h1 "$1" -u -b 10M -n "$2" -l "$3"
	sent=$(($(traffic_udp_sent) - sent))
	expect "datagrams of $3 bytes sent to $1" $sent -ge $((${2%K} * 1000 / $3))
	wait_for 20 "$sent datagrams arrive" traffic_udp_all_arrived $((arrived + sent))
}

traffic_udp_sent() { net_snmp h1 Udp.OutDatagrams Udp6OutDatagrams; }

# By what IP handed up and was not TCP's and not ICMP's: UDP itself counts what its reader took.
traffic_udp_arrived() {
	echo $(($(net_snmp h2 Ip.InDelivers Ip6InDelivers) -
		$(net_snmp h2 Tcp.InSegs Icmp.InMsgs Icmp6InMsgs)))
}

traffic_udp_all_arrived() { (($(traffic_udp_arrived) >= $1)); }

# Below what the path carries nothing is lost, with fq or without.
traffic__udp_arrives_as_it_was_sent() {
	local before

	net_up
	daemon_start h1 h2 sw
	server h2
	# TCP first, so that h2 is known to strip.
	transfer h1 10.2.0.2 -n 300K
	before=$(stat_of h1 tx_beside)
	traffic_udp 10.2.0.2 1000K 1200
	traffic_udp fd00:2::2 500K 1200
	expect "packets that companions tell of" $(($(stat_of h1 tx_beside) - before)) -ge 1200
	expect "datagrams dropped" "$(stat_of h1 tx_horizon)" -eq 0
	expect "complaints" "$(traffic_complaints)" -eq 0
}

traffic__what_is_neither_tcp_nor_udp_passes_untouched() {
	local before data

	[[ $(traffic_ping) ]] || skip "no ping, and no busybox"
	net_up
	daemon_start h1 h2 sw
	server h2
	# TCP first, so that h2 is known to strip.
	transfer h1 10.2.0.2 -n 300K
	wait_for 20 "nothing more is sent" traffic_quiet
	before=$(stat_of h1 tx_other) data=$(stat_of h1 tx_data)
	traffic_pings h1 10.2.0.2 56
	traffic_pings h1 fd00:2::2 56
	traffic_pings h2 10.1.0.2 56
	traffic_pings h2 fd00:1::2 56
	expect "h1: pings and replies" $(($(stat_of h1 tx_other) - before)) -ge 8
	expect "h1: of them with telemetry" $(($(stat_of h1 tx_data) - data)) -eq 0
	expect "h2: packets that are not Sluice's" "$(stat_of h2 rx_other)" -ge 8
	expect "complaints" "$(traffic_complaints)" -eq 0
}

# busybox has one where there is no other.
traffic_ping() { type -P ping || type -P busybox; }

traffic_pings() {
	local tool

	tool=$(traffic_ping)
	[[ $tool == */busybox ]] && tool+=' ping'
	# shellcheck disable=SC2086
	net_in "$1" $tool -c 2 -W 5 -s "$3" "$2" || fail "ping from $1 to $2 with $3 bytes gets no answer"
}

traffic__fragments_pass_untouched() {
	local before

	net_up
	daemon_start h1 h2 sw
	server h2
	transfer h1 10.2.0.2 -n 300K
	# 3000 bytes are three fragments.
	before=$(stat_of h1 tx_fragment)
	traffic_udp 10.2.0.2 300K 3000
	expect "IPv4 fragments counted" $(($(stat_of h1 tx_fragment) - before)) -ge 300
	before=$(stat_of h1 tx_fragment)
	traffic_udp fd00:2::2 300K 3000
	expect "IPv6 fragments counted" $(($(stat_of h1 tx_fragment) - before)) -ge 300
	if [[ $(traffic_ping) ]]; then
		traffic_pings h1 10.2.0.2 3000
		traffic_pings h1 fd00:2::2 3000
	fi
	expect "complaints" "$(traffic_complaints)" -eq 0
}

# Each packet that leaves by the interface is in exactly one counter whose explanation does not begin with "also:"; or
# it is a PROBE, which the other counters do not have. A dropped packet (tx_horizon) does not leave.
traffic__every_packet_is_in_one_counter() {
	net_up
	net_in h1 ip link set eth0 gso_max_segs 1
	daemon_start h1 h2 sw
	wait_for 20 "IPv6 has said all that it says about a new interface" traffic_quiet
	server h2
	transfer h1 10.2.0.2 -n 3M
	transfer h1 fd00:2::2 -u -b 20M -n 300K -l 3000
	transfer h1 10.2.0.2 -u -b 20M -n 300K -l 1200
	expect "packets counted" "$(traffic_counted)" -gt 2000
	wait_for 20 "as many packets are counted as were sent" traffic_all_counted
}

traffic_sent() { net_in h1 ip -j -s link show eth0 | jq '.[0].stats64.tx.packets'; }

traffic_counted() {
	stat_of h1 probe_sent companion_sent tx_data tx_beside tx_plain_ack tx_handshake tx_own tx_other tx_udp_gso tx_vlan_inband tx_fragment tx_ip_options \
		tx_no_peer tx_peer_unknown tx_flow_full tx_mtu tx_too_long tx_encap_failed tx_bypass tx_no_port
}

traffic_quiet() {
	TRAFFIC_OFFSET=$(($(traffic_sent) - $(traffic_counted)))
	sleep 0.5
	traffic_all_counted
}

# A packet may leave between the two looks.
traffic_all_counted() { (($(traffic_sent) - $(traffic_counted) == TRAFFIC_OFFSET)); }

# traffic_vlan NODE DEVICE SUBNET MINE THEIRS [inband]: VLAN 5 on DEVICE; the VLAN device writes the tag into the
# packet where the device below cannot.
traffic_vlan() {
	local mac=02:00:0a:00:0$3

	[[ ${6:-} ]] && net_in "$1" ethtool -K "$2" txvlan off
	net_in "$1" ip link add link "$2" name "$2.5" type vlan id 5 ${6:+reorder_hdr off} &&
		net_ends "$1" "$2.5" _ "5$3" "$4" "$5" &&
		net_in "$1" ip neighbour replace "10.5$3.0.$5" lladdr "$mac:0$5" nud permanent dev "$2.5" &&
		net_in "$1" ip neighbour replace "fd00:5$3::$5" lladdr "$mac:0$5" nud permanent dev "$2.5" ||
		fail "a VLAN on $2 of $1 cannot be made"
}

# VLAN 5 from end to end, routed by sw: 10.51.0.2 - 10.52.0.2.
traffic_vlans() {
	local option=${1:-}

	traffic_vlan h1 eth0 1 2 1 "$option"
	traffic_vlan sw p1 1 1 2
	traffic_vlan sw p2 2 1 2
	traffic_vlan h2 eth0 2 2 1 "$option"
	# Broader than what the daemons are told, so that the telemetry's routes are theirs to make.
	net_in h1 ip route add 10.48.0.0/12 via 10.51.0.1
	net_in h1 ip -6 route add fd00:52::/64 via fd00:51::1
	net_in h2 ip route add 10.48.0.0/12 via 10.52.0.1
	net_in h2 ip -6 route add fd00:51::/64 via fd00:52::1
}

# The tag rides outside of the packet's data, so telemetry goes in behind it.
traffic__vlan_on_a_managed_interface_is_governed() {
	net_has_vlan || skip "no VLAN devices (8021q) in this kernel"
	net_up
	traffic_vlans
	# Nothing gives these prefixes room by itself: they do not leave by eth0 but by eth0.5.
	for node in h1 h2; do
		net_in $node ip link set eth0.5 mtu 1328
	done
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.52.0.2
	governed_soon h1
	expect "hops" "$(flow_of h1 '.hops | length')" -eq 1
	bulk_unharmed
	bulk_stop
	expect "complaints" "$(traffic_complaints)" -eq 0
}

traffic__managed_vlan_device_is_governed() {
	local node

	net_has_vlan || skip "no VLAN devices (8021q) in this kernel"
	net_up
	traffic_vlans
	for node in h1 h2; do
		host_config $node 'interfaces: [{name: eth0.5, role: host, speed: 100Mbit}]' \
			"peers: [{prefix: 10.52.0.0/24, base_rtt: 2ms}, {prefix: 10.51.0.0/24, base_rtt: 2ms}]" \
			>"$CASE_DIR/$node.yaml"
		# Connected routes have no room; those that go through the gateway get it from sluiced.
		sed -i "s/{prefix: 10.5${node#h}.0.0\/24, base_rtt: 2ms},\? \?//" "$CASE_DIR/$node.yaml"
	done
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.52.0.2
	governed_soon h1
	expect "hops" "$(flow_of h1 '.hops | length')" -eq 1
	bulk_unharmed
	bulk_stop
	expect "complaints" "$(traffic_complaints)" -eq 0
}

# Where the driver writes the tag into the packet before tc sees it, the packet passes as it is.
traffic__vlan_tag_inside_the_packet_passes_untouched() {
	net_has_vlan || skip "no VLAN devices (8021q) in this kernel"
	net_up
	traffic_vlans inband
	daemon_start h1 h2 sw
	server h2
	transfer h1 10.52.0.2 -n 1M
	expect "packets with the tag inside, whole GSO packets among them" "$(stat_of h1 tx_vlan_inband)" -gt 10
	expect "packets with telemetry" "$(stat_of h1 tx_data)" -eq 0
	wait_for 20 "nothing is lost" nothing_lost
}

# Departure times need fq; without it TCP holds its packets back itself, at the rate R.
traffic__without_fq_tcp_paces_itself() {
	local rate pacing

	net_up without-fq
	daemon_start h1 h2 sw
	expect_said h1 "not every leaf of its qdiscs is fq"
	expect_said h1 "$(net_fix_times eth0)"
	expect "departure times in the status" "$(status_of h1 '.interfaces[0].edt')" = false
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	wait_for 20 "the socket's pacing rate is R, as payload" traffic_pacing_is_r
	expect "packets given a departure time" "$(stat_of h1 paced)" -eq 0
	bulk_unharmed
	bulk_stop
}

# The shim takes 11 % of R; R moves while we look.
traffic_pacing_is_r() {
	local rate pacing

	rate=$(flow_of h1 .rate_bps)
	pacing=$(net_in h1 ss -tinH "dst $BULK_ADDRESS" | grep -o 'pacing_rate [0-9]*bps' | tr -dc '0-9\n' |
		sort -n | head -n 1)
	[[ $rate && $pacing ]] && ((pacing <= rate && pacing * 10 >= rate * 7))
}

traffic__with_fq_packets_get_departure_times() {
	net_has_qdisc fq || skip "no fq in this kernel"
	net_up
	daemon_start h1 h2 sw
	! said h1 "not every leaf of its qdiscs is fq" || fail "sluiced complains of a missing fq"
	expect "departure times in the status" "$(status_of h1 '.interfaces[0].edt')" = true
	server h2
	bulk_start h1 10.2.0.2 -P 2
	governed_soon h1
	bulk_unharmed
	bulk_stop
	expect "packets given a departure time" "$(stat_of h1 paced)" -gt 0
}
