# SPDX-License-Identifier: Apache-2.0
"""Handles of the library's objects: closed once, and not used afterwards."""
import ctypes, os, threading, weakref
from contextlib import contextmanager

import numpy as np

from . import _structs as c
from ._library import library


class Handle:
    """A pointer of the library. Calls of several threads wait for each other; calls after close() fail."""

    def __init__(self, what, pointer, close, cancel=None):
        self._what, self._pointer, self._close, self._cancel = what, pointer, close, cancel
        self._lock = threading.RLock()
        self._end = threading.Lock()  # held during close and cancel, which do not wait for a run
        self._used = False
        self._views = weakref.WeakSet()

    @contextmanager
    def use(self):
        with self._lock:
            if self._used:  # the lock is reentrant
                raise RuntimeError(f"this {self._what} is at work: its progress callback cannot use it")
            if self._pointer is None:
                raise closed(self._what)
            self._used = True
            try:
                yield self._pointer
            finally:
                self._used = False

    def cancel(self):
        with self._end:
            if self._pointer is not None:
                self._cancel(self._pointer)

    def close(self):
        """Waits for the call in progress. If arrays view the memory, it is freed with the last of them: they keep this
        object alive, and its destructor closes."""
        with self._lock:
            if self._used:
                raise RuntimeError(f"this {self._what} is at work: its progress callback cannot close it")
            if not self._views:
                self._free()

    def _free(self):
        with self._end:
            pointer, self._pointer = self._pointer, None
        if pointer is not None:
            self._close(pointer)

    def __del__(self):
        if getattr(self, "_pointer", None) is not None:
            self._free()

    def view(self, address, shape, dtype):
        """A read-only array over the library's memory, which it keeps alive."""
        memory = _Memory(self, address, shape, np.dtype(dtype))
        self._views.add(memory)
        return np.asarray(memory)

    def check_no_views(self, what):
        if self._views:
            raise BufferError(f"{what} moves memory that arrays of copy=False view: delete them first, or use copies")


class _Memory:
    """The memory of an array from Handle.view()."""

    def __init__(self, owner, address, shape, dtype):
        self.owner = owner
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str, "data": (address, True)}


class Closing:
    """`with` and close() for classes with a Handle in `_handle`, which is None after close()."""

    _what = "object"

    def _open_handle(self):
        handle = self._handle
        if handle is None:
            raise closed(self._what)
        return handle

    def _use(self):
        return self._open_handle().use()

    def close(self):
        """Frees the object; a second call does nothing. Any other use afterwards raises ValueError."""
        handle = self._handle
        if handle is not None:
            handle.close()
            self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def closed(what):
    return ValueError(f"this {what} is closed")


def words(value):
    return value.decode("utf-8", "replace") if value else ""


def opened(function, *arguments):
    """The pointer that a function of the library returns through its last argument."""
    out = ctypes.c_void_p()
    function(*arguments, ctypes.byref(out))
    return out.value


_MAXIMUM_CPUS = 1024  # per machine


def session_options(backend, threads, precision, device, required, cache_dir, memory_limit, profile=False, taps=(),
                    cores="performance", check_weights=True, gpu_watch=0.0, kv="float32"):
    """A ferry_session_options, which owns its strings and arrays."""
    options = c.SessionOptions()
    library().ferry_session_options_init(ctypes.byref(options))
    options.backend = _choice("backend", backend, c.BACKEND)
    options.precision = _choice("precision", precision, c.PRECISION)
    options.num_threads = _within("threads", threads, 2**31)
    options.gpu_required = required
    options.gpu_device = device.encode() if device else None
    options.cache_dir = path_bytes(cache_dir) if cache_dir else None
    options.memory_limit = _within("memory_limit", memory_limit, 2**64)
    options.profile = profile
    options.skip_weight_check = not check_weights
    options.gpu_watch = gpu_watch
    options.state_dtype = _choice("kv", kv, {name: c.DTYPE[name] for name in ("FLOAT32", "FLOAT16", "INT8")})
    if isinstance(cores, str):
        options.cores = _choice("cores", cores, c.CORES)
    else:
        numbers = [_within("a CPU's number", number, _MAXIMUM_CPUS) for number in cores]
        mask = (ctypes.c_uint64 * (_MAXIMUM_CPUS // 64))()
        for number in numbers:
            mask[number // 64] |= 1 << number % 64
        options.cpu_mask, options.cpu_mask_words = mask, len(mask)
    if taps:
        options.taps = (ctypes.c_char_p * len(taps))(*(name.encode() for name in taps))
        options.tap_count = len(taps)
    return options


def _within(what, value, end):
    """ctypes would silently truncate the value."""
    if not 0 <= value < end:
        raise ValueError(f"{what} is {value}: must be 0 or more, and less than {end}")
    return value


def _choice(what, value, values):
    try:
        return values[value.upper()]
    except (KeyError, AttributeError):
        known = " or ".join(repr(name.lower()) for name in values)
        raise ValueError(f"{what} is {value!r}: must be {known}") from None


def path_bytes(path):
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError(f"{path!r}: a path has no NUL character")
    return encoded
