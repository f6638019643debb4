# SPDX-License-Identifier: GPL-2.0-only
# Pods at the node h2 of node.sh whose veths have an htb: stamped where all packets go through one class.

# htb_tc WHAT OPTION...: tc of pod1's veth, htb_tc "class add" parent 1: ...
htb_tc() {
	# shellcheck disable=SC2086
	net_in h2 tc $1 dev to-pod1 "${@:2}"
}

# htb_up [DEFAULT]: the network, a pod, and an htb of it without a class.
htb_up() {
	overlay_modules # of a VM
	node_up h2
	node_pod h2 pod1 11
	htb_tc "qdisc add" root handle 1: htb ${1:+default "$1"} || skip "no htb here"
	node_config h2
}

# htb_class VERB ID PARENT OPTION...: without a quantum the kernel would complain of rates that are high.
htb_class() { htb_tc "class $1" parent "$3" classid "$2" htb quantum 10000 "${@:4}" || fail "the class $2 is refused"; }

htb_speed() { status_of h2 '.interfaces[] | select(.name == "to-pod1") | .speed_bps'; }

htb_speed_is() { WAIT_SEEN=$(htb_speed) && [[ $WAIT_SEEN == "$1" ]]; }

htb_speed_soon() { wait_for 20 "the pod's rate is $1 bit/s" htb_speed_is "$1"; }

# htb_unshaped CLASS: sluiced names the class that htb lacks.
htb_unshaped() { echo "its htb sends unshaped what no filter takes, because it has no leaf class $1 (its default)"; }

# The queue of a pod stays short where it is stamped, and fills where it is not; the rate is followed.
htb__of_a_pod_has_a_short_queue() {
	local without with

	htb_up 10
	htb_class add 1:10 1: rate 20mbit
	host_config h1 "peers: [{prefix: 10.0.0.0/8, base_rtt: 20ms}, {prefix: 'fd00::/16', base_rtt: 20ms}]" \
		>"$CASE_DIR/h1.yaml"
	host_config h2 >"$CASE_DIR/h2.yaml"
	daemon_start h1 h2 sw
	server pod1
	bulk_start h1 10.244.2.11
	node_hops h1 1
	grows "bytes that got through" 20 bulk_acked
	without=$(node_queue_bytes h2 pod1)
	expect "bytes in the queue of a node that does not stamp it" "$without" -gt 100000
	node_config h2
	daemon_hup h2 reloaded
	node_hops h1 2
	htb_speed_soon 20000000
	expect_said h2 "pods with a queue: 0 -> 1, by the tbf or htb of their veths"
	wait_for 20 "the queue is below 10 packets" node_queue_is_short h2 pod1
	with=$(node_queue_bytes h2 pod1)
	expect "bytes in the queue, of $without" "$with" -lt 15000
	htb_class change 1:10 1: rate 8mbit
	htb_speed_soon 8000000
	flow_soon h1 "speed of the last hop" '.hops[1].speed_bps' 10000000
	wait_for 20 "the queue is below 10 packets" node_queue_is_short h2 pod1
	bulk_goes_on
	bulk_stop
	daemon_stop h2
	expect "what is left on the veth" "$(net_in h2 tc qdisc show dev to-pod1)" has-no clsact
}

# A class borrows from those above it: nothing else sends, so its queue drains at what they lend, up to each ceil on the way.
htb__rate_is_what_the_class_may_borrow() {
	htb_up 10
	htb_class add 1:1 1: rate 60mbit ceil 90mbit
	htb_class add 1:10 1:1 rate 20mbit ceil 40mbit
	daemon_start h2
	htb_speed_soon 40000000
	htb_class change 1:10 1:1 rate 20mbit ceil 80mbit
	htb_speed_soon 60000000
	htb_class change 1:1 1: rate 10mbit ceil 90mbit
	htb_speed_soon 20000000
	# Another kind of qdisc below it has classes, which are not those of this htb.
	htb_tc "qdisc add" parent 1:10 handle 2: htb default 30
	net_in h2 tc class add dev to-pod1 parent 2: classid 2:30 htb rate 5mbit
	sleep 2
	htb_speed_soon 20000000
	htb_tc "qdisc replace" parent 1:10 handle 3: pfifo limit 100
	# Another leaf, which nothing leads to; then a filter does.
	htb_class add 1:20 1:1 rate 5mbit
	sleep 2
	htb_speed_soon 20000000
	expect "what sluiced says of htb" "$(grep -c 'its htb' "$CASE_DIR/h2.log")" -eq 0
	htb_tc "filter add" parent 1: protocol ip u32 match ip dport 80 0xffff flowid 1:20 || skip "no u32 here"
	node_pods_soon h2 ""
	wait_for 20 "sluiced says so" said h2 "to-pod1: filters share packets out among several leaf classes of its htb"
	htb_tc "filter del" parent 1:
	htb_speed_soon 20000000
	# With one leaf a filter changes nothing.
	htb_tc "class del" classid 1:20
	htb_tc "filter add" parent 1: protocol ip u32 match ip dport 80 0xffff flowid 1:10
	sleep 2
	expect "the pod's rate" "$(htb_speed)" -eq 20000000
}

htb__without_its_default_class_is_said_once() {
	htb_up 10
	daemon_start h2
	wait_for 20 "sluiced says so" said h2 "to-pod1: $(htb_unshaped 1:10)"
	htb_class add 1:20 1: rate 20mbit
	node_pod h2 pod2 12
	net_in h2 tc qdisc add dev to-pod2 root handle 5: htb
	net_in h2 tc class add dev to-pod2 parent 5: classid 5:1 htb rate 20mbit
	sleep 3
	expect "times that it is said" "$(grep -c 'its htb sends unshaped' "$CASE_DIR/h2.log")" -eq 1
	expect "pods that are stamped" "$(node_pods h2)" = ""
	daemon_hup h2 reloaded
	wait_for 20 "it is said again after SIGHUP" htb_said 2
	htb_class add 1:10 1: rate 20mbit
	node_pods_soon h2 to-pod1
}

htb_said() { WAIT_SEEN=$(grep -c 'its htb sends unshaped' "$CASE_DIR/h2.log") && ((WAIT_SEEN >= $1)); }

# Its classes come after htb itself, as a script makes them: nothing is wrong, and nothing is said.
htb__that_is_made_under_the_eyes_of_sluiced_is_no_mistake() {
	local i

	htb_up 10
	htb_tc "qdisc del" root
	daemon_start h2
	for i in 1 2 3 4 5; do
		htb_tc "qdisc add" root handle 1: htb default 10
		htb_class add 1:10 1: rate "${i}0mbit"
		htb_speed_soon "${i}0000000"
		htb_tc "qdisc del" root
		node_pods_soon h2 ""
	done
	expect "what sluiced says of htb" "$(grep -c 'its htb' "$CASE_DIR/h2.log")" -eq 0
}

# The class goes under traffic, which is unshaped then, and comes back with a rate beyond the table of speeds.
htb__class_is_deleted_under_load() {
	htb_up 10
	htb_class add 1:10 1: rate 20mbit
	daemon_start h1 h2 sw
	htb_speed_soon 20000000
	server pod1
	bulk_start h1 10.244.2.11
	node_hops h1 2
	htb_tc "class del" classid 1:10
	node_pods_soon h2 ""
	node_hops h1 1
	wait_for 20 "sluiced says so" said h2 "to-pod1: $(htb_unshaped 1:10)"
	bulk_goes_on
	htb_class add 1:10 1: rate 2tbit
	htb_speed_soon 1000000000000
	node_hops h1 2
	bulk_goes_on
	htb_class change 1:10 1: rate 8kbit burst 20000
	htb_speed_soon 8000
	htb_class change 1:10 1: rate 30mbit
	htb_speed_soon 30000000
	bulk_goes_on
	bulk_stop
}

# htb_measured NAME: prints, in a file of that name, the goodput in kbit/s and the median and the 95th percentile of the queue.
htb_measured() {
	local i flow

	net_exec h1 iperf3 -J -t 10 -O 3 -c 10.244.2.11 >"$CASE_DIR/$1.json" 2>>"$CASE_DIR/iperf3.log" 9>&- &
	flow=$!
	sleep 4
	for ((i = 0; i < 101; i++)); do
		node_backlog h2 pod1
		sleep 0.03
	done | sort -n >"$CASE_DIR/queue.txt"
	wait $flow || fail "iperf3: $(tail -n 3 "$CASE_DIR/iperf3.log")"
	echo "$(jq '.end.sum_received.bits_per_second / 1000 | floor' "$CASE_DIR/$1.json")" \
		"$(sed -n 51p "$CASE_DIR/queue.txt")" "$(sed -n 96p "$CASE_DIR/queue.txt")" >"$CASE_DIR/$1"
	awk -v what="$1" '{ printf "# %s: %.1f Mbit/s, queue of %d bytes, 95th percentile %d\n", what, $1 / 1000, $2, $3 }' "$CASE_DIR/$1"
}

# A pod of 50 Mbit/s by either, with a megabyte of buffer, alone and under Sluice. T is 2 ms where this kernel has netem.
htb__is_held_like_tbf() {
	local kind kbit queue

	htb_up 10
	net_in sw tc qdisc replace dev p1 parent 1:1 handle 10: netem delay 2ms limit 10000 2>>"$CASE_DIR/tc.log" ||
		echo "# no netem here: the path is shorter than base_rtt says, so R is lower"
	host_config h1 >"$CASE_DIR/h1.yaml"
	server pod1
	for kind in tbf htb; do
		htb_tc "qdisc del" root
		if [[ $kind == tbf ]]; then
			htb_tc "qdisc add" root tbf rate 50mbit burst 5000 limit 1000000
		else
			htb_tc "qdisc add" root handle 1: htb default 10
			htb_class add 1:10 1: rate 50mbit burst 5000 cburst 5000
			htb_tc "qdisc add" parent 1:10 bfifo limit 1000000
		fi
		htb_measured "${kind}_alone"
		daemon_start h1 h2 sw
		node_pods_soon h2 to-pod1
		htb_measured "${kind}_governed"
		read -r kbit queue _ <"$CASE_DIR/${kind}_governed"
		expect "goodput behind $kind in kbit/s" "$kbit" -gt 20000
		expect "bytes in the queue of $kind" "$queue" -lt 15000
		daemon_stop h1 h2 sw
	done
}
