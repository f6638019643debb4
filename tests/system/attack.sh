# SPDX-License-Identifier: GPL-2.0-only
# A sender that is not on the path, sees nothing and has no key: it knows the addresses and ports of a connection and
# writes any source into its packets (tests/system/tools/spoof.c). Each attack runs without Sluice first and then with it,
# in the same network: applications must not see a difference.
#
# Times are compared in the VM only, where they are exact. Elsewhere nothing may be dropped or lost: each segment that is
# stops a connection for 200 ms or longer.

ASK_PORT=5300 ASK_COUNT=100
ASK_LOCAL=41000 # the local port of the next connection
ASK_FLOOR_US=2000 # the only CPU of the VM has other work at times: sluiced's, the attacker's
BLIND=()

# A control that is not ours, so that receive windows hold the connection.
ASK_CONTROL=reno

blind_up() {
	local node

	need "$BUILD/spoof" "$BUILD/ask"
	net_up
	# A SYN-ACK to nobody, sent again, would count as lost.
	for node in h1 h2; do
		net_in $node sh -c 'echo 0 >/proc/sys/net/ipv4/tcp_synack_retries' || fail "the sysctl of $node"
	done
	net_exec h2 setsid "$BUILD/ask" serve $ASK_PORT $ASK_CONTROL >"$CASE_DIR/ask-server.log" 2>&1 9>&- &
	SERVERS+=($!)
	wait_for 20 "the server listens on h2" server_listens h2 $ASK_PORT
}

# blind_start KIND AT RATE [ARGUMENT]: from the switch. AT: h1 or h2, at the connection between port ASK_LOCAL of h1 and
# the server, as from its other end; closed, a port of h2 that nobody listens on. blind_start pfc: frames that pause
# every class of h1 for as long as one can.
blind_start() {
	local to

	case ${2:-} in
	h1) to="$ASK_H2 $ASK_PORT $ASK_H1 $ASK_LOCAL" ;;
	h2) to="$ASK_H1 $ASK_LOCAL $ASK_H2 $ASK_PORT" ;;
	closed) to="$ASK_H1 $ASK_LOCAL $ASK_H2 9" ;;
	esac
	# shellcheck disable=SC2086 # a list
	if [[ $1 == pfc ]]; then
		net_exec sw "$BUILD/pause" p1 0xff 0xffff 1000000 1000
	else
		net_exec sw "$BUILD/spoof" "$1" $to "${@:3}"
	fi >"$CASE_DIR/spoof.log" 2>&1 9>&- &
	BLIND+=($!)
}

# They ran until now.
blind_stop() {
	local pid

	for pid in "${BLIND[@]}"; do
		kill "$pid" 2>/dev/null || fail "an attack ended: $(<"$CASE_DIR/spoof.log")"
		wait "$pid" 2>/dev/null
	done
	BLIND=()
}

# With IPv4, unless said otherwise.
ASK_H1=10.1.0.2 ASK_H2=10.2.0.2

# ask_under ATTACK...: the slowest of ASK_COUNT answers under an attack, as blind_start has it, is SLOWEST. None
# is missing, and no connection was reset.
ask_under() {
	local resets answers=$CASE_DIR/answers.json

	resets=$(ask_resets)
	blind_start "$@"
	timeout 100 nsenter --net="/run/netns/${NET_PREFIX}h1" "$BUILD/ask" "$ASK_H2" $ASK_PORT $ASK_LOCAL \
		$ASK_CONTROL $ASK_COUNT >"$answers" 2>"$CASE_DIR/ask.log" 9>&- ||
		fail "$*: not every question has an answer: $(<"$CASE_DIR/ask.log")"
	blind_stop
	ASK_LOCAL=$((ASK_LOCAL + 1))
	expect "$*: connections that were reset" "$(ask_resets)" -eq "$resets"
	SLOWEST=$(jq .slowest_us "$answers")
}

ask_resets() { echo $(($(net_snmp h1 Tcp.EstabResets) + $(net_snmp h2 Tcp.EstabResets))); }

# blind_attacks ATTACK...: each without Sluice, then each with it; then all at once beside a flow that Sluice governs,
# which goes on.
blind_attacks() {
	local attack before i=0 slowest=()

	for attack in "$@"; do
		# shellcheck disable=SC2086
		ask_under $attack
		slowest+=("$SLOWEST")
	done
	daemon_start h1 h2 sw
	for attack in "$@"; do
		before=$(lost)
		# shellcheck disable=SC2086
		ask_under $attack
		echo "# $attack: the slowest answer took $SLOWEST us, ${slowest[i]} us without Sluice"
		expect "$attack: packets dropped for a window" "$(blind_dropped)" -eq 0
		wait_for 20 "$attack: what is sent twice also arrives twice" nothing_lost "$before"
		[[ ! ${VIRTUAL_TIME:-} ]] || expect "$attack: the slowest answer in us, ${slowest[i]} without Sluice" \
			"$SLOWEST" -le $((slowest[i] * 3 / 2 + ASK_FLOOR_US))
		((++i))
	done
	server h2
	bulk_start h1 "$ASK_H2" --cport $ASK_LOCAL
	governed_soon h1
	for attack in "$@"; do
		# shellcheck disable=SC2086
		ASK_PORT=$TRAFFIC_PORT blind_start $attack
	done
	grows "feedback under attack" 20 flow_of h1 .feedbacks
	bulk_unharmed
	blind_stop
	expect "packets dropped for a window" "$(blind_dropped)" -eq 0
	bulk_stop
}

blind_dropped() { echo $(($(stat_of h1 tx_beyond) + $(stat_of h2 tx_beyond))); }

# Windows of 1 and 0 at every quarter of the sequence space, and one that grants all.
attack__blind_acks_stop_no_connection() {
	blind_up
	blind_attacks "ack h1 56 1" "ack h1 56 0" "ack h1 1000 1" "ack h2 56 1" "ack h1 56 65535" "data h1 56"
}

attack__blind_acks_stop_no_connection_of_ipv6() {
	local ASK_H1=fd00:1::2 ASK_H2=fd00:2::2

	blind_up
	blind_attacks "ack h1 56 1" "ack h2 56 0"
}

# An acknowledgement far ahead grants nothing: the flow is held to W.
attack__blind_acks_do_not_free_a_flow() {
	local w i

	need "$BUILD/spoof"
	net_up
	host_config h1 "tcp: {name: ${CC}h1}" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2 --cport $ASK_LOCAL
	governed_soon h1
	grows "windows that are cut" 20 stat_of h1 rx_window_cut
	w=$(flow_of h1 .w_init_bytes)
	wait_for 20 "the socket is held to W" blind_is_held "$w"
	ASK_PORT=$TRAFFIC_PORT blind_start ack h1 2 65535
	for ((i = 0; i < 25; i++)); do
		sleep 0.1
		blind_is_held "$w" || fail "snd_wnd is $(bulk_field snd_wnd) bytes under the attack, W at most $w"
	done
	blind_stop
	bulk_unharmed
	bulk_stop
}

# blind_is_held W: the window that the socket of the bulk flow was granted, rounded up to its unit.
blind_is_held() { (($(bulk_field snd_wnd) <= $1 + 4096)); }

attack__floods_of_syns_slow_nobody_down() {
	blind_up
	blind_attacks "syn closed 2000" "syn h2 2000" "syn h1 2000"
}

attack__resets_and_icmp_errors_end_no_connection() {
	blind_up
	blind_attacks "rst h1 2000" "rst h2 2000" "too-big h1 500 600" "unreachable h1 500" "outer-too-big h1 500 600" \
		"outer-unreachable h1 500" "too-big h2 500 600" "unreachable h2 500"
	expect "the route's MTU" "$(net_in h1 ip route get 10.2.0.2)" has-no "mtu 600"
}

attack__icmp_errors_of_ipv6_end_no_connection() {
	local ASK_H1=fd00:1::2 ASK_H2=fd00:2::2

	blind_up
	blind_attacks "rst h1 2000" "too-big h1 500 1280" "unreachable h1 500" "outer-too-big h1 500 1280" \
		"outer-unreachable h1 500"
}

# Nobody has said that the port of h1 pauses.
attack__pauses_and_junk_stop_nothing() {
	need "$BUILD/pause"
	blind_up
	blind_attacks pfc "junk h1 2000" "junk h2 2000" "bare h1 2000" "bare h2 2000"
	expect "what had no tag" "$(stat_of h1 rx_no_auth)" -ge 100
}

attack__junk_stops_nothing_without_a_key() {
	blind_up
	host_config h1 "auth: none" >"$CASE_DIR/h1.yaml"
	host_config h2 "auth: none" >"$CASE_DIR/h2.yaml"
	blind_attacks "junk h1 2000" "junk h2 2000"
}

# A pod writes the address and ports of another one's connections into its packets, before they begin and while they last.
# The node filters no source addresses.
attack__pod_in_the_name_of_another_stops_no_connection() {
	local FORGED_TO=10.1.0.2 FORGED_FROM=10.244.2.12 dropped

	need "$BUILD/spoof" "$BUILD/ask"
	node_up h2 without-fq
	node_pod h2 pod1 11
	node_pod h2 pod2 12
	net_in h2 sh -c 'cd /proc/sys/net/ipv4/conf && echo 0 >all/rp_filter && echo 0 >to-pod1/rp_filter' || fail "rp_filter of h2"
	node_config h2
	net_exec h1 setsid "$BUILD/ask" serve $ASK_PORT $ASK_CONTROL >"$CASE_DIR/ask-server.log" 2>&1 9>&- &
	SERVERS+=($!)
	wait_for 20 "the server listens on h1" server_listens h1 $ASK_PORT
	daemon_start h1 h2 sw
	forged_pod_connects
	FORGED_TO=fd00:1::2 FORGED_FROM=fd00:244:2::12
	forged_pod_connects
	dropped=$(stat_of h2 tx_spoofed)
	echo "# $dropped packets in the name of another pod were dropped"
	expect "packets that were dropped for another reason" "$(stat_of h2 tx_beyond tx_horizon)" -eq 0
}

# Connections whose first packet is the forging pod's. Each has an answer to each question.
forged_pod_connects() {
	local i kind

	for ((i = 0; i < 10; i++)); do
		for kind in data rst; do
			net_exec pod1 "$BUILD/spoof" $kind $FORGED_FROM $ASK_LOCAL $FORGED_TO $ASK_PORT 100 >"$CASE_DIR/spoof.log" 2>&1 9>&- &
			BLIND+=($!)
		done
		grows "forged packets that are dropped" 20 stat_of h2 tx_spoofed
		timeout 30 nsenter --net="/run/netns/${NET_PREFIX}pod2" "$BUILD/ask" $FORGED_TO $ASK_PORT $ASK_LOCAL $ASK_CONTROL 20 \
			>"$CASE_DIR/answers.json" 2>"$CASE_DIR/ask.log" 9>&- ||
			fail "connection $i of $FORGED_FROM: $(<"$CASE_DIR/ask.log")"
		blind_stop
		ASK_LOCAL=$((ASK_LOCAL + 1))
	done
}
