# SPDX-License-Identifier: GPL-2.0-only
# Pauses: a switch that sends them, a host that is sent some, and what becomes of both when one of them dies.

PFC_TOS=96 # CS3: priority 3

# pfc_switch KIND KEYS: both ports of the switch, and the section pfc.
pfc_switch() {
	switch_config | sed "s/, id: /, pfc: $1, id: /"
	echo "pfc: {$2}"
}

# pfc_host [KEYS]: h1 obeys.
pfc_host() {
	host_config h1 "interfaces: [{name: eth0, role: host, speed: 100Mbit, pfc: obey}]"
	echo "pfc: {${1:-}}"
}

# ports_of NODE PORT FIELD: of priority 3; FIELD is a jq expression.
ports_of() {
	ctl "$1" ports --json | jq -r ".ports[] | select(.name == \"$2\").priorities[] | select(.priority == 3) | $3"
}

ports_soon() { wait_for 20 "$3 of $2 is $4" ports_are "$@"; }

ports_are() { [[ $(ports_of "$1" "$2" "$3") == "$4" ]]; }

# After a pause that lasted longer than the watchdog's time the state is `open`.
pause_is_over() { [[ $(ports_of "$1" "$2" .state) == @(expired|open) ]]; }

# On a busy machine a pause ends now and then before the next one is sent.
ports_say() { [[ $(ctl "$1" ports) == *"$2"* ]]; }

pfc_links() { (cd "$PINS/ssys-sw" && printf '%s\n' pfc_*queue | sort | xargs); }

pfc_total() { ctl sw ports --json | jq ".ports[] | select(.name == \"$1\").queue_bytes"; }

pfc_backlog() { net_in sw tc -s -j qdisc show dev "$1" root | jq '.[0].backlog'; }

pfc_waits() { (($(pfc_backlog "$1") > $2)); }

# The sum agrees with tc: it is between two readings, because the queue moves on.
pfc_is_exact() {
	local before now after

	before=$(pfc_backlog "$1")
	now=$(pfc_total "$1")
	after=$(pfc_backlog "$1")
	((now >= (before < after ? before : after) - 4000 && now <= (before > after ? before : after) + 4000))
}

# pfc_send VECTOR QUANTA [COUNT INTERVAL_US]: the switch to h1.
pfc_send() {
	net_in sw "$BUILD/pause" p1 "$1" "$2" "${3:-1}" "${4:-1000}" || fail "the PFC frame cannot be sent"
}

pfc_received() { net_in sw ip -s -j link show dev p1 | jq '.[0].stats64.rx.packets'; }

# Traffic that comes in at 150 Mbit/s and leaves at 100 is counted, and its sender is paused: first by prediction.
pfc__switch_pauses_the_ports_that_fill_it() {
	local capture quanta

	need tcpdump tshark
	net_up without-fq
	pfc_switch ppfc "buffer: 400KB, k_max: 10KB, seed: 1" >"$CASE_DIR/sw.yaml"
	daemon_start sw
	bpf_of sw >"$CASE_DIR/objects.txt"
	expect "links" "$(pfc_links)" = "pfc_dequeue pfc_enqueue"
	net_exec h1 tcpdump -Z nobody -U --immediate-mode -i eth0 -w "$CASE_DIR/pauses.pcap" 'ether proto 0x8808' >"$CASE_DIR/tcpdump.log" 2>&1 9>&- &
	capture=$!
	wait_for 20 "tcpdump listens" grep -q 'listening' "$CASE_DIR/tcpdump.log"
	server h2
	bulk_udp_start h1 10.2.0.2 -b 150M -l 1400 -S $PFC_TOS
	ports_soon sw p1 '.predicted > 0' true
	grows "XOFF" 20 ports_of sw p1 '.xoffs + .refreshes'
	wait_for 20 "its queue by ingress port is p1's" ports_are sw p2 '.queue_by_ingress_bytes | keys[0]' p1
	json_soon pfc_buffer.remaining_ns sw ports
	expect "pauses of p2, which nobody fills" "$(ports_of sw p2 '.xoffs + .predicted')" -eq 0
	wait_for 20 "the text says xoff" ports_say sw xoff
	fits_terminals sw ports "^p2 +3 "
	ctl sw --json ports | schema errors ports >"$CASE_DIR/errors.txt" 2>&1
	expect "what is not as the schema says of ports" "$(<"$CASE_DIR/errors.txt")" = ""
	wait_for 20 "the sum is the backlog" pfc_is_exact p2
	bulk_udp_stop
	wait_for 20 "the queue is empty" test_total p2 0
	ports_soon sw p2 '.queue_by_ingress_bytes | length' 0
	ports_soon sw p1 .told -
	expect "XON" "$(ports_of sw p1 .xons)" -ge 1
	kill -TERM $capture
	wait $capture
	quanta=$(tshark -r "$CASE_DIR/pauses.pcap" -T fields -e macc.opcode -e macc.cbfc.enbv -e macc.cbfc.pause_time.c3 2>/dev/null |
		sort -u)
	expect "opcode and vector of all frames" "$(cut -f 1,2 <<<"$quanta" | sort -u | xargs)" = "0x0101 0x0008"
	expect "quanta of the longest" "$(cut -f 3 <<<"$quanta" | sort -n | tail -n 1)" -gt 0
	expect "quanta of XON" "$(cut -f 3 <<<"$quanta" | sort -n | head -n 1)" -eq 0
	daemon_stop sw
	servers_stop
	wait_for 300 "the BPF objects of the daemon are gone (left.txt)" bpf_none_left "$CASE_DIR/objects.txt"
}

test_total() { [[ $(pfc_total "$1") == "$2" ]]; }

# Traffic that is not lossless, and a switch that only obeys, pauses no neighbour; a reload changes that.
pfc__follows_the_file() {
	net_up without-fq
	pfc_switch obey "buffer: 200KB" >"$CASE_DIR/sw.yaml"
	daemon_start sw
	server h2
	bulk_udp_start h1 10.2.0.2 -b 150M -l 1400 -S $PFC_TOS
	wait_for 20 "the queue is counted" pfc_is_exact p2
	expect "pauses of a switch that obeys" "$(ports_of sw p1 '.xoffs + .predicted')" -eq 0
	pfc_switch pfc "buffer: 200KB, lossless: [5]" >"$CASE_DIR/sw.yaml"
	daemon_hup sw reloaded
	expect "pauses of another priority" "$(ctl sw ports --json | jq '[.ports[].priorities[].xoffs] | add')" -eq 0
	pfc_switch pfc "buffer: 200KB, xoff: 30KB" >"$CASE_DIR/sw.yaml"
	daemon_hup sw reloaded
	grows "XOFF" 20 ports_of sw p1 '.xoffs + .refreshes'
	expect "predictions where none are wanted" "$(ports_of sw p1 .predicted)" -eq 0
	switch_config >"$CASE_DIR/sw.yaml"
	daemon_hup sw reloaded
	expect "links" "$(pfc_links)" = "pfc_*queue"
	expect "ports" "$(ctl sw ports --json | jq '.ports | length')" -eq 0
	expect "filters at p1's ingress" "$(filters_of sw p1 ingress)" = ""
	bulk_udp_stop
	daemon_stop sw
}

# XOFF, its end, frames that are bad, a storm, a link that goes down: with fq or without.
pfc__host_notes_what_it_hears() {
	local bad

	net_up
	pfc_host "watchdog: 300ms" >"$CASE_DIR/h1.yaml"
	daemon_start h1
	ports_soon h1 eth0 .state open
	# A veth has no PFC in hardware, and no message mentions it.
	expect "NIC of h1" "$(ctl h1 ports --json | jq ".ports[0] | has(\"nic\")")" = false
	expect "what h1 says of NICs" "$(grep -c NIC "$CASE_DIR/h1.log")" -eq 0
	pfc_send 8 65535
	expect "pauses heard" "$(ports_of h1 eth0 .heard)" -eq 1
	pfc_send 8 0
	ports_soon h1 eth0 .state resumed
	expect "XON heard" "$(ports_of h1 eth0 .resumed)" -eq 1
	bad=$(stat_of h1 pfc_bad_vector)
	pfc_send 0x0108 65535
	counts h1 "$bad" pfc_bad_vector
	pfc_send 1 65535
	counts h1 0 pfc_lossy
	expect "pauses heard" "$(ports_of h1 eth0 .heard)" -eq 1
	pfc_send 8 10
	ports_soon h1 eth0 .state expired
	# 65535 quanta, without end: 335 ms each.
	pfc_send 8 65535 20 100000
	ports_soon h1 eth0 .state storm
	wait_for 20 "the daemon says so" said h1 "has paused it for 300 ms without a break"
	expect "storms" "$(ports_of h1 eth0 .storms)" -ge 1
	ports_soon h1 eth0 .state open
	# The pauses heard over a link go with it.
	pfc_send 8 65535
	net_in sw ip link set p1 down
	wait_for 20 "the port is down" pfc_port_is h1 .down true
	ports_soon h1 eth0 .state open
	net_in sw ip link set p1 up
	wait_for 20 "the port is up" pfc_port_is h1 .down false
	# And without 'pfc: obey' nothing is noted.
	host_config h1 >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	pfc_send 8 65535
	counts h1 0 pfc_unwanted
	daemon_stop h1
}

pfc_port_is() { [[ $(ctl "$1" ports --json | jq -r ".ports[0] | $2") == "$3" ]]; }

# The priority of a VLAN's tag, as a bridge forwards it; and a packet whose tag was removed has none, also on a kernel that
# leaves the number behind.
pfc__priority_of_a_vlan_tag() {
	local node

	net_has_vlan || skip "no VLAN devices (8021q) in this kernel"
	net_up without-fq
	for node in 1 2; do
		net_in h$node ip link add link eth0 name eth0.5 type vlan id 5 egress-qos-map 0:3 &&
			net_in h$node ip address add 10.5.0.$node/24 dev eth0.5 && net_in h$node ip link set eth0.5 up ||
			fail "a VLAN on eth0 of h$node cannot be made"
	done
	net_in sw ip link add br0 type bridge && net_in sw ip link set br0 up && net_in sw ip link set p1 master br0 &&
		net_in sw ip link set p2 master br0 || skip "no bridge in this kernel"
	pfc_switch ppfc "buffer: 400KB, k_max: 10KB, trust: pcp" >"$CASE_DIR/sw.yaml"
	daemon_start sw
	server h2
	bulk_udp_start h1 10.5.0.2 -b 150M -l 1400
	ports_soon sw p1 '.predicted > 0' true
	ports_soon sw p2 '.queue_bytes > 10000' true
	net_in sw ip link set br0 type bridge vlan_filtering 1
	net_in sw bridge vlan add dev p1 vid 5
	net_in sw bridge vlan add dev p2 vid 5 untagged
	ports_soon sw p2 .queue_bytes 0
	wait_for 20 "10 KB wait at p2" pfc_waits p2 10000
	expect "queue of priority 3 at p2" "$(ports_of sw p2 .queue_bytes)" -eq 0
	bulk_udp_stop
	daemon_stop sw
}

# pfc_wakes NODE: how often its daemon waits for an event in 2 s.
pfc_wakes() {
	local status=/proc/${DAEMON[$1]}/status before

	before=$(awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "$status")
	sleep 2
	awk -v before="$before" '$1 == "voluntary_ctxt_switches:" { print $2 - before }' "$status"
}

# In bypass there are no rounds, whether it begins with a long queue or a queue gets long in it, and they begin again after it.
pfc__bypass_has_no_rounds() {
	local wakes how

	net_up without-fq
	pfc_switch ppfc "buffer: 400KB, k_max: 10KB, seed: 1" >"$CASE_DIR/sw.yaml"
	daemon_start sw
	server h2
	for how in "begins with a long queue" "had no queue at first"; do
		[[ $how == begins* ]] || { ctl sw bypass on >/dev/null && sleep 1; }
		bulk_udp_start h1 10.2.0.2 -b 150M -l 1400 -S $PFC_TOS
		wait_for 20 "10 KB wait at p2" pfc_waits p2 10000
		[[ $how != begins* ]] || { grows "XOFF" 20 ports_of sw p1 '.xoffs + .refreshes' && ctl sw bypass on >/dev/null; }
		sleep 1
		wakes=$(pfc_wakes sw)
		echo "# wake-ups in 2 s of bypass that $how: $wakes"
		expect "wake-ups in 2 s of bypass that $how" "$wakes" -le 200
		ctl sw bypass off >/dev/null
		grows "XOFF after bypass that $how" 20 ports_of sw p1 '.xoffs + .refreshes'
		bulk_udp_stop
		wait_for 20 "the queue is empty" test_total p2 0
		sleep 1
		echo "# wake-ups in 2 s without traffic: $(pfc_wakes sw)"
	done
	servers_stop
	daemon_stop sw
}

# A daemon that dies with pauses in force leaves none behind.
pfc__daemon_dies_and_its_pauses_run_out() {
	net_up
	pfc_switch pfc "buffer: 200KB, xoff: 20KB" >"$CASE_DIR/sw.yaml"
	pfc_host >"$CASE_DIR/h1.yaml"
	# In observe nothing is held, so that the queue stays long.
	sed -i 's/^mode: enforce/mode: observe/' "$CASE_DIR/h1.yaml"
	daemon_start sw h1
	server h2
	bulk_udp_start h1 10.2.0.2 -b 150M -l 1400 -S $PFC_TOS
	grows "pauses heard" 20 ports_of h1 eth0 .heard
	wait_for 20 "a pause is in force" ports_are h1 eth0 .state paused
	daemon_kill sw
	wait_for 20 "the pause runs out" pause_is_over h1 eth0
	# The tracepoints go on, and the next daemon finds the queue as it is.
	wait_for 20 "the sum is the backlog" pfc_is_exact p2
	daemon_start sw
	grows "pauses heard" 20 ports_of h1 eth0 .heard
	wait_for 20 "the sum is the backlog" pfc_is_exact p2
	bulk_udp_stop
	# An orderly end releases the neighbours that XOFF holds.
	daemon_stop sw h1
}

# Held at the end of the cable: nothing of the priority arrives in a pause, and all else does.
pfc__paused_flow_waits_with_fq() {
	local before during port

	net_up
	[[ $NET_FQ ]] || skip "departure times need fq"
	pfc_host "watchdog: 5s" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2 -S $PFC_TOS
	governed_soon h1
	grows "packets at p1" 20 pfc_received
	pfc_send 8 65535 4 100000 & # 300 ms and 335 ms
	sleep 0.05 # packets that had their departure leave
	before=$(pfc_received)
	sleep 0.2
	during=$(pfc_received)
	wait $!
	expect "packets in 200 ms of the pause" $((during - before)) -le 20 # of 1600: packets of other priorities
	expect "packets given the end of a pause" "$(stat_of h1 pfc_held)" -ge 1
	grows "packets at p1" 20 pfc_received
	port=$(bulk_port)
	wait_for 20 "the pause is what holds the flow" pfc_during 100 why_is pause "$port"
	# Another priority is not held.
	pfc_send 0xf7 65535 10 100000 &
	grows "packets at p1 while others are paused" 20 pfc_received
	wait $!
	bulk_unharmed
	bulk_stop
	daemon_stop h1 h2 sw
}

# pfc_during MS COMMAND...: the command, MS after a pause began that goes on for 500 ms, and then XON.
pfc_during() {
	local ms=$1 pauses status

	shift
	pfc_send 8 65535 $((ms / 100 + 5)) 100000 &
	pauses=$!
	sleep "$((ms / 1000)).$((ms % 1000 / 100))"
	"$@"
	status=$?
	wait "$pauses"
	pfc_send 8 0 # the next try finds a flow that sends
	return $status
}

# Its pauses are forgotten by then, and its program is removed all the same.
pfc__program_that_could_not_be_removed_is_removed_by_the_next_detach() {
	[[ -e $BUILD/accident.so ]] || skip "no accident.so: make build/accident.so"
	attach_by_clsact # links at tcx end with their pins
	net_up
	pfc_switch pfc "buffer: 400KB" >"$CASE_DIR/sw.yaml"
	daemon_start sw
	daemon_kill sw
	# The second is the ingress filter of the first port.
	! net_in sw env LD_PRELOAD="$BUILD/accident.so" ACCIDENT="fail bpf_tc_detach 2" "$BUILD/sluiced" --detach \
		--pin-dir "$PINS/ssys-sw" >"$CASE_DIR/detach.log" 2>&1 || fail "--detach succeeds: $(<"$CASE_DIR/detach.log")"
	expect "what it says" "$(<"$CASE_DIR/detach.log")" has "removing the ingress filter: Cannot allocate memory: it stays"
	expect "filters that are left" "$(pfc_filters)" has "pfc"
	net_in sw "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-sw" >"$CASE_DIR/detach.log" 2>&1 ||
		fail "--detach: $(<"$CASE_DIR/detach.log")"
	expect "filters that are left" "$(pfc_filters)" = ""
	leftovers_none
}

pfc_filters() {
	local port

	for port in p1 p2; do
		filters_of sw $port
	done
}

# The program that obeys pauses at a switch port is removed like the rest if its daemon is dead and its pins are gone.
pfc__clean_removes_what_a_killed_daemon_left() {
	attach_by_clsact
	net_up
	pfc_switch ppfc "buffer: 400KB" >"$CASE_DIR/sw.yaml"
	daemon_start sw
	expect "programs at ingress" "$(filters_of sw p1 ingress)" has "pfc"
	daemon_kill sw
	find "$PINS/ssys-sw" -type f -delete
	rmdir "$PINS/ssys-sw"
	wait_for 20 "the daemon is taken for dead" pfc_clean_would_remove 4
	ctl sw clean >"$CASE_DIR/clean.txt" 2>"$CASE_DIR/clean.log"
	expect "exit status of clean" $? -eq 0
	expect "filters that are left" "$(pfc_filters)" = ""
}

pfc_clean_would_remove() { [[ $(ctl sw clean --dry-run --json | jq 'map(select(.would_be_removed)) | length') == "$1" ]]; }
