# SPDX-License-Identifier: GPL-2.0-only
# How each kind of object is made: C of the two programs, C of the tests, BPF, skeletons, manual pages.

STD := -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -MMD -MP
INCLUDES := -Iinclude -Iuser -I. -I$(B)
LIBS := -lxdp -lbpf -lyaml -lmnl -ljson-c -lm

# Links $(1), which is what a program is called in the list of steps, from the C files and objects it depends on.
# EXTRA: its own flags; WITH: its own libraries.
linking = $(COMPILER) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) $(INCLUDES) $(EXTRA) $(LDFLAGS) -o $@ $(filter %.c %.o %.a,$^) $(WITH)
define link
	@echo "  $(1) $@"
	$(Q)$(linking)
endef

# --- the programs: user/lib and user/attach are what several need ---

objects = $(patsubst user/%.c,$(B)/%.o,$(wildcard $(1:%=user/%/*.c) $(1:%=user/%/*/*.c)))
LIBSLUICE := $(B)/libsluice.a
$(LIBSLUICE): $(call objects,lib attach)
	@echo "  AR     $@"
	$(Q)rm -f $@ && ar rcs $@ $^
$(B)/sluiced: private WITH = -lmicrohttpd -lsystemd $(LIBS)
$(B)/sluiced: $(call objects,daemon) $(LIBSLUICE)
	$(call link,LD    )
$(B)/sluicectl: private WITH = -lncursesw -ltinfo $(LIBS)
$(B)/sluicectl: $(call objects,ctl) $(LIBSLUICE)
	$(call link,LD    )
# It has the text of the script in it.
$(B)/ctl/cmd_support.o: user/ctl/support.sh

$(B)/sluice-sim: private WITH = -lyaml -lmnl -ljson-c -lm
$(B)/sluice-sim: $(patsubst %.c,$(B)/%.o,$(wildcard sim/*.c)) $(LIBSLUICE)
	$(call link,LD    )

# The exporter needs libraries that nothing else does. Without them it is left out, and the next make looks for them again.
FIXBUF = $(shell pkg-config $(1) libfixbuf)
$(B)/sluice-ipfix: private EXTRA = $(call FIXBUF,--cflags)
$(B)/sluice-ipfix: private WITH = $(call FIXBUF,--libs) -lbpf -lmnl -lm
$(B)/sluice-ipfix: $(wildcard ipfix/*.c ipfix/*.h user/lib/*.h include/sluice/*.h include/sluice/*/*.h) $(LIBSLUICE) | $(B)/packages.build
	$(Q)if pkg-config --exists 'libfixbuf >= 2.3'; then \
		echo "  LD     $@" && $(linking); \
	else \
		echo "  LEFT   $@: the IPFIX exporter is left out: it needs libfixbuf 2.3 or newer (libfixbuf-dev)" && rm -f $@; \
	fi

define compile
	@echo "  CC     $<"
	$(Q)mkdir -p $(@D)
	$(Q)$(COMPILER) $(STD) $(CFLAGS) $(INCLUDES) -c -o $@ $<
endef
$(B)/%.o: user/%.c | $(B)/sluice.skel.h $(B)/sluice_xdp.skel.h $(B)/sluice_queue.skel.h
	$(compile)
$(B)/sim/%.o: sim/%.c | $(B)/packages.build
	$(compile)

# --- C of the tests, under the path of its source: with a compiler's sanitizers, or without ---

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined
$(B)/asan/%.o: %.c | $(B)/packages.test
	@echo "  CC     $< (sanitizers)"
	$(Q)mkdir -p $(@D)
	$(Q)$(COMPILER) $(STD) -O1 -g $(SANITIZE) $(INCLUDES) -c -o $@ $<
# The skeletons of what ships, and of what ships with a clock that tests can hold.
$(B)/clocked/%.o: %.c | $(B)/clock/sluice.skel.h $(B)/clock/sluice_xdp.skel.h $(B)/core.skel.h $(B)/packages.test
	@echo "  CC     $< (clock)"
	$(Q)mkdir -p $(@D)
	$(Q)$(COMPILER) $(STD) -O1 -g -I$(B)/clock $(INCLUDES) -Itests/prog $(EXTRA) -c -o $@ $<
$(B)/plain/%.o: %.c | $(B)/sluice.skel.h $(B)/sluice_xdp.skel.h $(B)/sluice_queue.skel.h $(B)/packages.lab
	@echo "  CC     $<"
	$(Q)mkdir -p $(@D)
	$(Q)$(COMPILER) $(STD) $(CFLAGS) $(INCLUDES) -Itests/prog -c -o $@ $<
plain = $(1:%.c=$(B)/plain/%.o)

# --- BPF ---

# From clang 18 on, functions that are called on a rare path stay functions. Those with six arguments and more have to be inlined
# ("stack arguments are not supported"), so no path counts as rare. Older clangs get no flag, because it changes their objects.
RARE = $(shell major=$$(echo __clang_major__ | $(CLANG) -E -P -x c - 2>/dev/null); \
	[ "$${major:-0}" -lt 18 ] || echo -mllvm -cold-callsite-rel-freq=0)
BPF_FLAGS = -g -O2 -mcpu=v3 -target bpf -D__x86_64__ -Wall -Werror -I. -Ibpf -Iinclude $(RARE) $(NOWHERE) -MMD -MP
BPF = $(CLANG) $(BPF_FLAGS)
define bpf
	@echo "  BPF    $@"
	$(Q)mkdir -p $(@D)
	$(Q)$(BPF) $(1) -c -o $@ $<
endef
$(B)/%.bpf.o: bpf/%.bpf.c | $(B)/packages.build
	$(call bpf)
# The qdisc needs a clang that is newer than Debian 12's. Where there is none its object is empty, and its skeleton says so.
$(B)/sluice_queue.bpf.o: bpf/sluice_queue.bpf.c deploy/queue-clang | $(B)/packages.build
	$(Q)mkdir -p $(@D)
	$(Q)if clang=$$(CLANG="$(CLANG)" deploy/queue-clang); then \
		echo "  BPF    $@ ($$clang)" && $$clang $(BPF_FLAGS) -c -o $@ $<; \
	else \
		echo "  LEFT   $@: the qdisc 'sluice' is left out: it needs clang 16 or newer" && : >$@; \
	fi
$(B)/sluice_queue.skel.h: $(B)/sluice_queue.bpf.o
	@echo "  SKEL   $@"
	$(Q)if test -s $<; then $(BPFTOOL) gen skeleton $< name sluice_queue_bpf; else echo '#define SLUICE_QUEUE_LEFT_OUT 1'; fi \
		>$@.tmp && mv $@.tmp $@
$(B)/clock/%.bpf.o: bpf/%.bpf.c tests/prog/clock.h | $(B)/packages.build
	$(call bpf,-include tests/prog/clock.h)
$(B)/core.bpf.o: tests/prog/core.bpf.c | $(B)/packages.build
	$(call bpf)
$(B)/bench.bpf.o: tests/bench/driver.bpf.c | $(B)/packages.build
	$(call bpf)
$(B)/edt.bpf.o: tests/bench/edt.bpf.c | $(B)/packages.build
	$(call bpf)
$(B)/neighbour.bpf.o $(B)/noted.bpf.o: $(B)/%.bpf.o: tests/system/tools/%.bpf.c | $(B)/packages.build
	$(call bpf)

$(B)/%.skel.h: $(B)/%.bpf.o
	@echo "  SKEL   $@"
	$(Q)$(BPFTOOL) gen skeleton $< name $(notdir $*)_bpf >$@.tmp && mv $@.tmp $@

# --- packages ---

$(B)/packages.%: deploy/packages
	$(Q)mkdir -p $(B)
	$(Q)deploy/packages $*
	$(Q)touch $@
$(B)/packages.deb $(B)/packages.lab $(B)/packages.test $(B)/packages.check: | $(B)/packages.build

# The keys in the manual are those of the documentation.
$(B)/sluice.yaml.5: docs/configuration.md deploy/man/yaml.awk
	$(Q)mkdir -p $(B)
	$(Q)awk -f deploy/man/yaml.awk $< >$@.tmp && mv $@.tmp $@

# Files that a package was installed for are made again when a header of another version came with it; else a list is enough.
compile_commands.json: ## for clangd: how each file of user/ and bpf/ is compiled
	$(Q)tests/check/compile-commands $(COMPILER) "$(STD) $(CFLAGS) $(INCLUDES)" "$(BPF)" >$@.tmp && mv $@.tmp $@
.PHONY: compile_commands.json
