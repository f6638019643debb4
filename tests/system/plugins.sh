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
	# Its tbf of 50 Mbit/s holds it, of which no hop tells: the window stays W_init.
	fed_soon h1
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

# plugins_left VETH: nothing is half attached: the pod behind VETH is the only one, in maps and pins as in sluicectl status.
plugins_left() {
	node_pods_soon h2 "$1"
	# eth0 of the node is a veth, too.
	wait_for 20 "the map of pods has two entries" plugins_entries pods 2
	expect "entries of the ports map" "$(bpftool -j map dump pinned "$PINS/ssys-h2/ports" | jq length)" -eq 2
	expect "links at veths" "$(tcx_pod_pins h2 | wc -w)" -le 1
	expect "heartbeat" "$(status_of h2 .daemon_alive)" = true
}

plugins_entries() { [[ $(bpftool -j map dump pinned "$PINS/ssys-h2/$1" | jq length) == "$2" ]]; }

# plugins_refused POD PLUGIN FILE: ADD fails, with an error of the plugin.
plugins_refused() {
	! cni ADD "$1" "$2" <"$3" >"$CASE_DIR/answer.json" || fail "$2 of $1 did not fail"
}

# A runtime that is refused deletes what there is, all plugins of the chain, and perhaps twice. Beside it another pod gets a flow.
plugins__chain_that_fails_leaves_nothing() {
	local first veth lines CNI_DIR=$CNI_DIR plugin

	plugins_up
	mkdir "$CASE_DIR/cni"
	for plugin in bridge ptp host-local bandwidth; do ln -s "$CNI_DIR/$plugin" "$CASE_DIR/cni/"; done
	printf '#!/bin/sh\nread -r _\n[ "$CNI_COMMAND" != ADD ] || { echo "{\\"cniVersion\\": \\"0.4.0\\", \\"code\\": 100, \\"msg\\": \\"no\\"}"; exit 1; }\n' \
		>"$CASE_DIR/cni/refuses"
	printf '#!/bin/sh\n[ "$CNI_COMMAND" != ADD ] || sleep 60\n' >"$CASE_DIR/cni/hangs"
	chmod +x "$CASE_DIR/cni"/{refuses,hangs}
	CNI_DIR=$CASE_DIR/cni
	node_config h2
	daemon_start h1 h2 sw
	cni_pod pod1 ingressRate 50000000 ingressBurst 40000
	first=$POD_VETH
	node_pods_soon h2 "$first"
	server pod1
	bulk_start h1 "$POD_IP"
	node_hops h1 2
	BULK_LOST=$(lost)
	lines=$(wc -l <"$CASE_DIR/h2.log")

	# The second plugin refuses a rate without a burst: the veth has an address and no queue.
	ip netns add "${NET_PREFIX}pod2"
	cni_ptp | cni ADD pod2 ptp >"$CASE_DIR/pod2.json" || fail "ptp: $(jq -c . "$CASE_DIR/pod2.json")"
	cni_bandwidth pod2 ingressRate 50000000 ingressBurst 0 >"$CASE_DIR/pod2-bandwidth.json"
	plugins_refused pod2 bandwidth "$CASE_DIR/pod2-bandwidth.json"
	for plugin in once twice; do
		cni DEL pod2 bandwidth <"$CASE_DIR/pod2-bandwidth.json" >"$CASE_DIR/answer.json" # it refuses the rate here, too
		cni_ptp | cni DEL pod2 ptp >"$CASE_DIR/answer.json" || fail "ptp, DEL, $plugin: $(<"$CASE_DIR/answer.json")"
	done
	ip netns del "${NET_PREFIX}pod2"
	plugins_left "$first"

	# The third refuses when the veth is stamped already.
	cni_pod pod3 ingressRate 20000000 ingressBurst 40000
	veth=$POD_VETH
	node_pods_soon h2 "$(printf '%s\n' "$first" "$veth" | sort | xargs)"
	jq -n '{ type: "refuses" }' | plugins_chain pod3 >"$CASE_DIR/pod3-refuses.json"
	plugins_refused pod3 refuses "$CASE_DIR/pod3-refuses.json"
	cni_pod_ends pod3
	cni_pod_ends pod3
	ip netns del "${NET_PREFIX}pod3"
	plugins_left "$first"

	# A bridge that is killed while it waits for an address: a veth with a queue, and neither address nor route.
	ip netns add "${NET_PREFIX}pod4"
	plugins_first | jq '.ipam = { type: "hangs" }' >"$CASE_DIR/pod4-bridge.json"
	net_in h2 timeout -s KILL 2 env CNI_COMMAND=ADD CNI_CONTAINERID=pod4 CNI_NETNS="/run/netns/${NET_PREFIX}pod4" CNI_IFNAME=eth0 \
		CNI_PATH="$CNI_DIR" "$CNI_DIR/bridge" <"$CASE_DIR/pod4-bridge.json" >"$CASE_DIR/answer.json" 2>>"$CASE_DIR/cni.log"
	expect "exit status of a plugin that is killed" $? -eq 137
	veth=$(net_in h2 ip -o link show type veth master cni0 | sed 's/^[0-9]*: \([^@:]*\).*/\1/')
	[[ $veth ]] || fail "the bridge had made no veth when it was killed"
	expect "addresses in the pod" "$(net_in pod4 ip -o -4 address show eth0)" = ""
	net_in h2 tc qdisc add dev "$veth" root tbf rate 20mbit burst 5000 limit 100000
	sleep 3
	expect "pods that are stamped" "$(node_pods h2)" = "$first"
	cni DEL pod4 bridge <"$CASE_DIR/pod4-bridge.json" >"$CASE_DIR/answer.json" || fail "bridge, DEL: $(<"$CASE_DIR/answer.json")"
	cni DEL pod4 bridge <"$CASE_DIR/pod4-bridge.json" >"$CASE_DIR/answer.json" || fail "bridge, DEL again: $(<"$CASE_DIR/answer.json")"
	ip netns del "${NET_PREFIX}pod4"
	plugins_left "$first"

	expect "lines that sluiced said meanwhile" $(($(wc -l <"$CASE_DIR/h2.log") - lines)) -le 4
	bulk_unharmed
	bulk_stop
	cni_pod_ends pod1
	node_pods_soon h2 ""
	daemon_stop h2
}

# A hundred pods with a queue a second if the machine is fast enough, each there for a second, as of a chain that fails again and again.
plugins__hundred_pods_a_second_leave_nothing() {
	local i k n first lines started took

	cni_up
	node_config h2
	daemon_start h1 h2 sw
	cni_pod pod1 ingressRate 50000000 ingressBurst 40000
	first=$POD_VETH
	node_pods_soon h2 "$first"
	server pod1
	bulk_start h1 "$POD_IP"
	node_hops h1 2
	ip netns add "${NET_PREFIX}many"
	BULK_LOST=$(lost)
	lines=$(wc -l <"$CASE_DIR/h2.log")
	started=$(uptime_ms)
	for ((i = 0; i < 50; i++)); do
		((k = i * 20))
		{
			for ((n = 1; n <= 20; n++)); do
				echo "link add to-m$((k + n)) group $((i + 1)) type veth peer name m$((k + n)) netns ${NET_PREFIX}many"
				echo "link set to-m$((k + n)) up"
				echo "route add 10.244.2.$((k % 200 + n + 20)) dev to-m$((k + n)) metric $((k / 200 + 1))"
			done
			((i < 5)) || echo "link del group $((i - 4))"
		} | net_in h2 ip -batch - || fail "no pods"
		for ((n = 1; n <= 20; n++)); do
			echo "qdisc add dev to-m$((k + n)) root tbf rate 20mbit burst 5000 limit 100000"
		done | net_in h2 tc -batch - || fail "no queues"
		((n = (i + 1) * 200 - ($(uptime_ms) - started), n <= 0)) || sleep "$(printf '0.%03d' $n)"
	done
	took=$(($(uptime_ms) - started))
	for ((i = 46; i <= 50; i++)); do echo "link del group $i"; done | net_in h2 ip -batch -
	echo "# 1000 pods in $took ms; sluiced said $(($(wc -l <"$CASE_DIR/h2.log") - lines)) lines"
	plugins_left "$first"
	expect "lines that sluiced said meanwhile" $(($(wc -l <"$CASE_DIR/h2.log") - lines)) -le $((took / 1000 + 5))
	bulk_unharmed
	node_hops h1 2
	bulk_stop
	servers_stop
	bpf_of h2 >"$CASE_DIR/objects.txt"
	cni_pod_ends pod1
	daemon_stop h1 h2 sw
	wait_for 300 "the BPF objects of the daemon are gone (left.txt)" bpf_none_left "$CASE_DIR/objects.txt"
}
