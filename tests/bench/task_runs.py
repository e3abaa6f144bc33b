"""What the comparisons on networks of tasks share: checkpoints, blobs, and the figures of two backends in turn."""
import argparse
import datetime
import os
import statistics
import subprocess
import sys

from peers import CACHE, HERE, ROOT, install_torch, run, say

FOLDER = os.path.join(CACHE, "tasks")
SAM = "mobile_sam_encoder"


class Task:
    def __init__(self, title, model, shapes, runs, checkpoint=None, graph=None, convert=(), values=None):
        self.title, self.model, self.shapes, self.runs = title, model, shapes, runs
        self.checkpoint = checkpoint  # another task's, None: its own
        self.options = ["--graph", graph] if graph else []
        self.convert = list(convert)
        self.values = values  # of inputs other than the image


TASKS = {
    "depth_anything_v2_small": Task("Depth Anything V2 small, 518x518", "depth_anything_v2_small",
                                    {"pixel_values": [1, 3, 518, 518]}, 5),
    "birefnet_lite": Task("BiRefNet lite, 1024x1024", "birefnet_lite", {"input": [1, 3, 1024, 1024]}, 2),
    SAM: Task("MobileSAM, encoder, 1024x1024", "mobile_sam", {"input": [1, 3, 1024, 1024]}, 5),
    "mobile_sam_decoder": Task(
        "MobileSAM, decoder, 2 points", "mobile_sam",
        {"image_embedding": [1, 256, 64, 64], "point_coords": [1, 2, 2], "point_labels": [1, 2],
         "mask_input": [1, 1, 256, 256], "has_mask_input": [1]}, 30, SAM, "prompt",
        values={"point_coords": [300, 400, 700.5, 120], "point_labels": [1, 0], "has_mask_input": [1]}),
    "migan_512": Task("MI-GAN, 512x512", "migan_512", {"input": [1, 4, 512, 512]}, 5),
    "rrdbnet_x4": Task("RRDBNet x4, 23 blocks, 256x256", "realesrgan_x4plus", {"input": [1, 3, 256, 256]}, 1,
                       convert=["--input-size", "256"]),
}


def at(name, suffix):
    return os.path.join(FOLDER, name + suffix)


def blob_of(name):
    return at(TASKS[name].checkpoint or name, ".ferry")


def arguments(doc, names):
    """The options that every comparison has."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "dev"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--tasks", default=",".join(names))
    parser.add_argument("--markdown", help="write the table there, too")
    return parser


def set_up(ferry, names, options=()):
    """Writes what the cache folder lacks of checkpoints and .onnx, and converts the checkpoints anew. `options`:
    export_tasks.py's; with --checkpoints there is no .onnx."""
    wanted = set(names) | {TASKS[n].checkpoint for n in names if TASKS[n].checkpoint}

    def written(name):
        if "--checkpoints" in options:
            return at(TASKS[name].checkpoint or name, ".safetensors")
        return at(name, ".onnx")

    missing = [n for n in TASKS if n in wanted and not os.path.exists(written(n))]
    if missing:
        install_torch()
        say("exporting", *missing)
        run(["/usr/bin/python3", os.path.join(HERE, "export_tasks.py"), FOLDER, *options, *missing], stdout=sys.stderr,
            stderr=subprocess.DEVNULL)
    for name in wanted:
        task = TASKS[name]
        if not task.checkpoint:
            run([ferry, "convert", at(name, ".safetensors"), "--model", task.model, *task.convert,
                 "-o", at(name, ".ferry")], stdout=sys.stderr)


def in_turn(rounds, backends, *words):
    """Runs each of `backends` ("ferry", "peer": what returns a row of figures) once a round, in alternating order."""
    rows = {name: [] for name in backends}
    for i in range(rounds):
        say(*words, "round", i + 1, "of", rounds)
        for name in sorted(backends, reverse=i % 2 == 1):
            rows[name].append(backends[name]())
    return Figures(rows)


class Figures:
    """Rows of figures of "ferry" and "peer", one a round."""

    def __init__(self, rows):
        self.rows = rows

    def median(self, backend, key):
        return statistics.median(r[key] for r in self.rows[backend])

    def ratio(self, key):
        """Above 1, ferry is ahead."""
        return statistics.median(theirs[key] / ours[key] for ours, theirs in zip(self.rows["ferry"], self.rows["peer"]))

    def cells(self, key):
        """Both medians and the ratio."""
        return [f"{self.median(e, key):.1f}" for e in ("ferry", "peer")] + [f"{self.ratio(key):.2f}"]


def here():
    """The day and the machine, to stand before a table."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        cpu = next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    return f"{datetime.date.today()}, {cpu}, {os.cpu_count()} cores"


def publish(lines, markdown):
    table = "\n".join(lines) + "\n"
    print(table)
    if markdown:
        with open(markdown, "w", encoding="utf-8") as f:
            f.write(table)
