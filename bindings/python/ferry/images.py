# SPDX-License-Identifier: Apache-2.0
"""Conversion of images to and from the library's 8-bit RGB."""
import contextlib, ctypes, os

import numpy as np

from . import _structs as c
from ._handle import path_bytes
from ._library import library


@contextlib.contextmanager
def image_of(source):
    """A ferry_image from a path (JPEG, PNG or BMP; Exif orientation is applied), a PIL image, or an array uint8
    [height, width, 3]; valid within the block. TypeError, ValueError: it is none of these."""
    image = c.Image()
    if isinstance(source, (str, os.PathLike)):
        library().ferry_image_load(path_bytes(source), ctypes.byref(image))
        try:
            yield image
        finally:
            library().ferry_image_free(ctypes.byref(image))
        return
    if hasattr(source, "convert") and hasattr(source, "size"):
        source = np.asarray(source.convert("RGB"))
    if not isinstance(source, np.ndarray):
        raise TypeError(f"an image is a path, a PIL image or an array, not {type(source).__name__}")
    pixels = rgb(source)
    image.pixels, image.stride = pixels.ctypes.data, pixels.shape[1] * 3
    image.height, image.width = pixels.shape[:2]
    yield image
    del pixels  # the image refers to it until here


def rgb(array):
    if array.dtype != np.uint8:
        raise TypeError(f"an image's pixels are uint8, not {array.dtype}")
    if array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape:
        raise ValueError(f"an image is [height, width, 3], not {list(array.shape)}")
    return np.ascontiguousarray(array)


def mask_rgb(mask):
    """Converts a mask [height, width] to an image: of booleans, or of levels, which cover if above 127."""
    if not isinstance(mask, np.ndarray) or mask.ndim != 2:
        return mask
    if mask.dtype == bool:
        mask = mask.astype(np.uint8) * 255
    return np.repeat(mask[:, :, None], 3, axis=2)


def array_of(image):
    """A copy of a ferry_image's pixels, uint8 [height, width, 3]."""
    rows = (ctypes.c_uint8 * (image.stride * image.height)).from_address(image.pixels)
    pixels = np.frombuffer(rows, np.uint8).reshape(image.height, image.stride)
    return pixels[:, : image.width * 3].reshape(image.height, image.width, 3).copy()
