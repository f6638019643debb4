# SPDX-License-Identifier: GPL-2.0-only
# The applications of tests/harm/run, programs that we did not write. Each prints lines `FIGURE VALUE more|less`: whether more
# of it is better, or less.

HARM_VRF='' # of the client
# Libraries of programs that this machine lacks (tests/lab/apps).
HARM_ENV=(env "LD_LIBRARY_PATH=$BUILD/harm/lib")

# at_client COMMAND..., at_server COMMAND...: in their namespaces. The server goes on until apps_end.
at_client() {
	# shellcheck disable=SC2086
	net_in "$HARM_CLIENT" timeout $((TIME * 10 + 30)) ${HARM_VRF:+ip vrf exec $HARM_VRF} "${HARM_ENV[@]}" "$@"
}

at_server() {
	net_exec "$HARM_SERVER" "${HARM_ENV[@]}" "$@" >>"$CASE_DIR/server.log" 2>&1 </dev/null 9>&- &
}

apps_end() {
	local pids

	# All but the daemons.
	mapfile -t pids < <(comm -23 <(processes | sort) <(printf '%s\n' "${DAEMON[@]}" | sort))
	((!${#pids[@]})) || kill -KILL "${pids[@]}" 2>/dev/null
}

# listens PORT: TCP or UDP.
listens() { [[ $(net_in "$HARM_SERVER" ss -Htuln "sport = :$1") ]]; }

# iperf OPTION...: a run of iperf3 from the client; its report is REPORT. A connection before makes the two ends known to
# each other, as they are to hosts that talk for longer than a test.
iperf() {
	REPORT=$CASE_DIR/iperf.json
	at_server iperf3 -s -1
	wait_for 20 "iperf3 listens" listens 5201
	at_client iperf3 -J -c "$HARM_ADDRESS" -t "$TIME" "$@" >"$REPORT" 2>&1 && jq -e 'has("error") | not' "$REPORT" >/dev/null ||
		fail "iperf3: $(jq -r '.error // "?"' "$REPORT")" # with -J it ends with 0 whatever happened
}

# One connection that sends all it can
app_tcp() {
	iperf -O 1
	jq -r '"Mbit/s \(.end.sum_received.bits_per_second / 1e6) more", "again \(.end.sum_sent.retransmits) less"' "$REPORT"
}

# Eight such connections
app_tcp8() {
	iperf -O 1 -P 8
	jq -r '"Mbit/s \(.end.sum_received.bits_per_second / 1e6) more", "again \(.end.sum_sent.retransmits) less"' "$REPORT"
}

# A UDP sender of 8 Mbit/s that sends each millisecond
app_udp() {
	iperf -u -b 8M
	harm_udp
}

# The same that sends ten times a second
app_udpburst() {
	iperf -u -b 8M --pacing-timer 100000
	harm_udp
}

# The same that leaves its pace to the kernel (SO_MAX_PACING_RATE)
app_udppaced() {
	[[ $NET_FQ ]] || skip "no fq in this kernel"
	iperf -u -b 0 --fq-rate 8M
	harm_udp
}

harm_udp() {
	jq -r '"Mbit/s \(.end.sum.bits_per_second * (1 - .end.sum.lost_percent / 100) / 1e6) more", "lost% \(.end.sum.lost_percent) less"' "$REPORT"
}

# datagrams OPTION...: those of a sender of 8 Mbit/s (tests/system/tools/datagrams.c) that arrive.
datagrams() {
	local sent=$((TIME * 840))

	net_exec "$HARM_SERVER" "$BUILD/datagrams" receive 5300 1000 >"$CASE_DIR/came" </dev/null 9>&- &
	wait_for 20 "the receiver listens" listens 5300
	# Hosts that talk know each other.
	at_client "$BUILD/datagrams" send "$HARM_ADDRESS" 5300 1200 80 burst=1 every=10000 >&2 || fail "datagrams: $(tail -n 1 "$CASE_DIR/$app.log")"
	at_client "$BUILD/datagrams" send "$HARM_ADDRESS" 5300 1200 $sent "$@" >&2 || fail "datagrams: $(tail -n 1 "$CASE_DIR/$app.log")"
	wait_for 20 "the receiver ends" datagrams_came
	echo "arrived% $(jq ".datagrams * 100 / ($sent + 80)" "$CASE_DIR/came") more"
}

datagrams_came() { [[ -s $CASE_DIR/came ]]; }

# A UDP sender of 8 Mbit/s that sends ten at once, as a QUIC server does
app_udpten() {
	datagrams burst=10 every=12000
}

# The same that sends 40 by one call (UDP_SEGMENT)
app_udpgso() {
	datagrams burst=40 gso=40 every=48000
}

# The same that gives each a time to leave (SO_TXTIME)
app_udptxtime() {
	[[ $NET_FQ ]] || skip "no fq in this kernel"
	datagrams txtime=1200
}

# A BGP session with a password sends all it can (TCP-MD5, tests/system/tools/digest.c)
app_md5() {
	local address

	address=$(at_client ip -j route get "$HARM_ADDRESS" ${HARM_VRF:+vrf $HARM_VRF} | jq -r '.[0].prefsrc')
	at_server "$BUILD/digest" md5 serve "$address" 1790
	wait_for 20 "the receiver listens" listens 1790
	at_client "$BUILD/digest" md5 send "$HARM_ADDRESS" 1790 >&2 &
	sleep 1
	[[ $(md5_acked) ]] || fail "no connection"
	address=$(md5_acked)
	sleep "$((TIME - 1)).9"
	echo "Mbit/s $((($(md5_acked) - address) * 8 / (TIME * 1000 - 100)))e-3 more"
}

md5_acked() { net_in "$HARM_CLIENT" ss -tinH state established "dport = :1790" | grep -o 'bytes_acked:[0-9]*' | cut -d: -f2; }

# redis_runs OPTION...: requests for the time of a run, and their latencies in ms.
redis_runs() {
	local n=200 took

	need redis-server redis-benchmark
	at_server redis-server --port 6379 --bind 0.0.0.0 --protected-mode no --save "" --daemonize no --dir "$CASE_DIR"
	wait_for 20 "redis listens" listens 6379
	# As many as take the time, with connections that the two hosts know.
	at_client redis-benchmark -h "$HARM_ADDRESS" -n $n "$@" --csv >/dev/null || fail "redis-benchmark"
	took=$(at_client redis-benchmark -h "$HARM_ADDRESS" -n $n "$@" --csv | awk -F'"' 'END { print $4 }')
	[[ ${took%.*} -gt 0 ]] || fail "redis-benchmark says '$took'"
	n=$((${took%.*} * TIME))
	at_client redis-benchmark -h "$HARM_ADDRESS" -n $((n > 200 ? n : 200)) "$@" --csv |
		awk -F'"' 'END { print "req/s", $4, "more"; print "p50", $10, "less"; print "p99", $14, "less" }'
}

# redis: one connection, one request of 64 bytes after the other
app_ask() {
	redis_runs -c 1 -d 64 -t set
}

# redis: eight connections with requests of 4 KB
app_ask8() {
	redis_runs -c 8 -d 4096 -t set
}

# redis: eight connections that get answers of 4 KB
app_get8() {
	redis_runs -c 8 -d 4096 -t set,get
}

# no_time_wait: without it ports run out, and whoever is measured second looks for one for milliseconds.
no_time_wait() {
	local node

	for node in "$HARM_CLIENT" "$HARM_SERVER"; do
		net_in "$node" sysctl -qw net.ipv4.tcp_max_tw_buckets=0 || fail "TIME_WAIT"
	done
}

# A new connection for each request (redis)
app_new() {
	no_time_wait
	redis_runs -c 8 -d 1024 -k 0 -t set
}

# web_serve: nginx with files of 4 and 100 KB.
web_serve() {
	need nginx wrk
	mkdir -p "$CASE_DIR/web"
	head -c 4096 /dev/urandom >"$CASE_DIR/web/4k"
	head -c 102400 /dev/urandom >"$CASE_DIR/web/100k"
	cat >"$CASE_DIR/nginx.conf" <<-END
	daemon off;
	master_process off;
	error_log stderr;
	pid $CASE_DIR/nginx.pid;
	user root;
	events { worker_connections 1024; }
	http {
		access_log off;
		sendfile on;
		keepalive_requests 1000000;
		client_body_temp_path $CASE_DIR/b; proxy_temp_path $CASE_DIR/p; fastcgi_temp_path $CASE_DIR/f;
		uwsgi_temp_path $CASE_DIR/u; scgi_temp_path $CASE_DIR/s;
		server { listen 80; root $CASE_DIR/web; }
	}
	END
	at_server nginx -e stderr -c "$CASE_DIR/nginx.conf"
	wait_for 20 "nginx listens" listens 80
}

# web_ask FILE [OPTION]...: wrk's figures.
web_ask() {
	local file=$1

	shift
	web_serve
	at_client wrk -t 1 -c 8 -d "$TIME" --latency "$@" "http://$HARM_ADDRESS/$file" >"$CASE_DIR/wrk" || fail "wrk: $(tail -n 1 "$CASE_DIR/wrk")"
	awk 'function ms(t) { return t ~ /us$/ ? t / 1000 : t ~ /ms$/ ? t + 0 : t * 1000 }
		$1 == "50%" { print "p50", ms($2), "less" }
		$1 == "99%" { print "p99", ms($2), "less" }
		$1 == "Requests/sec:" { print "req/s", $2, "more" }
		/Socket errors/ { gsub(",", ""); print "errors", $4 + $6 + $8 + $10, "less"; errors = 1 }
		END { if (!errors) print "errors", 0, "less" }' "$CASE_DIR/wrk"
}

# nginx and wrk: eight connections, 4 KB
app_web() {
	web_ask 4k
}

# nginx and wrk: eight connections, 100 KB
app_weblarge() {
	web_ask 100k
}

# nginx and wrk: a connection for each 4 KB
app_webnew() {
	no_time_wait
	web_ask 4k -H "Connection: close"
}

# DNS: dnsperf asks dnsmasq 2,000 times a second. (Without a rate its two threads lose each other for seconds on one CPU.)
app_dns() {
	need dnsmasq dnsperf
	at_server dnsmasq -k -C /dev/null -u root -p 53 --no-resolv --no-hosts --host-record=a.test,10.9.9.9 --pid-file="$CASE_DIR/dns.pid"
	wait_for 20 "dnsmasq listens" listens 53
	echo "a.test A" >"$CASE_DIR/names"
	at_client dnsperf -s "$HARM_ADDRESS" -d "$CASE_DIR/names" -l "$TIME" -c 1 -Q 2000 >"$CASE_DIR/dns" 2>&1 || fail "dnsperf: $(tail -n 1 "$CASE_DIR/dns")"
	awk '/Queries per second/ { print "req/s", $4, "more" } /Queries lost/ { print "lost", $3, "less" } /Average Latency/ { print "mean", $4 * 1000, "less" }' "$CASE_DIR/dns"
}


# MPTCP: one connection that sends all it can
app_mptcp() {
	local wrap=$BUILD/harm/lib/libmptcpwrap.so.0

	[[ -e $wrap ]] || skip "no mptcpize here"
	[[ -e /proc/sys/net/mptcp/enabled ]] || skip "this kernel has no MPTCP"
	[[ ! ${HARM_VRF:-} ]] || skip "'ip vrf exec' does not bind the subflows of MPTCP: connect() finds no route"
	HARM_ENV+=("LD_PRELOAD=$wrap")
	iperf -O 1
	jq -r '"Mbit/s \(.end.sum_received.bits_per_second / 1e6) more"' "$REPORT"
}

# ssh: logins, and a copy of 10 MB
app_ssh() {
	local options=(-i /root/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes) begun i

	need ssh dropbear dropbearkey
	# In the mount namespace of this run.
	mkdir -p /root
	mountpoint -q /root || mount -t tmpfs -o mode=700 harm /root || fail "/root"
	# dropbear lets nobody in whose shell is not there. In a VM there is no such file.
	[[ -e /etc/shells ]] || echo /bin/bash >/etc/shells
	if [[ ! -e /root/host ]]; then
		mkdir -m 700 /root/.ssh
		{
			"${HARM_ENV[@]}" dropbearkey -t ed25519 -f /root/host && ssh-keygen -q -t ed25519 -N '' -f /root/key
		} >&2 || fail "no keys"
		cp /root/key.pub /root/.ssh/authorized_keys
		truncate -s 10M /root/file
	fi
	at_server dropbear -F -E -r /root/host -p 22 -P /root/pid
	wait_for 20 "dropbear listens" listens 22
	begun=$(uptime_ms)
	for ((i = 0; i < 5; i++)); do
		at_client ssh "${options[@]}" "root@$HARM_ADDRESS" true 2>"$CASE_DIR/ssh.log" || fail "ssh: $(tail -n 1 "$CASE_DIR/ssh.log"); $(tail -n 1 "$CASE_DIR/server.log")"
	done
	echo "login/s $((5000000 / ($(uptime_ms) - begun)))e-3 more"
	begun=$(uptime_ms)
	at_client ssh "${options[@]}" "root@$HARM_ADDRESS" 'cat >/root/copy' </root/file 2>"$CASE_DIR/ssh.log" || fail "ssh: $(tail -n 1 "$CASE_DIR/ssh.log")"
	echo "Mbit/s $((80 * 1024 * 1024 / ($(uptime_ms) - begun)))e-3 more"
}
