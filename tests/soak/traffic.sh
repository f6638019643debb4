# SPDX-License-Identifier: GPL-2.0-only
# The permanent traffic: a bulk flow in each direction (iperf3), UDP (iperf3 -u), and requests (redis) to a pod. None of
# these connections may end, and each has to move after each action. Their windows are small, so that no queue overflows where
# nothing governs them: any loss then is Sluice's.

REDIS=10.244.2.1
LIVES=() # pids of what must live
FLOWS=() # pids of what comes and goes
declare -A MOVED=() MOVED_BEFORE=()

traffic_start() {
	local port

	for port in 5201 5202 5203; do
		net_exec h2 iperf3 -s -p $port >"$WORK/server-$port.log" 2>&1 9>&- &
		LIVES+=($!)
		wait_for 60 "iperf3 listens at port $port" server_listens h2 $port
	done
	net_exec pod1 redis-server --save '' --appendonly no --protected-mode no --dir "$WORK" >"$WORK/redis.log" 2>&1 9>&- &
	LIVES+=($!)
	wait_for 60 "redis listens" server_listens pod1 6379
	traffic_client bulk-there iperf3 -c 10.2.0.2 -p 5201 -t 86400 -i 0 -w 60K -l 8K -b "$LOAD"
	traffic_client bulk-back iperf3 -c 10.2.0.2 -p 5202 -t 86400 -i 0 -w 60K -l 8K -b "$LOAD" -R
	traffic_client udp iperf3 -c 10.2.0.2 -p 5203 -t 86400 -i 0 -u -b 1M -l 1000
	traffic_client requests redis-cli -h "$REDIS" -r -1 -i 0.05 INCR soak
	traffic_remember
	traffic_goes_on 60
}

# traffic_client NAME COMMAND...
traffic_client() {
	local name=$1

	shift
	net_exec h1 "$@" >"$WORK/$name.txt" 2>"$WORK/$name.err" 9>&- </dev/null &
	LIVES+=($!)
	LIFE_NAMES[$!]=$name
}
declare -A LIFE_NAMES=()

traffic_stop() {
	kill -TERM "${LIVES[@]}" "${FLOWS[@]}" 2>/dev/null
	sleep 1
	kill -KILL "${LIVES[@]}" "${FLOWS[@]}" 2>/dev/null
	wait "${LIVES[@]}" "${FLOWS[@]}" 2>/dev/null
	LIVES=() FLOWS=()
}

traffic_pause() {
	kill -STOP "${LIVES[@]}" 2>/dev/null
	sleep 0.5
}

traffic_resume() { kill -CONT "${LIVES[@]}" 2>/dev/null || :; }

# traffic_read: MOVED is how far each has come: bytes, datagrams, answers.
traffic_read() {
	MOVED=()
	eval "$(net_in h1 ss -tinH '( dport = :5201 or dport = :5202 )' | awk '
		/:5201( |$)/ { kind = "there" } /:5202( |$)/ { kind = "back" }
		{ for (i = 1; i <= NF; i++) {
			if (kind == "there" && index($i, "bytes_acked:") == 1) n = substr($i, 13)
			else if (kind == "back" && index($i, "bytes_received:") == 1) n = substr($i, 16)
			else continue
			if (n + 0 > most[kind]) most[kind] = n + 0 } }
		END { for (kind in most) printf "MOVED[%s]=%d\n", kind, most[kind] }')"
	MOVED[udp]=$(net_snmp h2 Udp.InDatagrams)
	MOVED[requests]=$(stat -c %s "$WORK/requests.txt")
}

traffic_remember() {
	local kind

	traffic_read
	for kind in there back udp requests; do
		MOVED_BEFORE[$kind]=${MOVED[$kind]:-0}
	done
}

traffic_has_moved() {
	local kind

	traffic_read
	STANDS=
	for kind in there back udp requests; do
		((${MOVED[$kind]:-0} > MOVED_BEFORE[$kind])) || STANDS+=" $kind"
	done
	[[ ! $STANDS ]]
}

# traffic_goes_on SECONDS: from now on, and nothing of it ended.
traffic_goes_on() {
	local seconds=$1 end=$((SECONDS + $1 + 1)) pid

	traffic_remember
	until traffic_has_moved; do
		if ((SECONDS >= end)); then
			complain stalled "$STANDS do not move within $seconds s"
			break
		fi
		sleep 0.1
	done
	for pid in "${!LIFE_NAMES[@]}"; do
		kill -0 "$pid" 2>/dev/null && [[ ! -s $WORK/${LIFE_NAMES[$pid]}.err ]] && continue
		[[ ! ${SAID_ENDED[$pid]:-} ]] || continue
		SAID_ENDED[$pid]=1
		complain ended "${LIFE_NAMES[$pid]} ended or was reset: $(tail -n 1 "$WORK/${LIFE_NAMES[$pid]}.err") $(tail -n 1 "$WORK/${LIFE_NAMES[$pid]}.txt")"
	done
}
declare -A SAID_ENDED=()

# traffic_lost: LOST segments that TCP sent again and that had not arrived, between h1 and what lives for the whole soak.
# src and the pods that pass are not in it: their counters go with them.
traffic_lost() {
	local node
	declare -A again had told

	for node in h1 h2 pod1; do
		read -r "again[$node]" "had[$node]" "told[$node]" < <(net_in "$node" cat /proc/net/snmp /proc/net/netstat | awk '
			$1 != "Tcp:" && $1 != "TcpExt:" { next }
			!($1 in names) { names[$1] = $0; next }
			{ n = split(names[$1], name)
			  for (i = 2; i <= n; i++) value[name[i]] = $i }
			END { print value["RetransSegs"] + 0, value["TCPDSACKOldSent"] + value["TCPDSACKOfoSent"], value["TCPDSACKRecvSegs"] + 0 }')
	done
	LOST=$((again[h1] - (had[h2] + had[pod1] > told[h1] ? had[h2] + had[pod1] : told[h1]) +
		again[h2] + again[pod1] - (had[h1] > told[h2] + told[pod1] ? had[h1] : told[h2] + told[pod1])))
}

# traffic_lost_is BEFORE: bytes that are sent twice also arrive twice, a little later.
traffic_lost_is() {
	local tries

	sleep 0.5
	for ((tries = 0; tries < 20; tries++)); do
		traffic_lost
		((LOST > $1)) || return 0
		sleep 0.25
	done
}

# Packets that an action of the other kind loses are sent again before the next one begins.
traffic_settle() {
	local before tries

	for ((tries = 0; tries < 20; tries++)); do
		traffic_lost
		before=$LOST
		sleep 1
		traffic_lost
		((LOST != before)) || return 0
	done
}
