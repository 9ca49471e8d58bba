"""What can go wrong, as exceptions."""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class Problem(NamedTuple):
    """One of the things that are wrong with a call: the field, what was found and expected, and what would mend it.

    >>> try:
    ...     rl.run(model="llama-3.1-8b", gpu="h200x")
    ... except rl.ConfigError as error:
    ...     error.errors[0].field
    'gpu'
    """

    field: str
    message: str
    hint: str
    file: str = ""
    line: int = 0
    column: int = 0
    code: str = "usage"

    def __str__(self) -> str:
        place = self.file + (f":{self.line}:{self.column}" if self.file and self.line else "")
        text = ": ".join(part for part in (place, self.field, self.message) if part)
        return text + (f" (hint: {self.hint})" if self.hint else "")


class Error(Exception):
    """What the library says of a call without a result; `errors` holds every problem.

    >>> issubclass(rl.ConfigError, rl.Error)
    True
    """

    def __init__(self, errors: tuple[Problem, ...]) -> None:
        super().__init__(errors)
        self.errors = errors

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.errors)


class ConfigError(Error, ValueError):
    """A wrong value, a name that is not known, settings that contradict each other.

    >>> issubclass(rl.ConfigError, ValueError)
    True
    """


class Infeasible(Error):
    """A network that does not fit, or a run in which no request got an answer; then `result` holds the run.

    >>> try:
    ...     rl.explain(model="llama-3.1-405b", gpu="l40s")
    ... except rl.Infeasible as error:
    ...     error.errors[0].code
    'infeasible'
    """

    result: Any = None


class InternalError(Error):
    """A fault of the library; the next call starts afresh.

    >>> issubclass(rl.InternalError, rl.Error)
    True
    """


class ResultWarning(UserWarning):
    """A warning of a result (`Result.warnings`), as Python's `warnings` gets it.

    >>> issubclass(rl.ResultWarning, UserWarning)
    True
    """


_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)")


def as_keywords(text: str) -> str:
    """Flags of the command line as keywords.

    >>> as_keywords("--max-num-seqs 4 is too small")
    'max_num_seqs 4 is too small'
    """
    return _FLAG.sub(lambda match: match[1].replace("-", "_"), text)


def problems_of(tree: dict[str, Any]) -> tuple[Problem, ...]:
    """The problems in the JSON of a call without a result."""
    return tuple(
        Problem(
            field=as_keywords(error["field"]),
            message=as_keywords(error["message"]),
            hint=as_keywords(error["hint"]),
            file=error["file"],
            line=error["line"],
            column=error["column"],
            code=error["code"],
        )
        for error in tree["errors"]
    )
