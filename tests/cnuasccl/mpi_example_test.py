"""Compiles the MPI example and runs it over a switch.

    /usr/bin/python3 tests/cnuasccl/mpi_example_test.py ROOT LIBRARIES DAEMON

LIBRARIES is the folder with libcnuasccl.so and libcnuasccl_link.so. Exit status 77: there is no MPI here.
"""

import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

RANKS = 3
GUARD_S = 120


def compile_example(root: pathlib.Path, libraries: str, program: pathlib.Path) -> None:
    source = root / "docs" / "examples" / "mpi_all_reduce.c"
    subprocess.run(["mpicc", "-std=c11", "-Wall", "-Wextra", "-Werror", str(source), f"-I{root}/live/ccl",
                    f"-I{root}/live/ccl/socket", f"-L{libraries}", "-lcnuasccl_link", "-lcnuasccl",
                    f"-Wl,-rpath,{libraries}", "-o", str(program)], check=True, timeout=GUARD_S)


def wait_for(run_dir: pathlib.Path) -> None:
    deadline = time.monotonic() + GUARD_S
    while True:
        with socket.socket(socket.AF_UNIX) as client:
            try:
                return client.connect(str(run_dir / "mgmt.sock"))
            except OSError:
                if time.monotonic() > deadline:
                    raise
        time.sleep(0.05)


def main() -> int:
    root, libraries, daemon = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    if not shutil.which("mpicc") or not shutil.which("mpirun"):
        print("skipped: there is no mpicc or mpirun")
        return 77
    with tempfile.TemporaryDirectory(prefix="cnuas-mpi-") as folder:
        program, run_dir = pathlib.Path(folder) / "example", pathlib.Path(folder) / "run"
        compile_example(root, libraries, program)
        with subprocess.Popen([daemon, "--run-dir", str(run_dir)]) as switch:
            try:
                wait_for(run_dir)
                # Started here and nowhere else, so no remote shell is looked for.
                done = subprocess.run(["mpirun", "--mca", "plm", "isolated", "--allow-run-as-root", "--oversubscribe",
                                       "-n", str(RANKS), str(program), str(run_dir)],
                                      capture_output=True, text=True, timeout=GUARD_S)
            finally:
                switch.send_signal(signal.SIGTERM)
        print(done.stdout, done.stderr, sep="")
        right = [f"rank {rank} of {RANKS}: 0 of 1000000 sums are wrong" for rank in range(RANKS)]
        return 0 if done.returncode == 0 and sorted(done.stdout.splitlines()) == right else 1


if __name__ == "__main__":
    sys.exit(main())
