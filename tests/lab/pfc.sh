# SPDX-License-Identifier: GPL-2.0-only
# Many to one through switches whose buffers are to last (P-PFC, section 5), with a run for each of MECH. A list in
# SENDERS is groups, each with a receiver of its own (P-PFC, Figure 8). SHAPE:
#
# star	       +--e1--p1--+    +--q1 (tbf RATE)-- r1   group 1
#	hosts -+--e2--p2--+-- s1 --q2 (tbf RATE)-- r2   group 2
#	       +--eN--pN--+
#	             probe
#
# dumbbell: the receivers are on s2, and s1:c2 (tbf CORE x RATE) leads there (P-PFC, Figure 13).
# spine: senders on s1 and s2 in turn, receivers on s3, and each of these has a link to the spines s4 and s5, which
# the senders of a switch use in turn (P-PFC, Figure 14).
#
# All senders are in one namespace, each with a link of its own, so that one daemon obeys for all of them. Those of the
# switches have all ports but the probe's. The delay of the ACKs is at the receivers: between the switches
# and the senders it would delay pauses, too.

PFC_START_US=20000

pfc_up() {
	local i=0 k group=0 count leaf

	net_reset
	NET_HOSTS+=(hosts) NET_IP[hosts]='' NET_TC[hosts]=''
	pfc_switches
	for count in $LAB_GROUPS; do
		net_host "r$((++group))" "$PFC_LAST" "q$group" "2.$group"
		net_late "r$group"
		net_bottleneck "$PFC_LAST" "q$group"
		for ((k = 0; k < count; k++)); do
			i=$((i + 1)) leaf=s1
			[[ $LAB_SHAPE == spine ]] && leaf=s$((1 + (i - 1) % 2))
			NET_LINK_RATE=$(pfc_rate $i)
			net_port hosts "e$i" $leaf "p$i" "1.$i"
			net_ip hosts "route add default via 10.1.$i.1 dev e$i metric $i"
			[[ ! $NET_HAS_FQ ]] || net_tc $leaf "qdisc add dev p$i root fq"
			pfc_routes $i $leaf
			NET_SENDERS+=("hosts/e$i") NET_SENDER_PORTS+=("$leaf:p$i")
			NET_RECEIVERS+=("r$group") NET_PATHS+=("")
		done
		NET_LINK_RATE=$LAB_RATE
	done
	net_host probe s1 pp 3.0
	net_commit
}

# The switches, and what is between them. PFC_LAST has the receivers.
pfc_switches() {
	local k ports

	ports=$(wc -w <<<"$LAB_GROUPS")
	case $LAB_SHAPE in
	star) ports=$((ports + LAB_SENDERS)) ;;
	dumbbell) ports=$((ports + 1)) ;;
	spine) ports=$((ports + 2)) ;;
	esac
	NET_PORT_LIMIT=$((LAB_BUFFER + LAB_HEADROOM * ports))
	PFC_LAST=s1
	net_switch s1
	case $LAB_SHAPE in
	dumbbell)
		PFC_LAST=s2
		net_switch s2
		pfc_core s1 c2 s2 c1 4.0
		net_ip s1 "route add 10.2.0.0/16 via 10.4.0.1"
		net_ip s2 "route add 10.3.0.0/24 via 10.4.0.2"
		;;
	spine)
		PFC_LAST=s3
		for k in 2 3 4 5; do
			net_switch s$k
		done
		for k in 4 5; do
			pfc_core s1 c$k s$k c1 $k.1
			pfc_core s2 c$k s$k c2 $k.2
			pfc_core s$k c3 s3 c$k $k.3
			net_ip s1 "route add default via 10.$k.1.1 table $k"
			net_ip s2 "route add default via 10.$k.2.1 table $k"
			net_ip s$k "route add 10.2.0.0/16 via 10.$k.3.1"
		done
		net_ip s1 "route add 10.2.0.0/16 via 10.4.1.1"
		net_ip s4 "route add 10.3.0.0/24 via 10.4.1.2"
		net_ip s3 "route add 10.3.0.0/24 via 10.4.3.2"
		;;
	esac
}

# pfc_core A DEVICE B DEVICE SUBNET: a link between switches, where each obeys the other.
pfc_core() {
	local end packets=$(((LAB_BUFFER + LAB_HEADROOM * LAB_SENDERS) / 1514 + 1))

	net_link "$@"
	for end in "$1 $2" "$3 $4"; do
		net_tc "${end% *}" "qdisc add dev ${end#* } root handle 1: tbf rate $((LAB_RATE * LAB_CORE))bit" \
			"burst $(net_burst $NET_PORT_BURST $((LAB_RATE * LAB_CORE))) limit 100000000"
		[[ ! $NET_HAS_FQ ]] || net_tc "${end% *}" "qdisc add dev ${end#* } parent 1:1 handle 10: fq" \
			"limit $packets flow_limit $packets"
		NET_CORES+=("${end/ /:}")
	done
}

# pfc_routes I SWITCH: the way of sender I's packets, and back to it.
pfc_routes() {
	local spine=$((4 + ($1 - 1) / 2 % 2)) leaf=${2#s}

	case $LAB_SHAPE in
	dumbbell) net_ip s2 "route add 10.1.$1.0/24 via 10.4.0.2" ;;
	spine)
		net_ip "$2" "rule add from 10.1.$1.0/24 table $spine"
		net_ip s$spine "route add 10.1.$1.0/24 via 10.$spine.$leaf.2"
		net_ip s3 "route add 10.1.$1.0/24 via 10.$spine.3.2"
		;;
	esac
}

# pfc_ports SWITCH: all of its ports with pauses.
pfc_ports() {
	local port

	for port in "${NET_BOTTLENECKS[@]}" "${NET_SENDER_PORTS[@]}" "${NET_CORES[@]}"; do
		[[ $port != "$1:"* ]] || echo "${port#*:}"
	done
}

# pfc_rate I: the most that sender I sends, in bit/s.
pfc_rate() {
	local rates=()

	read -ra rates <<<"$LAB_SENDER_RATES"
	echo "${rates[$(($1 - 1))]}"
}

# One flow per sender: of SIZE, or without an end.
pfc_run() {
	local i start bps args=() limit=$((LAB_TIME + 200000))

	for ((i = 0; i < LAB_SENDERS; i++)); do
		start=$((PFC_START_US + i / 2 * LAB_STAGGER)) bps=
		[[ $LAB_CC == burst ]] && bps=,$(pfc_rate $((i + 1)))
		args+=(-f "$start,$(traffic_ends $i),$LAB_SIZE$bps")
	done
	((LAB_SIZE)) && limit=$(traffic_limit "$start")
	[[ $LAB_CC == burst ]] && args+=(-l "$1/latency.bin")
	ulimit -n 16384
	"$LAB_BUILD/lab-flows" -o "$1/flows.csv" -t "$limit" "${args[@]}" &
	NET_PIDS+=($!)
	traffic_clock $! $((limit / 1000000 + 10)) || return 1
	# The queue afterwards.
	sleep 0.2
}
