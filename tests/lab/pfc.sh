# SPDX-License-Identifier: GPL-2.0-only
# Many to one through a switch whose buffer is to last (003, section 5): the star with a run for each of MECH.
# A list in SENDERS is groups, each with a receiver of its own (003, Figure 8).
#
#	       +--e1--p1--+    +--q1 (tbf RATE)-- r1   group 1
#	hosts -+--e2--p2--+-- s1 --q2 (tbf RATE)-- r2   group 2
#	       +--eN--pN--+
#	             probe
#
# All senders are in one namespace, each with a link of its own, so that one daemon obeys for all of them. That of s1 has all
# ports p and q. What delays the ACKs is at the receivers: between the switch and the senders it would delay
# pauses, too.

PFC_START_US=20000

pfc_up() {
	local i=0 k group=0 count

	net_reset
	NET_PORT_LIMIT=$((LAB_BUFFER + LAB_HEADROOM * (LAB_SENDERS + $(wc -w <<<"$LAB_GROUPS"))))
	net_switch s1
	NET_HOSTS+=(hosts) NET_IP[hosts]='' NET_TC[hosts]=''
	for count in $LAB_GROUPS; do
		net_host "r$((++group))" s1 "q$group" "2.$group"
		net_late "r$group"
		net_bottleneck s1 "q$group"
		for ((k = 0; k < count; k++)); do
			i=$((i + 1))
			NET_LINK_RATE=$(pfc_rate $i)
			net_port hosts "e$i" s1 "p$i" "1.$i"
			net_ip hosts "route add default via 10.1.$i.1 dev e$i metric $i"
			[[ ! $NET_HAS_FQ ]] || net_tc s1 "qdisc add dev p$i root fq"
			NET_SENDERS+=("hosts/e$i") NET_SENDER_PORTS+=("s1:p$i")
			NET_RECEIVERS+=("r$group") NET_PATHS+=("")
		done
		NET_LINK_RATE=$LAB_RATE
	done
	net_host probe s1 pp 3.0
	net_commit
}

# pfc_rate I: what sender I sends at most, in bit/s.
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
