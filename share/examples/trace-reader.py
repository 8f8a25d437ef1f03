#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Read calls as they end: jobmeter trace --job 17 --set mpi-io --format ndjson | trace-reader.py

Prints bytes and time of each rank and function every second."""
import collections
import json
import sys
import time

sums, told = collections.defaultdict(lambda: [0, 0, 0]), time.monotonic()
for line in sys.stdin:
    call = json.loads(line)
    row = sums[call["rank"], call["probe"]]
    row[0] += 1
    row[1] += call["bytes"] or 0
    row[2] += call["duration_ns"] or 0
    if time.monotonic() - told > 1:
        told = time.monotonic()
        for (rank, probe), (calls, size, ns) in sorted(sums.items(), key=str):
            print(f"rank {rank} {probe}: {calls} calls, {size} bytes, {ns / 1e9:.3f} s", flush=True)
for (rank, probe), (calls, size, ns) in sorted(sums.items(), key=str):
    print(f"rank {rank} {probe}: {calls} calls, {size} bytes, {ns / 1e9:.3f} s")
