# SPDX-License-Identifier: GPL-2.0-only
# The subset of JSON Schema that deploy/schema/sluicectl.json is written in.
#
# usage: jq -r --slurpfile schema SCHEMA [--arg command COMMAND] --arg want WHAT -f schema.jq
#
# WHAT is of the documents of COMMAND, one a line:
#   errors   where one is not as the schema says, and keywords that are not in the subset
#   seen     definition.key of each key that one has and the schema knows
# or of the schema, with -n:
#   keys     definition.key of all keys
#   units    keys of numbers whose name does not end with the unit of their definition

def root: $schema[0];
def at($ref): $ref | ltrimstr("#/") | split("/") as $path | root | getpath($path) // error("no " + $ref);
def name_of($ref): $ref | ltrimstr("#/$defs/");

def subset: ["$ref", "$schema", "$defs", "title", "description", "type", "enum", "minimum", "properties", "required",
	"minProperties", "additionalProperties", "items", "oneOf"];

def is($wanted):
	if $wanted == "integer" then type == "number" and . == floor else type == $wanted end;

def errors($s; $where):
	. as $doc
	| (($s | keys) - subset | .[] | "\($where): the schema has \(.), which nobody checks"),
	if $s | has("$ref") then errors(at($s["$ref"]); $where) else empty end,
	if ($s | has("type")) and ([$s.type] | flatten | any(. as $wanted | $doc | is($wanted)) | not) then
		"\($where): \(tojson[:80]) is no \([$s.type] | flatten | join(" or "))"
	else
		(if ($s | has("enum")) and ($s.enum | index([$doc]) | not) then "\($where): \(tojson[:80]) is none of \($s.enum | tojson)"
			else empty end),
		(if ($s | has("minimum")) and type == "number" and . < $s.minimum then "\($where): \(.) is below \($s.minimum)" else empty end),
		(if ($s | has("minProperties")) and length < $s.minProperties then "\($where): \(tojson[:80]) has too few keys" else empty end),
		(if $s | has("oneOf") then
			[$s.oneOf[] as $one | [$doc | errors($one; $where)]]
			| if map(select(. == [])) | length == 1 then empty else "\($where): not one of \(length): \(flatten | join("; "))" end
		else empty end),
		(if type == "object" then
			($s.required // [] | .[] | select(. as $key | $doc | has($key) | not) | "\($where): \(.) is missing"),
			(to_entries[] | .key as $key | .value |
				if $s.properties // {} | has($key) then errors($s.properties[$key]; "\($where).\($key)")
				elif $s.additionalProperties == false then "\($where): \($key) is unknown"
				elif $s.additionalProperties then errors($s.additionalProperties; "\($where).\($key)")
				else empty end)
		else empty end),
		(if type == "array" and ($s | has("items")) then .[] | errors($s.items; "\($where)[]") else empty end)
	end;

def seen($s; $name):
	. as $doc
	| if $s | has("$ref") then seen(at($s["$ref"]); name_of($s["$ref"]))
	elif $s | has("oneOf") then $s.oneOf[] | select(. as $one | [$doc | errors($one; "")] == []) as $one | $doc | seen($one; $name)
	elif type == "array" then .[] | seen($s.items // {}; $name)
	elif type == "object" then
		to_entries[] | .key as $key | select($s.properties // {} | has($key)) | "\($name).\($key)", (.value | seen($s.properties[$key]; $name))
	else empty end;

def unit: {bits_per_second: "_bps", bytes: "_bytes", bytes_signed: "_bytes", bytes_with_fraction: "_bytes", nanoseconds: "_ns", nanoseconds_signed: "_ns", seconds: "_s",
	count: "", ratio: "", identifier: ""};

def keys_of($name): root["$defs"][$name].properties // {} | to_entries[] | {definition: $name, key, schema: .value};
def all_keys: root["$defs"] | keys[] | keys_of(.);

if $want == "errors" then errors(root.properties[$ARGS.named.command] // error("no schema of it"); $ARGS.named.command)
elif $want == "seen" then seen(root.properties[$ARGS.named.command]; $ARGS.named.command)
elif $want == "keys" then all_keys | "\(.definition).\(.key)"
elif $want == "units" then
	all_keys | . as $k | (.schema["$ref"] // "" | name_of(.)) as $of
	| select(if unit | has($of) then $k.key as $key | if unit[$of] == "" then false else $key | endswith(unit[$of]) | not end
		else [$k.schema.type] | flatten | any(. == "number" or . == "integer") end)
	| "\(.definition).\(.key)"
else error("want is errors, seen, keys or units") end
