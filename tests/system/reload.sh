# SPDX-License-Identifier: GPL-2.0-only
# Peers and interfaces that leave the configuration, come back, or are renamed, while packets of both directions are on
# their way: no segment is lost.

reload_net_up() {
	local port

	on_one_cpu
	net_up
	# Room for what TCP sends that nothing governs.
	for port in p1 p2; do
		net_in sw tc qdisc change dev $port root handle 1: tbf rate "$NET_RATE" burst "$NET_BURST" limit 100000000
	done
}

# reload_up [LINE]...: host_config of h1 with these lines, and a flow each way that is governed at both ends.
reload_up() {
	reload_net_up
	net_in h1 ip link add eth9 type veth peer name peer9
	host_config h1 "$@" >"$CASE_DIR/h1.yaml"
	cp "$CASE_DIR/h1.yaml" "$CASE_DIR/h1-all.yaml"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2 --bidir
	reload_governed
}

reload_governed() {
	governed_soon h1
	governed_soon h2
}

# reload_with LINE...: h1 takes a configuration with these lines. reload_back: the one that it had.
reload_with() {
	host_config h1 "$@" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
}

reload_back() {
	cp "$CASE_DIR/h1-all.yaml" "$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
}

# Nothing was lost in either direction since the flows began. Of what is sent twice the other end may tell later.
reload_unharmed() {
	local tries=0

	bulk_goes_on
	until nothing_lost "$BULK_LOST" || ((tries++ == 200)); do
		sleep 0.1
	done
	expect "segments lost since the flows began" $(($(lost) - BULK_LOST)) -le 0
}

# Both ends send plainly.
reload_plain() {
	flow_soon h2 "telemetry of the flow of h2" .telemetry false
	flow_soon h1 "telemetry of the flow of h1" .telemetry false
}

RELOAD_OTHER_PEERS="peers: [{prefix: 'fd00::/16', base_rtt: 2ms}]"
# An entry that leaves stays for 12 of the longest base RTT: long enough to be seen.
RELOAD_SLOW="peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}, {prefix: 'fd00::/16', base_rtt: 800ms}]"
RELOAD_SLOW_OTHER="peers: [{prefix: 'fd00::/16', base_rtt: 800ms}]"
RELOAD_OTHER_PORTS="interfaces: [{name: eth9, role: host, speed: 1Gbit}]"

reload_ports() { status_of h1 '[.interfaces[] | .name + (if .leaving then " leaving" else "" end)] | sort | join(", ")'; }

reload_ports_are() { [[ $(reload_ports) == "$1" ]]; }

# All ports of h1 that leave are gone.
reload_port_gone() { wait_for 60 "the ports of h1 are eth9" reload_ports_are eth9; }

# reload_peers [NODE]: prefixes that the programs of a node, h1, know, and whether they leave.
reload_peers() {
	bpftool -j map dump pinned "$PINS/ssys-${1:-h1}/peers" |
		jq -r '[.[].formatted | "\(.key.prefixlen)" + (if .value.leaving == 1 then " leaving" else "" end)] | sort | join(", ")'
}

reload_peers_are() { [[ $(reload_peers "${2:-}") == "$1" ]]; }

# h2, to which all was answered, notices nothing while it is on bypass. When that ends h1 strips no more.
reload__peer_leaves_while_the_other_end_is_on_bypass() {
	reload_net_up
	host_config h1 >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h1
	bulk_start h2 10.1.0.2
	governed_soon h2
	bulk_stop
	ctl h2 bypass on
	reload_with "$RELOAD_OTHER_PEERS"
	wait_for 60 "the prefix of h1 is gone" reload_peers_are 16
	ctl h2 bypass off
	bulk_start h2 10.1.0.2
	grows "packets of h2 that ask" 20 stat_of h2 probe_sent
	bulk_unharmed
	bulk_stop
}

# Without an interface h1 notices nothing either.
reload__peer_leaves_while_the_interface_is_away() {
	reload_net_up
	net_in h1 ip link add eth9 type veth peer name peer9
	host_config h1 >"$CASE_DIR/h1.yaml"
	cp "$CASE_DIR/h1.yaml" "$CASE_DIR/h1-all.yaml"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	bulk_stop
	reload_with "$RELOAD_OTHER_PORTS"
	reload_port_gone
	host_config h2 "$RELOAD_OTHER_PEERS" >"$CASE_DIR/h2.yaml"
	daemon_hup h2 reloaded
	wait_for 60 "the prefix of h2 is gone" reload_peers_are 16 h2
	reload_back
	bulk_start h1 10.2.0.2
	grows "packets of h1 that ask" 20 stat_of h1 probe_sent
	bulk_unharmed
	bulk_stop
}

# h2 goes on with telemetry until it notices that h1 is silent.
reload__peer_leaves_without_loss() {
	reload_up
	reload_with "$RELOAD_OTHER_PEERS"
	reload_plain
	reload_unharmed
	wait_for 20 "the prefix is gone" reload_peers_are 16
	reload_back
	reload_governed
	reload_unharmed
	bulk_stop
}

# Twice the same SIGHUP, and the prefix is back before it is gone.
reload__peer_comes_back_before_it_is_gone() {
	reload_up "$RELOAD_SLOW"
	reload_with "$RELOAD_SLOW_OTHER"
	daemon_hup h1 reloaded
	expect "prefixes while one leaves" "$(reload_peers)" = "104 leaving, 16"
	reload_back
	expect "prefixes" "$(reload_peers)" = "104, 16"
	reload_governed
	grows "feedback" 20 flow_of h1 .feedbacks
	reload_unharmed
	# A timer that was left running would have run out.
	sleep 10
	expect "prefixes afterwards" "$(reload_peers)" = "104, 16"
	bulk_stop
}

# A prefix that a wider one takes over does not leave, whether the wider one is new or was there before.
reload__prefix_within_another_leaves_at_once() {
	local narrow="{prefix: 10.2.0.0/16, base_rtt: 2ms}"

	reload_up "peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}, $narrow]"
	expect "prefixes at first" "$(reload_peers)" = "104, 112"
	reload_with "peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}]"
	expect "prefixes without the narrow one" "$(reload_peers)" = 104
	reload_with "peers: [$narrow]"
	expect "prefixes without the wide one" "$(reload_peers | sed 's/104 leaving, //')" = 112
	reload_with "peers: [{prefix: 10.0.0.0/7, base_rtt: 2ms}]"
	expect "prefixes with a wider one" "$(reload_peers)" = 103
	expect "silent peers of h2" "$(stat_of h2 peer_silent)" -eq 0
	grows "feedback" 20 flow_of h1 .feedbacks
	reload_unharmed
	bulk_stop
}

# A clsact that goes would take along what is being sent: that of eth0 stays, empty, until the daemon ends.
reload__interface_leaves_without_loss() {
	reload_up
	reload_with "$RELOAD_OTHER_PORTS"
	reload_plain
	reload_port_gone
	expect_said h1 "eth0: host -> detached: no longer in the configuration"
	expect "filters of eth0" "$(filters_of)" = ""
	reload_unharmed
	reload_back
	reload_governed
	reload_unharmed
	bulk_stop
	reload_with "$RELOAD_OTHER_PORTS"
	reload_port_gone
	daemon_stop h1
	expect "qdiscs of eth0 at the end" "$(net_in h1 tc qdisc show dev eth0)" has-no clsact
}

reload__interface_comes_back_before_it_is_gone() {
	reload_up "$RELOAD_SLOW"
	reload_with "$RELOAD_SLOW" "$RELOAD_OTHER_PORTS"
	expect "ports while one leaves" "$(reload_ports)" = "eth0 leaving, eth9"
	reload_back
	expect "ports" "$(reload_ports)" = "eth0, eth9 leaving"
	reload_governed
	wait_for 60 "what leaves is gone" reload_ports_are eth0
	grows "feedback" 20 flow_of h1 .feedbacks
	reload_unharmed
	bulk_stop
}

# The next daemon completes what one began that was killed: of an interface, and of a peer.
reload__next_daemon_completes_what_leaves() {
	reload_up "$RELOAD_SLOW"
	reload_with "$RELOAD_SLOW" "$RELOAD_OTHER_PORTS"
	daemon_kill h1
	expect "ports without a daemon" "$(reload_ports)" = "eth0 leaving, eth9"
	expect "status as text" "$(ctl h1 status)" has "  leaving"
	reload_plain
	expect "ports a while later" "$(reload_ports)" = "eth0 leaving, eth9"
	daemon_start h1
	reload_port_gone
	reload_unharmed
	reload_back
	reload_governed
	reload_with "$RELOAD_SLOW_OTHER"
	daemon_kill h1
	expect "prefixes without a daemon" "$(reload_peers)" = "104 leaving, 16"
	reload_plain
	daemon_start h1
	wait_for 60 "the prefix is gone" reload_peers_are 16
	reload_unharmed
	bulk_stop
}

# A daemon that starts over what another left, with a configuration that has less, lets that go in the same way.
reload__restart_with_less_loses_nothing() {
	reload_up
	daemon_kill h1
	host_config h1 "$RELOAD_OTHER_PEERS" >"$CASE_DIR/h1.yaml"
	daemon_start h1
	reload_plain
	reload_unharmed
	daemon_kill h1
	cp "$CASE_DIR/h1-all.yaml" "$CASE_DIR/h1.yaml"
	daemon_start h1
	reload_governed
	daemon_kill h1
	host_config h1 "$RELOAD_OTHER_PORTS" >"$CASE_DIR/h1.yaml"
	daemon_start h1
	reload_plain
	reload_port_gone
	reload_unharmed
	bulk_stop
}

# An orderly end takes all of it away, whatever was about to leave.
reload__sigterm_while_something_leaves() {
	reload_up "$RELOAD_SLOW"
	reload_with "$RELOAD_OTHER_PORTS" "$RELOAD_SLOW_OTHER"
	expect "ports while one leaves" "$(reload_ports)" = "eth0 leaving, eth9"
	daemon_stop h1
	expect "qdiscs of eth0" "$(net_in h1 tc qdisc show dev eth0)" has-no clsact
	bulk_goes_on
	bulk_stop
}

# Of a sink at XDP it is the same.
reload__sink_at_xdp_leaves_without_loss() {
	reload_up "interfaces: [{name: eth0, role: host, speed: ${NET_RATE^}, xdp: generic}]"
	need_sink h1 "generic XDP"
	reload_with "$RELOAD_OTHER_PORTS"
	reload_plain
	reload_port_gone
	expect "eth0" "$(net_in h1 ip link show eth0)" has-no xdp
	reload_unharmed
	reload_back
	reload_governed
	expect "sink of h1" "$(sink_of h1)" = "generic XDP"
	reload_with "$RELOAD_OTHER_PEERS" "interfaces: [{name: eth0, role: host, speed: ${NET_RATE^}, xdp: generic}]"
	reload_plain
	reload_unharmed
	bulk_stop
}

reload_rename() {
	net_in h1 ip link set eth0 name eth7 2>/dev/null || skip "an interface that is up cannot be renamed in this kernel"
	wait_for 20 "sluiced says that it has another name" said h1 "eth0: is now called eth7"
	status_soon h1 "name of the interface" '.interfaces[0].name' eth7
}

# Programs are loaded without the wings that the configuration does not use, and once more when a reload uses them.
reload__brings_pauses_and_credit() {
	local plain

	net_up
	daemon_start h1 h2 sw
	plain=$(bytes_of_program sw egress)
	pfc_switch obey "buffer: 200KB" >"$CASE_DIR/sw.yaml"
	daemon_hup sw reloaded
	expect "bytes of the program at a port that obeys" "$(bytes_of_program sw egress)" -gt $((plain * 3 / 2))
	server h2
	bulk_start h1 10.2.0.2
	pfc_host >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	pfc_send 8 65535
	counts h1 0 pfc_rx
	credits_config h1 && credits_config h2
	daemon_hup h2 reloaded
	daemon_hup h1 reloaded
	grows "credit" 20 stat_of h1 credit_taken
	bulk_unharmed
	bulk_stop
}

# bytes_of_program NODE HOOK: of the one at p1.
bytes_of_program() {
	local program

	program=$(tcx_of "$1" p1 "$2")
	[[ $program ]] || program=$(bpftool -j prog show id "$(net_in "$1" tc -j filter show dev p1 "$2" | jq '.[].options.prog.id | values')")
	jq .bytes_xlated <<<"$program"
}

# Index, not name, is what an interface is known by: it is managed on, and taken over under its new name.
reload__interface_is_renamed_without_loss() {
	reload_up
	reload_rename
	grows "feedback" 20 flow_of h1 .feedbacks
	# With a configuration that still has the old name, too.
	daemon_hup h1 reloaded
	expect "ports" "$(reload_ports)" = eth7
	reload_with "interfaces: [{name: eth7, role: host, speed: ${NET_RATE^}}]"
	expect "ports" "$(reload_ports)" = eth7
	grows "feedback" 20 flow_of h1 .feedbacks
	expect "interfaces that were attached or detached" "$(grep -c 'tached, as the configuration' "$CASE_DIR/h1.log")" -eq 0
	expect "silent peers of h2" "$(stat_of h2 peer_silent)" -eq 0
	reload_unharmed
	bulk_stop
}

# The next daemon knows it, too, and one that gets its old name back is the same as before.
reload__renamed_interface_is_adopted() {
	reload_up
	reload_rename
	daemon_kill h1
	daemon_start h1
	expect "ports after a crash" "$(reload_ports)" = eth7
	daemon_kill h1
	net_in h1 ip link set eth7 name eth8
	daemon_start h1
	expect "ports renamed without a daemon" "$(reload_ports)" = eth8
	net_in h1 ip link set eth8 name eth0
	status_soon h1 "name of the interface" '.interfaces[0].name' eth0
	grows "feedback" 20 flow_of h1 .feedbacks
	reload_unharmed
	bulk_stop
}

# Another interface takes the name. The one that is attached stays until the next SIGHUP, which uses names.
reload__name_is_taken_by_another_interface() {
	reload_up
	reload_rename
	net_in h1 ip link set eth9 name eth0
	net_in h1 ip link set eth0 up
	grows "feedback" 20 flow_of h1 .feedbacks
	expect "ports" "$(reload_ports)" = eth7
	daemon_hup h1 reloaded
	reload_plain
	wait_for 20 "the ports of h1 are the new eth0" reload_ports_are eth0
	expect_said h1 "eth7: host -> detached"
	reload_unharmed
	bulk_stop
}
