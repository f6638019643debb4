# SPDX-License-Identifier: GPL-2.0-only
# Sourced by scripts that touch namespaces (measure, shell): the parts, one lab at a time, nothing left
# behind.

LAB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB_BUILD=$LAB_DIR/../../build
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL=C
. "$LAB_DIR/cc.sh"
. "$LAB_DIR/params.sh"
. "$LAB_DIR/net.sh"
. "$LAB_DIR/traffic.sh"
. "$LAB_DIR/web.sh"
. "$LAB_DIR/star.sh"
. "$LAB_DIR/dumbbell.sh"
. "$LAB_DIR/node.sh"
. "$LAB_DIR/racks.sh"
. "$LAB_DIR/pfc.sh"
. "$LAB_DIR/fabric.sh"

LAB_LOCK=/run/slab.lock
LAB_MECH= # of LAB=pfc and fabric: none, pfc or ppfc

lab_say() { echo "$*" >&2; }

# Removes everything, whatever happened; harmless when there is nothing.
lab_down() {
	net_stop
	web_clean
	cc_remove
	net_down
}

# The names of the namespaces are fixed, so there is one lab a machine. Removes what a killed one
# left.
lab_begin() {
	((EUID == 0)) || {
		lab_say "lab: namespaces need root; run it as root, or with VM=6.12 as anybody"
		exit 1
	}
	exec 9>"$LAB_LOCK"
	flock -n 9 || {
		lab_say "lab: a lab is running already (it holds $LAB_LOCK);" \
			"make lab-shell gets you into it"
		exit 1
	}
	trap 'trap "" INT TERM HUP; lab_down; cc_restore' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	net_down
	net_probe_kernel || exit 3
	cc_prepare
}

# The base round trip of the probe in microseconds, with nothing else on the wire.
lab_base() {
	local receiver=${NET_RECEIVERS[0]}

	"$LAB_BUILD/lab-probe" -c probe -s "$receiver" -a "${NET_ADDR[$receiver]}" \
		-i 10000 -n 23 -w 3
}

# lab_up CC DIR: the topology with CC in it; LAB_BASE is its base round trip.
lab_up() {
	LAB_CC=$1
	"${LAB}_up" || return 1
	LAB_BASE=$(lab_base) || return 1
	cc_apply "$1" "$LAB_BASE" "$2"
}
