# SPDX-License-Identifier: GPL-2.0-only
# sluicectl: every command, as text and as JSON, for everybody.

# ctl_json FILTER ARGUMENT...: the output is one JSON document, of which FILTER is true.
ctl_json() {
	local filter=$1 status

	shift
	ctl h1 "$@" >"$CASE_DIR/ctl.json" 2>"$CASE_DIR/ctl.log"
	status=$?
	expect "exit status of sluicectl $*, which says $(<"$CASE_DIR/ctl.log")" $status -eq 0
	expect "stderr of sluicectl $*" "$(<"$CASE_DIR/ctl.log")" = ""
	expect "documents of sluicectl $*" "$(jq -s length "$CASE_DIR/ctl.json" 2>&1)" = 1
	jq -e "$filter" "$CASE_DIR/ctl.json" >/dev/null 2>>"$CASE_DIR/ctl.log" ||
		fail "sluicectl $*: not so: $filter; but $(jq -c . "$CASE_DIR/ctl.json" | head -c 500)"
}

# ctl_text WORDS ARGUMENT...
ctl_text() {
	local words=$1 status

	shift
	ctl h1 "$@" >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	status=$?
	expect "exit status of sluicectl $*, which says $(<"$CASE_DIR/ctl.log")" $status -eq 0
	expect "stderr of sluicectl $*" "$(<"$CASE_DIR/ctl.log")" = ""
	expect "what sluicectl $* prints" "$(<"$CASE_DIR/ctl.txt")" has "$words"
}

ctl__commands_in_text_and_json() {
	local names

	net_up
	daemon_start h1 h2 sw
	ctl_text "no flows" flows
	ctl_json '. == []' flows --json
	server h2
	bulk_start h1 10.2.0.2
	bulk_goes_on
	governed_soon h1

	status_soon h1 "alive in the status" .daemon_alive true
	ctl_text "mode enforce, pins in $PINS/ssys-h1" status
	wait_for 20 "the text says that it runs" ctl_says_running "sluiced: running, pid ${DAEMON[h1]}"
	ctl_json "(keys | sort) == ([\"version\", \"abi\", \"mode\", \"bypass\", \"authenticated\", \"daemon_pid\", \"heartbeat_age_s\",
		\"daemon_alive\", \"daemon_state\", \"daemon_version\", \"daemon_uptime_s\", \"daemon_replaced\", \"configuration\",
		\"congestion_control\", \"flows\", \"interfaces\", \"peers\", \"hosts\", \"changes\", \"warnings\"] | sort) and .mode == \"enforce\" and
		.bypass == false and .daemon_pid == ${DAEMON[h1]} and .heartbeat_age_s < 30 and
		.congestion_control == \"${CC}h1\" and .flows >= 1 and .interfaces[0].name == \"eth0\" and
		.interfaces[0].role == \"host\" and .interfaces[0].speed_bps == 100000000 and
		.interfaces[0].mtu_bytes == 1500" status --json
	ctl_text "10.1.0.2:" flows
	ctl_text "governed" flows
	ctl_json 'map(select(.remote == "10.2.0.2" and .remote_port == 5201 and .protocol == "tcp" and .telemetry and
		.feedbacks > 0 and (.hops | length) == 1 and .u > 0 and .rate_bps > 0)) | length >= 1' --json flows
	ctl_text "tx_beside" stats
	ctl_text "rx_bad_hops" stats --all
	# Every counter of the text is in the JSON.
	names=$(ctl h1 stats --all | awk '{ print $1 }' | sort)
	ctl_json '.tx_beside > 0 and .rx_bad_hops == 0' stats --json
	expect "names of the counters" "$(jq -r 'keys[]' "$CASE_DIR/ctl.json")" = "$names"
	ctl_text "bypass: off -> on" bypass on
	ctl_text "BYPASS ON" status
	ctl_json '. == {"bypass": true, "was": true}' bypass on --json
	ctl_json '. == {"bypass": false, "was": true}' --json bypass off
	ctl_text "bypass: off -> off" bypass off
	ctl_text "all programs load" probe eth0
	ctl_json 'map(select(.check == "data plane" and .result == "ok")) | length == 1' probe --json
	ctl_json 'map(select(.check == "eth0 mtu" and (.detail | contains("1364")))) | length == 1' probe eth0 --json
	ctl_text "eth0" probe
	# The tries of probe leave nothing behind.
	bulk_goes_on
	bulk_stop
}

ctl_says_running() { [[ $(ctl h1 status) == *"$1"* ]]; }

# As long as it stays unique.
ctl__commands_may_be_shortened() {
	net_up
	daemon_start h1
	ctl_text "mode enforce" statu
	ctl_text "no flows" f
	ctl h1 stat >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of sluicectl stat" $? -eq 2
	expect "what it says" "$(<"$CASE_DIR/ctl.log")" has "'stat' may be status or stats"
	ctl_refuses 2 "'flwos' is not a command: did you mean flows? See sluicectl --help" flwos
	ctl_refuses 2 "'xyzzy' is not a command: see sluicectl --help" xyzzy
	ctl h1 '' >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of sluicectl ''" $? -eq 2
}

ctl__without_pins() {
	local command

	for command in status flows stats "stats --all" "bypass on" "bypass off"; do
		# shellcheck disable=SC2086
		call 1 "$PINS/ssys-none: nothing is pinned there: is sluiced running?" sluicectl --pin-dir "$PINS/ssys-none" \
			$command
		# shellcheck disable=SC2086
		call 1 "nothing is pinned there" sluicectl $command --json --pin-dir "$PINS/ssys-none"
	done
	call 1 "" sluicectl --pin-dir /tmp status
}

# The version is the last that a daemon writes when it makes its maps, or takes over those of another version.
ctl__while_a_daemon_starts() {
	local dir=$PINS/ssys-none command

	need bpftool
	mkdir "$dir" && bpftool map create "$dir/control" type array key 4 value 64 entries 1 name control || fail "no map"
	for command in status flows stats; do
		call 1 "$dir: sluiced is starting there, or takes over from another version: try again in a moment" \
			sluicectl --pin-dir "$dir" $command
	done
	rm -r "$dir"
}

ctl__as_nobody() {
	local command

	nobody_can
	net_up
	daemon_start h1
	for command in status flows stats voqs credits ports "bypass on"; do
		# shellcheck disable=SC2086
		as_nobody sluicectl --pin-dir "$PINS/ssys-h1" $command >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
		expect "exit status of sluicectl $command as nobody" $? -eq 1
		expect "what it says" "$(<"$CASE_DIR/ctl.log")" has "needs root"
		expect "what it prints" "$(<"$CASE_DIR/ctl.txt")" = ""
	done
	expect "bypass" "$(status_of h1 .bypass)" = false
	as_nobody sluicectl probe --json lo >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of probe as nobody" $? -eq 0
	expect "the data plane by probe" \
		"$(jq -r '.[] | select(.check == "data plane") | .result' "$CASE_DIR/ctl.txt")" = less
	host_config h1 >"$WORK/nobody.yaml"
	chmod 644 "$WORK/nobody.yaml"
	sed -i "s/ssys-h1/ssys-nobody/; s/${CC}h1/${CC}nobody/; s/^auth:.*/auth: none/" "$WORK/nobody.yaml"
	as_nobody sluiced --config "$WORK/nobody.yaml" >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of sluiced as nobody" $? -eq 1
	expect "what it says" "$(<"$CASE_DIR/ctl.log")" has "it needs CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN, CAP_NET_RAW: run it as root"
	! compgen -G "$PINS/ssys-nobody/*" >/dev/null || fail "it left pins"
	# With pins that everybody may read, and with pins that nobody may.
	as_nobody sluiced --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of --detach as nobody" $? -eq 1
	expect "what it says" "$(<"$CASE_DIR/ctl.log")" has "--detach needs CAP_BPF, CAP_NET_ADMIN: run it as root"
	unshare -m --propagation unchanged bash -c "$(declare -p NOBODY WORK); $(declare -f as_nobody)
		mount --make-rprivate /sys && mount -t bpf -o mode=0700 bpf $PINS || exit 9
		as_nobody sluiced --detach --pin-dir $PINS/ssys-h1" >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of --detach as nobody, with a bpffs that is root's alone" $? -eq 1
	expect "what it says" "$(<"$CASE_DIR/ctl.log")" has "--detach needs CAP_BPF, CAP_NET_ADMIN: run it as root"
	expect "filters after it" "$(filters_of)" has ingress
}

# Recorded feedback needs neither a daemon nor root.
ctl__replay_as_nobody() {
	local options

	nobody_can
	cat >"$WORK/trace.csv" <<-'END'
	ack_seq,snd_nxt,path_id,hops,b0_bps,ts0_ns,tx0_bytes,q0_bytes
	1000,50000,2,1,100000000000,1000,0,0
	51000,100000,2,1,100000000000,5000,50000,1000
	99000,150000,2,1,100000000000,9000,100000,30000
	END
	chmod 644 "$WORK/trace.csv"
	as_nobody sluicectl replay --base-rtt-ns 4000 --nic-bps 100000000000 "$WORK/trace.csv" >"$CASE_DIR/out.csv" \
		2>"$CASE_DIR/ctl.log"
	expect "exit status of replay" $? -eq 0
	expect "columns" "$(head -n 1 "$CASE_DIR/out.csv")" = "row,kind,u,w_bytes,wc_bytes,inc_stage,rate_bps"
	expect "kinds" "$(sed 1d "$CASE_DIR/out.csv" | cut -d, -f2 | tr '\n' ' ')" = "first full fast "
	for options in "replay --json" "--json replay"; do
		# shellcheck disable=SC2086
		as_nobody sluicectl $options --base-rtt-ns 4000 "$WORK/trace.csv" >"$CASE_DIR/out.json" \
			2>>"$CASE_DIR/ctl.log"
		expect "exit status of $options" $? -eq 0
		expect "rows in JSON of $options" \
			"$(jq -s 'map(select(.w_bytes > 0 and .kind)) | length' "$CASE_DIR/out.json" 2>&1)" = 3
	done
	echo 'ack_seq,nonsense' >"$WORK/broken.csv"
	chmod 644 "$WORK/broken.csv"
	as_nobody sluicectl replay "$WORK/broken.csv" >"$CASE_DIR/out.csv" 2>"$CASE_DIR/ctl.log"
	expect "exit status with a broken file" $? -eq 1
	expect "what it says" "$(<"$CASE_DIR/ctl.log")" has "broken.csv:1: no column"
}

# A link that was up and is down has a qdisc, and is named as down. The command that is advised works on this kernel.
ctl__probe_of_a_link_that_is_down() {
	local fix

	net_up
	ctl_text "ok       eth0 speed" probe eth0
	expect "what it says of the link" "$(<"$CASE_DIR/ctl.txt")" has-no "eth0 link"
	fix=$(sed -n '/eth0 queue (switch)/{n;s/^ *to fix: //p}' "$CASE_DIR/ctl.txt")
	# shellcheck disable=SC2086
	[[ ! $fix ]] || net_in h1 $fix || fail "what probe advises does not work: $fix"
	ctl_json 'map(select(.check == "eth0 queue (switch)" and .result == "ok")) | length == 1' probe eth0 --json
	net_in h1 ip link set eth0 down
	ctl_text "down: its speed and qdisc may be others once it is up" probe eth0
	ctl_json 'map(select(.check == "eth0 link" and .result == "less" and .mend == "ip link set dev eth0 up")) | length == 1' probe eth0 --json
}

# ctl_beside_bpffs WORDS COMMANDS: all three programs say WORDS after COMMANDS have changed the mounts of a namespace.
ctl_beside_bpffs() {
	local script="$2; for run in 'sluiced --config $CASE_DIR/h1.yaml' 'sluicectl --pin-dir $PINS/ssys-h1 status' 'sluicectl probe'; do
		$BUILD/\$run; done"

	net_in h1 unshare --mount --pid --fork bash -c "$script" >"$CASE_DIR/ctl.txt" 2>&1 9>&-
	expect "programs that say so after $2" "$(grep -cF -- "$1" "$CASE_DIR/ctl.txt")" -eq 3
}

ctl__says_how_to_get_a_bpffs() {
	net_up
	host_config h1 >"$CASE_DIR/h1.yaml"
	ctl_beside_bpffs "/sys/fs/bpf is hidden here, as by 'ip netns exec'" "umount -l -R /sys; mount -t sysfs sysfs /sys"
	expect "what they say" "$(grep -c "by 'nsenter --net=/run/netns/NAME'" "$CASE_DIR/ctl.txt")" -eq 3
	ctl_beside_bpffs "/sys/fs/bpf is not a BPF file system" "umount -l -R /sys; mount -t sysfs sysfs /sys; mount -t proc proc /proc"
	expect "what they say" "$(grep -cE "(run|to fix:) '?mount -t bpf bpf /sys/fs/bpf" "$CASE_DIR/ctl.txt")" -eq 3
	ctl_beside_bpffs "/sys is not mounted" "mount -t tmpfs none /sys"
	expect "what they say" "$(grep -c "mount -t sysfs sysfs /sys && mount -t bpf bpf /sys/fs/bpf" "$CASE_DIR/ctl.txt")" -eq 3
	expect "BTF that a missing /sys lacks" "$(<"$CASE_DIR/ctl.txt")" has-no CONFIG_DEBUG_INFO_BTF
}
