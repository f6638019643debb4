# SPDX-License-Identifier: GPL-2.0-only
# Sourced by scripts that fetch packages of a Debian suite which is not the machine's own, through a throw-away apt configuration.
# SLUICE_VM_MIRROR and SLUICE_VM_KEYRING are those of tests/vm/kernel.

# The archives of the machine's sources, those known to be Debian's first, and Debian's.
mirrors()
{
	[ -z "${SLUICE_VM_MIRROR:-}" ] || echo "$SLUICE_VM_MIRROR"
	# Without release information those are listed, too, whose index was not fetched yet.
	{
		apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages'
		apt-get indextargets --no-release-info --format '$(REPO_URI)' 'Created-By: Packages'
	} | awk '!seen[$NF]++ { print $1 == "Debian" ? 0 : 1, $NF }' | sort -s -k1,1n | cut -d' ' -f2
	# Without TLS: the packages are signed, and that needs no certificates.
	sed -n 's/^BaseURI: https\{0,1\}:/http:/p;T;q' /usr/share/python-apt/templates/Debian.info 2>/dev/null || true
}

keyring()
{
	local file

	for file in ${SLUICE_VM_KEYRING:-/usr/share/keyrings/debian-archive-keyring.pgp \
			/usr/share/keyrings/debian-archive-keyring.gpg}; do
		[ ! -r "$file" ] || { echo "$file"; return; }
	done
	[ -z "${SLUICE_VM_KEYRING:-}" ] || die "keyring $SLUICE_VM_KEYRING cannot be read"
}

# write_apt_conf DIR MIRROR SUITE: the machine's own configuration (proxies, certificates) stays in
# force below this one. Its hooks do not: they are about the system's lists.
write_apt_conf()
{
	local keys

	keys=$(keyring)
	mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
	: >"$1/status"
	echo "deb [arch=amd64${keys:+ signed-by=$keys}] $2 $3 main" >"$1/sources.list"
	cat >"$1/apt.conf" <<-EOF
		#clear APT::Update::Pre-Invoke;
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
		Dir::Etc::sourcelist "$1/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
		Dir::State "$1";
		Dir::State::lists "$1/lists";
		Dir::State::status "$1/status";
		Dir::Cache "$1/cache";
		APT::Architecture "amd64";
		APT::Architectures "amd64";
		APT::Sandbox::User "";
		APT::Update::Error-Mode "any";
		Acquire::Languages "none";
	EOF
}
