"""Requests to a switch and their answers, as docs/management.md describes them."""

import errno
import json
import os
import pwd
import socket
import time

from cnuaslink_cli.failures import ContractBroken, Refused, Unreachable

LONGEST_ANSWER = 1024 * 1024
LONGEST_PATH = 107
NOT_THERE_YET = (errno.ENOENT, errno.ECONNREFUSED)
WAIT_STEP = 0.05  # seconds
NOT_LET_IN = ("busy", "denied")  # before the request was looked at


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _why_unreachable(path: str, error: OSError) -> Unreachable:
    if error.errno == errno.ENOENT:
        return Unreachable(f"no switch runs here: {path} does not exist", "name its directory with --run-dir")
    if error.errno == errno.ECONNREFUSED:
        return Unreachable(f"no switch runs here any more: nobody listens on {path}")
    if error.errno == errno.EACCES:
        return Unreachable(f"user {_user()} may not open {path}", "the switch's user and group may")
    if error.errno == errno.EAGAIN:
        return Unreachable(f"the switch does not accept connections in time on {path}")
    return Unreachable(f"cannot connect to {path}: {error.strerror or error}")


def _connect(path: str, timeout: float) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(timeout)
        made.connect(path)
        return made
    except BaseException:
        made.close()
        raise


class SwitchSocket:
    """One connection. `timeout` is for each request and its answer, `wait` for the switch to be there at all; both in
    seconds."""

    def __init__(self, path: str, timeout: float, wait: float = 0.0):
        self.path, self.timeout = path, timeout
        self._deadline = time.monotonic() + timeout
        self._received = bytearray()
        self._next_id = 1
        if len(os.fsencode(path)) > LONGEST_PATH:
            raise Unreachable(f"the path of a socket has at most {LONGEST_PATH} bytes: {path}")
        self._socket = self._connect_in_time(time.monotonic() + wait)

    def _connect_in_time(self, limit: float) -> socket.socket:
        while True:
            try:
                return _connect(self.path, self.timeout)
            except socket.timeout:
                raise self._too_late() from None
            except ValueError:  # a NUL in the path
                raise Unreachable(f"not a path: {self.path!r}") from None
            except OSError as error:
                if error.errno not in NOT_THERE_YET or time.monotonic() >= limit:
                    raise _why_unreachable(self.path, error) from None
            time.sleep(WAIT_STEP)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> "SwitchSocket":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def request(self, command: str, **fields) -> dict:
        """The `result` of the answer."""
        self._deadline = time.monotonic() + self.timeout
        number = self._next_id
        self._next_id += 1
        line = json.dumps({"command": command, "id": number, **fields}) + "\n"
        try:
            self._wait_no_longer()
            self._socket.sendall(line.encode())
        except socket.timeout:
            raise self._too_late() from None
        except OSError:
            pass  # what it said before it closed the connection is worth reading
        return self._result(self._read_line(), number)

    def _too_late(self) -> Unreachable:
        return Unreachable(f"the switch at {self.path} does not answer within {self.timeout:g} s")

    def _wait_no_longer(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise self._too_late()
        self._socket.settimeout(left)

    def _read_line(self) -> bytes:
        while b"\n" not in self._received:
            if len(self._received) > LONGEST_ANSWER:
                raise ContractBroken("the answer is longer than the 1 MiB that an answer may have")
            self._wait_no_longer()
            try:
                got = self._socket.recv(65536)
            except socket.timeout:
                raise self._too_late() from None
            except OSError as error:
                raise Unreachable(f"the switch at {self.path} has gone: {error.strerror}") from None
            if not got:
                raise Unreachable(f"the switch at {self.path} closed the connection without an answer")
            self._received += got
        line, _, rest = bytes(self._received).partition(b"\n")
        self._received = bytearray(rest)
        return line

    def _result(self, line: bytes, number: int) -> dict:
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            raise ContractBroken(f"the answer is not JSON: {line[:80]!r}") from None
        if not isinstance(answer, dict) or not isinstance(answer.get("ok"), bool):
            raise ContractBroken(f"the answer has no 'ok' that is true or false: {line[:80]!r}")
        if not answer["ok"]:
            raise self._refusal(answer)
        if answer.get("id") != number:
            raise ContractBroken(f"the answer is to request {answer.get('id')!r}, not {number}")
        if not isinstance(answer.get("result"), dict):
            raise ContractBroken("the answer has no 'result' that is an object")
        return answer["result"]

    def _refusal(self, answer: dict) -> Exception:
        error = answer.get("error")
        if not isinstance(error, dict) or not all(isinstance(error.get(each), str) for each in ("code", "message")):
            return ContractBroken("the answer has no 'error' with 'code' and 'message'")
        if error["code"] in NOT_LET_IN:
            return Unreachable(f"{error['message']} ({error['code']})")
        return Refused(error["code"], error["message"])
