# SPDX-License-Identifier: MIT
"""Each link of the README and of the pages in docs/ leads to something, and each page can be found."""

import re

import pytest

from repository import REPOSITORY

PAGES = [*sorted(REPOSITORY.glob("*.md")), *sorted((REPOSITORY / "docs").rglob("*.md"))]


def anchors(page):
    """As forges make them of headings."""
    titles = re.findall(r"(?m)^#+ (.*)$", page.read_text())
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def lead(page, link):
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_its_links_lead_somewhere(page):
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()) if "://" not in link]
    assert [link for link in links if not lead(page, link)] == []


def test_each_page_can_be_reached_from_the_readme():
    found, left = set(), [REPOSITORY / "README.md"]
    while left:
        page = left.pop()
        if page in found or page.suffix != ".md":
            continue
        found.add(page)
        links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()) if "://" not in link]
        left += [(page.parent / link).resolve() for link in links if link]
    assert {page for page in PAGES if REPOSITORY / "docs" in page.parents} - found == set()


def test_a_link_to_nothing_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One `thing`, at least\n")
    assert lead(page, "#one-thing-at-least")
    assert not lead(page, "#another-thing") and not lead(page, "nothing.md") and not lead(page, "page.md#nothing")
