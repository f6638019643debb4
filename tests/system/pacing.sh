# SPDX-License-Identifier: GPL-2.0-only
# Departure times as the wire sees them. In virtual time only, where they may be asserted.

PACING_SKIP=100 # the capture itself begins with a gap

# A path that stamps nothing and holds nothing up, so that h1's departures are what is seen behind it.
pacing_up() {
	[[ ${VIRTUAL_TIME:-} ]] || skip "times can be told in the VM only"
	need tcpdump
	telemetry_in_data
	net_up
	net_in sw tc qdisc del dev p2 root
	net_in h1 tc qdisc replace dev eth0 root fq timer_slack 1 flow_limit 1000
	server h2
	host_config h2 'auth: none' >"$CASE_DIR/h2.yaml"
}

# pacing_capture FILE COUNT: arrival times (s) and lengths of packets with telemetry at the other end of h1's cable.
# They are written out when all have been seen: that takes several times as long as to keep their headers, on the one CPU
# that the sender has, too. (Of Ubuntu 24.04 tcpdump crashes where it is told to stay root and to write.)
pacing_capture() {
	timeout 60 nsenter --net="/run/netns/${NET_PREFIX}sw" tcpdump -Z nobody -i p1 -Q in -s 96 -w "$1.pcap" \
		--time-stamp-precision=nano -c "$2" 'udp dst port 5463 and greater 1000' 2>>"$CASE_DIR/tcpdump.log" ||
		fail "$2 packets were not seen: $(tail -n 1 "$CASE_DIR/tcpdump.log")"
	tcpdump -Z root -r "$1.pcap" -n -e -tt --time-stamp-precision=nano >"$1" 2>>"$CASE_DIR/tcpdump.log"
}

# pacing_is_even FILE RATE PERCENT: over full packets at RATE bit/s, mean within 0.1 %, gaps p1 and p99 within PERCENT.
pacing_is_even() {
	local figures

	# The seconds without their first digits: all nanoseconds fit into awk's numbers.
	figures=$(awk -v rate="$2" -v off="$3" -v skip=$PACING_SKIP '
		NR <= skip { next }
		{ for (i = 1; i < NF; i++) if ($i == "length") { bytes = $(i + 1) + 0; break }
		  split($1, at, "."); t = at[1] % 1000000 * 1e9 + at[2]
		  if (n++) print (t - last) * rate / (bytes * 8e9) | "sort -g >" FILENAME ".gaps"
		  else first = t
		  last = t }
		END { close("sort -g >" FILENAME ".gaps")
		  while ((getline gap < (FILENAME ".gaps")) > 0) { k++
			if (k == int(n / 100)) low = gap
			if (k == int(n * 99 / 100)) high = gap }
		  mean = (last - first) * rate / (bytes * 8e9) / (n - 1)
		  so = mean > 0.999 && mean < 1.001 && low >= 1 - off / 100 && high <= 1 + off / 100
		  printf "%d %.7f %.4f %.4f %s\n", bytes, mean, low, high, so ? "yes" : "no" }' "$1")
	[[ $figures == 1462\ *\ yes ]] || fail "at $2 bit/s packet bytes, mean gap, p1 and p99 of the ideal: $figures"
	echo "# $2 bit/s: packet bytes, mean gap, p1 and p99 of the ideal: $figures"
}

# pacing_resumes FILE RATE PAUSE_MS: the longest gap is that long, and the packets after it are never more than one ahead
# of R from there on: a late packet, as when a daemon's tick had the CPU, is followed at once by the next.
pacing_resumes() {
	local figures

	figures=$(awk -v rate="$2" -v skip=$PACING_SKIP '
		NR <= skip { next }
		{ for (i = 1; i < NF; i++) if ($i == "length") { bytes = $(i + 1) + 0; break }
		  split($1, at, "."); t = at[1] % 1000000 * 1e9 + at[2]
		  if (n++) gap[n] = t - last
		  last = t }
		END { for (i = 2; i <= n; i++) if (gap[i] > gap[m]) m = i
		  for (i = m + 1; i <= n; i++) { ahead += 1 - gap[i] * rate / (bytes * 8e9); if (ahead > most) most = ahead }
		  printf "%.1f %d %.3f", gap[m] / 1e6, n - m, most }' "$1")
	echo "# ms of the pause, packets after it, most that they are ahead: $figures"
	expect "ms of the longest gap" "${figures%%.*}" -ge "$3"
	expect "packets after it, and how many they are ahead: $figures" "$(awk '{ print ($2 > 200 && $3 <= 1) }' <<<"$figures")" -eq 1
}

# Full packets: the route leaves 152 bytes of the MTU, of which 52 are for an echo. The path stamps nothing, so R stays
# the initial rate: the speed of the port.
#
# One virtual CPU of 1 instruction a nanosecond is all of the network, and whatever else it does at the time of a
# departure delays it. So there are few PROBEs (base_rtt), and no tag is computed (auth). The sender sends several packets
# at once (a timer's microseconds), and its socket (-w) has room for all that fq holds, up to the horizon: it never waits.
# fq does not collect timers: its default timer_slack of 10 us shows up as 10 us of jitter. The rest is the tick, 3 to
# 4 us in every 68th gap of 200 Mbit/s, and what egress takes: 6.6 to 8.6 % of a gap from build to build, where we aim at 5 %.
# While anything spins, in whatever scheduling class, the CPU is never idle and the tick takes longer: 10 to 11 %.
pacing__one_flow_leaves_evenly() {
	pacing_up
	daemon_start h2
	pacing_rates_are_kept <<-END
	10 500 5 10ms 8000
	50 1000 5 10ms 8000
	100 1500 5 10ms 8000
	200 3000 10 5ms 2000
	END
}

# Each line: Mbit/s, packets, percent that p1 and p99 of the gaps may be off, horizon, timer of iperf3 (us).
pacing_rates_are_kept() {
	local mbit count off horizon timer

	while read -r mbit count off horizon timer; do
		((mbit < 200)) || [[ $(iperf3 --version) != "iperf 3.16 "* ]] ||
			skip "slower flows do; iperf3 3.16 spins between its bursts, by which p99 of a faster one is missed"
		host_config h1 "interfaces: [{name: eth0, role: host, speed: ${mbit}Mbit}]" "pacing: {horizon: $horizon}" 'auth: none' \
			'peers: [{prefix: 10.0.0.0/8, base_rtt: 40ms}]' >"$CASE_DIR/h1.yaml"
		if [[ ${DAEMON[h1]:-} ]]; then daemon_hup h1 reloaded; else daemon_start h1; fi
		bulk_udp_start h1 10.2.0.2 -b "$((mbit * 5 / 4))M/$((mbit * timer / 16000))" -w 208K -l 1336 \
			--pacing-timer "$timer"
		grows "packets with telemetry" 20 stat_of h1 tx_data
		sleep 1 # for 16 T it shares its first window with the connection of its other end's iperf3
		pacing_capture "$CASE_DIR/$mbit.txt" $((PACING_SKIP + count))
		pacing_is_even "$CASE_DIR/$mbit.txt" "${mbit}000000" "$off"
		bulk_udp_stop
	done
	daemon_stop h1
}

# A flow that was paused goes on at R from the end of the pause, and does not make up for it.
pacing__of_a_pause_begins_at_its_end() {
	local capture

	pacing_up
	host_config h1 'interfaces: [{name: eth0, role: host, speed: 50Mbit, pfc: obey}]' 'pacing: {horizon: 20ms}' 'auth: none' \
		'peers: [{prefix: 10.0.0.0/8, base_rtt: 40ms}]' >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2
	bulk_udp_start h1 10.2.0.2 -b 62M/50 -l 1336 --pacing-timer 8000 -S $PFC_TOS
	grows "packets with telemetry" 20 stat_of h1 tx_data
	flow_soon h1 "whether it has had feedback" '.feedbacks > 0' true # before that it has an eighth of R
	pacing_capture "$CASE_DIR/pause.txt" 3000 &
	capture=$!
	wait_for 20 "tcpdump listens" grep -q "listening" "$CASE_DIR/tcpdump.log"
	pfc_send 8 10000 # 102 ms, of which what was already in fq, up to the horizon, uses some
	wait $capture || fail "the capture ended: $(tail -n 1 "$CASE_DIR/tcpdump.log")"
	pacing_resumes "$CASE_DIR/pause.txt" 50000000 80
	bulk_udp_stop
	daemon_stop h1 h2
}

pacing_drops() { net_in sw tc -s -j qdisc show dev p2 root | jq '[.[].drops] | add'; }

# UDP at twice what the port carries, whose peer goes away with its programs: it leaves as to a host without Sluice.
pacing__udp_of_a_peer_that_falls_silent() {
	[[ ${VIRTUAL_TIME:-} ]] || skip "times can be told in the VM only"
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_udp_start h1 10.2.0.2 -b 200M -l 1200
	wait_for 20 "the flow of UDP is governed" governed h1
	grows "its feedback" 20 flow_of h1 .feedbacks
	expect "datagrams dropped at the port, from the first one on" "$(pacing_drops)" -eq 0
	daemon_stop h2
	counts h1 0 peer_silent
	grows "datagrams as to a host without Sluice" 20 stat_of h1 tx_peer_unknown tx_silent
	bulk_udp_stop
}

# --- what programs send ---

PACING_PORT=7001

# pacing_udp_sends ADDRESS BYTES COUNT OPTION...: one sender of tools/datagrams.c, from a socket of its own; what both ends
# print is SENT and ARRIVED.
pacing_udp_sends() {
	local address=$1 receiver

	shift
	net_exec h2 "$BUILD/datagrams" receive $PACING_PORT 500 >"$CASE_DIR/arrived.json" 2>>"$CASE_DIR/datagrams.log" 9>&- &
	receiver=$!
	wait_for 20 "the receiver listens" pacing_listens
	net_in h1 "$BUILD/datagrams" send "$address" $PACING_PORT "$@" >"$CASE_DIR/sent.json" 2>>"$CASE_DIR/datagrams.log" ||
		fail "$*: the sender failed: $(<"$CASE_DIR/datagrams.log")"
	wait $receiver || fail "$*: the receiver failed: $(<"$CASE_DIR/datagrams.log")"
	SENT=$(<"$CASE_DIR/sent.json") ARRIVED=$(<"$CASE_DIR/arrived.json")
	echo "# $*: sent $SENT, arrived $ARRIVED, dropped here $(stat_of h1 tx_horizon)"
}

pacing_listens() { [[ $(net_in h2 ss -Hun "sport = :$PACING_PORT" -l) ]]; }

# Two hosts with fq, or another qdisc that holds datagrams, and a port of 20 Mbit/s.
pacing_udp_up() {
	[[ ${VIRTUAL_TIME:-} ]] || skip "times can be told in the VM only"
	need "$BUILD/datagrams"
	NET_RATE=20mbit
	net_up
	net_has_qdisc fq || skip "no fq in this kernel"
	daemon_start h1 h2 sw
}

# Each line: bytes, datagrams, and how they are sent: 8 Mbit/s at most, of 20.
pacing__udp_below_its_share_arrives() {
	local options address

	pacing_udp_up
	for address in 10.2.0.2 fd00:2::2; do
		while read -r -a options; do
			pacing_udp_sends $address "${options[@]}"
			expect "datagrams of ${options[*]} to $address that arrive" "$(jq .datagrams <<<"$ARRIVED")" -eq "${options[1]}"
		done <<-END
		1200 1000 burst=10 every=12000
		1200 1000 gso=40 burst=40 every=48000
		1200 480 burst=80 every=100000
		1200 500 rate=1000000
		1200 100 txtime=1000
		1200 100 txtime=10000
		END
	done
	expect "datagrams dropped here" "$(stat_of h1 tx_horizon)" -eq 0
}

# A socket's own rate holds it where it is lower than R: 2,000 datagrams of 1,242 bytes at 1 MB/s take 2.48 s.
pacing__udp_at_the_rate_of_its_socket() {
	local address

	pacing_udp_up
	for address in 10.2.0.2 fd00:2::2; do
		pacing_udp_sends $address 1200 2000 rate=1000000
		expect "datagrams that arrive" "$(jq .datagrams <<<"$ARRIVED")" -eq 2000
		expect "ms that they take" "$(jq .ms <<<"$ARRIVED")" -ge 2350
		expect "ms that they take" "$(jq .ms <<<"$ARRIVED")" -le 2700
		pacing_udp_sends $address 1200 200 txtime=10000
		expect "datagrams that arrive" "$(jq .datagrams <<<"$ARRIVED")" -eq 200
		expect "ms that they take" "$(jq '.ms >= 1980 and .ms <= 2050' <<<"$ARRIVED")" = true
	done
}

pacing_backlog() { net_in sw tc -s -j qdisc show dev p2 root | jq '[.[].backlog] | add'; }

# 40 Mbit/s of 20 for two seconds: R arrives (14.0 Mbit/s: the path holds three packets), and what does not is lost here, and
# not in a queue in front of the port.
pacing__udp_beyond_its_share_is_lost_here() {
	local sender longest=0 backlog

	pacing_udp_up
	pacing_udp_sends 10.2.0.2 1200 8000 burst=4 every=1000 &
	sender=$!
	while kill -0 $sender 2>/dev/null; do
		backlog=$(pacing_backlog)
		((longest = backlog > longest ? backlog : longest))
		sleep 0.05
	done
	wait $sender || fail "the sender failed"
	ARRIVED=$(<"$CASE_DIR/arrived.json")
	echo "# longest backlog seen $longest"
	expect "kbit/s that arrive" "$(jq '.datagrams * 1242 * 8 / .ms | floor' <<<"$ARRIVED")" -ge 13000
	expect "longest backlog of the port, bytes" $longest -le 20000
	expect "datagrams dropped at the port" "$(pacing_drops)" -eq 0
	expect "datagrams dropped here" "$(stat_of h1 tx_horizon)" -ge 1000
}
