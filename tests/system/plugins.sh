# SPDX-License-Identifier: GPL-2.0-only
# CNI plugins beside those of cni.sh, at the same node: bridge in the place of ptp, portmap and tuning chained behind it.

plugins_up() {
	local plugin

	for plugin in bridge portmap tuning; do
		[[ -x $CNI_DIR/$plugin ]] || skip "no $plugin in $CNI_DIR: apt-get install containernetworking-plugins"
	done
	cni_up
}

# plugins_first: the configuration of the bridge.
plugins_first() {
	cni_ptp | jq '. + { type: "bridge", bridge: "cni0", isGateway: true, hairpinMode: true }'
}

# plugins_chain POD: the configuration of a chained plugin, of stdin, with the answer of the one before.
plugins_chain() { jq --slurpfile prev "$CASE_DIR/$1.json" '. + { cniVersion: "0.4.0", name: "ssys", prevResult: $prev[0] }'; }

# plugins_add POD TYPE: with the configuration of stdin; what it answers is what the next one gets.
plugins_add() {
	cat >"$CASE_DIR/$1-$2.json"
	cni ADD "$1" "$2" <"$CASE_DIR/$1-$2.json" >"$CASE_DIR/answer.json" || fail "$2: $(jq -c . "$CASE_DIR/answer.json")"
	[[ ! -s $CASE_DIR/answer.json ]] || cp "$CASE_DIR/answer.json" "$CASE_DIR/$1.json"
}

plugins_del() {
	cni DEL "$1" "$2" <"$CASE_DIR/$1-$2.json" >"$CASE_DIR/answer.json" || fail "$2, DEL: $(<"$CASE_DIR/answer.json")"
}

# plugins_pod POD: at cni0, with 50 Mbit/s, the port 15201 of the node, and a sysctl. Sets POD_IP and POD_VETH.
plugins_pod() {
	ip netns add "$NET_PREFIX$1" || fail "$1 cannot be made"
	net_in "$1" ip link set lo up
	plugins_first >"$CASE_DIR/first.json"
	plugins_add "$1" bridge <"$CASE_DIR/first.json"
	POD_IP=$(jq -r '.ips[0].address' "$CASE_DIR/$1.json")
	POD_IP=${POD_IP%/*}
	POD_VETH=$(jq -r '[.interfaces[] | select(.sandbox == null or .sandbox == "").name | select(. != "cni0")][0]' "$CASE_DIR/$1.json")
	jq -n '{ type: "portmap", snat: true, capabilities: { portMappings: true }, runtimeConfig: { portMappings: [
		{ hostPort: 15201, containerPort: 5201, protocol: "tcp" }] } }' | plugins_chain "$1" >"$CASE_DIR/next.json"
	plugins_add "$1" portmap <"$CASE_DIR/next.json"
	jq -n '{ type: "tuning", sysctl: { "net.ipv4.tcp_congestion_control": "reno" }, mtu: 1400 }' | plugins_chain "$1" >"$CASE_DIR/next.json"
	plugins_add "$1" tuning <"$CASE_DIR/next.json"
	jq -n '{ type: "bandwidth", ingressRate: 50000000, ingressBurst: 40000 }' | plugins_chain "$1" >"$CASE_DIR/next.json"
	plugins_add "$1" bandwidth <"$CASE_DIR/next.json"
}

plugins_pod_ends() {
	local plugin

	for plugin in bandwidth tuning portmap bridge; do
		plugins_del "$1" $plugin
	done
	ip netns del "$NET_PREFIX$1"
}

# plugins_rules: how many of the node name the pod's address, whichever iptables the plugin calls.
plugins_rules() { net_in h2 bash -c 'nft list ruleset; iptables-legacy-save' 2>/dev/null | grep -cF -- "$POD_IP"; }

plugins__pod_at_a_bridge_is_governed() {
	plugins_up
	node_config h2
	daemon_start h1 h2 sw
	plugins_pod pod1
	node_pods_soon h2 "$POD_VETH"
	expect "the control that tuning set in the pod" "$(net_in pod1 cat /proc/sys/net/ipv4/tcp_congestion_control)" = reno
	expect "the MTU that tuning set in the pod" "$(net_in pod1 cat /sys/class/net/eth0/mtu)" -eq 1400
	server pod1
	bulk_start h1 "$POD_IP"
	governed_soon h1
	node_hops h1 2
	grows "hops to pods" 20 stat_of h2 rx_pod_hop
	bulk_unharmed
	bulk_stop
	# The other direction, behind the bridge: the pod's receive window holds it.
	bulk_start h1 "$POD_IP" --bidir
	governed_soon h2
	expect "whose flow" "$(flow_of h2 .local)" = "$POD_IP"
	grows "windows that were cut" 20 stat_of h2 rx_window_cut
	bulk_goes_on
	bulk_stop
	servers_stop
	plugins_pod_ends pod1
	node_pods_soon h2 ""
	daemon_stop h2
}

# At a port of the node the flow is that of the node's address: governed on its way, without the hop to the pod (docs/limits.md, 54).
plugins__port_of_the_node_is_governed_without_the_hop_to_the_pod() {
	plugins_up
	node_config h2
	daemon_start h1 h2 sw
	plugins_pod pod1
	node_pods_soon h2 "$POD_VETH"
	server pod1
	bulk_start h1 10.2.0.2 -p 15201
	governed_soon h1
	expect "the other end" "$(flow_of h1 '"\(.remote):\(.remote_port)"')" = 10.2.0.2:15201
	node_hops h1 1
	grows "feedback" 20 flow_of h1 .feedbacks
	expect "hops to pods" "$(stat_of h2 rx_pod_hop)" -eq 0
	expect "rules of portmap" "$(plugins_rules)" -ge 1
	expect "peers that fell silent" "$(stat_of h1 peer_silent)" -eq 0
	bulk_unharmed
	bulk_stop
	servers_stop
	plugins_pod_ends pod1
	expect "rules that portmap left" "$(plugins_rules)" -eq 0
	node_pods_soon h2 ""
	daemon_stop h2
}
