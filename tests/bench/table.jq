# SPDX-License-Identifier: GPL-2.0-only
# One table of results.json: a row for each case; where a row has several figures they stand in the order of "at".

def figures: map(if type == "number" then (if . >= 10 or . <= -10 then round else . * 100 | round / 100 end) else . // "-" end)
	| join(" / ");

def program_rows: [.programs.cases[]?] | group_by(.case)
	| sort_by(.[0].place)[] | ["program", .[0].case, (map(.mode) | figures), "ns", (map(.median_ns) | figures),
		(map(.net_ns) | figures), (map(.spread_ns) | figures)];

def curve_rows: [.curves.points[]? | select(.curve != "empty")] | group_by([.curve, .case])[]
	| [.[0].curve, .[0].case, (map(.n) | join(" / ")), "ns", (map(.median_ns) | figures), (map(.net_ns) | figures),
		(map(.spread_ns) | figures)];

def credit_rows: (.credits // empty)
	| (["credits", "a round of 1,000 VOQs", (.rounds | map(.active) | join(" / ")), "us",
		(.rounds | map(.of_1000_ns / 1000) | figures), "", ""],
	   ["credits", "a round of 100,000 VOQs", (.rounds | map(.active) | join(" / ")), "us",
		(.rounds | map(.of_100000_ns / 1000) | figures), "", ""],
	   ["credits", "a slot made", "", "ns", ([.slot_made_ns] | figures), "", ""],
	   ["credits", "a tick", "flows / VOQs", "ms", ([.tick_flows_ns, .tick_voqs_ns | . / 1e6] | figures), "", ""],
	   (.memory[] | ["memory", .map, (.entries | tostring), "bytes", (.bytes_per_entry | tostring), "", ""]));

def flow_rows: [.flows[]? | .flows as $n | .nodes[] | .node as $node
		| { n: $n, name: "\($node): sluiced", unit: "% of a core", v: .sluiced_percent },
		  (.programs[] | { n: $n, name: "\($node): \(.name)", unit: "ns", v: .ns_per_packet })]
	| group_by(.name)[] | ["connections", .[0].name, (map(.n) | join(" / ")), .[0].unit, (map(.v) | figures), "", ""];

def goodput_rows: .goodput.ways[]?
	| ["goodput", .way, "of plain / of edt", "Mbit/s", (.median_mbit | round | tostring), ([.ratio, .to_edt] | figures),
		([.min_mbit, .max_mbit] | map(round | tostring) | join(" to "))];

if .programs then .programs.cases |= (to_entries | map(.value + { place: .key })) else . end
| ["what", "case", "at", "unit", "median", "net, or ratio", "spread"], program_rows, curve_rows, credit_rows, flow_rows,
	goodput_rows
| @tsv
