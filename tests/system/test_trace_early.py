# SPDX-License-Identifier: MIT
"""A library is probed before the command's first call, whatever names it: 37 calls at once, in a program that ends with them."""

import os
import subprocess

import pytest

LIBRARY = 'int job_work(int n) { __asm__ volatile("nop"); return n; }\n'
MIDDLE = "extern int job_work(int); int mid(int n) { int r = 0; for (int i = 0; i < n; i++) r += job_work(i); return r; }\n"
MAIN = "extern int job_work(int); int main(void) { int r = 0; for (int i = 0; i < 37; i++) r += job_work(i); return r < 0; }\n"
BY_MIDDLE = "extern int mid(int); int main(void) { return mid(37) < 0; }\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("early")

    def build(name, text, *options):
        (folder / f"{name}.c").write_text(text)
        (folder / name).parent.mkdir(exist_ok=True)
        subprocess.run(["gcc", "-O1", "-o", folder / name, folder / f"{name}.c", *options], check=True, cwd=folder)

    for place in ("a", "b", "c"):
        (folder / place).mkdir()
    build("b/libw.so", LIBRARY, "-shared", "-fPIC")
    build("c/libw.so", LIBRARY, "-shared", "-fPIC")
    build("a/libmid.so", MIDDLE, "-shared", "-fPIC", "-Lb", "-lw", "-Wl,-rpath,$ORIGIN/../b")
    build("direct", MAIN, "-Lb", "-lw", "-Wl,-rpath,$ORIGIN/b")
    build("transitive", BY_MIDDLE, "-La", "-lmid", "-Wl,-rpath,$ORIGIN/a", "-Wl,--unresolved-symbols=ignore-all")
    build("by-path", MAIN, folder / "b/libw.so")
    build("bare", MAIN, "-Lb", "-lw")
    (folder / "script").write_text(f"#!{folder}/direct\n")
    (folder / "script").chmod(0o755)
    return folder


@pytest.mark.parametrize("words, variables, library", [
    (["direct"], {}, "b"),
    (["transitive"], {}, "b"),
    (["by-path"], {}, "b"),
    (["bare"], {"LD_LIBRARY_PATH": "b"}, "b"),
    (["env", "LD_LIBRARY_PATH=b", "bare"], {}, "b"),
    (["direct"], {"LD_PRELOAD": "c/libw.so"}, "c"),  # its function comes first
    (["env", "LD_PRELOAD=c/libw.so", "direct"], {}, "c"),
    (["script"], {}, "b"),
], ids=["run-path", "a-librarys-run-path", "needed-by-path", "LD_LIBRARY_PATH", "env-LD_LIBRARY_PATH", "LD_PRELOAD", "env-LD_PRELOAD", "script"])
def test_the_first_call_is_counted(programs, root, folder, words, variables, library):
    def in_folder(text):
        return text.replace("=", f"={folder}/") if "=" in text else text if text == "env" else f"{folder}/{text}"

    done = subprocess.run([programs / "jobmeter", "trace", "--budget", "0", "--format", "ndjson", "--probe", f"{folder}/{library}/libw.so:job_work",
                           "--", *map(in_folder, words)], capture_output=True, text=True,
                          env={**os.environ, **{name: f"{folder}/{value}" for name, value in variables.items()}})
    assert done.returncode == 0, done.stderr
    assert sum('"ad-hoc:job_work"' in line for line in done.stdout.splitlines()) == 37, done.stderr
