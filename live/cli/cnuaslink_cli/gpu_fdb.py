"""gpu-fdb show"""

from typing import List

import typer

from cnuaslink_cli import answers
from cnuaslink_cli.failures import ContractBroken
from cnuaslink_cli.printing import show, show_json, table
from cnuaslink_cli.session import Session, command

app = typer.Typer(help="Which GPU is reached by which port.", no_args_is_help=True)


def all_entries(session: Session) -> List[dict]:
    """The whole table, page by page, as it came. It may change meanwhile; no GPU comes twice."""
    entries: List[dict] = []
    after = 0
    while True:
        result = session.result("gpu_fdb_dump", **({"after": after} if after else {}))
        page = answers.read(answers.FdbPage, "gpu_fdb_dump", result)
        entries += result["entries"]
        if page.next is None:
            return entries
        if page.next.id <= after:
            raise ContractBroken("the answer to gpu_fdb_dump goes on where it was before")
        after = page.next.id


def parsed(entries: List[dict]) -> List[answers.FdbEntry]:
    return [answers.FdbEntry.parse_obj(each) for each in entries]


@command(app, "show")
def show_table(session: Session) -> None:
    """The forwarding database."""
    entries = all_entries(session)
    if session.as_json:
        show_json("gpu_fdb", {"size": len(entries), "entries": entries})
        return
    if not entries:
        show("no GPU is known")
        return
    show(table(["GPU", "ID", "PORT", "ROLE", "ORIGIN"],
               [[each.gpu.name, f"0x{each.gpu.id:04X}", each.port, each.role, each.origin]
                for each in parsed(entries)], right=["PORT"]))
