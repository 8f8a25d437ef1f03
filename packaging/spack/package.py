# SPDX-License-Identifier: MIT
"""Spack's recipe for the command of users alone: `jobmeter run` and reports, without agent and server."""

from spack.package import *


class Jobmeter(MesonPackage):
    """A meter of jobs: where the time, memory, files and energy of a program went."""

    homepage = "https://example.org/jobmeter"

    license("MIT")

    # `make tarball` prints the checksum of a version: version("X.Y.Z", sha256="...")
    version("main", branch="main", git="https://example.org/jobmeter.git")

    def url_for_version(self, version):
        return f"{self.homepage}/jobmeter-{version}.tar.gz"

    depends_on("c", type="build")
    depends_on("meson@0.61:", type="build")
    depends_on("llvm@14:+clang targets=bpf", type="build")
    depends_on("bpftool", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libbpf@1:")
    depends_on("jansson")
    depends_on("libyaml")
    depends_on("libmicrohttpd")
    depends_on("libseccomp@2.5:")
    depends_on("sqlite@3.34:")
    depends_on("postgresql@14:")
    depends_on("ncurses")
    depends_on("curl")
    depends_on("gnutls")
    depends_on("munge")
    depends_on("zlib-api")

    def install(self, spec, prefix):
        with working_dir(self.builder.build_directory):
            ninja("programs")
            meson = which("meson")
            meson("install", "--no-rebuild")
        for daemon in ("jobmeter-agent", "jobmeter-server"):
            force_remove(join_path(prefix.bin, daemon))
