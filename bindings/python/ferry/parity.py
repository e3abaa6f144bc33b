# SPDX-License-Identifier: Apache-2.0
"""ferry.verify(): a blob against a fixture, stage by stage (docs/parity.md)."""
import hashlib, json, os
from dataclasses import dataclass, field
from typing import List, Optional, Tuple

import numpy as np

from .fixture_files import FORMAT, read_safetensors, sample_positions, seeded_image
from .session import permuted

LOGITS_BOUND, RELATIVE_BOUND = 1e-3, 1e-4  # as in cli/parity/compare.h


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@dataclass(frozen=True)
class Stage:
    """One tensor that both the fixture and the blob have."""

    name: str  # the fixture's: "tap/layer1.0", "logits"
    shape: Tuple[int, ...]  # in the framework's layout
    compared: int  # number of values: all, or the samples
    max_abs_error: float  # of these; NaN if there is a problem
    relative_error: float  # relative to the absolute maximum of the reference's tensor
    floor: Optional[float]  # the reference's own float32 error, relative
    bound: float  # of max_abs_error for logits with a maximum above 10, else of relative_error
    in_bounds: bool
    problem: str = ""  # why they could not be compared; or a value is NaN


@dataclass
class Comparison:
    """Result of comparing a blob with a fixture; true if every stage is in bounds."""

    fixture: str
    library: str
    stages: List[Stage] = field(default_factory=list)  # in the fixture's order, which is the network's
    missing: List[str] = field(default_factory=list)  # outputs that the blob lacks
    not_in_blob: List[str] = field(default_factory=list)  # taps that it lacks: see `ferry convert --keep-taps`

    @property
    def passed(self) -> bool:
        return bool(self.stages) and not self.missing and all(stage.in_bounds for stage in self.stages)

    __bool__ = passed.fget

    @property
    def first_out_of_bounds(self) -> Optional[Stage]:
        """The first stage with an error."""
        return next((stage for stage in self.stages if not stage.in_bounds), None)

    @property
    def worst(self) -> Optional[Stage]:
        return max(self.stages, default=None,
                   key=lambda stage: np.inf if np.isnan(stage.relative_error) else stage.relative_error)

    def __str__(self) -> str:
        """A table for people: names are one line each, without control characters."""
        rows = [f"{'name':24} {'shape':16} {'max abs err':>11} {'rel err':>9} {'floor':>9}  verdict"]
        for stage in self.stages:
            floor = "" if stage.floor is None else f"{stage.floor:.1e}"
            verdict = "ok" if stage.in_bounds else _line(stage.problem or "") or "OUT OF BOUNDS"
            rows.append(f"{_line(stage.name):24} {'x'.join(map(str, stage.shape)):16} {stage.max_abs_error:11.1e} "
                        f"{stage.relative_error:9.1e} {floor:>9}  {verdict}")
        rows += [f"{_line(name):24} is not in the blob" for name in self.missing]
        return "\n".join(rows)


def verify(model, folder=None, *, backend: str = "cpu", threads: int = 0, device: Optional[str] = None,
           gpu_required: bool = False):
    """Runs a blob on a fixture's inputs and compares every tensor that both have; returns a Comparison. Without a
    folder, checks the blob's certificates: Model.verify().

        result = ferry.verify(model, "fixtures/resnet50")
        assert result, result.first_out_of_bounds

    The bounds are float32's: 1e-4 of the reference's maximum, and for `logits` 1e-3 absolute as well. It is what
    `ferry parity` does, but for what that alone can: blobs with rounded weights, float16, prompts, images in texts,
    and to tell which taps a blob must have.

    ValueError: the folder contains no fixture, or its inputs do not match the blob's. ferry.Error: as in
    Model.session()."""
    options = {"backend": backend, "threads": threads, "device": device, "gpu_required": gpu_required}
    if folder is None:
        return model.verify(**options)
    manifest, stored = _read(os.fspath(folder))
    library = " ".join(str(manifest["library"].get(key, "")) for key in ("name", "version"))
    out = Comparison(manifest["name"], library.strip())
    entries = manifest["taps"] + _pyramids(manifest, stored) + manifest["outputs"]
    named = {name for item in entries for name in (item["name"], item["module"])}
    taps = [tap.name for tap in model.taps if tap.name in named]
    with model.session(taps=taps, check_weights=False, **options) as session:  # values tell where damage is
        inputs = _inputs(session, manifest, stored)
        session.resize({port.name: _ours(port, array.shape) for port, array in inputs})
        results = session.run({port.name: array for port, array in inputs}, layout="framework")
        if not isinstance(results, dict):
            results = {session.outputs[0].name: results}
        for item in entries:
            name, module, pyramid = item["name"], item["module"], item["name"].startswith("feat/")
            key = name if name in results or name in taps else module
            ours = results[key] if key in results else session.tap(key, layout="framework") if key in taps else None
            if ours is None:
                (out.not_in_blob if name.startswith("tap/") else out.missing).append(name)
            elif pyramid and key == module and ours.shape != tuple(item["shape"]):
                out.not_in_blob.append(name)  # a map computed from the module's tokens
            else:
                out.stages.append(_compare(item, ours, stored))
    return out


# ---- a fixture's files -----------------------------------------------------------------------------------------------


def _read(folder):
    where = os.path.join(folder, "manifest.json")
    try:
        with open(where, encoding="utf-8") as file:
            manifest = json.load(file)
        if manifest["format"] != FORMAT:
            raise ValueError(f"format {manifest['format']!r}, where {FORMAT!r} is expected")
        manifest = {"library": {}, "taps": [], "outputs": [], **manifest}
        for item in manifest["inputs"] + manifest["taps"] + manifest["outputs"]:
            if not all(isinstance(side, int) and side > 0 for side in item["shape"] + [item.get("samples", 1)]):
                raise ValueError(f"{item['name']}: shape {item['shape']}, samples {item.get('samples')}")
            if item["stored"] == "sample":
                item["samples"]
            item["module"] = item["name"][4:] if item["name"].startswith("tap/") else item["name"]
        for item in manifest["taps"] + manifest["outputs"]:
            item["absmax"] = float(item["absmax"])
        for item in manifest["inputs"]:
            item["sha256"]
            if item["stored"] == "sample" and (len(item["shape"]) != 4 or not isinstance(manifest["seed"], int)):
                raise ValueError(f"input {item['name']} is stored as a sample: only N,C,H,W can be remade from a seed")
        manifest["library"].get("name")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{where}: no fixture's manifest: {error!r}") from None
    return manifest, read_safetensors(os.path.join(folder, "fixture.safetensors"))


def _pyramids(manifest, stored):
    """Intermediate features, as from timm's features_only; the manifest has no statistics of them."""
    given, out = manifest.get("features_only", {}), []
    for i, (module, shape) in enumerate(zip(given.get("module", ()), given.get("shapes", ()))):
        values = stored.get(f"feat/{i}", np.zeros(0, np.float32))
        item = {"name": f"feat/{i}", "module": module, "shape": shape, "stored": "full",
                "absmax": float(np.abs(values).max(initial=0))}
        if values.ndim == 1 and len(shape) != 1:
            item.update(stored="sample", samples=values.size)
        for tap in manifest["taps"]:
            if tap["module"] == module and tap["shape"] == shape:
                item.update(absmax=tap["absmax"], float32_vs_float64=tap.get("float32_vs_float64"))
        out.append(item)
    return out


def _stored(item, stored):
    """A tensor's values and their flat positions; None: all positions."""
    name, shape = item["name"], item["shape"]
    sampled = item["stored"] == "sample"
    if name not in stored or stored[name].shape != ((item["samples"],) if sampled else tuple(shape)):
        raise ValueError(f"fixture.safetensors: {name!r} is missing, or not of the shape that the manifest says")
    return stored[name], sample_positions(name, item["samples"], int(np.prod(shape))) if sampled else None


def _inputs(session, manifest, stored):
    """(input of the session, array in the framework's layout)."""
    ports, out = session.inputs, []
    if len(ports) != len(manifest["inputs"]):
        has = f"fixture {manifest['name']!r} has {len(manifest['inputs'])}"
        raise ValueError(f"the blob takes {len(ports)} inputs, {has}")
    for item in manifest["inputs"]:
        name = item["name"][6:] if item["name"].startswith("input/") else item["name"]
        found = [port for port in ports if len(ports) == 1 or port.name == name]  # a single input matches any name
        if not found:
            raise ValueError(f"input {name!r} of the fixture is not an input of the blob")
        values, positions = _stored(item, stored)
        if positions is not None:
            images = [seeded_image(tuple(item["shape"]), manifest["seed"], last) for last in (False, True)]
            values = next((image for image in images if _sha256(image) == item["sha256"]), images[0])
        if _sha256(values) != item["sha256"]:
            other = "" if positions is None else ", or follow from another rule: `ferry parity` knows it"
            raise ValueError(f"input {name!r}: its values have another SHA-256 than the manifest says{other}")
        out.append((found[0], values.astype(found[0].dtype)))
    return out


def _sha256(array):
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _ours(port, shape):
    """Converts a shape to the library's layout."""
    return (shape[0], *shape[2:], shape[1]) if permuted(port) and len(shape) == len(port.shape) else shape


def _compare(item, ours, stored):
    name, shape, absmax = item["name"], tuple(item["shape"]), item["absmax"]
    absolute = name == "logits" and LOGITS_BOUND < RELATIVE_BOUND * absmax  # the tighter of the two is the stage's
    bound, floor = LOGITS_BOUND if absolute else RELATIVE_BOUND, item.get("float32_vs_float64")
    values, positions = _stored(item, stored)

    def stage(compared, error, relative, in_bounds, problem=""):
        return Stage(name, shape, compared, error, relative, floor, bound, in_bounds, problem)

    if ours.shape != shape:
        return stage(0, np.nan, np.nan, False, f"the blob's shape is {ours.shape}, the reference's {shape}")
    if not np.isfinite(ours).all():
        return stage(0, np.nan, np.nan, False, "the result has NaN or infinite values")
    ours = np.ascontiguousarray(ours).reshape(-1)
    at = ours if positions is None else ours[positions]
    error = float(np.abs(at.astype(np.float64) - values.reshape(-1)).max())
    relative = error / absmax if absmax else np.inf if error else 0.0
    return stage(values.size, error, relative, (error if absolute else relative) <= bound)
