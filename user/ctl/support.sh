#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# sluicectl support [--config FILE] [ARCHIVE]: the state of this machine for somebody else to analyse, in one tar archive.
# cmd_support.c compiles this text in, and sets the variables SLUICE*.
#
#  1. A table of commands, whose output makes the files. Each has a time limit; a failed one is still in the archive,
#     with its messages, and is named at the end with its missing capabilities.
#  2. The archive is made under another name, and gets its own when it is complete: a full disk or a signal leaves
#     nothing.
#  3. The authentication key is never read; the configuration names its file. Text there that looks like a key is left
#     out.

seconds=60 mib=64 # for each command, of each file
PATH=${PATH:+$PATH:}/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C SLUICE_CONFIG
umask 077

say() { echo "sluicectl: $*" >&2; }

usage() {
	say "usage: sluicectl support [--config FILE] [ARCHIVE.tar]"
	exit 2
}

# fail MESSAGE: the end of what a command says is the reason.
fail() {
	case $1 in
	*"No space left"* | *quota*) where="; name a file where there is room" ;;
	*) where= ;;
	esac
	say "$archive: ${1##*: }: nothing is left of it$where"
	exit 1
}

archive=
while [ $# -gt 0 ]; do
	case $1 in
	--config)
		[ $# -gt 1 ] || usage
		SLUICE_CONFIG=$2
		shift
		;;
	-*) usage ;;
	*)
		[ -z "$archive" ] || usage
		archive=$1
		;;
	esac
	shift
done
archive=${archive:-sluice-support-$(uname -n)-$(date +%Y%m%dT%H%M%S).tar}
if [ -e "$archive" ]; then
	say "$archive: File exists: name another file"
	exit 1
fi
trap 'rm -rf "$part" "$work"' EXIT
trap 'exit 130' HUP INT TERM
if ! why=$(mktemp "$archive.XXXXXX" 2>&1); then
	say "$archive: ${why##*: }"
	exit 1
fi
part=$why
work=$(mktemp -d) || exit 1
in=$work/sluice-support
mkdir "$in"

# --- 1. ---

quote() { printf '"%s"' "$(printf %s "$1" | tr -d '\000-\037' | sed 's/[\\"]/\\&/g')"; }

lacks() {
	say "$file is not complete: $1"
	echo "$file: $1" >>"$in/MISSING.txt"
	lacking="$lacking${lacking:+,}{\"file\":\"$file\",\"reason\":$(quote "$1")}"
}

run() {
	# shellcheck disable=SC2016 # for the shell that runs it
	timeout $seconds sh -c 'ctl() {
		"$SLUICECTL" --pin-dir "$SLUICE_PINS" ${SLUICE_BUNDLES:+--bundles "$SLUICE_BUNDLES"} "$@"
	}; '"$1" </dev/null 2>&1
	echo $? >"$work/status"
}

# Returns 3 if it leaves out the end.
keep() {
	why=$(head -c $((mib << 20)) 2>&1 >"$1") || fail "$why"
	[ "$(wc -c)" -eq 0 ] || exit 3
}

files='' lacking=''
while read -r file needs command; do
	# In the background, for wait ends with a signal.
	{ run "$command" | keep "$in/$file"; } &
	wait $!
	cut=$?
	[ $cut -ne 1 ] || exit 1
	read -r status <"$work/status"
	if [ "$status" -ne 0 ]; then
		eval "missing=\${SLUICE_$needs:-}"
		first=$(head -n 1 "$in/$file" | head -c 200)
		if [ "$missing" ]; then
			lacks "it needs $missing"
		elif [ "$status" -eq 124 ]; then
			lacks "it took longer than $seconds s"
		else
			[ "$file" != config.yaml ] || first="$first (--config FILE names another)"
			lacks "${first:-it failed and said nothing}"
		fi
	fi
	[ $cut -ne 3 ] || lacks "cut after $mib MiB: run its command by itself for the rest"
	files="$files $file"
done <<'END'
version.txt NOTHING "$SLUICECTL" --version; uname -a; cat /etc/os-release; date; uptime
config.yaml NOTHING sed -E 's/[0-9a-fA-F]{32,}/********/g' "$SLUICE_CONFIG"
probe.json NOTHING ctl probe --json; true
stats-1.json READ ctl stats --json
status.json READ ctl status --json
flows.json READ ctl flows --json
int.json READ ctl int --json
voqs.json READ ctl voqs --json
credits.json READ ctl credits --json
pods.json NOTHING ctl pods --json
ports.json READ ctl ports --json
queue.json READ ctl queue --json
set.json READ ctl set --json
ip-link.txt NOTHING ip -d -s link && ip address
ip-route.txt NOTHING ip rule && ip route show table all && ip -6 route show table all
tc-qdisc.txt NOTHING tc -d -s qdisc
tc-filter.txt NOTHING ip -o link | awk -F': ' '{ sub("@.*", "", $2); print $2 }' | while read -r d; do echo "# $d"; tc -s filter show dev "$d" egress; tc -s filter show dev "$d" ingress; done
sysctl.txt NOTHING cd /proc/sys/net && grep -H . ipv4/tcp_*congestion_control core/default_qdisc ipv4/tcp_[rw]mem; true
ss.txt NOTHING ss -s && ss -tinm | head -n 4000
bpftool-net.txt ADMIN bpftool net show
bpftool-prog.txt ADMIN bpftool prog show
bpftool-map.txt ADMIN bpftool map show
bpftool-link.txt ADMIN bpftool link show
bpftool-struct_ops.txt ADMIN bpftool struct_ops show
kernel.log SYSLOG dmesg | tail -n 5000 | grep ''
sluiced.log NOTHING journalctl -q --no-pager -n 5000 -u sluiced -u sluice; true
stats-2.json READ sleep 1; ctl stats --json
END

# --- 2. ---

[ -z "$lacking" ] || files="$files MISSING.txt"
# shellcheck disable=SC2046,SC2086 # a list
why=$(tar -C "$work" -cf "$work/archive" $(printf 'sluice-support/%s ' $files) 2>&1) || fail "$why"
why=$({ cat "$work/archive" >"$part" && sync "$part" && mv -n "$part" "$archive"; } 2>&1) || fail "$why"
[ ! -e "$part" ] || fail "File exists"
size=$(wc -c <"$archive")
if [ "$SLUICE_JSON" ]; then
	# shellcheck disable=SC2086 # a list
	printf '{"archive":%s,"size_bytes":%d,"files":[%s],"missing":[%s]}\n' "$(quote "$archive")" "$size" \
		"$(printf ',"%s"' $files | cut -c 2-)" "$lacking"
else
	# shellcheck disable=SC2086 # a list
	set -- $files
	echo "$archive: $size bytes, $# files${lacking:+ (MISSING.txt: what was not to be had)}; it has addresses of this network, and no keys"
fi
