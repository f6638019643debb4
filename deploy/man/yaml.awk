# SPDX-License-Identifier: GPL-2.0-only
# From docs/configuration.md to sluice.yaml(5): units and keys.
function plain(s) {
	while (match(s, /\[[^\]]*\]\([^)]*\)/)) {
		t = substr(s, RSTART + 1, RLENGTH - 1)
		sub(/\]\(.*/, "", t)
		s = substr(s, 1, RSTART - 1) t substr(s, RSTART + RLENGTH)
	}
	gsub(/`|\*/, "", s)
	gsub(/\\/, "\\e", s)
	gsub(/^ +| +$/, "", s)
	return s
}
# A line that begins with a dot or a quote is a request to troff.
function line(s,    n, i) {
	gsub(/[.:;] +/, "&\n", s)
	n = split(s, sentence, / *\n/)
	for (i = 1; i <= n; i++)
		print (sentence[i] ~ /^[.']/ ? "\\&" : "") sentence[i]
}
BEGIN {
	FS = " *\\| *"
	print ".\\\" SPDX-License-Identifier: GPL-2.0-only\n.\\\" Made from docs/configuration.md."
	print ".Dd November 22, 2026\n.Dt SLUICE.YAML 5\n.Os Sluice"
	print ".Sh NAME\n.Nm sluice.yaml\n.Nd configuration of sluiced"
	print ".Sh SYNOPSIS\n.Pa /etc/sluice/sluice.yaml"
	print ".Sh DESCRIPTION"
	print ".Xr sluiced 8\nreads one YAML file, checks it whole before anything changes, and takes an unknown key for an error.\n" \
	      ".Ql sluiced --check -c FILE\nchecks only."
}
/^## / {
	if (part == "## Keys") print ".El"
	part = $0
	if (part == "## Units") print ".Ss Units\n.Bl -tag -width Ds"
	else if (part == "## Keys") print ".Ss Keys\n.Bl -tag -width Ds"
}
part == "## Units" && /^\| (speed|time|bytes) / {
	print ".It " plain($2); line(plain($3) ". Example: " plain($4) ".")
}
part == "## Keys" && /^\| `/ {
	print ".It Cm " plain($2)
	line(plain($6))
	print ".br"
	line("Value: " plain($3) ". Default: " ($4 == "" ? "none" : plain($4)) ". SIGHUP: " ($5 == "" ? "at once" : plain($5)) ".")
}
part == "## Units" && /^The unit is required/ { print ".El"; part = "" }
END {
	print ".Sh EXAMPLES\nA host:\n.Bd -literal -offset indent"
	print "mode: dry-run\nauth: /etc/sluice/key\ntcp: {default: true}\nmetrics: {}"
	print "interfaces:\n  - {name: eth0, role: host}\npeers:\n  - {prefix: 10.0.0.0/8, base_rtt: 30us}\n.Ed"
	print ".Pp\nA port of a Linux switch:\n.Bd -literal -offset indent\ninterfaces:\n  - {name: swp1, role: switch, id: 1}\n.Ed"
	print ".Sh SEE ALSO\n.Xr sluicectl 8 ,\n.Xr sluiced 8"
}
