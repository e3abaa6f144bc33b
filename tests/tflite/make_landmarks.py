#!/usr/bin/env python3
"""Makes tests/data/tflite/landmarks.json: the points of faces in ../shared/photos/face.jpg and of the body in
grace_hopper.bmp, by MediaPipe's networks in TensorFlow Lite's interpreters. What lies between the networks is computed
here with NumPy from MediaPipe's graphs: anchors of SsdAnchorsCalculator, suppression, the turned square of
DetectionsToRectsCalculator, AlignmentPointsRectsCalculator and RectTransformationCalculator, the bilinear crop of
ImageToTensorCalculator, RefineLandmarksFromHeatmapCalculator, and LandmarkProjectionCalculator. Without weighted suppression and tracking.

    npm install --prefix DIR @tensorflow/tfjs-tflite@0.0.1-alpha.10 @litertjs/core@2.5.3 @litertjs/wasm-utils@2.5.3
    FERRY_PEERS=DIR tests/tflite/make_landmarks.py [NAME DETECTOR LANDMARKS PHOTO]     NAME: face, body or hand

With arguments, prints the points of another photograph."""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

from interpret_attention import interpret_attention

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SHARED = pathlib.Path(os.environ.get("FERRY_SHARED", ROOT.parent / "shared"))
# Side of the detector's input, its strides with the anchors of a cell, keypoints, range of the input; side of the
# second network's input, points and values of each; the crop.
KINDS = {
    "face": dict(side=128, strides=[(8, 2), (16, 6)], keypoints=6, signed=True, crop=192, rows=468, columns=3,
                 start=0, end=1, angle=0, scale=1.5, shift=0, around=False, raw_score=True),
    "body": dict(side=224, strides=[(8, 2), (16, 2), (32, 6)], keypoints=4, signed=True, crop=256, rows=39, columns=5,
                 start=0, end=1, angle=90, scale=1.25, shift=0, around=True, raw_score=False),
    "hand": dict(side=192, strides=[(8, 2), (16, 6)], keypoints=7, signed=False, crop=224, rows=21, columns=3,
                 start=0, end=2, angle=90, scale=2.6, shift=-0.5, around=False, raw_score=False),
}
THRESHOLD, OVERLAP = 0.5, 0.3
# The points that the further outputs of the network with attention refine or add: lips, eyes, irises
# (tensors_to_face_landmarks_with_attention.pbtxt).
REFINED = [
    [*(61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291), *(185, 40, 39, 37, 0, 267, 269, 270, 409),
     *(78, 95, 88, 178, 87, 14, 317, 402, 318, 324, 308), *(191, 80, 81, 82, 13, 312, 311, 310, 415),
     *(76, 77, 90, 180, 85, 16, 315, 404, 320, 307, 306), *(184, 74, 73, 72, 11, 302, 303, 304, 408),
     *(62, 96, 89, 179, 86, 15, 316, 403, 319, 325, 292), *(183, 42, 41, 38, 12, 268, 271, 272, 407)],
    [*(33, 7, 163, 144, 145, 153, 154, 155, 133), *(246, 161, 160, 159, 158, 157, 173),
     *(130, 25, 110, 24, 23, 22, 26, 112, 243), *(247, 30, 29, 27, 28, 56, 190),
     *(226, 31, 228, 229, 230, 231, 232, 233, 244), *(113, 225, 224, 223, 222, 221, 189),
     *(35, 124, 46, 53, 52, 65), *(143, 111, 117, 118, 119, 120, 121, 128, 245), *(156, 70, 63, 105, 66, 107, 55, 193)],
    [*(263, 249, 390, 373, 374, 380, 381, 382, 362), *(466, 388, 387, 386, 385, 384, 398),
     *(359, 255, 339, 254, 253, 252, 256, 341, 463), *(467, 260, 259, 257, 258, 286, 414),
     *(446, 261, 448, 449, 450, 451, 452, 453, 464), *(342, 445, 444, 443, 442, 441, 413),
     *(265, 353, 276, 283, 282, 295), *(372, 340, 346, 347, 348, 349, 350, 357, 465),
     *(383, 300, 293, 334, 296, 336, 285, 417)],
    range(468, 473), range(473, 478),
]


def interpret(network, values):
    """The outputs of a network, flat."""
    if "with_attention" in str(network):
        return interpret_attention(network, values)
    for script in ("interpret.cjs", "interpret_litert.cjs"):  # the second one has custom operators
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            shutil.copy(network, folder / "model.tflite")
            (folder / "input0.bin").write_bytes(np.asarray(values, "<f4").tobytes())
            subprocess.run(["node", HERE / script, folder], check=True, stderr=subprocess.DEVNULL)
            outputs = []
            while (file := folder / f"output{len(outputs)}.bin").exists():
                outputs.append(np.frombuffer(file.read_bytes(), "<f4").astype(float))
            if outputs:
                return outputs
    raise RuntimeError(f"no interpreter runs {network}")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def detect(kind, network, image):
    """Boxes (left, top, right, bottom) and keypoints in the image's pixels, best first."""
    height, width, _ = image.shape
    side = kind["side"]
    scale = side / max(width, height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    seen = np.zeros((side, side, 3))
    left, top = (side - size[0]) // 2, (side - size[1]) // 2
    seen[top:top + size[1], left:left + size[0]] = Image.fromarray(image).resize(size, Image.BILINEAR)
    seen = seen / 127.5 - 1 if kind["signed"] else seen / 255
    anchors = [((x + 0.5) * stride, (y + 0.5) * stride) for stride, count in kind["strides"]
               for y in range(side // stride) for x in range(side // stride) for _ in range(count)]
    anchors = np.array(anchors)
    outputs = interpret(network, seen)
    scores = sigmoid(next(o for o in outputs if o.size == len(anchors)))
    values = next(o for o in outputs if o.size > len(anchors)).reshape(len(anchors), -1)
    points = values.reshape(len(anchors), -1, 2).copy()
    points[:, 0] += anchors
    points[:, 2:] += anchors[:, None]
    to_image = lambda p: (p - (left, top)) * (width / size[0], height / size[1])
    found = []
    for row in np.argsort(-scores, kind="stable"):
        if scores[row] < THRESHOLD:
            break
        centre, half = points[row, 0], values[row, 2:4] / 2
        corners = to_image(np.array([centre - half, centre + half])).reshape(-1)
        if all(overlap(corners, other) <= OVERLAP for other, _ in found):
            found.append((corners, to_image(points[row, 2:])))
    return found


def overlap(a, b):
    inner = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0).prod()
    return inner / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - inner)


def crop_of(kind, box, keypoints):
    """Centre, half of the side, and the crop's axes."""
    start, end = keypoints[kind["start"]], keypoints[kind["end"]]
    turn = math.radians(kind["angle"]) - math.atan2(-(end[1] - start[1]), end[0] - start[0])
    along, down = np.array([math.cos(turn), math.sin(turn)]), np.array([-math.sin(turn), math.cos(turn)])
    if kind["around"]:
        return start, math.dist(start, end) * kind["scale"], along, down
    size = box[2:] - box[:2]
    return (box[:2] + box[2:]) / 2 + size[1] * kind["shift"] * down, size.max() / 2 * kind["scale"], along, down


def sample(image, x, y):
    """Bilinear; beyond the image, its edge."""
    height, width, _ = image.shape
    x, y = np.clip(x - 0.5, 0, width - 1), np.clip(y - 0.5, 0, height - 1)
    left, top = x.astype(int), y.astype(int)
    right, below = np.minimum(left + 1, width - 1), np.minimum(top + 1, height - 1)
    dx, dy = (x - left)[..., None], (y - top)[..., None]
    return ((image[top, left] * (1 - dx) + image[top, right] * dx) * (1 - dy)
            + (image[below, left] * (1 - dx) + image[below, right] * dx) * dy)


def refined(points, heatmaps):
    """RefineLandmarksFromHeatmapCalculator with a kernel of 7."""
    height, width, _ = heatmaps.shape
    out = points.copy()
    for i, (x, y) in enumerate(points):
        column, row = int(x * width), int(y * height)
        if not (0 <= column < width and 0 <= row < height):
            continue
        left, top = max(0, column - 3), max(0, row - 3)
        weights = heatmaps[top:min(height, row + 4), left:min(width, column + 4), i]
        if weights.max() >= 0.5:
            columns, rows = np.arange(weights.shape[1]) + left, np.arange(weights.shape[0]) + top
            out[i] = (weights * columns).sum() / weights.sum() / width, (weights.T * rows).sum() / weights.sum() / height
    return out


def landmarks(kind, detector, network, photo):
    image = np.array(Image.open(photo).convert("RGB"))
    found = []
    for box, keypoints in detect(kind, detector, image):
        centre, half, along, down = crop_of(kind, box, keypoints)
        side = kind["crop"]
        a = ((np.arange(side) + 0.5) * 2 / side - 1) * half
        places = centre + a[None, :, None] * along + a[:, None, None] * down
        outputs = interpret(network, sample(image.astype(float), places[..., 0], places[..., 1]) / 255)
        score = next(o[0] for o in outputs if o.size == 1)
        score = sigmoid(score) if kind["raw_score"] else score
        if score < THRESHOLD:
            continue
        points = next(o for o in outputs if o.size == kind["rows"] * kind["columns"])
        points = points.reshape(kind["rows"], -1)[:, :2] / side
        if kind["rows"] == 468 and len(outputs) > 2:
            points = np.concatenate([points, np.zeros((10, 2))])
            for rows, output in zip(REFINED, outputs[1:]):
                points[rows] = output.reshape(-1, 2) / side
        for output in outputs:
            if kind["rows"] == 39 and output.size == 64 * 64 * 39:
                points = refined(points, sigmoid(output.reshape(64, 64, 39)))[:33]
        xy = (points * 2 - 1) * half
        xy = centre + xy[:, :1] * along + xy[:, 1:] * down
        found.append({"score": round(float(score), 4), "points": np.round(xy, 2).tolist()})
    return found


def main():
    if len(sys.argv) == 5:
        return print(json.dumps(landmarks(KINDS[sys.argv[1]], *sys.argv[2:])))
    fetched = subprocess.run([ROOT / "scripts" / "fetch-npm", "face-mesh", "pose"], check=True, text=True,
                             capture_output=True).stdout.split()
    mesh, pose = map(pathlib.Path, fetched)
    faces = landmarks(KINDS["face"], mesh / "face_detection_short_range.tflite", mesh / "face_landmark.tflite",
                      SHARED / "photos" / "face.jpg")
    attention = landmarks(KINDS["face"], mesh / "face_detection_short_range.tflite",
                          mesh / "face_landmark_with_attention.tflite", SHARED / "photos" / "face.jpg")
    body = landmarks(KINDS["body"], pose / "pose_detection.tflite", pose / "pose_landmark_lite.tflite",
                     SHARED / "photos" / "grace_hopper.bmp")
    for face in faces + attention:
        face["points"] = face["points"][::8]  # 59 of 468 are enough
    target = HERE.parent / "data" / "tflite" / "landmarks.json"
    target.write_text(json.dumps({"face.jpg": faces, "attention": attention, "grace_hopper.bmp": body}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
