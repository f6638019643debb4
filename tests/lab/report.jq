# SPDX-License-Identifier: GPL-2.0-only
# The words and figures of tests/lab/report. Input: results.json. Arguments: $want, one of
#	names	a line per run: directory, colour, name, base RTT, window measured
#	plot	what the pictures need of the parameters, in a line
#	fct	the ideal completion time, if there is one
#	completed	a line per run: the completion times of its flows in ascending order, with a space between
#	table	the table of figures for the terminal: tab separated, "-" where nothing was measured
#	page	the HTML page; a line "@include NAME" stands for a picture
# $here is the kernel of this machine; $sampled tells for each run whether its queue was sampled at all. For
# page, $plan says what was drawn and how, and $stats what was seen in the CSV files, an object per run.
#
# 1. Figures come from results.json, never from the CSV files: page, table and closing notes agree.
#    The CSV files give the pictures, and what results.json has no figure for.
# 2. Whatever is missing is null on the way through and "-" or left out at the end: the report of a run
#    that partly failed is needed most.
# 3. A sentence sorts the runs by the figure that it is about. It has no winner in mind, so it stays true
#    when Sluice loses. Tables, legends and panels have Sluice first, and its curve is on top.
# 4. Figures have three significant digits; results.json has all of them.

include "report_text";
include "report_topology";

# ---- parameters ----

def positive: if . != null and . > 0 then . else null end;
def param($name): (.params // {})[$name] | number;
# A duration whatever its unit: "time" is found as time_us, time_ms or time_s.
def duration_us($name):
	(.params // {}) as $p
	| [["_us", 1], ["_ms", 1000], ["_s", 1000000]]
	| map(. as [$unit, $factor] | $p[$name + $unit] | number | values | . * $factor)
	| .[0];

# How many senders each receiver of LAB=pfc has.
def groups: .params.groups | arrays // null;

# Variants, too, and with a mechanism.
def ours: .cc | startswith("sluice");

# Its runs are named by their loops.
def is_fabric: .lab == "fabric";

def runs: is_fabric as $fabric | .runs | to_entries | map(.key as $i | .value
	| if .mech and ($fabric | not) then .cc += "-" + .mech else . end
	# A percentile of nothing is written as 0; no round trip takes no time.
	| if $sampled[$i] == false then .queue_bytes = null | .queue_start_max_bytes = null else . end
	| if (.probe_us // {}).p50 == 0 then .probe_us |= {base} else . end)
	| sort_by(ours | not);
def finite:
	(param("size_bytes") | positive) != null or (param("join_bytes") | positive) != null
	or any(runs[]; (.fct_ms // []) | length > 0);

# Which virtual machine ran it: they have the cloud kernels of Debian, and their host has another one.
def vm: (.kernel // "") | tostring | select(test("cloud") and . != $here) | match("^[0-9]+\\.[0-9]+").string;

# The command that repeats the run. It includes today's defaults, because defaults change.
def command:
	. as $all
	| [
		["LAB", .lab // "star"],
		[(if is_fabric then "LOOPS" else "CC" end),
			(reduce .runs[].cc as $cc ([]; if index([$cc]) then . else . + [$cc] end) | join(","))],
		["MECH", (if is_fabric then null else (reduce (.runs[].mech | values) as $m ([]; if index([$m]) then . else . + [$m] end) | join(",")) end)],
		["SHAPE", (.params.shape | strings | select(. != "star"))], ["CORE", param("core")],
		["RATES", (.params.rates | strings | select(. != "1" and . != ""))],
		["HEADROOM", (param("headroom_bytes") | values | bytes_make)],
		["PFC", (.params.pfc | strings)],
		["SENDERS", (if is_fabric then null elif groups then groups | join(",") elif param("racks") or (param("join_bytes") | positive) then null else param("senders") end)],
		["RACKS", param("racks")], ["SERVERS", param("servers")], ["UPLINK", param("uplink")],
		["LONG", (.params.longs | values | join(",") | select(. != ""))],
		["BURST", (param("burst") | positive)],
		["CHURN", (duration_us("churn") | positive | values | time_make)],
		["INCAST", (param("incast_bytes") | positive | values | bytes_make)],
		["HIERCC", (.params.hiercc | strings | select(. != ""))],
		["LOSE", (param("lose_percent") | positive)], ["REPEAT", (param("repeat_percent") | positive)],
		["REORDER", (param("reorder_percent") | positive)],
		["KILL", (duration_us("kill") | positive | values | time_make)],
		["RATE", (param("rate_bps") | values | rate_make)],
		["RTT", (duration_us("rtt") | values | time_make)],
		["BUFFER", (param("buffer_bytes") | values | bytes_make)],
		["TIME", (duration_us("time") | values | . / 1000000 | fixed(3) | trimmed)],
		["WARMUP", (duration_us("warmup") | values | select(. > 0 or ($all | finite | not)) | time_make)],
		["SIZE", ((param("size_bytes") | positive) // (param("burst_bytes") | positive) | values | bytes_make)],
		["STAGGER", (duration_us("stagger") | positive | values | time_make)],
		["JOIN", (param("join_bytes") | positive | values | bytes_make)],
		["AUTH", (if (.params // {}).auth == true then 1 else null end)],
		["GSO", ((.params // {}).gso | booleans | if . then "on" else "off" end)],
		["QUEUE", (.params.queue | strings)],
		["VM", vm], ["SEED", (if vm then param("seed") | values | select(. != 1) else null end)]
	] | map(select(.[1] != null and .[1] != "") | "\(.[0])=\(.[1])") | ["make lab"] + . | join(" ");

# A kernel without netem has the round trip of the machine itself.
def bases: [runs[] | (.probe_us // {}).base | number | values] | sort;
def base_said:
	duration_us("rtt") as $asked | bases[-1] as $base
	| if $asked == null then empty
	  elif $base != null and $base < $asked / 2 then "\($base | time_said), not \($asked | time_said)"
	  else $asked | time_said end;

def missing_said: [(.missing // [])[] | if type == "object" then (.cc // .name // "?") else . end | tostring];

def described:
	. as $all | (["lose", "repeat", "reorder"] | map(. as $what | $all | param($what + "_percent") // 0)) as $impaired
	| param("servers") as $servers | param("uplink") as $uplink
	| (param("burst_bytes") | positive | if . then bytes_said else null end) as $burst_bytes | [
		["senders", param("senders")],
		["senders of each receiver", (groups | values | select(length > 1) | join(" + "))],
		["switches", (.params.shape | strings | select(. != "star"))],
		["links between switches, times the link rate", param("core")],
		["rates of the senders' links, in proportion", (.params.rates | strings | select(. != "1" and . != ""))],
		["headroom per port", (param("headroom_bytes") | values | bytes_said)],
		["settings of pfc", (.params.pfc | strings | select(. != ""))],
		["racks", (param("racks") | values | "\(.) with \($servers | plural("pod")) each, uplinks \($uplink) times as fast")],
		["burst", (param("burst") | positive | values | "\(plural("flow")) of \($burst_bytes)")],
		["10 KB flows, 30 % of the link, every", (duration_us("churn") | positive | values | time_said)],
		["incast, per pod", (param("incast_bytes") | positive | values | bytes_said)],
		["settings of hiercc", (.params.hiercc | strings | select(. != ""))],
		["CREDIT lost, repeated, late", (if $impaired == [0, 0, 0] then null else $impaired | map("\(.) %") | join(", ") end)],
		["receiver's daemon killed after", (duration_us("kill") | positive | values | time_said)],
		["link rate", (param("rate_bps") | values | rate_said)],
		["base RTT", base_said],
		["buffer", (param("buffer_bytes") | values | bytes_said)],
		["flow size", (param("size_bytes") | positive | values | bytes_said)],
		["two flows every", (duration_us("stagger") | positive | values | time_said)],
		["joining flow", (param("join_bytes") | positive | values | bytes_said)],
		["time", (duration_us("time") | values | time_said)],
		["warm-up", (duration_us("warmup") | positive | values | time_said)],
		["authentication", (if (.params // {}).auth == true then "with a key" else null end)],
		["GSO", ((.params // {}).gso | booleans | if . then "on" else "off" end)],
		["qdisc of the hosts", (.params.queue | strings | select(. as $queue | $all | missing_said | index([$queue]) | not))],
		["kernel", (.kernel | strings)],
		["seed", (if vm then param("seed") else null end)]
	] | map(select(.[1] != null));

# ---- figures ----

def joining: (param("join_bytes") | positive) != null;
def staggered: (duration_us("stagger") | positive) != null;

def numbers_of(f): [(f // [])[] | number | values];
def mean: if length > 0 then add / length else null end;
# Finite flows have it for each tenth of a second. Beside a joiner that comes and goes, lab-sum finds one flow
# in most seconds, which shares with no other.
def jain: if .recovery_ms or .jain_100ms then [] else numbers_of(.jain) end;
def jain_min: if .jain_100ms then .jain_100ms.min | number else jain | min end;
def over_base($what):
	(.probe_us // {}) as $p | ($p[$what] | number) as $v | ($p.base | number) as $base
	| if $v == null or $base == null then null else $v - $base end;
def fct_sorted: numbers_of(.fct_ms) | sort;
def fct_median: fct_sorted | if length > 0 then .[(length - 1) / 2 | floor] else null end;
def fct_last: fct_sorted | .[-1];
def fct_unfinished: [(.fct_ms // [])[] | select(. == null)] | length;
def recovery_last: numbers_of(.recovery_ms) | max;

# Every bottleneck port but the first, whose figures are those of the run.
def ports_more: [runs[] | [(.ports // [])[1:][].port]] | max_by(length) // [];
def port_first: [runs[] | (.ports // [])[0].port | values][0];

# One row per figure: group and name for the terminal, name for the page, value. The fifth says that the row
# is shown even if it is empty, since that is news.
def figures($ports; $warmup; $together):
	(.queue_bytes // {}) as $q | (.probe_us // {}) as $probe | (.jain_100ms // {}) as $jain_100ms
	| (.latency_us // {}) as $latency | (.pauses // {}) as $pauses
	| (.ports // []) as $all_ports | (.slowdown // {}) as $slowdown
	| (if $warmup then .queue_start_max_bytes else null end) as $start
	| (if $together then .fct_ideal_ms else null end) as $ideal
	| [
		["queue KB", "p50", "median", ($q.p50 | number | kb), true],
		["queue KB", "p95", "95 % of samples", ($q.p95 | number | kb), true],
		["queue KB", "p99", "99 % of samples", ($q.p99 | number | kb), true],
		["queue KB", "max", "maximum", ($q.max | number | kb), true],
		["queue KB", "warm-up", "maximum in the warm-up", ($start | number | kb), false],
		["queue KB", "burst", "maximum from the burst on", (.queue_burst_max_bytes | number | kb), false],
		["queue KB", "kill", "maximum from the kill on", (.queue_kill_max_bytes | number | kb), false],
		["queue KB", "ms>10p", "time until it is below 10 packets, ms",
			(.queue_below_10_packets_us | number | ms), false],
		["VOQ KB", "p50", "median, of the rack that has most", ([(.racks // [])[].voq_bytes.p50?] | max | kb), false],
		["VOQ KB", "p99", "99 % of samples", ([(.racks // [])[].voq_bytes.p99?] | max | kb), false],
		["VOQ KB", "max", "maximum", ([(.racks // [])[].voq_bytes.max?] | max | kb), false],
		["link", "use %", "wire utilisation, %", (.utilisation | number | percent), true],
		($ports[] as $port | ([$all_ports[] | select(.port == $port)][0] // {}) as $p
			| ["at \($port)", "p50", "queue, median, KB", ($p.queue_bytes.p50? | number | kb), true],
			  ["at \($port)", "p99", "queue, 99 % of samples, KB", ($p.queue_bytes.p99? | number | kb), true],
			  ["at \($port)", "max", "queue, maximum, KB", ($p.queue_bytes.max? | number | kb), true],
			  ["at \($port)", "use %", "wire utilisation, %", ($p.utilisation | number | percent), true]),
		["Jain per s", "mean", "Jain index, mean", (jain | mean | fixed(3)), false],
		["Jain per s", "worst", "Jain index, worst", (jain | min | fixed(3)), false],
		["Jain 100 ms", "mean", "Jain index, mean", ($jain_100ms.mean | number | fixed(3)), false],
		["Jain 100 ms", "worst", "Jain index, worst", ($jain_100ms.min | number | fixed(3)), false],
		["probe ms", "base", "base round trip", ($probe.base | number | ms), true],
		["probe ms", "+p50", "median, over the base", (over_base("p50") | ms), true],
		["probe ms", "+p99", "99 % of requests, over the base", (over_base("p99") | ms), true],
		["probe ms", "+max", "maximum, over the base", (over_base("max") | ms), true],
		["probe ms", "lost", "requests without an answer, count", ($probe.lost | number | fixed(0)), false],
		["packet ms", "p50", "median", ($latency.p50 | number | ms), false],
		["packet ms", "p99", "99 % of packets", ($latency.p99 | number | ms), false],
		["packet ms", "max", "maximum", ($latency.max | number | ms), false],
		["pauses", "by rate", "sent because the buffer would run out", ($pauses.predicted | number | fixed(0)), false],
		["pauses", "XOFF", "sent because a threshold was crossed", ($pauses.xoffs | number | fixed(0)), false],
		["pauses", "again", "of those, repeated before they ran out", ($pauses.refreshes | number | fixed(0)), false],
		["pauses", "ms", "all ports together, ms", ($pauses.paused_us | number | ms), false],
		["pauses", "ports", "ports that were paused", ([($pauses.ports // [])[] | select(.sent > 0)] | if $pauses == {} then null else length end | fixed(0)), false],
		["flows done ms", "p50", "median flow", (fct_median | short), false],
		["flows done ms", "p99", "99 % of the flows", ((.fct_us // {}).p99 | number | ms), false],
		["flows done ms", "last", "slowest flow", (fct_last | short), false],
		["flows done ms", "ideal", "all bytes at line rate", ($ideal | number | short), false],
		(("mice", "burst", "incast") as $kind | (.["\($kind)_us"] // {}) as $f
			| ["\($kind) ms", "p50", "median", ($f.p50 | number | ms), false],
			  ["\($kind) ms", "p99", "99 % of the flows", ($f.p99 | number | ms), false],
			  ["\($kind) ms", "open", "not complete at the end, count", (if $f.all then $f.all - $f.count else null end | fixed(0)), false]),
		["long Mbit/s", "all", "all long flows together", (.long_bps | number | values / 1e6 | fixed(1)) // "-", false],
		["slowdown", "mean", "mean", ($slowdown.mean | number | short), false],
		["slowdown", "max", "largest", ($slowdown.max | number | short), false],
		["back ms", "slowest", "long flow back at 95 % of its rate, slowest", (recovery_last | short), false],
		["back ms", "burst", "long flows back at 95 % of their rate, after the burst", (.long_back_ms | number | short), false],
		["kill ms", "alone", "all racks send without credit", (.alone_ms | number | short), false],
		["kill ms", "credit", "all have credit, from when it is ready again", (.credited_ms | number | short), false],
		["packets", "retrans", "retransmitted", (.retransmits | number | fixed(0)), true],
		["packets", "dropped", "dropped at the ports", (.drops | number | fixed(0)), true],
		["packets", "lost", "of UDP that did not arrive", (.lost | number | fixed(0)), false]
	];

def page_group:
	{
		"queue KB": "Queue, KB",
		"VOQ KB": "Bytes in VOQs that no credit covers, KB",
		"kill ms": "After the receiver's daemon was killed, ms",
		"link": "Link",
		"Jain per s": "Fairness in each second (1 is an equal share for all)",
		"Jain 100 ms": "Fairness in each tenth of a second (1 is an equal share for all)",
		"probe ms": "Latency of the probe, ms",
		"packet ms": "From the sender's port to the receiver, ms",
		"pauses": "Pauses that the switch sent",
		"flows done ms": "Completion times, ms",
		"mice ms": "Completion times of the short flows that come all the time, ms",
		"burst ms": "Completion times of the burst, ms",
		"incast ms": "Completion times of the incast, ms",
		"long Mbit/s": "Rate of the long flows, Mbit/s",
		"slowdown": "Completion time as a multiple of that with an equal share",
		"back ms": "After a flow has left, ms",
		"packets": "Packets"
	}[.] // .;

# The rows worth showing, as {group, name, said, cells: [a run each]}.
def table:
	ports_more as $ports | (duration_us("warmup") | positive) as $warmup | (staggered | not) as $together
	| [runs[] | figures($ports; $warmup; $together)] as $columns
	| [range(($columns[0] // []) | length) as $i
		| {group: $columns[0][$i][0], name: $columns[0][$i][1], said: $columns[0][$i][2],
		   cells: [$columns[] | .[$i][3]], keep: $columns[0][$i][4]}
		| select(.keep or any(.cells[]; . != "-" and . != "0"))];

def table_text:
	table as $rows
	| ([.lab // "lab"] + [described[] | "\(.[0]) \(.[1])"] | join(", ")),
	  (missing_said | select(length > 0) | "missing here: \(join(", "))"),
	  (if $rows == [] then empty else
		([""] + [$rows | to_entries[]
			| if .key > 0 and $rows[.key - 1].group == .value.group then "" else .value.group end] | @tsv),
		(["cc"] + [$rows[].name] | @tsv) end),
	  (runs | to_entries[] | .key as $i | [.value.cc] + [$rows[].cells[$i]] | @tsv);

# ---- sentences ----

# [{cc, value}] of the runs that have the value, in ascending order.
def ranked(f): [runs[] | {cc: (.cc | named), value: f} | select(.value != null)] | sort_by(.value);

# The others as a multiple of the least; empty if that is meaningless.
def multiple($least; $enough):
	(if $least < $enough then 1 else . / $least end)
	| if . < 1.05 then "" else " (\(if . < 9.95 then fixed(1) else fixed(0) end) times as much)" end;

def without($seen; $what):
	([runs[].cc | named] - [$seen[].cc]) | if length == 0 then "" else " \($what): \(listed)." end;

def after_warmup:
	duration_us("warmup") | positive | if . == null then "" else " after the warm-up of \(time_said)" end;

# f: the queue figures of a run.
def sentence_queue(f):
	. as $all | ranked(f | .p99? | number) as $r | $r[0] as $best
	| (if $r == [] then "No queue was sampled in this run."
	   elif ($r | length) == 1 then
		([runs[] | select((.cc | named) == $best.cc) | f | .p50? | number][0]) as $median
		| "In 99 of 100 samples\($all | after_warmup) the queue with \($best.cc) is at most \($best.value | kb) KB"
			+ " (\($best.value | packets))"
			+ (if $median == null then "." else ", and in half of them at most \($median | kb) KB." end)
	   else
		"In 99 of 100 samples\($all | after_warmup) the queue is at most "
		+ (["\($best.value | kb) KB with \($best.cc) (\($best.value | packets))"]
			+ [$r[1:][] | "\(.value | kb) KB with \(.cc)\(.value | multiple($best.value; packet))"] | listed) + "."
	   end) + (if $r == [] then "" else without($r; "Nothing was sampled with") end);

def sentence_start:
	[$stats[] | select(.start_peak_bytes != null)] | sort_by(.start_peak_bytes)
	| "In the first \($plan.start_window_us | time_said) the queue peaks at "
	+ (map("\(.start_peak_bytes | kb) KB with \(.cc | named) (after \(.start_peak_us / 1000 | long_said))") | listed) + ".";

# {path: mean rate} of a run whose flows take several paths, and of others nothing.
def paths_said:
	(.paths // []) as $paths | numbers_of(.rates_bps) as $rates
	| if ($paths | length) == 0 or ($paths | length) != ($rates | length) then empty
	  else [$paths, $rates] | transpose | group_by(.[0])
		| map("\(.[0][0]) \(map(.[1]) | mean | mbit)") | listed end;

def sentence_rates:
	ranked(jain_min | values) as $r
	| (if any(runs[]; .jain_100ms) then "tenth of a second" else "second" end) as $unit
	| [runs[] | {cc: (.cc | named), said: paths_said}] as $paths
	| [runs[] | {cc: (.cc | named), rate: numbers_of(.rates_bps)} | select(.rate != [])] as $rates
	| if all($stats[]; .flows == 0) then "No rates were recorded in this run."
	  elif $paths != [] then
		"A flow of each path gets on average, in Mbit/s: "
		+ ($paths | map("\(.said) with \(.cc)") | join("; ")) + "."
	  elif all($stats[]; .flows <= 1) then
		if $rates == [] then "There is one flow."
		else "The one flow gets " + ($rates | map("\(.rate[0] | mbit) Mbit/s with \(.cc)") | listed)
			+ " on average." end
	  elif joining then
		"Before another flow joins, the long one has "
		+ (ranked(.rate_before_bps | number) | map("\(.value | mbit) Mbit/s with \(.cc)") | listed)
		+ "; what becomes of the two afterwards is below."
	  elif $r == [] then "The shares of the flows were not measured in this run."
	  elif ($r[0].value | fixed(3)) != ($r[-1].value | fixed(3)) then
		($r[-1].value | fixed(3)) as $most
		| "The flows share most evenly with \([$r[] | select((.value | fixed(3)) == $most) | .cc] | listed)"
		+ ", where the Jain index of the worst \($unit) is \($most) (1 is an equal share for all)"
		+ ", and least evenly with \($r[0].cc) (\($r[0].value | fixed(3)))."
	  else
		"The Jain index of the worst \($unit) is \($r[0].value | fixed(3)) with \([$r[].cc] | listed)"
		+ " (1 is an equal share for all)."
	  end;

# Under the name of each panel.
def sentence_panel($flows):
	numbers_of(.rates_bps) as $rates | jain_min as $jain | fct_sorted as $fct | [paths_said] as $paths
	| [
		(if $flows == 0 then "no rates recorded"
		 elif $paths != [] then "\($paths[0]) Mbit/s on average"
		 elif $rates == [] then empty
		 elif ($rates | length) == 1 then "\($rates[0] | mbit) Mbit/s on average"
		 else "slowest flow \($rates | min | mbit), fastest \($rates | max | mbit) Mbit/s" end),
		(if $jain == null or $flows < 2 or $paths != [] then empty
		 else "Jain index at least \($jain | fixed(3))" end),
		(if ($fct | length) == 0 then empty
		 elif ($fct | length) == 1 then "a flow done in \($fct[0] | long_said)"
		 else "\($fct | length) flows done in \($fct[0] | long_said) to \($fct[-1] | long_said)" end)
	] | join("; ");

def sentence_probe:
	ranked(over_base("p99")) as $r
	| bases as $bases
	| if $r == [] then "The probe has no answers in this run."
	  else "99 of 100 requests take at most "
		+ ([$r[] | "\(.value / 1000 | long_said) longer with \(.cc)"] | listed)
		+ " than the base round trip of "
		+ (($bases[0] | ms) as $low | ($bases[-1] | ms) as $high
			| if $low == $high then "\($low) ms." else "\($low) to \($high) ms." end)
		+ without($r; "No answers with")
	  end;

# Flows that start together compare with the time that their bytes need on the link; others do not.
def ideal_ms:
	if staggered | not then [runs[].fct_ideal_ms | number | values] | max else null end;

def sentence_fct:
	. as $all | ideal_ms as $ideal | ranked(fct_last) as $r
	| ranked((.slowdown // {}).mean | number) as $slow | ranked(recovery_last) as $back
	| [runs[] | (.fct_ms // []) | length] as $counts
	| (if $r == [] then "No flow was completed in this run."
	   elif joining then
		"A flow of \(param("join_bytes") | bytes_said) that joins a long one takes up to "
		+ ([$r[] | "\(.value | long_said) with \(.cc)"] | listed)
		+ (if $back == [] then "." else "; when it has left, the long one needs up to "
			+ ([$back[] | "\(.value | long_said) with \(.cc)"] | listed)
			+ " to be back at 95 % of its rate." end)
	   elif staggered and $slow != [] then
		"On average a flow takes "
		+ ([$slow[] | "\(.value | short) times as long with \(.cc)"] | listed)
		+ " as it would if all flows that are there shared the link equally."
	   else
		(if ($counts | unique) == [1] then "The flow" else "The last of the \($counts | max) flows" end)
		+ " is complete after "
		+ ($r | map("\(.value | long_said) with \(.cc)"
			+ (if $ideal then " (\(.value / $ideal | fixed(3)))" else "" end)) | listed)
		+ (if $ideal then "; in brackets, as a multiple of the \($ideal | long_said) that the bytes need at line rate."
		   else "." end)
	   end)
	+ ([runs[] | fct_unfinished as $n | select($n > 0) | "\($n | plural("flow")) with \(.cc | named)"]
		| if length > 0 then " Not complete: \(listed)." else "" end);

# ---- what was found: the headline, and the line under it ----

# At most four runs are named; of more, those with the shortest and the longest queue.
def headline:
	ranked((.queue_bytes // {}).p99 | number) as $r
	| [$r[] | select((.value | kb) == ($r[0].value | kb)) | .cc] as $best
	| ($r[($best | length):] | if length > 3 then .[-1:] else . end) as $others
	| if $r == [] then null
	  elif $others == [] then "The queue is \($r[0].value | kb) KB at p99 with \($best | listed)"
	  else "The queue is shortest with \($best | listed): \($r[0].value | kb) KB at p99, against "
		+ ($others | map("\(.value | kb) KB with \(.cc)") | listed)
	  end;

def lead:
	[runs[] | {cc: (.cc | named), use: (.utilisation | number), probe: over_base("p99")}] as $all
	| [
		([$all[] | select(.use != null) | "\(.use | percent) % with \(.cc)"]
			| if . == [] then empty else "The link is used to \(listed)." end),
		([$all[] | select(.probe != null) | "\(.probe / 1000 | long_said) with \(.cc)"]
			| if . == [] then empty else "A small request beside the flows takes at p99, over the base round trip, \(listed)." end)
	] | join(" ");

# ---- the page ----

# Each of these controls keeps its colour from report to report (report.css, --s1 to --s8); others have what is free.
def slots:
	{sluice: 1, cubic: 2, bbr: 3, dctcp: 4, reno: 5} as $known
	| [runs[].cc] as $all
	| ([6, 7, 8, 1, 2, 3, 4, 5] - [$all[] | $known[.] // empty]) as $free
	| ($all - ($known | keys)) as $others
	| reduce $all[] as $cc ({}; .[$cc] = ($known[$cc] // $free[($others | index($cc)) % ($free | length)]));

# The name of a control, with its colour.
def labelled($slots): "<i class=\"swatch\" style=\"background: var(--s\($slots[.]))\"></i>\(named | @html)";

# Sluice, then the others in the order of the curves from the top, or from the right.
def legend(f):
	slots as $slots
	| "<p class=\"legend\">"
	+ ([runs[] | {cc, value: f}] | sort_by([(ours | not), - (.value // -1)])
		| map("<span>\(.cc | labelled($slots))</span>") | join(" "))
	+ "</p>\n";

# Text in a picture does not shrink with a narrow window: there are two drawings, the style picks one.
def picture($name):
	["wide", "narrow"] | map("<div class=\"\(.)\">\n@include \($name)-\(.)\n</div>\n") | join("");
def picture_none: "<p class=\"none\">no samples</p>\n";

def section($id; $title; $sentence; $body; $note):
	"<section id=\"\($id)\">\n<h2 id=\"\($id)-title\">\($title | @html)</h2>\n"
	+ "<p class=\"sentence\">\($sentence | @html)</p>\n"
	+ "<figure>\n\($body)"
	+ (if $note == "" then "" else "<figcaption>\($note | @html)</figcaption>\n" end)
	+ "</figure>\n</section>\n";

def note_thinned($bin_us; $how):
	if $bin_us == 0 then "" else " Each point stands for \($bin_us | significant | time_said)\($how)." end;

# $drawn: {log, bin_us} of one port, null where there is nothing to draw.
def section_queue($id; $title; $drawn; f):
	section($id; $title; sentence_queue(f);
		if $drawn then legend(f | .p99? | number) + picture($id) else picture_none end;
		if $drawn | not then ""
		else "Bytes that wait at the port."
			+ note_thinned($drawn.bin_us; ": the line is at the largest sample in it, so that no peak is lost,"
				+ " and the tint reaches down to the smallest")
			+ (if $drawn.log then " The axis begins at 0, is even up to about 1 KB and logarithmic above."
			   else "" end)
			+ (if duration_us("warmup") | positive then " Grey: the warm-up, which the sentence leaves out."
			   else "" end)
		end);

def sections_queue:
	. as $all | port_first as $first | ports_more as $more
	| section_queue("queue"; "Queue over time" + (if $more == [] then "" else " at \($first)" end);
		$plan.queues[0]; .queue_bytes),
	  (range($more | length) as $i | $all
		| section_queue("queue\($i + 2)"; "Queue over time at \($more[$i])"; $plan.queues[$i + 1];
			[(.ports // [])[] | select(.port == $more[$i])][0].queue_bytes));

def section_start:
	if $plan.start_window_us == null then empty else
		section("start"; "The start"; sentence_start;
			legend(. as $run | [$stats[] | select(.cc == $run.cc) | .start_peak_bytes][0]) + picture("start");
			"The same queue while the flows start."
			+ note_thinned($plan.start_bin_us; ", the line is at the largest sample in it"))
	end;

def section_rates:
	slots as $slots | runs as $runs
	| ([$runs | to_entries[] | ($stats[.key].flows // 0) as $flows
		| "<div class=\"panel\">\n<h3 id=\"rates\(.key)-title\">\(.value.cc | labelled($slots))</h3>\n"
		+ "<p>\(.value | sentence_panel($flows) | @html)</p>\n"
		+ (if $flows == 0 then picture_none
		   elif ($runs | length) == 1 then picture("rates\(.key)")
		   else "@include rates\(.key)-panel\n" end)
		+ "</div>\n"] | join("")) as $panels
	| section("rates"; "Rates of the flows"; sentence_rates; "<div class=\"panels\">\n\($panels)</div>\n";
		if $plan.rates_bin_us == null then ""
		else "On the wire, one line per sender"
			+ (if ($runs | length) > 1 then ", the same axes everywhere." else "." end)
			+ (if $plan.fair then " Dashed: the fair share, the link rate over the number of flows that send."
			   else "" end)
			+ note_thinned($plan.rates_bin_us; ", the line is at the mean rate in it")
			+ (if $plan.rates_cut then " Rates in the warm-up go beyond the axis." else "" end)
		end);

def section_probe:
	section("probe"; "Latency of a request beside the flows"; sentence_probe;
		if $plan.probe then legend(over_base("p99")) + picture("probe") else picture_none end;
		if $plan.probe == null then ""
		else "A small request and its answer pass the port again and again: the share of them that take at most"
			+ " so much longer than the base round trip."
			+ (if $plan.probe.log then " The axis is even up to about 0.1 ms and logarithmic beyond." else "" end)
		end);

def section_fct:
	if finite | not then empty else
		section("fct"; "Completion times of the flows"; sentence_fct;
			if $plan.fct then picture("fct") else "<p class=\"none\">no flow was completed</p>\n" end;
			if $plan.fct then "One dot per flow; the bar marks the slowest."
				+ (if ideal_ms then " Dashed: all bytes at line rate." else "" end)
			else "" end)
	end;

# The rate, the base round trip and the buffer stand above it.
def section_topology:
	topology
	| if . == null then "" else
		"<figure id=\"topology\">\n"
		+ "<div class=\"wide\">\n\(topology_draw(false))</div>\n<div class=\"narrow\">\n\(topology_draw(true))</div>\n"
		+ "<figcaption>Thick: a port whose queue is shown below.</figcaption>\n</figure>\n"
	  end;

def section_table:
	slots as $slots | table as $rows
	| "<section id=\"figures\">\n<h2>Figures</h2>\n<div class=\"scroll\"><table>\n<thead><tr><td></td>"
	+ ([runs[] | "<th scope=\"col\">\(.cc | labelled($slots))</th>"] | join("")) + "</tr></thead>\n"
	+ ([$rows | to_entries[]
		| (if .key > 0 and $rows[.key - 1].group == .value.group then ""
		   else (if .key == 0 then "" else "</tbody>\n" end)
			+ "<tbody>\n<tr><th class=\"group\" scope=\"rowgroup\" colspan=\"\(.value.cells | length + 1)\">"
			+ "\(.value.group | page_group | @html)</th></tr>\n"
		   end)
		+ "<tr><th scope=\"row\">\(.value.said | @html)</th>"
		+ ([.value.cells[] | "<td>\(. | @html)</td>"] | join("")) + "</tr>\n"] | join(""))
	+ "</tbody>\n</table></div>\n</section>\n";

def page:
	(.lab // "lab" | tostring) as $lab
	| missing_said as $missing
	| ([runs[].cc | named] | listed) as $ccs
	| "@include head\n"
	+ "<title>\("Sluice lab: \($lab)" | @html)</title>\n</head>\n<body>\n<header>\n"
	+ (headline as $found
		| "Sluice lab: \($lab)" + (if $ccs == "" then "" else ", \($ccs)" end)
		| if $found then "<p class=\"eyebrow\">\(@html)</p>\n<h1>\($found | @html)</h1>\n"
		  else "<h1>\(@html)</h1>\n" end)
	+ (lead | if . == "" then "" else "<p class=\"lead\">\(@html)</p>\n" end)
	+ (described | if . == [] then "" else
		"<dl>" + (map("<div><dt>\(.[0] | @html)</dt><dd>\(.[1] | tostring | @html)</dd></div>") | join(""))
		+ "</dl>\n" end)
	+ (if $missing == [] then ""
	   else "<p class=\"missing\">Missing on this kernel: \($missing | join(", ") | @html)</p>\n" end)
	+ (if runs == [] then "" else section_topology end)
	+ "</header>\n<main>\n"
	+ (if runs == [] then "<p class=\"none\">Nothing was run.</p>\n"
	   else [sections_queue, section_start, section_rates, section_probe, section_fct, section_table]
		| join("") end)
	+ "</main>\n<footer>\n"
	+ (if runs == [] then ""
	   else "<p>To run this again, in a checkout of Sluice:</p>\n<pre>\(command | @html)</pre>\n" end)
	+ "<p>1 KB is 1000 bytes. Queues and rates count whole packets with their headers.</p>\n"
	+ "</footer>\n</body>\n</html>";

if $want == "names" then
	slots as $slots | (duration_us("warmup") // 0) as $warmup | runs[]
	| [.cc, $slots[.cc], (.cc | named), ((.probe_us // {}).base | number // "-"),
	   (.measured_from_us | number // $warmup), (.measured_to_us | number // "-")] | @tsv
elif $want == "plot" then
	[.lab // "star", (param("rate_bps") // 0 | round), (duration_us("rtt") // 0 | round),
	 (param("buffer_bytes") // 0) / 1000, (param("rate_bps") // 0) * (bases[-1] // duration_us("rtt") // 0) / 8e9,
	 (if joining then 0 else 1 end), (if finite then 0 else 1 end), (ports_more | length)] | @tsv
elif $want == "fct" then ideal_ms | values
elif $want == "completed" then runs[] | [(.fct_ms // [])[] | numbers] | sort | map(tostring) | join(" ")
elif $want == "table" then table_text
else page end
