# SPDX-License-Identifier: GPL-2.0-only
# The observations, and the table at the end.

declare -A TIMES=() LOSSES=() WORST=() BROKEN=()
COMPLAINTS=()
ACTION=start

report_begin() {
	BEGAN_MS=$(uptime_ms)
	echo "# soak: seed $SEED, $TIME s at $NET_RATE on Linux $(uname -r): tests/soak/run --time $TIME --seed $SEED --rate $NET_RATE --load $LOAD"
}

# complain PROMISE WHAT: it is broken, and by what. Only the first is in the line of the promise; all are in the log.
complain() {
	local promise=$1

	shift
	COMPLAINTS+=("$promise: $*")
	BROKEN[$promise]=$((${BROKEN[$promise]:-0} + 1))
	[[ ${WORST[$promise]:-} ]] || WORST[$promise]="at $(soak_clock) in '$ACTION': $*"
	echo "# $(soak_clock) NOT SO ($promise) in '$ACTION': $*"
}

# The libraries of the system tests end a case: a soak goes on.
fail() {
	complain "done" "$*"
	return 1
}

wait_for() {
	local seconds=$1 what=$2 end=$((SECONDS + $1 + 1))

	shift 2
	until "$@"; do
		if ((SECONDS >= end)); then
			fail "$what: not within $seconds s"
			return 1
		fi
		sleep 0.05
	done
}

# report_lost KIND SEGMENTS [WHEN]: of the action that was done last. Fewer than none: bytes that were sent twice arrived twice.
report_lost() {
	(($2)) || return 0
	LOSSES[$1]=$((${LOSSES[$1]:-0} + $2))
	(($2 > 0)) || return 0
	# One alone may have been sent twice by TCP for nothing, with a DSACK that did not come: a receiver may leave it out.
	if action_is_apart "$1" || (($2 == 1)); then
		echo "# $(soak_clock) $ACTION: $2 segments lost${3:-}"
	else
		complain lost "$2 segments of TCP were lost${3:-}, with $(conf_unusual)"
	fi
}

# report_promise PROMISE NAME
report_promise() {
	if [[ ${BROKEN[$1]:-} ]]; then
		echo "not ok soak__$2: ${BROKEN[$1]} times, first ${WORST[$1]} (seed $SEED)"
		FAILED=1
	else
		echo "ok soak__$2"
	fi
}

report_end() {
	local kind total=0

	FAILED=0
	for kind in "${!TIMES[@]}"; do
		((total += TIMES[$kind]))
	done
	echo
	echo "# seed $SEED, $((($(uptime_ms) - BEGAN_MS) / 1000)) s, $total actions, $CHECKPOINTS checkpoints, rate $NET_RATE, Linux $(uname -r)"
	printf '# %-24s %8s %14s\n' action times "segments lost"
	for kind in $(printf '%s\n' "${!TIMES[@]}" | sort); do
		printf '# %-24s %8d %14d%s\n' "$kind" "${TIMES[$kind]}" "${LOSSES[$kind]:-0}" \
			"$(action_is_apart "$kind" && echo '  (the plain path loses, too)')"
	done
	printf '# %-24s %8s %8s\n' "held by the daemons" first last
	for kind in $(printf '%s\n' "${!HELD_FIRST[@]}" | sort); do
		printf '# %-24s %8s %8s\n' "${kind//_/ }" "${HELD_FIRST[$kind]}" "${HELD_LAST[$kind]:--}"
	done
	((!${#COMPLAINTS[@]})) || printf '# NOT SO: %s\n' "${COMPLAINTS[@]}" | cut -c 1-400 | sort | uniq -c | sort -rn | head -n 40
	if ((!CHECKPOINTS)); then
		echo "not ok soak: it did not come to a checkpoint: ${COMPLAINTS[0]:-} (seed $SEED)"
		exit 1
	fi
	report_promise "done" "every_action_can_be_done"
	report_promise stalled "applications_go_on_after_every_action"
	report_promise ended "no_connection_ends"
	report_promise lost "nothing_is_lost_that_the_plain_path_would_not_lose"
	report_promise crash "no_daemon_ends_by_itself"
	report_promise said "daemons_complain_of_nothing_unexpected"
	report_promise held "objects_files_and_pins_are_those_of_the_start"
	report_promise memory "memory_stays"
	report_promise network "filters_qdiscs_and_routes_are_those_of_the_start"
	if ((COUNTERS_COMPARED)); then
		report_promise counters "counters_add_up"
	else
		echo "skip soak__counters_add_up: it did not become quiet, or the kernel does not count runs"
	fi
	report_promise flows "flows_that_are_gone_are_forgotten"
	report_promise left "nothing_is_left_at_the_end"
	exit $FAILED
}
