"""cnuaslink-cli and the switch daemon: what happens at the port sockets is seen in every command."""

import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest
from typing import Callable, Dict, List

from fake_switch import HANG, PROGRAMS, SOURCE, clean_environment, run_here

from cnuaslink_cli import answers

HEADER = struct.Struct(">2sBBHHI")
DATA, DOORBELL, REDUCE, DISCOVERY = 1, 2, 4, 6
ALL = 0xFFFF


def frame(kind: int, source: int, destination: int, payload: bytes = b"") -> bytes:
    return HEADER.pack(b"HL", 1, kind, source, destination, len(payload)) + payload


class Endpoint:
    """A GPU at a port."""

    def __init__(self, folder: str, port: int, gpu: int):
        self.gpu = gpu
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(HANG)
        self.socket.connect(os.path.join(folder, f"port_{port}.sock"))
        self.send(DISCOVERY, ALL)

    def send(self, kind: int, destination: int, payload: bytes = b"") -> None:
        self.socket.send(frame(kind, self.gpu, destination, payload))

    def receive(self) -> bytes:
        return self.socket.recv(65536)

    def close(self) -> None:
        self.socket.close()


class DaemonCase(unittest.TestCase):
    arguments: List[str] = []

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cnuas-cli-")
        self.addCleanup(folder.cleanup)
        self.top = folder.name
        self.folder = os.path.join(folder.name, "run")
        with open(os.path.join(folder.name, "log"), "wb") as log:
            self.daemon = subprocess.Popen(
                [str(PROGRAMS / "cnuasgpu-link-switchd"), "--run-dir", self.folder, *self.arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=clean_environment())
        self.addCleanup(self.end_daemon)
        self.cli("--wait", str(HANG), "version")

    def end_daemon(self) -> int:
        if self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
            try:
                self.daemon.wait(HANG)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
                self.daemon.wait()
        return self.daemon.returncode

    def connect(self, port: int, gpu: int) -> Endpoint:
        endpoint = Endpoint(self.folder, port, gpu)
        self.addCleanup(endpoint.close)
        return endpoint

    def cli(self, *arguments: str, status: int = 0):
        done = run_here("--run-dir", self.folder, "--timeout", str(HANG), *arguments)
        if done.status != status:
            with open(os.path.join(self.top, "log"), encoding="utf-8") as log:
                self.fail(f"{arguments}: exit status {done.status}\n{done.out}{done.err}{log.read()}")
        return done

    def json(self, *arguments: str, status: int = 0) -> dict:
        return json.loads(self.cli(*arguments, "--json", status=status).out)

    def until(self, holds: Callable[[], bool]) -> None:
        """Frames take their time."""
        limit = time.monotonic() + HANG
        while not holds():
            self.assertLess(time.monotonic(), limit, "it does not come to that")
            time.sleep(0.01)

    def port(self, number: int) -> dict:
        return self.json("port", "status", str(number))["ports"][0]

    def counters(self, number: int) -> dict:
        return self.json("telemetry", "show", str(number))["ports"][0]

    def findings(self, status: int) -> List[str]:
        return [f"{each['code']} {each.get('port', '-')}" for each in self.json("health", status=status)["findings"]]

    def known(self) -> Dict[str, int]:
        return {each["gpu"]["name"]: each["port"] for each in self.json("gpu-fdb", "show")["entries"]}


class JourneyTest(DaemonCase):
    """A daemon without configuration: rack 1, nobody expected."""

    def two_endpoints(self):
        first, second = self.connect(0, 0x0101), self.connect(1, 0x0102)
        self.until(lambda: self.known() == {"1/1": 0, "1/2": 1})
        return first, second

    def test_counters_move(self):
        self.assertEqual(self.port(0)["presence"], "not_expected")
        first, second = self.two_endpoints()
        self.assertEqual([self.port(0)[each] for each in ("state", "presence")], ["up", "present"])
        self.assertEqual(self.port(0)["gpu"], {"name": "1/1", "id": 257})
        self.assertEqual(self.port(0)["peer"]["pid"], os.getpid())
        self.assertEqual(self.json("health"), {"schema": "cnuaslink.health/1", "status": "ok", "findings": []})

        for size in (0, 100, 1000):
            first.send(DATA, 0x0102, bytes(size))
            self.assertEqual(second.receive()[12:], bytes(size))
        first.send(REDUCE, 0x0102, bytes(24))
        second.receive()
        second.send(DOORBELL, 0x0101, bytes(8))
        first.receive()
        first.send(DATA, 0x0103)  # nobody
        first.socket.send(b"nonsense")
        self.until(lambda: self.counters(0)["rx_drops"] == 2)

        counters = self.counters(0)
        sent = 3 * 12 + 1100 + 12 + 24 + 12 + 12 + 8  # DISCOVERY and what was dropped count too
        self.assertEqual((counters["rx_frames"], counters["rx_bytes"]), (7, sent))
        self.assertEqual((counters["tx_frames"], counters["tx_bytes"]), (1, 20))
        self.assertEqual(counters["rx_drops_by_reason"], {"no_route": {"DATA": 1}, "short_header": {"INVALID": 1}})
        self.assertEqual(counters["collective_reduce_count"], 1)
        self.assertEqual(counters["by_type"]["DATA"]["rx_frames"], 4)
        self.assertEqual(counters["by_type"]["DISCOVERY"]["consumed"], 1)
        self.assertEqual(self.counters(1)["by_type"]["DATA"]["tx_frames"], 3)
        self.assertEqual(self.counters(1)["latency_count"], 4)
        self.assertGreater(self.counters(1)["latency_us_p50"], 0)
        self.assertEqual(self.port(0)["counters"]["rx_frames"], 7)
        self.nothing_is_lost()
        self.assertEqual(self.findings(1), ["rx_drops 0", "rx_drops 0"])

        self.cli("telemetry", "clear")
        self.assertEqual(self.counters(0)["rx_frames"], 0)
        self.assertEqual(self.findings(0), [])

    def nothing_is_lost(self):
        ports = self.json("telemetry", "show")["ports"]
        for kind in answers.ByType.__fields__:
            of_type = [port["by_type"][kind] for port in ports]
            for each in of_type:
                self.assertEqual(each["rx_frames"], each["rx_dropped"] + each["consumed"] + each["forwarded"])
                self.assertEqual(each["offered"] + each["carried_over"],
                                 each["tx_frames"] + each["tx_dropped"] + each["queued"])
            self.assertEqual(sum(each["copies"] + each["own"] for each in of_type),
                             sum(each["offered"] for each in of_type))

    def test_a_port_that_is_taken_down_is_seen_everywhere(self):
        first, second = self.two_endpoints()
        self.assertEqual(self.json("peer", "1", "2")["transport"], "switch")
        self.assertEqual(self.json("topo")["matrix"], [["X", "SW"], ["SW", "X"]])

        self.assertEqual(self.json("port", "set", "1", "down")["status"]["state"], "admin_down")
        self.assertEqual([self.port(1)[each] for each in ("state", "link_up")], ["admin_down", True])
        self.assertEqual(self.known(), {"1/1": 0})
        self.assertEqual(self.json("peer", "1/1", "1/2", status=1)["transport"], "none")
        self.assertEqual(self.json("topo")["matrix"], [["X"]])
        self.assertEqual(self.findings(1), ["port_admin_down 1"])
        first.send(DATA, 0x0102, b"lost")
        self.until(lambda: self.counters(0)["rx_drops_by_reason"] == {"no_route": {"DATA": 1}})
        second.send(DATA, 0x0101, b"lost")
        self.until(lambda: self.counters(1)["rx_drops_by_reason"] == {"port_down": {"DATA": 1}})
        self.nothing_is_lost()

        self.assertEqual(self.json("port", "set", "1", "up")["status"]["state"], "up")
        second.send(DISCOVERY, ALL)
        self.until(lambda: self.known() == {"1/1": 0, "1/2": 1})
        first.send(DATA, 0x0102, b"there")
        self.assertEqual(second.receive()[12:], b"there")
        self.cli("telemetry", "clear")
        self.assertEqual(self.findings(0), [])

    def test_an_endpoint_that_goes_is_seen_everywhere(self):
        _, second = self.two_endpoints()
        second.close()
        self.until(lambda: self.port(1)["state"] == "down")
        self.assertEqual(self.port(1)["presence"], "not_expected")
        self.assertNotIn("peer", self.port(1))
        self.assertEqual(self.known(), {"1/1": 0})
        self.assertEqual(self.json("peer", "1/1", "1/2", status=1)["reason_code"], "unknown_gpu")

    def test_a_second_endpoint_is_counted(self):
        self.two_endpoints()
        late = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(late.close)
        late.connect(os.path.join(self.folder, "port_0.sock"))
        self.until(lambda: self.port(0)["refused_busy"] == 1)
        self.assertEqual(self.port(0)["connections"], 1)

    def test_groups(self):
        self.assertEqual(self.cli("group", "create", "--name", "allred-group", "--gpus", "0,1,2,3").out,
                         "group 1 'allred-group': 1/0, 1/1, 1/2, 1/3\n")
        self.json("group", "create", "--name", "far", "--gpus", "2/5,0x0301,1")
        groups = self.json("group", "show")["groups"]
        self.assertEqual([[each["name"] for each in group["members"]] for group in groups],
                         [["1/0", "1/1", "1/2", "1/3"], ["2/5", "3/1", "1/1"]])
        self.assertIn("(exists)", self.cli("group", "create", "--name", "far", "--gpus", "1", status=1).err)
        self.cli("group", "delete", "far")
        self.cli("group", "delete", "1")
        self.assertEqual(self.json("group", "show")["size"], 0)
        self.assertIn("(not_found)", self.cli("group", "delete", "1", status=1).err)

    def test_watch(self):
        first, second = self.two_endpoints()
        watch = subprocess.Popen([str(PROGRAMS / "cnuaslink-cli"), "--run-dir", self.folder, "telemetry", "watch", "0",
                                  "--interval", "0.1", "--json"], stdout=subprocess.PIPE, env=clean_environment(),
                                 text=True)
        self.addCleanup(watch.stdout.close)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        seen = 0.0
        while seen == 0.0:
            first.send(DATA, 0x0102, bytes(1000))
            second.receive()
            seen = json.loads(watch.stdout.readline())["ports"][0]["rx_bytes_per_s"]
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(HANG), 0)

    def test_the_end(self):
        self.assertEqual(self.end_daemon(), 0)
        self.assertIn("no switch runs here", self.cli("health", status=4).err)

    def stranger(self, *arguments: str) -> str:
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                               str(PROGRAMS / "cnuaslink-cli"), "--run-dir", self.folder, *arguments],
                              capture_output=True, env=clean_environment(), text=True, timeout=HANG, cwd="/")
        self.assertEqual(done.returncode, 4, done.stderr)
        return done.stderr

    @unittest.skipUnless(os.geteuid() == 0, "only root may become somebody else")
    def test_a_stranger(self):
        self.assertIn("may not open", self.stranger("health"))
        # Even one that the file system lets in.
        for path in [self.top, self.folder, os.path.join(self.folder, "mgmt.sock")]:
            os.chmod(path, 0o777)
        self.assertIn("(denied)", self.stranger("port", "set", "0", "down"))
        self.assertTrue(self.port(0)["admin_up"])


class ExpectationTest(DaemonCase):
    """A daemon whose configuration expects GPUs 1/0 to 1/7."""

    arguments = ["--config", str(SOURCE / "scenarios" / "one-rack.yaml"), "--rack", "1"]

    def test_absent_is_not_the_same_as_not_expected(self):
        self.assertEqual([self.port(0)[each] for each in ("state", "presence")], ["down", "absent"])
        self.assertEqual(self.json("health", status=1)["status"], "failed")
        self.assertEqual(self.json("peer", "1/0", "1/1", status=1)["reason_code"], "absent")
        self.assertEqual(self.json("peer", "1/9", "1/1", status=1)["reason_code"], "not_expected")
        self.assertEqual(len(self.json("topo")["matrix"]), 8)
        endpoints = []
        for port in range(8):
            endpoints.append(self.connect(port, 0x0100 + port))
            self.until(lambda port=port: self.port(port)["presence"] == "present")
            left = [f"gpu_absent {each}" for each in range(port + 1, 8)]
            self.assertEqual(self.findings(1 if left else 0), left)
        self.assertEqual(self.json("health")["status"], "ok")
        self.assertEqual(self.json("peer", "0", "7")["transport"], "switch")
        self.assertEqual({each["origin"] for each in self.json("gpu-fdb", "show")["entries"]}, {"configured"})

    def test_a_reload_that_is_refused_is_told(self):
        self.until(lambda: self.json("version")["reloads"] == 0)
        self.assertEqual(self.json("version")["config"], self.arguments[1])
        self.daemon.send_signal(signal.SIGHUP)
        self.until(lambda: self.json("version")["reloads"] == 1)


class OtherRackTest(DaemonCase):
    """Two racks, one of which dials the other."""

    def test_gpus_of_another_rack(self):
        other = os.path.join(self.top, "other")
        with open(os.path.join(self.top, "log-other"), "wb") as log:
            daemon = subprocess.Popen([str(PROGRAMS / "cnuasgpu-link-switchd"), "--run-dir", other, "--rack", "2",
                                       "--uplink", os.path.join(self.folder, "port_8.sock")],
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=clean_environment())
        self.addCleanup(daemon.wait, HANG)
        self.addCleanup(daemon.terminate)
        run_here("--run-dir", other, "--wait", str(HANG), "version")
        near, far = self.connect(0, 0x0101), Endpoint(other, 3, 0x0204)
        self.addCleanup(far.close)
        self.until(lambda: self.known() == {"1/1": 0, "2/4": 8})
        route = self.json("peer", "1/1", "2/4")
        self.assertEqual((route["transport"], route["b"]["place"]), ("switch", "remote"))
        self.assertEqual(self.json("topo")["matrix"], [["X", "IS"], ["IS", "X"]])
        near.send(DATA, 0x0204, b"far away")
        self.assertEqual(far.receive()[12:], b"far away")

        self.cli("port", "set", "8", "down")
        self.assertEqual(self.json("peer", "1/1", "2/4", status=1)["reason_code"], "uplink_down")
        self.assertEqual(self.known(), {"1/1": 0})


if __name__ == "__main__":
    unittest.main()
