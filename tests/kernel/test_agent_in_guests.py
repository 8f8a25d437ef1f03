# SPDX-License-Identifier: MIT
"""The agent on other kernels and on cgroup v2, as it comes: its start and its rights, runs of an ordinary user
through the socket, kill -9 in the midst of jobs, and its end."""

import json
import os
import re
import sys

import compare
import mountinfo
import pytest

from guest import OPTIONAL, REPO, Case

sys.path.insert(0, str(REPO / "tests/system"))

from exposition import parse  # noqa: E402

AGENT = """set -e
mkdir -m 1777 /tmp/w /tmp/x
mount -t tmpfs -o mode=1777 w /tmp/w
mount -t tmpfs -o mode=1777 x /tmp/x
scope=/sys/fs/cgroup/system.slice/slurmstepd.scope

start() {
	jobmeter-agent --insecure "$@" 2>>/out/log 3>&- &
	agent=$!
	until wget -qO /tmp/health http://127.0.0.1:9840/health 2>/dev/null; do
		kill -0 $agent || { cat /out/log >&2; exit 1; }
		sleep 0.1
	done
}
scrape() {
	wget -qO /out/$1 http://127.0.0.1:9840/metrics
}
# Until a page has lines with all of these words; a task that ended is counted when the kernel frees it.  As long as the case
# may take: a guest may have a twentieth of a processor.
await() {
	given_up=$(($(cut -d. -f1 /proc/uptime) + 600))
	while test $(cut -d. -f1 /proc/uptime) -lt $given_up; do
		scrape page
		shown=yes
		for words in "$@"; do grep -q "$words" /out/page || shown=; done
		test -z "$shown" || return 0
		sleep 0.1
	done
	echo "in vain: $*" >&2
	return 1
}
# As slurmstepd does: a task of alice in job $1 writes $2 blocks.
work() {
	task=$scope/job_$1/step_0/user/task_0
	mkdir -p $task
	sh -c "echo 0 >$task/cgroup.procs; exec su alice -c 'dd if=/dev/zero of=/tmp/w/out.$1 bs=1009 count=$2 2>/dev/null'"
}
end() {
	find $scope/job_$1 -depth -type d -exec rmdir {} ';'
}
finish() {
	kill -TERM $agent
	status=0; wait $agent || status=$?
	echo $status >/out/ended
	find /sys/fs/bpf /sys/fs/cgroup -name '*jobmeter*' >/out/left
	cat /proc/[0-9]*/comm | grep jobmeter >>/out/left || true
}
"""

RIGHTS = Case(AGENT + """
start
cat /proc/$agent/status >/out/status
scrape page
finish
""")

# The same jobs go on; some come and go while nobody looks.
KILLED = Case(AGENT + """
start
work 7 23
await '{manager="slurm",jobid="7",mount="/tmp/w",fstype="tmpfs"} 23207'
cp /out/page /out/before
kill -KILL $agent
wait $agent || true
work 7 31
work 8 101; end 8
start
work 7 17
work 9 7; end 9
await '{manager="slurm",jobid="7",mount="/tmp/w",fstype="tmpfs"} 71639' 'end_time.*jobid="8"' 'end_time.*jobid="9"'
end 7
await 'end_time.*jobid="7"' 'jobid="7",user="alice"' 'jobid="8",user="alice"' 'jobid="9",user="alice"'
finish
""")

# By alice, who has no rights and no group of her own.
RUN = Case(AGENT + """
start
cd /home/alice
cp /proc/self/mountinfo /out/mountinfo
su alice -c 'jobmeter run --quiet --output /out/record.json -- truth --output /out/truth.json --meta --mount /tmp/x --threads 3'
find /sys/fs/cgroup -name 'jobmeter*' >/out/groups
await 'manager="run",jobid="[0-9]*",user="alice"'
finish
""")

# In a task of Slurm where hers are the only processes: controllers are handed down for the run.
IN_A_TASK = Case(AGENT + """
task=$scope/job_5/step_0/user/task_0
mkdir -p $task
for group in ${scope%/*} $scope $scope/job_5 $scope/job_5/step_0 $scope/job_5/step_0/user; do
	echo '+memory +cpu +pids' >$group/cgroup.subtree_control
done
start
cat >/tmp/command <<END
cat $task/cgroup.subtree_control >/out/during
cut -d / -f 2- /proc/self/cgroup >>/out/during
dd if=/dev/zero of=/tmp/w/run bs=1009 count=13 2>/dev/null
exec burn memory 31 /out/burn.json
END
sh -c "echo 0 >$task/cgroup.procs
	dd if=/dev/zero of=/tmp/w/task bs=1009 count=11 2>/dev/null
	exec su alice -c 'exec jobmeter run --quiet --output /out/record.json -- sh /tmp/command'"
until test -z "$(find $scope -name 'jobmeter*')"; do sleep 0.1; done
cat $task/cgroup.subtree_control >/out/after
end 5
await 'end_time.*jobid="5"'
finish
""")


# The agent is killed in the midst of a run: what the helper made and could not remove goes when the run has ended.
ORPHANED = Case(AGENT + """
task=$scope/job_6/step_0/user/task_0
mkdir -p $task
mkfifo -m 666 /tmp/go
start
sh -c "echo 0 >$task/cgroup.procs; exec su alice -c \\
	'exec jobmeter run --quiet --output /out/record.json -- dd if=/tmp/go of=/tmp/w/run bs=1009 iflag=fullblock'" 2>/out/said &
run=$!
exec 3>/tmp/go
kill -KILL $agent
wait $agent || true
find $scope -name 'jobmeter*' >/out/before
start
dd if=/dev/zero bs=1009 count=19 >&3 2>/dev/null
exec 3>&-
wait $run
until test -z "$(find $scope -name 'jobmeter*')"; do sleep 0.1; done
end 6
await '{manager="slurm",jobid="6",mount="/tmp/w",fstype="tmpfs"} 19171' 'end_time.*jobid="6"'
finish
""")


def cases(*items, **options):
    return pytest.mark.parametrize("result", items, indirect=True, **options)


def page_of(result, name="page"):
    assert result.status == 0, result.stderr + result.files.get("log", b"").decode()
    return parse(result.files[name].decode())


def written(page, job):
    return [value for labels, value in page.of("jobmeter_job_io_write_bytes_total")
            if (labels["manager"], labels["jobid"], labels["mount"]) == ("slurm", job, "/tmp/w")]


# Short jobs while each reading is asked for as soon as the one before is over; a step may be met before its job.
BORN = int(os.environ.get("JOBMETER_BORN", "97"))
BORN_WHILE_A_SAMPLE_IS_TAKEN = Case(AGENT + f"""
echo 'retention: 1h' >/tmp/agent.yaml
start --config /tmp/agent.yaml
while :; do wget -qO /dev/null http://127.0.0.1:9840/metrics; done &
sampling=$!
for job in $(seq 10001 {10000 + BORN}); do mkdir -p $scope/job_$job/step_0; done
for job in $(seq 10001 {10000 + BORN}); do rmdir $scope/job_$job/step_0 $scope/job_$job; done
kill $sampling
ended=0
given_up=$(($(cut -d. -f1 /proc/uptime) + 600))
while test $ended -lt {BORN} -a $(cut -d. -f1 /proc/uptime) -lt $given_up; do
	sleep 1
	scrape page
	ended=$(grep -c '^jobmeter_job_end_time.*manager="slurm",jobid="1[0-9][0-9][0-9][0-9]"' /out/page) || true
done
finish
""")


@cases(RIGHTS, KILLED, RUN, IN_A_TASK, ORPHANED, BORN_WHILE_A_SAMPLE_IS_TAKEN,
       ids=["rights", "killed", "run", "task", "orphaned", "born"])
def test_a_clean_end_leaves_nothing(kernel, result):
    assert result.status == 0, result.stderr + result.files["log"].decode()
    assert result.files["ended"] == b"0\n"
    assert result.files["left"] == b""
    assert "warning" not in result.files["log"].decode()


@cases(RIGHTS, ids=["rights"])
def test_few_rights_are_kept(kernel, result):
    page = page_of(result)
    status = dict(re.findall(r"^(\w+):\t(.*)$", result.files["status"].decode(), re.M))
    assert status["Uid"].split() == ["900"] * 4 and status["Groups"].split() in ([], ["900"])
    assert int(status["CapEff"], 16) == 1 << 39 | 1 << 38 | 1 << 19 | 1 << 2
    assert status["CapBnd"] == status["CapPrm"] == status["CapEff"]
    assert page.of("jobmeter_node_cpu_seconds_total")


@cases(BORN_WHILE_A_SAMPLE_IS_TAKEN, ids=["born"])
def test_each_job_that_is_born_while_a_sample_is_taken_becomes_final(kernel, result):
    ended = {labels["jobid"] for labels, _ in page_of(result).of("jobmeter_job_end_time_seconds") if labels["manager"] == "slurm"}
    assert ended >= {str(job) for job in range(10001, 10001 + BORN)}  # jobs of the cases before may be on the page, too


@cases(KILLED, ids=["killed"])
def test_nothing_is_lost_when_it_is_killed(kernel, result):
    page = page_of(result)
    assert written(page_of(result, "before"), "7") == [23 * 1009]
    assert [written(page, job) for job in "789"] == [[(23 + 31 + 17) * 1009], [101 * 1009], [7 * 1009]]
    assert "took over" in result.files["log"].decode()


@cases(RUN, ids=["run"])
def test_a_run_of_an_ordinary_user_is_counted_to_the_byte(kernel, result, tmp_path):
    page_of(result)
    (tmp_path / "mountinfo").write_bytes(result.files["mountinfo"])
    mounts = mountinfo.read(tmp_path / "mountinfo")
    record, truth = (json.loads(result.files[name]) for name in ("record.json", "truth.json"))
    assert compare.differences(truth, record, lambda path: mountinfo.name_of(path, mounts),
                               **compare.abilities(record)) == []
    assert compare.book_differences(truth, record) == []
    assert record["final"] and record["job"]["user"] == "alice"
    assert not [note for note in record["coverage"]["notes"] if "agent" in note]
    assert result.files["groups"] == b""


@cases(IN_A_TASK, ids=["task"])
def test_a_run_in_a_task_of_its_own_has_its_groups_memory_and_is_the_jobs_too(kernel, result):
    page, record = page_of(result), json.loads(result.files["record.json"])
    given, group = result.files["during"].decode().splitlines()
    assert {"memory", "pids"} <= set(given.split())
    assert re.fullmatch(r"system.slice/slurmstepd.scope/job_5/step_0/user/task_0/jobmeter-run-\d+", group)
    assert result.files["after"].strip() == b""
    assert [row["write"]["bytes"] for row in record["io"] if row["mount"] == "/tmp/w"] == [13 * 1009]
    assert written(page, "5") == [(11 + 13) * 1009]
    if kernel.name not in OPTIONAL:  # no memory.peak there
        assert record["memory"]["peak_bytes"] >= 31 << 20


@cases(ORPHANED, ids=["orphaned"])
def test_the_group_of_a_run_goes_though_its_agent_was_killed(kernel, result):
    page = page_of(result)
    assert len(result.files["before"].splitlines()) == 2  # the command's, and the one beside it
    assert written(page, "6") == [19 * 1009]
    assert b"jobmeter" not in result.files["said"]  # the next agent ended it
