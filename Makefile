# SPDX-License-Identifier: MIT
# The front door; Meson does the work.  On a Debian 12 as it comes, each target first installs the
# packages that it lacks.

BUILD := build
PACKAGES := meson ninja-build gcc clang llvm bpftool libbpf-dev libelf-dev zlib1g-dev libjansson-dev \
	libyaml-dev pkg-config

.PHONY: build clean packages

build: packages
	@test -f $(BUILD)/build.ninja || meson setup --warnlevel 2 $(BUILD) >/dev/null
	@meson compile -C $(BUILD)

packages:
	@sh tools/install-packages $(PACKAGES)

clean:
	rm -rf $(BUILD) $(BUILD)-*
