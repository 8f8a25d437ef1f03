# SPDX-License-Identifier: MIT
"""A Redfish service, as a BMC has one: a double, since nobody here has a BMC.  Its answers are laid out after DMTF's mockups
(DSP2043); it speaks TLS, and wants a user and a password.

    with Redfish(answers, certificate, key) as service: service.url
"""

import base64
import http.server
import json
import ssl
import threading

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


class Redfish:
    """@user: who may ask; @hangs: the path whose answer comes only when all is over."""

    def __init__(self, answers, certificate, key, user=USER, hangs=None):
        self.over = threading.Event()
        self.asked = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.asked.append(self.path)
                if self.path == hangs:
                    outer.over.wait()
                wanted = "Basic " + base64.b64encode(user.encode()).decode()
                found = answers.get(self.path)
                status = 401 if self.headers.get("Authorization") != wanted else 200 if found is not None else 404
                text = json.dumps(found).encode() if status == 200 else b"{}"
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://localhost:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
