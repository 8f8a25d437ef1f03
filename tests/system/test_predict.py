# SPDX-License-Identifier: MIT
"""What a job will take, before it is submitted: from its user's own jobs, by command and by HTTP."""

import importlib.util
import json
import math
import os
import random
import subprocess
import time

import pytest

import learned_beside
from made_records import line, record
from repository import REPOSITORY
from server import BUILD
from serving import Serving, batches, folder, server, serving_either  # noqa: F401
from serving import serving_a_file as serving  # noqa: F401
from serving import server_on_either as either_server  # noqa: F401
from waiting import until

ALICE, BOB = 61011, 61012
NAMES = {ALICE: "made-alice", BOB: "made-bob"}
PEAK, RUNTIME = 3 << 30, 600
HOUR = 3600


@pytest.fixture
def forecast_server(folder, keeper, demand):  # noqa: F811
    """From the next hour on: 400 g, 100 g in the 5th hour, 400 g; the hour that runs has 400 g, too.  In the past forecasts came true."""
    demand(os.geteuid() == 0, "needs root")
    hour = int(time.time()) // HOUR * HOUR
    lines = ["zone,kind,from,until,grams_per_kwh"]
    for kind, first, last in (("average_direct", -48, 0), ("forecast", -48, 24)):
        lines += [f"XXA,{kind},{stamp(hour + i * HOUR)},{stamp(hour + (i + 1) * HOUR)},{100 if i == 5 else 400}" for i in range(first, last)]
    factors = folder / "factors.csv"
    factors.write_text("\n".join(lines) + "\n")
    with Serving(folder, keeper)(emissions={"zone": "XXA", "factors": str(factors), "kind": "average_direct", "pue": "1.5"},
                                 tariff={"per_kwh": "0.25"}) as server:
        server.best = hour + 5 * HOUR
        yield server


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def job(number, uid, seconds, state="COMPLETED", name="train-7", peak=PEAK, joules=None):
    made = record(number, uid=uid, user=NAMES[uid], started=10_000 * number, seconds=seconds, state=state, name=name)
    made["job"] |= {"account": "physics", "partition": "cpu"}
    made["memory"] = {"peak_bytes": peak}
    if joules:
        made["energy"] = {"joules": joules, "estimated_joules": 0, "level": "node", "quality": "attributed"}
    return line(made)


def submit_history(server, count=40):
    """Runtimes that follow a law: 600 s, and a factor within 1.2 of it."""
    chance = random.Random(7)
    lines = [job(i, ALICE, round(RUNTIME * math.exp(chance.uniform(-0.18, 0.18)))) for i in range(1, count + 1)]
    for batch in batches(lines):
        server.push(batch)
    until(lambda: server.ask_database("SELECT count(*) FROM jobs WHERE is_stale = 0") == [(count,)])


def predict(server, uid, *arguments):
    done = subprocess.run([BUILD / "jobmeter", "predict", *arguments], capture_output=True, text=True, timeout=60, user=uid, group=uid,
                          extra_groups=[], env={"PATH": os.environ["PATH"], "JOBMETER_SERVER_SOCKET": str(server.socket), "LANG": "C.UTF-8"})
    return done


def predict_json(server, uid, *arguments):
    done = predict(server, uid, "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def post(server, token, body, path="/api/v1/predict", method="POST"):
    answer = server.get(path, method, body if isinstance(body, str) else json.dumps(body),
                        **({"Authorization": f"Bearer {token}"} if token else {}))
    return answer.status, json.loads(answer.text)


def token_of(server, uid, *options):
    done = server.run("token", "create", "--user", uid, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_law_of_ones_own_jobs_is_found_and_nobody_elses(server):
    submit_history(server)
    mine = predict_json(server, ALICE, "--", "-J", "train-8", "--partition=cpu", "-A", "physics")
    runtime, memory = mine["targets"]["runtime"], mine["targets"]["memory"]
    assert RUNTIME / 1.5 <= runtime["low"] <= runtime["value"] <= runtime["high"] <= RUNTIME * 1.5
    assert RUNTIME / 1.2 <= runtime["value"] <= RUNTIME * 1.2 and runtime["model"] == "m0" and runtime["like_jobs"] == 8
    assert memory["value"] == PEAK and memory["low"] == PEAK == memory["high"]  # all were alike

    other = predict_json(server, BOB, "--", "-J", "train-8", "--partition=cpu", "-A", "physics")
    assert other["jobs"] == 0 and not any(target["known"] for target in other["targets"].values())
    root = predict_json(server, 0, "--", "-J", "train-8", "--partition=cpu", "-A", "physics")
    assert root["jobs"] == 0  # who sees all has jobs of their own, too

    text = predict(server, ALICE, "--", "-J", "train-8", "-p", "cpu").stdout
    assert "runtime" in text and "3 GiB" in text
    assert predict(server, BOB, "--", "-J", "train-8").stdout.count("not known") == 5


def test_the_api_answers_a_token_about_its_own_user(server):
    submit_history(server)
    status, mine = post(server, token_of(server, ALICE), {"name": "train-1", "partition": "cpu"})
    assert status == 200 and RUNTIME / 1.2 <= mine["targets"]["runtime"]["value"] <= RUNTIME * 1.2
    status, other = post(server, token_of(server, BOB), {"name": "train-1", "partition": "cpu"})
    assert status == 200 and not other["targets"]["runtime"]["known"]
    status, operator = post(server, token_of(server, BOB, "--scope", "operator"), {"name": "train-1"})
    assert status == 200 and operator["jobs"] == 0
    assert post(server, None, {})[0] == 401
    token = token_of(server, ALICE)
    assert post(server, token, {"user": "made-alice"})[0] == 400  # whose it is, the token says
    for wrong in ("", "[]", "{", '{"name": 3}', '{"nodes": "2"}', '{"nodes": -1}', '{"name": "a", "name": "b"}'):
        status, answer = post(server, token, wrong)
        assert status == 400 and answer["error"], wrong
    assert post(server, token, None, method="GET")[0] == 404
    described = json.loads(server.get("/api/v1/openapi.json").text)
    assert "requestBody" in described["paths"]["/api/v1/predict"]["post"]


def test_killed_jobs_are_lower_bounds_and_cancelled_ones_nothing(server):
    lines = [job(i, ALICE, 3600, state="TIMEOUT") for i in range(1, 5)] + [job(i, ALICE, 5, state="CANCELLED by 61011") for i in range(5, 30)]
    for batch in batches(lines):
        server.push(batch)
    until(lambda: server.ask_database("SELECT count(*) FROM jobs WHERE is_stale = 0") == [(29,)])
    told = predict_json(server, ALICE, "--", "-J", "train-8", "-p", "cpu")
    runtime = told["targets"]["runtime"]
    assert told["jobs"] == 4 and runtime["at_least"] and runtime["value"] == 3600 and runtime["high"] is None
    assert "over 1 h" in predict(server, ALICE, "--", "-J", "train-8", "-p", "cpu").stdout


@pytest.mark.parametrize("counts", [False, True])
def test_estimated_energy_counts_only_where_the_site_says_so(folder, keeper, counts):  # noqa: F811
    with Serving(folder, keeper)(**({"predict_from_estimates": True} if counts else {})) as server:
        lines = [json.loads(job(number, ALICE, 1000, joules=50_000)) for number in range(1, 12)]
        for made in lines:
            made["energy"]["estimated_joules"] = 50_000
        for batch in batches([line(made) for made in lines]):
            server.push(batch)
        until(lambda: server.ask_database("SELECT count(*) FROM jobs WHERE is_stale = 0") == [(len(lines),)])
        targets = predict_json(server, ALICE, "--", "-J", "train-8")["targets"]
        assert targets["runtime"]["known"] and "quality" not in targets["runtime"]
        assert [targets[name].get("quality") for name in ("power", "energy")] == [*(["estimated"] if counts else [None]) * 2]
        assert targets["power"].get("value") == (50 if counts else None)
        assert predict(server, ALICE, "--", "-J", "train-8").stdout.count(", from estimates)") == 2 * counts
        predict_json(server, ALICE, "--job", "12", "--", "-J", "train-8")
        ended = json.loads(job(12, ALICE, 1000, joules=50_000))
        ended["energy"]["estimated_joules"] = 50_000
        ended["time"] |= {"start": "2046-02-03T04:00:00Z", "end": "2046-02-03T04:16:40Z", "measured_from": None}
        server.push([line(ended)])
        until(lambda: server.ask_database("SELECT count(*) FROM jobs WHERE is_stale = 0") == [(len(lines) + 1,)])
        kept = post(server, token_of(server, ALICE), None, "/api/v1/predictions", "GET")[1]["predictions"]
        assert [one["outcome"] for one in kept if one["target"] == "power"] == [50] * counts
        if counts:  # it is said where one was taken
            token = token_of(server, BOB)
            server.push([job(number, BOB, 1000, joules=50_000) for number in range(21, 32)])
            until(lambda: server.ask_database("SELECT count(*) FROM jobs WHERE is_stale = 0") == [(len(lines) + 12,)])
            assert post(server, token, {"name": "train-8"})[1]["targets"]["power"]["quality"] == "measured"


def test_a_script_is_read_and_the_command_line_wins(server, tmp_path_factory):
    submit_history(server)
    script = server.folder / "train-3"
    script.write_text("#!/bin/sh\n#SBATCH --partition=gpu -A physics\n#SBATCH -t 1:00:00 # a comment\ntrue\n#SBATCH -p nowhere\n")
    script.chmod(0o644)
    told = predict_json(server, ALICE, "--script", str(script), "--", "-p", "cpu", "-o", "out.txt", "-H")
    assert told["targets"]["runtime"]["known"]
    assert predict(server, ALICE).returncode == 2
    wrong = predict(server, ALICE, "--", "--mem=much")
    assert wrong.returncode == 2 and "'much' is no value of sbatch's --mem" in wrong.stderr
    assert predict(server, ALICE, "--script", "/nonexistent", "--").returncode == 1


def test_hostile_names_change_nothing(server):
    submit_history(server)
    plain = predict_json(server, ALICE, "--", "-J", "other", "-p", "cpu")
    for name in ("'; DROP TABLE jobs; --", "\x1b[2J", "%s%n", "{}", "é" * 500):
        assert predict_json(server, ALICE, "--", "-J", name, "-p", "cpu") == plain
    assert server.ask_database("SELECT count(*) FROM jobs") == [(40,)]


def test_a_kept_prediction_meets_its_outcome(either_server):
    server = either_server
    submit_history(server)
    assert predict_json(server, ALICE, "--job", "41", "--", "-J", "train-8", "-p", "cpu")["targets"]["runtime"]["known"]
    assert predict_json(server, ALICE, "--job", "42", "--", "-J", "train-8", "-p", "cpu")["targets"]["runtime"]["known"]
    token, other = token_of(server, ALICE), token_of(server, BOB)
    assert post(server, token, {"name": "a"}, "/api/v1/predictions")[0] == 400  # of which job?
    before = post(server, token, None, "/api/v1/predictions", "GET")[1]
    assert {one["job"] for one in before["predictions"]} == {"41", "42"} and before["scored"] == 0
    assert all(one["outcome"] is None for one in before["predictions"])

    for number, state in ((41, "COMPLETED"), (42, "OUT_OF_MEMORY")):
        made = json.loads(job(number, ALICE, RUNTIME, state))
        made["time"] |= {"start": f"2046-02-03T04:0{number - 41}:00Z", "end": f"2046-02-03T04:1{number - 41}:00Z", "measured_from": None}
        server.push([line(made)])
    until(lambda: server.ask_database("SELECT count(*) FROM jobs WHERE is_stale = 0") == [(42,)])
    after = post(server, token, None, "/api/v1/predictions", "GET")[1]
    runtime, = [one for one in after["predictions"] if (one["job"], one["target"]) == ("41", "runtime")]
    assert runtime["outcome"] == RUNTIME and runtime["low"] <= RUNTIME <= runtime["high"] and not runtime["at_least"]
    killed = [one for one in after["predictions"] if one["job"] == "42"]
    assert killed and all(one["at_least"] for one in killed)
    known = sum(one["outcome"] is not None for one in after["predictions"] if one["job"] == "41")
    assert after["scored"] == known == after["within_factor_2"] >= 2
    assert post(server, other, None, "/api/v1/predictions", "GET")[1]["predictions"] == []

    assert server.run("forget", "--user", ALICE).returncode == 0
    assert server.ask_database("SELECT count(*) FROM predictions") == [(0,)]


def test_jobs_of_the_past_are_replayed_by_one_command(server, tmp_path_factory):
    submit_history(server, 60)
    done = server.run("predict", "evaluate")
    assert done.returncode == 0 and "runtime: not known: 57 jobs had like ones before" in done.stdout
    chance = random.Random(7)
    trace = server.folder / "made.swf"
    trace.write_text("; synthetic=1\n" + "".join(
        f"{i} {i * 100} 5 {round(RUNTIME * math.exp(chance.gauss(0, 0.5)))} 4 -1 -1 4 86400 -1 1 {i % 3} 1 1 1 1 -1 -1\n" for i in range(1, 2001)))
    done = server.run("predict", "evaluate", "--swf", trace)
    assert done.returncode == 0, done.stderr
    assert "2000 jobs that ended" in done.stdout and "  served: " in done.stdout
    m0 = done.stdout.split("  all ")[1].splitlines()[1].split()
    assert m0[0] == "m0" and 88 <= float(m0[8]) <= 92, done.stdout
    wrong = server.run("predict", "evaluate", "--sacct", trace)
    assert wrong.returncode == 1 and "its head lacks JobID" in wrong.stderr
    assert server.run("predict").returncode == 2 and server.run("backup", "x", "--swf", trace).returncode == 2


def test_ridge_and_forest_are_as_good_as_those_of_scikit_learn(folder, demand):  # noqa: F811
    demand(importlib.util.find_spec("sklearn"), "needs python3-sklearn")
    chance, trace = random.Random(13), folder / "made.swf"
    rows = []
    for i in range(1, 3001):  # the cores say the runtime of one program, the user that of the other
        user, program, cores = chance.randrange(7), chance.randrange(2), round(math.exp(chance.uniform(0, 5)))
        seconds = round((20 * cores if program else 300 * (user + 1)) * math.exp(chance.gauss(0, 0.4)))
        rows.append(f"{i} {i * 100} 5 {max(seconds, 1)} {cores} -1 -1 {cores} 86400 -1 1 {user} 1 {program} 1 1 -1 -1\n")
    trace.write_text("; synthetic=1\n" + "".join(rows))
    own, other = learned_beside.ours(trace), learned_beside.theirs(trace)
    assert own["ridge"][0] < 1.02 * other["ridge"][0] < 1.05 * own["ridge"][0], (own, other)
    if "forest" in own:  # else libxgboost is not installed
        assert own["forest"][0] < 1.05 * other["forest"][0] < 1.15 * own["forest"][0], (own, other)
        assert own["forest"][0] < own["ridge"][0] < own["m0"][0]


def test_advice_says_the_chance_of_being_killed(server):
    lines = [job(i, ALICE, 100 + i, peak=i << 20) for i in range(1, 40)] + [job(40, ALICE, 50, "OUT_OF_MEMORY", peak=1 << 20)]
    for batch in batches(lines):
        server.push(batch)
    until(lambda: server.ask_database("SELECT count(*) FROM jobs WHERE is_stale = 0") == [(40,)])
    advice = predict_json(server, ALICE, "--", "-J", "train-8", "-p", "cpu", "--mem=20M")["advice"]
    memory = advice["memory_bytes"]
    assert memory["jobs"] == 40 and memory["value"] == 39 << 20  # the killed one needed more than that
    assert memory["chance_above"] == round(2 / 41, 3) and memory["chance_above_asked"] == round((19 + 1 + 1) / 41, 3)
    assert advice["time_limit_seconds"]["value"] == 139 and advice["time_limit_seconds"]["asked"] is None
    env = {"PATH": os.environ["PATH"], "JOBMETER_SERVER_SOCKET": str(server.socket), "LANG": "C.UTF-8"}
    done = subprocess.run([BUILD / "jobmeter", "advise", "--", "-J", "train-8", "-p", "cpu", "--mem=20M"], capture_output=True, text=True,
                          timeout=60, user=ALICE, group=ALICE, extra_groups=[], env=env)
    assert done.returncode == 0 and "39 MiB" in done.stdout and "51 %" in done.stdout, done.stdout
    assert predict(server, BOB, "--json", "--", "-J", "train-8").stdout.count('"jobs": 0') == 4


def test_a_trained_model_answers_once_it_is_better(either_server):
    server = either_server
    chance, lines = random.Random(11), []
    for i in range(1, 1501):  # the cores say the runtime; no two jobs are alike, so that no median can
        cores = round(math.exp(chance.uniform(0, 5)))
        uid = ALICE if i % 2 else BOB
        made = record(i, uid=uid, user=NAMES[uid], started=1000 * i, seconds=5 * cores, state="COMPLETED", name="train-7")
        made["job"] |= {"account": "physics", "partition": "cpu"}
        made["cpu"] |= {"allocated_cores": cores}
        lines.append(line(made))
    for batch in batches(lines):
        server.push(batch)
    until(lambda: server.ask_database("SELECT count(*) FROM jobs WHERE is_stale = 0") == [(1500,)])
    question = ["--", "-J", "train-8", "-p", "cpu", "-n", "100"]
    assert predict_json(server, ALICE, *question)["targets"]["runtime"]["model"] == "m0"

    def models():
        return json.loads(server.get("/api/v1/model", Authorization=f"Bearer {token_of(server, ALICE)}").text)

    assert "trained" not in models()
    trained = server.run("predict", "train")
    assert trained.returncode == 0 and "served: " in trained.stdout, trained.stderr
    told = models()["targets"]["runtime"]
    assert told["model"] != "m0" and told["score"]["factor"] < told["score_of_m0"]["factor"] and told["scored"]
    runtime = predict_json(server, ALICE, *question)["targets"]["runtime"]
    assert runtime["model"] == told["model"] and 250 < runtime["value"] < 1000 and runtime["low"] < 500 < runtime["high"]
    # a file that is cut off serves nothing, and stops nothing
    server.models.write_bytes(server.models.read_bytes()[:-1])
    assert predict_json(server, ALICE, *question)["targets"]["runtime"]["model"] == "m0"
    assert "trained" not in models()


def advise(server, uid, *arguments):
    return subprocess.run([BUILD / "jobmeter", "advise", *arguments], capture_output=True, text=True, timeout=60, user=uid, group=uid, extra_groups=[],
                          env={"PATH": os.environ["PATH"], "JOBMETER_SERVER_SOCKET": str(server.socket), "LANG": "C.UTF-8", "TZ": "UTC"})


def test_the_best_start_is_that_of_the_forecast_with_its_gain_and_error(forecast_server):
    server = forecast_server
    for batch in batches([job(i, ALICE, HOUR, joules=3_600_000) for i in range(1, 31)]):
        server.push(batch)
    until(lambda: server.ask_database("SELECT count(*) FROM jobs WHERE is_stale = 0") == [(30,)])
    question = ["--", "-J", "train-8", "-p", "cpu", "-N", "1"]
    done = advise(server, ALICE, "--json", "--slack", "12h", *question)
    told = json.loads(done.stdout)
    start = told["start"]
    assert start["known"] and start["at"].startswith(stamp(server.best)[:19]) and not start["now"]
    assert start["gain"] == 0.75 and start["error"] == 0 and start["past_forecasts"] >= 9  # they had come true
    assert (start["co2e_grams"], start["co2e_grams_now"], start["runtime_seconds"]) == (100, 400, HOUR)
    assert told["cost"] == {"value": 0.375, "low": 0.375, "high": 0.375} and told["currency"] == "EUR"
    text = " ".join(advise(server, ALICE, "--slack", "12h", *question).stdout.split())
    assert f"Start: --begin={stamp(server.best)[:-1]} emits 75 % less CO2e than now, ±0 %: 100 g of 400 g" in text, text
    assert "Start: now; no later start emits less" in advise(server, ALICE, "--slack", "3h", *question).stdout
    assert "Start" not in advise(server, ALICE, *question).stdout
    assert f"Start: --begin={stamp(server.best)[:-1]}" in advise(server, ALICE, "--slack", "12h", "--job", "99", *question).stdout
    assert "Cost: 0.375 EUR" in predict(server, ALICE, *question).stdout
    # longer than the forecast, or of an unknown length
    assert "Start: not known: no forecast" in advise(server, BOB, "--slack", "12h", "--", "-t", "5-0").stdout
    assert "Start: not known: neither" in advise(server, BOB, "--slack", "12h", "--", "-J", "x").stdout
    for wrong in ("12", "0h", "8d", "soon", "-1h"):
        assert advise(server, ALICE, "--slack", wrong, *question).returncode == 2, wrong

    token = token_of(server, ALICE)
    for path in ("/api/v1/recommend/schedule", "/api/v1/schedule/recommend", "/recommend/schedule", "/schedule/recommend"):
        status, answer = post(server, token, {"name": "train-8", "partition": "cpu"}, path)
        assert status == 200 and answer["start"]["gain"] == 0.75 and answer["start"]["slack_seconds"] == 86400, path
        assert post(server, None, {}, path)[0] == 401
    rows = [tuple(map(float, row.split())) for row in server.get("/api/v1/forecast", Authorization=f"Bearer {token}").text.splitlines()]
    assert len(rows) == 24 and rows[5] == (server.best, server.best + HOUR, 100)

    # what Slurm reads, by the script of jobmeter-forecast.timer: by the socket, by a token, and the old one while nobody answers
    file, own = server.folder / "forecast", server.folder / "forecast.token"
    own.write_text(token + "\n")

    def run_script(**place):
        return subprocess.run([REPOSITORY / "share/server/jobmeter-forecast"], timeout=60, capture_output=True,
                              env={"PATH": os.environ["PATH"], "JOBMETER_FORECAST": str(file), "JOBMETER_TOKEN_FILE": str(own)} | place).returncode

    for place in ({"JOBMETER_SERVER_SOCKET": str(server.socket)}, {"JOBMETER_URL": f"http://127.0.0.1:{server.port}"}):
        file.unlink(missing_ok=True)
        assert run_script(**place) == 0 and len(file.read_text().splitlines()) == 24 and file.stat().st_mode & 0o777 == 0o644
    own.write_text("wrong\n")
    assert run_script(JOBMETER_URL=f"http://127.0.0.1:{server.port}") and run_script(JOBMETER_SERVER_SOCKET="/nonexistent")
    assert len(file.read_text().splitlines()) == 24 and not list(server.folder.glob("forecast.??????"))


def test_without_a_forecast_no_saving_is_made_up(server):
    submit_history(server)
    start = json.loads(advise(server, ALICE, "--json", "--slack", "1d", "--", "-J", "train-8", "-p", "cpu").stdout)["start"]
    assert start == {"known": False, "slack_seconds": 86400, "reason": "no forecast of the emission factor covers a run that starts now"}


def test_a_body_of_measured_use_is_a_what_if_and_says_so(server):
    token = token_of(server, ALICE)
    older = {"duration_seconds": 300, "cpu_usage_percent": 50, "memory_usage_percent": 30, "io_read_mbps": 0, "io_write_mbps": 0, "cpu_cores": 32, "job_type": "mixed"}
    status, answer = post(server, token, older, "/predict")
    assert status == 200 and not answer["known"] and "no prediction" in answer["what"] and "measured energy" in answer["reason"]
    chance, lines = random.Random(3), []
    for i in range(1, 201):  # 50 W, and 5 W for each busy core
        busy = chance.randrange(32)
        made = json.loads(job(i, ALICE, 1000, joules=1000 * (50 + 5 * busy)))
        made["cpu"] |= {"user_seconds": 1000 * busy, "system_seconds": 0, "allocated_cores": 32}
        lines.append(line(made))
    for batch in batches(lines):
        server.push(batch)
    until(lambda: server.ask_database("SELECT count(*) FROM jobs WHERE is_stale = 0") == [(200,)])
    for path in ("/predict", "/api/v1/predict"):
        status, answer = post(server, token, older, path)
        assert status == 200 and answer["schema"] == "jobmeter.what-if/1" and answer["known"]
        assert abs(answer["watts"]["value"] - 130) < 10 and answer["watts"]["low"] <= 130 <= answer["watts"]["high"]
        assert abs(answer["joules"]["value"] - 300 * answer["watts"]["value"]) < 1
    assert not post(server, token_of(server, BOB), older, "/predict")[1]["known"]  # from one's own jobs
    assert post(server, token, older | {"cpu_cores": "many"}, "/predict")[0] == 400
    assert post(server, None, older, "/predict")[0] == 401
    told = json.loads(server.get("/model/info", Authorization=f"Bearer {token}").text)
    assert told["schema"] == "jobmeter.models/1"
    assert {"/api/v1/recommend/schedule", "/api/v1/schedule/recommend"} <= set(json.loads(server.get("/api/v1/openapi.json").text)["paths"])
