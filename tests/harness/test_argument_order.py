# SPDX-License-Identifier: MIT
"""tests/argument-order: what it tells, and what it leaves alone."""

import subprocess

import pytest

from repository import REPOSITORY


@pytest.mark.parametrize("line, names", [
    ("int f(void) { return add(seek(&newest), newest, list); }", ["newest"]),
    ("int f(void) { return add(newest->name, 1 + seek(&newest)); }", ["newest"]),
    ("struct pair f(void) { return (struct pair){ next(&p), next(&p) }; }", ["p"]),
    ("int f(void) { return outer(add(g(&a),\n\t\t\ta.b)); }", ["a"]),
    ("int f(void) { return add(seek(&newest), list); }", []),
    ("int f(void) { return add(a & newest, newest); }", []),
    ("int f(void) { return add(seek(&newest), r->newest, sizeof(newest)); }", []),
    ("int f(void) { return add(&newest, newest); }", []),  # a call writes when its arguments have been taken
    ("int f(void) { int r = seek(&newest); return add(r, newest); }", []),
    ("int f(void) { return seek(&newest) < 0 || newest; }", []),
    ("/* add(seek(&newest), newest) */ int f(void) { puts(\"g(&a), a\"); }", []),
])
def test_what_is_found(tmp_path, line, names):
    file = tmp_path / "case.c"
    file.write_text(line + "\n")
    done = subprocess.run([REPOSITORY / "tests/argument-order", file], capture_output=True, text=True)
    found = [said.split("&")[1].split()[0] for said in done.stdout.splitlines() if "&" in said]
    assert (sorted(set(found)), done.returncode) == (names, 1 if names else 0), done.stdout + done.stderr
