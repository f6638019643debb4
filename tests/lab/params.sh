# SPDX-License-Identifier: GPL-2.0-only
# The parameters of a lab: from the environment, checked whole before anything is touched.
#
# Afterwards the numbers are in LAB_* variables in one unit each (bits/s, microseconds, bytes).

LAB_MAX_SENDERS=250

usage() {
	cat >&2 <<-'END'
	usage: [NAME=value ...] tests/lab/lab       (or: make lab NAME=value ...)
	  LAB=star|dumbbell|udp|node
	                      star: senders, a switch, a receiver; dumbbell: two switches in a row;
	                      udp: the star with senders of UDP; node: the star with nodes that route
	                      for pods, where Sluice runs in the nodes and nothing of it in the pods
	  CC=sluice,cubic,... congestion controls, each by itself: sluice cubic bbr dctcp reno, and none
	                      (default of udp and node: sluice,none). Variants of sluice: hpcc (plain),
	                      hpcc-ai (high AI), hpcc-prob (probabilistic), hpcc-vai-sf; rx-hpcc (the
	                      receiver computes W), hpcc-ratio (it measures U); with telemetry less
	                      often: hpcc-rtt, hpcc-cong, hpcc-probe; and swift, swift-vai-sf: with
	                      switches that stamp nothing, so that it goes by delay
	  OFFER=200           udp: what the senders offer together, in percent of RATE
	  TCP=                udp: so many of the senders send TCP
	  PODCC=cubic         node: the pods' own controls, dealt to the senders in turn: cubic bbr dctcp
	                      reno, or a list such as cubic,bbr
	  APP=                node: web: curl gets a large file from an nginx in each sending pod but the last,
	                      at once, while redis-benchmark asks a redis-server in that one; programs
	                      that this machine has not are fetched from its archives into build/
	  ATTACH=             node: late: sluiced starts 1 s after the flows, figures are of TIME from there
	  CLASSES=            star: shares of the bottleneck in percent, as in 70,30: a queue for each, to which senders
	                      are dealt in turn
	  BORROW=             with CLASSES: 1: a class may use what the others leave; default: its share at most
	  BLIND=              with CLASSES: 1: sluiced is not told of them, and stamps the whole port
	  SENDERS=8           senders (dumbbell: 3, dealt to the paths A, B, C in turn; udp, node: 4)
	  RATE=100mbit        speed of the bottlenecks and of each host's link (bit kbit mbit gbit)
	  RTT=4ms             base round trip, added on the path of the ACKs (us ms s)
	  BUFFER=1mb          buffer of each bottleneck (b kb mb, 1 kb = 1000 bytes)
	  TIME=10             seconds measured; finite flows have this or a multiple of the ideal
	  WARMUP=             left out of the figures; default 20 RTTs, 0 where flows are finite
	  SIZE=               finite flows of this size, one per sender, that start together
	  STAGGER=            with SIZE: start two of them every STAGGER
	  JOIN=               one long flow; a finite one of this size joins it and leaves, twice
	  PARALLEL=1          long flows of each sender, side by side
	  FLOWS=              hpcc: flows of sluice (N: flows expected on a link); default: the daemon's
	  TELEMETRY=hpcc      how packets of sluice carry telemetry: hpcc or int-md
	  BASE_RTT=           base_rtt of sluice (T); default: the round trip of the probe on the idle lab
	  AUTH=               1: the hosts authenticate their messages, with a key made for each run
	  VM=                 empty: this kernel; 6.1, 6.12, 7.2: that kernel in a virtual machine
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
	[[ $LAB == star || $LAB == dumbbell || $LAB == udp || $LAB == node ]] ||
		params_bad "LAB=$LAB is not known: star, dumbbell, udp or node"

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
	LAB_SENDERS=${SENDERS:-8}
	[[ $LAB_SENDERS =~ ^[0-9]{1,9}$ ]] ||
		params_bad "SENDERS=$LAB_SENDERS is not a whole number"
	LAB_SENDERS=$((10#$LAB_SENDERS))
	params_range SENDERS "$LAB_SENDERS" "$LAB_SENDERS" 1 $LAB_MAX_SENDERS senders

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

	LAB_RATE=$(params_rate RATE "${RATE:-100mbit}" 100mbit) || exit 2
	params_range RATE "${RATE:-100mbit}" "$LAB_RATE" 100000 100000000000 bit/s
	LAB_RTT=$(params_time RTT "${RTT:-4ms}" 4ms) || exit 2
	params_range RTT "${RTT:-4ms}" "$LAB_RTT" 0 10000000 us
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

	LAB_FLOWS=${FLOWS:-0}
	[[ $LAB_FLOWS =~ ^[0-9]{1,9}$ ]] || params_bad "FLOWS=$LAB_FLOWS is not a whole number"
	LAB_TELEMETRY=${TELEMETRY:-hpcc}
	[[ $LAB_TELEMETRY == hpcc || $LAB_TELEMETRY == int-md ]] ||
		params_bad "TELEMETRY=$LAB_TELEMETRY is not known: hpcc or int-md"
	LAB_BASE_RTT=0
	if [[ ${BASE_RTT:-} ]]; then
		LAB_BASE_RTT=$(params_time BASE_RTT "$BASE_RTT" 4ms) || exit 2
		params_range BASE_RTT "$BASE_RTT" "$LAB_BASE_RTT" 1 1000000 us
	fi

	LAB_CCS=${CC:-sluice,cubic,bbr,dctcp}
	[[ $LAB == udp || $LAB == node ]] && LAB_CCS=${CC:-sluice,none}
	[[ $LAB_CCS =~ ^[a-z0-9_-]+(,[a-z0-9_-]+)*$ ]] ||
		params_bad "CC=$LAB_CCS is not a list of names with commas between them"
	LAB_CCS=$(tr , '\n' <<<"$LAB_CCS" | awk '!seen[$0]++' | xargs)
	known=$(cc_names)
	for cc in $LAB_CCS; do
		[[ " $known " == *" $cc "* ]] || params_bad "CC=$cc is not known: $known"
		[[ $LAB != node || $(cc_field "$cc" 2) == - ]] ||
			params_bad "CC=$cc: in LAB=node the nodes have a variant of sluice or none, pods what" \
				"PODCC says, as in PODCC=$cc"
	done
	params_podcc
	params_app
	params_attach
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
	[[ $LAB_VM =~ ^(6\.1|6\.12|7\.2)?$ ]] ||
		params_bad "VM=$LAB_VM is not known: 6.1, 6.12, 7.2, or empty for this kernel"

	LAB_NAME=$LAB
	((LAB_SIZE)) && LAB_NAME+=-incast
	((LAB_STAGGER)) && LAB_NAME=$LAB-stagger
	((LAB_JOIN)) && LAB_NAME+=-join
	LAB_NAME+=${LAB_CLASSES:+-classes}${LAB_APP:+-$LAB_APP}${LAB_ATTACH:+-$LAB_ATTACH}
	LAB_NAME=${NAME:-$LAB_NAME}
	[[ $LAB_NAME =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] ||
		params_bad "NAME=$LAB_NAME: letters, digits, '.', '_' and '-' only"
}

params_podcc() {
	local cc

	LAB_PODCCS=
	[[ $LAB == node || ! ${PODCC:-} ]] ||
		params_bad "PODCC=$PODCC is for the pods of LAB=node; elsewhere it is CC=$PODCC"
	[[ $LAB == node ]] || return 0
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
	LAB_APP=${APP:-} LAB_LONG=$LAB_SENDERS
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

# What the aggregator needs to know, one key=value a line.
params_write() {
	cat <<-END
	lab=$LAB
	senders=$LAB_SENDERS
	rate_bps=$LAB_RATE
	rtt_us=$LAB_RTT
	buffer_bytes=$LAB_BUFFER
	time_us=$LAB_TIME
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
	long_flows=$LAB_LONG
	parallel=$LAB_PARALLEL
	END
}
