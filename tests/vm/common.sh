# SPDX-License-Identifier: GPL-2.0-only
# Sourced by the scripts of this directory: where things are, and how they talk.

set -euo pipefail
export LC_ALL=C
# Tools such as tc, depmod and bpftool live in sbin, which an ordinary user's PATH leaves out.
PATH=$PATH:/usr/sbin:/sbin

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REPO_DIR=$(cd "$VM_DIR/../.." && pwd)
BUILD_DIR=$REPO_DIR/build/vm
VM_NAMES="oldest stable newest"

SAYS=${SAYS:-vm}
say() { echo "$SAYS: $*" >&2; }

# die MESSAGE...: the first line says what failed, further ones what to do about it.
die()
{
	local line

	for line in "$@"; do
		echo "$SAYS: $line" >&2
	done
	exit "${EXIT_CODE:-1}"
}

# need COMMAND PACKAGE [COMMAND PACKAGE]...: all that is missing is named at once.
need()
{
	local missing=

	while [ $# -gt 0 ]; do
		command -v "$1" >/dev/null || missing="$missing $2"
		shift 2
	done
	[ -z "$missing" ] || die "these packages are missing:$missing" \
		"install them with: apt-get install --no-install-recommends$missing"
}

# libs_of FILE...: the shared libraries and the loader that FILEs need. Scripts, data and static
# programs among them add nothing.
libs_of()
{
	{ ldd "$@" 2>/dev/null || true; } |
		awk '$2 == "=>" && $3 == "not" { print "library " $1 " not found" > "/dev/stderr" }
		     $2 == "=>" && $3 ~ /^\// { print $3 }
		     $1 ~ /^\// && $2 ~ /^\(/ { print $1 }' | sort -u
}

# new_root DIR: an empty root whose only directory for programs is /usr/bin, so that no program
# can shadow another. Both archives of the initramfs start from it and so agree on the links.
new_root()
{
	mkdir -p "$1"/usr/bin "$1"/usr/lib "$1"/usr/lib64
	ln -s usr/bin "$1/bin"
	ln -s usr/bin "$1/sbin"
	ln -s bin "$1/usr/sbin"
	ln -s usr/lib "$1/lib"
	ln -s usr/lib64 "$1/lib64"
}

# copy_to ROOT FILE...: each FILE, not the link to it, to the same path below ROOT.
copy_to()
{
	local root=$1 file

	shift
	for file in "$@"; do
		mkdir -p "$root$(dirname "$file")"
		cp -L "$file" "$root$file"
	done
}

# copy_libs ROOT LIBRARY...: all into the directory of libc, wherever they were (/usr/local, a
# compiler's own): the guest has no ld.so.cache and so its loader looks there only.
copy_libs()
{
	local root=$1 libc_dir file

	shift
	libc_dir=$(realpath "$(libs_of "$(type -P bash)" | grep '/libc\.so' | xargs dirname)")
	for file in "$@"; do
		case $file in
		*/ld-linux*) copy_to "$root" "$file" ;;
		*) mkdir -p "$root$libc_dir" && cp -L "$file" "$root$libc_dir/" ;;
		esac
	done
}

# pack ROOT: a cpio archive of ROOT on stdout that depends on names, modes and contents only.
# Dates, owners and inode numbers would change how many instructions the guest's kernel needs
# to unpack it, and with them every nanosecond that follows.
pack()
{
	find "$1" -exec touch -h -d @1767225600 {} +
	(cd "$1" && find . -mindepth 1 | sort | cpio -o -H newc -R 0:0 --reproducible --quiet)
}
