# SPDX-License-Identifier: GPL-2.0-only
# Each call of the daemon to the kernel fails once (fault.c): it ends with nothing left, or everything is in place, or what was
# attached before stays; it says so; it never crashes and never hangs.
#
# A case takes FAULTS_CALLS of the calls, one of each kind first, in an order that FAULTS_SEED gives: 8 and 1 if they say
# none, as neither a draw nor the speed of a machine must decide whether a commit passes. By hand: FAULTS=all takes all of them, FAULTS='17 300' the
# ones of these numbers, and FAULTS_KEEP=FILE collects what was found. A failure without a message has its reason in
# faults.silent.

# The seed of this run, which each case prints.
FAULTS_SEED=${FAULTS_SEED:-1}

faults_plan() { echo "$*" >"$CASE_DIR/plan"; }

# faults_daemon OPTION...: h1's sluiced with the shim, at the plan.
faults_daemon() {
	: >"$CASE_DIR/h1.log"
	net_exec h1 env LD_PRELOAD="$BUILD/fault.so" FAULT_PLAN="$CASE_DIR/plan" FAULT_LOG="$CASE_DIR/calls" \
		"$BUILD/sluiced" "$@" >>"$CASE_DIR/h1.log" 2>&1 9>&- &
	DAEMON[h1]=$!
}

# All traces of Sluice, without numbers that change with each start.
faults_state() {
	{
		net_in h1 tc qdisc show | grep clsact
		filters_of
		net_in h1 ip route show
		net_in h1 ip -6 route show
		net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control
		[[ ! -d $PINS/ssys-h1 ]] || ls -a "$PINS/ssys-h1"
		grep -o "${CC}h1" /proc/sys/net/ipv4/tcp_available_congestion_control
	} | sed -E 's/:\[[0-9]+\]//; s/ id [0-9]+//; s/ tag [0-9a-f]+//; s/ jited//; s/ name [a-z_]+//; s/ expires [0-9]+sec//'
}

# The records in the maps for a later daemon, which has to undo them; empty if the maps were made without their BTF.
faults_kept() {
	{
		bpftool -j map dump pinned "$PINS/ssys-h1/ports"
		bpftool -j map dump pinned "$PINS/ssys-h1/control"
	} 2>/dev/null | jq -c 'arrays | .[].formatted | values.value | [.configured, .flags, .mtu, .bypass, .cc_name, .cc_default]'
}

# It is what FILE has.
faults_keeps() {
	local now

	now=$(faults_kept)
	[[ $(wc -l <<<"$now") -lt 2 || $now == "$(<"$CASE_DIR/$1")" ]] || faults_found "the maps keep $now, not $(<"$CASE_DIR/$1")"
}

# faults_order CALLS: their numbers, of each kind one first, otherwise at random by the seed.
faults_order() {
	case ${FAULTS:-} in
	'') ;;
	all) awk '{ print $2 }' "$1"; return ;;
	*) tr ' ' '\n' <<<"$FAULTS"; return ;;
	esac
	# A btf_load comes last: by one of them libbpf finds out whether a program may call global functions, and without
	# these the verifier takes ten seconds of a CPU to find egress too large.
	awk -v seed="$FAULTS_SEED" 'BEGIN { srand(seed) } { key = $3 " " $4 " " $5; print rand(), key, "|" $2 }' "$1" | sort |
		awk -F'|' '{ key = $1; sub(/^[^ ]* /, "", key); print seen[key]++ + 1000 * (key ~ /btf_load/), NR, $2 }' |
		sort -n -k1,1 -k2,2 | awk '{ print $3 }'
}

# faults_each PHASE FUNCTION: calls FUNCTION for each call of CASE_DIR/calls that is taken.
faults_each() {
	local n all done_=0

	cp "$CASE_DIR/calls" "$CASE_DIR/all"
	all=$(wc -l <"$CASE_DIR/all")
	expect "calls of phase $1" "$all" -ge 20
	for n in $(faults_order "$CASE_DIR/all"); do
		[[ ${FAULTS:-} ]] || ((done_ < ${FAULTS_CALLS:-8})) || break
		FAULT=$(awk -v n="$n" '$2 == n { print $1, $2, $3, $4, $5 }' "$CASE_DIR/all")
		: >"$CASE_DIR/calls"
		faults_plan "$1 $n"
		"$2"
		faults_plan none
		((done_++))
	done
	echo "$1: $done_ of $all calls failed once each, in the order of FAULTS_SEED=$FAULTS_SEED" >"$CASE_DIR/says"
	[[ ! -s $CASE_DIR/found ]] || fail "FAULTS_SEED=$FAULTS_SEED: $(wc -l <"$CASE_DIR/found"): $(head -n 3 "$CASE_DIR/found" | tr '\n' ';')"
}

# faults_found TEXT: the others are still tried.
faults_found() {
	echo "$FAULT ($(tail -n 1 "$CASE_DIR/calls" 2>/dev/null | cut -d ' ' -f 3-)): $* [$(faults_unusual | tail -n 2 | cut -c 1-200 | tr '\n' '/')]" |
		tee -a "$CASE_DIR/found" ${FAULTS_KEEP:+"$FAULTS_KEEP"} >/dev/null
}

# The daemon's messages that it does not print when nothing fails.
faults_unusual() { grep -a -v -F -x -f "$CASE_DIR/normal" "$CASE_DIR/h1.log"; }

# There is a message that is not printed otherwise, or a known reason for silence.
faults_said() {
	local pattern

	[[ -s $CASE_DIR/calls ]] || return 0 # this time it did not come so far
	! faults_unusual | grep -a -q . || return 0
	while IFS='|' read -r pattern _; do
		# shellcheck disable=SC2053
		[[ $pattern && $pattern != '#'* && $(cut -d ' ' -f 1,3- "$CASE_DIR/calls") == $pattern ]] || continue
		[[ ! ${FAULTS_KEEP:-} ]] || echo "$pattern" >>"$FAULTS_KEEP.silent"
		return 0
	done <"$SYSTEM_DIR/faults.silent"
	faults_found "nothing is said"
}

# faults_until COMMAND...: until it succeeds. The daemon hangs if it does nothing for 30 s, or does anything for 10 minutes: on
# a busy machine a program that has to be verified at low priority takes its time.
faults_until() {
	local stat now cpu='' idle=0 i

	for ((i = 0; i < 12000 && idle < 600; i++)); do
		! "$@" || return 0
		read -ra stat <"/proc/${DAEMON[h1]}/stat"
		now=${stat[13]}:${stat[14]}
		((idle++))
		[[ $now == "$cpu" ]] || idle=0
		cpu=$now
		sleep 0.05
	done 2>/dev/null
	return 1
}

# The daemon is gone; its status is STATUS.
faults_end() {
	if ! faults_until daemon_gone h1; then
		faults_found "it hangs"
		kill -KILL "${DAEMON[h1]}"
	fi
	wait "${DAEMON[h1]}"
	STATUS=$?
	unset "DAEMON[h1]"
	((STATUS < 128)) || faults_found "it ended with status $STATUS"
}

# Ready, or gone: then its status is STATUS.
faults_ready() {
	faults_until faults_ready_or_gone
	! grep -q '^sluiced: ready' "$CASE_DIR/h1.log" || return 0
	faults_end
	return 1
}

faults_ready_or_gone() { grep -q '^sluiced: ready' "$CASE_DIR/h1.log" || daemon_gone h1; }

# libbpf probes whether programs may have names, and loads them without names if the probe fails.
faults_is_nametest() { [[ ${FAULT:-} == *libbpf_nametest* ]]; }

faults_differs() {
	if faults_is_nametest; then
		! cmp -s <(faults_nameless <"$CASE_DIR/$1") <(faults_state | faults_nameless)
	else
		! cmp -s "$CASE_DIR/$1" <(faults_state)
	fi
}

faults_nameless() { sed -E 's/: (ingress|egress|null)$/:/; s/ (ingress|egress|name)( |$)/ /g; s/ +/ /g; s/ $//'; }

# A congestion control that is registered and has lost its pin.
faults_cc_remove() {
	local id entry

	for id in $(bpftool -j struct_ops show | jq '.[].id'); do
		entry=$(bpftool map lookup id "$id" key 0 0 0 0 2>/dev/null)
		[[ $entry == *_INUSE* && $entry == *${CC}h1* ]] && bpftool map delete id "$id" key 0 0 0 0
	done
}

# The shell removes whatever the daemon left.
faults_reset() {
	net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >/dev/null 2>&1
	pins_remove
	faults_cc_remove
	net_in h1 tc qdisc del dev eth0 clsact 2>/dev/null
	net_in h1 ip route flush proto 83 2>/dev/null
	net_in h1 bash -c "echo $FAULTS_CC >/proc/sys/net/ipv4/tcp_congestion_control"
}

# Ready, without a fault. If it is not, what the last call left is taken off by hand.
faults_start() {
	local plan

	plan=$(<"$CASE_DIR/plan")
	faults_plan none
	faults_daemon --config "$CASE_DIR/h1.yaml"
	if ! faults_ready; then
		faults_found "it does not start any more: $(tail -n 1 "$CASE_DIR/h1.log")"
		faults_reset
		faults_daemon --config "$CASE_DIR/h1.yaml"
		faults_ready || fail "it does not start any more: $(tail -n 1 "$CASE_DIR/h1.log")"
	fi
	faults_plan "$plan"
}

# The states without Sluice and with it, and what it says when nothing fails.
faults_up() {
	net_up
	host_config h1 "metrics: {listen: $CASE_DIR/m.sock}" >"$CASE_DIR/h1.yaml"
	FAULTS_CC=$(net_in h1 cat /proc/sys/net/ipv4/tcp_congestion_control)
	faults_state >"$CASE_DIR/off"
	faults_plan none
	: >"$CASE_DIR/found"
	: >"$CASE_DIR/normal"
	faults_daemon --config "$CASE_DIR/h1.yaml"
	faults_ready || fail "it does not start: $(tail -n 1 "$CASE_DIR/h1.log")"
	faults_state >"$CASE_DIR/on"
	faults_kept >"$CASE_DIR/kept"
}

# faults_count PHASE: the next one of these counts its calls.
faults_count() {
	rm -f "$CASE_DIR/calls"
	faults_plan "$1 0"
}

faults_stop() {
	kill -TERM "${DAEMON[h1]}"
	faults_end
}

# --- a first start ---

faults_try_start() {
	faults_daemon --config "$CASE_DIR/h1.yaml"
	if faults_ready; then
		! faults_differs on || faults_without_record || faults_said_missing
		faults_keeps kept
		faults_said
		faults_stop
		((STATUS == 0)) || faults_found "it ended with status $STATUS after SIGTERM"
	else
		((STATUS)) || faults_found "it ended with 0"
		faults_said
	fi
	if faults_differs off; then
		faults_found "left: $(diff "$CASE_DIR/off" <(faults_state) | grep '^[<>]' | head -n 3 | tr '\n' ' ')"
		faults_reset
	fi
}

# It runs without the record of since when, and says so.
faults_without_record() {
	grep -q "cannot tell since when sluiced runs" "$CASE_DIR/h1.log" && [[ $(diff "$CASE_DIR/on" <(faults_state)) == *$'\n< daemon' ]]
}

# It runs, and something is not in place.
faults_said_missing() {
	faults_found "half applied: $(diff "$CASE_DIR/on" <(faults_state) | grep '^[<>]' | head -n 3 | tr '\n' ' ')"
}

faults__of_a_first_start() {
	faults_up
	faults_stop
	faults_count start
	faults_daemon --config "$CASE_DIR/h1.yaml"
	faults_ready || fail "it does not start with the shim"
	faults_stop
	cp "$CASE_DIR/h1.log" "$CASE_DIR/normal"
	faults_each start faults_try_start
}

# --- a start over what a crash left ---

faults_try_adopt() {
	faults_daemon --config "$CASE_DIR/h1.yaml"
	if faults_ready; then
		faults_said
		daemon_kill h1
	else
		((STATUS)) || faults_found "it ended with 0"
		faults_said
	fi
	faults_keeps kept
	if faults_differs on; then
		faults_found "changed: $(diff "$CASE_DIR/on" <(faults_state) | grep '^[<>]' | head -n 3 | tr '\n' ' ')"
		faults_reset
		faults_start
		daemon_kill h1
	elif faults_is_nametest; then
		faults_start # the names are there again
		daemon_kill h1
	fi
}

faults__of_a_start_after_a_crash() {
	faults_up
	daemon_kill h1
	faults_count start
	faults_daemon --config "$CASE_DIR/h1.yaml"
	faults_ready || fail "it does not adopt with the shim"
	daemon_kill h1
	cp "$CASE_DIR/h1.log" "$CASE_DIR/normal"
	faults_each start faults_try_adopt
	faults_reset
}

# --- a reload ---

faults_reload() {
	local before

	before=$(faults_reloads)
	kill -HUP "${DAEMON[h1]}"
	faults_until faults_reloaded_or_gone "$before" && ! daemon_gone h1
}

faults_reloads() { grep -c -e '^sluiced: reload' -e 'keeping the current configuration$' "$CASE_DIR/h1.log"; }
faults_reloaded_or_gone() { (($(faults_reloads) > $1)) || daemon_gone h1; }

# To other peers and back, with the fault on the way there.
faults_try_reload() {
	: >"$CASE_DIR/h1.log"
	faults_config_b
	if ! faults_reload; then
		faults_found "it ended or hangs at a reload"
		faults_stop
		faults_reset
		faults_config_a
		faults_start
		return
	fi
	if faults_differs on && faults_differs on-b && ! faults_unusual | grep -a -q .; then
		faults_found "half applied and not said: $(diff "$CASE_DIR/on-b" <(faults_state) | grep '^[<>]' | head -n 3 | tr '\n' ' ')"
	fi
	faults_said
	faults_plan none
	faults_reload
	! faults_differs on-b || faults_found "another SIGHUP does not put it right: $(diff "$CASE_DIR/on-b" <(faults_state) | grep '^[<>]' | head -n 3 | tr '\n' ' ')"
	faults_config_a
	faults_reload
	! faults_differs on || faults_found "it cannot go back: $(diff "$CASE_DIR/on" <(faults_state) | grep '^[<>]' | head -n 3 | tr '\n' ' ')"
	faults_keeps kept
	faults_settled faults_fds_are_closed || faults_found "it has $(faults_fds) files open, not $FAULTS_FDS"
}

faults_fds() { find "/proc/${DAEMON[h1]}/fd" -mindepth 1 | wc -l; }
faults_fds_are_closed() { (($(faults_fds) <= FAULTS_FDS)); }

# faults_settled COMMAND...: comes to be so, within generous time.
faults_settled() {
	local i

	for ((i = 0; i < 200; i++)); do
		! "$@" || return 0
		sleep 0.05
	done
	return 1
}

faults_config_a() { host_config h1 "metrics: {listen: $CASE_DIR/m.sock}" >"$CASE_DIR/h1.yaml"; }
faults_config_b() {
	host_config h1 'mode: dry-run' "metrics: {listen: $CASE_DIR/m.sock}" \
		"peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}, {prefix: 192.168.0.0/16, base_rtt: 2ms}]" >"$CASE_DIR/h1.yaml"
}

faults__of_a_reload() {
	faults_up
	faults_config_b
	faults_reload
	faults_state >"$CASE_DIR/on-b"
	faults_config_a
	faults_reload
	! faults_differs on || fail "a reload does not come back to where it was"
	: >"$CASE_DIR/h1.log"
	faults_count reload
	faults_config_b
	faults_reload
	sleep 0.2
	cp "$CASE_DIR/h1.log" "$CASE_DIR/normal"
	faults_plan none
	faults_config_a
	faults_reload
	FAULTS_FDS=$(faults_fds)
	faults_each reload faults_try_reload
}

# --- an orderly end, and a detach of what a crash left ---

# The remains are named, and another detach can remove them.
faults_after_detach() {
	faults_said
	if faults_differs off; then
		net_in h1 "$BUILD/sluiced" --detach --pin-dir "$PINS/ssys-h1" >"$CASE_DIR/again.log" 2>&1
		! faults_differs off || faults_found "left: $(diff "$CASE_DIR/off" <(faults_state) | grep '^[<>]' | head -n 3 | tr '\n' ' ')"
		faults_reset
	fi
}

faults_try_stop() {
	faults_start
	faults_stop
	faults_after_detach
}

faults__of_a_stop() {
	faults_up
	faults_count stop
	faults_stop
	cp "$CASE_DIR/h1.log" "$CASE_DIR/normal"
	faults_each stop faults_try_stop
}

faults_try_detach() {
	faults_start
	daemon_kill h1
	faults_daemon --detach --pin-dir "$PINS/ssys-h1"
	faults_end
	faults_after_detach
}

faults__of_a_detach() {
	faults_up
	daemon_kill h1
	faults_count start
	faults_daemon --detach --pin-dir "$PINS/ssys-h1"
	faults_end
	cp "$CASE_DIR/h1.log" "$CASE_DIR/normal"
	faults_each start faults_try_detach
}
