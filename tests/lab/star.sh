# SPDX-License-Identifier: GPL-2.0-only
# Star: senders h1 ... hN on the ports p1 ... pN of the switch s1; its port p0 to the receiver r1
# is the bottleneck.
#
#	h1 --p1--+
#	h2 --p2--+-- s1 --p0 (tbf RATE, BUFFER)-- r1
#	hN --pN--+
#	probe ---+
star_up() {
	local i

	net_reset
	net_switch s1
	net_host r1 s1 p0 2.0
	net_bottleneck s1 p0
	for ((i = 1; i <= LAB_SENDERS; i++)); do
		net_sender "h$i" s1 "p$i" "1.$i"
		NET_SENDERS+=("h$i") NET_SENDER_PORTS+=("s1:p$i")
		NET_RECEIVERS+=(r1) NET_PATHS+=("")
	done
	net_sender probe s1 pp 3.0
	net_commit
}

# The same with UDP, which traffic.sh knows.
udp_up() { star_up; }
