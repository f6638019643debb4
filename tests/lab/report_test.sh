#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests tests/lab/report with made-up labs, and the answers of tests/lab/lab to wrong parameters: one line per case, "ok NAME" or "not ok NAME", and what was expected
# on stderr. Needs jq, and what the report needs. Exit status: 0 all ok, 1 not.

# shellcheck disable=SC2317 # the cases are called by name
set -u
export LC_ALL=C

REPORT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/report
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
FAILED=0
PROBLEM=

# case_end NAME: the verdict on the checks since the last one.
case_end() {
	if [[ $PROBLEM ]]; then
		echo "not ok $1"
		printf '%s' "$PROBLEM" >&2
		FAILED=1
	else
		echo "ok $1"
	fi
	PROBLEM=
}

problem() { PROBLEM+="	$*"$'\n'; }

# ---- made-up labs ----

# lab_make NAME PARAMS RUNS [MISSING]: the results of a lab, in JSON.
lab_make() {
	DIR=$TMP/$1
	PAGE=$TMP/$1.html
	rm -rf "$DIR" "$PAGE"
	mkdir -p "$DIR"
	jq -n --argjson params "$2" --argjson runs "$3" --argjson missing "${4:-[]}" --arg lab "${LAB:-star}" \
		'{lab: $lab, kernel: "6.12.9-test-cloud", params: ({senders: 8, rate_bps: 100000000, rtt_us: 4000,
		  buffer_bytes: 1000000, time_us: 10000000, warmup_us: 80000, size_bytes: 0, stagger_us: 0,
		  join_bytes: 0} + $params), missing: $missing, runs: $runs}' >"$DIR/results.json"
}

# run_make CC P50 P99 PROBE_P99 [MORE]: one run of results.json.
run_make() {
	jq -nc --arg cc "$1" --argjson p50 "$2" --argjson p99 "$3" --argjson probe "$4" --argjson more "${5:-{\}}" \
		'{cc: $cc, queue_bytes: {p50: $p50, p95: $p99, p99: $p99, max: $p99}, queue_start_max_bytes: 85000,
		  utilisation: 0.951, jain: [0.999, 0.998], probe_us: {base: 4030, p50: 4100, p99: $probe, max: $probe},
		  fct_ms: [], retransmits: 0, drops: 0} + $more'
}

# queue_make CC BYTES [ROWS [SPIKE_ROW SPIKE_BYTES]]: a queue of BYTES, one row a millisecond.
queue_make() {
	mkdir -p "$DIR/$1"
	awk -v bytes="$2" -v rows="${3:-10000}" -v at="${4:--1}" -v spike="${5:-0}" 'BEGIN {
		print "t_us,bytes"
		for (i = 0; i < rows; i++)
			printf "%d,%d\n", i * 1000 + 7, (i == at ? spike : bytes * (i % 3) / 2)
	}' >"$DIR/$1/queue.csv"
}

# rates_make CC FLOWS MBIT [ROWS]
rates_make() {
	mkdir -p "$DIR/$1"
	awk -v flows="$2" -v rate="$3" -v rows="${4:-100}" 'BEGIN {
		printf "t_ms"
		for (f = 0; f < flows; f++)
			printf ",f%d_bps", f
		for (i = 0; i < rows; i++) {
			printf "\n%d", i * 100
			for (f = 0; f < flows; f++)
				printf ",%d", rate * 1e6 * (1 + f / 100)
		}
		print ""
	}' >"$DIR/$1/rates.csv"
}

# probe_make CC RTT_US
probe_make() {
	mkdir -p "$DIR/$1"
	awk -v rtt="$2" 'BEGIN {
		print "t_us,rtt_us"
		for (i = 0; i < 1000; i++)
			printf "%d,%d\n", i * 10000, rtt + i % 50
	}' >"$DIR/$1/probe.csv"
}

series_make() {
	queue_make "$1" "$2"
	rates_make "$1" 8 12
	probe_make "$1" "$3"
}

# ---- checks ----

# report_run STATUS ARGUMENT...: its output goes to $OUT, its messages to $ERR.
report_run() {
	local want=$1 status

	shift
	OUT=$("$REPORT" "$@" 2>"$TMP/err")
	status=$?
	ERR=$(<"$TMP/err")
	[[ $status -eq $want ]] || problem "report $*: status $status instead of $want: $ERR"
}

page_run() {
	report_run 0 "$DIR" "$PAGE"
	page_sound
}

# has FILE TEXT, hasnt FILE TEXT
has() { grep -sqF -- "$2" "$1" || problem "${1##*/} lacks: $2"; }
hasnt() { ! grep -sqF -- "$2" "$1" || problem "${1##*/} has: $2"; }
says() { [[ $1 == *"$2"* ]] || problem "says '$1', not: $2"; }

# row CC FIGURE...: the line of the table for CC.
row() {
	local want="$*" line

	line=$(awk -v cc="$1" '$1 == cc { $1 = $1; print }' <<<"$OUT")
	[[ $line == "$want" ]] || problem "row '$line' instead of '$want'"
}

# A page is whole: elements nest, ids and names of drawings are unique, nothing comes from elsewhere.
page_sound() {
	local fault

	[[ -s $PAGE ]] || { problem "no page"; return; }
	fault=$(awk 'BEGIN { RS = "<" }
	NR == 1 || /^!DOCTYPE/ { next }
	{
		end = index($0, ">")
		tag = substr($0, 1, end - 1)
		if (!end)
			print "unclosed tag: " substr($0, 1, 40)
		name = tag
		sub(/[ \t\n\/].*/, "", name)
		if (tag ~ /^\//) {
			name = substr(tag, 2)
			if (depth < 1 || open[depth] != name)
				print "</" name "> closes <" open[depth] ">"
			depth--
		} else if (tag !~ /\/$/)
			open[++depth] = name
		while (match(tag, / id=["\047][^"\047]*/)) {
			id = substr(tag, RSTART + 5, RLENGTH - 5)
			if (seen[id]++)
				print "id twice: " id
			tag = substr(tag, RSTART + RLENGTH)
		}
	}
	END { if (depth) print "<" open[depth] "> is not closed" }' "$PAGE" | head -n 3)
	[[ -z $fault ]] || problem "$fault"
	! grep -qiE '(src|href|action)[ ]*=[ ]*["'\'']?[a-z]*:?//|url\(|@import|<script|<link' "$PAGE" ||
		problem "the page refers to something elsewhere"
	! grep -qE 'https?:' "$PAGE" || problem "the page has an address"
	hasnt "$PAGE" "@include"
	hasnt "$PAGE" "rgb(254"
}

pictures() {
	local count

	count=$(grep -c "<svg" "$PAGE")
	[[ $count -eq $1 ]] || problem "$count drawings instead of $1"
}

# ---- cases ----

four_make() {
	lab_make four '{}' "[$(run_make sluice 1514 6056 4530), $(run_make cubic 932000 996000 83730 '{"drops": 56,
		"retransmits": 57, "jain": [0.959, 0.92, 0.97], "utilisation": 1}'),
		$(run_make bbr 256000 273000 25730), $(run_make dctcp 6100 25700 6000)]"
	series_make sluice 6056 4030
	series_make cubic 996000 78000
	series_make bbr 273000 24000
	series_make dctcp 25700 4500
}

table__four() {
	four_make
	report_run 0 --table "$DIR"
	says "$OUT" "star, senders 8, link rate 100 Mbit/s, base RTT 4 ms, buffer 1 MB, time 10 s, warm-up 80 ms"
	row sluice 1.51 6.06 6.06 6.06 85.0 95.1 0.999 0.998 4.03 0.07 0.50 0.50 0 0
	row cubic 932 996 996 996 85.0 100 0.950 0.920 4.03 0.07 79.7 79.7 57 56
	# Figures end where the names of their columns end.
	awk '$1 == "cc" { n = length($0) } n && length($0) != n { exit 1 }' <<<"$OUT" || problem "crooked: $OUT"
}

page__four() {
	four_make
	page_run
	has "$PAGE" "In 99 of 100 samples after the warm-up of 80 ms the queue is at most 6.06 KB with Sluice \
(4 full packets), 25.7 KB with DCTCP (4.2 times as much), 273 KB with BBR (45 times as much) and 996 KB with CUBIC \
(164 times as much)."
	has "$PAGE" "take at most 0.50 ms longer with Sluice, 1.97 ms longer with DCTCP, 21.7 ms longer with BBR and \
79.7 ms longer with CUBIC than the base round trip of 4.03 ms."
	has "$PAGE" "most evenly with Sluice, BBR and DCTCP, where the Jain index of the worst second is 0.998"
	has "$PAGE" "least evenly with CUBIC (0.920)"
	has "$PAGE" "The axis begins at 0, is even up to about 1 KB and logarithmic above."
	has "$PAGE" "<td>996</td>"
	has "$PAGE" "make lab LAB=star CC=sluice,cubic,bbr,dctcp SENDERS=8 RATE=100mbit RTT=4ms BUFFER=1mb TIME=10 \
WARMUP=80ms VM=6.12<"
	has "$PAGE" "6.12.9-test-cloud"
	has "$PAGE" "<h1>The queue is shortest with Sluice: 6.06 KB at p99, against 25.7 KB with DCTCP, 273 KB with BBR and \
996 KB with CUBIC</h1>"
	has "$PAGE" "The link is used to 95.1 % with Sluice, 100 % with CUBIC, 95.1 % with BBR and 95.1 % with DCTCP."
	has "$PAGE" 'aria-label="Topology: 8 senders, s1, r1"'
	# Topology, queue, start and probe in two sizes, four panels.
	pictures 12
}

# No winner is built in.
page__sluice_loses() {
	lab_make loses '{}' "[$(run_make sluice 1 90000 9030), $(run_make dctcp 1 30000 5030)]"
	page_run
	has "$PAGE" "at most 30.0 KB with DCTCP (20 full packets) and 90.0 KB with Sluice (3.0 times as much)."
	has "$PAGE" "1.00 ms longer with DCTCP and 5.00 ms longer with Sluice"
	has "$PAGE" "<h1>The queue is shortest with DCTCP: 30.0 KB at p99, against 90.0 KB with Sluice</h1>"
}

# Whatever the order of the runs, and however long its queue: in legends and the table Sluice comes first, in drawings last.
page__sluice_first() {
	local order

	lab_make first '{}' "[$(run_make cubic 1 90000 9030), $(run_make sluice 1 80000 9930)]"
	series_make cubic 90000 4030
	series_make sluice 99000 9030
	page_run
	! grep -qE '<p class="legend"><span><i [^>]*></i>CUBIC' "$PAGE" || problem "a legend begins with CUBIC"
	has "$PAGE" '<td></td><th scope="col"><i class="swatch" style="background: var(--s1)"></i>Sluice</th>'
	for order in queue start probe; do
		order=$(sed -n "/<section id=\"$order\">/,/<\/svg>/p" "$PAGE" | grep -oE "<path stroke='var\(--s[12]\)'" | tail -n 1)
		[[ $order == *s1* ]] || problem "on top is $order"
	done
}

# A curve ends with its run, and what comes later does not stretch the axis.
page__runs_end() {
	lab_make end '{"warmup_us": 1000000}' "[$(run_make sluice 1 6056 4530 '{"measured_to_us": 5000000}'),
		$(run_make cubic 1 6056 4530 '{"measured_to_us": 9000000}')]"
	queue_make sluice 6000 10000 8000 2000000
	queue_make cubic 6000
	page_run
	hasnt "$PAGE" "<text>1000</text>"
	has "$PAGE" "polygon fill = 'var(--shade)'"
}

# Three digits, and room for the longest name.
page__digits_and_names() {
	LAB=pfc lab_make digits '{"size_bytes": 1000000, "groups": ["2"]}' "[$(run_make burst 1 6056 4530 '{"mech": "none",
		"fct_ms": [12400.4, 13272.4], "fct_ideal_ms": 13383.4}'), $(run_make sluice 1 6056 4530 '{"mech": "ppfc", "fct_ms": [12345.6]}')]"
	page_run
	has "$PAGE" "complete after 12.3 s with P-PFC (Sluice) (0.922) and 13.3 s with no pauses (bursts) (0.992)"
	has "$PAGE" "<text>completion time, s</text>"
	# 18 characters.
	sed -n '/<section id="fct">/,/<\/svg>/p' "$PAGE" | grep -q "d='M158.00," || problem "the names have another margin"
	report_run 0 --table "$DIR"
	says "$OUT" " 13300 "
}

# Each lab is drawn, and what is not known is left out.
page__topologies() {
	local lab

	for lab in star udp node dumbbell racks fabric pfc:star pfc:dumbbell pfc:spine; do
		LAB=${lab%:*} lab_make topology "{\"shape\": \"${lab#*:}\", \"racks\": 4, \"servers\": 2, \"uplink\": 2, \"core\": 2}" \
			"[$(run_make dctcp 1 6056 4530)]"
		page_run
		pictures 2
	done
	LAB=ring lab_make topology '{}' "[$(run_make dctcp 1 6056 4530)]"
	page_run
	pictures 0
}

page__single() {
	lab_make single '{}' "[$(run_make sluice 0 0 4530)]"
	series_make sluice 100 4030
	page_run
	has "$PAGE" "the queue with Sluice is at most 0 KB (empty), and in half of them at most 0 KB."
	pictures 10
	report_run 0 --table "$DIR"
	row sluice 0 0 0 0 85.0 95.1 0.999 0.998 4.03 0.07 0.50 0.50 0 0
}

page__missing_series() {
	four_make
	rm "$DIR/bbr/rates.csv" "$DIR/cubic/queue.csv"
	rm -r "$DIR/dctcp"
	page_run
	says "$ERR" "bbr/rates.csv is missing"
	says "$ERR" "dctcp/probe.csv is missing"
	has "$PAGE" "no rates recorded"
	# Figures stay: only the samples are gone.
	has "$PAGE" "996 KB with CUBIC"
	pictures 10
}

# lab-sum writes the percentiles of nothing as 0, which must not pass for an empty queue.
page__no_samples() {
	lab_make none '{}' "[$(run_make sluice 1514 6056 4530), $(run_make bbr 0 0 0 '{"probe_us": {"base": 4030,
		"p50": 0, "p99": 0, "max": 0}}')]"
	series_make sluice 6056 4030
	mkdir "$DIR/bbr"
	echo "t_us,bytes" >"$DIR/bbr/queue.csv"
	echo "t_ms,f0_bps" >"$DIR/bbr/rates.csv"
	echo "t_us,rtt_us" >"$DIR/bbr/probe.csv"
	page_run
	has "$PAGE" "Nothing was sampled with: BBR."
	has "$PAGE" "No answers with: BBR."
	report_run 0 --table "$DIR"
	row bbr - - - - - 95.1 0.999 0.998 4.03 - - - 0 0
}

page__nothing_at_all() {
	lab_make nothing '{}' '[{"cc": "sluice"}]'
	page_run
	has "$PAGE" "No queue was sampled in this run."
	has "$PAGE" "No rates were recorded in this run."
	has "$PAGE" "The probe has no answers in this run."
	pictures 2
	lab_make empty '{}' '[]' '["fq", "bbr"]'
	page_run
	has "$PAGE" "Nothing was run."
	has "$PAGE" "Missing on this kernel: fq, bbr"
	report_run 0 --table "$DIR"
	says "$OUT" "missing here: fq, bbr"
}

page__incast() {
	lab_make incast '{"size_bytes": 1000000, "senders": 4, "warmup_us": 0}' \
		"[$(run_make sluice 1 6056 4530 '{"fct_ms": [330, 340.5, 350, null], "fct_ideal_ms": 334.6}'),
		$(run_make cubic 1 6056 4530 '{"fct_ms": [300, 310, 320, 401.5], "fct_ideal_ms": 334.6}')]"
	queue_make sluice 6056 400
	rates_make sluice 4 25 4
	page_run
	has "$PAGE" "The last of the 4 flows is complete after 350 ms with Sluice (1.046) and 402 ms with CUBIC (1.200); \
in brackets, as a multiple of the 335 ms that the bytes need at line rate."
	has "$PAGE" "Not complete: 1 flow with Sluice."
	has "$PAGE" 'id="fct-title"'
	has "$PAGE" "SIZE=1mb"
	hasnt "$PAGE" "WARMUP="
	report_run 0 --table "$DIR"
	row cubic 0.00 6.06 6.06 6.06 95.1 0.999 0.998 4.03 0.07 0.50 0.50 310 402 335 0 0
}

page__join_and_stagger() {
	lab_make join '{"join_bytes": 1000000, "senders": 2}' "[$(run_make dctcp 1 6056 4530 \
		'{"fct_ms": [300, 310], "recovery_ms": [50, 61.9], "rate_before_bps": 99900000}')]"
	page_run
	has "$PAGE" "A flow of 1 MB that joins a long one takes up to 310 ms with DCTCP; when it has left, the long one \
needs up to 61.9 ms with DCTCP to be back at 95 % of its rate."
	has "$PAGE" "JOIN=1mb"
	hasnt "$PAGE" "SENDERS="
	report_run 0 --table "$DIR"
	says "$OUT" "
        queue KB                      link    probe ms              flows done ms   back ms   packets
cc       p50  p95  p99  max warm-up   use %   base +p50 +p99 +max   p50      last   slowest   retrans dropped
dctcp   0.00 6.06 6.06 6.06    85.0    95.1   4.03 0.07 0.50 0.50   300       310      61.9         0       0"
	lab_make stagger '{"size_bytes": 2000000, "stagger_us": 20000}' "[$(run_make dctcp 1 6056 4530 \
		'{"fct_ms": [300, 310], "slowdown": {"min": 0.6, "mean": 1.07, "max": 1.2}}')]"
	page_run
	has "$PAGE" "On average a flow takes 1.07 times as long with DCTCP as it would"
	has "$PAGE" "STAGGER=20ms"
}

page__two_ports() {
	LAB=dumbbell lab_make two '{"senders": 3}' "[$(run_make dctcp 1 13600 4530 '{"paths": ["A", "B", "C"],
		"rates_bps": [28600000, 71200000, 71300000], "ports": [
		{"port": "s1:p0", "queue_bytes": {"p50": 1, "p99": 13600, "max": 15140}, "utilisation": 0.9},
		{"port": "s2:p0", "queue_bytes": {"p50": 1, "p99": 12112, "max": 13700}, "utilisation": 0.99}]}')]"
	series_make dctcp 6000 4030
	cp "$DIR/dctcp/queue.csv" "$DIR/dctcp/queue2.csv"
	page_run
	has "$PAGE" "Queue over time at s2:p0"
	has "$PAGE" "is at most 12.1 KB (8 full packets)"
	has "$PAGE" "A 28.6, B 71.2 and C 71.3 with DCTCP."
	hasnt "$PAGE" "fair share,"
	pictures 12
}

# Runs have the name of their loops, whatever pauses there were.
page__fabric() {
	local mice='"mice_us": {"p50": 36000, "p99": 79400, "count": 629, "all": 630}'

	LAB=fabric lab_make fabric '{"senders": 16, "racks": 4, "servers": 4, "uplink": 2, "longs": ["1", "1", "0", "0"], "burst": 16,
		"burst_bytes": 25000, "incast_bytes": 100000, "churn_us": 100000, "groups": ["4"], "rates": "", "headroom_bytes": 10000,
		"gso": true}' "[$(run_make none 1 550000 4050 '{"mech": "none", "mice_us": {"p50": 55900, "p99": 469000, "count": 630, "all": 630},
		"long_bps": 71900000}'),
		$(run_make hpcc+hiercc+ppfc 1 6056 4050 '{"mech": "ppfc", "incast_us": {"p50": 1000, "p99": 577000, "count": 16, "all": 16},
		'"$mice"'}')]"
	queue_make hpcc+hiercc+ppfc 6056 400
	page_run
	has "$PAGE" "make lab LAB=fabric LOOPS=none,hpcc+hiercc+ppfc HEADROOM=10kb"
	has "$PAGE" "INCAST=100kb"
	has "$PAGE" "GSO=on"
	hasnt "$PAGE" "MECH="
	hasnt "$PAGE" "SENDERS="
	has "$PAGE" "all three loops"
	has "$PAGE" "Completion times of the short flows that come all the time, ms"
	report_run 0 --table "$DIR"
	says "$OUT" "hpcc+hiercc+ppfc"
}

page__racks() {
	LAB=racks lab_make racks '{"senders": 16, "racks": 4, "servers": 4, "uplink": 2, "longs": ["1", "1", "0", "0"],
		"burst": 16, "burst_bytes": 25000, "churn_us": 0, "lose_percent": 10, "repeat_percent": 0,
		"reorder_percent": 0, "kill_us": 0}' "[$(run_make hiercc 1 6056 4530 '{"fct_ms": [12, 40.5],
		"fct_us": {"p50": 12000, "p99": 40500, "count": 2}, "queue_burst_max_bytes": 98400, "long_back_ms": 4.2,
		"racks": [{"voq_bytes": {"p50": 100, "p99": 20000, "max": 31000}}, {"voq_bytes": {"p50": 26700, "p99": 30000,
		"max": 30500}}]}')]"
	page_run
	has "$PAGE" "LAB=racks CC=hiercc RACKS=4 SERVERS=4 UPLINK=2 LONG=1,1,0,0 BURST=16 LOSE=10 RATE="
	has "$PAGE" "SIZE=25kb"
	hasnt "$PAGE" "CHURN="
	hasnt "$PAGE" "SENDERS="
	has "$PAGE" "4 with 4 pods each, uplinks 2 times as fast"
	has "$PAGE" "16 flows of 25 KB"
	has "$PAGE" "10 %, 0 %, 0 %"
	report_run 0 --table "$DIR"
	row hiercc 0.00 6.06 6.06 6.06 85.0 98.4 26.7 30.0 31.0 95.1 0.999 0.998 4.03 0.07 0.50 0.50 12.0 40.5 40.5 4.20 0 0
	# Other reports have none of it.
	four_make
	report_run 0 --table "$DIR"
	[[ $OUT != *VOQ* && $OUT != *burst* ]] || problem "a star has columns of racks: $OUT"
}

page__pauses() {
	LAB=pfc lab_make pauses '{"senders": 21, "groups": ["16", "4", "1"], "rates": "1:10:20:40", "headroom_bytes": 10000, "shape": "star",
		"pfc": "t_thresh=10ms", "size_bytes": 1000000, "warmup_us": 0, "buffer_bytes": 500000}' "[
		$(run_make burst 550000 600000 64030 '{"mech": "none", "lost": 8786, "drops": 8786}'),
		$(run_make burst 400000 500000 44030 '{"mech": "pfc", "lost": 0, "latency_us": {"p50": 30000, "p95": 39000,
		"p99": 40000, "max": 41000}, "pauses": {"sent": 48, "predicted": 0, "xoffs": 48, "refreshes": 9, "xons": 48,
		"paused_us": 18000000, "ports": [{"sent": 48}, {"sent": 0}]}}'),
		$(run_make burst 90000 150000 16030 '{"mech": "ppfc", "lost": 0, "latency_us": {"p50": 7000, "p95": 11000,
		"p99": 12000, "max": 13000}, "pauses": {"sent": 40, "predicted": 40, "xoffs": 0, "refreshes": 0, "xons": 0,
		"paused_us": 17000000, "ports": [{"sent": 20}, {"sent": 20}]}}')]"
	queue_make burst-none 600000
	queue_make burst-pfc 500000
	queue_make burst-ppfc 150000
	page_run
	has "$PAGE" "make lab LAB=pfc CC=burst MECH=none,pfc,ppfc RATES=1:10:20:40 HEADROOM=10kb PFC=t_thresh=10ms \
SENDERS=16,4,1 RATE="
	has "$PAGE" "the queue is at most 150 KB with P-PFC (bursts) (99 full packets), 500 KB with PFC (bursts) (3.3 times \
as much) and 600 KB with no pauses (bursts) (4.0 times as much)."
	has "$PAGE" "16 + 4 + 1"
	! grep -q "burst-.*queue.csv is missing" <<<"$ERR" || problem "it looks for the samples elsewhere: $ERR"
	report_run 0 --table "$DIR"
	row burst-none 550 600 600 600 95.1 0.999 0.998 4.03 0.07 60.0 60.0 - - - - - - - - 0 8786 8786
	row burst-pfc 400 500 500 500 95.1 0.999 0.998 4.03 0.07 40.0 40.0 30.0 40.0 41.0 0 48 9 18000 1 0 0 0
	row burst-ppfc 90.0 150 150 150 95.1 0.999 0.998 4.03 0.07 12.0 12.0 7.00 12.0 13.0 40 0 0 17000 2 0 0 0
}

# wrong TEXT NAME=VALUE...: the lab refuses these parameters with TEXT.
wrong() {
	local text=$1 status
	shift
	ERR=$(env "$@" "${REPORT%/*}/lab" 2>&1 >/dev/null)
	status=$?
	[[ $status -eq 2 ]] || problem "$*: status $status instead of 2: $ERR"
	says "$ERR" "$text"
}

params__fabric() {
	wrong "LOOPS=hpcc is of LAB=fabric: add that, or leave LOOPS out" LAB=racks LOOPS=hpcc
	wrong "LOOPS=hpcc+pfc: 'pfc' is not known: hpcc, hiercc and ppfc with + between them, or none" LAB=fabric LOOPS=hpcc+pfc
	wrong "LOOPS=none+hpcc: 'none' is not known" LAB=fabric LOOPS=none+hpcc
	wrong "CC=sluice is not of LAB=fabric, where LOOPS says what runs" LAB=fabric CC=sluice
	wrong "MECH=pfc is of LAB=pfc: leave MECH out" LAB=fabric MECH=pfc
	wrong "INCAST=25kb is what a flow of BURST has" LAB=fabric INCAST=25kb
	wrong "INCAST=10kb is what a flow of CHURN has" LAB=fabric INCAST=10kb
	wrong "GSO=yes is not known: on or off" GSO=yes
	wrong "QUEUE=cake is not known: auto, fq or sluice" QUEUE=cake
	wrong "'choke' is no qdisc of a bottleneck: fq_codel, codel, cake" CC=sluice,cubic+choke
	wrong "'tbf' is no qdisc of a bottleneck" AQM='tbf rate 1mbit'
	wrong "fq_codel: the bottlenecks of pfc and fabric, and those with CLASSES, have queues of their own" CLASSES=70,30 AQM=fq_codel
	wrong "QUEUE=sluice has the place of the bottleneck's qdisc, and so has AQM: leave one out" VM=7.3 QUEUE=sluice AQM=cake
	wrong "QUEUE=sluice is a qdisc in BPF, which Linux 6.16 and newer have: add VM=newest" QUEUE=sluice VM=6.12
	wrong "QUEUE=sluice is no qdisc below a tbf" QUEUE=sluice VM=7.2 GSO=off
	wrong "QUEUE=sluice lets classes use what the others leave" QUEUE=sluice VM=7.2 CC=sluice CLASSES=70,30
}

# queue_of NAME=VALUE...: the qdisc that a lab with these parameters has.
queue_of() {
	env "$@" bash -c '. "$0/cc.sh"; . "$0/params.sh"; params_read && echo "$LAB_QUEUE"' "${REPORT%/*}"
}

params__queue_is_ours_where_it_can_be_had() {
	says "$(queue_of VM=7.2)" sluice
	says "$(queue_of VM=7.2 QUEUE=fq)" fq
	says "$(queue_of VM=7.2 GSO=off)" fq
	says "$(queue_of VM=7.2 CC=sluice CLASSES=70,30)" fq
	says "$(queue_of VM=7.2 CC=sluice CLASSES=70,30 BORROW=1)" sluice
	says "$(queue_of VM=6.12)" fq
	says "$(queue_of VM=oldest)" fq
	says "$(queue_of VM=stable)" fq
	says "$(queue_of VM=7.10)" sluice
	wrong "VM=6 is not known: oldest, stable, newest, a number such as 6.12, or empty for this kernel" VM=6
}

params__pauses() {
	wrong "LAB=pcf is not known: star, dumbbell, udp, node, racks, pfc or fabric" LAB=pcf
	wrong "MECH=pfc is of LAB=pfc: add that, or leave MECH out" LAB=star MECH=pfc
	wrong "RATES=1:2 is of LAB=pfc" RATES=1:2
	wrong "MECH=qcn is not known: none, pfc, ppfc" LAB=pfc MECH=pfc,qcn
	wrong "MECH=pfc,,ppfc is not a list" LAB=pfc MECH=pfc,,ppfc
	wrong "SENDERS=16,x is no number of senders, nor a list" LAB=pfc SENDERS=16,x
	wrong "a group has one sender or more" LAB=pfc SENDERS=16,0
	wrong "the switch has 63 ports" LAB=pfc SENDERS=60,4
	wrong "RATES=1:fast are no whole numbers" LAB=pfc RATES=1:fast
	wrong "RATES=0:1: a rate of 0" LAB=pfc RATES=0:1
	wrong "PFC=t_thresh is no list of KEY=VALUE" LAB=pfc PFC=t_thresh
	wrong "HEADROOM=10: unit '' is not one of" LAB=pfc HEADROOM=10
	wrong "HEADROOM=1kb is out of range" LAB=pfc HEADROOM=1kb
	wrong "CC=silent is with switches that stamp nothing" LAB=pfc CC=silent
	wrong "SHAPE=ring is not known" LAB=pfc SHAPE=ring
	wrong "CORE=2 is the speed of links between switches" LAB=pfc CORE=2
	wrong "CC=burst does not react to anything but pauses: add LAB=pfc" CC=burst
	wrong "CC=none: in LAB=pfc senders without a control are CC=burst" LAB=pfc CC=none
	wrong "JOIN=1mb works in LAB=star and LAB=node only" LAB=pfc JOIN=1mb
}

params__seed() {
	wrong "SEED=7 is of a virtual machine: add VM=, or leave SEED out" SEED=7
	wrong "SEED=x is not a whole number" VM=6.12 SEED=x
	lab_make seed '{"seed": 7}' "[$(run_make sluice 1 6056 4530)]"
	page_run
	has "$PAGE" "VM=6.12 SEED=7<"
}

page__flows_1_and_64() {
	local flows levels

	for flows in 1 64; do
		lab_make flows '{}' "[$(run_make sluice 1 6056 4530 "{\"rates_bps\": [$((95000000 / flows))]}")]"
		rates_make sluice "$flows" $((95 / flows))
		page_run
		# Both drawings have a line per flow, and the fair share.
		[[ $(grep -o "<path stroke='var(--s1)'" "$PAGE" | wc -l) -eq $((2 * flows)) ]] ||
			problem "$(grep -o "<path stroke='var(--s1)'" "$PAGE" | wc -l) lines for $flows flows"
	done
	lab_make flows '{}' "[$(run_make sluice 1 6056 4530 '{"rates_bps": [95060000]}')]"
	rates_make sluice 1 95
	page_run
	has "$PAGE" "The one flow gets 95.1 Mbit/s with Sluice on average."
	# The same rate in every row, the first included, is a level line.
	levels=$(sed -n "/<path stroke='var(--s1)'/,/\\/>/p" "$PAGE" | grep -oE '[ML ][0-9.]+,[0-9.]+' |
		cut -d, -f2 | sort -u | wc -l)
	# One in each of the two sizes.
	[[ $levels -eq 2 ]] || problem "$levels levels instead of 2"
}

# One sample of 200000 stands out by a factor of 300; the axis reaches up to it only if it was kept.
page__thinning_keeps_peaks() {
	lab_make big '{"warmup_us": 0}' "[$(run_make sluice 1 6056 4530)]"
	queue_make sluice 6000 200000 123456 2000000
	page_run
	has "$PAGE" "<text>1000</text>"
	has "$PAGE" "Each point stands for 417 ms"
	[[ $(wc -c <"$PAGE") -lt 300000 ]] || problem "the page has $(wc -c <"$PAGE") bytes"
}

# A line that was cut short counts for nothing.
page__torn_lines() {
	four_make
	page_run
	mv "$PAGE" "$TMP/whole.html"
	printf '12,\nnonsense\n-,-\n9999' >>"$DIR/sluice/queue.csv"
	printf '12,34\n,,\n' >>"$DIR/sluice/rates.csv"
	printf '500000,\n600000,9x\n' >>"$DIR/sluice/probe.csv"
	page_run
	cmp -s "$PAGE" "$TMP/whole.html" || problem "the page is another one than without the torn lines"
}

page__text_is_escaped() {
	four_make
	jq '.kernel = "<b>&6.12" | .missing = ["<i>"]' "$DIR/results.json" >"$TMP/x" && mv "$TMP/x" "$DIR/results.json"
	page_run
	has "$PAGE" "&lt;b&gt;&amp;6.12"
	hasnt "$PAGE" "<i>"
}

# From the counters and the flows of the daemons; a run without companions has none. Companions have 110 bytes.
companions__of_a_run() {
	lab_make companions '{}' "[$(run_make sluice 1514 6056 4530), $(run_make cubic 1 6056 4530)]"
	mkdir "$DIR/sluice" "$DIR/cubic"
	echo '{"companion_sent": 300, "tx_beside": 2000}' >"$DIR/sluice/stats-h1.json"
	echo '{"companion_sent": 100, "tx_beside": 2000}' >"$DIR/sluice/stats-h2.json"
	echo '[{"telemetry_mode": "companion", "tx_bytes": 5000000, "feedbacks": 480}, {"telemetry_mode": "every", "tx_bytes": 70000}]' \
		>"$DIR/sluice/flows-h1.json"
	: >"$DIR/sluice/flows-h2.json"
	echo '{"companion_sent": 0, "tx_beside": 0}' >"$DIR/cubic/stats-h1.json"
	report_run 0 --companions "$DIR"
	says "$OUT" "sluice: companions were 0.88 % of the bytes and 10 % of the packets; one feedback for 8.3 packets"
	[[ $OUT != *cubic* ]] || problem "CUBIC has companions: $OUT"
	jq -e '.companions == {sluice: {sent: 400, of_packets: 0.1, of_bytes: 0.0088, packets_per_feedback: 8.3}} and (.runs | length) == 2' \
		"$DIR/results.json" >/dev/null || problem "the results have $(jq -c .companions "$DIR/results.json")"
}

usage() {
	report_run 0 --help
	says "$OUT" "usage: tests/lab/report DIR OUT.html"
	report_run 2
	says "$ERR" "usage:"
	report_run 2 --table
	report_run 2 --companions a b
	report_run 2 --what "$TMP"
	report_run 2 a b c
}

errors__say_what_to_do() {
	local text

	report_run 1 "$TMP/nowhere" "$PAGE"
	says "$ERR" "make lab"
	mkdir -p "$TMP/bare"
	report_run 1 --table "$TMP/bare"
	says "$ERR" "results.json cannot be read"
	DIR=$TMP/bare
	for text in '{"runs": [' '[]' '{}' '{"runs": [{}]}' '{"runs": [{"cc": "../x"}]}' \
		'{"runs": [{"cc": "a\u0027b"}]}' ''; do
		echo "$text" >"$DIR/results.json"
		report_run 1 --table "$DIR"
		says "$ERR" "is not the result of a lab"
		says "$ERR" "run the lab again"
	done
	four_make
	report_run 1 "$DIR" "$DIR/results.json/out.html"
	says "$ERR" "cannot be written"

	# A PATH with everything but the tool.
	mkdir "$TMP/path"
	ln -s /usr/bin/* "$TMP/path" 2>/dev/null
	rm -f "$TMP/path/gnuplot"
	PATH=$TMP/path report_run 1 "$DIR" "$PAGE"
	says "$ERR" "gnuplot is missing"
	says "$ERR" "apt-get install"
}

# raw_make PERCENT: what a lab of one flow of 100 Mbit/s leaves, whose bottleneck sent so much of its rate. 3 s, a sample each 10 ms.
raw_make() {
	DIR=$TMP/raw
	rm -rf "$DIR"
	mkdir -p "$DIR/sluice/raw"
	printf '%s\n' lab=star senders=1 rate_bps=100000000 rtt_us=4000 buffer_bytes=1000000 time_us=2000000 warmup_us=80000 \
		long_flows=1 parallel=1 kernel=6.12 ran=sluice >"$DIR/params"
	printf '%s\n' cc=sluice base_us=4000 retransmits=0 ports=s1:p0 >"$DIR/sluice/raw/meta"
	perl -e 'print pack("Q*", $_ * 10000, 0, $_ * 1250 * $ARGV[0], 0) for 1 .. 300' "$1" >"$DIR/sluice/raw/queue.bin"
	perl -e 'print pack("Q*", $_ * 10000, $_ * 125000) for 1 .. 300' >"$DIR/sluice/raw/ports.bin"
}

# sum_run STATUS: lab-sum of it; ERR is what it says, RUNS how many runs have figures.
sum_run() {
	local status=0

	ERR=$("${REPORT%/*}/../../build/lab-sum" "$DIR" 2>&1 >/dev/null) || status=$?
	((status == $1)) || problem "lab-sum: exit status $status, not $1: $ERR"
	RUNS=$(jq '.runs | length' "$DIR/results.json")
}

sum__bottleneck_that_is_none_is_no_result() {
	raw_make 95
	sum_run 0
	[[ ! $ERR && $RUNS == 1 ]] || problem "of a bottleneck that is used: '$ERR', $RUNS runs"
	raw_make 0
	sum_run 1
	says "$ERR" "lab-sum: sluice: the bottleneck s1:p0 was idle or not read: it sent 0.00 % of its rate"
	[[ $RUNS == 0 ]] || problem "a bottleneck that was idle has figures"
	raw_make 170
	sum_run 1
	says "$ERR" "the bottleneck s1:p0 held nothing back: it sent 170 % of its rate"
}

# 33 daemons on one CPU, each of which needs ten seconds of it to start, in tenths of a second: as many as SENDERS=30 has.
daemons__of_a_large_lab_get_their_time() {
	local said

	said=$(
		. "${REPORT%/*}/cc.sh"
		# shellcheck disable=SC2034
		LAB_AUTH=0 LAB_QUEUE=fq NET_BOTTLENECKS=()
		declare -A left=()
		turn=()
		most=0
		dir=$TMP/daemons
		mkdir -p "$dir"
		grep() { [[ $1 == -q && $2 == "^sluiced: ready" ]] && [[ -s $3 ]] || command grep "$@"; }
		cc_sluice_config() { :; }
		cc_sluice_spawn() {
			: >"$dir/sluiced-$1.log"
			CC_DAEMONS[$1]=$BASHPID left[$1]=100
			turn+=("$1")
			((most = ${#turn[@]} > most ? ${#turn[@]} : most))
		}
		# Each has its turn of the CPU.
		sleep() {
			local ns=${turn[0]}

			turn=("${turn[@]:1}")
			if ((--left[$ns])); then turn+=("$ns"); else echo "sluiced: ready" >"$dir/sluiced-$ns.log"; fi
		}
		cc_sluice_start sluice 4000 "$dir" $(seq 33) 2>&1 && echo "ready, at most $most at a time"
	)
	[[ $said == "ready, at most 12 at a time" ]] || problem "of 33 daemons: $said"
}

# decided WANTED VERDICT...: seed_decides of runs whose two promises end so, seed by seed (as in ok/miss), says WANTED.
decided() {
	local wanted=$1 said

	shift
	said=$(
		VERDICTS=("$@")
		SEED=1
		measure() { SEED=${*: -1} SEED=${SEED#SEED=} && echo "seed $SEED runs" >&2; }
		promises() {
			local verdict=${VERDICTS[SEED - 1]}

			echo "${verdict%/*} 6.12 star queue: $SEED, {\"a\": 1}" | sed 's/^miss/not ok/'
			echo "${verdict#*/} 6.12 star use: 0.9$SEED" | sed 's/^miss/not ok/'
		}
		eval "$(sed -n '/^seed_decides() {$/,/^}$/p' "${REPORT%/*}/check")"
		seed_decides promises star LAB=star 2>/dev/null
	)
	[[ $said == "$wanted" ]] || problem "of $* it says '$said', not: $wanted"
}

check__two_of_three_seeds_decide() {
	local queue="6.12 star queue: 1, {\"a\": 1}; 2, {\"a\": 1}" use="6.12 star use: 0.91; 0.92" third='; 3, {"a": 1}'

	decided "ok $queue"$'\n'"ok $use" ok/ok ok/ok miss/miss
	decided "not ok $queue"$'\n'"ok $use" miss/ok miss/ok ok/ok
	decided "ok $queue$third"$'\n'"ok $use; 0.93" miss/ok ok/ok ok/ok
	decided "not ok $queue$third"$'\n'"ok $use; 0.93" miss/ok ok/ok miss/ok
	# Not the seed of the last run: each promise has its own two of three.
	decided "not ok $queue$third"$'\n'"ok $use; 0.93" ok/miss miss/ok miss/ok
}

for name in table__four page__four page__sluice_loses page__sluice_first page__runs_end page__digits_and_names page__topologies page__single page__missing_series page__no_samples \
	page__nothing_at_all page__incast page__join_and_stagger page__two_ports page__fabric page__racks page__pauses params__pauses params__fabric params__seed params__queue_is_ours_where_it_can_be_had page__flows_1_and_64 \
	page__thinning_keeps_peaks page__torn_lines page__text_is_escaped check__two_of_three_seeds_decide sum__bottleneck_that_is_none_is_no_result daemons__of_a_large_lab_get_their_time companions__of_a_run usage errors__say_what_to_do; do
	$name
	case_end "report $name"
done
exit $FAILED
