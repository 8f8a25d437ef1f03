# SPDX-License-Identifier: MIT
"""The dashboards of share/grafana: made of their description and the metric table, and each of their queries has an answer from a
real Prometheus that scraped real agents and a real server while jobs ran.  Jobs of a moment are in their sums to the byte.  What
"My jobs" asks the API is answered by a real server, to each user of his own jobs."""

import csv
import json
import os
import pwd
import re
import shutil
import subprocess
import time

import pytest
import yaml

import layouts
from agent_pages import await_page, final_record
from gpu_driver import Driver
from job_groups import MANAGER, RULES
from made_records import BEGUN, line, record
from prometheus import Prometheus
from repository import REPOSITORY
from server import Server
from serving import Serving, folder  # noqa: F401
from slurm import make_users
from test_oom import set_limit

ALERTS = REPOSITORY / "share/prometheus/jobmeter-alerts.yml"
GRAFANA = REPOSITORY / "share/grafana"
FILES = sorted(GRAFANA.glob("*.json"))
MINE = GRAFANA / "jobmeter-mine.json"  # asks the server
KNOWN_S = 3  # before the first job
SHORT, BYTES = 7, 10007  # jobs of a moment, and what each writes
# What a machine of tests need not have: {title of the panel: what}
UNHEARD = {"Frequency of the CPUs": "cpufreq"}

# It does a little of everything until it is told to end.
BUSY = """
cd {folder}
touch busy
python3 -c "
import socket, time, os
a = socket.create_server(('127.0.0.1', 0)); b = socket.create_connection(a.getsockname()); c, _ = a.accept()
while not os.path.exists('end'):
    b.send(b'x' * 1009); c.recv(4096); time.sleep(0.05)" &
while ! [ -e end ]; do
    dd if=/dev/zero of=file bs=4099 count=101 2>/dev/null; cat file missing >/dev/null 2>&1; mv file other; i=0
    while [ $i -lt 20000 ]; do i=$((i+1)); done
done
wait
"""


def make_dashboards(*arguments):
    return subprocess.run([REPOSITORY / "tools/dashboards", *arguments], capture_output=True, text=True)


def test_the_files_are_what_the_description_makes():
    assert (done := make_dashboards("--check")).returncode == 0, done.stderr


def test_a_name_that_no_table_has_is_refused(tmp_path):
    """In a copy of what it reads."""
    for name in ("tools/dashboards", "share/grafana/dashboards.yaml", "docs/internals/metrics.md", "src/server/pages.c", "src/server/emitted.c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    description = tmp_path / "share/grafana/dashboards.yaml"
    text = description.read_text()
    for right, wrong, complaint in (
            ("sum(jobmeter_node_cpus)", "sum(jobmeter_node_cores)", "there is no metric jobmeter_node_cores"),
            ("jobmeter_server_lag_seconds", "jobmeter_server_delay_seconds", "there is no metric jobmeter_server_delay_seconds"),
            ('{state="live"}', '{status="live"}', "jobmeter_agent_jobs has no label status"),
            ("sum by (reason)", "sum by (cause)", "no metric of it has a label cause")):
        assert right in text
        description.write_text(text.replace(right, wrong, 1))
        done = subprocess.run([tmp_path / "tools/dashboards"], capture_output=True, text=True)
        assert done.returncode == 1 and complaint in done.stderr, done


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_panels_do_not_overlap(file):
    dashboard = json.loads(file.read_text())
    assert dashboard["uid"] == file.stem and dashboard["title"].startswith("jobmeter: ")
    taken = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken and place["x"] + place["w"] <= 24, panel["title"]
        taken |= cells
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0


class Site:
    """Two agents, of which one has sensors, a server, and a Prometheus that knows them from before the first job on."""

    def __init__(self, prometheus, agent, sensors, bench, groups):
        self.prometheus, self.agent, self.sensors, self.bench, self.groups = prometheus, agent, sensors, bench, groups
        self.began = time.time() - KNOWN_S + 1

    def ask(self, query, mounts=".+"):
        """As Grafana puts it, of all that happened since the Prometheus knew the agents."""
        window = int(time.time() - self.began)
        for name, value in (("$__rate_interval_ms", "5000"), ("$__rate_interval", "5s"), ("$__range", f"{window}s"), ("$manager", MANAGER),
                            ("$jobid", "1"), ("$mounts", mounts)):
            query = query.replace(name, value)
        assert "$" not in query
        return self.prometheus.ask("query", query=query)["result"]


def write_prolog(folder, job, **facts):
    (folder / "jobs").mkdir(parents=True, exist_ok=True)
    (folder / f"jobs/{MANAGER}-{job}.json").write_text(json.dumps(facts))


@pytest.fixture
def device(keeper):
    """A network device beside the loopback one, which is all that a lane has."""
    if len(os.listdir("/sys/class/net")) < 2 or "JOBMETER_LANE" in os.environ:
        keeper.run("ip", "link", "add", "made0", "type", "veth", "peer", "name", "made1", undo=["ip", "link", "del", "made0"])


@pytest.fixture
def site(device, start_agent, start_below, bench, groups, keeper, tmp_path, demand, programs):
    demand(shutil.which("prometheus") and shutil.which("promtool"), "needs prometheus")
    sensors = layouts.LAYOUTS["intel-2-sockets"][0] | layouts.LAYOUTS["amdgpu"][0] | layouts.coretemp(2, 0, 61000)
    driver = Driver(bench.folder / "driver")
    driver.says()
    with Server(bench.folder / "server", keeper, emissions={"grams_per_kwh": 57}) as server:
        agent = start_agent(cpu_model="AMD EPYC 9654 96-Core Processor", run_dir=str(bench.folder / "run"), node_files=True,
                            nvml_library=str(driver.library),
                            server=f"http://127.0.0.1:{server.port}", server_token_file=f"{server.folder}/push.token")
        warm, root = start_below("warm", sensors, rules=RULES)
        prometheus = Prometheus(tmp_path, [], None, "", plain={"jobmeter": [agent.port, warm.port], "jobmeter-server": server.port},
                                rules=sorted((REPOSITORY / "share/prometheus").glob("*-rules.yml")) + [ALERTS])
        try:
            prometheus.wait_for(f"sum(up offset {KNOWN_S}s)", lambda found: found[0]["value"][1] == "3")
            yield Site(prometheus, agent, root, bench, groups)
        finally:
            prometheus.stop()


def start_jobs(site, programs):
    """One that goes on, and ended ones: some of a moment, one that was killed, one that crashed."""
    folder = site.bench.folder / "work"
    folder.mkdir()
    write_prolog(site.bench.folder / "run", 1, account="physics", partition="batch", name="everything", cores=2, memory_limit_bytes=1009 << 20,
                 gpus=[0])
    site.groups.start(site.groups.name(1), "sh", "-c", BUSY.format(folder=folder))
    for job in range(11, 11 + SHORT):
        site.groups.run(site.groups.name(job), "dd", "if=/dev/zero", f"of={folder}/{job}", f"bs={BYTES}", "count=1", "status=none")
    set_limit(site.groups, site.groups.name(2))
    burn = programs / "tests/truth/burn"
    site.groups.run(site.groups.name(2), "sh", "-c", f"{burn} memory 131 /dev/null; sh -c 'kill -SEGV $$'; true")
    for job in (2, *range(11, 11 + SHORT)):
        site.groups.remove(site.groups.name(job))
    return folder


def mount_of(folder):
    return next(str(one) for one in (folder, *folder.parents) if os.path.ismount(one))


def test_every_query_has_an_answer(site, programs):
    folder = start_jobs(site, programs)
    for job in ("2", "11"):
        final_record(site.agent, job)
    site.prometheus.wait_for(f'count(jobmeter_job_io_write_bytes_total{{jobid=~"1."}})', lambda found: True)
    await_page(site.agent, lambda page: sum(value for labels, value in page.of("jobmeter_agent_spool_answers_total")
                                            if labels["answer"] == "taken") >= SHORT + 1)
    queries = [(panel["title"], target["expr"]) for file in FILES if file != MINE
               for panel in json.loads(file.read_text())["panels"] for target in panel["targets"]]
    silent = [(title, query) for title, query in queries if title not in UNHEARD]
    end = time.monotonic() + 60
    while silent := [(title, query) for title, query in silent if not site.ask(query)]:
        assert time.monotonic() < end, "\n".join(f"{title}: {query}" for title, query in silent)
        layouts.add_uj(site.sensors, "intel-rapl:0", 10**7 + 19)
        time.sleep(1)
    (folder / "end").touch()
    rules = [rule for group in site.prometheus.ask("rules")["groups"] for rule in group["rules"]]
    assert [rule for rule in rules if rule["health"] != "ok"] == []

    # rate() gives 0 for all of these: each was born with its last value
    written, = (query for title, query in queries if title == "Jobs by calls in the range" and "write_bytes" in query)
    found = {one["metric"]["jobid"]: float(one["value"][1]) for one in site.ask(written, mount_of(folder))}
    assert {job: found[job] for job in map(str, range(11, 11 + SHORT))} == {str(job): BYTES for job in range(11, 11 + SHORT)}


def test_provisioning_names_what_is_installed():
    providers, = yaml.safe_load((GRAFANA / "provisioning/dashboards/jobmeter.yaml").read_text())["providers"]
    assert (providers["type"], providers["options"]) == ("file", {"path": "/usr/local/share/jobmeter/grafana"})
    source, = yaml.safe_load((GRAFANA / "provisioning/datasources/jobmeter.yaml").read_text())["datasources"]
    assert (source["type"], source["access"]) == ("prometheus", "proxy")
    source, = yaml.safe_load((GRAFANA / "provisioning/datasources/jobmeter-api.yaml").read_text())["datasources"]
    assert source["type"] == json.loads(MINE.read_text())["panels"][0]["datasource"]["type"]
    assert source["jsonData"]["oauthPassThru"] and source["url"] in source["jsonData"]["allowedHosts"]


# ---- what asks the server ----

def select(value, selector):
    """As gjson does: dots lead into maps, those behind a backslash are of the key."""
    for key in re.split(r"(?<!\\)\.", selector):
        value = value.get(key.replace("\\.", ".")) if isinstance(value, dict) else None
    return value


def ask_as_infinity(server, target, headers):
    """(text, rows), each row {head: value}, as the plugin makes them of URL, root selector and columns."""
    url = target["url"]
    begun_ms = int(BEGUN.timestamp() * 1000)
    for name, value in (("${__from}", begun_ms), ("${__to}", begun_ms + 86_400_000), ("$job", 1)):
        url = url.replace(name, str(value))
    assert "$" not in url and target["url_options"]["method"] == "GET"
    answer = server.get(url, **headers)
    assert answer.status == 200, (url, answer.text)
    if target["type"] == "csv":
        rows = list(csv.DictReader(answer.text.splitlines()))
        return answer.text, [{column["text"]: row[column["selector"]] for column in target["columns"]} for row in rows]
    rows = select(json.loads(answer.text), target["root_selector"])
    assert isinstance(rows, list), (url, answer.text)
    return answer.text, [{column["text"]: select(row, column["selector"]) for column in target["columns"]} for row in rows]


def test_each_users_own_jobs_answer_what_his_dashboard_asks(folder, keeper):  # noqa: F811
    mine, others = (f"jm-{name}-{os.getpid()}" for name in ("mine", "other"))
    make_users(keeper, [mine, others])
    secret = folder / "proxy.secret"
    secret.write_text("proxys-secret-0123456789\n")
    secret.chmod(0o640)
    dashboard = json.loads(MINE.read_text())
    targets = [(panel["title"], target) for panel in dashboard["panels"] for target in panel["targets"]]
    targets += [(one["name"], one["query"]["infinityQuery"]) for one in dashboard["templating"]["list"] if one["type"] == "query"]
    with Serving(folder, keeper)(proxy={"header": "X-Remote-User", "secret_file": str(secret)}) as server:
        for number, user in ((1, mine), (2, others), (3, mine)):
            one = record(number, user=user, uid=pwd.getpwnam(user).pw_uid, name=f"of-{user}")
            one["cpu"] |= {"user_seconds": 7, "system_seconds": 1, "allocated_cores": 4, "cpus_allowed": None}
            one["memory"] |= {"peak_bytes": 1 << 30, "limit_bytes": 4 << 30}
            one["energy"] = {"joules": 1009.5, "level": "node", "quality": "attributed"}
            server.push([line(one)])
        headers = {"X-Remote-User": mine, "X-Jobmeter-Proxy-Secret": secret.read_text().strip()}
        for title, target in targets:
            text, rows = ask_as_infinity(server, target, headers)
            assert rows, title
            unknown = {head for head in rows[0] if all(row[head] in (None, "") for row in rows)}
            assert not unknown, (title, unknown, rows)
            assert others not in text and '"id":"2"' not in text, title
            for column in target["columns"]:
                if column["type"] == "number":
                    assert all(float(row[column["text"]] or 0) >= 0 for row in rows), (title, column)
        jobs = ask_as_infinity(server, dict(targets)["Jobs"], headers)[1]
        assert {row["Job"] for row in jobs} == {"1", "3"} and {row["Name"] for row in jobs} == {f"of-{mine}"}
        assert [row["Energy"] for row in jobs] == [1009.5] * 2
        assert ask_as_infinity(server, dict(targets)["Jobs in the range"], headers)[1] == [{"jobs": 2}]
        assert server.get("/api/v1/jobs", **{"X-Remote-User": mine}).status == 401
