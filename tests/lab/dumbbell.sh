# SPDX-License-Identifier: GPL-2.0-only
# Dumbbell of two switches in a row, each with a bottleneck port p0. Flows are dealt in turn to
# path A (through both), B (through the first only) and C (through the second only).
#
#	A, B, probe --- s1 --p0 (tbf)-- s2 --p0 (tbf)-- r1   receives A, C and the probe
#	                                |  \--pb------- r2   receives B
#	C ------------------------------+
dumbbell_up() {
	local i switch receiver path

	net_reset
	net_switch s1
	net_switch s2
	net_link s2 px s1 p0 4.0
	net_bottleneck s1 p0
	net_host r1 s2 p0 2.0
	net_bottleneck s2 p0
	net_host r2 s2 pb 2.1
	net_route s1 2.0 4.0 2
	net_route s1 2.1 4.0 2
	for ((i = 1; i <= LAB_SENDERS; i++)); do
		case $((i % 3)) in
		1) path=A switch=s1 receiver=r1 ;;
		2) path=B switch=s1 receiver=r2 ;;
		0) path=C switch=s2 receiver=r1 ;;
		esac
		net_sender "h$i" $switch "p$i" "1.$i"
		[[ $switch == s1 ]] && net_route s2 "1.$i" 4.0 1
		NET_SENDERS+=("h$i") NET_SENDER_PORTS+=("$switch:p$i")
		NET_RECEIVERS+=("$receiver") NET_PATHS+=("$path")
	done
	net_sender probe s1 pp 3.0
	net_route s2 3.0 4.0 1
	net_commit
}
