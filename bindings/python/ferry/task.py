# SPDX-License-Identifier: Apache-2.0
"""Tasks: an image as input, an answer as output, in the coordinates of that image."""
import ctypes
from dataclasses import dataclass
from typing import Callable, List, Optional, Sequence, Tuple

import numpy as np

from . import _structs as c
from ._handle import Closing, Handle, path_bytes, words
from ._library import library
from .images import array_of, image_of, mask_rgb
from .session import Classification, Report, classes_of, report_of

_KINDS = {value: name.lower() for name, value in c.ANSWER.items()}
_STYLES = {"plain": c.SAVE["PLAIN"], "colours": c.SAVE["COLOURS"], "16bit": c.SAVE["16_BIT"]}


@dataclass(frozen=True)
class Detection:
    """A detected object."""

    box: Tuple[float, float, float, float]  # left, top, right, bottom, in the image's pixels
    score: float  # 0 to 1
    index: int  # of the class
    label: str
    landmarks: np.ndarray  # float32 [landmarks, 2]: x, y
    landmark_scores: Optional[np.ndarray] = None  # float32 [landmarks], 0 to 1: is each visible?


@dataclass(frozen=True)
class Line:
    """A line of text."""

    text: str
    score: float  # 0 to 1
    corners: np.ndarray  # float32 [4, 2]: x, y of the top left, top right, bottom right, bottom left


@dataclass
class Answer:
    """An answer: a copy. `kind` names the fields that are set; the others are None."""

    kind: str  # "classes", "vector", "map", "labels", "mask", "image", "boxes", "lines"
    # classes: the most probable, best first; labels: those that occur, largest first, with their share of the image
    classes: Optional[List[Classification]] = None
    vector: Optional[np.ndarray] = None  # float32 [elements]: an embedding
    map: Optional[np.ndarray] = None  # float32 [height, width]: a depth map; `metres` says what its values mean
    metres: Optional[bool] = None  # False: larger is nearer, with unknown scale
    labels: Optional[np.ndarray] = None  # uint16 [height, width]: one class per pixel
    mask: Optional[np.ndarray] = None  # uint8 [height, width]: 255 inside, 0 outside
    quality: Optional[float] = None  # mask by prompts: the network's estimate of intersection over union
    image: Optional[np.ndarray] = None  # uint8 [height, width, 3]
    boxes: Optional[List[Detection]] = None  # best first
    landmark_names: Optional[List[str]] = None  # of the boxes' landmarks, if the model has them
    landmark_lines: Optional[np.ndarray] = None  # uint16 [lines, 2]: landmarks that a drawing joins
    lines: Optional[List[Line]] = None  # top to bottom


def _copied(pointer, *shape):
    if 0 in shape:
        return np.empty(shape, np.ctypeslib.as_array(pointer, (1,)).dtype if pointer else np.float32)
    return np.ctypeslib.as_array(pointer, shape).copy()


def _answer(raw: c.Answer) -> Answer:
    out, size = Answer(_KINDS[raw.kind]), (raw.height, raw.width)
    if out.kind in ("classes", "labels"):
        out.classes = classes_of(raw.classes, raw.class_count)
    if out.kind == "vector":
        out.vector = _copied(raw.vector, raw.vector_size)
    elif out.kind == "map":
        out.map, out.metres = _copied(raw.map, *size), raw.sense == c.SENSE["METRES"]
    elif out.kind == "labels":
        out.labels = _copied(raw.labels, *size)
    elif out.kind == "mask":
        out.mask, out.quality = _copied(raw.mask, *size), raw.quality
    elif out.kind == "image":
        out.image = array_of(raw.image)
    elif out.kind == "boxes":
        out.boxes = [_detection(raw, i) for i in range(raw.box_count)]
        if raw.landmark_name_count:
            out.landmark_names = [words(raw.landmark_names[i]) for i in range(raw.landmark_name_count)]
        if raw.landmark_line_count:
            out.landmark_lines = _copied(raw.landmark_lines, raw.landmark_line_count, 2)
    elif out.kind == "lines":
        out.lines = [_line(raw.lines[i]) for i in range(raw.line_count)]
    return out


def _detection(raw: c.Answer, index: int) -> Detection:
    found = raw.boxes[index]
    box, count = found.box, found.landmark_count
    landmarks = np.zeros((0, 2), np.float32)
    if count:
        landmarks = _copied(found.landmarks, count, 2)
    scores = None
    if raw.landmark_scores:
        scores = np.ctypeslib.as_array(raw.landmark_scores, (raw.box_count, count))[index].copy()
    corners = box.left, box.top, box.right, box.bottom
    return Detection(corners, found.score, found.index, words(found.label), landmarks, scores)


def _line(line: c.Line) -> Line:
    return Line(words(line.text), line.score, np.array(line.corners, np.float32).reshape(4, 2))


class Task(Closing):
    """A task, from Model.task(). Calls of several threads wait for each other.

        with ferry.Model("mobile_sam.ferry") as model, model.task() as task:
            mask = task.run("dog.jpg", points=[(320, 240)]).mask   # uint8 [height, width]
            mask = task.run(points=[(320, 240), (20, 20, False)]).mask   # of the same image"""

    _what = "task"

    def __init__(self, pointer):
        self._handle = Handle(self._what, pointer, library().ferry_task_close, library().ferry_task_cancel)
        self._last = None  # the ferry_answer of the last run; the task owns its memory

    def run(self, image=None, *, points: Sequence[tuple] = (), box: Optional[Sequence[float]] = None, mask=None,
            top: int = 0, tile: int = 0, mask_index: int = 0, refine: bool = False,
            progress: Optional[Callable[[int, int], None]] = None) -> Answer:
        """Runs the network, or several, on an image of any size.

        image     a path (JPEG, PNG, BMP), a PIL image, or an array uint8 [height, width, 3]; None: the last run's,
                    for tasks with points or a box
        points      (x, y), or (x, y, False) for a point of the background; in the image's pixels
        box         (left, top, right, bottom) around the object
        mask        the area to inpaint: booleans or uint8 [height, width] (above 127), or an image
        top         number of classes; 0: the model's default
        tile        side of the tiles of a large image, in input pixels; 0: automatic
        mask_index  0: the best mask; n: the network's n-th mask
        refine      use the last run's mask as a prompt, too
        progress    called with (done, total) after each part of the work

        TypeError, ValueError: no image, no point. ferry.Error: INVALID_ARGUMENT (a required prompt is missing or does
        not match the image), CANCELLED. An exception of `progress` is raised at the end of the run."""
        request = c.Request(struct_size=ctypes.sizeof(c.Request), top=_number("top", top), tile=_number("tile", tile),
                            mask_index=_number("mask_index", mask_index), refine=refine)
        if len(points) > 0:
            request.points = (c.Point * len(points))(*(_point(p) for p in points))
            request.point_count = len(points)
        if box is not None:
            if len(box) != 4:
                raise ValueError(f"a box is (left, top, right, bottom), not {box!r}")
            request.box = ctypes.pointer(c.Box(*map(float, box)))
        failures = []
        if progress is not None:
            request.progress = c.PROGRESS(_progress_callback(progress, failures, self.cancel))
        answer = c.Answer(struct_size=ctypes.sizeof(c.Answer))
        with _maybe(image) as seen, _maybe(mask_rgb(mask)) as covered, self._use() as task:
            if seen is not None:
                request.image = ctypes.pointer(seen)
            if covered is not None:
                request.mask = ctypes.pointer(covered)
            self._last = None
            try:
                library().ferry_task_run(task, ctypes.byref(request), ctypes.byref(answer))
            finally:
                if failures:
                    raise failures[0]
            self._last = answer
            return _answer(answer)

    def save(self, path, style: str = "plain"):
        """Writes the last answer (a map, labels, a mask or an image) as PNG; a map as float32 if the name
        ends in ".pfm". style: "plain", "colours" for maps and labels, "16bit" for maps."""
        if style not in _STYLES:
            raise ValueError(f"style is {style!r}: must be 'plain', 'colours' or '16bit'")
        with self._use():
            library().ferry_answer_save(ctypes.byref(self._answered()), path_bytes(path), _STYLES[style])

    def draw(self, image) -> np.ndarray:
        """Draws the last answer's boxes or lines on their image; returns uint8 [height, width, 3]."""
        drawn = c.Image()
        with image_of(image) as pixels, self._use():
            library().ferry_answer_draw(ctypes.byref(self._answered()), ctypes.byref(pixels), ctypes.byref(drawn))
        try:
            return array_of(drawn)
        finally:
            library().ferry_image_free(ctypes.byref(drawn))

    def _answered(self) -> c.Answer:
        if self._last is None:
            raise ValueError("there is no answer: the task has not been run, or its last run failed")
        return self._last

    def cancel(self):
        """Makes the run in progress fail with ferry.Error, CANCELLED. Any thread."""
        self._open_handle().cancel()

    @property
    def report(self) -> Report:
        """Where the session of the model's graph runs, as Session.report."""
        with self._use() as task:
            return report_of(library().ferry_task_session(task))


class _maybe:
    """image_of(), or None for None."""

    def __init__(self, image):
        self._image = None if image is None else image_of(image)

    def __enter__(self):
        return self._image and self._image.__enter__()

    def __exit__(self, *error):
        return self._image and self._image.__exit__(*error)


def _number(what, value):
    if not 0 <= value < 2**31:
        raise ValueError(f"{what} is {value}: must be 0 or more")
    return value


def _point(point):
    if len(point) not in (2, 3):
        raise ValueError(f"a point is (x, y) or (x, y, belongs), not {point!r}")
    return c.Point(point[0], point[1], len(point) == 3 and not point[2])


def _progress_callback(progress, failures, cancel):
    """A callback for the library, which catches exceptions: the first one cancels the run."""

    def report(_, done, total):
        try:
            if not failures:
                progress(done, total)
        except BaseException as error:
            failures.append(error)
            cancel()

    return report
