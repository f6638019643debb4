# SPDX-License-Identifier: GPL-2.0-only
# Routes that FRR's BGP chooses and changes under traffic. zebra and bgpd run in the namespaces of the case, with their
# sockets and files in its directory, as root; /etc/frr has no part in it. The ways are those of multipath.sh.

FRR_DIR=/usr/lib/frr
declare -A FRR=() # node -> process ids of its zebra and bgpd

frr_here() {
	[[ -x $FRR_DIR/zebra && -x $FRR_DIR/bgpd ]] && type -P vtysh >/dev/null ||
		skip "no BGP here: apt-get install --no-install-recommends frr"
}

# frr_start NODE: with the configuration CASE_DIR/NODE.frr, as the package's user.
frr_start() {
	local node=$1 dir=$CASE_DIR/frr-$1 daemon

	chmod 711 "$WORK"
	install -d -o frr -g frrvty -m 755 "$dir" && install -o frr -g frr -m 600 "$CASE_DIR/$node.frr" "$dir/conf" ||
		fail "no directory for FRR of $node"
	FRR[$node]=
	for daemon in zebra bgpd; do
		net_exec "$node" $FRR_DIR/$daemon -f "$dir/conf" -i "$dir/$daemon.pid" -z "$dir/zserv" --vty_socket "$dir" \
			-P 0 >"$CASE_DIR/frr-$node-$daemon.log" 2>&1 9>&- &
		FRR[$node]+=" $!"
		wait_for 20 "$daemon of $node takes commands" frr_vtysh "$node" -d $daemon -c 'show version'
	done
}

frr_vtysh() { net_in "$1" vtysh --vty_socket "$CASE_DIR/frr-$1" "${@:2}" 2>>"$CASE_DIR/vtysh.log" >"$CASE_DIR/vtysh.txt"; }

# frr_bgp NODE LINE: of its router bgp.
frr_bgp() {
	frr_vtysh "$1" -c 'configure terminal' -c "router bgp" -c "$2" || fail "vtysh: $(<"$CASE_DIR/vtysh.txt")"
}

frr_end() {
	local node pid

	for node in "${!FRR[@]}"; do
		for pid in ${FRR[$node]}; do
			kill "$pid"
			wait "$pid"
		done
	done
	FRR=()
}

# frr_way NODE PREFIX PORT: BGP sends the prefix there.
frr_way() {
	WAIT_SEEN="it is $(net_route "$1" "$2")"
	[[ $WAIT_SEEN == *" dev $3 proto bgp"* ]]
}

frr_way_soon() { wait_for 20 "the route of $1 to $2 leaves by $3" frr_way "$@"; }

# frr_speaker NUMBER NEIGHBOUR...: the configuration of a router, or host, that has 10.NUMBER.0.0/24 and fd00:NUMBER::/64. It
# prefers the neighbours in this order.
frr_speaker() {
	local number=$1 way family weight

	shift
	echo "router bgp $((65000 + number))"
	echo " bgp router-id 10.255.0.$number"
	echo " no bgp ebgp-requires-policy"
	echo " no bgp network import-check"
	echo " timers bgp 1 3"
	for way in "$@"; do
		echo " neighbor $way remote-as external"
		echo " neighbor $way timers connect 1"
		echo " neighbor $way advertisement-interval 0"
	done
	for family in ipv4 ipv6; do
		weight=200
		echo " address-family $family unicast"
		[[ $family == ipv4 ]] && echo "  network 10.$number.0.0/24" || echo "  network fd00:$number::/64"
		for way in "$@"; do
			if [[ $way == *:* && $family == ipv6 || $way != *:* && $family == ipv4 ]]; then
				echo "  neighbor $way activate"
				echo "  neighbor $way weight $((weight -= 10))"
			else
				echo "  no neighbor $way activate"
			fi
		done
		echo " exit-address-family"
	done
}

# frr_routers_up: sw and s2, which prefer p3.
frr_routers_up() {
	frr_here
	multipath_links
	NET_RATE=10mbit net_queue p3
	sed -i '/p3/s/100mbit/10mbit/I' "$CASE_DIR/sw.yaml"
	frr_speaker 1 10.3.0.2 10.4.0.2 fd00:3::2 fd00:4::2 >"$CASE_DIR/sw.frr"
	frr_speaker 2 10.3.0.1 10.4.0.1 fd00:3::1 fd00:4::1 >"$CASE_DIR/s2.frr"
	frr_start sw
	frr_start s2
	frr_ways p3
}

frr_ways() {
	frr_way_soon sw 10.2.0.0/24 "$1"
	frr_way_soon s2 10.1.0.0/24 "$1"
	frr_way_soon sw fd00:2::/64 "${2:-$1}"
	frr_way_soon s2 fd00:1::/64 "${2:-$1}"
}

# frr_sent PORT: bytes that sw sent by it.
frr_sent() { net_in sw ip -s -j link show "$1" | jq '.[0].stats64.tx.bytes'; }

# frr_traced WAY...: the feedback that trace saw came by these ways in a row. U of each begins with its first feedback.
frr_traced() {
	kill -INT "$TRACE"
	trace_end moves
	jq -c 'select(.event == "feedback" and .kind != "skipped")' "$CASE_DIR/moves.json" >"$CASE_DIR/feedback.json"
	expect "ways" "$(jq .path_id "$CASE_DIR/feedback.json" | uniq | xargs)" = "$*"
	expect "feedback that begins a way and was compared with another" "$(jq -s '[.[:-1], .[1:]] | transpose |
		map(select(.[0].path_id != .[1].path_id and (.[1].kind != "first" or .[1].w_bytes != .[1].w_before_bytes))) | length' \
		"$CASE_DIR/feedback.json")" -eq 0
}

frr_new_way_is_used() {
	WAIT_SEEN=$(ctl h1 int --json) && jq -e 'map(select(.path_id == 4)) | length == 1 and .[0].flows >= 1 and .[0].feedback_age_ns < 1000000000 and
		.[0].hops[0].speed_bps == 100000000 and .[0].hops[0].tx_rate_bps > 20000000' <<<"$WAIT_SEEN" >/dev/null
}

frr__session_that_is_shut_moves_the_flow() {
	local old

	frr_routers_up
	host_config h1 "$RTT_AUTO" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	flow_soon h1 "path of the flow" .path_id 3
	flow_soon h1 "speed of its hop" '.hops[0].speed_bps' 10000000
	rtt_soon "the way of 10 Mbit/s" 4300 7000
	trace_start h1 moves --port "$(bulk_port)"
	frr_bgp sw "neighbor 10.3.0.2 shutdown"
	frr_ways p4 p3
	flow_soon h1 "path of the flow" .path_id 4
	rtt_soon "the way of 100 Mbit/s" 484 3500
	wait_for 20 "why names the new way" operator_why_says "hop 1 of 1, the only one that stamps: a port of up to 100 Mbit/s"
	expect "why" "$(ctl h1 why ":$(bulk_port)")" has "path 0x004"
	wait_for 20 "the flow fills the new way" frr_new_way_is_used
	# Of the flow nothing is left on the old way: BGP of IPv6 talks there.
	old=$(frr_sent p3)
	grows "stamps" 20 stat_of sw hop_stamped
	grows "feedback" 20 flow_of h1 .feedbacks
	expect "bytes by the old way" $(($(frr_sent p3) - old)) -lt 5000
	frr_traced 3 4
	bulk_unharmed
	frr_bgp sw "no neighbor 10.3.0.2 shutdown"
	frr_ways p3
	flow_soon h1 "path of the flow" .path_id 3
	bulk_unharmed
	bulk_stop
	expect "peers that fell silent" "$(stat_of h1 peer_silent)" -eq 0
	expect "errors that h2's stack saw" "$(net_snmp h2 Tcp.InErrs)" -eq 0
	frr_end
}

# The packets that were under way are lost, and those are no more than W.
frr__link_that_goes_down_moves_the_flow() {
	local cwnd lost

	frr_routers_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 fd00:2::2
	governed_soon h1
	flow_soon h1 "path of the flow" .path_id 3
	trace_start h1 moves --port "$(bulk_port)"
	cwnd=$(bulk_field cwnd)
	net_in sw ip link set p3 down
	frr_ways p4
	flow_soon h1 "path of the flow" .path_id 4
	grows "feedback" 20 flow_of h1 .feedbacks
	wait_for 20 "why names the new way" operator_why_says "hop 1 of 1, the only one that stamps: a port of up to 100 Mbit/s"
	frr_traced 3 4
	bulk_goes_on
	lost=$(($(lost) - BULK_LOST))
	expect "segments that were lost, of $cwnd" $lost -le $((cwnd + 2))
	bulk_stop
	frr_end
}

# frr_host_up: BGP on h1, which has two uplinks and the address 10.9.0.1, and prefers eth0:
#
#	h1 eth0 --- p1 sw p3 --- p3 s2 p2 --- h2
#	   eth1 ------------------ p4
frr_host_up() {
	frr_here
	multipath_links
	net_in sw ip link set p4 netns "${NET_PREFIX}h1" name eth1 && net_ends h1 eth1 _ 4 1 2 &&
		net_in h1 ip route del default && net_in h1 ip -6 route del default && net_in h1 ip address add 10.9.0.1/32 dev lo &&
		net_in s2 tc qdisc replace dev p2 root handle 1: tbf rate "$NET_RATE" burst "$NET_BURST" limit 1000000 || fail "the uplinks cannot be set up"
	# A host is no way for others: it tells its own prefix only.
	{
		frr_speaker 9 10.1.0.1 10.4.0.2
		echo "ip prefix-list own permit 10.9.0.0/24"
		printf '%s\n' "router bgp 65009" "address-family ipv4 unicast" "neighbor 10.1.0.1 prefix-list own out" "neighbor 10.4.0.2 prefix-list own out"
	} >"$CASE_DIR/h1.frr"
	frr_speaker 1 10.1.0.2 10.3.0.2 >"$CASE_DIR/sw.frr"
	frr_speaker 2 10.3.0.1 10.4.0.1 >"$CASE_DIR/s2.frr"
	frr_start h1
	frr_start sw
	frr_start s2
	frr_way_soon h1 10.2.0.0/24 eth0
	frr_way_soon s2 10.9.0.0/24 p3
	sed -i '/p4/d' "$CASE_DIR/sw.yaml"
	cat >"$CASE_DIR/s2.yaml" <<-END
		pin_dir: $PINS/ssys-s2
		interfaces: [{name: p2, role: switch, speed: ${NET_RATE^}, id: 2}]
	END
}

FRR_UPLINKS="interfaces: [{name: eth0, role: host, speed: ${NET_RATE^}}, {name: eth1, role: host, speed: ${NET_RATE^}}]"

frr__host_changes_its_uplink() {
	frr_host_up
	host_config h1 "$FRR_UPLINKS" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw s2
	server h2
	bulk_start h1 10.2.0.2 -B 10.9.0.1
	governed_soon h1
	flow_soon h1 "path and hops" '"\(.path_id) \(.hops | length)"' "1 2"
	trace_start h1 moves --port "$(bulk_port)"
	frr_bgp h1 "neighbor 10.1.0.1 shutdown"
	frr_way_soon h1 10.2.0.0/24 eth1
	frr_way_soon s2 10.9.0.0/24 p4
	flow_soon h1 "path and hops" '"\(.path_id) \(.hops | length)"' "2 1"
	grows "feedback" 20 flow_of h1 .feedbacks
	expect "why" "$(ctl h1 why ":$(bulk_port)")" has "path 0x002"
	ctl_json 'map(select(.path_id == 2)) | length == 1 and (.[0].hops | length) == 1 and .[0].feedback_age_ns < 1000000000' int --json
	frr_traced 1 2
	bulk_unharmed
	frr_bgp h1 "no neighbor 10.1.0.1 shutdown"
	frr_way_soon h1 10.2.0.0/24 eth0
	flow_soon h1 "path and hops" '"\(.path_id) \(.hops | length)"' "1 2"
	bulk_unharmed
	bulk_stop
	frr_end
}

# frr_speaker_with_password NODE PEER COUNT: an end of a session by TCP-MD5 that tells COUNT prefixes.
frr_speaker_with_password() {
	local i

	printf '%s\n' "ip nht resolve-via-default" "router bgp 6500$1" "bgp router-id 10.$1.0.2" "no bgp ebgp-requires-policy" "no bgp network import-check" \
		"timers bgp 1 3" "neighbor 10.$2.0.2 remote-as external" "neighbor 10.$2.0.2 ebgp-multihop 4" \
		"neighbor 10.$2.0.2 password sesame" "neighbor 10.$2.0.2 timers connect 1" "address-family ipv4 unicast"
	for ((i = 0; i < $3; i++)); do
		echo "network 100.64.$((i / 250)).$((i % 250))/32"
	done
}

frr_prefixes() {
	frr_vtysh h2 -c 'show bgp ipv4 unicast summary json'
	WAIT_SEEN=$(jq -c '.peers[] | [.state, .pfxRcd]' "$CASE_DIR/vtysh.txt")
	[[ $WAIT_SEEN == "[\"Established\",$1]" ]]
}

# The receive windows of its segments are covered by the password's digest: the table, 50 KB, stalled behind the first cut.
frr__session_with_a_password_moves_its_table() {
	frr_here
	net_up
	for node in h1 h2; do
		host_config $node "tcp: {name: $CC$node}" >"$CASE_DIR/$node.yaml"
	done
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2 -P 4
	governed_soon h1
	frr_speaker_with_password 1 2 10000 >"$CASE_DIR/h1.frr"
	frr_speaker_with_password 2 1 0 >"$CASE_DIR/h2.frr"
	frr_start h2
	frr_start h1
	wait_for 60 "h2 has the table" frr_prefixes 10000
	counts h1 0 flow_digest
	expect "wrong or missing digests" "$(net_snmp h1 TcpExt.TCPMD5Failure) $(net_snmp h2 TcpExt.TCPMD5Failure)" = "0 0"
	frr_end
	bulk_stop
}
