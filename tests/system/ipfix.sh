# SPDX-License-Identifier: GPL-2.0-only
# Tools of others read the records of sluice-ipfix: tshark, ipfixDump, nfcapd with nfdump.

# ipfix_start ARGUMENT...: the exporter of h1; its process is IPFIX.
ipfix_start() {
	[[ -s $BUILD/sluice-ipfix ]] || skip "sluice-ipfix is left out of this build: no libfixbuf"
	net_exec h1 "$BUILD/sluice-ipfix" --pin-dir "$PINS/ssys-h1" "$@" >>"$CASE_DIR/ipfix.log" 2>&1 9>&- &
	IPFIX=$!
}

ipfix_said() { grep -qF -- "$1" "$CASE_DIR/ipfix.log"; }

ipfix_gone() { ! kill -0 "$IPFIX" 2>/dev/null; }

# It ends by SIGTERM with 0, and says what it sent.
ipfix_stop() {
	kill -TERM "$IPFIX" || fail "sluice-ipfix ended: $(tail -n 1 "$CASE_DIR/ipfix.log")"
	wait_for 10 "sluice-ipfix ends after SIGTERM" ipfix_gone
	wait "$IPFIX"
	expect "exit status of sluice-ipfix" $? -eq 0
	ipfix_said "records in" || fail "sluice-ipfix does not say what it sent"
}

# Two governed connections from h1, by IPv4 and IPv6, that go on.
ipfix_traffic() {
	net_up
	daemon_start h1 h2 sw
	server h2
	server h2 5202
	net_exec h1 iperf3 -t 1000 -c fd00:2::2 -p 5202 >"$CASE_DIR/six.log" 2>&1 9>&- &
	bulk_start h1 10.2.0.2
	wait_for 20 "both flows of h1 are governed" ipfix_flows_are 2
}

# The governed ones that send data: ipfix_flows FILTER.
ipfix_flows() { ctl h1 flows --json | jq "[.[] | select(.feedbacks > 2 and .tx_bytes > 100000)] | $1"; }

ipfix_flows_are() { (($(ipfix_flows length) >= $1)); }

# ipfix_dump FILE: with the names of elements that the file itself tells.
ipfix_dump() { ipfixDump --rfc5610 -i "$1" 2>"$CASE_DIR/ipfixDump.err"; }

# ipfix_field DUMP NAME: its values, one a line.
ipfix_field() { sed -n "s/^.*) *\((S)\)\? *$2 : //p" "$1"; }

# ipfix_wire FILE FILTER FIELD...: what tshark reads on the wire; as nobody, for it warns root.
ipfix_wire() {
	local file=$1 filter=$2 fields

	shift 2
	mapfile -t fields < <(printf -- '-e\n%s\n' "$@")
	setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent tshark -r - -d udp.port==4739,cflow \
		-Y "$filter" -T fields "${fields[@]}" <"$file" 2>"$CASE_DIR/tshark.err"
}

# hex NUMBER BYTES: as tshark prints what it knows no type of.
hex() { printf "%0$((2 * $2))x" "$1"; }

ipfix__on_the_wire_is_what_flows_shows() {
	local wire=$CASE_DIR/wire.pcap capture before after flow port total

	need tshark tcpdump
	ipfix_traffic
	net_exec h1 tcpdump -Z nobody -U -i lo -w "$wire" "udp port 4739" >"$CASE_DIR/tcpdump.log" 2>&1 9>&- &
	capture=$!
	wait_for 20 "tcpdump listens" grep -q 'listening' "$CASE_DIR/tcpdump.log"
	before=$(ipfix_flows .)
	ipfix_start --interval 1 --domain 7 udp:127.0.0.1:4739
	wait_for 20 "three exports" ipfix_exported "$wire" 3
	ipfix_stop
	after=$(ipfix_flows .)
	kill -TERM $capture
	wait $capture
	expect "malformed messages" "$(ipfix_wire "$wire" '_ws.malformed || _ws.expert.severity >= warning' frame.number)" = ''
	expect "observation domains" "$(ipfix_wire "$wire" cflow cflow.od_id | sort -u)" = 7
	for port in 5201 5202; do
		flow=$(jq -c ".[] | select(.remote_port == $port)" <<<"$after")
		ipfix_record_fits "$wire" "$flow" "$(jq ".[] | select(.remote_port == $port) | .tx_bytes" <<<"$before")"
	done
	expect "ports" "$(ipfix_wire "$wire" 'cflow.if_name' cflow.if_name | sort -u)" = eth0
	bulk_stop
}

ipfix_exported() { (($(ipfix_wire "$1" 'cflow.srcaddr && cflow.srcaddrv6' frame.number | wc -l) >= $2)); }

# ipfix_record_fits WIRE FLOW BYTES: the last record has the ends of the flow, and counts more than BYTES and no more than it.
ipfix_record_fits() {
	local wire=$1 flow=$2 six='' i records values

	[[ $(jq -r .local <<<"$flow") == *:* ]] && six=v6 i=257 || i=256
	records=$(ipfix_wire "$wire" "cflow.srcaddr$six" "cflow.srcaddr$six" "cflow.dstaddr$six" cflow.srcport cflow.dstport \
		cflow.protocol cflow.outputint | tail -n 1)
	expect "ends in template $i" "$(cut -f 1-2 <<<"$records")" = "$(jq -r '"\(.local)\t\(.remote)"' <<<"$flow")"
	expect "ports in template $i" ",$(cut -f 3 <<<"$records"),$(cut -f 4 <<<"$records")," \
		has ",$(jq -r .local_port <<<"$flow"),"
	expect "remote ports" ",$(cut -f 4 <<<"$records")," has ",$(jq -r .remote_port <<<"$flow"),"
	expect "protocols and interfaces" "$(cut -f 5- <<<"$records")" has "6"
	# A message has both flows: one of its totals lies between what sluicectl showed before and after.
	values=$(ipfix_wire "$wire" "cflow.srcaddr$six" cflow.layer2_octet_total_count | tail -n 1 | tr , '\n' |
		awk -v least="$3" -v most="$(jq .tx_bytes <<<"$flow")" '$1 > least && $1 <= most' | wc -l)
	expect "totals of template $i within those of sluicectl" "$values" -ge 1
	# The path: its id, and the speed of the hop, in a list of templates.
	values=$(ipfix_wire "$wire" "cflow.srcaddr$six && cflow.subtemplate_id == 258" cflow.enterprise_private_entry | tail -n 1)
	expect "path id" ",$values," has ",$(hex "$(jq .path_id <<<"$flow")" 2),"
	expect "speed of the hop" ",$values," has ",$(hex "$(jq '.hops[0].speed_bps' <<<"$flow")" 8),"
	expect "base RTT" ",$values," has ",$(hex "$(jq .base_rtt_ns <<<"$flow")" 8),"
	expect "state" ",$values," has ",$(printf %s governed | od -An -tx1 | tr -d ' '),"
}

# A switch has ports and no flows: the queue of the port to h2 was as long as tc ever showed it.
ipfix__has_the_queues_of_switch_ports() {
	local dump=$CASE_DIR/dump.txt

	need ipfixDump
	net_up
	daemon_start sw
	server h2
	bulk_start h1 10.2.0.2 -C cubic
	[[ -s $BUILD/sluice-ipfix ]] || skip "sluice-ipfix is left out of this build: no libfixbuf"
	net_exec sw "$BUILD/sluice-ipfix" --pin-dir "$PINS/ssys-sw" --interval 1 "file:$CASE_DIR/sw.ipfix" >"$CASE_DIR/ipfix.log" 2>&1 9>&- &
	IPFIX=$!
	wait_for 20 "a queue of p2 in the file" ipfix_queue_seen
	ipfix_stop
	ipfix_dump "$CASE_DIR/sw.ipfix" >"$dump"
	expect "ports" "$(ipfix_field "$dump" interfaceName | sed 's/.*) //' | sort -u | xargs)" = "p1 p2"
	expect "roles" "$(ipfix_field "$dump" sluicePortRole | sed 's/.*) //' | sort -u)" = switch
	expect "speeds" "$(ipfix_field "$dump" sluicePortSpeed | sort -u)" = "$(ctl sw status --json | jq '[.interfaces[].speed_bps] | unique[]')"
	bulk_stop
}

ipfix_queue_seen() {
	(($(ipfix_dump "$CASE_DIR/sw.ipfix" | ipfix_field /dev/stdin sluicePortQueueMax | sort -n | tail -n 1) > 10000))
}

# Names, types and strings come from the file itself (RFC 5610), and a second run appends to it. Without a capability.
ipfix__is_read_from_a_file() {
	local dump=$CASE_DIR/dump.txt file=$CASE_DIR/flows.ipfix run

	need ipfixDump setpriv
	ipfix_traffic
	[[ -s $BUILD/sluice-ipfix ]] || skip "sluice-ipfix is left out of this build: no libfixbuf"
	for run in 1 2; do
		net_exec h1 setpriv --bounding-set=-all --inh-caps=-all --no-new-privs "$BUILD/sluice-ipfix" --pin-dir "$PINS/ssys-h1" \
			--interval 1 --pen 64999 "file:$file" >>"$CASE_DIR/ipfix.log" 2>&1 9>&- &
		IPFIX=$!
		wait_for 20 "records of run $run" ipfix_records_are "$file" $((run * 4))
		ipfix_stop
	done
	ipfix_dump "$file" >"$dump"
	expect "elements without a name" "$(grep -c '64999.*alien' "$dump")" -eq 0
	expect "states" "$(ipfix_field "$dump" sluiceFlowState | sed 's/.*) //' | sort -u)" has governed
	expect "speeds of hops" "$(ipfix_field "$dump" sluiceHopSpeed | sort -u)" = "$(ipfix_flows '[.[].hops[].speed_bps] | unique[]')"
	expect "path ids" "$(ipfix_field "$dump" sluicePathId | sort -u)" has "$(ipfix_flows '.[0].path_id')"
	expect "use of the hop, 10^-6" "$(ipfix_field "$dump" sluiceHopUtilisationMax | awk '$1 < 4294967295' | sort -n | tail -n 1)" -ge 500000
	expect "transport ports" "$(ipfix_field "$dump" destinationTransportPort | sort -u | xargs)" has "5201 5202"
	bulk_stop
}

ipfix_records_are() { (($(ipfix_dump "$1" | grep -c 'sluiceWindow : ') >= $2)); }

ipfix__is_read_by_nfdump() {
	local collector

	need nfcapd nfdump
	ipfix_traffic
	mkdir "$CASE_DIR/nf"
	net_exec h1 nfcapd -w "$CASE_DIR/nf" -b 127.0.0.1 -p 4740 >"$CASE_DIR/nfcapd.log" 2>&1 9>&- &
	collector=$!
	wait_for 20 "nfcapd listens" ipfix_listens 4740
	ipfix_start --interval 1 udp:127.0.0.1:4740
	sleep 3
	ipfix_stop
	kill -TERM $collector
	wait $collector
	nfdump -q -R "$CASE_DIR/nf" -o 'fmt:%da %dp %pr %byt' 2>/dev/null | sed 's/  */ /g' >"$CASE_DIR/nf.txt"
	expect "flows by IPv4" "$(grep -c '10.2.0.2 5201 TCP' "$CASE_DIR/nf.txt")" -ge 2
	expect "flows by IPv6" "$(grep -c 'fd00:2::2 5202 TCP' "$CASE_DIR/nf.txt")" -ge 2
	expect "flows without an address" "$(grep -c '0.0.0.0' "$CASE_DIR/nf.txt")" -eq 0
	bulk_stop
}

ipfix_listens() { [[ $(net_in h1 ss -Hluntp "sport = :$1") ]]; }

# By TCP records that no collector takes are lost and counted. A collector that comes later gets templates first.
ipfix__waits_for_a_collector_that_comes_later() {
	local collector file=$CASE_DIR/tcp.ipfix

	need ipfixDump busybox
	ipfix_traffic
	ipfix_start --interval 1 tcp:127.0.0.1:4741
	wait_for 20 "the collector is missed" ipfix_said "is the collector running?"
	wait_for 20 "records are lost" ipfix_said "records lost since the start"
	# It would end the connection with its own input.
	mkfifo "$CASE_DIR/input"
	net_exec h1 busybox nc -l -p 4741 <>"$CASE_DIR/input" >"$file" 2>"$CASE_DIR/nc.log" 9>&- &
	collector=$!
	wait_for 30 "records by TCP" ipfix_records_are "$file" 2
	kill -KILL $collector
	wait $collector 2>/dev/null
	wait_for 20 "the end of the collector is seen" ipfix_said "tried again"
	expect "elements without a name" "$(ipfix_dump "$file" | grep -c 'alien')" -eq 0
	ipfix_stop
	bulk_goes_on
	bulk_stop
}

# The address that the socket sends from goes, as when a lease is renumbered: the records come from the next one.
ipfix__by_udp_follows_the_address_of_the_host() {
	local capture

	need tcpdump
	net_up
	daemon_start h1
	net_in h1 ip -batch - <<-END || fail "there is no second interface"
		link add eth1 type veth peer name eth2
		link set eth1 up
		link set eth2 up
		addr add 192.0.2.1/24 dev eth1
		neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 dev eth1
	END
	net_exec h1 tcpdump -Z nobody -l -n -i eth1 "udp port 4739" >"$CASE_DIR/tcpdump.log" 2>&1 9>&- &
	capture=$!
	wait_for 20 "tcpdump listens" grep -q 'listening' "$CASE_DIR/tcpdump.log"
	ipfix_start --interval 0.5 udp:192.0.2.9:4739
	wait_for 20 "records from the first address" grep -q '192.0.2.1.*> 192.0.2.9' "$CASE_DIR/tcpdump.log"
	net_in h1 ip -batch - <<-END || fail "the address cannot be changed"
		addr del 192.0.2.1/24 dev eth1
		addr add 192.0.2.2/24 dev eth1
		neigh replace 192.0.2.9 lladdr 02:00:00:00:00:09 dev eth1
	END
	wait_for 20 "records from the second address" grep -q '192.0.2.2.*> 192.0.2.9' "$CASE_DIR/tcpdump.log"
	ipfix_said "it is tried again" || fail "sluice-ipfix does not say that sending failed"
	expect "times that it says where it exports to" "$(grep -c 'exporting to' "$CASE_DIR/ipfix.log")" -eq 2
	ipfix_stop
	kill -TERM $capture
	wait $capture
}

# Without maps it waits for them, and exports nothing, for the time of a failed look is unknown: the port would have a record
# of each interval that ends when the machine booted.
ipfix__exports_nothing_without_maps() {
	local file=$CASE_DIR/gone.ipfix begin records first

	need ipfixDump
	begin=$(date -u '+%F %T')
	ipfix_traffic
	ipfix_start --interval 0.5 "file:$file"
	wait_for 20 "records" ipfix_records_are "$file" 2
	bulk_stop
	daemon_stop h1
	wait_for 20 "it misses the maps" ipfix_said "is sluiced running?"
	records=$(ipfix_dump "$file" | grep -c 'sluicePortRole : ')
	sleep 2
	expect "records of ports, two seconds later" "$(ipfix_dump "$file" | grep -c 'sluicePortRole : ')" -eq "$records"
	daemon_start h1
	wait_for 20 "it reads the maps again" ipfix_said "reading the maps again"
	ipfix_stop
	ipfix_dump "$file" >"$CASE_DIR/dump.txt"
	first=$(ipfix_field "$CASE_DIR/dump.txt" 'flow\(Start\|End\)Milliseconds' | sort | head -n 1)
	[[ $first > $begin ]] || fail "a record has the time $first, before $begin"
}

# It stays when a daemon makes new ones or adopts them.
ipfix__goes_on_without_the_daemon() {
	ipfix_traffic
	ipfix_start --interval 1 udp:127.0.0.1:4739
	wait_for 20 "it exports" ipfix_said "exporting to udp:127.0.0.1:4739"
	daemon_stop h1
	wait_for 20 "it misses the maps" ipfix_said "is sluiced running?"
	daemon_start h1
	wait_for 20 "it reads the maps again" ipfix_said "reading the maps again"
	daemon_kill h1
	daemon_start h1
	ipfix_stop
	! ipfix_said "another version" || fail "a daemon that starts is taken for one of another version"
}

ipfix__refuses_what_it_cannot_do() {
	local ask

	[[ -s $BUILD/sluice-ipfix ]] || skip "sluice-ipfix is left out of this build: no libfixbuf"
	mkdir "$CASE_DIR/dir"
	while IFS='|' read -r status ask text; do
		# shellcheck disable=SC2086 # words
		"$BUILD/sluice-ipfix" --pin-dir "$PINS/ssys-none" $ask >"$CASE_DIR/said" 2>&1 9>&-
		expect "exit status of sluice-ipfix $ask" $? -eq "$status"
		expect "what sluice-ipfix $ask says" "$(<"$CASE_DIR/said")" has "$text"
	done <<-'END'
	2||one collector is needed: write for example
	2|udp:127.0.0.1:4739 tcp:127.0.0.1:4739|one collector is needed
	2|collector.example:4739|is no collector: write udp:ADDRESS:PORT
	2|udp:collector.example:4739|names are not looked up
	2|tcp:/run/socket|is no collector
	2|file:relative|is no collector
	2|--interval 0 udp:127.0.0.1:4739|--interval '0' is not a number of seconds from 0.1
	2|--interval 1 --sample 2 udp:127.0.0.1:4739|--sample is longer than --interval
	2|--domain x udp:127.0.0.1:4739|--domain 'x' is not a number from 1
	2|--pen 0 udp:127.0.0.1:4739|--pen '0' is not a number from 1
	2|--pen 29305 udp:127.0.0.1:4739|that of reverse elements
	1|udp:127.0.0.1:4739|nothing is pinned there: is sluiced running?
	END
	net_up
	daemon_start h1
	net_in h1 "$BUILD/sluice-ipfix" --pin-dir "$PINS/ssys-h1" "file:$CASE_DIR/dir" >"$CASE_DIR/said" 2>&1 9>&-
	expect "exit status for a directory" $? -eq 1
	expect "what it says of a directory" "$(<"$CASE_DIR/said")" has "Is a directory"
}
