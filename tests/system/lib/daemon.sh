# SPDX-License-Identifier: GPL-2.0-only
# Daemons of a case: their configuration, start, end, and what can be asked of them.

PINS=/sys/fs/bpf
# Congestion controls are the kernel's, not a namespace's: cases that run at once have names of their own.
CC=${SYSTEM_CC:-ssys_}
declare -A DAEMON=() # node -> process id of its running sluiced

# host_config NODE [LINE]...: a host's configuration; a LINE of YAML replaces the one with the same key.
host_config() {
	local ns=$1 line
	declare -A have=()

	shift
	for line in "$@"; do
		echo "$line"
		have[${line%%:*}]=1
	done
	[[ ! $HOST_TELEMETRY || ${have[hpcc]:-} ]] || echo "hpcc: {telemetry: $HOST_TELEMETRY}"
	while IFS= read -r line; do
		[[ ${have[${line%%:*}]:-} ]] || echo "$line"
	done <<-END
	pin_dir: $PINS/ssys-$ns
	mode: enforce
	auth: $(key_file)
	tcp: {name: $CC$ns, default: true}
	interfaces: [{name: eth0, role: host, speed: ${NET_RATE^}$ATTACH}]
	peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}, {prefix: 'fd00::/16', base_rtt: 2ms}]
	END
}

HOST_TELEMETRY=
ATTACH=

# attach_by_clsact: as on kernels before 6.6: filters, which continue without any pin; links at tcx go with theirs.
attach_by_clsact() { ATTACH=", attach: clsact"; }

has_tcx() { bpftool btf dump file /sys/kernel/btf/vmlinux | grep -q "STRUCT 'tcx_link'"; }

# telemetry_in_data: the hosts of this case have it in every packet of data, not beside them.
telemetry_in_data() { HOST_TELEMETRY=every; }

KEY=0123456789abcdef0123456789ABCDEF

# The key of all hosts; prints the file's name.
key_file() {
	[[ -e $WORK/key ]] || (umask 077 && echo $KEY >"$WORK/key")
	echo "$WORK/key"
}

switch_config() {
	cat <<-END
	pin_dir: $PINS/ssys-sw
	interfaces:
	  - {name: p1, role: switch, speed: ${NET_RATE^}, id: 1$ATTACH}
	  - {name: p2, role: switch, speed: ${NET_RATE^}, id: 2$ATTACH}
	END
}

# daemon_spawn NODE [OPTION]...: with CASE_DIR/NODE.yaml; its process is DAEMON[NODE].
daemon_spawn() {
	local ns=$1

	shift
	net_exec "$ns" "$BUILD/sluiced" --config "$CASE_DIR/$ns.yaml" "$@" >>"$CASE_DIR/$ns.log" 2>&1 9>&- &
	DAEMON[$ns]=$!
}

# daemon_start NODE...: all at once, and all are ready afterwards.
daemon_start() {
	local ns
	declare -A before=()

	for ns in "$@"; do
		[[ -e $CASE_DIR/$ns.yaml ]] || {
			if [[ $ns == sw ]]; then switch_config; else host_config "$ns"; fi >"$CASE_DIR/$ns.yaml"
		}
		touch "$CASE_DIR/$ns.log"
		before[$ns]=$(grep -c '^sluiced: ready' "$CASE_DIR/$ns.log")
		daemon_spawn "$ns"
	done
	for ns in "$@"; do
		wait_for 60 "sluiced of $ns is ready" daemon_ready_or_gone "$ns" "${before[$ns]}"
		kill -0 "${DAEMON[$ns]}" 2>/dev/null ||
			fail "sluiced of $ns ended: $(tail -n 1 "$CASE_DIR/$ns.log")"
	done
}

daemon_ready_or_gone() {
	! kill -0 "${DAEMON[$1]}" 2>/dev/null ||
		(($(grep -c '^sluiced: ready' "$CASE_DIR/$1.log") > $2))
}

# daemon_fails NODE STATUS TEXT...: a start that ends by itself with STATUS and says each TEXT.
daemon_fails() {
	local ns=$1 wanted=$2 log=$CASE_DIR/$1-fails.log status text

	shift 2
	timeout 60 nsenter --net="/run/netns/$NET_PREFIX$ns" "$BUILD/sluiced" --config "$CASE_DIR/$ns.yaml" \
		>"$log" 2>&1 9>&-
	status=$?
	expect "exit status of sluiced, which says $(tail -n 3 "$log" | tr '\n' ' ')" $status -eq "$wanted"
	for text in "$@"; do
		expect "what sluiced says" "$(<"$log")" has "$text"
	done
}

# daemon_kill NODE...: as a crash does it.
daemon_kill() {
	local ns

	for ns in "$@"; do
		kill -KILL "${DAEMON[$ns]}"
		wait "${DAEMON[$ns]}" 2>/dev/null
		unset "DAEMON[$ns]"
	done
}

daemon_gone() { ! kill -0 "${DAEMON[$1]}" 2>/dev/null; }

# daemon_stop NODE...: SIGTERM to all at once; each ends with 0 and leaves no pin.
daemon_stop() {
	local ns status

	for ns in "$@"; do
		kill -TERM "${DAEMON[$ns]}" || fail "sluiced of $ns is not there any more"
	done
	for ns in "$@"; do
		wait_for 30 "sluiced of $ns ends after SIGTERM" daemon_gone "$ns"
		wait "${DAEMON[$ns]}"
		status=$?
		unset "DAEMON[$ns]"
		expect "exit status of sluiced of $ns after SIGTERM" $status -eq 0
		[[ ! -e $PINS/ssys-$ns ]] || fail "sluiced of $ns left $PINS/ssys-$ns: $(ls "$PINS/ssys-$ns")"
	done
}

daemons_stop() {
	((!${#DAEMON[@]})) || daemon_stop "${!DAEMON[@]}"
}

# daemon_hup NODE TEXT: SIGHUP, and it says TEXT once more than before.
daemon_hup() {
	local before

	before=$(grep -cF -- "$2" "$CASE_DIR/$1.log")
	kill -HUP "${DAEMON[$1]}"
	wait_for 30 "sluiced of $1 says '$2' after SIGHUP" daemon_said_again "$1" "$2" "$before"
}

daemon_said_again() { (($(grep -cF -- "$2" "$CASE_DIR/$1.log") > $3)); }

# ctl NODE ARGUMENT...: sluicectl on the pins of a node.
ctl() {
	local ns=$1

	shift
	net_in "$ns" "$BUILD/sluicectl" --pin-dir "$PINS/ssys-$ns" "$@" 9>&-
}

# stat_of NODE COUNTER...: their sum.
stat_of() {
	local ns=$1

	shift
	ctl "$ns" stats --json | jq "[.$(sed 's/ /, ./g' <<<"$*")] | add"
}

# flow_of NODE FIELD: of its flow with most bytes, a closed one only where all are; FIELD is a jq expression.
flow_of() {
	ctl "$1" flows --json |
		jq -r "if length == 0 then \"no flow\" else max_by([.state != \"closed\", .tx_bytes]) | $2 end"
}

# flow_soon NODE WHAT FIELD VALUE: flow_of comes to be VALUE. The end of an earlier flow may still be on its way.
flow_soon() { wait_for 20 "$2 is $4" flow_is "$1" "$3" "$4"; }

flow_is() { WAIT_SEEN=$(flow_of "$1" "$2") && [[ $WAIT_SEEN == "$3" ]]; }

# counts NODE N COUNTER...: their sum comes to be more than N.
counts() { wait_for 20 "${*:3} of $1 are more than $2" counted "$@"; }

counted() { (($(stat_of "$1" "${@:3}") > $2)); }

status_of() { ctl "$1" status --json | jq -r "$2"; }

# status_soon NODE WHAT FIELD VALUE: status_of comes to be VALUE. The daemon prints an action, and then does it.
status_soon() { wait_for 20 "$2 is $4" status_is "$1" "$3" "$4"; }

status_is() { WAIT_SEEN=$(status_of "$1" "$2") && [[ $WAIT_SEEN == "$3" ]]; }

# --- what BPF objects there are ---

# The daemon's own, by what it has open: "prog 17", "map 3". Others may load and unload theirs meanwhile.
bpf_of() {
	local ns path

	for ns in "$@"; do
		sed -n 's/^\(prog\|map\|link\)_id:[ \t]*/\1 /p' "/proc/${DAEMON[$ns]}/fdinfo/"*
		for path in "$PINS/ssys-$ns"/{backlog,class,pfc}_{en,de}queue "$PINS/ssys-$ns"/tcx_*; do
			[[ -e $path ]] && bpftool -j link show pinned "$path" | jq -r '"link \(.id)"'
		done
	done | sort -u
}

bpf_all() {
	local kind

	for kind in prog map link; do
		bpftool -j "$kind" show | jq -r --arg kind "$kind" '.[]? | "\($kind) \(.id)"'
	done | sort
}

# As an administrator sees them, byte for byte; of use only where nobody else works.
bpf_text() {
	bpftool prog show
	bpftool map show
	bpftool link show
	bpftool struct_ops show
}

# Nobody but us loads programs in the VM of tests/vm.
alone() { [[ -e /vm/command ]]; }

bpf_none_left() {
	bpf_all | comm -12 - "$1" >"$CASE_DIR/left.txt"
	[[ ! -s $CASE_DIR/left.txt ]]
}

bpf_is_as_before() {
	bpf_text >"$CASE_DIR/bpf-after.txt"
	cmp -s "$CASE_DIR/bpf-before.txt" "$CASE_DIR/bpf-after.txt"
}

# ifindex_of NODE DEVICE
ifindex_of() { net_in "$1" ip -j link show "$2" | jq '.[0].ifindex'; }

# tcx_of NODE DEVICE HOOK: the program of our link at tcx there, as bpftool describes it; nothing where there is no link.
tcx_of() {
	local pin

	pin=$PINS/ssys-$1/tcx_$(ifindex_of "$1" "$2")_$3
	[[ ! -e $pin ]] || bpftool -j prog show id "$(bpftool -j link show pinned "$pin" | jq .prog_id)"
}

# filters_of [NODE [DEVICE [HOOK]]]: programs there: filters of clsact, and links at tcx, which live as long as their pins.
filters_of() {
	local node=${1:-h1} device=${2:-eth0} hook

	for hook in ${3:-egress ingress}; do
		net_in "$node" tc filter show dev "$device" "$hook" 2>/dev/null
		tcx_of "$node" "$device" "$hook" | jq -r --arg hook "$hook" '"tcx \($hook): \(.name)"'
	done
}

# filters_remove NODE DEVICE: by hand, of whatever kind they are, as somebody would who cleans up.
filters_remove() {
	rm -f "$PINS/ssys-$1/tcx_$(ifindex_of "$1" "$2")"_*
	net_in "$1" tc qdisc del dev "$2" clsact 2>/dev/null
	return 0
}

# --- the whole state, to be compared ---

# state_keep NODE...: before any sluiced.
state_keep() {
	local ns

	for ns in "$@"; do
		net_state "$ns" >"$CASE_DIR/$ns-before.txt"
	done
	bpf_text >"$CASE_DIR/bpf-before.txt"
}

# state_back FILE NODE...: all is as it was kept; FILE names the daemons' BPF objects (bpf_of). The kernel
# takes programs and maps apart some time after the last user is gone.
state_back() {
	local objects=$1 ns

	shift
	servers_stop
	for ns in "$@"; do
		net_state "$ns" >"$CASE_DIR/$ns-after.txt"
		same "what tc, ip and sysctl show of $ns" "$CASE_DIR/$ns-before.txt" "$CASE_DIR/$ns-after.txt"
		expect "congestion controls" "$(</proc/sys/net/ipv4/tcp_available_congestion_control)" \
			has-no "$CC$ns"
	done
	# On a busy machine RCU takes its time: it waits also for a program that is being verified.
	wait_for 300 "the BPF objects of the daemons are gone (left.txt)" bpf_none_left "$objects"
	if alone; then
		wait_for 300 "bpftool shows what it showed before" bpf_is_as_before
	fi
}

# --- tidying up ---

pins_left() { compgen -G "$PINS/ssys-*" >/dev/null; }

cc_left() { grep -q $CC /proc/sys/net/ipv4/tcp_available_congestion_control; }

# A case that ends its daemons in order leaves nothing.
leftovers_none() {
	! pins_left || fail "pins are left: $(compgen -G "$PINS/ssys-*" | tr '\n' ' ')"
	! cc_left || fail "congestion controls are left:" \
		"$(grep -o "${CC}[a-z0-9]*" /proc/sys/net/ipv4/tcp_available_congestion_control | tr '\n' ' ')"
}

# Dispatchers of libxdp that hold a program of ours or of a neighbour; the interfaces are gone.
xdp_pins_remove() {
	local pin

	for pin in "$PINS"/xdp/dispatch-*/prog*-prog; do
		[[ -e $pin ]] || continue
		[[ $(bpftool -j prog show pinned "$pin" | jq -r .name) =~ ^(ingress_xdp|neighbour_xdp)$ ]] &&
			rm -rf "${pin%/*}"
	done
}

# By hand and not by sluiced, which may be what is broken. Deleting its only element unregisters a struct_ops map.
pins_remove() {
	local dir

	for dir in "$PINS"/ssys-*; do
		[[ -d $dir ]] || continue
		[[ -e $dir/tcp_cc ]] &&
			bpftool map delete pinned "$dir/tcp_cc" key 0 0 0 0 2>/dev/null
		[[ -e $dir/queue_ops ]] &&
			bpftool map delete pinned "$dir/queue_ops" key 0 0 0 0 2>/dev/null
		rm -rf "${dir:?}"
	done
}
