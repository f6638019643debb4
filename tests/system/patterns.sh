# SPDX-License-Identifier: GPL-2.0-only
# Interfaces by pattern: those that are there, those that come, go and change their names, and those that are left alone.

# patterns_config ENTRY...: the switch with these, as "name: 'p*', id: 7".
patterns_config() {
	printf '%s\n' "pin_dir: $PINS/ssys-sw" interfaces: >"$CASE_DIR/sw.yaml"
	printf "  - {%s, role: switch, speed: ${NET_RATE^}}\n" "$@" >>"$CASE_DIR/sw.yaml"
}

# patterns_ports FIRST LAST: further ports of the switch, with their other ends.
patterns_ports() {
	seq "$1" "$2" | sed 's/.*/link add p& type veth peer name other&/' | net_in sw ip -batch - ||
		fail "no ports $1 to $2"
}

patterns_of() { status_of sw '[.interfaces[] | "\(.name) \(.switch_id)"] | sort | join(", ")'; }

patterns__ports_of_a_switch_take_one_entry() {
	net_up
	patterns_ports 3 8
	host_config h1 "interfaces: [{name: 'eth?', role: host, speed: ${NET_RATE^}}]" >"$CASE_DIR/h1.yaml"
	patterns_config "name: 'p*', id: 7" "name: 'p[4-5]', id: 9" "name: p8, id: 8"
	expect "what --check says" "$(net_in sw "$BUILD/sluiced" --check --config "$CASE_DIR/sw.yaml" 2>/dev/null)" = \
		"p*: 7 interfaces: p1 p2 p3 p4 p5 p6 p7
p[4-5]: 0 interfaces:"
	expect "what check says" "$(ctl sw check "$CASE_DIR/sw.yaml" 2>/dev/null | tr -s ' ')" has "ok p* matches 7 interfaces"
	daemon_start h1 h2 sw
	expect_said sw "ready: 8 interfaces"
	expect_said sw "interfaces: 'p[4-5]' matches no interface yet"
	expect "ports and their numbers" "$(patterns_of)" = "p1 7, p2 7, p3 7, p4 7, p5 7, p6 7, p7 7, p8 8"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	grows "stamps" 20 stat_of sw hop_stamped
	patterns_config "name: 'p[1-3]', id: 6"
	daemon_hup sw reloaded
	expect "after a reload" "$(patterns_of)" = "p1 6, p2 6, p3 6"
	expect_said sw "p8: switch -> detached: no longer in the configuration"
	grows "stamps" 20 stat_of sw hop_stamped
	bulk_goes_on
	bulk_stop
	daemon_kill sw
	daemon_start sw
	expect "after a crash" "$(patterns_of)" = "p1 6, p2 6, p3 6"
	daemon_stop sw
	expect "programs left" "$(tcx_of sw p1)" = ""
}

# The name decides: a port that is renamed leaves, stays, or takes the entry of its new name.
patterns__ports_come_and_go() {
	net_up
	patterns_config "name: 'p*', id: 7" "name: 'q*', id: 9"
	daemon_start sw
	patterns_ports 3 3
	wait_for 20 "p3 is attached" said sw "p3: attached (matches p*): switch"
	net_in sw ip link set p3 name p5
	wait_for 20 "p5 is" said sw "p5: was called p3, and matches 'p*'"
	expect "ports" "$(patterns_of)" = "p1 7, p2 7, p5 7"
	net_in sw ip link set p5 name q5
	wait_for 20 "q5 is" said sw "q5: was called p5, and matches 'q*'"
	expect "ports" "$(patterns_of)" = "p1 7, p2 7, q5 9"
	net_in sw ip link set q5 name r5
	wait_for 20 "r5 is none" said sw "r5: switch -> detached: no longer in the configuration"
	net_in sw ip link set r5 name p5
	wait_for 20 "p5 is one again" said sw "p5: attached (matches p*): switch"
	net_in sw ip link del p5
	wait_for 20 "p5 is gone" said sw "went away: forgotten"
	patterns_ports 6 6
	wait_for 20 "p6 is attached" said sw "p6: attached (matches p*): switch"
	expect "ports" "$(patterns_of)" = "p1 7, p2 7, p6 7"
	daemon_hup sw reloaded
	expect "after a reload" "$(patterns_of)" = "p1 7, p2 7, p6 7"
}

# Programs of the roles are loaded, so that a port finds them when it appears.
patterns__before_the_first_port_is_there() {
	net_up
	patterns_config "name: 'later*', id: 7"
	daemon_start sw
	expect_said sw "interfaces: 'later*' matches no interface yet"
	expect_said sw "ready: 0 interfaces"
	net_in sw ip link add later0 type veth peer name other0
	wait_for 20 "later0 is attached" said sw "later0: attached (matches later*): switch"
	expect "ports" "$(patterns_of)" = "later0 7"
	daemon_stop sw
}

# * means Ethernet devices. A bridge has no speed until a port of it is up.
patterns__leave_alone_what_cannot_be_a_port() {
	net_up
	net_in sw ip link add bridge0 type bridge || fail "no bridge in this kernel"
	! net_has_link ipip local 10.1.0.1 remote 10.2.0.2 || net_in sw ip link add ipip1 type ipip local 10.1.0.1 remote 10.2.0.2
	printf '%s\n' "pin_dir: $PINS/ssys-sw" "interfaces: [{name: '*', role: switch, id: 7}]" >"$CASE_DIR/sw.yaml"
	daemon_start sw
	expect_said sw "interfaces: 1 that match a pattern have no speed yet (bridge0)"
	expect "ports" "$(patterns_of)" = "p1 7, p2 7"
	patterns_ports 3 3
	net_in sw ip -batch - <<-'END'
		link set other3 up
		link set p3 up master bridge0
		link set bridge0 up
	END
	wait_for 20 "bridge0 is attached" said sw "bridge0: attached (matches *): switch"
	expect "its speed" "$(status_of sw '[.interfaces[] | select(.name == "bridge0")][0].speed_bps > 0')" = true
}

PATTERNS_PORTS=${PATTERNS_PORTS:-128}

# patterns_cpu: ms of a CPU that the daemon of the switch has used.
patterns_cpu() { awk '{ print ($14 + $15) * 10 }' "/proc/${DAEMON[sw]}/stat"; }

# They are attached, followed and given up as a few are.
patterns__many_ports() {
	local n=$PATTERNS_PORTS before cpu

	net_up
	seq "$n" | sed 's/.*/link add swp& type veth peer name other&/' | net_in sw ip -batch - ||
		fail "no $n ports"
	patterns_config "name: 'swp*', id: 7" "name: 'p?', id: 8"
	echo "metrics: {}" >>"$CASE_DIR/sw.yaml"
	before=$(uptime_ms)
	daemon_start sw
	echo "# $n ports: ready after $(($(uptime_ms) - before)) ms, CPU $(patterns_cpu) ms, maps $(interface_maps_mb sw) MB, $(
		awk '/^VmRSS/ { print int($2 / 1000) }' "/proc/${DAEMON[sw]}/status") MB resident"
	expect_said sw "ready: $((n + 2)) interfaces"
	expect "ports" "$(status_of sw '[.interfaces[] | select(.switch_id == 7)] | length')" -eq "$n"
	expect "ports in the metrics" "$(metrics_of sw | grep -c '^sluice_port_mtu_bytes{')" -eq $((n + 2))
	daemon_start h1 h2
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	cpu=$(patterns_cpu)
	net_in sw ip link set swp1 mtu 1400
	wait_for 20 "its MTU is noticed" said sw "swp1: MTU: 1500 -> 1400"
	net_in sw ip link del swp2
	wait_for 20 "it is gone" said sw "went away: forgotten"
	echo "# a port that changes and one that goes away: CPU $(($(patterns_cpu) - cpu)) ms"
	cpu=$(patterns_cpu)
	daemon_hup sw reloaded
	echo "# a reload: CPU $(($(patterns_cpu) - cpu)) ms"
	expect "ports" "$(status_of sw '.interfaces | length')" -eq $((n + 1))
	bulk_goes_on
	bulk_stop
	before=$(uptime_ms)
	daemon_stop sw
	echo "# a stop: $(($(uptime_ms) - before)) ms"
}
