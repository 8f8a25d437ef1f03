# SPDX-License-Identifier: MIT
"""Mounts of every kind on other kernels: bytes and calls counted once, where the job asked."""

import json

import pytest
import scenes

from guest import OPTIONAL, Case

WORK = "/tmp/w"


def cases(of, agent=False):
    """An agent does not see the mounts of a case, which has a namespace of its own, nor does its record have the node's rows."""
    return [pytest.param(scene, Case(scene.script(WORK, "/out"), agent=agent), id=name) for name, scene in of.items()]


def record_of(kernel, result):
    if kernel.name in OPTIONAL and result.status == 77:
        pytest.skip(f"kernel {kernel.name}: {result.stderr.strip()}")
    if result.status:
        raise RuntimeError(result.stderr)
    record = json.loads(result.files["record.json"])
    coverage = record["coverage"]
    assert "T2" in coverage["tiers"], coverage["missing"]
    return record


KINDS = {"all": scenes.together(scenes.KINDS_AND_COPYING)}
MOUNTS = {"all": scenes.together(scenes.MOUNTS)}


@pytest.mark.parametrize("scene, result", cases(KINDS, agent=True), indirect=["result"])
def test_each_kind_of_file_system_is_counted_where_the_job_asked(kernel, scene, result):
    assert scene.differences(record_of(kernel, result), WORK) == []


@pytest.mark.parametrize("scene, result", cases(scenes.BY_KERNEL_THREADS), indirect=["result"])
def test_what_kernel_threads_do_is_a_row_of_its_own(kernel, scene, result):
    record = record_of(kernel, result)
    assert scene.differences(record, WORK) == []
    assert scenes.kernel_threads_row(record)["write"]["bytes"] >= scenes.WRITE.write_bytes


@pytest.mark.parametrize("scene, result", cases(MOUNTS), indirect=["result"])
def test_each_mount_is_a_row_of_its_own(kernel, scene, result):
    assert scene.differences(record_of(kernel, result), WORK) == []


@pytest.mark.parametrize("scene, result", cases(MOUNTS), indirect=["result"])
def test_a_bind_mount_is_an_alias(kernel, scene, result):
    (row,) = [row for row in record_of(kernel, result)["io"] if row["mount"] == f"{WORK}/bind/m"]
    assert row["aliases"] == [f"{WORK}/bind/bind"]


@pytest.mark.parametrize("scene, result", cases(scenes.OUT_OF_SIGHT, agent=True), indirect=["result"])
def test_a_mount_out_of_jobmeters_sight_has_the_name_that_the_job_saw(kernel, scene, result):
    assert scene.differences(record_of(kernel, result), WORK) == []


@pytest.mark.parametrize("result", [Case(scenes.COPYING_UNMETERED.format(work=WORK))], indirect=True)
def test_the_kernel_charges_a_copy_on_an_overlay_twice(result):
    assert result.status == 0, result.stderr
    assert scenes.times_charged(result.stdout) == scenes.TIMES_CHARGED
