# SPDX-License-Identifier: GPL-2.0-only
# Companions that somebody else sends, at a port of the switch and made of true ones (tests/system/tools/beside.c): what is
# answered has a bound, and a governed flow goes on.

FORGED_COUNT=2000

forged_up() {
	need "$BUILD/beside"
	net_up
	host_config h1 "hpcc: {telemetry: companion}" "$@" >"$CASE_DIR/h1.yaml"
	host_config h2 "hpcc: {telemetry: companion}" "$@" >"$CASE_DIR/h2.yaml"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	grows "answers" 20 stat_of h1 rx_probe_reply
}

# forged KIND PORT [COUNT]: to h2 by p2 companions are sent, to h1 by p1 their replies.
forged() {
	net_in sw "$BUILD/beside" "$1" "$2" "${3:-$FORGED_COUNT}" 2>"$CASE_DIR/beside.log" 9>&- || fail "$1 at $2: $(<"$CASE_DIR/beside.log")"
}

forged_flows() { echo $(($(status_of h1 .flows) + $(status_of h2 .flows))); }

# With a key each question is answered once, whoever sends it again, and nobody else has one.
forged__companions_are_refused_where_there_is_a_key() {
	local flows line kind port host counter before

	forged_up
	flows=$(forged_flows)
	while read -r kind port host counter; do
		before=$(stat_of "$host" "$counter")
		forged "$kind" "$port"
		wait_for 20 "$kind at $port: $counter of $host" counted "$host" $((before + FORGED_COUNT / 2)) "$counter"
		before=$(stat_of h2 rx_probe)
		expect "$kind at $port: answers of h2, by the questions of h1" "$before" -le "$(stat_of h1 companion_sent probe_sent)"
		grows "feedback after $kind at $port" 20 flow_of h1 .feedbacks
	done <<-END
		replay p1 h1 rx_replayed
		replay p2 h2 rx_probe_old
		flip p1 h1 rx_bad_auth
		flip p2 h2 rx_bad_auth
		cut p2 h2 rx_other
		answer p2 h2 rx_bad_auth
		ports p2 h2 rx_bad_auth
		stranger p2 h2 rx_bad_auth
		loop p1 h1 rx_probe_old
		loop p2 h2 rx_probe_reply
	END
	# Of the companions that come back to their sender one is answered.
	expect "flows" "$(forged_flows)" -le $((flows + 1))
	expect "peers that fell silent" "$(stat_of h1 peer_silent)" -eq 0
	bulk_unharmed
	bulk_stop
}

# Without a key whoever can forge an address of `peers` is answered: a host that was heard as often as it asks (100,000 times a
# second), all that were not heard 1,000 times a second, after the first 1,000. Nobody gets more than was sent, and the flow
# goes on.
forged__companions_of_strangers_are_answered_within_bounds() {
	local kind before began asked answers limited flows

	forged_up "auth: none"
	for kind in "replay p2" "ports p2" "stranger p2 20000" "cut p2" "loop p1" "loop p2"; do
		# Questions are counted before answers, and after them at the end: no answer without its question.
		asked=$(stat_of h1 companion_sent probe_sent) before=$(stat_of h2 rx_probe) limited=$(stat_of h2 rx_probe_limited)
		began=$(uptime_ms) flows=$(stat_of h2 flow_made)
		# shellcheck disable=SC2086
		forged $kind
		grows "feedback after $kind" 20 flow_of h1 .feedbacks
		answers=$(($(stat_of h2 rx_probe) - before)) asked=$(($(stat_of h1 companion_sent probe_sent) - asked))
		echo "# $kind: $answers answers of h2, $asked questions of h1, in $(($(uptime_ms) - began)) ms"
		case $kind in
		stranger*)
			expect "answers to strangers" $((answers - asked)) -le $((1000 + $(uptime_ms) - began))
			expect "flows made for $answers answers" $(($(stat_of h2 flow_made) - flows)) -le "$answers"
			expect "strangers that got none" $(($(stat_of h2 rx_probe_limited) - limited)) -ge 1
			;;
		cut* | loop*) expect "$kind: answers, of $asked questions of h1" $((answers - asked)) -le 0 ;;
		*) expect "$kind: answers, beside $asked to h1" $((answers - asked)) -le $FORGED_COUNT ;;
		esac
	done
	expect "peers that fell silent" "$(stat_of h1 peer_silent)" -eq 0
	bulk_unharmed
	bulk_stop
}
