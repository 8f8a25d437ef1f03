# SPDX-License-Identifier: MIT
"""A strict reader of Prometheus' text format: what a scraper may forgive, this does not.

Who scrapes all the time reads most lines again: what a line says by itself is remembered."""

import functools
import re
from dataclasses import dataclass, field

TYPES = {"counter", "gauge", "histogram", "summary", "untyped"}
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|\})')
VALUE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|Inf)|NaN")
UNESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


class PageError(Exception):
    pass


@dataclass
class Page:
    types: dict = field(default_factory=dict)  # family: type
    samples: dict = field(default_factory=dict)  # (name, ((label, value), ...) in the order of names): number

    def of(self, name):
        """[(labels, number)] of one metric."""
        return [(dict(labels), value) for (n, labels), value in self.samples.items() if n == name]

    def counters(self):
        return {key: value for key, value in self.samples.items() if self.types[key[0]] == "counter"}


def number(text):
    """Whole numbers stay exact."""
    return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else float(text)


def parse_labels(text, line):
    """The labels of text, which begins behind "{", and what follows them."""
    labels = {}
    while True:
        found = LABEL.match(text)
        if not found:
            raise PageError(f"labels: {line!r}")
        if found[1] in labels:
            raise PageError(f"a label twice: {line!r}")
        labels[found[1]] = re.sub(r'\\[\\"n]', lambda m: UNESCAPED[m[0]], found[2])
        text = text[found.end():]
        if found[3] == "}":
            return labels, text


def family_of(name, types):
    for suffix in ("_bucket", "_sum", "_count"):
        base = name.removesuffix(suffix)
        if base != name and types.get(base) in ("histogram", "summary"):
            return base
    return name


@functools.lru_cache(maxsize=1 << 16)
def comment_of(line):
    """("HELP" or "TYPE", the metric, what is said of it), or None."""
    found = re.match(rf"# (HELP|TYPE) ({NAME}) (.*)", line)
    return found and found.groups()


@functools.lru_cache(maxsize=1 << 16)
def sample_of(line):
    """(name, its labels in the order of their names, number)"""
    name = re.match(NAME, line)
    if not name:
        raise PageError(f"neither a sample nor a comment: {line!r}")
    rest = line[name.end():]
    labels, rest = parse_labels(rest[1:], line) if rest.startswith("{") else ({}, rest)
    if not rest.startswith(" ") or not VALUE.fullmatch(rest[1:]):
        raise PageError(f"value: {line!r}")
    return name[0], tuple(sorted(labels.items())), number(rest[1:])


def parse(text):
    page, helped, closed, current = Page(), set(), set(), None
    if text and not text.endswith("\n"):
        raise PageError(f"the last line is cut: {text[-80:]!r}")

    def enter(family, line):
        nonlocal current
        if family != current:
            if family in closed:
                raise PageError(f"{family} comes again: {line!r}")
            closed.add(family)
            current = family

    for line in text.split("\n")[:-1]:
        comment = comment_of(line) if line.startswith("#") else None
        if comment:
            kind, metric, said = comment
            enter(metric, line)
            if metric in (helped if kind == "HELP" else page.types):
                raise PageError(f"{kind} twice: {line!r}")
            if kind == "HELP":
                helped.add(metric)
            elif said not in TYPES:
                raise PageError(f"type: {line!r}")
            else:
                page.types[metric] = said
        elif not line.startswith("#"):
            name, labels, value = sample_of(line)
            family = family_of(name, page.types)
            enter(family, line)
            if family not in page.types:
                raise PageError(f"no type: {line!r}")
            key = name, labels
            if key in page.samples:
                raise PageError(f"a series twice: {line!r}")
            page.samples[key] = value
            if page.types[family] == "counter" and not page.samples[key] >= 0:
                raise PageError(f"a counter below zero: {line!r}")
    return page
