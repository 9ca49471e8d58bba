"""Functions of a Python package by name, and their hashes, which formatting, comments and docstrings leave alone."""

import ast
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Iterator


FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
# Functions of so many lines are alike by chance.
SHORT = 3


@dataclass(frozen=True)
class Place:
    """A function, a class or a constant: `v1/core/block_pool.py BlockPool.free_blocks`."""

    file: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "Place":
        file, _, name = text.partition(" ")
        return cls(file, name)

    def __str__(self) -> str:
        return f"{self.file} {self.name}"


def own_name(place: Place) -> str:
    """The last part of a name. A function that becomes public loses its underscore."""
    return place.name.rpartition(".")[2].removeprefix("_")


@dataclass(frozen=True)
class Module:
    """One file: its definitions by qualified name, or why it cannot be read."""

    definitions: dict[str, ast.stmt]
    problem: str | None = None


def definitions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """What a module or a class defines, branches of `if` and `try` included. Of several with one name the last counts."""
    for node in body:
        if isinstance(node, FUNCTION):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            yield from definitions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from ((prefix + target.id, node) for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, (ast.If, ast.Try)):
            for part in (node.body, node.orelse, getattr(node, "finalbody", [])):
                yield from definitions(part, prefix)


class Undocumented(ast.NodeTransformer):
    """Takes docstrings out, those of fields too."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(body, list):
            is_text = [isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str) for one in body]
            node.body = [one for one, text in zip(body, is_text) if not text] or [ast.Pass()]
        return node


def canonical(node: object, left_out: tuple[str, ...] = ()) -> str:
    """A syntax tree as text that is the same in every version of Python: empty parts and marks of the reader are left out."""
    if isinstance(node, ast.AST):
        parts = (f"{name}={canonical(value)}" for name, value in ast.iter_fields(node)
                 if name not in ("ctx", "kind", "type_comment", *left_out) and value is not None and value != [])
        return f"{type(node).__name__}({','.join(parts)})"
    if isinstance(node, list):
        return f"[{','.join(map(canonical, node))}]"
    return repr(node)


def digest(node: ast.stmt) -> str:
    """Of a definition without its name, so that a new name is seen as one. 12 digits are enough for some hundred."""
    return hashlib.sha256(canonical(node, ("name", "target", "targets")).encode()).hexdigest()[:12]


class Package:
    """An unpacked package. Definitions come without their docstrings."""

    def __init__(self, folder: Path):
        self.folder = folder

    @cache
    def module(self, file: str) -> Module:
        path = self.folder / file
        if not path.is_file():
            return Module({})
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError) as error:
            return Module({}, f"{file}: {error}")
        return Module(dict(definitions(Undocumented().visit(tree).body)))

    def files(self) -> list[str]:
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.py"))

    def node(self, place: Place) -> ast.stmt | None:
        return self.module(place.file).definitions.get(place.name)

    @cache
    def digest(self, place: Place) -> str | None:
        node = self.node(place)
        return None if node is None else digest(node)

    def text(self, place: Place) -> list[str]:
        node = self.node(place)
        return [] if node is None else ast.unparse(node).splitlines()

    def moved(self, place: Place, known: str | None) -> Place | None:
        """Where what is not at its place stands now: by its qualified name, by its own name, or by its hash, in this
        order; where several have the name, the one with the hash."""
        own = own_name(place)
        same_own = [] if own.endswith("__") else [one for one in self._functions() if own_name(one) == own]
        for candidates in (self._names().get(place.name, []), same_own):
            alike = [one for one in candidates if known and self.digest(one) == known]
            if len(alike or candidates) == 1:
                return (alike or candidates)[0]
        alike = [one for one in self._functions() if known and self.digest(one) == known and len(self.text(one)) > SHORT]
        return alike[0] if len(alike) == 1 else None

    @cache
    def _names(self) -> dict[str, list[Place]]:
        found: dict[str, list[Place]] = {}
        for file in self.files():
            for name in self.module(file).definitions:
                found.setdefault(name, []).append(Place(file, name))
        return found

    @cache
    def _functions(self) -> list[Place]:
        return [place for places in self._names().values() for place in places if isinstance(self.node(place), FUNCTION)]
