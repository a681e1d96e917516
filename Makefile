# SPDX-License-Identifier: MIT
#
# A thin front for meson and ninja: see `make help`.  Every target first installs the Debian
# packages that it lacks (scripts/install-deps.sh).

BUILD := build
PREFIX ?= /usr/local
BENCH_CSV := $(BUILD)/bench.csv
FUZZ_SECONDS ?= 20
SIM_COUNT ?= 4000
SIM_SEED = $(shell date +%s)
SIM_JOBS ?= $(shell nproc)
SIM_ARGS ?=
LAB_ARGS ?= udp-flood --world live --policy all

DEPS := scripts/install-deps.sh
TESTS := scripts/run-tests.py
MAKEFLAGS += --no-print-directory

# $(call configure,DIR,OPTIONS,COMPILER): set DIR up once; ninja does it again when need be.
configure = test -f $(1)/build.ninja || $(if $(3),CC=$(3)) meson setup $(2) $(1)
comma := ,
# Each word of a list as one argument, whatever the shell would see in it.
quoted = $(foreach word,$(1),'$(subst ','\'',$(word))')

.PHONY: all run check system sim lint format asan tsan bench bench-dns install fuzz clean help deps

all: deps ## build the library and build/softirq (the default)
	@$(call configure,$(BUILD))
	@ninja -C $(BUILD)

deps:
	@$(DEPS) build

run: all ## build, then the live UDP flood under every policy (LAB_ARGS="..." for another)
	@$(BUILD)/softirq lab $(LAB_ARGS)

check: all ## build, then all tests; the last line counts the test cases
	@$(TESTS) $(BUILD) $(call quoted,$(NAMES))

system: all ## the tests with real clients, which it installs first
	@$(DEPS) system
	@$(TESTS) $(BUILD) clients

sim: all ## SIM_COUNT (4000) random worlds from SIM_SEED (the clock), and those that failed once
	@$(BUILD)/tests/sim/softirq-worlds --seed $(SIM_SEED) --count $(SIM_COUNT) \
	  --kept tests/sim/worlds/kept.txt --jobs $(SIM_JOBS) $(SIM_ARGS)

lint: ## format, static analysis, warnings as errors, sizes, layers, symbols
	@$(DEPS) build lint
	@scripts/lint.sh

format: ## bring all C files into shape with clang-format
	@$(DEPS) lint
	@git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

SAN_FLAGS := -Dbuildtype=debugoptimized -Db_lundef=false -Dbench=disabled

asan: deps ## all tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(call configure,build-asan,-Db_sanitize=address$(comma)undefined $(SAN_FLAGS))
	@ninja -C build-asan
	@ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	$(TESTS) build-asan --slow-by 4 --without no-asan $(call quoted,$(NAMES))

tsan: deps ## the tests under ThreadSanitizer, without the suite no-tsan
	@$(call configure,build-tsan,-Db_sanitize=thread $(SAN_FLAGS))
	@ninja -C build-tsan
	@TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 \
	$(TESTS) build-tsan --slow-by 8 --no-aslr --without no-tsan $(call quoted,$(NAMES))

bench: ## compare with libuv, eventfd+epoll, liburcu and ns-3; writes build/bench.csv
	@$(DEPS) build bench
	@$(call configure,$(BUILD))
	@meson configure $(BUILD) -Dbench=enabled
	@ninja -C $(BUILD)
	@$(BUILD)/bench/softirq-bench --csv $(BENCH_CSV)

bench-dns: all ## DNS under a flood of junk, beside NSD (root); BENCH_DNS_ARGS="--seconds 30"
	@$(DEPS) build bench system
	@meson configure $(BUILD) -Dbench=enabled
	@ninja -C $(BUILD)
	@bench/dns.py $(BUILD) $(BENCH_DNS_ARGS)

fuzz: ## run each fuzz target for FUZZ_SECONDS (20)
	@$(DEPS) build fuzz
	@$(call configure,build-fuzz,-Dfuzz=true -Db_sanitize=address$(comma)undefined $(SAN_FLAGS),clang)
	@ninja -C build-fuzz
	@scripts/fuzz.sh build-fuzz $(FUZZ_SECONDS)

install: all ## library, headers, softirq.pc, CLI into DESTDIR/PREFIX (/usr/local)
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@ninja -C $(BUILD)
	@meson install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))
	@$(if $(DESTDIR),,ldconfig || true)

clean: ## remove everything that was built
	rm -rf build build-*

help: ## this list
	@sed -n 's/^\([a-z][a-z]*\):.*## /    make \1\t/p' $(MAKEFILE_LIST) | expand -t 20
