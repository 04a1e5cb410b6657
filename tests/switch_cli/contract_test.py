"""Switches that are not there, or that break the contract; and the contract's text against the models."""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

from fake_switch import (BUILD, PROGRAMS, RESULTS, SOURCE, FakeSwitch, SwitchCase, clean_environment, port, run_here,
                         run_program)

from cnuaslink_cli import answers, session


class UnreachableTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cnuas-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "mgmt.sock")

    def error(self, *arguments: str) -> str:
        done = run_here(*arguments)
        self.assertEqual((done.status, done.out), (4, ""), done.err)
        return done.err

    def listener(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(listener.close)
        listener.bind(self.path)
        return listener

    def test_nobody_is_there(self):
        self.assertEqual(self.error("--run-dir", self.folder, "health"),
                         f"error: no switch runs here: {self.path} does not exist\nhelp: name its directory with --run-dir\n")

    def test_nobody_is_there_any_more(self):
        self.listener()
        self.assertIn("nobody listens", self.error("--socket", self.path, "health"))

    def test_what_is_there_is_no_socket(self):
        with open(self.path, "w", encoding="utf-8"):
            pass
        self.assertIn("error: ", self.error("--socket", self.path, "health"))

    def test_impossible_paths(self):
        self.assertIn("at most 107 bytes", self.error("--socket", "/" + "x" * 107, "health"))
        self.assertIn("error: ", self.error("--socket", "a\0b", "health"))

    def test_a_switch_that_stays_silent(self):
        self.listener().listen(1)
        self.assertIn("does not answer within 0.2 s", self.error("--socket", self.path, "--timeout", "0.2", "health"))

    def test_a_switch_that_does_not_accept(self):
        listener = self.listener()
        listener.listen(0)
        waiting = []
        try:
            while True:
                waiting.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                waiting[-1].setblocking(False)
                waiting[-1].connect(self.path)
        except BlockingIOError:
            pass
        self.assertIn("error: ", self.error("--socket", self.path, "--timeout", "0.2", "health"))
        for each in waiting:
            each.close()

    def test_a_switch_may_be_waited_for(self):
        self.assertIn("no switch runs here", self.error("--socket", self.path, "--wait", "0.1", "health"))
        came = []
        timer = threading.Timer(0.3, lambda: came.append(FakeSwitch(self.path)))
        timer.start()
        done = run_here("--socket", self.path, "health", "--wait", "60")
        timer.join()
        came[0].close()
        self.assertEqual(done.status, 0, done.err)

    def test_timeouts_have_bounds(self):
        for timeout in ["0", "-1", "nan", "inf", "1e9", "x"]:
            self.assertEqual(run_here("--socket", self.path, "--timeout", timeout, "health").status, 2)
        for wait in ["-1", "nan", "1e9"]:
            self.assertEqual(run_here("--socket", self.path, "--wait", wait, "health").status, 2)


class BrokenContractTest(SwitchCase):
    def error(self, status: int) -> str:
        return self.cli("health", status=status).err

    def test_not_let_in(self):
        for code in ["busy", "denied"]:
            self.switch.refuse("health", code, "not now")
            self.assertEqual(self.error(4), f"error: not now ({code})\n")

    def test_no_answer(self):
        self.switch.answers["health"] = None
        self.assertIn("closed the connection without an answer", self.error(4))

    def test_answers_that_are_none(self):
        for answer in [b"\n", b"x\n", b"[]\n", b"{}\n", b'{"ok":1}\n', b'{"ok":true}\n', b'{"ok":true,"id":1}\n',
                       b'{"ok":true,"id":2,"result":{"status":"ok","findings":[]}}\n', b'{"ok":true,"id":1,"result":[]}\n',
                       b'{"ok":false}\n', b'{"ok":false,"error":{}}\n', b"[" * 100000 + b"\n", b"\xff\xfe\n",
                       b"x" * (3 << 20)]:
            self.switch.answers["health"] = answer
            err = self.error(70)
            self.assertIn("error: the answer ", err)
            self.assertNotIn("Traceback", err)

    def test_a_field_that_breaks_the_contract_is_named(self):
        def result(**changed):
            return {"ports": [port(0), port(1, **changed)]}

        for changed in [{"state": "sideways"}, {"port": "1"}, {"port": -1}, {"admin_up": 1}, {"queued_bytes": 1.5},
                        {"counters": {}}, {"gpu": {"name": "1/1"}}, {"gpu": {"name": "0/0", "id": 0}}, {"role": None},
                        {"socket": 7}, {"peer": {"pid": 1}}]:
            self.switch.answers["port_status"] = result(**changed)
            name = next(iter(changed))
            self.assertIn(f"error: the answer to port_status is not as agreed: ports.1.{name}",
                          self.cli("port", "status", status=70).err)

    def test_fields_that_are_not_known_are_passed_over(self):
        self.switch.answers["port_status"] = {"ports": [port(0, colour="red")], "colour": "red"}
        self.cli("port", "status")
        self.assertEqual(self.json("port", "status")["ports"][0]["colour"], "red")


class DocumentTest(unittest.TestCase):
    """Each field that docs/management.md lists is one of the model's, and the other way round."""

    TABLES = {"port_status": answers.Port, "gpu_fdb_dump": answers.FdbPage, "Groups": answers.Group,
              "peer_query": answers.PeerRoute, "health": answers.Finding, "version": answers.Version,
              "telemetry_dump": answers.PortTelemetry}

    def test_fields(self):
        text = (SOURCE / "docs" / "management.md").read_text(encoding="utf-8")
        sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
        for name, model in self.TABLES.items():
            table = next(each for each in re.split(r"\n\n", sections[name]) if each.lstrip().startswith("|"))
            documented = {field for line in table.split("\n")[2:] for field in re.findall(r"`(\w+)`", line.split("|")[1])}
            self.assertEqual(documented, set(model.__fields__), name)

    def test_counters_of_a_type(self):
        text = (SOURCE / "docs" / "management.md").read_text(encoding="utf-8")
        listed = re.search(r"Each has the integers (.*?)\. \[", text, re.DOTALL)[1]
        self.assertEqual(re.findall(r"`(\w+)`", listed), list(answers.TypeCounters.__fields__))
        types = re.search(r"`by_type` always has (.*?) for messages", text, re.DOTALL)[1]
        self.assertEqual(re.findall(r"`(\w+)`", types), list(answers.ByType.__fields__))


class OptionsTest(SwitchCase):
    def test_options_stand_anywhere(self):
        expected = {"schema": "cnuaslink.health/1", **RESULTS["health"]}
        for arguments in [["--socket", self.path, "--json", "health"], ["health", "--json", "--socket", self.path],
                          ["--json", "health", "--run-dir", self.folder],
                          ["--run-dir", "/nowhere", "health", "--socket", self.path, "--json", "--timeout", "9"],
                          ["--socket", "/nowhere", "health", "--run-dir", self.folder, "--json"]]:
            done = run_here(*arguments)
            self.assertEqual(done.status, 0, done.err)
            self.assertEqual(json.loads(done.out), expected)

    def test_two_names_for_one_switch_are_one_too_many(self):
        self.assertEqual(run_here("--socket", self.path, "--run-dir", self.folder, "health").status, 2)

    def test_the_environment_names_a_switch_until_an_option_does(self):
        self.assertEqual(run_program("health", CNUASLINK_RUN_DIR=self.folder).status, 0)
        self.assertEqual(run_program("--socket", "/nowhere", "health", CNUASLINK_RUN_DIR=self.folder).status, 4)
        self.assertEqual(run_program("--run-dir", self.folder, "health", CNUASLINK_RUN_DIR="/nowhere").status, 0)

    def test_the_default_follows_the_name(self):
        before = sys.argv
        try:
            for name, folder in [("cnuaslink-cli", "cnuaslink"), ("hilink-cli", "hilink")]:
                sys.argv = [f"/usr/bin/{name}"]
                self.assertEqual(session.Options().path(), f"/var/run/{folder}/mgmt.sock")
        finally:
            sys.argv = before


class ProgramTest(SwitchCase):
    """The programs as they are installed."""

    def test_both_names_work(self):
        for name in ["cnuaslink-cli", "hilink-cli"]:
            self.assertEqual((PROGRAMS / name).read_text().split("\n")[0], "#!/usr/bin/python3")
            done = run_program("--run-dir", self.folder, "port", "status", program=name)
            self.assertEqual((done.status, done.err), (0, ""))
            self.assertIn("1/1", done.out)
        project = re.search(r"project\(CnuasLink VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        self.assertEqual(run_program("--version").out, f"cnuaslink-cli {project}\n")

    def test_an_installation_may_stand_anywhere(self):
        place = os.path.join(self.folder, "installed")
        script = BUILD / "live" / "cli" / "cmake_install.cmake"
        subprocess.run(["cmake", f"-DCMAKE_INSTALL_PREFIX={place}", "-P", str(script)], check=True, capture_output=True,
                       env={**clean_environment(), "DESTDIR": ""}, timeout=60)
        moved = os.path.join(self.folder, "moved")
        os.rename(place, moved)
        for name in ["cnuaslink-cli", "hilink-cli"]:
            done = subprocess.run([os.path.join(moved, "bin", name), "--run-dir", self.folder, "port", "status"],
                                  capture_output=True, env=clean_environment(), text=True, timeout=60, cwd="/")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("1/1", done.stdout)

    def test_nothing_is_cut_off_in_a_pipe(self):
        self.switch.answers["group_dump"] = {"size": 1, "groups": [
            {"id": 1, "name": "n" * 64, "members": [{"name": f"1/{each}", "id": 256 + each} for each in range(50)]}]}
        out = run_program("--run-dir", self.folder, "group", "show", COLUMNS="40").out
        self.assertEqual(len(out.splitlines()), 2)
        self.assertIn("1/49", out)

    def test_no_colours_in_a_pipe_or_when_unwanted(self):
        for environment in [{}, {"NO_COLOR": "1", "FORCE_COLOR": "1", "TERM": "xterm-256color"}]:
            self.assertNotIn("\x1b[3", run_program("--run-dir", self.folder, "port", "status", **environment).out)

    def test_a_reader_that_has_had_enough(self):
        done = subprocess.run(["sh", "-c", f"'{PROGRAMS}/cnuaslink-cli' --run-dir '{self.folder}' port status | true"],
                              env=clean_environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stderr, "")

    def test_a_full_disk_is_said(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([str(PROGRAMS / "cnuaslink-cli"), "--run-dir", self.folder, "health"], stdout=full,
                                  stderr=subprocess.PIPE, env=clean_environment(), text=True, timeout=60)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stderr, "error: cannot write: No space left on device\n")

    def test_completion(self):
        done = run_program(_CNUASLINK_CLI_COMPLETE="complete_bash", COMP_WORDS="cnuaslink-cli po", COMP_CWORD="1")
        self.assertEqual(done.out.split(), ["port"])
        done = run_program(_CNUASLINK_CLI_COMPLETE="complete_bash", COMP_WORDS="cnuaslink-cli port set 1 ", COMP_CWORD="4")
        self.assertEqual(done.out.split(), ["up", "down"])
        self.assertIn("complete", run_program("--show-completion", "bash").out)

    def test_help_of_every_command(self):
        pages = {("--help",), ("port", "--help"), ("port", "status", "-h"), ("telemetry", "watch", "--help"),
                 ("group", "create", "--help"), ("topo", "--help")}
        for arguments in pages:
            done = run_program(*arguments)
            self.assertEqual(done.status, 0)
            self.assertIn("Usage: cnuaslink-cli", done.out)
            self.assertEqual("--json" in done.out, arguments != ("port", "--help"))


if __name__ == "__main__":
    unittest.main()
