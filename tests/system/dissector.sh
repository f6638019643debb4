# SPDX-License-Identifier: GPL-2.0-only
# The dissector for Wireshark reads what is on the wire, what the documentation shows, and what is broken.

DISSECTOR=$SYSTEM_DIR/../../deploy/wireshark/sluice.lua
DISSECTOR_DOCS=$SYSTEM_DIR/../../docs/vectors.md

# dissected CAPTURE OPTION...: tshark with the dissector; that has to be without an error of its own. As nobody, who may not
# see the files' directories: as root tshark 4.4 loads no script, without a word. A 1 of 4.0 is True in 4.4.
dissected() {
	local capture=$1

	shift
	setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent tshark -X lua_script:/proc/self/fd/3 -r - "$@" \
		3<"$DISSECTOR" <"$capture" 2>"$CASE_DIR/tshark.err" | sed 's/\<True\>/1/g; s/\<False\>/0/g'
}

dissected_cleanly() {
	[[ ! -s $CASE_DIR/tshark.err ]] || fail "tshark says: $(head -n 3 "$CASE_DIR/tshark.err")"
}

# dissected_count CAPTURE FILTER: frames for which FILTER is true.
dissected_count() { dissected "$1" -Y "$2" -T fields -e frame.number | wc -l; }

# dissector_vectors [SED]...: the test vectors of docs/vectors.md as CASE_DIR/vectors.pcap, after these edits. A vector may be what differs
# from an earlier one, as indented lines, and "00 x N" are N bytes.
dissector_vectors() {
	awk '
		function put(i) { for (i = 1; i <= lines; i++) print line[vector, i]; print "" }
		/^## V/ { put(); vector++; lines = 0 }
		/^These lines differ from V/ {
			sub(/.* V/, "")
			for (base = $0 + 0; (base, lines + 1) in line; lines++)
				line[vector, lines + 1] = line[base, lines + 1]
		}
		sub(/^    /, "") && /^[0-9a-f][0-9a-f][0-9a-f][0-9a-f]  / {
			for (i = 1; i <= lines; i++)
				if (substr(line[vector, i], 1, 4) == substr($0, 1, 4)) line[vector, i] = substr($0, 1, 53)
			next
		}
		/^[0-9a-f][0-9a-f][0-9a-f][0-9a-f]  00 x / {
			line[vector, ++lines] = $1 " "
			for (i = 0; i < $4; i++)
				line[vector, lines] = line[vector, lines] " 00"
			next
		}
		/^[0-9a-f][0-9a-f][0-9a-f][0-9a-f]  / { line[vector, ++lines] = substr($0, 1, 53) }
		END { put() }' "$DISSECTOR_DOCS" |
		uniq | sed "$@" >"$CASE_DIR/vectors.hex"
	text2pcap -q "$CASE_DIR/vectors.hex" "$CASE_DIR/vectors.pcap" >"$CASE_DIR/text2pcap.log" 2>&1 ||
		fail "text2pcap: $(tail -n 1 "$CASE_DIR/text2pcap.log")"
}

dissector__reads_the_vectors_of_the_docs() {
	local all=$CASE_DIR/vectors.pcap

	need tshark text2pcap
	dissector_vectors -e ''
	expect "vectors" "$(dissected "$all" -T fields -e frame.number | wc -l)" -ge 8
	dissected_cleanly
	expect "malformed ones" "$(dissected "$all" -Y 'sluice.malformed || sluice.odd')" = ''
	# V1 and V2: a question and its answer, which has met a switch port of 100 Mbit/s with the id 17.
	expect "V1" "$(dissected "$all" -Y 'frame.number == 1' -T fields -e sluice.msg -e sluice.seq -e sluice.nhop)" = $'2\t1326\t0'
	expect "V2" "$(dissected "$all" -Y 'frame.number == 2' -T fields -e sluice.msg -e sluice.nhop -e sluice.path_id \
		-e sluice.hop.mbps -e sluice.hop.ts -e sluice.hop.tx_bytes -e sluice.hop.qlen_bytes)" \
		= $'3\t1\t0x0011\t100\t8774328\t'$((43034 * 128))$'\t141280'
	# V6: data with an echo in front of a TCP packet, V7 the same by IPv6.
	expect "V6" "$(dissected "$all" -Y 'frame.number == 6' -T fields -e sluice.msg -e sluice.echo.seq -e sluice.echo.path_id \
		-e tcp.srcport)" = $'1\t402\t0x0011\t8000'
	expect "V7" "$(dissected "$all" -Y 'frame.number == 7' -T fields -e sluice.msg -e ipv6.src -e tcp.dstport)" \
		= $'1\tfd83:1::1,fd83:1::1\t8000'
	expect "V8" "$(dissected "$all" -Y 'frame.number == 8 && sluice.auth.tag' -T fields -e sluice.msg)" = 1
	expect "V9" "$(dissected "$all" -Y "frame.number == 9" -T fields -e sluice.echo.window)" = 12345
	expect "V10" "$(dissected "$all" -Y "frame.number == 10" -T fields -e sluice.echo.seq -e sluice.hop.qlen_bytes \
		-e sluice.credit.total -e sluice.credit.due -e sluice.credit.at -e tcp.srcport)" = $'146\t26080\t1024\t1\t1.024e-06\t8000'
	expect "V11" "$(dissected "$all" -Y "frame.number == 11" -T fields -e sluice.msg -e sluice.report.srcport -e sluice.echo.window)" \
		= $'4\t40001,40002\t12345,54321'
	expect "V13" "$(dissected "$all" -Y "frame.number == 13" -T fields -e sluice.msg -e sluice.voq.tor -e sluice.voq.total \
		-e sluice.voq.flows -e sluice.voq.prefixlen -e tcp.srcport)" = $'1\t0x0a530101\t158\t1\t128\t40001'
	expect "V14" "$(dissected "$all" -Y "frame.number == 14" -T fields -e sluice.msg -e sluice.credit.addr -e sluice.credit.total \
		-e sluice.credit.due -e sluice.credit.at)" = $'5\t::ffff:10.83.2.2,::ffff:10.83.2.3\t1024,70000\t0,1\t1.024e-06,0.002048'
	expect "V15" "$(dissected "$all" -Y "frame.number == 15 && sluice.auth.tag" -T fields -e sluice.msg -e sluice.rate.addr \
		-e sluice.rate.kbps -e sluice.rate.alone)" = $'6\t::ffff:10.83.2.2,::ffff:10.83.2.3\t40000,0\t0,0'
	expect "V16" "$(dissected "$all" -Y "frame.number == 16 && sluice.companion" -T fields -e sluice.msg -e sluice.seq \
		-e sluice.companion.srcport -e sluice.path_id -e sluice.hop.qlen_bytes)" = $'2\t158\t40001\t0x0011\t26080'
	expect "V17" "$(dissected "$all" -Y "frame.number == 17 && sluice.companion && !sluice.companion.srcport" -T fields \
		-e sluice.msg -e sluice.seq -e sluice.nhop)" = $'3\t66051\t0'
}

dissector__names_what_is_malformed() {
	local edit

	need tshark text2pcap
	# Of the header of each vector: version, hops reserved, the shim's length.
	for edit in 's/^\(002e  \)4/\15/' 's/^\(002e  ..\) 0./\1 07/' 's/^\(002a  98\) ../\1 3f/'; do
		dissector_vectors -e "$edit"
		expect "after $edit, malformed vectors" "$(dissected_count "$CASE_DIR/vectors.pcap" sluice.malformed)" -ge 6
		dissected_cleanly
	done
}

# Vectors of TCP with SYN or RST in the place of their flags: no source sends that.
dissector__names_a_connection_that_is_opened_inside() {
	local flags

	need tshark text2pcap
	for flags in 02 12 04 14; do
		dissector_vectors -e "s/\(fb 63 d1 .. 50\) 1[08]/\1 $flags/"
		expect "flags $flags" "$(dissected_count "$CASE_DIR/vectors.pcap" sluice.odd)" -ge 2
		dissected_cleanly
	done
}

# dissector_lab [LINE]...: traffic of every kind between hosts configured with these lines, as a switch port sees it, in CASE_DIR/wire.pcap.
# With DISSECTOR_FILTER of those packets only.
DISSECTOR_FILTER='udp port 5463'
dissector_lab() {
	local capture

	net_up
	host_config h1 "$@" >"$CASE_DIR/h1.yaml"
	host_config h2 "$@" >"$CASE_DIR/h2.yaml"
	daemon_start h1 h2 sw
	server h2
	net_exec sw tcpdump -Z nobody -U -i p2 -w "$CASE_DIR/wire.pcap" -c 20000 "$DISSECTOR_FILTER" >"$CASE_DIR/tcpdump.log" 2>&1 9>&- &
	capture=$!
	wait_for 20 "tcpdump listens" grep -q 'listening' "$CASE_DIR/tcpdump.log"
	transfer h1 10.2.0.2 -n 2M
	transfer h1 fd00:2::2 -n 2M
	transfer h1 10.2.0.2 -u -b 5M -t 1 -l 1000
	kill -TERM $capture
	wait $capture
}

# dissector_wire_is_read NAME HOPS: all of it, with HOPS as the field of a hop's queue; no packet is left out.
dissector_wire_is_read() {
	local wire=$CASE_DIR/wire.pcap seen

	seen=$(dissected "$wire" -T fields -e sluice.msg | sort | uniq -c | awk '{ print $2 }' | xargs)
	expect "messages seen" "$seen" = "1 2 3"
	dissected_cleanly
	expect "frames that are not read" "$(dissected_count "$wire" '!sluice.msg || sluice.malformed || sluice.odd')" -eq 0
	expect "data with a hop" "$(dissected_count "$wire" "sluice.msg == 1 && $1")" -ge 100
	expect "echoes of a hop" "$(dissected_count "$wire" 'sluice.echo && sluice.echo.nhop == 1 && sluice.hop.mbps == 100')" -ge 100
	expect "frames without a tag" "$(dissected_count "$wire" '!sluice.auth.tag')" -eq 0
	expect "TCP within, in both directions" \
		"$(dissected_count "$wire" 'sluice && ip && tcp.dstport == 5201') $(dissected_count "$wire" 'sluice && tcp.srcport == 5201')" \
		!= "0 0"
	expect "UDP within" "$(dissected_count "$wire" 'sluice.msg == 1 && udp.dstport == 5201 && udp.length >= 1008')" -ge 10
	dissected "$wire" -Y 'sluice.msg == 1 && tcp.dstport == 5201' -T fields -e tcp.len |
		awk '{ sum += $1 } END { exit !(sum >= 0.9 * 2 * 2097152) }' || fail "nine tenths of the 4 MB of TCP are not there"
}

dissector__reads_a_capture() {
	telemetry_in_data
	need tshark tcpdump
	dissector_lab
	dissector_wire_is_read 'sluice.hop.mbps == 100'
}

# Two hosts of which one computes W, and datagrams that nobody answers: the message with reports.
dissector__reads_feedback_for_several_flows() {
	telemetry_in_data
	need tshark tcpdump
	dissector_lab "hpcc: {feedback: window}"
	expect "messages seen" "$(dissected "$CASE_DIR/wire.pcap" -T fields -e sluice.msg | sort -u | xargs)" = "1 2 3 4"
	dissected_cleanly
	expect "frames that are not read" \
		"$(dissected_count "$CASE_DIR/wire.pcap" '!sluice.msg || sluice.malformed || sluice.odd')" -eq 0
	expect "reports with W" \
		"$(dissected_count "$CASE_DIR/wire.pcap" 'sluice.report.proto == 17 && sluice.echo.window > 0')" -ge 5
	expect "echoes with W" "$(dissected_count "$CASE_DIR/wire.pcap" 'sluice.msg == 1 && sluice.echo.window > 0')" -ge 5
}

dissector__reads_int_md() {
	need tshark tcpdump
	dissector_lab "hpcc: {encoding: int-md}"
	dissector_wire_is_read 'sluice.intmd.kbps == 100000 && sluice.intmd.node == 2'
}

# The filter is from docs/inspect.md.
dissector__reads_companions() {
	local wire=$CASE_DIR/wire.pcap proto
	local DISSECTOR_FILTER='ip[28:4] = 0x534c4332 or ip6[48:4] = 0x534c4332'

	need tshark tcpdump
	dissector_lab "hpcc: {telemetry: companion}"
	expect "messages seen" "$(dissected "$wire" -T fields -e sluice.msg | sort -u | xargs)" = "2 3"
	dissected_cleanly
	expect "frames that are not read" "$(dissected_count "$wire" '!sluice.companion || sluice.malformed || sluice.odd')" -eq 0
	for proto in 'ip.proto == 6' 'ipv6.nxt == 6' 'ip.proto == 17'; do
		expect "companions of $proto with a hop" "$(dissected_count "$wire" \
			"$proto && sluice.msg == 2 && sluice.hop.mbps == 100 && sluice.companion.dstport == 5201")" -ge 5
		expect "their answers" "$(dissected_count "$wire" "$proto && sluice.msg == 3 && sluice.companion.srcport == 5201")" -ge 5
	done
	expect "frames without a tag" "$(dissected_count "$wire" '!sluice.auth.tag')" -eq 0
}
