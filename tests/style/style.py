"""Checks the source tree against the project's rules; prints `path:line: error: X is banned, use Y`.

    /usr/bin/python3 tests/style/style.py [ROOT]      exit status 1 when a rule is broken, 0 when none is

Every rule has a case in style_self_test.py that shows it can fail.
"""

import os
import pathlib
import re
import subprocess
import sys
from typing import Iterator, NamedTuple


class Violation(NamedTuple):
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: error: {self.message}"


# --- Files -----------------------------------------------------------------------------------------

TOP_LEVEL = {
    "CMakeLists.txt", "CMakePresets.json", "README.md", "cmake",
    "sim", "core", "live", "scenarios", "proto", "tests", "analysis", "docs",
}
UNSCANNED = {".git", "build", ".cache", "__pycache__"}
CODE = {".h", ".hpp", ".c", ".cc", ".cpp"}
HEADERS = {".h", ".hpp"}
# Texts that people read from top to bottom; data and recorded output may be as long as they need.
READ_BY_PEOPLE = CODE | {".py", ".cmake", ".md", ".sh", ".js", ".in"}
# Inputs that are broken on purpose, or that a fuzzer made: their bytes are what they are for.
RAW_BYTES = re.compile(r"tests/(?:.*/)?(?:broken|corpus)/")
LONGEST = 600


def files_of(root: pathlib.Path) -> list:
    """Paths relative to the root: what git tracks or would track; all files where there is no git."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if (root / ".git").exists():
        try:
            listed = subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\0")
            return sorted(path for path in set(listed) if path and (root / path).is_file())
        except (OSError, subprocess.CalledProcessError):
            pass
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [each for each in folders if each not in UNSCANNED]
        found += [(pathlib.Path(folder) / name).relative_to(root).as_posix() for name in names]
    return sorted(found)


# --- Rules about paths -----------------------------------------------------------------------------

VAGUE_NAMES = {"utils", "util", "utilities", "common", "helpers", "helper", "misc", "manager"}


def check_top_level(paths: list) -> Iterator[Violation]:
    reported = set()
    for path in paths:
        entry = path.split("/")[0]
        if entry in TOP_LEVEL or entry.startswith(".") or entry in reported:
            continue
        reported.add(entry)
        allowed = ", ".join(sorted(TOP_LEVEL))
        yield Violation(entry, 1, f"'{entry}' is banned at the top level, use one of {allowed}, or build/ for output")


def check_names(paths: list) -> Iterator[Violation]:
    reported = set()
    for path in paths:
        parts = path.split("/")
        for depth, part in enumerate(parts):
            place = "/".join(parts[: depth + 1])
            if part == "fabricmgr" or place in reported:
                continue
            for word in re.split(r"[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])", part):
                if word.lower() in VAGUE_NAMES:
                    reported.add(place)
                    yield Violation(place, 1, f"'{word}' in a name is banned, use the name of the concept it holds")
                    break


# --- Rules about the text of any file --------------------------------------------------------------

# How a project came about is not part of it. The patterns are written so that they do not match themselves.
DEVELOPMENT_WORDS = [
    (r"\bTOD[O]\b|\bFIXM[E]\b|\bXX[X]\b", "a sentence that states what does not work, or the work itself"),
    (r"\b[Ii]ssue\s+#?\d+\b|\b(?:PR|[Pp]ull request|[Mm]erge request)\s+#?\d+\b"
     r"|\b(?:[Ff]ixes|[Cc]loses|[Rr]esolves|[Ss]ee)\s+#\d+\b", "the reason itself"),
    (r"(?i)\bas an A[I]\b|\bClaud[e]\b|\bAnthropi[c]\b|\bChatGP[T]\b|\bCopilo[t]\b|\blanguage mode[l]s?\b"
     r"|\bAI[- ](?:assistant|generated)\b", "nothing: a text speaks for itself"),
    (r"/wor[k]/|\bshared/(?:design|seeds|tools)\b|/home/[a-z]\w*/", "a path relative to the project's root"),
    (r"(?i)\b(?:deb|security|ftp|snapshot|packages)\.debian\.org\b|\barchive\.ubuntu\.com\b"
     r"|\bregistry\.npmjs\.org\b|\b(?:pypi|pythonhosted)\.org\b|\bcrates\.io\b|\bproxy\.golang\.org\b",
     "the package's name: each machine knows where its packages come from"),
    (r"(?i)\b(?:coding|development|working) session\b|\bthis (?:conversation|sprint)\b|\b(?:per|see|from) the brie[f]\b"
     r"|\bfounder[- ]engineer|\bacceptance criteri(?:a|on)\b|\bas (?:requested|instructed)\b",
     "what the thing does and why"),
]
DEVELOPMENT_WORDS = [(re.compile(pattern), fix) for pattern, fix in DEVELOPMENT_WORDS]


def check_text(path: str, lines: list) -> Iterator[Violation]:
    raw = RAW_BYTES.match(path)
    for number, line in enumerate(lines, 1):
        if "\t" in line and not raw:
            yield Violation(path, number, "a tab is banned, use spaces")
        if line != line.rstrip() and not raw:
            yield Violation(path, number, "blanks at the end of a line are banned, use none")
        for pattern, fix in DEVELOPMENT_WORDS:
            found = pattern.search(line)
            if found:
                yield Violation(path, number, f"'{found.group()}' is banned, use {fix}")
    if pathlib.PurePosixPath(path).suffix in READ_BY_PEOPLE and len(lines) > LONGEST:
        message = f"a file of {len(lines)} lines is banned, use files of one concept and at most {LONGEST} lines"
        yield Violation(path, LONGEST + 1, message)


# --- Code without comments and literals ------------------------------------------------------------

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL)


def bare_code(text: str) -> list:
    """Lines of C++ with comments and literals blanked out, so that only code is left to judge."""

    def blank(found):
        return re.sub(r"[^\n]", " ", found.group())

    return _TOKEN.sub(blank, text).split("\n")


# --- Includes --------------------------------------------------------------------------------------

STANDARD = set("""
    algorithm any array atomic barrier bit bitset charconv chrono codecvt compare complex concepts condition_variable
    coroutine deque exception execution filesystem forward_list fstream functional future initializer_list iomanip ios
    iosfwd iostream istream iterator latch limits list locale map memory memory_resource mutex new numbers numeric
    optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span
    sstream stack stdexcept stop_token streambuf string string_view syncstream system_error thread tuple type_traits
    typeindex typeinfo unordered_map unordered_set utility valarray variant vector version
    cassert cctype cerrno cfenv cfloat cinttypes climits clocale cmath csetjmp csignal cstdarg cstddef cstdint cstdio
    cstdlib cstring ctime cuchar cwchar cwctype
""".split())

POSIX = re.compile(
    r"(?:aio|arpa/.*|dirent|dlfcn|endian|err|errno|fcntl|getopt|glob|grp|ifaddrs|linux/.*|malloc|net/.*|netdb|netinet/.*"
    r"|poll|pthread|pwd|sched|semaphore|signal|spawn|sys/.*|sysexits|syslog|termios|time|ucontext|unistd)(?:\.h)?")


class Layer(NamedTuple):
    projects: tuple     # top-level folders it may include
    libraries: tuple    # patterns of system headers beside the standard library
    posix: bool
    fix: str            # for an include of another folder or library


LAYERS = {
    "core": Layer(("core",), (r"tl/expected\.hpp",), False,
                  "an interface in core/ that the caller implements, the standard library or <tl/expected.hpp>"),
    "proto": Layer(("core", "proto"), (r"google/protobuf/.*",), False, "core/, protobuf or the standard library"),
    "scenarios": Layer(("core", "scenarios"), (r"yaml-cpp/.*", r"nlohmann/.*", r"tl/expected\.hpp"), False,
                       "core/, yaml-cpp, nlohmann-json or the standard library"),
    "sim": Layer(("core", "scenarios", "proto", "sim"),
                 (r"simgrid/.*", r"xbt/.*", r"spdlog/.*", r"fmt/.*", r"CLI/.*", r"nlohmann/.*", r"google/protobuf/.*",
                  r"tl/expected\.hpp"),
                 True, "core/, scenarios/ or proto/, or move what both drivers need to core/"),
    "live": Layer(("core", "scenarios", "proto", "live"),
                  (r"spdlog/.*", r"fmt/.*", r"CLI/.*", r"nlohmann/.*", r"google/protobuf/.*", r"tl/expected\.hpp",
                   r"microhttpd\.h", r"curl/.*", r"systemd/.*", r"cnuasccl\.h",
                   r"std(?:def|int)\.h"),  # headers that C programs include
                  True, "core/, scenarios/ or proto/, or move what both drivers need to core/"),
}

_TIME = "a Picoseconds argument (core/engine/time.h)"
_CALLER = "a state machine that its driver calls (threads and locks belong to live/)"
_BYTES = "bytes in and out as arguments (files and terminals belong to sim/ and live/)"
_SEED = "the seeded generator that is passed in"
CORE_BANNED_HEADERS = {
    "chrono": _TIME, "ctime": _TIME, "thread": _CALLER, "mutex": _CALLER, "shared_mutex": _CALLER,
    "condition_variable": _CALLER, "future": _CALLER, "semaphore": _CALLER, "latch": _CALLER, "barrier": _CALLER,
    "stop_token": _CALLER, "csignal": _CALLER, "random": _SEED, "iostream": _BYTES, "fstream": _BYTES,
    "cstdio": _BYTES, "filesystem": _BYTES, "syncstream": _BYTES,
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def core_folders(root: pathlib.Path) -> dict:
    """What each folder of core may include, from core/CMakeLists.txt: itself, engine, and what it links, in depth."""
    direct = {}
    cmake = root / "core" / "CMakeLists.txt"
    text = cmake.read_text() if cmake.exists() else ""
    for folder, libraries in re.findall(r"^cnuas_core_library\(\s*(\w+)([^)]*)\)", text, re.MULTILINE):
        direct[folder] = {each.removeprefix("cnuas_") for each in libraries.split()}
    reachable = {}
    for folder in direct:
        seen, waiting = set(), [folder]
        while waiting:
            each = waiting.pop()
            if each not in seen:
                seen.add(each)
                waiting += direct.get(each, ())
        reachable[folder] = seen | {"engine"}
    return reachable


def check_include(path: str, number: int, quote: str, header: str, folders: dict) -> Iterator[Violation]:
    parts = path.split("/")
    layer = LAYERS.get(parts[0])
    top = header.split("/")[0]
    shown = f'#include "{header}"' if quote == '"' else f"#include <{header}>"
    if (top in LAYERS or top == "tests") and quote == "<":
        yield Violation(path, number, f'{shown} is banned, use quotes for the project\'s own headers')
    elif quote == '"' and top not in LAYERS and top != "tests":
        fix = f'the path from the root ("{parts[0]}/...") for own headers, <> for all others'
        yield Violation(path, number, f"{shown} is banned, use {fix}")
        return
    if layer is None:
        return
    if top in LAYERS or top == "tests":
        if top not in layer.projects:
            yield Violation(path, number, f"{shown} is banned in {parts[0]}/, use {layer.fix}")
        elif parts[0] == "core" and top == "core" and len(parts) > 2:
            target = header.split("/")[1]
            if target not in folders.get(parts[1], {parts[1], "engine"}):
                fix = f"what core/{parts[1]} links, or link cnuas_{target} to it in core/CMakeLists.txt"
                yield Violation(path, number, f"{shown} is banned in core/{parts[1]}/, use {fix}")
        return
    if parts[0] == "core" and header in CORE_BANNED_HEADERS:
        yield Violation(path, number, f"{shown} is banned in core/, use {CORE_BANNED_HEADERS[header]}")
    elif re.match(r"(?:simgrid|xbt)/", header) and parts[0] == "sim" and parts[1] != "simgrid":
        yield Violation(path, number, f'{shown} is banned outside sim/simgrid/, use "sim/simgrid/kernel.h"')
    elif header not in STANDARD and not (layer.posix and POSIX.fullmatch(header)):
        if not any(re.fullmatch(pattern, header) for pattern in layer.libraries):
            yield Violation(path, number, f"{shown} is banned in {parts[0]}/, use {layer.fix}")


# --- Code ------------------------------------------------------------------------------------------

CORE_BANNED_CODE = [
    (r"\bstd::\w+_distribution\b", "std::*_distribution (differs between standard libraries)", _SEED),
    (r"(?<![\w.>:])(?:std::|::)?s?rand(?:om)?\s*\(", "rand()", _SEED),
    (r"\bstd::(?:time|clock)\s*\(|(?<![\w.>:])(?:::)?(?:time\s*\(\s*(?:nullptr|NULL|0|&\w+)\s*\)|clock\s*\(\s*\)"
     r"|(?:gettimeofday|clock_gettime)\s*\()", "reading a clock", _TIME),
    (r"\b(?:secure_)?getenv\s*\(", "getenv()", "an argument"),
    (r"\b(?:v?[fsd]?n?printf|puts|putchar|fputs)\s*\(", "printing", _BYTES),
    (r"\bstd::(?:cout|cerr|clog|cin)\b", "a standard stream", _BYTES),
    (r"(?<![\w.>])(?:std::)?(?:abort|exit|_exit|quick_exit)\s*\(", "ending the process", "fail() (core/engine/error.h)"),
    (r"\bthrow\b", "throw", "fail() (core/engine/error.h)"),
]
CORE_BANNED_CODE = [(re.compile(pattern), what, fix) for pattern, what, fix in CORE_BANNED_CODE]

# What users know of, from their system or the documents. Anything else is an option of a program, or a trial that
# somebody forgot.
ENVIRONMENT = {"CNUASCCL_ALGORITHM", "CNUASCCL_ORDER", "JOURNAL_STREAM", "TMPDIR"}
GETENV = re.compile(r"\b(?:secure_)?getenv\s*\(\s*(?:\"(\w*)\")?")

# `static` or `thread_local`, then a declarator that ends in =, {, [ or ; before any parenthesis opens.
STATIC = re.compile(r"^\s*(?:inline\s+)?(?:static|thread_local)\s+(?P<rest>[^(=;{\[]*[\w>&*]\s*(?:[=;{\[]|$).*)")
CONSTANT = re.compile(r"\b(?:const|constexpr|consteval|struct|class|enum|union)\b")
# At namespace scope, which clang-format does not indent: a type, a name, and an initialiser or nothing.
NAMESPACE_SCOPE = re.compile(r"^(?:inline\s+)?(?P<type>[A-Za-z_][\w:]*(?:<.*>)?[\s*&]+)(?P<name>\w+)\s*(?:=[^=].*|\{.*\}\s*;|;)$")
NOT_A_TYPE = {"using", "namespace", "return", "typedef", "extern", "struct", "class", "enum", "union", "template", "friend",
              "goto", "public", "private", "protected", "case", "else", "delete", "const", "constexpr", "static", "throw",
              "static_assert", "concept", "thread_local", "inline"}


def mutable_global(line: str) -> bool:
    static = STATIC.match(line)
    if static and not CONSTANT.search(line.split("=")[0].split("{")[0]):
        return True
    scope = NAMESPACE_SCOPE.match(line)
    return bool(scope) and scope["type"].split()[0] not in NOT_A_TYPE


def check_code(path: str, text: str, folders: dict) -> Iterator[Violation]:
    lines = text.split("\n")
    bare = bare_code(text)
    for number, line in enumerate(lines, 1):
        # The bare line shows that this is no comment, the full line has the name between the quotes.
        include = INCLUDE.match(line) if bare[number - 1].lstrip().startswith("#") else None
        if include:
            yield from check_include(path, number, include[1], include[2], folders)
    if pathlib.PurePosixPath(path).suffix in HEADERS:
        if not any(re.match(r"\s*#\s*pragma\s+once\b", line) for line in bare):
            yield Violation(path, 1, "a header without protection is banned, use #pragma once")
        for number, line in enumerate(bare, 1):
            if re.search(r"\busing\s+namespace\b", line):
                yield Violation(path, number, "using namespace is banned in headers, use the names in full")
    if path.startswith(("sim/", "live/")):
        for number, line in enumerate(lines, 1):
            for name in GETENV.findall(line) if "getenv" in bare[number - 1] else []:
                if name not in ENVIRONMENT:
                    yield Violation(path, number, f"the environment variable {name or '?'} is banned, use an option")
    if path.startswith("core/"):
        for number, line in enumerate(bare, 1):
            for pattern, what, fix in CORE_BANNED_CODE:
                if pattern.search(line):
                    yield Violation(path, number, f"{what} is banned in core/, use {fix}")
            if mutable_global(line.rstrip()):
                yield Violation(path, number, "a mutable global is banned in core/, use a member or an argument")


# --- All of it -------------------------------------------------------------------------------------


def check(root: pathlib.Path) -> list:
    paths = files_of(root)
    folders = core_folders(root)
    violations = list(check_top_level(paths)) + list(check_names(paths))
    for path in paths:
        entry = path.split("/")[0]
        if entry not in TOP_LEVEL and not entry.startswith("."):
            continue  # reported as a whole
        content = (root / path).read_bytes()
        if b"\0" in content:
            continue
        text = content.decode("utf-8", "replace")
        violations += check_text(path, text.split("\n"))
        if text and not text.endswith("\n") and not RAW_BYTES.match(path):
            violations.append(Violation(path, text.count("\n") + 1, "an unfinished last line is banned, use a newline"))
        if pathlib.PurePosixPath(path).suffix in CODE:
            violations += check_code(path, text, folders)
    return violations


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    violations = check(root)
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
