# SPDX-License-Identifier: GPL-2.0-only
# `make help` lists what there is to make. Targets install missing packages by themselves when run as root.
CLANG ?= clang
# In `make lab CC=sluice` CC is a list of congestion controls.
COMPILER := $(if $(filter demo lab lab-shell,$(MAKECMDGOALS)),cc,$(CC))
CFLAGS ?= -O2 -g
# WERROR=1: a warning is an error. `make check` builds so, with each of two compilers; a third compiler may see new ones.
WARNINGS := -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wshadow $(if $(WERROR),-Werror)
# The build directory is not in the binaries: the VM tier's figures depend on every byte.
NOWHERE := "-ffile-prefix-map=$(CURDIR)=."
override CFLAGS += $(NOWHERE)
BPFTOOL ?= $(shell deploy/bpftool)
B := build
Q := $(if $(V),,@)

all: $(B)/sluiced $(B)/sluicectl $(B)/sluice-sim $(B)/sluice-ipfix $(B)/sluice.yaml.5 ## build the daemon, the tool, the simulator and the exporter (default)

include mk/build.mk mk/test.mk mk/install.mk

clean: ## remove what was built
	rm -rf $(B)

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: all clean help
.DELETE_ON_ERROR:
.SECONDARY:
# Others work in these while make runs. Nor is every *.d a file: a root has directories such as /etc/iproute2/rt_tables.d.
-include $(shell find $(B) \( -path '$(B)/bpf-diff' -o -path '$(B)/cluster' -o -path '$(B)/next' -o -path '$(B)/release' -o -path '$(B)/vm' \) \
	-prune -o -type f -name '*.d' -print 2>/dev/null)
