# SPDX-License-Identifier: GPL-2.0-only
# Traffic between the hosts, by iperf3, and what its sockets say.

TRAFFIC_PORT=5201
SERVERS=()

# The rest of a case is on one CPU: two may hand on packets of a flow in another order.
on_one_cpu() {
	local cpus

	cpus=$(taskset -pc $BASHPID)
	cpus=${cpus##* }
	taskset -pc "${cpus%%[,-]*}" $BASHPID >/dev/null || fail "taskset"
}

# server NODE [PORT]: an iperf3 server that listens. That of 3.18 aborts now and then when its client ends.
server() {
	local ns=$1 port=${2:-$TRAFFIC_PORT}

	# One that was killed may listen for a moment more.
	wait_for 20 "the port of iperf3 is free on $ns" port_is_free "$ns" "$port"
	# shellcheck disable=SC2016
	net_exec "$ns" setsid bash -c 'while iperf3 -s -p "$0"; (($? == 134)); do :; done' "$port" \
		>"$CASE_DIR/iperf3-server-$port.txt" 2>&1 9>&- &
	SERVERS+=($!)
	wait_for 20 "iperf3 listens on $ns" server_listens "$ns" "$port"
}

# A listening socket, too, keeps a congestion control. Each server leads a group of processes.
servers_stop() {
	kill -KILL -- "${SERVERS[@]/#/-}" 2>/dev/null
	wait "${SERVERS[@]}" 2>/dev/null
	SERVERS=()
}

port_is_free() { ! server_listens "$@"; }

server_listens() { [[ $(net_in "$1" ss -Htln "sport = :$2") ]]; }

# transfer NODE ADDRESS OPTION...: one run of iperf3 that has to end well; its report is TRANSFER. A server is busy for a
# while after its client has ended.
transfer() {
	local ns=$1 address=$2 error i

	shift 2
	TRANSFER=$CASE_DIR/transfer.json
	for ((i = 0; i < 20; i++)); do
		timeout 100 nsenter --net="/run/netns/$NET_PREFIX$ns" iperf3 -J -c "$address" "$@" >"$TRANSFER" \
			2>>"$CASE_DIR/iperf3.log" 9>&- && return
		error=$(jq -r '.error // empty' "$TRANSFER" 2>&1)
		[[ $error == *"server is busy"* ]] || break
		sleep 1
	done
	fail "iperf3 from $ns to $address failed: $error"
}

# bulk_start NODE ADDRESS OPTION...: one that goes on until bulk_stop.
bulk_start() {
	local ns=$1 address=$2

	shift 2
	BULK_LOST=$(lost)
	net_exec "$ns" iperf3 -J -t 1000 -c "$address" "$@" >"$CASE_DIR/bulk.json" 2>>"$CASE_DIR/iperf3.log" 9>&- &
	BULK=$! BULK_NODE=$ns BULK_ADDRESS=$address
	[[ $address != *:* ]] || BULK_ADDRESS=[$address]
	wait_for 30 "the bulk flow moves" bulk_moves
}

# bulk_udp_start NODE ADDRESS OPTION...: the same by UDP. Its losses do not matter.
bulk_udp_start() {
	local ns=$1 address=$2

	shift 2
	net_exec "$ns" iperf3 -J -u -t 1000 -c "$address" "$@" >"$CASE_DIR/bulk.json" 2>>"$CASE_DIR/iperf3.log" 9>&- &
	BULK=$! BULK_NODE=$ns BULK_ADDRESS=$address
	[[ $address != *:* ]] || BULK_ADDRESS=[$address]
	grows "datagrams of the bulk flow" 30 net_snmp "$ns" Udp.OutDatagrams Udp6OutDatagrams
}

bulk_udp_stop() {
	kill -0 "$BULK" 2>/dev/null || fail "the bulk flow ended: $(jq -r '.error // empty' "$CASE_DIR/bulk.json")"
	kill -KILL "$BULK"
	wait "$BULK" 2>/dev/null
}

# Payload bytes that the other end acknowledged, of the connection with most of them.
bulk_acked() {
	bulk_field bytes_acked
}

bulk_moves() { (($(bulk_acked) > 100000)); }

# A field of the bulk connection, by ss: bulk_field cwnd.
bulk_field() {
	net_in "$BULK_NODE" ss -tinH "dst $BULK_ADDRESS" | awk -v field="$1:" '
		{ bytes = 0; value = ""
		  for (i = 1; i <= NF; i++) {
			if (index($i, "bytes_acked:") == 1) bytes = substr($i, 13)
			if (index($i, field) == 1) value = substr($i, length(field) + 1)
		  }
		  if (bytes + 0 > most) { most = bytes + 0; best = value } }
		END { print best + 0 }'
}

# It is alive and moves now.
bulk_goes_on() {
	kill -0 "$BULK" 2>/dev/null || fail "the bulk flow ended: $(jq -r '.error // empty' "$CASE_DIR/bulk.json")"
	grows "bytes that the bulk flow has got through" "${1:-20}" bulk_acked
}

# It was not reset, and since it started no packet was lost, of any connection.
bulk_unharmed() {
	bulk_goes_on
	wait_for 20 "what is sent twice since the bulk flow began also arrives twice" nothing_lost "$BULK_LOST"
}

bulk_gone() { ! kill -0 "$BULK" 2>/dev/null; }

# bulk_stop: it was alive until now, and complains of nothing but being ended.
bulk_stop() {
	kill -0 "$BULK" 2>/dev/null || fail "the bulk flow ended: $(jq -r '.error // empty' "$CASE_DIR/bulk.json")"
	kill -TERM "$BULK"
	wait_for 20 "iperf3 ends" bulk_gone
	wait "$BULK"
	expect "what iperf3 complains of" "$(jq -r '.error // empty' "$CASE_DIR/bulk.json")" has "terminated"
	wait_for 20 "its sockets are closed" sockets_closed
}

# Nothing that is sent is under way, either.
sockets_closed() {
	WAIT_SEEN=$(net_in "$BULK_NODE" ss -tinoH state connected exclude time-wait exclude fin-wait-2 dst "$BULK_ADDRESS" | tr "\n" ";")
	[[ -z $WAIT_SEEN ]]
}

# Segments that TCP sent again and whose first copy had not arrived. Reordering, or a lower MTU, repeats what has.
lost() { echo $(($(lost_from h1 h2) + $(lost_from h2 h1))); }

# The receiver counts the packets that it had already, and reports them (DSACK), but not always: a busy one may send an
# ACK without it. The sender counts the segments of which it was told. Neither is more than there were.
lost_from() {
	local had told

	had=$(net_snmp "$2" TcpExt.TCPDSACKOldSent TcpExt.TCPDSACKOfoSent) told=$(net_snmp "$1" TcpExt.TCPDSACKRecvSegs)
	echo $(($(net_snmp "$1" Tcp.RetransSegs) - (had > told ? had : told)))
}

nothing_lost() { WAIT_SEEN="$(lost) segments were lost" && ((${WAIT_SEEN%% *} <= ${1:-0})); }

# governed NODE: its largest flow has had feedback that changed its window. That is so only where the flow is held at a port
# which stamps: elsewhere its window stays W_init, and fed is what holds.
governed() { flow_meets "$1" '.telemetry and .feedbacks > 2 and .w_bytes < .w_init_bytes'; }

governed_soon() { wait_for "${2:-20}" "the flow of $1 is governed" governed "$1"; }

# fed NODE: feedback decides for its largest flow, wherever that is held.
fed() { flow_meets "$1" '.state == "governed" and .telemetry and .feedbacks > 2 and .hops[0].tx_bytes > 0 and .w_bytes <= .w_init_bytes'; }

fed_soon() { wait_for 20 "feedback decides for the flow of $1" fed "$1"; }

# flow_meets NODE CONDITION: of its largest flow, which is shown where the condition does not come.
flow_meets() {
	WAIT_SEEN=$(flow_of "$1" '"state \(.state), \(.feedbacks) feedbacks, \(.hops | length) hops, U \(.u), W \(.w_bytes) of \(.w_init_bytes), sent \(.tx_bytes)"')
	[[ $(flow_of "$1" "$2") == true ]]
}
