# SPDX-License-Identifier: MIT
"""What is scraped of a real agent, while a thousand jobs come and go; and a real Prometheus that does it."""

import collections
import gzip
import http.client
import os
import pathlib
import re
import shutil
import subprocess
import threading
import time
from itertools import pairwise

from agent import USER
from agent_pages import ask, await_page, entries, known_jobs, page_of, state_files
from exposition import parse
from job_groups import MANAGER, OWN_ONLY
from prometheus import Prometheus

CLIENTS = 4
ROUNDS, JOBS, LIVE = 5, 200, 100
INTERVAL_S = 0.2  # of each of them: 20 scrapes a second in all
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


class Client(threading.Thread):
    """Scrapes all the time, with one connection kept open, and complains of what is not whole."""

    def __init__(self, agent, over, packed, openmetrics):
        super().__init__(daemon=True)
        self.agent, self.over, self.complaints, self.scrapes = agent, over, [], 0
        self.openmetrics = openmetrics
        self.headers = {"Accept-Encoding": "gzip" if packed else "identity", **({"Accept": OPENMETRICS} if openmetrics else {})}

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.agent.port, timeout=60)
        while not self.over.wait(INTERVAL_S):
            try:
                self.scrape(connection)
            except Exception as e:  # a thread's own would be lost
                self.complaints.append(f"{self.headers}: {type(e).__name__}: {e}")
                connection.close()

    def scrape(self, connection):
        connection.request("GET", "/metrics", headers=self.headers)
        answer = connection.getresponse()
        body = answer.read()
        if answer.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        end = b"# EOF\n" if self.openmetrics else b"\n"
        if answer.status != 200 or not body.endswith(end) or b"jobmeter_agent_build_info" not in body:
            raise ValueError(f"status {answer.status}, {len(body)} bytes: ...{body[-100:]!r}")
        if not self.openmetrics and self.scrapes % 10 == 0:
            connection.close()  # that takes a while, and who is silent for long is cut
            parse(body.decode())
        self.scrapes += 1


Held = collections.namedtuple("Held", "resident_kib descriptors files groups file_rows task_totals histograms")


def held_by(agent, ids):
    process = pathlib.Path(f"/proc/{agent.process.pid}")
    resident = int(re.search(r"^RssAnon:\s*(\d+) kB", (process / "status").read_text(), re.M)[1])
    return Held(resident, len(os.listdir(process / "fd")), len(state_files(agent)),
                *(entries(agent, name, ids) for name in ("groups", "file_rows", "task_totals", "file_histograms")))


def full_tables(agent, job):
    """What its record says of them: nothing lacks room."""
    coverage = ask(agent, f"/v1/jobs/{MANAGER}/{job}")["coverage"]
    return [text for text in coverage["missing"] + coverage["notes"] if "was full" in text]


def test_a_thousand_jobs_come_and_go(start_agent, groups, demand):
    demand(shutil.which("bpftool") or os.path.exists("/usr/sbin/bpftool"), "needs bpftool")
    agent = start_agent(rules=OWN_ONLY, retention="2s")
    over = threading.Event()
    clients = [Client(agent, over, packed, openmetrics) for packed in (False, True) for openmetrics in (False, True)]
    rounds, ids = [], set()
    for client in clients:
        client.start()
    try:
        for turn in range(ROUNDS):
            for job in range(JOBS):
                name = groups.name(f"{turn}-{job}")
                if job % 8:
                    groups.make(name)
                else:
                    groups.run(name, "/bin/true", env={})
                ids.add((groups.roots[0] / name).stat().st_ino)
                if job >= LIVE:  # so many live at once
                    groups.remove(groups.name(f"{turn}-{job - LIVE}"))
            living = {f"{turn}-{job}" for job in range(JOBS - LIVE, JOBS)}
            await_page(agent, lambda page: living <= known_jobs(page))
            assert not [text for job in living for text in full_tables(agent, job)]
            for job in living:
                groups.remove(groups.name(job))
            await_page(agent, lambda page: not known_jobs(page) and not state_files(agent), 120)
            rounds.append(held_by(agent, ids))
    finally:
        over.set()
        for client in clients:
            client.join()
    print(*rounds, f"{sum(client.scrapes for client in clients)} scrapes", sep="\n")
    assert not [complaint for client in clients for complaint in client.complaints]
    assert all(client.scrapes > 20 for client in clients)
    assert [value for _, value in page_of(agent).of("jobmeter_agent_failed_readings_total")] == [0]
    first, last = rounds[0], rounds[-1]
    # Pages under way move it up and down; what leaks grows in each round.
    assert any(after.resident_kib < before.resident_kib + 100 for before, after in zip(rounds, rounds[1:]))
    assert last.files == 0 and abs(last.descriptors - first.descriptors) <= CLIENTS + 3
    assert last.groups == last.file_rows == last.task_totals == last.histograms == 0


# ---- a real Prometheus ----


def test_promtool_finds_nothing_on_a_live_page(start_agent, work, demand):
    demand(shutil.which("promtool"), "needs promtool (package prometheus)")
    agent = start_agent()
    work(1, "0")
    await_page(agent, lambda page: "1" in known_jobs(page))
    done = subprocess.run(["promtool", "check", "metrics"], input=agent.get("/metrics").text, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_live_page_in_openmetrics_is_the_same(start_agent, work, demand):
    """Prometheus' own parser takes each sample once."""
    try:
        from prometheus_client.openmetrics import parser
    except ImportError:
        demand(False, "needs python3-prometheus-client")
    agent = start_agent()
    work(1, "0")
    await_page(agent, lambda page: "1" in known_jobs(page))
    families = list(parser.text_string_to_metric_families(agent.get("/metrics", Accept=OPENMETRICS).text))
    samples = [(s.name, tuple(sorted(s.labels.items()))) for family in families for s in family.samples]
    assert len(samples) == len(set(samples)) > 200


def test_a_real_prometheus_rates_bytes_by_mount(start_agent, bench, groups, work, certificate, tmp_path, demand):
    demand(shutil.which("prometheus"), "needs prometheus")
    cert, key = certificate
    token = bench.folder / "scrape.token"
    agent = start_agent(insecure=False, token_file=str(token), tls={"certificate": str(cert), "key": str(key)})
    assert agent.get("/metrics").status == 401
    assert token.stat().st_mode & 0o777 == 0o640
    prometheus = Prometheus(tmp_path, agent.port, cert, token.read_text().strip())
    files = [bench.disk / "a", bench.memory / "b"]
    for path in files:
        path.touch()
        shutil.chown(path, USER)
    writer = groups.start(groups.name(8), "setpriv", f"--reuid={USER}", "--clear-groups", "/usr/bin/python3", "-uSc", WRITER, *files)
    try:
        mounts, job = {str(bench.disk), str(bench.memory)}, f'manager="{MANAGER}",jobid="8"'
        query = f"jobmeter_job_io_write_bytes_total{{{job}}}[1m]"

        def grown(result):
            """{mount: bytes that it grew by, of a series that has a value at both ends}"""
            values = {one["metric"]["mount"]: {at: int(number) for at, number in one["values"]} for one in result
                      if one["metric"]["mount"] in mounts}
            assert all((b - a) % 1009 == 0 for of_one in values.values() for a, b in pairwise(of_one.values()))
            common = sorted(set.intersection(*map(set, values.values()))) if values.keys() == mounts else []
            return {mount: of_one[common[-1]] - of_one[common[0]] for mount, of_one in values.items()} if common else None

        found = grown(prometheus.wait_for(query, lambda result: (of := grown(result)) and min(of.values()) >= 61 * 1009))
        assert 1.9 < found[str(bench.memory)] / found[str(bench.disk)] < 2.1
        rates = prometheus.wait_for(f"rate({query})", lambda result: len(result) >= 2)
        assert all(float(one["value"][1]) > 0 for one in rates if one["metric"]["mount"] in mounts)
        joined = prometheus.wait_for(f"sum by (user) (jobmeter_job_memory_peak_bytes{{{job}}} "
                                     "* on (manager, jobid) group_left (user) jobmeter_job_info)",
                                     lambda result: result[0]["metric"])  # whose it is, is told a moment later
        assert [one["metric"] for one in joined] == [{"user": USER}]
        metadata = prometheus.ask("metadata", metric="jobmeter_job_io_write_bytes")
        assert not metadata or metadata["jobmeter_job_io_write_bytes"][0]["unit"] == "bytes"
        writer.terminate()
        writer.wait()
        total = f'jobmeter_job_io_write_bytes_total{{manager="{MANAGER}",jobid="8",mount="{bench.memory}"}}'
        written = (bench.memory / "b").stat().st_size
        found = prometheus.wait_for(total, lambda r: int(r[0]["value"][1]) == written)
        assert int(found[0]["value"][1]) == written
        prometheus.wait_for("up", lambda result: result[0]["value"][1] == "1"  # a scrape may come too late on a busy machine
                            and prometheus.ask("targets")["activeTargets"][0]["lastError"] == "")
    finally:
        writer.kill()
        writer.wait()
        prometheus.stop()


# Ten writes a second to the one file, twenty to the other.
WRITER = """
import os, sys, time
a, b = (os.open(path, os.O_CREAT | os.O_WRONLY, 0o600) for path in sys.argv[1:])
at = time.monotonic()
while True:
    os.write(a, bytes(1009))
    os.write(b, bytes(1009))
    os.write(b, bytes(1009))
    at += 0.1
    time.sleep(max(at - time.monotonic(), 0))
"""


# ---- the node ----


def words(path):
    return {line.split()[0].rstrip(":"): line.split()[1:] for line in pathlib.Path(path).read_text().splitlines() if line.strip()}


def kernel_says():
    """{series: number}, of counters."""
    stat, found = words("/proc/stat"), {}
    ticks = os.sysconf("SC_CLK_TCK")
    for at, mode in enumerate(("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")):
        found["cpu_seconds", mode] = int(stat["cpu"][at]) / ticks
    found["context_switches", None] = int(stat["ctxt"][0])
    found["forks", None] = int(stat["processes"][0])
    for line in pathlib.Path("/proc/net/dev").read_text().splitlines()[2:]:
        name, rest = line.split(":", 1)
        numbers = [int(word) for word in rest.split()]
        found["network_receive_bytes", name.strip()], found["network_receive_packets", name.strip()] = numbers[:2]
        found["network_transmit_bytes", name.strip()], found["network_transmit_packets", name.strip()] = numbers[8:10]
    for line in pathlib.Path("/proc/diskstats").read_text().splitlines():
        fields = line.split()
        found["disk_read_calls", fields[2]], found["disk_read_bytes", fields[2]] = int(fields[3]), 512 * int(fields[5])
        found["disk_write_calls", fields[2]], found["disk_write_bytes", fields[2]] = int(fields[7]), 512 * int(fields[9])
    return found


def memory_and_boot_time():
    return 1024 * int(words("/proc/meminfo")["MemAvailable"][0]), int(words("/proc/stat")["btime"][0])


def test_numbers_of_the_node_are_the_kernels(start_agent):
    """Counters stand between what the kernel says before and after."""
    agent = start_agent()
    time.sleep(1.1)  # no older page will do
    memory_and_boot = [memory_and_boot_time()]
    before = kernel_says()
    page = page_of(agent)
    after = kernel_says()
    memory_and_boot.append(memory_and_boot_time())
    seen = 0
    for key, value in page.samples.items():
        match = re.fullmatch(r"jobmeter_node_(\w+)_total", key[0])
        if not match:
            continue
        label = next(iter(dict(key[1]).values()), None)
        if (match[1], label) in before:
            seen += 1
            assert before[match[1], label] - 0.02 <= value <= after[match[1], label] + 0.02, key
    assert seen >= 10 + 4  # the modes, switches, forks; and at least one device's

    def one(name):
        return page.of(f"jobmeter_node_{name}")[0][1]

    assert one("memory_total_bytes") == 1024 * int(words("/proc/meminfo")["MemTotal"][0])
    (least, most), (first, last) = map(sorted, zip(*memory_and_boot))
    assert least - (1 << 30) < one("memory_available_bytes") < most + (1 << 30)
    assert first <= one("boot_time_seconds") <= last  # by two clocks, which do not agree to the second
    assert one("cpus") == os.sysconf("SC_NPROCESSORS_ONLN")
    root = os.statvfs("/")
    sizes = {labels["mount"]: value for labels, value in page.of("jobmeter_node_filesystem_size_bytes")}
    assert sizes.get("/", root.f_blocks * root.f_frsize) == root.f_blocks * root.f_frsize
    assert sizes
