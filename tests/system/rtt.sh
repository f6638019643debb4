# SPDX-License-Identifier: GPL-2.0-only
# T as it is measured: in force where base_rtt is auto, beside what is written elsewhere.

RTT_AUTO="peers: [{prefix: 10.0.0.0/8, base_rtt: auto}, {prefix: 'fd00::/16', base_rtt: 2ms}]"

# rtt_of FIELD: of the prefix of IPv4 at h1, in us.
rtt_of() { status_of h1 ".peers[] | select(.prefix == \"10.0.0.0/8\") | .$1 / 1000 | floor"; }

rtt_between() {
	local us

	us=$(rtt_of base_rtt_ns)
	((us >= $1 && us <= $2))
}

# rtt_soon WHAT LEAST MOST: T comes to be one of these us. The bound is 21 s.
rtt_soon() { wait_for 60 "T of $1 is one of $2 to $3 us" rtt_between "$2" "$3"; }

# Delays packets to h1 by DELAY, in a queue of their own.
rtt_delay() {
	net_in sw tc qdisc replace dev p1 parent 1:1 handle 10: netem delay "$1" limit 10000 ||
		skip "no netem here"
}

flows_have_t() { [[ $(ctl h1 flows --json | jq "[.[] | select(.tx_bytes > 100000) | .base_rtt_ns / 1000 | floor] |
	length > 0 and all(. >= $1 and . <= $2)") == true ]]; }

rtt__auto_is_measured_and_outlives_the_daemon() {
	local t

	net_up
	host_config h1 "$RTT_AUTO" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	expect "the prefix before there is traffic" "$(ctl h1 status)" has "base_rtt auto: not measured yet"
	server h2
	bulk_start h1 10.2.0.2 -P 2
	# Four packets of 100 Mbit/s are half a millisecond.
	rtt_soon "a short path" 484 5000
	expect_said h1 "peers: 10.0.0.0/8: base_rtt auto: "
	expect "the prefix" "$(ctl h1 status)" has "as measured (auto)"
	t=$(rtt_of base_rtt_ns)
	wait_for 20 "flows that run have it" flows_have_t 400 5000
	expect "what was measured" "$(rtt_of measured_rtt_ns)" -ge 484
	expect "a prefix with one that is written" "$(ctl h1 status)" has "base_rtt 2ms"
	bulk_goes_on

	daemon_kill h1
	daemon_start h1
	expect "T at once after a crash" "$(rtt_of base_rtt_ns)" -gt 0
	expect "T at once after a crash" "$(rtt_of base_rtt_ns)" -le $((2 * t))
	daemon_hup h1 "reloaded"
	expect "T at once after a reload" "$(rtt_of base_rtt_ns)" -gt 0
	bulk_goes_on
	bulk_stop
	daemons_stop
}

rtt__auto_follows_a_route_that_becomes_longer_and_shorter() {
	net_up
	host_config h1 "$RTT_AUTO" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h2
	rtt_delay 4ms
	bulk_start h1 10.2.0.2 -P 8
	rtt_soon "the first way" 4300 7000
	rtt_delay 12ms
	rtt_soon "a longer one" 12300 16000
	expect_said h1 "as measured: none was as short for a while"
	wait_for 20 "flows that run have it" flows_have_t 12300 16000
	rtt_delay 4ms
	rtt_soon "the first way again" 4300 7000
	expect_said h1 "as measured: a round trip was shorter"
	wait_for 20 "flows that run have it" flows_have_t 4300 7000
	expect "changes" "$(status_of h1 '.peers[0].measured_rtt_changes, .peers[1].measured_rtt_changes' | sort -n | tail -n 1)" -ge 2
	bulk_goes_on
	bulk_stop
	daemons_stop
}

rtt__configured_one_that_is_wrong_is_reported() {
	net_up
	host_config h1 "peers: [{prefix: 10.0.0.0/8, base_rtt: 40ms}]" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	wait_for 20 "it is measured" rtt_measured
	expect "T is what is written" "$(rtt_of base_rtt_ns)" -eq 40000
	expect "the prefix" "$(ctl h1 status)" has ": more than a quarter off"
	expect "why" "$(ctl h1 why ":$(flow_of h1 .local_port)")" has "base_rtt is set to 40.0 ms but measures "
	expect "why as JSON" "$(ctl h1 why ":$(flow_of h1 .local_port)" --json | jq -r '[.base_rtt_auto, (.measured_rtt_ns > 0)] | map(tostring) | join(" ")')" = "false true"
	expect "check" "$(ctl h1 check "$CASE_DIR/h1.yaml")" has "the file has 40000 us and "
	host_config h1 "$RTT_AUTO" >"$CASE_DIR/h1.yaml"
	expect "check of auto" "$(ctl h1 check "$CASE_DIR/h1.yaml")" has-no "the file has "
	daemon_hup h1 "reloaded"
	expect "T as it was measured, at once" "$(rtt_of base_rtt_ns)" -lt 20000
	bulk_goes_on
	bulk_stop
	daemons_stop
}

rtt_measured() { (($(rtt_of measured_rtt_ns) > 0)); }

# Nobody at the other end who answers.
rtt__auto_of_hosts_that_never_answer_is_reported() {
	net_up
	host_config h1 "$RTT_AUTO" >"$CASE_DIR/h1.yaml"
	daemon_start h1 sw
	server h2
	bulk_start h1 10.2.0.2
	wait_for 60 "that is said" said h1 "and no round trip could be measured"
	expect "the prefix" "$(ctl h1 status)" has "base_rtt auto: not measured yet"
	expect "T" "$(rtt_of base_rtt_ns)" -eq 0
	bulk_goes_on
	bulk_stop
	daemons_stop
}

# W of 50 ms at 100 Mbit/s are 412 packets, of which a fraction of a millisecond needs few.
rtt__a_t_far_beyond_the_round_trips_leaves_the_window_small() {
	net_up
	host_config h1 "peers: [{prefix: 10.0.0.0/8, base_rtt: 50ms}, {prefix: 'fd00::/16', base_rtt: 2ms}]" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	grows "feedback" 20 flow_of h1 .feedbacks
	expect "W" "$(flow_of h1 .w_bytes)" -ge 300000
	wait_for 60 "the window is that of its round trips" control_cwnd_at_most 60
	expect "W" "$(flow_of h1 .w_bytes)" -ge 300000
	bulk_goes_on
	bulk_stop
	daemons_stop
}
