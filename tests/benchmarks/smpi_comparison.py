#!/usr/bin/python3
"""Ring all_reduce of 1 GB (10^9 + 512 B) among 256 ranks: fluid fidelity against SimGrid's own MPI simulator, SMPI, in one run.

    tests/benchmarks/smpi_comparison.py BUILD_DIRECTORY [RANKS [SIZE_BYTES]]

Both simulate one star of 450 GB/s, 500 ns links with the same SimGrid settings. SMPI
replays a trace of the one call, which spares it the data. Needs smpirun, which the distribution ships with SimGrid. Prints one JSON document; exits with 1 when the two disagree on the simulated time by more
than 2 %.
"""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="rack" prefix="gpu" suffix="" radical="0-{last}" speed="1Tf" bw="450GBps" lat="500ns"
           sharing_policy="SPLITDUPLEX"/>
</platform>
"""

SETTINGS = [
    "network/model:CM02",
    "network/crosstraffic:0",
    "network/TCP-gamma:0",
    "surf/precision:1e-13",
    "smpi/allreduce:lr",
    "smpi/os:0:0:0",
    "smpi/or:0:0:0",
    "smpi/bw-factor:0:1",
    "smpi/lat-factor:0:1",
    "smpi/host-speed:1Tf",
]


def timed(command, **options):
    """What a command prints, and the processor seconds of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"error: {command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout + done.stderr, cpu


def run_smpi(ranks, size):
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "platform.xml").write_text(PLATFORM.format(last=ranks - 1))
        (directory / "hosts").write_text("".join(f"gpu{i}\n" for i in range(ranks)))
        for rank in range(ranks):
            (directory / f"trace{rank}").write_text(
                f"{rank} init\n{rank} allreduce {size} 0\n{rank} finalize\n")
        (directory / "traces").write_text("".join(f"trace{i}\n" for i in range(ranks)))
        command = ["smpirun", "-np", str(ranks), "-replay", "traces", "-platform", "platform.xml", "-hostfile", "hosts"]
        command += [f"--cfg={setting}" for setting in SETTINGS] + ["--log=smpi_replay.fmt:%m%n"]
        output, cpu = timed(command, cwd=directory, env={**os.environ, "LC_ALL": "C"}, timeout=300)
    found = re.search(r"Simulation time ([0-9.]+)", output)
    if not found:
        sys.exit(f"error: smpirun printed no time:\n{output}")
    return float(found.group(1)), cpu


def run_fluid(build, ranks, size):
    output, cpu = timed([str(build / "tests" / "fluid_benchmark"), str(ranks), str(size), "all_reduce", "ring"])
    run = json.loads(output)["runs"][0]
    return run["simulated_ps"] * 1e-12, cpu


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if not shutil.which("smpirun"):
        sys.exit("error: smpirun is missing; the package libsimgrid-dev brings it")
    build = pathlib.Path(sys.argv[1])
    ranks = int(sys.argv[2]) if len(sys.argv) > 2 else 256
    size = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000_512
    if size % (4 * ranks) != 0:
        sys.exit("error: SMPI's ring wants a size that is a whole number of floats for each rank")
    smpi_seconds, smpi_cpu = run_smpi(ranks, size)
    fluid_seconds, fluid_cpu = run_fluid(build, ranks, size)
    off = fluid_seconds / smpi_seconds - 1
    print(json.dumps({
        "schema": "cnuas.benchmark/1",
        "benchmark": "fluid against SMPI",
        "ranks": ranks,
        "size_bytes": size,
        "smpi": {"simulated_s": smpi_seconds, "cpu_s": smpi_cpu},
        "fluid": {"simulated_s": fluid_seconds, "cpu_s": fluid_cpu},
        "smpi_cpu_over_fluid_cpu": smpi_cpu / fluid_cpu,
        "simulated_time_off": off,
    }, indent=2))
    return 0 if abs(off) <= 0.02 else 1


if __name__ == "__main__":
    sys.exit(main())
