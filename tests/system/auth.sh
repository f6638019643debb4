# SPDX-License-Identifier: GPL-2.0-only
# Keys: hosts with the same one and with different ones, how keys are exchanged, and files that are no key.

AUTH_KEY=00112233445566778899aabbccddeeff

# auth_keys NODE KEY...: its key file.
auth_keys() {
	local ns=$1

	shift
	(umask 077 && printf '%s\n' "$@" >"$CASE_DIR/$ns.key")
}

# auth_config NODE: with a key file of its own.
auth_config() { host_config "$1" "auth: $CASE_DIR/$1.key" >"$CASE_DIR/$1.yaml"; }

# First both know the new key, then both sign with it, then both forget the old one.
# On one CPU: telemetry that comes late counts as replayed.
auth__keys_are_exchanged_under_load() {
	local keys node

	on_one_cpu
	net_up
	for node in h1 h2; do
		auth_keys $node $KEY
		auth_config $node
	done
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	expect "status" "$(status_of h1 .authenticated)" = true
	for keys in "$KEY $AUTH_KEY" "$AUTH_KEY $KEY" "$AUTH_KEY"; do
		for node in h1 h2; do
			# shellcheck disable=SC2086
			auth_keys $node $keys
			daemon_hup $node reloaded
			grows "feedback after $node has '$keys'" 20 flow_of h1 .feedbacks
		done
	done
	for node in h1 h2; do
		expect "$node: what was refused or ignored" "$(stat_of $node rx_bad_auth rx_no_auth rx_replayed)" -eq 0
		expect "$node: peers that fell silent" "$(stat_of $node peer_silent)" -eq 0
	done
	expect "what sluicectl shows of the keys" "$(ctl h1 status; ctl h1 status --json; cat "$CASE_DIR/h1.log")" \
		has-no $AUTH_KEY
	bulk_unharmed
	bulk_stop
}

# A host with another key is one without Sluice, until it has the right one.
auth__another_key_gets_plain_packets() {
	net_up
	auth_keys h1 $KEY
	auth_keys h2 $AUTH_KEY
	auth_config h1
	auth_config h2
	daemon_start h1 h2 sw
	server h2
	transfer h1 10.2.0.2 -n 1M
	wait_for 20 "nothing is lost" nothing_lost
	counts h2 0 rx_bad_auth
	counts h1 0 rx_bad_auth
	expect "packets with telemetry" "$(stat_of h1 tx_data)" -eq 0
	bulk_start h1 10.2.0.2
	flow_soon h1 "state of the flow" .state plain
	auth_keys h2 $KEY
	daemon_hup h2 reloaded
	governed_soon h1
	bulk_goes_on
	bulk_stop
}

auth__none_and_a_key_get_plain_packets() {
	net_up
	host_config h1 "auth: none" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	expect "status" "$(status_of h1 .authenticated)" = false
	expect "status as text" "$(ctl h1 status)" has "authentication: none"
	expect "and of h2" "$(ctl h2 status)" has "authentication: with a key"
	server h2
	transfer h1 10.2.0.2 -n 1M
	wait_for 20 "nothing is lost" nothing_lost
	counts h2 0 rx_no_auth
	counts h1 0 rx_bad_auth
	expect "packets with telemetry" "$(stat_of h1 tx_data)" -eq 0
}

# All of the other cases have a key.
auth__none_at_both_ends_is_governed() {
	telemetry_in_data
	net_up
	host_config h1 "auth: none" >"$CASE_DIR/h1.yaml"
	host_config h2 "auth: none" >"$CASE_DIR/h2.yaml"
	daemon_start h1 h2 sw
	expect "room" "$(net_route h1 10.0.0.0/8)" has "mtu 1364"
	expect "and with IPv6" "$(net_route h1 fd00::/16)" has "mtu 1344"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	bulk_unharmed
	bulk_stop
	expect "what was refused" "$(stat_of h1 rx_bad_auth rx_no_auth)" -eq 0
}

# auth_refused WORDS: a start with h1's key file as it is.
auth_refused() {
	daemon_fails h1 1 "$1"
	expect "what is said of the key" "$(<"$CASE_DIR/h1-fails.log")" has-no "${AUTH_KEY:1:30}"
}

auth__key_files_that_are_refused() {
	net_up
	auth_config h1
	auth_refused "h1.key: No such file or directory"
	auth_keys h1 ${AUTH_KEY:1}
	auth_refused "line 1 is not a key"
	auth_keys h1 ${AUTH_KEY}0
	auth_refused "line 1 is not a key"
	auth_keys h1 "${AUTH_KEY:1}g"
	auth_refused "line 1 is not a key"
	auth_keys h1 ''
	auth_refused "line 1 is not a key"
	auth_keys h1 $KEY $AUTH_KEY $AUTH_KEY
	auth_refused "line 3 is not a key, or one too many"
	: >"$CASE_DIR/h1.key"
	auth_refused "is empty"
	auth_keys h1 $AUTH_KEY
	chmod 640 "$CASE_DIR/h1.key"
	auth_refused "may be read by others: chmod 600"
	chmod 604 "$CASE_DIR/h1.key"
	auth_refused "may be read by others: chmod 600"
	chmod 600 "$CASE_DIR/h1.key"
	chown 65534 "$CASE_DIR/h1.key"
	auth_refused "is of user 65534, who knows the key and can change it: chown root"
	chown 0 "$CASE_DIR/h1.key"
	auth_keys h1 $AUTH_KEY 00000000000000000000000000000000
	auth_refused "line 2 is all zeros, which everybody guesses"
	auth_keys h1 $AUTH_KEY
	mkdir "$CASE_DIR/open" "$CASE_DIR/open/shut"
	cp -p "$CASE_DIR/h1.key" "$CASE_DIR/open/shut/key"
	host_config h1 "auth: $CASE_DIR/open/shut/key" >"$CASE_DIR/h1.yaml"
	chmod 777 "$CASE_DIR/open"
	auth_refused "others may write to its directory $CASE_DIR/open, and so put another key there: chmod go-w"
	chmod 770 "$CASE_DIR/open"
	auth_refused "others may write to its directory $CASE_DIR/open, and so put another key there: chmod go-w"
	# It is there all the same if a link leads there.
	ln -s "$CASE_DIR/open/shut/key" "$CASE_DIR/link"
	host_config h1 "auth: $CASE_DIR/link" >"$CASE_DIR/h1.yaml"
	auth_refused "others may write to its directory $CASE_DIR/open"
	chmod 755 "$CASE_DIR/open"
	chown 65534 "$CASE_DIR/open/shut"
	auth_refused "its directory $CASE_DIR/open/shut is of user 65534, who can put another key there"
	chown 0 "$CASE_DIR/open/shut"
	# As a secret of Kubernetes is: links, in a directory that is sticky.
	chmod 1777 "$CASE_DIR/open"
	daemon_start h1
	daemon_stop h1
	auth_config h1
	daemon_start h1
	auth_keys h1 bad
	daemon_hup h1 "keeping the current configuration"
	expect "status" "$(status_of h1 .authenticated)" = true
}

# auth_clock SECONDS: the real time as h1's sluiced sees it, a number or "right".
auth_clock() {
	if [[ $1 == right ]]; then rm -f "$CASE_DIR/clock"; else echo "$1" >"$CASE_DIR/clock"; fi
}

auth_cc_gone() { ! grep -qw ${CC}h1 /proc/sys/net/ipv4/tcp_available_congestion_control; }

# auth_start_h1: with that clock. Its last sockets may hold the congestion control for a while.
auth_start_h1() {
	wait_for 120 "the congestion control of an earlier sluiced is gone" auth_cc_gone
	[[ -e $BUILD/accident.so ]] || skip "no accident.so: make build/accident.so"
	LD_PRELOAD=$BUILD/accident.so ACCIDENT_REALTIME=$CASE_DIR/clock daemon_start h1
}

AUTH_2099=4070908800

auth_flow_is_plain() {
	WAIT_SEEN=$(ctl "$1" flows --json | jq -r ".[] | select(.local_port == $2).state") && [[ $WAIT_SEEN == plain ]]
}

# A clock that leaps while sluiced runs changes nothing; peers report one that leapt before, and nothing is lost.
auth__a_clock_in_2099() {
	net_up
	auth_start_h1
	daemon_start h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	auth_clock $AUTH_2099
	daemon_hup h1 "ahead of the sequences of authentication, which stay as they are"
	grows "feedback after SIGHUP" 20 flow_of h1 .feedbacks
	auth_clock 1000
	daemon_hup h1 "behind the sequences of authentication, which stay as they are"
	grows "feedback after SIGHUP" 20 flow_of h1 .feedbacks
	expect "messages from the future" "$(stat_of h1 rx_future) $(stat_of h2 rx_future)" = "0 0"
	bulk_stop

	auth_clock $AUTH_2099
	daemon_stop h1
	auth_start_h1
	transfer h1 10.2.0.2 -n 1M
	counts h2 0 rx_future
	wait_for 20 "nothing is lost" nothing_lost
	# Plain packets are not counted: the flow of the transfer may stay open, and the longest.
	bulk_start h1 10.2.0.2 --cport 5300
	wait_for 20 "the flow is plain" auth_flow_is_plain h1 5300
	expect "packets that the stack got unstripped" "$(stat_of h2 rx_bad_auth rx_mismatch rx_no_auth)" -eq 0
	auth_clock right
	daemon_hup h1 "behind the sequences of authentication, which stay as they are"
	bulk_goes_on
	bulk_stop
	daemon_stop h1
	auth_start_h1
	bulk_start h1 10.2.0.2
	governed_soon h1
	bulk_stop
}

# A clock in local time, an hour ahead: set right, and a reboot. Its peer holds what it heard before, for an hour. The host is told, and
# moves its sequences forward.
auth__a_clock_that_was_an_hour_ahead() {
	net_up
	auth_clock $(($(date +%s) + 3600))
	auth_start_h1
	daemon_start h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	bulk_stop
	auth_clock right
	daemon_stop h1
	auth_start_h1
	bulk_start h1 10.2.0.2
	governed_soon h1
	grows "feedback" 20 flow_of h1 .feedbacks
	expect "times that h1 moved its sequences" "$(stat_of h1 seq_moved)" -ge 1
	expect "questions that h2 found too old, and answered" "$(stat_of h2 probe_held)" -ge 1
	expect "status of h2" "$(ctl h2 status)" has "1 sent sequences older than those heard of it before: its clock was ahead (10.1.0.2 by 3"
	expect "status of h1" "$(ctl h1 status)" has "1 had heard newer sequences of this host: its clock was ahead (10.2.0.2 by 3"
	expect "status of h1 as JSON" "$(status_of h1 '.hosts.held_sequences | "\(.hosts) \(.largest)"')" = "1 10.2.0.2"
	wait_for 20 "sluiced of h1 says it" grep -q "as after a clock that was ahead: they have moved forward by 3" "$CASE_DIR/h1.log"
	expect "peers that h1 lost" "$(stat_of h1 peer_silent)" -eq 0
	bulk_goes_on
	bulk_stop
}

# Without a battery, before NTP.
auth__a_clock_that_was_never_set() {
	telemetry_in_data
	net_up
	auth_clock 1000
	auth_start_h1
	daemon_start h2 sw
	expect "what sluiced says" "$(<"$CASE_DIR/h1.log")" has "the clock was never set"
	server h2
	bulk_start h1 10.2.0.2
	counts h1 0 rx_future
	flow_soon h1 "state of the flow" .state plain
	auth_clock right
	wait_for 20 "sluiced of h1 says that the clock was set" grep -q "the clock was set" "$CASE_DIR/h1.log"
	governed_soon h1
	bulk_goes_on
	bulk_stop
}

# A daemon started by hand has no unit that forbids it: no core, and no access to its memory by another process of the same user.
auth__no_core_holds_the_key() {
	net_up
	daemon_start h1
	expect "limit of a core file" "$(awk '/^Max core file size/ { print $5, $6 }' "/proc/${DAEMON[h1]}/limits")" = "0 0"
	setpriv --version >/dev/null 2>&1 || skip "no setpriv to look as root without CAP_SYS_PTRACE"
	# shellcheck disable=SC2016
	! setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace sh -c ': <"/proc/$0/mem"' "${DAEMON[h1]}" 2>/dev/null ||
		fail "another process of the same user sees the memory"
	cat "/proc/${DAEMON[h1]}/status" >/dev/null || fail "what is no secret is hidden"
}

# --- attacks ---

# The target and the port: tests/system/tor.sh has others.
ATTACK_NODE=h1 ATTACK_FROM=sw ATTACK_PORT=p1

# attack KIND COUNT [KEY]: tests/system/tools/attack.c, at the switch port to h1.
attack() {
	net_in $ATTACK_FROM "$BUILD/attack" "$1" $ATTACK_PORT "$CASE_DIR/message" "$2" ${3:+"$3"} 2>"$CASE_DIR/attack.log" ||
		fail "attack: $(<"$CASE_DIR/attack.log")"
}

# attack_record [MESSAGE]: as attack.c has it.
attack_record() {
	rm -f "$CASE_DIR/message"
	net_exec $ATTACK_FROM "$BUILD/attack" record $ATTACK_PORT "$CASE_DIR/message" "$@" 2>"$CASE_DIR/attack.log" 9>&- &
	RECORDER=$!
	wait_for 20 "a message to $ATTACK_NODE passes" test -s "$CASE_DIR/message"
}

attack_record_end() {
	kill -TERM $RECORDER
	wait $RECORDER || fail "attack: $(<"$CASE_DIR/attack.log")"
}

# attack_counts KIND COUNTER [KEY]: 10,000 messages, and COUNTER of the node grows by as many.
attack_counts() {
	local before

	before=$(stat_of $ATTACK_NODE "$2")
	attack "$1" 10000 ${3:+"$3"}
	wait_for 20 "all that was sent (${1}) is counted as $2, and nothing else is" attack_counted "$2" $((before + 10000))
}

attack_counted() { (($(stat_of $ATTACK_NODE "$1") == $2)); }

# Each kind of attack, 10,000 messages a second, and what it is counted as.
attacks() {
	attack_counts forge rx_bad_auth
	attack_counts flip rx_bad_auth
	attack_counts key rx_bad_auth $AUTH_KEY
	attack_counts address rx_bad_auth
	attack_counts bare rx_no_auth
	attack_counts stranger rx_foreign
	attack_counts replay rx_replayed
}

# Every entry of h1's flows and of what it knows of hosts, as text.
attack_state() {
	bpftool map dump pinned "$PINS/ssys-h1/flows"
	bpftool map dump pinned "$PINS/ssys-h1/hosts"
}

attack_is_quiet() {
	attack_state >"$CASE_DIR/state-1"
	sleep 0.3
	attack_state >"$CASE_DIR/state-2"
	cmp -s "$CASE_DIR/state-1" "$CASE_DIR/state-2"
}

FEEDBACK="fb_first fb_fast fb_full fb_skipped fb_contended fb_delay fb_no_flow"

# Every message of h2 with our header is an echo. On one CPU: an echo that comes late counts as replayed, too.
auth__attacks_do_not_move_a_flow_that_runs() {
	local address

	telemetry_in_data
	need "$BUILD/attack"
	on_one_cpu
	for address in 10.2.0.2 fd00:2::2; do
		net_up
		daemon_start h1 h2 sw
		server h2
		bulk_start h1 $address
		governed_soon h1
		attack_record
		attack_record_end
		attacks
		# shellcheck disable=SC2086
		expect "feedback used by h1, of echoes sent by h2" "$(stat_of h1 $FEEDBACK)" -le "$(stat_of h2 tx_data)"
		expect "peers that fell silent" "$(stat_of h1 peer_silent)" -eq 0
		governed_soon h1
		bulk_goes_on
		grows "feedback" 20 flow_of h1 .feedbacks
		bulk_stop
		servers_stop
		daemon_stop h1 h2 sw
		net_down
	done
}

# The sender is stopped, so that nothing else is there that could move it. The attacks would move it if they had
# the key: the last step shows that.
auth__attacks_leave_a_flow_byte_by_byte() {
	local before

	telemetry_in_data
	need "$BUILD/attack"
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	attack_record
	kill -STOP "$BULK"
	wait_for 30 "the flow is quiet" attack_is_quiet
	attack_record_end
	attack_state >"$CASE_DIR/before"
	before=$(stat_of h1 tx_data)
	attacks
	attack_state >"$CASE_DIR/after"
	same "the flow after the attacks" "$CASE_DIR/before" "$CASE_DIR/after"
	expect "what h1 sent meanwhile" "$(stat_of h1 tx_data)" -eq "$before"
	attack key 10 $KEY
	attack_state >"$CASE_DIR/after"
	! cmp -s "$CASE_DIR/before" "$CASE_DIR/after" || fail "with the key, too, nothing moves: these are no attacks"
	kill -CONT "$BULK"
}
