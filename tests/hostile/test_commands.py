# SPDX-License-Identifier: MIT
"""What people type first, and what they leave out."""

import offered
import pytest

from person import NOBODY, Person, was_killed


@pytest.mark.parametrize("uid", [0, NOBODY])
def test_no_command_crashes_for_want_of_an_argument(programs, tmp_path, root, uid):
    """F1: `report` and `insights` of nothing are of the last run; without one, a line says so."""
    person = Person(programs, tmp_path / "home", uid)
    for name in ("report", "insights"):
        done = person.type(f"jobmeter {name}")
        assert (done.returncode, done.stdout) == (1, "") and "there is no local run yet" in done.stderr, done
    assert person.type("jobmeter run -q -- true").returncode == 0
    for name in ("report", "insights"):
        done = person.type(f"jobmeter {name}")
        assert done.returncode == 0 and "true" in done.stdout.splitlines()[0], done
    without = {"report", "insights", "doctor", "jobs", "usage", "energy", "gpu", "up"}  # as root, up runs until it is ended
    for name in set(offered.commands(programs)) - without:
        done = person.type(f"jobmeter {name}")
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, (name, done)
    for name in ("doctor --no-costs", "jobs"):
        assert not was_killed(person.type(f"jobmeter {name}"))
