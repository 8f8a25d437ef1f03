# SPDX-License-Identifier: MIT
"""Providers of emission factors, as their documentation has their answers: doubles, since tests ask nobody beyond this machine.

    with Provider("neso") as provider:
        provider.rows = [(minutes ago, value or None), ...]
        provider.url"""

import base64
import json
import time
import urllib.parse

from http_double import HttpDouble

KEY = "a-key-of-the-site"
LOGIN = "somebody:with-a:password"


def stamp(seconds, form):
    return time.strftime(form, time.gmtime(seconds))


def rte(rows):
    """Opendatasoft's Explore API 2.1, dataset eco2mix-national-tr."""
    return {"total_count": len(rows), "results": [{"taux_co2": value, "date_heure": stamp(at, "%Y-%m-%dT%H:%M:%S+00:00")} for at, value in rows[::-1]]}


def neso(rows, is_forecast=False):
    """https://carbon-intensity.github.io/api-definitions: without an actual value there is a forecast still."""
    return {"data": [{"from": stamp(at, "%Y-%m-%dT%H:%MZ"), "to": stamp(at + 1800, "%Y-%m-%dT%H:%MZ"),
                      "intensity": {"forecast": value if is_forecast else 263, "actual": None if is_forecast else value, "index": "moderate"}}
                     for at, value in rows]}


def electricity_maps(rows, is_forecast=False):
    """/v3/carbon-intensity/history and /forecast"""
    return {"zone": "FR", "forecast" if is_forecast else "history": [{"zone": "FR", "carbonIntensity": value, "datetime": stamp(at, "%Y-%m-%dT%H:%M:%S.000Z"),
                                       "updatedAt": "2026-01-01T00:00:00.000Z", "createdAt": "2026-01-01T00:00:00.000Z",
                                       "emissionFactorType": "lifecycle", "isEstimated": False, "estimationMethod": None} for at, value in rows]}


def watttime(rows, is_forecast=False):
    """/v3/historical and /v3/forecast, in pounds for a MWh"""
    return {"data": [{"point_time": stamp(at, "%Y-%m-%dT%H:%M:%S+00:00"), "value": value} for at, value in rows],
            "meta": {"data_point_period_seconds": 300, "region": "CAISO_NORTH", "signal_type": "co2_moer", "units": "lbs_co2_per_mwh", "warnings": []}}


ANSWERS = {
    "rte": (rte, 15, "/api/explore/v2.1/catalog/datasets/eco2mix-national-tr/records"),
    "neso": (neso, 30, "/intensity/"),
    "electricity_maps": (electricity_maps, 60, "/v3/carbon-intensity/"),
    "watttime": (watttime, 5, "/v3/"),
}


class Provider(HttpDouble):
    """@rows: [(how many of its intervals ago, value)], of the time when it began; @forecast: the same with [how many ahead], None: it
    has none; @status: of its answers."""

    def __init__(self, name):
        self.rows_as, self.minutes, self.path = ANSWERS[name]
        self.name, self.rows, self.forecast, self.status, self.headers, self.asked, self.foretold = name, [], None, 200, {}, [], []
        self.begun = int(time.time()) // (60 * self.minutes) * 60 * self.minutes
        self.start()

    def at(self, ago):
        return self.begun - ago * 60 * self.minutes

    def may(self, path, headers):
        if self.name == "electricity_maps":
            return headers.get("auth-token") == KEY
        if self.name == "watttime" and path == "/login":
            return headers.get("Authorization") == "Basic " + base64.b64encode(LOGIN.encode()).decode()
        return self.name != "watttime" or headers.get("Authorization") == "Bearer made-by-login"

    def answer(self, handler):
        path = urllib.parse.urlsplit(handler.path).path
        is_login, is_forecast = path == "/login", path.endswith(("/forecast", "/fw48h"))
        (self.foretold if is_forecast else self.asked).extend([] if is_login else [handler.path])
        status = 403 if not self.may(path, handler.headers) or (is_forecast and self.forecast is None) else \
            self.status if is_login or path.startswith(self.path) else 404
        made = {"token": "made-by-login"} if is_login else \
            self.rows_as([(self.at(-ahead), value) for ahead, value in self.forecast or []], True) if is_forecast else \
            self.rows_as([(self.at(ago), value) for ago, value in self.rows])
        self.reply(handler, status, (json.dumps(made) if status == 200 else "<html>no</html>").encode(), **self.headers)
