# SPDX-License-Identifier: GPL-2.0-only
# Ports with several queues: the daemon applies `classes`, and flows obey their class.

# classes_config SHARE: of p2, DSCP 8 has a class of SHARE percent and all else 90.
classes_config() {
	switch_config | sed "/name: p2/s/}/, classes: [{share: 90%}, {dscp: [8], share: $1%}]}/"
}

classes_links() { (cd "$PINS/ssys-sw" && printf '%s\n' class_*queue | sort | xargs); }

# The queue of p2 is one tbf; the cases differ in what a flow of each class hears of it.
classes__are_stamped_and_follow_the_file() {
	net_up
	classes_config 10 >"$CASE_DIR/sw.yaml"
	daemon_start h1 h2 sw
	bpf_of sw >"$CASE_DIR/objects.txt"
	expect "links" "$(classes_links)" = "class_dequeue class_enqueue"
	expect "classes of p2" "$(status_of sw '[.interfaces[] | select(.name == "p2").classes[].share_bps] | join(" ")')" = \
		"90000000 10000000"
	expect "classes of p1" "$(status_of sw '.interfaces[] | select(.name == "p1") | has("classes")')" = false
	expect "text" "$(ctl sw status)" has "class 2 "
	server h2
	bulk_start h1 10.2.0.2 -S 32
	governed_soon h1
	flow_soon h1 "speed of the hop, a tenth of the port," '.hops[0].speed_bps' 10000000
	grows "bytes of the class" 20 classes_tx 1
	flow_soon h1 "rate within the share" '.rate_bps <= 12000000' true
	bulk_unharmed
	bulk_stop
	bulk_start h1 10.2.0.2
	governed_soon h1
	flow_soon h1 "speed of the hop, 90 of 100 Mbit/s," '.hops[0].speed_bps' 100000000
	grows "bytes of the other class" 20 classes_tx 0
	# Its share changes under load; its account goes on.
	classes_config 5 >"$CASE_DIR/sw.yaml"
	daemon_hup sw reloaded
	expect "classes of p2" "$(status_of sw '[.interfaces[] | select(.name == "p2").classes[].share_bps] | join(" ")')" = \
		"90000000 5000000"
	expect "bytes of the class" "$(classes_tx 1)" -gt 0
	bulk_unharmed
	switch_config >"$CASE_DIR/sw.yaml"
	daemon_hup sw reloaded
	expect "links without classes" "$(classes_links)" = "class_*queue"
	expect "classes without classes" "$(status_of sw '[.interfaces[] | has("classes")] | any')" = false
	expect "entries of the map" "$(bpftool -j map dump pinned "$PINS/ssys-sw/class_queues" | jq length)" -eq 0
	grows "stamps" 20 stat_of sw hop_stamped
	bulk_unharmed
	bulk_stop
	classes_config 10 >"$CASE_DIR/sw.yaml"
	daemon_hup sw reloaded
	daemon_kill sw
	expect "links after a crash" "$(classes_links)" = "class_dequeue class_enqueue"
	daemon_start sw
	daemon_stop sw h1 h2
	servers_stop
	wait_for 300 "the BPF objects of the daemon are gone (left.txt)" bpf_none_left "$CASE_DIR/objects.txt"
	[[ ! -e $PINS/ssys-sw ]] || fail "pins are left"
}

classes_tx() { status_of sw ".interfaces[] | select(.name == \"p2\").classes[$1].tx_bytes"; }
