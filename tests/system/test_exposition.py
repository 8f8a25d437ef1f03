# SPDX-License-Identifier: MIT
"""What is exposed, as curl, promtool and Prometheus' own parsers see it; a real Prometheus scrapes in test_agent_scrapes.py.

The pages are made (tests/system/exposed.c): no node has measured them.
"""

import gzip
import http.client
import shutil
import subprocess

import pytest

TOKEN = "made-token"
PATIENCE_S = 60


@pytest.fixture
def exposed(programs):
    """exposed(*options): the demo as a process; .port where it listens."""
    running = []

    def start(*options):
        process = subprocess.Popen([programs / "tests/system/exposed", *map(str, options)],
                                   stdout=subprocess.PIPE, text=True)
        running.append(process)
        process.port = int(process.stdout.readline())
        return process

    yield start
    for process in running:
        process.terminate()
        assert process.wait() == 0


def page(programs, kind, *options):
    return subprocess.run([programs / "tests/system/exposed", "--print", kind, *map(str, options)],
                          check=True, capture_output=True).stdout


def lint(text, demand):
    demand(shutil.which("promtool"), "needs promtool (package prometheus)")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
    return done.returncode, done.stdout.decode() + done.stderr.decode()


@pytest.mark.parametrize("options", [(), ("--jobs", 5, "--mounts", 3)])
def test_promtool_finds_nothing(programs, demand, options):
    assert lint(page(programs, "text", *options), demand) == (0, "")


def samples(families):
    return {(s.name, tuple(sorted(s.labels.items()))): float(s.value) for f in families for s in f.samples}


@pytest.mark.parametrize("options", [(), ("--jobs", 5, "--mounts", 3)])
def test_a_strict_parser_reads_the_same_of_both_formats(programs, demand, options):
    try:
        from prometheus_client import parser as text
        from prometheus_client.openmetrics import parser as openmetrics
    except ImportError:
        demand(False, "needs python3-prometheus-client")
    strict = list(openmetrics.text_string_to_metric_families(page(programs, "openmetrics", *options).decode()))
    plain = list(text.text_string_to_metric_families(page(programs, "text", *options).decode()))
    assert len(strict) == len(plain) > 40
    told = samples(strict)
    created = {key for key in told if key[0].endswith("_created")}
    assert {key: number for key, number in told.items() if key not in created} == samples(plain)
    assert all((name.removesuffix("_created") + "_total", labels) in told for name, labels in created)
    assert created or options  # of jobs that are young
    units = {f.name: f.unit for f in strict}
    assert units["jobmeter_job_cpu_seconds"] == "seconds" and units["jobmeter_job_io_read_bytes"] == "bytes"


def get(port, path="/metrics", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    return answer, answer.read()


def test_another_client_gets_what_it_takes(exposed):
    port = exposed("--jobs", 200, "--mounts", 4).port
    answer, body = get(port)
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert len(body) > 5_000_000
    answer, packed = get(port, Accept_Encoding="gzip", Accept="application/openmetrics-text; version=1.0.0")
    assert answer.headers["Content-Encoding"] == "gzip" and len(packed) < len(body) / 5
    assert gzip.decompress(packed).endswith(b"\n# EOF\n")
    assert get(port, "/nowhere")[0].status == 404


def test_curl_takes_it_by_tls_with_the_token_only(exposed, certificate, demand):
    demand(shutil.which("curl"), "needs curl")
    cert, key = certificate
    port = exposed("--certificate", cert, "--key", key, "--token", TOKEN).port

    def curl(*options, path="metrics"):
        return subprocess.run(["curl", "--silent", "--show-error", "--fail-with-body", "--cacert", cert, *options,
                               f"https://localhost:{port}/{path}"], capture_output=True, text=True)

    done = curl("--compressed", "-H", f"Authorization: Bearer {TOKEN}")
    assert done.returncode == 0 and "jobmeter_job_info{" in done.stdout
    refused = curl("-H", "Authorization: Bearer made-tokem")
    assert refused.returncode == 22 and refused.stdout == "this needs the bearer token\n"
    assert curl(path="health").stdout == "ok\n"
    assert curl("--tlsv1.0", "--tls-max", "1.1", path="health").returncode != 0
