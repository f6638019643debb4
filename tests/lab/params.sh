# SPDX-License-Identifier: GPL-2.0-only
# The parameters of a lab: from the environment, checked whole before anything is touched.
#
# Afterwards the numbers are in LAB_* variables in one unit each (bits/s, microseconds, bytes).

LAB_MAX_SENDERS=250
# The variables of the environment that a lab in a VM gets; CC and MECH are given for each of its runs.
PARAMS_NAMES="LAB SENDERS RACKS SERVERS UPLINK LONG BURST CHURN HIERCC LOSE REPEAT REORDER KILL RATE RTT BUFFER TIME WARMUP
	SIZE STAGGER JOIN PARALLEL FLOWS TELEMETRY BASE_RTT OFFER TCP PODCC APP ATTACH OVERLAY CLASSES BORROW BLIND AUTH
	RATES HEADROOM PFC SHAPE CORE NIC GSO QUEUE LOOPS INCAST RIVALS AQM"
# Pairs of NICs that a VM has room for (tests/vm/run --help).
LAB_MAX_NICS=32

usage() {
	cat >&2 <<-'END'
	usage: [NAME=value ...] tests/lab/lab       (or: make lab NAME=value ...)
	  LAB=star|dumbbell|udp|node|racks|pfc|fabric
	                      star: senders, a switch, a receiver; dumbbell: two switches in a row;
	                      udp: the star with senders of UDP; node: the star with nodes that route
	                      for pods, where Sluice runs in the nodes and nothing of it in the pods;
	                      racks: nodes with several pods each, a spine, and a node that receives;
	                      pfc: many to one through a switch that pauses its neighbours;
	                      fabric: racks of nodes with pods behind such a switch, and long flows, churn, a burst and
	                      an incast in one run
	  CC=sluice,cubic,... congestion controls, each by itself: sluice cubic bbr dctcp reno, cubic-ecn, and none
	                      (default of udp and node: sluice,none). Variants of sluice: hpcc (plain),
	                      hpcc-vai-sf; rx-hpcc (the
	                      receiver computes W); with telemetry in each packet of
	                      data: sluice-every, hpcc-every; beside it: sluice-companion; and silent:
	                      with switches that stamp nothing, so that delay decides. racks (default:
	                      sluice,hpcc,cubic): hpcc is HPCC alone, hiercc HierCC without it, sluice
	                      both; cubic, bbr, dctcp, reno: pods that have it and nodes with nothing. pfc
	                      (default: burst): burst is UDP that starts at its port's speed and stays there
	                      With a qdisc behind it, as in cubic+fq_codel, that is at the bottlenecks
	  AQM=                star, dumbbell, udp, node, racks: that qdisc for each CC without one, and its options, as in
	                      AQM='fq_codel target 400us interval 8ms': fq_codel codel cake dualpi2 pie red; default: a FIFO
	  MECH=none,pfc,ppfc  pfc: what the switch does when its buffer fills up, each by itself: nothing, pauses by
	                      thresholds, pauses by prediction
	  LOOPS=              fabric: what is at work, each by itself: hpcc, hiercc and ppfc, with + between those that
	                      work together, or none; default: all eight subsets
	  INCAST=100kb        fabric: what each pod sends at once, at three quarters of TIME
	  RATES=              pfc: speeds of the senders' links, in proportion to each other, dealt to them in turn: the
	                      fastest has RATE. 1:10:20:40, or with how many of each there are in turn 1x3:10x5:20x4:40x4
	  SHAPE=star          pfc: or dumbbell (senders on a switch, receivers on a second one), or spine (senders on two
	                      switches, receivers on a third one, two spines between them)
	  CORE=2              pfc: with these, speed of the links between switches, in RATE
	  HEADROOM=10kb       pfc, fabric: buffer for each port beside BUFFER, for what comes after XOFF
	  PFC=                pfc, fabric: keys of pfc in sluiced's configuration, as in t_thresh=10ms,interval=200us
	  RACKS=4 SERVERS=4   racks, fabric: nodes that send, and pods of each
	  UPLINK=2            racks, fabric: speed of a node's uplink, in that of a server's link, which is RATE
	  LONG=               racks, fabric: long flows, dealt to the racks in turn, or a list of how many each rack
	                      has, as in 3,1; default: one of each pod, 2 with BURST or CHURN
	  BURST=              racks, fabric (default: 16): that many flows of SIZE (default half a BDP) from all racks, which start
	                      together beside the long ones after half of TIME
	  CHURN=              racks, fabric (default: 100ms): every so often (us ms s) as many flows of 10 KB at once as are 30 % of RATE
	  HIERCC=             racks, fabric: keys of hiercc in sluiced's configuration, as in c0=36KB,period=500us
	  LOSE= REPEAT= REORDER=
	                      racks: percent of the CREDIT messages that the spine loses, delivers twice,
	                      delivers late
	  KILL=               racks: so long (us ms s) after the start the receiving node's sluiced is killed;
	                      half a second later it is started again
	  RIVALS=             star: cubic:1, and the last of the senders is a host without Sluice, with this control
	  OFFER=200           udp: what the senders offer together, in percent of RATE
	  TCP=                udp: how many of the senders send TCP
	  PODCC=cubic         node, racks, fabric: the pods' own controls, dealt to the senders in turn: cubic bbr dctcp
	                      reno, or a list such as cubic,bbr
	  APP=                node: web: curl gets a large file from an nginx in each sending pod but the last,
	                      at once, while redis-benchmark asks a redis-server in that one; programs
	                      that this machine has not are fetched from its archives into build/
	  ATTACH=             node: late: sluiced starts 1 s after the flows, figures are of TIME from there
	  OVERLAY=            node: vxlan: the nodes carry their pods' packets to each other by VXLAN
	  CLASSES=            star: shares of the bottleneck in percent, as in 70,30: a queue for each, to which senders
	                      are dealt in turn
	  BORROW=             with CLASSES: 1: a class may use what the others leave; default: its share at most
	  BLIND=              with CLASSES: 1: sluiced is not told of them, and stamps the whole port
	  SENDERS=8           senders (dumbbell: 3, dealt to the paths A, B, C in turn; udp, node: 4; racks: all pods;
	                      pfc: 16, or a list as 16,4,1: groups, each with a receiver of its own)
	  RATE=100mbit        speed of the bottlenecks and of each host's link (bit kbit mbit gbit); pfc: 10mbit
	  RTT=4ms             base round trip, added on the path of the ACKs (us ms s); pfc: 40ms
	  BUFFER=1mb          buffer of each bottleneck (b kb mb, 1 kb = 1000 bytes); pfc, fabric: of all, default 10 BDP
	  TIME=10             seconds measured; finite flows have this or a multiple of the ideal
	  WARMUP=             left out of the figures; default 20 RTTs, 0 where flows are finite
	  SIZE=               finite flows of this size, one per sender, that start together
	  STAGGER=            with SIZE: start two of them every STAGGER
	  JOIN=               one long flow; a finite one of this size joins it and leaves, twice
	  PARALLEL=1          long flows of each sender, side by side
	  FLOWS=              hpcc: flows of sluice (N: flows expected on a link); default: the daemon's
	  TELEMETRY=hpcc      how packets of sluice carry telemetry: hpcc or int-md
	  BASE_RTT=           base_rtt of sluice (T), or auto; default: the round trip of the probe on the idle lab
	  AUTH=               1: the hosts authenticate their messages, with a key made for each run
	  VM=                 empty: this kernel; oldest, stable, newest, or a number such as 6.12: that kernel in a virtual
	                      machine (tests/vm/version)
	  NIC=veth            star, udp, node, with VM: what links hosts and switch: veth; virtio: NICs with native XDP; vmxnet3: NICs
	                      that segment and compute checksums. At most 30 senders; offloads as the drivers set them
	                      up: GRO, but LRO in its place at hosts with vmxnet3
	  GSO=on              stacks build packets of up to 64 KB, fq holds them whole, and devices cut them into MTUs in
	                      front of the wire; off: stacks build packets of one MTU
	  QUEUE=auto          what holds packets until their departure time: fq, or sluice, with VM=newest: our own qdisc, at every
	                      interface of a namespace with a sluiced whose root qdisc would be fq, and at bottlenecks (but of
	                      racks, pfc and fabric) in the place of tbf or htb; auto: sluice where it can be had
	  SEED=1              of everything random in the virtual machine: the same seed, the same figures
	  NAME=               results go to build/lab/NAME; default from the above
	END
}

params_bad() {
	echo "lab: $*" >&2
	exit 2
}

# params_number VARIABLE TEXT UNITS EXAMPLE: TEXT is a number and one of UNITS ("kb=1000
# mb=1000000"); prints the value in the base unit, as an integer.
params_number() {
	local variable=$1 text=${2,,} units=$3 example=$4 number unit pair factor=

	[[ $text =~ ^([0-9]{1,15}(\.[0-9]{1,15})?)([a-z]*)$ ]] ||
		params_bad "$variable=$2 is not a number with a unit; example: $variable=$example"
	number=${BASH_REMATCH[1]} unit=${BASH_REMATCH[3]}
	for pair in $units; do
		[[ ${pair%=*} == "$unit" ]] && factor=${pair#*=}
	done
	[[ $factor ]] || params_bad "$variable=$2: unit '$unit' is not one of" \
		"$(sed 's/=[0-9]*//g' <<<"$units"); example: $variable=$example"
	awk -v n="$number" -v f="$factor" 'BEGIN { printf "%.0f\n", n * f }'
}

params_rate() { params_number "$1" "$2" "bit=1 kbit=1000 mbit=1000000 gbit=1000000000" "$3"; }
params_time() { params_number "$1" "$2" "us=1 ms=1000 s=1000000" "$3"; }
params_bytes() { params_number "$1" "$2" "b=1 kb=1000 mb=1000000" "$3"; }
# Seconds are what TIME and WARMUP mean when they have no unit.
params_seconds() {
	local text=$2

	[[ $text =~ ^[0-9.]+$ ]] && text+=s
	params_time "$1" "$text" "$3"
}

# params_range VARIABLE TEXT VALUE MIN MAX UNIT
params_range() {
	(($3 >= $4 && $3 <= $5)) || params_bad "$1=$2 is out of range: $4 to $5 $6"
}

params_read() {
	local cc known

	LAB=${LAB:-star}
	[[ " star dumbbell udp node racks pfc fabric " == *" $LAB "* ]] ||
		params_bad "LAB=$LAB is not known: star, dumbbell, udp, node, racks, pfc or fabric"
	params_fabric

	LAB_SIZE=0 LAB_STAGGER=0 LAB_JOIN=0
	if [[ ${SIZE:-} ]]; then
		LAB_SIZE=$(params_bytes SIZE "$SIZE" 1mb) || exit 2
		params_range SIZE "$SIZE" "$LAB_SIZE" 1 100000000000 bytes
	fi
	if [[ ${STAGGER:-} ]]; then
		[[ ${SIZE:-} ]] ||
			params_bad "STAGGER=$STAGGER needs finite flows; add SIZE=, as in SIZE=2mb"
		LAB_STAGGER=$(params_time STAGGER "$STAGGER" 20ms) || exit 2
		params_range STAGGER "$STAGGER" "$LAB_STAGGER" 1 60000000 us
	fi
	if [[ ${JOIN:-} ]]; then
		[[ ${SIZE:-} ]] && params_bad "JOIN has one long flow and finite ones that join" \
			"it, and SIZE has finite flows only: leave one out"
		[[ $LAB == star || $LAB == node ]] ||
			params_bad "JOIN=$JOIN works in LAB=star and LAB=node only"
		[[ ${SENDERS:-2} == 2 ]] ||
			params_bad "SENDERS=$SENDERS: JOIN has two senders, leave SENDERS out"
		LAB_JOIN=$(params_bytes JOIN "$JOIN" 1mb) || exit 2
		params_range JOIN "$JOIN" "$LAB_JOIN" 1 100000000000 bytes
		SENDERS=2
	fi

	[[ $LAB == dumbbell ]] && SENDERS=${SENDERS:-3}
	[[ $LAB == udp || $LAB == node ]] && SENDERS=${SENDERS:-4}
	params_racks_size
	LAB_SENDERS=${SENDERS:-8}
	((LAB_RACKS == 0)) || LAB_SENDERS=$((LAB_RACKS * LAB_SERVERS))
	params_pfc_groups
	[[ $LAB_SENDERS =~ ^[0-9]{1,9}$ ]] ||
		params_bad "SENDERS=$LAB_SENDERS is not a whole number"
	LAB_SENDERS=$((10#$LAB_SENDERS))
	params_range SENDERS "$LAB_SENDERS" "$LAB_SENDERS" 1 $LAB_MAX_SENDERS senders

	params_rivals
	LAB_OFFER=${OFFER:-200} LAB_TCP=${TCP:-0}
	if [[ $LAB == udp ]]; then
		[[ $LAB_OFFER =~ ^[0-9]{1,6}$ && $LAB_TCP =~ ^[0-9]{1,3}$ ]] ||
			params_bad "OFFER=$LAB_OFFER and TCP=$LAB_TCP are whole numbers; example: OFFER=200 TCP=2"
		params_range OFFER "$LAB_OFFER" "$LAB_OFFER" 1 100000 percent
		params_range TCP "$LAB_TCP" "$LAB_TCP" 0 "$LAB_SENDERS" senders
		[[ -z ${SIZE:-}${JOIN:-} ]] || params_bad "SIZE and JOIN are for TCP: not in LAB=udp"
	elif [[ ${OFFER:-}${TCP:-} ]]; then
		params_bad "OFFER and TCP are for LAB=udp"
	fi

	# Sixteen senders of UDP at 100 Mbit/s are more packets than one virtual CPU forwards: the queue would grow at its pace.
	[[ $LAB != pfc ]] || RATE=${RATE:-10mbit} RTT=${RTT:-40ms}
	LAB_RATE=$(params_rate RATE "${RATE:-100mbit}" 100mbit) || exit 2
	params_range RATE "${RATE:-100mbit}" "$LAB_RATE" 100000 100000000000 bit/s
	LAB_RTT=$(params_time RTT "${RTT:-4ms}" 4ms) || exit 2
	params_range RTT "${RTT:-4ms}" "$LAB_RTT" 0 10000000 us
	[[ ($LAB != pfc && $LAB != fabric) || ${BUFFER:-} ]] || BUFFER=$((LAB_RATE / 8000 * LAB_RTT / 100))b
	LAB_BUFFER=$(params_bytes BUFFER "${BUFFER:-1mb}" 1mb) || exit 2
	params_range BUFFER "${BUFFER:-1mb}" "$LAB_BUFFER" 3028 4000000000 bytes
	LAB_TIME=$(params_seconds TIME "${TIME:-10}" 10) || exit 2
	params_range TIME "${TIME:-10}" "$LAB_TIME" 500000 3600000000 us

	LAB_WARMUP=$((20 * LAB_RTT))
	((LAB_SIZE)) && LAB_WARMUP=0
	if [[ ${WARMUP:-} ]]; then
		LAB_WARMUP=$(params_seconds WARMUP "$WARMUP" 80ms) || exit 2
	fi
	((LAB_SIZE || LAB_WARMUP <= LAB_TIME / 2)) ||
		params_bad "the warm-up (${LAB_WARMUP} us; WARMUP=, default 20 RTTs) leaves less" \
			"than half of TIME=${TIME:-10}: make TIME longer"

	params_racks
	params_pfc

	LAB_FLOWS=${FLOWS:-0}
	[[ $LAB_FLOWS =~ ^[0-9]{1,9}$ ]] || params_bad "FLOWS=$LAB_FLOWS is not a whole number"
	LAB_TELEMETRY=${TELEMETRY:-hpcc}
	[[ $LAB_TELEMETRY == hpcc || $LAB_TELEMETRY == int-md ]] ||
		params_bad "TELEMETRY=$LAB_TELEMETRY is not known: hpcc or int-md"
	LAB_BASE_RTT=0
	if [[ ${BASE_RTT:-} == auto ]]; then
		LAB_BASE_RTT=auto
	elif [[ ${BASE_RTT:-} ]]; then
		LAB_BASE_RTT=$(params_time BASE_RTT "$BASE_RTT" 4ms) || exit 2
		params_range BASE_RTT "$BASE_RTT" "$LAB_BASE_RTT" 1 1000000 us
	fi

	LAB_CCS=${CC:-sluice,cubic,bbr,dctcp}
	[[ $LAB == udp || $LAB == node ]] && LAB_CCS=${CC:-sluice,none}
	[[ $LAB == racks ]] && LAB_CCS=${CC:-sluice,hpcc,cubic}
	[[ $LAB == pfc ]] && LAB_CCS=${CC:-burst}
	[[ $LAB == fabric ]] && LAB_CCS=$(for cc in $LAB_LOOPS; do fabric_control "$cc"; done | awk '!seen[$0]++' | paste -sd,)
	[[ $LAB_CCS =~ ^[a-z0-9_+-]+(,[a-z0-9_+-]+)*$ ]] ||
		params_bad "CC=$LAB_CCS is not a list of names with commas between them"
	LAB_CCS=$(tr , '\n' <<<"$LAB_CCS" | awk '!seen[$0]++' | xargs)
	params_aqm
	known=$(cc_names)
	for cc in $LAB_CCS; do
		[[ " $known " == *" ${cc%%+*} "* ]] || params_bad "CC=$cc is not known: $known"
		[[ $LAB != node || $(cc_field "$cc" 2) == - ]] ||
			params_bad "CC=$cc: in LAB=node the nodes have a variant of sluice or none, pods what" \
				"PODCC says, as in PODCC=$cc"
		[[ $LAB == racks || $LAB == fabric || $cc != hiercc ]] ||
			params_bad "CC=hiercc is of racks, and there is one here: add LAB=racks"
		[[ $LAB == pfc || $cc != burst ]] ||
			params_bad "CC=burst does not react to anything but pauses: add LAB=pfc"
		[[ $LAB != pfc || $(cc_field "$cc" 5) != hosts ]] ||
			params_bad "CC=$cc is with switches that stamp nothing, and those of LAB=pfc do"
		[[ $LAB != pfc || $cc != none ]] ||
			params_bad "CC=none: in LAB=pfc senders without a control are CC=burst, and a switch without" \
				"pauses is MECH=none"
	done
	LAB_RUNS=$LAB_CCS
	[[ $LAB != fabric ]] || LAB_RUNS=$LAB_LOOPS
	[[ $LAB != pfc ]] || LAB_RUNS=$(for cc in $LAB_CCS; do printf "$cc:%s " $LAB_MECHS; done | xargs)
	params_podcc
	params_app
	params_attach
	params_overlay
	params_classes

	LAB_PARALLEL=${PARALLEL:-1}
	[[ $LAB_PARALLEL =~ ^[0-9]{1,3}$ ]] || params_bad "PARALLEL=$LAB_PARALLEL is not a whole number"
	LAB_PARALLEL=$((10#$LAB_PARALLEL))
	params_range PARALLEL "$LAB_PARALLEL" "$LAB_PARALLEL" 1 128 flows
	((LAB_PARALLEL == 1)) || [[ $LAB == star && ! ${SIZE:-}${JOIN:-} ]] ||
		params_bad "PARALLEL=$LAB_PARALLEL is for the long flows of LAB=star"

	LAB_AUTH=${AUTH:-0}
	[[ $LAB_AUTH =~ ^[01]$ ]] || params_bad "AUTH=$LAB_AUTH is not known: 1 (with a key), or 0 (without)"

	LAB_VM=${VM:-}
	[[ $LAB_VM =~ ^(oldest|stable|newest|[0-9]+\.[0-9]+)?$ ]] ||
		params_bad "VM=$LAB_VM is not known: oldest, stable, newest, a number such as 6.12, or empty for this kernel"
	[[ ! $LAB_VM ]] || LAB_VM=$("$(dirname "${BASH_SOURCE[0]}")/../vm/version" "$LAB_VM") || exit 2
	[[ ! ${SEED:-} || $LAB_VM ]] || params_bad "SEED=$SEED is of a virtual machine: add VM=, or leave SEED out"
	params_nic
	LAB_GSO=
	case ${GSO:-on} in
	on) LAB_GSO=1 ;;
	off) ;;
	*) params_bad "GSO=$GSO is not known: on or off" ;;
	esac
	LAB_QUEUE=${QUEUE:-auto}
	[[ $LAB_QUEUE =~ ^(auto|fq|sluice)$ ]] || params_bad "QUEUE=$LAB_QUEUE is not known: auto, fq or sluice"
	if [[ $LAB_QUEUE == auto ]]; then
		LAB_QUEUE=fq
		! params_has_qdiscs "$LAB_VM" || [[ $LAB_AQM || $LAB_CCS == *+* || ! $LAB_GSO || ($LAB_CLASSES && (! $LAB_BORROW || $LAB_BLIND)) ]] || LAB_QUEUE=sluice
	fi
	[[ $LAB_QUEUE == fq || ! $LAB_VM ]] || params_has_qdiscs "$LAB_VM" ||
		params_bad "QUEUE=$LAB_QUEUE is a qdisc in BPF, which Linux 6.16 and newer have: add VM=newest"
	[[ $LAB_QUEUE == fq || (! $LAB_AQM && $LAB_CCS != *+*) ]] ||
		params_bad "QUEUE=$LAB_QUEUE has the place of the bottleneck's qdisc, and so has AQM: leave one out"
	[[ $LAB_QUEUE == fq || $LAB_GSO ]] ||
		params_bad "QUEUE=$LAB_QUEUE is no qdisc below a tbf, as hosts have it with GSO=off: leave GSO out"
	[[ $LAB_QUEUE == fq || ! $LAB_CLASSES || ($LAB_BORROW && ! $LAB_BLIND) ]] ||
		params_bad "QUEUE=$LAB_QUEUE lets classes use what the others leave, and knows them: add BORROW=1, and leave BLIND out"
	LAB_SEED=$(params_count SEED "${SEED:-1}" 0 999999999 "") || exit 2

	LAB_NAME=$LAB
	((LAB_SIZE)) && LAB_NAME+=-incast
	((LAB_STAGGER)) && LAB_NAME=$LAB-stagger
	((LAB_JOIN)) && LAB_NAME+=-join
	((LAB_BURST)) && [[ $LAB == racks ]] && LAB_NAME+=-burst
	((LAB_CHURN)) && [[ $LAB == racks ]] && LAB_NAME+=-churn
	[[ $LAB_GROUPS == *" "* ]] && LAB_NAME+=-groups
	[[ $LAB == pfc && $LAB_SHAPE != star ]] && LAB_NAME+=-$LAB_SHAPE
	[[ $LAB_NIC == veth ]] || LAB_NAME+=-$LAB_NIC
	[[ ${QUEUE:-auto} == auto ]] || LAB_NAME+=-$LAB_QUEUE
	LAB_NAME+=${LAB_CLASSES:+-classes}${LAB_APP:+-$LAB_APP}${LAB_ATTACH:+-$LAB_ATTACH}${LAB_OVERLAY:+-$LAB_OVERLAY}
	LAB_NAME=${NAME:-$LAB_NAME}
	[[ $LAB_NAME =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] ||
		params_bad "NAME=$LAB_NAME: letters, digits, '.', '_' and '-' only"
}

# The qdisc below the bottleneck's tbf: by the whole list, or by CC's own.
params_aqm() {
	local cc aqm

	LAB_AQM=${AQM:-}
	for cc in $LAB_CCS ${AQM:+any+$AQM}; do
		[[ $cc == *+* ]] || continue
		aqm=${cc#*+}
		[[ " $CC_QDISCS " == *" $aqm "* ]] ||
			params_bad "'$aqm' is no qdisc of a bottleneck: ${CC_QDISCS// /, }"
		[[ $LAB != pfc && $LAB != fabric && ! ${CLASSES:-} ]] ||
			params_bad "$aqm: the bottlenecks of pfc and fabric, and those with CLASSES, have queues of their own: leave it out"
	done
}

# params_has_qdiscs VERSION: those in BPF.
params_has_qdiscs() { [[ $1 ]] && printf '%s\n' 6.16 "$1" | sort -VC; }

# params_count VARIABLE TEXT MIN MAX UNIT: TEXT is a whole number in the range, which it prints.
params_count() {
	[[ $2 =~ ^[0-9]{1,9}$ ]] || params_bad "$1=$2 is not a whole number; example: $1=4"
	params_range "$1" "$2" $((10#$2)) "$3" "$4" "$5"
	echo $((10#$2))
}

# The defaults of LAB=fabric. LAB_LOOPS: its runs.
params_fabric() {
	local loops loop name

	LAB_LOOPS='' LAB_INCAST=0
	if [[ $LAB != fabric ]]; then
		for name in LOOPS INCAST; do
			[[ ! ${!name:-} ]] || params_bad "$name=${!name} is of LAB=fabric: add that, or leave $name out"
		done
		return 0
	fi
	for name in CC SIZE KILL LOSE REPEAT REORDER; do
		[[ ! ${!name:-} ]] || params_bad "$name=${!name} is not of LAB=fabric, where LOOPS says what runs: leave $name out"
	done
	LAB_LOOPS=${LOOPS:-none,hpcc,hiercc,ppfc,hpcc+hiercc,hpcc+ppfc,hiercc+ppfc,hpcc+hiercc+ppfc}
	LAB_LOOPS=$(tr , '\n' <<<"$LAB_LOOPS" | awk '!seen[$0]++' | xargs)
	for loops in $LAB_LOOPS; do
		for loop in ${loops//+/ }; do
			[[ " hpcc hiercc ppfc " == *" $loop "* || $loops == none ]] ||
				params_bad "LOOPS=$LOOPS: '$loop' is not known: hpcc, hiercc and ppfc with + between them, or none"
		done
	done
	TIME=${TIME:-3} BURST=${BURST:-16} CHURN=${CHURN:-100ms}
	LAB_INCAST=$(params_bytes INCAST "${INCAST:-100kb}" 100kb) || exit 2
	params_range INCAST "${INCAST:-100kb}" "$LAB_INCAST" 1 10000000 bytes
	((LAB_INCAST != 10000)) || params_bad "INCAST=$INCAST is what a flow of CHURN has: another size tells them apart"
}

# How many nodes and pods LAB=racks and fabric have.
params_racks_size() {
	local name

	LAB_RACKS=0 LAB_SERVERS=0 LAB_UPLINK=1
	if [[ $LAB != racks && $LAB != fabric ]]; then
		for name in RACKS SERVERS UPLINK LONG BURST CHURN HIERCC LOSE REPEAT REORDER KILL; do
			[[ ! ${!name:-} ]] ||
				params_bad "$name=${!name} is of LAB=racks and fabric: add that, or leave $name out"
		done
		return 0
	fi
	[[ ! ${SENDERS:-} ]] ||
		params_bad "SENDERS=$SENDERS: racks have pods; write RACKS=4 SERVERS=4, as an example"
	[[ ! ${STAGGER:-} ]] || params_bad "STAGGER=$STAGGER is not for LAB=racks: BURST=16 starts flows beside others"
	LAB_RACKS=$(params_count RACKS "${RACKS:-4}" 1 32 racks) || exit 2
	LAB_SERVERS=$(params_count SERVERS "${SERVERS:-4}" 1 32 pods) || exit 2
	LAB_UPLINK=$(params_count UPLINK "${UPLINK:-2}" 1 100 "times RATE") || exit 2
}

# LAB_GROUPS: how many senders each receiver of LAB=pfc has.
params_pfc_groups() {
	local count name

	LAB_GROUPS=$LAB_SENDERS
	if [[ $LAB == fabric ]]; then
		LAB_GROUPS=$LAB_RACKS
		for name in MECH RATES SHAPE CORE; do
			[[ ! ${!name:-} ]] || params_bad "$name=${!name} is of LAB=pfc: leave $name out"
		done
		return 0
	elif [[ $LAB != pfc ]]; then
		for name in MECH RATES HEADROOM PFC SHAPE CORE; do
			[[ ! ${!name:-} ]] || params_bad "$name=${!name} is of LAB=pfc: add that, or leave $name out"
		done
		return 0
	fi
	SENDERS=${SENDERS:-16}
	[[ $SENDERS =~ ^[0-9]{1,3}(,[0-9]{1,3}){0,7}$ ]] ||
		params_bad "SENDERS=$SENDERS is no number of senders, nor a list of up to 8 groups; example: SENDERS=16,4,1"
	LAB_GROUPS=${SENDERS//,/ } LAB_SENDERS=0
	for count in $LAB_GROUPS; do
		((10#$count)) || params_bad "SENDERS=$SENDERS: a group has one sender or more"
		((LAB_SENDERS += 10#$count))
	done
	((LAB_SENDERS + $(wc -w <<<"$LAB_GROUPS") <= LAB_PFC_PORTS)) || params_bad "SENDERS=$SENDERS: the switch" \
		"has $LAB_PFC_PORTS ports, for all senders and a receiver of each group"
}

# Most ports on which sluiced can pause and be paused.
LAB_PFC_PORTS=63

params_pfc() {
	local i mech rate count fastest=0 rates=()

	LAB_MECHS='' LAB_SHAPE='' LAB_CORE=0 LAB_SENDER_RATES='' LAB_HEADROOM=0 LAB_PFC=
	if [[ $LAB == fabric ]]; then
		LAB_SHAPE=star
		for ((i = 0; i < LAB_RACKS; i++)); do
			LAB_SENDER_RATES+="$((LAB_RATE * LAB_UPLINK)) "
		done
		params_pfc_port
	fi
	[[ $LAB == pfc ]] || return 0
	LAB_MECHS=${MECH:-none,pfc,ppfc}
	[[ $LAB_MECHS =~ ^[a-z]+(,[a-z]+)*$ ]] ||
		params_bad "MECH=$LAB_MECHS is not a list of names with commas between them"
	LAB_MECHS=$(tr , '\n' <<<"$LAB_MECHS" | awk '!seen[$0]++' | xargs)
	for mech in $LAB_MECHS; do
		[[ " none pfc ppfc " == *" $mech "* ]] || params_bad "MECH=$mech is not known: none, pfc, ppfc"
	done
	LAB_SHAPE=${SHAPE:-star}
	[[ " star dumbbell spine " == *" $LAB_SHAPE "* ]] ||
		params_bad "SHAPE=$LAB_SHAPE is not known: star, dumbbell or spine"
	[[ $LAB_SHAPE != star || ! ${CORE:-} ]] ||
		params_bad "CORE=$CORE is the speed of links between switches: add SHAPE=dumbbell or SHAPE=spine"
	LAB_CORE=$(params_count CORE "${CORE:-2}" 1 100 "times RATE") || exit 2
	RATES=${RATES:-1}
	[[ $RATES =~ ^[0-9]{1,6}(x[0-9]{1,2})?(:[0-9]{1,6}(x[0-9]{1,2})?)*$ ]] ||
		params_bad "RATES=$RATES are no whole numbers with colons between them; example: RATES=1:10:20:40" \
			"or RATES=1x3:10x5"
	for rate in ${RATES//:/ }; do
		count=1
		[[ $rate == *x* ]] && count=$((10#${rate#*x}))
		rate=$((10#${rate%x*}))
		((rate && count)) || params_bad "RATES=$RATES: a rate of 0, or nobody who has it"
		((fastest = rate > fastest ? rate : fastest))
		for ((; count; count--)); do
			rates+=("$rate")
		done
	done
	((LAB_RATE / fastest >= 1000)) || params_bad "RATES=$RATES: the slowest has less than 1 kbit/s of RATE"
	for ((i = 0; i < LAB_SENDERS; i++)); do
		LAB_SENDER_RATES+="$((LAB_RATE * rates[i % ${#rates[@]}] / fastest)) "
	done
	params_pfc_port
}

# The configuration of a switch that pauses.
params_pfc_port() {
	LAB_HEADROOM=$(params_bytes HEADROOM "${HEADROOM:-10kb}" 10kb) || exit 2
	params_range HEADROOM "${HEADROOM:-10kb}" "$LAB_HEADROOM" 1514 100000000 bytes
	LAB_PFC=${PFC:-}
	[[ $LAB_PFC =~ ^([a-z_]+=[A-Za-z0-9.]+(,|$))*$ ]] ||
		params_bad "PFC=$LAB_PFC is no list of KEY=VALUE; example: PFC=t_thresh=10ms,interval=200us"
}

# The senders' traffic, and the loss of their credit.
params_racks() {
	LAB_BURST=0 LAB_BURST_BYTES=0 LAB_CHURN=0 LAB_LOSE=0 LAB_REPEAT=0 LAB_REORDER=0 LAB_KILL=0 LAB_LONGS='' LAB_HIERCC=
	((LAB_RACKS)) || return 0
	if [[ ${BURST:-} ]]; then
		[[ ! ${CHURN:-} || $LAB == fabric ]] || params_bad "BURST and CHURN are two kinds of short flows: leave one out"
		LAB_BURST=$(params_count BURST "$BURST" 1 1024 flows) || exit 2
		LAB_BURST_BYTES=$((LAB_SIZE ? LAB_SIZE : LAB_RATE / 1000 * LAB_RTT / 16000))
		((LAB_INCAST == 0 || LAB_BURST_BYTES != LAB_INCAST)) ||
			params_bad "INCAST=$INCAST is what a flow of BURST has, half a BDP: another size tells them apart"
		((LAB_BURST_BYTES)) || params_bad "BURST=$BURST with RTT=$RTT: half a BDP is nothing; add SIZE=25kb"
		LAB_SIZE=0
		LAB_WARMUP=$((20 * LAB_RTT))
		[[ ! ${WARMUP:-} ]] || LAB_WARMUP=$(params_seconds WARMUP "$WARMUP" 80ms) || exit 2
		((LAB_WARMUP + 100000 <= LAB_TIME / 2)) || params_bad "TIME=${TIME:-10} is too short: the burst is in the" \
			"middle, 100 ms after the warm-up (${LAB_WARMUP} us) or later"
	fi
	if [[ ${CHURN:-} ]]; then
		((LAB_SIZE == 0)) || params_bad "SIZE=$SIZE: the flows of CHURN have 10 KB; leave SIZE out"
		LAB_CHURN=$(params_time CHURN "$CHURN" 100ms) || exit 2
		params_range CHURN "$CHURN" "$LAB_CHURN" 1000 $((LAB_TIME / 4)) us
		((LAB_TIME / 1000 * (LAB_RATE / 1000000) / 280 <= 3500)) ||
			params_bad "CHURN=$CHURN for ${TIME:-10} s is more than 3500 flows: make TIME shorter"
	fi
	[[ ! ${LONG:-} ]] || ((LAB_SIZE == 0)) ||
		params_bad "LONG=$LONG beside SIZE=$SIZE: short flows that start later have BURST=$LAB_SENDERS"
	params_long
	LAB_HIERCC=${HIERCC:-}
	[[ $LAB_HIERCC =~ ^([a-z0-9_]+=[A-Za-z0-9.]+(,|$))*$ ]] ||
		params_bad "HIERCC=$LAB_HIERCC is no list of KEY=VALUE; example: HIERCC=c0=36KB,period=500us"
	LAB_LOSE=$(params_count LOSE "${LOSE:-0}" 0 100 percent) || exit 2
	LAB_REPEAT=$(params_count REPEAT "${REPEAT:-0}" 0 100 percent) || exit 2
	LAB_REORDER=$(params_count REORDER "${REORDER:-0}" 0 100 percent) || exit 2
	if [[ ${KILL:-} ]]; then
		((LAB_SIZE == 0)) || params_bad "KILL=$KILL wants flows that last: leave SIZE out, or add BURST"
		LAB_KILL=$(params_time KILL "$KILL" 1s) || exit 2
		((LAB_KILL >= 100000 && LAB_KILL + 3000000 <= LAB_TIME)) || params_bad "KILL=$KILL of TIME=${TIME:-10} s:" \
			"100 ms after the start or later, and 3 s before the end: what is started again takes its time"
	fi
}

# LAB_LONGS: how many long flows each rack has; LAB_LONG: all.
params_long() {
	local count i racks long=${LONG:-$((LAB_BURST || LAB_CHURN ? 2 : LAB_SENDERS))}

	LAB_LONG=0
	((LAB_SIZE == 0)) || return 0
	[[ $long =~ ^[0-9]{1,3}(,[0-9]{1,3})*$ ]] ||
		params_bad "LONG=$long is no number of flows, nor a list of them; example: LONG=2 or LONG=3,1"
	if [[ $long != *,* ]]; then
		for ((i = 0; i < LAB_RACKS; i++)); do
			LAB_LONGS+="$(((10#$long + LAB_RACKS - 1 - i) / LAB_RACKS)) "
		done
	else
		LAB_LONGS=${long//,/ }
		racks=$(wc -w <<<"$LAB_LONGS")
		((racks <= LAB_RACKS)) || params_bad "LONG=$long is of $racks racks, there are RACKS=$LAB_RACKS"
	fi
	for count in $LAB_LONGS; do
		((LAB_LONG += 10#$count))
	done
	params_range LONG "$long" "$LAB_LONG" 1 256 flows
}

# LAB_NICS: pairs of NICs, one for each host: the senders, the receiver and the probe.
params_nic() {
	LAB_NIC=${NIC:-veth} LAB_NICS=0
	[[ " veth virtio vmxnet3 " == *" $LAB_NIC "* ]] || params_bad "NIC=$LAB_NIC is not known: veth, virtio or vmxnet3"
	[[ $LAB_NIC != veth ]] || return 0
	# In the VM it is known by its clock.
	[[ $LAB_VM || ${VIRTUAL_TIME:-} ]] ||
		params_bad "NIC=$LAB_NIC is emulated by a virtual machine: add VM=6.12, or leave NIC out"
	[[ " star udp node " == *" $LAB "* ]] || params_bad "NIC=$LAB_NIC is for LAB=star, udp and node, not for LAB=$LAB"
	LAB_NICS=$((LAB_SENDERS + 2))
	((LAB_NICS <= LAB_MAX_NICS)) || params_bad "SENDERS=$LAB_SENDERS with NIC=$LAB_NIC: the virtual machine has room for" \
		"$((LAB_MAX_NICS - 2)) senders; make SENDERS fewer, or leave NIC out"
}

# RIVALS=cubic:1: the last of the senders are hosts without Sluice.
params_rivals() {
	LAB_RIVAL='' LAB_RIVALS=0
	[[ ${RIVALS:-} ]] || return 0
	[[ $RIVALS =~ ^(cubic|bbr|dctcp|reno):([1-9][0-9]?)$ ]] ||
		params_bad "RIVALS=$RIVALS is no control and how many: cubic:1, or bbr, dctcp, reno"
	LAB_RIVAL=${BASH_REMATCH[1]} LAB_RIVALS=${BASH_REMATCH[2]}
	[[ $LAB == star ]] || params_bad "RIVALS=$RIVALS are hosts of LAB=star, not of LAB=$LAB"
	((LAB_RIVALS < LAB_SENDERS)) || params_bad "RIVALS=$RIVALS of SENDERS=$LAB_SENDERS: one at least has to obey"
}

params_podcc() {
	local cc

	LAB_PODCCS=
	[[ $LAB == node || ! ${PODCC:-} ]] || ((LAB_RACKS)) ||
		params_bad "PODCC=$PODCC is for the pods of LAB=node, racks and fabric; elsewhere it is CC=$PODCC"
	[[ $LAB == node ]] || ((LAB_RACKS)) || return 0
	LAB_PODCCS=${PODCC:-cubic}
	[[ $LAB_PODCCS =~ ^[a-z]+(,[a-z]+)*$ ]] ||
		params_bad "PODCC=$LAB_PODCCS is not a list of names with commas between them"
	LAB_PODCCS=$(tr , ' ' <<<"$LAB_PODCCS")
	for cc in $LAB_PODCCS; do
		[[ " cubic bbr dctcp reno " == *" $cc "* ]] ||
			params_bad "PODCC=$cc is not known: cubic bbr dctcp reno"
	done
}

params_app() {
	LAB_APP=${APP:-}
	((LAB_RACKS)) || LAB_LONG=$LAB_SENDERS
	[[ $LAB_APP ]] || return 0
	[[ $LAB_APP == web ]] || params_bad "APP=$LAB_APP is not known: web, or empty for iperf3"
	[[ $LAB == node ]] || params_bad "APP=web has its programs in pods: add LAB=node"
	[[ -z ${SIZE:-}${JOIN:-} ]] || params_bad "SIZE and JOIN are for flows of our own: not with APP=web"
	((LAB_SENDERS >= 2)) ||
		params_bad "SENDERS=$LAB_SENDERS: APP=web needs two, one for nginx and one for redis"
	LAB_LONG=$((LAB_SENDERS - 1))
}

params_attach() {
	LAB_ATTACH=${ATTACH:-}
	[[ $LAB_ATTACH ]] || return 0
	[[ $LAB_ATTACH == late ]] ||
		params_bad "ATTACH=$LAB_ATTACH is not known: late, or empty for before the flows"
	[[ $LAB == node ]] ||
		params_bad "ATTACH=late: sockets choose sluice when they are made, pods need not: add LAB=node"
	[[ -z ${SIZE:-}${JOIN:-} ]] || params_bad "SIZE and JOIN end too soon for ATTACH=late: leave them out"
}

params_overlay() {
	LAB_OVERLAY=${OVERLAY:-}
	[[ $LAB_OVERLAY ]] || return 0
	[[ $LAB_OVERLAY == vxlan ]] || params_bad "OVERLAY=$LAB_OVERLAY is not known: vxlan, or empty for pods that are routed"
	[[ $LAB == node ]] || params_bad "OVERLAY=vxlan is between nodes with pods: add LAB=node"
}

params_classes() {
	local share sum=0

	LAB_CLASSES=${CLASSES:-} LAB_BORROW=${BORROW:-} LAB_BLIND=${BLIND:-}
	[[ $LAB_CLASSES || ! $LAB_BORROW$LAB_BLIND ]] ||
		params_bad "BORROW and BLIND are for a bottleneck with classes: add CLASSES=70,30"
	[[ $LAB_CLASSES ]] || return 0
	[[ $LAB == star && -z ${SIZE:-}${JOIN:-} ]] ||
		params_bad "CLASSES=$LAB_CLASSES is for long flows of LAB=star"
	[[ $LAB_CLASSES =~ ^[1-9][0-9]?(,[1-9][0-9]?){1,7}$ ]] ||
		params_bad "CLASSES=$LAB_CLASSES is not a list of 2 to 8 whole percents; example: CLASSES=70,30"
	LAB_CLASSES=$(tr , ' ' <<<"$LAB_CLASSES")
	for share in $LAB_CLASSES; do
		((sum += share))
	done
	((sum <= 100)) || params_bad "CLASSES=$CLASSES: together $sum percent; at most 100"
	[[ " $LAB_CCS " != *" dctcp "* ]] || params_bad "CLASSES=$CLASSES: the marks of dctcp want one queue"
}

# The input of the aggregator, one key=value a line.
params_write() {
	cat <<-END
	lab=$LAB
	senders=$LAB_SENDERS
	rate_bps=$LAB_RATE
	rtt_us=$LAB_RTT
	buffer_bytes=$LAB_BUFFER
	time_us=$LAB_TIME
	seed=$LAB_SEED
	warmup_us=$LAB_WARMUP
	size_bytes=$LAB_SIZE
	stagger_us=$LAB_STAGGER
	join_bytes=$LAB_JOIN
	offer_percent=$LAB_OFFER
	tcp_senders=$LAB_TCP
	telemetry=$LAB_TELEMETRY
	podcc=$LAB_PODCCS
	app=$LAB_APP
	attach=$LAB_ATTACH
	auth=$LAB_AUTH
	nic=$LAB_NIC
	gso=${LAB_GSO:-0}
	queue=$LAB_QUEUE
	aqm=$LAB_AQM
	long_flows=$LAB_LONG
	parallel=$LAB_PARALLEL
	racks=$LAB_RACKS
	servers=$LAB_SERVERS
	uplink=$LAB_UPLINK
	longs=$LAB_LONGS
	burst=$LAB_BURST
	burst_bytes=$LAB_BURST_BYTES
	churn_us=$LAB_CHURN
	lose_percent=$LAB_LOSE
	repeat_percent=$LAB_REPEAT
	reorder_percent=$LAB_REORDER
	kill_us=$LAB_KILL
	hiercc=$LAB_HIERCC
	groups=$([[ $LAB != pfc && $LAB != fabric ]] || echo "$LAB_GROUPS")
	incast_bytes=$LAB_INCAST
	shape=$LAB_SHAPE
	core=$LAB_CORE
	rates=${RATES:-}
	sender_rates=$LAB_SENDER_RATES
	headroom_bytes=$LAB_HEADROOM
	pfc=$LAB_PFC
	END
}
