# SPDX-License-Identifier: MIT
"""Emission factors that the server fetches of a provider: what it keeps, what an hour of energy emitted by them, and what it does where
the provider says nothing, late, or no."""

import csv
import json
import os
import re
import time

import pytest

from factor_doubles import KEY, LOGIN, Provider, stamp
from server import Server
from serving import TAKEN, folder  # noqa: F401
from waiting import until

KINDS = {"rte": "average_direct", "neso": "average_direct", "electricity_maps": "average_lifecycle", "watttime": "marginal"}
UNITS = {"watttime": 0.45359237}


@pytest.fixture(params=sorted(KINDS))
def provider(request):
    with Provider(request.param) as double:
        double.rows = [(4, 101), (3, None), (2, 103), (1, 107), (0, None)]
        yield double


def key_file(folder, provider):
    path = folder / "key"
    path.write_text({"electricity_maps": KEY, "watttime": LOGIN}.get(provider.name, "unused-but-long-enough") + "\n")
    path.chmod(0o600)
    return str(path)


@pytest.fixture
def serving(folder, keeper):  # noqa: F811
    def serve(provider, **emissions):
        return Server(folder, keeper, emissions={"zone": "XXA", "provider": provider.name, "provider_url": provider.url, "provider_zone": "THERE",
                                                 "provider_key_file": key_file(folder, provider),
                                                 "provider_file": str(folder / "data/factors.csv"), **emissions})
    return serve


def kept(server):
    path = server.folder / "data/factors.csv"
    return [tuple(row.values()) for row in csv.DictReader(path.read_text().splitlines())] if path.exists() else []


def row(provider, ago, value):
    form = "%Y-%m-%dT%H:%M:%S.000000000Z"
    grams = f"{round(value * UNITS.get(provider.name, 1), 3):g}"
    return ("XXA", KINDS[provider.name], stamp(provider.at(ago), form), stamp(provider.at(ago - 1), form), grams, provider.name)


def ledger_line(provider, ago, joules):
    form = "%Y-%m-%dT%H:%M:%SZ"
    return json.dumps({"schema": "jobmeter.ledger/1", "cluster": "made", "node": "made-node1", "boot_id": "made-boot", "start": stamp(provider.at(ago), form),
                       "end": stamp(provider.at(ago) + 60, form), "sequence": 100 - ago,
                       "entries": [{"owner": "job", "manager": "slurm", "job": "7", "uid": 1000, "level": "node", "source": "rapl",
                                    "quality": "attributed", "microjoules": joules * 10**6}]}).encode()


def test_what_is_said_is_kept_once_and_a_late_or_corrected_value_comes_with_the_next_question(provider, serving):
    with serving(provider) as server:
        until(lambda: len(kept(server)) == 3)
        assert sorted(kept(server)) == [row(provider, *one) for one in ((4, 101), (2, 103), (1, 107))]
        assert len(provider.asked) == 1 and provider.asked[0].startswith(provider.path)
        assert ("THERE" in provider.asked[0]) == (provider.name in ("electricity_maps", "watttime"))
    provider.rows = [(4, 101), (3, 102), (2, 1103), (1, 107), (0, None)]
    with serving(provider) as server:
        until(lambda: len(kept(server)) == 5)
        assert kept(server)[3:] == [row(provider, *one) for one in ((3, 102), (2, 1103))] or \
            sorted(kept(server)[3:]) == sorted(row(provider, *one) for one in ((3, 102), (2, 1103)))


HEAD = "zone,kind,from,until,grams_per_kwh,source"


def made(kind, hours, source="neso"):
    form, now = "%Y-%m-%dT%H:%M:%SZ", int(time.time()) // 3600 * 3600
    return f"XXA,{kind},{stamp(now - hours * 3600, form)},{stamp(now - hours * 3600 + 1800, form)},{hours % 997},{source}"


def test_a_file_that_fills_up_loses_old_advice_and_nothing_else(serving, folder):  # noqa: F811
    path = folder / "data/factors.csv"
    head, comment = HEAD, "# corrected by hand"
    account = [made("average_direct", 24 * 365, "the site"), made("average_direct", 24 * 61)]
    price = made("tariff", 24 * 365, "the site")
    new = [made("forecast", 24 * 59), made("marginal", 24 * 59)]
    old = [made(kind, 24 * 61 + i) for kind in ("forecast", "marginal") for i in range(70_000)]
    with Provider("neso") as provider:
        with serving(provider):
            pass  # it makes its folder
        provider.rows = [(1, 107)]
        for lines, stays in (([head, account[0], comment, *old, account[1], price, *new], False), ([head, *old[:9]], True)):
            path.write_text("\n".join(lines) + "\n")
            os.chown(path, path.parent.stat().st_uid, -1)
            with serving(provider) as server:
                until(lambda: kept(server) and kept(server)[-1] == row(provider, 1, 107))
                assert path.read_text().splitlines()[:-1] == (lines if stays else [head, account[0], comment, account[1], price, *new])


def test_a_file_that_cannot_be_shortened_goes_on(serving, folder):  # noqa: F811
    """Its folder takes no other file."""
    path = folder / "of-root/factors.csv"
    path.parent.mkdir()
    lines = [HEAD, *(made("forecast", 24 * 61 + i) for i in range(140_000))]
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o666)
    with Provider("neso") as provider:
        provider.rows = [(1, 107)]
        with serving(provider, provider_file=str(path)) as server:
            until(lambda: path.read_text().endswith(",".join(row(provider, 1, 107)) + "\n"))
            assert path.read_text().splitlines()[:-1] == lines and "old advice stays: " in server.log()


def test_accounts_follow_averages_and_marginal_factors_are_advice(provider, serving, folder):  # noqa: F811
    """A quarter of a kWh in each interval, one of which the provider does not know; before it the year's factor holds."""
    kind, yearly = KINDS[provider.name], folder / "yearly.csv"
    average = kind if kind != "marginal" else "average_lifecycle"
    yearly.write_text(f"zone,kind,from,until,grams_per_kwh\nXXA,{average},2020-01-01T00:00:00Z,2100-01-01T00:00:00Z,997\n")
    with serving(provider, kind=average, factors=str(yearly)) as server:
        until(lambda: len(kept(server)) == 3)
        assert server.push([ledger_line(provider, ago, 900000) for ago in (5, 4, 3, 2, 1)]) == [TAKEN] * 5
        until(lambda: f'{{zone="XXA",kind="{kind}"}}' in server.get("/metrics").text)
        answer = json.loads(server.ask("/v1/ledger?id=7&manager=slurm").text)
        factors = [entry["grams_per_kwh"] for entry in answer["entries"]][::-1]
        assert factors == ([997] * 5 if kind == "marginal" else [997, 101, 997, 103, 107])
        assert answer["emissions"]["grams"] == sum(factors) / 4
        page = server.get("/metrics").text
        assert set(re.findall(r'^jobmeter_emission_factor_grams_per_kwh\{zone="XXA",kind="(\w+)"\}', page, re.MULTILINE)) == {kind, average}


@pytest.mark.parametrize("status, words", [(500, "answers with status 500"), (403, "status 403 (emissions.provider_key_file)"),
                                           (429, "status 429 (its quota is used up)"), (200, "has no list 'data'"), (0, "does not answer")])
def test_a_provider_that_says_no_costs_one_line_and_is_left_alone_for_a_while(serving, status, words):
    with Provider("neso") as provider:
        provider.status, provider.headers = status, {"Retry-After": "7200"}
        if status == 200:
            provider.rows_as = lambda rows: {"error": {"code": "400 Bad Request", "message": "no data"}}
        if status == 0:
            provider.url = "http://127.0.0.1:1"
        with serving(provider, grams_per_kwh=57, kind="average_direct") as server:
            until(lambda: words in server.log())
            time.sleep(2)
            assert server.log().count("emission factors of neso") == 1 and len(provider.asked) == (status != 0)
            assert server.push([ledger_line(provider, 1, 3600000)]) == [TAKEN]
            answer = json.loads(server.ask("/v1/ledger?id=7&manager=slurm").text)  # the site's own goes on
            assert answer["emissions"]["grams"] == 57 and not kept(server)


@pytest.mark.parametrize("name", ["neso", "electricity_maps", "watttime"])
def test_a_forecast_is_kept_for_advice_and_is_in_no_account(serving, name):
    with Provider(name) as provider:
        half_hours = max(provider.minutes, 30) * 60
        first = -(-provider.begun // half_hours) * half_hours  # what is between the half hours is left out
        ahead = [(first + i * half_hours - provider.begun) // (60 * provider.minutes) for i in range(4)]
        provider.rows = [(1, 107)]
        provider.forecast = [(ahead[0], 211), (ahead[1], None), (ahead[2], 223), (ahead[3], 227)] + ([(ahead[0] + 1, 999)] if name == "watttime" else [])
        with serving(provider, kind="average_direct", grams_per_kwh=57) as server:
            until(lambda: len(kept(server)) == 4)
            foretold = sorted(row for row in kept(server) if row[1] == "forecast")
            factor = UNITS.get(name, 1)
            assert [float(row[4]) for row in foretold] == [round(value * factor, 3) for value in (211, 223, 227)]
            assert foretold[0][2] == stamp(first, "%Y-%m-%dT%H:%M:%S.000000000Z") and foretold[0][3] == stamp(first + half_hours, "%Y-%m-%dT%H:%M:%S.000000000Z")
            assert len(provider.foretold) == 1 and "forecast" not in server.get("/metrics").text


def test_a_contract_without_a_forecast_costs_one_line(serving):
    with Provider("electricity_maps") as provider:
        provider.rows = [(2, 103), (1, 107)]
        with serving(provider) as server:
            until(lambda: "no forecast of electricity_maps: " in server.log())
            assert server.log().count("electricity_maps") == 1 and len(kept(server)) == 2 == len(provider.asked) + len(provider.foretold)


def test_who_is_to_be_asked_wants_a_zone_and_a_key_that_nobody_reads_on_its_way(serving):
    with Provider("watttime") as provider:
        for settings, words in (({"zone": ""}, "emissions.provider is set, and emissions.zone is not"),
                                ({"provider_key_file": ""}, "watttime wants emissions.provider_key_file, and https"),
                                ({"provider_url": "http://192.0.2.1"}, "watttime wants emissions.provider_key_file, and https")):
            server = serving(provider, **settings)
            server.configure()
            done = server.run()
            assert (done.returncode, len(done.stderr.splitlines())) == (2, 1) and words in done.stderr, done.stderr
