# SPDX-License-Identifier: MIT
"""chrome_trace - reads a trace in Chrome's JSON format, and checks what viewers need of it."""

import json


def ns(microseconds):
    return round(microseconds * 1000)


def read(path):
    """Its slices, checked: each track has a name, slices of a track are strictly nested, times are those of the trace."""
    with open(path) as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    assert trace["displayTimeUnit"] == "ns" and trace["otherData"]["start"].endswith("Z")
    named = {kind: {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == kind}
             for kind in ("process_name", "thread_name")}
    slices = [e for e in events if e["ph"] == "X"]
    assert len(slices) + sum(len(tracks) for tracks in named.values()) + sum(e["ph"] == "i" for e in events) == len(events)
    tracks = {}
    for e in slices:
        assert {"name", "cat", "pid", "tid", "ts", "dur", "args"} <= set(e)
        tracks.setdefault((e["pid"], e["tid"]), []).append(e)
    assert set(tracks) <= named["thread_name"]
    assert {pid for pid, _ in tracks} <= {pid for pid, _ in named["process_name"]}
    assert len({tid for _, tid in tracks}) == len(tracks)  # no thread in two processes
    for track in tracks.values():
        check_track(track)
    return slices


def check_track(track):
    ends = [ns(e["ts"]) + ns(e["dur"]) for e in track]
    assert ends == sorted(ends)  # in the order of their ends, as they came
    open_ends = []
    for e in sorted(track, key=lambda e: (ns(e["ts"]), -ns(e["dur"]))):
        begin, end = ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])
        assert begin >= 0 and end >= begin
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1], f"{e['name']} at {e['ts']} ends after what it is in"
        open_ends.append(end)
