# SPDX-License-Identifier: Apache-2.0
"""Sessions: a network planned for one input size."""
import ctypes, operator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Dict, List, Mapping, Tuple, Union

import numpy as np

from . import _structs as c
from . import gpu
from ._handle import Closing, Handle, opened, words
from ._library import library, status_name
from .model import TensorInfo, info_of
from .images import image_of

LAYOUTS = ("ferry", "framework")


@dataclass(frozen=True)
class Report:
    """Where a session runs, and why."""

    backend: str  # "cpu", "gpu"
    precision: str
    gpu_status: str  # "OK", or why a requested GPU is not used
    message: str  # describes gpu_status
    device: str
    driver: str
    gpu_operators: int
    cpu_operators: int
    transfers: int
    canary_count: int
    canary_failures: int
    canary_ms: float
    notes: Tuple[str, ...]  # deviations from the plan
    arena_bytes: int
    packed_bytes: int
    cpus: str  # CPUs of its threads, "0-3,6"; "" if the system does not report them
    threads: int  # including the caller's
    watched_runs: int  # runs in which the CPU computed rows of an operator again (gpu_watch)


@dataclass(frozen=True)
class ProfileEntry:
    """The time of one operator in the last run."""

    name: str
    op: str
    backend: str
    microseconds: float
    shape: Tuple[int, ...]  # of its first output


@dataclass(frozen=True)
class Classification:
    index: int
    probability: float
    label: str  # "" if the model has no labels


class Session(Closing):
    """One network for one input size, from Model.session(). It keeps the model's weights alive. Calls of several
    threads wait for each other; different sessions run in parallel."""

    _what = "session"

    def __init__(self, pointer, counts, kept):
        self._handle = Handle(self._what, pointer, library().ferry_session_close, library().ferry_session_cancel)
        self._counts = dict(zip(("input", "output"), counts))
        self._kept = kept

    # ---- tensors

    def _tensors(self, session, port) -> List[c.Tensor]:
        out = [c.Tensor() for _ in range(self._counts[port])]
        for i, tensor in enumerate(out):
            getattr(library(), f"ferry_session_{port}")(session, i, ctypes.byref(tensor))
        return out

    @property
    def inputs(self) -> List[TensorInfo]:
        """At the session's present input size."""
        with self._use() as session:
            return [info_of(tensor) for tensor in self._tensors(session, "input")]

    @property
    def outputs(self) -> List[TensorInfo]:
        with self._use() as session:
            return [info_of(tensor) for tensor in self._tensors(session, "output")]

    @property
    def taps(self) -> List[str]:
        """Names of the taps that the session keeps."""
        return list(self._kept)

    def resize(self, *shapes, **named):
        """Sets the shapes of its inputs (channels last), in their order or by name, all at once. The network is planned
        again, and inputs become zero. ferry.Error, and nothing changes: SHAPE_MISMATCH, MEMORY_LIMIT. BufferError:
        arrays of copy=False view the present memory."""
        with self._use() as session:
            self._handle.check_no_views("resize()")
            tensors = self._tensors(session, "input")
            for index, shape in self._by_index(tensors, shapes, named):
                shape = [int(side) for side in shape]
                if not 0 <= len(shape) <= c.MAX_RANK or any(not 0 < side < 2**31 for side in shape):
                    raise ValueError(f"shape {shape}: at most {c.MAX_RANK} dimensions, each of 1 or more")
                tensors[index].rank = len(shape)
                tensors[index].shape[: len(shape)] = shape
            library().ferry_session_resize_inputs(session, (c.Tensor * len(tensors))(*tensors), len(tensors))

    @staticmethod
    def _by_index(tensors, positional, named):
        """(index, value) of positional and named arguments."""
        names = [words(tensor.name) for tensor in tensors]
        if len(positional) == 1 and isinstance(positional[0], Mapping):
            positional, named = (), {**positional[0], **named}
        if len(positional) > len(names):
            raise TypeError(f"{len(positional)} inputs were given, the network takes {len(names)}: {', '.join(names)}")
        given = dict(enumerate(positional))
        for name, value in named.items():
            if name not in names:
                raise TypeError(f"no input is called {name!r}: there is {', '.join(names)}")
            if names.index(name) in given:
                raise TypeError(f"input {name!r} was given twice")
            given[names.index(name)] = value
        return given.items()

    # ---- runs

    def run(self, *arrays, copy: bool = True, layout: str = "ferry",
            **named) -> Union[np.ndarray, Dict[str, np.ndarray]]:
        """Runs the network and returns its output, or a dict by name if it has several.

            logits = session.run(pixels)
            both = session.run({"ids": ids, "mask": mask})    # or run(ids=ids, mask=mask), or run(ids, mask)
            session.run()                                     # on what the inputs hold: after set_image()

        Arrays have the inputs' types (float32 or int32) and shapes, which resize() changes. Images are channels last,
        [batch, height, width, channels]; layout="framework" uses the layout of the framework that trained the model,
        for inputs and outputs. Inputs that are not given keep their contents. copy=False returns read-only views of the
        session's memory, which the next run overwrites.

        TypeError, ValueError: an array has another type or shape. ferry.Error: CANCELLED; INVALID_ARGUMENT
        (an index in an input is out of range), STATE_FULL."""
        _check_layout(layout)
        with self._use() as session:
            tensors = self._tensors(session, "input")
            given = [(tensors[index], _fitting(array, tensors[index], layout))
                     for index, array in self._by_index(tensors, arrays, named)]
            for tensor, array in given:  # all are checked before any is written
                np.copyto(_memory(tensor), array)
            library().ferry_session_run(session)
            out = {words(tensor.name): self._array(tensor, copy, layout) for tensor in self._tensors(session, "output")}
        return next(iter(out.values())) if len(out) == 1 else out

    def tap(self, name: str, *, copy: bool = True, layout: str = "ferry") -> np.ndarray:
        """An intermediate tensor of the last run, by the framework's module name. ferry.Error, NOT_FOUND: there is no
        such tap, or the session does not keep it."""
        _check_layout(layout)
        tensor = c.Tensor()
        with self._use() as session:
            library().ferry_session_tap(session, name.encode(), ctypes.byref(tensor))
            return self._array(tensor, copy, layout)

    def _array(self, tensor, copy, layout):
        info = info_of(tensor)
        if copy or not tensor.data:
            array = _memory(tensor).copy()
        else:
            array = self._handle.view(tensor.data, info.shape, info.dtype)
        return np.moveaxis(array, -1, 1) if layout == "framework" and permuted(info) else array

    def cancel(self):
        """Makes the run in progress fail with ferry.Error, CANCELLED; does nothing without one. Any thread."""
        self._open_handle().cancel()

    # ---- states

    @contextmanager
    def _states(self):
        lib = library()
        with self._use() as session:
            states = opened(lib.ferry_session_states, session)
            try:
                yield states
            finally:
                lib.ferry_states_close(states)

    @property
    def length(self) -> int:
        """Length of its states in tokens, for networks with states. ferry.Error, NOT_FOUND: it has none."""
        with self._states() as states:
            return library().ferry_states_length(states)

    def reset(self):
        """Empties its states."""
        with self._states() as states:
            library().ferry_states_reset(states)

    # ---- images

    def set_image(self, image):
        """Resizes, crops and normalises an image into input 0, as the blob's preprocessing says. `image` is a path
        (JPEG, PNG, BMP), a PIL image, or an array uint8 [height, width, 3]. If the preprocessing has no resize, input 0
        is resized to the image's size."""
        with image_of(image) as pixels, self._use() as session:
            self._handle.check_no_views("set_image()")
            library().ferry_session_set_image(session, ctypes.byref(pixels))

    def set_image_at(self, index: int, image):
        """Prepares image `index` of a batch: input 0 is [batch, height, width, channels], after resize(). The other
        images are unchanged. ferry.Error: INVALID_ARGUMENT, `index` exceeds the batch; SHAPE_MISMATCH, the preprocessed
        image has another size than the batch."""
        with image_of(image) as pixels, self._use() as session:
            self._handle.check_no_views("set_image_at()")
            library().ferry_session_set_image_at(session, _batch_index(index), ctypes.byref(pixels))

    def top_classes(self, count: int = 5) -> List[Classification]:
        """The most probable classes of the last run, best first. ferry.Error, INVALID_ARGUMENT: the model is not
        a classifier, has not run yet, or ran a batch: top_classes_at()."""
        return self._top_classes(library().ferry_session_top_classes, count)

    def top_classes_at(self, index: int, count: int = 5) -> List[Classification]:
        """The classes of image `index` of a batch."""
        return self._top_classes(library().ferry_session_top_classes_at, count, _batch_index(index))

    def _top_classes(self, function, count, *index):
        if count < 1:
            raise ValueError(f"count is {count}: must be 1 or more")
        room = ctypes.c_size_t(count)
        classes = (c.Class * count)()
        with self._use() as session:
            function(session, *index, classes, ctypes.byref(room))
            return classes_of(classes, room.value)

    def embedding(self) -> np.ndarray:
        """The image embedding of the last run, float32 [elements]. ferry.Error, INVALID_ARGUMENT: the model has none,
        has not run yet, or ran a batch: embedding_at()."""
        return self._embedding(library().ferry_session_embedding)

    def embedding_at(self, index: int) -> np.ndarray:
        """The embedding of image `index` of a batch."""
        return self._embedding(library().ferry_session_embedding_at, _batch_index(index))

    def _embedding(self, function, *index):
        count = ctypes.c_size_t(0)
        with self._use() as session:
            function(session, *index, None, ctypes.byref(count))
            out = np.empty(count.value, np.float32)
            function(session, *index, out.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), ctypes.byref(count))
        return out

    # ---- checks of the GPU

    def check_kernels(self, seconds: float = 0) -> gpu.KernelCheck:
        """Runs each GPU kernel of the session 128 times at the session's own size, on made-up inputs, and compares the
        results bit by bit with each other and one with the CPU. Stops after about `seconds`, for an app's idle time; 0:
        checks all. Wrong kernels are no longer used. With cache_dir, verdicts are kept for later sessions. Inputs and
        outputs keep their contents. ferry.Error: GPU_UNAVAILABLE, the session is on the CPU; UNSUPPORTED, the library
        was built without FERRY_GPU_CHECKS."""
        with self._use() as session:
            return gpu.check_kernels(session, seconds)

    # ---- report and profile

    @property
    def report(self) -> Report:
        """Where the last run was computed, or the next will be."""
        with self._use() as session:
            return report_of(session)

    @property
    def profile(self) -> List[ProfileEntry]:
        """The time of each operator in the last run; empty unless the session was created with profile=True."""
        out, entry = [], c.ProfileEntry()
        with self._use() as session:
            for i in range(library().ferry_session_profile_count(session)):
                library().ferry_session_profile(session, i, ctypes.byref(entry))
                out.append(ProfileEntry(words(entry.name), words(entry.op), words(entry.backend), entry.microseconds,
                                        tuple(entry.shape[: entry.rank])))
        return out


def report_of(session) -> Report:
    lib, out = library(), c.Report(struct_size=ctypes.sizeof(c.Report))
    lib.ferry_session_report(session, ctypes.byref(out))
    backends, precisions = ({v: k.lower() for k, v in of.items()} for of in (c.BACKEND, c.PRECISION))
    notes = tuple(words(lib.ferry_session_report_note(session, i)) for i in range(out.note_count))
    return Report(backends[out.backend], precisions[out.precision], status_name(out.gpu_status), words(out.message),
                  words(out.device), words(out.driver), out.gpu_operators, out.cpu_operators, out.transfers,
                  out.canary_count, out.canary_failures, out.canary_ms, notes, lib.ferry_session_arena_bytes(session),
                  lib.ferry_session_packed_bytes(session), words(out.cpus), out.threads,
                  out.watched_runs)


def classes_of(classes, count) -> List[Classification]:
    return [Classification(classes[i].index, classes[i].probability, words(classes[i].label)) for i in range(count)]


def permuted(info: TensorInfo) -> bool:
    """Whether the framework's layout differs."""
    return info.channels_first and len(info.shape) >= 3


def _batch_index(index):
    index = operator.index(index)
    if not 0 <= index < 2**31:
        raise ValueError(f"image {index} of a batch: they are counted from 0")
    return index


def _check_layout(layout):
    if layout not in LAYOUTS:
        raise ValueError(f"layout is {layout!r}: must be 'ferry' or 'framework'")


def _memory(tensor):
    """A view of a tensor's memory, valid while the session is in use."""
    info = info_of(tensor)
    if not tensor.data:
        return np.empty(info.shape, info.dtype)
    bytes_ = (ctypes.c_uint8 * tensor.bytes).from_address(tensor.data)
    return np.frombuffer(bytes_, info.dtype).reshape(info.shape)


def _fitting(array, tensor, layout):
    """The array in the library's layout, after checks of type and shape."""
    info = info_of(tensor)
    array = np.asarray(array)
    if array.dtype != info.dtype:
        raise TypeError(f"input {info.name!r} is {info.dtype}, the array is {array.dtype}: use astype()")
    framework = layout == "framework" and permuted(info)
    shape = info.framework_shape if framework else info.shape
    if array.shape != shape:
        hint = "resize() takes another shape"
        if permuted(info) and array.shape == (info.shape if framework else info.framework_shape):
            hint = "that is the layout of " + ("ferry" if framework else "the framework") + ": say so with layout="
        raise ValueError(f"input {info.name!r} is {_sides(shape)}, the array is {_sides(array.shape)}: {hint}")
    return np.moveaxis(array, 1, -1) if framework else array


def _sides(shape):
    return "x".join(map(str, shape)) or "a scalar"
