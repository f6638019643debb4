# SPDX-License-Identifier: GPL-2.0-only
# sluicectl status as a page of health. Text and JSON by ctl_text and ctl_json of ctl.sh.

# health_orphan NODE: starts sluiced below a process that never waits for it, so that a killed one becomes a zombie.
health_orphan() {
	[[ -e $CASE_DIR/$1.yaml ]] || host_config "$1" >"$CASE_DIR/$1.yaml"
	net_exec "$1" bash -c '"$@" & echo $! >"$0"; exec sleep 600' "$CASE_DIR/pid" \
		"$BUILD/sluiced" --config "$CASE_DIR/$1.yaml" >"$CASE_DIR/$1.log" 2>&1 9>&- &
	HEALTH_PARENT=$!
	wait_for 60 "sluiced is ready" said "$1" "sluiced: ready"
}

# Neither a fresh heartbeat nor a pid that somebody has makes it alive.
health__a_killed_daemon_does_not_run() {
	local pid

	net_up
	health_orphan h1
	pid=$(<"$CASE_DIR/pid")
	ctl_text "sluiced: running, pid $pid, since 20" status
	kill -KILL "$pid"
	wait_for 5 "it is a zombie" grep -q '^State:.*Z' "/proc/$pid/status"
	ctl_text "sluiced: not running, no sign for" status
	ctl_json '.daemon_alive == false and .daemon_state == "not running" and (has("daemon_uptime_s") | not)' status --json
	kill "$HEALTH_PARENT"
	wait "$HEALTH_PARENT" 2>/dev/null
	daemon_start h1
	ctl_text "sluiced: running, pid ${DAEMON[h1]}, since 20" status
}

health__a_stopped_daemon_hangs() {
	net_up
	daemon_start h1
	kill -STOP "${DAEMON[h1]}"
	status_soon h1 "state of the daemon" .daemon_state hung
	ctl_text "sluiced: hung, pid ${DAEMON[h1]}" status
	expect "alive in the status" "$(status_of h1 .daemon_alive)" = false
	kill -CONT "${DAEMON[h1]}"
	status_soon h1 "state of the daemon" .daemon_state running
}

# The process of a container is another number outside of it, and none at all inside of another one.
health__a_daemon_in_another_pid_namespace() {
	net_up
	host_config h1 >"$CASE_DIR/h1.yaml"
	net_exec h1 unshare --pid --fork --kill-child --mount-proc "$BUILD/sluiced" --config "$CASE_DIR/h1.yaml" \
		>"$CASE_DIR/h1.log" 2>&1 9>&- &
	HEALTH_PARENT=$!
	wait_for 60 "sluiced is ready" said h1 "sluiced: ready"
	status_soon h1 "state of the daemon" .daemon_state running
	expect "its pid outside" "$(status_of h1 .daemon_pid)" -gt 1
	expect "configuration" "$(status_of h1 .configuration.file_state)" = "as read"
	expect "status inside of another one" "$(net_in h1 unshare --pid --fork --mount-proc \
		"$BUILD/sluicectl" --pin-dir "$PINS/ssys-h1" status)" has "sluiced: running, pid 1 of another PID namespace"
	kill -TERM "$(status_of h1 .daemon_pid)"
	wait "$HEALTH_PARENT"
	expect "exit status of sluiced" $? -eq 0
}

health__a_changed_configuration_is_named() {
	net_up
	daemon_start h1
	expect "status" "$(ctl h1 status)" has-no "has changed"
	touch "$CASE_DIR/h1.yaml" # by itself no change
	expect "status after touch" "$(ctl h1 status)" has-no "has changed"
	echo "flow_timeout: 20s" >>"$CASE_DIR/h1.yaml"
	ctl_text "configuration: $CASE_DIR/h1.yaml has changed since it was read: 'systemctl reload sluiced', or kill -HUP ${DAEMON[h1]}" status
	ctl_json '.configuration.file_state == "changed" and .configuration.key_file_state == "as read"' status --json
	daemon_hup h1 "reloaded"
	status_soon h1 "the file" .configuration.file_state "as read"
	# One that is refused is not read, as far as the daemon goes.
	echo "colour: green" >>"$CASE_DIR/h1.yaml"
	daemon_hup h1 "keeping the current configuration"
	expect "the file after a refused reload" "$(status_of h1 .configuration.file_state)" = changed
	sed -i '/colour/d' "$CASE_DIR/h1.yaml"
	expect "the file as it was" "$(status_of h1 .configuration.file_state)" = "as read"
	touch "$(key_file)"
	ctl_text "key: $(key_file) has changed since it was read" status
	mv "$CASE_DIR/h1.yaml" "$CASE_DIR/away.yaml"
	ctl_text "cannot be read here" status
	expect "a file that is gone" "$(status_of h1 .configuration.file_state)" = unreadable
	mv "$CASE_DIR/away.yaml" "$CASE_DIR/h1.yaml"
}

# A healthy host has no warnings. A change by sluiced is listed as long as it is there.
health__a_healthy_host_has_nothing_alarming() {
	local text

	telemetry_in_data
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	text=$(ctl h1 status)
	for word in warnings "has changed" "version:" program: plain: "cannot be read" "not running" hung; do
		expect "status of a healthy host" "$text" has-no "$word"
	done
	expect "status" "$text" has "peers: 1 strips telemetry"
	ctl_json '.warnings == [] and .hosts == {strip: 1, plain: []} and .daemon_version == .version and .daemon_replaced == false' status --json
	expect "routes of ours" "$(net_in h1 ip route show proto 83)" has "10.0.0.0/8"
	expect "status" "$text" has "route    10.0.0.0/8: dev eth0 mtu 1348"
	expect "status" "$text" has "filters  eth0: egress, ingress"
	expect "status" "$text" has "clsact   eth0: added"
	expect "status" "$text" has "net.ipv4.tcp_congestion_control: "
	ctl_json ".changes | any(.kind == \"sysctl\" and .is == \"${CC}h1\" and .was != .is)" status --json
	ctl_json '.changes | map(select(.kind == "route" and .object == "fd00::/16" and .is == "dev eth0 mtu 1328")) | length == 1' status --json
	# Somebody takes one of them back.
	net_in h1 sysctl -qw net.ipv4.tcp_congestion_control=reno
	expect "status after that" "$(ctl h1 status)" has-no "tcp_congestion_control"
	bulk_stop
}

health_warns() { WAIT_SEEN=$(ctl h1 status) && [[ $WAIT_SEEN == *"$1"* ]]; }

# h2 has no Sluice, and then another key: each is named with the reason.
health__plain_peers_and_their_reason_are_named() {
	net_up
	daemon_start h1
	server h2
	bulk_start h1 10.2.0.2
	wait_for 20 "h2 is plain" health_warns "plain: 1 never answered (no Sluice there"
	json_of h1 status
	(umask 077 && echo fedcba9876543210fedcba9876543210 >"$CASE_DIR/other")
	host_config h2 "auth: $CASE_DIR/other" >"$CASE_DIR/h2.yaml"
	daemon_start h2
	wait_for 30 "h1 refuses what h2 sends" health_warns "rx_bad_auth +"
	expect "status" "$(ctl h1 status)" has "messages with a wrong tag: put the same key on all hosts"
	json_of h1 status
	for key in hosts_plain.reason status_warning.counter status_warning.grown status_warning.window_s; do
		grep -qx $key "$CASE_DIR/keys_seen" || fail "status --json has no $key"
	done
	bulk_stop
}

health__peers_that_fall_silent_are_named() {
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	ctl h2 bypass on >/dev/null
	wait_for 20 "h2 is plain" health_warns "plain: 1 fell silent (stopped, bypass there"
	ctl h2 bypass off >/dev/null
	wait_for 20 "h2 strips again" health_warns "peers: 1 strips telemetry"
	bulk_stop
}

# The daemon of another version, with maps that this sluicectl cannot read, says at least which.
health__another_version_is_named() {
	local next=$BUILD/next BUILD=$BUILD own

	[[ -x $next/sluiced ]] || skip "no build/next/sluiced: make everything"
	own=$("$BUILD/sluicectl" --version)
	net_up
	BUILD=$next daemon_start h1
	ctl_refuses 1 "of another version of Sluice, 0.2.0, and this sluicectl is ${own#* }: use its own sluicectl" status
	expect "status of its own" "$(BUILD=$next ctl h1 status)" has "sluiced: running"
	daemon_kill h1
	daemon_start h1
	expect "status after the adoption" "$(ctl h1 status)" has-no "version:"
}

# An upgrade puts a new file in place of the one that runs.
health__a_replaced_program_is_named() {
	net_up
	mkdir "$CASE_DIR/bin"
	cp "$BUILD/sluiced" "$BUILD/sluicectl" "$CASE_DIR/bin/"
	BUILD=$CASE_DIR/bin daemon_start h1
	expect "status" "$(ctl h1 status)" has-no "program:"
	cp "$BUILD/sluiced" "$CASE_DIR/bin/new"
	mv "$CASE_DIR/bin/new" "$CASE_DIR/bin/sluiced"
	ctl_text "the file of sluiced was replaced since it started" status
	expect "replaced" "$(status_of h1 .daemon_replaced)" = true
}
