# SPDX-License-Identifier: MIT
"""loads - which of the kernel side's programs load and attach on which kernel, as doctor found it, and the
page that says so.

    loads.py PAGE KERNEL=FOUND.json...     put what doctor found into the page
"""

import json
import sys
from pathlib import Path

BEGIN, END = "<!-- made of doctor's findings: begin -->", "<!-- made of doctor's findings: end -->"


def column(found):
    """{(program, where it is attached): "yes" or why not} of one kernel."""
    return {(hook["program"], hook["attach"]): "yes" if hook["on"] else hook["why"]
            for tier in found["tiers"] for hook in tier["hooks"]}


def lines_of(columns):
    hooks = list(dict.fromkeys(hook for found in columns.values() for hook in found))
    head = ["| program | attached to | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
    return head + ["| " + " | ".join([program, f"`{attach}`",
                                      *(columns[kernel].get((program, attach), "-") for kernel in columns)]) + " |"
                   for program, attach in hooks]


def page_column(page, kernel):
    found, kernels = {}, None
    for line in page.partition(BEGIN)[2].partition(END)[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "program":
            kernels = cells[2:]
        elif kernels and kernel in kernels and not line.startswith("|---"):
            cell = cells[2:][kernels.index(kernel)]
            if cell != "-":
                found[cells[0], cells[1].strip("`")] = cell
    return found


def main(argv):
    page = Path(argv[1])
    columns = {name: column(json.loads(Path(path).read_text()))
               for name, _, path in (word.partition("=") for word in argv[2:])}
    head, _, rest = page.read_text().partition(BEGIN)
    page.write_text(f"{head}{BEGIN}\n" + "\n".join(lines_of(columns)) + f"\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main(sys.argv)
