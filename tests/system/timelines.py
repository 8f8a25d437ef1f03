# SPDX-License-Identifier: MIT
"""timelines - holds a record's timeline against the record's own totals, in whole numbers."""

import datetime
import decimal
import json

EXACT = 10**14  # numbers beyond have been rounded to 15 digits, when they were written


def load(text):
    """A record whose decimals are as they were written."""
    return json.loads(text, parse_float=decimal.Decimal)


def total_of(record, name):
    """What the record says in all of what a series tells in parts; None: it is not known."""
    section, key = name.rsplit(".", 1)
    if section.startswith("network."):
        kinds = record.get("network")
        return None if kinds is None else sum(kind[section.removeprefix("network.")][key] for kind in kinds.values())
    if section not in ("read", "write", "meta"):
        found = record
        for part in section.split("."):
            found = found[part]
        return found[key]
    if record["io"] is None:
        return None
    rows = [row for row in record["io"] if row["mount"] != "(kernel)"]
    if section == "meta":
        return sum(op[key] for row in rows for op in row["meta"].values())
    return sum(row[section][key] for row in rows)


def nanoseconds(text):
    whole, fraction = text.rstrip("Z").split(".")
    moment = datetime.datetime.fromisoformat(whole + "+00:00")
    return int(moment.timestamp()) * 10**9 + int(fraction)


def wrong_series(record):
    """[what is wrong with it]; of a record that load() gave."""
    timeline, wrong = record["timeline"], []
    interval = timeline["interval_seconds"]
    start = nanoseconds(timeline["start"])
    if interval & (interval - 1) or start % (interval * 10**9):
        wrong.append(f"begins at {timeline['start']} with buckets of {interval} s")
    lengths = {len(one["values"]) for one in timeline["series"].values() if one["values"] is not None}
    if len(lengths) != 1 or not 1 <= max(lengths) <= 512:
        wrong.append(f"has {lengths} buckets")
    for name, one in timeline["series"].items():
        if name in ("memory.usage_bytes", "tasks.live") or one["values"] is None:
            continue
        total = sum(v for v in one["values"] if v is not None) + one.get("before", 0)
        if total != total_of(record, name) and total < EXACT:
            wrong.append(f"{name}: the buckets are {total}, the record has {total_of(record, name)}")
    return wrong


def values_of(record, name):
    return record["timeline"]["series"][name]["values"]


def buckets_until_now(record):
    """How many buckets there are from the timeline's start to the record's end."""
    start, end = nanoseconds(record["timeline"]["start"]), nanoseconds(record["time"]["end"])
    return -(-(end - start) // (record["timeline"]["interval_seconds"] * 10**9))
