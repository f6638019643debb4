# SPDX-License-Identifier: GPL-2.0-only
# Two ways of the same cost between the hosts, and routers that choose one for each flow:
#
#	h1 --- p1 sw p3 === p3 s2 p2 --- h2
#	          p4 === p4
#
# They hash all of the headers that a flow keeps, with IPv6 its flow label, too. fib_multipath_hash_policy=1 would not do: for a
# packet that comes by a veth it takes the hash of the socket that sent it, which no cable carries.

MULTIPATH_FLOWS=1000
MULTIPATH_BYTES=20000 # of each
MULTIPATH_PORT=9000

multipath_up() {
	local n

	multipath_links
	multipath_routes sw 2 2 && multipath_routes s2 1 1 || fail "the ways cannot be set up"
	for n in h1 h2; do
		host_config $n "hpcc: {telemetry: companion}" \
			"peers: [{prefix: 10.0.0.0/8, base_rtt: 20ms}, {prefix: 'fd00::/16', base_rtt: 20ms}]" >"$CASE_DIR/$n.yaml"
	done
}

# multipath_links: the routers and their ways, without routes; sw stamps both.
multipath_links() {
	local n

	net_up
	ip netns add "${NET_PREFIX}s2" && net_in s2 ip link set lo up &&
		net_in sw ip link set p2 netns "${NET_PREFIX}s2" && net_ends s2 p2 _ 2 1 2 || fail "the second router cannot be set up"
	# shellcheck disable=SC2016
	net_in s2 bash -c 'cd /proc/sys/net && echo 1 >ipv4/ip_forward && echo 1 >ipv6/conf/all/forwarding' || fail "s2 cannot route"
	for n in 3 4; do
		ip link add "p$n" netns "${NET_PREFIX}sw" address "02:00:0a:00:0$n:01" type veth \
			peer name "p$n" netns "${NET_PREFIX}s2" address "02:00:0a:00:0$n:02" &&
			net_ends sw "p$n" _ $n 1 2 && net_ends s2 "p$n" _ $n 2 1 && net_queue "p$n" || fail "way $n cannot be set up"
	done
	cat >"$CASE_DIR/sw.yaml" <<-END
		pin_dir: $PINS/ssys-sw
		interfaces:
		  - {name: p3, role: switch, speed: ${NET_RATE^}, id: 3}
		  - {name: p4, role: switch, speed: ${NET_RATE^}, id: 4}
	END
}

# multipath_routes ROUTER SUBNET HOST: to SUBNET by both ways, over the router that is HOST there.
multipath_routes() {
	net_in "$1" ip route add "10.$2.0.0/24" nexthop via "10.3.0.$3" nexthop via "10.4.0.$3" &&
		net_in "$1" ip route add "fd00:$2::/64" nexthop via "fd00:3::$3" nexthop via "fd00:4::$3" &&
		net_in "$1" bash -c 'cd /proc/sys/net && echo 3 >ipv4/fib_multipath_hash_policy && echo 3 >ipv6/fib_multipath_hash_policy &&
			echo $((0x37)) >ipv4/fib_multipath_hash_fields && echo $((0x3f)) >ipv6/fib_multipath_hash_fields' 2>"$CASE_DIR/ways.log"
}

# Connections one after the other, and what they bring is read to the end.
multipath_serve() {
	net_exec h2 setsid python3 -c '
import socket, sys
server = socket.create_server(("::", int(sys.argv[1])), family=socket.AF_INET6, dualstack_ipv6=True)
while True:
    with server.accept()[0] as s:
        while s.recv(65536):
            pass
' $MULTIPATH_PORT >"$CASE_DIR/serve.log" 2>&1 9>&- &
	SERVERS+=($!)
	wait_for 20 "the server listens on h2" server_listens h2 $MULTIPATH_PORT
}

multipath_send() {
	timeout 60 nsenter --net="/run/netns/${NET_PREFIX}h1" python3 -c '
import socket, sys
for i in range(int(sys.argv[3])):
    with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as s:
        s.sendall(bytes(int(sys.argv[4])))
        s.shutdown(socket.SHUT_WR)
        s.recv(1)
' "$1" $MULTIPATH_PORT $MULTIPATH_FLOWS $MULTIPATH_BYTES 2>"$CASE_DIR/send.log" 9>&- || fail "sending: $(tail -n 1 "$CASE_DIR/send.log")"
}

multipath_capture() {
	local n

	CAPTURES=()
	for n in 3 4; do
		net_exec sw tcpdump -i "p$n" -s 80 -B 16384 -w "$CASE_DIR/p$n.pcap" 'tcp or udp' 2>"$CASE_DIR/p$n-tcpdump.log" 9>&- &
		CAPTURES+=($!)
		wait_for 20 "tcpdump listens to p$n" grep -q 'listening on' "$CASE_DIR/p$n-tcpdump.log"
	done
}

multipath_capture_end() {
	local n

	kill "${CAPTURES[@]}"
	wait "${CAPTURES[@]}"
	for n in 3 4; do
		expect "what tcpdump missed of p$n" "$(grep 'dropped by kernel' "$CASE_DIR/p$n-tcpdump.log")" has "0 packets"
	done
}

# multipath_ends KIND ADDRESS: "WAY ENDS" of each packet of a flow from ADDRESS; KIND: companion, or data. With IPv6 only the
# companions that ask: an answer has the flow label of what it answers, and the flow back has another.
multipath_ends() {
	local n v4='ip[28:4] = 0x534c4332' v6='ip6[48:4] = 0x534c4332' wanted

	wanted="($v4 or ($v6 and ip6[64] & 15 = 2))"
	[[ $1 == companion ]] || wanted="not ($v4 or $v6)"
	for n in 3 4; do
		tcpdump -nnqtr "$CASE_DIR/p$n.pcap" "src host $2 and not port 5463 and $wanted" 2>/dev/null | awk -v n=$n '{ print n, $2, $4 }'
	done
}

# multipath_same FROM: flows from there whose companions came by a way that no packet of theirs came by: none. Says how many
# flows there were by each way, and of which companions were seen.
multipath_same() {
	local got

	multipath_ends data "$1" >"$CASE_DIR/data"
	multipath_ends companion "$1" >"$CASE_DIR/companions"
	got=$(awk '
		{ key = $2 " " $3 }
		FNR == NR { if (!(($1, key) in data)) by[$1]++; data[$1, key] = 1; next }
		{ companions++; flows[key] = 1; ways[$1]++; if (!(($1, key) in data)) stray++ }
		END { n = 0; for (key in flows) n++
		      print n, by[3] + 0, by[4] + 0, companions + 0, ways[3] + 0, ways[4] + 0, stray + 0 }' "$CASE_DIR/data" "$CASE_DIR/companions")
	read -r FLOWS BY3 BY4 COMPANIONS WAY3 WAY4 STRAY <<<"$got"
	echo "# from $1: $BY3 and $BY4 flows by the two ways; $COMPANIONS companions of $FLOWS of them, $WAY3 and $WAY4; $STRAY by the other way"
	expect "flows with companions" "$FLOWS" -ge $((MULTIPATH_FLOWS * 9 / 10))
	expect "flows of the first way" "$BY3" -ge $((MULTIPATH_FLOWS / 3))
	expect "flows of the second way" "$BY4" -ge $((MULTIPATH_FLOWS / 3))
	expect "companions that took another way than the flow" "$STRAY" -eq 0
}

multipath__companions_take_the_way_of_their_flow() {
	local to

	need tcpdump python3
	multipath_up
	daemon_start h1 h2 sw
	multipath_serve
	server h2
	for to in 10.2.0.2 fd00:2::2; do
		transfer h1 $to -n 200K
		multipath_capture
		multipath_send $to
		transfer h1 $to -P 8 -t 2 # of larger packets, whose companions are made of ACKs
		multipath_capture_end
		multipath_same "$([[ $to == *:* ]] && echo fd00:1::2 || echo 10.1.0.2)"
		# And the answers.
		[[ $to == *:* ]] || multipath_same $to
	done
	expect "errors that h2's stack saw" "$(net_snmp h2 Tcp.InErrs)" -eq 0
}

# Each packet takes either way by chance, by a mark and a table for each. (In turns, all companions of a flow might take one of them.)
multipath_turns() {
	local n

	need nft
	net_in sw nft -f - 2>"$CASE_DIR/nft.log" <<-END || skip "no numgen in this kernel: $(<"$CASE_DIR/nft.log")"
		table ip turns {
			chain turns {
				type filter hook prerouting priority mangle
				ip daddr 10.2.0.0/24 meta mark set numgen random mod 2 offset 3
			}
		}
	END
	for n in 3 4; do
		net_in sw ip rule add fwmark $n table $n && net_in sw ip route add 10.2.0.0/24 via 10.$n.0.2 table $n ||
			fail "way $n has no table"
	done
}

# Each way has a record: the feedback of one is not thrown away because the last was of the other.
multipath__packets_that_take_turns_are_governed() {
	local first used

	multipath_up
	host_config h1 "hpcc: {telemetry: companion}" "peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}]" >"$CASE_DIR/h1.yaml"
	multipath_turns
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	counts h1 300 fb_path_kept
	first=$(stat_of h1 fb_first) used=$(stat_of h1 fb_fast fb_full)
	echo "# $used feedbacks decided, $first were recorded only"
	expect "feedbacks that decided nothing" "$first" -lt $((used / 4))
	expect "paths of the flow" "$(ctl h1 why ":$(flow_of h1 .local_port)")" has "take turns over 2 paths"
	bulk_unharmed
	bulk_stop
}
