# SPDX-License-Identifier: MIT
"""matrix - what became of each operation on each kernel, and the page that says so.

    matrix.py PAGE SAVED...     put the tables that the tests saved into the page

An outcome is found out, never declared: what was recorded is held against what the truth program did, by
operation, way, and whether it names its file by a descriptor or by a path."""

import collections
import json
import re
import sys
from pathlib import Path

import compare

EXACT = "exact"            # every call, byte and error, on the mount where it was done
UNPLACED = "unplaced"      # every call, byte and error, in the row (unresolved)
MISSING = "missing"        # not counted, and the record says so
WRONG = "WRONG"            # anything else
ORDER = (EXACT, UNPLACED, MISSING, WRONG)  # the worst of several counts

CALLS = "the system call's exit"
SILENT = "io_uring, no completion wanted"
RESULTS = "`io_uring_complete`"
PATHS = "the security hooks (fentry)"
COUNTED_AND_PLACED = {  # by way; None: metadata
    (None, "descriptor"): (CALLS, "the descriptor, at the call's entry"),
    (None, "result"): (CALLS, "the descriptor that it gave back"),
    (None, "path"): (CALLS, PATHS),
    (None, "io_uring, by descriptor"): (RESULTS, "the request's file"),
    (None, "io_uring, by result"): (RESULTS, "the descriptor that it gave back"),
    (None, "io_uring, by path"): (RESULTS, "nothing"),
    ("call", "descriptor"): (CALLS, "the descriptor, at the call's entry"),
    ("sendfile", "descriptor"): (CALLS, "both descriptors, at the call's entry"),
    ("copy_file_range", "descriptor"): (CALLS, "both descriptors, at the call's entry"),
    ("splice", "descriptor"): (CALLS, "both descriptors, at the call's entry"),
    ("io_uring", "descriptor"): (RESULTS, "the request's file"),
    (SILENT, "descriptor"): ("`kiocb_done`, `io_complete_rw` (fentry)", "the request's file"),
    ("libaio", "descriptor"): ("`aio_complete_rw` (fentry)", "the request's file, as it starts"),
    ("mapping", "descriptor"): ("`mm_filemap_add_to_page_cache`, `writeback_dirty_folio`", "the page's file"),
}

Label = collections.namedtuple("Label", "op way by")


def label_of(op, way, by):
    if op in compare.DATA_OPS:
        return Label(op, way, by)
    return Label(op, None, by if way == "call" else f"{way}, by {by}")


def outcomes(truth, record, place_of):
    """{Label: outcome} of one run."""
    found = {}
    recorded = compare.record_counts(record)
    did = compare.truth_counts(truth)
    silent = compare.truth_counts(truth, "skipped")
    absent, shows_silent = (compare.abilities(record)[key] for key in ("absent_ways", "skipped"))
    for key, n in (() if shows_silent else silent.items()):
        did[key] -= n
    shown = {key: n for key, n in did.items() if key[2] not in absent}
    placed = compare.on_mounts(shown, place_of, True)
    unplaced = compare.on_mounts(shown, place_of, False)

    def worse(label, outcome):
        found[label] = max(found.get(label, EXACT), outcome, key=ORDER.index)

    def is_equal(counts, key):
        expected, n = counts.get(key, compare.ZERO), recorded.get(key, compare.ZERO)
        return n.bytes == expected.bytes if key[2] == "mapping" else n == expected

    for (place, op, way, by), n in did.items():
        name = place if place.startswith("(") else place_of(place)
        key = (name, op, way if op in compare.DATA_OPS else "call")
        label = label_of(op, way, by)
        if way in absent:  # metadata's row may be other ways', which have labels of their own
            is_empty = op not in compare.DATA_OPS or recorded.get(key, compare.ZERO) == compare.ZERO
            worse(label, MISSING if is_empty else WRONG)
        elif is_equal(placed, key):
            worse(label, EXACT)
        elif by == "path" and is_equal(unplaced, (compare.UNRESOLVED, *key[1:])):
            worse(label, UNPLACED)
        elif by != "path" and is_equal(unplaced, key):
            worse(label, EXACT)
        else:
            worse(label, WRONG)
    for _, op, way, by in silent:
        if way not in absent:
            worse(Label(op, SILENT, by), found[Label(op, way, by)] if shows_silent else MISSING)
    return found


class Matrix:
    """{Label: {kernel: outcome}}, the worst of all runs."""

    def __init__(self):
        self.cells = collections.defaultdict(dict)

    def note(self, kernel, found):
        for label, outcome in found.items():
            before = self.cells[label].get(kernel, EXACT)
            self.cells[label][kernel] = max(before, outcome, key=ORDER.index)

    def save(self, path):
        path.write_text(json.dumps([[*label, row] for label, row in self.cells.items()]))

    def add(self, path):
        """What was saved."""
        for *label, row in json.loads(path.read_text()):
            for kernel, outcome in row.items():
                self.note(kernel, {Label(*label): outcome})

    def column(self, kernel):
        return {label: row[kernel] for label, row in self.cells.items() if kernel in row}


BY = {"descriptor": "by descriptor", "result": "that succeeded", "path": "by path",
      "io_uring, by descriptor": "by io_uring, by descriptor",
      "io_uring, by result": "by io_uring, that succeeded",
      "io_uring, by path": "by io_uring, by path"}


def name_of(label):
    if label.way:
        return label.op if label.way == "call" else f"{label.op} by {label.way}"
    return f"{label.op} {BY[label.by]}"


def lines_of(matrix, kernels):
    """The table, as Markdown."""
    labels = sorted(matrix.cells, key=lambda l: (l.way is None, l.way or "", l.op, l.by))
    lines = ["| operation | " + " | ".join(kernels) + " | counted by | placed by |",
             "|---" * (len(kernels) + 3) + "|"]
    for label in labels:
        counted, placed = COUNTED_AND_PLACED[label.way, label.by]
        cells = [matrix.cells[label].get(kernel, "-") for kernel in kernels]
        lines.append("| " + " | ".join([name_of(label), *cells, counted, placed]) + " |")
    return lines


BEGIN, END = "<!-- made by the tests: begin -->", "<!-- made by the tests: end -->"


def page_cells(page):
    """{(operation, kernel): cell} of the page's table."""
    found, kernels = {}, None
    for line in page.partition(BEGIN)[2].partition(END)[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "operation":
            kernels = cells[1:-2]
        elif kernels and not re.match(r"-+$", cells[0]) and len(cells) > 3:
            found.update({(cells[0], kernel): cell for kernel, cell in zip(kernels, cells[1:-2])})
    return found


def with_table(page, lines):
    head, _, rest = page.partition(BEGIN)
    return f"{head}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{rest.partition(END)[2]}"


def contradictions(page, matrix, kernel, column=None):
    """What the page says otherwise than it was found."""
    said = page_cells(page)
    return [f"{name_of(label)} on {kernel}: the page says {said.get((name_of(label), column or kernel))}, "
            f"found {outcome}"
            for label, outcome in matrix.column(kernel).items()
            if said.get((name_of(label), column or kernel)) != outcome]


def main(argv):
    page, matrix = Path(argv[1]), Matrix()
    for path in argv[2:]:
        matrix.add(Path(path))
    kernels = sorted({kernel for row in matrix.cells.values() for kernel in row},
                     key=lambda name: [int(n) if n.isdigit() else 99 for n in name.split(".")])
    page.write_text(with_table(page.read_text(), lines_of(matrix, kernels)))


if __name__ == "__main__":
    main(sys.argv)
