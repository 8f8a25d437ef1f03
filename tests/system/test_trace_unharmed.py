# SPDX-License-Identifier: MIT
"""A traced program does what it does alone, whatever leaves its functions, and calls without a time are said to have none."""

import json
import os
import re
import shutil
import subprocess

import pytest

from mpi_programs import ENVIRONMENT, MPIS, mpirun
from repository import REPOSITORY

WORK = """
#include <stdio.h>
#include <stdlib.h>
#ifdef __cplusplus
extern "C"
#endif
__attribute__((noinline)) int work(int n, int (*call)(int)) { __asm__ volatile("nop"); n = call ? call(n) : n; __asm__ volatile(""); return n + 1; }
"""
PLAIN = WORK + """
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void) { int a[] = { 3, 1, 2 }, n = 0; for (int i = 0; i < 7; i++) n += work(i, NULL); qsort(a, 3, sizeof(*a), order);
                 printf("%d %d\\n", n, a[0]); return 3; }
"""
THROWS = WORK + """
#include <stdexcept>
static int fail(int n) { throw std::runtime_error(n ? "odd" : "even"); }
static int order(const void *, const void *) { throw 17; }
int main() { int a[] = { 3, 1, 2 }, caught = 0;
             for (int i = 0; i < 7; i++) try { work(i & 1, fail); } catch (const std::exception &) { caught++; }
             try { qsort(a, 3, sizeof(*a), order); } catch (int n) { caught += n; }
             printf("%d\\n", caught); return 5; }
"""
FIBRES = WORK + """
#include <ucontext.h>
static ucontext_t back, of[2]; static char stacks[2][65536]; static int now;
static int leave(int n) { swapcontext(&of[now], &back); return n; }
static void run(void) { printf("%d ", work(10 * (now + 1), leave)); work(0, leave); }
int main(void) { for (int i = 0; i < 2; i++) { getcontext(&of[i]); of[i].uc_stack.ss_sp = stacks[i]; of[i].uc_stack.ss_size = 65536;
                                               of[i].uc_link = &back; makecontext(&of[i], run, 0); }
                 for (int i = 0; i < 4; i++) { now = i % 2; swapcontext(&back, &of[now]); }
                 for (int i = 0; i < 3; i++) work(i, NULL);
                 puts(""); return 7; }
"""
CANCELS = WORK + """
#include <pthread.h>
#include <unistd.h>
static int ended, at[2];
struct local { ~local() { ended++; } };
static int wait(int n) { local l; (void)!write(at[1], "x", 1); for (;;) pause(); return n; }
static void *run(void *) { local l; work(1, wait); return nullptr; }
int main() { char x; (void)!pipe(at);
             for (int i = 0; i < 7; i++) { pthread_t t; pthread_create(&t, nullptr, run, nullptr); (void)!read(at[0], &x, 1);
                                           pthread_cancel(t); pthread_join(t, nullptr); }
             printf("%d\\n", ended); return 9; }
"""
FORTRAN = """
subroutine work(n, s) bind(C, name="work")
  use iso_c_binding
  integer(c_int), value :: n
  integer(c_int) :: s
  s = s + n + 1
end subroutine
program p
  use iso_c_binding
  interface
    subroutine work(n, s) bind(C, name="work")
      import
      integer(c_int), value :: n
      integer(c_int) :: s
    end subroutine
  end interface
  integer :: i, s = 0
  do i = 1, 7
    call work(i, s)
  end do
  print *, s
  stop 11
end program
"""
GO = """
package main
import "fmt"
//go:noinline
func grow(n int) int { var pad [512]byte; pad[n%512] = byte(n); if n == 0 { return int(pad[0]) }; return grow(n-1) + int(pad[n%512]) }
//go:noinline
func work(n int) int { return grow(n) }
func main() { sum, done := 0, make(chan int); for i := 0; i < 7; i++ { go func(i int) { done <- work(10 + i*50) }(i) }
              for i := 0; i < 7; i++ { sum += <-done }; fmt.Println("ended well", sum) }
"""
ENDS = WORK + """
#include <setjmp.h>
#include <unistd.h>
static jmp_buf back;
static int jump(int n) { longjmp(back, n + 1); }
static int end(int n) { printf("ends\\n"); fflush(stdout); execl("/bin/sh", "sh", "-c", "exit 15", NULL); return n; }
int main(void) { volatile int n = 0; for (int i = 0; i < 7; i++) work(i, NULL);
                 setjmp(back); if (n++ < 5) work(n, jump); printf("%d ", n); work(n, end); return 1; }
"""
COROUTINES = WORK + """
#include <setjmp.h>
#include <ucontext.h>
static ucontext_t first; static jmp_buf back, on; static char stack[65536];
static int leave(int n) { if (!setjmp(on)) longjmp(back, 1); return n; }
static void run(void) { for (;;) work(1, leave); }
int main(void) { getcontext(&first); first.uc_stack.ss_sp = stack; first.uc_stack.ss_size = sizeof(stack); makecontext(&first, run, 0);
                 for (volatile int i = 0; i < 7; i++) if (!setjmp(back)) { if (i) longjmp(on, 1); setcontext(&first); }
                 puts("7"); return 17; }
"""
HANDLES = WORK + """
#include <signal.h>
static void handle(int number) { work(number, NULL); }
static int interrupt(int n) { raise(SIGUSR1); return n; }
static int __attribute__((noinline)) deeper(int n) { volatile char below[4096] = { (char)n }; return work(n, interrupt) + below[1]; }
int main(void) { char higher[65536]; stack_t on = { .ss_sp = higher, .ss_size = sizeof(higher) }; int n = 0;
                 sigaltstack(&on, NULL); sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = handle, .sa_flags = SA_ONSTACK }, NULL);
                 for (int i = 0; i < 3; i++) n += deeper(i); printf("%d\\n", work(n, NULL)); return 21; }
"""
WALKS = WORK + """
#include <execinfo.h>
static int walk(int n) { void *callers[32]; return backtrace(callers, 32) + n; }
int main(void) { int n = 0; for (int i = 0; i < 7; i++) n += work(i, walk); printf("%d\\n", n); return 23; }
"""
RUST = """
#[no_mangle] #[inline(never)] pub extern "C-unwind" fn work(n: i32) -> i32 { if n % 2 == 0 { panic!("even") } n + 1 }
fn main() { std::panic::set_hook(Box::new(|_| {}));
            let caught = (0..7).filter(|n| std::panic::catch_unwind(|| work(*n)).is_err()).count();
            println!("{}", caught); std::process::exit(19) }
"""
# name: (compiler, options, source's ending and text, what is said of returns)
PROGRAMS = {
    "c": ("gcc", [], "c", PLAIN, None),
    "c-static": ("gcc", ["-static"], "c", PLAIN, None),
    "throws": ("g++", [], "cc", THROWS, "throws exceptions"),
    "throws-with-its-own-runtime": ("g++", ["-static-libstdc++", "-static-libgcc", "-s"], "cc", THROWS, "throws exceptions"),
    "c-static-pie": ("gcc", ["-static-pie"], "c", PLAIN, None),
    "ends-within": ("gcc", [], "c", ENDS, None),
    "coroutines": ("gcc", [], "c", COROUTINES, "changes stacks"),
    "rust": ("rustc", ["-Copt-level=1", "-Cstrip=none"], "rs", RUST, "throws exceptions"),
    "rust-stripped": ("rustc", ["-Copt-level=1", "-Cstrip=symbols"], "rs", RUST, "throws exceptions"),
    "handles-signals-on-another-stack": ("gcc", ["-D_GNU_SOURCE"], "c", HANDLES, "changes stacks"),
    "walks-its-stack": ("gcc", [], "c", WALKS, "reads its own stack"),
    "fibres": ("gcc", [], "c", FIBRES, "changes stacks"),
    "cancels": ("g++", ["-pthread"], "cc", CANCELS, "cancels threads"),
    "fortran": ("gfortran", ["-fno-inline", "-fno-ipa-cp"], "f90", FORTRAN, None),
    "go": ("go", [], "go", GO, "is of Go"),
    "c-with-a-section-of-go": ("gcc", [], "c", PLAIN, "is of Go"),
}


SHIPPED = ["--set", ",".join(sorted(path.stem for path in (REPOSITORY / "share/probes").iterdir()))]


@pytest.fixture(scope="module")
def built(tmp_path_factory, demand):
    folder = tmp_path_factory.mktemp("unharmed")

    def get(name):
        compiler, options, ending, text, said = PROGRAMS[name]
        program, source = folder / name, folder / f"{name}.{ending}"
        if compiler in ("go", "rustc") and not shutil.which(compiler):
            pytest.skip(f"needs {compiler}, which is large; what tells of it is tried with C and C++ as well")
        demand(shutil.which(compiler), f"needs {compiler}")
        source.write_text(text)
        how = ["go", "build"] if compiler == "go" else [compiler, *([] if compiler == "rustc" else ["-O1"]), *options]
        subprocess.run([*how, "-o", program, source], check=True, cwd=folder)
        if "section" in name:
            subprocess.run(["objcopy", "--add-section", f".go.buildinfo={source}", program], check=True)
        return program, said

    return get


def run(*argv, **options):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_traced_program_does_what_it_does_alone(programs, root, built, tmp_path, name):
    """With all sets that are shipped, and probes of its own and of what calls it back."""
    program, said = built(name)
    symbol = "main.work" if name == "go" else "work"
    alone = run(program)
    traced = run(programs / "jobmeter", "trace", "--budget", "0", *SHIPPED, "--probe", f"{program}:{symbol}(exit=return)",
                 "--probe", "libc.so*:qsort(exit=return)", "--output", tmp_path / "out", "--", program)
    assert (traced.returncode, traced.stdout) == (alone.returncode, alone.stdout), traced.stderr
    text = " ".join((tmp_path / "out").read_text().split())  # lines are broken
    rows = re.findall(rf"{symbol} +([\d,]+) +(\S+)", text)  # before the table stands what has not returned
    if not {"-s", "-Cstrip=symbols"} & set(PROGRAMS[name][1]):
        assert rows and rows[-1][0] == "7", text
        assert (rows[-1][1] == "-") == bool(said), text
        assert ("returns not traced" in text) == bool(said)
        assert not said or said in text


@pytest.mark.parametrize("script", ["import json, ssl, ctypes\nprint(json.dumps([1, 2]))\nraise SystemExit(13)",
                                    "import gc, threading\ngc.collect()\nt = threading.Thread(target=print, args=(7,))\nt.start()\nt.join()\n1 / 0"])
def test_a_script_does_what_it_does_alone(programs, root, tmp_path, script):
    alone = run("/usr/bin/python3", "-c", script)
    traced = run(programs / "jobmeter", "trace", "--budget", "0", *SHIPPED, "--probe", "libc.so*:getenv(exit=return)", "--output",
                 tmp_path / "out", "--", "/usr/bin/python3", "-c", script)
    assert (traced.returncode, traced.stdout) == (alone.returncode, alone.stdout), traced.stderr
    assert "getenv" in (tmp_path / "out").read_text()


LATE = WORK + """
#include <dlfcn.h>
#include <poll.h>
#include <unistd.h>
int main(int argc, char **argv) { char x; struct pollfd p = { 0, POLLIN, 0 };
    for (int loaded = 0;; work(argc, NULL)) { if (poll(&p, 1, 1) <= 0) continue; if (read(0, &x, 1) <= 0) return 0;
                                              if (!loaded++ && !dlopen(argv[1], RTLD_NOW)) return 1; } }
"""


def test_a_library_that_is_loaded_later_takes_returns_away(programs, root, tmp_path, demand):
    demand(shutil.which("g++"), "needs g++")
    (tmp_path / "late.c").write_text(LATE)
    (tmp_path / "thrower.cc").write_text("void fail() { throw 1; }\n")
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "late", tmp_path / "late.c", "-ldl"], check=True)
    subprocess.run(["g++", "-shared", "-fPIC", "-o", tmp_path / "libthrower.so", tmp_path / "thrower.cc"], check=True)
    with subprocess.Popen([programs / "jobmeter", "trace", "--budget", "0", "--probe", f"{tmp_path}/late:work(exit=return)",
                           "--format", "ndjson", "--", tmp_path / "late", tmp_path / "libthrower.so"], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        first = json.loads(process.stdout.readline())
        assert first["duration_ns"] is not None and "return_not_traced" not in first
        process.stdin.write("x")
        process.stdin.flush()
        why = next(c["return_not_traced"] for c in map(json.loads, process.stdout) if c["duration_ns"] is None)
        process.stdin.close()
        process.stdout.read()
    assert "'libthrower.so' throws exceptions" in why and "found late" in why
    assert process.returncode == 0


MPI_PROGRAM = """
#include <cstdio>
#include <mpi.h>
#include <stdexcept>
static int caught, fails = 1;
static void handler(MPI_Comm *, int *, ...) { throw std::runtime_error("failed"); }
static void operation(void *, void *, int *, MPI_Datatype *) { if (fails) throw std::runtime_error("failed"); }
static int forget(MPI_Comm, int, void *, void *) { throw std::runtime_error("failed"); }
int main(int argc, char **argv) { int number = 1, sum, rank; MPI_Comm copy; MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#define TRY(call) try { call; } catch (const std::exception &) { caught++; }
%s
    MPI_Barrier(MPI_COMM_WORLD); if (caught) { std::printf("caught %%d\\n", caught); fflush(stdout); }
    MPI_Finalize(); return 0; }
"""
# {what throws: (the calls, functions that have no times then)}
THROWN = {
    "own": ("TRY(if (argc > 0) throw std::runtime_error(argv[0])) TRY(handler(nullptr, nullptr))", []),
    "error-handler": ("""MPI_Errhandler made; MPI_Comm_create_errhandler(handler, &made); MPI_Comm_set_errhandler(MPI_COMM_WORLD, made);
        for (int i = 0; i < 5; i++) TRY(MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD))""", ["MPI_Init", "MPI_Barrier"]),
    "attribute": ("""int key; MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, nullptr); MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_set_attr(copy, key, nullptr); TRY(MPI_Comm_delete_attr(copy, key)) TRY(MPI_Comm_free(&copy))""", ["MPI_Init", "MPI_Barrier"]),
    "operation": ("""(void)copy; MPI_Op op; MPI_Op_create(operation, 1, &op); TRY(MPI_Reduce(&number, &sum, 1, MPI_INT, op, 0, MPI_COMM_WORLD))""",
                  ["MPI_Reduce"]),
}


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("thrown", THROWN)
def test_exceptions_of_mpi_programs_are_caught(programs, root, tmp_path, demand, mpi, thrown):
    demand(shutil.which(f"mpicxx.{mpi}"), f"needs mpicxx.{mpi}")
    (tmp_path / "p.cc").write_text(MPI_PROGRAM % THROWN[thrown][0])
    subprocess.run([f"mpicxx.{mpi}", "-O1", "-fpermissive", "-w", "-o", tmp_path / "p", tmp_path / "p.cc"], check=True)
    environment = ENVIRONMENT | {"OMPI_MCA_btl": "self,vader"}
    alone = run(*mpirun(mpi, tmp_path / "p"), env=environment)
    done = run(programs / "jobmeter", "trace", "--budget", "0", *SHIPPED, "--probe", "libmpi*.so*:PMPI_Comm_*(exit=return)", "--output",
               tmp_path / "out", "--", *mpirun(mpi, tmp_path / "p"), env=environment)
    assert "caught" in alone.stdout and (done.returncode, done.stdout) == (alone.returncode, alone.stdout), done.stderr
    rows = dict(reversed(re.findall(r"(MPI_\w+) +\d+ +(.\S*)", (tmp_path / "out").read_text())))  # the first of each: others are of times
    assert {name for name in ("MPI_Init", "MPI_Barrier", "MPI_Reduce") if rows.get(name) == "-"} == set(THROWN[thrown][1]), rows


BYSTANDER = """
#include <cstdio>
#include <mpi.h>
#include <stdexcept>
static void handler(MPI_Comm *, int *, ...) { throw std::runtime_error("failed"); }
int main(int argc, char **argv) { MPI_Errhandler made; int number = 1, caught = 0; MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(handler, &made); MPI_Comm_set_errhandler(MPI_COMM_WORLD, made);
    std::puts("begun"); std::fflush(stdout);
    while (getchar() == 'x') try { MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD); } catch (const std::exception &) { caught++; }
    std::printf("caught %d\\n", caught); MPI_Finalize(); return 0; }
"""


def test_a_process_that_is_not_traced_is_unharmed(programs, root, tmp_path, demand):
    """The kernel puts probes into a file, for all who use it."""
    demand(shutil.which("mpicxx.openmpi"), "needs mpicxx.openmpi")
    (tmp_path / "p.cc").write_text(BYSTANDER)
    subprocess.run(["mpicxx.openmpi", "-O1", "-o", tmp_path / "p", tmp_path / "p.cc"], check=True)
    environment = ENVIRONMENT | {"OMPI_MCA_btl": "self,vader", "OMPI_MCA_plm": "isolated"}
    with subprocess.Popen([tmp_path / "p"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as bystander:
        assert bystander.stdout.readline() == "begun\n"
        traced = run(programs / "jobmeter", "trace", "--set", "mpi", "--output", tmp_path / "out", "--",
                     "sh", "-c", f"printf xxxxx >/proc/{bystander.pid}/fd/0; sleep 1")
        assert bystander.communicate()[0] == "caught 5\n"
    assert traced.returncode == 0


SAFE = """
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) { char x; MPI_Init(&argc, &argv); MPI_Barrier(MPI_COMM_WORLD); puts("ready"); fflush(stdout);
    while (read(0, &x, 1) > 0) {} MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0; }
"""


@pytest.mark.parametrize("mpi", MPIS)
def test_programs_that_nobody_traces_keep_their_returns(programs, root, tmp_path, demand, mpi):
    """Where a program is safe to trace, its library's returns are probed; another's program throws through that library."""
    demand(shutil.which(f"mpicxx.{mpi}"), f"needs mpicxx.{mpi}")
    (tmp_path / "others.cc").write_text(BYSTANDER)
    (tmp_path / "safe.c").write_text(SAFE)
    subprocess.run([f"mpicxx.{mpi}", "-O1", "-o", tmp_path / "others", tmp_path / "others.cc"], check=True)
    subprocess.run([f"mpicc.{mpi}", "-O1", "-o", tmp_path / "safe", tmp_path / "safe.c"], check=True)
    environment = ENVIRONMENT | {"OMPI_MCA_btl": "self,vader", "OMPI_MCA_plm": "isolated"}
    with subprocess.Popen([programs / "jobmeter", "trace", "--set", "mpi", "--format", "ndjson", "--output", tmp_path / "out", "--",
                           tmp_path / "safe"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as traced:
        assert traced.stdout.readline() == "ready\n"
        others = [subprocess.run([tmp_path / "others"], text=True, capture_output=True, env=environment, input="xxxxx") for _ in range(3)]
        traced.communicate("")
    assert [(done.returncode, done.stdout) for done in others] == [(0, "begun\ncaught 5\n")] * 3, others[0].stderr
    calls = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert {call["tid"] for call in calls} == {calls[0]["tid"]}
    assert [call["duration_ns"] is not None for call in calls if call["probe"] == "mpi:MPI_Barrier"] == [True, True]


SHARES = WORK + """
#include <time.h>
#include <unistd.h>
int main(void) { for (int i = 0; i < 3; i++) if (!fork()) for (;;) { struct timespec t; work(i, NULL); clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
                                                                 if (t.tv_sec >= 2) _exit(0); }
                 sleep(1000); return 0; }
"""


def test_it_is_said_where_ranks_wait_for_cores(programs, root, tmp_path):
    """Ranks that spin for each other lose time slices then, which no cost of a probe accounts for."""
    (tmp_path / "shares.c").write_text(SHARES)
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "shares", tmp_path / "shares.c"], check=True)
    with subprocess.Popen(["taskset", "-c", str(min(os.sched_getaffinity(0))), programs / "jobmeter", "trace", "--budget", "0", "--probe",
                           f"{tmp_path}/shares:work(kind=wait)", "--output", "/dev/null", "--", tmp_path / "shares"], stderr=subprocess.PIPE,
                          text=True) as process:
        assert "wait for cores" in process.stderr.readline()
        process.terminate()
