# SPDX-License-Identifier: MIT
"""A Redfish service, as a BMC has one: a double, since nobody here has a BMC.  Its answers are laid out after DMTF's mockups
(DSP2043); it speaks TLS, and wants a user and a password.

    with Redfish(answers, certificate, key) as service: service.url
"""

import base64
import json
import threading

from http_double import HttpDouble

ROOT = "/redfish/v1/"
USER = "monitor:s3cret:x"  # a password may have a colon


def link(path):
    return {"@odata.id": path}


CHASSIS = {ROOT: {"Chassis": link(f"{ROOT}Chassis")}, f"{ROOT}Chassis": {"Members": [link(f"{ROOT}Chassis/1")]}}

# A server with PowerSubsystem: two supplies, and an empty slot.
SUPPLIES = CHASSIS | {
    f"{ROOT}Chassis/1": {"PowerSubsystem": link(f"{ROOT}Chassis/1/PowerSubsystem"), "Power": link(f"{ROOT}Chassis/1/Power")},
    f"{ROOT}Chassis/1/PowerSubsystem": {"PowerSupplies": link(f"{ROOT}Chassis/1/PowerSubsystem/PowerSupplies")},
    f"{ROOT}Chassis/1/PowerSubsystem/PowerSupplies": {"Members": [link(f"{ROOT}PSU/{i}") for i in (0, 1, 2)]},
    f"{ROOT}PSU/0": {"Metrics": link(f"{ROOT}PSU/0/Metrics"), "Status": {"State": "Enabled"}},
    f"{ROOT}PSU/1": {"Metrics": link(f"{ROOT}PSU/1/Metrics"), "Status": {"State": "Enabled"}},
    f"{ROOT}PSU/2": {"Status": {"State": "Absent"}},
    f"{ROOT}PSU/0/Metrics": {"InputPowerWatts": {"Reading": 211.5}},
    f"{ROOT}PSU/1/Metrics": {"InputPowerWatts": {"Reading": 199}},
    f"{ROOT}Chassis/1/Power": {"PowerControl": [{"PowerConsumedWatts": 1}]}}

# An older one.
POWER = CHASSIS | {
    f"{ROOT}Chassis/1": {"Power": link(f"{ROOT}Chassis/1/Power")},
    f"{ROOT}Chassis/1/Power": {"PowerControl": [{"PowerConsumedWatts": 344, "PowerMetrics": {
        "IntervalInMin": 30, "AverageConsumedWatts": 271}}]}}

WRONG = POWER | {f"{ROOT}Chassis/1/Power": {"PowerControl": [{"PowerConsumedWatts": "344"}]}}
LARGE = POWER | {f"{ROOT}Chassis/1/Power": {"Oem": "x" * 300000}}


class Redfish(HttpDouble):
    """@user: who may ask; @hangs: the path whose answer comes only when all is over."""

    host = "localhost"

    def __init__(self, answers, certificate, key, user=USER, hangs=None):
        self.over, self.asked, self.answers, self.hangs = threading.Event(), [], answers, hangs
        self.certificate, self.wanted = (certificate, key), "Basic " + base64.b64encode(user.encode()).decode()

    def answer(self, handler):
        self.asked.append(handler.path)
        if handler.path == self.hangs:
            self.over.wait()
        found = self.answers.get(handler.path)
        status = 401 if handler.headers.get("Authorization") != self.wanted else 200 if found is not None else 404
        self.reply(handler, status, json.dumps(found).encode() if status == 200 else b"{}")

    def stop(self):
        self.over.set()
        super().stop()
