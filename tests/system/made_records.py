# SPDX-License-Identifier: MIT
"""Records that no machine measured: made of tests/data/made-train.json, with ids, times, numbers and a timeline of their own.
Each says so in its cluster's name."""

import copy
import datetime
import json
import random

from repository import REPOSITORY

CLUSTER = "made"
BEGUN = datetime.datetime(2026, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc)


TEMPLATE = json.loads((REPOSITORY / "tests/data/made-train.json").read_text())
SERIES = {"cpu.user_seconds": "seconds", "cpu.system_seconds": "seconds", "memory.usage_bytes": "bytes", "read.bytes": "bytes",
          "write.bytes": "bytes"}


def stamp(seconds):
    return (BEGUN + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.000000000Z")


def timeline(chance, started, seconds):
    begun = (int(BEGUN.timestamp()) + started) // 16 * 16
    count = seconds // 16 + 1
    series = {name: {"unit": unit, "values": [chance.randrange(10**6) for _ in range(count)]} for name, unit in SERIES.items()}
    return {"start": datetime.datetime.fromtimestamp(begun, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "interval_seconds": 16, "series": series}


def record(number, node="made-node1", manager="slurm", uid=1000, user="made-user", final=True, sequence=None, boot="made-boot",
           started=None, seconds=600, state=None, name=None, **more):
    """One as a map; equal arguments make equal records."""
    chance = random.Random(f"{number} {node} {sequence}")
    made = copy.deepcopy(TEMPLATE)
    started = 7 * number if started is None else started
    made |= {"cluster": CLUSTER, "node": node, "boot_id": boot, "final": final,
             "sequence": 1_000_000 + number if sequence is None else sequence}
    made["job"] |= {"manager": manager, "id": str(number), "uid": uid, "user": user, "name": name or f"made-{number % 13}",
                    "state": state or ("ENDED" if final else "RUNNING"), "command": ["./train.sh", f"{chance.getrandbits(256):x}"]}
    made["time"] |= {"start": stamp(started), "end": stamp(started + seconds) if final else None, "measured_from": stamp(started),
                     "elapsed_seconds": seconds}
    made["cpu"] |= {"user_seconds": chance.randrange(10**9) / 1000, "system_seconds": chance.randrange(10**8) / 1000}
    made["io"][0]["read"]["bytes"] = chance.randrange(10**12)
    return made | {"timeline": timeline(chance, started, seconds)} | more


def line(made):
    return json.dumps(made, separators=(",", ":"), ensure_ascii=False).encode()


def lines(numbers, **options):
    return [line(record(number, **options)) for number in numbers]
