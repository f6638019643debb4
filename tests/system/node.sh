# SPDX-License-Identifier: GPL-2.0-only
# A node of pods, h2 (h1 where pods send): veths that come and go, their queues, and the uplink.
#
#	h1 -- sw -- h2 -- to-POD -- POD eth0 10.244.2.N fd00:244:2::N
#
# Pods are routed to, each by its own route, or are ports of the bridge cni0. Inside of them there is nothing of ours.

NODE_GATEWAY=169.254.1.1 # of the pods, which no interface has: a neighbour entry says where it is

# node_up NODE [without-fq]
node_up() {
	local node=$1 n=${1#h}

	shift
	net_up "$@"
	# shellcheck disable=SC2016
	net_in "$node" bash -c 'cd /proc/sys/net && echo 1 >ipv4/ip_forward && echo 1 >ipv6/conf/all/forwarding' ||
		fail "$node cannot route"
	net_in sw ip route add "10.244.$n.0/24" via "10.$n.0.2"
	net_in sw ip -6 route add "fd00:244:$n::/64" via "fd00:$n::2"
}

# node_config NODE [LINE]...: a host's configuration with this node's pods.
node_config() {
	local node=$1 n=${1#h}

	shift
	host_config "$node" "node: {uplink: eth0, id: 1024, pod_cidrs: [10.244.$n.0/24, 'fd00:244:$n::/64']}" "$@" \
		>"$CASE_DIR/$node.yaml"
}

# node_pod NODE POD NUMBER: a pod that the node routes to.
node_pod() {
	local node=$1 pod=$2 v4=10.244.${1#h}.$3 v6=fd00:244:${1#h}::$3

	ip netns add "$NET_PREFIX$pod" &&
		ip link add eth0 netns "$NET_PREFIX$pod" address 02:00:f4:00:00:02 type veth \
			peer name "to-$pod" netns "$NET_PREFIX$node" address 02:00:f4:00:00:01 || fail "$pod cannot be made"
	# shellcheck disable=SC2016
	net_in "$pod" bash -c 'cd /proc/sys/net && echo 0 >ipv6/conf/all/accept_ra && echo 0 >ipv6/conf/default/accept_ra &&
		echo 0 >ipv6/conf/eth0/accept_ra && echo 0 >ipv6/conf/eth0/accept_dad && ip link set lo up && ip -batch -' <<-END
		link set eth0 up
		address add $v4/32 dev eth0
		address add $v6/128 dev eth0 nodad
		route add $NODE_GATEWAY dev eth0 scope link
		route add default via $NODE_GATEWAY dev eth0
		route add default via fe80::1 dev eth0
		neighbour add $NODE_GATEWAY lladdr 02:00:f4:00:00:01 nud permanent dev eth0
		neighbour add fe80::1 lladdr 02:00:f4:00:00:01 nud permanent dev eth0
	END
	net_in "$node" ip -batch - <<-END
		link set to-$pod up
		route add $v4 dev to-$pod scope link
		route add $v6 dev to-$pod
		neighbour add $v4 lladdr 02:00:f4:00:00:02 nud permanent dev to-$pod
		neighbour add $v6 lladdr 02:00:f4:00:00:02 nud permanent dev to-$pod
	END
}

# node_bridge_pod NODE POD NUMBER: a pod at the node's bridge cni0, which is made with the first.
node_bridge_pod() {
	local node=$1 pod=$2 net=10.244.${1#h}

	net_in "$node" ip link show cni0 >/dev/null 2>&1 ||
		net_in "$node" ip -batch - <<-END || fail "the bridge cannot be made"
			link add cni0 type bridge
			address add $net.1/24 dev cni0
			link set cni0 up
		END
	ip netns add "$NET_PREFIX$pod" &&
		ip link add eth0 netns "$NET_PREFIX$pod" type veth peer name "to-$pod" netns "$NET_PREFIX$node" &&
		net_in "$node" ip link set "to-$pod" master cni0 up && net_in "$pod" ip -batch - <<-END || fail "$pod cannot be made"
			link set lo up
			link set eth0 up
			address add $net.$3/24 dev eth0
			route add default via $net.1 mtu 1348
		END
}

# node_queue NODE POD RATE: as the bandwidth plugin of CNI makes it.
node_queue() {
	net_in "$1" tc qdisc replace dev "to-$2" root tbf rate "$3" burst 5000 limit 1000000
}

# node_pods NODE: those that are stamped.
node_pods() { status_of "$1" '[.interfaces[] | select(.role == "pod") | .name] | sort | join(" ")'; }

node_pods_are() { [[ $(node_pods "$1") == "$2" ]]; }

node_pods_soon() { wait_for 20 "pods that are stamped on $1 are '$2'" node_pods_are "$1" "$2"; }

node_backlog() { net_in "$1" tc -s -j qdisc show dev "to-$2" root | jq '.[0].backlog'; }

# node_queue_bytes NODE POD: the median of what waits.
node_queue_bytes() {
	local i

	for ((i = 0; i < 41; i++)); do
		node_backlog "$@"
		sleep 0.05
	done | sort -n | sed -n 21p
}

# node_hops NODE N: the flow's telemetry shows N hops.
node_hops() { flow_soon "$1" "hops of the flow" '.hops | length' "$2"; }

# The wire has a table of speeds: 50 Mbit/s are told as 100, with bytes scaled alike. The uplink is this machine's.
node__why_and_int_know_the_speed_of_the_uplink() {
	node_up h1 without-fq
	net_in h1 tc qdisc replace dev eth0 root tbf rate 50mbit burst 5000 limit 1000000
	node_config h1 "interfaces: [{name: eth0, role: host}]"
	daemon_start h1 h2 sw
	expect "its speed" "$(status_of h1 '.interfaces[0].speed_bps')" -eq 50000000
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	node_hops h1 2
	expect "speed of the first hop as told" "$(flow_of h1 '.hops[0].speed_bps')" -eq 100000000
	ctl_json '.hops[0].speed_bps == 50000000 and (.hops[0].speed_is_bound | not) and .hops[1].speed_bps == 100000000 and
		.hops[1].speed_is_bound and .hops[0].tx_rate_bps < 60000000' why ":$(bulk_port)" --json
	ctl_text "which is eth0 of this machine: a port of 50 Mbit/s that sends" why ":$(bulk_port)"
	ctl_text "hop 2 of 2: up to 100 Mbit/s, is " why ":$(bulk_port)"
	ctl_text "50 Mbit/s" int
	ctl_json '.[0].hops[0].speed_bps == 50000000 and .[0].hops[1].speed_is_bound' int --json
}

# Pods that were there before and that come later, with a route of their own or at a bridge; only a tbf is a hop.
node__veths_with_a_queue_are_found_and_stamped() {
	node_up h2 without-fq
	node_pod h2 pod1 11
	node_pod h2 pod2 12
	node_queue h2 pod2 20mbit
	node_config h2
	daemon_start h1 h2 sw
	node_pods_soon h2 to-pod2
	expect_said h2 "pods with a queue: 0 -> 1, by the tbf or htb of their veths"
	expect "filter of a veth without a queue" "$(net_in h2 tc qdisc show dev to-pod1)" has-no clsact
	expect "its id" "$(status_of h2 '.interfaces[] | select(.name == "to-pod2") | .switch_id')" -eq 1024
	expect "its speed" "$(status_of h2 '.interfaces[] | select(.name == "to-pod2") | .speed_bps')" -eq 20000000
	expect "status as text" "$(ctl h2 status)" has "to-pod2          pod"
	server pod1
	bulk_start h1 10.244.2.11
	governed_soon h1
	node_hops h1 1
	expect "path" "$(flow_of h1 .path_id)" -eq 2
	# The queue comes, is another one, and goes.
	node_queue h2 pod1 20mbit
	node_pods_soon h2 "to-pod1 to-pod2"
	node_hops h1 2
	expect "speed of the last hop in bit/s, or the next of the table" "$(flow_of h1 '.hops[1].speed_bps')" -eq 100000000
	expect "path" "$(flow_of h1 .path_id)" -eq $((2 ^ 1024))
	grows "feedback" 20 flow_of h1 .feedbacks
	node_queue h2 pod1 10mbit
	flow_soon h1 "speed of the last hop" '.hops[1].speed_bps' 10000000
	net_in h2 tc qdisc del dev to-pod1 root
	node_pods_soon h2 to-pod2
	node_hops h1 1
	expect "what is left on the veth" "$(net_in h2 tc qdisc show dev to-pod1)" has-no clsact
	bulk_goes_on
	bulk_stop
	servers_stop
	# Later ones.
	node_pod h2 pod3 13
	node_queue h2 pod3 20mbit
	node_bridge_pod h2 pod4 14
	node_queue h2 pod4 20mbit
	node_pods_soon h2 "to-pod2 to-pod3 to-pod4"
	server pod4
	bulk_start h1 10.244.2.14
	governed_soon h1
	node_hops h1 2
	bulk_stop
	server pod3
	bulk_start h1 fd00:244:2::13
	governed_soon h1
	node_hops h1 2
	bulk_stop
	expect "hops to pods" "$(stat_of h2 rx_pod_hop)" -gt 10
	expect "telemetry without room" "$(stat_of h2 rx_pod_full)" -eq 0
}

# Veths that are no pod's: another namespace's end outside of the CIDRs, and a pair within the node.
node__other_veths_are_left_alone() {
	node_up h2 without-fq
	node_pod h2 pod1 11
	node_queue h2 pod1 20mbit
	ip netns add "${NET_PREFIX}vm1"
	ip link add eth0 netns "${NET_PREFIX}vm1" type veth peer name to-vm1 netns "${NET_PREFIX}h2"
	net_in h2 ip link set to-vm1 up
	net_in h2 ip route add 10.9.0.1 dev to-vm1
	node_queue h2 vm1 20mbit
	net_in h2 ip link add to-self type veth peer name self
	net_in h2 ip link set to-self up
	net_in h2 ip route add 10.244.2.99 dev to-self
	node_queue h2 self 20mbit
	node_config h2
	daemon_start h2
	node_pods_soon h2 to-pod1
	sleep 2
	expect "pods that are stamped" "$(node_pods h2)" = to-pod1
	# A route makes it one.
	net_in h2 ip route add 10.244.2.98 dev to-vm1
	node_pods_soon h2 "to-pod1 to-vm1"
	net_in h2 ip route del 10.244.2.98
	node_pods_soon h2 to-pod1
}

# The queue of a pod stays short where it is stamped, and fills where it is not.
node__pod_with_a_rate_has_a_short_queue() {
	local without with

	node_up h2
	node_pod h2 pod1 11
	node_queue h2 pod1 20mbit
	host_config h1 "peers: [{prefix: 10.0.0.0/8, base_rtt: 20ms}, {prefix: 'fd00::/16', base_rtt: 20ms}]" \
		>"$CASE_DIR/h1.yaml"
	host_config h2 >"$CASE_DIR/h2.yaml"
	daemon_start h1 h2 sw
	server pod1
	bulk_start h1 10.244.2.11
	node_hops h1 1
	grows "bytes that got through" 20 bulk_acked
	without=$(node_queue_bytes h2 pod1)
	expect "bytes in the queue of a node that does not stamp it" "$without" -gt 100000
	node_config h2
	daemon_hup h2 reloaded
	node_hops h1 2
	wait_for 20 "the queue is below 10 packets" node_queue_is_short h2 pod1
	with=$(node_queue_bytes h2 pod1)
	expect "bytes in the queue, of $without" "$with" -lt 15000
	grows "feedback" 20 flow_of h1 .feedbacks
	bulk_goes_on
	bulk_stop
	# And back again.
	host_config h2 >"$CASE_DIR/h2.yaml"
	daemon_hup h2 reloaded
	expect "pods that are stamped" "$(node_pods h2)" = ""
	expect "what is left on the veth" "$(net_in h2 tc qdisc show dev to-pod1)" has-no clsact
}

node_queue_is_short() { (($(node_backlog "$@") < 15000)); }

# UDP of one way has its feedback from probes, which are answered at the uplink.
node__probes_bring_the_hop_to_the_pod() {
	node_up h2
	node_pod h2 pod1 11
	node_queue h2 pod1 20mbit
	node_config h2
	daemon_start h1 h2 sw
	node_pods_soon h2 to-pod1
	server pod1
	bulk_udp_start h1 10.244.2.11 -b 10M -l 1200
	wait_for 20 "the flow of UDP has two hops" node_udp_hops 2
	expect "feedback by probes" "$(stat_of h1 rx_probe_reply)" -gt 2
	bulk_udp_stop
}

node_udp_hops() {
	(($(ctl h1 flows --json | jq '[.[] | select(.remote_port == 5201)] | max_by(.tx_bytes) | .hops | length') == $1))
}

# A crash leaves the veths' programs, the next sluiced adopts them, and an orderly end takes all of it away.
node__a_crash_and_an_orderly_end() {
	node_up h2 without-fq
	node_pod h2 pod1 11
	node_queue h2 pod1 20mbit
	node_pod h2 pod2 12
	state_keep h2
	node_config h2
	daemon_start h1 h2 sw
	node_pods_soon h2 to-pod1
	bpf_of h2 >"$CASE_DIR/objects.txt"
	server pod1
	bulk_start h1 10.244.2.11
	node_hops h1 2
	daemon_kill h2
	grows "hops to pods without a daemon" 20 stat_of h2 rx_pod_hop
	daemon_start h2
	bpf_of h2 >>"$CASE_DIR/objects.txt"
	sort -o "$CASE_DIR/objects.txt" -u "$CASE_DIR/objects.txt"
	node_pods_soon h2 to-pod1
	grows "hops to pods" 20 stat_of h2 rx_pod_hop
	expect "our programs on the veth" "$(($(net_in h2 tc filter show dev to-pod1 egress | grep -c 'handle 0x1 pod_hop') +
		$(tcx_pod_pins h2 | wc -w)))" -eq 1
	bulk_stop
	daemon_stop h2
	state_back "$CASE_DIR/objects.txt" h2
}

node__filters_of_somebody_else_on_a_veth_stay() {
	node_up h2 without-fq
	node_pod h2 pod1 11
	node_queue h2 pod1 20mbit
	net_in h2 tc qdisc add dev to-pod1 clsact
	interface_filters h2 to-pod1
	state_keep h2
	node_config h2
	daemon_start h1 h2 sw
	node_pods_soon h2 to-pod1
	bpf_of h2 >"$CASE_DIR/objects.txt"
	server pod1
	bulk_start h1 10.244.2.11
	node_hops h1 2
	bulk_stop
	daemon_stop h2
	state_back "$CASE_DIR/objects.txt" h2
}

node_uplink_waits() { (($(net_in h1 tc -s -j qdisc show dev eth0 root | jq '.[0].backlog') >= 20000)); }

# A clsact that comes or goes would empty the queue of the uplink, in which packets of all pods wait.
node__uplink_loses_nothing_when_sluiced_comes_and_goes() {
	local i

	need_tcx
	node_up h1 without-fq
	net_in h1 tc qdisc replace dev eth0 root tbf rate 50mbit burst 5000 limit 4000000
	node_config h1
	daemon_start h2 sw
	server h2
	bulk_start h1 10.2.0.2 -C cubic -w 256K
	for i in 1 2 3; do
		wait_for 20 "packets wait at the uplink" node_uplink_waits
		daemon_start h1
		expect "how it is attached" "$(tcx_attached h1 eth0)" = tcx
		grows "feedback" 5 flow_of h1 .feedbacks
		daemon_stop h1
		bulk_goes_on
	done
	bulk_unharmed
	expect "what is left on the uplink" "$(net_in h1 tc qdisc show dev eth0)" has-no clsact
}

# It can be made again as it was.
node_numbered_queue() {
	net_in h2 tc qdisc add dev to-pod1 root handle 85: tbf rate 20mbit burst 5000 limit 1000000 || fail "no tbf here"
}

# The bandwidth plugin's other half, the ifb, has a qdisc ingress in the place of clsact.
node__veth_with_an_ingress_qdisc_is_stamped_by_tcx() {
	local ids

	need_tcx
	node_up h2 without-fq
	node_pod h2 pod1 11
	node_numbered_queue
	tcx_ingress h2 to-pod1
	state_keep h2
	node_config h2
	daemon_start h1 h2 sw
	node_pods_soon h2 to-pod1
	expect "how it is attached" "$(tcx_attached h2 to-pod1)" = tcx
	expect "links" "$(tcx_pod_pins h2)" = egress
	bpf_of h2 >"$CASE_DIR/objects.txt"
	ids=$(tcx_ids h2)
	server pod1
	bulk_start h1 10.244.2.11
	node_hops h1 2
	wait_for 20 "the queue is below 10 packets" node_queue_is_short h2 pod1
	grows "bytes that the filter sees" 20 tcx_hits h2 to-pod1
	daemon_kill h2
	grows "hops to pods without a daemon" 20 stat_of h2 rx_pod_hop
	daemon_start h2
	bpf_of h2 >>"$CASE_DIR/objects.txt"
	sort -o "$CASE_DIR/objects.txt" -u "$CASE_DIR/objects.txt"
	node_pods_soon h2 to-pod1
	expect "the link after it" "$(tcx_ids h2)" = "$ids"
	grows "hops to pods" 20 stat_of h2 rx_pod_hop
	# Without its queue, and as no node at all.
	net_in h2 tc qdisc del dev to-pod1 root
	tcx_pod_pins_soon h2 ""
	node_numbered_queue
	tcx_pod_pins_soon h2 egress
	host_config h2 >"$CASE_DIR/h2.yaml"
	daemon_hup h2 reloaded
	tcx_pod_pins_soon h2 ""
	node_config h2
	daemon_hup h2 reloaded
	tcx_pod_pins_soon h2 egress
	bulk_goes_on
	bulk_stop
	daemon_stop h2
	state_back "$CASE_DIR/objects.txt" h2
	daemon_start h2
	tcx_pod_pins_soon h2 egress
	net_in h2 ip link del to-pod1
	tcx_pod_pins_soon h2 ""
}

node__veth_with_an_ingress_qdisc_is_said_by_an_older_kernel() {
	[[ -e $BUILD/accident.so ]] || skip "no accident.so: make build/accident.so"
	node_up h2 without-fq
	node_pod h2 pod1 11
	node_queue h2 pod1 20mbit
	net_in h2 tc qdisc add dev to-pod1 ingress || fail "no qdisc ingress here"
	node_config h2
	daemon_start h1 sw
	tcx_lacking daemon_start h2
	wait_for 20 "sluiced says so" said h2 "has a qdisc 'ingress' in the place of clsact, and this kernel has no tcx"
	expect "pods that are stamped" "$(node_pods h2)" = ""
	expect "its qdisc ingress" "$(net_in h2 tc qdisc show dev to-pod1)" has "qdisc ingress"
	server pod1
	bulk_start h1 10.244.2.11
	node_hops h1 1
	grows "feedback" 20 flow_of h1 .feedbacks
	ctl_text "hop 1 of 1" why ":$(bulk_port)"
	expect "what why says of a pod that is not stamped" "$(ctl h1 why ":$(bulk_port)")" has-no "hop 2"
	bulk_stop
}

# The veth of a flow goes away while packets for it arrive; the next pod may have its number.
node__veth_is_deleted_under_load() {
	node_up h2 without-fq
	node_pod h2 pod1 11
	node_queue h2 pod1 20mbit
	node_config h2
	daemon_start h1 h2 sw
	server pod1
	bulk_start h1 10.244.2.11
	node_hops h1 2
	net_in h2 ip link del to-pod1
	node_pods_soon h2 ""
	expect "entries of the ports map" "$(bpftool -j map dump pinned "$PINS/ssys-h2/ports" | jq length)" -eq 1
	expect "lines that sluiced says" "$(wc -l <"$CASE_DIR/h2.log")" -lt 20
	servers_stop
	kill -KILL "$BULK"
	wait "$BULK" 2>/dev/null
	ip netns del "${NET_PREFIX}pod1"
	node_pod h2 pod1 11
	node_queue h2 pod1 20mbit
	node_pods_soon h2 to-pod1
	server pod1
	bulk_start h1 10.244.2.11
	governed_soon h1
	node_hops h1 2
	bulk_stop
}

# The veth eth0 of h1 is one of them, too. Rooms become free when others go.
node__pod_that_found_no_room_is_tried_again() {
	[[ -e $BUILD/accident.so ]] || skip "no accident.so: make build/accident.so"
	net_up without-fq
	LD_PRELOAD=$BUILD/accident.so ACCIDENT="fail pods 1" daemon_start h1
	expect_said h1 "more pods than the map has room for: older connections of some are paced and not windowed"
	expect "entries of the map of pods" "$(node_pods_known)" -eq 0
	net_in h1 ip link add any0 type veth peer name any1
	wait_for 20 "it is in the map" node_pods_are_known 1
	daemon_stop h1
}

node_pods_known() { bpftool -j map dump pinned "$PINS/ssys-h1/pods" | jq length; }

node_pods_are_known() { [[ $(node_pods_known) == "$1" ]]; }

# As of jobs that run for a moment: nothing adds up.
node__many_veths_come_and_go() {
	local round i begun=$SECONDS

	node_up h2 without-fq
	ip netns add "${NET_PREFIX}many"
	node_config h2
	daemon_start h2
	for round in 1 2; do
		for ((i = 1; i <= 200; i++)); do
			echo "link add m$i netns ${NET_PREFIX}many type veth peer name to-m$i netns ${NET_PREFIX}h2"
		done | ip -batch - || fail "the veths cannot be made"
		for ((i = 1; i <= 200; i++)); do
			echo "link set to-m$i up"
			echo "route add 10.244.2.$i dev to-m$i"
		done | net_in h2 ip -batch - || fail "the veths cannot be set up"
		for ((i = 1; i <= 200; i++)); do
			echo "qdisc add dev to-m$i root tbf rate 20mbit burst 5000 limit 100000"
		done | net_in h2 tc -batch - || fail "the veths get no queue"
		wait_for 60 "all are stamped" node_count h2 200
		for ((i = 1; i <= 200; i++)); do
			echo "link del to-m$i"
		done | net_in h2 ip -batch -
		wait_for 60 "none is left" node_count h2 0
	done
	# eth0 is a veth here, too.
	expect "entries of the map of pods" "$(bpftool -j map dump pinned "$PINS/ssys-h2/pods" | jq length)" -eq 1
	expect "entries of the ports map" "$(bpftool -j map dump pinned "$PINS/ssys-h2/ports" | jq length)" -eq 1
	# One a second at most, while they change.
	expect "lines that sluiced says" "$(wc -l <"$CASE_DIR/h2.log")" -lt $((15 + SECONDS - begun))
}

# node_holds NODE: what its sluiced has open, and its memory in KB.
node_holds() {
	local pid=${DAEMON[$1]}

	bpf_of "$1" >"$CASE_DIR/objects.txt"
	HOLDS="$(wc -l <"$CASE_DIR/objects.txt") programs, maps and links; $(find "/proc/$pid/fd" -mindepth 1 | wc -l) files"
	HOLDS_KB=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")
}

# node_batch FIRST LAST COMMAND...: one line for each of them, in which @ is its number.
node_batch() {
	local i

	for ((i = $1; i <= $2; i++)); do
		printf '%s\n' "${@:3}" | sed "s/@/$i/g"
	done
}

# node_talk FIRST LAST: these pods of h2 and h1 send datagrams to each other, every one of a flow of its own.
node_talk() {
	local i

	for ((i = $1; i <= $2; i++)); do
		net_in "p$i" bash -c 'for i in 1 2 3 4 5; do echo >/dev/udp/10.1.0.2/9; done'
		net_in h1 bash -c "for i in 1 2 3 4 5; do echo >/dev/udp/10.244.2.$i/9; done"
	done 2>>"$CASE_DIR/talk.log"
}

# node_forgot NODE: of the pods that are gone. pod1 is 10.244.2.250.
node_forgot() {
	[[ $(ctl "$1" flows --json | jq '[.[] | .local, .remote | select(startswith("10.244.2.") and . != "10.244.2.250")] | length') == 0 ]]
}

# CPU time of a node's sluiced so far.
node_cpu_ms() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($12 + $13) * 1000 / hz) }' "/proc/${DAEMON[$1]}/stat"; }

# 200 pods within a minute, forty at a time, of which four talk, while another pod gets a flow: it goes on, and nothing adds up.
# Peers (map hosts) are not forgotten by time: the least recently used makes room.
node__pods_come_and_go_under_load() {
	local first last talk i holds kb cpu_ms began_ms made waited_ms=0

	node_up h2 without-fq
	node_pod h2 pod1 250
	node_queue h2 pod1 50mbit
	ip netns add "${NET_PREFIX}many"
	node_config h2 "flow_timeout: 2s"
	host_config h1 "flow_timeout: 2s" >"$CASE_DIR/h1.yaml"
	daemon_start h1 h2 sw
	server pod1
	bulk_start h1 10.244.2.250
	node_hops h1 2
	BULK_LOST=$(lost) # before Linux 6.6 what waited in the queue of pod1 when it got its clsact is lost
	for ((first = 1; first <= 240; first += 40)); do
		((talk = first + 3, last = first + 39))
		for ((i = first; i <= talk; i++)); do
			node_pod h2 p$i $i
			node_queue h2 p$i 20mbit
		done
		node_batch $((talk + 1)) $last "link add m@ netns ${NET_PREFIX}many type veth peer name to-m@ netns ${NET_PREFIX}h2" |
			ip -batch - || fail "the veths cannot be made"
		node_batch $((talk + 1)) $last "link set to-m@ up" "route add 10.244.2.@ dev to-m@" | net_in h2 ip -batch - ||
			fail "the veths cannot be set up"
		node_batch $((talk + 1)) $last "qdisc add dev to-m@ root tbf rate 20mbit burst 5000 limit 100000" | net_in h2 tc -batch - ||
			fail "the veths get no queue"
		began_ms=$(uptime_ms)
		wait_for 60 "all are stamped" node_count h2 41
		((waited_ms += $(uptime_ms) - began_ms))
		made=$(stat_of h2 flow_made)
		node_talk $first $talk
		expect "flows of the pods that talk" "$(stat_of h2 flow_made)" -ge $((made + 20))
		{
			node_batch $first $talk "link del to-p@"
			node_batch $((talk + 1)) $last "link del to-m@"
		} | net_in h2 ip -batch -
		node_batch $first $talk "netns del ${NET_PREFIX}p@" | ip -batch -
		began_ms=$(uptime_ms)
		wait_for 60 "none is left" node_count h2 1
		((waited_ms += $(uptime_ms) - began_ms))
		if ((first == 1)); then
			# From here on: the first forty made room for what the next ones need.
			node_holds h2
			holds=$HOLDS kb=$HOLDS_KB cpu_ms=$(node_cpu_ms h2) waited_ms=0
		fi
	done
	cpu_ms=$(($(node_cpu_ms h2) - cpu_ms))
	node_holds h2
	echo "200 pods: $waited_ms ms waited for sluiced, $cpu_ms ms of its CPU time; $kb KB before, $HOLDS_KB KB after; $HOLDS" \
		>>"$CASE_DIR/holds.log"
	# Of the minute. How long it takes to make pods is not its affair.
	expect "ms that 200 pods waited for sluiced" $waited_ms -le 60000
	expect "ms of CPU time for 200 pods" $cpu_ms -le 2000
	expect "what sluiced holds after 200 pods" "$HOLDS" = "$holds"
	expect "KB of memory after 200 pods" "$HOLDS_KB" -le $((kb + 512))
	expect "entries of the map of pods" "$(bpftool -j map dump pinned "$PINS/ssys-h2/pods" | jq length)" -eq 2
	expect "entries of the ports map" "$(bpftool -j map dump pinned "$PINS/ssys-h2/ports" | jq length)" -eq 2
	wait_for 60 "h2 has no flow of the pods that are gone" node_forgot h2
	wait_for 60 "h1 has no flow to the pods that are gone" node_forgot h1
	bulk_unharmed
	node_hops h1 2
	bulk_stop
	servers_stop
	daemon_stop h1 h2 sw
	wait_for 300 "the BPF objects of the daemon are gone (left.txt)" bpf_none_left "$CASE_DIR/objects.txt"
}

node_count() { (($(status_of "$1" '[.interfaces[] | select(.role == "pod")] | length') == $2)); }

# The uplink as the first hop of what pods send.
node__uplink_is_the_first_hop() {
	node_up h1 without-fq
	net_in h1 tc qdisc add dev eth0 root tbf rate 80mbit burst 20000 limit 1000000
	node_pod h1 pod1 11
	node_config h1 "interfaces: [{name: eth0, role: host, speed: 80Mbit}]"
	daemon_start h1 h2 sw
	server h2
	bulk_start pod1 10.2.0.2
	governed_soon h1
	node_hops h1 2
	expect "path" "$(flow_of h1 .path_id)" -eq $((2 ^ 1024))
	expect "uplink as text" "$(ctl h1 status)" has "id 1024"
	expect "packets without its hop" "$(stat_of h1 tx_no_queue)" -eq 0
	bulk_goes_on
	# With SIGHUP it is none any more, for flows that run, too.
	host_config h1 "interfaces: [{name: eth0, role: host, speed: 80Mbit}]" >"$CASE_DIR/h1.yaml"
	daemon_hup h1 reloaded
	node_hops h1 1
	bulk_stop
}

# A queue that cannot be read is said, and all goes on.
node__uplink_without_a_queue_is_said() {
	node_up h1 without-fq
	node_pod h1 pod1 11
	node_config h1
	daemon_start h1 h2 sw
	expect_said h1 "eth0: the queue of noqueue cannot be read"
	server h2
	bulk_start pod1 10.2.0.2
	governed_soon h1
	node_hops h1 1
	expect "packets without its hop" "$(stat_of h1 tx_no_queue)" -gt 10
	bulk_stop
}
