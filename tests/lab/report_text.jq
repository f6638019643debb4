# SPDX-License-Identifier: GPL-2.0-only
# How the report of a lab writes numbers and names, for report.jq.

def number: if type == "number" then . elif type == "string" then (tonumber? // null) else null end;

def fixed($digits):
	if . == null then "-" else
		(if . < 0 then "-" else "" end) as $sign
		| (fabs * pow(10; $digits) | round | tostring)
		| until(length > $digits; "0" + .)
		| if $digits == 0 then $sign + . else $sign + .[:-$digits] + "." + .[-$digits:] end
	end;
# Three significant digits: what a reader compares.
def significant:
	if . == null or fabs < 999.5 then . else
		(fabs | log10 | floor | . - 2) as $power | pow(10; $power) as $unit | (. / $unit | round) * $unit | round
	end;
def short:
	if . == null then "-" elif fabs < 9.995 then fixed(2) elif fabs < 99.95 then fixed(1) else significant | fixed(0) end;
def trimmed: if test("\\.") then sub("\\.?0+$"; "") else . end;
def kb: if . == 0 then "0" elif . == null then "-" else . / 1000 | short end;
def ms: if . == null then "-" else . / 1000 | short end;
def mbit: if . == null then "-" else . / 1000000 | short end;
def percent: if . == null then "-" else . * 100 | if fabs < 99.95 then fixed(1) else fixed(0) end end;
# Of milliseconds, with their unit.
def long_said: if . == null or . < 999.5 then "\(short) ms" else "\(. / 1000 | short) s" end;

# In the largest unit that needs no more than three decimals.
def scaled($units; $space):
	round as $n
	| ([$units[] | select($n >= .[1] and ($n * 1000) % .[1] == 0)][0] // $units[-1]) as $unit
	| "\($n / $unit[1] | fixed(3) | trimmed)\($space)\($unit[0])";
def rate_make: scaled([["gbit", 1e9], ["mbit", 1e6], ["kbit", 1e3], ["bit", 1]]; "");
def rate_said: scaled([["Gbit/s", 1e9], ["Mbit/s", 1e6], ["kbit/s", 1e3], ["bit/s", 1]]; " ");
def time_make: scaled([["s", 1e6], ["ms", 1e3], ["us", 1]]; "");
def time_said: scaled([["s", 1e6], ["ms", 1e3], ["µs", 1]]; " ");
def bytes_make: scaled([["mb", 1e6], ["kb", 1e3], ["b", 1]]; "");
def bytes_said: scaled([["MB", 1e6], ["KB", 1e3], ["B", 1]]; " ");

def listed: if length < 2 then join("") else (.[:-1] | join(", ")) + " and " + .[-1] end;
def plural($word): if . == 1 then "1 \($word)" else "\(.) \($word)s" end;

def named_cc: {burst: "bursts", sluice: "Sluice", silent: "Sluice by delay", cubic: "CUBIC", bbr: "BBR", dctcp: "DCTCP", reno: "Reno", none: "Sluice off", hpcc: "plain HPCC", hiercc: "HierCC alone",
	"hpcc-vai-sf": "HPCC with VAI and SF", "rx-hpcc": "Rx-HPCC",
	"hpcc+hiercc": "HPCC and HierCC", "hpcc+ppfc": "HPCC and P-PFC", "hiercc+ppfc": "HierCC and P-PFC", ppfc: "P-PFC alone",
	"hpcc+hiercc+ppfc": "all three loops"}[.] // .;

# A run of LAB=pfc has the name of its mechanism, too.
def named:
	(capture("^(?<cc>.*)-(?<mech>none|pfc|ppfc)$") // null) as $run
	| if $run then {none: "no pauses", pfc: "PFC", ppfc: "P-PFC"}[$run.mech] + " (\($run.cc | named_cc))"
	  else named_cc end;

# A full packet on the wire: 1500 bytes of IP and an Ethernet header.
def packet: 1514;
def packets:
	if . == 0 then "empty" elif . < packet then "less than a full packet"
	else . / packet | round | plural("full packet") end;
