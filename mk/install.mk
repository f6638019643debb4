# SPDX-License-Identifier: GPL-2.0-only
# Installation, and the Debian package.

PREFIX ?= /usr/local
SBINDIR ?= $(PREFIX)/sbin
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/sluice
UNITDIR ?= $(PREFIX)/lib/systemd/system
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions

# Pages, and what they name, lie as they do here: so their links lead somewhere.
DOCS := $(wildcard *.md docs/*.md docs/pictures/*.svg) $(addprefix deploy/,grafana/dashboard.json prometheus/sluice.rules.yaml \
	schema/sluicectl.json systemd/xdp.conf wireshark/sluice.lua) $(wildcard deploy/scenarios/*.yaml)
# The installed files, each with its place.
INSTALLED := $(SBINDIR)/sluiced $(SBINDIR)/sluicectl $(BINDIR)/sluice-sim \
	$(SBINDIR)/sluice-ipfix $(MANDIR)/man8/sluice-ipfix.8 $(UNITDIR)/sluice-ipfix@.service \
	$(MANDIR)/man8/sluiced.8 $(MANDIR)/man8/sluicectl.8 $(MANDIR)/man1/sluice-sim.1 \
	$(MANDIR)/man5/sluice.yaml.5 $(UNITDIR)/sluiced.service $(COMPLETIONDIR)/sluicectl $(addprefix $(DOCDIR)/,$(DOCS))

install: all ## install under $(DESTDIR)$(PREFIX)
	install -D -m 755 -t $(DESTDIR)$(SBINDIR) $(B)/sluiced $(B)/sluicectl
	install -D -m 755 -t $(DESTDIR)$(BINDIR) $(B)/sluice-sim
	install -D -m 644 -t $(DESTDIR)$(MANDIR)/man1 deploy/man/sluice-sim.1
	install -D -m 644 -t $(DESTDIR)$(MANDIR)/man8 deploy/man/sluiced.8 deploy/man/sluicectl.8
	install -D -m 644 -t $(DESTDIR)$(MANDIR)/man5 $(B)/sluice.yaml.5
	for file in $(DOCS); do install -D -m 644 $$file $(DESTDIR)$(DOCDIR)/$$file || exit; done
	install -d $(DESTDIR)/etc/sluice $(DESTDIR)$(UNITDIR) $(DESTDIR)$(COMPLETIONDIR)
	sed 's|/usr/local/sbin|$(SBINDIR)|' deploy/systemd/sluiced.service >$(DESTDIR)$(UNITDIR)/sluiced.service
	if test -s $(B)/sluice-ipfix; then \
		install -m 755 -t $(DESTDIR)$(SBINDIR) $(B)/sluice-ipfix && \
		install -m 644 -t $(DESTDIR)$(MANDIR)/man8 deploy/man/sluice-ipfix.8 && \
		sed 's|/usr/local/sbin|$(SBINDIR)|' deploy/systemd/sluice-ipfix@.service >$(DESTDIR)$(UNITDIR)/sluice-ipfix@.service && \
		chmod 644 $(DESTDIR)$(UNITDIR)/sluice-ipfix@.service; \
	fi
	$(B)/sluicectl --completion >$(DESTDIR)$(COMPLETIONDIR)/sluicectl
	chmod 644 $(DESTDIR)$(UNITDIR)/sluiced.service $(DESTDIR)$(COMPLETIONDIR)/sluicectl

uninstall: ## remove what install installed, with the same variables; the configuration stays
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	test ! -d $(DESTDIR)$(DOCDIR) || find $(DESTDIR)$(DOCDIR) -depth -type d -empty -delete
	test ! -d $(DESTDIR)/etc/sluice || rmdir --ignore-fail-on-non-empty $(DESTDIR)/etc/sluice

site: | $(B)/packages.site ## these pages as a site, in build/site
	$(Q)deploy/site/build $(DOCS)

deb: all | $(B)/packages.deb ## a Debian package, in build/deb
	$(Q)deploy/deb

# Of HEAD, and the same bytes each time: times are those of the commit.
VERSION = $(shell sed -n 's/.*SLUICE_VERSION "\(.*\)"/\1/p' user/lib/util.h)
dist: ## the source tarball of HEAD, in build/release
	$(Q)mkdir -p $(B)/release
	$(Q)git -c tar.tar.gz.command='gzip -9n' archive --prefix=sluice-$(VERSION)/ -o $(B)/release/sluice-$(VERSION).tar.gz HEAD

release: | $(B)/packages.release ## that and packages of Debian 12 and 13, from fresh roots: make release [SUITES=bookworm] (as root; 10 to 20 minutes)
	$(Q)deploy/release $(SUITES)

.PHONY: install uninstall deb dist release site
