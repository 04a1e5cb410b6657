"""What is installed, as a user of the library has it: C and C++ compile against it, the program of the document runs,
and nothing is exported that should not be.

    /usr/bin/python3 installed_test.py BUILD SOURCE SANITIZE VERSION

BUILD: a build directory in which cnuaslink, cnuas-endpoint and the daemon are built. SANITIZE: what -fsanitize= got.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BUILD, SOURCE, SANITIZE, VERSION = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
GUARD_S = 120


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=GUARD_S * 5, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} exits with {done.returncode}:\n{done.stdout}")
    return done.stdout


def c_block(document):
    return re.search(r"^```c\n(.*?)^```", document, re.MULTILINE | re.DOTALL)[1]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="cnuas-installed-"))
        cls.prefix = cls.folder / "prefix"
        run(["cmake", "--install", str(BUILD), "--component", "endpoint", "--prefix", str(cls.prefix)])
        found = list(cls.prefix.rglob("cnuaslink.pc"))
        assert len(found) == 1, found
        cls.library_folder = found[0].parent.parent
        cls.environment = dict(os.environ, PKG_CONFIG_PATH=str(found[0].parent),
                               LD_LIBRARY_PATH=str(cls.library_folder))
        flags = run(["pkg-config", "--cflags", "--libs", "cnuaslink"], env=cls.environment).split()
        cls.flags = flags + ([f"-fsanitize={SANITIZE}"] if SANITIZE else [])

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def compile(self, compiler, name, text, *options):
        source, program = self.folder / name, self.folder / (name + ".out")
        source.write_text(text)
        run([compiler, *STRICT, *options, str(source), "-o", str(program), *self.flags])
        return program

    def test_the_program_of_the_document_prints_what_the_document_says(self):
        document = (SOURCE / "docs" / "endpoint.md").read_text()
        program = self.compile("cc", "tour.c", c_block(document), "-std=c11")
        said = re.search(r"^```text\n(.*?)^```", document, re.MULTILINE | re.DOTALL)[1]
        run_dir = self.folder / "run"
        daemon = subprocess.Popen([str(BUILD / "bin" / "cnuasgpu-link-switchd"), "--run-dir", str(run_dir)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + GUARD_S
            while not (run_dir / "mgmt.sock").exists() or not (run_dir / "port_1.sock").exists():
                self.assertIsNone(daemon.poll())
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            self.assertEqual(run([str(program), str(run_dir)], env=self.environment), said)
        finally:
            daemon.terminate()
            daemon.wait(GUARD_S)

    def test_both_headers_stand_alone_in_c_and_in_cpp(self):
        for header in ("cnuaslink.h", "cnuasdev_link.h"):
            text = f"#include <{header}>\nint main(void) {{ return 0; }}\n"
            self.compile("cc", f"{header}.c", text, "-std=c11")
            self.compile("c++", f"{header}.cpp", text, "-std=c++11", "-Wold-style-cast", "-Wshadow")

    def test_a_cmake_project_finds_it(self):
        project = self.folder / "project"
        project.mkdir()
        languages, flags = ("C", f"-fsanitize={SANITIZE}") if SANITIZE else ("C", "")
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.21)\n"
            f"project(user LANGUAGES {languages})\n"
            f"find_package(cnuaslink {VERSION} REQUIRED)\n"
            "add_executable(user user.c)\n"
            "target_link_libraries(user PRIVATE cnuas::cnuaslink)\n")
        (project / "user.c").write_text(
            "#include <cnuasdev_link.h>\n#include <cnuaslink.h>\n#include <string.h>\n"
            f"int main(void) {{ return strcmp(cnuaslink_version(), \"{VERSION}\") != 0 || "
            "cnuasdev_link_id(NULL, NULL) == 0; }\n")
        build = self.folder / "project-build"
        run(["cmake", "-S", str(project), "-B", str(build), f"-DCMAKE_PREFIX_PATH={self.prefix}",
             f"-DCMAKE_C_FLAGS={flags}"])
        run(["cmake", "--build", str(build)])
        run([str(build / "user")])

    def test_pkg_config_tells_the_version(self):
        self.assertEqual(run(["pkg-config", "--modversion", "cnuaslink"], env=self.environment).strip(), VERSION)

    def test_only_its_own_functions_are_exported(self):
        library = self.library_folder / "libcnuaslink.so.0"
        lines = run(["nm", "-D", "--defined-only", "--with-symbol-versions", str(library)]).splitlines()
        exported = {line.split()[2] for line in lines if line.split()[1] != "A"}
        if SANITIZE:  # which adds its own, beside the library's
            exported = {name for name in exported if not re.match(r"_*(asan|ubsan|tsan|lsan|sanitizer|odr_asan)", name.lower())}
        wrong = {name for name in exported if not re.fullmatch(r"cnua(slink|sdev)_\w+@@CNUASLINK_0\.1", name)}
        self.assertEqual(wrong, set())
        headers = (SOURCE / "live/endpoint/cnuaslink.h").read_text() + (SOURCE / "live/endpoint/cnuasdev_link.h").read_text()
        declared = set(re.findall(r"^CNUAS(?:LINK|DEV)_API[^;(]*?\b(\w+)\(", headers, re.MULTILINE))
        self.assertEqual({name.split("@")[0] for name in exported}, declared)
        self.assertGreater(len(declared), 25)

    def test_it_has_its_name_and_the_program_finds_it(self):
        library = self.library_folder / "libcnuaslink.so.0"
        self.assertIn("[libcnuaslink.so.0]", run(["readelf", "-d", str(library)]))
        environment = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
        self.assertEqual(run([str(self.prefix / "bin" / "cnuas-endpoint"), "--version"], env=environment),
                         f"cnuas-endpoint {VERSION}\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
