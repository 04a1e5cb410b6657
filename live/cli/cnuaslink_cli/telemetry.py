"""telemetry show, telemetry clear, telemetry watch"""

import time
from typing import Dict, Iterator, List, Optional, Tuple

import typer
from rich.live import Live

from cnuaslink_cli import answers
from cnuaslink_cli.failures import Misused
from cnuaslink_cli.port import PORT
from cnuaslink_cli.printing import console, duration, microseconds, show, show_json, size, table
from cnuaslink_cli.session import Session, command

app = typer.Typer(help="Counters and latencies.", no_args_is_help=True)

RATES = ("rx_frames", "tx_frames", "rx_bytes", "tx_bytes", "rx_drops", "tx_drops")
SHORTEST_INTERVAL = 0.1


def _dump(session: Session, port: Optional[int]) -> Tuple[dict, answers.Telemetry]:
    result = session.result("telemetry_dump", **({} if port is None else {"port": port}))
    return result, answers.read(answers.Telemetry, "telemetry_dump", result)


# --- show --------------------------------------------------------------------------------------------------------


def _totals(port: answers.PortTelemetry) -> List:
    return [port.port, port.rx_frames, port.tx_frames, size(port.rx_bytes), size(port.tx_bytes), port.rx_drops,
            port.tx_drops, port.collective_reduce_count, port.collective_gather_count,
            microseconds(port.latency_us_p50), microseconds(port.latency_us_p99)]


def _totals_table(ports: List[answers.PortTelemetry]):
    columns = ["PORT", "RX FRAMES", "TX FRAMES", "RX BYTES", "TX BYTES", "RX DROPS", "TX DROPS", "REDUCE", "GATHER",
               "P50 US", "P99 US"]
    return table(columns, map(_totals, ports), right=columns)


def _drops(ports: List[answers.PortTelemetry]) -> Iterator[List]:
    for port in ports:
        for side, drops in (("rx", port.rx_drops_by_reason), ("tx", port.tx_drops_by_reason)):
            for reason, by_type in drops.items():
                for kind, frames in by_type.items():
                    yield [port.port, side, reason, kind, frames]


def _types_table(ports: List[answers.PortTelemetry]):
    """A row for each port and counter, a column for each type that has been seen."""
    kinds = [kind for kind in answers.ByType.__fields__
             if any(value for port in ports for _, value in getattr(port.by_type, kind))]
    rows = [[port.port, name, *(getattr(getattr(port.by_type, kind), name) for kind in kinds)]
            for port in ports for name in answers.TypeCounters.__fields__]
    used = [row for row in rows if any(row[2:])]
    return table(["PORT", "COUNTER", *kinds], used, right=["PORT", *kinds])


@command(app, "show")
def show_counters(session: Session, port: Optional[int] = PORT,
                  types: bool = typer.Option(False, "--types", help="Every counter of each type of frame, too.")) -> None:
    """Counters since they were last cleared."""
    result, telemetry = _dump(session, port)
    if session.as_json:
        show_json("telemetry", result)
        return
    show(_totals_table(telemetry.ports))
    drops = list(_drops(telemetry.ports))
    if drops:
        show("", table(["PORT", "SIDE", "DROPPED BECAUSE", "TYPE", "FRAMES"], drops, right=["PORT", "FRAMES"]))
    if types:
        show("", _types_table(telemetry.ports))
    show("", f"counting for {duration(telemetry.counting_s)}")


# --- clear -------------------------------------------------------------------------------------------------------


@command(app, "clear")
def clear(session: Session) -> None:
    """Set all counters to zero."""
    result = session.result("telemetry_clear")
    answers.read(answers.Nothing, "telemetry_clear", result)
    if session.as_json:
        show_json("telemetry_clear", result)
    else:
        show("the counters are cleared")


# --- watch -------------------------------------------------------------------------------------------------------


def rates(before: answers.Telemetry, now: answers.Telemetry, elapsed: float) -> List[Dict]:
    """Per port and second; what was counted since the counters were cleared, when that was in between."""
    cleared = now.counting_s < before.counting_s
    span = now.counting_s if cleared else elapsed
    earlier = {} if cleared else {port.port: port for port in before.ports}
    rows = []
    for port in now.ports:
        row = {"port": port.port}
        for name in RATES:
            change = getattr(port, name) - getattr(earlier.get(port.port), name, 0)
            row[name + "_per_s"] = max(change, 0) / span if span > 0 else 0.0
        if port.latency_us_p50 is not None:
            row["latency_us_p50"], row["latency_us_p99"] = port.latency_us_p50, port.latency_us_p99
        row["queued_frames"], row["queued_bytes"] = port.queued_frames, port.queued_bytes
        rows.append(row)
    return rows


def _rate_table(rows: List[Dict]):
    columns = ["PORT", "RX FRAMES/S", "TX FRAMES/S", "RX BYTES/S", "TX BYTES/S", "DROPS/S", "QUEUED", "P50 US", "P99 US"]
    cells = [[row["port"], f"{row['rx_frames_per_s']:.0f}", f"{row['tx_frames_per_s']:.0f}",
              size(row["rx_bytes_per_s"]), size(row["tx_bytes_per_s"]),
              f"{row['rx_drops_per_s'] + row['tx_drops_per_s']:.0f}", size(row["queued_bytes"]),
              microseconds(row.get("latency_us_p50")), microseconds(row.get("latency_us_p99"))] for row in rows]
    return table(columns, cells, right=columns)


def _samples(session: Session, port: Optional[int], interval: float, count: int) -> Iterator[List[Dict]]:
    _, before = _dump(session, port)
    last = time.monotonic()
    taken = 0
    while count == 0 or taken < count:
        time.sleep(max(0.0, last + interval - time.monotonic()))
        _, now = _dump(session, port)
        moment = time.monotonic()
        yield rates(before, now, moment - last)
        before, last = now, moment
        taken += 1


def _watch_on_terminal(samples: Iterator[List[Dict]]) -> None:
    with Live(console=console(), auto_refresh=False) as live:
        for rows in samples:
            live.update(_rate_table(rows), refresh=True)


@command(app, "watch")
def watch(session: Session, port: Optional[int] = PORT,
          interval: float = typer.Option(1.0, "--interval", metavar="SECONDS", help="Between two tables."),
          count: int = typer.Option(0, "--count", min=0, help="How many tables; 0: until interrupted.")) -> None:
    """What happens each second, again and again. As JSON, a line each time."""
    if not SHORTEST_INTERVAL <= interval <= 86400:
        raise Misused(f"--interval is from {SHORTEST_INTERVAL:g} to 86400 s")
    samples = _samples(session, port, interval, count)
    try:
        if session.as_json:
            for rows in samples:
                show_json("telemetry_rates", {"ports": rows}, one_line=True)
        elif console().is_terminal:
            _watch_on_terminal(samples)
        else:
            for index, rows in enumerate(samples):
                show(*([""] if index else []), _rate_table(rows))
    except KeyboardInterrupt:  # the way to end it
        pass
