# SPDX-License-Identifier: GPL-2.0-only
# Switches as ToRs of HierCC, with plain hosts behind them:
#
#	h1 --- p1 sw core --- core t2 p2 --- h2
#	h3 --- p3 sw

TOR_NODES="h1 sw h2 h3 t2"

# tor_net_up: the usual network, with h3 at sw, and a second switch between sw and h2.
tor_net_up() {
	local n mac=02:00:0a:00:09

	NET_NODES=$TOR_NODES
	net_up
	[[ $NET_FQ ]] || skip "no fq here"
	net_link 3 || fail "the link of h3 cannot be set up"
	ip link add core netns "${NET_PREFIX}sw" address $mac:01 type veth \
		peer name core netns "${NET_PREFIX}t2" address $mac:02 &&
		net_in sw ip link set p2 netns "${NET_PREFIX}t2" &&
		net_ends t2 p2 - 2 1 2 && net_ends sw core - 9 1 2 && net_ends t2 core - 9 2 1 &&
		net_in t2 tc qdisc replace dev p2 root handle 1: tbf rate "$NET_RATE" burst "$NET_BURST" limit 1000000 &&
		net_in t2 bash -c 'echo 1 >/proc/sys/net/ipv4/ip_forward && echo 1 >/proc/sys/net/ipv6/conf/all/forwarding' &&
		net_in sw tc qdisc add dev core root fq && net_in t2 tc qdisc add dev core root fq &&
		net_in sw ip route add 10.2.0.0/24 via 10.9.0.2 && net_in sw ip -6 route add fd00:2::/64 via fd00:9::2 ||
		fail "the switches cannot be set up"
	for n in 1 3; do
		net_in t2 ip route add 10.$n.0.0/24 via 10.9.0.1 && net_in t2 ip -6 route add fd00:$n::/64 via fd00:9::1 ||
			fail "the routes of t2 cannot be set up"
	done
}

# tor_config SWITCH ID PORT...: of a switch with these ports to hosts.
tor_config() {
	local ns=$1 id=$2 port

	shift 2
	cat >"$CASE_DIR/$ns.yaml" <<-END
	pin_dir: $PINS/ssys-$ns
	auth: $(key_file)
	hiercc: {enabled: true, id: $id}
	peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}, {prefix: 'fd00::/16', base_rtt: 2ms}]
	interfaces:
	  - {name: core, role: switch, speed: ${NET_RATE^}, id: ${id}0, voqs: up}
	END
	for port in "$@"; do
		echo "  - {name: $port, role: switch, speed: ${NET_RATE^}, id: $id${port#p}, voqs: down}"
	done >>"$CASE_DIR/$ns.yaml"
}

TOR_RTT=2ms # of the hosts

# tor_up [LINE]...: everything runs, with a server on h2 for each of the others.
tor_up() {
	local node

	tor_net_up
	for node in h1 h2 h3; do
		host_config $node "peers: [{prefix: 10.0.0.0/8, base_rtt: $TOR_RTT, hiercc: tor}, {prefix: 'fd00::/16', base_rtt: $TOR_RTT, hiercc: tor}]" \
			"$@" >"$CASE_DIR/$node.yaml"
	done
	tor_config sw 1 p1 p3
	tor_config t2 2 p2
	daemon_start h1 h2 h3 sw t2
	server h2
	server h2 5202
}

tor_h3_start() {
	net_exec h3 iperf3 -J -t 1000 -c "$1" -p 5202 >"$CASE_DIR/h3.json" 2>&1 9>&- &
	H3=$!
}

# The R that a host was told, 0 if it has none.
tor_told() { voq_of "$1" "$2" '.told_rate_bps'; }

tor_is_told() { (($(tor_told "$1" "$2") > 0)); }

tor_is_not_told() { (($(tor_told "$1" "$2") == 0)); }

# Both hosts send: the switch holds by credit, tells R, and both obey it.
tor__credit_is_granted_and_rates_are_sent() {
	local address node

	tor_up "metrics: {}"
	echo "metrics: {}" >>"$CASE_DIR/sw.yaml"
	daemon_hup sw reloaded
	for address in 10.2.0.2 fd00:2::2; do
		bulk_start h1 $address
		tor_h3_start $address
		grows "packets that sw filled in" 20 stat_of sw tor_voq
		grows "S of sw's VOQ" 20 voq_of sw $address .sent_bytes
		grows "what t2 grants" 20 credit_of t2 $address .granted_bytes
		grows "what was granted to sw" 20 voq_of sw $address .granted_bytes
		expect "the rack of the VOQ" "$(credit_of t2 $address .rack)" = 0.0.0.1
		expect "its port" "$(credit_of t2 $address .interface)" = p2
		voq_soon sw $address .flows 2
		grows "packets that wait for credit" 20 stat_of sw voq_waits
		grows "packets that p2 does not stamp" 20 stat_of t2 hop_credit
		for node in h1 h3; do
			grows "questions of $node" 20 stat_of $node voq_asked
			grows "rates that $node was told" 20 stat_of $node rate_taken
			wait_for 20 "$node goes by R" tor_is_told $node $address
		done
		bulk_goes_on
		kill -TERM $H3
		bulk_stop
		expect "what is due when nothing comes any more" "$(credit_of t2 $address .due_bytes)" -eq 0
	done
	expect "claims that jump" "$(ctl t2 credits --json | jq 'map(.claims_jumped) | add')" -eq 0
	expect "claims of more than it may owe" "$(ctl t2 credits --json | jq 'map(.claims_cut) | add')" -eq 0
	expect "credit that was refused" "$(stat_of sw credit_ahead credit_no_voq rx_replayed rx_bad_auth)" -eq 0
	# rx_replayed also counts what an acknowledgement says that has overtaken data, which waits for its departure.
	expect "rates that were refused" "$(stat_of h1 rate_no_voq rx_bad_auth)" -eq 0
	expect "messages of rates that were not taken" "$(stat_of h1 rate_taken)" -ge "$(stat_of h1 rx_rate)"
	expect "credit that reached a host" "$(stat_of h1 rx_credit)" -eq 0
	expect "what h2 itself grants" "$(ctl h2 credits)" has "no credits"
	expect "what hosts were not told" "$(stat_of sw tor_lost)" -eq 0
	# Its VOQs are at sw.
	metric_soon sw sluice_voq_credit_delay_seconds_count 0
	expect "samples of VOQs at h1" "$(metric h1 sluice_voq_credit_delay_seconds_count)" -eq 0
}

# Hosts measure T themselves; packets that wait in the switch's VOQs do not make it longer.
tor__hosts_measure_t() {
	TOR_RTT=auto
	tor_up
	bulk_start h1 10.2.0.2 -P 2
	grows "packets that sw filled in" 20 stat_of sw tor_voq
	grows "what was granted to sw" 20 voq_of sw 10.2.0.2 .granted_bytes
	wait_for 20 "h1 goes by R" tor_is_told h1 10.2.0.2
	# Telemetry in full packets: two more of 100 Mbit/s are a quarter of a millisecond.
	rtt_soon "a path of two switches" 240 5000
	wait_for 20 "flows that run have it" flows_have_t 200 5000
	sleep 10
	expect "T after a window of 8 s, in us" "$(rtt_of base_rtt_ns)" -le 5000
	bulk_unharmed
	bulk_stop
}

# Hosts' data is beside their companions: the switch knows it by those, holds it by credit, and says S in them.
tor__voqs_ride_on_companions() {
	local address node

	tor_up "hpcc: {telemetry: companion}"
	for address in 10.2.0.2 fd00:2::2; do
		bulk_start h1 $address
		tor_h3_start $address
		grows "packets that are in sw's VOQ" 20 stat_of sw tor_voq
		grows "S of sw's VOQ" 20 voq_of sw $address .sent_bytes
		grows "what t2 grants" 20 credit_of t2 $address .granted_bytes
		grows "what was granted to sw" 20 voq_of sw $address .granted_bytes
		expect "the rack of the VOQ" "$(credit_of t2 $address .rack)" = 0.0.0.1
		voq_soon sw $address .flows 2
		grows "packets that wait for credit" 20 stat_of sw voq_waits
		grows "companions that p2 does not stamp" 20 stat_of t2 hop_credit
		for node in h1 h3; do
			grows "questions of $node" 20 stat_of $node voq_asked
			grows "rates that $node was told" 20 stat_of $node rate_taken
			wait_for 20 "$node goes by R" tor_is_told $node $address
		done
		bulk_goes_on
		kill -TERM $H3
		bulk_stop
		expect "what is due when nothing comes any more" "$(credit_of t2 $address .due_bytes)" -eq 0
		# Beyond C0 the next flow would have to wait for credit that nobody grants.
		echo "# sw's VOQ: $(voq_of sw $address '"\(.sent_bytes - .granted_bytes) bytes not told, C0 \(.c0_bytes)"')"
		expect "what was not told is within C0" "$(voq_of sw $address '.sent_bytes - .granted_bytes <= .c0_bytes')" = true
	done
	expect "data with a header of ours" "$(stat_of h1 tx_data)" -eq 0
	expect "claims that jump" "$(ctl t2 credits --json | jq 'map(.claims_jumped) | add')" -eq 0
	expect "claims of more than it may owe" "$(ctl t2 credits --json | jq 'map(.claims_cut) | add')" -eq 0
	expect "credit that was refused" "$(stat_of sw credit_ahead credit_no_voq rx_replayed rx_bad_auth)" -eq 0
	expect "tags that are wrong" "$(stat_of h1 rx_bad_auth) $(stat_of h2 rx_bad_auth)" = "0 0"
}

# Either daemon is killed: HPCC alone, at both ends; the next one goes on.
tor__daemons_are_killed_and_come_back() {
	tor_up
	bulk_start h1 10.2.0.2
	wait_for 20 "h1 goes by R" tor_is_told h1 10.2.0.2
	daemon_kill t2
	voq_soon sw 10.2.0.2 .state alone
	wait_for 20 "h1 goes by HPCC alone" tor_is_not_told h1 10.2.0.2
	bulk_goes_on
	grows "feedback" 20 flow_of h1 .feedbacks
	daemon_start t2
	wait_for 20 "credit covers it again" voq_is_not sw 10.2.0.2 .state alone
	wait_for 20 "h1 goes by R again" tor_is_told h1 10.2.0.2
	daemon_kill sw
	wait_for 20 "h1 goes by HPCC alone" tor_is_not_told h1 10.2.0.2
	bulk_goes_on
	daemon_start sw
	wait_for 20 "h1 goes by R again" tor_is_told h1 10.2.0.2
	bulk_goes_on
	bulk_stop
	expect "credit that was refused" "$(stat_of sw credit_ahead)" -eq 0
}

# The credit of the switch and the R that it reports to a host, with the sender stopped: without the key neither can be changed.
tor__attacks_leave_voqs_byte_by_byte() {
	local message kind

	need "$BUILD/attack"
	tor_up
	bulk_start h1 10.2.0.2
	wait_for 20 "h1 goes by R" tor_is_told h1 10.2.0.2
	# CREDIT from t2 to sw, RATE from sw to h1.
	for message in 5 6; do
		ATTACK_NODE=sw ATTACK_FROM=t2 ATTACK_PORT=core
		((message == 5)) || ATTACK_NODE=h1 ATTACK_FROM=sw ATTACK_PORT=p1
		attack_record $message
		kill -STOP "$BULK"
		wait_for 30 "VOQs are quiet" tor_is_quiet
		attack_record_end
		tor_state >"$CASE_DIR/before"
		for kind in forge flip address; do
			attack_counts $kind rx_bad_auth
		done
		attack_counts bare rx_no_auth
		attack_counts stranger rx_foreign
		attack_counts replay rx_replayed
		tor_state >"$CASE_DIR/after"
		same "VOQs of $ATTACK_NODE after the attacks" "$CASE_DIR/before" "$CASE_DIR/after"
		kill -CONT "$BULK"
		bulk_goes_on
	done
	bulk_stop
}

tor_state() { bpftool map dump pinned "$PINS/ssys-$ATTACK_NODE/voqs"; }

tor_is_quiet() {
	tor_state >"$CASE_DIR/state-1"
	sleep 0.3
	tor_state >"$CASE_DIR/state-2"
	cmp -s "$CASE_DIR/state-1" "$CASE_DIR/state-2"
}
