# SPDX-License-Identifier: GPL-2.0-only
# The cluster's machines, each a namespace of this one, and how they start and end.
#
#	node1 eth0 10.1.0.2 --- p1 sw p2 --- 10.2.0.2 eth0 node2
#	                           p3 --- 10.3.0.2 eth0 control
#
# sw routes, and is a switch of Sluice's; its ports to the nodes have NET_RATE and a queue that can be read. A node and the control
# plane have PID namespaces, whose first process ends everything in it, and nodes have mount namespaces (tests/cluster/node).
# Namespaces, cgroups and pins have names that begin with sluice-.

NET_PREFIX=sluice-
NET_RATE=100mbit
NODES="node1 node2"
declare -A ADDRESS=([node1]=10.1.0.2 [node2]=10.2.0.2 [control]=10.3.0.2)
declare -A MACHINE=() # name -> process id of its `unshare`, which ends with its first process

net_in() {
	local ns=$1

	shift
	nsenter --net="/run/netns/$NET_PREFIX$ns" "$@"
}

# node_in NODE COMMAND...: in all namespaces of the node.
node_in() {
	local first

	first=$(pgrep -P "${MACHINE[$1]}") || fail "$1 has ended"
	shift
	nsenter --target "$first" --net --mount --pid --uts "$@"
}

kube() { net_in control "$CLUSTER/bin/kubectl" --kubeconfig "$PKI/admin.conf" "$@" 9>&-; }

# --- certificates ---

# pki_key NAME SUBJECT [OPTION]...: a key and what the cluster's authority says of it.
pki_key() {
	local name=$1 subject=$2

	shift 2
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj "$subject" \
		-keyout "$PKI/$name.key" -out "$PKI/$name.crt" "$@" 2>>"$PKI/log" || fail "openssl: $(tail -n 1 "$PKI/log")"
}

# pki_client NAME SUBJECT: what a client of the API server starts with.
pki_client() {
	pki_key "$1" "$2" -CA "$PKI/ca.crt" -CAkey "$PKI/ca.key" -addext extendedKeyUsage=clientAuth
	cat >"$PKI/$1.conf" <<-END
		apiVersion: v1
		kind: Config
		clusters: [{name: sluice, cluster: {server: 'https://${ADDRESS[control]}:6443', certificate-authority: $PKI/ca.crt}}]
		users: [{name: me, user: {client-certificate: $PKI/$1.crt, client-key: $PKI/$1.key}}]
		contexts: [{name: sluice, context: {cluster: sluice, user: me}}]
		current-context: sluice
	END
}

pki_make() {
	local node

	mkdir -p "$PKI"
	pki_key ca /CN=sluice-cluster
	pki_key apiserver /CN=kube-apiserver -CA "$PKI/ca.crt" -CAkey "$PKI/ca.key" -addext extendedKeyUsage=serverAuth \
		-addext "subjectAltName=IP:${ADDRESS[control]},IP:10.96.0.1,IP:127.0.0.1,DNS:kubernetes.default.svc"
	pki_client admin /O=system:masters/CN=admin
	pki_client kube-controller-manager /CN=system:kube-controller-manager
	pki_client kube-scheduler /CN=system:kube-scheduler
	pki_client kube-proxy /CN=system:kube-proxy
	for node in $NODES; do
		pki_client "$node" "/O=system:nodes/CN=system:node:$node"
	done
	openssl ecparam -name prime256v1 -genkey -noout -out "$PKI/accounts.key" || fail "openssl makes no key for service accounts"
}

# --- the network ---

# net_link N NAME: the cable between port N of the switch and a machine.
net_link() {
	local n=$1 name=$2

	ip link add eth0 netns "$NET_PREFIX$name" type veth peer name "p$n" netns "${NET_PREFIX}sw" &&
		net_in "$name" ip link set lo up && net_in "$name" ip link set eth0 up && net_in sw ip link set "p$n" up &&
		net_in "$name" ip address add "10.$n.0.2/24" dev eth0 && net_in sw ip address add "10.$n.0.1/24" dev "p$n" &&
		net_in "$name" ip route add default via "10.$n.0.1" || fail "the link of $name cannot be set up"
}

net_up() {
	local name n=0

	for name in sw $NODES control; do
		ip netns add "$NET_PREFIX$name" || fail "the namespace of $name cannot be made"
	done
	# shellcheck disable=SC2016
	net_in sw bash -c 'ip link set lo up && echo 1 >/proc/sys/net/ipv4/ip_forward' || fail "sw cannot route"
	for name in $NODES control; do
		net_link $((++n)) "$name"
	done
	for n in 1 2; do
		net_in sw tc qdisc add dev p$n root handle 1: tbf rate $NET_RATE burst 5000 limit 1000000 || fail "p$n gets no queue"
	done
}

net_down() {
	local path

	for path in "/run/netns/$NET_PREFIX"*; do
		[[ ! -e $path ]] || ip netns del "${path##*/}"
	done
}

# --- machines ---

# machine_start NAME PROGRAM ARGUMENT...: the first process of its PID namespace.
machine_start() {
	local name=$1

	shift
	nsenter --net="/run/netns/$NET_PREFIX$name" unshare --mount --propagation private --uts --pid --fork --kill-child --mount-proc \
		"$@" >"$RUN/$name.log" 2>&1 9>&- &
	MACHINE[$name]=$!
	disown $! # no message when it is killed
}

machine_lives() { kill -0 "${MACHINE[$1]}" 2>/dev/null || fail "$1 ended: $(tail -n 3 "$RUN/$1.log")"; }

# cgroups_make NODE: where its pods' cgroups are. A new cpuset is empty, and nothing runs in it.
cgroups_make() {
	local dir file

	for dir in /sys/fs/cgroup/*/; do
		[[ -w $dir/cgroup.procs && ! -e $dir/cgroup.controllers ]] || continue
		mkdir -p "${dir}sluice-$1"
		for file in cpuset.cpus cpuset.mems; do
			[[ ! -e $dir$file ]] || cat "$dir$file" >"${dir}sluice-$1/$file"
		done
	done
}

# A cgroup is busy for a moment after its last process.
cgroups_remove() {
	local dir tries=0

	for dir in /sys/fs/cgroup/*/sluice-node*; do
		until [[ ! -d $dir ]] || find "$dir" -depth -type d -exec rmdir {} + 2>/dev/null || ((tries++ > 50)); do
			sleep 0.1
		done
	done
}

control_answers() { machine_lives control && kube get --raw /readyz >/dev/null 2>&1; }

node_is_ready() {
	machine_lives "$1"
	[[ $(kube get node "$1" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}' 2>/dev/null) == True ]]
}

# The nodes' pods are where the controller manager put them.
node_routed() {
	local cidr

	cidr=$(kube get node "$1" -o jsonpath='{.spec.podCIDR}' 2>/dev/null)
	[[ $cidr ]] && net_in sw ip route replace "$cidr" via "${ADDRESS[$1]}"
}

cluster_up() {
	local node

	pki_make
	net_up
	machine_start control "$HERE/control" "${ADDRESS[control]}" "$RUN/control"
	for node in $NODES; do
		cgroups_make "$node"
		machine_start "$node" "$HERE/node" "$node" "${ADDRESS[$node]}" "$RUN/$node"
	done
	wait_for 180 "the API server answers" control_answers
	for node in $NODES; do
		wait_for 180 "$node has an address range for its pods" node_routed "$node"
	done
	for node in $NODES; do
		wait_for 180 "$node is Ready" node_is_ready "$node"
	done
}

# Of this run, or of one that was killed: nothing but the cluster's processes is in these namespaces.
processes() {
	local path

	for path in "/run/netns/$NET_PREFIX"*; do
		[[ ! -e $path ]] || ip netns pids "${path##*/}" 2>/dev/null
	done
}

processes_end() {
	local pids tries=0

	while mapfile -t pids < <(processes) && ((${#pids[@]} && tries++ < 100)); do
		kill -KILL "${pids[@]}" 2>/dev/null
		sleep 0.1
	done
}

# cluster_down: everything but $RUN. Fails, and says what it is, if something is left.
cluster_down() {
	local left

	switch_stop
	processes_end
	MACHINE=()
	net_down
	rm -rf "$SWITCH_PINS"
	cgroups_remove
	left=$(compgen -G "/run/netns/$NET_PREFIX*"; compgen -G "/sys/fs/cgroup/*/sluice-node*"; compgen -G "$SWITCH_PINS")
	[[ ! $left ]] || {
		echo "not ok cluster: this is left of it: ${left//$'\n'/ }"
		return 1
	}
}

# --- the switch ---

SWITCH= # the process id of its sluiced

switch_start() {
	cat >"$RUN/sw.yaml" <<-END
		pin_dir: $SWITCH_PINS
		interfaces:
		  - {name: p1, role: switch, speed: ${NET_RATE^}, id: 1}
		  - {name: p2, role: switch, speed: ${NET_RATE^}, id: 2}
	END
	nsenter --net="/run/netns/${NET_PREFIX}sw" "$BUILD/sluiced" --config "$RUN/sw.yaml" >"$RUN/sw.log" 2>&1 9>&- &
	SWITCH=$!
	wait_for 60 "sluiced of the switch is ready" grep -q '^sluiced: ready' "$RUN/sw.log"
}

switch_stop() {
	[[ $SWITCH ]] || return 0
	kill -TERM "$SWITCH" 2>/dev/null
	wait "$SWITCH"
	SWITCH=
}
