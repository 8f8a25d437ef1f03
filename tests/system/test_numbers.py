# SPDX-License-Identifier: MIT
"""Costs that the README and the pages name are those that were measured: the tables are their one place."""

import re

import pytest

from repository import REPOSITORY

TABLES = (REPOSITORY / "docs/internals/cost-measured.md").read_text()
ALL = "T0 + T1 + T2: all"


def measured(table, column, row):
    """The median in the first table below the words @table that has the column."""
    lines = [[cell.strip() for cell in line.strip("| \n").split("|")]
             for line in TABLES.partition(table)[2].splitlines() if line.startswith("|")]
    head = next(i for i, cells in enumerate(lines) if column in cells)
    cells = next(cells for cells in lines[head:] if cells[0] == row)
    return cells[lines[head].index(column)].partition(" ")[0]


COSTS = {  # the first words of a row of docs/cost.md, and where its numbers are from
    "a 4 KiB read": ("Added to one system call:", "pread 4 KiB, 1 thread"),
    "a 4 KiB write": ("Added to one system call:", "write 4 KiB, 1 thread"),
    "`stat`": ("Added to operations on metadata", "stat"),
    "`open` and `close`": ("Added to operations on metadata", "open, close"),
    "any system call": ("Added to one system call:", "getppid, 1 thread"),
    "two calls on a TCP socket": ("Added to two calls on a socket:", "send, recv 64 bytes, TCP"),
    "a switch": ("Added to one switch", "switch"),
    "starting a process": ("Added to one switch", "fork, exit, wait"),
}


@pytest.mark.parametrize("words", COSTS)
def test_the_table_of_costs_is_the_measured_one(words):
    page = (REPOSITORY / "docs/cost.md").read_text()
    row, = re.findall(rf"(?m)^\| {re.escape(words)}.*\| (\d+) ns \| (\d+) ns \|$", page)
    assert row == tuple(measured(*COSTS[words], row) for row in ("nothing: all of it", ALL))


def test_the_readme_says_what_a_read_and_any_other_call_cost():
    text = " ".join((REPOSITORY / "README.md").read_text().split())
    table = "Added to one system call:"
    read, call = "pread 4 KiB, 1 thread", "getppid, 1 thread"
    bare = "nothing: all of it"
    assert f"takes {measured(table, read, bare)} ns without jobmeter and {measured(table, read, ALL)} ns longer" in text
    assert f"takes {measured(table, call, ALL)} ns longer; the cheapest one takes {measured(table, call, bare)} ns" in text


def test_the_start_and_what_is_on_demand_are_the_measured_ones():
    text = " ".join((REPOSITORY / "docs/cost.md").read_text().split())
    start = "`jobmeter run -- true`"
    assert f"{measured('Start and end:', 'wall', start)} ms by the clock" in text
    assert f"{measured('Start and end:', 'user and system', start)} ms of CPU time" in text
    files = measured("Added to one system call:", "pread 4 KiB, 1 thread", "T0 + T1 + T2 + T3 (--files)")
    assert f"to {files} ns" in text
