"""What each command asks the switch for, and what it prints."""

import json
import unittest

from fake_switch import RESULTS, SwitchCase, gpu, port, port_telemetry, run_here, version


class PortTest(SwitchCase):
    def test_status_of_all_ports(self):
        rows = self.rows("port", "status")
        self.assertEqual(rows[0][:5], ["PORT", "ROLE", "STATE", "PRESENCE", "GPU"])
        self.assertEqual(rows[1], "0 gpu up present 1/1 12 0 2 0 B 77".split())
        self.assertEqual(rows[2], "1 gpu down absent 1/2 0 0 0 0 B -".split())
        self.assertEqual(rows[3][:5], "2 gpu admin_down not_expected -".split())
        self.assertEqual(rows[4][:5], "3 gpu stalled present 1/3".split())
        self.assertEqual(len(rows), 5)
        self.assertEqual(self.switch.requests, [{"command": "port_status"}])

    def test_status_of_one_port(self):
        self.switch.answers["port_status"] = {"ports": [RESULTS["port_status"]["ports"][0]]}
        out = self.cli("port", "status", "0").out
        for part in ["state", "up", "1/1 (0x0101)", "process 77 of user 1000, group 1000, for 3.5 s",
                     "/run/port_0.sock", "12 frames, 2.9 KiB, 2 dropped", "p50 40.5 us, p99 80.0 us"]:
            self.assertIn(part, out)
        self.assertNotIn("dials", out)
        self.assertEqual(self.switch.requests, [{"command": "port_status", "port": 0}])

    def test_status_as_json_is_what_the_switch_said(self):
        self.assertEqual(self.json("port", "status"), {"schema": "cnuaslink.port_status/1", **RESULTS["port_status"]})

    def test_set(self):
        out = self.cli("port", "set", "1", "down").out
        self.assertEqual(out, "port 1 is taken down; its state: admin_down\n")
        self.assertEqual(self.switch.requests, [{"command": "set_link_state", "port": 1, "state": "down"}])
        self.switch.answers["set_link_state"] = {"changed": False, "status": port(1)}
        self.assertIn("port 1 was not taken down; its state: down", self.cli("port", "set", "1", "up").out)
        self.assertEqual(self.json("port", "set", "1", "up")["changed"], False)

    def test_wrong_usage_asks_nothing(self):
        for arguments in [["port"], ["port", "status", "x"], ["port", "status", "-1"], ["port", "set", "1"],
                          ["port", "set", "1", "sideways"], ["port", "status", "0", "1"], ["port", "status", "--no"]]:
            done = self.cli(*arguments, status=0 if arguments == ["port"] else 2)
            self.assertNotEqual(done.out + done.err, "")
        self.assertEqual(self.switch.connections, 0)

    def test_what_the_switch_refuses(self):
        self.switch.refuse("port_status", "out_of_range", "the ports are 0 to 8")
        done = self.cli("port", "status", "9", status=1)
        self.assertEqual((done.out, done.err), ("", "error: the ports are 0 to 8 (out_of_range)\n"))


class FdbTest(SwitchCase):
    def test_show(self):
        rows = self.rows("gpu-fdb", "show")
        self.assertEqual(rows[1:], ["1/1 0x0101 0 gpu configured".split(), "1/3 0x0103 3 gpu learned".split(),
                                    "2/1 0x0201 8 inter_switch learned".split()])

    def test_empty(self):
        self.switch.answers["gpu_fdb_dump"] = {"size": 0, "entries": []}
        self.assertEqual(self.cli("gpu-fdb", "show").out, "no GPU is known\n")
        self.assertEqual(self.json("gpu-fdb", "show"), {"schema": "cnuaslink.gpu_fdb/1", "size": 0, "entries": []})

    def test_pages_are_put_together(self):
        def page(request):
            after = request.get("after", 0)
            entries = [{"gpu": {"name": f"{each >> 8}/{each & 255}", "id": each}, "port": 8, "role": "inter_switch",
                        "origin": "learned"} for each in range(after + 1, min(after + 401, 1001))]
            following = {} if after + 400 >= 1000 else {"next": entries[-1]["gpu"]}
            return {"size": 1000, "entries": entries, **following}

        self.switch.answers["gpu_fdb_dump"] = page
        result = self.json("gpu-fdb", "show")
        self.assertEqual([each["gpu"]["id"] for each in result["entries"]], list(range(1, 1001)))
        self.assertEqual(result["size"], 1000)
        self.assertEqual([each.get("after") for each in self.switch.requests], [None, 400, 800])
        self.assertEqual(self.switch.connections, 1)

    def test_pages_that_do_not_go_on_end(self):
        self.switch.answers["gpu_fdb_dump"] = {**RESULTS["gpu_fdb_dump"], "next": gpu(1, 1)}
        self.assertIn("goes on where it was before", self.cli("gpu-fdb", "show", status=70).err)


class GroupTest(SwitchCase):
    def created(self, gpus: str) -> list:
        self.cli("group", "create", "--name", "allred-group", "--gpus", gpus)
        request = self.switch.requests[-1]
        self.assertEqual((request["command"], request["name"]), ("group_create", "allred-group"))
        return request["gpus"]

    def test_slots_are_of_the_switchs_rack(self):
        self.assertEqual(self.created("0,1,2,3"), [0x0100, 0x0101, 0x0102, 0x0103])
        self.switch.answers["version"] = version(rack=7)
        self.assertEqual(self.created("0, 255"), [0x0700, 0x07FF])

    def test_ids_are_of_any_rack(self):
        self.switch.answers["version"] = None  # nobody asks
        self.assertEqual(self.created("1/3,0x0103,0X00fF,255/254,0x1"), [0x0103, 0x0103, 0x00FF, 0xFFFE, 0x0001])

    def test_a_switch_of_no_rack_has_no_slots(self):
        spine = version()
        del spine["rack"]
        self.switch.answers["version"] = spine
        done = self.cli("group", "create", "--name", "x", "--gpus", "0,1", status=2)
        self.assertEqual(done.err, "error: '0' names no GPU: this switch belongs to no rack\n"
                                   "help: write rack/slot as in 1/3\n")
        self.assertEqual([each["command"] for each in self.switch.requests], ["version"])

    def test_what_is_no_gpu(self):
        for gpus in ["", "0,", "a", "1/", "/1", "1/2/3", "-1", "1.5", "256/0", "0/256", "0/0", "0x0", "0xFFFF", "255/255",
                     "0x12345", "0x", "1 2", "٣"]:
            done = self.cli("group", "create", "--name", "x", "--gpus", gpus, status=2)
            self.assertIn("error: ", done.err)
        self.assertIn("256", self.cli("group", "create", "--name", "x", "--gpus", "256", status=2).err)
        self.assertNotIn("group_create", [each["command"] for each in self.switch.requests])

    def test_show_and_delete(self):
        self.assertEqual(self.rows("group", "show")[1], "1 allred-group 2 1/0, 1/1".split())
        self.assertEqual(self.cli("group", "delete", "allred-group").out, "group 1 'allred-group' is deleted\n")
        self.cli("group", "delete", "17")
        self.cli("group", "delete", "1/3")
        self.assertEqual([each["group"] for each in self.switch.requests if each["command"] == "group_delete"],
                         ["allred-group", 17, "1/3"])
        self.switch.answers["group_dump"] = {"size": 0, "groups": []}
        self.assertEqual(self.cli("group", "show").out, "there are no groups\n")
        self.switch.refuse("group_delete", "not_found", "there is no group of this name")
        self.assertEqual(self.cli("group", "delete", "x", status=1).err,
                         "error: there is no group of this name (not_found)\n")

    def test_all_groups_are_shown(self):
        def page(request):
            number = request.get("after", 0) + 1
            group = {"id": number, "name": f"g{number}", "members": [gpu(1, 1)]}
            return {"size": 3, "groups": [group], **({"next": number} if number < 3 else {})}

        self.switch.answers["group_dump"] = page
        self.assertEqual([each["name"] for each in self.json("group", "show")["groups"]], ["g1", "g2", "g3"])

    def test_names_do_not_reach_the_terminal_raw(self):
        name = "[red]x[/red]\x1b[31m\u202e"
        self.switch.answers["group_dump"] = {"size": 1, "groups": [{"id": 1, "name": name, "members": [gpu(1, 1)]}]}
        out = self.cli("group", "show").out
        self.assertIn("[red]x[/red]\ufffd[31m\ufffd", out)
        self.assertEqual(self.json("group", "show")["groups"][0]["name"], name)


class TelemetryTest(SwitchCase):
    def test_show(self):
        rows = self.rows("telemetry", "show")
        self.assertEqual(rows[1], "0 12 0 2.9 KiB 0 B 2 0 0 0 40.5 80.0".split())
        self.assertEqual(rows[2][-2:], ["-", "-"])  # not zero
        self.assertIn("0 rx no_route DATA 2".split(), rows)
        self.assertEqual(rows[-1], "counting for 12.0 s".split())

    def test_show_types(self):
        telemetry = port_telemetry(0)
        telemetry["by_type"]["DOORBELL"]["offered"] = 3
        self.switch.answers["telemetry_dump"] = {"counting_s": 90061, "ports": [telemetry]}
        rows = self.rows("telemetry", "show", "0", "--types")
        self.assertIn(["PORT", "COUNTER", "DOORBELL"], rows)  # nothing but zeros in the others
        self.assertIn(["0", "offered", "3"], rows)
        self.assertNotIn("consumed", [row[1] for row in rows if len(row) > 1])
        self.assertEqual(rows[-1], "counting for 1 d 1 h".split())
        self.assertEqual(self.switch.requests[-1], {"command": "telemetry_dump", "port": 0})

    def test_clear(self):
        self.assertEqual(self.cli("telemetry", "clear").out, "the counters are cleared\n")
        self.assertEqual(self.json("telemetry", "clear"), {"schema": "cnuaslink.telemetry_clear/1"})

    def counting(self, *frames, counting=None):
        """Answers of telemetry_dump with these rx_frames, one after the other."""
        left = list(enumerate(frames))

        def answer(_):
            number, count = left.pop(0)
            seconds = counting[number] if counting else number
            return {"counting_s": float(seconds), "ports": [port_telemetry(0, rx_frames=count, rx_bytes=100 * count)]}

        self.switch.answers["telemetry_dump"] = answer

    def test_watch_prints_rates(self):
        self.counting(100, 200, 200)
        out = self.cli("telemetry", "watch", "--interval", "0.1", "--count", "2", "--json").out
        first, second = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(first["schema"], "cnuaslink.telemetry_rates/1")
        rate = first["ports"][0]["rx_frames_per_s"]
        self.assertGreater(rate, 0)
        self.assertLessEqual(rate, 1000)  # a tenth of a second at least
        self.assertAlmostEqual(first["ports"][0]["rx_bytes_per_s"], 100 * rate)
        self.assertEqual(second["ports"][0]["rx_frames_per_s"], 0)
        self.assertNotIn("latency_us_p50", second["ports"][0])

    def test_watch_survives_that_the_counters_are_cleared(self):
        self.counting(1000, 30, counting=[500, 2])
        done = self.json("telemetry", "watch", "0", "--interval", "0.1", "--count", "1")
        self.assertEqual(done["ports"][0]["rx_frames_per_s"], 15)

    def test_watch_as_tables(self):
        self.counting(0, 0, 0)
        rows = self.rows("telemetry", "watch", "--interval", "0.1", "--count", "2")
        self.assertEqual(len([row for row in rows if row[:1] == ["PORT"]]), 2)

    def test_watch_has_bounds(self):
        for arguments in [["--interval", "0"], ["--interval", "nan"], ["--interval", "1e9"], ["--count", "-1"]]:
            self.cli("telemetry", "watch", *arguments, status=2)


class PeerTest(SwitchCase):
    def test_peer(self):
        out = self.cli("peer", "1", "0x0103").out
        self.assertIn("switch", out)
        self.assertIn("frames pass this switch between port 0 and port 3", out)
        self.assertEqual(self.switch.requests[-1], {"command": "peer_query", "a": 257, "b": 259})

    def test_no_way_is_exit_status_1(self):
        self.switch.answers["peer_query"] = {"a": {"gpu": gpu(1, 1)}, "b": {"gpu": gpu(1, 2)}, "transport": "none",
                                             "reason": "GPU 1/1 is not there", "reason_code": "absent"}
        self.assertIn("GPU 1/1 is not there", self.cli("peer", "1/1", "1/2", status=1).out)
        self.assertEqual(self.json("peer", "1/1", "1/2", status=1)["reason_code"], "absent")

    def test_a_shared_memory_path_is_shown(self):
        self.switch.answers["peer_query"] = {**RESULTS["peer_query"], "transport": "ivshmem",
                                             "ivshmem_socket": "/run/ivshmem.sock", "region_bytes": 1 << 26}
        out = self.cli("peer", "1/1", "1/3").out
        self.assertIn("/run/ivshmem.sock", out)
        self.assertIn("64.0 MiB", out)

    def test_topo(self):
        rows = self.rows("topo")
        self.assertEqual(rows[0], "GPU1/1 GPU1/2 GPU1/3 GPU2/1 PORT STATE".split())
        self.assertEqual(rows[1], "GPU1/1 X N/A SW IS 0 up".split())
        self.assertEqual(rows[2], "GPU1/2 N/A X N/A N/A 1 down".split())
        self.assertEqual(rows[3], "GPU1/3 SW N/A X IS 3 stalled".split())
        self.assertEqual(rows[4], "GPU2/1 IS N/A IS X 8 up".split())
        self.assertIn("Legend:", self.cli("topo").out)
        result = self.json("topo")
        self.assertEqual(result["matrix"][0], ["X", "N/A", "SW", "IS"])
        self.assertEqual(result["gpus"][1], {"gpu": gpu(1, 2), "port": 1, "place": "local", "state": "down",
                                             "reached": False})
        self.assertEqual(set(result["legend"]), {"X", "SW", "IS", "N/A"})

    def test_topo_of_nothing_and_of_much(self):
        self.switch.answers["port_status"] = {"ports": [port(0)]}
        self.switch.answers["gpu_fdb_dump"] = {"size": 0, "entries": []}
        self.assertEqual(self.cli("topo").out, "no GPU is known or expected\n")
        self.switch.answers["gpu_fdb_dump"] = {"size": 200, "entries": [
            {"gpu": gpu(2, each), "port": 8, "role": "inter_switch", "origin": "learned"} for each in range(200)]}
        self.assertIn("136 more GPUs are known", self.cli("topo").out)
        result = self.json("topo")
        self.assertEqual((result["size"], len(result["matrix"]), len(result["matrix"][0])), (200, 64, 64))
        self.assertEqual(result["matrix"][0][1], "N/A")  # both behind one link


class HealthTest(SwitchCase):
    def test_well(self):
        self.assertEqual(self.rows("health"), [["health", "ok"]])

    def test_not_well(self):
        findings = [{"severity": "warning", "code": "gpu_absent", "port": 1, "gpu": gpu(1, 2),
                     "message": "GPU 1/2 is expected"}, {"severity": "note", "code": "rx_drops", "port": 0,
                                                         "reason": "no_route", "frames": 3, "message": "dropped"}]
        for status in ["degraded", "failed"]:
            self.switch.answers["health"] = {"status": status, "findings": findings}
            rows = self.rows("health", status=1)
            self.assertEqual(rows[0], ["health", status])
            self.assertIn("warning 1 gpu_absent GPU 1/2 is expected".split(), rows)
            self.assertEqual(self.json("health", status=1)["findings"], findings)

    def test_version(self):
        out = self.cli("version").out
        for part in ["cnuasgpu-link-switchd 9.8.7", "rack1", "4242", "1 min 1 s", "/run/here"]:
            self.assertIn(part, out)
        self.assertEqual(self.json("version"), {"schema": "cnuaslink.version/1", **RESULTS["version"]})
        spine = version(draining=True, config="/etc/fabric.yaml")
        del spine["rack"]
        self.switch.answers["version"] = spine
        rows = self.rows("version")
        self.assertIn(["rack", "none"], rows)
        self.assertIn("stopping yes, it empties its queues".split(), rows)
        self.assertIn(["configuration", "/etc/fabric.yaml"], rows)

    def test_own_version(self):
        done = run_here("--version")
        self.assertEqual(done, (0, "cnuaslink-cli 1.2.3\n", ""))
        self.assertEqual(run_here("--version", program="hilink-cli").out, "hilink-cli 1.2.3\n")


if __name__ == "__main__":
    unittest.main()
