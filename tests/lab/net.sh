# SPDX-License-Identifier: GPL-2.0-only
# Namespaces, links and queues of a lab. A topology (star.sh, dumbbell.sh) says what is wired to
# what with net_host, net_switch, net_link and net_route; net_commit then does it, one batch a
# namespace.
#
# Variables that a topology sets for the rest of the lab:
#   NET_HOSTS         every host: senders, receivers, the probe (names without the prefix slab-)
#   NET_NODES         those of them that route, for the pods behind them
#   NET_PODS          every pod
#   NET_SWITCHES      every switch
#   NET_RACKS         the nodes that send, of LAB=racks
#   NET_SENDERS       the sender of each flow (LAB=pfc: NAMESPACE/DEVICE)
#   NET_SENDER_PORTS  the switch port of each sender, as switch:port
#   NET_RECEIVERS     the receiver of each flow
#   NET_PATHS         what path each flow takes ("" where there is one only)
#   NET_BOTTLENECKS   the bottleneck ports, as switch:port
#   NET_CORES         ports of LAB=pfc by which a switch pauses another one, as switch:port
#   NET_CLASSES       the classes of a bottleneck port with CLASSES=, as switch:port:CLASS=PERCENT
#   NET_ADDR          host or pod -> IPv4 address
# The probe goes from the host "probe" to NET_RECEIVERS[0].

NET_PREFIX=slab-

net_in() {
	local ns=$1

	shift
	nsenter --net="/run/netns/$NET_PREFIX$ns" "$@"
}

# net_spawn NAMESPACE COMMAND...: in the background, NET_PID is the command's own.
NET_PIDS=()
net_spawn() {
	local ns=$1

	shift
	nsenter --net="/run/netns/$NET_PREFIX$ns" "$@" &
	NET_PID=$!
	NET_PIDS+=("$NET_PID")
}

# Finds out what this kernel has, by trying it in a namespace of its own.
net_probe_kernel() {
	local ns=${NET_PREFIX}try

	NET_HAS_FQ='' NET_HAS_NETEM='' NET_HAS_IPV6='' NET_HAS_IFB=''
	[[ -e /proc/sys/net/ipv6 ]] && NET_HAS_IPV6=1
	ip netns add "$ns" || return 1
	net_try() { net_in try tc qdisc replace dev lo root "$@" 2>/dev/null; }
	net_try fq && NET_HAS_FQ=1
	net_try netem delay 1ms && NET_HAS_NETEM=1
	net_in try ip link add ifb9 type ifb 2>/dev/null && NET_HAS_IFB=1
	if ! net_try tbf rate 1mbit burst 5000 limit 10000; then
		echo "lab: this kernel has no sch_tbf, which makes the bottleneck" >&2
		ip netns del "$ns"
		return 1
	fi
	ip netns del "$ns"
}

net_reset() {
	NET_HOSTS=() NET_NODES=() NET_PODS=() NET_SWITCHES=() NET_BOTTLENECKS=() NET_CORES=() NET_CLASSES=() NET_RACKS=()
	NET_SENDERS=() NET_SENDER_PORTS=() NET_RECEIVERS=() NET_PATHS=()
	declare -gA NET_ADDR=() NET_IP=() NET_TC=()
	net_nics
	NET_GSO=() NET_WIRES=0
	NET_LINKS='' NET_LINK_RATE=$LAB_RATE NET_PORT_LIMIT=$LAB_BUFFER
}

net_ip() { NET_IP[$1]+="${*:2}"$'\n'; }
net_tc() { NET_TC[$1]+="${*:2}"$'\n'; }

net_switch() {
	NET_SWITCHES+=("$1")
	NET_IP[$1]='' NET_TC[$1]=''
}

# NET_NICS: the NICs of the VM, by their places on its bus: each two have a cable between them. Those of a lab that was
# removed come back to this namespace a little later.
net_nics() {
	local tries=0 device

	NET_NICS=()
	while ((${#NET_NICS[@]} < 2 * LAB_NICS)); do
		((tries == 0)) || sleep 0.05
		((tries++ < 100)) || {
			echo "lab: there are ${#NET_NICS[@]} NICs here, and NIC=$LAB_NIC needs $((2 * LAB_NICS)):" \
				"tests/vm/run --nics $LAB_NICS --nic $LAB_NIC" >&2
			return 1
		}
		mapfile -t NET_NICS < <(for device in /sys/class/net/*/device; do
			[[ ! -e $device ]] || echo "$(realpath "$device") $(basename "${device%/device}")"
		done | sort | awk '{ print $2 }')
	done
}

# net_link A DEVICE B DEVICE SUBNET: a cable. SUBNET 1.7 is 10.1.7.0/24 and fd00:1:7::/64; A is
# .2, B is .1. One packet is never more than one MTU, as on a wire, and the neighbours know each
# other: no ARP in between. With NIC= the two ends are NICs, as their drivers set them up: a wire has packets of one MTU,
# the switch puts some of them together again (GRO), and its shaper takes them apart.
net_link() {
	local net4=10.$5 net6=fd00:${5//./:} mac mac1 mac2 segs=gso_max_segs\ 1

	if ((LAB_NICS)); then
		mac2=$(</sys/class/net/"${NET_NICS[0]}"/address) mac1=$(</sys/class/net/"${NET_NICS[1]}"/address)
		NET_LINKS+="link set ${NET_NICS[0]} netns $NET_PREFIX$1 name $2"$'\n'
		NET_LINKS+="link set ${NET_NICS[1]} netns $NET_PREFIX$3 name $4"$'\n'
		NET_NICS=("${NET_NICS[@]:2}")
	else
		mac=$(printf '02:00:0a:%02x:%02x' "${5%.*}" "${5#*.}")
		mac2=$mac:02 mac1=$mac:01
		net_is_gso && segs=
		NET_LINKS+="link add $2 netns $NET_PREFIX$1 address $mac2 $segs type veth"
		NET_LINKS+=" peer name $4 netns $NET_PREFIX$3 address $mac1 $segs"$'\n'
		net_is_gso && NET_GSO+=("$1 $2" "$3 $4")
	fi
	net_ip "$1" "link set $2 up"
	net_ip "$3" "link set $4 up"
	net_ip "$1" "address add $net4.2/24 dev $2"
	net_ip "$3" "address add $net4.1/24 dev $4"
	net_ip "$1" "neighbour add $net4.1 lladdr $mac1 nud permanent dev $2"
	net_ip "$3" "neighbour add $net4.2 lladdr $mac2 nud permanent dev $4"
	[[ $NET_HAS_IPV6 ]] || return 0
	net_ip "$1" "address add $net6::2/64 dev $2 nodad"
	net_ip "$3" "address add $net6::1/64 dev $4 nodad"
	net_ip "$1" "neighbour add $net6::1 lladdr $mac1 nud permanent dev $2"
	net_ip "$3" "neighbour add $net6::2 lladdr $mac2 nud permanent dev $4"
}

# net_is_gso: whether the stacks build packets of up to 64 KB, which fq sees whole and the device cuts into MTUs. The
# speed of the wire behind the device is then made by an ifb at its other end.
net_is_gso() {
	[[ $LAB_GSO && $NET_HAS_FQ && $NET_HAS_IFB ]]
}

# net_host HOST SWITCH PORT SUBNET: a host on a switch. Its link has the speed NET_LINK_RATE and its qdisc
# honours departure times: an fq, with a tbf around it that gives the link its speed where no wire does.
net_host() {
	local host=$1 switch=$2 port=$3 net=$4

	NET_HOSTS+=("$host")
	NET_IP[$host]='' NET_TC[$host]=''
	NET_ADDR[$host]=10.$net.2
	net_port "$host" eth0 "$switch" "$port" "$net"
	net_ip "$host" "route add default via 10.$net.1"
	[[ $NET_HAS_IPV6 ]] && net_ip "$host" "route add ::/0 via fd00:${net//./:}::1"
	return 0
}

# net_port HOST DEVICE SWITCH PORT SUBNET: its link.
net_port() {
	net_link "$@"
	if net_is_gso; then
		net_tc "$1" "qdisc add dev $2 root handle 10: fq"
		net_wire "$3" "$4"
		return
	fi
	net_tc "$1" "qdisc add dev $2 root handle 1: tbf rate ${NET_LINK_RATE}bit" \
		"burst $(net_burst "$NET_HOST_BURST" "$NET_LINK_RATE") limit 2000000"
	[[ $NET_HAS_FQ ]] && net_tc "$1" "qdisc add dev $2 parent 1:1 handle 10: fq"
	return 0
}

# net_wire SWITCH PORT: packets come in by the port at NET_LINK_RATE, one packet after the other.
net_wire() {
	local ifb=wire$((NET_WIRES++))

	net_ip "$1" "link add $ifb type ifb"
	net_ip "$1" "link set $ifb up"
	net_tc "$1" "qdisc add dev $ifb root tbf rate ${NET_LINK_RATE}bit" \
		"burst $(net_burst "$NET_HOST_BURST" "$NET_LINK_RATE") limit 20000000"
	net_tc "$1" "qdisc add dev $2 clsact"
	net_tc "$1" "filter add dev $2 ingress protocol all matchall action mirred egress redirect dev $ifb"
}

# net_sender HOST SWITCH PORT SUBNET: a host whose incoming packets (the ACKs) take RTT.
net_sender() {
	net_host "$@"
	[[ $NET_HAS_NETEM ]] && ((LAB_RTT)) &&
		net_tc "$2" "qdisc add dev $3 root netem delay ${LAB_RTT}us limit 100000"
	return 0
}

# net_late HOST: all that a host sends (the ACKs) takes RTT.
net_late() {
	[[ $NET_HAS_NETEM ]] && ((LAB_RTT)) &&
		net_tc "$1" "qdisc replace dev eth0 root netem delay ${LAB_RTT}us limit 100000"
	return 0
}

# Pods have addresses out of this.
NET_POD_CIDR=10.244.0.0/16
# The pod's gateway, which no interface has: the neighbour entry says where it is.
NET_POD_GATEWAY=169.254.1.1

# net_node HOST SWITCH SUBNET NUMBER: makes the host a node that routes to its pods, 10.244.NUMBER.0/24.
net_node() {
	NET_NODES+=("$1")
	if [[ $LAB_OVERLAY ]]; then
		net_overlay "$1" "$3" "$4"
		return
	fi
	net_ip "$2" "route add 10.244.$4.0/24 via 10.$3.2"
}

# net_overlay NODE SUBNET NUMBER: a tunnel from the node to r1, which all pods talk to, with a VXLAN of its own, NUMBER.
# r1, the node with NUMBER 0, gets the other end.
net_overlay() {
	local vxlan="type vxlan id $((100 + $3)) dstport 4789" mac

	(($3)) || return 0
	mac=$(printf '02:00:f8:00:%02x' "$3")
	net_ip "$1" "link add vx0 address $mac:02 $vxlan local 10.$2.2 remote 10.2.0.2 dev eth0"
	net_ip "$1" "link set vx0 up"
	net_ip "$1" "route add 10.244.0.0/24 via $NET_POD_GATEWAY dev vx0 onlink"
	net_ip "$1" "neighbour add $NET_POD_GATEWAY lladdr $mac:01 nud permanent dev vx0"
	net_ip r1 "link add vx$3 address $mac:01 $vxlan local 10.2.0.2 remote 10.$2.2 dev eth0"
	net_ip r1 "link set vx$3 up"
	net_ip r1 "route add 10.244.$3.0/24 via $NET_POD_GATEWAY dev vx$3 onlink"
	net_ip r1 "neighbour add $NET_POD_GATEWAY lladdr $mac:02 nud permanent dev vx$3"
}

# net_pod POD NODE NUMBER.HOST: a pod with the address 10.244.NUMBER.HOST behind a veth of the node,
# point to point as common CNIs have it. Its stack and its veth are stock.
net_pod() {
	local pod=$1 node=$2 address=10.244.$3 mac mtu=${LAB_OVERLAY:+mtu 1450}

	NET_PODS+=("$pod")
	NET_IP[$pod]='' NET_TC[$pod]=''
	NET_ADDR[$pod]=$address
	mac=$(printf '02:00:f4:%02x:%02x' "${3%.*}" "${3#*.}")
	NET_LINKS+="link add eth0 netns $NET_PREFIX$pod address $mac:02 $mtu type veth"
	NET_LINKS+=" peer name to-$pod netns $NET_PREFIX$node address $mac:01 $mtu"$'\n'
	net_ip "$pod" "link set eth0 up"
	net_ip "$pod" "address add $address/32 dev eth0"
	net_ip "$pod" "route add $NET_POD_GATEWAY dev eth0 scope link"
	net_ip "$pod" "route add default via $NET_POD_GATEWAY dev eth0"
	net_ip "$pod" "neighbour add $NET_POD_GATEWAY lladdr $mac:01 nud permanent dev eth0"
	net_ip "$node" "link set to-$pod up"
	net_ip "$node" "route add $address dev to-$pod scope link"
	net_ip "$node" "neighbour add $address lladdr $mac:02 nud permanent dev to-$pod"
}

# net_route NODE SUBNET GATEWAY_SUBNET SIDE: SUBNET (1.7) is behind the end SIDE (1 or 2) of a link.
net_route() {
	net_ip "$1" "route add 10.$2.0/24 via 10.$3.$4"
	[[ $NET_HAS_IPV6 ]] &&
		net_ip "$1" "route add fd00:${2//./:}::/64 via fd00:${3//./:}::$4"
	return 0
}

# net_burst BYTES RATE: tokens of a tbf, but 50 us at least, which is how late its timer may be.
NET_HOST_BURST=1600
NET_PORT_BURST=5000
net_burst() {
	local late=$(($2 / 8 / 20000))

	echo $(($1 > late ? $1 : late))
}

# net_bottleneck SWITCH PORT: the egress queue that the lab studies.
net_bottleneck() {
	NET_BOTTLENECKS+=("$1:$2")
	[[ $LAB_CLASSES ]] && {
		net_classes "$@"
		return
	}
	net_tc "$1" "qdisc add dev $2 root handle 1: tbf rate ${LAB_RATE}bit" \
		"burst $(net_burst $NET_PORT_BURST "$LAB_RATE") limit $NET_PORT_LIMIT"
}

# net_classes SWITCH PORT: the same as one queue for each of CLASSES, by DSCP: 0, 8, 16 ... Each is sure of its
# share; with BORROW it may use what others leave, else it is bounded by its share.
net_classes() {
	local i=0 share rate ceil burst

	burst=$(net_burst $NET_PORT_BURST "$LAB_RATE")
	net_tc "$1" "qdisc add dev $2 root handle 1: htb default 10"
	net_tc "$1" "class add dev $2 parent 1: classid 1:1 htb rate ${LAB_RATE}bit burst $burst cburst $burst" \
		"quantum 15140"
	for share in $LAB_CLASSES; do
		rate=$((LAB_RATE / 100 * share)) ceil=$rate
		[[ $LAB_BORROW ]] && ceil=$LAB_RATE
		net_tc "$1" "class add dev $2 parent 1:1 classid 1:$((++i))0 htb rate ${rate}bit ceil ${ceil}bit" \
			"burst $burst cburst $burst quantum $((1514 * share / 10))"
		net_tc "$1" "qdisc add dev $2 parent 1:${i}0 handle ${i}0: bfifo limit $LAB_BUFFER"
		((i == 1)) || net_tc "$1" "filter add dev $2 parent 1: protocol ip u32" \
			"match ip dsfield $((32 * (i - 1))) 0xfc flowid 1:${i}0"
		NET_CLASSES+=("$1:$2:${i}0=$share")
	done
}

# net_mark US: the bottlenecks mark what waited longer (instantaneous queue, nothing dropped early).
net_mark() {
	net_aqm "codel target 2s interval 4s ecn ce_threshold ${1}us"
}

# net_qdisc QDISC: with the bottleneck's buffer as its limit. cake bounds memory, not bytes: it keeps its own limit.
net_qdisc() {
	case $1 in
	cake*) echo "$1" ;;
	red*) echo "red limit $NET_PORT_LIMIT avpkt 1500${1#red}" ;;
	*) echo "${1%% *} limit $((NET_PORT_LIMIT / 1514))${1#"${1%% *}"}" ;;
	esac
}

# net_has_qdisc QDISC: whether this kernel and this tc take it, with its options.
net_has_qdisc() {
	local found

	ip netns add "${NET_PREFIX}try" || return 1
	# shellcheck disable=SC2046
	net_in try tc qdisc add dev lo root $(NET_PORT_LIMIT=$LAB_BUFFER net_qdisc "$1")
	found=$?
	ip netns del "${NET_PREFIX}try"
	return $found
}

# net_aqm QDISC: the bottlenecks have it below their tbf.
net_aqm() {
	local port

	for port in "${NET_BOTTLENECKS[@]}"; do
		# shellcheck disable=SC2046
		net_in "${port%:*}" tc qdisc add dev "${port#*:}" parent 1:1 handle 10: $(net_qdisc "$1") || return 1
	done
}

# net_shaped: every bottleneck has a queue with a rate. Where it has none nothing waits, and the lab would measure that.
net_shaped() {
	local port qdisc

	for port in "${NET_BOTTLENECKS[@]}"; do
		qdisc=$(net_in "${port%:*}" tc qdisc show dev "${port#*:}" root)
		[[ $qdisc =~ ^qdisc\ (tbf|htb|sluice)\  ]] || {
			echo "lab: the bottleneck ${port#*:} of slab-${port%:*} has no queue with a rate (tbf, htb or sluice), but" \
				"'${qdisc:-none}': nothing would be held there" >&2
			return 1
		}
	done
}

# Builds what the topology described.
net_commit() {
	local ns routes

	for ns in "${NET_HOSTS[@]}" "${NET_SWITCHES[@]}" "${NET_PODS[@]}"; do
		ip netns add "$NET_PREFIX$ns" || return 1
	done
	ip -batch - <<<"$NET_LINKS" || return 1
	for ns in "${NET_HOSTS[@]}" "${NET_SWITCHES[@]}" "${NET_PODS[@]}"; do
		routes=
		[[ " ${NET_SWITCHES[*]} ${NET_NODES[*]} " == *" $ns "* ]] && routes=1
		# shellcheck disable=SC2016
		IP="link set lo up"$'\n'"${NET_IP[$ns]}" TC=${NET_TC[$ns]} net_in "$ns" bash -c '
			if [[ -e /proc/sys/net/ipv6 ]]; then
				echo 0 >/proc/sys/net/ipv6/conf/all/accept_ra
				echo 0 >/proc/sys/net/ipv6/conf/default/accept_ra
			fi
			if [[ $1 ]]; then
				echo 1 >/proc/sys/net/ipv4/ip_forward
				[[ ! -e /proc/sys/net/ipv6 ]] ||
					echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
			fi
			ip -batch - <<<"$IP" && tc -batch - <<<"$TC"' bash "$routes" || return 1
	done
	for ns in "${NET_GSO[@]}"; do
		net_in "${ns% *}" ethtool -K "${ns#* }" tso off tx-udp-segmentation off || return 1
	done
}

# net_end PID...: SIGTERM, and SIGKILL for those that are left after ten seconds: NET_KILLED.
net_end() {
	local pid left tries=0

	NET_KILLED=()
	kill -TERM "$@" 2>/dev/null
	while ((tries++ < 100)); do
		left=0
		for pid; do
			kill -0 "$pid" 2>/dev/null && left=1
		done
		((left)) || break
		sleep 0.1
	done
	for pid; do
		kill -KILL "$pid" 2>/dev/null && NET_KILLED+=("$pid")
		wait "$pid" 2>/dev/null
	done
}

# Ends what was spawned and is still there, in the order it was started. iperf3 3.16 may hang while it ends.
net_stop() {
	net_end "${NET_PIDS[@]}"
	NET_PIDS=()
}

# Removes every namespace of a lab, whoever made it, and ends what runs in them, as servers do that a user of the
# shell has started; nothing to do is fine.
net_down() {
	local path

	for path in "/run/netns/$NET_PREFIX"*; do
		[[ -e $path ]] || continue
		# shellcheck disable=SC2046 # a list
		net_end $(ip netns pids "${path##*/}")
		ip netns del "${path##*/}"
	done
	return 0
}

# net_queues DIR: every qdisc with its counters.
net_queues() {
	local ns

	for ns in "${NET_SWITCHES[@]}" "${NET_HOSTS[@]}"; do
		echo "# $ns"
		net_in "$ns" tc -s qdisc show
	done >"$1/qdisc.txt"
}

net_retransmits() {
	local sender

	for sender in $(printf '%s\n' "${NET_SENDERS[@]%/*}" "${NET_PODS[@]}" | sort -u); do
		[[ $sender ]] || continue
		net_in "$sender" cat /proc/net/snmp
	done | awk '
		$1 == "Tcp:" && !column {
			for (i = 2; i <= NF; i++)
				if ($i == "RetransSegs")
					column = i
		}
		$1 == "Tcp:" && $column ~ /^[0-9]+$/ { sum += $column }
		END { print sum + 0 }'
}
