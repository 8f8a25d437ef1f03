# SPDX-License-Identifier: MIT
"""Files one by one: what jobmeter says of each is what was done with it, exactly."""

import compare
import pytest
from cases import CASES, chained
from hot_cases import (SHARED, SHARED_BYTES, SMALL_BYTES, SMALL_FILES, SMALL_OPENS, by_path, differences,
                       sums_of_files, sums_of_rows)


@pytest.fixture
def run_hot(programs, mounts, run_metered):
    """run_hot(option...): the record of the program hot on two mounts."""

    def run(*options, folders=(mounts.a, mounts.b)):
        return run_metered(programs / "tests/truth/hot", *folders, options=["--files", *options], tier="T3")

    return run


def check_shared(shared):
    """Threads add up whether or not they share a descriptor."""
    read = shared["read"]
    assert (read["bytes"], read["calls"]) == (SHARED_BYTES, 2 * 307 + 2 * 10007)
    assert read["sequential_bytes"] + read["random_bytes"] == SHARED_BYTES
    assert read["sequential_bytes"] >= 2 * SHARED  # what each read by its own
    assert shared["reread_bytes"] == SHARED_BYTES - SHARED
    assert (shared["opens"], shared["creates"], shared["closes"]) == (2, 1, 3)


def test_each_file_and_folder_is_told_as_it_was_used(run_hot, mounts):
    record = run_hot()
    assert differences(record, mounts.a) == {}
    assert record["files"]["dropped"]["files"] == 0
    assert record["coverage"]["lost_events"] == compare.hidden_by_disks(record), record["coverage"]
    files = by_path(record)
    check_shared(files[f"{mounts.a}/shared"])
    for folder, size in ((mounts.a, 211), (mounts.b, 223)):  # files of two mounts with one number are two
        same = files[f"{folder}/same"]
        assert (same["mount"], same["write"]["bytes"], same["write"]["calls"]) == (str(folder), size, 1)
    assert record["files"]["small"] == {"files": SMALL_FILES, "bytes": SMALL_BYTES, "opens": SMALL_OPENS}


@pytest.mark.parametrize("bound", (1, 11, 503))
def test_what_has_no_room_is_in_one_sum(run_hot, mounts, bound):
    whole, part = run_hot(folders=[mounts.a]), run_hot("--files-max", str(bound), folders=[mounts.b])
    files = part["files"]
    assert files["followed"]["files"] <= bound
    assert files["dropped"]["files"] > 0
    assert files["followed"]["files"] + files["dropped"]["files"] == whole["files"]["followed"]["files"]
    assert sums_of_files(part) == sums_of_files(whole)
    assert files["dropped"]["size_bytes"] is None
    assert any("not followed" in note for note in part["coverage"]["notes"])


def test_so_many_that_they_cannot_be_counted_are_not_counted(programs, mounts, run_metered):
    script = f"""
import os
for i in range(5003):
    os.close(os.open({str(mounts.a)!r} + f"/{{i}}", os.O_CREAT | os.O_WRONLY))
"""
    record = run_metered("python3", "-c", script, options=["--files", "--files-max", "1"], tier="T3")
    dropped = record["files"]["dropped"]
    assert dropped["files"] is None
    assert dropped["creates"] == 5003


def test_files_are_what_the_rows_of_mounts_are(programs, tmp_path, mounts, run_metered):
    """Of all that the truth program does."""
    truths = chained(programs, CASES.values(), tmp_path, mounts)
    record = run_metered(*truths, options=["--files"], tier="T3")
    assert sums_of_files(record) == sums_of_rows(record)


def test_a_name_that_is_long_or_deep_is_cut_at_its_beginning(mounts, run_metered):
    parts = [f"{i:02}" + "x" * 60 for i in range(7)]
    folder = mounts.a.joinpath(*parts)
    folder.mkdir(parents=True)
    name = "n" * 255
    (folder / name).write_bytes(bytes(100003))
    record = run_metered("cat", folder / name, options=["--files"], tier="T3")
    (path,) = [path for path in by_path(record) if path.endswith(name)]
    assert path.startswith(f"{mounts.a}/.../")
    assert str(folder / name).endswith(path.removeprefix(f"{mounts.a}/..."))


def test_a_file_below_a_bind_mount_has_the_name_that_its_mount_gives_it(mounts, run_metered):
    file = mounts.bind / "file"
    file.write_bytes(bytes(100003))
    record = run_metered("cat", file, options=["--files"], tier="T3")
    assert by_path(record)[f"{mounts.a}/part/file"]["read"]["bytes"] == 100003


def test_pipes_devices_and_proc_are_no_files(run_metered):
    record = run_metered("sh", "-c", "cat /proc/self/stat | cat >/dev/null", options=["--files"], tier="T3")
    paths = [*by_path(record), *by_path(record, "directories")]
    assert not [path for path in paths if path.startswith(("/proc", "/dev/null", "("))]
