# SPDX-License-Identifier: GPL-2.0-only
# A container of containerd and runc as a pod of the node h2: the network namespace and its interface first, by the CNI plugins of
# cni.sh, then the container in it, as a runtime for Kubernetes does it. The image is made of files of this machine.

CONTAINERD= # its process id

containerd_here() {
	local command

	for command in containerd ctr runc; do
		type -P $command >/dev/null || skip "no $command here: apt-get install --no-install-recommends containerd"
	done
	type -P busybox >/dev/null || skip "no busybox for an image: apt-get install busybox-static"
}

# containerd_image: an archive as docker save writes it, of busybox and iperf3.
containerd_image() {
	local dir=$CASE_DIR/image root=$CASE_DIR/image/root file

	mkdir -p "$root/bin" "$root/tmp" && cp "$(type -P busybox)" "$root/bin/busybox" && ln -s busybox "$root/bin/sh" || fail "no image"
	for file in $(type -P iperf3) $(ldd "$(type -P iperf3)" | grep -o '/[^ ]*'); do
		mkdir -p "$root${file%/*}" && cp -L "$file" "$root$file" || fail "no $file for the image"
	done
	tar -C "$root" -cf "$dir/layer.tar" .
	jq -n --arg layer "sha256:$(sha256sum "$dir/layer.tar" | cut -d ' ' -f 1)" '{ architecture: "amd64", os: "linux", config: {},
		rootfs: { type: "layers", diff_ids: [$layer] } }' >"$dir/config.json"
	jq -n '[{ Config: "config.json", RepoTags: ["sluice.test/iperf3:1"], Layers: ["layer.tar"] }]' >"$dir/manifest.json"
	tar -C "$dir" -cf "$CASE_DIR/image.tar" manifest.json config.json layer.tar || fail "no image"
}

# containerd_start: on h2, with a mount namespace of its own, in which /run is empty but for the network namespaces. Its mounts
# go with it.
containerd_start() {
	local dir=$CASE_DIR/containerd

	mkdir "$dir"
	cat >"$CASE_DIR/containerd.toml" <<-END
		version = 2
		root = "$dir/root"
		state = "$dir/state"
		disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]
		[grpc]
		address = "$dir/socket"
	END
	net_exec h2 unshare --mount --propagation slave bash -c '
		mkdir "$1/netns" && mount --rbind /run/netns "$1/netns" && mount -t tmpfs containerd /run && mkdir /run/netns &&
			mount --move "$1/netns" /run/netns && exec containerd --config "$2"' bash "$dir" "$CASE_DIR/containerd.toml" \
		>"$CASE_DIR/containerd.log" 2>&1 9>&- &
	CONTAINERD=$!
	wait_for 20 "containerd answers" containerd_ctl version
	containerd_ctl images import "$CASE_DIR/image.tar" || fail "no image: $(<"$CASE_DIR/ctr.log")"
}

# containerd_ctl ARGUMENT...: ctr, where it sees what containerd sees.
containerd_ctl() {
	nsenter --mount="/proc/$CONTAINERD/ns/mnt" --net="/run/netns/${NET_PREFIX}h2" ctr --address "$CASE_DIR/containerd/socket" \
		--namespace "ns${CC%_}" "$@" >"$CASE_DIR/ctr.txt" 2>"$CASE_DIR/ctr.log" 9>&-
}

containerd_end() {
	kill "$CONTAINERD"
	wait "$CONTAINERD"
	rmdir /sys/fs/cgroup/{,*/}"ns${CC%_}" 2>/dev/null # the parent, which runc leaves
	rm -rf "$CASE_DIR/containerd" "$CASE_DIR/image"
}

# containerd_left: cgroups of its containers.
containerd_left() { find /sys/fs/cgroup -path "*/ns${CC%_}/*" -type d 2>/dev/null | wc -l; }

# The node forgets the pod's flows.
containerd_forgot() { [[ $(ctl h2 flows --json | jq "[.[] | select(.local == \"$POD_IP\")] | length") == 0 ]]; }

containerd__container_is_governed_and_leaves_nothing() {
	local links

	cni_up
	containerd_here
	containerd_image
	containerd_start
	node_config h2 "flow_timeout: 2s"
	daemon_start h1 h2 sw
	links=$(net_in h2 ip -o link | wc -l)
	cni_pod pod1 ingressRate 50000000 ingressBurst 40000
	containerd_ctl run --detach --null-io --with-ns "network:/run/netns/${NET_PREFIX}pod1" sluice.test/iperf3:1 pod1 iperf3 -s ||
		fail "ctr run: $(<"$CASE_DIR/ctr.log")"
	wait_for 20 "iperf3 listens in the container" server_listens pod1 $TRAFFIC_PORT
	node_pods_soon h2 "$POD_VETH"
	bulk_start h1 "$POD_IP" --bidir
	governed_soon h1
	node_hops h1 2
	grows "hops to pods" 20 stat_of h2 rx_pod_hop
	# The flow that the container sends, with a control of its own and without fq: its receive window holds it.
	governed_soon h2
	expect "whose flow" "$(flow_of h2 .local)" = "$POD_IP"
	grows "windows that were cut" 20 stat_of h2 rx_window_cut
	wait_for 20 "the flow of the container is held by its window" flow_is h2 .why window
	bulk_goes_on
	containerd_ctl task kill --signal KILL pod1 || fail "ctr task kill: $(<"$CASE_DIR/ctr.log")"
	wait_for 20 "the container ends" containerd_stopped
	# iperf3 of h1 ends by itself, as its connection is reset.
	containerd_ctl task rm pod1
	containerd_ctl container rm pod1 || fail "ctr container rm: $(<"$CASE_DIR/ctr.log")"
	wait "$BULK"
	expect "cgroups of the container" "$(containerd_left)" -eq 0
	expect "processes in the namespace of the pod" "$(ip netns pids "${NET_PREFIX}pod1")" = ""
	cni_pod_ends pod1
	ip netns del "${NET_PREFIX}pod1"
	node_pods_soon h2 ""
	wait_for 20 "h2 has no flow of the container" containerd_forgot
	expect "entries of the map of pods" "$(bpftool -j map dump pinned "$PINS/ssys-h2/pods" | jq length)" -eq 1
	expect "entries of the ports map" "$(bpftool -j map dump pinned "$PINS/ssys-h2/ports" | jq length)" -eq 1
	expect "links of the node" "$(net_in h2 ip -o link | wc -l)" -eq "$links"
	containerd_end
	daemon_stop h2
}

containerd_stopped() { containerd_ctl task ls && grep -q '^pod1 .*STOPPED' "$CASE_DIR/ctr.txt"; }
