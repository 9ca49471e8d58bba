"""The C interface (ridgeline.h) by ctypes: loading it, its structs, and one call."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any, Callable

from ._errors import InternalError, Problem

ABI = 2  # RL_ABI of the header that the structs below repeat.

INT32, INT64, FLOAT64, WORD = 1, 2, 3, 4

ProgressHook = CFUNCTYPE(None, c_void_p, c_void_p)
PolicyHook = CFUNCTYPE(None, c_void_p, c_void_p)


class Column(Structure):
    """rl_column"""

    _fields_ = [
        ("name", c_char_p),
        ("unit", c_char_p),
        ("type", c_int),
        ("data", c_void_p),
        ("words", POINTER(c_char_p)),
        ("num_words", c_size_t),
    ]


class Columns(Structure):
    """rl_columns"""

    _fields_ = [
        ("size", c_size_t),
        ("rows", c_int64),
        ("num_columns", c_size_t),
        ("column_size", c_size_t),
        ("columns", c_void_p),
    ]


class ProgressStruct(Structure):
    """rl_progress"""

    _fields_ = [("size", c_size_t), ("simulated_s", c_double), ("done", c_int64), ("total", c_int64)]


class PythonStruct(Structure):
    """rl_python"""

    _fields_ = [
        ("size", c_size_t),
        ("ensure", c_void_p),
        ("release", c_void_p),
        ("check_signals", c_void_p),
        ("fetch", c_void_p),
        ("raised", c_void_p * 3),
    ]


class Hooks(Structure):
    """rl_hooks"""

    _fields_ = [
        ("size", c_size_t),
        ("user", c_void_p),
        ("interrupt", POINTER(c_int)),
        ("progress", ProgressHook),
        ("poll", c_void_p),
        ("python", POINTER(PythonStruct)),
        ("route", PolicyHook),
        ("router_reads_cache", c_int),
        ("model_reads_lengths", c_int),
        ("predict", PolicyHook),
        ("affine", PolicyHook),
        ("scale", PolicyHook),
    ]


def _library_error(message: str, hint: str) -> InternalError:
    return InternalError((Problem("library", message, hint, code="internal"),))


def _path() -> Path:
    given = os.environ.get("RIDGELINE_LIBRARY")
    if given:
        return Path(given)
    return Path(__file__).resolve().parent / "_lib" / f"libridgeline.so.{ABI}"


def _load() -> ctypes.CDLL:
    path = _path()
    try:
        library = ctypes.CDLL(str(path))
    except OSError as problem:
        raise _library_error(
            f"cannot load {path}: {problem}", "install the wheel, or set RIDGELINE_LIBRARY to libridgeline.so"
        ) from None
    library.rl_version.restype = c_char_p
    from . import __version__

    found = library.rl_version().decode()
    if library.rl_abi() != ABI or found != __version__:
        raise _library_error(
            f"{path} is version {found} (ABI {library.rl_abi()}), and this package {__version__} (ABI {ABI})",
            "install the package and the library of one version",
        )
    library.rl_call.argtypes = [c_char_p, c_char_p, c_size_t, POINTER(Hooks), POINTER(c_void_p)]
    library.rl_json.argtypes = [c_void_p, POINTER(c_size_t)]
    library.rl_json.restype = c_void_p
    library.rl_free.argtypes = [c_void_p]
    library.rl_free.restype = None
    library.rl_table.argtypes = [c_void_p, c_char_p, POINTER(Columns)]
    library.rl_arrow_new.argtypes = [c_void_p, c_char_p]
    library.rl_arrow_new.restype = c_void_p
    library.rl_session_open.argtypes = [c_char_p, c_size_t, POINTER(Hooks), POINTER(c_void_p), POINTER(c_void_p)]
    library.rl_session_call.argtypes = [c_void_p, c_char_p, c_char_p, c_size_t, POINTER(c_void_p)]
    library.rl_session_free.argtypes = [c_void_p]
    library.rl_session_free.restype = None
    for name in ("rl_figure", "rl_report"):
        function = getattr(library, name)
        function.argtypes = [c_void_p, c_char_p, POINTER(c_size_t)]
        function.restype = c_void_p
    return library


_loaded: ctypes.CDLL | None = None
_lock = threading.Lock()


def library() -> ctypes.CDLL:
    """The shared library, loaded at the first call."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                _loaded = _load()
    return _loaded


def _address(name: str) -> int | None:
    return ctypes.cast(ctypes.pythonapi[name], c_void_p).value


def _python() -> PythonStruct:
    return PythonStruct(
        size=ctypes.sizeof(PythonStruct),
        ensure=_address("PyGILState_Ensure"),
        release=_address("PyGILState_Release"),
        check_signals=_address("PyErr_CheckSignals"),
        fetch=_address("PyErr_Fetch"),
    )


class Handle:
    """A result of the library, freed with the last view of it."""

    __slots__ = ("pointer", "_free", "__weakref__")

    def __init__(self, pointer: c_void_p) -> None:
        self.pointer = pointer
        self._free = library().rl_free

    def __del__(self) -> None:
        self._free(self.pointer)

    def json(self) -> bytes:
        """The result, or the errors."""
        return _text(library().rl_json, self.pointer) or b""

    def figure(self, name: str) -> bytes | None:
        """A figure as SVG; with an empty name the list of figures."""
        return _text(library().rl_figure, self.pointer, name.encode())

    def report(self, name: str) -> bytes | None:
        """The result in a format."""
        return _text(library().rl_report, self.pointer, name.encode())

    def table(self, name: str) -> Columns | None:
        """A table, where it was kept."""
        table = Columns(size=ctypes.sizeof(Columns))
        return table if library().rl_table(self.pointer, name.encode(), byref(table)) == 0 else None

    def arrow_capsule(self, name: str) -> Any:
        """A PyCapsule of an Arrow stream. Its destructor is a function of the library, so that one that nothing
        consumes is freed even while the interpreter ends."""
        stream = library().rl_arrow_new(self.pointer, name.encode())
        if not stream:
            raise MemoryError
        new = ctypes.pythonapi["PyCapsule_New"]
        new.restype = ctypes.py_object
        new.argtypes = [c_void_p, c_char_p, c_void_p]
        return new(stream, _CAPSULE_NAME, ctypes.cast(library().rl_arrow_capsule_free, c_void_p))


_CAPSULE_NAME = b"arrow_array_stream"  # The capsule keeps the pointer: it lives as long as the module.


def _text(function: Any, *arguments: Any) -> bytes | None:
    size = c_size_t()
    found = function(*arguments, byref(size))
    return ctypes.string_at(found, size.value) if found else None


class Policies:
    """The hooks of policies written in Python, and what one of them raised."""

    def __init__(self) -> None:
        self.raised: BaseException | None = None
        self.hooks: dict[str, Any] = {}  # Fields of Hooks.
        self.functions: list[Any] = []

    def add(self, field: str, function: Callable[[int], None]) -> None:
        """`function` gets the address of the hook's struct."""

        def guarded(_user: int | None, address: int) -> None:
            try:
                function(address)
            except BaseException as problem:
                self.raised = self.raised or problem

        self.hooks[field] = PolicyHook(guarded)
        self.functions.append(guarded)

    def heard(self, unraisable: Any) -> bool:
        """Takes what left a hook before its `try` was entered, as an interrupt may."""
        if unraisable.object in self.functions or unraisable.object in self.hooks.values():
            self.raised = self.raised or unraisable.exc_value
            return True
        return False


class _Unraisable:
    """Hears what leaves a hook, for as long as a call with policies goes on."""

    def __init__(self, policies: Policies) -> None:
        self.policies = policies

    def __enter__(self) -> None:
        self.before = sys.unraisablehook

        def hook(unraisable: Any) -> None:
            if not self.policies.heard(unraisable):
                self.before(unraisable)

        sys.unraisablehook = hook

    def __exit__(self, *_: object) -> None:
        sys.unraisablehook = self.before


def call(
    verb: str,
    json: bytes,
    progress: Callable[[float, int, int], None] | None = None,
    policies: Policies | None = None,
    on_thread: bool = False,
) -> tuple[int, Handle, BaseException | None]:
    """One call: the exit code, the result, and what a signal handler, a policy or the progress function raised.
    `on_thread`: the work is done by threads of its own, and this one waits for it and for signals."""
    own = policies or Policies()
    flag = c_int(0)
    hooks = Hooks(size=ctypes.sizeof(Hooks), interrupt=ctypes.pointer(flag), **own.hooks)
    python = _python()
    if not on_thread:
        hooks.python = ctypes.pointer(python)
    raised: list[BaseException] = []
    if progress is not None:
        hear = progress

        def on_progress(_user: int | None, address: int) -> None:
            try:
                at = ProgressStruct.from_address(address)
                hear(at.simulated_s, at.done, at.total)
            except BaseException as problem:
                raised.append(problem)
                flag.value = 1

        hooks.progress = ProgressHook(on_progress)
    out = c_void_p()
    run = library().rl_call
    arguments = (verb.encode(), json, len(json), byref(hooks), byref(out))
    if on_thread:
        code = _call_beside(run, arguments, flag, raised)
    elif own.hooks:
        with _Unraisable(own):
            code = run(*arguments)
    else:
        code = run(*arguments)
    if python.raised[0] or python.raised[1]:
        raised.append(_restored(python))
    if own.raised is not None:
        raised.append(own.raised)
    if not out.value:
        raise MemoryError
    return code, Handle(c_void_p(out.value)), raised[0] if raised else None


class Session:
    """A session of the library (rl_session), whose hooks live as long as it does."""

    def __init__(self) -> None:
        self._pointer = c_void_p()
        self._free: Any = None
        self._policies = Policies()

    def open(self, json: bytes, policies: Policies | None) -> tuple[int, Handle, BaseException | None]:
        """Opens it; the answer is empty, or the errors."""
        self._policies = policies or Policies()
        self._python = _python()
        self._hooks = Hooks(size=ctypes.sizeof(Hooks), python=ctypes.pointer(self._python), **self._policies.hooks)
        self._free = library().rl_session_free
        return self._heard(library().rl_session_open, json, len(json), byref(self._hooks), byref(self._pointer))

    def call(self, verb: str, json: bytes) -> tuple[int, Handle, BaseException | None]:
        """One verb: the exit code, the answer, and what a signal handler or a policy raised."""
        return self._heard(library().rl_session_call, self._pointer, verb.encode(), json, len(json))

    def _heard(self, function: Any, *arguments: Any) -> tuple[int, Handle, BaseException | None]:
        out = c_void_p()
        if self._policies.hooks:
            with _Unraisable(self._policies):
                code = function(*arguments, byref(out))
        else:
            code = function(*arguments, byref(out))
        raised = self._policies.raised
        self._policies.raised = None
        if self._python.raised[0] or self._python.raised[1]:
            raised = _restored(self._python)
            self._python.raised[0] = self._python.raised[1] = self._python.raised[2] = None
        if not out.value:
            raise MemoryError
        return code, Handle(c_void_p(out.value)), raised

    def close(self) -> None:
        """Gives its memory back; it may be called twice."""
        if self._pointer.value:
            self._free(self._pointer)
            self._pointer = c_void_p()

    def __del__(self) -> None:
        self.close()


def _call_beside(run: Any, arguments: tuple[Any, ...], flag: c_int, raised: list[BaseException]) -> int:
    """The call on a thread, while this one waits: what a signal handler raises stops it."""
    codes: list[int] = []
    done = threading.Event()

    def work() -> None:
        try:
            codes.append(run(*arguments))
        finally:
            done.set()

    threading.Thread(target=work, daemon=True).start()
    while not done.is_set():
        try:
            done.wait(0.05)
        except BaseException as problem:
            raised.append(problem)
            flag.value = 1
    return codes[0]


def _restored(python: PythonStruct) -> BaseException:
    """The exception that a signal handler raised, with its traceback."""
    restore = ctypes.pythonapi["PyErr_Restore"]
    restore.argtypes = [c_void_p, c_void_p, c_void_p]
    restore.restype = None
    try:
        restore(*python.raised)
    except BaseException as problem:
        return problem
    raise AssertionError("PyErr_Restore raises")
