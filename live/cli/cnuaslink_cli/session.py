"""What all commands share: the options that name the switch, and asking it."""

import dataclasses
import functools
import inspect
import os
import sys
import typing
from typing import Callable, Optional, Type

import typer

from cnuaslink_cli import answers
from cnuaslink_cli.failures import Misused
from cnuaslink_cli.switch_socket import SwitchSocket

RUN_DIR_VARIABLE = "CNUASLINK_RUN_DIR"
DEFAULT_TIMEOUT = 5.0
LONGEST_TIMEOUT = 3600.0


def program_name() -> str:
    return os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "cnuaslink-cli"


def default_run_dir() -> str:
    return "/var/run/hilink" if program_name().startswith("hilink") else "/var/run/cnuaslink"


def _options() -> dict:
    """Name: (type, default). None: not given."""
    return {
        "run_dir": (Optional[str], typer.Option(
            None, "--run-dir", metavar="DIR", show_default=False,
            help=f"Run directory of the switch; else ${RUN_DIR_VARIABLE}, else {default_run_dir()}.")),
        "socket": (Optional[str], typer.Option(None, "--socket", metavar="PATH", show_default=False,
                                               help="Its management socket.")),
        "timeout": (Optional[float], typer.Option(
            None, "--timeout", metavar="SECONDS", show_default=False,
            help=f"For each answer; {DEFAULT_TIMEOUT:g} unless given.")),
        "wait": (Optional[float], typer.Option(
            None, "--wait", metavar="SECONDS", show_default=False, help="For the switch to be there; 0 unless given.")),
        "as_json": (Optional[bool], typer.Option(None, "--json", help="Print JSON.", show_default=False)),
    }


@dataclasses.dataclass
class Options:
    run_dir: Optional[str] = None
    socket: Optional[str] = None
    timeout: Optional[float] = None
    wait: Optional[float] = None
    as_json: Optional[bool] = None

    def refined(self, later: "Options") -> "Options":
        """Those of a command count more than those before it."""
        names_switch = later if later.run_dir is not None or later.socket is not None else self
        return Options(names_switch.run_dir, names_switch.socket,
                       self.timeout if later.timeout is None else later.timeout,
                       self.wait if later.wait is None else later.wait,
                       self.as_json or later.as_json)

    def path(self) -> str:
        if self.socket is not None and self.run_dir is not None:
            raise Misused("--socket and --run-dir both name the switch", "give one of them")
        if self.socket is not None:
            return self.socket
        run_dir = self.run_dir or os.environ.get(RUN_DIR_VARIABLE) or default_run_dir()
        return os.path.join(run_dir, "mgmt.sock")

    def seconds(self) -> float:
        if self.timeout is None:
            return DEFAULT_TIMEOUT
        if not 0 < self.timeout <= LONGEST_TIMEOUT:  # and no NaN
            raise Misused(f"--timeout is above 0 and at most {LONGEST_TIMEOUT:g} s")
        return self.timeout

    def wait_seconds(self) -> float:
        if self.wait is None:
            return 0.0
        if not 0 <= self.wait <= LONGEST_TIMEOUT:
            raise Misused(f"--wait is at least 0 and at most {LONGEST_TIMEOUT:g} s")
        return self.wait


class Session:
    """One command's connection, made when it is first needed."""

    def __init__(self, options: Options):
        self.as_json = bool(options.as_json)
        self._path, self._timeout, self._wait = options.path(), options.seconds(), options.wait_seconds()
        self._socket: Optional[SwitchSocket] = None
        self._version: Optional[answers.Version] = None

    def result(self, command: str, **fields) -> dict:
        if self._socket is None:
            self._socket = SwitchSocket(self._path, self._timeout, self._wait)
        return self._socket.request(command, **fields)

    def ask(self, model: Type[answers.Answer], command: str, **fields) -> answers.Answer:
        return answers.read(model, command, self.result(command, **fields))

    def version(self) -> answers.Version:
        if self._version is None:
            self._version = self.ask(answers.Version, "version")
        return self._version

    def own_rack(self) -> Optional[int]:
        return self.version().rack

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


def _with_options(function: Callable, parameters: dict) -> None:
    """Tells Typer of parameters that `function` takes as keywords."""
    own = inspect.signature(function)
    added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
             for name, (kind, default) in parameters.items()]
    kept = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    function.__signature__ = own.replace(parameters=kept + added)
    function.__annotations__ = {each.name: each.annotation for each in kept + added}


def root_options(app: typer.Typer, **settings) -> Callable:
    """A callback of the whole program that takes the options."""

    def register(function: Callable) -> Callable:
        def callback(context: typer.Context, **given):
            context.obj = Options(**{name: given.pop(name) for name in _options()})
            function(**given)

        callback.__doc__ = function.__doc__
        own = inspect.signature(function).parameters
        hints = typing.get_type_hints(function)
        _with_options(callback, {**{name: (hints[name], each.default) for name, each in own.items()}, **_options()})
        app.callback(**settings)(callback)
        return function

    return register


def command(app: typer.Typer, name: str) -> Callable:
    """A command `name` of `app`: function(session, ...). It takes the options too, wherever they stand."""

    def register(function: Callable) -> Callable:
        @functools.wraps(function)
        def run(context: typer.Context, **given):
            later = Options(**{each: given.pop(each) for each in _options()})
            session = Session(context.find_root().obj.refined(later))
            try:
                function(session, **given)
            finally:
                session.close()

        own = list(inspect.signature(function).parameters.values())[1:]
        hints = typing.get_type_hints(function)
        del run.__wrapped__
        run.__signature__ = inspect.Signature(
            [inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)])
        _with_options(run, {**{each.name: (hints[each.name], each.default) for each in own}, **_options()})
        app.command(name)(run)
        return function

    return register
