# SPDX-License-Identifier: GPL-2.0-only
# Conditions that hold when everything was put back: at the start, every few actions, and at the end.

CHECKPOINTS=0
declare -A HELD_FIRST=() HELD_LAST=() MEMORY_FIRST=() LINES_READ=()

# Heap that a reload or a hundred pods left in pieces stays with the process; a leak grows with each action. The system
# test of 200 pods allows 512 KB; here there are as many kinds of tables again.
MEMORY_KB=1024

# Messages of a daemon that are allowed, each with its reason.
SAID_EXPECTED='
has MTU|room for telemetry:a route of the soak itself, after the MTU fell
does not strip|silent|no longer answers:a peer was taken out, or its daemon was away
link .*down|no carrier|is gone|is away|not there:a link or an interface that the soak took away
without fq|has no fq|not held|cannot be read. packets pass:root_replace
'

soak_up() {
	local node

	SOAK_KEY=$(printf '%032x' 1)
	alone && SOAK_BPF_BEFORE=$(bpf_numbers)
	soak_net_up || { complain "done" "the network cannot be made"; return 1; }
	for node in $SOAK_NODES; do
		space_state "$node" >"$WORK/$node-before.txt"
		[[ $node == sw ]] || key_write "$node" "$SOAK_KEY"
		conf_write "$node"
	done
	# shellcheck disable=SC2086
	daemon_start $SOAK_NODES || return 1
	echo "# $(soak_clock) daemons are ready"
	traffic_start
	echo "# $(soak_clock) traffic moves"
	soak_warm_up
	for node in $SOAK_NODES; do
		space_state "$node" >"$WORK/$node-first.txt"
		pins_of "$node" >"$WORK/$node-pins.txt"
	done
	ip netns list | sort >"$WORK/spaces.txt"
	checkpoint_look
	# shellcheck disable=SC2034
	for node in "${!HELD_LAST[@]}"; do
		HELD_FIRST[$node]=${HELD_LAST[$node]}
	done
	traffic_lost
	LOST_SEEN=$LOST KIND_LAST=nothing
}

# Programs and maps that something needs stay when it is switched off: so each is on once, before anything is compared.
soak_warm_up() {
	hiercc_set true
	pauses_set on
	extra_add
	sleep 1
	extra_remove
	pauses_set off
	hiercc_set false
	sleep 4
}

# All is put back by actions like the others.
checkpoint() {
	local line node

	plan_reset
	for line in "${PLANNED_BACK[@]}"; do
		# shellcheck disable=SC2086
		action_do $line
	done
	# The values of sluicectl set are overwritten.
	for node in $SOAK_NODES; do
		action_do config_reload "$node"
	done
	ACTION=checkpoint
	flows_end
	# flow_timeout is 2 s, and a flow whose FIN was sent is there for 5 s.
	sleep 8
	checkpoint_look
	((++CHECKPOINTS))
}

# Temporary states are over.
flows_end() {
	local pid

	for pid in "${FLOWS[@]}"; do
		flow_end "$pid"
	done
	FLOWS=()
}

checkpoint_look() {
	local node

	for node in $SOAK_NODES; do
		held_look "$node"
		memory_look "$node"
		said_look "$node"
		network_look "$node"
	done
	counters_look
	for node in h1 h2; do
		flows_look "$node"
	done
	ip netns list | sort | cmp -s - "$WORK/spaces.txt" || complain left "namespaces are $(ip netns list | xargs)"
	if alone && dmesg | grep -qE 'WARNING:|BUG:'; then
		complain crash "the kernel says $(dmesg | grep -E 'WARNING:|BUG:' | tail -n 1)"
	fi
}

# --- what is held ---

# A daemon that was started again since may hold less, but none holds more, except the objects that reloads loaded for what a
# start with less had not wanted (user/attach/prog/programs.c), each with its constants and with all maps once more. All objects of
# the machine are compared before the start and after the end only: until then sockets keep the congestion control with which
# they were opened.
held_look() {
	local node=$1 kind now first objects maps more

	bpf_of "$node" >"$WORK/objects.txt"
	cat "$WORK/objects.txt" >>"$WORK/objects-ever.txt"
	objects=$(constants_of)
	maps=$(grep -c '^map ' "$WORK/objects.txt")
	first=${HELD_FIRST[${node}_objects]:-$objects}
	held_is "${node}_objects" "$objects" $((OBJECTS_MOST - first))
	more=$((objects > first ? objects - first : 0))
	held_is "${node}_maps" "$maps" "$more"
	for kind in prog link; do
		held_is "${node}_${kind}s" "$(grep -c "^$kind " "$WORK/objects.txt")"
	done
	held_is "${node}_files" "$(find "/proc/${DAEMON[$node]}/fd" -mindepth 1 2>/dev/null | wc -l)" $((more * maps))
	now=$(pins_of "$node" | diff "$WORK/$node-pins.txt" - 2>/dev/null | grep '^[<>]' | head -n 5 | xargs)
	[[ ! $now ]] || complain held "pins of $node: $now"
}

# One of the start, and one for each of the seven sets of programs.
OBJECTS_MOST=8

# Objects that the daemon of objects.txt has loaded, by their maps of constants.
constants_of() {
	bpftool -j map show | jq -r '.[] | select(.name // "" | endswith(".rodata")) | "map \(.id)"' | grep -cxFf - "$WORK/objects.txt"
}

# held_is WHAT NUMBER [MORE]: not more than at the start, and MORE.
held_is() {
	HELD_LAST[$1]=$2
	[[ ! ${HELD_FIRST[$1]:-} || $2 -le $((${HELD_FIRST[$1]} + ${3:-0})) ]] || complain held "$1: ${HELD_FIRST[$1]} -> $2"
}

pins_of() { [[ ! -d $PINS/ssys-$1 ]] || (cd "$PINS/ssys-$1" && find . -mindepth 1 | sort); }

# Programs, maps and links of the whole machine, once the kernel has freed the unused ones.
bpf_numbers() {
	local kind n

	for kind in prog map link; do
		n=$(bpftool -j $kind show | jq length)
		printf '%s/' "$n"
	done
}

# daemon_note NODE: before it goes, whose objects those are.
daemon_note() { bpf_of "$1" >>"$WORK/objects-ever.txt"; }

# Of one process, since its first checkpoint.
memory_look() {
	local node=$1 pid=${DAEMON[$1]} kb

	kb=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
	[[ $kb ]] || return 0
	HELD_LAST[${node}_memory_KB]=$kb
	[[ ${MEMORY_FIRST[$pid]:-} ]] || MEMORY_FIRST[$pid]=$kb
	((kb <= MEMORY_FIRST[$pid] + MEMORY_KB)) || complain memory "sluiced of $node: ${MEMORY_FIRST[$pid]} -> $kb KB"
}

# --- messages ---

said_look() {
	local node=$1 log=$CASE_DIR/$1.log from=${LINES_READ[$1]:-0} expected

	LINES_READ[$node]=$(wc -l <"$log")
	expected=$(sed -n 's/:[^:]*$//p' <<<"$SAID_EXPECTED" | paste -sd '|')
	while IFS= read -r line; do
		complain said "$node: $line"
	done < <(sed -n "$((from + 1)),${LINES_READ[$node]}p" "$log" |
		grep -iE 'error|fail|cannot|could not|libbpf:|refused|invalid|corrupt|assert|no such' | grep -vE "$expected")
}

# --- counters ---

# Each packet that a program saw is in exactly one counter: how often the kernel says that the program ran is the sum of
# the hook's counters. Traffic stands still while both are read.
HOOKS="sw:hop_:hop h2:pod_:pod_hop h1:tx_:egress h2:tx_:egress"

counters_look() {
	local was hook before i

	read -r was </proc/sys/kernel/bpf_stats_enabled
	{ echo 1 >/proc/sys/kernel/bpf_stats_enabled; } 2>/dev/null || return 0
	bpftool -j prog show | jq -r '.[] | "\(.id) \(.name)"' >"$WORK/programs.txt"
	traffic_pause
	counters_read && before=("${COUNTED[@]}") && traffic_resume && sleep 2 && traffic_pause && counters_read && {
		i=0
		for hook in $HOOKS; do
			echo "$(soak_clock) ${hook%%:*}: ${hook##*:} ran $((COUNTED[i + 1] - before[i + 1])) times, and $((COUNTED[i] - before[i])) packets were counted" \
				>>"$WORK/counters.log"
			((COUNTED[i + 1] - before[i + 1] == COUNTED[i] - before[i])) || complain counters "$(tail -n 1 "$WORK/counters.log")"
			((i += 2))
		done
		((++COUNTERS_COMPARED))
	}
	traffic_resume
	echo "$was" >/proc/sys/kernel/bpf_stats_enabled
}
COUNTERS_COMPARED=0

# counters_read: COUNTED is the sum of the counters and the runs, of each hook in turn, when no packet came between.
counters_read() {
	local tries hook node prefix sums runs

	for ((tries = 0; tries < 10; tries++)); do
		sums=() runs=() COUNTED=()
		for hook in $HOOKS; do
			IFS=: read -r node prefix _ <<<"$hook"
			sums+=("$(verdicts "$node" "$prefix")")
			runs+=("$(runs_of "$node" "${hook##*:}")")
			COUNTED+=("${sums[-1]}" "${runs[-1]}")
		done
		for hook in $HOOKS; do
			IFS=: read -r node prefix _ <<<"$hook"
			[[ $(verdicts "$node" "$prefix") == "${sums[0]}" ]] || continue 2
			sums=("${sums[@]:1}")
		done
		return 0
	done
	echo "# $(soak_clock) counters are not compared: it did not become quiet"
	return 1
}

# The counters that are a packet's one verdict, as the list says it. A clone that becomes a PROBE, or fails to, is nobody's
# packet, but the program runs for it, and twice if it is sent again.
verdicts() {
	[[ -s $WORK/verdicts-$2 ]] ||
		"$BUILD/sluiced" --list-metrics | sed -n "s/^# HELP sluice_\($2[a-z_]*\)_total /\1 /p" |
		awk -v more="$([[ $2 != tx_ ]] || echo ', .probe_sent, .companion_sent, .probe_failed, .probe_resent')" \
			'$2 != "also:" { printf "%s.%s", n++ ? ", " : "", $1 } END { printf "%s", more }' >"$WORK/verdicts-$2"
	ctl "$1" stats --json | jq "[$(<"$WORK/verdicts-$2")] | add"
}

# runs_of NODE PROGRAM: of those that the daemon has open, by the names that counters_look has asked for. bpftool is slow in
# a VM; what the daemon has open says its runs by itself.
runs_of() {
	cat "/proc/${DAEMON[$1]}/fdinfo/"* 2>/dev/null | awk -v name="$2" -v names="$WORK/programs.txt" '
		BEGIN { while ((getline line < names) > 0) { split(line, f, " "); if (f[2] == name || f[2] == name "_map") wanted[f[1]] = 1 } }
		$1 == "prog_id:" { id = $2 }
		$1 == "run_cnt:" { runs = $2 }
		$1 == "pos:" { id = runs = 0 }
		id && runs && id in wanted && !(id in sum) { sum[id] = runs; total += runs }
		END { print total + 0 }'
}

# The long-lived flows are there, and no others are after their time.
flows_look() {
	local node=$1 tries flows made

	for ((tries = 0; tries < 20; tries++)); do
		flows=$(ctl "$node" status --json | jq .flows)
		((flows > FLOWS_MOST)) || break
		sleep 1
	done
	made=$(stat_of "$node" flow_made)
	((flows <= FLOWS_MOST)) || complain flows "$node has $flows flows when $FLOWS_MOST connections are left"
	HELD_LAST[${node}_flows]=$flows
	echo "$(soak_clock) $node $made made, $flows there" >>"$WORK/flows-made.log"
}
FLOWS_MOST=16 # two for each of 7 connections (iperf3 has one of control), and 2 of pairs of UDP ports

# --- the network ---

# An administrator's view, without numbers that change by themselves: those of programs and interfaces.
space_state() {
	net_state "$1" | sed -E 's/ (id|tag|prog_id) [0-9a-f]+//g; s/ jited//; s/prog\/xdp id [0-9]+/xdp/; s/:\[[0-9]+\]//; s/@if[0-9]+//; s/^[0-9]+: //
		s/link-netns(id)? [^ ]+//; s/expires [0-9]+sec//; s/ (linkdown|dead)//g; s/state (UP|DOWN|UNKNOWN|LOWERLAYERDOWN)//; s/(cache|backlog) .*//' | sort -u
}

network_look() {
	local node=$1 differs

	[[ -s $WORK/$node-first.txt ]] || return 0
	# The clsact of an interface that was taken out stays until its daemon ends (limit 41).
	differs=$(space_state "$node" | grep -v '^qdisc clsact ' |
		diff <(grep -v '^qdisc clsact ' "$WORK/$node-first.txt") - | grep '^[<>]' | head -n 4 | tr '\n' ' ')
	[[ ! $differs ]] || complain network "$node: $differs"
}

# --- the end ---

soak_down() {
	local node differs

	ACTION=end
	traffic_stop
	for node in h1 h2; do
		wait_for 60 "the flows of $node are forgotten" flows_are_none "$node" || BROKEN[flows]=1
	done
	for node in $SOAK_NODES; do
		daemon_note "$node"
	done
	# shellcheck disable=SC2086
	daemon_stop $SOAK_NODES
	sleep 1
	! compgen -G "$PINS/ssys-*" >/dev/null || complain left "pins: $(compgen -G "$PINS/ssys-*" | xargs)"
	! grep -qE 'soak_h[12]' /proc/sys/net/ipv4/tcp_available_congestion_control || complain left "congestion controls"
	for node in $SOAK_NODES; do
		differs=$(space_state "$node" | diff "$WORK/$node-before.txt" - | grep '^[<>]' | head -n 4 | tr '\n' ' ')
		[[ ! $differs ]] || complain left "$node: $differs"
	done
	sort -u "$WORK/objects-ever.txt" -o "$WORK/objects.txt"
	wait_for 300 "the BPF objects of all daemons are gone" bpf_none_left "$WORK/objects.txt" ||
		complain left "BPF objects: $(head -n 6 "$WORK/left.txt" | xargs)"
	if alone; then
		wait_for 300 "programs, maps and links are as many as before" bpf_are_as_many
	fi
}

flows_are_none() { (($(ctl "$1" status --json | jq .flows) == 0)); }

bpf_are_as_many() { [[ $(bpf_numbers) == "$SOAK_BPF_BEFORE" ]]; }
