# SPDX-License-Identifier: GPL-2.0-only
# sluicectl status as the page of overall health. Text and JSON by ctl_text and ctl_json of ctl.sh.

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
	local text by=tcx

	has_tcx || by=filters
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
	expect "status" "$text" has "peers: 1 runs Sluice"
	ctl_json '.warnings == [] and .hosts.strip == 1 and .hosts.plain == [] and .hosts.old_sequences.hosts == 0 and .hosts.held_sequences.hosts == 0 and .daemon_version == .version and .daemon_replaced == false' status --json
	expect "routes of ours" "$(net_in h1 ip route show proto 83)" has "10.0.0.0/8"
	expect "status" "$text" has "route    10.0.0.0/8: dev eth0 mtu 1348"
	expect "status" "$text" has "$(printf '%-8s' $by) eth0: egress, ingress"
	[[ $by == tcx ]] || expect "status" "$text" has "clsact   eth0: added"
	expect "status" "$text" has "net.ipv4.tcp_congestion_control: "
	ctl_json ".changes | any(.kind == \"sysctl\" and .is == \"${CC}h1\" and .was != .is)" status --json
	ctl_json '.changes | map(select(.kind == "route" and .object == "fd00::/16" and .is == "dev eth0 mtu 1328")) | length == 1' status --json
	bulk_stop
}

# health_missing NODE: hooks of eth0 at which a program is missing, as status says.
health_missing() { status_of "$1" '.interfaces[] | select(.name == "eth0") | .missing | join(" ")'; }

health_missing_soon() { wait_for 10 "missing at $1 is '$2'" health_missing_is "$@"; }

health_missing_is() { WAIT_SEEN=$(health_missing "$1") && [[ $WAIT_SEEN == "$2" ]]; }

# health_put_back NODE: it says so once more than before, and all is there.
health_put_back() {
	wait_for 10 "sluiced of $1 puts programs back, the $2. time" health_said_times "$1" "$2"
	health_missing_soon "$1" ""
	expect "warnings" "$(status_of "$1" '.warnings | length')" -eq 0
}

health_said_times() { WAIT_SEEN=$(grep -c 'its programs were removed .*: attaching them again' "$CASE_DIR/$1.log"); ((WAIT_SEEN >= $2)); }

# An agent that cleans up, tc qdisc del, bpftool: what they remove is noticed, said, and put back.
health__removed_programs_are_put_back() {
	local link

	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	filters_remove h1 eth0
	health_put_back h1 1
	expect_said h1 "eth0: its programs were removed (egress, ingress): attaching them again"
	grows "feedback" 20 flow_of h1 .feedbacks
	if has_tcx; then
		link=$PINS/ssys-h1/tcx_$(ifindex_of h1 eth0)_ingress
		bpftool link detach pinned "$link" || fail "the link cannot be detached"
		health_put_back h1 2
		expect_said h1 "eth0: its programs were removed (ingress): attaching them again"
	fi
	grows "feedback then" 20 flow_of h1 .feedbacks
	bulk_stop
	daemon_stop h1 h2 sw
	expect "qdiscs" "$(net_in h1 tc qdisc show dev eth0)" has-no clsact
}

health__removed_filters_are_put_back() {
	attach_by_clsact
	net_up
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	net_in h1 tc qdisc del dev eth0 clsact || fail "no clsact to remove"
	health_put_back h1 1
	net_in h1 tc filter del dev eth0 egress || fail "no filter to remove"
	health_put_back h1 2
	expect_said h1 "eth0: its programs were removed (egress): attaching them again"
	net_in sw tc qdisc del dev p1 clsact || fail "no clsact to remove"
	wait_for 10 "the switch puts it back" said sw "p1: its programs were removed (egress): attaching them again"
	grows "feedback" 20 flow_of h1 .feedbacks
	grows "packets that are stamped" 20 stat_of sw hop_stamped
	# Whoever does it again and again wins for a minute.
	for _ in {1..40}; do
		said h1 "more than 5 times in a minute" && break
		net_in h1 tc qdisc del dev eth0 clsact 2>/dev/null
		sleep 0.5
	done
	expect_said h1 "eth0: its programs were removed (egress, ingress) again, more than 5 times in a minute"
	expect "what is missing" "$(health_missing h1)" = "egress ingress"
	daemon_hup h1 reloaded
	expect "what is missing after SIGHUP" "$(health_missing h1)" = ""
	bulk_stop
	daemon_stop h1 h2 sw
	expect "qdiscs" "$(net_in h1 tc qdisc show dev eth0)" has-no clsact
}

# Without a daemon nobody puts anything back: status shows what is, and not what was done.
health__status_shows_what_is() {
	net_up
	daemon_start h1
	expect "missing" "$(health_missing h1)" = ""
	daemon_kill h1
	filters_remove h1 eth0
	ctl_text "NOT ATTACHED: egress, ingress" status
	ctl_text "eth0: Sluice's programs were removed (egress, ingress): start sluiced, which attaches them again" status
	ctl_json '.interfaces[0] | .missing == ["egress", "ingress"] and .attached_by == "nothing"' status --json
	expect "what is changed" "$(ctl h1 status)" has-no "eth0: egress, ingress"
	daemon_start h1
	expect "missing then" "$(health_missing h1)" = ""
	daemon_stop h1
}

health_default_is() { WAIT_SEEN=$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control) && [[ $WAIT_SEEN == "$1" ]]; }

# 'sysctl --system' reads an older file again: once it is put back. A second time is meant: it stays, and status warns.
health__default_control_that_somebody_sets() {
	net_up
	daemon_start h1
	net_in h1 sysctl -qw net.ipv4.tcp_congestion_control=reno
	wait_for 10 "the default is Sluice's again" health_default_is "${CC}h1"
	expect_said h1 "tcp: default congestion control: it was set to reno: setting it back"
	expect "warnings" "$(status_of h1 '.warnings | length')" -eq 0
	net_in h1 sysctl -qw net.ipv4.tcp_congestion_control=reno
	wait_for 10 "sluiced leaves it" said h1 "it was set to reno again: leaving it so"
	ctl_text "net.ipv4.tcp_congestion_control is reno, but tcp: default wants ${CC}h1: new connections use reno" status
	expect "the default" "$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = reno
	daemon_hup h1 reloaded
	expect "the default after SIGHUP" "$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = "${CC}h1"
	expect "warnings after SIGHUP" "$(status_of h1 '.warnings | length')" -eq 0
	daemon_stop h1
	expect "the default at the end" "$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = reno
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
	wait_for 20 "h2 runs Sluice again" health_warns "peers: 1 runs Sluice"
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
