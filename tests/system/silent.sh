# SPDX-License-Identifier: GPL-2.0-only
# The feedback of single flows stops, while their host still answers for others: they run as without Sluice.

SILENT_FLOWS=8

# silent_drop: companions to the port of the 8 flows, and nothing else, are lost at sw.
silent_drop() {
	net_in sw nft -f - <<-END || skip "no nftables here"
		table inet silent {
			chain forward {
				type filter hook forward priority 0;
				tcp doff 0 tcp dport 5201 drop
			}
		}
	END
}

silent_pass() { net_in sw nft delete table inet silent; }

# silent_flows CONDITION: how many of the flows to that port meet it.
silent_flows() { ctl h1 flows --json | jq "[.[] | select(.remote_port == 5201 and .tx_bytes > 100000 and ($1))] | length"; }
silent_are() { WAIT_SEEN="of $(silent_flows true) $(silent_flows "$2")" && [[ $WAIT_SEEN == "of $1 $1" ]]; }

silent_ninth() {
	[[ $(ctl h1 flows --json | jq '[.[] | select(.remote_port == 5202 and .telemetry and .feedback_age_ns < 100000000)] | length') -ge 1 ]]
}

# silent_sent: segments sent, and those sent again, by the sockets of these flows.
silent_sent() {
	net_in h1 ss -tinH "dport = :5201" | tr ' ' '\n' |
		awk -F '[:/]' '$1 == "data_segs_out" { out += $2 } $1 == "retrans" { again += $3 } END { print out, again + 0 }'
}

# silent_again: of 10,000 segments, those sent again in some seconds.
silent_again() {
	local out again out_before again_before

	read -r out_before again_before < <(silent_sent)
	sleep 4
	read -r out again < <(silent_sent)
	((out - out_before >= 10000)) || fail "only $((out - out_before)) segments were sent"
	echo $(((again - again_before) * 10000 / (out - out_before)))
}

# For a second the peer may be unknown too: the answer to the ninth flow, or to a PROBE, is lost in the full queue.
silent_is_told() {
	WAIT_SEEN=$(ctl h1 why ":$(silent_port)" | tr -s ' \n' ' ')
	[[ $WAIT_SEEN == *"its feedback has stopped, though its peer answers other flows"* ]]
}

# silent_case OPTION...: eight flows by iperf3 with these options, and a ninth whose companions pass. It is slow: the queue is the
# eight's, beside which a governed flow keeps a third of the port.
silent_case() {
	local again plain ninth cut

	need nft
	net_up
	# With this queue eight windows of W_init do not fit.
	net_in sw tc qdisc replace dev p2 root handle 1: tbf rate "$NET_RATE" burst "$NET_BURST" limit 100000 || fail "no queue"
	host_config h1 "tcp: {name: ${CC}h1}" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h2
	server h2 5202
	silent_drop
	net_exec h1 iperf3 -t 1000 -c 10.2.0.2 -p 5202 -b 5M -C ${CC}h1 >"$CASE_DIR/ninth.log" 2>&1 9>&- &
	ninth=$!
	bulk_start h1 10.2.0.2 -P $SILENT_FLOWS "$@"
	wait_for 20 "the eight are plain" silent_are $SILENT_FLOWS ".telemetry == false"
	wait_for 20 "the ninth is governed" silent_ninth
	grows "their packets" 20 stat_of h1 tx_silent
	cut=$(stat_of h1 rx_window_cut)
	again=$(silent_again)
	expect "windows cut meanwhile" "$(stat_of h1 rx_window_cut)" -eq "$cut"
	wait_for 5 "why says that the feedback of one has stopped" silent_is_told
	ctl h1 bypass on >/dev/null
	sleep 1
	plain=$(silent_again)
	ctl h1 bypass off >/dev/null
	echo "of 10,000 segments $again, with bypass $plain" >"$CASE_DIR/again.txt"
	expect "segments sent again, of 10,000, and with bypass $plain" "$again" -le $((plain * 5 / 4 + 50))
	silent_pass
	wait_for 20 "the eight are governed again" silent_are $SILENT_FLOWS ".telemetry == true and .feedback_age_ns < 1000000000"
	kill $ninth
	wait $ninth
	bulk_stop
}

silent_port() { ctl h1 flows --json | jq "[.[] | select(.remote_port == 5201 and .telemetry == false and .tx_bytes > 100000)][0].local_port"; }

silent__flows_of_our_sockets_run_as_without_sluice() {
	silent_case -C ${CC}h1
}

silent__flows_of_other_stacks_run_as_without_sluice() {
	silent_case -C reno
}
