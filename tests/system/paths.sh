# SPDX-License-Identifier: GPL-2.0-only
# Companions on paths that choose, rewrite or drop packets: they take the path of their flow's data, and whatever becomes of
# them, data arrives whole.

# A companion has it 8 bytes behind its IP header.
PATHS_MARKER=0x534c4332

# paths_rule RULE: one of nftables for whatever the router sends on.
paths_rule() {
	net_in sw nft -f - 2>"$CASE_DIR/nft.log" <<-END || skip "no nftables of that kind here: $(head -n 1 "$CASE_DIR/nft.log")"
		table inet paths {
			chain onward { type filter hook forward priority 0; $1; }
		}
	END
}

# How many packets the rule with a counter met.
paths_met() { net_in sw nft list table inet paths | awk '/counter/ { for (i = 1; i < NF; i++) if ($i == "packets") n += $(i + 1) } END { print n + 0 }'; }

# paths_file FROM TO ADDRESS: a file of 10 MB from a web server at FROM arrives at TO as it is, and no connection is reset.
paths_file() {
	local from=$1 to=$2 address=$3 host=$3 resets

	[[ $address != *:* ]] || host=[$address]
	[[ -e $CASE_DIR/file ]] || head -c 10000000 /dev/urandom >"$CASE_DIR/file"
	server_listens "$from" 8000 || {
		net_exec "$from" setsid python3 -m http.server -b :: -d "$CASE_DIR" 8000 >"$CASE_DIR/http.log" 2>&1 9>&- &
		SERVERS+=($!)
		wait_for 20 "the web server listens on $from" server_listens "$from" 8000
	}
	resets=$(paths_resets)
	timeout 60 nsenter --net="/run/netns/$NET_PREFIX$to" curl -sS "http://$host:8000/file" -o "$CASE_DIR/got" \
		2>"$CASE_DIR/curl.log" 9>&- || fail "curl from $address: $(<"$CASE_DIR/curl.log")"
	same "what was read from $address and what was sent" "$CASE_DIR/got" "$CASE_DIR/file"
	expect "connections that were reset" "$(paths_resets)" -eq "$resets"
}

paths_resets() { echo $(($(net_snmp h1 Tcp.OutRsts Tcp.EstabResets) + $(net_snmp h2 Tcp.OutRsts Tcp.EstabResets))); }

# Somebody who never had Sluice is asked, by PROBEs of UDP, and gets no companion.
paths__end_at_a_peer_without_sluice() {
	need nft python3 curl
	net_up
	companion_config
	daemon_start h1 sw
	paths_rule "@th,64,32 $PATHS_MARKER counter"
	server h2
	paths_file h1 h2 10.1.0.2
	paths_file h1 h2 fd00:1::2
	bulk_start h1 10.2.0.2
	flow_soon h1 "state of the flow" .state plain
	why_soon plain
	expect "questions" "$(stat_of h1 probe_sent)" -ge 1
	expect "companions" "$(stat_of h1 companion_sent)" -eq 0
	expect "packets that look like one" "$(paths_met)" -eq 0
	expect "errors that h2's stack saw" "$(net_snmp h2 Tcp.InErrs Udp.InErrors)" -eq 0
	bulk_goes_on
	bulk_stop
}

# A router that drops packets that it does not know: the peer counts as silent, data goes on without control, and sluicectl
# reports it.
paths__that_drop_companions_pass_data() {
	local address

	need nft python3 curl
	for address in 10.1.0.2 fd00:1::2; do
		net_up
		companion_config
		daemon_start h1 h2 sw
		paths_rule "@th,64,32 $PATHS_MARKER counter drop"
		paths_without_companions $address
		net_down
	done
}

paths__with_connection_tracking_pass_data() {
	need nft python3 curl
	net_up
	companion_config
	daemon_start h1 h2 sw
	paths_rule "ct state invalid counter drop"
	paths_without_companions 10.1.0.2
}

# paths_without_companions ADDRESS: of h1.
paths_without_companions() {
	local to=10.2.0.2

	[[ $1 != *:* ]] || to=fd00:2::2
	paths_file h1 h2 "$1"
	server h2
	bulk_start h1 $to
	counts h1 0 companion_sent
	counts h1 0 peer_silent
	why_soon plain
	expect "companions that the router dropped" "$(paths_met)" -ge 1
	expect "companions that were answered" "$(stat_of h2 rx_companion)" -eq 0
	expect "packets without telemetry" "$(stat_of h1 tx_peer_unknown)" -ge 100
	expect "packets dropped for a window" "$(stat_of h1 tx_beyond)" -eq 0
	bulk_goes_on
	bulk_stop
	servers_stop
	daemon_stop h1 h2 sw
}

# A router that writes its own address in the place of h1's. A PROBE does not fit its packet then, or is answered to
# the router: flows go plain, and data arrives whole both ways, with a key and without.
paths__with_address_translation_pass_data() {
	local auth

	need nft python3 curl
	for auth in "auth: $(key_file)" "auth: none"; do
		net_up
		host_config h1 "hpcc: {telemetry: companion}" "$auth" >"$CASE_DIR/h1.yaml"
		host_config h2 "hpcc: {telemetry: companion}" "$auth" >"$CASE_DIR/h2.yaml"
		daemon_start h1 h2 sw
		paths_translate postrouting "oifname p2 masquerade"
		paths_file h2 h1 10.2.0.2
		expect "the client that h2's web server saw" "$(grep -c '^::ffff:10.2.0.1 ' "$CASE_DIR/http.log")" -ge 1
		server h2
		bulk_start h1 10.2.0.2
		why_soon plain
		expect "questions" "$(stat_of h1 probe_sent)" -ge 1
		expect "companions of h1" "$(stat_of h1 companion_sent)" -eq 0
		expect "companions that arrived" "$(stat_of h1 rx_companion) $(stat_of h2 rx_companion)" = "0 0"
		bulk_goes_on
		bulk_stop
		servers_stop
		daemon_stop h1 h2 sw
		net_down
		rm "$CASE_DIR/http.log"
	done
}

# paths_translate HOOK RULE: at the router.
paths_translate() {
	local priority=100

	[[ $1 == postrouting ]] || priority=-100
	net_in sw nft -f - 2>"$CASE_DIR/nft.log" <<-END || skip "no address translation here: $(head -n 1 "$CASE_DIR/nft.log")"
		table ip translate {
			chain ways { type nat hook $1 priority $priority; $2; }
		}
	END
}

# A router that has an address for h1, as a load balancer does. Companions leave by the address of h1, and are answered there:
# that connection is governed as the others are.
paths__with_another_address_of_the_sender_govern() {
	need nft python3 curl
	net_up
	companion_config
	daemon_start h1 h2 sw
	paths_translate prerouting "ip daddr 10.1.0.9 dnat to 10.1.0.2"
	server h2
	bulk_start h1 10.2.0.2
	governed_soon h1
	paths_file h1 h2 10.1.0.9
	expect "its feedback" "$(ctl h1 flows --json | jq '[.[] | select(.local_port == 8000).feedbacks] | max')" -ge 20
	expect "peers that fell silent" "$(stat_of h1 peer_silent)" -eq 0
	expect "errors that h2's stack saw" "$(net_snmp h2 Tcp.InErrs Udp.InErrors)" -eq 0
	bulk_unharmed
	bulk_stop
}

# A router that classifies anew. Companions, too, go on in another class and come back.
paths__that_change_dscp_pass_companions() {
	local address

	need nft python3 curl
	net_up
	companion_config
	daemon_start h1 h2 sw
	paths_rule "ip dscp set cs1 counter; ip6 dscp set cs1 counter"
	for address in 10.2.0.2 fd00:2::2; do
		server h2
		bulk_start h1 $address
		governed_soon h1
		grows "answers" 20 stat_of h1 rx_probe_reply
		grows "stamps" 20 stat_of sw hop_stamped
		grows "feedback" 20 flow_of h1 .feedbacks
		bulk_unharmed
		bulk_stop
		servers_stop
	done
	paths_file h1 h2 10.1.0.2
	expect "packets in another class" "$(paths_met)" -ge 1000
	expect "peers that fell silent" "$(stat_of h1 peer_silent)" -eq 0
	expect "data of h1 with a header of ours" "$(stat_of h1 tx_data)" -eq 0
	expect "errors that h2's stack saw" "$(net_snmp h2 Tcp.InErrs Udp.InErrors)" -eq 0
}
