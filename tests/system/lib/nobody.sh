# SPDX-License-Identifier: GPL-2.0-only
# Programs as somebody without any right.

# By setpriv, or by the su of busybox where nothing else is.
nobody_by() {
	setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null && echo setpriv && return
	busybox su -s /bin/sh nobody -c true 2>/dev/null && echo su
}

# Ends the case where nobody cannot be had; otherwise the programs are where nobody may read them.
nobody_can() {
	NOBODY=$(nobody_by)
	[[ $NOBODY ]] || skip "no setpriv, and no su of busybox"
	chmod 711 "$WORK"
	[[ -d $WORK/bin ]] || install -D -m 755 -t "$WORK/bin" "$BUILD/sluiced" "$BUILD/sluicectl"
}

# as_nobody sluicectl ARGUMENT...
as_nobody() {
	local program=$WORK/bin/$1

	shift
	if [[ $NOBODY == setpriv ]]; then
		setpriv --reuid 65534 --regid 65534 --clear-groups "$program" "$@"
	else
		busybox su -s /bin/sh nobody -c "$(printf '%q ' "$program" "$@")"
	fi
}
