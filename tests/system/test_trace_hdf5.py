# SPDX-License-Identifier: MIT
"""trace - calls of HDF5, and the bytes of its file beside the kernel's."""

import collections
import json
import re
import shutil
import subprocess

import pytest

from command import command
from repository import REPOSITORY

DATASETS, WRITES, READS, ATTRIBUTES, ROWS = 13, 17, 11, 7, 9973


@pytest.fixture
def program(demand, tmp_path):
    compiler = shutil.which("h5cc") or shutil.which("h5pcc")
    demand(compiler, "needs h5cc or h5pcc")
    subprocess.run([compiler, "-shlib", "-o", tmp_path / "datasets", REPOSITORY / "tests/hdf5/datasets.c"], check=True, cwd=tmp_path)
    return tmp_path / "datasets"


def test_calls_and_bytes_are_those_of_the_program_and_the_kernel(programs, program, root, tmp_path, demand):
    folder, lines, record = tmp_path / "own", tmp_path / "calls", tmp_path / "record.json"
    folder.mkdir()
    try:
        command("mount", "-t", "tmpfs", "-o", "size=64m", "own", folder)
    except subprocess.CalledProcessError as e:
        demand(False, f"cannot mount: {e.stderr.strip()}")
    try:
        command(programs / "jobmeter", "run", "--standalone", "--quiet", "--output", record, "--",
                programs / "jobmeter", "trace", "--set", "hdf5", "--format", "ndjson", "--output", lines, "--",
                program, folder / "file.h5")
    finally:
        command("umount", folder)
    calls = [json.loads(line) for line in lines.read_text().splitlines()]
    counts = collections.Counter(c["probe"].removeprefix("hdf5:") for c in calls)
    del counts["H5FD_write"], counts["H5FD_read"]
    assert counts == {"H5Fopen": 3, "H5Fcreate": 1, "H5Fclose": 1, "H5Dcreate2": DATASETS, "H5Dwrite": DATASETS * WRITES,
                      "H5Dread": DATASETS * READS, "H5Dclose": DATASETS, "H5Acreate2": 1, "H5Awrite": ATTRIBUTES}
    assert [c["arguments"]["name"] for c in calls if c["probe"] == "hdf5:H5Dcreate2"] == [f"set{i}" for i in range(DATASETS)]
    (row,) = [row for row in json.loads(record.read_text())["io"] if row["mount"] == str(folder)]
    for function, way, times in (("H5FD_write", "write", WRITES), ("H5FD_read", "read", READS)):
        moved = [c for c in calls if c["probe"] == f"hdf5:{function}"]
        assert sum(c["bytes"] for c in moved) == row[way]["bytes"]
        assert sum(c["bytes"] for c in moved if c["arguments"]["type"] == 3) == DATASETS * times * ROWS * 8


def test_a_handle_is_no_failure(programs, program, root, tmp_path):
    said = subprocess.run([programs / "jobmeter", "trace", "--set", "hdf5", "--", program, tmp_path / "file.h5"], check=True,
                          capture_output=True, text=True).stderr
    assert "H5Fopen returned a value below 0 in 3 calls" in said
    assert said.count("returned") == 1, said
    assert re.search(rf"H5Dwrite +{DATASETS * WRITES} ", said), said
