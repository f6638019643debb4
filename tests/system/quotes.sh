# SPDX-License-Identifier: GPL-2.0-only
# Pages quote tables in the form in which they are printed: numbers, addresses and the words that tell a flow's state are masked, and
# runs of spaces are one. A column that comes, goes or moves makes this fail, and names the page.

QUOTES_DOCS=${QUOTES_DOCS:-$SYSTEM_DIR/../../docs}

# quotes_form: of each line of stdin.
quotes_form() {
	sed -E 's/\[[0-9a-f:]+\]|[0-9]+(\.[0-9]+){3}/A/g; s/\b(window|rate|hop|credit|pause|none)( +(governed|dry-run|no feedback yet|plain|>?[0-9]+s))/HELD\2/
		s/\b(governed|dry-run|no feedback yet|plain)\b.*$/STATE/; s/>?\b[0-9]+s$/AGE/; s/[0-9]{4}-[0-9T:+-]+/TIME/; s/\b0-[0-9]+[mu]?s\b/SCALE/; s/[0-9]+(\.[0-9]+)?/N/g
		s/ - / N /g; s/ +/ /g; s/^ | $//g'
}

# The tables of flows and ports in the pages, with the page in front: titles, and lines of flows.
quotes_of_pages() {
	local page

	for page in "$QUOTES_DOCS"/*.md; do
		grep -E '^    (.*(WHY +STATE|WHY +FOR)$|PORT +TX Mb/s|(20[0-9T:+-]+ )?[0-9.]+:[0-9]+ -> [0-9.]+:[0-9]+  |[0-9.]+:[0-9]+ +[0-9]+ .*(governed|s)$)' "$page" |
			quotes_form | sed "s|^|${page##*/}\t|"
	done | sort -u
}

quotes__pages_have_the_form_of_what_is_printed() {
	local quoted wrong

	[[ -d $QUOTES_DOCS ]] || skip "no docs/ here"
	need script stty
	plain_terminal
	operator_up
	bulk_start h1 10.2.0.2
	governed_soon h1
	{
		ctl h1 flows
		ctl h1 top --batch -n 1
		ctl h1 why ":$(bulk_port)"
		on_terminal 115 5 flows
		cat "$CASE_DIR/terminal.txt"
		on_terminal 80 5 flows --sort sent
		cat "$CASE_DIR/terminal.txt"
		top_shows 80 h1 "TERM=ssys TERMINFO=$CASE_DIR/terminfo"
		# A full line runs on into the next.
		lines_drawn '^PORT ' | cut -c 1-80
	} >"$CASE_DIR/printed.txt"
	bulk_stop
	quotes_form <"$CASE_DIR/printed.txt" | sort -u >"$CASE_DIR/forms.txt"
	quotes_of_pages >"$CASE_DIR/quoted.txt"
	quoted=$(wc -l <"$CASE_DIR/quoted.txt")
	expect "forms of lines that pages quote" "$quoted" -ge 8
	wrong=$(awk -F'\t' 'NR == FNR { printed[$0] = 1; next } !($2 in printed) { print $1 ": " $2 }' "$CASE_DIR/forms.txt" "$CASE_DIR/quoted.txt")
	expect "lines in pages that nothing prints so" "$wrong" = ""
}
