"""Shows that every rule of style.py can fail: one small tree per rule, with one violation and its message."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import style

CORE_CMAKE = """\
cnuas_core_library(link)
cnuas_core_library(topology cnuas_link)
cnuas_core_library(ccl)
cnuas_core_library(workload cnuas_ccl cnuas_topology)
"""

# A tree without a violation, with much that looks like one.
CLEAN = {
    "CMakeLists.txt": "project(X)\n",
    ".gitignore": "/build/\n",
    "core/CMakeLists.txt": CORE_CMAKE,
    "core/workload/plan.h": """\
#pragma once

#include "core/ccl/step.h"
#include "core/engine/time.h"
#include "core/link/profile.h"
#include "core/workload/other.h"

#include <atomic>
#include <vector>

#include <tl/expected.hpp>

// Comments may speak of throw, rand(), printf() and #include <chrono>; see the 2nd edition, issue of June 1990.
class Plan {
 public:
  static unsigned bucket_of(unsigned key) { return key; }
  static constexpr int kLanes = 4;
  long next_time();
  long sent_time(int at) const { return at; }

 private:
  int count_ = 0;
};
inline constexpr int kMost = 4;
""",
    "core/workload/plan.cpp": """\
#include "core/workload/plan.h"

constexpr int kLeast = 1;
const char* const kText = "throw rand() std::cout";
static const std::vector<int>& table() {
  static const std::vector<int> rows = {1, 2};
  return rows;
}
using Alias = int;
struct Later;
long Plan::next_time() {
  const char quote = '"';
  return plan.time() + other->time(quote) + kMost + time(kMost, 0);
}
""",
    "proto/trace.cpp": "#include <google/protobuf/message.h>\n#include \"core/engine/time.h\"\n",
    "scenarios/yaml.cpp": "#include <yaml-cpp/yaml.h>\n#include <fstream>\n#include \"core/ccl/step.h\"\n",
    "sim/run.cpp": "#include <CLI/CLI.hpp>\n#include <spdlog/spdlog.h>\n#include <sys/wait.h>\n#include <chrono>\n",
    "sim/simgrid/kernel.cpp": "#include <simgrid/s4u.hpp>\n#include <xbt/log.h>\nstatic int counter = 0;\n",
    "live/fabricmgr/main.cpp": "// getenv(it)\nx = std::getenv(\"TMPDIR\");\n#include <sys/socket.h>\n#include <unistd.h>\n#include \"scenarios/loader.h\"\n",
    "tests/core/x_test.cpp": "#include <gtest/gtest.h>\n#include \"sim/run.h\"\n#include <random>\n",
    "tests/scenarios/broken/tab.yaml": "a:\t1 \r\n",
    "docs/a.md": "A TCP session. An issue with 12 ports. Cable #2, rack #3. Work on the workload.\n",
}

# What is added to the clean tree, and the one message it must cause. {} is where a word is cut, so that this file is
# not itself what it describes.
CASES = [
    # --- paths
    ("old/a.txt", "x\n", "old:1: error: 'old' is banned at the top level, use one of CMakeLists.txt, "),
    ("core/link/link_utils.cpp", "\n", "core/link/link_utils.cpp:1: error: 'utils' in a name is banned, use the name of"),
    ("sim/common/a.cpp", "\n", "sim/common:1: error: 'common' in a name is banned, use"),
    ("sim/Helpers.cpp", "\n", "sim/Helpers.cpp:1: error: 'Helpers' in a name is banned, use"),
    ("live/portManager.cpp", "\n", "live/portManager.cpp:1: error: 'Manager' in a name is banned, use"),
    ("docs/misc.md", "\n", "docs/misc.md:1: error: 'misc' in a name is banned, use"),
    # --- text
    ("docs/b.md", "fine\n\tx\n", "docs/b.md:2: error: a tab is banned, use spaces"),
    ("docs/b.md", "fine \n", "docs/b.md:1: error: blanks at the end of a line are banned, use none"),
    ("docs/b.md", "fine\r\n", "docs/b.md:1: error: blanks at the end of a line are banned, use none"),
    ("docs/b.md", "fine", "docs/b.md:1: error: an unfinished last line is banned, use a newline"),
    ("sim/long.cpp", "\n" * 601, "sim/long.cpp:601: error: a file of 602 lines is banned, use files of one concept"),
    ("docs/b.md", "TOD{}O: more\n", "docs/b.md:1: error: 'TOD{}O' is banned, use a sentence that states"),
    ("sim/a.cpp", "// FIXM{}E\n", "sim/a.cpp:1: error: 'FIXM{}E' is banned, use a sentence"),
    ("sim/a.cpp", "// XX{}X later\n", "sim/a.cpp:1: error: 'XX{}X' is banned, use a sentence"),
    ("docs/b.md", "Done for issue{} #12.\n", "docs/b.md:1: error: 'issue{} #12' is banned, use the reason itself"),
    ("docs/b.md", "Since PR{} 7.\n", "docs/b.md:1: error: 'PR{} 7' is banned, use the reason itself"),
    ("docs/b.md", "This fixes{} #9.\n", "docs/b.md:1: error: 'fixes{} #9' is banned, use the reason itself"),
    ("docs/b.md", "Written as an A{}I would.\n", "docs/b.md:1: error: 'as an A{}I' is banned, use nothing"),
    ("docs/b.md", "By Claud{}e.\n", "docs/b.md:1: error: 'Claud{}e' is banned, use nothing"),
    ("docs/b.md", "In /wor{}k/main.\n", "docs/b.md:1: error: '/wor{}k/' is banned, use a path relative to the"),
    ("docs/b.md", "In shared{}/design.\n", "docs/b.md:1: error: 'shared{}/design' is banned, use a path relative"),
    ("docs/b.md", "In /home/{}joe/x.\n", "docs/b.md:1: error: '/home/{}joe/' is banned, use a path relative"),
    ("docs/b.md", "From deb.{}debian.org.\n", "docs/b.md:1: error: 'deb.{}debian.org' is banned, use the package's name"),
    ("docs/b.md", "From registry.{}npmjs.org.\n", "docs/b.md:1: error: 'registry.{}npmjs.org' is banned, use the pack"),
    ("docs/b.md", "From pypi{}.org.\n", "docs/b.md:1: error: 'pypi{}.org' is banned, use the package's name"),
    ("docs/b.md", "A coding {}session.\n", "docs/b.md:1: error: 'coding {}session' is banned, use what the thing does"),
    # --- includes: form
    ("sim/a.cpp", "#include <core/engine/time.h>\n",
     "sim/a.cpp:1: error: #include <core/engine/time.h> is banned, use quotes for the project's own headers"),
    ("sim/a.cpp", '#include "run.h"\n', 'sim/a.cpp:1: error: #include "run.h" is banned, use the path from the root'),
    ("sim/a.cpp", '#include "../core/a.h"\n', 'sim/a.cpp:1: error: #include "../core/a.h" is banned, use the path from'),
    # --- includes: direction
    ("core/ccl/a.cpp", '\n#include "sim/run.h"\n',
     'core/ccl/a.cpp:2: error: #include "sim/run.h" is banned in core/, use an interface in core/ that the caller'),
    ("core/ccl/a.cpp", "#include <fmt/format.h>\n",
     "core/ccl/a.cpp:1: error: #include <fmt/format.h> is banned in core/, use an interface in core/"),
    ("core/ccl/a.cpp", "#include <unistd.h>\n",
     "core/ccl/a.cpp:1: error: #include <unistd.h> is banned in core/, use an interface in core/"),
    ("core/ccl/a.cpp", "#include <sys/mman.h>\n", "core/ccl/a.cpp:1: error: #include <sys/mman.h> is banned in core/"),
    ("core/ccl/a.cpp", '#include "core/topology/fabric.h"\n',
     'core/ccl/a.cpp:1: error: #include "core/topology/fabric.h" is banned in core/ccl/, use what core/ccl links, or '
     "link cnuas_topology to it in core/CMakeLists.txt"),
    ("core/engine/a.h", '#pragma once\n#include "core/ccl/step.h"\n',
     'core/engine/a.h:2: error: #include "core/ccl/step.h" is banned in core/engine/, use what core/engine links'),
    ("core/link/a.cpp", '#include "core/topology/fabric.h"\n',
     'core/link/a.cpp:1: error: #include "core/topology/fabric.h" is banned in core/link/'),
    ("proto/a.cpp", '#include "scenarios/loader.h"\n',
     'proto/a.cpp:1: error: #include "scenarios/loader.h" is banned in proto/, use core/, protobuf or the standard'),
    ("proto/a.cpp", "#include <unistd.h>\n", "proto/a.cpp:1: error: #include <unistd.h> is banned in proto/, use core/"),
    ("scenarios/a.cpp", '#include "sim/run.h"\n',
     'scenarios/a.cpp:1: error: #include "sim/run.h" is banned in scenarios/, use core/, yaml-cpp'),
    ("scenarios/a.cpp", "#include <fmt/format.h>\n",
     "scenarios/a.cpp:1: error: #include <fmt/format.h> is banned in scenarios/, use core/, yaml-cpp"),
    ("scenarios/a.cpp", "#include <sys/stat.h>\n", "scenarios/a.cpp:1: error: #include <sys/stat.h> is banned in scena"),
    ("sim/a.cpp", '#include "live/switchd/a.h"\n',
     'sim/a.cpp:1: error: #include "live/switchd/a.h" is banned in sim/, use core/, scenarios/ or proto/, or move what'),
    ("sim/a.cpp", "#include <yaml-cpp/yaml.h>\n", "sim/a.cpp:1: error: #include <yaml-cpp/yaml.h> is banned in sim/, use"),
    ("sim/a.cpp", '#include "tests/x.h"\n', 'sim/a.cpp:1: error: #include "tests/x.h" is banned in sim/, use core/'),
    ("sim/a.cpp", "#include <simgrid/s4u.hpp>\n",
     'sim/a.cpp:1: error: #include <simgrid/s4u.hpp> is banned outside sim/simgrid/, use "sim/simgrid/kernel.h"'),
    ("sim/fluid/a.cpp", "#include <xbt/log.h>\n", "sim/fluid/a.cpp:1: error: #include <xbt/log.h> is banned outside sim/"),
    ("live/a.cpp", '#include "sim/run.h"\n', 'live/a.cpp:1: error: #include "sim/run.h" is banned in live/, use core/'),
    ("live/a.cpp", "#include <simgrid/s4u.hpp>\n", "live/a.cpp:1: error: #include <simgrid/s4u.hpp> is banned in live/"),
    # --- code of every folder
    ("sim/a.h", "int f();\n", "sim/a.h:1: error: a header without protection is banned, use #pragma once"),
    ("sim/a.h", "// #pragma once\n", "sim/a.h:1: error: a header without protection is banned, use #pragma once"),
    ("sim/a.h", "#pragma once\nusing namespace std;\n",
     "sim/a.h:2: error: using namespace is banned in headers, use the names in full"),
    ("live/a.cpp", '\n  x = std::getenv("SPIN");\n',
     "live/a.cpp:2: error: the environment variable SPIN is banned, use an option"),
    ("sim/a.cpp", "x = getenv(name);\n", "sim/a.cpp:1: error: the environment variable ? is banned, use an option"),
]
for header in style.CORE_BANNED_HEADERS:
    CASES.append(("core/ccl/a.cpp", f"#include <{header}>\n",
                  f"core/ccl/a.cpp:1: error: #include <{header}> is banned in core/, use "))
for line, message in [
    ("  std::uniform_int_distribution<int> d;", "std::*_distribution (differs between standard libraries) is banned in"),
    ("  x = rand() % 4;", "rand() is banned in core/, use the seeded generator that is passed in"),
    ("  std::srand(1);", "rand() is banned in core/"),
    ("  x = time(nullptr);", "reading a clock is banned in core/, use a Picoseconds argument (core/engine/time.h)"),
    ("  x = std::time(0);", "reading a clock is banned in core/"),
    ("  x = clock();", "reading a clock is banned in core/"),
    ("  clock_gettime(CLOCK_MONOTONIC, &t);", "reading a clock is banned in core/"),
    ('  x = std::getenv("HOME");', "getenv() is banned in core/, use an argument"),
    ('  printf("x");', "printing is banned in core/, use bytes in and out as arguments"),
    ('  std::snprintf(b, 4, "x");', "printing is banned in core/"),
    ('  std::cout << "x";', "a standard stream is banned in core/, use bytes in and out"),
    ("  std::abort();", "ending the process is banned in core/, use fail() (core/engine/error.h)"),
    ("  exit(1);", "ending the process is banned in core/"),
    ('  throw std::runtime_error("x");', "throw is banned in core/, use fail() (core/engine/error.h)"),
    ("  static int calls = 0;", "a mutable global is banned in core/, use a member or an argument"),
    ("  static std::vector<int> cache;", "a mutable global is banned in core/"),
    ("thread_local Picoseconds now{0};", "a mutable global is banned in core/"),
    ("int counter = 0;", "a mutable global is banned in core/"),
    ("inline std::map<int, int> registry;", "a mutable global is banned in core/"),
    ("Registry* registry = nullptr;", "a mutable global is banned in core/"),
]:
    CASES.append(("core/ccl/a.cpp", f"\n{line}\n", f"core/ccl/a.cpp:2: error: {message}"))


def plant(root: pathlib.Path, files: dict):
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())


class StyleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        plant(self.root, CLEAN)

    def test_a_clean_tree_has_no_violation(self):
        self.assertEqual([str(each) for each in style.check(self.root)], [])

    def test_every_rule_fails_on_its_violation_and_on_nothing_else(self):
        for path, text, message in CASES:
            text, message = text.replace("{}", ""), message.replace("{}", "")
            with self.subTest(message):
                plant(self.root, {path: text})
                found = [str(each) for each in style.check(self.root)]
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(message), found[0])
                self.assertIn(", use ", found[0])
                (self.root / path).unlink()

    def test_output_of_builds_is_not_looked_at(self):
        plant(self.root, {"build/release/utils.h": "\t"})
        self.assertEqual(style.check(self.root), [])

    def test_ignored_files_are_not_looked_at_where_there_is_git(self):
        plant(self.root, {".gitignore": "/out/\n", "out/utils.h": "\t", "docs/b.md": "\tx\n"})
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        found = [str(each) for each in style.check(self.root)]
        self.assertEqual(found, ["docs/b.md:1: error: a tab is banned, use spaces"])

    def test_the_exit_status_tells(self):
        command = [sys.executable, style.__file__, str(self.root)]
        self.assertEqual(subprocess.run(command, capture_output=True).returncode, 0)
        plant(self.root, {"sim/a.cpp": "\t\n"})
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("sim/a.cpp:1: error: a tab is banned, use spaces\n", done.stdout)


if __name__ == "__main__":
    unittest.main()
