# SPDX-License-Identifier: GPL-2.0-only
# `make help` lists what there is to make. Targets install missing packages by themselves when run as root.
PREFIX ?= /usr/local
SBINDIR ?= $(PREFIX)/sbin
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/sluice
UNITDIR ?= $(PREFIX)/lib/systemd/system
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
CLANG ?= clang
# In `make lab CC=sluice` CC is a list of congestion controls.
COMPILER := $(if $(filter demo lab lab-shell,$(MAKECMDGOALS)),cc,$(CC))
CFLAGS ?= -O2 -g
# Where it was built is not in what was built: the VM tier's figures depend on every byte.
NOWHERE := "-ffile-prefix-map=$(CURDIR)=."
override CFLAGS += $(NOWHERE)
BPFTOOL ?= $(shell deploy/bpftool)
B := build
Q := $(if $(V),,@)

ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Iinclude -Iuser -I$(B) -MMD -MP $(CFLAGS)
LIBS := -lxdp -lbpf -lcyaml -lyaml -lmnl -ljson-c -lm
BPF := $(CLANG) -g -O2 -mcpu=v3 -target bpf -D__x86_64__ -Wall -I. -Ibpf $(NOWHERE) -MMD -MP

COMMON := adopt cc config config_lines credits dataplane dcb layout leftover messages net nic pins pods ports ppfc programs reports restore tor util variant xdp
SLUICED := sluiced metrics $(COMMON)
SLUICECTL := sluicectl check clean completion flow_columns flow_list flows knobs paths pcapng probe replay show show_ports show_voqs support table top trace why $(COMMON)
LAB_TOOLS := $(B)/lab-sample $(B)/lab-probe $(B)/lab-flows $(B)/lab-sum
VM_KERNELS := 6.1 6.12 7.2
HEADERS := $(wildcard include/sluice/*.h include/sluice/*/*.h)
# tests/fuzz/NAME.c
FUZZERS := wire hpcc rx hiercc ppfc config replay netlink rings

all: $(B)/sluiced $(B)/sluicectl $(B)/sluice.yaml.5 ## build the daemon and the tool (default)

$(B)/sluiced: $(SLUICED:%=$(B)/%.o)
$(B)/sluiced: LIBS += -lmicrohttpd -lsystemd
$(B)/sluicectl: $(SLUICECTL:%=$(B)/%.o)
$(B)/sluicectl: LIBS += -lncursesw -ltinfo
$(B)/sluiced $(B)/sluicectl:
	@echo "  LD     $@"
	$(Q)$(COMPILER) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/%.o: user/%.c | $(B)/sluice.skel.h
	@echo "  CC     $<"
	$(Q)$(COMPILER) $(ALL_CFLAGS) -c -o $@ $<
$(B)/adopt.o $(B)/dataplane.o $(B)/cc.o $(B)/leftover.o $(B)/clean.o $(B)/pods.o $(B)/ports.o $(B)/programs.o $(B)/restore.o $(B)/xdp.o: $(B)/sluice.skel.h $(B)/sluice_xdp.skel.h

$(B)/%.bpf.o: bpf/%.bpf.c | $(B)/packages.build
	@echo "  BPF    $<"
	$(Q)$(BPF) -Werror -Iinclude -c -o $@ $<

$(B)/%.skel.h: $(B)/%.bpf.o
	@echo "  SKEL   $@"
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf >$@.tmp && mv $@.tmp $@

$(B)/packages.%:
	$(Q)mkdir -p $(B)
	$(Q)deploy/packages $*
	$(Q)touch $@
$(B)/packages.deb $(B)/packages.lab $(B)/packages.test: | $(B)/packages.build

$(B)/lab-%: tests/lab/%.c tests/lab/lab.h $(HEADERS) | $(B)/packages.lab
	@echo "  CC     $<"
	$(Q)$(COMPILER) -std=gnu11 -Wall -Wextra -Iinclude $(CFLAGS) -o $@ $< -lbpf -lmnl -ljson-c -lm

$(B)/sim-%: tests/sim/%.c tests/sim/sim.c tests/sim/sim.h $(HEADERS) | $(B)/packages.build
	@echo "  CC     $<"
	$(Q)$(COMPILER) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Iinclude $(CFLAGS) -o $@ $< tests/sim/sim.c -lm

lab-tools: all $(LAB_TOOLS) $(B)/sim-dumbbell $(B)/sim-star $(B)/sim-racks $(B)/sim-pfc

lab: lab-tools ## a measurement: make lab LAB=star CC=sluice,cubic,bbr,dctcp SENDERS=8 RATE=100mbit RTT=4ms BUFFER=1mb TIME=10 VM=6.12
	$(Q)tests/lab/lab
lab-shell: lab-tools ## a shell inside a running lab
	$(Q)tests/lab/shell

demo: lab-tools ## the main job: the star lab under four controls, a table and build/demo/report.html
	$(Q)tests/lab/demo

UNIT := $(wildcard tests/unit/*.c) user/dcb.c user/replay.c user/variant.c
$(B)/unit-tests: $(UNIT) $(wildcard tests/unit/*.h include/sluice/*.h include/sluice/*/*.h) | $(B)/packages.test
	@echo "  CC     $@"
	$(Q)$(COMPILER) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -fsanitize=address,undefined \
		-fno-sanitize-recover=undefined -Iinclude -Iuser -o $@ $(UNIT) -lcriterion -ljson-c -lmnl -lm

$(B)/core.bpf.o: tests/prog/core.bpf.c | $(B)/packages.build
	@echo "  BPF    $<"
	$(Q)$(BPF) -Werror -Iinclude -c -o $@ $<
$(B)/core.skel.h: $(B)/core.bpf.o
	@echo "  SKEL   $@"
	$(Q)$(BPFTOOL) gen skeleton $< name core_bpf >$@.tmp && mv $@.tmp $@
# What ships, with a clock that the tests can hold.
$(B)/clock/%.bpf.o: bpf/%.bpf.c tests/prog/clock.h | $(B)/packages.build
	@echo "  BPF    $@"
	$(Q)mkdir -p $(@D)
	$(Q)$(BPF) -Werror -Iinclude -include tests/prog/clock.h -c -o $@ $<
$(B)/clock/%.skel.h: $(B)/clock/%.bpf.o
	@echo "  SKEL   $@"
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf >$@.tmp && mv $@.tmp $@
PROG := $(filter-out %.bpf.c tests/prog/stall.c,$(wildcard tests/prog/*.c)) user/config.c user/config_lines.c user/dcb.c user/layout.c user/messages.c user/net.c user/pins.c \
	user/reports.c user/util.c user/variant.c
$(B)/prog-tests: $(PROG) user/credits.c $(wildcard tests/prog/*.h) $(B)/clock/sluice.skel.h $(B)/clock/sluice_xdp.skel.h $(B)/core.skel.h | $(B)/packages.test
	@echo "  CC     $@"
	$(Q)$(COMPILER) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Iinclude -Iuser -I$(B)/clock -I$(B) -o $@ $(PROG) -lcriterion -lbpf -lcyaml -lyaml -lmnl -lm

comma := ,
# Each is linked with those files of user/ that it feeds. Where clang has no runtime none is built, and the tests say so.
FUZZ_CC = $(CLANG) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -fsanitize=fuzzer,address,undefined \
	-fno-sanitize-recover=undefined -Iinclude -Iuser -Itests/fuzz -I$(B)
$(B)/fuzz.reason: | $(B)/packages.test
	$(Q)echo 'int LLVMFuzzerTestOneInput(void); int LLVMFuzzerTestOneInput(void) { return 0; }' | \
		$(FUZZ_CC) -x c -o /dev/null - 2>/dev/null || echo "$(CLANG) has no libFuzzer: install libclang-rt-dev" >$@.tmp
	$(Q)touch $@.tmp && mv $@.tmp $@
$(B)/fuzz-config: $(addprefix user/,config.c config_lines.c util.c variant.c)
$(B)/fuzz-config: FUZZ_LIBS := -Wl,--wrap=open -lcyaml -lyaml -lm
$(B)/fuzz-replay: user/replay.c user/variant.c
$(B)/fuzz-replay: FUZZ_LIBS := -ljson-c -lm
$(B)/fuzz-netlink: $(addprefix user/,net.c dcb.c nic.c util.c)
$(B)/fuzz-netlink: FUZZ_LIBS := $(addprefix -Wl$(comma)--wrap=,recv $(addprefix mnl_socket_,open2 bind get_portid sendto \
	recvfrom close) $(addprefix mnl_attr_get_,u8 u32 u64 str)) -lmnl -lbpf -lm
$(B)/fuzz-rings: $(addprefix user/,reports.c tor.c credits.c messages.c config.c config_lines.c util.c variant.c)
$(B)/fuzz-rings: FUZZ_LIBS := $(addprefix -Wl$(comma)--wrap=,now_ns timerfd_create timerfd_settime messages_send) -lcyaml -lyaml -lm
$(B)/fuzz-%: tests/fuzz/%.c $(wildcard tests/fuzz/*.h include/sluice/*.h include/sluice/*/*.h) $(B)/fuzz.reason
	@echo "  FUZZ   $@"
	$(Q)test -s $(B)/fuzz.reason || $(FUZZ_CC) -o $@ $(filter %.c,$^) $(FUZZ_LIBS)
fuzz: $(FUZZERS:%=$(B)/fuzz-%) ## the parsers and the core against all inputs: make fuzz TIME=600 [FUZZ=hpcc]
	$(Q)tests/fuzz/run --time $(or $(TIME),60) $(FUZZ)

# What the tiers with root run.
TEST_TOOLS := $(B)/unit-tests $(B)/prog-tests $(addprefix $(B)/,neighbour attack flood spoof ask notified pause dcbnic.so next/sluiced \
	accident.so fault.so)
test: lab-tools $(FUZZERS:%=$(B)/fuzz-%) $(B)/fuzz-packets $(B)/fuzz-cpus $(TEST_TOOLS) ## all tests: unit, fuzz, prog, packets, sim, report, deploy, system, lab in VMs of three kernels (as root; about half an hour)
	$(Q)tests/run
test-packets: $(B)/fuzz-packets $(B)/fuzz-cpus ## frames that are almost valid, two CPUs at one flow; for longer: docs/contributing.md
	$(Q)tests/run packets
test-unit: $(B)/unit-tests $(B)/sluicectl ## the core and replay (no root)
	$(Q)tests/run unit
soak: all | $(B)/packages.test ## random operation under traffic, in namespaces: make soak TIME=3600 SEED=n (as root)
	$(Q)tests/soak/run --time $(or $(TIME),300) $(if $(SEED),--seed $(SEED)) $(if $(RATE),--rate $(RATE))
test-fuzz: $(FUZZERS:%=$(B)/fuzz-%)
	$(Q)tests/run fuzz
test-soak test-vm test-lab test-system test-prog test-report test-sim test-deploy: test-%: lab-tools $(TEST_TOOLS)
	$(Q)tests/run $*

$(B)/neighbour.bpf.o: tests/system/neighbour.bpf.c | $(B)/packages.build
	@echo "  BPF    $<"
	$(Q)$(BPF) -c -o $@ $<
$(B)/neighbour: tests/system/neighbour.c $(B)/neighbour.skel.h
	@echo "  CC     $@"
	$(Q)$(COMPILER) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $(CFLAGS) -I$(B) -o $@ $< -lxdp -lbpf

# A later version of itself, and what happens to it.
$(B)/next/sluiced: tests/system/next $(B)/sluiced $(B)/sluicectl
	@echo "  NEXT   $@"
	$(Q)mkdir -p $(@D)
	$(Q)tests/system/next $(abspath $(@D)) >$(@D)/log 2>&1 || { cat $(@D)/log; exit 1; }
$(B)/accident.so $(B)/fault.so: $(B)/%.so: tests/system/%.c
	@echo "  CC     $@"
	$(Q)$(COMPILER) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $(CFLAGS) -shared -fPIC -o $@ $<

# With what tests/prog has, and without Criterion.
FUZZ_WORLD := tests/prog/world.c tests/prog/packet.c
$(B)/fuzz-packets $(B)/fuzz-cpus: $(B)/fuzz-%: tests/fuzz/%.c $(FUZZ_WORLD) $(wildcard tests/prog/*.h tests/fuzz/plain/*/*.h include/sluice/*.h include/sluice/*/*.h) \
		$(B)/clock/sluice.skel.h $(B)/clock/sluice_xdp.skel.h
	@echo "  CC     $@"
	$(Q)$(COMPILER) -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Itests/fuzz/plain -Itests/prog -Iinclude -I$(B)/clock -o $@ $< $(FUZZ_WORLD) -lbpf -lpthread

$(B)/notified: tests/system/notified.c
	@echo "  CC     $@"
	$(Q)$(COMPILER) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $(CFLAGS) -o $@ $<

$(B)/pause: tests/system/pause.c
	@echo "  CC     $@"
	$(Q)$(COMPILER) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $(CFLAGS) -o $@ $<

$(B)/dcbnic.so: tests/system/dcbnic.c
	@echo "  CC     $@"
	$(Q)$(COMPILER) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $(CFLAGS) -shared -fPIC -o $@ $< -lmnl

$(B)/attack $(B)/flood $(B)/spoof: $(B)/%: tests/system/%.c tests/prog/packet.c tests/prog/packet.h
	@echo "  CC     $@"
	$(Q)$(COMPILER) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $(CFLAGS) -Iinclude -Itests/prog -o $@ $< tests/prog/packet.c

$(B)/ask: tests/system/ask.c
	@echo "  CC     $@"
	$(Q)$(COMPILER) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $(CFLAGS) -o $@ $<

$(B)/stall.so: tests/prog/stall.c
	@echo "  CC     $@"
	$(Q)$(COMPILER) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra $(CFLAGS) -shared -fPIC -o $@ $<

$(B)/bench.bpf.o: tests/bench/driver.bpf.c | $(B)/packages.build
	@echo "  BPF    $<"
	$(Q)$(BPF) -Iinclude -c -o $@ $<
$(B)/bench-prog: tests/bench/prog.c tests/prog/packet.c $(B)/bench.skel.h $(B)/sluice.skel.h $(B)/sluice_xdp.skel.h
	@echo "  CC     $@"
	$(Q)$(COMPILER) -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Iinclude -Iuser -Itests/prog -I$(B) -o $@ $< tests/prog/packet.c -lbpf -ljson-c -lm
$(B)/bench-credits: tests/bench/credits.c user/credits.c $(B)/sluice.skel.h $(patsubst %,$(B)/%.o,config config_lines dcb messages net pins util variant)
	@echo "  CC     $@"
	$(Q)$(COMPILER) $(ALL_CFLAGS) -o $@ $< $(filter %.o,$^) $(LIBS)
bench: all lab-tools $(B)/bench-prog $(B)/bench-credits | $(B)/packages.lab ## ns per packet of each program, goodput kept
	$(Q)tests/bench/bench

# The keys in the manual are those of the documentation.
$(B)/sluice.yaml.5: docs/configuration.md deploy/man/yaml.awk
	$(Q)mkdir -p $(B)
	$(Q)awk -f deploy/man/yaml.awk $< >$@.tmp && mv $@.tmp $@

# Pages, and what they name, lie as they do here: so their links lead somewhere.
DOCS := README.md $(wildcard docs/*.md) $(addprefix deploy/,grafana/dashboard.json prometheus/sluice.rules.yaml \
	schema/sluicectl.json systemd/xdp.conf wireshark/sluice.lua)
# What is installed, each with its place.
INSTALLED := $(SBINDIR)/sluiced $(SBINDIR)/sluicectl $(MANDIR)/man8/sluiced.8 $(MANDIR)/man8/sluicectl.8 \
	$(MANDIR)/man5/sluice.yaml.5 $(UNITDIR)/sluiced.service $(COMPLETIONDIR)/sluicectl $(addprefix $(DOCDIR)/,$(DOCS))
install: all ## install under $(DESTDIR)$(PREFIX)
	install -D -m 755 -t $(DESTDIR)$(SBINDIR) $(B)/sluiced $(B)/sluicectl
	install -D -m 644 -t $(DESTDIR)$(MANDIR)/man8 deploy/man/sluiced.8 deploy/man/sluicectl.8
	install -D -m 644 -t $(DESTDIR)$(MANDIR)/man5 $(B)/sluice.yaml.5
	for file in $(DOCS); do install -D -m 644 $$file $(DESTDIR)$(DOCDIR)/$$file || exit; done
	install -d $(DESTDIR)/etc/sluice $(DESTDIR)$(UNITDIR) $(DESTDIR)$(COMPLETIONDIR)
	sed 's|/usr/local/sbin|$(SBINDIR)|' deploy/systemd/sluiced.service >$(DESTDIR)$(UNITDIR)/sluiced.service
	$(B)/sluicectl --completion >$(DESTDIR)$(COMPLETIONDIR)/sluicectl
	chmod 644 $(DESTDIR)$(UNITDIR)/sluiced.service $(DESTDIR)$(COMPLETIONDIR)/sluicectl
uninstall: ## remove what install installed, with the same variables; the configuration stays
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	test ! -d $(DESTDIR)$(DOCDIR) || find $(DESTDIR)$(DOCDIR) -depth -type d -empty -delete
	test ! -d $(DESTDIR)/etc/sluice || rmdir --ignore-fail-on-non-empty $(DESTDIR)/etc/sluice

deb: all | $(B)/packages.deb ## a Debian package, in build/deb
	$(Q)deploy/deb

clean: ## remove what was built
	rm -rf $(B)

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' Makefile

.PHONY: all uninstall deb lab-tools lab lab-shell demo bench fuzz soak test test-unit test-fuzz test-packets install clean help
.DELETE_ON_ERROR:
.SECONDARY:
-include $(wildcard $(B)/*.d $(B)/clock/*.d)
