# SPDX-License-Identifier: GPL-2.0-only
# The companions of one run, from the counters ($stats) and the flows ($flows) of its daemons; null: there were none.
# A companion is 14 bytes of Ethernet, 20 of IPv4, and 76 behind that.
def sum: add // 0;
def round_to(n): . * n | round / n;

($stats | map(.companion_sent) | sum) as $sent
| ($stats | map(.tx_beside) | sum) as $packets
| ($flows | flatten | map(select(.telemetry_mode == "companion"))) as $of
| ($of | map(.tx_bytes) | sum) as $bytes
| ($of | map(.feedbacks) | sum) as $feedbacks
| if $sent > 0 and $packets > 0 and $bytes > 0 then
	{ sent: $sent, of_packets: ($sent / $packets | round_to(10000)), of_bytes: ($sent * 110 / $bytes | round_to(10000)),
	  packets_per_feedback: (if $feedbacks > 0 then $packets / $feedbacks | round_to(10) else null end) }
  else null end
