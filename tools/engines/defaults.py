"""Defaults of an engine's options: of each field of the classes named, what it is where nothing is given."""

import ast
from fnmatch import fnmatchcase

from sources import Package

REQUIRED = "(required)"
# Long enough for a value; of what is longer, the beginning.
WIDTH = 60


class Classes:
    """The fields of all classes of a package, by class and field."""

    def __init__(self, package: Package):
        self.problems: list[str] = []
        self.values: dict[str, dict[str, ast.expr | None]] = {}
        self.files: dict[str, list[str]] = {}  # The classes of each.
        for file in package.files():
            module = package.module(file)
            if module.problem:
                self.problems.append(module.problem)
            for name, node in module.definitions.items():
                if isinstance(node, ast.ClassDef) and "." not in name:
                    self.files.setdefault(file, []).append(name)
                    self.values[name] = dict(fields(node))

    def text(self, value: ast.expr | None, own: str, depth: int = 0) -> str:
        """A default in words: what makes it is looked through, down to the value."""
        if value is None:
            return REQUIRED
        if isinstance(value, ast.Call):
            called = ast.unparse(value.func).rpartition(".")[2]
            given = {word.arg: word.value for word in value.keywords}
            if called == "get_field" and len(value.args) == 2 and isinstance(value.args[1], ast.Constant):
                value = ast.Attribute(value.args[0], str(value.args[1].value), ast.Load())
            elif called in ("field", "Field"):
                if factory := given.get("default_factory"):
                    return short(ast.unparse(factory.body) if isinstance(factory, ast.Lambda) else f"{ast.unparse(factory)}()")
                return self.text(given.get("default", value.args[0] if value.args else None), own, depth)
        name = own if isinstance(value, ast.Name) else ast.unparse(value.value) if isinstance(value, ast.Attribute) else ""
        attribute = value.id if isinstance(value, ast.Name) else value.attr if isinstance(value, ast.Attribute) else ""
        if attribute in self.values.get(name, {}) and depth < 4:
            return self.text(self.values[name][attribute], name, depth + 1)
        return short(ast.unparse(value))


def short(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}..."


def fields(node: ast.ClassDef) -> list[tuple[str, ast.expr | None]]:
    return [(one.target.id, one.value) for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]


def read(package: Package, groups: dict[str, list[str]]) -> tuple[dict[str, str], list[str]]:
    """`group.field` to its default, and what could not be read."""
    classes = Classes(package)
    found = {}
    for group, patterns in groups.items():
        for pattern in patterns:
            file_pattern, _, class_pattern = pattern.partition(" ")
            for file, names in classes.files.items():
                for name in names if fnmatchcase(file, file_pattern) else ():
                    if fnmatchcase(name, class_pattern):
                        found |= {f"{group}.{one}": classes.text(value, name) for one, value in classes.values[name].items()}
    return found, classes.problems


def changes(before: dict[str, str], after: dict[str, str]) -> list[tuple[str, str | None, str | None]]:
    """Options that are new, gone (None), or have another default. An option of two groups, the first's arguments and
    the settings that they fill, is given once."""
    found, known = [], set()
    for option in [*after, *(one for one in before if one not in after)]:
        one = (option, before.get(option), after.get(option))
        same = (option.partition(".")[2], *one[1:])
        if one[1] != one[2] and same not in known:
            known.add(same)
            found.append(one)
    return found
