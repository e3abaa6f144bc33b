# SPDX-License-Identifier: Apache-2.0
"""Finds and loads libferry and libferry_text, and converts their statuses to exceptions."""
import ctypes, os, threading

from . import _structs as c

_lock = threading.Lock()
_loaded = {}


class Error(Exception):
    """An error of the library. `status` is the C name without FERRY_ ("NOT_FOUND", "CORRUPT", "CANCELLED"); the message
    is the library's sentence."""

    __module__ = "ferry"

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status

    def __reduce__(self):
        return Error, (self.status, str(self))


_STATUS_NAMES = {value: name for name, value in c.STATUS.items()}


def status_name(code):
    return _STATUS_NAMES.get(code, f"status {code}")


def _locations(name):
    """Paths to try: the folder of FERRY_LIBRARY, this package, the system's search path."""
    chosen = os.environ.get("FERRY_LIBRARY")
    if chosen:
        folder = os.path.dirname(os.path.abspath(chosen)) if ".so" in os.path.basename(chosen) else chosen
        return [os.path.join(folder, name)]
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    return [inside] if os.path.exists(inside) else [name, f"{name}.{c.VERSION[0]}"]


def _open(name, functions):
    failures = []
    for location in _locations(name):
        try:
            library = ctypes.CDLL(location)  # releases the GIL in every call
            break
        except OSError as error:
            failures.append(str(error))
    else:
        tried = "; ".join(failures)
        raise ImportError(f"{name} cannot be loaded ({tried}): set FERRY_LIBRARY to the folder that holds it")
    for function, result, *arguments in functions:
        if not hasattr(library, function):
            raise ImportError(f"{library._name} has no {function}(): it is older than this package")
        bound = getattr(library, function)
        bound.argtypes = arguments
        bound.restype = ctypes.c_int if result is c.STATUS_CODE else result
        if result is c.STATUS_CODE:
            bound.errcheck = _check
    return library


def _check(code, function, arguments):
    if code != 0:
        raise Error(status_name(code), library().ferry_last_error().decode("utf-8", "replace"))
    return code


def library():
    """libferry, loaded at first use. ImportError: it is missing, or of another version."""
    with _lock:
        if "ferry" not in _loaded:
            opened = _open("libferry.so", c.FERRY_FUNCTIONS)
            version = opened.ferry_version().decode()
            if tuple(map(int, version.split(".")[:2])) != c.VERSION:
                wanted = ".".join(map(str, c.VERSION))
                raise ImportError(f"{opened._name} is ferry {version}, this package is for {wanted}")
            _loaded["ferry"] = opened
        return _loaded["ferry"]


def text_library():
    """libferry_text. It refers to libferry by its soname, which is loaded first."""
    library()
    with _lock:
        if "text" not in _loaded:
            _loaded["text"] = _open("libferry_text.so", c.TEXT_FUNCTIONS)
        return _loaded["text"]


def version():
    """The library's version, "0.3.0"."""
    return library().ferry_version().decode()
