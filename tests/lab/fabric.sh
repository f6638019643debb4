# SPDX-License-Identifier: GPL-2.0-only
# All three loops at once, and each of them switched off in turn (LOOPS). RACKS nodes with SERVERS pods each send through
# the switch s1, whose buffer is to last, to a pod behind r1. The bottleneck is the switch's port to r1.
#
#	pod1-1 ... pod1-S -- n1 --p1--+
#	podR-1 ... podR-S -- nR --pR--+-- s1 --p0 (tbf RATE, BUFFER)-- r1 -- sink
#	            probe -- np --pp--+
#
#	hpcc    the nodes govern their pods' flows by the telemetry of s1
#	hiercc  r1 grants the racks' VOQs credit, by the speed of its link
#	ppfc    s1 pauses the racks before its buffer is full, and these obey
#
# A server's link has RATE, a rack's UPLINK times as much. The delay of the ACKs is at r1, as in LAB=pfc. In one run: long
# flows, churn from a quarter of TIME on, a burst at half of it, an incast of all pods at three quarters (racks_flows).
#
# Each of LOOPS is a run, of a control and a mechanism as the other labs have them: sluice is hpcc and hiercc together.

fabric_up() {
	local i

	net_reset
	NET_PORT_LIMIT=$((LAB_BUFFER + LAB_HEADROOM * (LAB_RACKS + 1)))
	net_switch s1
	NET_LINK_RATE=$LAB_RATE
	net_host r1 s1 p0 2.0
	net_late r1
	net_node r1 s1 2.0 0
	net_pod sink r1 0.2
	net_bottleneck s1 p0
	NET_LINK_RATE=$((LAB_RATE * LAB_UPLINK))
	for ((i = 1; i <= LAB_RACKS; i++)); do
		net_host "n$i" s1 "p$i" "1.$i"
		[[ ! $NET_HAS_FQ ]] || net_tc s1 "qdisc add dev p$i root fq"
		NET_SENDER_PORTS+=("s1:p$i")
		racks_node $i
	done
	racks_pods
	net_host np s1 pp 3.0
	net_node np s1 3.0 $NODE_PROBE
	net_pod probe np $NODE_PROBE.2
	net_commit
}

# fabric_mech LOOPS: of the switch.
fabric_mech() {
	[[ +$1+ == *+ppfc+* ]] && echo ppfc || echo none
}

# fabric_control LOOPS: of the nodes.
fabric_control() {
	case +$1+ in
	*+hpcc+*) [[ +$1+ == *+hiercc+* ]] && echo sluice || echo hpcc ;;
	*+hiercc+*) echo hiercc ;;
	*) echo none ;;
	esac
}

# cc_sluice_fabric CC NAMESPACE BASE_RTT: the daemon of a node.
cc_sluice_fabric() {
	local speed pauses="" node=${2#n}

	speed=$(cc_sluice_speed $((LAB_RATE * LAB_UPLINK)))
	[[ $LAB_MECH == none ]] || pauses=", pfc: obey"
	[[ $2 != r1 ]] || speed=$(cc_sluice_speed "$LAB_RATE") node=0 pauses=""
	echo "interfaces: [{name: eth0, role: host, speed: $speed$pauses}]"
	[[ ! $pauses ]] || echo "pfc: {lossless: [0]}"
	[[ $1 != none ]] || return 0
	echo "node: {uplink: eth0, id: $((16 + node)), pod_cidrs: [$NET_POD_CIDR]}"
	echo "peers: [{prefix: $NET_POD_CIDR, base_rtt: $3}]"
	cc_sluice_hiercc "$1"
	echo "auth: ${CC_KEY:-none}"
	[[ $1 != hiercc ]] || echo "hpcc: {enabled: false}"
}
