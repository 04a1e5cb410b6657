"""What can go wrong, and the exit status that says so."""

REFUSED = 1  # the switch refused the request, or is not well
USAGE = 2
UNREACHABLE = 4
INTERNAL = 70


class Failure(Exception):
    """Ends the command: one sentence for people, and an exit status for programs."""

    def __init__(self, message: str, status: int, hint: str = ""):
        super().__init__(message)
        self.message, self.status, self.hint = message, status, hint


class Unreachable(Failure):
    def __init__(self, message: str, hint: str = ""):
        super().__init__(message, UNREACHABLE, hint)


class Refused(Failure):
    """An answer with `ok` false."""

    def __init__(self, code: str, message: str):
        super().__init__(f"{message} ({code})", REFUSED)
        self.code = code


class Misused(Failure):
    def __init__(self, message: str, hint: str = ""):
        super().__init__(message, USAGE, hint)


class ContractBroken(Failure):
    """The switch says something else than its management interface allows."""

    def __init__(self, message: str):
        super().__init__(message, INTERNAL, "the switch and this program may be of different versions")
