# SPDX-License-Identifier: GPL-2.0-only
# Tests by tier, labs, benchmarks, fuzzers, and the programs that they need.

# --- labs and simulations ---

LAB_TOOLS := $(addprefix $(B)/lab-,sample probe flows sum)
$(LAB_TOOLS): private WITH = -lbpf -lmnl -ljson-c -lm
$(filter-out %-sum,$(LAB_TOOLS)): $(B)/lab-%: $(B)/plain/tests/lab/%.o
	$(call link,LD    )
$(B)/lab-sum: $(patsubst %.c,$(B)/plain/%.o,$(wildcard tests/lab/sum/*.c))
	$(call link,LD    )
lab-tools: all $(LAB_TOOLS)

lab: lab-tools ## a measurement: make lab LAB=star CC=sluice,cubic,bbr,dctcp SENDERS=8 RATE=100mbit RTT=4ms BUFFER=1mb TIME=10 VM=6.12
	$(Q)tests/lab/lab
papers: all | $(B)/packages.lab ## the papers' figures by the simulator, and docs/papers.md: make papers [ONLY=hpcc-wai]
	$(Q)tests/sim/papers $(or $(ONLY),--all)
pictures: all | $(B)/packages.lab ## the pictures of docs/papers.md
	$(Q)tests/sim/pictures
lab-shell: lab-tools ## a shell inside a running lab
	$(Q)tests/lab/shell
demo: lab-tools ## the main job: the star lab under four controls, a table and build/demo/report.html
	$(Q)tests/lab/demo

# --- unit tests of the core, and those with BPF programs ---

comma := ,

# Folders of user/lib: the configuration, the network.
CONFIG_USER := $(patsubst user/lib/%,%,$(wildcard user/lib/config/*.c))
NET_USER := $(patsubst user/lib/%,%,$(wildcard user/lib/net/*.c))
# sluicectl replay, and what prints its rows.
REPLAY_USER := $(addprefix user/ctl/,cmd_replay.c replay_options.c replay_csv.c out.c terminal.c)
# What sluicectl top draws of ports.
TOP_USER := $(addprefix user/ctl/,spark.c top_ports.c)

$(B)/asan/tests/unit/%.o: private INCLUDES += -Itests/unit
$(B)/unit-tests: private EXTRA = $(SANITIZE)
# A socket to rtnetlink is one of tests/unit/lib/netlink_case.c and tests/fuzz/netlink_socket.h.
$(B)/unit-tests: private WITH = $(addprefix -Wl$(comma)--wrap=mnl_socket_,open2 bind setsockopt get_portid sendto recvfrom close) \
	-lcriterion -ljson-c -lmnl -lyaml -lm
$(B)/unit-tests: $(patsubst %.c,$(B)/asan/%.o,$(wildcard tests/unit/*.c tests/unit/*/*.c) $(REPLAY_USER) $(TOP_USER) \
		ipfix/marks.c ipfix/sink.c $(addprefix user/lib/,$(CONFIG_USER) $(NET_USER) dcb.c hops.c names.c sandbox.c util.c))
	$(call link,LD    )

# The credit scheduler. In the program tests it uses the clock that they hold.
CREDITS_USER := $(wildcard user/daemon/credits*.c)
$(CREDITS_USER:%.c=$(B)/clocked/%.o): private EXTRA = '-Dnow_ns(...)=clock_ns(__VA_ARGS__)'

# The objects that tests/prog links beside its own.
PROG_USER := $(CREDITS_USER) $(addprefix user/,$(addprefix lib/,$(CONFIG_USER) $(NET_USER) dcb.c layout.c layout_names.c maps.c pins.c util.c names.c) \
	daemon/messages.c daemon/reports.c)
PROG := $(filter-out %.bpf.c,$(wildcard tests/prog/*.c tests/prog/*/*.c)) $(PROG_USER)
$(B)/prog-tests: private WITH = -lcriterion -lbpf -lyaml -lmnl -lm
$(B)/prog-tests: $(PROG:%.c=$(B)/clocked/%.o)
	$(call link,LD    )

# Almost valid frames, and two CPUs at one flow: with what tests/prog has, and without Criterion.
$(B)/fuzz-packets $(B)/fuzz-cpus: private INCLUDES := -Itests/fuzz/plain -Itests/prog -Iinclude -I$(B)/clock
$(B)/fuzz-packets $(B)/fuzz-cpus: private WITH = -lbpf -lpthread
$(B)/fuzz-packets $(B)/fuzz-cpus: $(B)/fuzz-%: tests/fuzz/%.c tests/prog/packet.c $(wildcard tests/prog/world/*.c \
		tests/prog/*.h tests/prog/world/*.h) $(B)/clock/sluice.skel.h $(B)/clock/sluice_xdp.skel.h
	$(call link,LD    )

# --- fuzzers: each is linked with those files of user/ that it feeds ---

# Without a runtime of clang none is built, and the tests report that.
FUZZERS := wire hpcc rx rtt hiercc ring ppfc config replay netlink rings sandbox matrix
FUZZ_CC = $(CLANG) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=undefined -Itests/fuzz $(INCLUDES)
wrapped = $(addprefix -Wl$(comma)--wrap=,$(1))
$(B)/fuzz.reason: | $(B)/packages.test
	$(Q)echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' | \
		$(FUZZ_CC) -x c -o /dev/null - 2>/dev/null || echo "$(CLANG) has no libFuzzer: install libclang-rt-dev" >$@.tmp
	$(Q)touch $@.tmp && mv $@.tmp $@
$(B)/fuzz-config: $(addprefix user/lib/,$(CONFIG_USER) util.c names.c)
$(B)/fuzz-config: private WITH = $(call wrapped,open) -lyaml -lm
$(B)/fuzz-replay: $(REPLAY_USER) user/lib/names.c
$(B)/fuzz-replay: private WITH = -ljson-c -lm
$(B)/fuzz-netlink: $(addprefix user/,$(addprefix lib/,$(NET_USER) dcb.c util.c) attach/port/nic.c)
$(B)/fuzz-netlink: private WITH = $(call wrapped,recv $(addprefix mnl_socket_,open2 bind setsockopt get_portid sendto recvfrom close) \
	$(addprefix mnl_attr_get_,u8 u32 u64 str)) -lmnl -lbpf -lm
$(B)/fuzz-matrix: $(addprefix sim/,matrix.c topology_file.c lines.c engine.c) user/lib/util.c
$(B)/fuzz-matrix: private WITH = -lm
$(B)/fuzz-sandbox: user/lib/sandbox.c
$(B)/fuzz-sandbox: private WITH = -ljson-c
$(B)/fuzz-rings: $(CREDITS_USER) $(addprefix user/,$(addprefix daemon/,reports.c tor.c messages.c) \
	$(addprefix lib/,$(CONFIG_USER) maps.c util.c names.c))
$(B)/fuzz-rings: private WITH = $(call wrapped,now_ns timerfd_create timerfd_settime messages_send) -lyaml -lm
$(FUZZERS:%=$(B)/fuzz-%): $(B)/fuzz-%: tests/fuzz/%.c $(wildcard tests/fuzz/*.h include/sluice/*.h include/sluice/*/*.h) $(B)/fuzz.reason
	@echo "  FUZZ   $@"
	$(Q)test -s $(B)/fuzz.reason || $(FUZZ_CC) -o $@ $(filter %.c,$^) $(WITH)
fuzz: $(FUZZERS:%=$(B)/fuzz-%) ## the parsers and the core against all inputs: make fuzz TIME=600 [FUZZ=hpcc]
	$(Q)tests/fuzz/run --time $(or $(TIME),60) $(FUZZ)

# --- programs of the system tests ---

tool = $(B)/plain/tests/system/tools/$(1).o
PACKET_TOOLS := $(addprefix $(B)/,attack beside flood spoof)
PRELOADED := $(addprefix $(B)/,accident.so fault.so stall.so dcbnic.so)
$(B)/ask $(B)/datagrams $(B)/digest $(B)/held $(B)/notified $(B)/pause: $(B)/%: $(call tool,%)
	$(call link,LD    )
$(PACKET_TOOLS): $(B)/%: $(call tool,%) $(B)/plain/tests/prog/packet.o
	$(call link,LD    )
$(B)/plain/tests/system/tools/neighbour.o: $(B)/neighbour.skel.h
$(B)/neighbour: private WITH = -lxdp -lbpf
$(B)/neighbour: $(call tool,neighbour)
	$(call link,LD    )
$(PRELOADED): private EXTRA = -shared -fPIC
$(PRELOADED): private WITH = -lmnl
$(PRELOADED): $(B)/%.so: tests/system/tools/%.c | $(B)/packages.build
	$(call link,CC    )
# A later version of itself, and what happens to it.
$(B)/next/sluiced: tests/system/next $(B)/sluiced $(B)/sluicectl
	@echo "  NEXT   $@"
	$(Q)mkdir -p $(@D)
	$(Q)tests/system/next $(abspath $(@D)) >$(@D)/log 2>&1 || { cat $(@D)/log; exit 1; }

# --- benchmarks ---

BENCHES := $(addprefix $(B)/bench-,prog curves credits)
BENCH := $(call plain,$(addprefix tests/bench/,world.c scene.c cases.c run.c) $(addprefix tests/prog/,packet.c companion.c))
$(BENCH): $(B)/bench.skel.h $(B)/edt.skel.h
$(B)/bench-prog $(B)/bench-curves: private WITH = -lbpf -lm
$(B)/bench-prog $(B)/bench-curves: $(B)/bench-%: $(B)/plain/tests/bench/%.o $(BENCH)
	$(call link,LD    )
$(B)/bench-credits: private WITH = $(LIBS)
$(B)/bench-credits: $(B)/plain/tests/bench/credits.o $(CREDITS_USER:user/%.c=$(B)/%.o) $(B)/daemon/messages.o $(patsubst %,$(B)/lib/%.o,$(basename $(CONFIG_USER) $(NET_USER)) dcb maps pins util names)
	$(call link,LD    )
bench: all lab-tools $(BENCHES) | $(B)/packages.lab ## ns a packet of each program, curves, goodput kept: one table
	$(Q)tests/bench/bench

harm: lab-tools ## what Sluice costs applications, in each environment: make harm [ENV=hosts,pod] [APP=tcp,web] [VM=6.12|none] (as root, an hour)
	$(Q)tests/harm/harm

# --- the verifier's bill ---

$(B)/veristat: private WITH = -lbpf
$(B)/veristat: $(call plain,tests/check/veristat.c)
	$(call link,LD    )
veristat: $(B)/veristat ## instructions, states and stack of each program, against tests/check/veristat.baseline (as root)
	$(Q)tests/check/veristat
bpf-diff: ## which BPF programs changed since a commit, by how many instructions: make bpf-diff BASE=main
	$(Q)tests/check/bpf-diff $(or $(BASE),HEAD)

mutate: $(B)/unit-tests $(B)/prog-tests ## what the tests do not notice: make mutate COUNT=10 SEED=1 [FILE=host/quiet.bpf.h] (as root; minutes for each)
	$(Q)tests/check/mutate --count $(or $(COUNT),10) --seed $(or $(SEED),1) $(FILE:%=--file %)

# --- tiers ---

# The programs that the tiers with root run.
TEST_TOOLS := $(B)/unit-tests $(B)/prog-tests $(PACKET_TOOLS) $(filter-out $(B)/stall.so,$(PRELOADED)) \
	$(addprefix $(B)/,neighbour ask datagrams digest held noted.bpf.o notified pause veristat next/sluiced)
PACKET_FUZZERS := $(B)/fuzz-packets $(B)/fuzz-cpus
# Compiled by all CPUs, then run.
test: ## all tests: unit, fuzz, prog, packets, sim, report, deploy, system, soak and lab in VMs of three kernels (as root; 40 minutes with 2 CPUs; ALL=1: two hours)
	$(Q)$(MAKE) $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) --no-print-directory test-programs
	$(Q)tests/run
test-programs: lab-tools $(FUZZERS:%=$(B)/fuzz-%) $(PACKET_FUZZERS) $(TEST_TOOLS) $(BENCHES)
test-unit: $(B)/unit-tests $(B)/sluicectl ## the core and replay (no root)
	$(Q)tests/run unit
test-packets: $(PACKET_FUZZERS) ## frames that are almost valid, two CPUs at one flow; for longer: docs/contributing.md
	$(Q)tests/run packets
test-fuzz: $(FUZZERS:%=$(B)/fuzz-%)
	$(Q)tests/run fuzz
test-soak test-vm test-lab test-system test-prog test-report test-sim test-deploy: test-%: lab-tools $(TEST_TOOLS)
	$(Q)tests/run $*
# Everything that can be compiled: `make check` does it with two compilers.
everything: lab-tools $(TEST_TOOLS:$(B)/next/sluiced=) $(B)/stall.so $(PACKET_FUZZERS) $(B)/veristat $(BENCHES)
check: | $(B)/packages.check ## the rules that a machine can hold: two compilers, headers, layers, format, lint (two minutes, no root)
	$(Q)tests/run check
format: ## format what is changed: all of each C file that differs from HEAD
	$(Q)git diff --name-only HEAD -- '*.c' '*.h' | grep -vx vmlinux.h | xargs -r clang-format -i
cluster: all | $(B)/packages.lab ## Sluice on Kubernetes: two nodes in namespaces, seven minutes; the first time up to half an hour (as root; KEEP=1: look around)
	$(Q)tests/cluster/run $(if $(KEEP),--keep)
soak: all | $(B)/packages.test ## random operation under traffic, in namespaces: make soak TIME=3600 SEED=n (as root)
	$(Q)tests/soak/run --time $(or $(TIME),300) $(if $(SEED),--seed $(SEED)) $(if $(RATE),--rate $(RATE))

.PHONY: cluster harm lab-tools lab papers pictures lab-shell demo fuzz bench everything check format veristat bpf-diff mutate soak test test-programs test-unit test-packets test-fuzz
