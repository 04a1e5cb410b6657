"""A management socket that answers what a test wants, and runs of cnuaslink-cli against it.

The tests get CNUAS_SOURCE, the project's root, and CNUAS_BUILD, the build folder, from the environment.
"""

import contextlib
import copy
import io
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Callable, Dict, List, NamedTuple, Union

SOURCE = pathlib.Path(os.environ["CNUAS_SOURCE"])
BUILD = pathlib.Path(os.environ["CNUAS_BUILD"])
PROGRAMS = BUILD / "bin"
HANG = 60  # seconds that nothing takes

sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "live" / "cli"))

TYPES = ["DATA", "DOORBELL", "ATOMIC", "COLLECTIVE_REDUCE", "COLLECTIVE_GATHER", "DISCOVERY", "LINK_KEEPALIVE", "INVALID"]


def gpu(rack: int, slot: int) -> dict:
    return {"name": f"{rack}/{slot}", "id": rack * 256 + slot}


def totals(**changed) -> dict:
    return {"rx_frames": 0, "rx_bytes": 0, "tx_frames": 0, "tx_bytes": 0, "rx_drops": 0, "tx_drops": 0,
            "collective_reduce_count": 0, "collective_gather_count": 0, "latency_count": 0, **changed}


def port(number: int, **changed) -> dict:
    return {"port": number, "role": "gpu", "state": "down", "presence": "not_expected", "admin_up": True,
            "link_up": False, "stalled": False, "ingress_paused": False, "byte_order": "big", "queued_frames": 0,
            "queued_bytes": 0, "queue_bytes": 262144, "socket": f"/run/port_{number}.sock", "connections": 0,
            "refused_busy": 0, "refused_identity": 0, "counters": totals(), **changed}


def type_counters(**changed) -> dict:
    names = ["rx_frames", "rx_bytes", "rx_dropped", "consumed", "forwarded", "copies", "own", "carried_over", "offered",
             "tx_frames", "tx_bytes", "tx_dropped", "queued"]
    return {**dict.fromkeys(names, 0), **changed}


def port_telemetry(number: int, **changed) -> dict:
    return {"port": number, "role": "gpu", **totals(), "queued_frames": 0, "queued_bytes": 0,
            "by_type": {each: type_counters() for each in TYPES}, "rx_drops_by_reason": {}, "tx_drops_by_reason": {},
            **changed}


def version(**changed) -> dict:
    return {"program": "cnuasgpu-link-switchd", "version": "9.8.7", "api": 1, "frame_version": 1, "name": "rack1",
            "rack": 1, "ports": 9, "pid": 4242, "run_dir": "/run/here", "uptime_s": 61.5, "reloads": 0,
            "draining": False, "commands": ["version"], **changed}


UP = {"state": "up", "presence": "present", "link_up": True}

RESULTS: Dict[str, dict] = {
    "version": version(),
    "port_status": {"ports": [
        port(0, **UP, gpu=gpu(1, 1), expected=gpu(1, 1), connections=1,
             peer={"pid": 77, "uid": 1000, "gid": 1000, "connected_s": 3.5},
             counters=totals(rx_frames=12, rx_bytes=3000, rx_drops=2, latency_us_p50=40.5, latency_us_p99=80)),
        port(1, presence="absent", expected=gpu(1, 2)),
        port(2, state="admin_down", admin_up=False),
        port(3, **{**UP, "state": "stalled"}, gpu=gpu(1, 3), stalled=True)]},
    "set_link_state": {"changed": True, "status": port(1, state="admin_down", admin_up=False)},
    "gpu_fdb_dump": {"size": 3, "entries": [
        {"gpu": gpu(1, 1), "port": 0, "role": "gpu", "origin": "configured"},
        {"gpu": gpu(1, 3), "port": 3, "role": "gpu", "origin": "learned"},
        {"gpu": gpu(2, 1), "port": 8, "role": "inter_switch", "origin": "learned"}]},
    "group_create": {"group": {"id": 1, "name": "allred-group", "members": [gpu(1, 0), gpu(1, 1)]}},
    "group_dump": {"size": 1, "groups": [{"id": 1, "name": "allred-group", "members": [gpu(1, 0), gpu(1, 1)]}]},
    "group_delete": {"group": {"id": 1, "name": "allred-group", "members": [gpu(1, 0)]}},
    "telemetry_dump": {"counting_s": 12.0, "ports": [
        port_telemetry(0, rx_frames=12, rx_bytes=3000, rx_drops=2, latency_us_p50=40.5, latency_us_p99=80.0,
                       latency_count=3, rx_drops_by_reason={"no_route": {"DATA": 2}}),
        port_telemetry(1)]},
    "telemetry_clear": {},
    "peer_query": {"a": {"gpu": gpu(1, 1), "port": 0, "place": "local"},
                   "b": {"gpu": gpu(1, 3), "port": 3, "place": "local"}, "transport": "switch",
                   "reason": "frames pass this switch between port 0 and port 3"},
    "health": {"status": "ok", "findings": []},
}

Answer = Union[dict, bytes, None, Callable[[dict], Union[dict, bytes, None]]]


class FakeSwitch:
    """Answers requests by command. An answer is a result; bytes that are sent as they are; or None, which closes the
    connection. `refuse` makes the result an error."""

    def __init__(self, path: str):
        self.path = path
        self.answers: Dict[str, Answer] = copy.deepcopy(RESULTS)
        self.requests: List[dict] = []
        self.connections = 0
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(8)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def refuse(self, command: str, code: str, message: str) -> None:
        line = json.dumps({"ok": False, "error": {"code": code, "message": message}})
        self.answers[command] = line.encode() + b"\n"

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(HANG)

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with client, client.makefile("rb") as lines, contextlib.suppress(OSError):
                for line in lines:
                    if not self._answer(client, json.loads(line)):
                        break

    def _answer(self, client: socket.socket, request: dict) -> bool:
        self.requests.append({key: value for key, value in request.items() if key != "id"})
        answer = self.answers[request["command"]]
        if callable(answer):
            answer = answer(request)
        if answer is None:
            return False
        if isinstance(answer, dict):
            answer = json.dumps({"id": request["id"], "ok": True, "result": answer}).encode() + b"\n"
        client.sendall(answer)
        return True


class Done(NamedTuple):
    status: int
    out: str
    err: str


def run_program(*arguments: str, program: str = "cnuaslink-cli", **environment: str) -> Done:
    done = subprocess.run([str(PROGRAMS / program), *arguments], env={**clean_environment(), **environment},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG)
    return Done(done.returncode, done.stdout, done.stderr)


def clean_environment() -> dict:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CNUASLINK_", "_CNUASLINK_"))}
    return {**kept, "TERM": "dumb", "COLUMNS": "200"}


class _Stream(io.StringIO):
    def reconfigure(self, **_) -> None:
        pass


def run_here(*arguments: str, program: str = "cnuaslink-cli") -> Done:
    """The same without a process of its own, which takes most of the time."""
    from cnuaslink_cli.app import run  # the path is set above
    out, err = _Stream(), _Stream()
    before = sys.argv
    sys.argv = [f"/somewhere/{program}", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run("1.2.3")
    finally:
        sys.argv = before
    return Done(status, out.getvalue(), err.getvalue())


class SwitchCase(unittest.TestCase):
    """A test with a fake switch in a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cnuas-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "mgmt.sock")
        self.switch = FakeSwitch(self.path)
        self.addCleanup(self.switch.close)

    def cli(self, *arguments: str, status: int = 0) -> Done:
        done = run_here("--run-dir", self.folder, *arguments)
        self.assertEqual(done.status, status, f"{arguments}\n{done.out}{done.err}")
        return done

    def json(self, *arguments: str, status: int = 0) -> dict:
        return json.loads(self.cli(*arguments, "--json", status=status).out)

    def rows(self, *arguments: str, status: int = 0) -> List[List[str]]:
        return [line.split() for line in self.cli(*arguments, status=status).out.splitlines()]
