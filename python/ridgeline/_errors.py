"""What can go wrong, as exceptions."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` and `re` would be most of the time that `import ridgeline` takes.
if TYPE_CHECKING:
    from typing import Any


class Problem:
    """One of the things that are wrong with a call: the field, what was found and expected, and what would mend it.

    >>> try:
    ...     rl.run(model="llama-3.1-8b", gpu="h200x")
    ... except rl.ConfigError as error:
    ...     error.errors[0].field
    'gpu'
    """

    __slots__ = ("field", "message", "hint", "file", "line", "column", "code")

    def __init__(
        self,
        field: str,
        message: str,
        hint: str,
        file: str = "",
        line: int = 0,
        column: int = 0,
        code: str = "usage",
    ) -> None:
        self.field = field
        self.message = message
        self.hint = hint
        self.file = file
        self.line = line
        self.column = column
        self.code = code

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and all(getattr(self, s) == getattr(other, s) for s in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.field, self.message))

    def __repr__(self) -> str:
        return f"Problem(field={self.field!r}, message={self.message!r}, hint={self.hint!r})"

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


_FLAG = r"(?<![\w-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)"


def as_keywords(text: str) -> str:
    """Flags of the command line as keywords.

    >>> as_keywords("--max-num-seqs 4 is too small")
    'max_num_seqs 4 is too small'
    """
    import re

    return re.sub(_FLAG, lambda match: match[1].replace("-", "_"), text)


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
