# SPDX-License-Identifier: MIT
"""What was done is undone, the last first, whatever becomes of those that did it."""

import pathlib
import signal
import subprocess
import sys

import pytest

from keeper import Keeper

HERE = pathlib.Path(__file__).resolve().parents[1] / "system"


def note(keeper, log, word):
    keeper.undo("sh", "-c", f"echo {word} >>{log}")


def test_the_last_is_undone_first(tmp_path):
    with Keeper() as keeper:
        note(keeper, tmp_path / "log", "one")
        note(keeper, tmp_path / "log", "two")
        assert not (tmp_path / "log").exists()
    assert (tmp_path / "log").read_text() == "two\none\n"


def test_an_undo_that_fails_keeps_none_from_its_work(tmp_path):
    with Keeper() as keeper:
        note(keeper, tmp_path / "log", "one")
        keeper.undo("/there/is/no/such/program")
        keeper.undo("false")
    assert (tmp_path / "log").read_text() == "one\n"


def test_a_deed_that_fails_is_undone_too(tmp_path):
    with pytest.raises(subprocess.CalledProcessError), Keeper() as keeper:
        keeper.run("false", undo=["touch", tmp_path / "undone"])
    assert (tmp_path / "undone").exists()


def test_it_works_when_the_tests_are_killed(tmp_path):
    tests = subprocess.Popen([sys.executable, "-c", f"""if True:
        import sys, time
        sys.path.insert(0, {str(HERE)!r})
        from keeper import Keeper
        keeper = Keeper().__enter__()
        keeper.undo("touch", {str(tmp_path / "undone")!r})
        print("ready", flush=True)
        time.sleep(1000)
        """], stdout=subprocess.PIPE, text=True)
    assert tests.stdout.readline() == "ready\n"
    tests.send_signal(signal.SIGKILL)
    tests.wait()
    assert tests.stdout.read() == ""  # the keeper has it, too, until it has done its work
    assert (tmp_path / "undone").exists()
