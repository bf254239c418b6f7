# SPDX-License-Identifier: Apache-2.0
# nettopo: what can be made
#
#   make            everything, under build/
#   make check      installs what is missing, builds, runs every test; ends with a count
#   make test T=X   one unit test, bats file or fuzzer; without T the list of them
#   make demo       a real Slurm cluster on an emulated network, and a job that finds its network
#   make bench      the tables behind every figure that we state
#   make storm      agents and probes in simulated time under faults: SEEDS=N schedules, or SEED=K one,
#                   FAULT=KIND at first
#   make fuzz       each fuzzer for FUZZ_SECONDS (default 600)
#   make coverage   line coverage of the unit tests, as text
#   make install    honours PREFIX, DESTDIR, SYSCONFDIR and SLURM_PLUGIN_DIR
#   make uninstall  removes what install has put there; the configuration stays where it was changed
#   make deb, rpm   packages, in build/deb and build/rpm
#   make dist       the sources of the last commit with their checksums, in build/dist; SIGN=KEY signs them
#   make clean
#
# Options: V=1 shows commands; CC=clang; SANITIZE=address,undefined builds into its own folder;
# CFLAGS are yours, CFLAGS_ROOM are added for one room, the required flags stay; SLURM_PREFIX=DIR is for
# the Slurm that is installed there, in place of the system's.
#
# A folder is a room: it sees the headers of the rooms named in SEES_<room> and no others, so a
# wrong include does not compile. A new .c file in a room, a new tests/test_*.c and a new
# tests/fuzz/fuzz_*.c are found by themselves.

VERSION := 0.1.0
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
CFLAGS ?= -O2 -g
TEST_CFLAGS ?= $(CFLAGS)
FUZZ_SECONDS ?= 600
SEEDS ?= 2000
comma := ,
BUILD := build$(if $(SANITIZE),/$(subst $(comma),-,$(SANITIZE)))$(if $(filter clang%,$(CC)),/clang)
BINDIR := $(PREFIX)/bin
LIBEXECDIR := $(PREFIX)/libexec
MANDIR := $(PREFIX)/share/man
DATADIR := $(PREFIX)/share/nettopo
BASHDIR := $(PREFIX)/share/bash-completion/completions
ZSHDIR := $(PREFIX)/share/zsh/site-functions
FISHDIR := $(PREFIX)/share/fish/vendor_completions.d
AGENTDIR = $(LIBEXECDIR)/nettopo

# A build takes all processors, unless it was said how many.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS))$(filter-out all,$(MAKECMDGOALS)),0)
MAKEFLAGS := $(MAKEFLAGS) -j$(shell nproc)
endif

.PHONY: all check test demo bench fuzz coverage install uninstall deb rpm dist clean deps
all: nettopo probe agent checker plugin completions

# ---- rooms ------------------------------------------------------------------------------------
# PUBLISHED: the papers' own methods, which only nettopo has; whoever sweeps cannot select them.
PURE := solver/base solver/core solver/text solver/plan solver/model solver/infer solver/place solver/sim solver/join
# FLEET: what many jobs say together; only nettopo has it, too.
PUBLISHED := solver/published solver/routes
FLEET := solver/fleet
# SYSTEM: what programs share of the kernel, which the pure rooms must not know.
SYSTEM := solver/system
ROOMS := $(PURE) $(PUBLISHED) $(FLEET) $(SYSTEM) solver/cmd ucx_probe prolog prolog/check spank
SEES_solver/base  :=
SEES_solver/core  := solver/base
SEES_solver/text  := solver/base solver/core
SEES_solver/plan  := solver/base solver/core solver/infer
SEES_solver/infer := solver/base solver/core solver/model
SEES_solver/model := solver/base solver/core
SEES_solver/place := solver/base solver/core
SEES_solver/sim   := solver/base solver/core
SEES_solver/join  := solver/base solver/core solver/text solver/plan solver/infer solver/place solver/sim
SEES_solver/published := solver/base solver/core solver/infer
SEES_solver/routes := solver/base solver/core
SEES_solver/fleet := solver/base solver/core solver/text solver/model solver/infer solver/place solver/join
SEES_solver/system := solver/base
SEES_solver/cmd   := $(PURE) $(PUBLISHED) $(FLEET) $(SYSTEM)
SEES_ucx_probe    := $(PURE) $(SYSTEM)
SEES_prolog       := solver/base $(SYSTEM)
SEES_prolog/check := prolog solver/base
SEES_spank        := solver/base
ALSO_solver/place := -I/usr/include/scotch
ALSO_ucx_probe = $(patsubst -I%,-isystem%,$(call pkg,--cflags,ucx pmix))
ALSO_prolog = $(SLURM_CFLAGS)
ALSO_spank = $(SLURM_CFLAGS)
# Its loops over the pairs of hosts take most of the time of solve
CFLAGS_solver/model = $(if $(filter -O2,$(CFLAGS)),-O3)
# ---- how ---------------------------------------------------------------------------------------
Q := $(if $(V),,@)
quiet := $(V)$(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(quiet),,@printf '  %-7s %s\n' $(1) $(2))
pkg = $(shell pkg-config $(1) $(2) 2>/dev/null)

# Where a fuzzed program has been; see fuzzers
COUNTERS = $(if $(findstring fuzzer,$(SANITIZE)),,-fsanitize-coverage=inline-8bit-counters,pc-table)
# What a distribution's compiler may or may not do by itself; tests/house hardened reads it from the
# products. A sanitizer has checks of its own in the place of FORTIFY, which needs an optimizer.
MACHINE := $(shell $(CC) -dumpmachine)
HARDENED = $(if $(SANITIZE),,-fstack-clash-protection $(if $(filter x86_64% i%86%,$(MACHINE)),-fcf-protection) \
  $(if $(filter aarch64%,$(MACHINE)),-mbranch-protection=standard) \
  $(if $(findstring _FORTIFY_SOURCE,$(CFLAGS)),,$(if $(filter -O1 -O2 -O3 -Os -Og -Ofast,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)))
# Enumerators are of type int in C; clang from 19 on warns where one meets a double.
REQUIRED = -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wconversion -Wstrict-prototypes \
  -Wmissing-prototypes -Wvla -Werror -fPIC -fvisibility=hidden -fstack-protector-strong \
  -ffunction-sections -MMD -MP -ffile-prefix-map=$(CURDIR)=. $(HARDENED) $(if $(filter clang%,$(CC)),-Wno-enum-float-conversion) \
  $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all \
  $(if $(filter gcc%,$(CC)),-Wno-format-truncation -Wno-maybe-uninitialized,$(COUNTERS)))
DEFINES := -DNT_VERSION='"$(VERSION)"' -DNT_AGENTDIR='"$(AGENTDIR)"' -DNT_SYSCONFDIR='"$(SYSCONFDIR)"'
DEFINES_prolog/check = -DNT_PLUGINDIR='"$(SLURM_PLUGIN_DIR)"'
LINK = $(CC) $(CFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE)) -Wl,--as-needed,--gc-sections -Wl,-z,relro,-z,now,-z,noexecstack $(LDFLAGS)

# Slurm's headers, library and plugins; a library that the loader does not find is named by path
SLURM_PREFIX := $(patsubst %/,%,$(SLURM_PREFIX))
SLURM_LIBDIR := $(if $(SLURM_PREFIX),$(patsubst %/libslurm.so,%,$(firstword \
  $(foreach lib,lib lib64 lib/*,$(wildcard $(SLURM_PREFIX)/$(lib)/libslurm.so)))))
ifneq ($(and $(SLURM_PREFIX),$(if $(SLURM_LIBDIR),,none)),)
$(error SLURM_PREFIX=$(SLURM_PREFIX): no libslurm.so in its lib or lib64)
endif
SYSTEM_PLUGIN_DIR := $(or $(shell pkg-config --variable=plugindir slurm 2>/dev/null),$(firstword $(wildcard /usr/lib/*/slurm-wlm /usr/lib64/slurm /usr/lib/slurm)),/usr/lib64/slurm)
SLURM_PLUGIN_DIR ?= $(if $(SLURM_LIBDIR),$(SLURM_LIBDIR)/slurm,$(SYSTEM_PLUGIN_DIR))
SLURM_CFLAGS := $(if $(SLURM_PREFIX),-isystem $(SLURM_PREFIX)/include)
SLURM_LIBS := $(if $(SLURM_LIBDIR),-L$(SLURM_LIBDIR) $(if $(filter /usr,$(SLURM_PREFIX)),,-Wl$(comma)-rpath$(comma)$(SLURM_LIBDIR))) -lslurm

SOLVER_LIBS = $(call pkg,--libs,json-c yaml-0.1 sqlite3) -lamd -lldl -llapacke -llapack -lblas -lscotch -lscotcherr -lz -lm
# a pmix.pc may ask for a run path where the loader finds the library anyway
PROBE_LIBS = $(if $(shell /sbin/ldconfig -p 2>/dev/null | grep libpmix.so.2),$(filter-out \
  -Wl$(comma)-rpath -Wl$(comma)/%,$(PROBE_LIBS_ALL)),$(PROBE_LIBS_ALL))
PROBE_LIBS_ALL = $(call pkg,--libs,ucx pmix hwloc)
PROLOG_LIBS = -lmunge $(SLURM_LIBS) -lsodium -lseccomp

# the objects of a room; the sources of the mains stand apart
MAINS := solver/nettopo.c ucx_probe/probe.c prolog/agent.c prolog/check/check.c
sources = $(filter-out $(MAINS),$(wildcard $(1)/*.c))
objects = $(patsubst %.c,$(BUILD)/%.o,$(call sources,$(1)))
sees = -I$(1) $(addprefix -I,$(SEES_$(1))) $(ALSO_$(1))

define room_rule
$(BUILD)/$(1)/%.o: $(1)/%.c
	$$(call say,CC,$$<)
	@mkdir -p $$(@D)
	$(Q)$(CC) $(REQUIRED) $(CFLAGS) $(CFLAGS_$(1)) $(DEFINES) $(DEFINES_$(1)) $(call sees,$(1)) -c -o $$@ $$<
endef
$(foreach r,$(ROOMS),$(eval $(call room_rule,$(r))))

$(BUILD)/solver/text/html.o: $(wildcard solver/text/page*)

# What sees Slurm, and what has places compiled in, is made again when those are others
kept_in = $(if $(filter-out $(shell cat $(1) 2>/dev/null),$(2)),$(shell mkdir -p $(BUILD) && echo "$(2)" >$(1)))
$(call kept_in,$(BUILD)/settings,$(AGENTDIR):$(SYSCONFDIR))
$(call kept_in,$(BUILD)/slurm,$(or $(SLURM_PREFIX),system))
$(foreach r,spank prolog,$(call objects,$(r))) $(BUILD)/prolog/agent.o $(BUILD)/prolog/check/check.o: $(BUILD)/slurm
$(patsubst %.c,$(BUILD)/%.o,$(shell grep -rlE --include=*.c 'NT_(AGENTDIR|SYSCONFDIR)' solver ucx_probe prolog spank)): $(BUILD)/settings

$(BUILD)/solver/nettopo.o: solver/nettopo.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(REQUIRED) $(CFLAGS) $(DEFINES) -Isolver/cmd $(call sees,solver/cmd) -c -o $@ $<

define archive_rule
$(BUILD)/lib$(1).a: $(foreach r,$(2),$(call objects,$(r)))
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	$(Q)rm -f $$@ && ar rcsD $$@ $$^
endef
$(eval $(call archive_rule,base,solver/base $(SYSTEM)))
$(eval $(call archive_rule,solver,$(PURE) $(SYSTEM)))
$(eval $(call archive_rule,published,$(PUBLISHED)))
$(eval $(call archive_rule,fleet,$(FLEET)))
$(eval $(call archive_rule,cmd,solver/cmd))
$(eval $(call archive_rule,probe,ucx_probe))
$(eval $(call archive_rule,prolog,prolog))
$(eval $(call archive_rule,check,prolog/check))

# ---- products ----------------------------------------------------------------------------------
.PHONY: nettopo probe agent checker plugin
nettopo: $(BUILD)/nettopo
probe: $(BUILD)/nettopo-probe
agent: $(BUILD)/nettopo-prolog
checker: $(BUILD)/nettopo-check
plugin: $(BUILD)/spank_nettopo.so

$(BUILD)/nettopo: $(BUILD)/solver/nettopo.o $(BUILD)/libcmd.a $(BUILD)/libfleet.a $(BUILD)/libpublished.a $(BUILD)/libsolver.a
	$(call say,LINK,$@)
	$(Q)$(LINK) -pie -o $@ $^ $(SOLVER_LIBS)

$(BUILD)/nettopo-probe: $(BUILD)/ucx_probe/probe.o $(BUILD)/libprobe.a $(BUILD)/libsolver.a
	$(call say,LINK,$@)
	$(Q)$(LINK) -pie -o $@ $^ $(PROBE_LIBS) $(SOLVER_LIBS)

$(BUILD)/nettopo-prolog: $(BUILD)/prolog/agent.o $(BUILD)/libprolog.a $(BUILD)/libbase.a
	$(call say,LINK,$@)
	$(Q)$(LINK) -pie -o $@ $^ $(PROLOG_LIBS)

$(BUILD)/nettopo-check: $(BUILD)/prolog/check/check.o $(BUILD)/libcheck.a $(BUILD)/libprolog.a $(BUILD)/libbase.a
	$(call say,LINK,$@)
	$(Q)$(LINK) -pie -o $@ $^ $(PROLOG_LIBS)

# libc only, and nothing visible but what SPANK looks up
$(BUILD)/spank_nettopo.so: $(call objects,spank) $(BUILD)/libbase.a
	$(call say,LINK,$@)
	$(Q)$(LINK) -shared -Wl,--exclude-libs,ALL -o $@ $^ -lm

# completion for shells, from the options that programs print
COMPLETED := nettopo nettopo-probe nettopo-prolog
.PHONY: completions
define completion_rule
completions: $(addprefix $(BUILD)/completions/$(1)/,$(COMPLETED))
$(BUILD)/completions/$(1)/%: $(BUILD)/% etc/completions
	@mkdir -p $$(@D)
	$$(Q)etc/completions $(1) $$< >$$@.new && mv $$@.new $$@
endef
$(foreach s,bash zsh fish,$(eval $(call completion_rule,$(s))))

# ---- tests -------------------------------------------------------------------------------------
UNITS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/test_*.c))
FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
TEST_LIBS := $(BUILD)/libfabric.a $(BUILD)/libcmd.a $(BUILD)/libprobe.a $(BUILD)/libcheck.a \
  $(BUILD)/libprolog.a $(BUILD)/libfleet.a $(BUILD)/libpublished.a $(BUILD)/libsolver.a
TEST_SEES := -Itests $(addprefix -I,$(ROOMS))

BENCHES := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/bench_*.c))

.PHONY: units benches fuzzers sees
units: $(UNITS) fabric
benches: $(BENCHES)
.PHONY: warnings
warnings: # of every test and bench; code is made of those that are to run
	@$(CC) $(filter-out -MMD -MP,$(REQUIRED)) $(CFLAGS) $(DEFINES) $(TEST_SEES) -fsyntax-only $(wildcard tests/test_*.c tests/bench_*.c)
sees: # which headers a room sees, for tests/house
	@echo $(call sees,$(ROOM))

# the plugin's callbacks need a slurmstepd around them; the rest of its room is tested as it is
SPANK_TESTED := $(filter-out %/plugin.o,$(call objects,spank))

$(BUILD)/tests/%: tests/%.c $(TEST_LIBS) $(SPANK_TESTED)
	$(call say,TEST,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(REQUIRED) $(TEST_CFLAGS) $(DEFINES) $(TEST_SEES) -Wl,--as-needed -o $@ $< \
	  $(SPANK_TESTED) $(TEST_LIBS) $(PROBE_LIBS) $(PROLOG_LIBS) $(SOLVER_LIBS) -lcmocka

# the emulated fabric: a room of its own, whose program stands where its folder would
FABRIC_MAINS := tests/fabric/fabric.c tests/fabric/talk.c
FABRIC_OBJECTS := $(patsubst tests/%.c,$(BUILD)/obj/%.o,$(filter-out $(FABRIC_MAINS),$(wildcard tests/fabric/*.c)))
.PHONY: fabric
fabric: $(BUILD)/tests/fabric $(BUILD)/tests/talk $(BUILD)/tests/ticks.so

$(BUILD)/tests/ticks.so: tests/cluster/ticks.c
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(REQUIRED) -shared -o $@ $<
$(BUILD)/obj/fabric/%.o: tests/fabric/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(REQUIRED) $(CFLAGS) $(DEFINES) -Isolver/base -c -o $@ $<
$(BUILD)/libfabric.a: $(FABRIC_OBJECTS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcsD $@ $^
$(BUILD)/tests/fabric $(BUILD)/tests/talk: $(BUILD)/tests/%: $(BUILD)/obj/fabric/%.o $(BUILD)/libfabric.a $(BUILD)/libbase.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $^ -lm

# The storm: agents and probes in simulated time. What they call of the kernel is wrapped; what has
# files of its own in tests/storm is left out of the libraries: the linker finds it there first.
STORM_OBJECTS := $(patsubst tests/%.c,$(BUILD)/obj/%.o,$(wildcard tests/storm/*.c))
WRAPPED := poll clock_gettime nanosleep getrandom socket setsockopt getsockopt bind listen connect \
  accept4 shutdown read recv recvmsg write send sendmsg close fcntl geteuid __poll_chk __read_chk \
  malloc calloc realloc strdup free
.PHONY: storm wrapped
wrapped: # for tests/house
	@echo $(WRAPPED)
storm: $(BUILD)/tests/storm
	@$< $(if $(HOSTS),-H $(HOSTS)) $(if $(FAULT),-f '$(FAULT)') $(if $(SEED),-v -n 1 -s $(SEED),-n $(SEEDS))
OWN_MEMORY := $(foreach call,malloc calloc realloc strdup,-D$(call)=__real_$(call)) # what it takes never fails
$(BUILD)/obj/storm/%.o: tests/storm/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(REQUIRED) $(CFLAGS) $(DEFINES) $(OWN_MEMORY) -Itests/storm $(addprefix -I,$(ROOMS)) -c -o $@ $<
$(BUILD)/tests/storm: $(STORM_OBJECTS) $(BUILD)/libprobe.a $(BUILD)/libprolog.a $(BUILD)/libsolver.a $(BUILD)/libbase.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(addprefix -Wl$(comma)--wrap=,$(WRAPPED)) -o $@ $^ $(SOLVER_LIBS) -lsodium

# libFuzzer needs clang, and in what it fuzzes counters of where it has been. Those alone cost units
# little, so that the gate makes one build of both; make fuzzers adds the tracing of comparisons.
FUZZ_SANITIZE := fuzzer-no-link,address,undefined
FUZZ_ENGINE ?= -fsanitize=fuzzer
ifneq ($(and $(SANITIZE),$(filter clang%,$(CC))),)
fuzzers: $(FUZZERS)
$(BUILD)/fuzz/%: tests/fuzz/%.c $(TEST_LIBS) $(SPANK_TESTED)
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(REQUIRED) $(TEST_CFLAGS) $(DEFINES) $(TEST_SEES) $(FUZZ_ENGINE) -Wl,--as-needed -o $@ $< \
	  $(SPANK_TESTED) $(TEST_LIBS) $(PROBE_LIBS) $(PROLOG_LIBS) $(SOLVER_LIBS)
else
fuzzers:
	@$(MAKE) --no-print-directory CC=clang SANITIZE=$(FUZZ_SANITIZE) CFLAGS='-O1 -g' fuzzers
endif

check:
	@tests/check
test:
	@tests/one '$(T)'
demo:
	@tests/demo
bench:
	@tests/bench
fuzz:
	@tests/fuzz/run $(FUZZ_SECONDS)
coverage:
	@tests/coverage
deps:
	@etc/dependencies install

# ---- installation ------------------------------------------------------------------------------
CONF := $(DESTDIR)$(SYSCONFDIR)/nettopo/nettopo.conf
PLUGSTACK := $(DESTDIR)$(SYSCONFDIR)/slurm/plugstack.conf.d/nettopo.conf
ENROOT := $(DESTDIR)$(SYSCONFDIR)/enroot
EDITED := etc/nettopo.conf:$(CONF) etc/containers/nettopo.fstab:$(ENROOT)/mounts.d/60-nettopo.fstab \
  etc/containers/enroot-hook.sh:$(ENROOT)/hooks.d/60-nettopo.sh # administrators may: FROM:TO
PAGES := $(wildcard etc/man/*.[1578])
PLACE := sed 's,/usr/local/libexec/nettopo,$(AGENTDIR),g; s,/usr/local/share/nettopo,$(DATADIR),g' # what the texts say
INSTALLED := $(addprefix $(DESTDIR),$(BINDIR)/nettopo $(BINDIR)/nettopo-probe \
  $(addprefix $(LIBEXECDIR)/nettopo/,nettopo-prolog nettopo-check nettopo-probe) \
  $(SLURM_PLUGIN_DIR)/spank_nettopo.so $(DATADIR)/nettopo-map.schema.json \
  $(foreach e,$(wildcard etc/examples/*),$(DATADIR)/examples/$(notdir $(e))) \
  $(foreach e,$(wildcard etc/dashboards/*),$(DATADIR)/dashboards/$(notdir $(e))) \
  $(foreach e,$(wildcard etc/systemd/*.service etc/systemd/*.timer),$(DATADIR)/systemd/$(notdir $(e))) \
  $(PREFIX)/lib/sysusers.d/nettopo.conf $(PREFIX)/lib/tmpfiles.d/nettopo.conf $(DATADIR)/apparmor.d/nettopo-probe \
  $(addprefix $(DATADIR)/,container-mounts container-nettopo) \
  $(foreach p,$(COMPLETED),$(BASHDIR)/$(p) $(ZSHDIR)/_$(p) $(FISHDIR)/$(p).fish) \
  $(foreach m,$(PAGES),$(MANDIR)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))))
install: all
	install -d $(sort $(dir $(INSTALLED) $(foreach e,$(EDITED),$(lastword $(subst :, ,$(e)))) $(PLUGSTACK)))
	install -m 755 $(BUILD)/nettopo $(BUILD)/nettopo-probe $(DESTDIR)$(BINDIR)
	install -m 755 $(BUILD)/nettopo-prolog $(BUILD)/nettopo-check $(DESTDIR)$(LIBEXECDIR)/nettopo
# the agent's copy: the kernel lets a user trace no program that the user cannot read
	install -m 711 $(BUILD)/nettopo-probe $(DESTDIR)$(LIBEXECDIR)/nettopo
	install -m 644 $(BUILD)/spank_nettopo.so $(DESTDIR)$(SLURM_PLUGIN_DIR)
	install -m 755 etc/containers/container-mounts etc/containers/container-nettopo $(DESTDIR)$(DATADIR)
	install -m 755 etc/examples/*.sh $(DESTDIR)$(DATADIR)/examples
	install -m 644 $(filter-out %.sh,$(wildcard etc/examples/*)) $(DESTDIR)$(DATADIR)/examples
	install -m 644 etc/dashboards/* $(DESTDIR)$(DATADIR)/dashboards
	for f in nettopo-map.schema.json systemd/nettopo-fleet.service systemd/nettopo-fleet.timer apparmor.d/nettopo-probe; do \
	  install -m 644 etc/$$f $(DESTDIR)$(DATADIR)/$$f && $(PLACE) <etc/$$f >$(DESTDIR)$(DATADIR)/$$f || exit; done
	for f in sysusers tmpfiles; do \
	  install -m 644 etc/systemd/nettopo.$$f $(DESTDIR)$(PREFIX)/lib/$$f.d/nettopo.conf || exit; done
	for m in $(PAGES); do d=$(DESTDIR)$(MANDIR)/man$${m##*.}; install -m 644 $$m $$d && \
	  $(PLACE) <$$m >$$d/$${m##*/} || exit; done
	for e in $(EDITED); do from=$${e%%:*} to=$${e#*:}; test -e $$to || { install -m $$(stat -c %a $$from) $$from $$to && \
	  $(PLACE) <$$from >$$to; } || exit; done
	for p in $(COMPLETED); do install -m 644 $(BUILD)/completions/bash/$$p $(DESTDIR)$(BASHDIR) && \
	  install -m 644 $(BUILD)/completions/zsh/$$p $(DESTDIR)$(ZSHDIR)/_$$p && \
	  install -m 644 $(BUILD)/completions/fish/$$p $(DESTDIR)$(FISHDIR)/$$p.fish || exit; done
	install -m 644 etc/plugstack.conf.d/nettopo.conf $(PLUGSTACK)

# first what makes Slurm load the plugin
uninstall:
	rm -f $(PLUGSTACK)
	rm -f $(INSTALLED)
	for e in $(EDITED); do if $(PLACE) <$${e%%:*} | cmp -s - $${e#*:}; then rm -f $${e#*:}; fi; done
	-rmdir --ignore-fail-on-non-empty $(DESTDIR)$(DATADIR)/examples $(DESTDIR)$(DATADIR)/dashboards \
	  $(addprefix $(DESTDIR)$(DATADIR)/,systemd apparmor.d /) \
	  $(DESTDIR)$(LIBEXECDIR)/nettopo $(dir $(CONF)) $(addprefix $(ENROOT),/mounts.d /hooks.d /) 2>/dev/null

deb rpm dist:
	@VERSION=$(VERSION) SLURM_PREFIX=$(SLURM_PREFIX) SIGN=$(SIGN) etc/packaging/package $@

clean:
	rm -rf build

-include $(shell find $(addprefix $(BUILD)/,$(ROOMS) solver obj tests fuzz) -name '*.d' -type f 2>/dev/null)
