# SPDX-License-Identifier: GPL-2.0-only
# A node whose pods Debian's CNI plugins make (ptp, host-local, bandwidth), called as a container runtime calls them. The
# network is that of node.sh: h1 -- sw -- h2, and pods at h2.

CNI_DIR=/usr/lib/cni

# cni_up: the node h2, without a pod.
cni_up() {
	[[ -x $CNI_DIR/ptp && -x $CNI_DIR/host-local && -x $CNI_DIR/bandwidth ]] ||
		skip "no plugins in $CNI_DIR: apt-get install containernetworking-plugins"
	node_up h2 without-fq
}

# cni COMMAND POD PLUGIN: with the configuration of stdin; its answer comes out. In the node's network namespace.
cni() {
	net_in h2 env CNI_COMMAND="$1" CNI_CONTAINERID="$2" CNI_NETNS="/run/netns/$NET_PREFIX$2" CNI_IFNAME=eth0 \
		CNI_PATH=$CNI_DIR "$CNI_DIR/$3" 2>>"$CASE_DIR/cni.log"
}

cni_ptp() {
	jq -n --arg dir "$CASE_DIR/addresses" '{ cniVersion: "0.4.0", name: "ssys", type: "ptp", ipMasq: false, ipam: {
		type: "host-local", dataDir: $dir, subnet: "10.244.2.0/24", routes: [{ dst: "0.0.0.0/0" }] } }'
}

# cni_bandwidth POD KEY BITS...: chained to what ptp answered for the pod.
cni_bandwidth() {
	local pod=$1

	shift
	jq --args '. as $prev | ($ARGS.positional | [range(0; length; 2) as $i | { (.[$i]): (.[$i + 1] | tonumber) }] | add) +
		{ cniVersion: "0.4.0", name: "ssys", type: "bandwidth", prevResult: $prev }' "$@" <"$CASE_DIR/$pod.json"
}

# cni_pod POD KEY BITS...: sets POD_IP and POD_VETH.
cni_pod() {
	local pod=$1

	ip netns add "$NET_PREFIX$pod" || fail "$pod cannot be made"
	net_in "$pod" ip link set lo up
	cni_ptp | cni ADD "$pod" ptp >"$CASE_DIR/$pod.json" || fail "ptp: $(jq -c . "$CASE_DIR/$pod.json")"
	POD_IP=$(jq -r '.ips[0].address' "$CASE_DIR/$pod.json")
	POD_IP=${POD_IP%/*}
	POD_VETH=$(jq -r 'first(.interfaces[] | select(.sandbox == null or .sandbox == "")).name' "$CASE_DIR/$pod.json")
	cni_bandwidth "$@" >"$CASE_DIR/$pod-bandwidth.json"
	cni ADD "$pod" bandwidth <"$CASE_DIR/$pod-bandwidth.json" >"$CASE_DIR/answer.json" ||
		fail "bandwidth: $(jq -c . "$CASE_DIR/answer.json")"
}

# cni_pod_ends POD: in the other order, as a runtime ends it.
cni_pod_ends() {
	cni DEL "$1" bandwidth <"$CASE_DIR/$1-bandwidth.json" >"$CASE_DIR/answer.json" || fail "bandwidth, DEL: $(<"$CASE_DIR/answer.json")"
	cni_ptp | cni DEL "$1" ptp >"$CASE_DIR/answer.json" || fail "ptp, DEL: $(<"$CASE_DIR/answer.json")"
}

# cni_speed VETH: bit/s of the pod's port.
cni_speed() { status_of h2 ".interfaces[] | select(.name == \"$1\") | .speed_bps"; }

# One that was there before sluiced, one that comes later, and the end of both.
cni__pods_of_ptp_with_a_rate_are_stamped() {
	local first second

	cni_up
	cni_pod pod1 ingressRate 50000000 ingressBurst 40000
	first=$POD_VETH
	node_config h2
	daemon_start h1 h2 sw
	node_pods_soon h2 "$first"
	expect "bit/s of its port" "$(cni_speed "$first")" -eq 50000000
	server pod1
	bulk_start h1 "$POD_IP"
	governed_soon h1
	node_hops h1 2
	ctl_text "hop 2 of 2: up to 100 Mbit/s, is " why ":$(bulk_port)"
	grows "hops to pods" 20 stat_of h2 rx_pod_hop
	cni_pod pod2 ingressRate 20000000 ingressBurst 40000
	second=$POD_VETH
	node_pods_soon h2 "$(printf '%s\n' "$first" "$second" | sort | xargs)"
	expect "bit/s of its port" "$(cni_speed "$second")" -eq 20000000
	bulk_goes_on
	cni_pod_ends pod2
	node_pods_soon h2 "$first"
	bulk_stop
	cni_pod_ends pod1
	node_pods_soon h2 ""
	expect "links that are left" "$(net_in h2 ip -o link | grep -c "$first\|$second")" -eq 0
	daemon_stop h2
}

# With both rates the plugin puts a qdisc ingress in the place of clsact: the program is attached by tcx, and both rates hold.
cni__pod_with_both_rates_is_stamped() {
	local ids

	need_tcx
	cni_up
	net_has_link ifb || skip "no ifb in this kernel"
	node_config h2
	daemon_start h1 h2 sw
	cni_pod pod1 ingressRate 50000000 ingressBurst 40000 egressRate 30000000 egressBurst 40000
	expect "the qdisc of the plugin" "$(net_in h2 tc qdisc show dev "$POD_VETH")" has "qdisc ingress"
	node_pods_soon h2 "$POD_VETH"
	expect "bit/s of its port" "$(cni_speed "$POD_VETH")" -eq 50000000
	expect "how it is attached" "$(tcx_attached h2 "$POD_VETH")" = tcx
	expect "filters of the plugin" "$(net_in h2 tc filter show dev "$POD_VETH" ingress)" has "mirred"
	server pod1
	bulk_start h1 "$POD_IP"
	governed_soon h1
	node_hops h1 2
	ctl_text "hop 2 of 2: up to 100 Mbit/s, is " why ":$(bulk_port)"
	ids=$(tcx_ids h2)
	daemon_kill h2
	grows "hops to pods without a daemon" 20 stat_of h2 rx_pod_hop
	daemon_start h2
	node_pods_soon h2 "$POD_VETH"
	expect "the link after it" "$(tcx_ids h2)" = "$ids"
	grows "hops to pods" 20 stat_of h2 rx_pod_hop
	bulk_unharmed
	bulk_stop
	server h1 5202
	transfer pod1 10.1.0.2 -p 5202 -t 3
	expect "bit/s that the pod sends" "$(jq '.end.sum_received.bits_per_second | floor' "$TRANSFER")" -lt 36000000
	cni_pod_ends pod1
	tcx_pod_pins_soon h2 ""
	daemon_stop h2
}
