# SPDX-License-Identifier: GPL-2.0-only
# The drawing of a lab's topology, for report.jq: boxes in a row, from the senders to the receiver, in a narrow window from
# top to bottom. The comments at the top of tests/lab/star.sh and of its neighbours have every link.

include "report_text";

# A box: its name, what it is, what else is at it ("" for nothing), and how many there are.
def box($name; $what; $note; $count): {$name, $what, $note, $count};
def box($name; $what): box($name; $what; ""; 1);
def link($above; $below; $slow): {$above, $below, $slow};
def link($above): link($above; ""; false);

def hosts: if . == 1 then "host" else "hosts" end;

# The boxes and the links between them; null for a lab that is not known here.
def topology:
	(.params // {}) as $p
	| ($p.rate_bps // 0 | if . > 0 then rate_said else "" end) as $rate
	| (if $p.buffer_bytes then "buffer \($p.buffer_bytes | bytes_said)" else "" end) as $buffer
	| (if $p.uplink and $p.rate_bps then $p.rate_bps * ($p.uplink | tonumber) | rate_said else "" end) as $uplink
	| (if $p.core and $p.rate_bps then $p.rate_bps * ($p.core | tonumber) | rate_said else "" end) as $core
	| ($p.senders // 1 | tonumber) as $n | ($p.racks // 1 | tonumber) as $racks
	| (($p.groups // ["1"]) | length) as $groups
	| link($rate; $buffer; true) as $slow
	| box($n | plural("sender"); $n | hosts; ""; $n) as $senders
	| box($racks * ($p.servers // 1 | tonumber) | plural("pod"); "senders"; ""; 3) as $pods
	| box($racks | plural("node"); "racks"; ""; $racks) as $nodes
	| box($groups | plural("receiver"); $groups | hosts; ""; $groups) as $receivers
	| {
		star: {boxes: [$senders, box("s1"; "switch"), box("r1"; "receiver")], links: [link($rate), $slow]},
		node: {boxes: [box($n | plural("pod"); "senders"; ""; $n), box($n | plural("node"); "route for pods"; ""; $n),
			box("s1"; "switch"), box("r1"; "node"), box("sink"; "pod")],
			links: [link(""), link($rate), $slow, link("")]},
		dumbbell: {boxes: [$senders + {note: "paths A, B and C"}, box("s1"; "switch"; "path C skips it"; 1),
			box("s2"; "switch"; "path B leaves for r2"; 1), box("r1"; "receiver"; "paths A and C"; 1)],
			links: [link($rate), $slow, $slow]},
		racks: {boxes: [$pods, $nodes, box("s1"; "spine"), box("r1"; "receiving node"), box("sink"; "pod")],
			links: [link($rate), link($uplink), link($uplink), $slow]},
		fabric: {boxes: [$pods, $nodes, box("s1"; "switch"), box("r1"; "node"), box("sink"; "pod")],
			links: [link($rate), link($uplink), $slow, link("")]},
		"pfc-star": {boxes: [$senders, box("s1"; "switch"), $receivers], links: [link($rate), $slow]},
		"pfc-dumbbell": {boxes: [$senders, box("s1"; "switch"), box("s2"; "switch"), $receivers],
			links: [link($rate), link($core), $slow]},
		"pfc-spine": {boxes: [$senders, box("s1, s2"; "leaf switches"; ""; 2), box("s4, s5"; "spines"; ""; 2),
			box("s3"; "leaf switch"), $receivers],
			links: [link($rate), link($core), link($core), $slow]}
	  } as $known
	| (.lab // "star" | tostring) as $lab
	| $known[{udp: "star", pfc: "pfc-\($p.shape // "star")"}[$lab] // $lab];

# Sizes in the units of the drawing. A stack of boxes has up to three, each a step behind the one before.
def wide: 112;
def high: 46;
def step: 5;

# How far the hindmost box of a stack is from the first one.
def behind: ([.count, 3] | min - 1) * step;

def topology_text($x; $y; $class; $text):
	if $text == "" then "" else "<text x=\"\($x)\" y=\"\($y)\"\(if $class == "" then "" else " class=\"\($class)\"" end)>\($text | @html)</text>\n" end;

def topology_box($x; $y):
	behind as $behind
	| ([range($behind; -1; -step)
		| "<rect class=\"box\" x=\"\($x + .)\" y=\"\($y - .)\" width=\"\(wide)\" height=\"\(high)\" rx=\"4\"/>\n"] | join(""))
	+ topology_text($x + wide / 2; $y + 20; ""; .name)
	+ topology_text($x + wide / 2; $y + 36; "what"; .what);

# In a row, with the words of a link above and below it.
def topology_row($gap):
	. as $t | (wide + $gap) as $pitch | 30 as $top
	| [.boxes | to_entries[] | (.key * $pitch + 1) as $x | .value
		| topology_box($x; $top), topology_text($x + wide / 2; $top + high + 18; "what"; .note)]
	+ [$t.links | to_entries[] | ($t.boxes[.key] | behind) as $behind | (.key * $pitch + wide + $behind + 1) as $x | .value
		| ($gap - $behind) as $gap
		| "<path class=\"link\(if .slow then " slow" else "" end)\" d=\"M\($x),\($top + high / 2) h\($gap)\"/>\n",
		  topology_text($x + $gap / 2; $top + high / 2 - 9; ""; .above),
		  topology_text($x + $gap / 2; $top + high / 2 + 19; "what"; .below)]
	| join("");

# From top to bottom, with the words of a link and of a box to the right of it.
def topology_column($gap):
	. as $t | (high + $gap) as $pitch | 14 as $top
	| [.boxes | to_entries[] | (.key * $pitch + $top) as $y | .value
		| topology_box(1; $y), topology_text(wide + 24; $y + high / 2 + 4; "what beside"; .note)]
	+ [$t.links | to_entries[] | (.key * $pitch + $top + high) as $y | .value
		| "<path class=\"link\(if .slow then " slow" else "" end)\" d=\"M\(wide / 2),\($y) v\($gap)\"/>\n",
		  topology_text(wide / 2 + 14; $y + $gap / 2 + 4; "beside"; [.above, .below] | map(select(. != "")) | join(", "))]
	| join("");

# $narrow: for a narrow window. Input: what topology has.
def topology_draw($narrow):
	(.boxes | length) as $n | ([160, (960 - 12 - $n * wide) / ($n - 1) | floor] | min) as $gap
	| ([.boxes[].name] | join(", ")) as $names
	| (if $narrow then [400, $n * high + ($n - 1) * 38 + 18] else [960, 98] end) as [$width, $height]
	| "<svg role=\"img\" aria-label=\"Topology: \($names | @html)\" viewBox=\"0 0 \($width) \($height)\">\n"
	+ (if $narrow then topology_column(38) else topology_row($gap) end)
	+ "</svg>\n";
