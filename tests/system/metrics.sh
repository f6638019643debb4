# SPDX-License-Identifier: GPL-2.0-only
# The endpoint for Prometheus: its content, and its safety from clients and neighbours.

METRICS=127.0.0.1:9463

# By bash alone: there is no curl in the VMs.
metrics_of() {
	net_in "$1" timeout 10 bash -c "exec 3<>/dev/tcp/${METRICS/://}"' &&
		printf "GET /metrics HTTP/1.0\r\n\r\n" >&3 && sed "1,/^\r$/d" <&3' 9>&-
}

# metric NODE SAMPLE: the value of the sample of that name and those labels.
metric() { metrics_of "$1" | awk -v name="$2" 'index($0, name " ") == 1 { print substr($0, length(name) + 2) }'; }

metric_above() { awk -v have="$(metric "$1" "$2")" -v want="$3" 'BEGIN { exit !(have != "" && have + 0 > want + 0) }'; }

# metric_soon NODE SAMPLE NUMBER: it comes to be more.
metric_soon() { wait_for 20 "$2 of $1 is more than $3" metric_above "$@"; }

metrics__tell_what_sluicectl_tells() {
	local before after now top

	net_up
	host_config h1 'metrics: {flows: 3}' >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	expect_said h1 "metrics: at $METRICS"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1

	before=$(stat_of h1 tx_beside)
	now=$(metric h1 sluice_tx_beside_total)
	after=$(stat_of h1 tx_beside)
	expect "tx_beside" "$now" -ge "$before"
	expect "tx_beside" "$now" -le "$after"
	metric_soon h1 'sluice_flows{state="governed"}' 0
	metric_soon h1 'sluice_peer_flows{peer="10.0.0.0/8"}' 0
	metric_soon h1 'sluice_peer_rate_bytes_per_second{peer="10.0.0.0/8"}' 100000
	metric_soon h1 sluice_flow_queue_delay_seconds_count 1
	metric_soon h1 sluice_flow_feedback_age_seconds_count 1
	metric_soon h1 sluice_flow_pacing_delay_seconds_count 1
	# fq lets R hold them.
	metric_soon h1 "sluice_peer_held_flows{peer=\"10.0.0.0/8\",by=\"$([[ $NET_FQ ]] && echo rate || echo window)\"}" 0
	expect "what holds the busiest" "$(metrics_of h1 | grep '^sluice_top_flow_held')" has 'protocol="tcp",by="'
	expect "flows to nobody" "$(metric h1 'sluice_peer_flows{peer="fd00::/16"}')" = 0
	expect "base_rtt" "$(metric h1 'sluice_peer_base_rtt_seconds{peer="10.0.0.0/8"}')" = 0.002
	expect "speed of eth0" "$(metric h1 'sluice_port_speed_bytes_per_second{port="eth0",role="host"}')" = 12500000
	expect "flow map" "$(metric h1 sluice_flows_limit)" -eq 65536
	expect "mode" "$(metrics_of h1 | grep '^sluice_info')" has "mode=\"enforce\",congestion_control=\"${CC}h1\""
	top=$(metrics_of h1 | grep '^sluice_top_flow_tx_bytes_total')
	expect "busiest flows" "$top" has 'remote="10.2.0.2",remote_port="5201",protocol="tcp"'
	expect "their number" "$(wc -l <<<"$top")" -le 3
	# The buckets of a histogram only grow, to its count.
	metrics_of h1 | awk '/^sluice_flow_queue_delay_seconds_bucket/ { if ($2 < last) bad = 1; last = $2 }
		/^sluice_flow_queue_delay_seconds_count/ { if ($2 != last) bad = 1 } END { exit bad }' ||
		fail "the buckets of the queue delay do not add up"

	ctl h1 bypass on >/dev/null
	metric_soon h1 sluice_bypass 0
	ctl h1 bypass off >/dev/null
	# Without the section there is nothing any more; with it there is again.
	host_config h1 >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	! metrics_of h1 >/dev/null 2>&1 || fail "it is served though nobody asked for it"
	host_config h1 'metrics: {}' >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	metric_soon h1 'sluice_flows{state="governed"}' 0
	expect "busiest flows" "$(metrics_of h1 | grep -c '^sluice_top_flow')" -eq 0
	bulk_unharmed
	bulk_stop
}

# While packets go to a VOQ, and no longer.
metrics__tell_how_long_credit_takes() {
	local delay=sluice_voq_credit_delay_seconds count

	credits_up "metrics: {}"
	expect "samples before there is a VOQ" "$(metric h1 ${delay}_count)" -eq 0
	bulk_start h1 10.2.0.2 -P 3
	metric_soon h1 ${delay}_count 2
	[[ ! $NET_FQ ]] || metric_soon h1 ${delay}_sum 0
	# No packet waits for longer than the limit, which is 64 times base_rtt and a period.
	expect "waits of up to 0.2 s" "$(metric h1 "${delay}_bucket{le=\"0.2\"}")" = "$(metric h1 ${delay}_count)"
	bulk_goes_on
	bulk_stop
	wait_for 20 "samples end with the traffic" metric_rests h1 ${delay}_count
	count=$(metric h1 ${delay}_count)
	daemon_hup h1 reloaded
	expect "samples after a reload" "$(metric h1 ${delay}_count)" -ge "$count"
}

# metric_rests NODE SAMPLE: it is the same for three seconds.
metric_rests() {
	local was

	was=$(metric "$1" "$2")
	sleep 3
	[[ $(metric "$1" "$2") == "$was" ]]
}

# One of each pause by prediction, and none of what XOFF asks for.
metrics__tell_how_early_pauses_are() {
	local lead=sluice_pfc_prediction_lead_seconds late

	net_up without-fq
	{
		pfc_switch ppfc "buffer: 400KB, k_max: 10KB, t_thresh: 50ms, seed: 1"
		echo "metrics: {}"
	} >"$CASE_DIR/sw.yaml"
	daemon_start sw
	server h2
	expect "pauses before there is traffic" "$(metric sw ${lead}_count)" -eq 0
	bulk_udp_start h1 10.2.0.2 -b 150M -l 1400 -S $PFC_TOS
	metric_soon sw ${lead}_count 0
	metric_soon sw ${lead}_sum 0
	bulk_udp_stop
	ports_soon sw p1 .told -
	wait_for 20 "there is a sample of each pause" lead_is_of_each_pause
	late=$(metric sw "${lead}_bucket{le=\"0.05\"}")
	expect "pauses when there was less than t_thresh" "$late" = "$(metric sw ${lead}_count)"
	daemon_stop sw
}

lead_is_of_each_pause() {
	[[ $(metric sw sluice_pfc_prediction_lead_seconds_count) == $(ports_of sw p1 .predicted) ]]
}

# The endpoint serves exactly the list, and in order.
metrics__pass_promtool() {
	local promtool

	promtool=$("$SYSTEM_DIR/../deploy/promtool" 2>"$CASE_DIR/promtool.log") ||
		skip "no promtool: $(tail -n 1 "$CASE_DIR/promtool.log")"
	net_up
	switch_config >"$CASE_DIR/sw.yaml"
	echo 'metrics: {}' >>"$CASE_DIR/sw.yaml"
	host_config h1 'metrics: {flows: 5}' >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	bulk_stop
	for node in h1 sw; do
		metrics_of $node >"$CASE_DIR/metrics.txt"
		"$promtool" check metrics <"$CASE_DIR/metrics.txt" >"$CASE_DIR/promtool.log" 2>&1 ||
			fail "promtool on $node: $(head -n 3 "$CASE_DIR/promtool.log")"
		grep '^#' "$CASE_DIR/metrics.txt" >"$CASE_DIR/served.txt"
		"$BUILD/sluiced" --list-metrics >"$CASE_DIR/listed.txt"
		same "metrics of $node and --list-metrics" "$CASE_DIR/served.txt" "$CASE_DIR/listed.txt"
	done
}

# Requests that are none, and clients that take what is not theirs: others are served, and packets go on.
metrics__bad_clients() {
	local threads fds i status

	need curl
	net_up
	host_config h1 'metrics: {flows: 100}' >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	fds=$(find "/proc/${DAEMON[h1]}/fd" | wc -l)

	for i in "GET /" "GET /metrics/x" "POST /metrics" "DELETE /metrics"; do
		status=404
		[[ $i == GET* ]] || status=405
		expect "answer to $i" "$(net_in h1 curl -s -o /dev/null -w '%{http_code}' -X "${i% *}" \
			"http://$METRICS${i#* }")" = $status
	done
	expect "type" "$(net_in h1 curl -sI "http://$METRICS/metrics")" has "text/plain; version=0.0.4"
	net_in h1 bash -c "exec 3<>/dev/tcp/${METRICS/://}; head -c 200000 /dev/zero >&3; cat <&3" >/dev/null 2>&1
	metric_soon h1 'sluice_flows{state="governed"}' 0

	# A thousand that connect, some ask again and again, and none reads.
	net_exec h1 bash -c 'trap "" PIPE; for ((i = 0; i < 1000; i++)); do
			exec {fd}<>"/dev/tcp/'"${METRICS/://}"'" && ((i % 4)) && for ((k = 0; k < 8; k++)); do
				printf "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" >&$fd
			done
		done; exec sleep 60' >"$CASE_DIR/clients.log" 2>&1 9>&- &
	threads=$!
	wait_for 10 "more clients than there may be" metrics_clients h1 17
	for ((i = 0; i < 20; i++)); do
		sleep 0.2
		expect "files of sluiced" "$(find "/proc/${DAEMON[h1]}/fd" | wc -l)" -le $((fds + 260))
	done
	expect "heartbeat" "$(status_of h1 .daemon_alive)" = true
	daemon_hup h1 reloaded
	bulk_goes_on # retransmissions prove nothing here: the clients' own SYNs are among them
	kill -KILL $threads
	wait $threads 2>/dev/null
	wait_for 20 "it is served again" metrics_of h1 >/dev/null
	wait_for 20 "no file is left" metrics_files h1 $fds
	bulk_stop
}

# Connections that say nothing, or half a request, or take no answer, keep nobody from being served.
metrics__idle_clients_block_nobody() {
	local kind request holders i fds

	net_up
	host_config h1 'metrics: {flows: 3}' >"$CASE_DIR/h1.yaml"
	daemon_start h1
	fds=$(find "/proc/${DAEMON[h1]}/fd" | wc -l)
	expect "bytes without others" "$(metrics_of h1 | wc -c)" -gt 5000
	for kind in nothing half unread; do
		case $kind in
		nothing) request='' ;;
		half) request='GET /metrics HTTP/1.1\r\nHost: a\r\n' ;;
		unread) request='GET /metrics HTTP/1.1\r\nHost: a\r\n\r\nGET /metrics HTTP/1.1\r\nHost: a\r\n\r\n' ;;
		esac
		# Four times ninety, who come anew whenever they are turned out.
		holders=()
		for ((i = 0; i < 4; i++)); do
			# shellcheck disable=SC2016
			net_exec h1 bash -c 'trap "" PIPE; while :; do
					for ((i = 0; i < 90; i++)); do
						exec {fd[i]}<>"/dev/tcp/$0" && printf "$1" >&${fd[i]}
					done 2>/dev/null
					sleep 0.5
					for ((i = 0; i < 90; i++)); do exec {fd[i]}>&-; done 2>/dev/null
				done' "${METRICS/://}" "$request" >"$CASE_DIR/holders.log" 2>&1 9>&- &
			holders+=($!)
		done
		wait_for 20 "a hundred clients of whom each sends $kind" metrics_clients h1 100
		for ((i = 0; i < 2; i++)); do
			expect "bytes beside clients of whom each sends $kind" "$(metrics_of h1 | wc -c)" -gt 5000
		done
		kill -KILL "${holders[@]}"
		wait "${holders[@]}" 2>/dev/null
	done
	expect "heartbeat" "$(status_of h1 .daemon_alive)" = true
	wait_for 20 "no file is left" metrics_files h1 "$fds"
}

metrics_clients() { (($(net_in "$1" ss -tnH state established "dport = :${METRICS#*:}" | wc -l) >= $2)); }
metrics_files() { (($(find "/proc/${DAEMON[$1]}/fd" | wc -l) <= $2)); }

# The process that holds the address is named, everything else goes on, and a SIGHUP tries again.
metrics__port_is_taken() {
	local taker

	need curl
	net_up
	host_config h1 'metrics: {}' >"$CASE_DIR/h1.yaml"
	net_exec h1 iperf3 -s -B 127.0.0.1 -p 9463 >"$CASE_DIR/taker.log" 2>&1 9>&- &
	taker=$!
	wait_for 10 "the port is taken" metrics_taken h1
	daemon_start h1 h2 sw
	expect_said h1 "metrics: $METRICS: Address already in use: there are none for now, and all else goes on"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	kill $taker
	wait $taker 2>/dev/null
	daemon_hup h1 "metrics: at $METRICS"
	metric_soon h1 'sluice_flows{state="governed"}' 0
	bulk_unharmed
	bulk_stop
}

metrics_taken() { [[ $(net_in "$1" ss -tlnH) == *:9463* ]]; }

# A socket that a crash left is taken over; that of a daemon that runs is not.
metrics__by_a_socket() {
	local at=$CASE_DIR/metrics.sock

	need curl
	net_up
	host_config h1 "metrics: {listen: $at}" >"$CASE_DIR/h1.yaml"
	host_config h2 "metrics: {listen: $at}" >"$CASE_DIR/h2.yaml"
	daemon_start h1
	expect "owner, group and others" "$(stat -c %a "$at")" = 660
	expect "bytes of metrics" "$(curl -s --unix-socket "$at" http://localhost/metrics | wc -c)" -gt 5000
	daemon_start h2
	expect_said h2 "metrics: $at: Address already in use"
	daemon_kill h1
	daemon_start h1
	expect_said h1 "metrics: at $at"
	expect "mode of h1" "$(curl -s --unix-socket "$at" http://localhost/metrics)" has "congestion_control=\"${CC}h1\""
	daemon_stop h1
	[[ ! -e $at ]] || fail "it left $at"
	host_config h1 'metrics: {listen: /none/metrics.sock}' >"$CASE_DIR/h1.yaml"
	daemon_start h1
	expect_said h1 "metrics: /none/metrics.sock: No such file or directory"
}

# idle NODE: of five seconds, wake-ups are at most one a second (and one for a second that begins and ends within
# them), and CPU time is below 0.1 % of a core. In the VM an instruction takes 1 ns: no CPU is so slow.
idle() {
	local pid=${DAEMON[$1]} from before wakes ns_per_ms=1000

	! alone || ns_per_ms=5000
	from=$(uptime_ms)
	wakes=$(awk '/^voluntary/ { print $2 }' "/proc/$pid/status")
	read -r before _ <"/proc/$pid/schedstat"
	sleep 5
	wakes=$(($(awk '/^voluntary/ { print $2 }' "/proc/$pid/status") - wakes))
	echo "$1: $wakes wake-ups, $(($(cut -d ' ' -f 1 "/proc/$pid/schedstat") - before)) ns in $(($(uptime_ms) - from)) ms" >>"$CASE_DIR/idle.log"
	((wakes <= ($(uptime_ms) - from) / 1000 + 1 &&
		$(cut -d ' ' -f 1 "/proc/$pid/schedstat") - before < ($(uptime_ms) - from) * ns_per_ms))
}

# An empty flow map is not looked through, however large it is. It is again when there are flows, which are forgotten.
metrics__an_idle_daemon_sleeps_beside_a_large_map() {
	local round

	[[ -r /proc/self/schedstat ]] || skip "no /proc/PID/schedstat here"
	awk '/^MemAvailable:/ { exit $2 < 1500000 }' /proc/meminfo || skip "less than 1.5 GB of memory is free"
	net_up
	host_config h1 "max_flows: 1000000" "flow_timeout: 2s" "metrics: {listen: $CASE_DIR/h1.sock}" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	expect "room" "$(bpftool -j map show pinned "$PINS/ssys-h1/flows" | jq .max_entries)" -eq 1000000
	wait_for 60 "sluiced of h1 sleeps" idle h1
	server h2
	for round in 1 2; do
		transfer h1 10.2.0.2 -t 1
		expect "flows" "$(status_of h1 .flows)" -ge 1
		expect "entries made" "$(stat_of h1 flow_made)" -ge $((2 * round))
		wait_for 60 "the flow map of h1 is empty" flows_none h1
		wait_for 60 "sluiced of h1 sleeps after traffic" idle h1
	done
}

metrics__an_idle_daemon_sleeps() {
	local ns

	[[ -r /proc/self/schedstat ]] || skip "no /proc/PID/schedstat here"
	net_up
	for ns in h1 h2; do
		host_config $ns "metrics: {listen: $CASE_DIR/$ns.sock}" "hiercc: {enabled: true}" >"$CASE_DIR/$ns.yaml"
	done
	daemon_start h1 h2 sw
	for ns in h1 h2 sw; do
		wait_for 60 "sluiced of $ns sleeps" idle $ns
	done
	# After traffic, in which credits had a timer of their own, it does so again.
	server h2
	transfer h1 10.2.0.2 -t 1
	expect "credit" "$(stat_of h1 credit_taken)" -gt 0
	for ns in h1 h2 sw; do
		wait_for 60 "sluiced of $ns sleeps after traffic" idle $ns
	done
}
