# SPDX-License-Identifier: MIT
"""trace - what programs ask GPUs for, on libraries that need none: CUDA's own, NCCL, HIP; and on a fake of ours where the
real one would not go on without a GPU."""

import collections
import ctypes.util
import json
import pathlib
import shutil
import subprocess

import pytest

from repository import REPOSITORY

SYSTEM = REPOSITORY / "tests/system"
RECORDED = REPOSITORY / "tests/data/gpu"
HANDLES = ("function", "address", "stream", "comm", "new")
NO_DRIVER = 35  # cudaErrorInsufficientDriver


@pytest.fixture(scope="session")
def cuda():
    """CUDA's folder; it comes from no Debian package."""
    compiler = shutil.which("nvcc")
    folders = [pathlib.Path(compiler).resolve().parent.parent] if compiler else []
    for folder in (*folders, pathlib.Path("/usr/local/cuda")):
        if (folder / "lib64/libcudart.so").exists():
            return folder
    pytest.skip("needs CUDA")


@pytest.fixture(scope="session")
def launches(cuda, tmp_path_factory):
    """launches(how): cuda_launches, built that way."""
    folder = tmp_path_factory.mktemp("cuda")

    def get(how):
        program = folder / how
        options = {"static": ["-cudart", "static"], "per-thread": ["-cudart", "shared", "--default-stream", "per-thread"]}
        subprocess.run([cuda / "bin/nvcc", *options.get(how, ["-cudart", "shared"]), "-o", program, SYSTEM / "cuda_launches.cu",
                        "-Xlinker", f"-rpath={cuda}/lib64"], check=True, capture_output=True)
        if how == "stripped":
            subprocess.run(["strip", program], check=True)
        return program

    return get


@pytest.fixture
def trace(programs, root, tmp_path):
    """trace(sets, program): how many calls of each kind, as (function, arguments but for handles, bytes, result)."""

    def run(sets, program, env=None, code=0):
        path = tmp_path / "calls.ndjson"
        done = subprocess.run([programs / "jobmeter", "trace", "--budget", "0", "--output", path, "--set", sets, "--", program],
                              capture_output=True, text=True, env=env)
        assert done.returncode == code, done.stderr
        assert done.stderr == ""
        with open(path) as lines:
            return [json.loads(line) for line in lines]

    return run


def has_driver():
    try:
        return bool(ctypes.CDLL("libcuda.so.1"))
    except OSError:
        return False


def count(calls):
    return collections.Counter((c["probe"].partition(":")[2], tuple(sorted((k, v) for k, v in c["arguments"].items()
                                if k not in HANDLES)), c["bytes"], c["return"]) for c in calls)


def call(name, moved=None, result=None, /, **arguments):
    return name, tuple(sorted(arguments.items())), moved, result


def launch(name, function, grid, block, shared, result=None):
    named = {} if function is None else {"function_name": function}
    return call(name, None, result, **named, **dict(zip(("grid_x", "grid_y", "grid_z"), grid)),
                **dict(zip(("block_x", "block_y", "block_z"), block)), shared=shared)


def direction(number):
    return {"direction": number, "direction_name": ["", "host-to-device", "device-to-host", "device-to-device"][number]}


def of_run_time(result):
    """What cuda_launches calls."""
    return {
        launch("cudaLaunchKernel", "_Z4axpyPfi", (3, 5, 7), (32, 2, 1), 16, result): 1000,
        launch("cudaLaunchKernel", "_Z5scaleIdEvPT_", (70001, 2, 1), (64, 1, 1), 0, result): 13,
        launch("cudaLaunchKernelExC", "_Z4axpyPfi", (100003, 3, 2), (17, 3, 2), 48, result): 7,
        call("cudaMalloc", 8191, result, size=8191): 1,
        call("cudaMalloc", 4801, result, size=4801): 5,
        call("cudaMemcpy", 4099, result, size=4099, **direction(1)): 11,
        call("cudaMemcpyAsync", 4093, result, size=4093, **direction(2)): 11,
        call("cudaMemcpy", 4091, result, size=4091, **direction(3)): 5,
        call("cudaMemset", 97, result, size=97): 11,
        call("cudaStreamSynchronize", None, result): 11,
        call("cudaDeviceSynchronize", None, result): 5,
        call("cudaFree", None, result): 6,
    }


@pytest.mark.parametrize("how", ["shared", "static", "stripped", "per-thread"])
def test_calls_of_cudas_own_library_are_those_made(trace, launches, how):
    if has_driver():
        pytest.skip("there is a driver: tools/gpu-trace looks at that")
    assert count(trace("cuda-runtime,cuda-driver", launches(how), code=99)) == of_run_time(NO_DRIVER)


def test_the_summary_says_kernels_copies_memory_and_waits(programs, root, launches):
    done = subprocess.run([programs / "jobmeter", "trace", "--set", "cuda-runtime", "--", launches("shared")],
                          capture_output=True, text=True)
    said = " ".join(done.stderr.split())
    assert "axpy 1,007 99 %" in said and "scale<...> 13 1 %" in said
    assert "copies host-to-device 44 KiB in 11 calls" in said
    assert "device-to-host 44 KiB in 11 calls, which do not wait for it" in said
    assert "31.4 KiB allocated in 6 calls, freed in 6 calls, 1 KiB filled in 11 calls" in said
    assert "for the GPU in 16 calls" in said and "Host side: times are those of calls." in said


NCCL = """
#include <nccl.h>
int main(void)
{
	ncclUniqueId id = {};
	ncclComm_t comm = 0;

	ncclCommInitRank(&comm, 13, id, 7);
	for (int i = 0; i < 5; i++) {
		ncclAllReduce(0, 0, 12345, ncclFloat16, ncclMax, 0, 0);
		ncclBcast(0, 1009, ncclFloat64, 3, 0, 0);
		ncclGroupStart();
		ncclSend(0, 97, ncclInt8, 2, 0, 0);
		ncclRecv(0, 101, ncclBfloat16, 3, 0, 0);
		ncclGroupEnd();
		ncclAllGather(0, 0, 11, ncclInt64, 0, 0);
		ncclReduceScatter(0, 0, 17, ncclFloat32, ncclSum, 0, 0);
		ncclReduce(0, 0, 19, ncclUint8, ncclProd, 5, 0, 0);
		ncclBroadcast(0, 0, 23, ncclInt32, 4, 0, 0);
	}
	return 0;
}
"""
NO_COMMUNICATOR = 4  # ncclInvalidArgument


def test_bytes_of_nccl_are_those_of_each_type_and_no_call_counts_twice(trace, cuda, tmp_path):
    header = next((path for path in (*cuda.glob("targets/*/include/nccl.h"), cuda / "include/nccl.h") if path.exists()), None)
    if not header:
        pytest.skip("needs NCCL")
    (tmp_path / "nccl.c").write_text(NCCL)
    subprocess.run(["gcc", "-o", tmp_path / "nccl", tmp_path / "nccl.c", f"-I{header.parent}", f"-L{cuda}/lib64", "-lnccl",
                    f"-Wl,-rpath,{cuda}/lib64"], check=True)
    counted = count(trace("nccl,cuda-runtime,cuda-driver", tmp_path / "nccl"))
    assert {n: c for n, c in counted.items() if c == 1}.keys() == {call("ncclCommInitRank", None, 1, ranks=13, rank=7)}

    def typed(name, number, type_number, type_name, size, **more):
        return call(name, size, NO_COMMUNICATOR, count=number, type=type_number, type_name=type_name, **more)

    assert {n for n, c in counted.items() if c == 5} == {
        typed("ncclAllReduce", 12345, 6, "float16", 24690, operation=2, operation_name="maximum"),
        typed("ncclBcast", 1009, 8, "float64", 8072, root=3),
        call("ncclGroupStart", None, 0),
        typed("ncclSend", 97, 0, "int8", 97, peer=2),
        typed("ncclRecv", 101, 9, "bfloat16", 202, peer=3),
        call("ncclGroupEnd", None, NO_COMMUNICATOR),
        typed("ncclAllGather", 11, 4, "int64", 88),
        typed("ncclReduceScatter", 17, 7, "float32", 68, operation=0, operation_name="sum"),
        typed("ncclReduce", 19, 1, "uint8", 19, operation=1, operation_name="product", root=5),
        typed("ncclBroadcast", 23, 2, "int32", 92, root=4),
    }


@pytest.fixture(scope="session")
def fake(tmp_path_factory):
    """The program of fake_cuda.c, beside its libraries."""
    folder = tmp_path_factory.mktemp("fake")

    def build(name, *options):
        subprocess.run(["gcc", "-O1", "-o", folder / name, SYSTEM / "fake_cuda.c", *options], check=True)

    build("libcuda.so.1", "-DDRIVER", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    build("libcudart.so.13", "-DRUNTIME", "-shared", "-fPIC", "-Wl,-soname,libcudart.so.13", folder / "libcuda.so.1")
    build("program", "-DPROGRAM", folder / "libcudart.so.13", folder / "libcuda.so.1", "-Wl,-rpath,$ORIGIN")
    return folder / "program"


OF_DRIVER = {
    launch("cuLaunchKernel", "axpy", (100003, 65537, 11), (1023, 3, 2), 97): 17,
    launch("cuLaunchKernelEx", "scale_all", (70001, 3, 2), (64, 2, 1), 4093): 19,
    launch("cuLaunchKernel", None, (1, 1, 1), (1, 1, 1), 0): 5,  # the kernel's name was refused
    call("cuMemAlloc_v2", 1009, 0, size=1009): 7,
    call("cuMemcpyHtoD_v2", 4099, 0, size=4099, **direction(1)): 7,
    call("cuMemcpyDtoHAsync_v2", 4093, None, size=4093, **direction(2)): 7,
    call("cuMemsetD32_v2", 2012, 0, count=503): 7,
    call("cuMemFree_v2", None, 0): 7,
    call("cuStreamSynchronize", None, 0): 3,
}
BY_RUN_TIME = {
    launch("cudaLaunchKernel", None, (3, 5, 7), (32, 2, 1), 16, 0): 101,
    call("cudaMemcpy", 4091, 0, size=4091, **direction(1)): 7,
}
OF_BOTH = {
    launch("cuLaunchKernel", None, (3, 5, 7), (32, 2, 1), 16): 101,
    call("cuMemcpyHtoD_v2", 4091, 0, size=4091, **direction(1)): 7,
}


@pytest.mark.parametrize("sets, expected", [("cuda-driver", OF_DRIVER | OF_BOTH), ("cuda-runtime", BY_RUN_TIME),
                                            ("cuda-runtime,cuda-driver", OF_DRIVER | BY_RUN_TIME),
                                            ("cuda-driver,cuda-runtime", OF_DRIVER | BY_RUN_TIME)])
def test_a_call_that_passes_both_layers_counts_once(trace, fake, sets, expected):
    assert count(trace(sets, fake)) == expected


def test_streams_and_handles_are_those_given(trace, fake):
    calls = trace("cuda-driver", fake)
    streams = collections.Counter(c["arguments"]["stream"] for c in calls if "Launch" in c["probe"])
    assert streams == {0x55: 17, 0x77: 19, 0: 106}
    assert {c["arguments"]["address"] for c in calls if "MemAlloc" in c["probe"]} == {0x7000}


def test_waits_for_a_gpu_are_summed(programs, root, fake):
    done = subprocess.run([programs / "jobmeter", "trace", "--set", "cuda-driver", "--", fake], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    assert "scale_all 19" in said and "axpy 17" in said and "for the GPU in 3 calls" in said


HIP = """
#include <stddef.h>
typedef struct { unsigned int x, y, z; } dim3;
int hipMalloc(void **, size_t);
int hipFree(void *);
int hipMemcpy(void *, const void *, size_t, int);
int hipMemcpyDtoHAsync(void *, void *, size_t, void *);
int hipLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
int hipDeviceSynchronize(void);
int main(void)
{
	dim3 grid = { 70001, 5, 7 }, block = { 32, 2, 1 };
	void *memory = NULL;
	char buffer[64];

	for (int i = 0; i < 7; i++) {
		hipMalloc(&memory, 1009);
		hipMemcpy(memory, buffer, 61, 1);
		hipMemcpyDtoHAsync(buffer, memory, 59, NULL);
		hipLaunchKernel((void *)main, grid, block, NULL, 16, NULL);
		hipDeviceSynchronize();
		hipFree(memory);
	}
	return 0;
}
"""


def test_calls_of_hips_own_library_are_those_made(trace, tmp_path):
    library = ctypes.util.find_library("amdhip64")
    if not library:
        pytest.skip("needs libamdhip64")
    (tmp_path / "hip.c").write_text(HIP)
    built = subprocess.run(["gcc", "-o", tmp_path / "hip", tmp_path / "hip.c", f"-l:{library}"], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    counted = collections.Counter()
    for (name, arguments, size, _), number in count(trace("hip", tmp_path / "hip")).items():
        counted[name, arguments, size] += number

    def made(*of):
        return of[0], of[1], of[2]

    assert counted == {
        made(*call("hipMalloc", 1009, size=1009)): 7,
        made(*call("hipMemcpy", 61, size=61, **direction(1))): 7,
        made(*call("hipMemcpyDtoHAsync", 59, size=59, **direction(2))): 7,
        made(*launch("hipLaunchKernel", None, (70001, 5, 7), (32, 2, 1), 16)): 7,
        made(*call("hipDeviceSynchronize")): 7,
        made(*call("hipFree")): 7,
    }


def test_all_sets_are_listed(programs):
    listed = subprocess.run([programs / "jobmeter", "trace", "--list"], capture_output=True, text=True, check=True).stdout
    names = [line.partition(":")[0] for line in listed.splitlines() if line and not line.startswith(" ")]
    assert sorted(names) == sorted(path.stem for path in (REPOSITORY / "share/probes").iterdir())
    assert "  cuLaunchKernel                       launch     default\n" in listed


def recorded(traced):
    """As count(), of a file of tools/gpu-trace; a copy's direction by its name alone."""
    counted = {}
    for row in traced["calls"]:
        arguments = {k.replace("function", "function_name"): v for k, v in row["arguments"].items()}
        counted[call(row["probe"].partition(":")[2], row["bytes"], row["return"], **arguments)] = row["calls"]
    return counted


def without_numbers(expected):
    return {(name, tuple(a for a in arguments if a[0] != "direction"), size, result): n
            for (name, arguments, size, result), n in expected.items()}


def of_driver():
    """What the run-time library asks the driver for when cuda_launches calls it, seen where there is a GPU."""
    return without_numbers({
        launch("cuLaunchKernel", "_Z4axpyPfi", (3, 5, 7), (32, 2, 1), 16): 1000,
        launch("cuLaunchKernel", "_Z5scaleIdEvPT_", (70001, 2, 1), (64, 1, 1), 0): 13,
        launch("cuLaunchKernelEx", "_Z4axpyPfi", (100003, 3, 2), (17, 3, 2), 48): 7,
        call("cuMemAlloc_v2", 8191, 0, size=8191): 1,
        call("cuMemAlloc_v2", 4801, 0, size=4801): 5,
        call("cuMemcpyHtoD_v2", 4099, 0, size=4099, **direction(1)): 11,
        call("cuMemcpyDtoHAsync_v2", 4093, None, size=4093, **direction(2)): 11,
        call("cuMemcpyDtoD_v2", 4091, 0, size=4091, **direction(3)): 5,
        call("cuMemsetD8_v2", 97, 0, count=97): 11,
        call("cuStreamSynchronize", None, 0): 11,
        call("cuMemFree_v2", None, 0): 6,
    })


@pytest.mark.parametrize("how, sets", [("static", "cuda-runtime"), ("static", "cuda-driver"),
                                       ("static", "cuda-runtime,cuda-driver"), ("shared", "cuda-runtime,cuda-driver")])
def test_on_a_gpu_calls_were_those_made(how, sets):
    """Of a machine with a GPU: tests/data/gpu/README.md."""
    traced = json.loads((RECORDED / "launches.json").read_text())[how][sets]
    counted = recorded(traced)
    counted.pop(call("cuCtxSynchronize", None, 0), None)  # the set did not have CUDA 13's name of it then
    assert counted == (of_driver() if sets == "cuda-driver" else without_numbers(of_run_time(0)))


def kernels(traced):
    """{the first 127 characters of a kernel's name: launches}"""
    names = collections.Counter()
    for row in traced["calls"]:
        if "Launch" in row["probe"]:
            names[row["arguments"]["function"]] += row["calls"]
    return names


@pytest.mark.parametrize("sets", ["cuda-driver", "cuda-runtime,cuda-driver"])
def test_on_a_gpu_launches_were_those_of_pytorchs_profiler(sets):
    found = json.loads((RECORDED / "torch.json").read_text())
    triton, products = kernels(found["triton"][sets]), kernels(found["products"][sets])
    profiled = found["triton"]["torch.profiler"]["kernel"]
    assert triton["add_one"] == profiled["add_one"] == 101
    assert sorted(triton.values()) == sorted(profiled.values())
    profiled = found["products"]["torch.profiler"]["kernel"]
    assert sorted(products.values()) == sorted(profiled.values())
    assert {n: c for n, c in products.items() if n.startswith("sm80_")} == \
        {n[:127]: c for n, c in profiled.items() if n.startswith("sm80_")}


def test_on_a_gpu_bytes_of_collectives_were_those_of_their_types():
    traced = json.loads((RECORDED / "nccl.json").read_text())
    moved = {row["probe"].partition(":")[2]: (row["calls"], row["bytes"]) for row in traced["calls"]
             if row["probe"].startswith("nccl:") and row["bytes"]}
    assert moved == {"ncclAllReduce": (7, 24690), "ncclBcast": (5, 8072), "ncclAllGather": (3, 4052)}


def test_on_a_gpu_the_driver_gave_out_what_it_exports():
    lines = (RECORDED / "addresses.txt").read_text().splitlines()
    assert len(lines) == 38 and all(line.endswith("+0") for line in lines)
