# SPDX-License-Identifier: GPL-2.0-only
# Metrics of the busiest pods: at the node h2 of node.sh, with bundles of pods.sh.

# told_config PODS [LINE]...: of h2, with the bundles of this case.
told_config() { node_config h2 "metrics: {pods: $1, bundles: $CASE_DIR/bundles}" "${@:2}"; }

# told NODE METRIC POD: its value for the pod "namespace/name", or of a veth without a name.
told() {
	local labels="pod=\"${3#*/}\",namespace=\"${3%/*}\""

	[[ $3 == */* ]] || labels="port=\"$3\"}"
	metrics_of "$1" | awk -v name="sluice_pod_$2{" -v labels="$labels" 'index($0, name) == 1 && index($0, labels) { print $NF }'
}

# told_pods NODE: in the order in which they are told.
told_pods() {
	metrics_of "$1" | sed -n 's/^sluice_pod_flows{port="\([^"]*\)",pod="\([^"]*\)",namespace="\([^"]*\)"} .*/\3\/\2/p
		s/^sluice_pod_flows{port="\([^"]*\)"} .*/\1/p' | xargs
}

# told_soon NODE PODS: these are told, in whatever order; PODS are sorted.
told_are() { [[ $(told_pods "$1" | tr ' ' '\n' | sort | xargs) == "$2" ]]; }
told_soon() { wait_for 30 "the pods that $1 tells are '$2'" told_are "$1" "$2"; }
told_above() { awk -v have="$(told "$1" "$2" "$3")" -v want="$4" 'BEGIN { exit !(have != "" && have + 0 > want + 0) }'; }
told_above_soon() { wait_for 20 "$2 of $3 at $1 is more than $4" told_above "$@"; }

# told_up: a routed pod of containerd, one of CRI-O, and one at a bridge, all with a queue.
told_up() {
	node_up h2 without-fq
	node_pod h2 pod1 11
	node_pod h2 pod2 12
	node_bridge_pod h2 pod3 13
	node_queue h2 pod1 20mbit
	node_queue h2 pod2 10mbit
	node_queue h2 pod3 20mbit
	pods_bundle pod1 web-0 shop
	CRIO=1 pods_bundle pod2 web-0 test-2
	pods_bundle pod3 db-0 shop
}

metrics__tell_of_the_busiest_pods() {
	local before

	told_up
	told_config 2
	daemon_start h1 h2 sw
	node_pods_soon h2 "to-pod1 to-pod2 to-pod3"
	server pod3
	bulk_start h1 10.244.2.13
	governed_soon h1
	node_hops h1 2
	wait_for 20 "the busiest pod is that at the bridge" told_first_is shop/db-0
	expect "pods that are told" "$(told_pods h2 | wc -w)" -eq 2
	expect "rate of its queue" "$(told h2 speed_bytes_per_second shop/db-0)" -eq 2500000
	told_above_soon h2 tx_bytes_total shop/db-0 100000
	before=$(told h2 tx_bytes_total shop/db-0)
	told_above_soon h2 tx_bytes_total shop/db-0 "$before"
	told_above_soon h2 flows shop/db-0 0
	expect "its queue, if there is one" "$(told h2 backlog_bytes shop/db-0)" -ge 0
	expect "flows of another" "$(metrics_of h2 | grep -c '^sluice_pod_flows{.*} [1-9]')" -eq 1
	expect "pods whose queue is read" "$(metric h2 sluice_pods)" -eq 3
	# The other direction, whose flow has feedback here: what the receive window of the pod holds.
	bulk_stop
	bulk_start h1 10.244.2.13 --bidir
	governed_soon h2
	wait_for 20 "a flow of the pod is held, or none" told_held shop/db-0
	bulk_unharmed
	bulk_stop
	servers_stop
	# The load is forgotten with time, the counter is not.
	server pod2
	bulk_start h1 10.244.2.12
	told_above_soon h2 tx_bytes_total test-2/web-0 1000000
	expect "bytes of the one before" "$(told h2 tx_bytes_total shop/db-0)" -gt "$before"
	bulk_goes_on
	bulk_stop
}

told_first_is() { [[ $(told_pods h2) == "$1 "* ]]; }

# told_held POD: each of its flows with feedback is counted once.
told_held() {
	metrics_of h2 | awk -v labels="pod=\"${1#*/}\",namespace=\"${1%/*}\",by=" '
		/^sluice_pod_held_flows/ && index($0, labels) { series++; sum += $2 } END { exit !(series == 6 && sum >= 1) }'
}

# Pods that come and go, without a name, and with one that comes later; a reload, a crash, and the endpoint as promtool wants it.
metrics__names_of_pods_follow() {
	local before promtool

	told_up
	rm -r "$CASE_DIR/bundles"
	told_config 9
	daemon_start h2
	expect_said h2 "metrics: pods: $CASE_DIR/bundles is not there, so pods are told without their names: 'metrics: bundles' names"
	node_pods_soon h2 "to-pod1 to-pod2 to-pod3"
	told_soon h2 "to-pod1 to-pod2 to-pod3"
	pods_bundle pod1 web-0 shop
	told_soon h2 "shop/web-0 to-pod2 to-pod3"
	# A bundle in the middle of being written, and one of a pod whose network namespace comes later.
	mkdir "$CASE_DIR/bundles/pod2"
	echo '{"annotations": {"io.kubern' >"$CASE_DIR/bundles/pod2/config.json"
	pods_bundle pod4 later shop
	sleep 2.5
	pods_bundle pod2 web-0 test-2
	told_soon h2 "shop/web-0 test-2/web-0 to-pod3"
	node_pod h2 pod4 14
	node_queue h2 pod4 10mbit
	told_soon h2 "shop/later shop/web-0 test-2/web-0 to-pod3"
	# The bundle of a pod that has ended stays, as with CRI-O, and another pod gets the number of its network namespace.
	before=$(told_number pod4)
	ip netns del "${NET_PREFIX}pod4"
	told_soon h2 "shop/web-0 test-2/web-0 to-pod3"
	node_pod h2 pod5 15
	node_queue h2 pod5 10mbit
	expect "number of its network namespace" "$(told_number pod5)" = "$before"
	told_soon h2 "shop/web-0 test-2/web-0 to-pod3 to-pod5"
	rm -r "$CASE_DIR/bundles/pod2"
	told_soon h2 "shop/web-0 to-pod2 to-pod3 to-pod5"
	daemon_hup h2 reloaded
	told_are h2 "shop/web-0 to-pod2 to-pod3 to-pod5" || fail "after a reload others are told: $(told_pods h2)"
	daemon_kill h2
	daemon_start h2
	told_soon h2 "shop/web-0 to-pod2 to-pod3 to-pod5"
	if promtool=$("$SYSTEM_DIR/../deploy/promtool" 2>"$CASE_DIR/promtool.log"); then
		metrics_of h2 >"$CASE_DIR/metrics.txt"
		"$promtool" check metrics <"$CASE_DIR/metrics.txt" >"$CASE_DIR/promtool.log" 2>&1 ||
			fail "promtool: $(head -n 3 "$CASE_DIR/promtool.log")"
	fi
	told_config 0
	daemon_hup h2 reloaded
	told_soon h2 ""
	expect "pods whose queue is read" "$(metric h2 sluice_pods)" -eq 4
}

# told_number POD: of its network namespace, at h2.
told_number() { net_in h2 ip netns list-id | sed -n "s/^nsid \([0-9]*\) .*: $NET_PREFIX$1)$/\1/p"; }

# A thousand pods with a queue, and the bundles of twice as many: as many as may be told are, and a scrape and a tick are short.
metrics__many_pods_are_told_soon() {
	local dir=$CASE_DIR/bundles i pods=1000 bundles=2000 started took before slowest=0

	told_up
	ip netns add "${NET_PREFIX}many" || fail "no namespace of many pods"
	for ((i = 0; i < pods; i++)); do
		echo "link add many$i type veth peer name p$i netns ${NET_PREFIX}many"
		echo "link set many$i up"
		echo "route add 10.244.2.$((i % 200 + 20))/32 dev many$i scope link metric $((i / 200 + 1))"
	done | net_in h2 ip -batch - || fail "no pods"
	for ((i = 0; i < pods; i++)); do
		echo "qdisc add dev many$i root tbf rate 20mbit burst 5000 limit 1000000"
	done | net_in h2 tc -batch - || fail "no queues"
	pods_config web-1 many "/run/netns/${NET_PREFIX}many" >"$CASE_DIR/config.json"
	for ((i = 0; i < bundles; i++)); do echo "$dir/c$i"; done | xargs mkdir
	# shellcheck disable=SC2016
	for ((i = 0; i < bundles; i++)); do echo "$dir/c$i/config.json"; done | xargs -n 500 sh -c 'tee "$@" <"$0" >/dev/null' "$CASE_DIR/config.json"
	told_config 500
	daemon_start h2
	wait_for 120 "all pods are found" metric_is h2 sluice_pods $((pods + 3))
	started=$(uptime_ms)
	net_in h2 ping -q -c 5 -i 0.2 -s 1000 10.244.2.11 >/dev/null || fail "pod1 does not answer"
	wait_for 300 "500 pods are told by name, also that of the last bundle" told_names 500 shop/web-0
	echo "# $bundles bundles were read after $(($(uptime_ms) - started)) ms"
	before=$(cut -d ' ' -f 1 "/proc/${DAEMON[h2]}/schedstat")
	sleep 10
	echo "# then sluiced ran for $((($(cut -d ' ' -f 1 "/proc/${DAEMON[h2]}/schedstat") - before) / 10000)) us a second"
	for ((i = 0; i < 10; i++)); do
		sleep 1.1 # the text is made anew
		before=$(cut -d ' ' -f 1 "/proc/${DAEMON[h2]}/schedstat")
		started=$(uptime_ms)
		metrics_of h2 >"$CASE_DIR/metrics.txt"
		took=$(($(uptime_ms) - started))
		echo "# $took ms, of which sluiced ran for $((($(cut -d ' ' -f 1 "/proc/${DAEMON[h2]}/schedstat") - before) / 1000)) us"
		((took <= slowest)) || slowest=$took
	done
	echo "# 500 of $pods pods are told, by $bundles bundles: $(wc -c <"$CASE_DIR/metrics.txt") bytes, a scrape took $slowest ms at most"
	expect "ms that the slowest scrape took" "$slowest" -lt 2000
	expect "heartbeat" "$(status_of h2 .daemon_alive)" = true
}

# told_names NUMBER POD: NUMBER pods are told by name, and POD is one of them.
told_names() {
	metrics_of h2 >"$CASE_DIR/metrics.txt"
	[[ $(grep -c '^sluice_pod_flows{.*namespace' "$CASE_DIR/metrics.txt") == "$1" ]] &&
		grep -q "^sluice_pod_flows{.*pod=\"${2#*/}\",namespace=\"${2%/*}\"" "$CASE_DIR/metrics.txt"
}

# Names as a container's root would write them to break the text, and files that no runtime writes.
metrics__hostile_names_of_pods_are_not_told() {
	local dir=$CASE_DIR/bundles

	told_up
	pods_config $'web"} 1\nsluice_pods 7' shop "/run/netns/${NET_PREFIX}pod1" >"$dir/pod1/config.json"
	pods_config web 'shop"' "/run/netns/${NET_PREFIX}pod2" >"$dir/pod2/userdata/config.json"
	mkdir "$dir"/{fifo,directory,device,large}
	mkfifo "$dir/fifo/config.json"
	mkdir "$dir/directory/config.json"
	pods_config web shop /dev/zero >"$dir/device/config.json"
	{ cat "$dir/pod3/config.json" && head -c 1100000 /dev/zero | tr '\0' ' '; } >"$dir/large/config.json"
	net_in h2 ip link set to-pod3 down
	net_in h2 ip link set to-pod3 name 'to"pod3\' up
	told_config 9
	daemon_start h2
	wait_for 20 "the three pods are told" told_count 3
	wait_for 20 "the name of the veth is escaped" metric_is h2 'sluice_pod_flows{port="to\"pod3\\",pod="db-0",namespace="shop"}' 0
	expect "pods whose queue is read" "$(metric h2 sluice_pods)" -eq 3
	expect "names that are told" "$(metrics_of h2 | grep -c '^sluice_pod_flows.*namespace')" -eq 1
	expect "heartbeat" "$(status_of h2 .daemon_alive)" = true
}

metric_is() { [[ $(metrics_of "$1" | WANTED="$2 " awk 'index($0, ENVIRON["WANTED"]) == 1 { print $NF }') == "$3" ]]; }
told_count() { [[ $(metrics_of h2 | grep -c '^sluice_pod_flows{') == "$1" ]]; }
