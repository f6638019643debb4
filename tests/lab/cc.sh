# SPDX-License-Identifier: GPL-2.0-only
# The congestion controls, in one table: name, what net.ipv4.tcp_congestion_control becomes ("-":
# left alone), net.ipv4.tcp_ecn, where the bottleneck marks (in thousandths of the BDP, 0:
# nowhere), where a sluiced runs (everywhere: in every namespace; hosts: in those of hosts only, so
# that nothing is stamped and delay controls flows), its `hpcc: variant`, `feedback` and `telemetry` ("-":
# the default).
# sluice is what we recommend: the daemon's own defaults. In LAB=racks that is HPCC and HierCC together, hpcc
# has the one and hiercc the other alone. sluice-every and hpcc-every have telemetry in each packet of data, as HierCC has
# by default; sluice-companion has it beside the data. cubic-ecn asks for ECN.
CC_TABLE='
sluice	-	2	0	everywhere
silent	-	2	0	hosts
sluice-every	-	2	0	everywhere	plain	hops	every
hpcc	-	2	0	everywhere	plain
hpcc-every	-	2	0	everywhere	plain	hops	every
sluice-companion	-	2	0	everywhere	plain	hops	companion
hpcc-vai-sf	-	2	0	everywhere	vai-sf
rx-hpcc	-	2	0	everywhere	plain	window
hiercc	-	2	0	everywhere	plain
cubic	cubic	2	0	-
cubic-ecn	cubic	1	0	-
bbr	bbr	2	0	-
dctcp	dctcp	1	170	-
reno	reno	2	0	-
none	-	2	0	-
burst	-	2	0	-
'
SLUICE_PINS=/sys/fs/bpf

cc_names() {
	awk 'NF { print $1 }' <<<"$CC_TABLE" | xargs
}

# The qdiscs that a bottleneck may have, as AQM= or behind a + in CC.
CC_QDISCS='fq_codel codel cake dualpi2 pie red'

# cc_field CC COLUMN
cc_field() {
	awk -v cc="${1%%+*}" -v column="$2" '$1 == cc { print $column }' <<<"$CC_TABLE"
}

# cc_qdisc CC: what it has at the bottlenecks, with its options; nothing: a FIFO, or the marks of dctcp.
cc_qdisc() {
	[[ $1 == *+* ]] && echo "${1#*+}" || echo "$LAB_AQM"
}

# The controls of this kernel. TCP controls that are not the default have to be allowed before a
# namespace may choose them; cc_restore puts the list back.
cc_prepare() {
	local cc tcp list=/proc/sys/net/ipv4/tcp_allowed_congestion_control

	CC_ALLOWED_BEFORE=$(<$list)
	for cc in $LAB_CCS $LAB_PODCCS $LAB_RIVAL; do
		tcp=$(cc_field "$cc" 2)
		[[ $tcp == - || " $(<$list) " == *" $tcp "* ]] && continue
		modprobe -q "tcp_$tcp" 2>/dev/null
		echo "$(<$list) $tcp" 2>/dev/null >$list
	done
}

cc_restore() {
	[[ ${CC_ALLOWED_BEFORE:-} ]] &&
		echo "$CC_ALLOWED_BEFORE" >/proc/sys/net/ipv4/tcp_allowed_congestion_control
	[[ ${CC_MOUNTED:-} ]] && umount "$SLUICE_PINS"
	return 0
}

# Prints what is missing for CC, nothing if it can run.
cc_missing() {
	local tcp qdisc

	for tcp in $LAB_PODCCS; do
		grep -qw "$tcp" /proc/sys/net/ipv4/tcp_available_congestion_control ||
			{ echo "$tcp"; return; }
	done
	tcp=$(cc_field "$1" 2) qdisc=$(cc_qdisc "$1")
	((! $(cc_field "$1" 4))) || qdisc=${qdisc:-codel}
	if [[ $tcp != - ]] &&
		! grep -qw "$tcp" /proc/sys/net/ipv4/tcp_available_congestion_control; then
		echo "$1"
	elif [[ $qdisc ]] && ! net_has_qdisc "$qdisc"; then
		echo "${qdisc%% *}"
	elif cc_daemons "$1" && [[ ! -x $LAB_BUILD/sluiced ]]; then
		echo "$1"
	fi
}

# cc_set HOST TCP_CONTROL ECN
cc_set() {
	# shellcheck disable=SC2016
	net_in "$1" bash -c 'echo "$1" >/proc/sys/net/ipv4/tcp_congestion_control &&
		echo "$2" >/proc/sys/net/ipv4/tcp_ecn' bash "$2" "$3"
}

# cc_pods CC: the pods' own controls, the same whatever the nodes do: dealt to the senders in turn; the
# others have the first. In LAB=racks a CC that is a control of TCP is the pods'.
cc_pods() {
	local i=0 pod controls control

	read -ra controls <<<"$LAB_PODCCS"
	for pod in "${NET_PODS[@]}"; do
		control=${controls[0]}
		[[ $pod == pod* ]] && control=${controls[i++ % ${#controls[@]}]}
		[[ $(cc_field "$1" 2) == - ]] || control=$(cc_field "$1" 2)
		cc_set "$pod" "$control" "$(cc_field "$1" 3)" || return 1
	done
}

# cc_apply CC BASE_RTT_US DIR: sets CC up in a topology that is up.
cc_apply() {
	local cc=$1 base_us=$2 dir=$3 tcp ns permille k_us two_packets_us i qdisc

	tcp=$(cc_field "$cc" 2)
	for ns in "${NET_HOSTS[@]}"; do
		[[ $tcp == - ]] && break
		cc_set "$ns" "$tcp" "$(cc_field "$cc" 3)" || return 1
	done
	for ((i = LAB_SENDERS - LAB_RIVALS + 1; i <= LAB_SENDERS && LAB_RIVALS; i++)); do
		cc_set "h$i" "$LAB_RIVAL" "$(cc_field "$LAB_RIVAL" 3)" || return 1
	done
	cc_pods "$cc" || return 1

	permille=$(cc_field "$cc" 4)
	qdisc=$(cc_qdisc "$cc")
	if [[ $qdisc ]]; then
		net_aqm "$qdisc" || return 1
	elif ((permille)); then
		# Below two packets, each packet that meets another one would be marked.
		[[ $NET_HAS_NETEM ]] && base_us=$LAB_RTT
		k_us=$((permille * base_us / 1000))
		two_packets_us=$((2 * 1514 * 8 * 1000000 / LAB_RATE + 1))
		((k_us < two_packets_us)) && k_us=$two_packets_us
		net_mark "$k_us" || return 1
	fi
	[[ $LAB_ATTACH ]] || cc_start "$cc" "$base_us" "$dir"
}

# cc_daemons CC: whether there are daemons: of CC itself, or of the ports that pause and are paused.
cc_daemons() {
	[[ $(cc_field "$1" 5) != - || $LAB_MECH == pfc || $LAB_MECH == ppfc ]]
}

# cc_start CC BASE_RTT_US DIR: the programs of CC, if it has any.
cc_start() {
	local switches=() hosts=("${NET_HOSTS[@]}") i

	cc_daemons "$1" || return 0
	[[ $(cc_field "$1" 5) == everywhere ]] && switches=("${NET_SWITCHES[@]}")
	[[ $(cc_field "$1" 5) == - ]] && switches=("${NET_SWITCHES[@]}") hosts=(hosts)
	for ((i = LAB_SENDERS - LAB_RIVALS + 1; i <= LAB_SENDERS && LAB_RIVALS; i++)); do
		mapfile -t hosts < <(printf '%s\n' "${hosts[@]}" | grep -vx "h$i")
	done
	# The spine of racks has no port to report, and the probe is in no rack.
	[[ $LAB == racks ]] && switches=()
	((LAB_RACKS == 0)) || hosts=("${NET_RACKS[@]}")
	((LAB_RACKS == 0)) || [[ $(cc_field "$1" 5) == - ]] || hosts+=(r1)
	cc_sluice_start "$@" "${hosts[@]}" "${switches[@]}"
}

# cc_collect CC DIR: the control's own figures at the end of a run, before cc_remove.
cc_collect() {
	local ns

	cc_daemons "$1" || return 0
	for ns in "${!CC_DAEMONS[@]}"; do
		net_in "$ns" "$LAB_BUILD/sluicectl" --pin-dir "$SLUICE_PINS/slab-$ns" stats --json \
			>"$2/stats-$ns.json" 2>>"$2/sluicectl.log"
		net_in "$ns" "$LAB_BUILD/sluicectl" --pin-dir "$SLUICE_PINS/slab-$ns" flows --json \
			>"$2/flows-$ns.json" 2>>"$2/sluicectl.log"
		((LAB_RACKS)) || continue
		net_in "$ns" "$LAB_BUILD/sluicectl" --pin-dir "$SLUICE_PINS/slab-$ns" voqs --json \
			>"$2/voqs-$ns.json" 2>>"$2/sluicectl.log"
		net_in "$ns" "$LAB_BUILD/sluicectl" --pin-dir "$SLUICE_PINS/slab-$ns" credits --json \
			>"$2/credits-$ns.json" 2>>"$2/sluicectl.log"
	done
	return 0
}

# A speed as the configuration of sluiced has it: 100Mbit.
cc_sluice_speed() {
	local unit=Mbit div=1000000

	(($1 % 1000000000 == 0)) && unit=Gbit div=1000000000
	(($1 % 1000000)) && unit=Kbit div=1000
	echo "$(($1 / div))$unit"
}

# The classes of the bottleneck in sluiced's configuration, if any.
cc_sluice_classes() {
	local i=0 share list=()

	[[ $LAB_CLASSES && ! $LAB_BLIND ]] || return 0
	for share in $LAB_CLASSES; do
		list+=("{$( ((i == 0)) || echo "dscp: [$((8 * i))], ")share: $share%},")
		((i++))
	done
	echo ", classes: [${list[*]}]"
}

# With QUEUE=sluice the bottleneck's qdisc is ours, in the place of its tbf.
cc_sluice_port() {
	[[ $LAB_QUEUE != sluice ]] || echo ", queue: sluice, rate: $(cc_sluice_speed "$LAB_RATE"), limit: ${NET_PORT_LIMIT}B"
}

# HierCC between racks; the racks' uplinks are faster than the ports that grant.
cc_sluice_hiercc() {
	((LAB_RACKS)) && [[ $1 == sluice* || $1 == hiercc ]] || return 0
	echo "hiercc: {enabled: true, voqs: 256, port_speed: $(cc_sluice_speed "$LAB_RATE")$(sed 's/[^,][^,]*/, &/g; s/,,/,/g; s/=/: /g' <<<"$LAB_HIERCC")}"
}

# cc_sluice_senders SPEED BASE_RTT CC: the senders of LAB=pfc, which obey; packets without a DSCP are lossless.
cc_sluice_senders() {
	local sender pauses=

	[[ $LAB_MECH == none ]] || pauses=", pfc: obey"
	echo "interfaces:"
	for sender in "${NET_SENDERS[@]}"; do
		echo "  - {name: ${sender#*/}, role: host, speed: $1$pauses}"
	done
	[[ ! $pauses ]] || echo "pfc: {lossless: [0]}"
	[[ $(cc_field "$3" 5) != - ]] || return 0
	echo "tcp: {name: slab_hosts, default: true}"
	echo "peers: [{prefix: 10.0.0.0/8, base_rtt: $2}]"
}

# cc_sluice_switch SWITCH: one of LAB=pfc or fabric, which pauses by all ports.
cc_sluice_switch() {
	local port rate ports=0 pauses=

	[[ $LAB_MECH == none ]] || pauses=", pfc: $LAB_MECH"
	echo "interfaces:"
	for port in $(pfc_ports "$1"); do
		rate=$LAB_RATE
		[[ $port != c* ]] || rate=$((LAB_RATE * LAB_CORE))
		[[ $LAB != fabric || $port == p0 ]] || rate=$((LAB_RATE * LAB_UPLINK))
		echo "  - {name: $port, role: switch, speed: $(cc_sluice_speed $rate), id: $((100 * ${1#s} + ++ports))$pauses}"
	done
	[[ ! $pauses ]] || echo "pfc: {lossless: [0], buffer: $((LAB_BUFFER + ports * LAB_HEADROOM))B, headroom: ${LAB_HEADROOM}B$(
		sed 's/[^,][^,]*/, &/g; s/,,/,/g; s/=/: /g' <<<"$LAB_PFC")}"
}

# cc_sluice_config CC NAMESPACE BASE_RTT_US: prints the YAML of the daemon of one namespace.
cc_sluice_config() {
	local ns=$2 speed port i rtt=$3 hpcc=() variant feedback telemetry classes pods=$NET_POD_CIDR

	variant=$(cc_field "$1" 6)
	feedback=$(cc_field "$1" 7)
	telemetry=$(cc_field "$1" 8)
	[[ $LAB_BASE_RTT == 0 ]] || rtt=$LAB_BASE_RTT
	[[ $rtt == auto ]] || rtt+=us
	speed=$(cc_sluice_speed "$NET_LINK_RATE")
	echo "pin_dir: $SLUICE_PINS/slab-$ns"
	echo "mode: enforce"
	echo "max_flows: 1024" # many daemons share the memory of a small VM
	if [[ $LAB == fabric && $ns != s1 ]]; then
		cc_sluice_fabric "$1" "$ns" "$rtt"
		return
	elif [[ " ${NET_NODES[*]} " == *" $ns "* ]]; then
		# A node has pods, whose congestion controls we do not choose.
		for i in "${!NET_NODES[@]}"; do
			[[ ${NET_NODES[i]} == "$ns" ]] &&
				echo "node: {uplink: eth0, id: $((16 + i)), pod_cidrs: [$NET_POD_CIDR]}"
		done
		echo "interfaces: [{name: eth0, role: host, speed: $speed}]"
		# In a tunnel the peers are the nodes.
		[[ ! $LAB_OVERLAY ]] || pods=10.0.0.0/12
		echo "peers: [{prefix: $pods, base_rtt: $rtt}]"
		cc_sluice_hiercc "$1"
	elif [[ $ns == hosts ]]; then
		cc_sluice_senders "$speed" "$rtt" "$1"
		# Hosts with other controls only obey.
		[[ $(cc_field "$1" 5) != - ]] || return 0
	elif [[ " ${NET_HOSTS[*]} " == *" $ns "* ]]; then
		echo "tcp: {name: slab_${ns//-/_}, default: true}"
		echo "interfaces: [{name: eth0, role: host, speed: $speed}]"
		echo "peers: [{prefix: 10.0.0.0/8, base_rtt: $rtt}," \
			"{prefix: 'fd00::/16', base_rtt: $rtt}]"
	fi
	if [[ " ${NET_HOSTS[*]} ${NET_NODES[*]} " == *" $ns "* ]]; then
		echo "auth: ${CC_KEY:-none}"
	fi
	if [[ " ${NET_HOSTS[*]} ${NET_NODES[*]} " == *" $ns "* ]]; then
		hpcc=("encoding: $LAB_TELEMETRY")
		[[ $1 == hiercc ]] && hpcc+=(", enabled: false")
	fi
	if [[ " ${NET_HOSTS[*]} " == *" $ns "* ]]; then
		((LAB_FLOWS == 0)) || hpcc+=(", flows: $LAB_FLOWS")
		[[ $variant ]] && hpcc+=(", variant: $variant")
		[[ $feedback ]] && hpcc+=(", feedback: $feedback")
		[[ $telemetry ]] && hpcc+=(", telemetry: $telemetry")
	fi
	if [[ ${hpcc[*]} ]]; then
		echo "hpcc: {${hpcc[*]}}"
		return
	fi
	[[ $LAB == pfc || $LAB == fabric ]] && {
		cc_sluice_switch "$ns"
		return
	}
	classes=$(cc_sluice_classes)$(cc_sluice_port)
	for port in "${!NET_BOTTLENECKS[@]}"; do
		[[ ${NET_BOTTLENECKS[port]} == "$ns:"* ]] || continue
		echo "interfaces: [{name: ${NET_BOTTLENECKS[port]#*:}, role: switch," \
			"speed: $speed, id: $((port + 1))$classes}]"
	done
}

declare -A CC_DAEMONS=()

# Daemons that start at the same time. Each takes seconds of the one CPU that the VM has. Most labs have no more than these.
CC_AT_ONCE=12

# cc_sluice_start CC BASE_RTT_US DIR NAMESPACE...: a daemon in each.
cc_sluice_start() {
	local cc=$1 base_us=$2 dir=$3 ns

	shift 3
	if ! grep -q " $SLUICE_PINS bpf " /proc/mounts; then
		mount -t bpf bpf "$SLUICE_PINS" || return 1
		CC_MOUNTED=1
	fi
	CC_KEY=
	if ((LAB_AUTH)); then
		CC_KEY=$dir/auth.key
		(umask 077 && head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$CC_KEY" && echo >>"$CC_KEY") ||
			return 1
	fi
	cc_sluice_ports "$@" || return 1
	for ns in "$@"; do
		cc_sluice_config "$cc" "$ns" "$base_us" >"$dir/sluiced-$ns.yaml"
		cc_sluice_spawn "$ns" "$dir"
		((${#CC_DAEMONS[@]} % CC_AT_ONCE)) || cc_sluice_wait "$dir" || return 1
	done
	cc_sluice_wait "$dir" && cc_sluice_queues
}

# cc_sluice_ports NAMESPACE...: with QUEUE=sluice their bottlenecks have no tbf, which a daemon does not replace. Those of nodes
# keep it: by their tbf a daemon knows the veths of pods, whose qdisc it does not choose.
cc_sluice_ports() {
	local port

	[[ $LAB_QUEUE == sluice && $LAB != pfc && $LAB != fabric ]] || return 0
	for port in "${NET_BOTTLENECKS[@]}"; do
		[[ " $* " != *" ${port%:*} "* || " ${NET_NODES[*]} " == *" ${port%:*} "* ]] || net_in "${port%:*}" tc qdisc del dev "${port#*:}" root || return 1
	done
}

# With QUEUE=sluice our qdisc takes the place of each fq that is at the root, where a daemon has registered it.
cc_sluice_queues() {
	local ns device

	[[ $LAB_QUEUE == sluice ]] || return 0
	for ns in "${!CC_DAEMONS[@]}"; do
		for device in $(net_in "$ns" tc qdisc show | awk '$2 == "fq" && $6 == "root" { print $5 }'); do
			net_in "$ns" tc qdisc replace dev "$device" root handle 20: sluice || return 1
		done
	done
}

# cc_sluice_spawn NAMESPACE DIR: the daemon of a namespace, by the configuration in DIR. A switch that pauses does not
# wait for the senders, which here have the same CPU.
cc_sluice_spawn() {
	local first=()

	[[ ($LAB == pfc || $LAB == fabric) && " ${NET_SWITCHES[*]} " == *" $1 "* ]] && first=(chrt --fifo 30)
	: >"$2/sluiced-$1.log"
	# Not among the processes that net_stop ends: traffic stops first.
	nsenter --net="/run/netns/$NET_PREFIX$1" "${first[@]}" "$LAB_BUILD/sluiced" \
		--config "$2/sluiced-$1.yaml" >"$2/sluiced-$1.log" 2>&1 9>&- &
	CC_DAEMONS[$1]=$!
}

# cc_sluice_wait DIR: until all daemons are ready. The limit begins again with each that is: only a start that hangs is an error.
cc_sluice_wait() {
	local ns tries=0

	for ns in "${!CC_DAEMONS[@]}"; do
		until grep -q '^sluiced: ready' "$1/sluiced-$ns.log"; do
			if ! kill -0 "${CC_DAEMONS[$ns]}" 2>/dev/null || ((++tries > 600 + 60 * ${#CC_DAEMONS[@]})); then
				echo "lab: sluiced of slab-$ns did not become ready; it says:" >&2
				tail -n 20 "$1/sluiced-$ns.log" >&2
				return 1
			fi
			sleep "${2:-0.1}"
		done
		tries=0
	done
}

# Removes everything that outlives the namespaces: the daemons and their pins.
cc_remove() {
	local ns

	net_end "${CC_DAEMONS[@]}"
	for ns in "${!CC_DAEMONS[@]}"; do
		[[ " ${NET_KILLED[*]} " != *" ${CC_DAEMONS[$ns]} "* ]] ||
			echo "lab: sluiced of slab-$ns ignored SIGTERM, killed" >&2
		if [[ -e $SLUICE_PINS/slab-$ns ]]; then
			echo "lab: sluiced of slab-$ns left its pins behind, removed" >&2
			rm -rf "${SLUICE_PINS:?}/slab-$ns"
		fi
	done
	CC_DAEMONS=()
}
