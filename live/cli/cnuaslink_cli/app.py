"""The command line as a whole: all commands, and what the exit status says."""

import os
import sys
import traceback

import click
import typer
from typer import rich_utils
from typer.main import get_command

from cnuaslink_cli import gpu_fdb, group, health, peer, port, telemetry
from cnuaslink_cli.failures import INTERNAL, UNREACHABLE, USAGE, Failure
from cnuaslink_cli.printing import plain
from cnuaslink_cli.session import program_name, root_options

EXIT_STATUS = """Exit status: 0 well; 1 the switch refused, or is not well; 2 wrong usage; 4 the switch cannot be reached;
70 an error in one of the two programs."""


def make_app(own_version: str) -> typer.Typer:
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False,
                      context_settings={"help_option_names": ["-h", "--help"]})

    def print_version(wanted: bool) -> None:
        if wanted:
            print(f"{program_name()} {own_version}")
            raise typer.Exit()

    @root_options(app, epilog=EXIT_STATUS)
    def root(version: bool = typer.Option(False, "--version", callback=print_version, is_eager=True,
                                          help="Print this program's version.")) -> None:
        """Ask a CnuasLink switch, and tell it what to do."""

    app.add_typer(port.app, name="port")
    app.add_typer(gpu_fdb.app, name="gpu-fdb")
    app.add_typer(group.app, name="group")
    app.add_typer(telemetry.app, name="telemetry")
    peer.add_commands(app)
    health.add_commands(app)
    return app


def complain(message: str, hint: str = "") -> None:
    print(f"error: {plain(message)}", file=sys.stderr)
    if hint:
        print(f"help: {plain(hint)}", file=sys.stderr)


def run(own_version: str) -> int:
    """The exit status."""
    try:
        status = get_command(make_app(own_version)).main(prog_name=program_name(), standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except Failure as failure:
        complain(failure.message, failure.hint)
        return failure.status
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        rich_utils.rich_format_error(error)
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:  # whoever reads has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        complain(f"cannot write: {error.strerror}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREACHABLE
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        complain("an error in this program, see above")
        return INTERNAL


def main(own_version: str) -> None:
    sys.stdout.reconfigure(errors="replace")
    sys.stderr.reconfigure(errors="replace")
    sys.exit(run(own_version))
