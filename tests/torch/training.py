#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A training on CPUs, a rank of RANK of WORLD_SIZE by gloo: training.py STEPS WIDTH BATCH [PROFILE]

PROFILE gets what torch.profiler counted, and between which times."""
import collections
import json
import sys
import time

import torch
import torch.distributed
from torch import nn

STEPS, WIDTH, BATCH = map(int, sys.argv[1:4])


def train(model, optimizer):
    for step in range(STEPS):
        inputs, targets = torch.randn(BATCH, 1, 8, 8), torch.randint(10, (BATCH,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        if step % 3 == 0:
            try:
                torch.ones(2, 3) @ torch.ones(2, 3)  # an exception of C++ that is caught
            except RuntimeError:
                pass


torch.manual_seed(1)
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo")
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10))
model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
if len(sys.argv) > 4:
    with torch.profiler.profile() as profile:
        time.sleep(0.05)  # so that it is clear on which side of a time an operator is
        begin = time.time_ns()
        time.sleep(0.05)
        train(model, optimizer)
        time.sleep(0.05)
        end = time.time_ns()
        time.sleep(0.05)
    counts = collections.Counter(event.name for event in profile.events())
    schemas = [(schema.name, schema.overload_name) for schema in torch._C._jit_get_all_schemas()]
    with open(f"{sys.argv[4]}.{torch.distributed.get_rank()}", "w") as file:
        json.dump({"begin": begin, "end": end, "counts": counts, "schemas": schemas}, file)
else:
    begin, cpu = time.monotonic(), time.process_time()
    train(model, optimizer)
    print(f"{time.monotonic() - begin:.4f} s, {time.process_time() - cpu:.4f} s on CPUs")
torch.distributed.barrier()
