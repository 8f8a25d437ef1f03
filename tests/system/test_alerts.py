# SPDX-License-Identifier: MIT
"""The alerts of share/prometheus: each fires and does not, each has its runbook, and one comes to a receiver by way of a real
server, Prometheus and Alertmanager."""

import contextlib
import http.server
import importlib.machinery
import importlib.util
import json
import queue
import re
import shutil
import subprocess
import threading

import pytest
import yaml

from prometheus import PATIENCE_S, Alertmanager, Prometheus
from repository import REPOSITORY
from server import Server

FILE = REPOSITORY / "share/prometheus/jobmeter-alerts.yml"
CASES = REPOSITORY / "share/prometheus/jobmeter-alerts-test.yml"
PAGE = REPOSITORY / "docs/sites/alerts.md"
RULES = [rule for group in yaml.safe_load(FILE.read_text())["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}


def test_each_alert_fires_and_does_not(demand):
    demand(shutil.which("promtool"), "needs prometheus")
    done = subprocess.run(["promtool", "test", "rules", CASES], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    fired = [re.findall(r'alertname="(\w+)"', json.dumps(case["promql_expr_test"]).replace("\\", "")) for case in
             yaml.safe_load(CASES.read_text())["tests"]]
    assert {name for names in fired for name in names} == set(ALERTS)
    assert fired.count([]) >= len(ALERTS)


def test_all_names_are_those_of_a_table():
    loader = importlib.machinery.SourceFileLoader("dashboards", str(REPOSITORY / "tools/dashboards"))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("dashboards", loader))
    loader.exec_module(tool)
    metrics = tool.metric_labels()
    for rule in RULES:
        tool.check_names(rule["expr"], metrics)


def test_each_alert_has_its_runbook():
    headings = re.findall(r"^### (\w+)$", PAGE.read_text(), re.MULTILINE)
    assert sorted(headings) == sorted(ALERTS)
    for name, rule in ALERTS.items():
        assert rule["annotations"]["runbook"] == f"docs/sites/alerts.md#{name.lower()}"
        assert rule["annotations"]["summary"] and rule["labels"]["severity"] in ("info", "warning", "critical")


def test_lost_events_that_matter_are_those_for_which_a_number_is_missing():
    rows = re.findall(r'\{ "(\w+)", (true|false), (NULL)?', (REPOSITORY / "src/meter/load/losses.c").read_text())
    wrong = [name for name, is_missing, _ in rows if is_missing == "true"]
    reasons = set(re.findall(r'reason=~"([^"]*)"', ALERTS["EventsLost"]["expr"]))
    assert reasons == {"|".join(wrong)}
    tables = PAGE.read_text().partition("### EventsLost")[2].partition("### RecordsStuck")[0]
    listed = re.findall(r"^\| `(\w+)` \|", tables, re.MULTILINE)
    assert listed == wrong + [name for name, is_missing, no_loss in rows if is_missing == "false" and not no_loss]


@contextlib.contextmanager
def receiver():
    """Its URL, and a queue of the alerts that come."""
    came = queue.Queue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            for alert in json.loads(self.rfile.read(int(self.headers["Content-Length"])))["alerts"]:
                came.put(alert)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", came
        server.shutdown()


def test_a_real_alert_comes_to_its_receiver(keeper, bench, tmp_path, demand):
    demand(shutil.which("prometheus") and shutil.which("prometheus-alertmanager"), "needs prometheus and prometheus-alertmanager")
    with Server(bench.folder / "server", keeper) as server, receiver() as (url, came), contextlib.ExitStack() as stack:
        alertmanager = Alertmanager(tmp_path, url)
        stack.callback(alertmanager.stop)
        prometheus = Prometheus(tmp_path, [], None, "", plain={"jobmeter-server": server.port}, rules=[FILE],
                                alertmanager=alertmanager.port)
        stack.callback(prometheus.stop)
        prometheus.wait_for("up", lambda found: found[0]["value"][1] == "1")
        assert not prometheus.ask("query", query='ALERTS{alertname="ServerFails",alertstate="firing"}')["result"]
        assert server.post(b"no gzip", **{"Content-Encoding": "gzip"}).status == 400
        try:
            while (alert := came.get(timeout=PATIENCE_S))["labels"]["alertname"] != "ServerFails":
                pass
        except queue.Empty:
            pytest.fail(prometheus.said())
        assert alert["status"] == "firing"
        assert alert["labels"] == {"alertname": "ServerFails", "job": "jobmeter-server", "instance": f"127.0.0.1:{server.port}",
                                   "severity": "critical"}
        assert alert["annotations"]["runbook"] == "docs/sites/alerts.md#serverfails"
        assert {rule["health"] for group in prometheus.ask("rules")["groups"] for rule in group["rules"]} == {"ok"}
