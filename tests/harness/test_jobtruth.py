# SPDX-License-Identifier: MIT
"""That jobtruth finds what is wrong with a page: fed with made pages, by an agent that is none."""

import collections

import pytest

import jobtruth
from exposition import parse

Answer = collections.namedtuple("Answer", "status type text")
TRUTH = {("7", "/a", "read"): jobtruth.Count(1009, 11), ("7", "/a", "write"): jobtruth.Count(13, 2),
         ("8", "/a", "fsync"): jobtruth.Count(0, 3)}
MOUNTS = ["/a", "/b"]


def page(counts, extra="", manager="slurm"):
    families = collections.defaultdict(list)
    for (job, mount, op), count in counts.items():
        labels = f'manager="{manager}",jobid="{job}",mount="{mount}",fstype="ext4"'
        if op in jobtruth.DATA:
            families[f"jobmeter_job_io_{op}_bytes_total"].append((labels, count.bytes))
            families[f"jobmeter_job_io_{op}_calls_total"].append((labels, count.calls))
        else:
            families["jobmeter_job_io_meta_calls_total"].append((f'{labels},op="{op}"', count.calls))
    return "".join(f"# TYPE {name} counter\n" + "".join(f"{name}{{{labels}}} {value}\n" for labels, value in rows)
                   for name, rows in families.items()) + extra


def differences(text):
    return jobtruth.differences(TRUTH, jobtruth.measured(parse(text), MOUNTS))


def test_a_true_page():
    assert differences(page(TRUTH)) == []


def test_what_is_elsewhere_does_not_matter():
    elsewhere = {("7", "/c", "read"): jobtruth.Count(5, 5), ("7", "/a", "stat"): jobtruth.Count(0, 5)}
    assert differences(page(TRUTH | elsewhere)) == []


@pytest.mark.parametrize("key, count", [
    (("7", "/a", "read"), jobtruth.Count(1008, 11)), (("7", "/a", "write"), jobtruth.Count(13, 3)),
    (("8", "/a", "fsync"), jobtruth.Count(0, 0)), (("9", "/a", "read"), jobtruth.Count(1, 1)),
    (("7", "/b", "write"), jobtruth.Count(1, 1)), (("1", "/a", "close"), jobtruth.Count(0, 1)),
], ids=str)
def test_one_wrong_number(key, count):
    assert len(differences(page(TRUTH | {key: count}))) == 1


def test_another_managers_rows_are_no_jobs_of_slurm():
    assert len(differences(page(TRUTH, manager="run"))) == len(TRUTH)


class Pages:
    """An agent of which each scrape gives the next page; an exception is raised.  The last one stays."""

    def __init__(self, *pages):
        self.pages, self.given = list(pages), 0

    def get(self, path):
        text = self.pages[min(self.given, len(self.pages) - 1)]
        self.given += 1
        if isinstance(text, Exception):
            raise text
        return Answer(200, "text/plain; version=0.0.4", text)


def complaints(*pages, down=False):
    scraper = jobtruth.Scraper(Pages(*pages), interval_s=0)
    scraper.is_down = down
    with scraper:
        while scraper.agent.given <= len(pages):
            pass
    return scraper.complaints


LESS = page({("7", "/a", "read"): jobtruth.Count(1008, 11)})
MORE = page({("7", "/a", "read"): jobtruth.Count(1009, 11)})


def test_growing_counters_are_well():
    assert complaints(LESS, MORE, MORE) == []


def test_a_counter_that_falls():
    found = complaints(MORE, LESS, MORE)
    assert len(found) == 1 and "fell from 1009 to 1008" in found[0]


def test_a_counter_that_vanishes_and_comes_back_lower():
    assert len(complaints(MORE, "", LESS)) == 1


def test_a_scrape_that_fails():
    assert len(complaints(MORE, ConnectionRefusedError(), MORE)) == 1
    assert complaints(MORE, ConnectionRefusedError(), MORE, down=True) == []


def test_a_page_that_is_cut():
    assert len(complaints(MORE, MORE[:-5], MORE)) == 1
