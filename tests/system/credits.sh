# SPDX-License-Identifier: GPL-2.0-only
# HierCC: VOQs at the sender, credit of the receiver's daemon.

# credits_config NODE [LINE]...: with HierCC.
credits_config() {
	local ns=$1 hiercc="hiercc: {enabled: true}"

	shift
	[[ " $* " == *" hiercc:"* ]] && hiercc=
	host_config "$ns" ${hiercc:+"$hiercc"} "$@" >"$CASE_DIR/$ns.yaml"
}

# credits_up [LINE]...: both hosts with HierCC, and a server on h2.
credits_up() {
	net_up
	credits_config h1 "$@"
	credits_config h2 "$@"
	daemon_start h1 h2 sw
	server h2
}

# voq_of NODE DESTINATION FIELD, credit_of NODE DESTINATION FIELD: a jq expression.
voq_of() { ctl "$1" voqs --json | jq -r "map(select(.destination == \"$2\"))[0] | $3"; }

credit_of() { ctl "$1" credits --json | jq -r "map(select(.destination == \"$2\"))[0] | $3"; }

# voq_soon NODE DESTINATION FIELD VALUE: the same for a VOQ.
voq_soon() { wait_for 20 "$3 of the VOQ from $1 to $2 is $4" voq_is "$@"; }

voq_is() { [[ $(voq_of "$1" "$2" "$3") == "$4" ]]; }

credit_soon() { wait_for 20 "$3 of the VOQ to $2 at $1 is $4" credit_is "$@"; }

credit_is() { [[ $(credit_of "$1" "$2" "$3") == "$4" ]]; }

credits__voqs_come_up_at_both_sides() {
	local address late

	credits_up
	expect "h1's rack" "$(status_of h1 .rack)" = 10.1.0.2
	for address in 10.2.0.2 fd00:2::2; do
		bulk_start h1 $address -P 3
		grows "S to $address" 20 voq_of h1 $address .sent_bytes
		grows "what was granted to $address" 20 voq_of h1 $address .granted_bytes
		grows "S at the receiver" 20 credit_of h2 $address .sent_bytes
		grows "what it grants" 20 credit_of h2 $address .granted_bytes
		voq_soon h1 $address '.flows >= 3' true
		credit_soon h2 $address '.flows >= 3' true
		expect "the rack of the VOQ" "$(credit_of h2 $address .rack)" = 10.1.0.2
		expect "its port" "$(credit_of h2 $address .interface)" = eth0
		expect "its state" "$(voq_of h1 $address '.state | . == "covered" or . == "waits"')" = true
		bulk_goes_on
		bulk_stop
		credit_soon h2 $address .active false
		expect "what is due when nothing comes any more" "$(credit_of h2 $address .due_bytes)" -eq 0
		expect "what was not granted" \
			"$(voq_of h1 $address '.queue_bytes')" -eq 0
	done
	expect "claims that cannot be" "$(ctl h2 credits --json | jq 'map(.claims_jumped) | add')" -eq 0
	# Without fq nothing is held.
	[[ ! $NET_FQ ]] || expect "claims beyond C0" "$(ctl h2 credits --json | jq 'map(.claims_cut) | add')" -eq 0
	expect "what h2 says" "$(<"$CASE_DIR/h2.log")" has-no "rack 10.1.0.2"
	# All except segments that a busy machine delayed for 8 ms after the first one (limit 77).
	late=$(($(voq_of h1 10.2.0.2 .sent_bytes) - $(credit_of h2 10.2.0.2 .arrived_bytes)))
	expect "S that did not arrive" $late -ge 0
	expect "and was not late either" $late -le $(($(stat_of h2 rx_replayed) * 1514))
	expect "credit that was refused" "$(stat_of h1 credit_ahead credit_no_voq)" -eq 0
	# rx_replayed also counts echoes that came late. Each message is of one VOQ.
	expect "credit neither taken nor old" "$(ctl h1 stats --json | jq '.rx_credit + .rx_ride - .credit_taken - .credit_old')" -eq 0
	expect "packets without credit" "$(stat_of h1 voq_alone voq_full)" -eq 0
	expect "as text" "$(ctl h1 voqs)" has 10.2.0.2
	expect "as text" "$(ctl h2 credits)" has 10.1.0.2
	nothing_lost || fail "packets were lost"
}

# Data leaves as it was made, and companions carry S and F: credit is granted for these, and no claim is refused.
credits__voqs_ride_on_companions() {
	local address

	credits_up "hpcc: {telemetry: companion}"
	for address in 10.2.0.2 fd00:2::2; do
		bulk_start h1 $address -P 3
		grows "S to $address" 20 voq_of h1 $address .sent_bytes
		grows "what was granted to $address" 20 voq_of h1 $address .granted_bytes
		grows "S at the receiver" 20 credit_of h2 $address .sent_bytes
		voq_soon h1 $address '.flows >= 3' true
		credit_soon h2 $address '.flows >= 3' true
		expect "its state" "$(voq_of h1 $address '.state | . == "covered" or . == "waits"')" = true
		bulk_goes_on
		bulk_stop
		credit_soon h2 $address .active false
		expect "what is due when nothing comes any more" "$(credit_of h2 $address .due_bytes)" -eq 0
		expect "what was not told, of C0" "$(voq_of h1 $address '(.sent_bytes - .granted_bytes) * 8 <= .c0_bytes')" = true
	done
	transfer h1 10.2.0.2 -u -b 10M -t 1
	expect "S of datagrams, too" "$(voq_of h1 10.2.0.2 '.sent_bytes > 0')" = true
	expect "data with a header of ours" "$(stat_of h1 tx_data)" -eq 0
	expect "claims that cannot be" "$(ctl h2 credits --json | jq 'map(.claims_jumped) | add')" -eq 0
	[[ ! $NET_FQ ]] || expect "claims beyond C0" "$(ctl h2 credits --json | jq 'map(.claims_cut) | add')" -eq 0
	expect "what h2 says" "$(<"$CASE_DIR/h2.log")" has-no "rack 10.1.0.2"
	expect "credit that was refused" "$(stat_of h1 credit_ahead credit_no_voq)" -eq 0
	expect "packets without credit" "$(stat_of h1 voq_alone voq_full)" -eq 0
	nothing_lost || fail "packets were lost"
}

# The same with companions, which keep reporting S while no daemon grants: the next daemon continues from there.
credits__daemon_is_killed_beside_companions() {
	local before

	credits_up "hpcc: {telemetry: companion}"
	bulk_start h1 10.2.0.2
	governed_soon h1
	grows "credit" 20 stat_of h1 credit_taken
	daemon_kill h2
	voq_soon h1 10.2.0.2 .state alone
	bulk_goes_on
	before=$(stat_of h1 credit_taken)
	daemon_start h2
	counts h1 "$before" credit_taken
	wait_for 20 "credit covers it again" voq_is_not h1 10.2.0.2 .state alone
	grows "what the next one grants" 20 credit_of h2 10.2.0.2 .granted_bytes
	expect "claims that cannot be" "$(credit_of h2 10.2.0.2 '.claims_jumped')" -eq 0
	expect "credit that was refused" "$(stat_of h1 credit_ahead)" -eq 0
	bulk_goes_on
	bulk_stop
}

# The receiver's daemon is killed: traffic goes on by HPCC alone; the next daemon grants again.
credits__daemon_is_killed_and_comes_back() {
	local before

	credits_up
	bulk_start h1 10.2.0.2
	governed_soon h1
	grows "credit" 20 stat_of h1 credit_taken
	daemon_kill h2
	voq_soon h1 10.2.0.2 .state alone
	bulk_goes_on
	grows "feedback" 20 flow_of h1 .feedbacks
	before=$(stat_of h1 credit_taken)
	daemon_start h2
	counts h1 "$before" credit_taken
	wait_for 20 "credit covers it again" voq_is_not h1 10.2.0.2 .state alone
	grows "what the next one grants" 20 credit_of h2 10.2.0.2 .granted_bytes
	expect "claims that cannot be" "$(credit_of h2 10.2.0.2 '.claims_jumped')" -eq 0
	expect "credit that was refused" "$(stat_of h1 credit_ahead)" -eq 0
	bulk_goes_on
	bulk_stop
}

voq_is_not() { ! voq_is "$@"; }

# Off, on, and with another rack's name, while a flow runs.
credits__follow_a_reload() {
	credits_up
	bulk_start h1 10.2.0.2
	grows "credit" 20 stat_of h1 credit_taken
	host_config h2 >"$CASE_DIR/h2.yaml"
	daemon_hup h2 reloaded
	voq_soon h1 10.2.0.2 .state alone
	expect "what h2 grants" "$(ctl h2 credits)" has "no credits"
	credits_config h2
	daemon_hup h2 reloaded
	wait_for 20 "credit covers it again" voq_is_not h1 10.2.0.2 .state alone
	credits_config h1 "hiercc: {enabled: true, id: 7, c0: 50KB}"
	daemon_hup h1 reloaded
	expect "h1's rack" "$(status_of h1 .rack)" = 0.0.0.7
	wait_for 20 "credit for the other name" credits_known_as 0.0.0.7
	expect "C0" "$(voq_of h1 10.2.0.2 .c0_bytes)" -eq 50000
	host_config h1 >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	expect "h1's rack" "$(status_of h1 .rack)" = null
	flow_soon h1 "HierCC of the flow" .hiercc false
	bulk_unharmed
	bulk_stop
}

credits_known_as() { [[ $(ctl h2 credits --json | jq "map(select(.rack == \"$1\" and .active)) | length") == 1 ]]; }

# HPCC off for a prefix: W and R are those of HierCC.
credits__alone_without_hpcc() {
	credits_up "hpcc: {enabled: false}"
	bulk_start h1 10.2.0.2
	grows "credit" 20 stat_of h1 credit_taken
	flow_soon h1 "HPCC of the flow" .hpcc false
	bulk_goes_on
	daemon_kill h2
	voq_soon h1 10.2.0.2 .state alone
	bulk_unharmed
	daemon_start h2
	wait_for 20 "credit covers it again" voq_is_not h1 10.2.0.2 .state alone
	bulk_stop
}

# Two hosts that claim to be one rack, and send to the same destination.
credits__two_racks_with_one_id_are_reported() {
	local NET_NODES="h1 sw h2 h3"

	net_up
	net_link 3 || fail "the link of h3 cannot be set up"
	credits_config h2
	for node in h1 h3; do
		credits_config $node "hiercc: {enabled: true, id: 9}"
	done
	daemon_start h1 h2 h3 sw
	server h2
	server h2 5202
	bulk_start h1 10.2.0.2
	net_exec h3 iperf3 -J -t 1000 -c 10.2.0.2 -p 5202 >"$CASE_DIR/h3.json" 2>&1 9>&- &
	wait_for 60 "it is said" said h2 "two racks with one 'hiercc: id'"
	expect "claims that were refused" "$(credit_of h2 10.2.0.2 .claims_jumped)" -ge 4
	expect_said h2 "rack 0.0.0.9, VOQ to 10.2.0.2/32: what it says to have sent jumps, or is less than what arrives"
	bulk_goes_on
	bulk_stop
}

# No room for a VOQ for each destination: the others share that of their prefix.
credits__more_destinations_than_voqs() {
	local k

	net_up
	for node in h1 h2; do
		credits_config $node "hiercc: {enabled: true, voqs: 4}"
	done
	for k in 1 2 3 4 5 6; do
		net_in h2 ip address add 10.2.0.1$k/24 dev eth0
	done
	net_in sw ip route replace 10.2.0.0/24 dev p2
	net_in sw ip link set p2 arp on
	daemon_start h1 h2 sw
	server h2
	for k in 1 2 3 4 5 6; do
		net_in sw ip neighbour replace 10.2.0.1$k lladdr 02:00:0a:00:02:02 dev p2
		transfer h1 10.2.0.1$k -n 300K
	done
	expect "packets of VOQs that are shared" "$(stat_of h1 voq_merged)" -gt 0
	expect "packets without a VOQ" "$(stat_of h1 voq_full)" -eq 0
	expect "the VOQ of the prefix" "$(voq_of h1 10.0.0.0/8 .merged)" = true
	expect "what was granted to it" "$(voq_of h1 10.0.0.0/8 '.granted_bytes > 100000')" = true
	expect "VOQs" "$(ctl h1 voqs --json | jq length)" -le 4
	expect "VOQs that h2 knows" "$(ctl h2 credits --json | jq length)" -le 4
	expect "credit that was refused" "$(stat_of h1 credit_ahead)" -eq 0
}

# No host is there: traffic to it has a VOQ, which is granted nothing and forgotten.
credits__unknown_destination_is_granted_nothing() {
	credits_up "flow_timeout: 1s"
	net_in h1 bash -c 'for ((i = 0; i < 20; i++)); do echo >/dev/udp/10.2.0.99/9 && sleep 0.05; done'
	expect "S" "$(voq_of h1 10.2.0.99 '.sent_bytes > 0')" = true
	expect "packets with a header of ours" "$(stat_of h1 tx_data)" -eq 0
	expect "credits" "$(ctl h2 credits)" has "no credits"
	wait_for 30 "h1 forgets" voqs_none
}

# The entries are written while they are read, so one may be younger than the reader's time. Here all are, by a clock that is behind.
credits__entries_younger_than_the_read_have_no_age() {
	local look

	credits_up
	bulk_start h1 10.2.0.2
	governed_soon h1
	voq_soon h1 10.2.0.2 '.granted_bytes > 0' true
	fits_terminals h1 voqs "^10.2.0.2 .* (covered|waits)"
	fits_terminals h2 credits "^[0-9.]+ +10.2.0.2 .* active"
	for look in "h1 status" "h1 flows" "h1 int" "h1 voqs" "h2 credits" "h1 why :$(flow_of h1 .local_port)"; do
		net_in "${look%% *}" env LD_PRELOAD="$BUILD/accident.so" ACCIDENT="behind clock_gettime 60" "$BUILD/sluicectl" \
			--pin-dir "$PINS/ssys-${look%% *}" --json ${look#* } >"$CASE_DIR/ctl.json" 2>>"$CASE_DIR/ctl.log" 9>&-
		expect "ages by $look that are not 0" "$(jq -c '[.. | objects | to_entries[] | select(.key | test("_age_(ns|s)$"))] |
			if length == 0 then "none is shown" else map(select(.value != 0)) end' "$CASE_DIR/ctl.json")" = "[]"
	done
	bulk_stop
}

# Voluntary context switches of a daemon.
wakes_of() { awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/${DAEMON[$1]}/status"; }

# Once nothing is active any more, a daemon wakes up once a second, and for events.
credits__idle_daemon_sleeps() {
	local before

	credits_up
	transfer h1 10.2.0.2 -n 3M
	credit_soon h2 10.2.0.2 .active false
	sleep 1
	before=$(wakes_of h2)
	sleep 5
	expect "wake-ups in 5 s" "$(($(wakes_of h2) - before))" -le 15
	transfer h1 10.2.0.2 -n 3M
	expect "credit after the pause" "$(credit_of h2 10.2.0.2 '.granted_bytes > 6000000')" = true
}

# Idle VOQs are forgotten at both ends, and begin anew.
credits__idle_voqs_are_forgotten() {
	credits_up "flow_timeout: 1s"
	transfer h1 10.2.0.2 -n 1M
	wait_for 30 "h1 forgets" voqs_none
	wait_for 30 "h2 forgets" credits_none
	transfer h1 10.2.0.2 -n 1M
	credit_soon h2 10.2.0.2 '.granted_bytes > 1000000' true
	expect "claims that cannot be" "$(credit_of h2 10.2.0.2 '.claims_jumped')" -eq 0
}

voqs_none() { [[ $(ctl h1 voqs) == "no VOQs"* ]]; }

credits_none() { [[ $(ctl h2 credits) == "no credits"* ]]; }

# Where credit and Equation 1 alone hold packets: a stack that knows nothing of W, and UDP.
credits__why_names_credit_and_the_first_hop_with_fq() {
	net_has_qdisc fq || skip "no fq here"
	net_up
	credits_config h1 "hpcc: {enabled: false}" "tcp: {name: ${CC}h1, receive_window: false}"
	credits_config h2
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2 -C reno
	why_soon credit
	ctl_text "Credit of its VOQ (HierCC)" why ":$(bulk_port)"
	bulk_stop
	bulk_udp_start h1 10.2.0.2 -b 200M -l 1200
	wait_for 20 "what holds UDP is hop" credits_udp_is_held_by hop
	bulk_udp_stop
}

credits_udp_is_held_by() { why_is "$1" "$(ctl h1 flows --json | jq -r 'map(select(.protocol == "udp"))[0].local_port')"; }
