# SPDX-License-Identifier: Apache-2.0
"""A blob, mapped and verified."""
import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Collection, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _structs as c
from . import gpu
from ._handle import Closing, Handle, opened, path_bytes, session_options, words
from ._library import library

if TYPE_CHECKING:
    from .session import Session
    from .task import Task
    from .text import Generator, Text

Cores = Union[str, Collection[int]]

_DTYPES = {c.DTYPE["FLOAT32"]: "float32", c.DTYPE["FLOAT16"]: "float16", c.DTYPE["INT8"]: "int8",
           c.DTYPE["UINT8"]: "uint8", c.DTYPE["INT32"]: "int32", c.DTYPE["INT64"]: "int64"}


@dataclass(frozen=True)
class TensorInfo:
    """A tensor's name, shape and type. Shapes are channels last: an image is [batch, height, width, channels]."""

    name: str
    shape: Tuple[int, ...]
    dtype: np.dtype
    channels_first: bool  # it is [batch, channels, ...] in the framework that trained the model

    @property
    def framework_shape(self) -> Tuple[int, ...]:
        """The shape in the framework's layout."""
        if self.channels_first and len(self.shape) >= 3:
            return (self.shape[0], self.shape[-1], *self.shape[1:-1])
        return self.shape


def info_of(tensor: c.Tensor) -> TensorInfo:
    return TensorInfo(words(tensor.name), tuple(tensor.shape[: tensor.rank]), np.dtype(_DTYPES[tensor.dtype]),
                      tensor.source_layout == c.LAYOUT["NCHW"])


@dataclass(frozen=True)
class Verification:
    """Result of checking a blob's certificates: Model.verify()."""

    passed: bool
    stage_count: int  # outputs and taps compared, in all graphs
    stage: str  # the first stage out of bounds; if passed, the one nearest to its bound
    error: float  # maximum of its samples, relative to the reference's absolute maximum if the bound is
    bound: float
    error_at_conversion: float
    fixture: str  # name of the reference run
    library: str  # the library that computed it, "timm 1.0.29"
    graph: str

    def __bool__(self) -> bool:
        return self.passed


class Model(Closing):
    """A blob (`ferry convert ... -o m.ferry`), mapped and verified; sessions share its mapped weights. Many threads may
    use it at once. It may be closed before the sessions and tasks created from it.

        with ferry.Model("resnet50.ferry") as model, model.session() as session:
            logits = session.run(pixels)                      # float32 [1, 224, 224, 3] -> float32 [1, 1000]

    ferry.Error: IO_ERROR, NOT_A_BLOB, UNSUPPORTED_VERSION, CORRUPT."""

    _what = "model"

    def __init__(self, path):
        self._handle = None
        self._open(opened(library().ferry_model_open, path_bytes(path)))

    def _open(self, pointer):
        self._handle = Handle(self._what, pointer, library().ferry_model_close)

    @property
    def name(self) -> str:
        with self._use() as model:
            return words(library().ferry_model_name(model))

    def _describe(self, port) -> List[TensorInfo]:
        out, tensor = [], c.Tensor()
        with self._use() as model:
            for i in range(getattr(library(), f"ferry_model_{port}_count")(model)):
                getattr(library(), f"ferry_model_{port}")(model, i, ctypes.byref(tensor))
                out.append(info_of(tensor))
        return out

    @property
    def inputs(self) -> List[TensorInfo]:
        """At the blob's default input size."""
        return self._describe("input")

    @property
    def outputs(self) -> List[TensorInfo]:
        return self._describe("output")

    @property
    def taps(self) -> List[TensorInfo]:
        """Intermediate tensors that a session can keep, by the framework's module names; `ferry convert --keep-taps`
        keeps all of them in the blob."""
        return self._describe("tap")

    @property
    def labels(self) -> List[str]:
        """Names of the classes; empty if the blob has none."""
        with self._use() as model:
            lib = library()
            return [words(lib.ferry_model_label(model, i)) for i in range(lib.ferry_model_label_count(model))]

    @property
    def graphs(self) -> List[str]:
        """Names of the blob's graphs; the default one first."""
        with self._use() as model:
            lib = library()
            return [words(lib.ferry_model_graph_name(model, i)) for i in range(lib.ferry_model_graph_count(model))]

    def graph(self, name: str) -> "Model":
        """Opens another graph of the same blob as a model. ferry.Error: NOT_FOUND."""
        other = Model.__new__(Model)
        with self._use() as model:
            other._open(opened(library().ferry_model_open_graph, model, name.encode()))
        return other

    def _task_info(self) -> c.TaskInfo:
        info = c.TaskInfo(struct_size=ctypes.sizeof(c.TaskInfo))
        with self._use() as model:
            library().ferry_model_task(model, ctypes.byref(info))
        return info

    @property
    def task_name(self) -> str:
        """The model's task: "depth", "classification", "OCR"...; "tensors" if it has none."""
        return words(self._task_info().name)

    def session(self, *, backend: str = "cpu", threads: int = 0, taps: Union[None, str, Sequence[str]] = None,
                graph: Optional[str] = None, precision: str = "float32", device: Optional[str] = None,
                gpu_required: bool = False, cache_dir=None, memory_limit: int = 0, profile: bool = False,
                cores: Cores = "performance", check_weights: bool = True, gpu_watch: float = 0) -> "Session":
        """Creates a session, which runs the network: ferry.Session.

        backend       "cpu", or "gpu" for Vulkan. If the GPU cannot be used, the session runs on the CPU and its report
                      says why; with gpu_required it is an error.
        threads       including the caller's; 0: one per selected core. Results do not depend on it
        cores         cores for its threads: "performance" (the big cores), "balanced" (those except the fastest),
                      "efficient" (the slowest), "all", or a list of CPU numbers
        taps          names of the taps to keep, or "all"
        graph         name of a graph of the blob; None: this one
        precision     "float32"; "float16" for storage on GPUs and on CPUs with float16 arithmetic
        device        a GPU's index, or part of its name; None: the best
        cache_dir     folder for packed weights, which later sessions map
        memory_limit  maximum bytes; 0: the library's default
        profile       time every operator: Session.profile
        check_weights compare the weights with their checksums, once a file, beside the first runs: damage makes runs
                      fail with CORRUPT
        gpu_watch     share of the time of all runs, 0 to 1, in which the CPU may compute rows of an operator again to
                      watch the GPU: 0.01 is one hundredth. After a disagreement the session is on the CPU, and its
                      report's gpu_status is GPU_WRONG

        ferry.Error: NOT_FOUND (tap, graph), MEMORY_LIMIT, UNSUPPORTED, GPU_UNAVAILABLE."""
        from .session import Session

        if graph is not None:
            with self.graph(graph) as model:
                return model.session(backend=backend, threads=threads, taps=taps, precision=precision, device=device,
                                     gpu_required=gpu_required, cache_dir=cache_dir, memory_limit=memory_limit,
                                     profile=profile, cores=cores, check_weights=check_weights, gpu_watch=gpu_watch)
        kept = [taps] if isinstance(taps, str) else list(taps or ())
        if taps == "all":
            kept = [tap.name for tap in self.taps]
        options = session_options(backend, threads, precision, device, gpu_required, cache_dir, memory_limit, profile,
                                  kept, cores, check_weights, gpu_watch)
        counts = len(self.inputs), len(self.outputs)
        with self._use() as model:
            return Session(opened(library().ferry_session_create, model, ctypes.byref(options)), counts, kept)

    def task(self, *, backend: str = "cpu", threads: int = 0, precision: str = "float32", device: Optional[str] = None,
             gpu_required: bool = False, cache_dir=None, memory_limit: int = 0,
             cores: Cores = "performance", check_weights: bool = True, gpu_watch: float = 0) -> "Task":
        """Creates a task, which computes an answer for an image in one call: ferry.Task. Options as for session().
        ferry.Error: UNSUPPORTED, the model has no task."""
        from .task import Task

        options = session_options(backend, threads, precision, device, gpu_required, cache_dir, memory_limit,
                                  cores=cores, check_weights=check_weights, gpu_watch=gpu_watch)
        with self._use() as model:
            return Task(opened(library().ferry_task_open, model, ctypes.byref(options)))

    def text(self) -> "Text":
        """The tokenizer and chat template of a language model's blob: ferry.Text. ferry.Error: NOT_FOUND."""
        from .text import Text, text_library

        with self._use() as model:
            return Text(opened(text_library().ferry_text_open, model))

    def generator(self, *, backend: str = "cpu", threads: int = 0, precision: str = "float32",
                  device: Optional[str] = None, gpu_required: bool = False, cache_dir=None,
                  memory_limit: int = 0, cores: Cores = "performance",
                  check_weights: bool = True, gpu_watch: float = 0, kv: str = "float32") -> "Generator":
        """Creates a generator, which generates text: ferry.Generator. kv: "float16" or "int8" keeps keys and values in
        no more bits than that. ferry.Error: UNSUPPORTED, the model is not a language model."""
        from .text import Generator, text_library

        options = session_options(backend, threads, precision, device, gpu_required, cache_dir, memory_limit,
                                  cores=cores, check_weights=check_weights, gpu_watch=gpu_watch, kv=kv)
        with self._use() as model:
            return Generator(opened(text_library().ferry_generator_create, model, ctypes.byref(options)))

    def audit(self, *, seconds: float = 0, device: Optional[str] = None, precision: str = "float32",
              graph: Optional[str] = None, cache_dir=None, memory_limit: int = 0,
              progress: Optional[Callable[[float], None]] = None) -> gpu.Audit:
        """Audits a GPU: replays every kernel of the model at its own sizes for `seconds` (0: each once in turn), with
        the model's weights and made-up inputs, and counts the runs that differ. Other options as for session().
        `progress` is called with the share that is done, 0 to 1; an exception of it is raised at the end. The model
        cannot be used meanwhile. ferry.Error: GPU_UNAVAILABLE; UNSUPPORTED, the library was built without
        FERRY_GPU_CHECKS."""
        options = session_options("gpu", 1, precision, device, True, cache_dir, memory_limit)
        options.graph = graph.encode() if graph else None
        with self._use() as model:
            return gpu.audit(model, options, seconds, progress)

    def check(self) -> None:
        """Reads the whole file and compares the weights with the converter's checksum. ferry.Error: CORRUPT, they are
        damaged; NOT_FOUND, the blob has no checksum."""
        with self._use() as model:
            library().ferry_model_check(model)

    def finish_check(self) -> None:
        """Completes the check that the first session began beside the runs (check_weights), or makes it. ferry.Error:
        CORRUPT, a weight is damaged."""
        with self._use() as model:
            library().ferry_model_finish_check(model)

    def verify(self, *, backend: str = "cpu", threads: int = 0, device: Optional[str] = None,
               gpu_required: bool = False) -> Verification:
        """Checks the blob's certificates (`ferry convert --certify`) on this machine. With a fixture's folder,
        ferry.verify() compares every stage. ferry.Error: NOT_FOUND, the blob has no certificate."""
        options = session_options(backend, threads, "float32", device, gpu_required, None, 0)
        out = c.Verification(struct_size=ctypes.sizeof(c.Verification))
        with self._use() as model:
            library().ferry_model_verify(model, ctypes.byref(options), ctypes.byref(out))
            return Verification(out.passed, out.stage_count, words(out.stage), out.error, out.bound,
                                out.error_at_conversion, words(out.fixture), words(out.library), words(out.graph))
