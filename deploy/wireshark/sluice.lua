-- SPDX-License-Identifier: GPL-2.0-only
-- Dissector of Sluice's messages for Wireshark and tshark (4.0 or later), in both encodings of telemetry.
-- The format is that of docs/protocol.md; the names of fields are those of include/sluice/wire/wire.h.
--
--   tshark -X lua_script:sluice.lua -r capture.pcap -Y sluice
--
-- Companions, which stand in the headers of their flow, are read behind Wireshark's own dissectors, which call them cut short
-- or malformed.
--
-- Or copy it to the folder "Personal Lua Plugins" that Help > About > Folders names.

local VERSION, PORT, MAX_HOPS, HOP_BYTES = 4, 5463, 5, 8
local SHIM_BYTES, HDR_BYTES, VOQ_BYTES, ECHO_BYTES, REPORT_BYTES, AUTH_BYTES = 4, 8, 12, 12, 24, 16
local MAX_REPORTS = 32
local SHIM_INTMD, SHIM_HPCC, NPT_IP, PROTO_SLUICE = 1, 9, 2, 253
local COMPANION_BYTES, COMPANION_MARKER, COMPANION_LENGTH, COMPANION_NO_PORT = 20, 0x534c4332, 4, 7
local DATA, PROBE, PROBE_REPLY, FEEDBACK, CREDIT, RATE = 1, 2, 3, 4, 5, 6
local F_ECHO, F_AUTH, F_WINDOW, F_VOQ, F_RIDE, F_HELD = 1, 2, 4, 16, 32, 64
local VOQ_CREDIT, VOQ_DUE = 16, 32

local messages = { [DATA] = "DATA", [PROBE] = "PROBE", [PROBE_REPLY] = "PROBE_REPLY", [FEEDBACK] = "FEEDBACK",
	[CREDIT] = "CREDIT", [RATE] = "RATE" }
local types = { [SHIM_INTMD] = "INT-MD", [SHIM_HPCC] = "hpcc" }
local mbps = { [0] = 10, 100, 1000, 2500, 5000, 10000, 14000, 20000, 25000, 40000, 50000, 56000, 100000, 200000, 400000,
	800000 }

local sluice = Proto("sluice", "Sluice")
local f, fields = {}, {}

local function field(name, kind, text, ...)
	f[name] = ProtoField[kind]("sluice." .. name, text, ...)
	fields[#fields + 1] = f[name]
end

field("shim.type", "uint8", "Type", base.DEC, types)
field("shim.npt", "uint8", "Next protocol type", base.DEC)
field("shim.length", "uint8", "Length, words", base.DEC)
field("shim.ip_proto", "uint8", "IP protocol", base.DEC)
field("version", "uint8", "Version", base.DEC)
field("msg", "uint8", "Message", base.DEC, messages)
field("max_hops", "uint8", "Hops reserved, or reports, credits or rates", base.DEC)
field("flags", "uint8", "Flags", base.HEX)
field("echo_hops", "uint8", "Echo hops", base.DEC)
field("seq", "uint32", "Position after this packet, wire bytes", base.DEC)
field("nhop", "uint8", "Hops that have stamped", base.DEC)
field("path_id", "uint16", "Path id", base.HEX)
field("hop", "bytes", "Hop")
field("hop.mbps", "uint32", "Speed, Mbit/s", base.DEC)
field("hop.ts", "uint32", "Time, ns modulo 2^24", base.DEC)
field("hop.tx_bytes", "uint32", "Bytes sent, modulo 2^27", base.DEC)
field("hop.qlen_bytes", "uint32", "Queue, bytes", base.DEC)
field("echo", "bytes", "Echo")
field("echo.seq", "uint32", "Position of the packet that collected it", base.DEC)
field("echo.age_us", "float", "Age, us")
field("echo.nhop", "uint8", "Hops that have stamped", base.DEC)
field("echo.path_id", "uint16", "Path id", base.HEX)
field("echo.flows", "uint16", "Flows at the receiver's port (N)", base.DEC)
field("echo.window", "uint32", "Window, wire bytes (W)", base.DEC)
field("report", "bytes", "Report")
field("report.srcport", "uint16", "Source port of the flow", base.DEC)
field("report.dstport", "uint16", "Destination port of the flow", base.DEC)
field("report.proto", "uint8", "Protocol of the flow", base.DEC)
field("report.flags", "uint8", "Flags", base.HEX)
field("voq", "bytes", "VOQ")
field("voq.tor", "uint32", "ToR", base.HEX)
field("voq.total", "uint32", "Taken in by the VOQ, bytes (S)", base.DEC)
field("voq.flows", "uint16", "Flows in the VOQ (F)", base.DEC)
field("voq.prefixlen", "uint8", "Length of the destination's prefix", base.DEC)
field("voq.mark", "bool", "The host asks its switch for R")
field("voq.rides", "bool", "Its sender takes credit that rides")
field("credit", "bytes", "Credit")
field("credit.addr", "ipv6", "Destination of the VOQ")
field("credit.prefixlen", "uint8", "Length of its prefix", base.DEC)
field("credit.total", "uint32", "Granted to the VOQ, bytes (Csent)", base.DEC)
field("credit.due", "bool", "More was asked for than there was to grant")
field("credit.at", "double", "When it was granted, by the granter's clock, seconds modulo 0.067")
field("rate", "bytes", "Rate")
field("rate.addr", "ipv6", "Destination")
field("rate.prefixlen", "uint8", "Length of its prefix", base.DEC)
field("rate.kbps", "uint32", "R of each flow, kbit/s; 0: stop", base.DEC)
field("rate.alone", "bool", "There is no R: credits have stopped")
field("auth", "bytes", "Authentication")
field("auth.sequence", "uint64", "Sequence, ns", base.DEC)
field("auth.tag", "uint64", "Tag", base.HEX)
field("companion", "bytes", "Companion")
field("companion.srcport", "uint16", "Source port of the flow", base.DEC)
field("companion.dstport", "uint16", "Destination port of the flow", base.DEC)
field("intmd.version", "uint8", "Version", base.DEC)
field("intmd.discard", "bool", "D: a copy, to be thrown away by the sink")
field("intmd.exceeded", "bool", "E: a hop found no remaining hop count")
field("intmd.mtu", "bool", "M: a hop found no room within the MTU")
field("intmd.hop_ml", "uint8", "Hop ML, words", base.DEC)
field("intmd.remaining", "uint8", "Remaining hop count", base.DEC)
field("intmd.instructions", "uint16", "Instruction bitmap", base.HEX)
field("intmd.domain", "uint16", "Domain id", base.HEX)
field("intmd.ds_instructions", "uint16", "Domain-specific instruction", base.HEX)
field("intmd.ds_flags", "uint16", "Domain-specific flags", base.HEX)
field("intmd.hop", "bytes", "Hop")
field("intmd.node", "uint32", "Node id", base.HEX)
field("intmd.queue", "uint8", "Queue id", base.DEC)
field("intmd.qlen_bytes", "uint32", "Queue, bytes", base.DEC)
field("intmd.ts", "uint64", "Egress time, ns", base.DEC)
field("intmd.tx_bytes", "uint32", "Bytes sent, modulo 2^32", base.DEC)
field("intmd.kbps", "uint32", "Speed, kbit/s", base.DEC)
field("intmd.words", "bytes", "Words of the hop")
sluice.fields = fields

local bad = ProtoExpert.new("sluice.malformed", "Malformed", expert.group.MALFORMED, expert.severity.ERROR)
local odd = ProtoExpert.new("sluice.odd", "Not as Sluice sends it", expert.group.PROTOCOL, expert.severity.WARN)
sluice.experts = { bad, odd }
sluice.prefs.port = Pref.uint("UDP port", PORT, "`port` of the configuration")

local function flag(flags, which)
	return flags % (2 * which) >= which
end

-- What the receiver has computed, in the place of a hop.
local function value(tree, tvb, flags)
	if flag(flags, F_WINDOW) then
		tree:add(f["echo.window"], tvb(0, 4))
	else
		tree:add_proto_expert_info(bad, "not a window")
	end
end

-- The 64 bits of a hop.
local function hop(tree, tvb, name)
	local t = tree:add(f["hop"], tvb):set_text(name)
	local code, qlen = tvb(0, 1):bitfield(0, 4), tvb(6, 2):uint() * 80

	t:add(f["hop.mbps"], tvb(0, 1), mbps[code])
	t:add(f["hop.ts"], tvb(0, 4), tvb(0, 4):bitfield(4, 24))
	t:add(f["hop.tx_bytes"], tvb(3, 3), tvb(3, 3):bitfield(4, 20) * 128)
	t:add(f["hop.qlen_bytes"], tvb(6, 2), qlen)
	t:append_text(string.format(": %d Mbit/s, queue %d bytes", mbps[code], qlen))
end

local function telemetry(tree, tvb, room)
	local t = tree:add(sluice, tvb, "Telemetry")
	local nhop = tvb(0, 1):bitfield(0, 4)

	t:add(f["nhop"], tvb(0, 1), nhop)
	t:add(f["path_id"], tvb(0, 2), tvb(0, 2):bitfield(4, 12))
	if nhop > room then
		t:add_proto_expert_info(bad, "more hops than there is room for")
		nhop = room
	end
	for i = 0, nhop - 1 do
		hop(t, tvb(4 + i * HOP_BYTES, HOP_BYTES), "Hop " .. i)
	end
end

-- What a VOQ was granted, in the place of the last hop.
local function ride(tree, tvb)
	local t = tree:add(f["credit"], tvb):set_text("Credit")

	t:add(f["credit.total"], tvb(0, 4))
	t:add(f["credit.at"], tvb(4, 2), tvb(4, 2):uint() * 1024e-9)
	t:add(f["credit.prefixlen"], tvb(6, 1))
	t:add(f["credit.due"], tvb(7, 1), tvb(7, 1):bitfield(7, 1) == 1)
end

local function echo(tree, tvb, hops, flags)
	local t = tree:add(f["echo"], tvb):set_text("Echo")

	t:add(f["echo.seq"], tvb(0, 4))
	t:add(f["echo.age_us"], tvb(4, 2), tvb(4, 2):uint() * 1.024)
	t:add(f["echo.nhop"], tvb(6, 1), tvb(6, 1):bitfield(0, 4))
	t:add(f["echo.path_id"], tvb(6, 2), tvb(6, 2):bitfield(4, 12))
	t:add(f["echo.flows"], tvb(8, 2))
	if flag(flags, F_RIDE) and hops > 0 then
		hops = hops - 1
		ride(t, tvb(ECHO_BYTES + hops * HOP_BYTES, HOP_BYTES))
	end
	if flag(flags, F_WINDOW) then
		if hops == 1 then
			value(t, tvb(ECHO_BYTES, HOP_BYTES), flags)
		else
			t:add_proto_expert_info(bad, "a window is one value")
		end
	else
		for i = 0, hops - 1 do
			hop(t, tvb(ECHO_BYTES + i * HOP_BYTES, HOP_BYTES), "Hop " .. i)
		end
	end
end

local function report(tree, tvb, n)
	local t = tree:add(f["report"], tvb):set_text("Report " .. n)

	t:add(f["report.srcport"], tvb(0, 2))
	t:add(f["report.dstport"], tvb(2, 2))
	t:add(f["report.proto"], tvb(4, 1))
	t:add(f["report.flags"], tvb(5, 1))
	t:add(f["echo.flows"], tvb(6, 2))
	t:add(f["echo.seq"], tvb(8, 4))
	t:add(f["echo.age_us"], tvb(12, 2), tvb(12, 2):uint() * 1.024)
	t:add(f["echo.nhop"], tvb(14, 1), tvb(14, 1):bitfield(0, 4))
	value(t, tvb(16, 8), tvb(5, 1):uint())
end

local function voq(tree, tvb)
	local t = tree:add(f["voq"], tvb):set_text("VOQ")
	local prefixlen = tvb(10, 1):uint()
	local flags = tvb(11, 1):uint()

	t:add(f["voq.tor"], tvb(0, 4))
	if flag(flags, VOQ_CREDIT) then
		t:add(f["credit.total"], tvb(4, 4))
		t:add(f["credit.at"], tvb(8, 2), tvb(8, 2):uint() * 1024e-9)
		t:add(f["credit.due"], tvb(11, 1), flag(flags, VOQ_DUE))
	else
		t:add(f["voq.total"], tvb(4, 4))
		t:add(f["voq.flows"], tvb(8, 2))
	end
	t:add(f["voq.prefixlen"], tvb(10, 1))
	t:add(f["voq.mark"], tvb(11, 1), tvb(11, 1):bitfield(7, 1) == 1)
	t:add(f["voq.rides"], tvb(11, 1), tvb(11, 1):bitfield(4, 1) == 1)
	if prefixlen == 0 or prefixlen > 128 then
		t:add_proto_expert_info(bad, "no prefix that there is")
	end
end

local function credit(tree, tvb, n)
	local t = tree:add(f["credit"], tvb):set_text("Credit " .. n)

	t:add(f["credit.addr"], tvb(0, 16))
	t:add(f["credit.total"], tvb(16, 4))
	t:add(f["credit.prefixlen"], tvb(20, 1))
	t:add(f["credit.due"], tvb(21, 1), tvb(21, 1):bitfield(7, 1) == 1)
	t:add(f["credit.at"], tvb(22, 2), tvb(22, 2):uint() * 1024e-9)
end

local function rate(tree, tvb, n)
	local t = tree:add(f["rate"], tvb):set_text("Rate " .. n)

	t:add(f["rate.addr"], tvb(0, 16))
	t:add(f["rate.kbps"], tvb(16, 4))
	t:add(f["rate.prefixlen"], tvb(20, 1))
	t:add(f["rate.alone"], tvb(21, 1), tvb(21, 1):bitfield(7, 1) == 1)
end

local entry = { [FEEDBACK] = report, [CREDIT] = credit, [RATE] = rate }

-- A message that carries no packet.
local function is_batch(msg)
	return entry[msg] ~= nil
end

-- Bytes of telemetry, or of reports or credits, which are as long.
local function room_bytes(msg, room)
	if is_batch(msg) then return REPORT_BYTES * room end
	return room > 0 and 4 + HOP_BYTES * room or 0
end

local function shim(tree, tvb)
	local t = tree:add(sluice, tvb, "Shim")

	t:add(f["shim.type"], tvb(0, 1), tvb(0, 1):bitfield(0, 4))
	t:add(f["shim.npt"], tvb(0, 1), tvb(0, 1):bitfield(4, 2))
	t:add(f["shim.length"], tvb(1, 1))
	t:add(f["shim.ip_proto"], tvb(3, 1))
end

-- Where each value is within the words of a hop, by the bitmaps; as in include/sluice/wire/intmd.h.
local function intmd_layout(instructions, domain_ours, ds)
	local at, words = {}, 0

	for bit = 0, 14 do
		local asked = flag(instructions, 2 ^ (15 - bit))
		if asked and bit == 0 then at.node = words end
		if asked and bit == 3 then at.queue = words end
		if asked and bit == 5 then at.ts = words end
		if asked then words = words + ((bit >= 4 and bit <= 6) and 2 or 1) end
	end
	if domain_ours then
		if flag(ds, 0x8000) then
			at.tx = words
			words = words + 1
		end
		if flag(ds, 0x4000) then at.speed = words end
	end
	return at
end

local function intmd_hop(tree, tvb, at, name)
	local t = tree:add(f["intmd.hop"], tvb):set_text(name)

	t:add(f["intmd.words"], tvb)
	if at.node then t:add(f["intmd.node"], tvb(4 * at.node, 4)) end
	if at.queue then
		t:add(f["intmd.queue"], tvb(4 * at.queue, 1))
		t:add(f["intmd.qlen_bytes"], tvb(4 * at.queue + 1, 3))
	end
	if at.ts then t:add(f["intmd.ts"], tvb(4 * at.ts, 8)) end
	if at.tx then t:add(f["intmd.tx_bytes"], tvb(4 * at.tx, 4)) end
	if at.speed then t:add(f["intmd.kbps"], tvb(4 * at.speed, 4)) end
end

-- The INT-MD header and stack; tvb holds exactly these.
local function intmd(tree, tvb)
	local t = tree:add(sluice, tvb, "INT-MD")
	local ml = tvb(2, 1):bitfield(3, 5)
	local at, hops

	t:add(f["intmd.version"], tvb(0, 1), tvb(0, 1):bitfield(0, 4))
	t:add(f["intmd.discard"], tvb(0, 1), tvb(0, 1):bitfield(4, 1) == 1)
	t:add(f["intmd.exceeded"], tvb(0, 1), tvb(0, 1):bitfield(5, 1) == 1)
	t:add(f["intmd.mtu"], tvb(0, 1), tvb(0, 1):bitfield(6, 1) == 1)
	t:add(f["intmd.hop_ml"], tvb(2, 1), ml)
	t:add(f["intmd.remaining"], tvb(3, 1))
	t:add(f["intmd.instructions"], tvb(4, 2))
	t:add(f["intmd.domain"], tvb(6, 2))
	t:add(f["intmd.ds_instructions"], tvb(8, 2))
	t:add(f["intmd.ds_flags"], tvb(10, 2))
	if tvb(0, 1):bitfield(0, 4) ~= 2 then
		t:add_proto_expert_info(bad, "INT-MD of another version than 2")
		return
	end
	if ml == 0 or (tvb:len() - 12) % (4 * ml) ~= 0 then
		t:add_proto_expert_info(bad, "the stack is not a multiple of Hop ML")
		return
	end
	hops = (tvb:len() - 12) / (4 * ml)
	at = intmd_layout(tvb(4, 2):uint(), tvb(6, 2):uint() == 0x534c, tvb(8, 2):uint())
	-- The newest is on top.
	for i = 0, hops - 1 do
		intmd_hop(t, tvb(12 + 4 * ml * i, 4 * ml), at, "Hop " .. math.floor(hops - 1 - i))
	end
end

-- Does the inner packet open or reset a connection? A source never wraps that, and a receiver does not strip it.
local function is_syn_or_rst(tvb, proto)
	local v6 = proto == 41
	local tcp = v6 and 40 or 20

	if tvb:len() < tcp + 14 or tvb(v6 and 6 or 9, 1):uint() ~= 6 then return false end
	return flag(tvb(tcp + 13, 1):uint(), 0x02) or flag(tvb(tcp + 13, 1):uint(), 0x04)
end

-- What is behind the shim of type 9; tvb begins with it. Returns where the inner packet begins, or nothing.
local function message(tree, tvb, pinfo)
	local length = SHIM_BYTES + 4 * tvb(1, 1):uint()
	local version, msg = tvb(4, 1):bitfield(0, 4), tvb(4, 1):bitfield(4, 4)
	local room, flags, hops = tvb(5, 1):uint(), tvb(6, 1):uint(), tvb(7, 1):uint()
	local at = SHIM_BYTES + HDR_BYTES
	local t = tree:add(sluice, tvb(SHIM_BYTES, HDR_BYTES), "Header")
	local want

	t:add(f["version"], tvb(4, 1), version)
	if version ~= VERSION then
		t:add_proto_expert_info(bad, "version " .. version .. ", this dissector reads " .. VERSION)
		return
	end
	t:add(f["msg"], tvb(4, 1), msg)
	t:add(f["max_hops"], tvb(5, 1))
	t:add(f["flags"], tvb(6, 1))
	t:add(f["echo_hops"], tvb(7, 1))
	t:add(f["seq"], tvb(8, 4))
	pinfo.cols.info = string.format("%s seq=%d%s%s%s", messages[msg] or "message " .. msg, tvb(8, 4):uint(),
		flag(flags, F_ECHO) and " echo" or "", flag(flags, F_AUTH) and " auth" or "",
		flag(flags, F_HELD) and " held" or "")
	if room > (is_batch(msg) and MAX_REPORTS or MAX_HOPS) or hops > MAX_HOPS then
		t:add_proto_expert_info(bad, "more than 5 hops, or 32 reports, credits or rates")
		return
	end
	want = at + room_bytes(msg, room) + (flag(flags, F_AUTH) and AUTH_BYTES or 0)
	if not is_batch(msg) then
		want = want + (flag(flags, F_VOQ) and VOQ_BYTES or 0) +
			(flag(flags, F_ECHO) and ECHO_BYTES + HOP_BYTES * hops or 0)
	end
	if want ~= length or length > tvb:len() then
		t:add_proto_expert_info(bad, "the shim says " .. length .. " bytes, the header " .. want)
		return
	end
	if is_batch(msg) then
		for i = 0, room - 1 do
			entry[msg](tree, tvb(at + REPORT_BYTES * i, REPORT_BYTES), i)
		end
	elseif room > 0 then
		telemetry(tree, tvb(at, room_bytes(msg, room)), room)
	end
	at = at + room_bytes(msg, room)
	if flag(flags, F_VOQ) and not is_batch(msg) then
		voq(tree, tvb(at, VOQ_BYTES))
		at = at + VOQ_BYTES
	end
	if flag(flags, F_ECHO) and not is_batch(msg) then
		echo(tree, tvb(at, ECHO_BYTES + HOP_BYTES * hops), hops, flags)
		at = at + ECHO_BYTES + HOP_BYTES * hops
	end
	if flag(flags, F_AUTH) then
		local a = tree:add(f["auth"], tvb(at, AUTH_BYTES)):set_text("Authentication")
		a:add(f["auth.sequence"], tvb(at, 8))
		a:add(f["auth.tag"], tvb(at + 8, 8))
		at = at + AUTH_BYTES
	end
	return at, msg
end

function sluice.dissector(tvb, pinfo, tree)
	local t, at, msg, inner, kind, proto

	if tvb:len() < SHIM_BYTES + HDR_BYTES then return 0 end
	pinfo.cols.protocol = "Sluice"
	t = tree:add(sluice, tvb())
	kind = tvb(0, 1):bitfield(0, 4)
	shim(t, tvb(0, SHIM_BYTES))
	if kind == SHIM_INTMD then
		at = SHIM_BYTES + 4 * tvb(1, 1):uint()
		proto = tvb(3, 1):uint()
		if at < SHIM_BYTES + 12 or tvb:len() < at + SHIM_BYTES + HDR_BYTES then
			t:add_proto_expert_info(bad, "the shim does not fit the packet")
			return tvb:len()
		end
		intmd(t, tvb(SHIM_BYTES, at - SHIM_BYTES))
		if proto ~= PROTO_SLUICE then return tvb:len() end -- INT-MD of somebody else
		tvb = tvb(at):tvb()
		shim(t, tvb(0, SHIM_BYTES))
		kind = tvb(0, 1):bitfield(0, 4)
	end
	if kind ~= SHIM_HPCC or tvb(0, 1):bitfield(4, 2) ~= NPT_IP then
		t:add_proto_expert_info(odd, "not a shim of Sluice")
		return tvb:len()
	end
	at, msg = message(t, tvb, pinfo)
	if not at then return tvb:len() end
	proto = tvb(3, 1):uint()
	t:set_len(at)
	if msg == DATA then
		-- The inner packet is shown as it is without Sluice, with "Sluice" kept in front.
		local info = tostring(pinfo.cols.info)
		if is_syn_or_rst(tvb(at), proto) then
			t:add_proto_expert_info(odd, "SYN or RST inside: receivers do not strip it")
		end
		inner = Dissector.get(proto == 41 and "ipv6" or "ip")
		inner:call(tvb(at):tvb(), pinfo, tree)
		pinfo.cols.protocol = "Sluice"
		pinfo.cols.info = info .. " | " .. tostring(pinfo.cols.info)
	end
	return tvb:len()
end

local ports = DissectorTable.get("udp.port")
local registered = PORT

ports:add(PORT, sluice)
function sluice.prefs_changed()
	ports:remove(registered, sluice)
	registered = sluice.prefs.port
	ports:add(registered, sluice)
end

-- Companions: a dissector that comes last, because those of TCP and UDP stop at their lengths. What is in front of them is
-- where theirs found it.
local companion = Proto("sluice_companion", "Sluice companion")
local outer = { { field = Field.new("ip.proto"), at = 9, bytes = 20 }, { field = Field.new("ipv6.nxt"), at = 6, bytes = 40 } }
local has_ports = { [6] = true, [17] = true }
local is_tunnel = { [4] = true, [41] = true, [47] = true }

-- Where what follows the first IP header begins, how long it is, and its protocol; nothing if that is not to be had.
local function behind_ip(tvb)
	local first

	for _, o in ipairs(outer) do
		local info = o.field()
		if info and (not first or info.offset < first.at) then
			first = { at = info.offset, ip = info.offset - o.at, bytes = o.bytes, proto = tvb(info.offset, 1):uint() }
		end
	end
	if not first then return end
	local v6 = first.bytes == 40
	if not v6 and tvb(first.ip, 1):uint() ~= 0x45 then return end
	local total = v6 and 40 + tvb(first.ip + 4, 2):uint() or tvb(first.ip + 2, 2):uint()
	if first.ip + total > tvb:len() then return end
	return first.ip + first.bytes, total - first.bytes, first.proto
end

local function is_companion(tvb, proto)
	local ports = tvb(0, 2):uint() == COMPANION_NO_PORT and tvb(2, 2):uint() == COMPANION_NO_PORT

	return tvb(4, 2):uint() == COMPANION_LENGTH and tvb(8, 4):uint() == COMPANION_MARKER and tvb(12, 1):uint() == 0 and
		(has_ports[proto] or is_tunnel[proto] and ports)
end

function companion.dissector(tvb, pinfo, tree)
	local at, bytes, proto = behind_ip(tvb)
	local header = COMPANION_BYTES + SHIM_BYTES + HDR_BYTES
	local t, c

	if not at or bytes < header or bytes > header + room_bytes(PROBE, MAX_HOPS) + AUTH_BYTES or
		not is_companion(tvb(at, bytes), proto) then return 0 end
	pinfo.cols.protocol = "Sluice"
	t = tree:add(sluice, tvb(at, bytes))
	c = t:add(f["companion"], tvb(at, COMPANION_BYTES)):set_text("Companion")
	if has_ports[proto] then
		c:add(f["companion.srcport"], tvb(at, 2))
		c:add(f["companion.dstport"], tvb(at + 2, 2))
	end
	shim(t, tvb(at + COMPANION_BYTES, SHIM_BYTES))
	message(t, tvb(at + COMPANION_BYTES, bytes - COMPANION_BYTES):tvb(), pinfo)
	pinfo.cols.info:prepend("companion: ")
	return tvb:len()
end

register_postdissector(companion)
