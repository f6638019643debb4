# SPDX-License-Identifier: GPL-2.0-only
# Two tenants of h1 with the same addresses and ports, each with a network of its own:
#
#	h1 eth0 --- eth0 peer1		both peers are 10.1.0.9 and fd00:1::9
#	h1 eth1 --- eth0 peer2
#
# Behind a bridge each a tenant is a pod, in a VRF it is sockets of h1. Both are 10.1.0.2 and fd00:1::2.

DOMAIN_PORT=40000
DOMAIN_RATE=50mbit

domain_up() {
	local n

	NET_FQ=
	! net_has_qdisc fq || NET_FQ=1
	ip netns add "${NET_PREFIX}h1" && net_in h1 ip link set lo up || fail "no namespace of h1"
	for n in 1 2; do
		ip netns add "${NET_PREFIX}peer$n" &&
			ip link add eth$((n - 1)) netns "${NET_PREFIX}h1" type veth peer name eth0 netns "${NET_PREFIX}peer$n" &&
			net_in h1 ip link set eth$((n - 1)) up &&
			net_in h1 tc qdisc replace dev eth$((n - 1)) root handle 1: tbf rate $DOMAIN_RATE burst 5000 limit 200000 &&
			{ [[ ! $NET_FQ ]] || net_in h1 tc qdisc add dev eth$((n - 1)) parent 1:1 fq; } &&
			domain_ends peer$n eth0 9 || fail "peer$n cannot be made"
	done
}

# domain_ends NODE DEVICE N: its addresses.
domain_ends() {
	net_in "$1" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/all/accept_dad; echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad'
	net_in "$1" ip -batch - <<-END
		link set lo up
		link set $2 up
		address add 10.1.0.$3/24 dev $2
		address add fd00:1::$3/64 dev $2 nodad
	END
}

domain_start() {
	local n

	host_config h1 "interfaces: [{name: eth0, role: host}, {name: eth1, role: host}]" "hpcc: {telemetry: companion}" \
		>"$CASE_DIR/h1.yaml"
	for n in 1 2; do
		host_config peer$n "interfaces: [{name: eth0, role: host, speed: ${DOMAIN_RATE^}}]" "hpcc: {telemetry: companion}" \
			>"$CASE_DIR/peer$n.yaml"
	done
	daemon_start h1 peer1 peer2
}

# domain_bulk N NODE OPTION...: iperf3 from tenant N, at NODE, to its peer, which receives $RECEIVED bit/s.
domain_bulk() {
	local n=$1 node=$2

	shift 2
	net_exec "$node" timeout 60 iperf3 -J -t 8 -O 2 -c 10.1.0.9 --cport $DOMAIN_PORT "$@" >"$CASE_DIR/bulk$n.json" \
		2>>"$CASE_DIR/iperf3.log" 9>&- &
	DOMAIN_BULK+=($!)
}

domain_received() {
	wait "${DOMAIN_BULK[@]}" || fail "iperf3: $(cat "$CASE_DIR"/bulk*.json | jq -r '.error // empty')"
	DOMAIN_BULK=()
	RECEIVED=()
	local n

	for n in "$@"; do
		RECEIVED[n]=$(jq '.end.sum_received.bits_per_second | floor' "$CASE_DIR/bulk$n.json")
	done
}

# Flows of data of the tenants' connection, as numbers of domains.
domain_flows() {
	ctl h1 flows --json | jq -r --argjson port $DOMAIN_PORT '[.[] | select(.local_port == $port) | .domain // 0] | sort | join(" ")'
}

domain_of_flows_is() { [[ $(domain_flows) == "$1" ]]; }

# domain_shares NODE1 NODE2 DOMAINS OPTION: each tenant has what it has alone. OPTION, with its value for each tenant.
domain_shares() {
	local first=$1 second=$2 domains=$3 alone

	DOMAIN_BULK=()
	server peer1
	server peer2
	domain_bulk 1 "$first" ${4:+$4 "$5"}
	domain_received 1
	alone=${RECEIVED[1]}
	domain_bulk 1 "$first" ${4:+$4 "$5"}
	domain_bulk 2 "$second" ${4:+$4 "$6"}
	wait_for 20 "h1 has a flow in each of the domains $domains" domain_of_flows_is "$domains"
	domain_received 1 2
	echo "# alone $((alone / 1000)) kbit/s, both at once ${RECEIVED[1]} and ${RECEIVED[2]} bit/s"
	expect "kbit/s of tenant 1, 85 % of what it has alone" $((RECEIVED[1] / 1000)) -ge $((alone * 85 / 100000))
	expect "kbit/s of tenant 2, 85 % of what tenant 1 has alone" $((RECEIVED[2] / 1000)) -ge $((alone * 85 / 100000))
	expect "packets dropped as another's, or beyond their window" "$(stat_of h1 tx_spoofed tx_beyond)" -eq 0
	expect "feedback of both flows" "$(ctl h1 flows --json |
		jq --argjson port $DOMAIN_PORT '[.[] | select(.local_port == $port and .feedbacks > 10)] | length')" -eq 2
	servers_stop
}

# domain_index DEVICE...: their numbers.
domain_index() {
	local device

	for device; do
		net_in h1 ip -j link show dev "$device" | jq '.[0].ifindex'
	done | sort -n | xargs
}

# The bridges have no address: the tenants' networks are none of this host's.
domain__tenants_at_two_bridges_have_a_flow_each() {
	local n

	domain_up
	for n in 1 2; do
		net_in h1 ip link add br$n type bridge && net_in h1 ip link set br$n up && net_in h1 ip link set eth$((n - 1)) master br$n &&
			ip netns add "${NET_PREFIX}vm$n" &&
			ip link add eth0 netns "${NET_PREFIX}vm$n" type veth peer name to-vm$n netns "${NET_PREFIX}h1" &&
			net_in h1 ip link set to-vm$n master br$n up && domain_ends vm$n eth0 2 || fail "no bridge of tenant $n"
	done
	domain_start
	domain_shares vm1 vm2 "$(domain_index br1 br2)"
	# With an address the bridge is an interface of this host, whose flows are in domain 0.
	net_in h1 ip address add 10.1.0.3/24 dev br1
	wait_for 20 "the domain of eth0 changes" said h1 "eth0: domain: $(domain_index br1) -> 0, by its VRF or bridge"
}

domain__sockets_of_two_vrfs_have_a_flow_each() {
	local n

	net_has_link vrf table 5 || skip "this kernel has no VRF"
	domain_up
	for n in 1 2; do
		net_in h1 ip link add vrf$n type vrf table $((100 + n)) && net_in h1 ip link set vrf$n up &&
			net_in h1 ip link set eth$((n - 1)) master vrf$n && domain_ends h1 eth$((n - 1)) 2 || fail "no VRF of tenant $n"
	done
	domain_start
	domain_shares h1 h1 "$(domain_index vrf1 vrf2)" --bind-dev vrf1 vrf2
	# The ACK that brings a connection's first feedback is cut at ingress, before its control hears of it.
	expect "ACKs cut of sockets that have Sluice's control" "$(stat_of h1 rx_window_cut)" -le 10
}
