# SPDX-License-Identifier: MIT
"""What goes through sockets on other kernels, against the program's own counts: equal, to the byte and the call."""

import functools
import json

import pytest

from guest import LONG_S, Case

MODES = ["tcp4", "tcp6", "udp4", "mapped", "unix", "messages", "many-messages", "as-files", "peek", "errors", "restarted",
         "namespace", "many", "crowd", "high", "reused", "self", "multipath", "uring", "uring-connections"]
APART = ["multipath", "uring", "uring-connections"]  # which not all kernels have
RUNS = {"sockets": [mode for mode in MODES if mode not in APART], **{mode: [mode] for mode in APART}}
RUN = "jobmeter run --quiet --output /out/{0}.json -- chain {1}\n"
ALL = Case("set -e\n" + "".join(
    RUN.format(name, " , ".join(f"/bin/talk {mode} /out/{mode}.truth" for mode in modes)) for name, modes in RUNS.items()),
           limit_s=LONG_S, agent=True)


def added(a, b):
    """Of two trees of numbers."""
    return {key: added(a[key], b[key]) for key in a} if isinstance(a, dict) else a + b


def together(truths):
    """What several programs did, one after the other."""
    return {"absent": "".join(truth["absent"] for truth in truths),
            "least_round_trip_us": min((us for truth in truths if (us := truth["least_round_trip_us"])), default=0),
            "network": functools.reduce(added, (truth["network"] for truth in truths))}


@pytest.mark.parametrize("result", [ALL], indirect=True, ids=["all"])
@pytest.mark.parametrize("mode", RUNS)
def test_what_went_through_sockets_is_what_the_program_sent_and_received(kernel, result, mode):
    assert result.status == 0, result.stderr
    record = json.loads(result.files[f"{mode}.json"])
    truth = together([json.loads(result.files[f"{each}.truth"]) for each in RUNS[mode]])
    network = {kind: n for kind, n in truth["network"].items() if any(v for d in n.values() for v in d.values())}
    if mode.startswith("uring") and kernel.name == "5.10":  # which tells no request by its result
        assert any("io_uring requests not counted" in words for words in record["coverage"]["missing"])
        return
    assert not truth["absent"] or (mode, kernel.name) == ("multipath", "5.10")  # which has none
    connections = record["network"].get("tcp", {}).get("connections", {})
    least = connections.pop("min_rtt_seconds", None)
    assert round((least or 0) * 1e6) == truth["least_round_trip_us"]
    assert sum(connections.pop("rtt_distribution", [])) == connections.pop("rtt_samples", 0)
    connections.pop("rtt_seconds", None)  # which the program cannot know
    assert record["network"] == network and bool(network) != bool(truth["absent"])
