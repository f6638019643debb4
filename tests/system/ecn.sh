# SPDX-License-Identifier: GPL-2.0-only
# ECN marks of a switch port, for TCP without Sluice: its queue stays near K, and nothing is dropped.

# ecn_queue FIELD: of the root qdisc of p2, as tc shows it: backlog, drops.
ecn_queue() { net_in sw tc -s -j qdisc show dev p2 | jq "map(select(.root)) | .[0].$1"; }

ecn_config() { switch_config | sed "/name: p2/s/}/$1}/"; }

ecn_reload() {
	ecn_config "$1" >"$CASE_DIR/sw.yaml"
	daemon_hup sw reloaded
}

ecn_status() { status_of sw '.interfaces[] | select(.name == "p2").ecn_bytes'; }

ecn_queue_is() { WAIT_SEEN=$(ecn_queue backlog) && [[ $WAIT_SEEN =~ ^[0-9]+$ ]] && test "$WAIT_SEEN" "$1" "$2"; }

# ecn_queue_most: the longest queue of 60 looks, in ECN_MOST.
ecn_queue_most() {
	local i now

	ECN_MOST=0
	for ((i = 0; i < 60; i++)); do
		now=$(ecn_queue backlog)
		((now <= ECN_MOST)) || ECN_MOST=$now
		sleep 0.05
	done
}

# ecn_goes_by_k KEYS [CONTROL]: with a port of 1 MB. Four flows, of CUBIC by default, fill it without marks; with them the queue is near K. Their
# windows need a round trip to follow, in which they double at most, and a GSO packet is marked as a whole.
ecn_goes_by_k() {
	local keys=$1 control=${2:-cubic} dropped lost marked ns

	for ns in h1 h2; do
		net_in $ns sysctl -qw net.ipv4.tcp_ecn=1 || fail "no net.ipv4.tcp_ecn"
	done
	ecn_config "$keys" >"$CASE_DIR/sw.yaml"
	daemon_start sw
	expect "K without the key" "$(ecn_status)" = null
	expect "text without the key" "$(ctl sw status)" has-no ECN
	server h2
	bulk_start h1 10.2.0.2 -P 4 -C "$control"
	wait_for 60 "the queue fills without marks" ecn_queue_is -ge 700000
	expect "marks without the key" "$(stat_of sw hop_marked)" -eq 0

	ecn_reload "$keys, ecn: 60KB"
	expect "K" "$(ecn_status)" = 60000
	expect "text" "$(ctl sw status)" has "ECN above 60000 bytes"
	wait_for 30 "the queue gets short" ecn_queue_is -le 60000
	marked=$(stat_of sw hop_marked) dropped=$(ecn_queue drops) lost=$(lost)
	ecn_queue_most
	echo "# $control, K 60 KB: queue of $ECN_MOST bytes at most, $(($(stat_of sw hop_marked) - marked)) marks"
	expect "longest queue with K of 60 KB" "$ECN_MOST" -le 250000
	expect "marks with K of 60 KB" "$(stat_of sw hop_marked)" -gt "$marked"
	expect "packets that h2 got with CE" "$(net_snmp h2 IpExt.InCEPkts)" -gt 0

	# Another K is in force at once.
	ecn_reload "$keys, ecn: 300KB"
	wait_for 30 "the queue gets longer with a K of 300 KB" ecn_queue_is -ge 260000
	ecn_reload "$keys, ecn: 30KB"
	wait_for 30 "the queue gets short with a K of 30 KB" ecn_queue_is -le 30000
	bulk_goes_on
	expect "packets that the port dropped with marks" "$(ecn_queue drops)" -eq "$dropped"
	wait_for 20 "what is sent twice with marks also arrives twice" nothing_lost "$lost"

	ecn_reload "$keys"
	expect "K without the key" "$(ecn_status)" = null
	wait_for 60 "the queue fills again without marks, beyond each K" ecn_queue_is -ge 400000
	marked=$(stat_of sw hop_marked)
	bulk_goes_on
	expect "marks without the key" "$(stat_of sw hop_marked)" -eq "$marked"
	bulk_stop
	servers_stop
	daemon_stop sw
}

ecn__bounds_the_queue_of_tbf() {
	net_up
	ecn_goes_by_k ""
}

ecn__bounds_the_queue_of_dctcp() {
	modprobe -q tcp_dctcp 2>/dev/null
	grep -qw dctcp /proc/sys/net/ipv4/tcp_available_congestion_control || skip "this kernel has no DCTCP (tcp_dctcp)"
	net_up
	ecn_goes_by_k "" dctcp
}

ecn__bounds_the_queue_of_htb() {
	net_has_qdisc htb || skip "this kernel has no htb"
	net_up
	net_in sw tc qdisc del dev p2 root
	net_in sw tc qdisc add dev p2 root handle 1: htb default 1 &&
		net_in sw tc class add dev p2 parent 1: classid 1:1 htb rate 100mbit burst 5kb cburst 5kb &&
		net_in sw tc qdisc add dev p2 parent 1:1 bfifo limit 1000000 || fail "no htb"
	ecn_goes_by_k ""
}

ecn__bounds_the_queue_of_sluice() {
	queue_needed
	net_up
	net_in sw tc qdisc del dev p2 root
	ecn_goes_by_k ", queue: sluice, rate: 100Mbit, limit: 1MB"
}

# A port whose queue cannot be read says so, also when the key comes by SIGHUP.
ecn__needs_a_queue_that_can_be_read() {
	net_up
	net_in sw tc qdisc replace dev p2 root pfifo_fast
	daemon_start sw
	expect "what sluiced says" "$(<"$CASE_DIR/sw.log")" has-no "ECN"
	ecn_reload ", ecn: 60KB"
	expect_said sw "p2: the queue of pfifo_fast cannot be read: packets pass without its stamp, and get no ECN marks; to fix: $(net_fix_length p2)"
	daemon_stop sw
}
