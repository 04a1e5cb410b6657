"""port status, port set"""

import enum
from typing import List, Optional

import typer

from cnuaslink_cli import answers
from cnuaslink_cli.printing import details, duration, microseconds, show, show_json, size, table
from cnuaslink_cli.session import Session, command

app = typer.Typer(help="Ports: their state, and taking them down and up.", no_args_is_help=True)


class WantedState(str, enum.Enum):
    up = "up"
    down = "down"


def gpu_name(gpu: Optional[answers.Gpu]) -> Optional[str]:
    return None if gpu is None else gpu.name


def _summary(port: answers.Port) -> List:
    counters = port.counters
    return [port.port, port.role, port.state, port.presence, gpu_name(port.gpu or port.expected),
            counters.rx_frames, counters.tx_frames, counters.rx_drops + counters.tx_drops, size(port.queued_bytes),
            None if port.peer is None else port.peer.pid]


def port_table(ports: List[answers.Port]):
    numbers = ["PORT", "RX FRAMES", "TX FRAMES", "DROPS", "QUEUED", "PID"]
    return table(["PORT", "ROLE", "STATE", "PRESENCE", "GPU", "RX FRAMES", "TX FRAMES", "DROPS", "QUEUED", "PID"],
                 map(_summary, ports), right=numbers)


def _peer(port: answers.Port) -> Optional[str]:
    if port.peer is None:
        return None
    peer = port.peer
    return f"process {peer.pid} of user {peer.uid}, group {peer.gid}, for {duration(peer.connected_s)}"


def _gpu_with_id(gpu: Optional[answers.Gpu]) -> Optional[str]:
    return None if gpu is None else f"{gpu.name} (0x{gpu.id:04X})"


def port_details(port: answers.Port):
    counters = port.counters
    p50, p99 = microseconds(counters.latency_us_p50), microseconds(counters.latency_us_p99)
    return details([
        ("port", port.port),
        ("role", port.role),
        ("state", port.state),
        ("presence", port.presence),
        ("GPU", _gpu_with_id(port.gpu)),
        ("expected GPU", _gpu_with_id(port.expected)),
        ("connected", _peer(port)),
        ("listens on", port.socket),
        ("dials", port.dials),
        ("byte order", port.byte_order),
        ("queue", f"{port.queued_frames} frames, {size(port.queued_bytes)} of {size(port.queue_bytes)}"),
        ("reading", "paused: a queue it sends to is full" if port.ingress_paused else "yes"),
        ("received", f"{counters.rx_frames} frames, {size(counters.rx_bytes)}, {counters.rx_drops} dropped"),
        ("sent", f"{counters.tx_frames} frames, {size(counters.tx_bytes)}, {counters.tx_drops} dropped"),
        ("latency", None if p50 is None else f"p50 {p50} us, p99 {p99} us"),
        ("connections", f"{port.connections} since the start; turned away: {port.refused_busy} because one was there, "
                        f"{port.refused_identity} for their user"),
    ])


PORT = typer.Argument(None, metavar="[N]", min=0, help="Only this port.", show_default=False)


@command(app, "status")
def status(session: Session, port: Optional[int] = PORT) -> None:
    """State of all ports, or one port in detail."""
    fields = {} if port is None else {"port": port}
    result = session.result("port_status", **fields)
    ports = answers.read(answers.PortStatus, "port_status", result).ports
    if session.as_json:
        show_json("port_status", result)
    elif port is None:
        show(port_table(ports))
    else:
        for each in ports:
            show(port_details(each))


@command(app, "set")
def set_state(session: Session,
              port: int = typer.Argument(..., metavar="N", min=0, show_default=False),
              state: WantedState = typer.Argument(..., metavar="up|down", show_default=False)) -> None:
    """Take a port down, or up again. Its endpoint stays connected."""
    result = session.result("set_link_state", port=port, state=state.value)
    answer = answers.read(answers.LinkState, "set_link_state", result)
    if session.as_json:
        show_json("set_link_state", result)
        return
    words = {("down", True): "is taken down", ("down", False): "was taken down already",
             ("up", True): "is up again", ("up", False): "was not taken down"}
    show(f"port {answer.status.port} {words[state.value, answer.changed]}; its state: {answer.status.state}")
