# SPDX-License-Identifier: GPL-2.0-only
# Feedback that the receiver computes, where nothing goes back that could bring it.

feedback_of_udp() { ctl h1 flows --json | jq "map(select(.protocol == \"udp\" and .feedback == \"window\")) | length"; }

feedback_is_window() { (($(feedback_of_udp) >= $1)); }

# The receiver's daemon sends that of all flows together; without it the senders' PROBEs bring hops as ever.
# Enough that packets of several flows arrive while reports wait for each other (a quarter of the base RTT), also where
# each stream of iperf3 has a thread.
feedback__of_udp_without_replies_comes_from_the_daemon() {
	local address

	net_up
	host_config h1 "hpcc: {telemetry: every}" >"$CASE_DIR/h1.yaml"
	host_config h2 "hpcc: {feedback: window}" >"$CASE_DIR/h2.yaml"
	daemon_start h1 h2 sw
	server h2
	for address in 10.2.0.2 fd00:2::2; do
		bulk_udp_start h1 $address -b 8M -l 1000 -P 8
		wait_for 20 "flows to $address are told W" feedback_is_window 8
		grows "feedback in messages for several flows" 20 stat_of h1 fb_reported
		bulk_udp_stop
		# iperf3 3.16 listens no more once the client of several streams was killed.
		servers_stop
		server h2
	done
	expect "messages are for several flows" "$(($(stat_of h1 fb_reported) / $(stat_of h1 rx_feedback)))" -ge 2
	expect "what the ring had no room for" "$(stat_of h2 fb_ring_full)" -eq 0
	expect "what was refused" "$(stat_of h1 rx_bad_auth rx_no_auth fb_bad_form fb_absurd_window)" -eq 0

	bulk_udp_start h1 10.2.0.2 -b 8M -l 1000 -P 8
	wait_for 20 "flows are told W" feedback_is_window 8
	daemon_kill h2
	wait_for 60 "without a daemon the ring is full" counted h2 0 fb_ring_full
	grows "answers to PROBEs" 20 stat_of h1 rx_probe_reply
	grows "feedback by them" 20 flow_of h1 .feedbacks
	daemon_start h2
	grows "messages of the next daemon" 20 stat_of h1 fb_reported
	bulk_udp_stop
}
