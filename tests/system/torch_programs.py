# SPDX-License-Identifier: MIT
"""torch_programs - the training of tests/torch with Debian's PyTorch, and names of operators."""

import collections
import json
import os
import subprocess

from ports import free_ports
from repository import REPOSITORY

PYTHON = "/usr/bin/python3"
RANKS = 2
PREFIX = "aten::"


def is_there():
    return subprocess.run([PYTHON, "-c", "import torch.distributed as d; assert d.is_gloo_available()"],
                          capture_output=True).returncode == 0


def training(*arguments):
    return [REPOSITORY / "tests/torch/run-ranks", str(RANKS), REPOSITORY / "tests/torch/training.py", *map(str, arguments)]


def environment():
    return os.environ | {"MASTER_PORT": str(free_ports(1)[0])}


def profiled(path):
    """What torch.profiler counted in a rank, and what the trace's own names are: (begin, end, counts, {own: operator})."""
    found = json.loads(path.read_text())
    names = {name.removeprefix(PREFIX) + (f"_{overload}" if overload else ""): name
             for name, overload in found["schemas"] if name.startswith(PREFIX)}
    return found["begin"], found["end"], collections.Counter(found["counts"]), names
