# SPDX-License-Identifier: GPL-2.0-only
# An operator's questions to sluicectl about running traffic. Text and JSON by ctl_text and ctl_json of ctl.sh.

# operator_up [LINE of h1's configuration]...: hosts and switch, and a server on h2. With OPERATOR_NET for net_up.
operator_up() {
	net_up "${OPERATOR_NET:-}"
	host_config h1 "$@" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h2
}

# ctl_refuses STATUS WORDS ARGUMENT...: ends so, says WORDS, and prints nothing.
ctl_refuses() {
	local status=$1 words=$2 got

	shift 2
	ctl h1 "$@" >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	got=$?
	expect "exit status of sluicectl $*" $got -eq "$status"
	expect "what sluicectl $* says" "$(<"$CASE_DIR/ctl.log")" has "$words"
	expect "what sluicectl $* prints" "$(<"$CASE_DIR/ctl.txt")" = ""
}

# bulk_port: the local port of the bulk connection with most bytes.
bulk_port() { flow_of h1 .local_port; }

# why_is VERDICT [PORT]: of the flow of h1 with this local port.
why_is() { [[ $(ctl h1 why ":${2:-$(bulk_port)}" --json | jq -r .held_by) == "$1" ]]; }

why_soon() { wait_for 20 "what holds the flow is $1" why_is "$@"; }

# One whose FIN has left is remembered for 5 s.
why_of_what_ended() {
	transfer h1 10.2.0.2 -n 100K
	why_is closed "$(ctl h1 flows --json | jq -r 'map(select(.state == "closed"))[0].local_port')"
}

# A speed that the shaper of the port does not reach: nothing else would say why its queue is long.
operator__why_sees_a_queue_at_a_port_that_is_not_busy() {
	net_up without-fq
	switch_config | sed 's/name: p2, role: switch, speed: 100mbit/name: p2, role: switch, speed: 1Gbit/I' >"$CASE_DIR/sw.yaml"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	wait_for 20 "why names the queue" operator_why_says "Packets wait there though the port is less than half busy"
}

operator_why_says() { [[ $(ctl h1 why ":$(bulk_port)" --json | jq -r .because) == *"$1"* ]]; }

operator__why_names_what_holds_a_flow() {
	local port OPERATOR_NET=without-fq # with it R holds them

	operator_up
	ctl_refuses 1 "no flow matches: there are none" why 10.2.0.2
	wait_for 60 "why of a flow that has ended is closed" why_of_what_ended
	bulk_start h1 10.2.0.2
	governed_soon h1
	wait_for 20 "the flow is held by its window" why_is window
	ctl_text "Its window W" why ":$(bulk_port)"
	ctl_text "<- bottleneck" why "10.1.0.2:$(bulk_port) -> 10.2.0.2:5201"
	ctl_text "hop 1 of 1" why "10.1.0.2:$(bulk_port)" '->'
	ctl_json '.held_by == "window" and .looks.window > 25 and .sent_bps > 20000000 and .w_bytes > 0 and .base_rtt_ns == 2000000 and .base_rtt_auto == false and
		.feedback_age_ns < 1000000000 and (.hops | length) == 1 and .hops[0].bottleneck and .hops[0].speed_bps == 100000000 and
		.hops[0].tx_rate_bps > 20000000 and .hops[0].tx_rate_bps < 120000000' why ":$(bulk_port)" --json
	# iperf3 has a second connection to the same port.
	ctl_refuses 1 "flows match" why 10.2.0.2:5201
	ctl_refuses 1 "no flow matches" why 10.3.0.2
	ctl_refuses 2 "usage: sluicectl why FLOW" why
	ctl h1 bypass on >/dev/null
	wait_for 20 "bypass is named" why_is bypass
	ctl h1 bypass off >/dev/null
	port=$(bulk_port)
	why_soon window
	kill -STOP "$BULK"
	why_soon idle "$port"
	ctl_text "it has sent nothing for" why ":$port"
	kill -CONT "$BULK"
	bulk_goes_on
	bulk_stop
}

# One packet is more than this path holds: W stands at its floor, and why says that this is the queue.
why_names_the_floor() {
	local text

	text=$(ctl h1 why ":$(bulk_port)") && [[ $text == *"It is at its lower bound."* && $text == *"W is never lower"* ]]
}

# Sixteen floors of 60 bytes are more than a BDP of 300.
operator__why_names_the_floor_of_w() {
	local OPERATOR_NET=without-fq

	telemetry_in_data
	operator_up "peers: [{prefix: 10.0.0.0/8, base_rtt: 24us}]"
	bulk_start h1 10.2.0.2 -P 16
	wait_for 30 "a flow at the floor of W" why_names_the_floor
	bulk_stop
}

# A stack that does not obey W is held by departure times, where windows are not cut.
operator__why_names_the_rate() {
	net_has_qdisc fq || skip "no fq here"
	operator_up "tcp: {name: ${CC}h1, receive_window: false}"
	bulk_start h1 10.2.0.2 -C reno
	governed_soon h1
	wait_for 20 "the flow is held by R" why_is rate
	ctl_text "R of HPCC" why ":$(bulk_port)"
	bulk_stop
}

operator__why_of_a_flow_that_goes_plain() {
	net_up
	daemon_start h1
	server h2
	bulk_start h1 10.2.0.2
	wait_for 20 "the flow is plain" why_is plain
	ctl_text "not known to run Sluice" why ":$(bulk_port)"
	# Its bytes are not counted, so none are shown.
	expect "what it says was sent" "$(grep '^sent' "$CASE_DIR/ctl.txt")" = "$(grep -o '^sent  *last packet [0-9.]* [mun]*s ago' "$CASE_DIR/ctl.txt")"
	bulk_stop
}

flows_order() { ctl h1 flows --json "$@" | jq -r '.[].local_port' | tr '\n' ' '; }

operator__flows_are_sorted_and_filtered() {
	local options

	operator_up
	bulk_start h1 10.2.0.2 -P 3
	governed_soon h1
	ctl_json 'length == 4' flows --peer 10.2.0.2 --port 5201 --json
	ctl_json 'length == 0' flows --peer 10.2.0.2 --port 5202 --json
	ctl_json 'length == 0' flows --peer 10.3.0.0/16 --json
	ctl_json 'length == 1' flows --port "$(bulk_port)" --json
	ctl_json 'length == 2 and .[0].tx_bytes >= .[1].tx_bytes' flows --sort bytes --top 2 --json
	# R of the connection on which iperf3 talks is as high, but it sends nothing.
	ctl_json 'length == 3 and all(.sent_bps > 100000) and .[0].sent_bps >= .[1].sent_bps' flows --top 3 --json
	ctl_json 'length == 4 and .[0].sent_bps < 100000' flows --sort -sent --json
	ctl_json '.[0].tx_bytes <= .[1].tx_bytes and .[1].tx_bytes <= .[2].tx_bytes' flows --json --sort -bytes
	ctl_json '[.[].why] | all(. == "window")' flows --held-by window --json
	expect "the other order by ends" "$(flows_order --sort -ends | tr ' ' '\n' | tac | tr '\n' ' ' | xargs)" = \
		"$(flows_order --sort ends | xargs)"
	ctl_text "no flows of these" flows --peer 10.3.0.2
	for options in "--sort name" "--peer 10.2.0.2/8" "--port 0" "--port 65536" "--held-by me" "--top 0" "--watch" "all"; do
		# shellcheck disable=SC2086
		ctl_refuses 2 "" flows $options
	done
	bulk_stop
}

# operator_udp N: flows that go to port 53.
operator_udp() { WAIT_SEEN=$(ctl h1 flows --json | jq '[.[] | select(.remote_port == 53)] | length') && ((WAIT_SEEN == $1)); }

# A value that a flow does not have is no number, and datagrams that were sent once are counted, not listed, until their entries go.
operator__lists_leave_out_what_is_over() {
	local i

	operator_up
	for i in 1 2 3 4 5; do
		net_in h1 bash -c 'echo >/dev/udp/10.2.0.2/53'
	done
	wait_for 20 "five queries are flows" operator_udp 5
	bulk_start h1 10.2.0.2
	governed_soon h1
	ctl_text " udp " flows --all
	expect "W and U of a query, which has none" "$(ctl h1 flows --all | awk '$3 == "10.2.0.2:53" { print $4, $6 }' | sort -u)" = "- -"
	wait_for 20 "they are over" operator_spent "and 5 of UDP that sent for a moment: --all lists them" flows
	expect "queries in the list" "$(ctl h1 flows)" has-no ":53 "
	ctl_text " tcp " flows
	ctl_json 'length == 7' flows --json
	ctl_text "5 of UDP not listed: they sent for a moment" top --batch -n 2
	expect "screens" "$(grep -c '^PORT ' "$CASE_DIR/ctl.txt") $(grep -c '^20[0-9-]*T.* enforce  7 flows ' "$CASE_DIR/ctl.txt")" = "2 2"
	expect "lines of the bulk flow" "$(grep -c ":$(bulk_port) -> 10.2.0.2:5201 .* tcp " "$CASE_DIR/ctl.txt")" -eq 2
	expect "queries in top" "$(<"$CASE_DIR/ctl.txt")" has-no ":53 "
	expect "escape sequences" "$(<"$CASE_DIR/ctl.txt")" has-no $'\x1b'
	bulk_stop
}

operator_spent() { WAIT_SEEN=$(ctl h1 "${@:2}" | tail -n 1) && [[ $WAIT_SEEN == "$1" ]]; }

# Of a switch there are no departure times; interfaces come in the order of the machine; JSON is for reading, too.
operator__status_of_a_switch_and_numbers_in_json() {
	operator_up
	expect "pacing of a switch" "$(ctl sw status)" has-no "fq"
	expect "order of its interfaces" "$(ctl sw status | awk '$2 == "switch" { print $1 }' | xargs)" = "p1 p2"
	expect "order in JSON" "$(status_of sw '[.interfaces[].name] | join(" ")')" = "p1 p2"
	expect "slashes" "$(ctl h1 status --json)" has-no '\/'
	expect "prefixes" "$(ctl h1 status --json)" has '"10.0.0.0/8"'
	expect "digits of a number of seconds" "$(ctl h1 status --json | grep -cE '"heartbeat_age_s": *[0-9]+(\.[0-9]{1,9})?(e-[0-9]+)?,')" -eq 1
}

operator__int_shows_paths_with_their_hops() {
	operator_up
	ctl_json '. == []' int --json
	ctl_text "no paths" int
	bulk_start h1 10.2.0.2 -P 3
	governed_soon h1
	ctl_text "<- bottleneck" int
	# Port 2 of the switch has id 2. iperf3's own connection has feedback if its first question is answered after its first data.
	ctl_json 'length == 1 and .[0].path_id == 2 and .[0].hop_count == 1 and (.[0].flows | . == 3 or . == 4) and .[0].feedback == "hops" and
		.[0].feedback_age_ns < 5000000000 and (.[0].hops[0] | .speed_bps == 100000000 and .bottleneck and .qlen_bytes >= 0 and
		.tx_rate_bps > 1000000 and .tx_rate_bps < 200000000)' int --json
	ctl_refuses 2 "int takes no arguments" int 2
	bulk_stop
}

# ctl_sets LINE KEY VALUE: and says how long that lasts.
ctl_sets() {
	ctl h1 set "$2" "$3" >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of sluicectl set $2 $3" $? -eq 0
	expect "what it prints" "$(<"$CASE_DIR/ctl.txt")" = "$1"
}

operator__set_turns_knobs_until_the_configuration_comes_back() {
	operator_up
	ctl_json '. == {"mode": "enforce", "receive_window": true, "horizon_ns": 0, "beyond": "drop"}' set --json
	ctl_text "receive_window   true" set
	ctl_sets "mode: enforce -> dry-run" mode dry-run
	expect "what it says" "$(<"$CASE_DIR/ctl.log")" has "this lasts until SIGHUP"
	expect "the mode" "$(status_of h1 .mode)" = dry-run
	ctl_sets "receive_window: true -> false" receive_window false
	ctl_sets "horizon: 0us (the default) -> 10000us" horizon 10ms
	ctl_sets "beyond: drop -> mark" beyond mark
	ctl_json '. == {"mode": "dry-run", "receive_window": false, "horizon_ns": 10000000, "beyond": "mark"}' set --json
	ctl_json '. == {"key": "horizon", "was_ns": 10000000, "value_ns": 10000000}' set horizon 10ms --json
	daemon_hup h1 "reloaded"
	ctl_json '. == {"mode": "enforce", "receive_window": true, "horizon_ns": 0, "beyond": "drop"}' set --json
	ctl_refuses 2 "mode 'fast': write observe, dry-run or enforce" set mode fast
	ctl_refuses 2 "horizon '2s': write a time of at most 1s" set horizon 2s
	ctl_refuses 2 "horizon '10': write a time" set horizon 10
	ctl_refuses 2 "receive_window 'yes': write true or false" set receive_window yes
	ctl_refuses 2 "'eta' cannot be set while it runs" set eta 0.9
	ctl_refuses 2 "usage" set mode
	expect "the mode" "$(status_of h1 .mode)" = enforce
}

# found FINDING CHECK: of the JSON of check.
found() { jq -r ".[] | select(.check == \"$2\") | .$1" "$CASE_DIR/check.json"; }

operator__check_finds_what_is_missing_and_how_to_fix_it() {
	net_up
	host_config h1 >"$CASE_DIR/h1.yaml"
	ctl h1 check "$CASE_DIR/h1.yaml" --json >"$CASE_DIR/check.json" 2>"$CASE_DIR/ctl.log"
	expect "exit status of check, which says $(<"$CASE_DIR/ctl.log")" $? -eq 0
	expect "the configuration" "$(found result configuration)" = ok
	expect "programs" "$(found result "data plane")" = ok
	expect "the speed" "$(found detail "eth0 speed")" = "100 Mbit/s by the configuration"
	expect "a peer" "$(found detail "peer 10.0.0.0/8")" = "routed by eth0"
	expect "what is of switches only" "$(found result "eth0 queue (switch)")" = ""
	ctl_text "ok       configuration" check "$CASE_DIR/h1.yaml"
	# It changed nothing.
	! pins_left || fail "it left pins"

	sed 's/eth0/eth9/; s|pin_dir: .*|pin_dir: /sys/fs/bpf/none/x|; s/^auth: .*/auth: none/' "$CASE_DIR/h1.yaml" >"$CASE_DIR/bad.yaml"
	net_in h1 tc qdisc replace dev eth0 root pfifo
	ctl h1 check "$CASE_DIR/bad.yaml" --json >"$CASE_DIR/check.json" 2>"$CASE_DIR/ctl.log"
	expect "exit status with what is missing" $? -eq 3
	expect "the interface" "$(found result eth9)" = missing
	expect "a command that fixes it" "$(found mend eth9)" = null
	expect "what to do about it" "$(found advice eth9)" has "name one that 'ip link' shows here"
	expect "the pins" "$(found mend pin_dir)" = "mkdir -p /sys/fs/bpf/none"
	expect "the peer" "$(found result "peer 10.0.0.0/8")" = less
	expect "authentication" "$(found mend auth)" has "/etc/sluice/key"
	ctl h1 check "$CASE_DIR/h1.yaml" --json >"$CASE_DIR/check.json" 2>"$CASE_DIR/ctl.log"
	if net_has_qdisc fq; then
		expect "pacing" "$(found mend "eth0 pacing (host)")" = "tc qdisc replace dev eth0 root fq"
	else
		expect "pacing where the kernel has no fq" "$(found advice "eth0 pacing (host)")" has "$(net_fix_times eth0)"
	fi
	expect "findings without a way to fix them" \
		"$(jq -r '.[] | select(.result != "ok" and (.mend // .advice // "") == "") | .check' "$CASE_DIR/check.json")" = ""

	echo "modes: x" >"$CASE_DIR/bad.yaml"
	ctl h1 check "$CASE_DIR/bad.yaml" --json >"$CASE_DIR/check.json" 2>"$CASE_DIR/ctl.log"
	expect "exit status with a broken file" $? -eq 1
	expect "what it says" "$(<"$CASE_DIR/ctl.log")" has "'modes' is no key here (did you mean mode?): write pin_dir"
	expect "the same in JSON, with the line" "$(found detail configuration)" has "line 1: 'modes'"
	ctl_refuses 1 "cannot read the configuration" check "$CASE_DIR/none.yaml"
	ctl_refuses 2 "usage: sluicectl check [FILE]" check one two
	sed 's/^tcp:.*/tcp: {name: reno}/' "$CASE_DIR/h1.yaml" >"$CASE_DIR/taken.yaml"
	grep -q '^tcp:' "$CASE_DIR/taken.yaml" || echo 'tcp: {name: reno}' >>"$CASE_DIR/taken.yaml"
	ctl h1 check "$CASE_DIR/taken.yaml" --json >"$CASE_DIR/check.json" 2>"$CASE_DIR/ctl.log"
	expect "exit status where the name is taken" $? -eq 3
	expect "what it says of the name" "$(found detail "tcp: name")" has "another congestion control of the name reno"
}

operator__clean_removes_what_was_left() {
	local before

	attach_by_clsact
	net_up
	daemon_start h1
	ctl_refuses 1 "a sluiced is running there" clean
	daemon_kill h1
	before=$(filters_of)
	expect "filters that are left" "$before" != ""
	ctl_text "would go" clean --dry-run
	ctl_json 'map(select(.would_be_removed)) | length == 3' clean --dry-run --json
	expect "filters after a dry run" "$(filters_of)" = "$before"
	expect "pins after a dry run" "$(status_of h1 .mode)" = enforce
	# With another pin directory they are not touched.
	net_in h1 "$BUILD/sluicectl" --pin-dir "$PINS/ssys-none" clean >"$CASE_DIR/ctl.txt"
	expect "what that says" "$(<"$CASE_DIR/ctl.txt")" has "stays          eth0 egress"
	expect "filters" "$(filters_of)" = "$before"
	ctl h1 clean >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of clean" $? -eq 0
	expect "what it prints" "$(<"$CASE_DIR/ctl.txt")" has "removed        eth0 egress"
	expect "what it says" "$(<"$CASE_DIR/ctl.log")" has "default congestion control: ${CC}h1 -> "
	expect "filters" "$(filters_of)" = ""
	! pins_left || fail "pins are left"

	# Somebody removed the pins by hand: --detach cannot find the filters any more.
	daemon_start h1
	daemon_kill h1
	pins_remove
	expect "filters that are left" "$(filters_of)" != ""
	wait_for 20 "the daemon is taken for dead" clean_would_remove 2
	net_in h1 "$BUILD/sluicectl" --pin-dir "$PINS/ssys-h1" clean >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of clean" $? -eq 0
	expect "what it says of the rest" "$(<"$CASE_DIR/ctl.log")" has "clsact qdiscs"
	expect "filters" "$(filters_of)" = ""
	expect "routes" "$(net_in h1 ip route show proto 83)" = ""
	ctl_refuses 2 "clean takes only --dry-run" clean --all
}

clean_would_remove() { [[ $(ctl h1 clean --dry-run --json | jq 'map(select(.would_be_removed)) | length') == "$1" ]]; }

# Everything that is for everybody works, and the rest names what is missing.
operator__as_nobody() {
	local command

	nobody_can
	net_up
	daemon_start h1
	for command in "why :1" int "flows --top 1" set "set mode observe"; do
		# shellcheck disable=SC2086
		as_nobody sluicectl --pin-dir "$PINS/ssys-h1" $command >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
		expect "exit status of sluicectl $command as nobody" $? -eq 1
		expect "what $command says" "$(<"$CASE_DIR/ctl.log")" has "CAP_BPF"
		expect "what $command prints" "$(<"$CASE_DIR/ctl.txt")" = ""
	done
	for command in clean "clean --dry-run"; do
		# shellcheck disable=SC2086
		as_nobody sluicectl --pin-dir "$PINS/ssys-h1" $command >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
		expect "exit status of sluicectl $command as nobody" $? -eq 1
		expect "what $command says" "$(<"$CASE_DIR/ctl.log")" has "CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN, CAP_SYS_ADMIN"
	done
	expect "the mode" "$(status_of h1 .mode)" = enforce
	host_config h1 "auth: none" >"$WORK/nobody.yaml"
	chmod 644 "$WORK/nobody.yaml"
	as_nobody sluicectl check "$WORK/nobody.yaml" >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "what check prints" "$(<"$CASE_DIR/ctl.txt")" has "loading programs needs CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN"
}

operator__top_as_nobody() {
	need script
	nobody_can
	net_up
	daemon_start h1
	SHELL=/bin/bash TERM=xterm timeout 30 script -qec "$(declare -p NOBODY WORK); $(declare -f as_nobody)
		as_nobody sluicectl --pin-dir $PINS/ssys-h1 top" /dev/null >"$CASE_DIR/top.txt" 2>&1
	expect "exit status of top as nobody" $? -eq 1
	expect "what it says" "$(<"$CASE_DIR/top.txt")" has "CAP_BPF"
}

# top_shows COLUMNS [NODE] [TERMINAL] [KEYS]: the screen until q is pressed; the keys sort and turn the order round,
# unless others are given, and then show the help. TERMINAL is variables of its environment.
top_shows() {
	{
		sleep 2
		printf '%s' "${4:-rr}"
		sleep 1
		printf 'h'
		sleep 1
		printf 'xq'
		sleep 1
	} | timeout 30 script -qec "stty cols $1 rows 14; ${3:-TERM=xterm NO_COLOR=1} nsenter --net=/run/netns/${NET_PREFIX}${2:-h1} \
		$BUILD/sluicectl --pin-dir $PINS/ssys-${2:-h1} top" /dev/null >"$CASE_DIR/top.txt" 2>&1
}

operator__top_fills_a_terminal() {
	need script stty
	[[ -e /lib/terminfo/x/xterm || -e /usr/share/terminfo/x/xterm ]] || skip "no description of the terminal xterm here"
	operator_up
	ctl_refuses 1 "top needs a terminal: add --batch" top
	ctl_refuses 2 "top --count is of --batch" top -n 2
	ctl_refuses 2 "sluicectl flows has filters, and --json" top --json
	bulk_start h1 10.2.0.2 -P 3
	governed_soon h1
	top_shows 120
	expect "exit status of top" $? -eq 0
	expect "what it draws" "$(<"$CASE_DIR/top.txt")" has "STATE"
	expect "what it draws" "$(<"$CASE_DIR/top.txt")" has "10.2.0.2:5201"
	expect "what it draws" "$(<"$CASE_DIR/top.txt")" has "sorted by"
	expect "what it draws" "$(<"$CASE_DIR/top.txt")" has "smallest first"
	expect "what it draws" "$(<"$CASE_DIR/top.txt")" has "page up"
	top_shows 40
	expect "exit status of top with 40 columns" $? -eq 0
	expect "what it draws in 40 columns" "$(<"$CASE_DIR/top.txt")" has "LPORT Mbit/s WHY     FOR"
	expect "what it draws in 40 columns" "$(<"$CASE_DIR/top.txt")" has "$(bulk_port)"
	# Lines that are as long as this terminal is wide, or longer, are cut.
	top_shows 80 sw
	expect "what it draws of a switch in 80 columns" "$(<"$CASE_DIR/top.txt")" has "is in its ports, voqs and credits"
	top_shows 100 sw
	expect "what it draws of a switch" "$(<"$CASE_DIR/top.txt")" has "what a switch forwards is in its ports"
	expect "its ports" "$(<"$CASE_DIR/top.txt")" has p2
	expect "histories of its ports" "$(<"$CASE_DIR/top.txt")" has "0-100% 1min"
	top_shows 20 sw
	expect "exit status of top with 20 columns" $? -eq 0
	top_shows 80 sw "" p
	expect "what it draws of ports alone" "$(<"$CASE_DIR/top.txt")" has "p flows too  2 ports"
	bulk_stop
}

# coloured [COLOUR]: the output of top switches to a colour of the foreground (0 to 7: 1 is red), or is any set.
coloured() { grep -qE $'\x1b\\[([0-9]+;)*'"3${1:-[0-9]}(;[0-9]+)*m" "$CASE_DIR/top.txt"; }

operator__top_has_colours_unless_told_not_to() {
	need script stty
	[[ -e /lib/terminfo/x/xterm-256color || -e /usr/share/terminfo/x/xterm-256color ]] ||
		skip "no description of the terminal xterm-256color here"
	operator_up
	bulk_start h1 10.2.0.2
	top_shows 120 h1 TERM=xterm-256color
	! coloured 1 || fail "red where all is as it should be"
	ctl h1 bypass on >/dev/null
	top_shows 120 h1 TERM=xterm-256color
	expect "what it draws" "$(<"$CASE_DIR/top.txt")" has BYPASS
	coloured 1 || fail "bypass is not red"
	top_shows 120 h1 "TERM=xterm-256color NO_COLOR=1"
	expect "what it draws without colours" "$(<"$CASE_DIR/top.txt")" has BYPASS
	! coloured || fail "there are colours in spite of NO_COLOR"
	top_shows 120 h1 "TERM=xterm-256color NO_COLOR=1" c
	coloured 2 || fail "the key for colours brings no green bar"
	bulk_stop
}

# A terminal that knows nothing but where to write, so that lines_drawn can read it.
plain_terminal() {
	need tic
	echo 'ssys|nothing but the cursor, am, cols#80, lines#24, clear=\E[H\E[2J, cup=\E[%i%p1%d;%p2%dH,' >"$CASE_DIR/terminal"
	tic -x -o "$CASE_DIR/terminfo" "$CASE_DIR/terminal" || fail "the terminal ssys cannot be described"
}

# lines_drawn REGEX: the lines of the plain terminal that meet it, again each time that something is written into one.
lines_drawn() {
	awk -v RS='\033' -v regex="$1" '
		{ text = $0 }
		/^\[H/ { row = column = 1; text = substr(text, 3) }
		/^\[2J/ { split("", line); text = substr(text, 4) }
		match(text, /^\[[0-9]+;[0-9]+H/) {
			split(substr(text, 2, RLENGTH - 2), at, ";")
			row = at[1]; column = at[2]; text = substr(text, RLENGTH + 1)
		}
		{ n = split(text, part, /\r?\n/)
		  for (i = 1; i <= n; i++) {
			if (i > 1) { row++; column = 1 }
			line[row] = substr(sprintf("%-200s", line[row]), 1, column - 1) part[i] substr(sprintf("%-200s", line[row]), column + length(part[i]))
			column += length(part[i])
			if (part[i] != "" && line[row] ~ regex) print line[row]
		  } }' "$CASE_DIR/top.txt"
}

operator__top_is_drawn_again() {
	local seconds

	need script stty
	plain_terminal
	operator_up
	bulk_start h1 10.2.0.2
	top_shows 140 h1 "TERM=ssys TERMINFO=$CASE_DIR/terminfo"
	# FOR: how long its flow is seen to be held by the same.
	lines_drawn ":$(bulk_port) " | sed -nE 's/.* >?([0-9]+)s +governed.*/\1/p' >"$CASE_DIR/seconds.txt"
	seconds=$(xargs <"$CASE_DIR/seconds.txt")
	expect "seconds that top shows first" "${seconds%% *}" -ge 0
	expect "seconds that it shows last, of $seconds" "${seconds##* }" -gt "${seconds%% *}"
	bulk_stop
}

# on_terminal COLUMNS SECONDS ARGUMENT...: the output of sluicectl on h1, or TERMINAL_NODE, on a terminal of that width.
on_terminal() {
	local columns=$1 seconds=$2 node=${TERMINAL_NODE:-h1}

	shift 2
	timeout 30 script -qec "stty cols $columns rows 20; TERM=xterm timeout $seconds nsenter --net=/run/netns/${NET_PREFIX}$node \
		$BUILD/sluicectl --pin-dir $PINS/ssys-$node $*" /dev/null </dev/null 2>&1 | tr -d '\r' | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' \
		>"$CASE_DIR/terminal.txt"
}

longest() { awk '{ if (length > most) most = length } END { print most }' "$1"; }

# fits_terminals NODE COMMAND REGEX: on narrow terminals, too, with a line that meets the extended REGEX.
fits_terminals() {
	local TERMINAL_NODE=$1 columns

	need script stty
	for columns in 40 80; do
		on_terminal $columns 5 "$2"
		expect "columns of $2 in $columns" "$(longest "$CASE_DIR/terminal.txt")" -le $columns
		grep -qE "$3" "$CASE_DIR/terminal.txt" || fail "no line of $2 in $columns columns meets $3: $(<"$CASE_DIR/terminal.txt")"
	done
}

# operator_holds PORT WHY: what holds this flow, in two looks of which the second knows what was sent.
operator_holds() { WAIT_SEEN=$(ctl h1 flows --json --sort sent --port "$1" | jq -r '.[].why') && [[ $WAIT_SEEN == "$2" ]]; }

# The slow flows, and why, also if a line does not fit.
operator__a_narrow_terminal_says_who_and_why() {
	local columns port

	need script stty
	operator_up
	bulk_start h1 10.2.0.2 -b 1M
	port=$(bulk_port)
	# It sends a tenth of its W: it waits for its application, though its socket obeys W.
	wait_for 60 "nothing holds it" operator_holds "$port" none
	why_soon none "$port"
	bulk_stop
	bulk_start h1 10.2.0.2
	port=$(bulk_port)
	wait_for 20 "its window holds it" operator_holds "$port" window
	for columns in 40 80; do
		on_terminal $columns 5 flows --sort sent
		expect "columns of flows by sent in $columns" "$(longest "$CASE_DIR/terminal.txt")" -le $columns
		expect "its heading in $columns" "$(<"$CASE_DIR/terminal.txt")" has "WHY     FOR"
		on_terminal $columns 5 flows
		expect "columns of flows in $columns" "$(longest "$CASE_DIR/terminal.txt")" -le $columns
		expect "its lines in $columns" "$(grep -cE "^10\.2\.0\.2.* $port .* window" "$CASE_DIR/terminal.txt")" -eq 1
		on_terminal $columns 5 why ":$port"
		expect "columns of why in $columns" "$(longest "$CASE_DIR/terminal.txt")" -le $columns
		expect "words of why in $columns" "$(xargs <"$CASE_DIR/terminal.txt")" has "held by Its window W,"
		expect "words of why in $columns" "$(xargs <"$CASE_DIR/terminal.txt")" has "up to"
		on_terminal $columns 5 int
		expect "columns of int in $columns" "$(longest "$CASE_DIR/terminal.txt")" -le $columns
		expect "words of int in $columns" "$(xargs <"$CASE_DIR/terminal.txt")" has "hop 1 up to 100 Mbit/s, is"
		expect "words of int in $columns" "$(xargs <"$CASE_DIR/terminal.txt")" has " us <- bottleneck"
	done
	bulk_stop
}

# Output with a sentence at the end of its lines: the sentence continues in the next line.
operator__sentences_fit_a_narrow_terminal() {
	net_up
	switch_config | sed '/name: p2/s/}/, classes: [{share: 90%}, {dscp: [8], share: 10%}]}/' >"$CASE_DIR/sw.yaml"
	daemon_start h1 h2 sw
	server h2
	transfer h1 10.2.0.2 -n 300K
	fits_terminals h1 "stats --all" "tx_data +[0-9]+"
	expect "words of stats in 80 columns" "$(xargs -d '\n' <"$CASE_DIR/terminal.txt" | tr -s ' ')" has "$(ctl h1 stats --all |
		sed -n 's/^tx_no_peer *[0-9]* *//p')"
	fits_terminals h1 status "^  eth0 +host +100 Mbit/s"
	fits_terminals sw status "^    class 2 +10 Mbit/s"
	fits_terminals h1 set "^receive_window +true"
	fits_terminals h1 probe "^(ok|less) +eth0 mtu"
	# A path is one word.
	cp "$CASE_DIR/h1.yaml" "$WORK/a.yaml"
	fits_terminals h1 "check $WORK/a.yaml" "^ok +peer fd00::/16"
	daemon_kill h1
	sleep 3.5
	fits_terminals h1 status "start it again|adopt them"
	daemon_start h1
}

# As docs/inspect.md has it: every pinned map, with its members by name. A ring has no entries, and layout and daemon are none's but ours.
operator__every_pinned_map_can_be_read_by_bpftool() {
	local path name type formatted

	operator_up
	bulk_start h1 10.2.0.2
	governed_soon h1
	for path in "$PINS"/ssys-h1/* "$PINS"/ssys-sw/*; do
		name=${path##*/}
		type=$(bpftool -j map show pinned "$path" 2>/dev/null | jq -r '.type // empty')
		case $type in
		'') [[ $name == @(*queue|tcx_*) ]] || fail "$path is neither a map nor a link" ;;
		ringbuf) expect "ring buffers" "$name" = trace ;;
		*)
			bpftool -j map dump pinned "$path" >"$CASE_DIR/dump.json" 2>"$CASE_DIR/dump.log" ||
				fail "bpftool cannot read $path: $(<"$CASE_DIR/dump.log")"
			formatted=$(jq -r 'if length == 0 then "empty" else all(has("formatted")) end' "$CASE_DIR/dump.json")
			[[ $name == @(layout|daemon) ]] || expect "entries of $path by the names of their members" "$formatted" != false
			[[ $name != @(flows|control|ports|stats|peers|hosts) || $path == *-sw/@(flows|peers|hosts) ]] ||
				expect "entries of $path" "$formatted" = true
			;;
		esac
	done
	bulk_stop
}

# archived FILE: of the archive.
archived() { tar xOf "$CASE_DIR/support.tar" "sluice-support/$1"; }

operator__support_packs_everything_but_the_key() {
	local file

	need tar timeout
	operator_up
	bulk_start h1 10.2.0.2
	governed_soon h1
	ctl h1 support --config "$CASE_DIR/h1.yaml" --json "$CASE_DIR/support.tar" >"$CASE_DIR/ctl.json" 2>"$CASE_DIR/ctl.log"
	expect "exit status of support, which says $(<"$CASE_DIR/ctl.log")" $? -eq 0
	expect "who may read it" "$(stat -c %a "$CASE_DIR/support.tar")" = 600
	expect "its size" "$(jq .size_bytes "$CASE_DIR/ctl.json")" -eq "$(stat -c %s "$CASE_DIR/support.tar")"
	tar tf "$CASE_DIR/support.tar" | sed 's|sluice-support/||' >"$CASE_DIR/files.txt" || fail "tar cannot read it"
	expect "its files" "$(jq -r '.files[]' "$CASE_DIR/ctl.json")" = "$(<"$CASE_DIR/files.txt")"
	# As docs/sluicectl.md says; MISSING.txt also lists what the machine lacks.
	expect "the files that it is to have" "$(grep -vx MISSING.txt "$CASE_DIR/files.txt" | sort | xargs)" = "bpftool-link.txt \
bpftool-map.txt bpftool-net.txt bpftool-prog.txt bpftool-struct_ops.txt config.yaml credits.json flows.json int.json \
ip-link.txt ip-route.txt kernel.log pods.json ports.json probe.json queue.json set.json sluiced.log ss.txt stats-1.json stats-2.json status.json \
sysctl.txt tc-filter.txt tc-qdisc.txt version.txt voqs.json"
	for file in probe status flows int voqs credits pods ports queue set stats-1 stats-2; do
		archived "$file.json" | jq -e . >/dev/null || fail "$file.json is not JSON"
	done
	expect "counters the second time" "$(archived stats-2.json | jq .tx_beside)" -gt "$(archived stats-1.json | jq .tx_beside)"
	expect "programs" "$(archived bpftool-prog.txt)" has "name ingress"
	expect "where they are attached" "$(archived status.json | jq -r '.interfaces[0].attached_by')" = "$(has_tcx && echo tcx || echo clsact)"
	has_tcx || expect "qdiscs" "$(archived tc-qdisc.txt)" has "clsact"
	archived config.yaml | cmp -s - "$CASE_DIR/h1.yaml" || fail "the configuration is another"
	! grep -aiqF "$KEY" "$CASE_DIR/support.tar" || fail "the key is in the archive"
	bulk_stop

	# A key that somebody wrote into the configuration goes no further either.
	echo "auth: $KEY" >"$CASE_DIR/key.yaml"
	ctl h1 support --config "$CASE_DIR/key.yaml" "$CASE_DIR/key.tar" >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log" || fail "support ends with $?"
	! grep -aiqF "$KEY" "$CASE_DIR/key.tar" || fail "the key is in the archive"
	ctl_refuses 1 "File exists: name another" support "$CASE_DIR/support.tar"
	ctl_refuses 1 "No such file or directory" support "$CASE_DIR/none/support.tar"
	ctl_refuses 2 "usage: sluicectl support" support --all
}

# The end of what a command prints beyond 64 MiB is lacking, and that is said.
operator__support_says_what_it_cut() {
	need tar timeout
	net_up
	daemon_start h1
	mkdir "$CASE_DIR/bin"
	printf '%s\n' '#!/bin/sh' 'echo as -s says it' 'head -c 68157440 /dev/zero' >"$CASE_DIR/bin/ss"
	chmod 755 "$CASE_DIR/bin/ss"
	net_in h1 env PATH="$CASE_DIR/bin:$PATH" "$BUILD/sluicectl" --pin-dir "$PINS/ssys-h1" support --json \
		"$CASE_DIR/support.tar" >"$CASE_DIR/ctl.json" 2>"$CASE_DIR/ctl.log"
	expect "exit status of support" $? -eq 0
	expect "what it says" "$(<"$CASE_DIR/ctl.log")" has "ss.txt is not complete: cut after 64 MiB"
	expect "what is missing" "$(jq -r '.missing[] | select(.file == "ss.txt") | .reason' "$CASE_DIR/ctl.json")" has "cut after 64 MiB"
	expect "its list of what is missing" "$(archived MISSING.txt)" has "ss.txt: cut after 64 MiB"
	expect "what is there of it" "$(archived ss.txt | wc -c)" -eq $((64 << 20))
	rm "$CASE_DIR/support.tar"
}

operator__support_on_a_full_disk_and_as_nobody() {
	need timeout
	nobody_can
	net_up
	daemon_start h1
	# shellcheck disable=SC2016
	net_in h1 unshare -m --propagation unchanged sh -c 'mount --make-rprivate /sys &&
		mount -t tmpfs -o size=64k none /sys/kernel/mm && cd /sys/kernel/mm || exit 9
		"$1" --pin-dir "$2" support; status=$?; ls -A; exit $status' sh "$BUILD/sluicectl" "$PINS/ssys-h1" \
		>"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status on a full disk" $? -eq 1
	expect "what it says" "$(<"$CASE_DIR/ctl.log")" has "No space left on device: nothing is left of it"
	expect "what is left" "$(<"$CASE_DIR/ctl.txt")" = ""

	install -d -m 777 "$WORK/nobody"
	as_nobody sluicectl --pin-dir "$PINS/ssys-h1" support --json "$WORK/nobody/support.tar" >"$CASE_DIR/ctl.json" 2>"$CASE_DIR/ctl.log"
	expect "exit status as nobody" $? -eq 0
	expect "what it says" "$(<"$CASE_DIR/ctl.log")" has "flows.json is not complete: it needs CAP_BPF"
	expect "what is missing" "$(jq -r '.missing[] | select(.file == "bpftool-prog.txt") | .reason' "$CASE_DIR/ctl.json")" = \
		"it needs CAP_SYS_ADMIN"
	expect "what it has" "$(tar xOf "$WORK/nobody/support.tar" sluice-support/ip-link.txt)" has "lo:"
	expect "its list of what is missing" "$(tar xOf "$WORK/nobody/support.tar" sluice-support/MISSING.txt)" has "CAP_BPF"
}

# json_of NODE COMMAND [ARGUMENT]...: each document that it prints is as its schema says; keys go to keys_seen.
json_of() {
	local ns=$1 wrong

	shift
	if [[ $ns == - ]]; then
		"$BUILD/sluicectl" --json "$@" >"$CASE_DIR/ctl.json" 2>"$CASE_DIR/ctl.log"
	else
		ctl "$ns" --json "$@" >"$CASE_DIR/ctl.json" 2>"$CASE_DIR/ctl.log"
	fi
	[[ -s $CASE_DIR/ctl.json ]] || fail "sluicectl $* prints nothing and says $(<"$CASE_DIR/ctl.log")"
	wrong=$(schema errors "$1" <"$CASE_DIR/ctl.json" 2>&1)
	expect "what is not as the schema says of sluicectl $*" "$wrong" = ""
	schema seen "$1" <"$CASE_DIR/ctl.json" >>"$CASE_DIR/keys_seen"
}

SCHEMA=$SYSTEM_DIR/../../deploy/schema/sluicectl.json

# schema WANT COMMAND: of documents at stdin.

schema() {
	jq -r --slurpfile schema "$SCHEMA" --arg want "$1" --arg command "$2" -f "$SYSTEM_DIR/lib/schema.jq"
}

# json_soon KEY NODE COMMAND...: its output comes to have KEY.
json_soon() { wait_for 20 "$1 in what $3 prints" json_has "$@"; }

json_has() {
	json_of "${@:2}"
	grep -qx "$1" "$CASE_DIR/keys_seen"
}

# Every command, over networks in which every key has a reason to be there.
operator__json_matches_its_schema() {
	local command peers="{prefix: 10.0.0.0/8, base_rtt: 2ms, hiercc: true}, {prefix: 'fd00::/16', base_rtt: 2ms}"

	need timeout
	net_up
	for command in h1 h2; do
		host_config $command "hpcc: {variant: vai-sf}" "peers: [$peers]" |
			sed '/^interfaces:/s/}]/, pfc: obey}]/' >"$CASE_DIR/$command.yaml"
	done
	# Nothing stamps packets of h2: delay controls its flows.
	switch_config | sed "/name: p1/d; /name: p2/s/}/, ecn: 500KB, classes: [{share: 90%}, {dscp: [8], share: 10%}]}/" >"$CASE_DIR/sw.yaml"
	daemon_start h1 h2 sw
	server h1
	bulk_start h2 fd00:1::2
	json_soon flow.delay_ns h2 flows
	json_soon trace_feedback.delay_ns h2 trace --count 100
	bulk_stop
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	for command in flow.hop_rate_bps flow.bank_tokens flow.flows flow.feedback_age_ns; do
		json_soon $command h1 flows
	done
	json_soon why_hop.tx_rate_bps h1 why ":$(bulk_port)"
	json_soon why.measured_rtt_ns h1 why ":$(bulk_port)"
	for command in inflight_bytes held_by; do json_soon trace_packet.$command h1 trace --count 100; done
	for command in feedback.flows hop.tx_rate_bps; do json_soon trace_$command h1 trace --count 100; done
	json_soon path_hop.tx_rate_bps h1 int
	json_soon voq.state h1 voqs
	json_soon credit.rack h2 credits
	json_of h1 flows --sort sent
	json_soon pfc_priority.heard h1 ports
	json_of h1 status
	json_of sw status
	json_of h1 stats
	json_of h1 pods
	json_of h1 set
	json_of h1 set mode enforce
	json_of h1 set receive_window true
	json_of h1 set horizon 0us
	json_of h1 bypass off
	json_of h1 probe lo
	json_of h1 probe
	sed 's/^auth: .*/auth: none/' "$CASE_DIR/h1.yaml" >"$CASE_DIR/none.yaml"
	json_of h1 check "$CASE_DIR/none.yaml"
	# With another pin directory than that of the filters that it finds.
	net_in h1 "$BUILD/sluicectl" --pin-dir "$PINS/ssys-none" --json clean --dry-run >"$CASE_DIR/clean.json"
	expect "what is not as the schema says of clean" "$(schema errors clean <"$CASE_DIR/clean.json" 2>&1)" = ""
	schema seen clean <"$CASE_DIR/clean.json" >>"$CASE_DIR/keys_seen"
	# With a program that fails.
	mkdir "$CASE_DIR/bin"
	ln -s /bin/false "$CASE_DIR/bin/ss"
	net_in h1 env PATH="$CASE_DIR/bin:$PATH" "$BUILD/sluicectl" --pin-dir "$PINS/ssys-h1" --json support "$CASE_DIR/support.tar" \
		>"$CASE_DIR/support.json" 2>"$CASE_DIR/ctl.log"
	expect "what is not as the schema says of support" "$(schema errors support <"$CASE_DIR/support.json" 2>&1)" = ""
	schema seen support <"$CASE_DIR/support.json" >>"$CASE_DIR/keys_seen"
	printf '%s\n' "ack_seq,snd_nxt,path_id,hops,b0_bps,ts0_ns,tx0_bytes,q0_bytes" \
		"1000,50000,2,1,100000000000,1000,0,0" "51000,100000,2,1,100000000000,5000,50000,1000" >"$CASE_DIR/trace.csv"
	json_of - replay --variant vai-sf "$CASE_DIR/trace.csv"
	bulk_stop
	schema keys - <<<null | sort -u >"$CASE_DIR/keys"
	# pfc.sh has a case for a buffer that gets full, nic.sh for NICs, queue.sh for qdiscs, health.sh
	# for what is wrong, auth.sh for sequences, pods.sh for names of pods, domain.sh for domains.
	expect "keys that nothing printed" "$(sort -u "$CASE_DIR/keys_seen" | comm -13 - "$CASE_DIR/keys" | grep -vE "^(pfc_nic|queue\.|pod\.|hosts_plain|hosts_sequences|status_warning)|\.(pod|namespace|domain)$" | xargs)" = \
		"pfc_buffer.remaining_ns pfc_port.nic"
}

# Runs the lines in namespaces of their own, of processes too, and ends the daemons. Whether a flow is governed
# whose path has a stamp and at most 5 ms of queue, and the port dropped nothing.
operator_readme_governs() {
	(cd "$1" && unshare --mount --pid --fork --kill-child --mount-proc bash -c 'mkdir -p /run/netns &&
		mount -t tmpfs none /run/netns && mount -t bpf bpf /sys/fs/bpf && . ./lines.sh
		pkill -x sluiced; while pgrep -x sluiced; do sleep 0.1; done' >out.txt 2>&1 </dev/null 9>&-)
	(($(awk '$NF == "governed" && $7 == 1 && $8 <= 5000' "$1/out.txt" | wc -l) >= 1)) &&
		[[ $(grep -A 1 "^qdisc tbf" "$1/out.txt") == *"dropped 0"* ]]
}

# The lines of the README as they stand there. Where others have the CPU their sleeps may be too short, and feedback so late that
# the port drops: three times.
operator__lines_of_the_readme_govern_a_flow() {
	local readme=$SYSTEM_DIR/../../README.md dir=$CASE_DIR/readme

	[[ -f $readme ]] || skip "no README here"
	mkdir "$dir" && ln -s "$BUILD" "$dir/build"
	sed -n '/^## A governed flow/,/^## Use it/s/^    //p' "$readme" >"$dir/lines.sh"
	expect "lines of it" "$(wc -l <"$dir/lines.sh")" -le 22
	operator_readme_governs "$dir" || operator_readme_governs "$dir" || operator_readme_governs "$dir" ||
		fail "no flow is governed, or the port dropped: $(tail -n 5 "$dir/out.txt")"
}
