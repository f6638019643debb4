# SPDX-License-Identifier: GPL-2.0-only
# The DSCP of a pod's packets: set by the application, by tc at the pod's veth, or by nftables on the node (docs/kubernetes.md). The
# switch counts what passes. The pod sends to h1.

# dscp_up: the pod has an ingress rate, so that pod_hop is at its veth.
dscp_up() {
	need nft jq
	node_up h2 without-fq
	node_pod h2 pod1 11
	node_queue h2 pod1 20mbit
	node_config h2
	daemon_start h1 h2 sw
	node_pods_soon h2 to-pod1
	server h1 5202
}

# dscp_zero: the switch counts anew what it passes from the pod: data, and companions, which have its addresses.
dscp_zero() {
	net_in sw nft delete table inet dscp 2>/dev/null
	net_in sw nft -f - <<-END || skip "no nftables here"
		table inet dscp {
			chain forward {
				type filter hook forward priority 0
				ip saddr 10.244.2.11 ip dscp cs5 counter comment "with"
				ip saddr 10.244.2.11 ip dscp != cs5 counter comment "without"
			}
		}
	END
}

dscp_count() {
	net_in sw nft -j list table inet dscp |
		jq "[.nftables[].rule // empty | select(.comment == \"$1\") | .expr[].counter.packets? // empty] | add"
}

# dscp_sends WHAT MOST OPTION...: what iperf3 of the pod sends has the DSCP, with its companions, and is governed; at most MOST
# packets have not: reports for several flows have none (docs/messages.md).
dscp_sends() {
	dscp_zero
	bulk_start pod1 10.1.0.2 -p 5202 "${@:3}"
	governed_soon h2
	grows "feedback, $1" 20 flow_of h2 .feedbacks
	bulk_unharmed
	bulk_stop
	expect "packets with the DSCP, $1" "$(dscp_count with)" -gt 100
	expect "packets without it, $1" "$(dscp_count without)" -le "$2"
}

dscp__of_a_pod_is_set_without_sluice() {
	dscp_up
	dscp_zero
	bulk_start pod1 10.1.0.2 -p 5202
	governed_soon h2
	bulk_stop
	expect "packets with the DSCP before it is set" "$(dscp_count with)" -eq 0
	dscp_sends "by the application" 30 -S 0xa0 # its connection of control has none
	net_in h2 nft -f - <<-END || fail "no table at the node"
		table ip pods {
			set high { type ipv4_addr; elements = { 10.244.2.11 }; }
			chain onward { type filter hook forward priority mangle; ip saddr @high ip dscp set cs5; }
		}
	END
	dscp_sends "by nftables on the node" 30
}

# pod_hop and the filter of somebody else share the veth.
dscp__set_by_tc_at_the_veth_of_a_pod_stays() {
	dscp_up
	net_in h2 tc qdisc add dev to-pod1 clsact 2>/dev/null
	net_in h2 tc filter add dev to-pod1 ingress protocol ip u32 match u32 0 0 \
		action pedit ex munge ip dsfield set 0xa0 retain 0xfc pipe action csum ip4h || skip "no action pedit in this kernel"
	dscp_sends "by tc at the veth" 30
	expect "stamped pods" "$(node_pods h2)" = to-pod1
}
