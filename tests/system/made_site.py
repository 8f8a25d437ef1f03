# SPDX-License-Identifier: MIT
"""A small site that nobody measured, for people and for pictures: three users, two accounts and some 200 jobs of two weeks up to now,
on a cluster called "generated".  Some have a story: one failed last night, one ran out of memory, one was slowed down by /scratch, one
left nearly all its cores unused, some run.

    made_site.fill(folder, keeper, server)      its users are made, and go with @keeper

What Slurm would say of the jobs comes from programs in folder/slurm, the server's sync.directory."""

import copy
import datetime
import json
import pwd
import random
import time

from made_records import TEMPLATE
from slurm import make_users

ANA, BEN, CLEO = USERS = ("gen-ana", "gen-ben", "gen-cleo")
CLIMATE, MATERIALS = "climate", "materials"  # CLEO coordinates the first
CLUSTER, GIB, HOUR, DAY = "generated", 2**30, 3600, 86400
BUCKETS = 200
FIELDS = ("JobID", "JobIDRaw", "JobName", "User", "Account", "Partition", "State", "ExitCode", "Reason", "Submit", "Eligible", "Start",
          "End", "ElapsedRaw", "TimelimitRaw", "ReqTRES", "AllocTRES", "WorkDir", "Cluster")
FAKE = """#!/usr/bin/python3
import sys
if sys.argv[1] == "--helpformat":
    print({names!r})
else:
    mark = [one.partition("=")[2] for one in sys.argv if one.startswith("--delimiter=")]
    print(open({rows!r}).read().replace("\\x1f", *mark or "|"), end="")
"""

# (name, user, account, cores, hours, hours asked for, busy share, GiB used, GiB asked for, mounts: {name: (GiB read, GiB written)})
KINDS = (
    ("wrf-forecast", ANA, CLIMATE, 32, 1.5, 3, 0.92, 41, 64, {"/scratch": (40, 90)}),
    ("train-unet", ANA, CLIMATE, 16, 1.0, 4, 0.80, 50, 64, {"/scratch": (210, 2)}),
    ("vasp-relax", BEN, MATERIALS, 48, 2.2, 4, 0.95, 88, 128, {"/scratch": (3, 12)}),
    ("md-prod", BEN, MATERIALS, 24, 3.0, 6, 0.88, 9, 32, {"/scratch": (1, 30)}),
    ("ocean-model", CLEO, CLIMATE, 64, 2.5, 4, 0.86, 120, 160, {"/scratch": (120, 150)}),
    ("post-process", CLEO, CLIMATE, 4, 0.4, 1, 0.55, 6, 64, {"/scratch": (30, 4), "/home": (0, 1)}),
)
MOUNTS = {"/scratch": ("lustre", "10.0.0.1@o2ib:/scratch"), "/home": ("nfs4", "filer:/home")}


def stamp(moment):
    return datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000000000Z")


def moment(at):
    """As sacct has it."""
    return stamp(at)[:19]


def curve(chance, elapsed, started, total, shape):
    """So much in buckets over the time: (interval, start, numbers)."""
    interval = 1
    while elapsed / interval > BUCKETS:
        interval *= 2
    begun = int(started) // interval * interval
    ends = range(begun + interval, int(started + elapsed) + interval, interval)
    inside = [min(end, started + elapsed) - max(end - interval, started) for end in ends]
    weights = [max(0.0, shape(i * interval / elapsed) * chance.uniform(0.9, 1.1) * part) for i, part in enumerate(inside)]
    whole = sum(weights) or 1
    return interval, begun, [total * one / whole for one in weights]


def steady(_):
    return 1


def make(number, kind, started, now, rank=0, **changed):
    """A record and its run.  @changed: of the kind's numbers, and: state, exit_code, oom, waits (s of a thread for reads), calls, nodes,
    running, shape, unused_nodes."""
    name, user, account, cores, hours, asked_hours, busy, used, asked, mounts = kind
    get = changed.get
    chance, of_job = random.Random(f"{number} {rank}"), random.Random(number)
    runs = get("running", False)
    elapsed = int((now - started) if runs else get("hours", hours) * HOUR * (1 if "hours" in changed else of_job.uniform(0.93, 1.07)))
    busy = get("busy", busy) * chance.uniform(0.97, 1.03)
    mounts, used, asked, cores = get("mounts", mounts), get("used", used), get("asked", asked), get("cores", cores)
    name, user, account = get("name", name), get("user", user), get("account", account)
    nodes, state = get("nodes", 1), get("state") or ("RUNNING" if runs else "COMPLETED")
    exit_code, shape, waits = get("exit_code", 0), get("shape", steady), get("waits", elapsed * cores * 0.01)
    cpu = cores * elapsed * min(busy, 1)
    made = copy.deepcopy(TEMPLATE)
    made |= {"cluster": CLUSTER, "node": f"gen-n{(number * 3 + rank) % 12 + 1:02}", "sequence": number * 16 + rank, "final": not runs, "boot_id": "gen-boot",
             "energy": {"joules": round(cores * elapsed * (3 + 6 * busy), 3), "estimated_joules": 0, "level": "node", "quality": "attributed"}}
    made["energy"]["sensors"] = [{"component": "node", "source": "ipmi", "level": "node", "quality": "attributed", "idle_policy": "job", "uncertainty": 0.1,
                                  "joules": made["energy"]["joules"]}]
    made["job"] |= {"manager": "slurm", "id": str(number), "uid": pwd.getpwnam(user).pw_uid, "user": user, "name": name, "account": account,
                    "partition": "long" if asked_hours > 3 else "standard", "state": "RUNNING" if runs else "ENDED", "exit_code": None if runs else exit_code,
                    "command": [f"/home/{user}/{name}.sh"], "workdir": f"/home/{user}/runs/{number}"}
    made["time"] |= {"start": stamp(started), "end": None if runs else stamp(started + elapsed), "measured_from": stamp(started),
                     "elapsed_seconds": elapsed}
    made["cpu"] |= {"user_seconds": round(cpu * 0.93, 3), "system_seconds": round(cpu * 0.07, 3), "run_queue_seconds": round(cpu * 0.004, 3),
                    "allocated_cores": cores, "utilization": None, "blocked_seconds": None, "voluntary_switches": int(cpu * 12),
                    "cpus_allowed": f"0-{cores - 1}"}
    made["cpu"]["causes"] |= {"file_read_seconds": round(waits, 3), "file_meta_seconds": round(len(mounts) * sum(op["seconds"] for op in made["io"][0]["meta"].values()) * 0.8, 3),
                            "lock_seconds": round(cpu * 0.002, 3)}
    made["memory"] |= {"peak_bytes": int(used * GIB * chance.uniform(0.95, 1)), "process_peak_bytes": int(used * GIB * 0.6), "limit_bytes": asked * GIB,
                       "oom_kills": get("oom", 0)}
    made["cores"] = {"used": cores, "balance": round(get("balance", chance.uniform(0.9, 0.99)), 4)}
    base = made["io"][0]
    made["io"] = []
    for mount, (read, written) in mounts.items():
        row = copy.deepcopy(base)
        calls = get("calls", max(1, int(read * 1024)))
        row |= {"mount": mount, "aliases": [], "fstype": MOUNTS[mount][0], "source": MOUNTS[mount][1]}
        size = max(0, (int(read * GIB) // calls).bit_length() - 1) + 1
        row["read"] |= {"bytes": int(read * GIB), "calls": calls, "errors": 0, "seconds": round(waits, 3), "sizes": [0] * size + [calls],
                        "latencies": [0] * 22 + [calls]}
        row["write"] |= {"bytes": int(written * GIB), "calls": int(written * 1024), "seconds": round(elapsed * 0.002, 3),
                         "sizes": [0] * 21 + [int(written * 1024)], "latencies": [0] * 19 + [int(written * 1024)]}
        made["io"].append(row)
    read, written = (sum(one[i] for one in mounts.values()) * GIB for i in (0, 1))
    made["tasks"] |= {"rchar_bytes": int(read), "wchar_bytes": int(written), "ended": cores + 3}
    made["coverage"] |= {"accounting": {}, "missing": ["GPU: no driver"]}
    interval, begun, user_values = curve(chance, elapsed, started, cpu * 0.93, shape)
    made["timeline"] = {"start": stamp(begun), "interval_seconds": interval, "series": {
        "cpu.user_seconds": {"unit": "seconds", "values": [round(one, 3) for one in user_values]},
        "cpu.system_seconds": {"unit": "seconds", "values": [round(one, 3) for one in curve(chance, elapsed, started, cpu * 0.07, shape)[2]]},
        "cpu.causes.file_read_seconds": {"unit": "seconds", "values": [round(one, 3) for one in curve(chance, elapsed, started, waits, steady)[2]]},
        "read.bytes": {"unit": "bytes", "values": [int(one) for one in curve(chance, elapsed, started, read, steady)[2]]},
        "write.bytes": {"unit": "bytes", "values": [int(one) for one in curve(chance, elapsed, started, written, lambda at: at * 10 % 1 > 0.7)[2]]},
        "memory.usage_bytes": {"unit": "bytes", "values": [int(used * GIB * min(1, 0.4 + 2 * i / len(user_values))) for i in range(len(user_values))]}}}
    waited = of_job.choice((20, 90, 600, 2400, 7200))
    moments = [moment(at) for at in (started - waited, started, started + elapsed)]
    tres = f"cpu={cores * nodes},mem={asked * nodes}G,node={nodes}"
    run = (number, number, name, user, account, made["job"]["partition"], state, f"{exit_code}:0", "None", moments[0], moments[0], moments[1],
           "Unknown" if runs else moments[2], elapsed, int(asked_hours * 60), tres, tres, made["job"]["workdir"], CLUSTER)
    return made, run


def jobs(now):
    """[(record, run)], in the order of their starts; equal arguments make equal jobs."""
    chance, made = random.Random(39), []
    midnight = now - now % DAY
    night = midnight - (DAY if now - midnight < 5 * HOUR else 0)
    wrf, train, vasp, md, ocean, post = KINDS

    def add(kind, started, **changed):
        number = 4100 + len(made)
        made.append([make(number, kind, started, now, rank, **changed) for rank in range(changed.get("nodes", 1))])
        return number

    for i in range(188):  # the weeks before
        add(KINDS[chance.choice((0, 0, 1, 1, 2, 3, 3, 4, 5, 5, 5))], night - 13 * DAY + i * (12.4 * DAY / 188) + chance.randrange(HOUR))
    add(("param-scan", BEN, MATERIALS, 64, 6.0, 8, 0.016, 3, 250, {"/home": (0.1, 0.2)}), night - 30 * HOUR)
    add(train, night - 14 * HOUR, hours=2.6, busy=0.28, waits=14 * HOUR, calls=56_000_000, shape=lambda at: 0.3 if at > 0.1 else 1)
    add(vasp, night - 8 * HOUR, name="vasp-hybrid", hours=0.7, used=128, state="OUT_OF_MEMORY", exit_code=1, oom=1)
    add(ocean, night - 6 * HOUR, hours=4, state="TIMEOUT", nodes=4, balance=0.7)
    add(wrf, night + 2 * HOUR + 14 * 60, hours=0.35, state="FAILED", exit_code=2)
    add(md, night + 3 * HOUR)
    add(post, now - 5 * HOUR)
    add(train, now - 2400, running=True)
    add(md, now - 1500, running=True, mounts={"/scratch": (4, 900)})
    add(ocean, now - 1260, running=True, nodes=2)
    add(post, now - 900, running=True, mounts={"/home": (1, 0.5)})
    waiting = [(4100 + len(made) + i, 4100 + len(made) + i, name, user, account, "long", "PENDING", "0:0", why, *[moment(now - 60 * i - 900)] * 2, "Unknown",
                "Unknown", 0, 240, tres, "", f"/home/{user}/runs", CLUSTER) for i, (name, user, account, why, tres) in enumerate((
                    ("wrf-forecast", ANA, CLIMATE, "Priority", "cpu=32,mem=64G,node=1"), ("ocean-model", CLEO, CLIMATE, "Resources", "cpu=256,mem=640G,node=4")))]
    return [pair for one in made for pair in one] + [(None, run) for run in waiting]


def count_jobs(now, user, mount, since):
    """Of that user's, that have used the mount, and run or ended after @since."""
    return len({record["job"]["id"] for record, _ in jobs(now) if record and record["job"]["user"] == user
                and mount in (row["mount"] for row in record["io"]) and (not record["final"] or record["time"]["end"] > stamp(since))})


def prepare(folder):
    """Before the server is started: what stands for Slurm's programs."""
    (folder / "slurm").mkdir()
    for program, names in (("sacct", " ".join(FIELDS)), ("sacctmgr", "")):
        path = folder / "slurm" / program
        path.write_text(FAKE.format(names=names, rows=str(folder / f"slurm/{program}.rows")))
        path.chmod(0o755)
        (folder / f"slurm/{program}.rows").write_text("\x1f".join(names.split()) + "\n" * bool(names))
    return {"sync": {"manager": "slurm", "interval": "1s", "directory": str(folder / "slurm")}}


def fill(folder, keeper, server, now=None):
    """{user: a token}, and "operator"; the jobs are there, and what Slurm knows of them soon."""
    make_users(keeper, USERS)
    made = jobs(int(now or time.time()))
    (folder / "slurm/sacct.rows").write_text("\x1f".join(FIELDS) + "\n" + "".join(
        "\x1f".join(map(str, run)) + "\n" for run in dict.fromkeys(run for _, run in made)))
    (folder / "slurm/sacctmgr.rows").write_text(f"{CLIMATE}|{CLEO}\n{MATERIALS}|\n")
    records = [record for record, _ in made if record]
    for one in range(0, len(records), 50):
        server.push([json.dumps(record, separators=(",", ":")).encode() for record in records[one:one + 50]])
    for node in range(1, 13):
        here = [one for one in records if one["node"] == f"gen-n{node:02}" and not one["final"]]
        busy = sum(one["cpu"]["user_seconds"] / one["time"]["elapsed_seconds"] for one in here)
        said = {"schema": "jobmeter.node/1", "cluster": CLUSTER, "node": f"gen-n{node:02}", "cpus": 64, "load": round(busy + 0.1, 2),
                "memory_bytes": 256 * GIB, "memory_available_bytes": 250 * GIB - sum(one["memory"]["peak_bytes"] for one in here),
                "missing": int(node == 7), "lost_events": 0, "not_measured": ["GPU: no driver"] * (node == 7)}
        server.post(json.dumps(made[0][0]).encode(), **{"Jobmeter-Node": json.dumps(said)})
    tokens = {user: server.run("token", "create", "--user", user).stdout.strip() for user in USERS}
    return tokens | {"operator": server.run("token", "create", "--user", "root", "--scope", "operator").stdout.strip()}
