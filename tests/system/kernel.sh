# SPDX-License-Identifier: GPL-2.0-only
# Kernels that lack something; the lack is made in a mount namespace of its own.

# kernel_hidden DIRECTORY PROGRAM ARGUMENT...: in h1, with an empty DIRECTORY. The root of a chroot is no mount point, as
# unshare's own way to keep mounts to itself takes it to be; /sys is one.
kernel_hidden() {
	local dir=$1 program=$2

	shift 2
	# shellcheck disable=SC2016
	timeout 60 nsenter --net="/run/netns/${NET_PREFIX}h1" unshare -m --propagation unchanged bash -c \
		'mount --make-rprivate /sys && mount -t tmpfs none "$0" && exec "$@"' "$dir" "$BUILD/$program" "$@"
}

kernel__without_btf_is_not_supported() {
	net_up
	host_config h1 >"$CASE_DIR/h1.yaml"
	net_state h1 >"$CASE_DIR/before.txt"
	kernel_hidden /sys/kernel/btf sluiced --config "$CASE_DIR/h1.yaml" >"$CASE_DIR/said.log" 2>&1
	expect "exit status of sluiced" $? -eq 3
	expect "what it says" "$(<"$CASE_DIR/said.log")" has "no BTF"
	expect "what to do" "$(<"$CASE_DIR/said.log")" has "CONFIG_DEBUG_INFO_BTF=y"
	net_state h1 >"$CASE_DIR/after.txt"
	same "what tc, ip and sysctl show" "$CASE_DIR/before.txt" "$CASE_DIR/after.txt"
	leftovers_none
	kernel_hidden /sys/kernel/btf sluicectl probe >"$CASE_DIR/said.log" 2>&1
	expect "exit status of probe" $? -eq 3
	expect "what it says" "$(grep btf "$CASE_DIR/said.log")" has missing
	kernel_hidden /sys/kernel/btf sluicectl probe --json >"$CASE_DIR/probe.json" 2>"$CASE_DIR/said.log"
	expect "exit status of probe --json" $? -eq 3
	expect "JSON" "$(jq -r '.[] | select(.check == "btf") | .result + " " + .advice' "$CASE_DIR/probe.json")" has \
		"missing boot a kernel with CONFIG_DEBUG_INFO_BTF=y"
	# Here it is visible, so the lack of it was the cause.
	daemon_start h1
}

# ctl.sh has the other ways in which it can be missing.
kernel__hidden_bpffs_says_how_to_reach_it() {
	net_up
	host_config h1 >"$CASE_DIR/h1.yaml"
	kernel_hidden /sys/fs/bpf sluiced --config "$CASE_DIR/h1.yaml" >"$CASE_DIR/said.log" 2>&1
	expect "exit status of sluiced" $? -eq 1
	expect "what it says" "$(<"$CASE_DIR/said.log")" has "nsenter --net=/run/netns/NAME"
	kernel_hidden /sys/fs/bpf sluicectl probe --json >"$CASE_DIR/probe.json" 2>"$CASE_DIR/said.log"
	expect "exit status of probe" $? -eq 3
	expect "JSON" "$(jq -r '.[] | select(.check == "bpffs") | .result + " " + (.mend // .advice)' "$CASE_DIR/probe.json")" has \
		"missing run it by 'nsenter --net=/run/netns/NAME'"
}

# kernel_parts RESULT: the parts of the data plane with that verdict.
kernel_parts() {
	jq -r --arg is "$1" '[.[] | select(.result == $is and (.check | startswith("data plane: "))) | .check[12:]] | join(", ")' \
		"$CASE_DIR/probe.json"
}

# Lockdown refuses programs that read the kernel's memory: hosts and switches work without them.
kernel__probe_judges_each_part() {
	local said

	[[ -e $BUILD/accident.so ]] || skip "no accident.so: make build/accident.so"
	net_up without-fq
	LD_PRELOAD=$BUILD/accident.so ACCIDENT="refuse tracing" net_in h1 "$BUILD/sluicectl" probe --json eth0 >"$CASE_DIR/probe.json" \
		2>"$CASE_DIR/said.log"
	expect "exit status" $? -eq 0
	expect "what loads" "$(kernel_parts ok)" has "host, switch, switch as ToR, pods"
	expect "what does not" "$(kernel_parts less)" has "classes, pauses"
	said=$(kernel_probed "data plane: classes" .detail)
	expect "the reason" "$said" has "does not load: "
	expect "the reason" "$said" has-no "Operation not permitted"
}

# Memory and files are the machine's, and not the kernel's fault.
kernel__shortage_is_said_in_plain_words() {
	[[ -e $BUILD/accident.so ]] || skip "no accident.so: make build/accident.so"
	net_up without-fq
	LD_PRELOAD=$BUILD/accident.so ACCIDENT="short memory" net_in h1 "$BUILD/sluicectl" probe --json eth0 >"$CASE_DIR/probe.json" \
		2>"$CASE_DIR/said.log"
	expect "exit status" $? -eq 3
	expect "the reason" "$(kernel_probed "data plane" .detail)" has "no memory: the limit of its cgroup (memory.max, MemoryMax=)"
	host_config h1 >"$CASE_DIR/h1.yaml"
	LD_PRELOAD=$BUILD/accident.so ACCIDENT="short memory" daemon_fails h1 4 "no memory: the limit of its cgroup" "nothing is left attached"
	expect "blame on the kernel" "$(grep -c "what this kernel lacks" "$CASE_DIR/h1-fails.log")" -eq 0
	net_in h1 bash -c 'ulimit -n 24; exec "$@"' - "$BUILD/sluicectl" probe --json eth0 >"$CASE_DIR/probe.json" 2>"$CASE_DIR/said.log"
	expect "the reason" "$(kernel_probed "data plane" .detail)" has "too many open files: raise the limit of this process (ulimit -n"
}

# The findings of probe on this kernel agree with those of the other cases.
kernel__probe_says_what_is_there() {
	local fq=less

	net_has_qdisc fq && fq=ok
	net_up without-fq
	net_in h1 "$BUILD/sluicectl" probe --json eth0 >"$CASE_DIR/probe.json" 2>"$CASE_DIR/said.log"
	expect "exit status" $? -eq 0
	expect "kernel" "$(kernel_probed kernel .detail)" = "$(uname -r)"
	expect "BTF" "$(kernel_probed btf .result)" = ok
	expect "data plane" "$(kernel_probed "data plane" .result)" = ok
	expect "congestion control" "$(kernel_probed "tcp congestion control" .result)" = ok
	expect "fq" "$(kernel_probed fq .result)" = $fq
	# Without fq in the kernel there is nothing that would mend it.
	expect "pacing without fq" "$(kernel_probed "eth0 pacing (host)" '.result + " " + (.mend // "")')" = \
		"less $([[ $fq == less ]] || echo "tc qdisc replace dev eth0 root fq")"
	expect "queue of noqueue" "$(kernel_probed "eth0 queue (switch)" .result)" = less
	net_in sw "$BUILD/sluicectl" probe --json p2 >"$CASE_DIR/probe.json" 2>"$CASE_DIR/said.log"
	expect "queue of tbf" "$(kernel_probed "p2 queue (switch)" .result)" = ok
	net_in h1 "$BUILD/sluicectl" probe --json none0 >"$CASE_DIR/probe.json" 2>"$CASE_DIR/said.log"
	expect "exit status for an interface that does not exist" $? -eq 3
	if [[ $fq == ok ]]; then
		net_in h1 tc qdisc replace dev eth0 root fq
		net_in h1 "$BUILD/sluicectl" probe --json eth0 >"$CASE_DIR/probe.json" 2>"$CASE_DIR/said.log"
		expect "pacing with fq" "$(kernel_probed "eth0 pacing (host)" .result)" = ok
	fi
	net_in h1 ip link add down0 type veth peer name down1
	net_in h1 "$BUILD/sluicectl" probe --json down0 >"$CASE_DIR/probe.json" 2>>"$CASE_DIR/said.log"
	expect "of a link that is down" "$(kernel_probed down0 '.result + " " + .mend')" = "less ip link set dev down0 up"
}

# Before Linux 6.2 the tracepoints see every packet of the machine: a host has no use for them.
kernel__tracepoints_are_for_switch_ports() {
	net_up
	net_in h1 "$BUILD/sluicectl" probe --json eth0 >"$CASE_DIR/probe.json" 2>"$CASE_DIR/said.log"
	[[ $(kernel_probed "queue length" .detail) == *tracepoints* ]] ||
		skip "this kernel reads the queue without tracepoints"
	host_config h1 >"$CASE_DIR/host.yaml"
	host_config h1 "interfaces: [{name: eth0, role: switch, speed: ${NET_RATE^}, id: 3}]" >"$CASE_DIR/switch.yaml"
	cp "$CASE_DIR/host.yaml" "$CASE_DIR/h1.yaml"
	daemon_start h1 sw
	expect "links of the switch" "$(kernel_links sw)" = "backlog_dequeue backlog_enqueue"
	expect "links of the host" "$(kernel_links h1)" = ""
	cp "$CASE_DIR/switch.yaml" "$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	expect "links of the host that became a switch" "$(kernel_links h1)" = "backlog_dequeue backlog_enqueue"
	daemon_hup h1 reloaded
	expect "links after another reload" "$(kernel_links h1)" = "backlog_dequeue backlog_enqueue"
	cp "$CASE_DIR/host.yaml" "$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	expect "links of the switch that became a host" "$(kernel_links h1)" = ""
	cp "$CASE_DIR/switch.yaml" "$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	daemon_kill h1
	expect "links after a crash" "$(kernel_links h1)" = "backlog_dequeue backlog_enqueue"
	cp "$CASE_DIR/host.yaml" "$CASE_DIR/h1.yaml"
	daemon_start h1
	expect "links of a host that adopts them" "$(kernel_links h1)" = ""
}

kernel_links() {
	(cd "$PINS/ssys-$1" && printf '%s\n' backlog_* | grep -v '\*' | sort | xargs)
}

kernel_probed() { jq -r --arg check "$1" ".[] | select(.check == \$check) | $2" "$CASE_DIR/probe.json"; }

# kernel_runs NODE PROGRAM: how often the kernel has called it. Only while kernel.bpf_stats_enabled is 1.
kernel_runs() {
	local id

	for id in $(bpf_of "$1" | sed -n 's/^prog //p'); do
		bpftool -j prog show id "$id"
	done | jq -s --arg name "$2" 'map(select(.name == $name).run_cnt // 0) | add // "not loaded"'
}

kernel_has_run() { WAIT_SEEN="$2 has run $(kernel_runs "$1" "$2") times" && [[ $WAIT_SEEN != *" 0 times" && $WAIT_SEEN != *not* ]]; }

# A function that a newer kernel replaces by another one is accepted, and never called.
kernel__calls_every_function_of_the_congestion_control() {
	local stats program

	stats=$(sysctl -n kernel.bpf_stats_enabled)
	# shellcheck disable=SC2064 # as it is now
	trap "sysctl -qw kernel.bpf_stats_enabled=$stats" EXIT
	sysctl -qw kernel.bpf_stats_enabled=1 || skip "the kernel counts no runs of programs"
	net_up
	daemon_start h1 h2 sw
	server h2
	transfer h1 10.2.0.2 -n 300K
	for program in cc_init cc_event cc_segments cc_control; do
		wait_for 20 "the kernel calls $program" kernel_has_run h1 $program
	done
}
