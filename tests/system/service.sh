# SPDX-License-Identifier: GPL-2.0-only
# The promises of the systemd unit: its capabilities are enough, and the service manager is notified.

# service_spawn NODE [VARIABLE=VALUE]...: as the unit starts it, with no capability that it does not name.
service_spawn() {
	local ns=$1 unit=$SYSTEM_DIR/../../deploy/systemd/sluiced.service caps before

	shift
	[[ -r $unit ]] || skip "no deploy/systemd/sluiced.service here"
	caps=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr '[:upper:]' '[:lower:]' | sed 's/cap_/+/g; s/ /,/g')
	touch "$CASE_DIR/$ns.log"
	before=$(grep -c '^sluiced: ready' "$CASE_DIR/$ns.log")
	net_exec "$ns" env "$@" setpriv --bounding-set="-all,$caps" --inh-caps=-all \
		"$BUILD/sluiced" --config "$CASE_DIR/$ns.yaml" >>"$CASE_DIR/$ns.log" 2>&1 9>&- &
	DAEMON[$ns]=$!
	wait_for 60 "sluiced of $ns is ready" daemon_ready_or_gone "$ns" "$before"
	kill -0 "${DAEMON[$ns]}" 2>/dev/null || fail "sluiced of $ns ended: $(tail -n 1 "$CASE_DIR/$ns.log")"
}

# Start, crash, adoption, reload and end; only XDP needs more, and the log says so.
service__capabilities_are_enough() {
	local node

	need setpriv
	net_up
	state_keep h1 h2 sw
	host_config h1 'interfaces: [{name: eth0, role: host, speed: 100Mbit, xdp: generic}]' >"$CASE_DIR/h1.yaml"
	switch_config >"$CASE_DIR/sw.yaml"
	service_spawn h1
	service_spawn sw
	expect_said h1 "telemetry is stripped at tc: XDP needs CAP_SYS_ADMIN"
	daemon_start h2
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	daemon_kill h1 sw
	service_spawn h1
	service_spawn sw
	expect_said h1 "adopting the maps"
	expect_said sw "adopting the maps"
	daemon_hup h1 reloaded
	governed_soon h1
	bulk_unharmed
	daemon_stop h1 h2 sw
	bulk_stop
	servers_stop
	for node in h1 h2 sw; do
		net_state "$node" >"$CASE_DIR/$node-after.txt"
		same "what tc, ip and sysctl show of $node" "$CASE_DIR/$node-before.txt" "$CASE_DIR/$node-after.txt"
	done
}

service__manager_is_told() {
	local told=$CASE_DIR/told.txt manager

	[[ -x $BUILD/notified ]] || skip "no $BUILD/notified here: make build/notified"
	need setpriv
	net_up
	"$BUILD/notified" "$CASE_DIR/notify" >"$told" 2>&1 9>&- &
	manager=$!
	wait_for 10 "the manager listens" test -S "$CASE_DIR/notify"
	host_config h1 >"$CASE_DIR/h1.yaml"
	service_spawn h1 NOTIFY_SOCKET="$CASE_DIR/notify" WATCHDOG_USEC=60000000
	wait_for 10 "it is told of the start" grep -qx "READY=1;STATUS=1 interface, mode enforce" "$told"
	wait_for 10 "it is told that sluiced lives" grep -qx "WATCHDOG=1" "$told"
	host_config h1 'mode: observe' >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	wait_for 10 "it is told of the reload" grep -q "^RELOADING=1;MONOTONIC_USEC=[0-9]" "$told"
	wait_for 10 "and of its end" grep -qx "READY=1;STATUS=1 interface, mode observe" "$told"
	echo colour: green >>"$CASE_DIR/h1.yaml"
	daemon_hup h1 "keeping the current configuration"
	wait_for 10 "also of one that failed" service_told "$told" "^READY=1;STATUS=1 interface, mode observe" 2
	ctl h1 set mode dry-run >/dev/null 2>&1
	wait_for 10 "it is told of a mode that was set" grep -qx "STATUS=1 interface, mode dry-run" "$told"
	expect "the journal" "$(<"$CASE_DIR/h1.log")" has "mode observe -> dry-run, by sluicectl set"
	ctl h1 bypass on >/dev/null
	wait_for 10 "and of bypass" grep -qx "STATUS=1 interface, mode dry-run, bypass on" "$told"
	ctl h1 bypass off >/dev/null
	ctl h1 set mode observe >/dev/null 2>&1
	wait_for 10 "and of the way back" grep -qx "STATUS=1 interface, mode observe" "$told"
	expect "the journal" "$(<"$CASE_DIR/h1.log")" has "mode dry-run -> observe, by the configuration"
	ctl h1 set receive_window false >/dev/null 2>&1
	wait_for 10 "the journal has the window" said h1 "receive_window true -> false, by sluicectl set"
	ctl h1 set horizon 7ms >/dev/null 2>&1
	wait_for 10 "the journal has the horizon" said h1 "horizon 0 -> 7000 us, by sluicectl set"
	ctl h1 set beyond mark >/dev/null 2>&1
	wait_for 10 "the journal has what is beyond" said h1 "beyond drop -> mark, by sluicectl set"
	host_config h1 'mode: observe' >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "beyond mark -> drop, by the configuration"
	expect "the journal" "$(<"$CASE_DIR/h1.log")" has "horizon 7000 -> 0 us, by the configuration"
	expect "the journal" "$(<"$CASE_DIR/h1.log")" has "receive_window false -> true, by the configuration"
	daemon_stop h1
	wait_for 10 "it is told of the end" grep -qx "STOPPING=1" "$told"
	kill $manager
	wait $manager 2>/dev/null
}

service_told() { (($(grep -c "$2" "$1") >= $3)); }

# With one less it does not start, and leaves nothing.
service__every_capability_is_needed() {
	local all=(+bpf +perfmon +net_admin +net_raw) less caps

	need setpriv
	net_up
	switch_config >"$CASE_DIR/sw.yaml"
	for less in "${all[@]}"; do
		caps=$(printf '%s\n' "${all[@]}" | grep -vxF -- "$less" | paste -sd,)
		net_in sw timeout 60 setpriv --bounding-set="-all,$caps" --inh-caps=-all \
			"$BUILD/sluiced" --config "$CASE_DIR/sw.yaml" >"$CASE_DIR/less.log" 2>&1 9>&-
		expect "exit status without ${less#+}" $? -ge 1
		expect "what it says without ${less#+}" "$(<"$CASE_DIR/less.log")" has "it needs CAP_$(tr a-z A-Z <<<"${less#+}"): run it as root"
	done
}
