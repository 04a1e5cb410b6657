"""Installs libcnuasccl, and its link with what that needs, and uses them as others would: from C and C++, through CMake
and pkg-config; checks their symbols.

    /usr/bin/python3 tests/cnuasccl/package_test.py SOURCE BUILD LIBRARY
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD, LIBRARY = (pathlib.Path(each).resolve() for each in sys.argv[1:4])


def run(*command, **options):
    return subprocess.run([str(each) for each in command], check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300, **options).stdout


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="cnuasccl-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.prefix = cls.folder / "moved"
        run("cmake", "--install", BUILD, "--component", "cnuasccl", "--prefix", cls.folder / "prefix")
        (cls.folder / "prefix").rename(cls.prefix)  # nothing in it may know where it was

    def library_folder(self):
        return next(self.prefix.rglob("libcnuasccl.so")).parent

    def test_cmake_consumers_in_c_and_cpp(self):
        build = self.folder / "consumer"
        run("cmake", "-S", SOURCE / "tests/cnuasccl/consumer", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        self.assertIn("2 allgathers", run(build / "consumer_c"))
        run(build / "consumer_cpp")
        self.assertFalse((build / "consumer_link").exists(), "the link needs more than is installed")

    def test_a_consumer_of_the_link(self):
        prefix, build = self.folder / "whole", self.folder / "link_consumer"
        for component in ("cnuasccl", "cnuasccl_link", "endpoint"):
            run("cmake", "--install", BUILD, "--component", component, "--prefix", prefix)
        run("cmake", "-S", SOURCE / "tests/cnuasccl/consumer", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", build)
        self.assertIn("CNUASCCL_LINK_FAILED", run(build / "consumer_link"))
        self.assertIn("socket: processes", run(prefix / "bin" / "cnuasccl-perf", "--help"))

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_pkg_config(self):
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.library_folder() / "pkgconfig"))
        flags = run("pkg-config", "--cflags", "--libs", "cnuasccl", env=environment).split()
        program = self.folder / "consumer_pc"
        run("cc", "-std=c11", SOURCE / "tests/cnuasccl/consumer/consumer.c", "-o", program, *flags,
            f"-Wl,-rpath,{self.library_folder()}")
        self.assertIn("2 allgathers", run(program))

    def test_exports_what_the_header_declares_and_nothing_else(self):
        self.check_exports(LIBRARY, "live/ccl/cnuasccl.h", 30, "CNUASCCL_0.1")
        self.check_exports(LIBRARY.parent / "libcnuasccl_link.so", "live/ccl/socket/cnuasccl_link.h", 6,
                           "CNUASCCL_LINK_0.1")

    def check_exports(self, library, header, least, version_expected):
        text = (SOURCE / header).read_text()
        declared = set(re.findall(r"^CNUASCCL_API\s[^(]*?\b(cnuasccl_\w+)\(", text, re.MULTILINE))
        self.assertGreater(len(declared), least)
        exported, versions = set(), set()
        for line in run("nm", "--dynamic", "--defined-only", library).splitlines():
            _, kind, symbol = line.split()
            if kind == "A":
                continue  # the version itself
            name, _, version = symbol.partition("@@")
            exported.add(name)
            versions.add(version)
        self.assertEqual(exported, declared)
        self.assertEqual(versions, {version_expected})

    def test_has_a_soname_and_its_links(self):
        dynamic = run("readelf", "--dynamic", LIBRARY)
        self.assertRegex(dynamic, r"SONAME.*\[libcnuasccl\.so\.0\]")
        names = {path.name for path in self.library_folder().glob("libcnuasccl.so*")}
        self.assertEqual(names, {"libcnuasccl.so", "libcnuasccl.so.0", "libcnuasccl.so.0.1.0"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
