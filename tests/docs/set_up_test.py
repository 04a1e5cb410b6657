"""Tests the set-up commands (cmake/first-run, cmake/check, cmake/install-packages) with stand-ins for the programs
they call, in a copy of their folder.

    /usr/bin/python3 tests/docs/set_up_test.py
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

CMAKE = pathlib.Path(__file__).resolve().parent.parent.parent / "cmake"
# What the commands may use of the real system.
TOOLS = ["sh", "sed", "tr", "dirname", "head", "getconf", "date", "rm", "cat", "mkdir", "env", "basename"]

JUNIT = """<testsuite name="x"
\ttests="{tests}"
\tfailures="{failures}"
\tdisabled="0"
\tskipped="{skipped}"
></testsuite>
"""


class SetUpTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve() / "a project"
        shutil.copytree(CMAKE, self.root / "cmake")
        (self.root / "cmake" / "packages.txt").write_text("# heading\none\n\ntwo  # why\nthree\n")
        (self.root / "scenarios").mkdir()
        (self.root / "scenarios" / "two-racks.yaml").write_text("scenario: x\n")
        self.bin = self.root / "stand-ins"
        self.bin.mkdir()
        self.log = self.root / "log"
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.stand_in("id", "echo 0")
        # dpkg-query -W -f=... PACKAGE: here `installed` lists what is there.
        (self.root / "installed").write_text("one\ntwo\nthree\n")
        self.stand_in("dpkg-query", f'''while read p; do [ "$p" = "$3" ] && {{ printf installed; exit 0; }}
done < '{self.root}/installed'; exit 1''')
        self.stand_in("apt-get", f"echo apt-get \"$@\" >> '{self.log}'")
        self.stand_in("cmake", f'''echo cmake "$@" >> '{self.log}'
case "$*" in *build/broken*|*"$BROKEN"*) [ -z "$BROKEN" ] || exit 1 ;; esac''')
        self.stand_in("ctest", f'''echo ctest "$@" >> '{self.log}'
while [ $# -gt 0 ]; do case $1 in
  --test-dir) mkdir -p "$2/Testing/Temporary"; [ -z "$FAILED_TESTS" ] || printf '%b\\n' "$FAILED_TESTS" > "$2/Testing/Temporary/LastTestsFailed.log" ;;
  --output-junit) cat '{self.root}/junit' > "$2" ;;
esac; shift; done
exit "${{CTEST_STATUS:-0}}"''')
        self.junit(10, 0, 0)

    def junit(self, tests, failures, skipped):
        (self.root / "junit").write_text(JUNIT.format(tests=tests, failures=failures, skipped=skipped))

    def stand_in(self, name, script):
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def run_command(self, *command, cwd=None, **environment):
        done = subprocess.run([str(self.root / "cmake" / command[0]), *command[1:]], cwd=cwd or self.root,
                              env={"PATH": str(self.bin), **environment}, capture_output=True, text=True)
        return done

    def calls(self):
        return self.log.read_text().splitlines() if self.log.exists() else []

    # --- packages

    def test_nothing_is_installed_when_nothing_is_missing(self):
        self.assertEqual(self.run_command("install-packages").returncode, 0)
        self.assertEqual(self.calls(), [])

    def test_only_what_is_missing_is_installed(self):
        (self.root / "installed").write_text("two\n")
        done = self.run_command("install-packages")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.calls()), 2)
        self.assertTrue(self.calls()[0].startswith("apt-get update"))
        self.assertTrue(self.calls()[1].startswith("apt-get install -y"))
        self.assertTrue(self.calls()[1].endswith(" one three"))

    def test_a_user_who_is_not_root_needs_sudo(self):
        (self.root / "installed").write_text("two\nthree\n")
        self.stand_in("id", "echo 1000")
        done = self.run_command("install-packages")
        self.assertEqual(done.returncode, 1)
        self.assertIn("error: packages are missing, and there is no sudo. As root: apt-get install one", done.stderr)
        self.stand_in("sudo", f"echo sudo >> '{self.log}'; exec \"$@\"")
        self.assertEqual(self.run_command("install-packages").returncode, 0)
        self.assertEqual([call.split()[0] for call in self.calls()], ["sudo", "apt-get", "sudo", "apt-get"])

    def test_a_system_without_apt_is_told_what_it_needs(self):
        (self.bin / "apt-get").unlink()
        for command in ["install-packages", "first-run", "check"]:
            done = self.run_command(command)
            self.assertEqual(done.returncode, 1)
            self.assertIn("error: this system has no apt-get", done.stderr)
            self.assertIn("one two three", done.stderr)
        self.assertEqual(self.calls(), [])

    def test_a_failing_installation_ends_the_command(self):
        (self.root / "installed").write_text("")
        self.stand_in("apt-get", "exit 100")
        for command in ["install-packages", "first-run", "check"]:
            self.assertEqual(self.run_command(command).returncode, 100)

    # --- first-run

    def built(self, script="echo ran \"$@\""):
        program = self.root / "build" / "release" / "bin" / "cnuas-sim"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return program

    def test_first_run_builds_the_program_and_runs_the_scenario(self):
        self.built()
        done = self.run_command("first-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.calls()[0], "cmake --preset release")
        self.assertIn("--target cnuas-sim", self.calls()[1])
        self.assertIn("ran run scenarios/two-racks.yaml\n", done.stdout)
        self.assertTrue(done.stdout.endswith("\nNext time:\n  build/release/bin/cnuas-sim run scenarios/two-racks.yaml\n"))

    def test_first_run_prints_a_command_that_works_from_where_it_was_started(self):
        program = self.built()
        (self.root / "docs").mkdir()
        (self.root / "docs" / "it's.yaml").write_text("scenario: y\n")
        done = self.run_command("first-run", "it's.yaml", cwd=self.root / "docs")
        self.assertEqual(done.returncode, 0, done.stderr)
        command = done.stdout.splitlines()[-1].strip()
        self.assertEqual(command, f"'{program}' run 'it'\\''s.yaml'")
        again = subprocess.run(["/bin/sh", "-c", command], cwd=self.root / "docs", capture_output=True, text=True)
        self.assertEqual(again.stdout, "ran run it's.yaml\n")

    def test_first_run_refuses_a_scenario_that_is_not_there_before_it_installs_anything(self):
        (self.root / "installed").write_text("")
        done = self.run_command("first-run", "none.yaml")
        self.assertEqual(done.returncode, 4)
        self.assertIn("error: there is no scenario 'none.yaml'", done.stderr)
        self.assertEqual(self.calls(), [])

    def test_first_run_passes_on_the_status(self):
        self.built("exit 3")
        done = self.run_command("first-run")
        self.assertEqual(done.returncode, 3)
        self.assertIn("Next time:", done.stdout)

    def test_first_run_stops_when_the_build_fails(self):
        self.built()
        done = self.run_command("first-run", BROKEN="--target")
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("Next time:", done.stdout)

    # --- check

    def test_check_adds_up_all_parts(self):
        self.junit(10, 0, 1)
        done = self.run_command("check", "-j", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], "27 passed, 0 failed")
        self.assertEqual([call.split()[:3] for call in self.calls()],
                         [["cmake", "--preset", "release"], ["cmake", "--build", "build/release"],
                          ["ctest", "--test-dir", "build/release"], ["cmake", "--preset", "asan"],
                          ["cmake", "--build", "build/asan"], ["ctest", "--test-dir", "build/asan"],
                          ["cmake", "--preset", "tsan"], ["cmake", "--build", "build/tsan"],
                          ["ctest", "--test-dir", "build/tsan"]])
        self.assertIn("--target threaded", self.calls()[7])
        self.assertIn("-L ^threads$", self.calls()[8])
        self.assertIn("-DCNUAS_WERROR=ON", self.calls()[0])
        self.assertIn("-j 3", self.calls()[1])
        self.assertIn("-j 3", self.calls()[2])

    def test_check_runs_the_part_asked_for(self):
        done = self.run_command("check", "asan")
        self.assertEqual(done.stdout.splitlines()[-1], "10 passed, 0 failed")
        self.assertEqual(len(self.calls()), 3)

    def test_a_failed_test_is_a_failure(self):
        self.junit(10, 2, 0)
        done = self.run_command("check", "release", CTEST_STATUS="8", FAILED_TESTS="1:a\n2:b")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1], "8 passed, 2 failed")

    def test_a_test_that_could_not_run_is_a_failure(self):
        self.junit(10, 0, 3)
        done = self.run_command("check", "release", CTEST_STATUS="8", FAILED_TESTS="4:c")
        self.assertEqual(done.returncode, 1)
        self.assertIn("7 passed, 1 failed, 2 skipped;", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "7 passed, 1 failed")

    def test_a_ctest_that_fails_without_a_reason_is_a_failure(self):
        done = self.run_command("check", "release", CTEST_STATUS="8")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1], "10 passed, 1 failed")

    def test_a_failed_build_is_a_failure_and_the_other_part_still_runs(self):
        done = self.run_command("check", "release", "asan", BROKEN="--build build/release")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1], "10 passed, 1 failed")

    def test_no_test_at_all_is_a_failure(self):
        self.junit(0, 0, 0)
        done = self.run_command("check", "release")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 0 failed")

    def test_usage(self):
        for command in ["check", "first-run"]:
            self.assertEqual(self.run_command(command, "--no-such-option").returncode, 2)
            done = self.run_command(command, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertTrue(done.stdout.startswith(f"usage: cmake/{command}"))
        self.assertEqual(self.calls(), [])


if __name__ == "__main__":
    unittest.main()
