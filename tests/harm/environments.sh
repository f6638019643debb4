# SPDX-License-Identifier: GPL-2.0-only
# The environments of tests/harm/run. Each builds a network on the one of the system tests, h1 -- sw -- h2, and writes the
# configuration of each daemon as the README and the pages of docs/ say, with nothing that is tuned.
#
# It sets: HARM_CLIENT and HARM_SERVER, the namespaces of the two ends; HARM_ADDRESS, where the server is reached;
# HARM_DAEMONS, the nodes where sluiced runs. The client sends, and asks.

# The base: hosts with the README's configuration, ports of 100 Mbit/s that stamp.
harm_up() {
	HARM_CLIENT=h1 HARM_SERVER=h2 HARM_ADDRESS=10.2.0.2
	HARM_DAEMONS=(h2 h1 sw)
	net_up
	harm_host h1
	harm_host h2
	switch_config >"$CASE_DIR/sw.yaml"
}

# harm_host NODE [LINE]...: as the README has it; a LINE of YAML replaces the one with the same key.
harm_host() {
	local peers="peers: [{prefix: 10.0.0.0/8, base_rtt: auto}, {prefix: 'fd00::/16', base_rtt: auto}]"

	[[ "${*: -1}" != peers:* ]] || peers=
	host_config "$@" ${peers:+"$peers"} >"$CASE_DIR/$1.yaml"
}

# harm_delay TIME: of the way back. Its port keeps its rate, but stamps nothing: its queue also holds packets that are only delayed.
harm_delay() {
	net_has_qdisc netem delay 1ms || skip "this kernel has no netem"
	net_in sw tc qdisc replace dev p1 root netem delay "$1" rate 100mbit limit 100000 || fail "netem"
	sed -i '/name: p1/d' "$CASE_DIR/sw.yaml"
}

# Two hosts and a switch, 100 Mbit/s, .1 ms
env_hosts() {
	harm_up
}

# The same at 10 Gbit/s, where the CPU is what there is too little of
env_fast() {
	NET_RATE=10gbit NET_BURST=1mb
	harm_up
	net_in sw tc qdisc replace dev p1 root handle 1: tbf rate 10gbit burst 1mb limit 20mb
	net_in sw tc qdisc replace dev p2 root handle 1: tbf rate 10gbit burst 1mb limit 20mb
}

# Two hosts and a switch, 100 Mbit/s, 1 ms
env_ms1() {
	harm_up
	harm_delay 1ms
}

# Two hosts and a switch, 100 Mbit/s, 20 ms
env_ms20() {
	harm_up
	harm_delay 20ms
}

# The other host has no Sluice, and the switch neither
env_alone() {
	harm_up
	HARM_DAEMONS=(h1)
}

# The other host has no Sluice, 20 ms, and a buffer of a tenth of a BDP at its port
env_alone20() {
	harm_up
	harm_delay 20ms
	net_in sw tc qdisc replace dev p2 root handle 1: tbf rate 100mbit burst 5000 limit 50000
	HARM_DAEMONS=(h1)
}

# harm_pod RATE: a pod of h1 is the client; a RATE has a tbf at its veth.
harm_pod() {
	harm_up
	net_in h1 sysctl -qw net.ipv4.ip_forward=1
	ip netns add "${NET_PREFIX}pod" &&
		ip link add eth0 netns "${NET_PREFIX}pod" address 02:00:f4:00:00:02 type veth peer name to-pod netns "${NET_PREFIX}h1" address 02:00:f4:00:00:01 &&
		net_in pod ip -batch - <<-END && net_in h1 ip -batch - <<-END2 || fail "the pod cannot be made"
			link set lo up
			link set eth0 up
			address add 10.244.1.11/32 dev eth0
			route add 169.254.1.1 dev eth0 scope link
			route add default via 169.254.1.1 dev eth0
			neighbour add 169.254.1.1 lladdr 02:00:f4:00:00:01 nud permanent dev eth0
		END
			link set to-pod up
			route add 10.244.1.11 dev to-pod scope link
			neighbour add 10.244.1.11 lladdr 02:00:f4:00:00:02 nud permanent dev to-pod
		END2
	net_in sw ip route add 10.244.1.0/24 via 10.1.0.2
	[[ ! $1 ]] || net_in h1 tc qdisc replace dev to-pod root tbf rate "$1" burst 5000 limit 1000000
	harm_host h1 "node: {uplink: eth0, id: 1024, pod_cidrs: [10.244.1.0/24]}"
}

# A pod of a node sends and asks
env_pod() {
	harm_pod ''
	HARM_CLIENT=pod
}

# A pod of 50 Mbit/s is sent to and asked, and its node's other end is a host
env_pod50() {
	harm_pod 50mbit
	HARM_CLIENT=h2 HARM_SERVER=pod HARM_ADDRESS=10.244.1.11
	HARM_DAEMONS=(h1 h2 sw)
}

# harm_tunnel DEVICE: its two ends have addresses, and traffic goes there.
harm_tunnel() {
	local n

	for n in 1 2; do
		net_in h$n ip -batch - <<-END || fail "$1 cannot be set up on h$n"
			link set $1 up
			address add 192.168.9.$n/24 dev $1
		END
	done
	HARM_ADDRESS=192.168.9.2
}

# harm_tunnel_made TYPE [OPTION]...: between the hosts.
harm_tunnel_made() {
	local type=$1 n

	shift
	harm_up
	for n in 1 2; do
		net_in h$n ip link add tn0 type "$type" "${@//REMOTE/10.$((3 - n)).0.2}" 2>/dev/null || skip "this kernel has no $type"
	done
	harm_tunnel tn0
}

# Over VXLAN
env_vxlan() {
	harm_tunnel_made vxlan id 7 dstport 4789 remote REMOTE dev eth0
}

# Over Geneve
env_geneve() {
	harm_tunnel_made geneve id 7 remote REMOTE
}

# harm_in_tunnel: Sluice is at the tunnel's device, and not at eth0.
harm_in_tunnel() {
	local node

	for node in h1 h2; do
		harm_host $node "interfaces: [{name: tn0, role: host, speed: ${NET_RATE^}}]" \
			"peers: [{prefix: 192.168.9.0/24, base_rtt: auto}]"
	done
}

# Over VXLAN, and Sluice is at the tunnel's device
env_vxlanin() {
	env_vxlan
	harm_in_tunnel
}

# Over Geneve, and Sluice is at the tunnel's device
env_genevein() {
	env_geneve
	harm_in_tunnel
}

# Over IPIP
env_ipip() {
	harm_tunnel_made ipip remote REMOTE
}

# Over WireGuard
env_wireguard() {
	local n

	harm_up
	type -P wg >/dev/null || skip "no wg here: apt-get install wireguard-tools"
	for n in 1 2; do
		net_in h$n ip link add tn0 type wireguard 2>/dev/null || skip "this kernel has no wireguard"
		wg genkey >"$CASE_DIR/wg$n"
	done
	for n in 1 2; do
		net_in h$n wg set tn0 private-key "$CASE_DIR/wg$n" listen-port 51820 peer "$(wg pubkey <"$CASE_DIR/wg$((3 - n))")" \
			endpoint "10.$((3 - n)).0.2:51820" allowed-ips 0.0.0.0/0 || fail "wg"
	done
	harm_tunnel tn0
}

# harm_device NODE NAME: eth0's addresses and routes move to another device of the node.
harm_device() {
	local n=${1#h}

	net_in "$1" ip -batch - <<-END || fail "$2 of $1"
		address flush dev eth0
		link set $2 address $(net_in "$1" ip -j link show dev eth0 | jq -r '.[0].address') up
		address add 10.$n.0.2/24 dev $2
		neighbour replace 10.$n.0.1 lladdr 02:00:0a:00:0$n:01 nud permanent dev $2
		route replace default via 10.$n.0.1
	END
}

# h1 sends by a bridge, of which eth0 is a port, as hypervisors have it
env_bridge() {
	harm_up
	net_in h1 ip link add br0 type bridge && net_in h1 ip link set eth0 master br0 || skip "this kernel has no bridges"
	harm_device h1 br0
}

# h1 is a virtual machine: it sends by a macvlan of eth0, and Sluice is at eth0
env_macvlan() {
	harm_up
	net_in h1 ip link add mv0 link eth0 type macvlan mode bridge 2>/dev/null || skip "this kernel has no macvlan"
	net_in h1 ip -batch - <<-END
		address flush dev eth0
		link set mv0 up
		address add 10.1.0.2/24 dev mv0
		route replace default via 10.1.0.1
	END
	net_in sw ip neighbour replace 10.1.0.2 lladdr "$(net_in h1 ip -j link show dev mv0 | jq -r '.[0].address')" dev p1
}

# h1's eth0 is the slave of a bond
env_bond() {
	harm_up
	net_in h1 ip link add bond0 type bond mode active-backup miimon 100 2>/dev/null || skip "this kernel has no bond"
	net_in h1 ip link set eth0 down && net_in h1 ip link set eth0 master bond0
	harm_device h1 bond0
}

# h1's eth0 is in a VRF
env_vrf() {
	harm_up
	net_in h1 ip link add blue type vrf table 10 2>/dev/null || skip "this kernel has no VRF"
	net_in h1 ip -batch - <<-END || fail "VRF"
		link set blue up
		link set eth0 master blue
		route add default via 10.1.0.1 table 10
	END
	HARM_VRF=blue
}

# Another agent's filter is first at both hooks of h1, and ends with TC_ACT_OK
env_filter() {
	harm_up
	net_in h1 tc qdisc add dev eth0 clsact
	net_in h1 tc filter add dev eth0 egress prio 1 bpf direct-action bytecode "1,6 0 0 0," 2>/dev/null &&
		net_in h1 tc filter add dev eth0 ingress prio 1 bpf direct-action bytecode "1,6 0 0 0," 2>/dev/null || skip "tc takes no filter of BPF here"
}

# MTU 9000
env_jumbo() {
	local end

	harm_up
	for end in h1:eth0 sw:p1 sw:p2 h2:eth0; do
		net_in ${end%:*} ip link set "${end#*:}" mtu 9000
	done
	net_in sw tc qdisc replace dev p1 root handle 1: tbf rate 100mbit burst 20000 limit 1000000
	net_in sw tc qdisc replace dev p2 root handle 1: tbf rate 100mbit burst 20000 limit 1000000
}

# A policer, or a bad cable, loses 1 % of what h1 sends
env_loss() {
	harm_up
	net_in sw nft -f - 2>/dev/null <<-'END' || skip "no nft here, or no nf_tables in this kernel"
		table ip loss {
			chain forward {
				type filter hook forward priority 0;
				ip saddr 10.1.0.0/24 numgen random mod 100 < 1 drop
			}
		}
	END
}
