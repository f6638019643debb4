# SPDX-License-Identifier: GPL-2.0-only
# Telemetry beside the data: packets leave as the stack made them, and companions are asked how full the path is.

# For both hosts.
companion_config() {
	host_config h1 "hpcc: {telemetry: companion}" >"$CASE_DIR/h1.yaml"
	host_config h2 "hpcc: {telemetry: companion}" >"$CASE_DIR/h2.yaml"
}

companion__governs_data_that_leaves_as_it_is() {
	local address full

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
		# A receiver that does not get the CPU for long enough has no room in its socket.
		full=$(net_snmp h2 Udp.RcvbufErrors Udp6RcvbufErrors)
		expect "datagrams lost beyond those that h2's socket had no room for" \
			"$(($(jq .end.sum.lost_packets "$TRANSFER") - full))" -le 0
		expect "data of h1 with a header of ours" "$(stat_of h1 tx_data)" -eq 0
		expect "route of h1 to its peers" "$(net_route h1 10.2.0.0/24) $(net_route h1 fd00:2::/64)" has-no mtu
		expect "errors that h2's stack saw" "$(($(net_snmp h2 Tcp.InErrs Udp.InErrors Udp6InErrors) - full))" -eq 0
		servers_stop
		daemon_stop h1 h2 sw
		net_down
	done
}

# One flow through both.
companion__and_telemetry_in_the_data_while_a_flow_runs() {
	local mode address

	for address in 10.2.0.2 fd00:2::2; do
		net_up
		daemon_start h1 h2 sw
		server h2
		bulk_start h1 $address
		governed_soon h1
		for mode in companion every; do
			host_config h1 "hpcc: {telemetry: $mode}" >"$CASE_DIR/h1.yaml"
			daemon_hup h1 reloaded
			flow_soon h1 "telemetry" .telemetry_mode $mode
			grows "what carries it ($mode)" 30 stat_of h1 "$([[ $mode == every ]] && echo tx_data || echo companion_sent)"
			grows "feedback ($mode)" 20 flow_of h1 .feedbacks
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

# The sink goes while companions are on their way: h2's stack sees them then, and throws them away. Applications read
# exactly the sent bytes.
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
	# A receiver that does not get the CPU for long enough has no room in its socket.
	expect "datagrams lost beyond those that h2's socket had no room for" \
		"$(($(jq .end.sum.lost_packets "$CASE_DIR/udp.json") - $(net_snmp h2 Udp.RcvbufErrors)))" -le 0
	expect "companions that h2's stack threw away" "$(net_snmp h2 Udp.InErrors)" -ge 1
	daemon_start h2
}

companion_sink_goes() {
	daemon_kill h2
	filters_remove h2 eth0
}

# The shaper would drop the whole GSO packet from which a companion is cloned: it has room for one packet.
companion__of_gso_passes_a_shaper_with_a_small_burst() {
	net_up without-fq
	net_in h1 tc qdisc replace dev eth0 root tbf rate 50mbit burst 1600 limit 1mb || fail "tbf"
	companion_config
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	flow_soon h1 "telemetry" .telemetry_mode companion
	counts h1 100 companion_sent
	grows "answers" 20 stat_of h1 rx_probe_reply
	grows "answers" 20 stat_of h1 rx_probe_reply
	bulk_unharmed
	bulk_stop
	expect "clones that were dropped" "$(stat_of h1 probe_failed)" -eq 0
	expect "packets that the shaper dropped" \
		"$(net_in h1 tc -s -j qdisc show dev eth0 root | jq '[.[].drops] | add')" -eq 0
	daemon_stop h1 h2 sw
}

companion__with_int_md_is_refused() {
	net_up
	host_config h1 "hpcc: {telemetry: companion, encoding: int-md}" >"$CASE_DIR/h1.yaml"
	daemon_fails h1 1 "telemetry 'companion' and encoding 'int-md'"
}

# companion_mice FLOWS PACKETS: of UDP, each from another port of h1, within a second or so.
companion_mice() {
	net_in h1 python3 -c '
import socket, sys
for i in range(int(sys.argv[1])):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("", 20000 + i))
        for n in range(int(sys.argv[2])):
            s.sendto(bytes(100), ("10.2.0.2", 9))
' "$1" "$2" 2>"$CASE_DIR/mice.log" || fail "sending: $(tail -n 1 "$CASE_DIR/mice.log")"
}

# A flow in which companions would be a third of the bytes.
companion__is_not_sent_for_flows_of_two_packets() {
	local sent made began

	need python3
	net_up
	companion_config
	daemon_start h1 h2 sw
	server h2
	transfer h1 10.2.0.2 -n 1M
	sent=$(stat_of h1 companion_sent) made=$(stat_of h1 flow_made)
	expect "companions of a longer flow" "$sent" -ge 1
	began=$(uptime_ms)
	companion_mice 10000 2
	echo "# 10000 flows of 2 datagrams in $(($(uptime_ms) - began)) ms: $(($(stat_of h1 companion_sent) - sent)) companions," \
		"$(stat_of h1 probe_sent) PROBEs, $(net_snmp h2 Udp.NoPorts) datagrams arrived"
	expect "flows" $(($(stat_of h1 flow_made) - made)) -ge 10000
	expect "companions of flows of 2 packets" "$(stat_of h1 companion_sent)" -eq "$sent"
	multipath_serve
	MULTIPATH_BYTES=2500 multipath_send 10.2.0.2
	# Of some SYNs: N of the host is known for 32 T after that.
	made=$(stat_of h1 companion_sent)
	expect "companions of 1009 connections of 2 packets" $((made - sent)) -le 100
	sent=$made
	companion_mice 1000 4
	expect "companions of flows of 4 packets" $(($(stat_of h1 companion_sent) - sent)) -ge 900
}

# Sends groups of 32 datagrams of 1400 bytes by UDP_SEGMENT, 36 Mbit/s for 3 s, and prints how many it sent.
COMPANION_SENDER='
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, 1400)
s.connect((sys.argv[1], 9000))
n = 0
end = time.monotonic() + 3
while time.monotonic() < end:
    s.send(bytes(32 * 1400))
    n += 32
    time.sleep(0.01)
print(n)'
# Prints how many datagrams came until none came for 2 s.
COMPANION_RECEIVER='
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)
s.bind(("0.0.0.0", 9000))
s.settimeout(10)
n = 0
try:
    while s.recv(2000):
        n += 1
        s.settimeout(2)
except socket.timeout:
    print(n)'

companion__governs_groups_of_datagrams() {
	local receiver

	need python3
	net_up
	companion_config
	daemon_start h1 h2 sw
	net_exec h2 python3 -c "$COMPANION_RECEIVER" >"$CASE_DIR/received" 2>"$CASE_DIR/receiver.log" 9>&- &
	receiver=$!
	wait_for 20 "the receiver is there" net_in h2 sh -c 'ss -Huln "sport = :9000" | grep -q .'
	net_in h1 python3 -c "$COMPANION_SENDER" 10.2.0.2 >"$CASE_DIR/sent" || fail "the sender: $(<"$CASE_DIR/sent")"
	wait $receiver
	same "datagrams sent and received" "$CASE_DIR/sent" "$CASE_DIR/received"
	expect "groups that left" "$(stat_of h1 tx_beside)" -ge $(($(<"$CASE_DIR/sent") / 32 - 1))
	expect "feedback of that flow" "$(flow_of h1 '"\(.protocol) \(.feedbacks > 20)"')" = "udp true"
	# Its bytes are counted datagram by datagram: 42 bytes of headers each.
	expect "bytes that the flow sent" "$(flow_of h1 .tx_bytes)" -ge $(($(<"$CASE_DIR/sent") * 1442 - 2 * 32 * 1442))
	expect "datagrams left to themselves" "$(stat_of h1 tx_udp_gso tx_mtu)" -eq 0
}

# BIG TCP: packets of more than 64 KB, which with IPv6 have an extra header. The link is fast enough for TCP to make such.
companion__governs_big_tcp() {
	local NET_RATE=10gbit NET_BURST=4000000

	need tcpdump
	on_one_cpu
	companion_big gso_max_size fd00:2::2 'ip6[6] = 0 and ip6[42] = 0xc2' || skip "no gso_max_size of more than 64 KB here"
	companion_big gso_ipv4_max_size 10.2.0.2 'ip[2:2] = 0' || echo "# no gso_ipv4_max_size here"
}

# companion_big SIZE ADDRESS FILTER: with a SIZE of 200000 a flow to ADDRESS makes packets that FILTER catches. Fails where
# there is no such SIZE.
companion_big() {
	local node

	net_up
	for node in "h1 eth0" "h2 eth0" "sw p1" "sw p2"; do
		if ! net_in "${node% *}" ip link set "${node#* }" "$1" 200000 2>/dev/null; then
			net_down
			return 1
		fi
	done
	# Linux counts the header between as one of each segment when it forwards such a packet (6.18).
	net_in sw ip link set p2 mtu 2000 && net_in h2 ip link set eth0 mtu 2000 || fail "a larger MTU"
	# A first window that the queue of sw holds.
	for node in h1 h2; do
		host_config $node "hpcc: {telemetry: companion}" \
			"peers: [{prefix: 10.0.0.0/8, base_rtt: 500us}, {prefix: 'fd00::/16', base_rtt: 500us}]" >"$CASE_DIR/$node.yaml"
	done
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 "$2"
	flow_soon h1 "telemetry" .telemetry_mode companion
	net_in h1 timeout 20 tcpdump -i eth0 -c 5 "$3" >"$CASE_DIR/tcpdump.txt" 2>"$CASE_DIR/tcpdump.log" ||
		fail "no packet of more than 64 KB within 20 s"
	grows "feedback" 20 flow_of h1 .feedbacks
	grows "packets that leave as they were made" 20 stat_of h1 tx_beside
	bulk_unharmed
	bulk_stop
	expect "packets of TCP left to themselves" "$(stat_of h1 tx_too_long tx_mtu)" -eq 0
	expect "packets with extension headers, which are none of TCP" "$(stat_of h1 tx_ip_options)" -le 5
	expect "questions that failed" "$(stat_of h1 probe_failed)" -eq 0
	servers_stop
	daemon_stop h1 h2 sw
	net_down
}
