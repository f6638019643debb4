# SPDX-License-Identifier: GPL-2.0-only
# The network of a case: h1 -- sw -- h2, three namespaces.
#
#	h1 eth0 10.1.0.2 fd00:1::2 --- p1 sw p2 --- 10.2.0.2 fd00:2::2 eth0 h2
#
# sw routes. Its ports are 100 Mbit/s with a queue that can be read (tbf); the hosts have fq where the kernel
# has it.

NET_PREFIX=ssys-
NET_NODES="h1 sw h2"
NET_RATE=100mbit
NET_BURST=5000
NET_LIMIT=1000000

net_in() {
	local ns=$1

	shift
	nsenter --net="/run/netns/$NET_PREFIX$ns" "$@"
}

# For the background, so that $! is the command's own process: net_exec NODE COMMAND... &
net_exec() {
	local ns=$1

	shift
	exec nsenter --net="/run/netns/$NET_PREFIX$ns" "$@"
}

# Is the tool and the kernel such that any case can run?
requirements() {
	local command missing=()

	if ((EUID)); then
		echo "system: namespaces and BPF need root" >&2
		return 1
	fi
	for command in ip tc ss nsenter unshare bpftool iperf3 jq awk flock; do
		type -P "$command" >/dev/null || missing+=("$command")
	done
	if ((${#missing[@]})); then
		echo "system: missing: ${missing[*]}" >&2
		return 1
	fi
	if [[ ! -x $BUILD/sluiced || ! -x $BUILD/sluicectl ]]; then
		echo "system: no sluiced and sluicectl in '${BUILD:-build/}': make builds them" >&2
		return 1
	fi
	if ! grep -q " /sys/fs/bpf bpf " /proc/self/mounts && ! mount -t bpf bpf /sys/fs/bpf; then
		echo "system: pins need a BPF file system: mount -t bpf bpf /sys/fs/bpf" >&2
		return 1
	fi
}

# Does the kernel take this root qdisc? Asked on a loopback device of a namespace of its own.
net_has_qdisc() {
	local status

	ip netns add "${NET_PREFIX}try" || return 1
	net_in try tc qdisc replace dev lo root "$@" 2>/dev/null
	status=$?
	ip netns del "${NET_PREFIX}try"
	return $status
}

# The advice that is right on this kernel: net_fix_times DEVICE, net_fix_length DEVICE.
net_fix_times() {
	if net_has_qdisc fq; then
		echo "tc qdisc replace dev $1 root fq"
	elif bpftool btf dump file /sys/kernel/btf/vmlinux 2>/dev/null | grep -q "'bpf_struct_ops_Qdisc_ops'"; then
		echo "write 'queue: sluice' for $1 in the configuration"
	else
		echo "boot a kernel with CONFIG_NET_SCH_FQ"
	fi
}

net_fix_length() { echo "tc qdisc replace dev $1 root $(net_has_qdisc fq && echo fq || echo pfifo)"; }

net_has_link() {
	local status

	ip netns add "${NET_PREFIX}try" || return 1
	net_in try ip link add try0 type "$@" 2>/dev/null
	status=$?
	ip netns del "${NET_PREFIX}try"
	return $status
}

net_has_vlan() {
	local status

	ip netns add "${NET_PREFIX}try" || return 1
	net_in try ip link add try0 type veth peer name try1 &&
		net_in try ip link add link try0 name try0.5 type vlan id 5 2>/dev/null
	status=$?
	ip netns del "${NET_PREFIX}try"
	return $status
}

# net_queue PORT: the bottleneck of a switch port.
net_queue() {
	net_in sw tc qdisc replace dev "$1" root handle 1: tbf rate "$NET_RATE" burst "$NET_BURST" limit "$NET_LIMIT"
}

# net_link N: the cable between host N and port N of the switch, with all that is on it.
net_link() {
	local n=$1 mac=02:00:0a:00:0$1

	ip link add eth0 netns "${NET_PREFIX}h$n" address "$mac:02" type veth \
		peer name "p$n" netns "${NET_PREFIX}sw" address "$mac:01" || return 1
	net_ends "h$n" eth0 "$n.2" "$n" 2 1 && net_ends sw "p$n" "$n.1" "$n" 1 2 &&
		net_in "h$n" ip route add default via "10.$n.0.1" &&
		net_in "h$n" ip -6 route add default via "fd00:$n::1" && net_queue "p$n" || return 1
	[[ ! $NET_FQ ]] || net_in "h$n" tc qdisc add dev eth0 root fq
}

# net_ends NODE DEVICE _ SUBNET MINE THEIRS: addresses; the neighbours know each other.
net_ends() {
	local mac=02:00:0a:00:0$4

	net_in "$1" ip -batch - <<-END
		link set $2 up
		address add 10.$4.0.$5/24 dev $2
		address add fd00:$4::$5/64 dev $2 nodad
		neighbour add 10.$4.0.$6 lladdr $mac:0$6 nud permanent dev $2
		neighbour add fd00:$4::$6 lladdr $mac:0$6 nud permanent dev $2
	END
}

# net_up [without-fq]: without probes for a lost tail, which a busy machine sends where nothing is lost.
net_up() {
	local ns

	NET_FQ=
	[[ ${1:-} != without-fq ]] && net_has_qdisc fq && NET_FQ=1
	for ns in $NET_NODES; do
		ip netns add "$NET_PREFIX$ns" || fail "the namespace of $ns cannot be made"
		# shellcheck disable=SC2016
		net_in "$ns" bash -c 'cd /proc/sys/net && echo 0 >ipv6/conf/all/accept_ra &&
			echo 0 >ipv6/conf/default/accept_ra && echo 0 >ipv6/conf/default/accept_dad &&
			echo 0 >ipv4/tcp_early_retrans && ip link set lo up &&
			{ [[ $1 != sw ]] || { echo 1 >ipv4/ip_forward && echo 1 >ipv6/conf/all/forwarding; }; }' \
			bash "$ns" || fail "the namespace of $ns cannot be set up"
	done
	net_link 1 && net_link 2 || fail "the links cannot be set up"
}

net_down() {
	local path

	for path in "/run/netns/$NET_PREFIX"*; do
		[[ -e $path ]] && ip netns del "${path##*/}"
	done
	return 0
}

# All processes in our namespaces: nothing but what cases start is ever there.
processes() {
	local path

	for path in "/run/netns/$NET_PREFIX"*; do
		[[ -e $path ]] && ip netns pids "${path##*/}" 2>/dev/null
	done
	return 0
}

processes_end() {
	local pids tries=0

	mapfile -t pids < <(processes)
	((${#pids[@]})) || return 0
	kill -KILL "${pids[@]}" 2>/dev/null
	while [[ $(processes) ]] && ((tries++ < 100)); do
		sleep 0.05
	done
}

# net_state NODE: an administrator's view of a node's network, without counters.
net_state() {
	local device hook

	net_in "$1" tc qdisc show
	for device in $(net_in "$1" ip -o link | awk -F': ' '{ sub("@.*", "", $2); print $2 }'); do
		for hook in ingress egress; do
			echo "# $device $hook"
			net_in "$1" tc filter show dev "$device" "$hook" 2>/dev/null
		done
	done
	# Without the timers of a bridge.
	net_in "$1" ip -d link show | sed 's/ [a-z]*_timer *[0-9.]*//g'
	net_in "$1" ip address show
	net_in "$1" ip route show table all
	net_in "$1" ip -6 route show table all
	net_in "$1" ip rule show
	# Settings that any registered congestion control of the machine changes are not this namespace's state.
	net_in "$1" grep -rsH . /proc/sys/net |
		grep -vE '/tcp_(available|allowed)_congestion_control:|/nf_conntrack_count:' | sort
}

# net_route NODE PREFIX: the route of exactly this prefix.
net_route() {
	if [[ $2 == *:* ]]; then net_in "$1" ip -6 route show "$2"; else net_in "$1" ip route show "$2"; fi
}

# net_snmp NODE COUNTER...: their sum, of all that its IP, TCP and UDP count: Tcp.RetransSegs, Udp6InDatagrams.
net_snmp() {
	local ns=$1

	shift
	net_in "$ns" cat /proc/net/snmp /proc/net/netstat /proc/net/snmp6 | awk -v wanted=" $* " '
		$1 !~ /:$/ { if (index(wanted, " " $1 " ")) sum += $2; next }
		!($1 in names) { names[$1] = $0; next }
		{ n = split(names[$1], name)
		  group = substr($1, 1, length($1) - 1) "."
		  for (i = 2; i <= n; i++) if (index(wanted, " " group name[i] " ")) sum += $i
		  delete names[$1] }
		END { print sum + 0 }'
}
