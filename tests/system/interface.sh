# SPDX-License-Identifier: GPL-2.0-only
# Interfaces that change under the daemon: away and back, down and up, other qdiscs, MTUs, routes, filters.

# A deleted veth takes its filters, routes and switch port along; an interface that comes back under its name is managed again.
interface__goes_away_under_load_and_comes_back() {
	local link

	telemetry_in_data
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	link=$(status_of h1 '.interfaces[0].ifindex')
	net_in h1 ip link del eth0
	wait_for 20 "h1 says that it went away" said h1 "eth0: interface $link went away"
	wait_for 20 "sw says so too" said sw "went away"
	status_soon h1 "interfaces of h1" '.interfaces | length' 0
	status_soon sw "interfaces of sw" '[.interfaces[].name] | join(" ")' p2
	net_link 1 || fail "the link cannot be made again"
	wait_for 20 "h1 says that it is back" said h1 "eth0: reappeared"
	wait_for 20 "sw says so too" said sw "p1: reappeared"
	status_soon sw "interfaces of sw" '.interfaces | length' 2
	wait_for 20 "routes with room for telemetry" interface_room 10.0.0.0/8 1348
	wait_for 20 "and for IPv6" interface_room fd00::/16 1328
	# TCP waits longer each time before it tries again.
	bulk_goes_on 60
	governed_soon h1
	grows "stamps" 20 stat_of sw hop_stamped
	grows "feedback" 20 flow_of h1 .feedbacks
	bulk_stop
}

interface_room() { [[ "$(net_route h1 "$1") " == *" mtu $2 "* ]]; }

# Down takes the routes along.
interface__goes_down_and_up() {
	telemetry_in_data
	net_up
	daemon_start h1 h2 sw
	expect "room" "$(net_route h1 10.0.0.0/8)" has "mtu 1348"
	net_in h1 ip link set eth0 down
	net_in h1 ip link set eth0 up
	net_in h1 ip address add fd00:1::2/64 dev eth0 nodad
	net_in h1 ip neighbour replace fd00:1::1 lladdr 02:00:0a:00:01:01 nud permanent dev eth0
	net_in h1 ip neighbour replace 10.1.0.1 lladdr 02:00:0a:00:01:01 nud permanent dev eth0
	net_in h1 ip route add default via 10.1.0.1
	net_in h1 ip -6 route add default via fd00:1::1
	wait_for 20 "routes with room for telemetry" interface_room 10.0.0.0/8 1348
	wait_for 20 "and for IPv6" interface_room fd00::/16 1328
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	expect "packets without room" "$(stat_of h1 tx_mtu)" -eq 0
	bulk_stop
}

# A daemon that is there before the network is, as at boot.
interface__gets_its_addresses_after_the_start() {
	telemetry_in_data
	net_up
	net_in h1 ip link set eth0 down
	net_in h1 ip address flush dev eth0
	daemon_start h1 h2 sw
	net_ends h1 eth0 _ 1 2 1
	net_in h1 ip route add default via 10.1.0.1
	net_in h1 ip -6 route add default via fd00:1::1
	wait_for 20 "routes with room for telemetry" interface_room 10.0.0.0/8 1348
	wait_for 20 "and for IPv6" interface_room fd00::/16 1328
	server h2
	bulk_start h1 fd00:2::2
	governed_soon h1
	bulk_stop
}

# Departure times are used where fq honours them, and only there.
interface__qdisc_is_replaced() {
	net_has_qdisc fq || skip "no fq in this kernel"
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	expect "departure times in the status" "$(status_of h1 '.interfaces[0].edt')" = true
	net_in h1 tc qdisc replace dev eth0 root pfifo
	wait_for 20 "sluiced says that they are off" said h1 "departure times: on -> off"
	status_soon h1 "departure times in the status" '.interfaces[0].edt' false
	expect "status as text" "$(ctl h1 status)" has "no fq"
	grows "feedback" 20 flow_of h1 .feedbacks
	bulk_goes_on
	net_in h1 tc qdisc replace dev eth0 root fq
	wait_for 20 "sluiced says that they are on" said h1 "departure times: off -> on"
	status_soon h1 "departure times in the status" '.interfaces[0].edt' true
	grows "feedback" 20 flow_of h1 .feedbacks
	bulk_goes_on
	bulk_stop
}

# A switch port that cannot be stamped is reported when that begins, and when it is over.
interface__queue_that_cannot_be_read_is_reported() {
	net_up
	daemon_start sw
	net_in sw tc qdisc replace dev p2 root noqueue
	wait_for 20 "sluiced says that the queue is gone" said sw "p2: queue: read -> cannot be read: packets pass without its stamp"
	net_in sw tc qdisc replace dev p2 root tbf rate 100mbit burst 20000 limit 100000
	wait_for 20 "sluiced says that it is back" said sw "p2: queue: could not be read -> read"
}

# A part of them would be no queue length.
interface__more_transmit_queues_than_are_read_are_reported() {
	net_up
	net_in sw ip link add dev many0 numtxqueues 100 numrxqueues 1 type veth peer name many1 &&
		net_in sw ip link set many0 up && net_in sw ip link set many1 up &&
		net_in sw tc qdisc replace dev many0 root mq || skip "no veth with 100 transmit queues"
	printf "%s\n" "pin_dir: $PINS/ssys-sw" "interfaces: [{name: many0, role: switch, id: 1, speed: 100Mbit}]" >"$CASE_DIR/sw.yaml"
	daemon_start sw
	expect_said sw "many0: 100 transmit queues below mq, of which 64 at most can be read"
	expect "what probe says" "$(ctl sw probe many0)" has "more than 64 transmit queues"
	net_in sw tc qdisc replace dev many0 root pfifo
	wait_for 20 "sluiced says that it is read" said sw "many0: queue: could not be read -> read"
}

# The kernel's own mq, with handle 0:, is what a NIC with several queues has if nobody installs another; a veth gets none.
interface__kernels_own_mq_has_departure_times() {
	local was

	net_up
	was=$(</proc/sys/net/core/default_qdisc) 2>/dev/null && echo fq 2>/dev/null >/proc/sys/net/core/default_qdisc ||
		skip "no fq in this kernel"
	net_in h1 ip link add dev many0 numtxqueues 4 numrxqueues 1 type ifb && net_in h1 ip link set many0 up
	echo "$was" >/proc/sys/net/core/default_qdisc
	expect "the kernel's qdiscs" "$(net_in h1 tc qdisc show dev many0 | cut -d ' ' -f -5 | sort | tr '\n' ';')" has \
		"qdisc fq 0: parent :4;qdisc mq 0: root"
	expect "what probe says" "$(ctl h1 probe many0 | tr -s ' ')" has "root mq, 4 of 4 leaves fq"
	host_config h1 "interfaces: [{name: eth0, role: host, speed: ${NET_RATE^}}, {name: many0, role: host, speed: ${NET_RATE^}, pfc: obey}]" \
		>"$CASE_DIR/h1.yaml"
	expect "what check says" "$(ctl h1 check "$CASE_DIR/h1.yaml" | tr -s ' ')" has "many0 pfc pauses are kept by fq"
	daemon_start h1
	expect "departure times" "$(status_of h1 '[.interfaces[] | select(.name == "many0")][0].edt')" = true
	! said h1 "many0: not every leaf" || fail "fq is asked for, and it is there"
	net_in h1 tc qdisc replace dev many0 root pfifo
	wait_for 20 "sluiced says that they are off" said h1 "many0: departure times: on -> off"
	daemon_stop h1
}

# A switch with a port whose speed is the last one from ethtool.
interface_tap_up() {
	need ethtool
	[[ -c /dev/net/tun ]] || skip "no tap device in this kernel"
	net_up
	net_in sw ip tuntap add tap0 mode tap || fail "no tap device"
	net_in sw ethtool -s tap0 speed 1000 duplex full
	net_in sw tc qdisc add dev tap0 root pfifo
	printf "%s\n" "pin_dir: $PINS/ssys-sw" "interfaces: [{name: tap0, role: switch, id: 1}]" >"$CASE_DIR/sw.yaml"
	daemon_start sw
	expect "bit/s of the port" "$(status_of sw '.interfaces[0].speed_bps')" -eq 1000000000
}

# A link that comes up again has the speed that its ends agreed on.
interface__speed_changes() {
	interface_tap_up
	net_in sw ethtool -s tap0 speed 100 duplex full
	net_in sw ip link set tap0 up
	wait_for 20 "sluiced says so" said sw "tap0: speed: 1000 -> 100 Mbit/s, by the driver or the shaper at its root"
	status_soon sw "bit/s of the port" '.interfaces[0].speed_bps' 100000000
	daemon_stop sw
}

# interface_speed_soon MBIT: of port p2, which the configuration leaves to the driver and the shaper.
interface_speed_soon() { status_soon sw "bit/s of p2" '[.interfaces[] | select(.name == "p2")][0].speed_bps' "${1}000000"; }

# A veth says 10 Gbit/s, and its shaper what it sends.
interface__speed_is_that_of_the_shaper_at_its_root() {
	net_up
	printf "%s\n" "pin_dir: $PINS/ssys-sw" "interfaces: [{name: p1, role: switch, id: 1, speed: 200Mbit}, {name: p2, role: switch, id: 2}]" >"$CASE_DIR/sw.yaml"
	ctl sw check "$CASE_DIR/sw.yaml" | tr -s ' \n' ' ' >"$CASE_DIR/check.txt"
	expect "what check says" "$(<"$CASE_DIR/check.txt")" has "ok p2 speed 100 Mbit/s by the tbf at its root"
	expect "what check says" "$(<"$CASE_DIR/check.txt")" has "less p1 speed 200 Mbit/s by the configuration to do: the shaper at its root sends less"
	daemon_start sw
	interface_speed_soon 100
	expect_said sw "p2: speed 100 Mbit/s, by the tbf at its root; the driver says 10000"
	expect_said sw "p1: speed is 200 Mbit/s in the configuration, and the tbf at its root sends no more than 100"
	net_in sw tc qdisc change dev p2 root tbf rate 60mbit burst 5000 limit 1000000
	interface_speed_soon 60
	wait_for 20 "sluiced says so" said sw "p2: speed: 100 -> 60 Mbit/s, by the driver or the shaper at its root"
	net_in sw tc qdisc replace dev p2 root pfifo
	interface_speed_soon 10000
	net_in sw tc qdisc replace dev p2 root handle 1: htb default 10
	net_in sw tc class add dev p2 parent 1: classid 1:1 htb rate 80mbit ceil 90mbit
	net_in sw tc class add dev p2 parent 1:1 classid 1:10 htb rate 10mbit ceil 90mbit
	interface_speed_soon 80
	# The classes of another htb below it are not added.
	net_in sw tc qdisc add dev p2 parent 1:10 handle 2: htb default 1
	net_in sw tc class add dev p2 parent 2: classid 2:1 htb rate 7mbit
	net_in sw tc class change dev p2 parent 1: classid 1:1 htb rate 40mbit
	interface_speed_soon 40
	# Above 2^32 byte/s, in the wide attribute.
	net_in sw tc class add dev p2 parent 1: classid 1:2 htb rate 3gbit
	interface_speed_soon 3040
	daemon_stop sw
}

# A driver that never knows a speed, as that of a VM's NIC: a shaper is followed in both directions, and over a restart.
interface__speed_of_a_shaper_is_followed_where_the_driver_knows_none() {
	interface_tap_up
	daemon_stop sw
	net_in sw ethtool -s tap0 speed 0
	net_in sw tc qdisc replace dev tap0 root tbf rate 100mbit burst 20000 limit 100000
	daemon_start sw
	expect "bit/s of the port" "$(status_of sw '.interfaces[0].speed_bps')" -eq 100000000
	net_in sw tc qdisc change dev tap0 root tbf rate 1gbit burst 20000 limit 100000
	wait_for 20 "sluiced says so" said sw "tap0: speed: 100 -> 1000 Mbit/s, by the driver or the shaper at its root"
	daemon_kill sw
	net_in sw tc qdisc change dev tap0 root tbf rate 2gbit burst 20000 limit 100000
	daemon_start sw
	expect "bit/s of the port, after a crash" "$(status_of sw '.interfaces[0].speed_bps')" -eq 2000000000
	net_in sw tc qdisc change dev tap0 root tbf rate 50mbit burst 20000 limit 100000
	status_soon sw "bit/s of the port" '.interfaces[0].speed_bps' 50000000
	# Without a shaper it is the last one known.
	net_in sw tc qdisc replace dev tap0 root pfifo
	daemon_hup sw reloaded
	expect "bit/s of the port" "$(status_of sw '.interfaces[0].speed_bps')" -eq 50000000
	daemon_stop sw
}

# A driver without a link reports no speed: a port keeps its last one, over a reload and over a crash of sluiced.
interface__speed_that_is_no_longer_known_stays() {
	interface_tap_up
	net_in sw ethtool -s tap0 speed 0
	expect "what the driver says" "$(net_in sw ethtool tap0 2>&1)" has-no "1000Mb/s"
	net_in sw tc qdisc replace dev tap0 root pfifo
	daemon_hup sw reloaded
	expect "bit/s of the port" "$(status_of sw '.interfaces[0].speed_bps')" -eq 1000000000
	daemon_kill sw
	daemon_start sw
	expect "bit/s of the port, after a crash" "$(status_of sw '.interfaces[0].speed_bps')" -eq 1000000000
	expect "what sluiced complains of" "$(<"$CASE_DIR/sw.log")" has-no "does not know the speed"
	daemon_stop sw
	daemon_fails sw 4 "tap0: the driver does not know the speed: write 'speed: 25Gbit'"
}

# The route follows the MTU of its interface, in both directions.
interface__mtu_changes_under_load() {
	telemetry_in_data
	net_up
	state_keep h1
	daemon_start h1 h2 sw
	bpf_of h1 >"$CASE_DIR/objects.txt"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	net_in h1 ip link set eth0 mtu 1400
	wait_for 20 "sluiced says so" said h1 "MTU: 1500 -> 1400, by the interface"
	status_soon h1 "MTU in the status" '.interfaces[0].mtu_bytes' 1400
	wait_for 20 "the route has room" interface_room 10.0.0.0/8 1248
	wait_for 20 "and that of IPv6" interface_room fd00::/16 1280
	bulk_goes_on
	grows "packets with telemetry" 20 stat_of h1 tx_data
	grows "feedback" 20 flow_of h1 .feedbacks
	net_in h1 ip link set eth0 mtu 1500
	wait_for 20 "sluiced says so" said h1 "MTU: 1400 -> 1500"
	wait_for 20 "the route has room, and not more of it than needed" interface_room 10.0.0.0/8 1348
	wait_for 20 "and that of IPv6" interface_room fd00::/16 1328
	bulk_goes_on
	grows "feedback" 20 flow_of h1 .feedbacks
	expect "messages about the MTU" "$(grep -c MTU: "$CASE_DIR/h1.log")" -le 2
	bulk_stop
	daemon_stop h1
	state_back "$CASE_DIR/objects.txt" h1
}

interface_why_says() { ctl h1 why ":$(bulk_port)" --json | grep -q "$1"; }

# An administrator's route that has no room any more is not touched: packets that do not fit go without telemetry, and the
# rest of the daemon goes on.
interface__mtu_falls_below_an_administrators_route() {
	local started=$SECONDS

	telemetry_in_data
	net_up
	net_in h1 ip route add 10.0.0.0/8 via 10.1.0.1 mtu 1348
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	net_in h1 ip link set eth0 mtu 1400
	wait_for 20 "sluiced says what to do" said h1 "run 'ip route change 10.0.0.0/8 via 10.1.0.1 dev eth0 mtu 1248'"
	status_soon h1 "MTU in the status" '.interfaces[0].mtu_bytes' 1400
	grows "packets without room" 20 stat_of h1 tx_mtu
	wait_for 20 "why names the MTU" interface_why_says "have no room for it within the MTU of 1400 bytes"
	bulk_goes_on
	net_in h1 ip route change 10.0.0.0/8 via 10.1.0.1 dev eth0 mtu 1248
	grows "packets with telemetry" 20 stat_of h1 tx_data
	grows "feedback" 20 flow_of h1 .feedbacks
	bulk_goes_on
	bulk_stop
	expect "messages, one a minute" "$(grep -c "has MTU" "$CASE_DIR/h1.log")" -le $((1 + (SECONDS - started) / 60))
	daemon_stop h1
	expect "the route" "$(net_route h1 10.0.0.0/8)" has "via 10.1.0.1 dev eth0 mtu 1248"
}

# check_says COMMAND: sluicectl check foresees that sluiced would refuse, and names the same command.
check_says() {
	ctl h1 check "$CASE_DIR/h1.yaml" >"$CASE_DIR/check.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of check" $? -eq 3
	expect "what check says" "$(<"$CASE_DIR/check.txt")" has "to fix: $1"
}

# interface_refusal ROUTE...: with an earlier route for the prefix that has no room, sluiced refuses, leaves
# nothing, and names a command that fixes it.
interface_refusal() {
	local command

	net_in h1 ip route add "$@" || fail "the route $* cannot be made"
	net_state h1 >"$CASE_DIR/before.txt"
	daemon_fails h1 4 "has MTU 1500" "nothing is left attached"
	net_state h1 >"$CASE_DIR/after.txt"
	same "what tc, ip and sysctl show after $*" "$CASE_DIR/before.txt" "$CASE_DIR/after.txt"
	leftovers_none
	command=$(sed -n "s/.*run '\(ip route change [^']*\)'.*/\1/p" "$CASE_DIR/h1-fails.log" | head -n 1)
	expect "command" "$command" has "ip route change $1"
	check_says "$command"
	# shellcheck disable=SC2086
	net_in h1 $command || fail "'$command' does not work"
	ctl h1 check "$CASE_DIR/h1.yaml" >"$CASE_DIR/check.txt" || fail "then check says $(<"$CASE_DIR/check.txt")"
}

interface__route_without_room_is_refused_with_the_remedy() {
	telemetry_in_data
	net_up
	host_config h1 >"$CASE_DIR/h1.yaml"
	interface_refusal 10.0.0.0/8 via 10.1.0.1
	interface_refusal fd00::/16 via fd00:1::1 metric 1024
	expect "the gateway is still there" "$(net_route h1 10.0.0.0/8)" has "via 10.1.0.1 dev eth0"
	expect "the gateway is still there" "$(net_route h1 fd00::/16)" has "via fd00:1::1 dev eth0"
	# sluiced does not remove the room that the administrator made.
	net_state h1 >"$CASE_DIR/before.txt"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	expect "packets without room" "$(stat_of h1 tx_mtu)" -eq 0
	bulk_stop
	daemon_stop h1
	net_state h1 >"$CASE_DIR/after.txt"
	same "what tc, ip and sysctl show" "$CASE_DIR/before.txt" "$CASE_DIR/after.txt"
}

# The prefix of the interface's own addresses, as on a flat subnet: its halves get routes of ours, with check, start
# and reload of one mind.
interface__connected_subnet_gets_routes_for_its_halves() {
	telemetry_in_data
	net_up
	net_state h1 >"$CASE_DIR/before.txt"
	host_config h1 "peers: [{prefix: 10.1.0.0/24, base_rtt: 2ms}, {prefix: 'fd00:1::/64', base_rtt: 2ms}]" >"$CASE_DIR/h1.yaml"
	ctl h1 check "$CASE_DIR/h1.yaml" >"$CASE_DIR/check.txt"
	expect "what check says" "$(<"$CASE_DIR/check.txt")" has-no "has MTU 1500"
	daemon_start h1
	expect "the kernel's route" "$(net_route h1 10.1.0.0/24)" = "10.1.0.0/24 dev eth0 proto kernel scope link src 10.1.0.2 "
	expect "ours" "$(net_route h1 10.1.0.0/25)" has "dev eth0 proto 83 scope link src 10.1.0.2 mtu 1348"
	expect "ours" "$(net_route h1 10.1.0.128/25)" has "dev eth0 proto 83 scope link src 10.1.0.2 mtu 1348"
	expect "ours" "$(net_route h1 fd00:1::/65)" has "dev eth0 proto 83 metric 1024 mtu 1328"
	expect "ours" "$(net_route h1 fd00:1:0:0:8000::/65)" has "dev eth0 proto 83 metric 1024 mtu 1328"
	expect "source address and MTU" "$(net_in h1 ip route get 10.1.0.1)" has "src 10.1.0.2"
	interface_settled
	# One of an administrator within the prefix goes before.
	net_in h1 ip route replace 10.1.0.0/25 dev eth0 mtu 1200
	interface_settled
	net_in h1 ip route del 10.1.0.0/25 dev eth0 mtu 1200
	route_soon 10.1.0.0/25 "proto 83"
	net_in h1 ip link set eth0 mtu 1400
	route_soon 10.1.0.128/25 "mtu 1248"
	net_in h1 ip link set eth0 mtu 1500
	route_soon 10.1.0.128/25 "mtu 1348"
	daemon_kill h1
	daemon_start h1
	interface_settled
	# One half is a prefix of its own, and the subnet is not one any more: the other half's route goes.
	host_config h1 "peers: [{prefix: 10.1.0.0/25, base_rtt: 2ms}]" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	route_soon 10.1.0.128/25
	route_soon fd00:1::/65
	expect "ours" "$(net_route h1 10.1.0.0/25)" has "mtu 1348"
	host_config h1 "peers: [{prefix: 10.1.0.0/24, base_rtt: 2ms}]" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	expect "ours" "$(net_route h1 10.1.0.128/25)" has "mtu 1348"
	# Room in the kernel's route leaves ours without work.
	net_in h1 ip route change 10.1.0.0/24 dev eth0 proto kernel src 10.1.0.2 mtu 1348
	route_soon 10.1.0.0/25
	route_soon 10.1.0.128/25
	net_in h1 ip route change 10.1.0.0/24 dev eth0 proto kernel src 10.1.0.2
	route_soon 10.1.0.0/25 "proto 83"
	daemon_stop h1
	net_state h1 >"$CASE_DIR/after.txt"
	same "what tc, ip and sysctl show" "$CASE_DIR/before.txt" "$CASE_DIR/after.txt"
}

# Without a switch: everybody's first setup, with telemetry beside the data and in it.
interface_flat() {
	ip link add flat0 netns "${NET_PREFIX}h1" type veth peer name flat0 netns "${NET_PREFIX}h2"
	net_in h1 ip address add 10.7.0.1/24 dev flat0
	net_in h2 ip address add 10.7.0.2/24 dev flat0
	net_in h1 ip link set flat0 up
	net_in h2 ip link set flat0 up
	for ns in h1 h2; do
		net_in $ns tc qdisc replace dev flat0 root tbf rate 100mbit burst 5000 limit 1000000
		host_config $ns "interfaces: [{name: flat0, role: host, speed: 100Mbit}]" \
			"peers: [{prefix: 10.7.0.0/24, base_rtt: 2ms}]" >"$CASE_DIR/$ns.yaml"
		net_in $ns ip route show >"$CASE_DIR/$ns-routes.txt"
	done
}

interface__flat_subnet_needs_no_route_for_companions() {
	net_up
	interface_flat
	daemon_start h1 h2
	server h2
	bulk_start h1 10.7.0.2
	grows "feedback, of delay: nothing stamps here" 20 flow_of h1 .feedbacks
	bulk_stop
	net_in h1 ip route show >"$CASE_DIR/routes.txt"
	same "the routes" "$CASE_DIR/h1-routes.txt" "$CASE_DIR/routes.txt"
	daemon_stop h1 h2
}

interface__flat_subnet_has_room_for_telemetry_in_data() {
	telemetry_in_data
	net_up
	interface_flat
	daemon_start h1 h2
	server h2
	bulk_start h1 10.7.0.2
	grows "packets with telemetry" 20 stat_of h1 tx_data
	grows "feedback" 20 flow_of h1 .feedbacks
	expect "packets without room" "$(stat_of h1 tx_mtu)" -eq 0
	bulk_stop
	daemon_stop h1 h2
	net_in h1 ip route show >"$CASE_DIR/routes.txt"
	same "the routes" "$CASE_DIR/h1-routes.txt" "$CASE_DIR/routes.txt"
}

# A reload and check refuse all that a start refuses, and name every line of it.
interface__reload_and_check_refuse_what_a_start_refuses() {
	telemetry_in_data
	net_up
	daemon_start h1
	net_in h1 ip route add 10.9.0.0/16 via 10.1.0.1
	net_in h1 ip route add 10.8.0.0/16 via 10.1.0.1
	host_config h1 "peers: [{prefix: 10.9.0.0/16, base_rtt: 2ms}, {prefix: 10.8.0.0/16, base_rtt: 2ms}]" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "keeping the current configuration"
	expect_said h1 "run 'ip route change 10.9.0.0/16 via 10.1.0.1 dev eth0 mtu 1348'"
	expect_said h1 "run 'ip route change 10.8.0.0/16 via 10.1.0.1 dev eth0 mtu 1348'"
	expect "the route of the configuration in force" "$(net_route h1 10.0.0.0/8)" has "proto 83"
	check_says "ip route change 10.9.0.0/16 via 10.1.0.1 dev eth0 mtu 1348"
	expect "what check says" "$(<"$CASE_DIR/check.txt")" has "ip route change 10.8.0.0/16 via 10.1.0.1 dev eth0 mtu 1348"
	daemon_stop h1
	daemon_fails h1 4 "ip route change 10.9.0.0/16" "ip route change 10.8.0.0/16" "nothing is left attached"
	net_in h1 tc qdisc add dev eth0 ingress
	[[ -e $BUILD/accident.so ]] || skip "no accident.so: make build/accident.so"
	tcx_lacking check_says "ip route change 10.9.0.0/16 via 10.1.0.1 dev eth0 mtu 1348"
	expect "what check says" "$(tr -s ' \n' ' ' <"$CASE_DIR/check.txt")" has "missing eth0 has a qdisc 'ingress'"
}

# A route of our own over one of the gateways would take the traffic from the others.
interface__prefix_with_several_next_hops_gets_no_route() {
	telemetry_in_data
	net_up
	net_in h1 ip route add 10.0.0.0/8 nexthop via 10.1.0.1 nexthop via 10.1.0.3 2>/dev/null ||
		skip "no routes with several next hops in this kernel"
	net_in h1 ip route show >"$CASE_DIR/before.txt"
	daemon_start h1
	expect_said h1 "no single route covers 10.0.0.0/8"
	net_in h1 ip route show >"$CASE_DIR/after.txt"
	same "the routes" "$CASE_DIR/before.txt" "$CASE_DIR/after.txt"
}

# interface_gateways: a second one, at the same port of the switch.
interface_gateways() {
	net_in sw ip address add 10.1.0.254/24 dev p1
	net_in sw ip address add fd00:1::fe/64 dev p1 nodad
	net_in h1 ip neighbour add 10.1.0.254 lladdr 02:00:0a:00:01:01 nud permanent dev eth0
	net_in h1 ip neighbour add fd00:1::fe lladdr 02:00:0a:00:01:01 nud permanent dev eth0
}

# interface_routed PREFIX TEXT: the route of exactly this prefix has TEXT; without TEXT: there is none.
interface_routed() {
	if [[ $2 ]]; then [[ "$(net_route h1 "$1") " == *"$2 "* ]]; else [[ ! $(net_route h1 "$1") ]]; fi
}

# route_soon PREFIX [TEXT]: interface_routed comes to be so.
route_soon() { wait_for 20 "the route to $1 is ${2:-gone}" interface_routed "$1" "${2:-}"; }

# Our own changes are changes of routes, too: they are looked at, and that is the end of it.
interface_settled() {
	local before

	sleep 2.5
	before=$(grep -c "route" "$CASE_DIR/h1.log")
	sleep 2.5
	expect "messages about routes" "$(grep -c "route" "$CASE_DIR/h1.log")" -eq "$before"
}

interface__next_hop_changes_under_load() {
	telemetry_in_data
	net_up
	interface_gateways
	state_keep h1
	daemon_start h1 h2 sw
	bpf_of h1 >"$CASE_DIR/objects.txt"
	expect "the gateway" "$(net_route h1 10.0.0.0/8)" has "via 10.1.0.1 dev eth0"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	net_in h1 ip route replace default via 10.1.0.254
	net_in h1 ip -6 route replace default via fd00:1::fe
	route_soon 10.0.0.0/8 "via 10.1.0.254 dev eth0"
	route_soon fd00::/16 "via fd00:1::fe dev eth0"
	expect "room" "$(net_route h1 10.0.0.0/8) " has "mtu 1348 "
	expect_said h1 "eth0: route to 10.0.0.0/8: via 10.1.0.1 dev eth0 mtu 1348 -> via 10.1.0.254 dev eth0 mtu 1348"
	# The old one gets no more packets.
	net_in h1 ip neighbour replace 10.1.0.1 lladdr 02:00:0a:00:01:77 nud permanent dev eth0
	net_in h1 ip neighbour replace fd00:1::1 lladdr 02:00:0a:00:01:77 nud permanent dev eth0
	bulk_goes_on
	grows "packets with telemetry" 20 stat_of h1 tx_data
	grows "feedback" 20 flow_of h1 .feedbacks
	bulk_unharmed
	interface_settled
	bulk_stop
	transfer h1 fd00:2::2 -n 100K
	net_in h1 ip neighbour replace 10.1.0.1 lladdr 02:00:0a:00:01:01 nud permanent dev eth0
	net_in h1 ip neighbour replace fd00:1::1 lladdr 02:00:0a:00:01:01 nud permanent dev eth0
	net_in h1 ip route replace default via 10.1.0.1
	net_in h1 ip -6 route replace default via fd00:1::1
	route_soon 10.0.0.0/8 "via 10.1.0.1 dev eth0"
	route_soon fd00::/16 "via fd00:1::1 dev eth0"
	daemon_stop h1
	state_back "$CASE_DIR/objects.txt" h1
}

# Our route exists as long as the one that it was made from would send packets the same way without room.
interface__route_goes_with_the_one_that_covers_it() {
	telemetry_in_data
	net_up
	interface_gateways
	net_in h1 ip link add eth1 type veth peer name eth2
	net_in h1 ip link set eth1 up
	daemon_start h1
	route_soon 10.0.0.0/8 "via 10.1.0.1 dev eth0"
	net_in h1 ip route del default
	route_soon 10.0.0.0/8
	wait_for 20 "sluiced says why" said h1 "route to 10.0.0.0/8: via 10.1.0.1 dev eth0 mtu 1348 -> none, for no single route covers it any more"
	net_in h1 ip route add default via 10.1.0.1
	route_soon 10.0.0.0/8 "via 10.1.0.1 dev eth0"
	net_in h1 ip route replace default dev eth1
	route_soon 10.0.0.0/8
	wait_for 20 "sluiced says why" said h1 "-> none, for the one that covers it leaves by eth1"
	net_in h1 ip route replace default via 10.1.0.1
	route_soon 10.0.0.0/8 "via 10.1.0.1 dev eth0"
	net_in h1 ip route replace default via 10.1.0.1 mtu 1300
	route_soon 10.0.0.0/8
	wait_for 20 "sluiced says why" said h1 "-> none, for the one that covers it leaves room"
	net_in h1 ip route replace default via 10.1.0.1
	route_soon 10.0.0.0/8 "via 10.1.0.1 dev eth0"
	interface_settled
	expect "the route for IPv6" "$(net_route h1 fd00::/16)" has "via fd00:1::1 dev eth0"
	net_in h1 ip -6 route del default
	route_soon fd00::/16
	net_in h1 ip -6 route add default via fd00:1::1
	route_soon fd00::/16 "via fd00:1::1 dev eth0"
}

interface__route_goes_when_the_one_that_covers_it_gets_a_second_next_hop() {
	telemetry_in_data
	net_up
	interface_gateways
	daemon_start h1
	net_in h1 ip route replace default nexthop via 10.1.0.1 nexthop via 10.1.0.254 2>/dev/null ||
		skip "no routes with several next hops in this kernel"
	net_in h1 ip -6 route append default via fd00:1::fe
	route_soon 10.0.0.0/8
	route_soon fd00::/16
	wait_for 20 "sluiced says why" said h1 "no single route covers 10.0.0.0/8"
	interface_settled
	net_in h1 ip route replace default via 10.1.0.254
	net_in h1 ip -6 route del default via fd00:1::1
	route_soon 10.0.0.0/8 "via 10.1.0.254 dev eth0"
	route_soon fd00::/16 "via fd00:1::fe dev eth0"
}

# A route of a routing daemon, with a metric over which ours would be preferred.
interface__route_gives_way_to_another_of_its_prefix() {
	telemetry_in_data
	net_up
	interface_gateways
	daemon_start h1
	net_in h1 ip route add 10.0.0.0/8 via 10.1.0.254 metric 20
	net_in h1 ip -6 route add fd00::/16 via fd00:1::fe metric 2000
	wait_for 20 "sluiced says what to do" said h1 "run 'ip route change 10.0.0.0/8 via 10.1.0.254 dev eth0 metric 20 mtu 1348'"
	route_soon fd00::/16 "via fd00:1::fe dev eth0"
	wait_for 20 "sluiced says why" said h1 "mtu 1348 -> none, for there is another to exactly that prefix"
	expect "routes to the prefix" "$(net_route h1 10.0.0.0/8)" = "10.0.0.0/8 via 10.1.0.254 dev eth0 metric 20 "
	wait_for 20 "ours for IPv6 is gone" interface_v6_is_theirs
	interface_settled
	net_in h1 ip route del 10.0.0.0/8 metric 20
	net_in h1 ip -6 route del fd00::/16 metric 2000
	route_soon 10.0.0.0/8 "via 10.1.0.1 dev eth0 proto 83 mtu 1348"
	route_soon fd00::/16 "via fd00:1::1 dev eth0 proto 83 metric 1024 mtu 1328"
}

interface_v6_is_theirs() { [[ $(net_route h1 fd00::/16) != *"proto 83"* ]]; }

# The source address by which peers, and their access lists, know the host.
interface__route_keeps_the_source_address() {
	telemetry_in_data
	net_up
	net_in h1 ip address add 10.1.0.9/32 dev eth0
	net_in h1 ip address add fd00:1::9/128 dev eth0 nodad
	net_in h1 ip route replace default via 10.1.0.1 src 10.1.0.9
	net_in h1 ip -6 route replace default via fd00:1::1 src fd00:1::9
	daemon_start h1
	expect "our route" "$(net_route h1 10.0.0.0/8)" has "via 10.1.0.1 dev eth0 proto 83 src 10.1.0.9 "
	expect "our route" "$(net_route h1 fd00::/16)" has "via fd00:1::1 dev eth0 proto 83 src fd00:1::9 "
	expect "source address" "$(net_in h1 ip route get 10.2.0.2)" has "src 10.1.0.9"
	net_in h1 ip route replace default via 10.1.0.1 src 10.1.0.2
	route_soon 10.0.0.0/8 "src 10.1.0.2"
	wait_for 20 "sluiced says so" said h1 "via 10.1.0.1 dev eth0 src 10.1.0.9 mtu 1348 -> via 10.1.0.1 dev eth0 src 10.1.0.2 mtu 1348"
	interface_settled
}

# As in networks whose hosts have /32 addresses, and a gateway beyond them.
interface__route_keeps_onlink() {
	telemetry_in_data
	net_up
	net_in h1 ip neighbour add 192.0.2.1 lladdr 02:00:0a:00:01:01 nud permanent dev eth0
	net_in h1 ip neighbour add 2001:db8::1 lladdr 02:00:0a:00:01:01 nud permanent dev eth0
	net_in h1 ip route replace default via 192.0.2.1 dev eth0 onlink
	net_in h1 ip -6 route replace default via 2001:db8::1 dev eth0 onlink
	daemon_start h1 h2 sw
	expect "our route" "$(net_route h1 10.0.0.0/8)" has "via 192.0.2.1 dev eth0 proto 83 "
	expect "our route" "$(net_route h1 fd00::/16)" has "via 2001:db8::1 dev eth0 proto 83 "
	server h2
	transfer h1 fd00:2::2 -n 100K
	bulk_start h1 10.2.0.2
	governed_soon h1
	bulk_stop
	interface_settled
}

interface__route_keeps_congctl_and_windows() {
	telemetry_in_data
	net_up
	net_in h1 ip route replace default via 10.1.0.1 congctl reno initcwnd 20
	net_in h1 ip -6 route replace default via fd00:1::1 mtu lock 1500 hoplimit 32 rto_min 10ms quickack 1 features ecn congctl reno
	daemon_start h1
	interface_settled
	expect "our route" "$(net_route h1 10.0.0.0/8)" has "mtu 1348 initcwnd 20 congctl reno"
	expect "our route" "$(net_route h1 fd00::/16)" has "mtu lock 1328 hoplimit 32 features ecn rto_min lock 10ms quickack 1 congctl reno"
	net_in h1 ip route replace default via 10.1.0.1 initcwnd 30
	route_soon 10.0.0.0/8 "initcwnd 30"
	expect "our route" "$(net_route h1 10.0.0.0/8)" has-no congctl
	interface_settled
}

# One to the prefix of peers would take the packets of that TOS, or source, from it.
interface__route_for_some_packets_only_is_left_alone() {
	telemetry_in_data
	net_up
	interface_gateways
	net_in h1 ip route add default tos 0x10 via 10.1.0.254
	net_in h1 ip -6 route add default from fd00:1::2 via fd00:1::fe metric 2000 || skip "no IPv6 routes by source here"
	daemon_start h1
	expect_said h1 "no single route covers 10.0.0.0/8"
	expect "our routes" "$(net_in h1 ip route show proto 83; net_in h1 ip -6 route show proto 83)" = ""
	expect "the next hop of that TOS" "$(net_in h1 ip route get 10.2.0.2 tos 0x10)" has "via 10.1.0.254"
	net_in h1 ip route del default tos 0x10
	route_soon 10.0.0.0/8 "via 10.1.0.1 dev eth0"
}

# The kernel sends no event for the IPv4 routes that go with an interface.
interface__route_comes_when_the_preferred_interface_goes_down() {
	telemetry_in_data
	net_up
	net_in h1 ip link add eth1 type veth peer name eth2
	net_in h1 ip link set eth1 up
	net_in h1 ip route replace default via 10.1.0.1 metric 100
	net_in h1 ip route del default via 10.1.0.1 metric 0
	net_in h1 ip route add default dev eth1
	net_in h1 sysctl -qw net.ipv6.conf.eth1.disable_ipv6=1
	daemon_start h1
	expect "our route" "$(net_route h1 10.0.0.0/8)" = ""
	interface_settled
	net_in h1 ip link set eth1 down
	route_soon 10.0.0.0/8 "via 10.1.0.1 dev eth0"
}

# Without onlink every peer would be looked up on the link.
interface__next_hop_of_the_other_family_is_left_alone() {
	telemetry_in_data
	net_up
	net_in h1 ip -4 route replace default via inet6 fd00:1::1 dev eth0 || skip "no IPv6 gateway of an IPv4 route here"
	net_in h1 ip route show >"$CASE_DIR/before.txt"
	daemon_start h1 h2 sw
	expect_said h1 "no single route covers 10.0.0.0/8"
	net_in h1 ip route show >"$CASE_DIR/after.txt"
	same "the routes" "$CASE_DIR/before.txt" "$CASE_DIR/after.txt"
	server h2
	transfer h1 10.2.0.2 -n 100K
	net_in h1 ip route replace default via 10.1.0.1
	route_soon 10.0.0.0/8 "via 10.1.0.1 dev eth0"
	net_in h1 ip -4 route replace default via inet6 fd00:1::1 dev eth0
	route_soon 10.0.0.0/8
	interface_settled
}

# A missing capability of a new interface is found before anything of the new configuration is applied.
interface__reload_with_one_that_cannot_be_used_changes_nothing() {
	[[ -e $BUILD/accident.so ]] || skip "no accident.so: make build/accident.so"
	net_up
	tcx_lacking daemon_start h1
	net_in h1 ip link add eth9 type veth peer name peer9
	net_in h1 ip link set eth9 up
	net_in h1 tc qdisc add dev eth9 ingress || fail "no qdisc ingress here"
	host_config h1 "mode: dry-run" "peers: [{prefix: 10.0.0.0/9, base_rtt: 3ms}]" \
		"interfaces: [{name: eth9, role: host, speed: 1Gbit}]" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "keeping the current configuration"
	expect_said h1 "eth9: has a qdisc 'ingress'"
	expect "mode" "$(status_of h1 .mode)" = enforce
	expect "interfaces" "$(status_of h1 '[.interfaces[].name] | join(" ")')" = eth0
	expect "route of the new prefix" "$(net_route h1 10.0.0.0/9)" = ""
	net_in h1 tc qdisc del dev eth9 ingress
	daemon_hup h1 "reloaded"
	expect_said h1 "eth9: attached (configured): host"
	status_soon h1 "interfaces then" '[.interfaces[].name] | join(" ")' eth9
}

# interface_filters NODE DEVICE: a stranger's filters before and behind ours. They let the packet go on and count.
interface_filters() {
	local priority

	for priority in "1 continue" "50000 pipe"; do
		# shellcheck disable=SC2086
		set -- "$1" "$2" $priority
		net_in "$1" tc filter add dev "$2" egress protocol all prio "$3" u32 match u32 0 0 \
			action mirred egress mirror dev lo "$4" 2>>"$CASE_DIR/tc.log" ||
			skip "no u32 and mirred here: $(tail -n 1 "$CASE_DIR/tc.log")"
	done
}

# interface_hits NODE PRIORITY: bytes that a stranger's filter has seen. Packets behind ours are counted by gso_segs,
# which the kernel forgets when a header is added.
interface_hits() {
	net_in "$1" tc -s filter show dev eth0 egress pref "$2" | awk '$1 == "Sent" { n += $2 } END { print n + 0 }'
}

interface__filters_of_somebody_else_stay_and_work() {
	net_up
	net_in h1 tc qdisc add dev eth0 clsact
	interface_filters h1 eth0
	state_keep h1
	daemon_start h1 h2 sw
	bpf_of h1 >"$CASE_DIR/objects.txt"
	expect "filters while attached" "$(filters_of h1 eth0 egress)" has "egress"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	grows "bytes seen by the filter before ours" 20 interface_hits h1 1
	grows "bytes seen by the filter behind ours" 20 interface_hits h1 50000
	daemon_stop h1
	grows "bytes seen by the first filter afterwards" 20 interface_hits h1 1
	grows "bytes seen by the last filter afterwards" 20 interface_hits h1 50000
	bulk_stop
	state_back "$CASE_DIR/objects.txt" h1
}

# A clsact qdisc that sluiced made stays if somebody added a filter to it meanwhile.
interface__filters_that_came_later_stay() {
	attach_by_clsact
	net_up
	daemon_start h1
	interface_filters h1 eth0
	net_in h1 tc filter show dev eth0 egress pref 1 >"$CASE_DIR/before.txt"
	daemon_stop h1
	net_in h1 tc filter show dev eth0 egress pref 1 >"$CASE_DIR/after.txt"
	expect "clsact" "$(net_in h1 tc qdisc show dev eth0)" has clsact
	same "the filter" "$CASE_DIR/before.txt" "$CASE_DIR/after.txt"
	expect "our filters" "$(net_in h1 tc filter show dev eth0 egress)" has-no "bpf"
}

# The programs that only the new role needs are loaded by then, over the same maps.
interface__takes_another_role_with_a_reload() {
	local role

	net_up
	switch_config | sed "s|p1|eth0|; /p2/d; s|ssys-sw|ssys-h2|" >"$CASE_DIR/switch.yaml"
	host_config h2 "tcp: {}" >"$CASE_DIR/host.yaml"
	cp "$CASE_DIR/switch.yaml" "$CASE_DIR/h2.yaml"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	for role in host switch host; do
		cp "$CASE_DIR/$role.yaml" "$CASE_DIR/h2.yaml"
		daemon_hup h2 "reloaded"
		expect "role" "$(status_of h2 '.interfaces[0].role')" = $role
		[[ $role == host ]] || continue
		governed_soon h1
		grows "feedback" 20 flow_of h1 .feedbacks
	done
	bulk_goes_on
	bulk_stop
}

# map_room NODE MAP: entries for which it has room.
map_room() { bpftool -j map show pinned "$PINS/ssys-$1/$2" | jq .max_entries; }

# Flows and their hosts are a host's: a switch does not pay 63 MB for them, and one that becomes a host has them.
interface__switch_has_no_maps_of_a_host() {
	local by

	net_up
	switch_config | sed "s|p1|eth0|; /p2/d; s|ssys-sw|ssys-h2|" >"$CASE_DIR/switch.yaml"
	host_config h2 "tcp: {}" >"$CASE_DIR/host.yaml"
	daemon_start h1 sw
	server h2
	bulk_start h1 10.2.0.2
	for by in reload start; do
		cp "$CASE_DIR/switch.yaml" "$CASE_DIR/h2.yaml"
		daemon_start h2
		expect "room for flows" "$(map_room h2 flows)" -eq 1
		expect "room for hosts" "$(map_room h2 hosts)" -eq 1
		expect "MB of its maps" "$(interface_maps_mb h2)" -lt 20
		daemon_hup h2 reloaded
		! said h2 "max_flows stays" || fail "it complains of the size"
		cp "$CASE_DIR/host.yaml" "$CASE_DIR/h2.yaml"
		if [[ $by == reload ]]; then
			daemon_hup h2 reloaded
		else
			daemon_kill h2
			daemon_start h2
		fi
		expect "role after a $by" "$(status_of h2 '.interfaces[0].role')" = host
		expect "room for flows after a $by" "$(map_room h2 flows)" -eq 65536
		governed_soon h1
		wait_for 20 "h2 has the flow" interface_has_flows h2
		expect "peers of h2" "$(status_of h2 .hosts.strip)" -eq 1
		expect "warnings" "$(status_of h2 '.warnings | length')" -eq 0
		! said h2 "nearly full" || fail "it takes the map for full"
		daemon_stop h2
	done
	bulk_goes_on
	bulk_stop
}

interface_has_flows() { [[ $(ctl "$1" flows --json | jq length) -ge 1 ]]; }

interface_maps_mb() {
	sed -n 's/^map_id:[ \t]*//p' "/proc/${DAEMON[$1]}/fdinfo/"* | sort -un | while read -r id; do
		bpftool -j map show id "$id" 2>/dev/null | jq .bytes_memlock
	done | awk '{ n += $1 } END { print int(n / 1000000) }'
}
