# SPDX-License-Identifier: MIT
# The front door; Meson does the work.  On a Debian 12 as it comes, each target first installs the
# packages that it lacks.

BUILD := build
PREFIX := /usr/local

BUILD_PACKAGES := meson ninja-build gcc libc6-dev clang llvm bpftool libbpf-dev libelf-dev zlib1g-dev \
	libjansson-dev libyaml-dev libmicrohttpd-dev libncurses-dev libseccomp-dev libsqlite3-dev libpq-dev libcurl4-gnutls-dev \
	libgnutls28-dev libmunge-dev pkg-config
TEST_PACKAGES := clang-tidy clang-format lld libclang-rt-14-dev python3 python3-pytest strace tmux vim-tiny \
	qemu-system-x86 busybox-static xfsprogs bindfs e2fsprogs openmpi-bin libopenmpi-dev mpich \
	libmpich-dev libhdf5-openmpi-dev python3-torch golang-go systemtap-sdt-dev gfortran fio sqlite3 git slurmctld slurmd slurm-client slurmdbd mariadb-server munge mawk gawk shellcheck debootstrap curl openssl prometheus prometheus-alertmanager prometheus-node-exporter python3-prometheus-client python3-yaml \
	postgresql python3-psycopg2 iproute2 procps libxgboost0 python3-sklearn dpkg-dev rpm lintian \
	chromium chromium-driver fonts-liberation zsh fish mandoc man-db groff-base iperf3 wrk
BENCH_PACKAGES := victoria-metrics postgresql python3-psycopg2 bpftrace libbpf-tools strace prometheus-node-exporter stress-ng htop openmpi-bin libopenmpi-dev

STACK_PACKAGES := postgresql prometheus prometheus-alertmanager prometheus-node-exporter python3
STACK_PORT := 19840

.PHONY: build run stack check-web test test-all bench bench-agent install deb tarball clean

# Warnings are errors with the compiler that the tests use, and with no other.
build:
	@sh tools/install-packages $(BUILD_PACKAGES)
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) -Dwerror=$$(gcc -dumpversion | grep -qx 12 && echo true || echo false) >/dev/null
	@ninja -C $(BUILD) programs

# Meters a real workload under an agent and a server of its own, and reads its report back from the
# server's database: it reads this machine's header files, packs them onto another mount and checks
# the result.
run: build
	@tools/run-under-up $(BUILD) share/examples/pack-headers

# All that a site runs, on this machine until Ctrl-C, and a job: docs/sites/stack.md.
stack: build
	@sh tools/install-packages $(STACK_PACKAGES)
	@tools/stack $(BUILD) $(STACK_PORT)

# The dashboards against Grafana's published schema, and the pages by axe-core; needs npm, its registry
# and what the tests of the pages need.
check-web:
	@tools/check-web $(BUILD)/web

test:
	@sh tools/install-packages $(BUILD_PACKAGES) $(TEST_PACKAGES)
	@tests/run

# Every suite of guests and every file of clang-tidy, whether its inputs have changed or not: for a release, and when
# `make test` lists suites as due.  Keeps the keys of what passes.
test-all:
	@sh tools/install-packages $(BUILD_PACKAGES) $(TEST_PACKAGES)
	@tests/run --all --record

bench: build
	@sh tools/install-packages $(BENCH_PACKAGES)
	@ninja -C $(BUILD) bench-programs
	@$(BUILD)/bench/jobmeter-bench --jobmeter $(BUILD)/jobmeter --update docs/internals/cost-measured.md

# What a reading of many jobs costs; a whole agent, beside another exporter; and what works lose to it: half an hour.
bench-agent: build
	@sh tools/install-packages $(BENCH_PACKAGES)
	@ninja -C $(BUILD) bench-programs
	@$(BUILD)/bench/bench-reading --update docs/internals/cost-measured.md
	@$(BUILD)/bench/bench-agent --update docs/internals/cost-measured.md
	@$(BUILD)/bench/bench-top --update docs/internals/cost-measured.md

install: build
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@ninja -C $(BUILD) programs
	@meson install -C $(BUILD) --no-rebuild

# Packages for this Debian, in build/packages.
deb: build
	@sh tools/install-packages dpkg-dev python3
	@tools/make-packages $(BUILD) $(BUILD)/packages

# The source of the last commit; the same bytes each time.
tarball: VERSION = $(shell sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
tarball:
	@mkdir -p $(BUILD)
	@git archive --format=tar --prefix=jobmeter-$(VERSION)/ HEAD | gzip -9n >$(BUILD)/jobmeter-$(VERSION).tar.gz
	@sha256sum $(BUILD)/jobmeter-$(VERSION).tar.gz

clean:
	rm -rf $(BUILD) $(BUILD)-*
