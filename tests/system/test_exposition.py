# SPDX-License-Identifier: MIT
"""The golden page of metrics (tests/unit/test_exposition.c), with names that nobody would give a job, as promtool and Prometheus'
own parsers see it; a real Prometheus scrapes in test_agent_scrapes.py."""

import re
import shutil
import subprocess

from repository import REPOSITORY

OPENMETRICS = (REPOSITORY / "tests/data/made-exposition.openmetrics").read_text()


def text_format():
    """The same in the other format, by the rule that the unit test holds it to."""
    lines, suffix = [], ""
    for line in OPENMETRICS.splitlines():
        if found := re.match(r"# (TYPE|HELP) (\S+) (.*)", line):
            keyword, name, words = found.groups()
            if keyword == "TYPE":
                suffix = {"counter": "_total", "info": "_info"}.get(words, "")
                words = "gauge" if words == "info" else words
            lines.append(f"# {keyword} {name}{suffix} " + words.replace('\\"', '"'))
        elif not line.startswith(("# UNIT", "# EOF")) and "_created{" not in line:
            lines.append(line)
    return "\n".join(lines) + "\n"


def test_promtool_finds_nothing(demand):
    demand(shutil.which("promtool"), "needs promtool (package prometheus)")
    done = subprocess.run(["promtool", "check", "metrics"], input=text_format(), capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def samples(families):
    return {(s.name, tuple(sorted(s.labels.items()))): float(s.value) for f in families for s in f.samples}


def test_a_strict_parser_reads_the_same_of_both_formats(demand):
    try:
        from prometheus_client import parser as text
        from prometheus_client.openmetrics import parser as openmetrics
    except ImportError:
        demand(False, "needs python3-prometheus-client")
    strict = list(openmetrics.text_string_to_metric_families(OPENMETRICS))
    plain = list(text.text_string_to_metric_families(text_format()))
    assert len(strict) == len(plain) > 40
    told = samples(strict)
    created = {key for key in told if key[0].endswith("_created")}
    assert {key: number for key, number in told.items() if key not in created} == samples(plain)
    assert all((name.removesuffix("_created") + "_total", labels) in told for name, labels in created)
    assert created  # of jobs that are young
    units = {f.name: f.unit for f in strict}
    assert units["jobmeter_job_cpu_seconds"] == "seconds" and units["jobmeter_job_io_read_bytes"] == "bytes"
