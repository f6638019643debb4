# SPDX-License-Identifier: GPL-2.0-only
# A bridge of Open vSwitch on the way, which knows nothing of Sluice:
#
#	h1 --- p1 sw p2 --- o1 ov o2 --- h2
#
# Its datapath is the one in user space (netdev), for which no kernel module is needed. ovsdb-server and ovs-vswitchd run in the
# namespace ov, with their sockets and files in the directory of the case.

OVS=() # their process ids

ovs_here() {
	local command

	for command in ovsdb-server ovs-vswitchd ovs-vsctl ovs-ofctl; do
		type -P $command >/dev/null || skip "no Open vSwitch here: apt-get install --no-install-recommends openvswitch-switch"
	done
}

# The datapath takes packets from a raw socket, which has no way to say that a checksum is still to be made.
ovs_cable() {
	ip link add "$2" netns "$NET_PREFIX$1" address "$3" type veth peer name "$4" netns "${NET_PREFIX}ov" &&
		net_in "$1" ethtool -K "$2" tx off >"$CASE_DIR/ethtool.log" 2>&1 && net_in ov ip link set "$4" up
}

ovs_up() {
	need ethtool
	ovs_here
	net_up
	ip netns add "${NET_PREFIX}ov" && net_in ov ip link set lo up && net_in sw ip link del p2 || fail "the bridge cannot be set up"
	ovs_cable sw p2 02:00:0a:00:02:01 o1 && ovs_cable h2 eth0 02:00:0a:00:02:02 o2 &&
		net_ends sw p2 _ 2 1 2 && net_ends h2 eth0 _ 2 2 1 && net_in h2 ip route add default via 10.2.0.1 &&
		net_in h2 ip -6 route add default via fd00:2::1 && net_queue p2 || fail "the cables to the bridge cannot be set up"
	[[ ! $NET_FQ ]] || net_in h2 tc qdisc add dev eth0 root fq
}

ovs_exec() { net_exec ov env OVS_RUNDIR="$CASE_DIR/ovs" OVS_LOGDIR="$CASE_DIR/ovs" OVS_DBDIR="$CASE_DIR/ovs" OVS_SYSCONFDIR="$CASE_DIR/ovs" "$@"; }

ovs_start() {
	local dir=$CASE_DIR/ovs

	mkdir "$dir" && ovsdb-tool create "$dir/conf.db" /usr/share/openvswitch/vswitch.ovsschema 2>"$CASE_DIR/ovs.log" ||
		fail "ovsdb-tool: $(<"$CASE_DIR/ovs.log")"
	ovs_exec ovsdb-server --remote="punix:$dir/db.sock" --pidfile "$dir/conf.db" >"$CASE_DIR/ovsdb.log" 2>&1 9>&- &
	OVS=($!)
	wait_for 20 "ovsdb-server answers" ovs_ctl --no-wait init
	ovs_exec ovs-vswitchd "unix:$dir/db.sock" --pidfile >"$CASE_DIR/vswitchd.log" 2>&1 9>&- &
	OVS+=($!)
	ovs_ctl -t 20 add-br br0 -- set bridge br0 datapath_type=netdev -- add-port br0 o1 -- add-port br0 o2 ||
		fail "ovs-vsctl: $(<"$CASE_DIR/ovs-vsctl.log")"
}

# It waits until the switch has done it.
ovs_ctl() { (ovs_exec ovs-vsctl --db="unix:$CASE_DIR/ovs/db.sock" "$@") >"$CASE_DIR/ovs-vsctl.txt" 2>"$CASE_DIR/ovs-vsctl.log"; }

ovs_end() {
	local pid

	for pid in "${OVS[@]}"; do
		kill "$pid"
		wait "$pid"
	done
	OVS=()
}

# ovs_linux: the kernel's bridge in its place.
ovs_linux() {
	net_in ov ip -batch - <<-END || fail "no bridge"
		link add br1 type bridge
		link set br1 up
		link set o1 master br1
		link set o2 master br1
	END
}

# ovs_kbit: what a transfer of two seconds gets through.
ovs_kbit() {
	transfer h1 10.2.0.2 -t 2
	KBIT=$(jq '.end.sum_received.bits_per_second / 1e3 | floor' "$TRANSFER")
}

# At 10 Mbit/s, so that the time which the datapath waits for a CPU is short beside a packet's.
ovs__bridge_passes_companions_and_is_no_hop() {
	local linux NET_RATE=10mbit address

	ovs_up
	host_config h1 "peers: [{prefix: 10.0.0.0/8, base_rtt: 15ms}, {prefix: 'fd00::/16', base_rtt: 15ms}]" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h2
	ovs_linux
	ovs_kbit
	linux=$KBIT
	net_in ov ip link del br1
	ovs_start
	ovs_kbit
	echo "# $KBIT kbit/s through Open vSwitch, $linux through the bridge of the kernel"
	expect "kbit/s, of $linux through the bridge of the kernel" "$KBIT" -ge $((linux * 3 / 4))
	for address in 10.2.0.2 fd00:2::2; do
		bulk_start h1 $address
		governed_soon h1
		node_hops h1 1
		grows "answers" 20 stat_of h1 rx_probe_reply
		wait_for 20 "why names the port of sw" operator_why_says "hop 1 of 1, the only one that stamps: a port of up to 10 Mbit/s"
		expect "why" "$(ctl h1 why ":$(bulk_port)")" has "path 0x002"
		bulk_unharmed
		bulk_stop
	done
	wait_for 20 "h2 has answered as many companions as h1 sent" traffic_at_least h2 rx_probe
	expect "complaints" "$(traffic_complaints)" -eq 0
	# Open vSwitch alone: nothing on the way stamps.
	daemon_stop sw
	bulk_start h1 10.2.0.2
	wait_for 20 "why says that nothing stamps" operator_why_says "No port of its path stamps telemetry, so delay decides"
	bulk_unharmed
	bulk_stop
	expect "errors that h2's stack saw" "$(net_snmp h2 Tcp.InErrs)" -eq 0
	servers_stop
	daemon_stop h1 h2
	ovs_end
}
