# SPDX-License-Identifier: MIT
"""What goes through sockets on other kernels, against the program's own counts: equal, to the byte and the call."""

import json

import pytest

from guest import Case

MODES = ["tcp4", "tcp6", "udp4", "mapped", "unix", "messages", "many-messages", "as-files", "peek", "errors", "restarted",
         "namespace", "many", "crowd", "high", "reused", "self", "multipath", "uring", "uring-connections"]
RUN = "jobmeter run --quiet --output /out/{0}.json -- talk {0} /out/{0}.truth\n"
ALL = Case("set -e\n" + "".join(RUN.format(mode) for mode in MODES))


@pytest.mark.parametrize("result", [ALL], indirect=True, ids=["all"])
@pytest.mark.parametrize("mode", MODES)
def test_what_went_through_sockets_is_what_the_program_sent_and_received(kernel, result, mode):
    assert result.status == 0, result.stderr
    record, truth = json.loads(result.files[f"{mode}.json"]), json.loads(result.files[f"{mode}.truth"])
    network = {kind: n for kind, n in truth["network"].items() if any(v for d in n.values() for v in d.values())}
    if mode.startswith("uring") and kernel.name == "5.10":  # which tells no request by its result
        assert any("io_uring requests not counted" in words for words in record["coverage"]["missing"])
        return
    assert not truth["absent"] or (mode, kernel.name) == ("multipath", "5.10")  # which has none
    connections = record["network"].get("tcp", {}).get("connections", {})
    least = connections.pop("least_round_trip_seconds", None)
    assert round((least or 0) * 1e6) == truth["least_round_trip_us"]
    assert sum(connections.pop("round_trip_times", [])) == connections.pop("round_trips", 0)
    connections.pop("round_trip_seconds", None)  # which the program cannot know
    assert record["network"] == network and bool(network) != bool(truth["absent"])
