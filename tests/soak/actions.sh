# SPDX-License-Identifier: GPL-2.0-only
# The actions. An action ends when it is done: traffic.sh and checks.sh check its consequences.

# action_do KIND [ARGUMENT]...: and what was lost meanwhile is put down to KIND.
action_do() {
	local kind=$1 lost_before began=$SECONDS complaints=${#COMPLAINTS[@]}

	traffic_lost
	lost_before=$LOST
	report_lost "$KIND_LAST" $((LOST - LOST_SEEN)) " after $KIND_LAST"
	ACTION="$*"
	echo "$(soak_clock) $*" >>"$WORK/actions.log"
	echo "# $(soak_clock) $*"
	traffic_remember
	"$@"
	daemons_look
	traffic_goes_on 60
	if action_is_apart "$kind"; then
		traffic_settle
	else
		traffic_lost_is "$lost_before"
	fi
	TIMES[$kind]=$((${TIMES[$kind]:-0} + 1))
	LOST_SEEN=$LOST KIND_LAST=$kind
	report_lost "$kind" $((LOST - lost_before))
	((complaints == ${#COMPLAINTS[@]})) || echo "# $(soak_clock) $*: ended after $((SECONDS - began)) s"
}

action_is_apart() { [[ $PLAN_APART == *" $1 "* ]]; }

soak_clock() { printf '%d.%03d' "$((SOAK_MS = $(uptime_ms) - BEGAN_MS, SOAK_MS / 1000))" "$((SOAK_MS % 1000))"; }

nothing() { sleep 1; }

# --- flows ---

# flow_start SERIAL FAMILY DIRECTION KBYTES: it ends by itself.
flow_start() {
	local address=10.2.0.2 reverse=

	[[ $2 == 4 ]] || address=fd00:2::2
	[[ $3 == there ]] || reverse=-R
	flow_server h2 $((6000 + $1))
	# shellcheck disable=SC2086
	flow_client h1 iperf3 -c "$address" -p $((6000 + $1)) -n "${4}K" -w 60K $reverse
}

# flow_reset SERIAL FAMILY: a client that is killed in the middle.
flow_reset() {
	local address=10.2.0.2

	[[ $2 == 4 ]] || address=fd00:2::2
	flow_server h2 $((6000 + $1))
	flow_client h1 iperf3 -c "$address" -p $((6000 + $1)) -t 60 -w 60K
	sleep 0.7
	flow_end "${FLOWS[-1]}"
	flow_end "${FLOWS[-2]}"
}

# flow_end PID: timeout does not hand SIGKILL on.
flow_end() {
	pkill -KILL -P "$1" 2>/dev/null
	kill -KILL "$1" 2>/dev/null
	return 0
}

# flow_server NODE PORT: of one test.
flow_server() {
	net_exec "$1" iperf3 -s -1 -p "$2" >>"$WORK/flows.log" 2>&1 9>&- &
	FLOWS+=($!)
	disown # the shell says nothing when it is killed
	wait_for 60 "iperf3 listens at port $2" server_listens "$1" "$2"
}

flow_client() {
	local ns=$1

	shift
	net_exec "$ns" timeout -k 1 120 "$@" >>"$WORK/flows.log" 2>&1 9>&- &
	FLOWS+=($!)
	disown # the shell says nothing when it is killed
}

server_listens() { [[ $(net_in "$1" ss -Htln "sport = :$2") ]]; }

# requests_burst CONNECTIONS REQUESTS: as many new connections to redis, which go again.
requests_burst() {
	net_in h1 timeout 120 redis-benchmark -h "$REDIS" -c "$1" -n "$2" -t get -q >>"$WORK/benchmark.log" 2>&1 9>&- ||
		fail "redis-benchmark: $(tail -n 1 "$WORK/benchmark.log")"
}

# --- pods and interfaces ---

# Each pod sends to src and receives from it, and never closes its connections.
pod_add() {
	pod_up h2 "pod$1" "$1" || fail "pod$1 cannot be made"
	flow_server "pod$1" 5201
	flow_server "pod$1" 5202
	flow_client src iperf3 -u -b 500K -l 1000 -t 60 -c "10.244.2.$1" -p 5201
	flow_client src iperf3 -b 500K -l 4K -t 60 -c "fd00:244:2::$1" -p 5202
}

pod_remove() {
	local pids

	mapfile -t pids < <(ip netns pids "${NET_PREFIX}pod$1")
	net_in h2 ip link del "to-pod$1" || fail "pod$1 cannot be taken away"
	((!${#pids[@]})) || kill -KILL "${pids[@]}" 2>/dev/null
	ip netns del "${NET_PREFIX}pod$1" || fail "the namespace of pod$1 cannot be taken away"
}

# A second interface of h1, and the port of the switch that it leads to.
extra_add() {
	ip link add eth1 netns "${NET_PREFIX}h1" address 02:00:0a:00:03:02 type veth \
		peer name p3 netns "${NET_PREFIX}sw" address 02:00:0a:00:03:01 || fail "eth1 cannot be made"
	net_ends h1 eth1 - 3 2 1
	net_ends sw p3 - 3 1 2
	CONF[extra there]=yes CONF[extra name]=eth1
	conf_take h1 sw
	net_in h1 ping -q -c 3 -i 0.2 -I eth1 10.3.0.1 >>"$WORK/ping.log" 2>&1
}

# It goes while the daemons still have it.
extra_remove() {
	net_in sw ip link del p3 || fail "p3 cannot be taken away"
	sleep 0.5
	CONF[extra there]=no
	conf_take h1 sw
}

# There and back again, once with the configuration and once without.
extra_rename() {
	soak_rename h1 eth1 wan1
	CONF[extra name]=wan1
	conf_take h1
	net_in h1 ping -q -c 3 -i 0.2 -I wan1 10.3.0.1 >>"$WORK/ping.log" 2>&1
	soak_rename h1 wan1 eth1
	CONF[extra name]=eth1
	sleep 1
	conf_take h1
}

# Before Linux 6.3 an interface has to be down for that, and without its routes nothing goes on.
soak_rename() { net_in "$1" ip link set "$2" name "$3" 2>>"$WORK/rename.log"; }

# The configuration does not know of it.
uplink_rename() {
	soak_rename "$1" eth0 wan0 || return 0
	sleep 1
	net_in "$1" ping -q -c 1 -W 5 "10.${1#h}.0.1" >>"$WORK/ping.log" 2>&1
	soak_rename "$1" wan0 eth0
	sleep 1
}

interface_out() {
	CONF[$1 eth0]=out
	conf_take "$1"
}

interface_in() {
	CONF[$1 eth0]=in
	conf_take "$1"
}

port_out() {
	CONF[sw p2]=out
	conf_take sw
}

port_in() {
	CONF[sw p2]=in
	conf_take sw
}

# --- configuration ---

# conf_take NODE...: written, SIGHUP to all of them at once, and all say that they have taken it.
conf_take() {
	local node
	declare -A before=()

	for node in "$@"; do
		conf_write "$node"
		before[$node]=$(grep -cF reloaded "$CASE_DIR/$node.log")
		kill -HUP "${DAEMON[$node]}" || fail "sluiced of $node is not there"
	done
	for node in "$@"; do
		wait_for 60 "sluiced of $node takes its configuration" daemon_said_again "$node" reloaded "${before[$node]}"
	done
}

config_reload() { conf_take "$1"; }

# host_set NODE KEY VALUE
host_set() {
	CONF[$1 $2]=$3
	conf_take "$1"
}

mode_set() { host_set "$1" mode "$2"; }
variant_set() { host_set "$1" variant "$2"; }
feedback_set() { host_set "$1" feedback "$2"; }
encoding_set() { host_set "$1" encoding "$2"; }
telemetry_set() { host_set "$1" telemetry "$2"; }
window_set() { host_set "$1" window "$2"; }

# One host after the other, as with a tool that goes from machine to machine.
hiercc_set() {
	host_set h1 hiercc "$1"
	host_set h2 hiercc "$1"
}

pauses_set() {
	CONF[pauses on]=$1
	conf_take h1 h2 sw
}

peer_out() { host_set "$1" peer out; }
peer_in() { host_set "$1" peer in; }

# key_rotate NUMBER: in the three steps of docs/configuration.md.
key_rotate() {
	local old=$SOAK_KEY new node lines

	new=$(printf '%032x' $(($1 + 1)))
	[[ $old != "$new" ]] || return 0
	for lines in "$old $new" "$new $old" "$new"; do
		for node in h1 h2; do
			# shellcheck disable=SC2086
			key_write $node $lines
			conf_take $node
		done
	done
	SOAK_KEY=$new
}

bypass_set() { soak_ctl "$1" bypass "$2"; }

# A reload writes what the configuration says.
knob_set() { soak_ctl "$1" set "$2" "$3"; }

soak_ctl() { ctl "$@" >>"$WORK/ctl.log" 2>&1 || fail "sluicectl ${*:2} of $1: $(tail -n 1 "$WORK/ctl.log")"; }

# --- daemons ---

# daemon_kill_and_start NODE SECONDS: as a crash does it, and the machine is without a daemon for a while.
daemon_kill_and_start() {
	daemon_note "$1"
	daemon_kill "$1"
	sleep "$2"
	daemon_start "$1"
}

daemon_stop_and_start() {
	daemon_note "$1"
	daemon_stop "$1"
	sleep "$2"
	daemon_start "$1"
}

# daemons_look: none ended but by us. One that did is started again, so that the rest is seen too.
daemons_look() {
	local node

	for node in $SOAK_NODES; do
		kill -0 "${DAEMON[$node]}" 2>/dev/null && continue
		wait "${DAEMON[$node]}"
		complain crash "sluiced of $node ended by itself with status $?: $(tail -n 1 "$CASE_DIR/$node.log")"
		daemon_start "$node"
	done
}

# --- the network ---

# rate_set PORT PERCENT: the tbf is changed, not replaced.
rate_set() {
	local rate=$((${NET_RATE%mbit} * $2 / 100))mbit

	if [[ $1 == pod1 ]]; then
		net_in h2 tc qdisc change dev to-pod1 root handle 1: tbf rate $rate burst 5000 limit 1000000
	else
		net_in sw tc qdisc change dev "$1" root handle 1: tbf rate $rate burst "$NET_BURST" limit 1000000
	fi || fail "the tbf cannot be changed"
}

# root_replace NODE KIND
root_replace() { soak_root "$1" "$2" || fail "the root qdisc cannot be replaced"; }

# mtu_set BYTES: of the whole network. The hosts are the first to send less, and the last to send more.
mtu_set() {
	local where

	for where in h1:eth0 h2:eth0 sw:p1 sw:p2; do
		net_in "${where%:*}" ip link set "${where#*:}" mtu "$1" || fail "the MTU cannot be set"
	done
}

# link_flap N SECONDS: the switch's port goes down, and with it what the switch knew of that link.
link_flap() {
	net_in sw ip link set "p$1" down
	sleep "$2"
	net_in sw ip -batch - <<-END || fail "the link does not come back"
		link set p$1 up
		address replace 10.$1.0.1/24 dev p$1
		address replace fd00:$1::1/64 dev p$1 nodad
		neighbour replace 10.$1.0.2 lladdr 02:00:0a:00:0$1:02 nud permanent dev p$1
		neighbour replace fd00:$1::2 lladdr 02:00:0a:00:0$1:02 nud permanent dev p$1
	END
	soak_node_route "$1" || fail "the routes do not come back"
}
