"""health, version"""

import typer

from cnuaslink_cli import answers
from cnuaslink_cli.printing import details, duration, show, show_json, table
from cnuaslink_cli.session import Session, command


def health(session: Session) -> None:
    """Whether all is well, and what is not. Exit status 1: not all is well."""
    result = session.result("health")
    answer = answers.read(answers.Health, "health", result)
    if session.as_json:
        show_json("health", result)
    else:
        show(details([("health", answer.status)]))
        if answer.findings:
            show("", table(["SEVERITY", "PORT", "FINDING", "MESSAGE"],
                           [[each.severity, each.port, each.code, each.message] for each in answer.findings],
                           right=["PORT"]))
    if answer.status != "ok":
        raise typer.Exit(1)


def version(session: Session) -> None:
    """What runs as the switch. This program's own version: --version."""
    result = session.result("version")
    answer = answers.read(answers.Version, "version", result)
    if session.as_json:
        show_json("version", result)
        return
    show(details([
        ("program", f"{answer.program} {answer.version}"),
        ("switch", answer.name),
        ("rack", "none" if answer.rack is None else answer.rack),
        ("ports", answer.ports),
        ("process", answer.pid),
        ("up for", duration(answer.uptime_s)),
        ("run directory", answer.run_dir),
        ("configuration", "none" if answer.config is None else answer.config),
        ("reloads", answer.reloads),
        ("stopping", "yes, it empties its queues" if answer.draining else None),
        ("interface", f"management {answer.api}, frames {answer.frame_version}"),
    ]))


def add_commands(app: typer.Typer) -> None:
    command(app, "health")(health)
    command(app, "version")(version)
