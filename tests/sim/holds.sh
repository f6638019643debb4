# SPDX-License-Identifier: GPL-2.0-only
# The result of each check of the simulations; status is 1 when one of them did not hold.
status=0

# holds NAME CONDITION FIGURES: a condition of awk.
holds() {
	if awk "BEGIN { exit !($2) }"; then
		echo "ok $1: $3"
	else
		echo "not ok $1: $3"
		status=1
	fi
}
