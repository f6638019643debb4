# SPDX-License-Identifier: GPL-2.0-only
# Paths without a port that stamps: delay decides, and telemetry as soon as there is some.

# Four connections, so that together they are more than the path holds: W_init is 25,000 bytes each.
bare_starts() {
	net_up
	daemon_start h1 h2
	server h2
	bulk_start h1 "${1:-10.2.0.2}" -P 4
}

# bare_all NODE FILTER: so are all flows of NODE that have sent more than a handshake.
bare_all() {
	[[ $(ctl "$1" flows --json | jq "[.[] | select(.tx_bytes > 100000)] | length > 0 and all($2)") == true ]]
}

bare__of_a_path_that_stamps_nothing_and_then_does() {
	local address ready

	for address in 10.2.0.2 fd00:2::2; do
		bare_starts $address
		wait_for 20 "all flows to $address go by delay" bare_all h1 '.control == "delay"'
		grows "delays that changed W" 20 stat_of h1 fb_delay
		wait_for 20 "W is less than its start" bare_all h1 '.w_bytes < .w_init_bytes and .delay_ns > 0'
		expect "flows in the list as text" "$(ctl h1 flows)" has "governed, by delay:"
		expect "the reason" "$(ctl h1 why ":$(bulk_port)")" has "No port of its path stamps telemetry, so delay decides"
		bulk_unharmed

		daemon_start sw
		ready=$(uptime_ms)
		wait_for 20 "all flows go by telemetry" bare_all h1 '.control == "hpcc" and (.hops | length) == 1'
		expect "ms after the switch stamps" $(($(uptime_ms) - ready)) -lt 2000
		grows "feedback that changed W" 20 stat_of h1 fb_fast fb_full
		# With a clsact qdisc that comes or goes a port's queue is emptied: see crash.sh.
		bulk_goes_on

		daemon_stop sw
		wait_for 20 "all flows go by delay again" bare_all h1 '.control == "delay"'
		bulk_goes_on
		bulk_stop
		servers_stop
		daemon_stop h1 h2
		net_down
	done
}

# And stopped while it decides.
bare__without_delay_keeps_the_first_window() {
	net_up
	host_config h1 "hpcc: {delay: false}" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2
	server h2
	bulk_start h1 10.2.0.2 -P 4
	grows "feedback without a hop" 20 stat_of h1 fb_skipped
	sleep 1
	bulk_goes_on
	expect "delays that decided" "$(stat_of h1 fb_delay)" -eq 0
	# One that had nothing under way for a moment begins with its share of W_init again.
	wait_for 20 "W is at its start" bare_all h1 \
		'.control == "hpcc" and .w_bytes == .w_init_bytes and .state == "no feedback yet"'
	why_soon start

	host_config h1 >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "reloaded"
	wait_for 20 "W is less than its start" bare_all h1 '.control == "delay" and .w_bytes < .w_init_bytes'
	host_config h1 "hpcc: {delay: false}" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "reloaded"
	wait_for 20 "W is at its start" bare_all h1 '.control == "hpcc" and .w_bytes == .w_init_bytes'
	bulk_unharmed
	bulk_stop
}

# Nothing replies to it: the round trip of its companions is the only measurement. The base RTT is 2 ms.
bare__of_udp_without_replies() {
	local asked began

	net_up
	daemon_start h1 h2
	server h2
	bulk_udp_start h1 10.2.0.2 -b 200M -l 1200
	wait_for 20 "the flow of UDP goes by delay" bare_all h1 '.control == "delay" and .feedbacks > 20'
	began=$(uptime_ms) asked=$(stat_of h1 probe_sent)
	grows "delays that changed R" 20 stat_of h1 fb_delay
	sleep 1
	asked=$(($(stat_of h1 probe_sent) - asked))
	expect "probes in $(($(uptime_ms) - began)) ms" $asked -le $((($(uptime_ms) - began) / 2 + 1))
	daemon_start sw
	wait_for 20 "it goes by telemetry" bare_all h1 '.control == "hpcc" and (.hops | length) == 1'
	bulk_udp_stop
}
