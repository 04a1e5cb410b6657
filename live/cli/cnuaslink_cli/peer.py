"""peer, topo"""

from typing import Dict, List, NamedTuple

import typer

from cnuaslink_cli import answers
from cnuaslink_cli.gpu_fdb import all_entries, parsed
from cnuaslink_cli.gpu_names import parse_gpu
from cnuaslink_cli.printing import details, show, show_json, size, table
from cnuaslink_cli.session import Session, command

MOST_SHOWN = 64  # columns that a terminal may still have

LEGEND = {
    "X": "Self",
    "SW": "By this switch alone",
    "IS": "By this switch and a link to another switch",
    "N/A": "Not by this switch: not connected, taken down, or both behind the same link",
}


# --- peer --------------------------------------------------------------------------------------------------------


def _place(peer: answers.PeerPlace) -> str:
    name = f"GPU {peer.gpu.name}"
    if peer.port is None:
        return f"{name}, not reached"
    return f"{name}, {'behind a link to another switch, ' if peer.place == 'remote' else ''}port {peer.port}"


def peer(session: Session,
         a: str = typer.Argument(..., metavar="A", show_default=False, help="A GPU: 1/3, 0x0103, or a slot."),
         b: str = typer.Argument(..., metavar="B", show_default=False, help="Another.")) -> None:
    """How two GPUs reach each other. Exit status 1: they do not."""
    result = session.result("peer_query", a=parse_gpu(a, session.own_rack), b=parse_gpu(b, session.own_rack))
    route = answers.read(answers.PeerRoute, "peer_query", result)
    if session.as_json:
        show_json("peer", result)
    else:
        region = None if route.region_bytes is None else size(route.region_bytes)
        show(details([("transport", route.transport), ("because", route.reason), ("from", _place(route.a)),
                      ("to", _place(route.b)), ("ivshmem socket", route.ivshmem_socket), ("region", region)]))
    if route.transport == "none":
        raise typer.Exit(1)


# --- topo --------------------------------------------------------------------------------------------------------


class Place(NamedTuple):
    gpu: answers.Gpu
    port: int
    reached: bool  # by this port; else it is expected there
    remote: bool   # behind another switch
    state: str     # of the port


def places(ports: List[answers.Port], entries: List[answers.FdbEntry]) -> List[Place]:
    """All GPUs that the switch knows or expects, by ID."""
    states = {port.port: port.state for port in ports}
    found: Dict[int, Place] = {}
    for entry in entries:
        found[entry.gpu.id] = Place(entry.gpu, entry.port, True, entry.role == "inter_switch",
                                    states.get(entry.port, "up"))
    for port in ports:
        if port.expected is not None and port.expected.id not in found:
            found[port.expected.id] = Place(port.expected, port.port, False, False, port.state)
    return [found[each] for each in sorted(found)]


def symbol(row: Place, column: Place) -> str:
    if row.gpu.id == column.gpu.id:
        return "X"
    if not row.reached or not column.reached or row.port == column.port:
        return "N/A"
    return "IS" if row.remote or column.remote else "SW"


def topo(session: Session) -> None:
    """A matrix of how GPUs reach each other."""
    ports = session.ask(answers.PortStatus, "port_status").ports
    known = places(ports, parsed(all_entries(session)))
    shown = known[:MOST_SHOWN]
    matrix = [[symbol(row, column) for column in shown] for row in shown]
    if session.as_json:
        gpus = [{"gpu": each.gpu.dict(), "port": each.port, "place": "remote" if each.remote else "local",
                 "state": each.state, "reached": each.reached} for each in shown]
        show_json("topo", {"size": len(known), "gpus": gpus, "matrix": matrix, "legend": LEGEND})
        return
    if not known:
        show("no GPU is known or expected")
        return
    names = ["GPU" + each.gpu.name for each in shown]
    rows = [[name, *symbols, each.port, each.state] for name, symbols, each in zip(names, matrix, shown)]
    show(table(["", *names, "PORT", "STATE"], rows, right=["PORT"]))
    if len(known) > len(shown):
        show("", f"{len(known) - len(shown)} more GPUs are known: see gpu-fdb show")
    show("", "Legend:", "", *(f"  {each:<4} = {meaning}" for each, meaning in LEGEND.items()))


def add_commands(app: typer.Typer) -> None:
    command(app, "peer")(peer)
    command(app, "topo")(topo)
