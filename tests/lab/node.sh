# SPDX-License-Identifier: GPL-2.0-only
# Nodes: the star, with nodes that route in place of the hosts and pods behind veths in them. Sluice
# runs in the nodes and in the switch, the traffic in the pods.
#
#	pod1 -- n1 --p1--+
#	pod2 -- n2 --p2--+-- s1 --p0 (tbf RATE, BUFFER)-- r1 -- sink
#	podN -- nN --pN--+
#	probe - np --pp--+
#
# With OVERLAY=vxlan each of n1 ... nN and np has a tunnel to r1, in which its pods' packets are.
#
# With APP=web r1 has the pods get, which runs curl, and ask, which runs redis-benchmark; redis is in
# the last sending pod.
NODE_PROBE=251 # above LAB_MAX_SENDERS

node_up() {
	local i receiver="sink"

	net_reset
	net_switch s1
	net_host r1 s1 p0 2.0
	net_node r1 s1 2.0 0
	if [[ $LAB_APP ]]; then
		receiver="get"
		net_pod ask r1 0.3
		NET_REDIS=pod$LAB_SENDERS
	fi
	net_pod "$receiver" r1 0.2
	net_bottleneck s1 p0
	for ((i = 1; i <= LAB_SENDERS; i++)); do
		net_sender "n$i" s1 "p$i" "1.$i"
		net_node "n$i" s1 "1.$i" "$i"
		net_pod "pod$i" "n$i" "$i.2"
		((i <= LAB_LONG)) || continue
		NET_SENDERS+=("pod$i") NET_SENDER_PORTS+=("s1:p$i")
		NET_RECEIVERS+=("$receiver") NET_PATHS+=("")
	done
	net_sender np s1 pp 3.0
	net_node np s1 3.0 $NODE_PROBE
	net_pod probe np $NODE_PROBE.2
	net_commit
}
