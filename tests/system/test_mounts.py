# SPDX-License-Identifier: MIT
"""Mounts of every kind on this kernel: bytes and calls counted once, where the job asked.  Each scene
has a mount namespace of its own, so that it leaves nothing behind whatever becomes of it."""

import json
import os
import signal
import subprocess

import pytest
import scenes

PATIENCE_S = 300


@pytest.fixture
def shell(programs, root):
    """shell(script): what a script said on stdout that ran in a mount namespace of its own."""
    path = [programs, programs / "tests/mounts", scenes.LIBRARY.parent, os.environ["PATH"], "/usr/sbin"]
    environment = os.environ | {"PATH": ":".join(map(str, path))}

    def shell(script):
        running = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment, start_new_session=True)
        try:
            said, complaint = running.communicate(timeout=PATIENCE_S)
        finally:
            end_session(running)
        if running.returncode == 77:  # the guests have every kind
            pytest.skip(complaint.strip())
        if running.returncode:
            raise RuntimeError(complaint)
        return said

    return shell


@pytest.fixture
def play(shell, tmp_path, demand):
    """play(scene): the record of its job, and the folder of its mounts."""

    def play(scene):
        work = tmp_path / "w"
        shell(scene.script(work, tmp_path))
        record = json.loads((tmp_path / "record.json").read_text())
        coverage = record["coverage"]
        demand("T2" in coverage["tiers"], f"no T2 here: {'; '.join(coverage['missing'])}")
        return record, work

    return play


def end_session(process):
    """A daemon that outlives its scene would keep the scene's mounts."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


SCENES = {"kind": scenes.KINDS, "mount": scenes.MOUNTS, "out of sight": scenes.OUT_OF_SIGHT, "copy": scenes.COPYING}
SMOKE = ("kind", "out of sight")


@pytest.mark.parametrize("scene", [
    pytest.param(scene, id=f"{group}: {name}", marks=[pytest.mark.smoke] if group in SMOKE else [])
    for group, found in SCENES.items() for name, scene in found.items()])
def test_what_was_done_is_counted_once_where_the_job_asked(play, scene):
    """On each kind of file system, each mount in a row of its own, by the names that the job saw, and copies too."""
    record, work = play(scene)
    assert scene.differences(record, work) == []


def test_a_bind_mount_is_an_alias(play):
    record, work = play(scenes.BIND)
    (row,) = [row for row in record["io"] if row["mount"] == f"{work}/m"]
    assert row["aliases"] == [f"{work}/bind"]


def test_the_kernel_charges_a_copy_on_an_overlay_twice(shell, tmp_path):
    said = shell(scenes.COPYING_UNMETERED.format(work=tmp_path / "w"))
    assert scenes.times_charged(said) == scenes.TIMES_CHARGED
