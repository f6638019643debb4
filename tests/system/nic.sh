# SPDX-License-Identifier: GPL-2.0-only
# A NIC that does PFC itself, which eth0 of h1 is taken for (dcbnic.c): the settings that it gets, when, and what is left of them.

# nic_make CAPABILITY ENABLED DCBX [REFUSAL]: the latter in hexadecimal; 09: the host runs DCBX, by IEEE 802.1Qaz.
nic_make() {
	[[ -e $BUILD/dcbnic.so ]] || skip "no $BUILD/dcbnic.so here: make build/dcbnic.so"
	echo "eth0 $1 $2 $3 ${4:-0} 0000000000 0000000000" >"$CASE_DIR/nic"
}

with_nic() { DCBNIC=$CASE_DIR/nic LD_PRELOAD=$BUILD/dcbnic.so "$@"; }

nic_enabled() { cut -d ' ' -f 3 "$CASE_DIR/nic"; }

nic_is() { [[ $(nic_enabled) == "$1" ]]; }

nic_soon() { wait_for 20 "PFC of the NIC is $1" nic_is "$1"; }

# nic_change FIELD VALUE: by somebody else.
nic_change() {
	awk -v at="$1" -v value="$2" '{ $at = value; print }' "$CASE_DIR/nic" >"$CASE_DIR/nic.new"
	mv "$CASE_DIR/nic.new" "$CASE_DIR/nic"
}

# nic_of FIELD: as h1 tells it; a jq expression.
nic_of() { ctl h1 ports --json | jq -r ".ports[0] | $1"; }

nic_tells() { [[ $(nic_of "$1") == "$2" ]]; }

nic_tells_soon() { wait_for 20 "$1 is $2" nic_tells "$1" "$2"; }

# It is told to, its counters are shown, and a pause that comes past it is not obeyed a second time.
nic__obeys_by_itself() {
	nic_make 8 00 09
	net_up without-fq
	pfc_host >"$CASE_DIR/h1.yaml"
	with_nic daemon_start h1
	expect "PFC of the NIC" "$(nic_enabled)" = 08
	expect_said h1 "PFC of its NIC: priorities none -> 3, which are to be lossless"
	! said h1 "pauses of its neighbour are counted and hold nothing" || fail "fq is asked for, and it is not needed"
	expect "who told it" "$(nic_of .nic.told_by)" = sluice
	expect "obeys" "$(nic_of .obeys)" = true
	expect "state" "$(nic_of '.priorities[0].state')" = nic
	nic_change 6 0000000007
	nic_change 7 0000000011
	nic_tells_soon '.nic.priorities[3].requests' 7
	nic_tells_soon '.nic.priorities[3].indications' 11
	expect "capability" "$(nic_of .nic.capability)" -eq 8
	expect "text" "$(ctl h1 ports | tail -n 1 | xargs)" = "eth0 3 on sluice 7 11"
	ctl h1 --json ports | schema errors ports >"$CASE_DIR/errors.txt" 2>&1
	expect "what is not as the schema says of ports" "$(<"$CASE_DIR/errors.txt")" = ""
	expect "check" "$(with_nic ctl h1 check "$CASE_DIR/h1.yaml")" has "pauses are kept by the NIC, for priorities 3"
	pfc_send 8 65535
	counts h1 0 pfc_unwanted
	expect "pauses heard here" "$(nic_of '.priorities[0].heard')" -eq 0
	daemon_stop h1
	expect "PFC of the NIC" "$(nic_enabled)" = 00
	expect_said h1 "PFC of its NIC: priorities 3 -> none, as before"
}

nic__counts_in_metrics() {
	need curl
	nic_make 8 00 09
	nic_change 6 0000000007
	nic_change 7 0000000011
	net_up
	host_config h1 "interfaces: [{name: eth0, role: host, speed: 100Mbit, pfc: obey}]" "metrics: {}" >"$CASE_DIR/h1.yaml"
	with_nic daemon_start h1
	metric_soon h1 'sluice_port_nic_pfc_requests_total{port="eth0",priority="3"}' 6
	metric_soon h1 'sluice_port_nic_pfc_indications_total{port="eth0",priority="3"}' 10
	expect "requests of priority 4" "$(metric h1 'sluice_port_nic_pfc_requests_total{port="eth0",priority="4"}')" -eq 0
	daemon_stop h1
}

# A daemon that dies leaves it so; the next one, and --detach, know what was before.
nic__is_put_back_after_a_crash() {
	nic_make 8 20 09
	net_up
	pfc_host >"$CASE_DIR/h1.yaml"
	with_nic daemon_start h1
	expect "PFC of the NIC" "$(nic_enabled)" = 28
	daemon_kill h1
	expect "PFC of the NIC" "$(nic_enabled)" = 28
	with_nic daemon_start h1
	expect "PFC of the NIC" "$(nic_enabled)" = 28
	daemon_kill h1
	with_nic net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1 9>&- ||
		fail "--detach: $(<"$CASE_DIR/detach.log")"
	expect "PFC of the NIC" "$(nic_enabled)" = 20
	# A later setting by somebody else stays.
	with_nic daemon_start h1
	nic_change 3 40
	wait_for 20 "the daemon says so" said h1 "PFC of its NIC is enabled for priorities 6 by now, and 3 are to be lossless"
	expect "PFC of the NIC" "$(nic_enabled)" = 40
	daemon_stop h1
	expect "PFC of the NIC" "$(nic_enabled)" = 40
}

# nic_detach: its exit status.
nic_detach() {
	with_nic net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/detach.log" 2>&1 9>&-
}

# It is busy, or it refuses: what it had before is not forgotten, and the next try is told.
nic__that_cannot_be_put_back_is_tried_again() {
	local refusal

	net_up
	pfc_host >"$CASE_DIR/h1.yaml"
	for refusal in "3 Device or resource busy" "1 Invalid argument"; do
		nic_make 8 20 09
		with_nic daemon_start h1
		expect "PFC of the NIC" "$(nic_enabled)" = 28
		nic_change 5 "${refusal%% *}"
		# A reload without pfc fails, and keeps it.
		host_config h1 >"$CASE_DIR/h1.yaml"
		daemon_hup h1 "eth0: PFC of its NIC for priorities 5, as before: ${refusal#* }"
		expect "ports with pauses" "$(ctl h1 ports --json | jq '.ports | length')" -eq 1
		daemon_kill h1
		! nic_detach || fail "--detach succeeds: $(<"$CASE_DIR/detach.log")"
		expect "what it says" "$(<"$CASE_DIR/detach.log")" has "eth0: PFC of its NIC for priorities 5, as before: ${refusal#* }"
		expect "what it says" "$(<"$CASE_DIR/detach.log")" has "not everything could be removed, so the pins stay"
		nic_change 5 0
		nic_detach || fail "--detach: $(<"$CASE_DIR/detach.log")"
		expect "PFC of the NIC" "$(nic_enabled)" = 20
		leftovers_none
		pfc_host >"$CASE_DIR/h1.yaml"
	done
}

# The mode, bypass, and another file.
nic__follows_what_is_wanted() {
	nic_make 8 00 09
	net_up
	pfc_host >"$CASE_DIR/h1.yaml"
	with_nic daemon_start h1
	nic_soon 08
	ctl h1 bypass on >/dev/null
	nic_soon 00
	ctl h1 bypass off >/dev/null
	nic_soon 08
	ctl h1 set mode observe >/dev/null
	nic_soon 00
	nic_tells_soon .nic.told_by host
	ctl h1 set mode enforce >/dev/null
	nic_soon 08
	pfc_host "lossless: [0, 5]" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	expect "PFC of the NIC" "$(nic_enabled)" = 21
	sed 's/^mode: enforce/mode: dry-run/' -i "$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	expect "PFC of the NIC" "$(nic_enabled)" = 00
	pfc_host >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	expect "PFC of the NIC" "$(nic_enabled)" = 08
	host_config h1 >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	expect "PFC of the NIC" "$(nic_enabled)" = 00
	daemon_stop h1
}

# Too many priorities are requested, it refuses, or it falsely reports success.
nic__that_refuses_pfc_ends_the_start_and_keeps_its_settings() {
	nic_make 2 80 09
	net_up
	pfc_host "lossless: [3, 4]" >"$CASE_DIR/h1.yaml"
	with_nic daemon_fails h1 4 "its NIC does PFC for 2 priorities at a time: 'pfc: lossless' is 3,4, and it has PFC enabled for 7"
	expect "PFC of the NIC" "$(nic_enabled)" = 80
	with_nic ctl h1 check "$CASE_DIR/h1.yaml" >"$CASE_DIR/check.txt"
	expect "exit status of check" $? -eq 3
	expect "check" "$(<"$CASE_DIR/check.txt")" has "has 7, and 3,4 are to be lossless"
	pfc_host >"$CASE_DIR/h1.yaml"
	with_nic daemon_start h1
	expect "PFC of the NIC" "$(nic_enabled)" = 88
	# A reload that requests too many changes nothing.
	pfc_host "lossless: [3, 4]" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 "keeping the current configuration"
	expect "PFC of the NIC" "$(nic_enabled)" = 88
	expect "lossless priorities" "$(nic_of '[.priorities[].priority] | @csv')" = 3
	daemon_stop h1
	expect "PFC of the NIC" "$(nic_enabled)" = 80
	pfc_host >"$CASE_DIR/h1.yaml"
	nic_make 8 00 09 1
	with_nic daemon_fails h1 4 "PFC of its NIC for priorities 3: Invalid argument"
	nic_make 8 00 09 2
	with_nic daemon_fails h1 3 "PFC of its NIC for priorities 3: Operation not supported"
	expect "PFC of the NIC" "$(nic_enabled)" = 00
}

# Firmware runs DCBX, or the host does so in the version before IEEE: it is only asked.
nic__whose_dcbx_decides() {
	nic_make 8 10 08
	net_up
	pfc_host >"$CASE_DIR/h1.yaml"
	with_nic daemon_start h1
	expect_said h1 "its firmware or an LLDP agent of its own runs DCBX: priorities 4, which stays as it is"
	nic_change 7 0000000011
	nic_tells_soon '.nic.priorities[3].indications' 11
	expect "who told it" "$(nic_of .nic.told_by)" = dcbx
	expect "check" "$(with_nic ctl h1 check "$CASE_DIR/h1.yaml")" has "PFC stays enabled for 4, and 3 are to be lossless"
	ctl h1 bypass on >/dev/null
	nic_change 6 0000000001
	nic_tells_soon '.nic.priorities[3].requests' 1
	expect "PFC of the NIC" "$(nic_enabled)" = 10
	daemon_stop h1
	expect "PFC of the NIC" "$(nic_enabled)" = 10
	nic_make 8 00 05
	with_nic daemon_start h1
	expect_said h1 "in the CEE version of DCBX: priorities none"
	# Once it is handed to the host, it is configured at SIGHUP.
	nic_change 4 09
	daemon_hup h1 reloaded
	expect "PFC of the NIC" "$(nic_enabled)" = 08
	daemon_stop h1
	expect "PFC of the NIC" "$(nic_enabled)" = 00
}

# Sluice's own packets leave by its port as before, and packets that wait there are counted.
nic__of_a_switch_goes_on_pausing() {
	nic_make 8 00 09
	nic_change 1 p1
	net_up without-fq
	pfc_switch pfc "buffer: 200KB, xoff: 20KB" >"$CASE_DIR/sw.yaml"
	pfc_host >"$CASE_DIR/h1.yaml"
	sed -i 's/^mode: enforce/mode: observe/' "$CASE_DIR/h1.yaml"
	with_nic daemon_start sw
	daemon_start h1
	# switch_config sets no mode, so it has the default.
	expect "PFC of the NIC" "$(nic_enabled)" = 08
	expect "state of p1" "$(ports_of sw p1 .state)" = nic
	expect "state of p2, a veth" "$(ports_of sw p2 .state)" = open
	server h2
	bulk_udp_start h1 10.2.0.2 -b 150M -l 1400 -S $PFC_TOS
	grows "XOFF" 20 ports_of sw p1 '.xoffs + .refreshes'
	grows "pauses heard" 20 ports_of h1 eth0 .heard
	bulk_udp_stop
	daemon_stop h1 sw
	expect "PFC of the NIC" "$(nic_enabled)" = 00
}
