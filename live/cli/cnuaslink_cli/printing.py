"""Tables for people, JSON for programs."""

import json
import sys
from typing import Iterable, List, Optional, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

# Text always says what a colour says.
STYLES = {
    "up": "green", "present": "green", "ok": "green", "switch": "green", "ivshmem": "green",
    "stalled": "yellow", "silent": "yellow", "warning": "yellow", "degraded": "yellow", "admin_down": "magenta",
    "absent": "red", "error": "red", "failed": "red", "none": "red",
    "not_expected": "dim", "note": "dim", "-": "dim",
}
WIDE = 500  # for files and pipes: nothing is cut off


def console(stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, markup=False, emoji=False, highlight=False, soft_wrap=False,
                   width=None if stream.isatty() else WIDE)


def plain(text: str) -> str:
    """Without what would move a terminal's cursor or change its colours."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def cell(value) -> Text:
    if value is None:
        value = "-"
    text = plain(str(value))
    return Text(text, style=STYLES.get(text, ""), overflow="fold")


def table(columns: Sequence[str], rows: Iterable[Sequence], right: Sequence[str] = ()) -> Table:
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=True)
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*[cell(each) for each in row])
    return made


def details(rows: Iterable[Sequence]) -> Table:
    """Names and values, one pair a line; pairs without a value are left out."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    made.add_column(style="bold")
    made.add_column(overflow="fold")
    for name, value in rows:
        if value is not None:
            made.add_row(Text(name), cell(value))
    return made


def show(*parts, out: Optional[Console] = None) -> None:
    out = out or console()
    for part in parts:
        out.print(part if not isinstance(part, str) else Text(plain(part)), no_wrap=False)


def show_json(schema: str, result: dict, one_line: bool = False) -> None:
    json.dump({"schema": f"cnuaslink.{schema}/1", **result}, sys.stdout, indent=None if one_line else 2)
    sys.stdout.write("\n")
    sys.stdout.flush()


def duration(seconds: float) -> str:
    """1 d 2 h, 3 min 4 s, 5.6 s"""
    if seconds < 60:
        return f"{max(seconds, 0):.1f} s"
    units = [("d", 86400), ("h", 3600), ("min", 60), ("s", 1)]
    left = int(seconds)
    parts: List[str] = []
    for name, size in units:
        if left >= size or parts:
            parts.append(f"{left // size} {name}")
            left %= size
    return " ".join(parts[:2])


def size(amount: float) -> str:
    """Bytes, in powers of 1024."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if amount < 1024 or unit == "PiB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    raise AssertionError("not reached")


def microseconds(value: Optional[float]) -> Optional[str]:
    return None if value is None else f"{value:.1f}"
