# SPDX-License-Identifier: GPL-2.0-only
# Rate and classes of a switch port whose qdisc is `sluice`: no tbf, no htb, no tracepoints.

# port_config KEYS: of p2, in the place of its tbf of 100 Mbit/s.
port_config() { switch_config | sed "/name: p2/{s/speed: [^,}]*, *//; s/}/, queue: sluice, $1}/}"; }

# port_up KEYS: the usual network, with that at p2.
port_up() {
	queue_needed
	net_up
	net_in sw tc qdisc del dev p2 root
	port_config "$1" >"$CASE_DIR/sw.yaml"
	daemon_start sw
	[[ -e $PINS/ssys-sw/queues ]] || skip "another daemon has registered the qdisc"
	expect "qdisc of p2" "$(net_in sw tc qdisc show dev p2)" has "qdisc sluice 5463: root"
}

port_reload() {
	port_config "$1" >"$CASE_DIR/sw.yaml"
	daemon_hup sw reloaded
}

# port_flow NAME OPTION...: an iperf3 to h2 for five seconds, to the server whose port its DSCP says; in the background.
port_flow() {
	local name=$1

	shift
	net_exec h1 iperf3 -J -t 5 -O 1 -c 10.2.0.2 "$@" >"$CASE_DIR/$name.json" 2>>"$CASE_DIR/iperf3.log" 9>&- &
	PORT_FLOWS+=($!)
}

port_flows_end() {
	wait "${PORT_FLOWS[@]}" || fail "iperf3: $(tail -n 3 "$CASE_DIR/iperf3.log")"
	PORT_FLOWS=()
}

# port_kbit NAME: what its receiver got.
port_kbit() {
	jq '.end | if .sum_received then .sum_received.bits_per_second else .sum.bits_per_second * (1 - .sum.lost_percent / 100) end |
		. / 1000 | floor' "$CASE_DIR/$1.json"
}

# port_seen FIELD: of the qdisc of p2, a jq expression.
port_seen() { bpftool -j map dump pinned "$PINS/ssys-sw/queues" | jq "[.[].formatted.value.seen | $1] | add"; }

port_classes() { bpftool -j map dump pinned "$PINS/ssys-sw/queue_classes" | jq -c "[.[].formatted] | sort_by(.key.class) | map(.value.$1)"; }

queue__rate_of_a_port() {
	port_up "rate: 50Mbit"
	expect "speed of p2" "$(status_of sw '.interfaces[] | select(.name == "p2").speed_bps')" -eq 50000000
	server h2
	port_flow tcp
	port_flows_end
	echo "# TCP at 50 Mbit/s: $(port_kbit tcp) kbit/s"
	expect "kbit/s of TCP at 50000" "$(port_kbit tcp)" -ge 46500
	expect "kbit/s of TCP at 50000" "$(port_kbit tcp)" -le 48300
	# A new rate is in force at once; the qdisc stays.
	port_reload "rate: 20Mbit, limit: 50KB"
	port_flow udp -u -b 60M -l 1200
	port_flows_end
	echo "# UDP of 60 Mbit/s at 20: $(port_kbit udp) kbit/s"
	expect "kbit/s of UDP at 20000" "$(port_kbit udp)" -ge 18700
	expect "kbit/s of UDP at 20000" "$(port_kbit udp)" -le 19400
	expect "packets beyond the limit" "$(port_seen '.packets[1]')" -gt 10000
	expect "packets that tc counts as dropped" "$(net_in sw tc -s -j qdisc show dev p2 | jq '.[0].drops')" -eq "$(port_seen '.packets[1:] | add')"
	servers_stop
	daemon_stop sw
	expect "qdiscs of p2 at the end" "$(net_in sw tc qdisc show dev p2)" has-no sluice
}

# queue_order_has COUNT: that number of datagrams has come to the switch.
queue_order_has() { [[ $(queue_order | wc -w) == "$1" ]]; }

# The timer has one time. When the port is free again it must be set to the departure of the held packet once more.
queue__rate_forgets_no_packet_that_is_held() {
	local capture

	need tcpdump
	[[ -x $BUILD/held ]] || skip "no build/held here: make build/held"
	queue_keyed
	host_config h1 "interfaces: [{name: eth0, role: host, queue: sluice, rate: 1Mbit}]" 'mode: observe' >"$CASE_DIR/h1.yaml"
	daemon_start h1
	queue_registered
	net_exec sw tcpdump -Z root -i p1 -Q in -U -w "$CASE_DIR/order.pcap" 'udp dst port 9' 2>"$CASE_DIR/tcpdump.log" 9>&- &
	capture=$!
	wait_for 20 "tcpdump listens" grep -q "listening" "$CASE_DIR/tcpdump.log"
	net_in h1 "$BUILD/held" 10.1.0.1 9 600 || fail "held: it does not send"
	sleep 0.1
	net_in h1 bash -c 'printf %01400d 0 >/dev/udp/10.1.0.1/9'
	wait_for 20 "the datagrams come" queue_order_has 4
	kill "$capture"
	expect "their order" "$(queue_order)" = "64 1400 1000 1001 "
	# 600 ms from its departure to that of the first; what else leaves would bring it along, questions to peers for example.
	expect "ms from the first to the third" "$(tcpdump -r "$CASE_DIR/order.pcap" -n -ttttt 2>/dev/null |
		awk 'NR == 3 { split($1, t, ":"); print int(t[3] * 1000) }')" -le 615
	daemon_stop h1
}

# Idle flows of a quiet interface fill the map that all qdiscs have in common: a port where something waits still serves
# new flows.
queue__new_flows_pass_where_the_map_is_full() {
	local i

	[[ -x $BUILD/held ]] || skip "no build/held here: make build/held"
	port_up "rate: 50Mbit"
	queue_limits 100000 1000 1 sw
	net_in h1 ip link add many0 type veth peer name many1 && net_in h1 ip link set many0 up && net_in h1 ip link set many1 up &&
		net_in h1 ip address add 10.9.0.1/24 dev many0 && net_in h1 tc qdisc replace dev many0 root sluice &&
		net_in h1 ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:01 dev many0 || fail "no second interface"
	for i in 1 2 3 4 5 6 7; do
		net_in h1 bash -c "ulimit -n 20000; exec $BUILD/held 10.9.0.2 9 100 10000 1" || fail "held: it does not send"
	done
	expect "flows in the map" "$(bpftool -j map dump pinned "$PINS/ssys-sw/queue_flows" | jq length)" -ge 65000
	server h2
	port_flow tcp
	port_flows_end
	echo "# TCP at 50 Mbit/s, without room for its flow: $(port_kbit tcp) kbit/s"
	expect "kbit/s of TCP" "$(port_kbit tcp)" -ge 40000
	servers_stop
	daemon_stop sw
}

# A class that becomes busy has its share at once, whatever a strict class has sent before.
queue__class_begins_beside_a_strict_one() {
	port_up "rate: 50Mbit, limit: 100KB, classes: [{share: 60%}, {dscp: [8], share: 30%}, {dscp: [10], share: 10%, strict: true}]"
	server h2
	server h2 5301
	server h2 5302
	port_flow strict -u -b 20M -l 1200 -p 5302 -S 40
	port_flow waits -u -b 40M -l 1200 -p 5301 -S 32
	sleep 4
	port_flow begins -u -b 40M -l 1200 -t 1 -O 0
	port_flows_end
	echo "# in its first second, beside 20 Mbit/s of a strict class: $(port_kbit begins) kbit/s"
	expect "kbit/s of the class that begins, two thirds of 30000" "$(port_kbit begins)" -ge 17000
	servers_stop
	daemon_stop sw
}

queue__classes_share_a_port() {
	port_up "rate: 50Mbit, classes: [{share: 70%}, {dscp: [8], share: 30%}]"
	expect "links" "$(ls "$PINS/ssys-sw")" has-no class_enqueue
	server h2
	server h2 5301
	# Each has more to send than its share at every moment: so that is what it gets, whatever the kernel. 1,200 of 1,242 bytes.
	port_flow most -u -b 50M -l 1200
	port_flow least -u -b 25M -l 1200 -p 5301 -S 32
	port_flows_end
	echo "# UDP at 70 and 30 % of 50 Mbit/s: $(port_kbit most), $(port_kbit least) kbit/s"
	expect "kbit/s of UDP in the class of 70 %, 33800 of 35000" "$(port_kbit most)" -ge 32700
	expect "kbit/s of UDP in the class of 30 %, 14500 of 15000" "$(port_kbit least)" -ge 14000
	# TCP falls to .7 of its window by a loss, and its queue may be empty until that has grown again: then the other borrows.
	port_flow most
	port_flow least -p 5301 -S 32
	port_flows_end
	echo "# TCP at 70 and 30 % of 50 Mbit/s: $(port_kbit most), $(port_kbit least) kbit/s"
	expect "kbit/s of TCP in the class of 70 %, 33400 at most" "$(port_kbit most)" -ge 26000
	expect "kbit/s of TCP in the class of 30 %, 14300 at most without loans" "$(port_kbit least)" -ge 11000
	expect "kbit/s of TCP in both, whose loans use the port" "$(($(port_kbit most) + $(port_kbit least)))" -ge 46500
	expect "bytes of the classes in status" "$(status_of sw '[.interfaces[] | select(.name == "p2").classes[].tx_bytes > 5000000] | all')" = true
	expect "bytes of the classes" "$(port_classes tx_bytes | jq add)" -eq "$(net_in sw tc -s -j qdisc show dev p2 | jq '.[0].bytes')"
	# Alone a class has the whole port.
	port_flow alone -p 5301 -S 32
	port_flows_end
	echo "# the class of 30 % alone: $(port_kbit alone) kbit/s"
	expect "kbit/s of the class of 30 % alone" "$(port_kbit alone)" -ge 46500
	# Strict: the other class has what is left.
	port_reload "rate: 50Mbit, classes: [{share: 70%}, {dscp: [8], share: 30%, strict: true}]"
	port_flow strict -u -b 40M -l 1200 -p 5301 -S 32
	port_flow rest
	port_flows_end
	echo "# 40 Mbit/s of UDP in a strict class: $(port_kbit strict), the rest $(port_kbit rest) kbit/s"
	expect "kbit/s of the strict class" "$(port_kbit strict)" -ge 38000
	expect "datagrams that it lost" "$(jq .end.sum.lost_packets "$CASE_DIR/strict.json")" -le 5
	servers_stop
	daemon_stop sw
	expect "qdiscs of p2 at the end" "$(net_in sw tc qdisc show dev p2)" has-no sluice
}

# How many entries one of the maps has that the qdisc and the daemons have in common.
port_entries() { bpftool -j map dump pinned "$PINS/ssys-sw/$1" | jq length; }

PORT_CLASSES="rate: 100Mbit, classes: [{share: 90%}, {dscp: [8], share: 10%}]"

# The hop stamps the queue of the packet's class, as the qdisc counts it.
queue__classes_are_stamped() {
	local handle id

	port_up "$PORT_CLASSES"
	expect "classes of p2" "$(status_of sw '[.interfaces[] | select(.name == "p2").classes[].share_bps] | join(" ")')" = "90000000 10000000"
	daemon_start h1 h2
	server h2
	bulk_start h1 10.2.0.2 -S 32
	governed_soon h1
	flow_soon h1 "speed of the hop, a tenth of the port," '.hops[0].speed_bps' 10000000
	flow_soon h1 "rate within the share" '.rate_bps <= 12000000' true
	bulk_unharmed
	expect "rows of sluicectl queue" "$(ctl sw queue p2)" has "class 2"
	expect "what the class took" "$(ctl sw queue --json p2 | jq '[.[] | select(.class == "class 2")][0].packets.taken')" -ge 100

	# The qdisc goes on without the daemon, and the next one finds it.
	id=$(port_entries queue_classes)
	handle=$(bpftool -j map dump pinned "$PINS/ssys-sw/queues" | jq -c '[.[].key]')
	daemon_kill sw
	bulk_goes_on
	daemon_start sw
	expect "qdiscs after a crash" "$(bpftool -j map dump pinned "$PINS/ssys-sw/queues" | jq -c '[.[].key]')" = "$handle"
	expect "classes after a crash" "$(port_entries queue_classes)" -eq "$id"
	grows "bytes of the class" 20 port_class_tx 1
	# Another share in the same qdisc, without a loss.
	port_reload "${PORT_CLASSES/10%/5%}"
	expect "qdiscs with another share" "$(bpftool -j map dump pinned "$PINS/ssys-sw/queues" | jq -c '[.[].key]')" = "$handle"
	flow_soon h1 "rate within the new share" '.rate_bps <= 6000000' true
	bulk_unharmed
	# Another number of classes makes it anew.
	port_reload "rate: 100Mbit, classes: [{share: 90%}, {dscp: [8], share: 5%}, {dscp: [10], share: 5%}]"
	expect "classes" "$(port_entries queue_classes)" -eq 3
	bulk_goes_on
	# So does somebody's hand, and the qdisc finds its classes there.
	net_in sw tc qdisc replace dev p2 root handle 77: sluice || fail "tc does not replace it"
	expect "classes" "$(port_entries queue_classes)" -eq 3
	grows "bytes of the class" 20 port_class_tx 1
	bulk_goes_on
	net_in sw tc qdisc del dev p2 root
	expect "classes without the qdisc" "$(port_entries queue_classes)" -eq 0
	expect "setups without the qdisc" "$(port_entries queue_ports)" -eq 0
	bulk_goes_on
	wait_for 20 "sluiced says that somebody replaced it" said sw "p2: somebody replaced its qdisc 'sluice'"
	daemon_hup sw reloaded
	expect "classes after SIGHUP" "$(port_entries queue_classes)" -eq 3
	grows "bytes of the class" 20 port_class_tx 1
	# Without classes the key is for others' qdiscs again.
	switch_config >"$CASE_DIR/sw.yaml"
	daemon_hup sw reloaded
	expect "qdiscs of p2" "$(net_in sw tc qdisc show dev p2)" has-no sluice
	expect "setups" "$(port_entries queue_ports)" -eq 0
	bulk_goes_on
	bulk_stop
	servers_stop
	daemon_stop h1 h2 sw
}

port_class_tx() { bpftool -j map dump pinned "$PINS/ssys-sw/queue_classes" | jq "[.[].formatted | select(.key.class == $1).value.tx_bytes] | add // 0"; }

# A pause holds the class whose first packet is of its priority, and no other.
queue__pauses_hold_a_class() {
	local before

	queue_needed
	net_up
	net_in sw tc qdisc del dev p2 root
	{ port_config "pfc: obey, rate: 100Mbit, classes: [{share: 50%}, {dscp: [24], share: 50%}]" && echo "pfc: {lossless: [3], watchdog: 5s}"; } >"$CASE_DIR/sw.yaml"
	daemon_start sw
	[[ -e $PINS/ssys-sw/queues ]] || skip "another daemon has registered the qdisc"
	server h2
	server h2 5301
	port_flow free -u -b 20M -l 1200
	port_flow held -u -b 2M -l 1200 -p 5301 -S 96
	grows "bytes of the class of DSCP 24" 20 port_class_tx 1
	net_in h2 "$BUILD/pause" eth0 8 65535 20 100000 &
	PORT_PAUSE=$!
	sleep 0.1
	before=$(port_class_tx 1)
	grows "bytes of the other class in the pause" 5 port_class_tx 0
	expect "bytes of the paused class" "$(port_class_tx 1)" -eq "$before"
	wait "$PORT_PAUSE"
	net_in h2 "$BUILD/pause" eth0 8 0 1 1000
	grows "bytes of the class after XON" 5 port_class_tx 1
	port_flows_end
	expect "datagrams lost in the pause" "$(jq -s 'map(.end.sum.lost_packets) | add' "$CASE_DIR"/{free,held}.json)" -eq 0
	expect "times that a pause held a class" "$(port_seen .pauses)" -ge 1
	servers_stop
	daemon_stop sw
}
