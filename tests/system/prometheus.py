# SPDX-License-Identifier: MIT
"""A real Prometheus, for a test's own."""

import json
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from ports import free_ports

PATIENCE_S = 180  # of scrapes of a second many are too late on a busy machine


class Prometheus:
    """A real one, that scrapes each second.  @ports: of one agent or of several, which have one token.  @plain: {job: port} of what
    is scraped without; @rules: files; @alertmanager: the port of one."""

    def __init__(self, folder, ports, cert, token, name="prometheus.yml", rules=(), plain=None, alertmanager=None):
        self.port, = free_ports(1)
        (folder / "token").write_text(token)
        scraped = [{"job_name": "jobmeter", "scheme": "https",
                    "authorization": {"type": "Bearer", "credentials_file": str(folder / "token")},
                    "tls_config": {"ca_file": str(cert)}, "static_configs": [
                        {"targets": [f"localhost:{port}" for port in (ports if isinstance(ports, list) else [ports])]}]}] if cert else []
        for job, port in (plain or {}).items():
            scraped.append({"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{one}" for one in
                                                                             (port if isinstance(port, list) else [port])]}]})
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
                  "rule_files": [str(file) for file in rules], "scrape_configs": scraped}
        if alertmanager:
            config["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alertmanager}"]}]}]}
        (folder / name).write_text(json.dumps(config))  # JSON is YAML, too
        self.log = open(folder / "prometheus.log", "w+")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder / name}", f"--storage.tsdb.path={folder / 'data'}",
             f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=subprocess.STDOUT)

    def ask(self, what, **arguments):
        url = f"http://127.0.0.1:{self.port}/api/v1/{what}?{urllib.parse.urlencode(arguments)}"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return json.load(answer)["data"]

    def wait_for(self, query, is_enough):
        """What the query gives once that is enough; scrapes have to happen first."""
        end = time.monotonic() + PATIENCE_S
        result = None
        while time.monotonic() < end:
            try:
                result = self.ask("query", query=query)["result"]
            except OSError:
                pass  # it is not up yet
            if result and is_enough(result):
                return result
            assert self.process.poll() is None, self.said()
            time.sleep(0.2)
        pytest.fail(f"{query}: {result}\n{self.said()}")

    def said(self):
        self.log.seek(0)
        return self.log.read()[-3000:]

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


class Alertmanager:
    """A real one, that tells all to @receiver, a URL, at once."""

    def __init__(self, folder, receiver):
        self.port, = free_ports(1)
        config = {"route": {"receiver": "test", "group_by": ["..."], "group_wait": "0s"},
                  "receivers": [{"name": "test", "webhook_configs": [{"url": receiver}]}]}
        (folder / "alertmanager.yml").write_text(json.dumps(config))
        self.log = open(folder / "alertmanager.log", "w+")
        self.process = subprocess.Popen(
            ["prometheus-alertmanager", f"--config.file={folder / 'alertmanager.yml'}", f"--storage.path={folder / 'alerts'}",
             f"--web.listen-address=127.0.0.1:{self.port}", "--cluster.listen-address="], stdout=self.log, stderr=subprocess.STDOUT)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()
