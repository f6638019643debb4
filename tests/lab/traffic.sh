# SPDX-License-Identifier: GPL-2.0-only
# The kinds of traffic, except those of racks.sh and web.sh. Each returns when its measurement is over, and leaves the processes that
# it started to net_stop.

TRAFFIC_IPERF_PORT=5200
# Wire bytes of a full packet and the payload in it (timestamps on).
TRAFFIC_WIRE=1514 TRAFFIC_PAYLOAD=1448
# The payload of a datagram that leaves room for telemetry: 1364 bytes with its headers.
TRAFFIC_UDP_BYTES=1336

traffic_run() {
	if ((LAB_RACKS)); then
		racks_run "$1"
	elif [[ $LAB == pfc ]]; then
		pfc_run "$1"
	elif ((LAB_JOIN)); then
		traffic_join "$1"
	elif ((LAB_SIZE)); then
		traffic_finite "$1"
	elif [[ $LAB_APP ]]; then
		web_run "$1"
	else
		traffic_long "$1"
	fi
}

# traffic_clock PID LIMIT_S: seconds tick by until PID ends; after LIMIT_S it is ended.
traffic_clock() {
	local clock status

	(
		for ((second = 1; second <= $2; second++)); do
			sleep 1
			echo "clock $LAB_CC${LAB_MECH:+-$LAB_MECH} $second $((LAB_TIME / 1000000))"
		done
		echo "lab: $LAB_CC is not over after $2 s"
		kill -TERM "$1"
	) >&2 9>&- &
	clock=$!
	wait "$1"
	status=$?
	kill $clock 2>/dev/null
	wait $clock 2>/dev/null
	return $status
}

# traffic_servers RAW COUNT: an iperf3 server for each of the first COUNT senders, listening.
traffic_servers() {
	local raw=$1 i receiver tries=0 wanted

	for ((i = 0; i < $2; i++)); do
		net_spawn "${NET_RECEIVERS[i]}" iperf3 -4 -s -p $((TRAFFIC_IPERF_PORT + i)) \
			>"$raw/iperf-server-$i.log" 2>&1
	done
	for receiver in $(printf '%s\n' "${NET_RECEIVERS[@]:0:$2}" | sort -u); do
		wanted=$(printf '%s\n' "${NET_RECEIVERS[@]:0:$2}" | grep -cx "$receiver")
		until (($(net_in "$receiver" cat /proc/net/tcp | grep -c ' 0A ') >= wanted)); do
			if ((++tries > 200)); then
				echo "lab: iperf3 does not listen:" >&2
				tail -n 3 "$raw"/iperf-server-*.log >&2
				return 1
			fi
			sleep 0.05
		done
	done
}

# traffic_client RAW I: the long flow of sender I, or PARALLEL of them, as soon as traffic_go has been called. CLASSES are dealt to
# the senders in turn, by DSCP. In LAB=udp the first TCP of them send TCP, the others their share of what is offered.
traffic_client() {
	local udp=() tos=() classes

	read -ra classes <<<"$LAB_CLASSES"
	((${#classes[@]} == 0)) || tos=(-S $(($2 % ${#classes[@]} * 32)))
	if [[ $LAB == udp ]] && (($2 >= LAB_TCP)); then
		udp=(-u -b $((LAB_RATE / 100 * LAB_OFFER / LAB_SENDERS)) -l "$TRAFFIC_UDP_BYTES")
	fi
	# shellcheck disable=SC2016
	net_spawn "${NET_SENDERS[$2]}" bash -c ': <"$0" && exec "$@"' "$1/gate" \
		iperf3 -4 -c "${NET_ADDR[${NET_RECEIVERS[$2]}]}" -p $((TRAFFIC_IPERF_PORT + $2)) \
		-P "$LAB_PARALLEL" -t $((LAB_TIME / 1000000 + 120)) -i 0 "${udp[@]}" "${tos[@]}" >"$1/iperf-$2.log" 2>&1
}

# Opening the gate for writing wakes all of its readers.
traffic_go() {
	exec 7>"$1/gate"
}

# traffic_wait_begun RAW: until the sampler has seen every flow, or ended.
traffic_wait_begun() {
	local tries=0

	until grep -q begun "$1/sample.log" || ! kill -0 "$LAB_SAMPLER" 2>/dev/null; do
		((++tries > 3000)) && return 1
		sleep 0.02
	done
}

# traffic_attach RAW: with ATTACH=late, what cc_apply has left out, a second after the flows started.
# The mark in the sampler's log, from which TIME counts, is when all of it is there.
traffic_attach() {
	local from

	[[ $LAB_ATTACH ]] || return 0
	sleep 1
	from=${EPOCHREALTIME/./}
	cc_start "$LAB_CC" "$LAB_BASE" "${1%/raw}" || return 1
	kill -USR1 "$LAB_SAMPLER"
	lab_say "$LAB_CC: attached within $(((${EPOCHREALTIME/./} - from) / 1000)) ms"
}

# Long flows of every sender; the sampler ends TIME after the last of them began (ATTACH=late: after
# that).
traffic_long() {
	local i status

	traffic_servers "$1" "$LAB_SENDERS" || return 1
	mkfifo "$1/gate" || return 1
	for ((i = 0; i < LAB_SENDERS; i++)); do
		traffic_client "$1" $i
	done
	sleep 0.2
	traffic_go "$1"
	traffic_attach "$1" || return 1
	traffic_clock "$LAB_SAMPLER" $((LAB_TIME / 1000000 + 60))
	status=$?
	exec 7>&-
	rm "$1/gate"
	((status)) || return 0
	grep -h error "$1"/iperf-*.log | sort | uniq -c >&2
	return 1
}

# traffic_ends I: sender, receiver and address of flow I, as lab-flows wants them.
traffic_ends() {
	local receiver=${NET_RECEIVERS[$1]}

	echo "${NET_SENDERS[$1]},$receiver,${NET_ADDR[$receiver]}"
}

# traffic_limit START: how long finite flows, the last of which starts then, may take.
traffic_limit() {
	local wire ideal limit

	wire=$((LAB_SENDERS * LAB_SIZE / TRAFFIC_PAYLOAD * TRAFFIC_WIRE))
	ideal=$((wire * 8 * 1000 / (LAB_RATE / 1000)))
	limit=$((5 * ideal + $1 + 100 * LAB_RTT + 5000000))
	echo $((limit < LAB_TIME ? LAB_TIME : limit))
}

# One finite flow per sender, at once or two every STAGGER.
traffic_finite() {
	local i start args=() limit

	for ((i = 0; i < LAB_SENDERS; i++)); do
		start=$((20000 + i / 2 * LAB_STAGGER))
		args+=(-f "$start,$(traffic_ends $i),$LAB_SIZE")
	done
	limit=$(traffic_limit "$start")
	"$LAB_BUILD/lab-flows" -o "$1/flows.csv" -t "$limit" "${args[@]}" &
	NET_PIDS+=($!)
	traffic_clock $! $((limit / 1000000 + 10)) || return 1
	# The queue afterwards.
	sleep 0.2
}

# A long flow; finite ones of the other sender join it at 3/10 and 6/10 of TIME.
traffic_join() {
	local flow

	flow=$(traffic_ends 1),$LAB_JOIN
	traffic_servers "$1" 1 || return 1
	mkfifo "$1/gate" || return 1
	traffic_client "$1" 0
	traffic_go "$1"
	exec 7>&-
	rm "$1/gate"
	"$LAB_BUILD/lab-flows" -o "$1/flows.csv" -t $((LAB_TIME + 60000000)) \
		-f $((LAB_TIME * 3 / 10)),"$flow" -f $((LAB_TIME * 6 / 10)),"$flow" &
	NET_PIDS+=($!)
	traffic_clock $! $((LAB_TIME / 1000000 + 70)) || return 1
	sleep $((LAB_TIME / 4000000 + 1))
}
