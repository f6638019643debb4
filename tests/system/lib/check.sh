# SPDX-License-Identifier: GPL-2.0-only
# The statements of a case: something is so, it becomes so, or it cannot be tested here.
# These end the case, so they are called from its own shell and never inside $().

fail() {
	echo "$*" >"$CASE_DIR/why"
	exit 1
}

skip() {
	echo "$*" >"$CASE_DIR/why"
	exit 77
}

# need COMMAND...: programs that this case cannot do without.
need() {
	local missing=() command

	for command in "$@"; do
		type -P "$command" >/dev/null || missing+=("$command")
	done
	((!${#missing[@]})) || skip "no ${missing[*]} here"
}

# expect WHAT ACTUAL OPERATOR WANTED: OPERATOR is of test (-eq -ge ...; = and !=), or has, has-no (text).
expect() {
	local what=$1 actual=$2 operator=$3 wanted=$4 so=''

	case $operator in
	has) [[ $actual == *"$wanted"* ]] && so=1 ;;
	has-no) [[ $actual != *"$wanted"* ]] && so=1 ;;
	= | !=) test "$actual" "$operator" "$wanted" && so=1 ;;
	*) [[ $actual =~ ^-?[0-9]+$ ]] && test "$actual" "$operator" "$wanted" && so=1 ;;
	esac
	[[ $so ]] || fail "$what: '${actual:0:600}' $operator '$wanted' is not so"
}

# wait_for SECONDS WHAT COMMAND...: until COMMAND succeeds.
wait_for() {
	local seconds=$1 what=$2 end=$((SECONDS + $1 + 1)) WAIT_SEEN=

	shift 2
	until "$@"; do
		((SECONDS < end)) || fail "$what: not within $seconds s${WAIT_SEEN:+, but $WAIT_SEEN}"
		sleep 0.05
	done
}

uptime_ms() { awk '{ print int($1 * 1000) }' /proc/uptime; }

# said NAMESPACE TEXT: the daemon's log has it.
said() { grep -qF -- "$2" "$CASE_DIR/$1.log"; }

# Some lines are written after it is ready.
expect_said() {
	wait_for 1 "sluiced of $1 says '$2'" said "$1" "$2"
}

# same WHAT FILE FILE
same() {
	cmp -s "$2" "$3" || fail "$1: $(diff "$2" "$3" | grep '^[<>]' | head -n 6 | tr '\n' ' ')"
}

# grows WHAT SECONDS COMMAND...: the number that COMMAND prints becomes larger than it is now.
grows() {
	local what=$1 seconds=$2 first

	shift 2
	first=$("$@")
	[[ $first =~ ^[0-9]+$ ]] || fail "$what: '$first' is not a number"
	wait_for "$seconds" "$what is more than $first" grown "$first" "$@"
}

grown() {
	local first=$1 now

	shift
	now=$("$@")
	[[ $now =~ ^[0-9]+$ ]] && ((now > first))
}
