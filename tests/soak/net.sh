# SPDX-License-Identifier: GPL-2.0-only
# The network of the soak, and the configuration of its three daemons.
#
#	src -- h1 eth0 --- p1 sw p2 --- eth0 h2 -- pod1, and pods that come and go
#	          eth1 --- p3
#
# h1 and h2 are nodes. src (on h1) is at the other end of what the passing pods send. eth1 and p3 come and go.
# Each interface has its clsact from the start: Linux empties the queue of one to which a clsact is added.

SOAK_NODES="h1 h2 sw"
SOAK_SPACES="h1 h2 sw pod1 src"
declare -A CONF=() # "node key": the value in the configuration of a node

soak_net_up() {
	local node

	NET_FQ=
	! net_has_qdisc fq || NET_FQ=1
	for node in h1 h2 sw; do
		ip netns add "$NET_PREFIX$node" || return
		# shellcheck disable=SC2016
		net_in "$node" bash -c 'cd /proc/sys/net && echo 0 >ipv6/conf/all/accept_ra && echo 0 >ipv6/conf/default/accept_ra &&
			echo 0 >ipv6/conf/default/accept_dad && echo 0 >ipv4/tcp_early_retrans && echo 1 >ipv4/ip_forward &&
			echo 1 >ipv6/conf/all/forwarding && ip link set lo up && ip link add spare type veth peer name spare0 && ip link set spare up && ip link set spare0 up' || return
	done
	net_link 1 && net_link 2 || return
	for node in h1 h2; do
		soak_root "$node"
		net_in "$node" tc qdisc add dev eth0 clsact
		net_in sw tc qdisc add dev "p${node#h}" clsact
		soak_node_route "${node#h}" || return
	done
	pod_up h2 pod1 1 && pod_up h1 src 1
}

# soak_root NODE [KIND]: the root qdisc of a host: fq where the kernel has it, else pfifo.
soak_root() {
	local kind=${2:-fq}

	[[ $kind != fq || $NET_FQ ]] || kind=pfifo
	net_in "$1" tc qdisc del dev eth0 root 2>/dev/null
	net_in "$1" tc qdisc add dev eth0 root handle 1: $kind
}

# The routes of sw to the pods of node N: gone when its port was down.
soak_node_route() {
	net_in sw ip route replace "10.244.$1.0/24" via "10.$1.0.2" &&
		net_in sw ip -6 route replace "fd00:244:$1::/64" via "fd00:$1::2"
}

# pod_up NODE POD NUMBER: as a CNI makes it, with a queue of its own.
pod_up() {
	local node=$1 pod=$2 n=${1#h} v4=10.244.${1#h}.$3 v6=fd00:244:${1#h}::$3

	ip netns add "$NET_PREFIX$pod" &&
		ip link add eth0 netns "$NET_PREFIX$pod" address 02:00:f4:00:00:02 type veth \
			peer name "to-$pod" netns "$NET_PREFIX$node" address 02:00:f4:00:00:01 || return
	# shellcheck disable=SC2016
	net_in "$pod" bash -c 'cd /proc/sys/net && echo 0 >ipv6/conf/all/accept_ra && echo 0 >ipv6/conf/default/accept_ra &&
		echo 0 >ipv6/conf/eth0/accept_dad && echo 0 >ipv4/tcp_early_retrans && ip link set lo up && ip -batch -' <<-END
		link set eth0 up
		address add $v4/32 dev eth0
		address add $v6/128 dev eth0 nodad
		route add 169.254.1.1 dev eth0 scope link
		route add default via 169.254.1.1 dev eth0
		route add default via fe80::1 dev eth0
		neighbour add 169.254.1.1 lladdr 02:00:f4:00:00:01 nud permanent dev eth0
		neighbour add fe80::1 lladdr 02:00:f4:00:00:01 nud permanent dev eth0
	END
	net_in "$node" tc qdisc add dev "to-$pod" clsact
	net_in "$node" tc qdisc replace dev "to-$pod" root handle 1: tbf rate "$NET_RATE" burst 5000 limit 1000000
	net_in "$node" ip -batch - <<-END
		link set to-$pod up
		route add $v4 dev to-$pod scope link
		route add $v6 dev to-$pod
		neighbour add $v4 lladdr 02:00:f4:00:00:02 nud permanent dev to-$pod
		neighbour add $v6 lladdr 02:00:f4:00:00:02 nud permanent dev to-$pod
	END
}

# --- configuration ---

# conf NODE KEY DEFAULT
conf() { echo "${CONF[$1 $2]:-$3}"; }

conf_is() { [[ $(conf "$1" "$2" "$3") == "$3" ]]; }

# The settings that differ from the start: a loss may be due to a state and not to the action.
conf_unusual() {
	local key

	for key in "${!CONF[@]}"; do
		case "${key#* } ${CONF[$key]}" in
		"mode enforce" | "variant plain" | "feedback hops" | "encoding hpcc" | "telemetry every" | "window true" | "hiercc false" | \
			"on off" | "eth0 in" | "p2 in" | "peer in" | "there no" | name*) ;;
		*) echo "$key ${CONF[$key]}" ;;
		esac
	done | sort | paste -sd ',' | grep . || echo "all as usual"
}

key_write() { printf '%s\n' "${@:2}" | (umask 077 && cat >"$WORK/key-$1"); }

conf_write() {
	if [[ $1 == sw ]]; then conf_switch; else conf_host "$1"; fi >"$CASE_DIR/$1.yaml"
}

conf_host() {
	local node=$1 n=${1#h} pfc=

	[[ $(conf pauses on off) == off ]] || pfc=", pfc: obey"
	cat <<-END
	pin_dir: $PINS/ssys-$node
	mode: $(conf "$node" mode enforce)
	auth: $WORK/key-$node
	flow_timeout: 2s
	tcp: {name: soak_$node, default: true, receive_window: $(conf "$node" window true)}
	hpcc: {variant: $(conf "$node" variant plain), feedback: $(conf "$node" feedback hops), encoding: $(conf "$node" encoding hpcc), telemetry: $(conf "$node" telemetry every)}
	hiercc: {enabled: $(conf "$node" hiercc false)}
	${pfc:+pfc: {\}}
	interfaces:
	END
	if [[ $(conf "$node" eth0 in) == in ]]; then
		echo "  - {name: eth0, role: host, speed: ${NET_RATE^}$pfc}"
	else
		echo "  - {name: spare, role: host, speed: ${NET_RATE^}}"
	fi
	[[ $node != h1 || $(conf extra there no) == no ]] || echo "  - {name: $(conf extra name eth1), role: host, speed: ${NET_RATE^}}"
	[[ $(conf "$node" eth0 in) != in ]] ||
		echo "node: {uplink: eth0, id: 102$n, pod_cidrs: [10.244.$n.0/24, 'fd00:244:$n::/64']}"
	echo "peers:"
	echo "  - {prefix: 'fd00::/16', base_rtt: 4ms}"
	[[ $(conf "$node" peer in) != in ]] || echo "  - {prefix: 10.0.0.0/8, base_rtt: 4ms}"
}

conf_switch() {
	local pfc=

	[[ $(conf pauses on off) == off ]] || pfc=", pfc: ppfc"
	echo "pin_dir: $PINS/ssys-sw"
	[[ ! $pfc ]] || echo "pfc: {buffer: 1MB, seed: 1}"
	echo "interfaces:"
	echo "  - {name: p1, role: switch, speed: ${NET_RATE^}, id: 1$pfc}"
	[[ $(conf sw p2 in) != in ]] || echo "  - {name: p2, role: switch, speed: ${NET_RATE^}, id: 2$pfc}"
	[[ $(conf extra there no) == no ]] || echo "  - {name: p3, role: switch, speed: ${NET_RATE^}, id: 3$pfc}"
}
