# SPDX-License-Identifier: GPL-2.0-only
# The qdisc `sluice`: it does what fq does, counts right, and stays whatever becomes of the daemon.

# Its name is the machine's: the pins are of whoever registered it.
queue_needed() {
	local detail

	detail=$("$BUILD/sluicectl" probe --json lo | jq -r '.[] | select(.check == "qdisc sluice") | .detail')
	[[ $detail == loads ]] || skip "${detail#*needed: }"
}

# queue_up: the usual network, with a daemon of h1 that has registered it, and it at h1.
queue_up() {
	queue_needed
	net_up
	daemon_start h1
	[[ -e $PINS/ssys-h1/queues ]] || skip "another daemon has registered the qdisc"
	expect_said h1 "qdisc 'sluice': registered"
	queue_install
}

queue_install() {
	net_in h1 tc qdisc replace dev eth0 root handle 10: sluice || fail "tc does not install it"
}

queue_is_known() { net_in h1 tc qdisc replace dev lo root sluice 2>>"$CASE_DIR/tc.log"; }

# queue_count FIELD: of the qdiscs that there are, by the map; a jq expression.
queue_count() {
	bpftool -j map dump pinned "$PINS/ssys-h1/queues" | jq "[.[].formatted.value.seen | $1] | add // 0"
}

queue_flows() { bpftool -j map dump pinned "$PINS/ssys-h1/queue_flows" | jq length; }

# queue_tc FIELD: as tc shows it.
queue_tc() { net_in h1 tc -s -j qdisc show dev eth0 | jq "[.[] | select(.kind == \"sluice\") | .$1] | add"; }

bytes_of() { echo $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255)); }

# queue_limits PACKETS FLOW_PACKETS SLACK_NS: the others as they are.
queue_limits() {
	# shellcheck disable=SC2046 # bytes
	bpftool map update pinned "$PINS/ssys-${4:-h1}/queue_limits" key 0 0 0 0 value $(bytes_of 2) $(bytes_of "$1") \
		$(bytes_of "$2") $(bytes_of 3028) $(bytes_of "$3") 0 0 0 0 $(bytes_of 1410065408) $(bytes_of 2) ||
		fail "the limits cannot be set"
}

queue__survives_kill_and_restart_under_traffic() {
	queue_up
	daemon_start h2 sw
	expect "departure times in the status" "$(status_of h1 '.interfaces[0].edt')" = true
	server h2
	bulk_start h1 10.2.0.2 -P 4
	governed_soon h1

	daemon_kill h1
	bulk_goes_on
	grows "packets that are sent" 20 queue_tc packets
	queue_is_known || fail "the name is gone with the daemon: $(<"$CASE_DIR/tc.log")"
	net_in h1 tc qdisc del dev lo root
	daemon_start h1
	expect "how often it was registered" "$(grep -c "qdisc 'sluice': registered" "$CASE_DIR/h1.log")" -eq 1
	bulk_unharmed
	expect "packets that tc counts as dropped" "$(queue_tc drops)" -eq 0
	bulk_stop
	wait_for 20 "tc shows that nothing waits" queue_is_empty
	expect "packets that it took" "$(queue_count '.packets[0]')" -eq "$(queue_count '.packets | add')"

	# Its name goes with an orderly end, and where it is it stays.
	daemon_stop h1 h2 sw
	! queue_is_known || fail "the name is still there"
	expect "qdisc of h1" "$(net_in h1 tc qdisc show dev eth0)" has "qdisc sluice 10: root"
	transfer h1 10.2.0.2 -n 1M
	servers_stop
}

queue_is_empty() { [[ $(queue_tc backlog) == 0 && $(queue_tc qlen) == 0 ]]; }

queue__is_deleted_under_traffic() {
	local i

	queue_up
	daemon_start h2 sw
	server h2
	bulk_start h1 10.2.0.2 -P 8
	for i in 1 2 3 4 5; do
		net_in h1 tc qdisc del dev eth0 root || fail "deleting it"
		expect "qdiscs in its map, time $i" "$(queue_count 1)" -eq 0
		expect "flows in its map, time $i" "$(queue_flows)" -eq 0
		bulk_goes_on
		queue_install
		bulk_goes_on
	done
	# Beside each other: another qdisc's flows are its own.
	net_in h1 tc qdisc replace dev lo root sluice
	expect "qdiscs in its map" "$(queue_count 1)" -eq 2
	net_in h1 tc qdisc del dev lo root
	expect "qdiscs in its map" "$(queue_count 1)" -eq 1
	bulk_goes_on
	bulk_stop
	# The interface goes, with what waits in it.
	bulk_udp_start h1 10.2.0.2 -b 200M
	net_in h1 ip link del eth0
	wait_for 20 "its map has no qdiscs" queue_is_gone
	kill -KILL "$BULK"
	wait "$BULK" 2>/dev/null
	servers_stop
	daemon_stop h2 sw h1
}

queue_is_gone() { [[ $(queue_count 1) == 0 && $(queue_flows) == 0 ]]; }

queue__drops_are_counted_by_reason() {
	queue_up
	daemon_start h2 sw
	server h2
	bulk_udp_start h1 10.2.0.2 -b 150M -l 1200
	governed_soon h1
	expect "packets dropped with limits as they come" "$(queue_tc drops)" -eq 0
	queue_limits 10000 1 10000
	grows "packets beyond the limit of a flow" 20 queue_count '.packets[2]'
	queue_limits 1 1000 10000
	grows "packets beyond the limit of a qdisc" 20 queue_count '.packets[1]'
	queue_limits 10000 1000 10000
	grows "packets that are sent" 20 queue_tc packets
	bulk_udp_stop
	sleep 1
	expect "packets that tc counts as dropped, and those of all reasons" "$(queue_tc drops)" -eq \
		"$(queue_count '.packets[1:] | add')"
	wait_for 20 "tc shows that nothing waits" queue_is_empty
}

# The lengths of UDP datagrams in the order in which they come to the switch.
queue_order() { tcpdump -r "$CASE_DIR/order.pcap" -n 2>/dev/null | sed -n 's/.*length \([0-9]*\)$/\1/p' | tr '\n' ' '; }

queue_order_is_whole() { [[ $(queue_order | wc -w) == 3 ]]; }

# Of one flow: a datagram that is held, one that has no time of its own and waits for it, and a short one, which does not.
queue__short_packets_do_not_wait_behind_data_that_is_held() {
	local capture

	need tcpdump
	[[ -x $BUILD/held ]] || skip "no build/held here: make build/held"
	queue_needed
	host_config h1 'mode: observe' >"$CASE_DIR/h1.yaml" # their times are their own
	queue_up
	net_exec sw tcpdump -Z root -i p1 -Q in -U -w "$CASE_DIR/order.pcap" 'udp dst port 9' 2>"$CASE_DIR/tcpdump.log" 9>&- &
	capture=$!
	wait_for 20 "tcpdump listens" grep -q "listening" "$CASE_DIR/tcpdump.log"
	net_in h1 "$BUILD/held" 10.1.0.1 9 400 || fail "held: it does not send"
	wait_for 20 "the datagrams come" queue_order_is_whole
	kill "$capture"
	expect "their order" "$(queue_order)" = "64 1000 1001 "
	expect "packets beside data that was held" "$(queue_count .beside)" -eq 1
	expect "ms from the first to the second" "$(tcpdump -r "$CASE_DIR/order.pcap" -n -ttt 2>/dev/null |
		awk 'NR == 2 { split($1, t, ":"); print int(t[3] * 1000) }')" -ge 300
}

queue__below_mq_has_one_for_each_queue() {
	queue_needed
	net_up
	net_in h1 ip link add many0 numtxqueues 4 type veth peer name many1 numrxqueues 4 &&
		net_in h1 ip link set many0 up && net_in h1 ip link set many1 up &&
		net_in h1 tc qdisc replace dev many0 root handle 1: mq || skip "no veth with several transmit queues"
	daemon_start h1
	[[ -e $PINS/ssys-h1/queues ]] || skip "another daemon has registered the qdisc"
	for i in 1 2 3 4; do
		net_in h1 tc qdisc replace dev many0 parent 1:$i sluice || fail "tc does not install it below mq"
	done
	expect "qdiscs in its map" "$(queue_count 1)" -eq 4
	expect "classes of mq that they have" "$(bpftool -j map dump pinned "$PINS/ssys-h1/queues" |
		jq -c '[.[].formatted.value.seen.parent] | sort')" = '[65537,65538,65539,65540]'
	net_in h1 ip address add 10.9.0.1/24 dev many0
	net_in h1 ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:01 dev many0
	net_in h1 ping -c 5 -i 0.1 -W 0.1 10.9.0.2 >/dev/null
	expect "packets that they have sent" "$(net_in h1 tc -s -j qdisc show dev many0 |
		jq '[.[] | select(.kind == "sluice") | .packets] | add')" -ge 5
	net_in h1 tc qdisc del dev many0 root
	expect "qdiscs in its map" "$(queue_count 1)" -eq 0
}

# As in pacing.sh with fq, whose p1 and p99 at 200 Mbit/s are 6.6 to 8.2 % off. These are 10.5 % off: each packet costs more.
queue__one_flow_leaves_evenly() {
	queue_needed
	pacing_up
	daemon_start h2
	[[ -e $PINS/ssys-h2/queues ]] || skip "another daemon has registered the qdisc"
	queue_limits 10000 1000 1 h2
	queue_install
	pacing_rates_are_kept <<-END
	10 500 5 10ms 8000
	50 1000 5 10ms 8000
	100 1500 5 10ms 8000
	200 3000 13 5ms 2000
	END
}
