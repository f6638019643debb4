# SPDX-License-Identifier: GPL-2.0-only
# Connections whose segments have a digest (TCP-MD5, TCP-AO), as BGP with a password: nothing of them is changed.

DIGEST_PORT=1790

# digest_start KIND ADDRESS_OF_H1 ADDRESS_OF_H2: a sender at h1, under Reno, and its receiver at h2.
digest_start() {
	net_exec h2 "$BUILD/digest" "$1" serve "$2" $DIGEST_PORT >"$CASE_DIR/digest-h2.log" 2>&1 9>&- &
	DIGEST_SERVER=$!
	wait_for 20 "the receiver listens" server_listens h2 $DIGEST_PORT
	net_exec h1 "$BUILD/digest" "$1" send "$3" $DIGEST_PORT >"$CASE_DIR/digest-h1.log" 2>&1 9>&- &
	DIGEST_SENDER=$!
	wait_for 20 "it is connected" digest_grew 1
}

digest_stop() {
	kill $DIGEST_SENDER
	wait $DIGEST_SENDER
	wait $DIGEST_SERVER
	wait_for 20 "its sockets are closed" digest_closed
}

digest_closed() { [[ ! $(net_in h1 ss -Htn "dport = :$DIGEST_PORT") ]]; }

digest_acked() { net_in h1 ss -tinH "dport = :$DIGEST_PORT" | grep -o 'bytes_acked:[0-9]*' | cut -d: -f2; }
digest_grew() { WAIT_SEEN=$(digest_acked) && ((WAIT_SEEN >= $1)); }
digest_flow() { ctl h1 flows --json | jq -r ".[] | select(.remote_port == $DIGEST_PORT) | $1"; }
digest_governed() { (($(digest_flow "select(.state != \"closed\") | .feedbacks") > 100)); }

# digest_goes_on: it sends as without Sluice (8 MB in some seconds of 100 Mbit/s), and its stacks find no wrong digest.
digest_goes_on() {
	local acked

	acked=$(digest_acked)
	wait_for 20 "8 MB more" digest_grew $((acked + 8000000))
	expect "wrong or missing digests" \
		"$(net_snmp h1 TcpExt.TCPMD5Failure TcpExt.TCPMD5NotFound TcpExt.TCPMD5Unexpected TcpExt.TCPAOBad)" -eq 0
	expect "wrong or missing digests at h2" \
		"$(net_snmp h2 TcpExt.TCPMD5Failure TcpExt.TCPMD5NotFound TcpExt.TCPMD5Unexpected TcpExt.TCPAOBad)" -eq 0
}

# digest_passes KIND: a connection of each family that begins under sluiced, and one that is older.
digest_passes() {
	local kind=$1 ends status

	net_up
	timeout 1 nsenter --net=/run/netns/${NET_PREFIX}h2 "$BUILD/digest" "$kind" serve 10.1.0.2 1 2>"$CASE_DIR/digest.log"
	status=$?
	((status != 3)) || skip "this kernel has no $kind: $(<"$CASE_DIR/digest.log")"
	server h2
	host_config h1 "tcp: {name: ${CC}h1}" >"$CASE_DIR/h1.yaml"
	digest_start "$kind" 10.1.0.2 10.2.0.2
	daemon_start h1 h2 sw
	for ends in "" "10.1.0.2 10.2.0.2" "fd00:1::2 fd00:2::2"; do
		# shellcheck disable=SC2086 # two addresses
		[[ ! $ends ]] || digest_start "$kind" $ends
		wait_for 20 "feedback of ${ends:-a connection older than sluiced}" digest_governed
		digest_goes_on
		ctl h1 why ":$DIGEST_PORT" >"$CASE_DIR/why.txt"
		expect "why" "$(tr -s ' \n' ' ' <"$CASE_DIR/why.txt")" has "TCP-MD5 or TCP-AO"
		ctl_json '.window != ""' why ":$DIGEST_PORT" --json
		digest_stop
	done
	counts h1 2 flow_digest
	# Another connection beside is held to W as ever.
	bulk_start h1 10.2.0.2 -C reno
	governed_soon h1
	grows "windows cut" 20 stat_of h1 rx_window_cut
	bulk_stop
}

digest__of_tcp_md5_is_left_alone() {
	digest_passes md5
}

digest__of_tcp_ao_is_left_alone() {
	digest_passes ao
}
