# SPDX-License-Identifier: GPL-2.0-only
# The cases of the cluster, in this order: each goes on from the one before.

# manifest [SED-SCRIPT]: deploy/kubernetes/sluice.yaml as an operator sets it for this cluster (base_rtt; and speed, because veth says
# 10 Gbit/s of ports that have 100 Mbit/s); for Kubernetes 1.20, which has no appArmorProfile yet; and for containerd 1.6, whose
# RuntimeDefault forbids bpf() to CAP_BPF.
manifest() {
	sed -e 's/value: 50us}/value: 2ms}/' -e "s/role: host, xdp/role: host, speed: ${NET_RATE^}, xdp/" -e '/appArmorProfile:/d' \
		-e 's/seccompProfile: {type: RuntimeDefault}/seccompProfile: {type: Unconfined}/' -e "${1:-}" \
		"$HERE/../../deploy/kubernetes/sluice.yaml"
}

sluice() { kube --namespace sluice-system "$@"; }

pod_of() {
	sluice get pods -l app.kubernetes.io/name=sluice --field-selector "spec.nodeName=$1" \
		-o jsonpath='{range .items[?(@.status.phase=="Running")]}{.metadata.name}{"\n"}{end}' | head -n 1
}

# on NODE COMMAND...: in the container of the node's sluiced.
on() {
	local pod

	pod=$(pod_of "$1")
	[[ $pod ]] && sluice exec "$pod" -c sluiced -- "${@:2}"
}

ready_pods() { sluice get daemonset sluice -o jsonpath='{.status.numberReady} {.status.updatedNumberScheduled}'; }

daemonset_is_ready() {
	WAIT_SEEN=$(ready_pods)
	[[ $WAIT_SEEN == "2 2" ]]
}

mode_is() { [[ $(on "$1" sluicectl --json status | jq -r .mode) == "$2" ]]; }

# flow_of NODE FIELD: of its flow with most bytes. FIELD is a jq expression.
flow_of() {
	on "$1" sluicectl --json flows |
		jq -r "if length == 0 then \"no flow\" else max_by([.state != \"closed\", .tx_bytes]) | $2 end"
}

flow_is() { WAIT_SEEN=$(flow_of "$1" "$2") && [[ $WAIT_SEEN == "$3" ]]; }

stat_of() { on "$1" sluicectl --json stats | jq ".$2"; }

governed() { flow_is "$1" '.telemetry and .feedbacks > 2 and .w_bytes < .w_init_bytes' true; }

pods_are_ready() { kube wait --for=condition=Ready pod --all --timeout=2s >/dev/null 2>&1; }

# iperf3_start SECONDS ADDRESS: from the pod client to the pod server; its report is in $CASE_DIR/iperf3.json.
iperf3_start() {
	LOST=$(lost)
	kube exec client -- iperf3 -J -t "$1" -c "$2" >"$CASE_DIR/iperf3.json" 2>"$CASE_DIR/iperf3.log" &
	TRAFFIC=$!
}

# iperf3_end: it ends by itself, and well. LOST is what was lost meanwhile.
iperf3_end() {
	wait "$TRAFFIC" || fail "iperf3: $(jq -r '.error // empty' "$CASE_DIR/iperf3.json") $(tail -n 1 "$CASE_DIR/iperf3.log")"
	LOST=$(($(lost) - LOST))
}

# iperf3_said EXPRESSION: a number of its report.
iperf3_said() { jq "$1" "$CASE_DIR/iperf3.json"; }

# iperf3_mbits EXPRESSION: the mean of these seconds of its report, as .[-10:].
iperf3_mbits() { iperf3_said "[.intervals[].sum.bits_per_second] | $1 | add / length / 1e5 | round / 10"; }

# pod_snmp POD COUNTER...: the sum of what its TCP counts, as Tcp.RetransSegs.
pod_snmp() {
	local pod=$1

	shift
	kube exec "$pod" -- cat /proc/net/snmp /proc/net/netstat | awk -v wanted=" $* " '
		!($1 in names) { names[$1] = $0; next }
		{ n = split(names[$1], name)
		  for (i = 2; i <= n; i++)
			if (index(wanted, " " substr($1, 1, length($1) - 1) "." name[i] " ")) sum += $i }
		END { print sum + 0 }'
}

# Segments that the client sent again and that the server did not have: a tail loss probe on a busy machine repeats what is there.
lost() {
	local had told

	had=$(pod_snmp server TcpExt.TCPDSACKOldSent TcpExt.TCPDSACKOfoSent) told=$(pod_snmp client TcpExt.TCPDSACKRecv)
	echo $(($(pod_snmp client Tcp.RetransSegs) - (had > told ? had : told)))
}

# queue_bytes SECONDS NODE DEVICE: the median of what waits in its queue.
queue_bytes() {
	local end=$((SECONDS + $1))

	while ((SECONDS < end)); do
		net_in "$2" tc -s -j qdisc show dev "$3" root | jq '.[0].backlog'
		sleep 0.1
	done | sort -n | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }'
}

note() { echo "# $*"; }

cluster__both_nodes_are_ready() {
	expect "nodes" "$(kube get nodes -o jsonpath='{.items[*].metadata.name}')" = "$NODES"
	note "$(kube get nodes -o jsonpath='{.items[0].status.nodeInfo.kubeletVersion}, {.items[0].status.nodeInfo.containerRuntimeVersion}')," \
		"Linux $(uname -r)"
}

cluster__daemonset_is_ready_on_both_nodes() {
	local node

	kube create namespace sluice-system
	(umask 077 && head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$CASE_DIR/key" && echo >>"$CASE_DIR/key")
	sluice create secret generic sluice-key --from-file=key="$CASE_DIR/key" || fail "no secret"
	manifest | kube apply -f - || fail "the manifest is refused"
	wait_for 120 "the DaemonSet is ready on both nodes" daemonset_is_ready
	for node in $NODES; do
		on "$node" sluicectl status >"$CASE_DIR/$node.status" || fail "sluicectl status fails on $node"
		expect "mode of $node" "$(on "$node" sluicectl --json status | jq -r .mode)" = dry-run
		expect "address range of $node's pods" "$(on "$node" cat /run/sluice/sluice.yaml)" has \
			"pod_cidrs: ['$(kube get node "$node" -o jsonpath='{.spec.podCIDR}')']"
	done
}

# With Sluice in the mode dry-run: what TCP alone makes of the switch's port.
cluster__traffic_in_dry_run_fills_the_queue() {
	local queue

	kube apply -f "$HERE/traffic.yaml" || fail "the pods are refused"
	wait_for 120 "the pods are ready" pods_are_ready
	kube get pods -o wide # for the log
	iperf3_start 15 "$(address_of server)"
	sleep 5
	queue=$(queue_bytes 8 sw p2)
	iperf3_end
	note "dry-run: $(iperf3_mbits '.[-10:]') Mbit/s, $((queue / 1000)) KB in the switch's queue (median), $LOST segments lost"
	expect "bytes in the queue" "$queue" -gt 20000
}

# As docs/kubernetes.md says: the ConfigMap, the time that kubelet takes, and --reload.
cluster__configmap_with_enforce_is_reloaded() {
	local node begun=$SECONDS

	manifest 's/mode: dry-run/mode: enforce/' | kube apply -f - || fail "the manifest is refused"
	for node in $NODES; do
		wait_for 180 "the ConfigMap is in the pod of $node" template_says "$node" "mode: enforce"
	done
	note "kubelet wrote the ConfigMap after $((SECONDS - begun)) s"
	for node in $NODES; do
		on "$node" /usr/libexec/sluice/entrypoint --reload || fail "--reload fails on $node"
		wait_for 30 "$node enforces" mode_is "$node" enforce
	done
}

template_says() { on "$1" cat /etc/sluice/template/template.yaml | grep -qF "$2"; }

address_of() { kube get pod "$1" -o jsonpath='{.status.podIP}'; }

# The bucket that the plugin gives a pod's rate has 512 MB, more than a minute here: until it is empty nothing but Sluice knows the rate.
# This kernel has no fq, so the flow is held by its receive window; one segment in each round trip of 0.15 ms is more than the rate.
cluster__pod_with_a_rate_is_governed() {
	local server queue

	server=$(address_of server)
	iperf3_start 100 "$server"
	wait_for 15 "the flow is governed" governed node1
	wait_for 15 "hops of the flow" flow_is node1 '.hops | length' 2
	expect "the other end" "$(flow_of node1 .remote)" = "$server"
	expect "hops to pods" "$(stat_of node2 rx_pod_hop)" -gt 0
	expect "companions" "$(stat_of node1 companion_sent)" -gt 0
	queue=$(queue_bytes 8 sw p2)
	on node1 sluicectl flows
	sleep 65
	on node1 sluicectl flows
	on node2 sluicectl status
	iperf3_end
	note "enforce: $(iperf3_mbits '.[5:15]') Mbit/s, $((queue / 1000)) KB in the switch's queue (median); with the bucket empty" \
		"$(iperf3_mbits '.[-10:]') of 20 Mbit/s; $LOST segments lost"
	expect "bytes in the queue" "$queue" -lt 10000
	expect "the rate, in Mbit/s" "$(iperf3_mbits '.[-10:] | map(floor)' | cut -d . -f 1)" -le 20
}

cluster__service_is_governed() {
	iperf3_start 15 10.96.0.100
	wait_for 8 "the flow to the service is governed" governed node1
	# kube-proxy translates the address on the client's node, before the uplink: the flow is that of the pod.
	expect "the other end" "$(flow_of node1 .remote)" = "$(address_of server)"
	wait_for 5 "hops of the flow" flow_is node1 '.hops | length' 2
	iperf3_end
	note "by the service: $(iperf3_mbits '.[-5:]') Mbit/s, $LOST segments lost"
}

rolled_out() { sluice rollout status daemonset sluice --timeout=1s >/dev/null 2>&1; }

# Two nodes, one after the other, each without Sluice for as long as a pod takes to be replaced. The connection stays. Linux drops
# packets when a clsact leaves the uplink, once (docs/limits.md, 41).
cluster__rolling_update_leaves_traffic_alone() {
	local begun

	iperf3_start 90 "$(address_of server)"
	wait_for 15 "the flow is governed" governed node1
	begun=$SECONDS
	sluice set image daemonset sluice "*=sluice:0.1.1" || fail "no other image"
	wait_for 80 "the DaemonSet is rolled out" rolled_out
	note "rolled out within $((SECONDS - begun)) s"
	expect "images" "$(sluice get pods -o jsonpath='{.items[*].spec.containers[0].image}')" = "sluice:0.1.1 sluice:0.1.1"
	wait_for 20 "the flow is governed again" governed node1
	iperf3_end
	note "$(iperf3_mbits .) Mbit/s, in the slowest second $(iperf3_mbits '[min]'); $LOST segments lost"
	expect "segments that were lost" "$LOST" -le 60
}

restarts_of() { sluice get pod "$1" -o jsonpath='{.status.containerStatuses[0].restartCount}'; }

restarted() { (($(restarts_of "$1") > $2)); }

# Its pins stay, and the next one adopts them: traffic goes on, and nothing is lost.
cluster__killed_daemon_is_restarted_and_adopts() {
	local pod before

	pod=$(pod_of node2)
	before=$(restarts_of "$pod")
	iperf3_start 20 "$(address_of server)"
	wait_for 15 "the flow is governed" governed node1
	# shellcheck disable=SC2016
	node_in node2 bash -c 'kill -KILL $(pgrep -x sluiced)'
	wait_for 60 "kubelet restarts the container" restarted "$pod" "$before"
	wait_for 60 "the DaemonSet is ready on both nodes" daemonset_is_ready
	expect "what sluiced says" "$(sluice logs "$pod" -c sluiced)" has "adopting the maps"
	iperf3_end
	note "$(iperf3_mbits .) Mbit/s, $LOST segments lost"
	expect "segments that were lost" "$LOST" -le 0
}

nothing_moves_on() { [[ ! $(kube get pods -l app=replaced --field-selector spec.nodeName=node2 -o name) ]]; }

pods_stamped() { on "$1" sluicectl --json status | jq '[.interfaces[] | select(.role == "pod")] | length'; }

stamped_are() { WAIT_SEEN=$(pods_stamped "$1") && [[ $WAIT_SEEN == "$2" ]]; }

cluster__drained_node_keeps_sluice_and_no_pod() {
	local before

	before=$(pods_stamped node1)
	expect "pods with a rate on node2" "$(pods_stamped node2)" -ge 2
	kube drain node2 --ignore-daemonsets --delete-emptydir-data --force --timeout=60s || fail "the drain fails"
	wait_for 60 "node2 has no pod" nothing_moves_on
	wait_for 60 "node2 stamps no pod" stamped_are node2 0
	wait_for 60 "node1 stamps all" stamped_are node1 4
	note "$before pods with a rate on node1 before the drain, 4 after it"
	wait_for 30 "the DaemonSet is ready on both nodes" daemonset_is_ready
	kube uncordon node2 || fail "uncordon fails"
}

no_sluice() { [[ ! $(sluice get pods -o name 2>/dev/null) ]]; }

cluster__deleted_it_leaves_nothing_on_the_nodes() {
	local node

	manifest | kube delete --timeout=90s -f - || fail "delete fails"
	wait_for 90 "the pods are gone" no_sluice
	for node in $NODES; do
		expect "pins of $node" "$(node_in "$node" ls /sys/fs/bpf)" has-no sluice
		expect "qdiscs of $node" "$(node_in "$node" tc qdisc show)" has-no clsact
		expect "programs on $node" "$(node_in "$node" bpftool net show | grep -cE '(clsact|tcx)/')" -eq 0
	done
}
