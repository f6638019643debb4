# SPDX-License-Identifier: GPL-2.0-only
# The next action: drawn from the seed and the actions before.
#
# The plan keeps its own picture of what there is (pods, eth1, what is switched on). It never looks at the network, so that
# a run that goes wrong goes on with the same actions.

CHECKPOINT_EVERY=16

# Each kind with its weight. Those that come in pairs (pod_add, pod_remove) are one line, and the picture says which.
PLAN_KINDS="
nothing 3
flow_start 6
flow_reset 3
requests_burst 4
pod 6
extra 3
extra_rename 1
uplink_rename 2
interface 2
port 1
config_reload 3
peer 3
mode_set 3
variant_set 2
feedback_set 2
encoding_set 2
telemetry_set 2
window_set 1
hiercc 3
pauses 2
key_rotate 3
bypass 3
knob_set 3
daemon_kill 4
daemon_restart 3
rate_set 2
root_replace 2
mtu_set 2
link_flap 3
"

# Actions that lose packets without Sluice too. In mtu_set larger packets are on their way, and an fq or tbf that is replaced
# takes its packets along.
PLAN_APART=" rate_set root_replace mtu_set link_flap "

declare -A PICTURE=() # "node key": as CONF, of the plan
PLANNED=() PLANNED_PAUSE_MS=0

plan_begin() {
	local kind weight

	PLAN_STATE=$1
	PLAN_POOL=()
	PLAN_SERIAL=1
	while read -r kind weight; do
		[[ $kind ]] || continue
		[[ ! $ACTIONS_WANTED || " $ACTIONS_WANTED " == *" $kind "* ]] || continue
		while ((weight-- > 0)); do
			PLAN_POOL+=("$kind")
		done
	done <<<"$PLAN_KINDS"
	if ((!${#PLAN_POOL[@]})); then
		echo "soak: no kind of action is in '$ACTIONS_WANTED': $(awk '{ printf "%s ", $1 }' <<<"$PLAN_KINDS")" >&2
		exit 2
	fi
}

# draw N: DRAWN is from 0 to N - 1, by Knuth's generator modulo 2^64. Never in a subshell.
draw() {
	PLAN_STATE=$((PLAN_STATE * 6364136223846793005 + 1442695040888963407))
	DRAWN=$(((PLAN_STATE >> 33 & 0x7fffffff) % $1))
}

# draw_of WORD...
draw_of() {
	draw $#
	DRAWN=${*:DRAWN + 1:1}
}

# plan_flip NODE KEY NORMAL OTHER: the one that it is not now.
plan_flip() {
	[[ ${PICTURE[$1 $2]:-$3} == "$3" ]] && DRAWN=$4 || DRAWN=$3
	PICTURE[$1 $2]=$DRAWN
}

plan_next() {
	draw ${#PLAN_POOL[@]}
	"plan_${PLAN_POOL[DRAWN]}"
	draw 900
	PLANNED_PAUSE_MS=$((100 + DRAWN))
}

# plan_reset: the actions that put everything back; one for each thing that is not as it was. PLANNED_BACK: a line each.
plan_reset() {
	local key node n

	PLANNED_BACK=()
	for ((n = 2; n < 10; n++)); do
		[[ ${PICTURE[pod $n]:-} != there ]] || PLANNED_BACK+=("pod_remove $n")
	done
	for key in "${!PICTURE[@]}"; do
		node=${key% *}
		case $key in
		"pod "*) ;;
		"extra there") [[ ${PICTURE[$key]} != yes ]] || PLANNED_BACK+=("extra_remove") ;;
		*" eth0") [[ ${PICTURE[$key]} == in ]] || PLANNED_BACK+=("interface_in $node") ;;
		"sw p2") [[ ${PICTURE[$key]} == in ]] || PLANNED_BACK+=("port_in") ;;
		*" peer") [[ ${PICTURE[$key]} == in ]] || PLANNED_BACK+=("peer_in $node") ;;
		"pauses on") [[ ${PICTURE[$key]} == off ]] || PLANNED_BACK+=("pauses_set off") ;;
		"hiercc on") [[ ${PICTURE[$key]} == false ]] || PLANNED_BACK+=("hiercc_set false") ;;
		*" bypass") [[ ${PICTURE[$key]} == off ]] || PLANNED_BACK+=("bypass_set $node off") ;;
		"rate "*) [[ ${PICTURE[$key]} == 100 ]] || PLANNED_BACK+=("rate_set ${key#* } 100") ;;
		"mtu all") [[ ${PICTURE[$key]} == 1500 ]] || PLANNED_BACK+=("mtu_set 1500") ;;
		*" root") [[ ${PICTURE[$key]} == fq ]] || PLANNED_BACK+=("root_replace $node fq") ;;
		*" mode") [[ ${PICTURE[$key]} == enforce ]] || PLANNED_BACK+=("mode_set $node enforce") ;;
		*" variant") [[ ${PICTURE[$key]} == plain ]] || PLANNED_BACK+=("variant_set $node plain") ;;
		*" feedback") [[ ${PICTURE[$key]} == hops ]] || PLANNED_BACK+=("feedback_set $node hops") ;;
		*" encoding") [[ ${PICTURE[$key]} == hpcc ]] || PLANNED_BACK+=("encoding_set $node hpcc") ;;
		*" telemetry") [[ ${PICTURE[$key]} == every ]] || PLANNED_BACK+=("telemetry_set $node every") ;;
		*" window") [[ ${PICTURE[$key]} == true ]] || PLANNED_BACK+=("window_set $node true") ;;
		esac
	done
	# In an order that no hash table decides, and what takes telemetry out of the way last.
	mapfile -t PLANNED_BACK < <(printf '%s\n' "${PLANNED_BACK[@]}" | sort)
	[[ ${PLANNED_BACK[0]} ]] || PLANNED_BACK=()
	PICTURE=()
}

plan_print() {
	local i n=0

	for ((i = 1; i <= $1; i++)); do
		plan_next
		echo "$((++n)) ${PLANNED[*]}"
		((i % CHECKPOINT_EVERY)) && continue
		plan_reset
		((!${#PLANNED_BACK[@]})) || printf 'back: %s\n' "${PLANNED_BACK[@]}"
	done
}

# --- one for each kind ---

plan_nothing() { PLANNED=(nothing); }

# flow_start SERIAL FAMILY DIRECTION KBYTES
plan_flow_start() {
	local family direction

	draw_of 4 6
	family=$DRAWN
	draw_of there back
	direction=$DRAWN
	draw_of 20 200 1000
	PLANNED=(flow_start $((PLAN_SERIAL++)) "$family" "$direction" "$DRAWN")
}

plan_flow_reset() {
	draw_of 4 6
	PLANNED=(flow_reset $((PLAN_SERIAL++)) "$DRAWN")
}

plan_requests_burst() {
	local connections

	draw_of 1 5 20
	connections=$DRAWN
	draw_of 100 300
	PLANNED=(requests_burst "$connections" "$DRAWN")
}

# A pod that is there goes, one that is not there comes.
plan_pod() {
	local n

	draw 8
	n=$((DRAWN + 2))
	plan_flip pod $n gone there
	if [[ $DRAWN == there ]]; then PLANNED=(pod_add "$n"); else PLANNED=(pod_remove "$n"); fi
}

plan_extra() {
	plan_flip extra there no yes
	if [[ $DRAWN == yes ]]; then PLANNED=(extra_add); else PLANNED=(extra_remove); fi
}

plan_extra_rename() {
	[[ ${PICTURE[extra there]:-no} == yes ]] && PLANNED=(extra_rename) || plan_extra
}

plan_uplink_rename() {
	draw_of h1 h2
	PLANNED=(uplink_rename "$DRAWN")
}

plan_interface() {
	local node

	draw_of h1 h2
	node=$DRAWN
	plan_flip "$node" eth0 in out
	PLANNED=("interface_$DRAWN" "$node")
}

plan_port() {
	plan_flip sw p2 in out
	PLANNED=("port_$DRAWN")
}

plan_config_reload() {
	draw_of h1 h2 sw
	PLANNED=(config_reload "$DRAWN")
}

plan_peer() {
	local node

	draw_of h1 h2
	node=$DRAWN
	plan_flip "$node" peer in out
	PLANNED=("peer_$DRAWN" "$node")
}

# plan_key KEY WORD...: of a host's configuration.
plan_key() {
	local key=$1 node

	shift
	draw_of h1 h2
	node=$DRAWN
	draw_of "$@"
	PICTURE[$node $key]=$DRAWN
	PLANNED=("${key}_set" "$node" "$DRAWN")
}

plan_mode_set() { plan_key mode observe dry-run enforce; }
plan_variant_set() { plan_key variant plain vai-sf; }
plan_feedback_set() { plan_key feedback hops window; }
plan_encoding_set() { plan_key encoding hpcc int-md; }
plan_telemetry_set() { plan_key telemetry every auto; }
plan_window_set() { plan_key window true false; }

plan_hiercc() {
	plan_flip hiercc on false true
	PLANNED=(hiercc_set "$DRAWN")
}

plan_pauses() {
	plan_flip pauses on off on
	PLANNED=(pauses_set "$DRAWN")
}

plan_key_rotate() {
	draw 1000000
	PLANNED=(key_rotate "$DRAWN")
}

plan_bypass() {
	local node

	draw_of h1 h2
	node=$DRAWN
	plan_flip "$node" bypass off on
	PLANNED=(bypass_set "$node" "$DRAWN")
}

plan_knob_set() {
	local node

	draw_of h1 h2
	node=$DRAWN
	draw_of mode=dry-run mode=enforce receive_window=false receive_window=true horizon=20ms horizon=0us beyond=mark beyond=drop
	PLANNED=(knob_set "$node" "${DRAWN%=*}" "${DRAWN#*=}")
}

plan_daemon_kill() {
	local node

	draw_of h1 h2 sw
	node=$DRAWN
	draw_of 0 1 3
	PLANNED=(daemon_kill_and_start "$node" "$DRAWN")
}

plan_daemon_restart() {
	local node

	draw_of h1 h2 sw
	node=$DRAWN
	draw_of 0 1 3
	PLANNED=(daemon_stop_and_start "$node" "$DRAWN")
}

# Percent of the usual rate.
plan_rate_set() {
	local port

	draw_of p1 p2 pod1
	port=$DRAWN
	draw_of 50 75 100
	PICTURE[rate $port]=$DRAWN
	PLANNED=(rate_set "$port" "$DRAWN")
}

plan_root_replace() {
	local node

	draw_of h1 h2
	node=$DRAWN
	draw_of fq pfifo bfifo
	PICTURE[$node root]=$DRAWN
	PLANNED=(root_replace "$node" "$DRAWN")
}

plan_mtu_set() {
	draw_of 1500 1450 1400
	PICTURE[mtu all]=$DRAWN
	PLANNED=(mtu_set "$DRAWN")
}

plan_link_flap() {
	local port

	draw_of 1 2
	port=$DRAWN
	draw_of 0.1 0.5 2
	PLANNED=(link_flap "$port" "$DRAWN")
}
