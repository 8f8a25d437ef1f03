# SPDX-License-Identifier: MIT
"""What is pinned is taken over or removed on other kernels, with hooks that the host may not have."""

import re

import pytest

from guest import OPTIONAL, Case

PREPARE = """set -e
mkdir /sys/fs/cgroup/g /tmp/w
mount -t tmpfs w /tmp/w
id=$(stat -c %i /sys/fs/cgroup/g)
dir=/sys/fs/bpf/jobmeter
work() {
	sh -c 'echo $$ >/sys/fs/cgroup/g/cgroup.procs
	       exec dd if=/dev/zero of=/tmp/w/out bs='$2' count='$1' conv=notrunc 2>/dev/null'
}
mkfifo /tmp/words
pinned $dir $id </tmp/words >/out/first 2>/out/complaint &
first=$!
exec 3>/tmp/words
echo seal >&3
echo hooks >&3
until [ $(wc -l </out/first) = 3 ] || ! kill -0 $first; do sleep 0.1; done
cat /out/complaint >&2
work 23 17
kill -9 $first
work 31 7
"""

# Until every task that has ended is freed; each waits for that.
READS = "read\\n" * 20

TAKE_OVER = PREPARE + f"""
printf 'hooks\\n{READS}close\\n' | pinned $dir $id >/out/second
ls /sys/fs/bpf >/out/left
"""

REMOVE = PREPARE + """
printf 'close\\n' | pinned $dir $id file_rows=4099 >/out/second
ls /sys/fs/bpf >/out/left
"""


def lines_of(kernel, result, name):
    if kernel.name in OPTIONAL and result.status == 77:
        pytest.skip(f"kernel {kernel.name}: {result.stderr.strip()}")
    assert result.status == 0, result.stderr
    return result.files[name].decode().splitlines()


@pytest.mark.parametrize("result", [Case(TAKE_OVER)], indirect=True)
def test_a_set_is_taken_over_with_its_hooks(kernel, result):
    first, second = (lines_of(kernel, result, name) for name in ("first", "second"))
    assert first[0].startswith("made") and second[0].startswith("taken")
    assert second[1] == first[2] and "leave_call:11:" in second[1]
    assert re.match(r"ended=2 .*/tmp/w,write,54,608( |$)", second[-1])
    assert not result.files["left"].decode().count("jobmeter")


@pytest.mark.parametrize("result", [Case(REMOVE)], indirect=True)
def test_a_set_of_other_sizes_is_removed(kernel, result):
    assert lines_of(kernel, result, "second") == ["made, removed"]
    assert not result.files["left"].decode().count("jobmeter")
