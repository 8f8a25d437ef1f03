# SPDX-License-Identifier: MIT
"""gpu_torch - what PyTorch does on a GPU in one mode: products N, nccl, triton, train STEPS BATCH.  --count FILE says what
PyTorch's own profiler counted, as a line of JSON; FILE is scratch."""

import collections
import json
import os
import sys
import time

import torch


def products(number):
    a = torch.randn(512, 512, device="cuda")
    for _ in range(number):
        a = torch.mm(a, a).clamp_(-1, 1)
    host = torch.zeros(1009, pin_memory=True)
    for _ in range(17):
        host.cuda(non_blocking=True)
    torch.cuda.synchronize()


def nccl():
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29533", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
    torch.cuda.set_device(0)
    torch.distributed.init_process_group("nccl")
    half = torch.ones(12345, dtype=torch.float16, device="cuda")
    double = torch.ones(1009, dtype=torch.float64, device="cuda")
    gathered = torch.ones(1013, dtype=torch.float32, device="cuda")
    for _ in range(7):
        torch.distributed.all_reduce(half)
    for _ in range(5):
        torch.distributed.broadcast(double, 0)
    for _ in range(3):
        torch.distributed.all_gather_into_tensor(gathered.clone(), gathered)
    torch.cuda.synchronize()
    torch.distributed.destroy_process_group()


def triton_kernel():
    import triton
    import triton.language as tl

    @triton.jit
    def add_one(x, n, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(x + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)

    x = torch.zeros(100003, device="cuda")
    for _ in range(101):
        add_one[(98,)](x, 100003, block=1024)
    torch.cuda.synchronize()


def trainer(batch):
    torch.manual_seed(7)
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 4).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    data = torch.randn(batch, 128, 512, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def train(steps, batch):
    """At each line on stdin: so many steps, and a line with their seconds."""
    step = trainer(batch)
    for _ in range(20):
        step()
    torch.cuda.synchronize()
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
        print(time.perf_counter() - begin, flush=True)


def main():
    mode, numbers = sys.argv[1], [int(word) for word in sys.argv[2:] if word.isdigit()]
    modes = {"products": products, "nccl": nccl, "triton": triton_kernel, "train": train}

    def run():
        modes[mode](*numbers)

    if "--count" not in sys.argv:
        return run()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        run()
    path = sys.argv[sys.argv.index("--count") + 1]
    profile.export_chrome_trace(path)
    with open(path) as file:
        trace = json.load(file)
    os.unlink(path)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    counts = {category: collections.Counter(e["name"] for e in events if e.get("cat") == category)
              for category in ("kernel", "cuda_runtime", "cuda_driver", "gpu_memcpy")}
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
