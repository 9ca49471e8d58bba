"""How the JSON of a result becomes the classes of _results.py."""

from __future__ import annotations

from keyword import iskeyword
from typing import Any, ClassVar, TypeVar

_NAN = float("nan")
_P = TypeVar("_P", bound="_Part")


def _read(how: str, cls: Any, value: Any) -> Any:
    if how == "float":
        return _NAN if value is None else float(value)
    if value is None or how == "plain":
        return value
    if how == "object":
        return cls._of(value)
    outer, _, inner = how.partition(":")
    if outer == "list":
        return tuple(_read(inner, cls, item) for item in value)
    return {key: _read(inner, cls, item) for key, item in value.items()}


class _Part:
    """What every part of a result can do."""

    _FIELDS: ClassVar[tuple[tuple[str, str, Any], ...]] = ()

    @classmethod
    def _of(cls: type[_P], tree: dict[str, Any]) -> _P:
        return cls(**{
            name + "_" if iskeyword(name) else name: _read(how, inner, tree[name])
            for name, how, inner in cls._FIELDS if name in tree
        })
