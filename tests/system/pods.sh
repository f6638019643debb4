# SPDX-License-Identifier: GPL-2.0-only
# Pods by name: what a container runtime leaves in files, as containerd and CRI-O lay it out, of pods at the node h2 that node.sh
# and plugins.sh make. A container of containerd itself, with the annotations of a pod, is at the end.

# pods_config NAME NAMESPACE NETNS: the config.json of a sandbox, as containerd writes it; CRIO in the environment: as CRI-O does.
pods_config() {
	jq -n --arg name "$1" --arg namespace "$2" --arg netns "$3" --arg crio "${CRIO:-}" '{
		ociVersion: "1.1.0", process: { args: ["/pause"], cwd: "/" }, root: { path: "rootfs", readonly: true },
		annotations: (if $crio != "" then { "io.kubernetes.cri-o.ContainerType": "sandbox", "io.kubernetes.pod.name": $name,
			"io.kubernetes.pod.namespace": $namespace } else { "io.kubernetes.cri.container-type": "sandbox",
			"io.kubernetes.cri.sandbox-name": $name, "io.kubernetes.cri.sandbox-namespace": $namespace } end),
		linux: { namespaces: [{ type: "pid" }, { type: "network", path: $netns }, { type: "mount" }] } }'
}

# pods_bundle POD NAME NAMESPACE: of the pod in the namespace POD.
pods_bundle() {
	local dir=$CASE_DIR/bundles/$1

	[[ ! ${CRIO:-} ]] || dir=$dir/userdata
	mkdir -p "$dir" && pods_config "$2" "$3" "/run/netns/$NET_PREFIX$1" >"$dir/config.json" || fail "no bundle of $1"
}

# pods_ctl ARGUMENT...: sluicectl of h2, with these bundles.
pods_ctl() { ctl h2 --bundles "$CASE_DIR/bundles" "$@"; }

# pods_connect POD ADDRESS: a connection that h1 keeps open, with a byte now and then: one flow of the pod.
pods_connect() {
	server_listens "$1" $TRAFFIC_PORT || server "$1"
	# shellcheck disable=SC2016
	net_exec h1 bash -c 'exec 3<>"/dev/tcp/$0/$1" && for ((i = 0; i < 36; i++)); do printf x >&3 && sleep 5; done' "$2" \
		$TRAFFIC_PORT 9>&- &
	wait_for 20 "h2 has a flow of $2" pods_has_flow "$2"
}

pods_has_flow() { [[ $(ctl h2 flows --json | jq "[.[] | select(.local == \"$1\")] | length") != 0 ]]; }

# pods_named ADDRESS ARGUMENT...: "namespace/name" of the pod whose address it is, once for each name that its flows have.
pods_named() {
	pods_ctl flows --json "${@:2}" | jq -r --arg local "$1" '[.[] | select(.local == $local) |
		if .pod then "\(.namespace)/\(.pod)" else "none" end] | unique | join(" ")'
}

# pods_refuses TEXT ARGUMENT...
pods_refuses() {
	pods_ctl "${@:2}" >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of sluicectl ${*:2}" $? -eq 1
	expect "what sluicectl ${*:2} says" "$(<"$CASE_DIR/ctl.log")" has "$1"
	expect "what sluicectl ${*:2} prints" "$(<"$CASE_DIR/ctl.txt")" = ""
}

# pods_up: two routed pods of one name in two namespaces, one of CRI-O and one of containerd, and two at one bridge.
pods_up() {
	node_up h2 without-fq
	node_pod h2 pod1 11
	node_pod h2 pod2 12
	node_config h2 "flow_timeout: 300s"
	daemon_start h1 h2 sw
	pods_connect pod1 10.244.2.11
	pods_connect pod2 10.244.2.12
	pods_connect pod2 fd00:244:2::12
	node_bridge_pod h2 pod3 13
	node_bridge_pod h2 pod4 14
	pods_connect pod3 10.244.2.13
	pods_connect pod4 10.244.2.14
}

pods_bundles() {
	pods_bundle pod1 web shop
	CRIO=1 pods_bundle pod2 web test-2
	pods_bundle pod3 db-0 shop
	pods_bundle pod4 node-exporter.v1-7d9fxcfb9b-x2x7q test-2
}

pods__flows_have_the_names_of_their_pods() {
	pods_up
	pods_bundles
	expect "a routed pod" "$(pods_named 10.244.2.11)" = shop/web
	expect "another of this name" "$(pods_named 10.244.2.12)" = test-2/web
	expect "by IPv6" "$(pods_named fd00:244:2::12)" = test-2/web
	expect "a pod at a bridge" "$(pods_named 10.244.2.13)" = shop/db-0
	expect "another at this bridge" "$(pods_named 10.244.2.14)" = test-2/node-exporter.v1-7d9fxcfb9b-x2x7q
	# Filters.
	expect "flows of web" "$(pods_ctl flows --json --pod web | jq -r '[.[].namespace] | unique | join(" ")')" = "shop test-2"
	expect "flows of web in shop" "$(pods_ctl flows --json --pod web --namespace shop | jq -r '[.[].local] | unique | join(" ")')" = 10.244.2.11
	expect "flows in test-2" "$(pods_ctl flows --json --namespace test-2 | jq -r '[.[].pod] | unique | join(" ")')" = \
		"node-exporter.v1-7d9fxcfb9b-x2x7q web"
	expect "flows of web from elsewhere" "$(pods_ctl flows --pod web --peer 10.9.9.9)" = "no flows of these"
	expect "the table" "$(pods_ctl flows --pod db-0 | sed -n 's/ *$//; s/.* //p' | sort -u | xargs)" = "POD shop/db-0"
	# One flow, by its pod, and by a part of its line.
	expect "why, of the only flow of a pod" "$(pods_ctl why --json --pod db-0 | jq -r '"\(.flow) \(.namespace)/\(.pod)"')" = \
		"$(pods_ctl flows --json --pod db-0 | jq -r '.[0] | "\(.local):\(.local_port) -> \(.remote):\(.remote_port) shop/db-0"')"
	expect "why as text" "$(pods_ctl why --pod db-0)" has "pod        shop/db-0"
	expect "why of one of two" "$(pods_ctl why --json --pod web --namespace test-2 10.244.2.12 | jq -r .flow)" has "10.244.2.12:5201 -> "
	pods_refuses "flows match: write a part of one of them" why --pod web
	pods_refuses "no flow matches" why --pod db-0 10.244.2.11
	# Names that are not here.
	pods_refuses "--pod 'wbe' is not here: did you mean web? 'sluicectl pods' lists all" flows --pod wbe
	pods_refuses "--pod 'nothing-like-it' is not here: 'sluicectl pods' lists all" why --pod nothing-like-it
	pods_refuses "--namespace 'tset-2' is not here: did you mean test-2?" top --batch --namespace tset-2
	pods_refuses "--namespace 'shop' has no pod 'node-exporter.v1-7d9fxcfb9b-x2x7q', but 'test-2' has" flows \
		--pod node-exporter.v1-7d9fxcfb9b-x2x7q --namespace shop
	# The list.
	expect "pods" "$(pods_ctl pods | awk '{ print $2 "/" $1, $3, $4 }' | tail -n +2 | tr '\n' ';')" = "shop/db-0 to-pod3 10.244.2.13;\
shop/web to-pod1 10.244.2.11;test-2/node-exporter.v1-7d9fxcfb9b-x2x7q to-pod4 10.244.2.14;test-2/web to-pod2 10.244.2.12;"
	expect "addresses" "$(pods_ctl --json pods | jq -r '.pods[3].addresses | join(" ")')" = "10.244.2.12 fd00:244:2::12"
	pods_ctl --json pods | schema errors pods >"$CASE_DIR/errors.txt" 2>&1
	pods_ctl --json flows | schema errors flows >>"$CASE_DIR/errors.txt" 2>&1
	expect "what is not as the schema says" "$(<"$CASE_DIR/errors.txt")" = ""
	# From another network namespace than that of the interfaces: numbers of links mean others there.
	expect "names in another network namespace" "$(ctl_of_elsewhere flows --json | jq '[.[] | select(.pod)] | length')" -eq 0
	expect "what it says there" "$(ctl_of_elsewhere flows --pod web 2>&1)" has "are in another network namespace: run sluicectl there"
}

ctl_of_elsewhere() {
	net_in h1 "$BUILD/sluicectl" --pin-dir "$PINS/ssys-h2" --bundles "$CASE_DIR/bundles" "$@"
}

# A sandbox that is removed with its network namespace, and one whose files alone are left; top goes on.
pods__pod_that_goes_leaves_its_addresses() {
	pods_up
	pods_bundles
	net_exec h2 timeout 100 "$BUILD/sluicectl" --pin-dir "$PINS/ssys-h2" --bundles "$CASE_DIR/bundles" top --batch --pod db-0 \
		>"$CASE_DIR/top.txt" 9>&- &
	wait_for 20 "top shows the flows of db-0" grep -q 'shop/db-0$' "$CASE_DIR/top.txt"
	servers_stop
	rm -r "$CASE_DIR/bundles/pod3"
	ip netns del "${NET_PREFIX}pod3"
	expect "the name of its flows" "$(pods_named 10.244.2.13)" = none
	pods_refuses "--pod 'db-0' is not here" flows --pod db-0
	wait_for 20 "top shows no flow of it" grep -q "no flows of these pods" "$CASE_DIR/top.txt"
	kill -0 $! || fail "top ended"
	kill $!
	wait $!
	ip netns del "${NET_PREFIX}pod4"
	expect "pods" "$(pods_ctl --json pods 2>/dev/null | jq -r '[.pods[].pod] | join(" ")')" = "web web"
	expect "sandboxes without a network namespace" "$(pods_ctl --json pods | jq .skipped.gone)" -eq 1
	expect "what pods says" "$(pods_ctl pods 2>&1)" has "skipped: 1 with a network namespace that cannot be opened"
	expect "a pod that is still there" "$(pods_named 10.244.2.11)" = shop/web
}

# No directory of a runtime: everything is as it is without Kubernetes.
pods__without_a_runtime_addresses_are_shown() {
	pods_up
	expect "names" "$(pods_named 10.244.2.11)" = none
	expect "the table" "$(pods_ctl flows 2>&1)" has-no POD
	expect "what flows says" "$(pods_ctl flows 2>&1 >/dev/null)" = ""
	pods_refuses "--pod: $CASE_DIR/bundles is not there: --bundles names the directory of a runtime's bundles" flows --pod web
	pods_ctl pods >"$CASE_DIR/ctl.txt" 2>"$CASE_DIR/ctl.log"
	expect "exit status of pods" $? -eq 0
	expect "pods" "$(<"$CASE_DIR/ctl.txt")" = ""
	mkdir "$CASE_DIR/bundles"
	pods_refuses "--namespace: no pod with a network namespace of its own is here" flows --namespace shop
	# As it may be in a container in which the network namespaces are not mounted.
	pods_bundle nowhere web shop
	pods_refuses "--pod: no pod is known here, and 1 descriptions were skipped: 'sluicectl pods' says why" flows --pod web
	expect "what pods says" "$(pods_ctl pods 2>&1)" has "skipped: 1 with a network namespace that cannot be opened"
}

# Files that no runtime writes, beside those of a pod.
pods__hostile_files_are_skipped_and_counted() {
	local dir=$CASE_DIR/bundles

	pods_up
	pods_bundle pod1 web shop
	mkdir -p "$dir"/{cut,large,escape,long,fifo,directory,link,empty,none,array,file,device,namespace,host,path}
	head -c 200 "$dir/pod1/config.json" >"$dir/cut/config.json"
	{ cat "$dir/pod1/config.json" && head -c 1100000 /dev/zero | tr '\0' ' '; } >"$dir/large/config.json"
	pods_config $'web\e[2J' shop "/run/netns/${NET_PREFIX}pod2" >"$dir/escape/config.json"
	pods_config "$(head -c 254 /dev/zero | tr '\0' a)" shop "/run/netns/${NET_PREFIX}pod2" >"$dir/long/config.json"
	pods_config web Shop "/run/netns/${NET_PREFIX}pod2" >"$dir/namespace/config.json"
	pods_config web shop "netns/relative" >"$dir/path/config.json"
	mkfifo "$dir/fifo/config.json"
	mkdir "$dir/directory/config.json"
	ln -s "$dir/pod1/config.json" "$dir/link/config.json"
	: >"$dir/empty/config.json"
	echo '[{"annotations": 1}]' >"$dir/array/config.json"
	echo '{"annotations": {"io.kubernetes.cri.container-type": "container"}}' >"$dir/none/config.json"
	pods_config web shop /etc/passwd >"$dir/file/config.json"
	pods_config web shop /dev/zero >"$dir/device/config.json"
	pods_config web shop "" | jq 'del(.linux)' >"$dir/host/config.json"
	expect "pods" "$(pods_ctl --json pods | jq -cS '[(.pods | length), .skipped]')" = \
		'[1,{"apart":0,"beyond_limit":0,"gone":2,"host_network":1,"malformed":7,"too_large":1,"unreadable":3}]'
	expect "the pod that is well described" "$(pods_named 10.244.2.11)" = shop/web
	expect "a pod that is not" "$(pods_named 10.244.2.12)" = none
	expect "what pods prints" "$(pods_ctl pods 2>&1 | grep -c $'\e')" -eq 0
	expect "what --verbose says" "$(pods_ctl --verbose pods 2>&1)" has "malformed: 7; too large: 1; unreadable: 3"
}

# Two pods at one bridge with one address, as after a mistake: the flows have no name rather than a wrong one.
pods__address_of_two_pods_names_neither() {
	node_up h2 without-fq
	node_bridge_pod h2 pod3 13
	node_config h2 "flow_timeout: 300s"
	daemon_start h1 h2 sw
	pods_connect pod3 10.244.2.13
	pods_bundle pod3 db-0 shop
	expect "a pod" "$(pods_named 10.244.2.13)" = shop/db-0
	node_bridge_pod h2 pod4 14
	pods_bundle pod4 db-1 shop
	expect "the pod beside another" "$(pods_named 10.244.2.13)" = shop/db-0
	net_in pod4 ip address add 10.244.2.13/32 dev eth0
	expect "two of one address" "$(pods_named 10.244.2.13)" = none
}

# pods_ctl_with CAPABILITIES ARGUMENT...: as root of a container.
pods_ctl_with() {
	net_in h2 setpriv --bounding-set "-all,$1" --inh-caps -all "$BUILD/sluicectl" --pin-dir "$PINS/ssys-h2" \
		--bundles "$CASE_DIR/bundles" "${@:2}"
}

# The capabilities of the DaemonSet: it need not enter the network namespaces of pods. Without NET_ADMIN a veth still has a name.
pods__capabilities_of_the_daemonset_suffice() {
	setpriv --version >/dev/null 2>&1 || skip "no setpriv to take capabilities away"
	pods_up
	pods_bundles
	pods_ctl_with +bpf,+perfmon,+net_admin,+net_raw flows --json >"$CASE_DIR/ctl.json" || fail "flows ends with $?"
	expect "flows without a name" "$(jq '[.[] | select(.pod | not)] | length' "$CASE_DIR/ctl.json")" -eq 0
	expect "their pods" "$(jq -r '[.[] | "\(.namespace)/\(.pod)"] | unique | join(" ")' "$CASE_DIR/ctl.json")" = \
		"shop/db-0 shop/web test-2/node-exporter.v1-7d9fxcfb9b-x2x7q test-2/web"
	pods_ctl_with +bpf flows --json >"$CASE_DIR/ctl.json" || fail "flows without NET_ADMIN ends with $?"
	expect "their pods without NET_ADMIN" "$(jq -r '[.[] | select(.pod) | "\(.namespace)/\(.pod)"] | unique | join(" ")' \
		"$CASE_DIR/ctl.json")" = "shop/web test-2/web"
	expect "what pods says without it" "$(pods_ctl_with +bpf pods 2>&1)" has "the addresses of 4 pods cannot be read: that needs CAP_NET_ADMIN"
}

pods__top_shows_pods() {
	need script stty
	pods_up
	pods_bundles
	node_queue h2 pod1 20mbit
	node_pods_soon h2 to-pod1
	pods_top 150
	expect "top" "$(<"$CASE_DIR/top.txt")" has "shop/web"
	expect "top" "$(<"$CASE_DIR/top.txt")" has "node-exporter.v1-7d9fxcfb9b-x2x7q"
	pods_top 150 --pod db-0
	expect "top of one pod" "$(<"$CASE_DIR/top.txt")" has "of db-0"
	expect "top of one pod" "$(<"$CASE_DIR/top.txt")" has "shop/db-0"
	expect "top of one pod" "$(<"$CASE_DIR/top.txt")" has-no "node-exporter"
	pods_top 80
	expect "top on a narrow terminal" "$(<"$CASE_DIR/top.txt")" has-no "shop/"
	pods_top 80 --pod wbe
	expect "top of another" "$(<"$CASE_DIR/top.txt")" has "did you mean web?"
	pods_top 80 web
	expect "top with an argument" "$(<"$CASE_DIR/top.txt")" has "top takes only options"
}

# pods_top COLUMNS ARGUMENT...: what it draws until q is pressed.
pods_top() {
	local columns=$1

	shift
	{
		sleep 1.5
		printf q
	} | timeout 30 script -qec "stty cols $columns rows 30; TERM=xterm NO_COLOR=1 nsenter --net=/run/netns/${NET_PREFIX}h2 \
		$BUILD/sluicectl --pin-dir $PINS/ssys-h2 --bundles $CASE_DIR/bundles top $*" /dev/null >"$CASE_DIR/top.txt" 2>&1 9>&-
}

# Two thousand containers: their names are read in a moment.
pods__many_pods_are_read_soon() {
	local i started

	pods_up
	pods_bundles
	for ((i = 0; i < 2000; i++)); do
		mkdir "$CASE_DIR/bundles/c$i"
		cp "$CASE_DIR/bundles/pod1/config.json" "$CASE_DIR/bundles/c$i/"
	done
	started=$(uptime_ms)
	expect "a pod" "$(pods_named 10.244.2.13)" = shop/db-0
	echo "# 2000 bundles: flows took $(($(uptime_ms) - started)) ms"
	expect "ms that flows took" $(($(uptime_ms) - started)) -lt 20000
}

# The bundle that containerd itself writes for a container with the annotations of a sandbox.
pods__containerd_writes_what_is_read() {
	local dir

	cni_up
	containerd_here
	containerd_image
	containerd_start
	node_config h2
	daemon_start h1 h2 sw
	cni_pod pod1 ingressRate 50000000 ingressBurst 40000
	containerd_ctl run --detach --null-io --with-ns "network:/run/netns/${NET_PREFIX}pod1" \
		--annotation io.kubernetes.cri.container-type=sandbox --annotation io.kubernetes.cri.sandbox-name=web \
		--annotation io.kubernetes.cri.sandbox-namespace=shop sluice.test/iperf3:1 pod1 iperf3 -s ||
		fail "ctr run: $(<"$CASE_DIR/ctr.log")"
	wait_for 20 "iperf3 listens in the container" server_listens pod1 $TRAFFIC_PORT
	pods_connect pod1 "$POD_IP"
	dir=$CASE_DIR/containerd/state/io.containerd.runtime.v2.task/ns${CC%_}
	expect "its flows" "$(ctl h2 --bundles "$dir" flows --json --pod web | jq -r '[.[] | "\(.local) \(.namespace)/\(.pod)"] | unique | join(";")')" = \
		"$POD_IP shop/web"
	containerd_ctl task kill --signal KILL pod1 || fail "ctr task kill: $(<"$CASE_DIR/ctr.log")"
	wait_for 20 "the container ends" containerd_stopped
	containerd_ctl task rm pod1
	containerd_ctl container rm pod1 || fail "ctr container rm: $(<"$CASE_DIR/ctr.log")"
	expect "pods" "$(ctl h2 --bundles "$dir" --json pods | jq '.pods | length')" -eq 0
	cni_pod_ends pod1
	ip netns del "${NET_PREFIX}pod1"
	containerd_end
	daemon_stop h2
}
