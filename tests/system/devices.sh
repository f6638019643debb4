# SPDX-License-Identifier: GPL-2.0-only
# Devices on top of others, and under several names: bridges, altnames, VLANs, bonds, VRFs.

# devices_kind KIND [ARG]...: the kernel has it, in a VM by a module beside it.
devices_kind() {
	overlay_modules
	net_has_link "$@" || skip "this kernel has no $1"
}

# devices_check_says RESULT DETAIL
devices_check_says() {
	ctl h1 --json check "$CASE_DIR/h1.yaml" >"$CASE_DIR/check.json" 2>"$CASE_DIR/ctl.log"
	expect "what check says" "$(jq -r '.[] | .result + " " + .detail' "$CASE_DIR/check.json")" has "$1 $2"
}

# The addresses and routes of eth0 on h1 move to another device.
devices_move() {
	net_in h1 ip addr flush dev eth0
	net_in h1 ip addr add 10.1.0.2/24 dev "$1"
	net_in h1 ip neigh replace 10.1.0.1 lladdr 02:00:0a:00:01:01 nud permanent dev "$1"
	net_in h1 ip route add 10.0.0.0/8 via 10.1.0.1
}

# A hypervisor: the port of the bridge has the role, the bridge has the address.
devices__port_below_a_bridge_governs_what_the_bridge_routes() {
	net_up
	net_in h1 ip link add br0 type bridge
	net_in h1 ip link set eth0 master br0
	net_in h1 ip link set br0 up
	devices_move br0
	host_config h1 "peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}]" >"$CASE_DIR/h1.yaml"
	devices_check_says ok "routed by br0, above eth0"
	host_config h1 "peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}]" \
		"interfaces: [{name: eth0, role: host, speed: 100Mbit}, {name: br0, role: host, speed: 100Mbit}]" >"$CASE_DIR/h1.yaml"
	devices_check_says less "both have role: host, and what leaves by br0 passes eth0: it is counted and held twice"
	net_in h1 ip link add other0 type veth peer name other1
	host_config h1 "peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}]" \
		"interfaces: [{name: other0, role: host, speed: 100Mbit}]" >"$CASE_DIR/h1.yaml"
	devices_check_says less "routed by br0, which is no interface of a host here"
}

devices__altname_is_its_device() {
	net_up
	net_in h1 ip link property add dev eth0 altname uplink0 || skip "ip cannot add an altname"
	host_config h1 "interfaces: [{name: uplink0, role: host, speed: 100Mbit}]" >"$CASE_DIR/h1.yaml"
	devices_check_says ok "routed by eth0"
	daemon_start h1
	daemon_hup h1 "reloaded"
	net_in h1 ip link set eth0 mtu 1400
	wait_for 20 "the daemon follows it" said h1 "eth0: MTU: 1500 -> 1400"
	expect "interfaces" "$(status_of h1 '.interfaces[] | .name + " " + .role')" = "eth0 host"
	host_config h1 "interfaces: [{name: eth0, role: host, speed: 100Mbit}, {name: uplink0, role: switch, id: 1, speed: 100Mbit}]" \
		>"$CASE_DIR/h1.yaml"
	daemon_hup h1 "interfaces: uplink0 and eth0 are names of the same device: leave one"
	expect "interfaces" "$(status_of h1 '.interfaces[] | .name + " " + .role')" = "eth0 host"
}

# A top-of-rack switch has 128 and more.
devices__130_ports() {
	local i

	net_up
	for ((i = 0; i < 130; i++)); do
		echo "link add t$i type veth peer name u$i"
		echo "link set t$i up"
	done >"$CASE_DIR/links"
	net_in sw ip -batch "$CASE_DIR/links"
	{
		echo "pin_dir: $PINS/ssys-sw"
		echo "interfaces:"
		for ((i = 0; i < 130; i++)); do
			echo "  - {name: t$i, role: switch, speed: 100Mbit, id: 1}"
		done
	} >"$CASE_DIR/sw.yaml"
	daemon_start sw
	expect "interfaces" "$(status_of sw '.interfaces | length')" -eq 130
	daemon_stop sw
}

# Departure times are kept where the packets leave in the end.
devices__fq_below_a_vlan_and_a_bond() {
	net_up
	[[ $NET_FQ ]] || skip "this kernel has no fq"
	devices_kind bond
	net_has_vlan || skip "this kernel has no vlan"
	net_in h1 ip link add link eth0 name eth0.100 type vlan id 100
	net_in h1 ip link add n1 type veth peer name m1
	net_in h1 ip link add n2 type veth peer name m2
	net_in h1 ip link add bond0 type bond mode active-backup
	net_in h1 ip link set n1 master bond0
	net_in h1 ip link set n2 master bond0
	for dev in m1 m2 n1 n2 bond0 eth0.100; do
		net_in h1 ip link set $dev up
	done
	net_in h1 tc qdisc replace dev n1 root fq
	net_in h1 tc qdisc replace dev n2 root pfifo
	host_config h1 "interfaces: [{name: eth0.100, role: host, speed: 100Mbit}, {name: bond0, role: host, speed: 100Mbit}]" \
		>"$CASE_DIR/h1.yaml"
	daemon_start h1
	expect "pacing" "$(status_of h1 '[.interfaces[] | .name + " " + (.edt | tostring)] | sort | join(",")')" = \
		"bond0 false,eth0.100 true"
	net_in h1 tc qdisc replace dev n2 root fq
	wait_for 20 "the bond keeps them too" said h1 "bond0: departure times: off -> on"
}

# The socket is found though the look-up at a port of a VRF does not find it, and the VRF's routes are read.
devices__connection_in_a_vrf_that_is_older() {
	telemetry_in_data
	net_up
	devices_kind vrf table 9
	net_in h1 ip link add vrf0 type vrf table 1001
	net_in h1 ip link set vrf0 up
	net_in h1 ip link set eth0 master vrf0
	net_in h1 ip addr replace 10.1.0.2/24 dev eth0
	net_in h1 ip neigh replace 10.1.0.1 lladdr 02:00:0a:00:01:01 nud permanent dev eth0
	net_in h1 ip route replace 10.0.0.0/8 via 10.1.0.1 table 1001
	daemon_start h2 sw
	server h2
	bulk_start h1 10.2.0.2 --bind-dev vrf0
	host_config h1 "tcp: {name: ${CC}h1, default: false}" "peers: [{prefix: 10.0.0.0/9, base_rtt: 2ms}]" >"$CASE_DIR/h1.yaml"
	daemon_start h1
	expect "our route" "$(net_in h1 ip route show table 1001 proto 83)" has "10.0.0.0/9 via 10.1.0.1 dev eth0 mtu 1348"
	devices_check_says ok "routed by eth0"
	grows "feedback" 20 flow_of h1 .feedbacks
	grows "windows that are cut" 20 stat_of h1 rx_window_cut
	bulk_goes_on
	daemon_stop h1
	expect "our routes" "$(net_in h1 ip route show table 1001 proto 83)" = ""
}
