# SPDX-License-Identifier: GPL-2.0-only
# The sink at XDP, and other people's programs at all the hooks that Sluice uses.

# xdp_config NODE WORD [LINE]...: host_config with xdp: WORD.
xdp_config() {
	host_config "$1" "interfaces: [{name: eth0, role: host, speed: ${NET_RATE^}, xdp: $2$ATTACH}]" "${@:3}"
}

# xdp_up WORD [NODE]...: the network with daemons, whose hosts want their sink there.
xdp_up() {
	local word=$1 node

	net_up
	for node in h1 h2; do
		xdp_config $node "$word" >"$CASE_DIR/$node.yaml"
	done
	daemon_start h1 h2 sw
}

# need_sink NODE SINK: skips where the kernel has none of that kind, and only there.
need_sink() {
	[[ $(sink_of "$1") != "$2" ]] || return 0
	! said "$1" "its driver has no" || skip "no $2 here"
	fail "sluiced of $1 has its sink at $(sink_of "$1"), not at $2: $(grep XDP "$CASE_DIR/$1.log")"
}

sink_of() { status_of "$1" '.interfaces[] | select(.name == "eth0").sink'; }

# --- neighbours ---

declare -A NEIGHBOUR=() # NAME -> process id

# neighbour NAME NODE HOOK DROP_PORT: tests/system/tools/neighbour.c at eth0; false if it is refused.
neighbour() {
	net_exec "$2" "$BUILD/neighbour" "$3" eth0 "$4" "$CASE_DIR/$1.json" >"$CASE_DIR/$1.log" 2>&1 9>&- &
	NEIGHBOUR[$1]=$!
	until [[ -s $CASE_DIR/$1.json ]]; do
		kill -0 "${NEIGHBOUR[$1]}" 2>/dev/null || return 1
		sleep 0.05
	done
}

neighbour_has() { jq ".$2" "$CASE_DIR/$1.json"; }

neighbour_stop() {
	kill -TERM "${NEIGHBOUR[$1]}"
	wait "${NEIGHBOUR[$1]}" || fail "the neighbour $1 could not be taken off: $(<"$CASE_DIR/$1.log")"
}

need_neighbour() { [[ -x $BUILD/neighbour ]] || skip "no build/neighbour: make build/neighbour"; }

# A port of TCP on h2 that h1 cannot reach, and one beside it that it can.
expect_dropped() {
	timeout 2 nsenter --net="/run/netns/${NET_PREFIX}h1" bash -c "exec 3<>/dev/tcp/10.2.0.2/$1" 2>/dev/null &&
		fail "the port $1, which a neighbour drops, can be reached"
	expect "what the neighbour $2 dropped" "$(neighbour_has "$2" dropped)" -ge 1
}

# --- the sink ---

# xdp_works WORD SINK: telemetry, probes and TCP of both versions.
xdp_works() {
	local address

	need_sink h1 "$2"
	expect "status as text" "$(ctl h1 status)" has "sink at $2"
	server h2
	for address in 10.2.0.2 fd00:2::2; do
		transfer h1 $address -n 2M
		transfer h1 $address -n 2M -R
	done
	bulk_start h1 10.2.0.2
	governed_soon h1
	bulk_unharmed
	counts h2 0 rx_probe
	counts h1 0 rx_probe_reply
	for node in h1 h2; do
		counts $node 100 rx_xdp
		xdp_strips_all $node
		expect "bad messages on $node" "$(stat_of $node rx_truncated rx_mismatch rx_strip_failed)" -eq 0
	done
	bulk_stop
}

# More come while one looks.
xdp_strips_all() {
	local data

	data=$(stat_of "$1" rx_data)
	expect "what XDP did on $1" "$(stat_of "$1" rx_xdp)" -ge "$data"
}

xdp__native_strips_telemetry() {
	xdp_up native
	xdp_works native "native XDP"
	daemon_stop h1 h2 sw
	expect "XDP after the stop" "$(net_in h2 ip link show eth0)" has-no xdp
}

xdp__generic_strips_telemetry() {
	xdp_up generic
	xdp_works generic "generic XDP"
	daemon_stop h1 h2 sw
	expect "XDP after the stop" "$(net_in h2 ip link show eth0)" has-no xdp
}

# A page does not hold such a packet: it comes in fragments, with its headers in one piece.
xdp__native_with_a_large_mtu() {
	local end

	net_up
	for end in h1:eth0 sw:p1 sw:p2 h2:eth0; do
		net_in ${end%:*} ip link set ${end#*:} mtu 4000
	done
	for node in h1 h2; do
		xdp_config $node native >"$CASE_DIR/$node.yaml"
	done
	daemon_start h1 h2 sw
	xdp_works native "native XDP"
	expect "packets without room" "$(stat_of h1 tx_mtu)" -eq 0
}

# Windows of a stack that is not Sluice's are cut at tc, also of what XDP stripped.
xdp__windows_are_cut_behind_it() {
	net_up
	for node in h1 h2; do
		xdp_config $node native "tcp: {}" >"$CASE_DIR/$node.yaml"
	done
	daemon_start h1 h2 sw
	need_sink h1 "native XDP"
	server h2
	bulk_start h1 10.2.0.2 -C reno
	counts h1 0 rx_window_cut
	xdp_strips_all h1
	bulk_goes_on
	bulk_stop
}

# On a virtual link it is not what one gets unasked: the other end would lose its segmentation offload.
xdp__auto_on_a_virtual_link_is_tc() {
	xdp_up auto
	expect_said h1 "eth0: a virtual link: telemetry is stripped at tc, not at XDP"
	expect "sink" "$(sink_of h1)" = tc
	expect "XDP" "$(net_in h1 ip link show eth0)" has-no xdp
}

# XDP has to store its findings where the daemon and the programs at tc look: they share all maps.
xdp__shares_all_maps_with_tc() {
	local at_xdp at_tc

	xdp_up native
	need_sink h1 "native XDP"
	at_xdp=$(maps_of ingress_xdp h1)
	at_tc=$(maps_of ingress h1)
	expect "maps at XDP" "$at_xdp" has news
	expect "maps that only XDP has" "$(comm -23 <(echo "$at_xdp") <(echo "$at_tc"))" = ""
}

# maps_of PROGRAM NODE: the maps, with their numbers, of that program over the node's pins.
maps_of() {
	local stats

	stats=$(bpftool -j map show pinned "$PINS/ssys-$2/stats" | jq .id)
	bpftool -j prog show | jq -r --arg name "$1" --argjson stats "$stats" \
		'map(select(.name == $name and (.map_ids | index($stats)))) | .[0].map_ids[]' |
		while read -r id; do
			bpftool -j map show id "$id" | jq -r '"\(.name) \(.id)"'
		done | grep -v '\.rodata ' | sort
}

xdp__follows_sighup() {
	local word sink was="native XDP"

	telemetry_in_data
	xdp_up native
	need_sink h2 "native XDP"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	for word in off generic native auto; do
		xdp_config h2 $word >"$CASE_DIR/h2.yaml"
		daemon_hup h2 "reloaded"
		sink="$word XDP"
		[[ $word == native || $word == generic ]] || sink=tc
		expect "sink with xdp: $word" "$(sink_of h2)" = "$sink"
		[[ $was == tc || $sink == "$was" ]] || expect_said h2 "eth0: telemetry is stripped at $was -> $sink"
		was=$sink
		[[ $sink != tc ]] || expect "XDP with $word" "$(net_in h2 ip link show eth0)" has-no xdp
		grows "packets stripped with xdp: $word" 20 stat_of h2 rx_data
		[[ $sink == tc ]] || grows "of them by XDP" 20 stat_of h2 rx_xdp
		bulk_goes_on
	done
	bulk_stop
}

# As the rest of what a crash leaves.
xdp__kill_9_and_restart_under_load() {
	local id

	telemetry_in_data
	net_up
	state_keep h1 sw h2
	for node in h1 h2; do
		xdp_config $node native >"$CASE_DIR/$node.yaml"
	done
	daemon_start h1 h2 sw
	need_sink h2 "native XDP"
	bpf_of h1 h2 sw >"$CASE_DIR/objects.txt"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	daemon_kill h1 h2
	grows "packets that XDP strips without a daemon" 20 stat_of h2 rx_xdp
	grows "feedback without a daemon" 20 flow_of h1 .feedbacks
	id=$(xdp_prog h2)
	daemon_start h1 h2
	bpf_of h1 h2 >>"$CASE_DIR/objects.txt"
	sort -u -o "$CASE_DIR/objects.txt" "$CASE_DIR/objects.txt"
	expect "XDP program of the new daemon" "$(xdp_prog h2)" != "$id"
	grows "packets that XDP strips" 20 stat_of h2 rx_xdp
	bulk_goes_on
	bulk_stop
	daemon_kill h2
	net_in h2 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h2" >"$CASE_DIR/detach.log" 2>&1
	expect "exit status of --detach" $? -eq 0
	daemon_stop h1 sw
	state_back "$CASE_DIR/objects.txt" h1 sw h2
}

xdp_prog() { net_in "$1" bpftool -j net show dev eth0 | jq '.[0].xdp[0].id'; }

# Our program is recognised by its counters, also if the maps are of another version.
xdp__pins_of_another_version() {
	local value

	net_up
	xdp_config h1 native "tcp: {}" >"$CASE_DIR/h1.yaml"
	daemon_start h1
	need_sink h1 "native XDP"
	daemon_kill h1
	value=$(bpftool -j map dump pinned "$PINS/ssys-h1/control" | jq -r '.[0].value[1:] | join(" ")' | sed 's/0x//g')
	# shellcheck disable=SC2086
	bpftool map update pinned "$PINS/ssys-h1/control" key 0 0 0 0 value hex 63 $value
	net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
	expect "exit status of --detach" $? -eq 0
	expect "XDP" "$(net_in h1 ip link show eth0)" has-no xdp
	! compgen -G "$PINS/xdp/dispatch-*" >/dev/null || fail "libxdp's pins are left"
}

# libxdp's pins would hold our programs permanently.
xdp__interface_goes_away() {
	net_up
	xdp_config h1 native >"$CASE_DIR/h1.yaml"
	daemon_start h1 sw
	need_sink h1 "native XDP"
	net_in h1 ip link del eth0
	wait_for 20 "h1 says that it went away" said h1 "went away"
	wait_for 20 "no dispatcher is left" xdp_no_dispatcher
	net_link 1 || fail "the link cannot be made again"
	wait_for 20 "h1 says that it is back" said h1 "eth0: reappeared"
	status_soon h1 "sink" '.interfaces[0].sink' "native XDP"
}

xdp_no_dispatcher() { ! compgen -G "$PINS/xdp/dispatch-*" >/dev/null; }

# --- neighbours at XDP ---

# The neighbour at XDP drops its port while ours is there and after our stop, and hinders nobody else.
neighbour_outlives_ours() {
	server h2 5300
	expect_dropped 5300 other
	daemon_stop h2
	grows "packets that the neighbour sees afterwards" 20 neighbour_has other seen
	expect_dropped 5300 other
	bulk_goes_on 60
	bulk_stop
	neighbour_stop other
	daemon_stop h1 sw
}

# Shared where libxdp can, else the place is the neighbour's and ours is at tc.
xdp__neighbour_that_was_there_before() {
	local sink

	telemetry_in_data
	need_neighbour
	net_up
	neighbour other h2 xdp-native 5300 || skip "no native XDP here: $(<"$CASE_DIR/other.log")"
	for node in h1 h2; do
		xdp_config $node native >"$CASE_DIR/$node.yaml"
	done
	daemon_start h1 h2 sw
	sink=$(sink_of h2)
	[[ $sink == "native XDP" ]] || expect_said h2 "eth0: another XDP program is there"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	grows "packets that the neighbour sees" 20 neighbour_has other seen
	grows "packets stripped" 20 stat_of h2 rx_data
	[[ $sink == tc ]] || grows "of them by XDP" 20 stat_of h2 rx_xdp
	neighbour_outlives_ours
}

xdp__neighbour_that_comes_after() {
	telemetry_in_data
	need_neighbour
	xdp_up native
	need_sink h2 "native XDP"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	if said h2 "alone: other XDP programs find the place taken"; then
		! neighbour other h2 xdp-native 5300 || fail "a neighbour took the place of ours"
		grows "packets that XDP strips" 20 stat_of h2 rx_xdp
		bulk_stop
		return
	fi
	neighbour other h2 xdp-native 5300 || fail "the neighbour is refused: $(<"$CASE_DIR/other.log")"
	grows "packets that the neighbour sees" 20 neighbour_has other seen
	grows "packets that XDP strips" 20 stat_of h2 rx_xdp
	neighbour_outlives_ours
}

# --- neighbours at tc ---

# tc_neighbours WORD HOOK...: each drops a port of its own, before and after our start, and after our stop.
tc_neighbours() {
	local word=$1 hook port=5300 n=0

	shift
	need_neighbour
	net_up
	net_in h2 tc qdisc add dev eth0 clsact
	for node in h1 h2; do
		xdp_config $node "$word" >"$CASE_DIR/$node.yaml"
	done
	# Every other one comes after us.
	for hook in "$@"; do
		((n++ % 2)) || neighbour "n$n" h2 "$hook" $((port + n)) ||
			skip "this kernel has no $hook: $(<"$CASE_DIR/n$n.log")"
	done
	daemon_start h1 h2 sw
	n=0
	for hook in "$@"; do
		((n++ % 2 == 0)) || neighbour "n$n" h2 "$hook" $((port + n)) || fail "$hook: $(<"$CASE_DIR/n$n.log")"
	done
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	[[ $word == off ]] || grows "packets that XDP strips" 20 stat_of h2 rx_xdp
	tc_neighbours_work $n
	daemon_stop h2
	tc_neighbours_work $n
	bulk_goes_on 60
	bulk_stop
	for ((; n; n--)); do
		neighbour_stop "n$n"
	done
	daemon_stop h1 sw
}

tc_neighbours_work() {
	local n

	for ((n = 1; n <= $1; n++)); do
		grows "packets that the neighbour n$n sees" 20 neighbour_has "n$n" seen
		expect_dropped $((5300 + n)) "n$n"
	done
}

neighbour__at_clsact_ingress() {
	tc_neighbours off ingress:1 ingress:2 ingress:50000 ingress:50001
}

neighbour__at_clsact_ingress_behind_xdp() {
	telemetry_in_data
	tc_neighbours native ingress:1 ingress:50001
}

neighbour__at_tcx() {
	tc_neighbours off tcx-ingress tcx-ingress
}
