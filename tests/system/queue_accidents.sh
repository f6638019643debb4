# SPDX-License-Identifier: GPL-2.0-only
# The previous qdisc of an interface is not lost: when ours cannot be made anew, when its daemon is killed meanwhile, when
# its interface goes and comes.

# queue_accident ACCIDENT: the daemon of h1, to which that happens. It makes qdiscs by RTM_NEWQDISC: at a start mq, which
# eth0 cannot have, and `sluice`; at a reload with a rate, after ours is deleted, `sluice`.
queue_accident() { LD_PRELOAD=$BUILD/accident.so ACCIDENT=$1 daemon_start h1; }

# queue_before: the usual network with an fq of the administrator, which is BEFORE, and the key of ours.
queue_before() {
	[[ -e $BUILD/accident.so ]] || skip "no accident.so: make build/accident.so"
	queue_keyed
	net_in h1 tc qdisc replace dev eth0 root handle 20: fq limit 5000 flow_limit 50 quantum 3000
	BEFORE=$(queue_root)
}

queue_rated() { host_config h1 "interfaces: [{name: eth0, role: host, queue: sluice, rate: ${NET_RATE^}}]" >"$CASE_DIR/h1.yaml"; }

queue_detach() {
	net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.txt" 2>&1 || fail "--detach: $(<"$CASE_DIR/detach.txt")"
}

QUEUE_FAILED="eth0: installing the qdisc 'sluice': Cannot allocate memory: fq is at its root, as before; SIGHUP tries again"

queue__that_cannot_be_made_anew_gives_way_to_the_previous_one() {
	queue_before
	queue_accident "fail RTM_NEWQDISC 3"
	queue_registered
	queue_rated
	daemon_hup h1 "reload: not everything could be applied"
	expect_said h1 "$QUEUE_FAILED"
	expect "the qdisc of eth0" "$(queue_root)" = "$BEFORE"
	sleep 3
	expect "the qdisc of eth0 after 3 s" "$(queue_root)" = "$BEFORE"
	expect "what sluiced says" "$(<"$CASE_DIR/h1.log")" has-no "somebody replaced"
	expect "setups" "$(bpftool -j map dump pinned "$PINS/ssys-h1/queue_ports" | jq length)" -eq 0
	daemon_hup h1 "eth0: qdisc: fq -> sluice"
	expect "the qdisc of eth0 after SIGHUP" "$(queue_root)" has "qdisc sluice 5463: root"
	daemon_stop h1
	expect "the qdisc of eth0 at the end" "$(queue_root)" = "$BEFORE"

	# A start that adopts ours, and fails to make it anew.
	queue_config sluice
	daemon_start h1
	daemon_kill h1
	queue_rated
	LD_PRELOAD=$BUILD/accident.so ACCIDENT="fail RTM_NEWQDISC 1" daemon_fails h1 1 "$QUEUE_FAILED" \
		"what the earlier daemon attached stays as it was"
	expect "the qdisc of eth0 after a start that failed" "$(queue_root)" = "$BEFORE"
	daemon_start h1
	daemon_stop h1
	expect "the qdisc of eth0 at the end" "$(queue_root)" = "$BEFORE"
}

# queue_killed: ours is deleted, and its daemon killed before it installs the new one.
queue_killed() {
	queue_config sluice
	queue_accident "kill RTM_NEWQDISC 3"
	queue_registered
	queue_rated
	kill -HUP "${DAEMON[h1]}"
	wait_for 30 "sluiced of h1 is killed" daemon_gone h1
	wait "${DAEMON[h1]}"
	expect "exit status of the killed one" $? -eq 137
	unset "DAEMON[h1]"
	expect "the qdisc of eth0 after the kill" "$(queue_root)" has-no "fq"
	expect "the qdisc of eth0 after the kill" "$(queue_root)" has-no "sluice"
}

queue__whose_daemon_is_killed_while_it_is_made_anew() {
	queue_before
	queue_killed
	daemon_start h1
	expect "how often fq was replaced" "$(grep -c "eth0: qdisc: fq -> sluice" "$CASE_DIR/h1.log")" -eq 2
	daemon_stop h1
	expect "the qdisc of eth0 at the end" "$(queue_root)" = "$BEFORE"
	queue_killed
	queue_detach
	expect "the qdisc of eth0 after --detach" "$(queue_root)" = "$BEFORE"
	# A qdisc that somebody puts there after the kill is the previous one then.
	queue_killed
	net_in h1 tc qdisc replace dev eth0 root handle 30: pfifo limit 77
	BEFORE=$(queue_root)
	daemon_start h1
	expect_said h1 "eth0: qdisc: pfifo -> sluice"
	daemon_stop h1
	expect "the qdisc of eth0 at the end" "$(queue_root)" = "$BEFORE"
}

queue_was() { bpftool -j map dump pinned "$PINS/ssys-h1/queue_was" | jq length; }

queue_was_are() { WAIT_SEEN="$(queue_was) entries" && [[ $WAIT_SEEN == "$1 entries" ]]; }

# An interface that is deleted and made again has another index. Its earlier entries do not fill the map.
queue__forgets_interfaces_that_are_gone() {
	local value i

	queue_needed
	net_up
	host_config h1 "interfaces: [{name: eth0, role: host, speed: ${NET_RATE^}}, {name: eth9, role: host, queue: sluice, rate: 1Gbit}]" >"$CASE_DIR/h1.yaml"
	net_in h1 ip link add eth9 type veth peer name peer9
	net_in h1 ip link set eth9 up
	daemon_start h1
	queue_registered
	expect "interfaces whose qdisc is stored" "$(queue_was)" -eq 1
	# The others that it holds, as after 255 times; sluiced may look meanwhile.
	value=$(bpftool -j map dump pinned "$PINS/ssys-h1/queue_was" | jq -r '.[0].value | join(" ")')
	for i in {1..255}; do
		echo "map update pinned $PINS/ssys-h1/queue_was key $i 0 1 0 value $value"
	done >"$CASE_DIR/batch.txt"
	bpftool batch file "$CASE_DIR/batch.txt" >"$CASE_DIR/batch.log" 2>&1 || fail "bpftool: $(tail -n 1 "$CASE_DIR/batch.log")"
	for i in 1 2 3; do
		net_in h1 ip link del eth9
		wait_for 20 "the interface that went is forgotten, time $i" queue_was_are 0
		net_in h1 ip link add eth9 type veth peer name peer9
		net_in h1 ip link set eth9 up
		wait_for 20 "eth9 has ours, time $i" queue_is_at eth9
		expect "interfaces whose qdisc is stored, time $i" "$(queue_was)" -eq 1
		expect "setups, time $i" "$(bpftool -j map dump pinned "$PINS/ssys-h1/queue_ports" | jq length)" -eq 1
	done
	expect "what sluiced says" "$(<"$CASE_DIR/h1.log")" has-no "the map queue_was"
	daemon_stop h1
}

queue_is_at() { [[ $(queue_root "$1") == *"qdisc sluice 5463: root"* ]]; }
