# SPDX-License-Identifier: GPL-2.0-only
# Ends of sluiced, orderly and not, and what comes after.

# kill -9 of both ends under load, a start, and an orderly end: the flow does not notice, and afterwards nothing
# shows that Sluice was there.
crash__kill_9_and_restart_under_load() {
	local port tx_bytes feedbacks objects=$CASE_DIR/objects.txt

	net_up
	state_keep h1 sw h2
	daemon_start h1 h2 sw
	bpf_of h1 h2 sw >"$objects"
	expect "programs and maps of three daemons" "$(wc -l <"$objects")" -ge 30
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1

	daemon_kill h1 h2 sw
	expect "alive in the status, at once" "$(status_of h1 .daemon_alive)" = false
	port=$(flow_of h1 .local_port) tx_bytes=$(flow_of h1 .tx_bytes) feedbacks=$(flow_of h1 .feedbacks)
	bulk_goes_on
	grows "feedback without a daemon" 20 flow_of h1 .feedbacks
	expect "status as text" "$(ctl h1 status)" has "packets go on without it"

	daemon_start h1 h2 sw
	bpf_of h1 h2 sw >>"$objects"
	sort -u -o "$objects" "$objects"
	for node in h1 h2 sw; do
		expect_said $node "adopting the maps in $PINS/ssys-$node"
	done
	expect "process in the status" "$(status_of h1 .daemon_pid)" -eq "${DAEMON[h1]}"
	status_soon h1 "alive in the status" .daemon_alive true
	expect "port of the flow" "$(flow_of h1 .local_port)" -eq "$port"
	expect "bytes of the flow, before and after" "$(flow_of h1 .tx_bytes)" -gt "$tx_bytes"
	expect "feedback of the flow, before and after" "$(flow_of h1 .feedbacks)" -gt "$feedbacks"
	grows "feedback with the new daemon" 20 flow_of h1 .feedbacks
	governed_soon h1
	expect "congestion control of the socket" "$(net_in h1 ss -tinH "dst 10.2.0.2")" has "${CC}h1"
	# A new connection finds all that is adopted in working order.
	server h2 5202
	transfer h1 10.2.0.2 -p 5202 -n 300K
	bulk_unharmed

	daemon_stop h1 h2 sw
	bulk_goes_on
	bulk_stop
	state_back "$objects" h1 sw h2
}

# When a clsact qdisc is added or removed, the kernel takes the device's queues down for a moment and empties them
# (dev_deactivate() in qdisc_graft()), and a lower MTU makes TCP send again what is under way. Where both were
# prepared, attaching and detaching lose nothing.
crash__attach_and_detach_under_load_lose_nothing_where_prepared() {
	local node

	net_up
	for node in h1 h2; do
		net_in $node tc qdisc add dev eth0 clsact
		net_in $node ip route change default via 10.${node#h}.0.1 mtu 1328
		net_in $node ip -6 route change default via fd00:${node#h}::1 mtu 1328
	done
	net_in sw tc qdisc add dev p1 clsact
	net_in sw tc qdisc add dev p2 clsact
	state_keep h1 sw h2
	server h2
	# A window that does not fill the queue by itself.
	bulk_start h1 10.2.0.2 -C reno -w 60K
	daemon_start h1 h2 sw
	bpf_of h1 h2 sw >"$CASE_DIR/objects.txt"
	wait_for 20 "telemetry of a flow that was there before" governed h1
	bulk_unharmed
	# The receiver first: the sender has to notice that nobody strips any more.
	daemon_stop h2
	bulk_unharmed
	wait_for 20 "h1 sends plain" crash_plain h1
	daemon_start h2
	wait_for 20 "telemetry again" governed h1
	# Then the sender first.
	daemon_stop h1
	bulk_unharmed
	daemon_stop sw h2
	bulk_unharmed
	bulk_stop
	state_back "$CASE_DIR/objects.txt" h1 sw h2
}

crash_plain() { [[ $(flow_of "$1" .telemetry) == false ]]; }

# Programs that kill -9 leaves attached are removed without a configuration, and running daemons are left alone.
crash__detach_after_kill_9() {
	local objects=$CASE_DIR/objects.txt

	net_up
	state_keep h1
	daemon_start h1
	bpf_of h1 >"$objects"
	net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
	expect "exit status of --detach beside a running sluiced" $? -eq 1
	expect "what it says" "$(<"$CASE_DIR/detach.log")" has "another sluiced is running there"
	expect "mode, which is still there" "$(status_of h1 .mode)" = enforce
	daemon_kill h1
	net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
	expect "exit status of --detach" $? -eq 0
	leftovers_none
	state_back "$objects" h1
	net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
	expect "exit status of --detach where nothing is" $? -eq 0
	expect "what it says" "$(<"$CASE_DIR/detach.log")" has "nothing is pinned there"
}

crash__second_sluiced_is_refused() {
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	net_state h1 >"$CASE_DIR/first.txt"
	daemon_fails h1 1 "another sluiced is running there"
	net_state h1 >"$CASE_DIR/second.txt"
	same "what tc, ip and sysctl show, before and after the second start" "$CASE_DIR/first.txt" 		"$CASE_DIR/second.txt"
	expect "process in the status" "$(status_of h1 .daemon_pid)" -eq "${DAEMON[h1]}"
	expect "maps are there" "$(status_of h1 .flows)" -ge 1
	bulk_unharmed
	bulk_stop
	# Another pin_dir, but the same name of congestion control: that one is rolled back.
	host_config h1 "pin_dir: $PINS/ssys-h1-second" >"$CASE_DIR/h1.yaml"
	daemon_fails h1 4 "the name is taken" "tcp: name"
	net_state h1 >"$CASE_DIR/second.txt"
	same "what tc, ip and sysctl show after the third start" "$CASE_DIR/first.txt" "$CASE_DIR/second.txt"
	[[ ! -e $PINS/ssys-h1-second ]] || fail "the third start left its pins"
	expect "mode, which is still there" "$(status_of h1 .mode)" = enforce
}

# A start that fails after a crash leaves what the crashed one attached.
crash__start_that_fails_keeps_what_is_attached() {
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	daemon_kill h1
	host_config h1 'tcp: {name: reno, default: true}' >"$CASE_DIR/h1.yaml"
	daemon_fails h1 1 "the name is taken" "what the earlier daemon attached stays as it was"
	expect "default congestion control" "$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = ${CC}h1
	grows "feedback afterwards" 20 flow_of h1 .feedbacks
	bulk_unharmed
	host_config h1 >"$CASE_DIR/h1.yaml"
	daemon_start h1
	expect_said h1 "adopting the maps"
	bulk_unharmed
	bulk_stop
}

# One of its interfaces went away with the crash: the others are adopted, and it is attached when it comes.
crash__start_without_one_of_the_interfaces() {
	net_up
	daemon_start sw
	daemon_kill sw
	net_in sw ip link del p1
	daemon_start sw
	expect_said sw "p1: no such interface"
	status_soon sw "interfaces of sw" '[.interfaces[].name] | join(" ")' p2
	net_link 1 || fail "the link cannot be made again"
	wait_for 20 "sw says that it is back" said sw "p1: reappeared"
	status_soon sw "interfaces of sw" '.interfaces | length' 2
	# The same with SIGHUP.
	{ switch_config && echo '  - {name: p3, role: switch, speed: 1Gbit, id: 3}'; } >"$CASE_DIR/sw.yaml"
	daemon_hup sw "reloaded"
	expect_said sw "p3: will be attached as soon as it exists"
}

# The congestion control of the crashed one goes, and the default does not point to it.
crash__start_with_another_name_of_congestion_control() {
	local name default

	net_up
	default=$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)
	daemon_start h1
	daemon_kill h1
	for name in ${CC}other ''; do
		host_config h1 "tcp: {${name:+name: $name, default: true}}" >"$CASE_DIR/h1.yaml"
		daemon_start h1
		expect "congestion controls" "$(net_in h1 cat /proc/sys/net/ipv4/tcp_available_congestion_control) " has-no \
			"${CC}${name:+h1}"
		expect "the default" "$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = "${name:-$default}"
		expect "in the status" "$(status_of h1 .congestion_control)" = "$name"
		daemon_kill h1
	done
	host_config h1 >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 # to a host without Sluice a socket has the machine's own
	server h2
	bulk_start h1 10.2.0.2
	expect "congestion control of the socket" "$(net_in h1 ss -tinH "dst 10.2.0.2")" has "${CC}h1"
	bulk_stop
	daemon_stop h1
	expect "the default" "$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = "$default"
}

# The default is written, and the daemon is killed before its next step: what was there before is known all the same.
crash__as_it_makes_its_congestion_control_the_default() {
	local default

	[[ -e $BUILD/accident.so ]] || skip "no accident.so: make build/accident.so"
	net_up
	default=$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)
	host_config h1 >"$CASE_DIR/h1.yaml"
	net_in h1 env LD_PRELOAD="$BUILD/accident.so" ACCIDENT="kill sysctl 1" "$BUILD/sluiced" --config "$CASE_DIR/h1.yaml" \
		>"$CASE_DIR/killed.log" 2>&1
	expect "exit status of the killed one" $? -eq 137
	expect "the default that it left" "$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = ${CC}h1
	daemon_start h1
	daemon_stop h1
	expect "the default" "$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = "$default"
}

# Maps of another version without a description of their layout are not touched. Everything recognisable without it is removed.
crash__pins_of_another_version() {
	local value

	net_up
	net_in h1 tc qdisc add dev eth0 clsact
	host_config h1 "tcp: {name: ${CC}h1}" >"$CASE_DIR/h1.yaml"
	state_keep h1
	daemon_start h1
	bpf_of h1 >"$CASE_DIR/objects.txt"
	daemon_kill h1
	# The first field of the control map is the number of the ABI.
	value=$(bpftool -j map dump pinned "$PINS/ssys-h1/control" | jq -r '.[0].value | join(" ")' | sed 's/0x//g')
	# shellcheck disable=SC2086
	bpftool map update pinned "$PINS/ssys-h1/control" key 0 0 0 0 value hex 63 ${value#* }
	rm "$PINS/ssys-h1/layout"
	net_state h1 >"$CASE_DIR/before.txt"
	daemon_fails h1 1 "of another version" "sluiced --detach --pin-dir $PINS/ssys-h1"
	ctl h1 status >"$CASE_DIR/status.log" 2>&1
	expect "exit status of sluicectl status" $? -eq 1
	expect "what it says" "$(<"$CASE_DIR/status.log")" has "of another version"
	net_state h1 >"$CASE_DIR/after.txt"
	same "what tc, ip and sysctl show" "$CASE_DIR/before.txt" "$CASE_DIR/after.txt"
	crash_detach_other "$BUILD"
}

# crash_detach_other DIR: the state of h1 is of another version than DIR/sluiced, which still removes all of it.
crash_detach_other() {
	net_in h1 "$1/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
	expect "exit status of --detach" $? -eq 0
	expect "what it says" "$(<"$CASE_DIR/detach.log")" has "of another version: filters of 1 interface"
	leftovers_none
	state_back "$CASE_DIR/objects.txt" h1
}

# pin_number NODE NAME: of the map that is pinned.
pin_number() { bpftool -j map show pinned "$PINS/ssys-$1/$2" | jq .id; }

# Each pin alone, and all of them, is found again through the running programs: the flow does not notice.
crash__pins_that_are_missing() {
	local name number names lost='' objects=$CASE_DIR/objects.txt

	attach_by_clsact
	net_up
	state_keep h1
	daemon_start h1 h2 sw
	bpf_of h1 h2 sw >"$objects"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	mapfile -t names < <(cd "$PINS/ssys-h1" && ls)
	expect "pins" ${#names[@]} -ge 18
	for name in "${names[@]}"; do
		[[ $name != *queue ]] || continue # links, which are made anew
		number=$(pin_number h1 "$name")
		daemon_kill h1
		: >"$CASE_DIR/h1.log"
		rm "$PINS/ssys-h1/$name"
		daemon_start h1
		bpf_of h1 >>"$objects"
		if said h1 "h1/$name: is missing: the programs that run hold its map, which is pinned again"; then
			expect "number of $name" "$(pin_number h1 "$name")" -eq "$number"
		elif [[ $name != @(layout|daemon) ]]; then
			expect_said h1 "missing, and no running program holds the map: $name:"
			lost+=" $name"
		fi
		expect_said h1 "adopting the maps in $PINS/ssys-h1"
		[[ -e $PINS/ssys-h1/$name ]] || fail "$name is not there again"
		bulk_goes_on
	done
	# No program of a host has these; it has all that a flow needs.
	for name in $lost; do
		expect "what programs of a host do not hold" " credits class_queues classes pfc_ports pfc_slots trace " has " $name "
	done
	bulk_unharmed

	for name in 'ssys-h1/*' ssys-h1; do
		number=$(pin_number h1 flows)
		daemon_kill h1
		: >"$CASE_DIR/h1.log"
		# shellcheck disable=SC2086
		rm -r "${PINS:?}"/$name
		daemon_start h1
		bpf_of h1 >>"$objects"
		expect_said h1 "h1/control: is missing: the programs that run hold its map"
		expect "number of flows" "$(pin_number h1 flows)" -eq "$number"
		grows "feedback after all pins were missing" 20 flow_of h1 .feedbacks
	done
	bulk_unharmed
	bulk_stop
	sort -u -o "$objects" "$objects"
	daemon_stop h1 h2 sw
	state_back "$objects" h1
}

# They are found, and all that was attached is taken off.
crash__detach_with_pins_missing() {
	local name objects=$CASE_DIR/objects.txt

	attach_by_clsact
	net_up
	state_keep h1
	for name in control ports stats tcp_cc flows '*'; do
		daemon_start h1
		bpf_of h1 >"$objects"
		daemon_kill h1
		# shellcheck disable=SC2086
		rm "$PINS"/ssys-h1/$name
		net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
		expect "exit status of --detach without $name" $? -eq 0
		expect "what it says" "$(<"$CASE_DIR/detach.log")" has "is missing: "
		leftovers_none
		state_back "$objects" h1
	done
	# A running daemon is not taken for a dead one, though its pins are gone.
	daemon_start h1
	rm "$PINS"/ssys-h1/*
	net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
	expect "exit status of --detach beside a daemon" $? -eq 1
	expect "what it says" "$(<"$CASE_DIR/detach.log")" has "another sluiced is running there"
	kill -TERM "${DAEMON[h1]}"
	wait_for 30 "sluiced of h1 ends" daemon_gone h1
	unset "DAEMON[h1]"
	leftovers_none
	state_back "$objects" h1
}

crash_pins_are_back() { [[ $(ls "$PINS/ssys-h1" 2>/dev/null) == "$1" ]]; }

# Somebody removes the pins of a running daemon, or all of their directory: they are pinned again within a second or two,
# and an orderly end just after that finds what it has to remove, the congestion control too.
crash__pins_removed_while_it_runs() {
	local name pins objects=$CASE_DIR/objects.txt

	net_up
	state_keep h1
	daemon_start h1 h2 sw
	bpf_of h1 h2 sw >"$objects"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	pins=$(ls "$PINS/ssys-h1")
	for name in ssys-h1/flows ssys-h1/tcp_cc 'ssys-h1/*' ssys-h1; do
		# shellcheck disable=SC2086
		rm -r "${PINS:?}"/$name
		wait_for 20 "all is there again after $name" crash_pins_are_back "$pins"
		expect "flow after $name" "$(flow_of h1 .feedbacks)" -ge 1
		bpf_of h1 >>"$objects"
		grows "feedback after $name" 20 flow_of h1 .feedbacks
	done
	expect_said h1 "ssys-h1: 1 pin had been removed: pinned again"
	bulk_stop
	rm -r "$PINS/ssys-h1"
	daemon_stop h1 h2 sw
	sort -u -o "$objects" "$objects"
	state_back "$objects" h1
	daemon_start h1
	daemon_stop h1
}

# Its name stays taken: the next start says by what, and how to get rid of it.
crash__control_that_is_left_without_a_pin_is_named() {
	local id

	net_up
	attach_by_clsact
	daemon_start h1
	id=$(pin_number h1 tcp_cc)
	daemon_kill h1
	filters_remove h1 eth0
	rm -r "$PINS/ssys-h1"
	daemon_fails h1 4 "registering the congestion control '${CC}h1'" "if by an earlier sluiced whose pins are gone, 'sluicectl clean' says how"
	expect "what clean says" "$(ctl h1 clean)" has "bpftool struct_ops unregister id $id"
	bpftool struct_ops unregister id "$id" >/dev/null || fail "it cannot be unregistered"
	net_in h1 bash -c 'echo reno >/proc/sys/net/ipv4/tcp_congestion_control'
	daemon_start h1
	daemon_stop h1
}

# Without CAP_SYS_ADMIN, as its unit starts it, a message names what it cannot look for, and the rest is adopted.
crash__pins_missing_without_the_right_to_look() {
	setpriv --version >/dev/null 2>&1 || skip "no setpriv to take CAP_SYS_ADMIN away"
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	daemon_kill h1
	rm "$PINS/ssys-h1/trace" "$PINS/ssys-h1/peers"
	: >"$CASE_DIR/h1.log"
	net_exec h1 setpriv --bounding-set -sys_admin --inh-caps -sys_admin "$BUILD/sluiced" --config "$CASE_DIR/h1.yaml" \
		>>"$CASE_DIR/h1.log" 2>&1 9>&- &
	DAEMON[h1]=$!
	wait_for 60 "sluiced of h1 is ready" daemon_ready_or_gone h1 0
	expect_said h1 "missing: peers, trace: finding these maps among those of running programs needs CAP_SYS_ADMIN"
	expect_said h1 "adopting the maps"
	governed_soon h1
	bulk_unharmed
	bulk_stop
}

# In that namespace, interfaces with these numbers are others'.
crash__detach_in_another_namespace_is_refused() {
	local version

	net_up
	for version in same other; do
		daemon_start h1 sw
		daemon_kill h1
		# shellcheck disable=SC2046 # a list
		[[ $version == same ]] || bpftool map update pinned "$PINS/ssys-h1/control" key 0 0 0 0 value hex 63 $(
			bpftool -j map dump pinned "$PINS/ssys-h1/control" | jq -r '.[0].value[1:][] | ltrimstr("0x")')
		net_state h1 >"$CASE_DIR/before.txt"
		net_state sw >"$CASE_DIR/sw-before.txt"
		net_in sw "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
		expect "exit status of --detach" $? -eq 1
		expect "what it says" "$(<"$CASE_DIR/detach.log")" has "in another network namespace"
		net_state h1 >"$CASE_DIR/after.txt"
		net_state sw >"$CASE_DIR/sw-after.txt"
		same "what tc, ip and sysctl show of h1" "$CASE_DIR/before.txt" "$CASE_DIR/after.txt"
		same "what tc, ip and sysctl show of sw" "$CASE_DIR/sw-before.txt" "$CASE_DIR/sw-after.txt"
		net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1
		expect "exit status of --detach at the right place" $? -eq 0
		[[ ! -e $PINS/ssys-h1 ]] || fail "pins are left"
		daemon_stop sw
	done
	# If the namespace is gone, there is no reason to refuse.
	daemon_start h1
	daemon_kill h1
	ip netns del "${NET_PREFIX}h1"
	wait_for 60 "the pins can be detached from elsewhere" crash_detached_in sw h1
}

crash_detached_in() {
	net_in "$1" "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-$2" >"$CASE_DIR/detach.log" 2>&1 &&
		[[ ! -e $PINS/ssys-$2 ]]
}
