# SPDX-License-Identifier: GPL-2.0-only
# sluicectl trace: decisions as lines, and their packets, of traffic as it is.

# trace_start NODE NAME ARGUMENT...: in the background, to CASE_DIR/NAME.json and NAME.log; its process is TRACE.
trace_start() {
	local ns=$1 name=$2

	shift 2
	net_exec "$ns" "$BUILD/sluicectl" --pin-dir "$PINS/ssys-$ns" trace "$@" >"$CASE_DIR/$name.json" 2>"$CASE_DIR/$name.log" 9>&- &
	TRACE=$!
	wait_for 20 "somebody traces on $ns" trace_began "$ns"
}

trace_began() { ! kill -0 "$TRACE" 2>/dev/null || trace_is_on "$1"; }

# A field of the control map: trace_control NODE FIELD.
trace_control() { bpftool -j map dump pinned "$PINS/ssys-$1/control" | jq ".[0].formatted.value.$2"; }
trace_is_on() { (($(trace_control "$1" trace_on))); }
trace_is_off() { ! trace_is_on "$1"; }

# trace_end NAME: it ends by itself and well.
trace_end() {
	wait "$TRACE"
	expect "exit status of trace, which says $(<"$CASE_DIR/$1.log")" $? -eq 0
}

# trace_lines NAME [FILTER]: lines for which a filter of jq is true.
trace_lines() { jq -c "select(${2:-true})" "$CASE_DIR/$1.json" | wc -l; }

# trace_is_sound NAME: lines are as the schema says, their numbers are 1, 2, 3, ..., and the packets are those of the lines.
trace_is_sound() {
	local name=$1 packets=$CASE_DIR/$1.pcapng

	expect "what is not as the schema says" "$(schema errors trace <"$CASE_DIR/$name.json" 2>&1 | head -n 3)" = ""
	expect "numbers of lines" "$(jq .frame "$CASE_DIR/$name.json" | xargs)" = "$(seq -s ' ' "$(trace_lines "$name")")"
	expect "frames" "$(dissected "$packets" -T fields -e frame.number | wc -l)" -eq "$(trace_lines "$name")"
	dissected_cleanly
	# The comment is the line, and what the line says of the packet is so. Time goes through jq as text: it has too many digits.
	dissected "$packets" -T fields -e frame.comment >"$CASE_DIR/$name.comments"
	cmp -s "$CASE_DIR/$name.comments" "$CASE_DIR/$name.json" || fail "comments differ from the lines: $(diff "$CASE_DIR/$name.comments" "$CASE_DIR/$name.json" | head -n 4)"
	dissected "$packets" -T fields -e frame.len -e frame.interface_name -e frame.packet_flags_direction -e frame.time_epoch |
		awk '{ sub(/\./, "", $4); print $1, $2, $3 == "0x00000001" || $3 == 1 ? "in" : "out", $4 }' >"$CASE_DIR/$name.frames"
	jq -r '"\(.packet_bytes) \(.interface) \(if .event == "feedback" then "in" else "out" end)"' "$CASE_DIR/$name.json" |
		paste -d ' ' - <(grep -o '"time_ns":[0-9]*' "$CASE_DIR/$name.json" | cut -d : -f 2) >"$CASE_DIR/$name.lines"
	same "what frames and lines say of packets" "$CASE_DIR/$name.frames" "$CASE_DIR/$name.lines"
}

trace_network() {
	net_up
	for node in h1 h2; do
		host_config $node "$@" >"$CASE_DIR/$node.yaml"
	done
	daemon_start h1 h2 sw
	server h2
}

trace__is_what_leaves_and_what_it_was_decided_by() {
	local port wire=sluice.msg

	telemetry_in_data
	need tshark
	on_one_cpu # or lines may not be in the order of the decisions
	trace_network
	bulk_start h1 10.2.0.2
	governed_soon h1
	port=$(bulk_port)
	trace_start h1 all --port "$port" --count 400 --write "$CASE_DIR/all.pcapng"
	trace_end all
	expect "lines" "$(trace_lines all)" -eq 400
	trace_is_sound all
	expect "what it says" "$(<"$CASE_DIR/all.log")" has "400 decisions"
	expect "lines of other flows" "$(trace_lines all ".local_port != $port")" -eq 0
	expect "departures" "$(trace_lines all '.event == "departure" and .verdict == "tx_data" and .inflight_bytes >= 0 and .w_bytes > 0')" -ge 20
	expect "feedback" "$(trace_lines all '.event == "feedback" and .kind != "skipped" and (.hops | length) == 1 and .hops[0].speed_bps == 100000000')" -ge 20
	expect "hops that decided" "$(trace_lines all '.event == "feedback" and .hops[0].bottleneck and .hops[0].tx_rate_bps > 10000000')" -ge 20
	# W goes on from where the line before it left it.
	expect "breaks in W" "$(jq -s '[.[] | select(.event == "feedback")] | [.[:-1], .[1:]] | transpose |
		map(select(.[0].w_bytes != .[1].w_before_bytes)) | length' "$CASE_DIR/all.json")" -eq 0
	# The telemetry on the wire is that of the lines.
	jq -r 'select(.event == "feedback") | "\(.ack_seq % 4294967296) \(.path_id) \(.hops[0].qlen_bytes)"' "$CASE_DIR/all.json" >"$CASE_DIR/lines"
	dissected "$CASE_DIR/all.pcapng" -Y 'frame.packet_flags_direction == 1 && sluice.echo' -T fields -E occurrence=l -e sluice.echo.seq \
		-e sluice.echo.path_id -e sluice.hop.qlen_bytes | while read -r seq path queue; do echo "$seq $((path)) $queue"; done >"$CASE_DIR/frames"
	same "echoes" "$CASE_DIR/lines" "$CASE_DIR/frames"
	expect "departures that are not read as Sluice's" "$(dissected_count "$CASE_DIR/all.pcapng" \
		'frame.packet_flags_direction == 2 && frame.comment contains "tx_data" && !sluice.msg')" -eq 0
	trace_is_off h1 || fail "it is on still"
	bulk_stop
}

# The replay of a flow's feedback gives the decisions of the kernel, to the last digit: as docs/sluicectl.md does it.
trace__can_be_replayed() {
	local port

	on_one_cpu # or lines may not be in the order of the decisions
	trace_network
	trace_start h1 whole --for 4
	bulk_start h1 10.2.0.2
	port=$(bulk_port)
	trace_end whole
	expect "what it says" "$(<"$CASE_DIR/whole.log")" has ", 0 lost"
	jq -c "select(.event == \"feedback\" and .local_port == $port)" "$CASE_DIR/whole.json" >"$CASE_DIR/feedback.json"
	expect "feedback" "$(wc -l <"$CASE_DIR/feedback.json")" -ge 50
	jq -r '[.ack_seq, .snd_nxt, .path_id, .flows // 0, ([.gap_ns // 0, 0] | max), (.hops | length)] +
		[.hops[] | .speed_bps, .ts_ns, .tx_bytes, .qlen_bytes] | @csv' "$CASE_DIR/feedback.json" |
		sed '1i ack_seq,snd_nxt,path_id,flows,gap_ns,hops,b0_bps,ts0_ns,tx0_bytes,q0_bytes' |
		"$BUILD/sluicectl" --json replay --base-rtt-ns 2000000 --nic-bps 100000000 --packet-bytes 1514 \
			--w-first-bytes "$(jq -s '.[0].w_bytes' "$CASE_DIR/feedback.json")" - >"$CASE_DIR/replayed.json" ||
		fail "replay does not take it"
	for file in feedback replayed; do
		jq -c '[.kind, .u, .w_bytes, .wc_bytes, .inc_stage, .rate_bps]' "$CASE_DIR/$file.json" >"$CASE_DIR/$file.txt"
	done
	same "decisions" "$CASE_DIR/feedback.txt" "$CASE_DIR/replayed.txt"
	bulk_stop
}

trace__by_xdp() {
	need tshark
	trace_network "interfaces: [{name: eth0, role: host, speed: ${NET_RATE^}, xdp: generic}]"
	bulk_start h1 10.2.0.2
	governed_soon h1
	counts h1 0 rx_xdp
	trace_start h1 xdp --count 200 --write "$CASE_DIR/xdp.pcapng"
	trace_end xdp
	trace_is_sound xdp
	expect "feedback" "$(trace_lines xdp '.event == "feedback"')" -ge 20
	expect "frames of it that are not read as Sluice's" "$(dissected_count "$CASE_DIR/xdp.pcapng" \
		'frame.packet_flags_direction == 1 && !sluice.msg')" -eq 0
	bulk_stop
}

trace__has_what_is_held_and_dropped_with_fq() {
	net_has_qdisc fq || skip "no fq in this kernel"
	trace_network "pacing: {horizon: 1ms}"
	bulk_udp_start h1 10.2.0.2 -b 200M -l 1200
	trace_start h1 drops --peer 10.2.0.2 --count 600
	trace_end drops
	expect "drops" "$(trace_lines drops '.event == "drop" and .verdict == "tx_horizon" and .waits_ns > 1000000 and (has("held_by") | not)')" -ge 20
	expect "departures that wait" "$(trace_lines drops '.event == "departure" and .held_by == "rate" and .waits_ns > 0')" -ge 20
	bulk_udp_stop
}

trace__one_at_a_time_and_for_a_limited_time() {
	local killed

	trace_network
	bulk_start h1 10.2.0.2
	trace_start h1 first
	ctl h1 trace --for 1 >"$CASE_DIR/second.json" 2>"$CASE_DIR/ctl.log"
	expect "exit status of a second one" $? -eq 1
	expect "what it says" "$(<"$CASE_DIR/ctl.log")" has "process $TRACE traces already: end it first"
	expect "what it prints" "$(<"$CASE_DIR/second.json")" = ""
	kill -INT "$TRACE"
	trace_end first
	trace_is_off h1 || fail "it is on after it was interrupted"
	expect "its claim" "$(trace_control h1 trace_until_ns)" -eq 0
	expect "what it says" "$(<"$CASE_DIR/first.log")" has "decisions, "
	jq -e . "$CASE_DIR/first.json" >/dev/null || fail "its last line is not whole"
	trace_start h1 killed --write "$CASE_DIR/killed.pcapng"
	killed=$TRACE
	wait_for 20 "lines" test -s "$CASE_DIR/killed.json"
	kill -KILL "$killed"
	wait "$killed" 2>/dev/null
	wait_for 10 "it is off again" trace_is_off h1
	# Records that nobody has read do not go to the next tracer.
	trace_start h1 next --count 50
	trace_end next
	expect "lines" "$(trace_lines next)" -eq 50
	# Without a daemon, too.
	daemon_kill h1
	trace_start h1 alone --for 1 --every 10
	trace_end alone
	expect "lines" "$(trace_lines alone)" -ge 5
	daemon_start h1
	bulk_stop
}

# trace_refuses STATUS WORDS ARGUMENT...
trace_refuses() {
	local status=$1 words=$2

	shift 2
	ctl h1 trace "$@" >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of trace $*" $? -eq "$status"
	expect "what trace $* says" "$(<"$CASE_DIR/ctl.log")" has "$words"
	expect "what trace $* prints" "$(<"$CASE_DIR/ctl.txt")" = ""
}

trace__says_what_is_wrong() {
	need timeout
	net_up
	daemon_start h1
	trace_refuses 2 "is not a number from 1 to" --count 0
	trace_refuses 2 "is not a number from 1 to" --every x
	trace_refuses 2 "is not a number from 1 to 65535" --port 70000
	trace_refuses 2 "is not a number of seconds" --for 0
	trace_refuses 2 "is neither an address nor a prefix" --peer 10.2.0.300
	trace_refuses 2 "takes options, not 'nonsense'" nonsense
	echo mine >"$CASE_DIR/there"
	trace_refuses 1 "is there already: name another file" --write "$CASE_DIR/there"
	expect "what was there" "$(<"$CASE_DIR/there")" = mine
	trace_refuses 1 "No such file or directory" --write "$CASE_DIR/none/x"
	trace_is_off h1 || fail "it is on after it failed"
	trace_refuses 0 "0 decisions, 0 lost" --for 0.2
	ctl h1 bypass on >/dev/null
	trace_refuses 0 "bypass is on" --for 0.2
	ctl h1 bypass off >/dev/null
	# A disk that is full.
	mkdir "$CASE_DIR/small"
	mount -t tmpfs -o size=16k tmpfs "$CASE_DIR/small"
	daemon_start h2 sw
	server h2
	bulk_start h1 10.2.0.2
	ctl h1 trace --write "$CASE_DIR/small/x.pcapng" >/dev/null 2>"$CASE_DIR/ctl.log"
	expect "exit status on a full disk" $? -eq 1
	umount "$CASE_DIR/small"
	expect "what it says on a full disk" "$(<"$CASE_DIR/ctl.log")" has "No space left on device"
	# A reader that closes its end stops it.
	ctl h1 trace 2>"$CASE_DIR/ctl.log" | head -n 3 >"$CASE_DIR/three.json"
	expect "lines" "$(trace_lines three)" -eq 3
	trace_is_off h1 || fail "it is on without a reader"
	bulk_stop
	ctl h1 trace --port 1 --for 3 >/dev/null 2>"$CASE_DIR/ctl.log"
	expect "what it says of an idle host" "$(<"$CASE_DIR/ctl.log")" has "nothing yet: in 2 s Sluice has decided on no packet of these"
	ctl h1 trace --pin-dir "$PINS/ssys-none" >/dev/null 2>"$CASE_DIR/ctl.log"
	expect "exit status without pins" $? -eq 1
	expect "what it says without pins" "$(<"$CASE_DIR/ctl.log")" has "nothing is pinned there"
	nobody_can
	as_nobody sluicectl --pin-dir "$PINS/ssys-h1" trace --for 1 >/dev/null 2>"$CASE_DIR/ctl.log"
	expect "exit status as nobody" $? -eq 1
	expect "what it says as nobody" "$(<"$CASE_DIR/ctl.log")" has "not allowed: reading BPF maps needs root, or CAP_BPF"
}
