# SPDX-License-Identifier: GPL-2.0-only
# What is so of Sluice in the cluster, in this order: each case goes on from the one before.

# manifest [SED-SCRIPT]: deploy/kubernetes/sluice.yaml for Kubernetes 1.20, which has no appArmorProfile (this kernel has no
# AppArmor), and for containerd 1.6, whose RuntimeDefault forbids bpf() to CAP_BPF.
manifest() {
	sed -e '/appArmorProfile:/d' -e 's/seccompProfile: {type: RuntimeDefault}/seccompProfile: {type: Unconfined}/' -e "${1:-}" \
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

# iperf3_start SECONDS ADDRESS: from the pod client; its report is in $CASE_DIR/iperf3.json.
iperf3_start() {
	kube exec client -- iperf3 -J -t "$1" -c "$2" >"$CASE_DIR/iperf3.json" 2>"$CASE_DIR/iperf3.log" &
	TRAFFIC=$!
}

# iperf3_end: it ends by itself, well. A number of its report: iperf3_said EXPRESSION.
iperf3_end() {
	wait "$TRAFFIC" || fail "iperf3: $(jq -r '.error // empty' "$CASE_DIR/iperf3.json") $(tail -n 1 "$CASE_DIR/iperf3.log")"
}

iperf3_said() { jq "$1" "$CASE_DIR/iperf3.json"; }

iperf3_sums() {
	iperf3_said '"\(.end.sum_received.bits_per_second / 1e5 | round / 10) Mbit/s, \(.end.sum_sent.retransmits) retransmits, slowest second \([.intervals[].sum.bits_per_second] | min / 1e5 | round / 10) Mbit/s"' |
		tr -d '"'
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

cluster__pod_with_a_rate_is_governed() {
	local server

	kube apply -f "$HERE/traffic.yaml" || fail "the pods are refused"
	wait_for 120 "the pods are ready" pods_are_ready
	kube get pods -o wide >"$CASE_DIR/pods.txt"
	server=$(kube get pod server -o jsonpath='{.status.podIP}')
	iperf3_start 20 "$server"
	wait_for 15 "the flow is governed" governed node1
	wait_for 15 "hops of the flow" flow_is node1 '.hops | length' 2
	expect "the other end" "$(flow_of node1 .remote)" = "$server"
	expect "hops to pods" "$(stat_of node2 rx_pod_hop)" -gt 0
	on node1 sluicectl flows >"$CASE_DIR/flows.txt"
	iperf3_end
	note "$(iperf3_sums)"
	expect "retransmits" "$(iperf3_said .end.sum_sent.retransmits)" -le 20
}

cluster__service_is_governed() {
	iperf3_start 10 10.96.0.100
	wait_for 8 "the flow to the service is governed" governed node1
	iperf3_end
	note "$(iperf3_sums)"
}

rolled_out() { sluice rollout status daemonset sluice --timeout=1s >/dev/null 2>&1; }

# Two nodes, one after the other, each without Sluice for as long as a pod takes to be replaced.
cluster__rolling_update_leaves_traffic_alone() {
	local server begun=$SECONDS

	server=$(kube get pod server -o jsonpath='{.status.podIP}')
	iperf3_start 60 "$server"
	wait_for 15 "the flow is governed" governed node1
	sluice set image daemonset sluice "*=sluice:0.1.1" || fail "no other image"
	wait_for 50 "the DaemonSet is rolled out" rolled_out
	note "rolled out within $((SECONDS - begun)) s"
	expect "images" "$(sluice get pods -o jsonpath='{.items[*].spec.containers[0].image}')" = "sluice:0.1.1 sluice:0.1.1"
	iperf3_end
	note "$(iperf3_sums)"
	expect "slowest second in bit/s" "$(iperf3_said '[.intervals[].sum.bits_per_second] | min | floor')" -gt 1000000
	iperf3_start 10 "$server"
	wait_for 8 "a flow is governed afterwards" governed node1
	iperf3_end
}

restarts_of() { sluice get pod "$1" -o jsonpath='{.status.containerStatuses[0].restartCount}'; }

restarted() { (($(restarts_of "$1") > $2)); }

# Its pins stay, and the next one adopts them: telemetry goes on.
cluster__killed_daemon_is_restarted_and_adopts() {
	local pod before

	pod=$(pod_of node2)
	before=$(restarts_of "$pod")
	node_in node2 bash -c 'kill -KILL $(pgrep -x sluiced)'
	wait_for 60 "kubelet restarts the container" restarted "$pod" "$before"
	wait_for 60 "the DaemonSet is ready on both nodes" daemonset_is_ready
	expect "what sluiced says" "$(sluice logs "$pod" -c sluiced)" has "adopt"
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
		expect "pins of $node" "$(node_in "$node" ls /sys/fs/bpf)" = ""
		expect "programs on $node" "$(node_in "$node" bpftool net show | grep -cE 'sluice|pod_hop|egress|ingress')" -eq 0
	done
}
