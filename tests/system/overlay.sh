# SPDX-License-Identifier: GPL-2.0-only
# Tunnels over the managed interface, with telemetry beside the data: a tunnel's packets are flows of their outer headers,
# and what runs inside knows nothing of it.

# The inside of a tunnel: h1 is 192.168.9.1 and fd09::1, h2 is .2 and ::2. Its sockets keep the control of pods, CUBIC.
OVERLAY_INNER=192.168.9.2

# Files of the VM beside its root file system (tests/run).
PATH=$PATH:$BUILD/vm-tools
overlay_modules() {
	local file

	alone || return 0
	for file in "$BUILD"/modules-*/*.ko; do
		[[ ! -e $file ]] || insmod "$file" 2>/dev/null
	done
}

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

# overlay_vxlan PREFIX [OPTION]...: over IPv4 or IPv6 of the hosts, by eth0 (dev eth0) or by the routes.
overlay_vxlan() {
	local v=$1 n

	shift
	net_has_link vxlan id 7 dstport 4789 local 10.1.0.1 remote 10.1.0.2 || skip "this kernel has no VXLAN"
	for n in 1 2; do
		net_in h$n ip link add vx0 type vxlan id 7 dstport 4789 local "$(overlay_end "$v" $n)" \
			remote "$(overlay_end "$v" $((3 - n)))" "$@" || fail "no VXLAN device on h$n"
	done
	overlay_ends vx0
}

# overlay_end 4|6 N: the outer address of host N.
overlay_end() {
	if [[ $1 == 6 ]]; then echo "fd00:$2::2"; else echo "10.$2.0.2"; fi
}

# overlay_config [LINE]...
overlay_config() {
	local n

	for n in 1 2; do
		host_config h$n "hpcc: {telemetry: companion}" "tcp: {name: $CC${n}h, default: false}" "$@" >"$CASE_DIR/h$n.yaml"
	done
}

# overlay_is_governed PROTOCOL REMOTE [WHOLE]: a tunnel to the address REMOTE is governed by its outer headers, of PROTOCOL;
# packets of h1 leave whole, and hold more than WHOLE bytes on the average.
overlay_is_governed() {
	local protocol=$1 remote=$2 whole=${3:-1500} packets bytes

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
	expect "bytes in a packet of h1, which leave whole" $((bytes / packets)) -gt "$whole"
	expect "packets dropped, whose sockets wait here" "$(stat_of h1 tx_horizon)" -eq 0
	bulk_goes_on
	bulk_stop
	expect "errors that h2's stack saw" "$(net_snmp h2 Tcp.InErrs Udp.InErrors Udp6InErrors)" -eq 0
}

# The receiver first: a tunnel asks by a companion whether its peer strips them, which a stack counts as an error.
overlay_start() {
	daemon_start h2
	daemon_start h1 sw
}

overlay__of_vxlan_is_governed() {
	local v

	for v in 4 6; do
		net_up
		overlay_vxlan $v dev eth0
		overlay_config
		overlay_start
		overlay_is_governed udp "$(overlay_end $v 2)"
		servers_stop
		daemon_stop h1 h2 sw
		net_down
	done
}

# Its packets of up to 64 KB are ten BDPs here, and the queue of one is no reason to slow down for.
overlay__one_flow_has_the_port() {
	net_up
	[[ $NET_FQ ]] || skip "no fq in this kernel"
	overlay_vxlan 4 dev eth0
	overlay_config "peers: [{prefix: 10.0.0.0/8, base_rtt: auto}]"
	overlay_start
	server h2
	transfer h1 $OVERLAY_INNER -C cubic -t 2 -O 1
	expect "feedback" "$(stat_of h1 fb_fast fb_full)" -gt 30
	expect "Mbit/s of goodput, of 93 at most" "$(jq '.end.sum_received.bits_per_second / 1e6 | floor' "$TRANSFER")" -ge 88
}

# overlay_inside TELEMETRY WHAT: with Sluice at the tunnel's device and nowhere else one flow has the port, and h1 does WHAT there.
overlay_inside() {
	local n

	for n in 1 2; do
		host_config h$n "hpcc: {telemetry: $1}" "interfaces: [{name: vx0, role: host, speed: 100Mbit}]" \
			"peers: [{prefix: 192.168.9.0/24, base_rtt: auto}]" >"$CASE_DIR/h$n.yaml"
	done
	daemon_start h2 h1
	expect "what h1 does at vx0" "$(ctl h1 status)" has "$2"
	server h2
	transfer h1 $OVERLAY_INNER -t 2 -O 1
	expect "feedback" "$(stat_of h1 fb_delay)" -gt 30
	expect "Mbit/s of goodput, of 92 at most, with telemetry: $1" "$(jq '.end.sum_received.bits_per_second / 1e6 | floor' "$TRANSFER")" -ge 75
	servers_stop
	daemon_stop h1 h2
}

# The fq of the device below holds the packets of TCP sockets by R. If that counted as delay R would fall.
overlay__device_of_a_tunnel_on_fq_is_managed() {
	net_up
	[[ $NET_FQ ]] || skip "no fq in this kernel"
	overlay_vxlan 4 dev eth0
	overlay_inside companion "paced by departure time"
	overlay_inside every "paced by departure time"
	expect "advice on fq" "$(<"$CASE_DIR/h1.log")" has-no "to fix"
}

overlay__device_of_a_tunnel_on_a_route_is_managed() {
	net_up
	[[ $NET_FQ ]] || skip "no fq in this kernel"
	overlay_vxlan 4
	overlay_inside companion "no fq"
	overlay_inside every "no fq"
	expect "advice on fq" "$(<"$CASE_DIR/h1.log")" has "to fix: tc qdisc replace dev vx0 root fq"
}

# overlay_tunnel TYPE [OPTION]...: a tunnel of this type between the hosts' IPv4 addresses, or IPv6 ones if the type wants it.
overlay_tunnel() {
	local type=$1 v=4 n

	shift
	[[ $type != *6* ]] || v=6
	overlay_modules
	net_has_link "$type" local "$(overlay_end $v 1)" remote "$(overlay_end $v 2)" "$@" || skip "this kernel has no $type"
	for n in 1 2; do
		net_in h$n ip link add tn0 type "$type" local "$(overlay_end $v $n)" remote "$(overlay_end $v $((3 - n)))" "$@" ||
			fail "no $type device on h$n"
	done
	overlay_ends tn0
}

# overlay_over TYPE PROTOCOL [OPTION]...: such a tunnel is governed.
overlay_over() {
	local type=$1 protocol=$2 v=4

	shift 2
	[[ $type != *6* ]] || v=6
	net_up
	overlay_tunnel "$type" "$@"
	overlay_config
	overlay_start
	overlay_is_governed "$protocol" "$(overlay_end $v 2)"
	servers_stop
	daemon_stop h1 h2 sw
	net_down
}

overlay__of_ipip_is_governed() {
	overlay_over ipip ipip
}

overlay__of_ipv6_in_ipv4_is_governed() {
	OVERLAY_INNER=fd09::2 overlay_over sit ipv6
}

overlay__of_gre_is_governed() {
	overlay_over gre gre
}

overlay__of_gre_over_ipv6_is_governed() {
	overlay_over ip6gre gre encaplimit none
}

# Where telemetry is in the data, it is left alone.
overlay__without_ports_and_without_companions() {
	net_up
	telemetry_in_data
	overlay_tunnel ipip
	overlay_start
	server h2
	transfer h1 $OVERLAY_INNER -n 1M
	expect "packets of the tunnel" "$(stat_of h1 tx_other)" -ge 50
	expect "flows of the tunnel" "$(ctl h1 flows --json | jq '[.[] | select(.protocol == "ipip")] | length')" -eq 0
}

# overlay_sink_goes [COUNTER]...: the sink goes while companions of a tunnel are on their way. The bytes read through it are
# those that were sent, and h2's stack threw companions away by these counters.
overlay_sink_goes() {
	local reader before got

	overlay_config
	overlay_start
	head -c 8000000 /dev/urandom >"$CASE_DIR/file"
	net_exec h2 setsid iperf3 -s -1 -F "$CASE_DIR/got" >"$CASE_DIR/iperf3-server.txt" 2>&1 9>&- &
	SERVERS+=($!)
	wait_for 20 "iperf3 listens" server_listens h2 $TRAFFIC_PORT
	net_exec h1 iperf3 -c $OVERLAY_INNER -C cubic -b 16M -l 8K -F "$CASE_DIR/file" >"$CASE_DIR/iperf3.log" 2>&1 9>&- &
	reader=$!
	wait_for 20 "companions are answered" counted h1 20 rx_probe_reply
	before=$(stat_of h1 companion_sent)
	companion_sink_goes
	wait $reader || fail "iperf3: $(tail -n 1 "$CASE_DIR/iperf3.log")"
	wait "${SERVERS[-1]}"
	SERVERS=()
	# The server stops when the client says that it is done, whatever is under way then.
	got=$(stat -c %s "$CASE_DIR/got")
	expect "bytes read" "$got" -ge 7000000
	cmp -n "$got" "$CASE_DIR/got" "$CASE_DIR/file" || fail "what was read is not what was sent"
	expect "companions after the sink went" "$(stat_of h1 companion_sent)" -gt "$before"
	[[ ! $* ]] || expect "companions that h2's stack threw away" "$(net_snmp h2 "$@")" -ge 1
	expect "segments sent again" "$(net_snmp h1 Tcp.RetransSegs)" -le 1
	daemon_start h2
	daemon_stop h1 h2 sw
	net_down
}

overlay__companions_of_vxlan_harm_no_stack() {
	net_up
	overlay_vxlan 4 dev eth0
	overlay_sink_goes Udp.InErrors
}

overlay__companions_of_ipip_harm_no_stack() {
	net_up
	overlay_tunnel ipip
	overlay_sink_goes Ip.InHdrErrors
}

overlay__companions_of_gre_harm_no_stack() {
	net_up
	overlay_tunnel gre
	overlay_sink_goes
}

overlay__companions_of_ipv6_in_ipv4_harm_no_stack() {
	net_up
	overlay_tunnel sit
	OVERLAY_INNER=fd09::2 overlay_sink_goes Ip6InHdrErrors
}

# WireGuard is UDP with ports that both ends have, and encrypts packet by packet.
overlay__of_wireguard_is_governed() {
	local n

	need wg
	overlay_modules
	net_has_link wireguard || skip "this kernel has no WireGuard"
	net_up
	for n in 1 2; do
		(umask 077 && wg genkey >"$CASE_DIR/wg$n")
	done
	for n in 1 2; do
		net_in h$n ip link add wg0 type wireguard &&
			net_in h$n wg set wg0 private-key "$CASE_DIR/wg$n" listen-port 51820 peer "$(wg pubkey <"$CASE_DIR/wg$((3 - n))")" \
				allowed-ips 0.0.0.0/0,::/0 endpoint 10.$((3 - n)).0.2:51820 || fail "no WireGuard device on h$n"
	done
	overlay_ends wg0
	overlay_config
	overlay_start
	overlay_is_governed udp 10.2.0.2 1000
	expect "ports" "$(flow_of h1 '"\(.local_port) \(.remote_port)"')" = "51820 51820"
}
