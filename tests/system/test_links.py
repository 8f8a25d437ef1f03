# SPDX-License-Identifier: MIT
"""Each link of the README and of the pages in docs/ leads to something."""

import re

import pytest

from repository import REPOSITORY

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]


def anchors(page):
    """As forges make them of headings."""
    titles = re.findall(r"(?m)^#+ (.*)$", page.read_text())
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def lead(page, link):
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_its_links_lead_somewhere(page):
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()) if "://" not in link]
    assert [link for link in links if not lead(page, link)] == []


def test_the_readme_names_each_page():
    named = set(re.findall(r"\]\(docs/([\w-]+\.md)", (REPOSITORY / "README.md").read_text()))
    assert {page.name for page in PAGES[1:]} - named == set()


def test_a_link_to_nothing_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One `thing`, at least\n")
    assert lead(page, "#one-thing-at-least")
    assert not lead(page, "#another-thing") and not lead(page, "nothing.md") and not lead(page, "page.md#nothing")
