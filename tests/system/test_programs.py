# SPDX-License-Identifier: MIT
"""Programs that people run: what jobmeter recorded against strace's sum of the very same run, and fio
against what fio itself says."""

import ctypes
import json
import mmap
import os
import re
import shutil
import subprocess

import compare
import metered
import mountinfo
import pytest
import straced

BLOCK = 4096
FILE_BYTES = 7 << 20
IOS = 1009  # a prime


def fentry_is_here(record):
    return not any("path operations" in line for line in record["coverage"]["missing"])


@pytest.fixture
def run_both(programs, tmp_path, root, demand):
    """run_both(word...): what strace saw and what jobmeter recorded of one run, by (mount, op, way)."""

    def run(*argv):
        argv = [str(word) for word in argv]
        demand(shutil.which(argv[0]), f"{argv[0]} is not installed")
        output = tmp_path / "record.json"
        lines = straced.trace(tmp_path / "strace.txt", programs / "jobmeter", "run", "--quiet", "--output",
                              output, "--", *argv, more=metered.PROCESS_CALLS, elements=4096)
        record = json.loads(output.read_text())
        placed = fentry_is_here(record)
        seen = compare.on_mounts(straced.counts(metered.lines_of_command(lines, argv)),
                                 mountinfo.name_of, placed)
        recorded = {key: n for key, n in compare.record_counts(record).items()
                    if key[2] != "mapping" and n != compare.ZERO and key[0] != "(kernel)"}
        return straced.opens_together(seen), straced.opens_together(recorded), record

    return run


def books_close(record):
    return all(book["difference_bytes"] == 0 for book in record["coverage"]["accounting"].values())


def assert_equal(seen, recorded, record):
    assert compare.count_differences(seen, recorded) == []
    assert books_close(record)
    assert record["coverage"]["lost_events"] == compare.hidden_by_disks(record), record["coverage"]


@pytest.fixture
def tree(tmp_path):
    """Some folders of files of many sizes."""
    top = tmp_path / "tree"
    for i in range(53):
        file = top / f"folder-{i % 7}" / f"file-{i}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(os.urandom(101 + i * i * 97))
    (top / "link").symlink_to("folder-0/file-0")
    return top


def test_cp(run_both, tree, mounts):
    assert_equal(*run_both("cp", "-r", "--reflink=auto", tree, mounts.a / "copy"))


def test_cp_within_a_file_system(run_both, tree, tmp_path):
    seen, recorded, record = run_both("cp", "-r", "--reflink=auto", tree, tmp_path / "copy")
    assert_equal(seen, recorded, record)
    copied = sum(n.bytes for (_, op, way), n in recorded.items()
                 if op == "write" and way == "copy_file_range")
    assert copied in (0, sum(f.stat().st_size for f in tree.rglob("file-*")))  # 0: it was cloned


def test_tar(run_both, tree, mounts):
    assert_equal(*run_both("tar", "-C", tree.parent, "-cf", mounts.a / "tree.tar", "tree"))
    assert_equal(*run_both("tar", "-C", mounts.b, "-xf", mounts.a / "tree.tar"))


def test_sqlite_with_a_write_ahead_log(run_both, mounts):
    script = mounts.plain / "script"
    script.write_text("PRAGMA journal_mode=WAL; CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);\n" +
                      "".join(f"INSERT INTO t(b) VALUES ('{'x' * (i % 211)}');\n" for i in range(307)) +
                      "SELECT count(*), sum(length(b)) FROM t; PRAGMA wal_checkpoint(TRUNCATE);\n")
    assert_equal(*run_both("sqlite3", "-init", script, mounts.plain / "t.db", ".quit"))


def test_git_clone(run_both, tree, tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (("init", "-q"), ("add", "."),
                  ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all")):
        subprocess.run(["git", *words], cwd=tree, check=True, env=environment)
    assert_equal(*run_both("git", "clone", "-q", "--no-hardlinks", tree, tmp_path / "clone"))
    assert (tmp_path / "clone/folder-0/file-0").exists()


def test_python_importing_a_package(run_both):
    seen, recorded, record = run_both("/usr/bin/python3", "-B", "-c", "import email.mime.text, asyncio, xml.dom.minidom")
    assert_equal(seen, recorded, record)
    assert sum(n.not_found for (_, op, _), n in recorded.items() if op == "stat") > 0


# ---- fio ----

@pytest.fixture
def data_file(mounts):
    """A file on a mount of its own, written beforehand, so that fio lays nothing out."""
    file = mounts.a / "data"
    file.write_bytes(os.urandom(FILE_BYTES))
    return file


@pytest.fixture
def run_fio(run_metered, demand, tmp_path):
    """run_fio(file, option...): what fio says of its one job, and jobmeter's row of the file's mount."""

    def run(file, *options):
        demand(shutil.which("fio"), "fio is not installed")
        said = tmp_path / "fio.json"
        record = run_metered("fio", "--name=job", f"--filename={file}", "--rw=randrw", f"--bs={BLOCK}",
                             f"--size={FILE_BYTES}", f"--number_ios={IOS}", "--randseed=17", "--thread",
                             "--output-format=json", f"--output={said}", *options)
        (row,) = [row for row in record["io"] if row["mount"] == mountinfo.name_of(file)]
        return json.loads(said.read_text())["jobs"][0], row, record

    return run


def data_of(numbers):
    return {op: (numbers[op]["bytes"], numbers[op]["calls"]) for op in ("read", "write")}


def said_by(fio):
    return {op: (fio[op]["io_bytes"], fio[op]["total_ios"]) for op in ("read", "write")}


def test_fio_by_plain_calls(run_fio, data_file):
    fio, row, record = run_fio(data_file, "--ioengine=psync")
    assert data_of(row) == said_by(fio) and row["interfaces"] == {}
    assert books_close(record)


def test_fio_by_io_uring(run_fio, data_file):
    fio, row, record = run_fio(data_file, "--ioengine=io_uring", "--iodepth=8")
    assert data_of(row) == data_of(row["interfaces"]["io_uring"]) == said_by(fio)
    assert books_close(record)


def test_fio_by_libaio_and_direct(run_fio, disk):
    file = disk / "data"
    file.write_bytes(os.urandom(FILE_BYTES))
    fio, row, record = run_fio(file, "--ioengine=libaio", "--iodepth=8", "--direct=1")
    if fentry_is_here(record):
        assert data_of(row) == data_of(row["interfaces"]["libaio"]) == said_by(fio)
    else:
        assert row["read"]["bytes"] == row["write"]["bytes"] == 0
        assert any(line.startswith(f"{IOS} libaio requests not counted")
                   for line in record["coverage"]["missing"])


def resident_pages(file):
    """How many pages of a file are in the page cache, by mincore(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    size = file.stat().st_size
    pages = -(-size // mmap.PAGESIZE)
    with open(file, "rb") as f:
        address = libc_mmap(libc, f.fileno(), size)
        found = (ctypes.c_ubyte * pages)()
        assert libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), found) == 0
        libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
    return sum(byte & 1 for byte in found)


def libc_mmap(libc, fd, size):
    libc.mmap.restype = ctypes.c_void_p
    return libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_SHARED, fd, ctypes.c_long(0))


def make_cold(file):
    """Write it, and have none of it in the page cache."""
    file.write_bytes(os.urandom(FILE_BYTES))
    fd = os.open(file, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
    assert resident_pages(file) == 0


def test_fio_by_a_mapping(run_fio, disk):
    file = disk / "data"
    make_cold(file)
    fio, row, record = run_fio(file, "--ioengine=mmap", "--invalidate=0", "--end_fsync=0")
    assert row["read"]["bytes"] == row["write"]["bytes"] == 0  # a mapping is no call
    assert row["mapped"]["read_bytes"] == resident_pages(file) * mmap.PAGESIZE
    assert fio["majf"] <= record["memory"]["major_faults"] <= fio["majf"] + 100  # programs are mapped too
    assert row["mapped"]["write_bytes"] >= fio["write"]["io_bytes"]  # each block once; folios may be larger
    assert books_close(record)


def test_no_program_is_refused_but_what_is_only_tried(programs, root, demand, tmp_path):
    """Else the meter would go back to its code for older kernels, which counts the same, and takes longer for it."""
    demand(shutil.which("strace"), "strace is not installed")
    trace = tmp_path / "strace"
    subprocess.run(["strace", "-f", "-e", "trace=bpf", "-o", trace, programs / "jobmeter", "run", "--quiet", "--standalone",
                    "--", "true"], check=True)
    loads = [line for line in trace.read_text().splitlines() if "BPF_PROG_LOAD" in line and "prog_name=" in line]
    demand(any(re.search(r'prog_name="enter_call".* = \d+$', line) for line in loads), "no BPF here")
    refused = [re.search(r'prog_name="(\w*)"', line)[1] for line in loads if re.search(r" = -1 E", line)]
    assert [name for name in refused if not name.startswith("try_")] == []
    found = subprocess.run([programs / "jobmeter", "doctor", "--no-costs", "--json"], capture_output=True, text=True).stdout
    assert json.loads(found)["older_code"] == []
