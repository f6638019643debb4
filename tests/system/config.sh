# SPDX-License-Identifier: GPL-2.0-only
# Configurations that are wrong, and wrong calls: each has its message and exit status, and nothing is changed.

CONFIG_PINS="pin_dir: $PINS/ssys-h1"
CONFIG_INTERFACES='interfaces: [{name: eth0, role: host, speed: 100Mbit}]'
CONFIG_PEERS='auth: none;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}]'

# config_broken FUNCTION: calls FUNCTION WORDS FILE for each broken file. The columns: what the message has to say, and
# the file, in which P, I and R stand for a sound pin_dir, interfaces and peers.
config_broken() {
	local words text

	while IFS='|' read -r words text; do
		[[ $text ]] || continue
		text=${text//P;/$CONFIG_PINS;}
		text=${text//I;/$CONFIG_INTERFACES;}
		text=${text//R;/$CONFIG_PEERS;}
		printf '%b' "${text//;/\\n}" >"$CASE_DIR/broken.yaml"
		"$1" "$words" "$CASE_DIR/broken.yaml"
	done <<-'END'
	auth is missing: write 'auth: /etc/sluice/key'|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}];
	auth 'key' is neither none nor a path|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}];auth: key;
	auth: /dev/null is not a file|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}];auth: /dev/null;
	auth: /proc/version may be read by others: chmod 600|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}];auth: /proc/version;
	auth: /none/key: No such file or directory|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}];auth: /none/key;
	auth: /tmp is not a file|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}];auth: /tmp;
	'colour' is no key here: write |P;I;R;colour: green;
	'colour' is no key here: write |P;interfaces: [{name: eth0, role: host, colour: green}];R;
	'colour' is no key here: write |P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms, colour: green}];
	'colour' is no key here: write |P;I;R;hpcc: {colour: green};
	'colour' is no key here: write |P;I;R;tcp: {colour: green};
	pin_dir is named twice: leave one|P;P;I;R;
	interfaces is missing: write 'interfaces: ...'|P;R;
	has 0 entries: write 1 to |P;interfaces: [];R;
	name is missing: write 'name: ...'|P;interfaces: [{role: host}];R;
	role is missing: write 'role: ...'|P;interfaces: [{name: eth0}];R;
	takes a list: write |P;interfaces: eth0;R;
	takes keys with values: write |P;interfaces: [eth0];R;
	role 'router' is unknown: write host or switch|P;interfaces: [{name: eth0, role: router}];R;
	eth0 is named twice|P;interfaces: [{name: eth0, role: host}, {name: eth0, role: host}];R;
	interfaces: swp[1-4: the bracket has no end|P;interfaces: [{name: 'swp[1-4', role: host}];R;
	interfaces: swp* is named twice|P;interfaces: [{name: swp*, role: host}, {name: swp*, role: host}];R;
	interfaces: swp*: a switch port needs an id|P;interfaces: [{name: swp*, role: switch}];
	interfaces: name: what is there has 0 characters|P;interfaces: [{name: '', role: host}];R;
	characters: write 1 to 15|P;interfaces: [{name: abcdefghijklmnopq, role: host}];R;
	speed '100Mbyte'|P;interfaces: [{name: eth0, role: host, speed: 100Mbyte}];R;
	write for example 25Gbit|P;interfaces: [{name: eth0, role: host, speed: 100}];R;
	speed '0Mbit'|P;interfaces: [{name: eth0, role: host, speed: 0Mbit}];R;
	speed '-5Gbit'|P;interfaces: [{name: eth0, role: host, speed: -5Gbit}];R;
	speed 'nanGbit'|P;interfaces: [{name: eth0, role: host, speed: nanGbit}];R;
	speed '+1Gbit'|P;interfaces: [{name: eth0, role: host, speed: +1Gbit}];R;
	speed '0x10Gbit'|P;interfaces: [{name: eth0, role: host, speed: 0x10Gbit}];R;
	speed '1e1Gbit'|P;interfaces: [{name: eth0, role: host, speed: 1e1Gbit}];R;
	prefix '10.0.0.0/+8'|P;I;auth: none;peers: [{prefix: 10.0.0.0/+8, base_rtt: 2ms}];
	prefix '10.0.0.0/08'|P;I;auth: none;peers: [{prefix: 10.0.0.0/08, base_rtt: 2ms}];
	line 5: a second YAML document begins here|P;I;R;---;mode: dry-run;
	speed '9999Gbit'|P;interfaces: [{name: eth0, role: host, speed: 9999Gbit}];R;
	needs an id that no other switch has: write one from 1 to 4095|P;interfaces: [{name: p1, role: switch}];
	needs an id that no other switch has: write one from 1 to 4095|P;interfaces: [{name: p1, role: switch, id: 4096}];
	is not a number: write digits|P;interfaces: [{name: p1, role: switch, id: -1}];
	interfaces: p1: id: 'one' is not a number: write digits|P;interfaces: [{name: p1, role: switch, id: one}];
	'yes' is not known: write |P;interfaces: [{name: eth0, role: host, xdp: yes}];R;
	attach 'tc' is not known: write auto or clsact|P;interfaces: [{name: eth0, role: host, attach: tc}];R;
	'intmd' is not known: write |P;I;R;hpcc: {encoding: intmd};
	'md' is not known: write |P;I;auth: none;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms, encoding: md}];
	queue 'pfifo' is not known: write auto, sluice or fq|P;interfaces: [{name: eth0, role: host, queue: pfifo}];R;
	voqs need departure times, and with classes a packet leaves in the turn of its class: leave out voqs, or classes|P;interfaces: [{name: p1, role: switch, id: 1, queue: sluice, voqs: down, classes: [{share: 70%}]}];
	strict is for queue: sluice|P;interfaces: [{name: p1, role: switch, id: 1, classes: [{share: 70%, strict: true}]}];
	rate is for queue: sluice, which enforces it: write queue: sluice, or speed|P;interfaces: [{name: p1, role: switch, id: 1, rate: 50Mbit}];
	limit is for queue: sluice with a rate or classes: write them|P;interfaces: [{name: p1, role: switch, id: 1, queue: sluice, limit: 50KB}];
	speed is more than rate, so its queue is not kept low: leave speed out|P;interfaces: [{name: p1, role: switch, id: 1, queue: sluice, speed: 100Mbit, rate: 50Mbit}];
	rate '50' is not a speed|P;interfaces: [{name: p1, role: switch, id: 1, queue: sluice, rate: 50}];
	ecn '0B' is not a number of bytes from 1514 to 1GB: write for example 65KB|P;interfaces: [{name: p1, role: switch, id: 1, ecn: 0B}];
	ecn '65' is not a number of bytes from 1514 to 1GB: write for example 65KB|P;interfaces: [{name: p1, role: switch, id: 1, ecn: 65}];
	ecn is for the role switch: what waits in a host's qdisc|P;interfaces: [{name: eth0, role: host, ecn: 65KB}];R;
	ecn is not less than limit (50000 bytes), so the queue never gets that long: write less than that|P;interfaces: [{name: p1, role: switch, id: 1, queue: sluice, rate: 50Mbit, limit: 50KB, ecn: 50KB}];
	ecn is not less than limit (1000000 bytes)|P;interfaces: [{name: p1, role: switch, id: 1, queue: sluice, classes: [{share: 70%}], ecn: 2MB}];
	limit '100B' is not|P;interfaces: [{name: p1, role: switch, id: 1, queue: sluice, rate: 50Mbit, limit: 100B}];
	xdp is for the role host|P;interfaces: [{name: p1, role: switch, id: 1, xdp: native}];
	classes are for the role switch|P;interfaces: [{name: eth0, role: host, classes: [{share: 70%}]}];R;
	share is missing: write 'share: ...'|P;interfaces: [{name: p1, role: switch, id: 1, classes: [{dscp: [8]}]}];
	'colour' is no key here: write |P;interfaces: [{name: p1, role: switch, id: 1, classes: [{share: 70%, colour: green}]}];
	share '70' is not a share of the port of more than 0% and at most 100%: write for example 30%|P;interfaces: [{name: p1, role: switch, id: 1, classes: [{share: 70}]}];
	share '0%' is not a share|P;interfaces: [{name: p1, role: switch, id: 1, classes: [{share: 0%}]}];
	share 'nan%' is not a share|P;interfaces: [{name: p1, role: switch, id: 1, classes: [{share: nan%}]}];
	share '101%' is not a share|P;interfaces: [{name: p1, role: switch, id: 1, classes: [{share: 101%}]}];
	the shares sum to 110%: write at most 100%|P;interfaces: [{name: p1, role: switch, id: 1, classes: [{share: 70%}, {dscp: [8], share: 40%}]}];
	classes: 1 and 2 have no dscp|P;interfaces: [{name: p1, role: switch, id: 1, classes: [{share: 70%}, {share: 30%}]}];
	dscp 64 is more than 63|P;interfaces: [{name: p1, role: switch, id: 1, classes: [{share: 70%}, {dscp: [64], share: 30%}]}];
	dscp 8 is named twice: leave one|P;interfaces: [{name: p1, role: switch, id: 1, classes: [{dscp: [8], share: 70%}, {dscp: [0, 8], share: 30%}]}];
	voqs is for the role switch|P;interfaces: [{name: eth0, role: host, voqs: up}];R;
	voqs 'sideways' is unknown: write up for a port to other racks, down for one to a host|P;interfaces: [{name: p1, role: switch, id: 1, voqs: sideways}];
	voqs needs peers by whose base_rtt|P;interfaces: [{name: p1, role: switch, id: 1, voqs: up}];
	voqs needs peers by whose base_rtt|P;interfaces: [{name: p1, role: switch, id: 1, voqs: up}];R;
	base_rtt: auto: a switch measures no round trips|P;interfaces: [{name: p1, role: switch, id: 1, voqs: up}];auth: none;hiercc: {enabled: true, id: 1};peers: [{prefix: 10.0.0.0/8, base_rtt: auto}];
	voqs needs the number of this rack: write 'hiercc: {enabled: true, id: 1}'|P;interfaces: [{name: p1, role: switch, id: 1, voqs: up}];R;hiercc: {enabled: true};
	hiercc: tor is for the hosts behind this switch|P;interfaces: [{name: p1, role: switch, id: 1, voqs: up}];auth: none;hiercc: {enabled: true, id: 1};peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}, {prefix: 'fd00::/16', base_rtt: 2ms, hiercc: tor}];
	auth is missing|P;interfaces: [{name: p1, role: switch, id: 1, voqs: up}];hiercc: {enabled: true, id: 1};peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}];
	'on' is not known: write |P;interfaces: [{name: eth0, role: host, pfc: on}];R;
	pfc: ppfc is for the role switch|P;interfaces: [{name: eth0, role: host, pfc: ppfc}];R;
	pfc: pfc is for the role switch|P;interfaces: [{name: eth0, role: host, pfc: pfc}];R;
	pfc: buffer is missing|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];
	'colour' is no key here: write |P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {colour: green};
	takes keys with values: write |P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: ppfc;
	pfc: buffer '500' is not a number of bytes up to 1GB: write for example 500KB|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500};
	pfc: buffer '2GB' is not a number of bytes up to 1GB|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 2GB};
	pfc: buffer '4KB' is no more than the headroom of its ports|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 4KB};
	pfc: buffer '500KB' is no more than the headroom of its ports, 500000 bytes|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500KB, headroom: 500KB};
	pfc: xoff '499KB' is not less than what the headroom leaves|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500KB, xoff: 499KB};
	pfc: k_max '499KB' is not less than what the headroom leaves|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500KB, k_max: 499KB};
	priority 8 does not exist: write numbers from 0 to 7|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500KB, lossless: [8]};
	priority 3 is named twice: leave one|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500KB, lossless: [3, 3]};
	has 0 entries: write 1 to |P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500KB, lossless: []};
	is not a number: write digits|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500KB, lossless: [-1]};
	'tos' is not known: write |P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500KB, trust: tos};
	pfc: interval '10us' is not a time from 20 us to 50 ms|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500KB, interval: 10us};
	pfc: delay '101ms' is not a time from 0 us to 100 ms|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500KB, delay: 101ms};
	pfc: t_thresh '5' is not a time from 1 us to 1000 ms|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500KB, t_thresh: 5};
	pfc: fixed '2s' is not a time from 1 us to 1000 ms|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500KB, fixed: 2s};
	pfc: watchdog '1ms' is not a time from 10000 us to 10000 ms|P;interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500KB, watchdog: 1ms};
	has 0 entries: write 1 to |P;interfaces: [{name: p1, role: switch, id: 1, classes: []}];
	has 0 entries: write 1 to |P;interfaces: [{name: p1, role: switch, id: 1, classes: [{dscp: [], share: 70%}]}];
	a host interface needs peers|P;I;
	has 0 entries: write 1 to |P;I;peers: [];
	'10.0.0/8' is not a prefix|P;I;peers: [{prefix: 10.0.0/8, base_rtt: 2ms}];
	'10.0.0.1/8' is not a prefix: write for example 10.0.0.0/8 (host bits 0)|P;I;peers: [{prefix: 10.0.0.1/8, base_rtt: 2ms}];
	'10.0.0.0/33' is not a prefix|P;I;peers: [{prefix: 10.0.0.0/33, base_rtt: 2ms}];
	'fd00::1/16' is not a prefix|P;I;peers: [{prefix: 'fd00::1/16', base_rtt: 2ms}];
	'all' is not a prefix|P;I;peers: [{prefix: all, base_rtt: 2ms}];
	10.0.0.0/8 is named twice|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}, {prefix: 10.0.0.0/8, base_rtt: 1ms}];
	::ffff:10.0.0.0/104 is named twice|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms}, {prefix: '::ffff:10.0.0.0/104', base_rtt: 1ms}];
	base_rtt is missing: write 'base_rtt: ...'|P;I;peers: [{prefix: 10.0.0.0/8}];
	base_rtt '0us' is not a time between 1us and 1s|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 0us}];
	base_rtt 'automatic' is not a time between 1us and 1s, nor auto|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: automatic}];
	base_rtt 'Auto' is not a time between 1us and 1s, nor auto|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: Auto}];
	base_rtt '12' is not a time|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 12}];
	base_rtt '2s' is not a time|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 2s}];
	'colour' is no key here: write |P;I;R;hiercc: {colour: green};
	'yes' is not known: write |P;I;R;hiercc: {enabled: yes};
	'off' is not known: write |P;I;R;hpcc: {enabled: off};
	hiercc: id 'rack1' is neither an IPv4 address nor a number|P;I;R;hiercc: {enabled: true, id: rack1};
	hiercc: id '0' is neither|P;I;R;hiercc: {enabled: true, id: 0};
	hiercc: id '4294967296' is neither|P;I;R;hiercc: {enabled: true, id: 4294967296};
	hiercc: id 'fd00::1' is neither|P;I;R;hiercc: {enabled: true, id: 'fd00::1'};
	hiercc: v_low '4KB' is less than q0, 5KB|P;I;R;hiercc: {enabled: true, q0: 5KB, v_low: 4KB};
	hiercc: v_high '5KB' is not more than v_low, 5KB|P;I;R;hiercc: {enabled: true, v_high: 5KB, v_low: 5KB};
	hiercc: v_high '5KB' is not more than q0, 6KB|P;I;R;hiercc: {enabled: true, v_high: 5KB, q0: 6KB};
	hiercc: c0 is less than two credits of 8000 bytes|P;I;R;hiercc: {enabled: true, c0: 10KB, delta: 8KB};
	hiercc: beta '1' is not a number from 0.01 to less than 1|P;I;R;hiercc: {enabled: true, beta: 1};
	vai: ai_cap 32768 is more than 32767|P;I;R;vai: {ai_cap: 32768};
	pfc: r '1.1' is not a number from 0.01 to 1|P;I;R;pfc: {r: 1.1};
	hiercc: eta '98%' is not a number from 0.5 to 1|P;I;R;hiercc: {enabled: true, eta: 98%};
	hiercc: c0 '1KB' is not a number of bytes from 2048B|P;I;R;hiercc: {enabled: true, c0: 1KB};
	hiercc: c0 '100MB' is not|P;I;R;hiercc: {enabled: true, c0: 100MB};
	hiercc: limit '1' is not a time of at most 10s|P;I;R;hiercc: {enabled: true, limit: 1};
	hiercc: limit '11s' is not|P;I;R;hiercc: {enabled: true, limit: 11s};
	hiercc: limit '5ms' is less than four rounds of credit of 10.0.0.0/8, each its base_rtt and a period of 500 us: write 10501 us or more|P;I;R;hiercc: {enabled: true, limit: 5ms};
	hiercc: period '10us' is not a time from 20us to 50ms|P;I;R;hiercc: {enabled: true, period: 10us};
	hiercc: port_speed '25' is not a speed|P;I;R;hiercc: {enabled: true, port_speed: 25};
	'rack' is not known: write |P;I;auth: none;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms, hiercc: rack}];
	hiercc: voqs 2000000 is more than 1048576|P;I;R;hiercc: {enabled: true, voqs: 2000000};
	10.0.0.0/8: port_speed 'fast' is not a speed|P;I;auth: none;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms, port_speed: fast}];
	10.0.0.0/8: base_rtt '100ms' is too long for hiercc|P;I;auth: none;peers: [{prefix: 10.0.0.0/8, base_rtt: 100ms, hiercc: true}];
	10.0.0.0/8: neither hpcc nor hiercc|P;I;auth: none;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms, hpcc: false}];
	10.0.0.0/8: neither hpcc nor hiercc|P;I;R;hpcc: {enabled: false};
	eta '2' is not a number from 0.5 to 1|P;I;R;hpcc: {eta: 2};
	eta '-0.5' is not|P;I;R;hpcc: {eta: -0.5};
	eta 'nan' is not|P;I;R;hpcc: {eta: nan};
	eta 'high' is not a number|P;I;R;hpcc: {eta: high};
	eta '95%' is not a number from 0.5 to 1: write for example 0.95|P;I;R;hpcc: {eta: 95%};
	eta '0.95%' is not a number|P;I;R;hpcc: {eta: 0.95%};
	eta '0x' is not a number|P;I;R;hpcc: {eta: 0x};
	w_ai 'lots' is not a number of bytes|P;I;R;hpcc: {w_ai: lots};
	w_ai '0B'|P;I;R;hpcc: {w_ai: 0B};
	max_stage 256 is more than 255|P;I;R;hpcc: {max_stage: 256};
	takes keys with values: write |P;I;R;hpcc: 5;
	hpcc: variant 'high-ai' is unknown: write plain or vai-sf|P;I;R;hpcc: {variant: high-ai};
	hpcc: stages 'letter' is unknown: write time or rounds|P;I;R;hpcc: {stages: letter};
	hpcc: variant 'VAI-SF' is unknown|P;I;R;hpcc: {variant: VAI-SF};
	has 0 characters: write 1 to |P;I;R;hpcc: {variant: ''};
	hpcc: feedback 'ratio' is unknown: write hops or window|P;I;R;hpcc: {feedback: ratio};
	peers: 10.0.0.0/8: feedback 'hop' is unknown: write hops or window|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms, feedback: hop}];hpcc: {feedback: window};
	hpcc: flows '0' is neither auto nor a number from 1 to 16777216: write for example 16|P;I;R;hpcc: {flows: 0};
	flows 'many' is neither|P;I;R;hpcc: {flows: many};
	flows '-1' is neither|P;I;R;hpcc: {flows: -1};
	flows '1.5' is neither|P;I;R;hpcc: {flows: 1.5};
	flows '16777217' is neither|P;I;R;hpcc: {flows: 16777217};
	peers: 10.0.0.0/8: variant 'vai' is unknown: write plain or vai-sf|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms, variant: vai}];hpcc: {variant: vai-sf};
	hpcc: variant 'none' is unknown|P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms, variant: plain}];hpcc: {variant: none};
	'sometimes' is not known: write |P;I;R;hpcc: {telemetry: sometimes};
	'rtt' is not known: write auto, every or companion|P;I;R;hpcc: {telemetry: rtt};
	'never' is not known: write |P;I;peers: [{prefix: 10.0.0.0/8, base_rtt: 2ms, telemetry: never}];hpcc: {telemetry: every};
	has 0 characters: write 1 to |P;I;R;pacing: {horizon: ''};
	'no' is not known: write |P;I;R;hpcc: {delay: no};
	takes keys with values: write |P;I;R;pacing: 5ms;
	'colour' is no key here: write |P;I;R;pacing: {colour: green};
	pacing: horizon 'soon' is not a time of at most 1s: write for example 10ms|P;I;R;pacing: {horizon: soon};
	pacing: horizon '10' is not a time|P;I;R;pacing: {horizon: 10};
	pacing: horizon '2s' is not a time of at most 1s|P;I;R;pacing: {horizon: 2s};
	pacing: horizon '-1ms' is not a time|P;I;R;pacing: {horizon: -1ms};
	has 0 characters: write 1 to |P;I;R;pacing: {horizon: ''};
	'shape' is not known: write |P;I;R;pacing: {beyond: shape};
	takes keys with values: write |P;I;R;pacing: 10ms;
	'colour' is no key here: write |P;I;R;node: {uplink: eth0, id: 7, pod_cidrs: [10.244.1.0/24], colour: green};
	uplink is missing: write 'uplink: ...'|P;I;R;node: {id: 7, pod_cidrs: [10.244.1.0/24]};
	pod_cidrs is missing: write 'pod_cidrs: ...'|P;I;R;node: {uplink: eth0, id: 7};
	has 0 entries: write 1 to |P;I;R;node: {uplink: eth0, id: 7, pod_cidrs: []};
	node: uplink 'eth1' is not one of the interfaces with role host: write the one that leads to the network|P;I;R;node: {uplink: eth1, id: 7, pod_cidrs: [10.244.1.0/24]};
	node: uplink 'p1' is not one of the interfaces with role host|P;interfaces: [{name: eth0, role: host}, {name: p1, role: switch, id: 1}];R;node: {uplink: p1, id: 7, pod_cidrs: [10.244.1.0/24]};
	characters: write 1 to 15|P;I;R;node: {uplink: abcdefghijklmnopq, id: 7, pod_cidrs: [10.244.1.0/24]};
	node: id 0: write one from 1 to 4095, different from that of other nodes and switches|P;I;R;node: {uplink: eth0, pod_cidrs: [10.244.1.0/24]};
	node: id 4096: write one from 1 to 4095|P;I;R;node: {uplink: eth0, id: 4096, pod_cidrs: [10.244.1.0/24]};
	is not a number: write digits|P;I;R;node: {uplink: eth0, id: -1, pod_cidrs: [10.244.1.0/24]};
	node: pod_cidrs: '10.244.1.5/24' is not a prefix: write for example 10.244.1.0/24 (host bits 0)|P;I;R;node: {uplink: eth0, id: 7, pod_cidrs: [10.244.1.5/24]};
	node: pod_cidrs: 'fd00::1/64' is not a prefix|P;I;R;node: {uplink: eth0, id: 7, pod_cidrs: [10.244.1.0/24, 'fd00::1/64']};
	node: pod_cidrs: 10.244.1.0/24 is named twice|P;I;R;node: {uplink: eth0, id: 7, pod_cidrs: [10.244.1.0/24, 10.244.1.0/24]};
	takes a list: write |P;I;R;node: {uplink: eth0, id: 7, pod_cidrs: 10.244.1.0/24};
	takes keys with values: write |P;I;R;node: eth0;
	'colour' is no key here: write |P;I;R;metrics: {colour: green};
	takes keys with values: write |P;I;R;metrics: 127.0.0.1:9463;
	metrics: listen '9463' is neither an address with a port nor a path: write for example 127.0.0.1:9463|P;I;R;metrics: {listen: 9463};
	metrics: listen 'localhost:9463' is neither|P;I;R;metrics: {listen: 'localhost:9463'};
	metrics: listen ':9463' is neither|P;I;R;metrics: {listen: ':9463'};
	metrics: listen '::1:9463' is neither|P;I;R;metrics: {listen: '::1:9463'};
	metrics: listen '127.0.0.1:0' is neither|P;I;R;metrics: {listen: '127.0.0.1:0'};
	metrics: listen '127.0.0.1:70000' is neither|P;I;R;metrics: {listen: '127.0.0.1:70000'};
	metrics: listen '127.0.0.1:' is neither|P;I;R;metrics: {listen: '127.0.0.1:'};
	metrics: listen 'run/metrics.sock' is neither|P;I;R;metrics: {listen: run/metrics.sock};
	metrics: listen '/run/' is neither|P;I;R;metrics: {listen: /run/};
	metrics: flows 101 is more than 100|P;I;R;metrics: {flows: 101};
	is not a number: write digits|P;I;R;metrics: {flows: -1};
	metrics: pods 501 is more than 500|P;I;R;metrics: {pods: 501};
	metrics: pods needs the section node, by which pods are found: write that, or leave pods away|P;I;R;metrics: {pods: 5};
	metrics: bundles 'k8s.io' is not an absolute path: write for example /run/|P;I;R;metrics: {bundles: k8s.io};
	mode 'fast' is unknown: write observe, dry-run or enforce|P;I;R;mode: fast;
	port 70000 is not a UDP port|P;I;R;port: 70000;
	'many' is not a number: write digits|P;I;R;max_flows: many;
	max_flows 4000000000 is more than|P;I;R;max_flows: 4000000000;
	flow_timeout '5' is not a time of 1s or more|P;I;R;flow_timeout: 5;
	flow_timeout '10ms'|P;I;R;flow_timeout: 10ms;
	pin_dir 'pins' is not below /sys/fs/bpf|pin_dir: pins;I;R;
	pin_dir '/tmp/x' is not below /sys/fs/bpf|pin_dir: /tmp/x;I;R;
	is not below /sys/fs/bpf|pin_dir: /sys/fs/bpf/../x;I;R;
	is not below /sys/fs/bpf|pin_dir: /sys/fs/bpf/;I;R;
	has 0 characters: write 1 to |pin_dir: '';I;R;
	only letters, digits|P;I;R;tcp: {name: slu-ice};
	characters: write 1 to 15|P;I;R;tcp: {name: abcdefghijklmnopq};
	'maybe' is not known: write |P;I;R;tcp: {default: maybe};
	this is not YAML: found character that cannot start any token|P;I;R;\tmode: enforce;
	this is not YAML: control characters|\x01\x02{{{{]];
	this is not YAML: did not find expected node content|}{;
	takes keys with values: write |- a;- b;
	takes keys with values: write |hello;
	this is not YAML|\xff\xfe\x00\xd8;
	the file is empty|# nothing;
	END
}

# A start that ends at once with 1 and says WORDS, with --check and without.
config_is_refused() {
	local option status what=$2

	[[ -f $2 ]] && what=$(tr '\n' ';' <"$2")
	for option in --check ''; do
		# shellcheck disable=SC2086
		timeout 20 nsenter --net=/run/netns/${NET_PREFIX}h1 "$BUILD/sluiced" $option --config "$2" \
			>"$CASE_DIR/said.log" 2>&1
		status=$?
		expect "exit status of sluiced $option with $what" $status -eq 1
		expect "what sluiced $option says of $what" "$(<"$CASE_DIR/said.log")" has "$1"
		expect "each line of it begins with the program and the file" \
			"$(grep -vc "^sluiced: $2: " "$CASE_DIR/said.log")" -eq 0
		[[ ! -s $2 ]] || config_says_where "$(<"$CASE_DIR/said.log")"
	done
	((CONFIG_REFUSED++))
}

# config_says_where WORDS: the line, unless it is about what is not there, and what to write instead.
config_says_where() {
	case $1 in
	*"auth is missing"* | *"buffer is missing"* | *"file is empty"* | *"cannot read"*) ;;
	*) grep -qE "^sluiced: [^ ]+: line [1-9][0-9]*: " <<<"$1" || fail "no line is said in: $1" ;;
	esac
	grep -qE "write|leave|give|chmod|see docs" <<<"$1" || fail "nothing is said to write instead in: $1"
}

config__broken_files_are_refused() {
	net_up
	CONFIG_REFUSED=0
	net_state h1 >"$CASE_DIR/before.txt"
	config_broken config_is_refused
	expect "broken files" $CONFIG_REFUSED -ge 60
	: >"$CASE_DIR/empty.yaml"
	config_is_refused "the file is empty" "$CASE_DIR/empty.yaml"
	mkdir "$CASE_DIR/directory.yaml"
	config_is_refused "cannot read the configuration: not a file" "$CASE_DIR/directory.yaml"
	mkfifo "$CASE_DIR/fifo.yaml"
	config_is_refused "cannot read the configuration: not a file" "$CASE_DIR/fifo.yaml"
	config_is_refused "cannot read the configuration: No such file" "$CASE_DIR/none.yaml" 2>/dev/null
	net_state h1 >"$CASE_DIR/after.txt"
	same "what tc, ip and sysctl show" "$CASE_DIR/before.txt" "$CASE_DIR/after.txt"
}

# config_names FILE LINE...: all of these mistakes, by sluiced and by check; and what the file holds comes from stdin.
config_names() {
	local file=$CASE_DIR/$1.yaml line

	shift
	cat >"$file"
	"$BUILD/sluiced" --check --config "$file" >"$CASE_DIR/said.log" 2>&1
	expect "exit status of --check" $? -eq 1
	"$BUILD/sluicectl" check "$file" >"$CASE_DIR/check.txt" 2>&1
	expect "exit status of check" $? -eq 1
	"$BUILD/sluicectl" --json check "$file" >"$CASE_DIR/check.json" 2>/dev/null
	for line in "$@"; do
		expect "what --check says" "$(<"$CASE_DIR/said.log")" has "$line"
		expect "what check says" "$(<"$CASE_DIR/check.txt")" has "$line"
		expect "what check says in JSON" "$(jq -r .[0].detail "$CASE_DIR/check.json")" has "$line"
	done
	expect "mistakes" "$(wc -l <"$CASE_DIR/said.log")" -eq $#
}

# Three kinds, one after the other: the shape of the file, its values, and what values say together.
config__every_mistake_is_named() {
	config_names shape "line 1: 'colour' is no key" "line 2: mode: takes one value" "line 4: interfaces: eth0: 'kind' is no key" \
		"line 5: interfaces: name is missing" \
		"line 5: interfaces: role is missing" "line 6: auth: what is there has 0" <<-'END'
	colour: green
	mode: [enforce]
	interfaces:
	  - {name: eth0, role: host, kind: fast}
	  - {id: 1}
	auth: ''
	END
	config_names values "line 1: mode 'fast'" "line 3: interfaces: eth0: role 'router'" "line 3: interfaces: eth0: speed 'fast'" \
		"line 5: pfc: lossless: priority 8" "line 5: pfc: lossless: priority 9" "line 7: peers: prefix '10.0.0.1/8'" "line 8: peers: 10.2.0.0/16: base_rtt '2s'" <<-'END'
	mode: fast
	interfaces:
	  - {name: eth0, role: router, speed: fast}
	pfc:
	  lossless: [8, 9]
	peers:
	  - {prefix: 10.0.0.1/8, base_rtt: 1ms}
	  - {prefix: 10.2.0.0/16, base_rtt: 2s}
	END
	config_names together "line 1: pin_dir '/tmp/x'" "line 3: interfaces: p1: a switch port needs an id" "line 4: interfaces: p2: xdp is for the role host" "line 5: interfaces: eth0: classes are for the role switch" \
		"line 7: peers: 10.1.0.0/16: neither hpcc nor hiercc" "line 9: peers: 10.2.0.0/16 is named twice" \
		"line 10: node: uplink 'eth1' is not one of" "line 10: node: id 0" "auth is missing" <<-'END'
	pin_dir: /tmp/x
	interfaces:
	  - {name: p1, role: switch}
	  - {name: p2, role: switch, id: 2, xdp: native}
	  - {name: eth0, role: host, classes: [{share: 70%}]}
	peers:
	  - {prefix: 10.1.0.0/16, base_rtt: 2ms, hpcc: false}
	  - {prefix: 10.2.0.0/16, base_rtt: 2ms}
	  - {prefix: 10.2.0.0/16, base_rtt: 1ms}
	node: {uplink: eth1, pod_cidrs: [10.9.0.0/16]}
	END
}

config__unreadable_file_is_refused() {
	nobody_can
	host_config h1 >"$WORK/unreadable.yaml"
	chmod 600 "$WORK/unreadable.yaml"
	as_nobody sluiced --check --config "$WORK/unreadable.yaml" >"$CASE_DIR/said.log" 2>&1
	expect "exit status" $? -eq 1
	expect "what it says" "$(<"$CASE_DIR/said.log")" has "cannot read the configuration: Permission denied"
}

# Sound files, in which everything is said or hardly anything, need no root to be checked.
config__sound_files_pass_the_check() {
	local file=$CASE_DIR/sound.yaml text status

	for text in "$CONFIG_PINS;$CONFIG_INTERFACES;$CONFIG_PEERS" \
		"interfaces: [{name: p1, role: switch, id: 4095}]" \
		"interfaces: [{name: eth0, role: host, pfc: obey}]" \
		"interfaces: [{name: p1, role: switch, id: 1, queue: sluice}, {name: p2, role: switch, id: 1, queue: fq, classes: [{share: 50%}]}, {name: p3, role: switch, id: 1, queue: auto}]" \
		"interfaces: [{name: p1, role: switch, id: 1, queue: sluice, rate: 50Mbit, limit: 50KB, ecn: 49999B, classes: [{dscp: [46], share: 10%, strict: true}, {share: 50%}]}]" \
		"interfaces: [{name: p1, role: switch, id: 1, ecn: 2MB}]" \
		"interfaces: [{name: p1, role: switch, id: 1, speed: 100Mbit, pfc: ppfc}];pfc: {buffer: 500KB, fixed: 1ms}" \
		"$CONFIG_PINS;$CONFIG_INTERFACES;$CONFIG_PEERS;pacing: {beyond: drop}" \
		"$CONFIG_PINS;$CONFIG_INTERFACES;$CONFIG_PEERS;node: {uplink: eth0, id: 4095, pod_cidrs: [10.244.1.0/24, 'fd00:10:244:1::/64']}" \
		"$CONFIG_PINS;mode: dry-run;port: 65535;max_flows: 1;flow_timeout: 1.5s;tcp: {name: a.b_C, default: false};hpcc: {eta: 1, max_stage: 1, stages: rounds, flows: 1, w_ai: 1KB, variant: vai-sf, telemetry: companion};pacing: {horizon: 1s, beyond: mark};interfaces: [{name: eth0, role: host, speed: 2.5Gbit, id: 0}, {name: p1, role: switch, speed: 800gbit, id: 1}];auth: none;peers: [{prefix: 0.0.0.0/0, base_rtt: 1us}, {prefix: '::/0', base_rtt: 1s}, {prefix: 192.0.2.1, base_rtt: 4.5ms, variant: vai-sf, feedback: window, telemetry: every}, {prefix: 192.0.2.2, base_rtt: auto, variant: plain, telemetry: auto}, {prefix: 192.0.2.3, base_rtt: 4.5ms, variant: plain, telemetry: every}]"; do
		printf '%b\n' "${text//;/\\n}" >"$file"
		"$BUILD/sluiced" --check --config "$file" >"$CASE_DIR/said.log" 2>&1
		status=$?
		expect "exit status of --check with $text: $(<"$CASE_DIR/said.log")" $status -eq 0
		expect "what it says" "$(<"$CASE_DIR/said.log")" = "sluiced: $file: valid"
	done
	! pins_left || fail "--check made pins"
}

# Mistakes that only the machine can see: the start is undone, and nothing is left.
config__that_does_not_fit_the_machine_is_rolled_back() {
	net_up
	net_in h1 ip link add bridge0 type bridge || fail "no bridge in this kernel"
	net_in h1 ip link set bridge0 up
	net_state h1 >"$CASE_DIR/before.txt"
	config_rolled_back 4 "none0: no such interface" 'interfaces: [{name: eth0, role: host}, {name: none0, role: host}]'
	config_rolled_back 4 "bridge0: the driver does not know the speed: write 'speed: 25Gbit'" \
		'interfaces: [{name: eth0, role: host}, {name: bridge0, role: host}]'
	if net_has_link ipip local 10.1.0.2 remote 10.2.0.2; then
		net_in h1 ip link add ipip1 type ipip local 10.1.0.2 remote 10.2.0.2
		net_state h1 >"$CASE_DIR/before.txt"
		config_rolled_back 3 "ipip1: is not an Ethernet device" \
			'interfaces: [{name: eth0, role: host}, {name: ipip1, role: host, speed: 1Gbit}]'
	fi
	config_rolled_back 3 "lo: is not an Ethernet device" 'interfaces: [{name: lo, role: host, speed: 1Gbit}]'
	config_rolled_back 4 "else choose another with tcp: name" 'tcp: {name: reno, default: true}'
	config_rolled_back 1 "$PINS/ssys-h1/a/b: No such file or directory" "pin_dir: $PINS/ssys-h1/a/b"
	host_config h1 >"$CASE_DIR/h1.yaml"
	daemon_start h1
}

# config_rolled_back STATUS WORDS LINE
config_rolled_back() {
	host_config h1 "$3" >"$CASE_DIR/h1.yaml"
	daemon_fails h1 "$1" "$2"
	net_state h1 >"$CASE_DIR/after.txt"
	same "what tc, ip and sysctl show after a start with $3" "$CASE_DIR/before.txt" "$CASE_DIR/after.txt"
	leftovers_none
}

# call STATUS WORDS PROGRAM ARGUMENT...
call() {
	local wanted=$1 words=$2 status

	shift 2
	timeout 20 "$BUILD/$1" "${@:2}" >"$CASE_DIR/stdout.txt" 2>"$CASE_DIR/said.log"
	status=$?
	expect "exit status of '$*', which says $(head -c 300 "$CASE_DIR/said.log")" $status -eq "$wanted"
	expect "what '$*' says" "$(cat "$CASE_DIR/stdout.txt" "$CASE_DIR/said.log")" has "$words"
	# Data goes to stdout, talk to stderr.
	if ((wanted)); then
		expect "stdout of '$*'" "$(<"$CASE_DIR/stdout.txt")" = ""
	else
		expect "stderr of '$*'" "$(<"$CASE_DIR/said.log")" = ""
	fi
}

config__help_version_and_wrong_usage() {
	local command

	call 0 "usage: sluiced" sluiced --help
	call 0 "usage: sluiced" sluiced -h
	call 0 "sluiced " sluiced --version
	call 0 "sluiced " sluiced -V
	call 2 "usage: sluiced" sluiced --frobnicate
	call 2 "usage: sluiced" sluiced --config
	call 2 "'extra' is not an option: see sluiced --help" sluiced --check extra
	call 2 "say --pin-dir instead" sluiced --detach --config /etc/sluice/sluice.yaml
	call 2 "say pin_dir in the configuration" sluiced --pin-dir /sys/fs/bpf/ssys-none
	call 0 "usage: sluicectl" sluicectl --help
	call 0 "usage: sluicectl" sluicectl -h
	call 0 "sluicectl " sluicectl --version
	call 0 "sluicectl " sluicectl -V
	call 2 "usage: sluicectl" sluicectl
	call 2 "usage: sluicectl" sluicectl --frobnicate
	call 2 "usage: sluicectl" sluicectl --pin-dir
	call 2 "'frobnicate' is not a command: see sluicectl --help" sluicectl frobnicate
	for command in probe status flows stats bypass replay; do
		call 0 "usage: sluicectl $command" sluicectl $command --help
	done
	for command in status flows stats bypass replay; do
		call 2 "" sluicectl $command --frobnicate
		call 2 "" sluicectl $command one two three
	done
	call 2 "bypass on|off" sluicectl bypass maybe
	call 2 "bypass on|off" sluicectl bypass
	call 2 "" sluicectl replay --eta 2 /dev/null
	call 2 "" sluicectl replay
}
