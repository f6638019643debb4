# SPDX-License-Identifier: GPL-2.0-only
# APP=web: curl gets a large file from each sending pod's nginx, to the pod get of r1, while
# redis-benchmark in the pod ask of r1 asks a redis-server in NET_REDIS, through the same bottleneck.
#
# Files that it leaves in RAW: redis.log, everything redis-benchmark said; bulk, the bytes that all curls
# together had at the beginning and the end of the measurement, with the time of each (us).

WEB_PORT=80 WEB_REDIS_PORT=6379
# Requests of one redis-benchmark: few, because the last one is waited for, but not so few that connecting is
# most of it. Its answers have this size.
WEB_REQUESTS=20 WEB_VALUE_BYTES=1000
WEB_DIR=

# web_app PROGRAM: how to start it, in WEB_APP. Libraries: in the VM they are where all are.
web_app() {
	WEB_APP=(env LD_LIBRARY_PATH="$LAB_BUILD/apps/lib" "$LAB_BUILD/apps/bin/$1")
}

# A file of any size takes no room, and is outside $OUT, which is copied.
web_files() {
	WEB_DIR=$(mktemp -d) || return 1
	truncate -s 1T "$WEB_DIR/large" || return 1
	cat >"$WEB_DIR/nginx.conf" <<-END
	daemon off;
	master_process off;
	error_log stderr;
	events { worker_connections 64; }
	http {
		access_log off;
		sendfile on;
		client_body_temp_path $WEB_DIR/body;
		proxy_temp_path $WEB_DIR/proxy;
		fastcgi_temp_path $WEB_DIR/fastcgi;
		uwsgi_temp_path $WEB_DIR/uwsgi;
		scgi_temp_path $WEB_DIR/scgi;
		server { listen $WEB_PORT; root $WEB_DIR; }
	}
	END
}

web_clean() {
	[[ $WEB_DIR ]] && rm -rf "$WEB_DIR"
	WEB_DIR=
}

# web_listens POD LOG: waits for a server.
web_listens() {
	local tries=0

	until net_in "$1" grep -q ' 0A ' /proc/net/tcp; do
		if ((++tries > 200)); then
			echo "lab: the server in slab-$1 does not listen:" >&2
			tail -n 3 "$2" >&2
			return 1
		fi
		sleep 0.05
	done
}

# web_servers RAW: one nginx in each sender, and redis.
web_servers() {
	local pod

	for pod in "${NET_SENDERS[@]}"; do
		web_app nginx
		net_spawn "$pod" "${WEB_APP[@]}" -e stderr -c "$WEB_DIR/nginx.conf" \
			-g "pid $WEB_DIR/$pod.pid;" >"$1/nginx-$pod.log" 2>&1
	done
	web_app redis-server
	net_spawn "$NET_REDIS" "${WEB_APP[@]}" --port $WEB_REDIS_PORT --bind 0.0.0.0 \
		--protected-mode no --save "" --dir "$WEB_DIR" >"$1/redis-server.log" 2>&1
	for pod in "${NET_SENDERS[@]}"; do
		web_listens "$pod" "$1/nginx-$pod.log" || return 1
	done
	web_listens "$NET_REDIS" "$1/redis-server.log"
}

# web_ask TEST REQUESTS: one connection, one request at a time.
web_ask() {
	web_app redis-benchmark
	net_in ask "${WEB_APP[@]}" -h "${NET_ADDR[$NET_REDIS]}" -p $WEB_REDIS_PORT -t "$1" -n "$2" \
		-c 1 -d $WEB_VALUE_BYTES --precision 3 | tr '\r' '\n'
	return "${PIPESTATUS[0]}"
}

# web_bulk RAW: the bytes that the curls have written so far.
web_bulk() {
	local pid bytes=0 io

	for pid in "${WEB_CURLS[@]}"; do
		io=$(sed -n 's/^wchar: //p' "/proc/$pid/io" 2>/dev/null) || return 0
		bytes=$((bytes + io))
	done
	echo "${EPOCHREALTIME/./} $bytes" >>"$1/bulk"
}

# Whole ones only, one after the other, until the sampler has ended; a last one that were cut off
# would leave the slow answers out.
web_ask_on() {
	while kill -0 "$LAB_SAMPLER" 2>/dev/null; do
		web_ask get $WEB_REQUESTS >>"$1/redis.log" || return 1
	done
}

web_run() {
	local i status ask

	web_files && web_servers "$1" || return 1
	web_ask set 1 >"$1/redis-set.log" && web_ask get $WEB_REQUESTS >"$1/redis-idle.log" || return 1
	mkfifo "$1/gate" || return 1
	WEB_CURLS=()
	web_app curl
	for ((i = 0; i < LAB_LONG; i++)); do
		# shellcheck disable=SC2016
		net_spawn get bash -c ': <"$0" && exec "$@"' "$1/gate" "${WEB_APP[@]}" -sS \
			-o /dev/null "http://${NET_ADDR[${NET_SENDERS[i]}]}:$WEB_PORT/large" \
			>"$1/curl-$i.log" 2>&1
		WEB_CURLS+=("$NET_PID")
	done
	sleep 0.2
	traffic_go "$1"
	traffic_attach "$1" || return 1
	traffic_wait_begun "$1" || lab_say "lab: not every download began"
	sleep "$((LAB_WARMUP / 1000000)).$(printf '%06d' $((LAB_WARMUP % 1000000)))"
	web_bulk "$1"
	web_ask_on "$1" &
	ask=$!
	NET_PIDS+=("$ask")
	traffic_clock "$LAB_SAMPLER" $((LAB_TIME / 1000000 + 60))
	status=$?
	web_bulk "$1"
	wait $ask || status=1
	exec 7>&-
	rm "$1/gate"
	((status)) || return 0
	tail -qn 2 "$1"/curl-*.log "$1"/nginx-*.log "$1"/redis*.log >&2
	return 1
}
