"""group create, group show, group delete"""

from typing import List

import typer

from cnuaslink_cli import answers
from cnuaslink_cli.failures import ContractBroken
from cnuaslink_cli.gpu_names import parse_gpus
from cnuaslink_cli.printing import show, show_json, table
from cnuaslink_cli.session import Session, command

app = typer.Typer(help="Groups of GPUs, which collectives run over.", no_args_is_help=True)


def _members(group: answers.Group) -> str:
    return ", ".join(each.name for each in group.members)


def all_groups(session: Session) -> List[dict]:
    groups: List[dict] = []
    after = 0
    while True:
        result = session.result("group_dump", **({"after": after} if after else {}))
        page = answers.read(answers.GroupPage, "group_dump", result)
        groups += result["groups"]
        if page.next is None:
            return groups
        if page.next <= after:
            raise ContractBroken("the answer to group_dump goes on where it was before")
        after = page.next


@command(app, "create")
def create(session: Session,
           name: str = typer.Option(..., "--name", help="At most 64 bytes, not of digits alone.", show_default=False),
           gpus: str = typer.Option(
               ..., "--gpus", metavar="LIST", show_default=False,
               help="In rank order, with commas between: 0,1,2 are slots of this switch's rack, 1/3 and 0x0103 any GPU's "
                    "ID.")) -> None:
    """Make a group."""
    result = session.result("group_create", name=name, gpus=parse_gpus(gpus, session.own_rack))
    group = answers.read(answers.OneGroup, "group_create", result).group
    if session.as_json:
        show_json("group_create", result)
    else:
        show(f"group {group.id} '{group.name}': {_members(group)}")


@command(app, "show")
def show_groups(session: Session) -> None:
    """All groups."""
    groups = all_groups(session)
    if session.as_json:
        show_json("groups", {"size": len(groups), "groups": groups})
    elif not groups:
        show("there are no groups")
    else:
        parsed = [answers.Group.parse_obj(each) for each in groups]
        show(table(["ID", "NAME", "GPUS", "MEMBERS IN RANK ORDER"],
                   [[each.id, each.name, len(each.members), _members(each)] for each in parsed], right=["ID", "GPUS"]))


@command(app, "delete")
def delete(session: Session, group: str = typer.Argument(..., metavar="NAME|ID", show_default=False)) -> None:
    """Delete a group."""
    by_id = group.isascii() and group.isdigit()
    result = session.result("group_delete", group=int(group) if by_id else group)
    gone = answers.read(answers.OneGroup, "group_delete", result).group
    if session.as_json:
        show_json("group_delete", result)
    else:
        show(f"group {gone.id} '{gone.name}' is deleted")
