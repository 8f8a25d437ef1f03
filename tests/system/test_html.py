# SPDX-License-Identifier: MIT
"""The report as a page: what a real run leaves is read back strictly, and seen in a real browser."""

import copy
import datetime
import itertools
import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from repository import REPOSITORY
from strict_page import StrictPage

EVIL = "\"><script>alert('x')</script><!-- & ]]> </style></td> \N{RIGHT-TO-LEFT OVERRIDE} é"
WORK = """
for i in 1 2 3 4 5 6 7; do dd if=/dev/zero of="$1/data" bs=64k count=137 status=none; cat "$1/data" >/dev/null; done
ls -lR /usr/share/doc 2>/dev/null | head -n 20011 >/dev/null
sleep 1.3
i=0; while [ $i -lt 400009 ]; do i=$((i + 1)); done
"""


class Page(StrictPage):
    """Nothing loads, runs or leads away."""
    VOID = {"br", "col", "hr", "meta"}

    def __init__(self, text):
        self.references, self.shape = [], []
        super().__init__(text)
        assert set(self.references) <= set(self.ids)

    def handle_element(self, tag, attributes):
        assert tag not in ("script", "link", "img", "iframe", "object", "embed", "base", "form", "a")
        self.shape.append(tag)
        for name, value in attributes.items():
            assert name not in ("src", "href", "style", "srcset") and not name.startswith("on")
            self.references += value.split() if name == "aria-labelledby" else []
            self.references += re.findall(r"url\(#(.*?)\)", value)
            assert "url(" not in value.replace("url(#", "")


@pytest.fixture
def report(programs, tmp_path):
    """The page, or another format, of a record that is given as what its JSON holds."""

    def report(record, form="html"):
        path = tmp_path / "record.json"
        path.write_text(json.dumps(record))
        return subprocess.run([programs / "jobmeter", "report", "--format", form, path], check=True,
                              capture_output=True, text=True, encoding="utf-8").stdout

    return report


@pytest.fixture
def made():
    return json.loads((REPOSITORY / "tests/data/pages/made-epochs.json").read_text())


@pytest.fixture(scope="module")
def ran(programs, tmp_path_factory):
    """A page that `run` wrote of a command that reads, writes, waits and computes."""
    folder = tmp_path_factory.mktemp("ran")
    subprocess.run([programs / "jobmeter", "run", "--quiet", "--standalone", "--output", folder / "page.html", "--",
                    "sh", "-c", WORK, "work", folder], check=True,
                   env={"PATH": "/usr/bin:/bin", "XDG_STATE_HOME": str(folder)})
    return folder / "page.html"


def parse(text):
    """By HTML's rules, and by XML's, which forgive nothing."""
    assert text.startswith("<!DOCTYPE html>\n")
    ElementTree.fromstring(text)
    return Page(text)


@pytest.mark.smoke
def test_a_real_run_is_a_page(ran):
    text = ran.read_text(encoding="utf-8")
    page = parse(text)
    assert "OK" in page.text and "CPU efficiency" in page.text and "What was not measured" in page.text
    assert "http:" not in text and "https:" not in text
    tree = ElementTree.fromstring(text)
    for drawing in tree.iter("svg"):
        assert drawing.get("role") != "img" or drawing.find("title") is not None
    assert tree.find(".//table") is not None
    for table in tree.iter("table"):
        assert all(head.get("scope") for head in table.iter("th"))
        assert all(row.find("th") is not None for row in table.find("tbody"))


def test_no_name_of_a_job_is_markup(report, made):
    evil = copy.deepcopy(made)
    for key in ("name", "user", "account", "partition", "workdir", "state", "id", "manager"):
        made["job"][key] = f"made-{key}"
        evil["job"][key] = EVIL
    for key in ("node", "agent_version"):
        evil[key] = EVIL
    evil["job"]["command"] = [EVIL] * len(made["job"]["command"])
    evil["io"][0].update(mount=EVIL, fstype=EVIL, aliases=["2" + EVIL])
    evil["coverage"]["missing"] = [EVIL] * len(made["coverage"]["missing"])
    for step in evil["steps"]:
        step["id"] += EVIL
    benign, hostile = parse(report(made)), parse(report(evil))
    assert hostile.shape == benign.shape
    assert hostile.text.count("<script>") > 10
    assert EVIL.replace("\N{RIGHT-TO-LEFT OVERRIDE}", "\N{REPLACEMENT CHARACTER}") in hostile.text


def test_many_mounts_are_bounded(report, made):
    row = made["io"][0]
    made["io"] = [dict(row, mount=f"/mount/{i}/" + "&" * 300, aliases=[]) for i in range(4096)]
    text = report(made)
    assert "And 4064 more" in parse(text).text
    assert len(text) < 1 << 20


def test_markdown_has_equal_rows(report, made):
    made["io"][0]["mount"] = "/a|b`c"
    lines = report(made, "markdown").splitlines()
    assert "/a\\|b\\`c" in "\n".join(lines)
    tables = [[line.replace("\\|", "").count("|") for line in table]
              for is_table, table in itertools.groupby(lines, lambda line: line.startswith("|")) if is_table]
    assert len(tables) >= 2 and all(len(table) >= 3 for table in tables)  # a head, a line, a row
    assert [len(set(table)) for table in tables] == [1] * len(tables)


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_page_is_wider_than_its_window(browser, ran, report, made, tmp_path, width):
    made["io"][0]["mount"] = "/" + "long" * 90
    (tmp_path / "made.html").write_text(report(made), encoding="utf-8")
    for path in (ran, tmp_path / "made.html"):
        browser.open(path, width, is_phone=width < 500)
        browser.complaints()
        assert browser.evaluate("return innerWidth") == width
        assert browser.evaluate("return document.documentElement.scrollWidth") <= width
        assert browser.evaluate("return document.compatMode") == "CSS1Compat"
        too_wide = """return [...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, svg') &&
            e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 99))"""
        assert browser.evaluate(too_wide) == []
        assert browser.complaints() == []


def test_what_is_drawn_is_there(browser, report, made, tmp_path):
    (tmp_path / "made.html").write_text(report(made), encoding="utf-8")
    browser.open(tmp_path / "made.html", 1280)
    areas = browser.evaluate("""return [...document.querySelectorAll('svg.plot path')].map(e =>
        [e.getBoundingClientRect().width, getComputedStyle(e).fill])""")
    assert len(areas) >= 8
    assert all(width > 10 for width, _ in areas)
    assert all(fill not in ("none", "rgb(0, 0, 0)") for _, fill in areas)
    light = browser.evaluate("return getComputedStyle(document.body).backgroundColor")
    browser.open(tmp_path / "made.html", 1280, is_dark=True)
    dark = browser.evaluate("return getComputedStyle(document.body).backgroundColor")
    assert light == "rgb(255, 255, 255)" and dark != light


def stretched(record, factor):
    """The same, but for a life so many times as long."""
    start, elapsed = 4096 * 432141, record["time"]["elapsed_seconds"] * factor
    begin, end = (f"{datetime.datetime.fromtimestamp(at, datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
                  for at in (start, start + int(elapsed)))
    timeline = {**record["timeline"], "start": begin,
                "interval_seconds": record["timeline"]["interval_seconds"] * factor}
    return {**record, "time": {"start": begin, "end": end, "measured_from": begin, "elapsed_seconds": int(elapsed)},
            "timeline": timeline}


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_number_of_an_axis_stands_on_another(browser, report, made, tmp_path, width):
    overlaps = """return [...document.querySelectorAll('div.drawing')].flatMap(plot => {
        const all = [...plot.querySelectorAll('text')].map(e => [e.textContent, e.getBoundingClientRect()]);
        return all.flatMap(([a, r], i) => all.slice(i + 1).filter(([b, s]) =>
            r.left < s.right + 3 && s.left < r.right + 3 && r.top < s.bottom + 3 && s.top < r.bottom + 3).map(([b]) => [a, b]));
    })"""
    for factor in (1, 2, 4, 8, 16, 32, 64, 128, 512, 2048):
        (tmp_path / "made.html").write_text(report(stretched(made, factor)), encoding="utf-8")
        browser.open(tmp_path / "made.html", width, is_phone=width < 500)
        assert browser.evaluate("return document.querySelectorAll('div.drawing text').length") > 20
        assert browser.evaluate(overlaps) == [], factor


def test_it_can_be_printed(browser, report, made, tmp_path):
    (tmp_path / "made.html").write_text(report(made), encoding="utf-8")
    browser.open(tmp_path / "made.html", 1280)
    paper = browser.print()
    assert paper.startswith(b"%PDF") and 1 < len(re.findall(rb"/Type\s*/Page\b", paper)) < 12
