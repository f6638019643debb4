# SPDX-License-Identifier: GPL-2.0-only
# Pauses that the qdisc `sluice` obeys when a packet is about to leave, beside those that egress makes departures of for fq.

# pause_config QUEUE: h1 obeys, with that qdisc.
pause_config() {
	host_config h1 "interfaces: [{name: eth0, role: host, speed: 100Mbit, pfc: obey, queue: $1}]" "pfc: {watchdog: 5s}"
}

# pause_xon_us: a pause of 335 ms, ended by XON after 100: PAUSE_DURING is how many data packets came in 50 ms of it, PAUSE_XON_US
# the time from XON to the next one.
pause_xon_us() {
	local capture

	rm -f "$CASE_DIR/xon.pcap"
	net_exec h1 tcpdump -Z root -U --immediate-mode -i eth0 -w "$CASE_DIR/xon.pcap" 'ether proto 0x8808 or greater 1000' \
		2>"$CASE_DIR/tcpdump.log" 9>&- &
	capture=$!
	wait_for 20 "tcpdump listens" grep -q "listening" "$CASE_DIR/tcpdump.log"
	pfc_send 8 65535
	sleep 0.1
	pfc_send 8 0
	sleep 0.5
	kill "$capture"
	wait "$capture" 2>/dev/null
	read -r PAUSE_DURING PAUSE_XON_US < <(tcpdump -r "$CASE_DIR/xon.pcap" -n -ttttt -e 2>/dev/null | awk '
		{ split($1, t, ":"); now = (t[1] * 3600 + t[2] * 60 + t[3]) * 1e6 }
		!/ethertype IPv4/ { frames++; if (frames == 1) paused = now; else xon = now; next }
		frames == 1 && now > paused + 5e4 { during++ }
		frames == 2 && !after { after = now - xon }
		END { printf "%d %d\n", during, after }')
}

# A departure time cannot be taken back; a packet in the qdisc leaves when its pause ends, by XON too.
queue__xon_releases_what_waits() {
	local fq port=7777

	need tcpdump
	queue_needed
	net_up
	pause_config sluice >"$CASE_DIR/h1.yaml"
	daemon_start h1
	queue_registered
	daemon_start h2 sw
	server h2
	pause_config fq >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "reloaded"
	bulk_start h1 10.2.0.2 -S $PFC_TOS
	governed_soon h1
	pause_xon_us
	fq=$PAUSE_XON_US
	bulk_stop
	pause_config sluice >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "reloaded"
	# The first connection may still be there, and has more bytes.
	bulk_start h1 10.2.0.2 -S $PFC_TOS --cport $port
	governed_soon h1
	pause_xon_us
	echo "# us from XON to the next packet: $PAUSE_XON_US with sluice, $fq with fq; $PAUSE_DURING packets in 50 ms of the pause"
	expect "us with fq, where packets wait for the end of the pause" "$fq" -ge 100000
	expect "us with sluice" "$PAUSE_XON_US" -le 2000
	expect "packets in 50 ms of the pause" "$PAUSE_DURING" -le 2
	expect "flows that a pause held" "$(queue_count .pauses)" -ge 1
	expect "packets that came in a pause" "$(stat_of h1 pfc_held)" -ge 1
	wait_for 20 "the pause is what holds the flow" pfc_during 100 why_is pause $port
	wait_for 20 "a flow that is paused for longer than a second is not idle" pfc_during 1200 why_is pause $port
	wait_for 20 "why tells how many flows a pause holds" pfc_during 100 pause_is_told_by_why $port
	# Another priority is not held.
	pfc_send 0xf7 65535 10 100000 &
	grows "packets at p1 while others are paused" 20 pfc_received
	wait $!
	bulk_unharmed
	bulk_stop
	# UDP waits in its socket, and loses nothing.
	pfc_send 8 6553 20 100000 &
	net_exec h1 iperf3 -J -u -b 50M -l 1200 -t 3 -S $PFC_TOS -c 10.2.0.2 >"$CASE_DIR/udp.json" 2>>"$CASE_DIR/iperf3.log" 9>&- ||
		fail "iperf3: $(jq -r .error "$CASE_DIR/udp.json")"
	wait $!
	expect "datagrams lost in pauses" "$(jq .end.sum.lost_packets "$CASE_DIR/udp.json")" -eq 0
	expect "packets that sluice dropped" "$(queue_count '.packets[1:] | add')" -eq 0
	servers_stop
	# A pause goes with the link, and the qdisc with its daemon.
	pfc_send 8 65535
	net_in h1 ip link set eth0 down && net_in h1 ip link set eth0 up || fail "the link"
	expect "pauses that sluice obeys" "$(bpftool -j map dump pinned "$PINS/ssys-h1/queue_pauses" |
		jq '[.[].formatted.value.until_ns[]] | add')" -eq 0
	daemon_stop h1 h2 sw
}

pause_is_told_by_why() {
	ctl h1 why ":$1" >"$CASE_DIR/why.txt"
	grep -q "The qdisc sluice of eth0 holds .* for a pause" "$CASE_DIR/why.txt"
}

# pause_users ID: how many programs at ingress have the map.
pause_users() { bpftool -j prog show | jq "[.[] | select(.name == \"ingress\" and (.map_ids // [] | index($1)))] | length"; }

# The name of the qdisc is the machine's, and any daemon's ingress may hear a pause for it.
queue__pauses_are_told_by_each_daemon() {
	local id

	queue_needed
	net_up
	daemon_start h1
	queue_registered
	daemon_start h2
	id=$(bpftool -j map show pinned "$PINS/ssys-h1/queue_pauses" | jq .id)
	expect "daemons whose ingress tells the qdisc" "$(pause_users "$id")" -eq 2
	queue_install
	expect "interfaces with pauses of their own" "$(bpftool -j map dump pinned "$PINS/ssys-h1/queue_pauses" | jq length)" -eq 1
	daemon_kill h1
	daemon_start h1
	expect "daemons whose ingress tells the qdisc, after a crash" "$(pause_users "$id")" -eq 2
	net_in h1 tc qdisc del dev eth0 root
	expect "interfaces with pauses of their own" "$(bpftool -j map dump pinned "$PINS/ssys-h1/queue_pauses" | jq length)" -eq 0
	daemon_stop h2 h1
	[[ ! -e $PINS/ssys-h1/queue_pauses ]] || fail "the pin of the map is left"
}
