# SPDX-License-Identifier: GPL-2.0-only
# Racks: RACKS nodes with SERVERS pods each, and one that receives. A node is the ToR, its pods are the
# servers; the spine s1 routes and is nowhere slow. The bottleneck is the receiving node's veth to its pod. The probe is a host of its own, without Sluice.
#
#	pod1-1 ... pod1-S -- n1 --p1--+
#	podR-1 ... podR-S -- nR --pR--+-- s1 --p0-- r1 --to-sink (tbf RATE, BUFFER)-- sink
#	            probe -- np --pp--+
#
# A server's link has RATE, a node's uplink UPLINK times as much. NET_SENDERS goes from rack to rack: the
# pods that follow each other are in different ones.
#
# With LOSE, REPEAT or REORDER the spine takes the CREDIT messages of r1 out of the rest, through an ifb
# with a netem: late ones are late by three quarters of RTT, three grants as the daemons have them.

racks_up() {
	local i

	net_reset
	NET_LINK_RATE=$((LAB_RATE * LAB_UPLINK))
	net_switch s1
	net_host r1 s1 p0 2.0
	net_node r1 s1 2.0 0
	net_pod sink r1 0.2
	net_bottleneck r1 to-sink
	for ((i = 1; i <= LAB_RACKS; i++)); do
		net_sender "n$i" s1 "p$i" "1.$i"
		racks_node $i
	done
	racks_pods
	net_sender np s1 pp 3.0
	net_node np s1 3.0 $NODE_PROBE
	net_pod probe np $NODE_PROBE.2
	racks_impair || return 1
	net_commit
}

# racks_node I: the host nI is a rack.
racks_node() {
	net_node "n$1" s1 "1.$1" "$1"
	NET_RACKS+=("n$1")
}

# The pods of all racks, which send to the pod sink.
racks_pods() {
	local i k

	for ((k = 1; k <= LAB_SERVERS; k++)); do
		for ((i = 1; i <= LAB_RACKS; i++)); do
			net_pod "pod$i-$k" "n$i" "$i.$((k + 1))"
			net_tc "pod$i-$k" "qdisc add dev eth0 root tbf rate ${LAB_RATE}bit" \
				"burst $(net_burst $NET_HOST_BURST "$LAB_RATE") limit 2000000"
			NET_SENDERS+=("pod$i-$k") NET_RECEIVERS+=(sink) NET_PATHS+=("")
		done
	done
}

racks_impair() {
	local netem=''

	((LAB_LOSE + LAB_REPEAT + LAB_REORDER)) || return 0
	[[ $NET_HAS_NETEM ]] || {
		lab_say "lab: LOSE, REPEAT and REORDER want netem, which this kernel has not; VM=6.12 has it"
		return 1
	}
	((LAB_LOSE == 0)) || netem+=" loss $LAB_LOSE%"
	((LAB_REPEAT == 0)) || netem+=" duplicate $LAB_REPEAT%"
	((LAB_REORDER == 0)) ||
		netem+=" delay $((LAB_RTT * 3 / 4))us reorder $((100 - LAB_REORDER))%"
	net_ip s1 "link add ifb0 type ifb"
	net_ip s1 "link set ifb0 up"
	net_tc s1 "qdisc add dev ifb0 root netem limit 100000$netem"
	net_is_gso || net_tc s1 "qdisc add dev p0 clsact"
	# UDP to our port, and message 5 in the byte behind the UDP header and the shim. Before the filter of net_wire().
	net_tc s1 "filter add dev p0 ingress pref 1 protocol ip u32 match ip protocol 17 0xff" \
		"match ip dport 5463 0xffff match u8 0x05 0x0f at 32 action mirred egress redirect dev ifb0"
}

# racks_flows: the flows as lab-flows wants them, one a line, which then are sorted by their starts; long ones first.
racks_flows() {
	local i rack share sink="sink,${NET_ADDR[sink]}" senders=${#NET_SENDERS[@]} every mice us left=() last=$((LAB_TIME - 100000))

	read -ra left <<<"$LAB_LONGS"
	for rack in "${!left[@]}"; do
		for ((i = 0; i < left[rack]; i++)); do
			echo "$RACKS_START,pod$((rack + 1))-$((i % LAB_SERVERS + 1)),$sink,0"
		done
	done
	for ((i = 0; LAB_SIZE && i < senders; i++)); do
		echo "$RACKS_START,${NET_SENDERS[i]},$sink,$LAB_SIZE"
	done
	for ((i = 0; i < LAB_BURST; i++)); do
		echo "$((RACKS_START + LAB_TIME / 2)),${NET_SENDERS[i % senders]},$sink,$LAB_BURST_BYTES"
	done
	for ((i = 0; LAB_INCAST && i < senders; i++)); do
		echo "$((RACKS_START + LAB_TIME / 4 * 3)),${NET_SENDERS[i]},$sink,$LAB_INCAST"
	done
	((LAB_CHURN)) || return 0
	# Bursts of a size and a period that make up their share of the port.
	share=$((RACKS_MOUSE * TRAFFIC_WIRE / TRAFFIC_PAYLOAD * 8))
	mice=$((LAB_RATE / 1000 * LAB_CHURN / 1000 * RACKS_LOAD / 100 / share))
	every=$LAB_CHURN
	if ((mice == 0)); then
		mice=1 every=$((share * 100 / RACKS_LOAD * 1000 / (LAB_RATE / 1000)))
	fi
	# In LAB=fabric the last of them have to end although nothing slows the others down.
	((LAB_INCAST == 0)) || last=$((LAB_TIME - 500000))
	for ((us = RACKS_START + LAB_TIME / 4, k = 0; us < last; us += every)); do
		for ((i = 0; i < mice; i++, k++)); do
			echo "$us,${NET_SENDERS[k % senders]},$sink,$RACKS_MOUSE"
		done
	done
}

# When the first flows start; bytes of a mouse, and what part of the port they take together, percent.
RACKS_START=20000 RACKS_MOUSE=10000 RACKS_LOAD=30
# After a KILL, how long until the daemon is started again, in seconds.
RACKS_DEAD=0.5

# racks_run RAW: all flows, with both ends in one program, which also says what the receiver got when.
racks_run() {
	local flow args=() limit=$LAB_TIME flows

	while read -r flow; do
		args+=(-f "$flow")
	done < <(racks_flows | sort -s -t, -k1,1n)
	((LAB_LONG)) || limit=$((20 * LAB_SIZE * 8 * LAB_SENDERS / (LAB_RATE / 1000000) + 5000000))
	ulimit -n 16384
	"$LAB_BUILD/lab-flows" -o "$1/flows.csv" -r "$1/received.bin" -n "$(racks_recorded)" -t "$limit" \
		"${args[@]}" &
	flows=$!
	# shellcheck disable=SC2206 # a list
	NET_PIDS+=($flows)
	racks_kill "$1" || return 1
	# A flow that did not end is a figure of LAB=fabric: some runs have nothing that holds the others back.
	traffic_clock $flows $((limit / 1000000 + 10)) || [[ $LAB == fabric ]] || return 1
	sleep 0.2
}

# The number of flows, from the first, whose received bytes are recorded; there are too many mice.
racks_recorded() {
	[[ $LAB != fabric ]] || {
		echo "$LAB_LONG"
		return
	}
	echo $((LAB_LONG + LAB_BURST + (LAB_SIZE ? LAB_SENDERS : 0)))
}

# With KILL: the receiving daemon ends at once, and is started again. The marks in the sampler's log are
# when it was killed, started, and ready.
racks_kill() {
	local dir=${1%/raw}

	((LAB_KILL)) && [[ ${CC_DAEMONS[r1]:-} ]] || return 0
	sleep "$(awk -v us="$LAB_KILL" 'BEGIN { print us / 1e6 }')"
	kill -KILL "${CC_DAEMONS[r1]}"
	kill -USR1 "$LAB_SAMPLER"
	wait "${CC_DAEMONS[r1]}" 2>/dev/null
	sleep $RACKS_DEAD
	mv "$dir/sluiced-r1.log" "$dir/sluiced-r1-killed.log"
	cc_sluice_spawn r1 "$dir"
	kill -USR1 "$LAB_SAMPLER"
	cc_sluice_wait "$dir" 0.005 || return 1
	kill -USR1 "$LAB_SAMPLER"
}
