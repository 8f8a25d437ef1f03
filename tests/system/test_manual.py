# SPDX-License-Identifier: MIT
"""The manual: a page of each command, which has the options that the command has, and which groff and mandoc can read."""

import os
import re
import shutil
import subprocess

import offered
import pytest


@pytest.fixture(scope="module")
def folder(programs):
    return programs / "share/man"


@pytest.fixture(scope="module")
def pages(folder):
    found = sorted(path for path in folder.iterdir() if re.fullmatch(r"[1-8]", path.suffix[1:]))
    assert len(found) > 3
    return found


def page_of(programs, invocation):
    name, section = "-".join(invocation), 1 if invocation[0] == "jobmeter" else 8
    page = programs / f"share/man/{name}.{section}"
    assert page.exists(), (f"'{' '.join(invocation)}' has no manual page: write share/man/{name}.{section}.in (one of those "
                           "beside it shows how) and name it in share/man/meson.build")
    return page


@pytest.fixture(scope="module")
def read(demand):
    """read(page): {title of a section: its text}"""
    demand(shutil.which("mandoc"), "mandoc is not installed")

    def read(page):
        text = subprocess.run(["mandoc", "-T", "ascii", "-O", "width=200", page], check=True, capture_output=True,
                              text=True).stdout
        parts = re.split(r"^([A-Z][A-Z ]+)$", re.sub(".\b", "", text), flags=re.MULTILINE)
        return dict(zip(parts[1::2], parts[2::2]))

    return read


def flags_of(section):
    """{"--output", "-o", ...} of lines that begin with one"""
    return {flag for line in re.findall(r"^ {7}(-.*)$", section, re.MULTILINE)
            for flag in re.findall(r"(?:^|(?<=, ))--?[A-Za-z][a-z-]*", line)}


def test_each_command_has_a_page_with_its_options_and_no_others(programs, read):
    for invocation in offered.invocations(programs):
        assert flags_of(read(page_of(programs, invocation))["OPTIONS"]) == offered.flags(programs, invocation), invocation


def test_words_stand_beside_their_option(programs, read):
    text = read(page_of(programs, ("jobmeter", "doctor")))["OPTIONS"]
    assert re.search(r"--format FORMAT\n.*\.  One of text, json, ndjson, yaml\.\n", text)


def test_a_page_is_of_a_command_or_of_a_file(programs, pages):
    known = {"-".join(invocation) for invocation in offered.invocations(programs)}
    known |= {"jobmeter", "jobmeter-agent.yaml", "jobmeter-insights.yaml"}
    assert {page.stem for page in pages} == known


def test_the_first_page_lists_all_commands(folder, programs, read):
    listed = re.findall(r"^ {7}jobmeter-([a-z]+)\(1\)$", read(folder / "jobmeter.1")["COMMANDS"], re.MULTILINE)
    assert listed == offered.commands(programs)


def test_all_settings_stand_in_their_page(folder, programs, read):
    done = subprocess.run([programs / "jobmeter-agent", "--dump-config"], check=True, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "JOBMETER_CONFIG": "/dev/null"})
    names, outer = [], ""
    for indent, name, value in re.findall(r"^( *)([A-Za-z0-9_]+):(.*)$", done.stdout, re.MULTILINE):
        if indent:
            names.append(f"{outer}.{name}")
        elif value.strip():
            names.append(name)
        else:
            outer = name
    assert len(names) > 25
    text = read(folder / "jobmeter-agent.yaml.5")["SETTINGS"]
    assert re.findall(r"^ {7}([A-Za-z0-9_.]+) \(", text, re.MULTILINE) == names


def test_mandoc_finds_nothing(pages, demand):
    demand(shutil.which("mandoc"), "mandoc is not installed")
    for page in pages:
        said = subprocess.run(["mandoc", "-T", "lint", page], capture_output=True, text=True).stdout
        assert [line for line in said.splitlines() if "longer than 80 bytes" not in line] == []  # lines of source


def test_groff_finds_nothing(pages, demand):
    demand(shutil.which("man"), "man is not installed")
    for page in pages:
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], capture_output=True,
                              text=True, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
        assert (done.returncode, done.stderr) == (0, "")


def test_pages_name_pages_that_there_are(pages):
    names = {page.name for page in pages}
    for page in pages:
        for name, section in re.findall(r"\\fB(jobmeter[a-z.\\-]*)\\fR\((\d)\)", page.read_text()):
            assert f"{name}.{section}".replace("\\-", "-") in names, page.name


def test_a_page_fits_80_columns(pages, demand):
    demand(shutil.which("mandoc"), "mandoc is not installed")
    for page in pages:
        text = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=80", page], check=True, capture_output=True,
                              text=True).stdout
        wide = [line for line in re.sub(".\b", "", text).splitlines() if len(line) > 87]
        assert not wide, (page.name, wide)
