# SPDX-License-Identifier: Apache-2.0
"""ferry.fixture(): records the results of a PyTorch module, an ONNX or .tflite file or a function as a parity fixture
(docs/parity.md)."""
import copy, hashlib, inspect, os, sys, tempfile
from numbers import Integral
from typing import Iterable, Mapping, Optional, Sequence, Union

import numpy as np

from .fixture_files import entry, input_entry, seeded_image, unit, write_files
from .onnx_names import OnnxNames
from .tflite_file import LONGEST_TAP, TfliteFile, is_tflite


def fixture(module, inputs, folder, *, taps: Optional[Iterable[str]] = None,
            outputs: Union[None, str, Sequence[str]] = None, seed: int = 0, samples: int = 2048,
            library: Optional[Mapping[str, str]] = None, arch: Optional[str] = None,
            extra: Optional[Mapping] = None, network: Optional[str] = None) -> str:
    """Records a parity fixture: runs `module` in float64 and in float32, and writes its inputs, its outputs and the
    output of every submodule into `folder`, for `ferry parity blob folder`, `ferry convert --certify folder`, `ferry
    bisect` and ferry.verify(). The module is copied, and run in eval mode on the CPU. Returns the folder's path.

        ferry.fixture(net, (1, 3, 224, 224), "fixtures/net")               # an image generated from the seed
        ferry.fixture(net, pixels, "fixtures/net", taps=["layer1", "layer2"])
        ferry.fixture(net, {"ids": ids, "mask": mask}, "fixtures/net")     # by the names of forward()'s arguments
        ferry.fixture("net.onnx", (1, 3, 224, 224), "fixtures/net")        # every value, by ONNX Runtime in float32
        ferry.fixture("net.tflite", None, "fixtures/net")                  # by TensorFlow Lite's interpreter
        ferry.fixture(compute, {"x": x}, "fixtures/net", outputs=["y"])    # a function from a dict to a dict of arrays

    module   a torch.nn.Module; the path of an ONNX file, which ONNX Runtime computes without its optimisations, or of a
             .tflite file, which TensorFlow Lite's interpreter computes; or a function that takes a dict of arrays by
             name and returns one. Taps are then values of the file, and those results of the function that are not
             outputs. Values are as they are computed, usually in float32: there is no floor. Integers with a scale are
             recorded as the real numbers that they stand for, whole
    inputs   a shape N,C,H,W: a generated image, which is not stored and fits a certificate. Or the arguments of
             forward() in PyTorch's layout: a tensor or array, several of them, or a dict of them by name. Floats are
             rounded to float32; integers are unchanged. None, of a .tflite file: generated, in the file's shapes
    taps     names of the submodules to record, as in named_modules(); None: all that are called once and return a
             tensor of floats; (): none. Of an ONNX file: names of values, or of nodes for their first outputs
    outputs  names of forward()'s results, as in the blob; None: "logits" for one tensor, and the keys of a dict
    samples  number of values stored of a tensor that is larger than twice this (outputs: eight times)
    library  "name" and "version" of the network's library; None: the package of its class
    arch     the network's name; None: that of its class
    network  of a .tflite file with several networks: the key of a signature; None: the first
    extra    more entries of the manifest

    Values are float64 results rounded to float32. The error of the float32 run is the fixture's floor, per entry.

    ImportError: onnxruntime is not installed, which an ONNX file needs, or no interpreter of TensorFlow Lite.
    TypeError: `module` is none of these, or does not compute in float64. ValueError: a tap that does not exist or has
    not exactly one output, a shape that is not N,C,H,W, NaN or infinite results, outputs without names."""
    if not isinstance(seed, Integral) or not 0 <= seed < 2**64:
        raise ValueError(f"seed is {seed!r}: must be an integer of 0 or more, within 64 bits")
    wanted = None if taps is None else [taps] if isinstance(taps, str) else list(taps)
    names = [outputs] if isinstance(outputs, str) else None if outputs is None else list(outputs)
    stored = {}

    def write(library, named, arrays, taps, results, weights):
        manifest = {"library": library, "arch": arch or named, "seed": int(seed),
                    "inputs": [_input_entry(name, array, seed, stored) for name, array in arrays.items()],
                    "taps": [_entry("tap/" + name, *values, samples, stored) for name, values in taps.items()],
                    "outputs": [_entry(name, *values, 8 * samples, stored) for name, values in results.items()],
                    "tensors": _weights(weights), **(extra or {})}
        write_files(os.fspath(folder), manifest, stored)
        return os.fspath(folder)

    if isinstance(module, (str, os.PathLike)) and is_tflite(module):
        file = TfliteFile(module, network)
        samples = 1 << 40 if file.quantised else samples  # each operator is judged for the values before it
        arrays = _tflite_inputs(file, inputs, seed)
        found, kept, used = _run_tflite(file, arrays, wanted, names)
        arrays.update({name: np.zeros(shape, np.float32) for name, shape in file.states.items()})
        named = os.path.splitext(os.path.basename(os.fspath(module)))[0]
        return write(dict(library or used), named, arrays, found, kept, file.weights)
    if isinstance(module, (str, os.PathLike)):
        file = OnnxNames(module)
        try:
            import onnxruntime
        except ImportError:
            raise ImportError(f"{os.fspath(module)} is computed by ONNX Runtime, which is not installed (pip install "
                              "onnxruntime); or record a function that computes it") from None
        arrays = _named_inputs(inputs, seed, file.inputs)
        found, kept = _run_onnx(onnxruntime, module, file, arrays, wanted, names)
        named = os.path.splitext(os.path.basename(os.fspath(module)))[0]
        used = {"name": "onnxruntime", "version": str(onnxruntime.__version__)}
        return write(dict(library or used), named, arrays, found, kept, file.weights)
    if not callable(module):
        raise TypeError(f"a torch.nn.Module, the path of an ONNX or .tflite file or a function is recorded, not "
                        f"{type(module).__name__}")
    torch = sys.modules.get("torch")  # a module implies that it is imported
    if torch is None or not isinstance(module, torch.nn.Module):
        arrays = _named_inputs(inputs, seed, ["input"])
        found, kept = _run_function(module, arrays, wanted, names)
        called = getattr(module, "__name__", type(module).__name__)
        return write(dict(library or {"name": called}), called, arrays, found, kept, {})
    known = [name for name, _ in module.named_modules() if name]
    for name in wanted or ():
        if name not in known:
            raise ValueError(f"no submodule is called {name!r}; there are {len(known)}: {', '.join(known[:8])}...")
    arrays, positional = _inputs(module, inputs, seed)

    def run(dtype):  # a new copy for each run: a module may keep tensors of the run's type
        return run_module(copy.deepcopy(module).cpu().eval().to(dtype), arrays, positional, dtype, outputs, wanted)

    try:
        exact_taps, exact = run(torch.float64)
    except RuntimeError as error:
        raise TypeError(f"the module does not compute in float64, which a reference is made in: {error}") from error
    rough_taps, rough = run(torch.float32)

    def both(exact, rough):
        return {name: (value, rough[name]) for name, value in exact.items()}

    package = type(module).__module__.split(".")[0]
    weights = {name: tensor.detach().cpu().float().numpy() for name, tensor in module.state_dict().items()
               if tensor.is_floating_point()}
    return write({**(library or _library(package)), "torch": str(torch.__version__)}, type(module).__name__, arrays,
                 both(exact_taps, rough_taps), both(exact, rough), weights)


def _weights(arrays):
    """Hashes of float32 weights by name, with which `ferry bisect` finds those that differ in another checkpoint."""
    return [{"name": name, "dtype": "F32", "shape": list(values.shape), "kind": "recorded",
             "sha256": hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()}
            for name, values in arrays.items()]


# ---- inputs ----------------------------------------------------------------------------------------------------------


def _inputs(module, inputs, seed):
    """Arrays by name (float32 and integers), and whether forward() takes them as positional arguments."""
    inputs = _generated(inputs, seed)
    if isinstance(inputs, Mapping):
        return {name: _array(name, value) for name, value in inputs.items()}, False
    given = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    names = list(inspect.signature(module.forward).parameters)
    if len(given) == 1:
        names = ["input"] if not names or names[0] in ("x", "args", "input") else names
    if len(given) > len(names):
        raise ValueError(f"{len(given)} inputs were given, forward() names {len(names)}: give a dict")
    return {name: _array(name, value) for name, value in zip(names, given)}, True


def _generated(inputs, seed):
    """The image that a shape asks for; other inputs as they are."""
    if not isinstance(inputs, (tuple, list)) or not all(isinstance(side, Integral) for side in inputs):
        return inputs
    if len(inputs) != 4 or min(inputs) < 1:
        raise ValueError(f"an image's shape is N,C,H,W, not {tuple(inputs)}: give other inputs as arrays")
    return seeded_image(tuple(inputs), seed)


def _named_inputs(inputs, seed, names):
    """Arrays by name, for a network whose inputs are called `names`."""
    inputs = _generated(inputs, seed)
    if isinstance(inputs, Mapping):
        return {name: _array(name, value) for name, value in inputs.items()}
    given = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    if len(given) != len(names):
        raise ValueError(f"{len(given)} inputs were given, the network has {len(names)}: {', '.join(names)}")
    return {name: _array(name, value) for name, value in zip(names, given)}


def _array(name, value):
    array = np.ascontiguousarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
    if array.dtype.kind == "f":
        array = array.astype(np.float32)
        if not np.isfinite(array).all():
            raise ValueError(f"input {name!r} has NaN or infinite values")
    elif array.dtype.kind not in "iub":
        raise TypeError(f"input {name!r} is {array.dtype}: floats, integers and truth values are recorded")
    if array.size == 0:
        raise ValueError(f"input {name!r} is empty: {list(array.shape)}")
    return array


def _input_entry(name, array, seed, stored):
    if array.dtype.kind != "f":
        array = array.astype(np.int64)
    images = [seeded_image(array.shape, seed, last) for last in (False, True)] if array.ndim == 4 else []
    if any(np.array_equal(array, image) for image in images):
        return input_entry(name, array, stored, 1)  # generated again when it is read
    return input_entry(name, array, stored)


# ---- one run of an ONNX file or a function ---------------------------------------------------------------------------

# Types of ONNX Runtime's inputs.
_TYPES = {"float": "float32", "double": "float64", "float16": "float16", "bool": "bool", "int8": "int8",
          "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8", "uint16": "uint16",
          "uint32": "uint32", "uint64": "uint64"}


def _run_onnx(onnxruntime, path, file, arrays, wanted, names):
    """Taps and outputs by name, each a pair of the array and None."""
    taps = file.values if wanted is None else [file.value_of(name) for name in wanted]
    taps = [name for name in dict.fromkeys(taps) if name not in file.outputs]
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    data = file.with_outputs(taps)
    if file.external:  # weights in other files are found beside the model's
        folder = os.path.dirname(os.path.abspath(os.fspath(path)))
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".onnx") as beside:
            beside.write(data)
            beside.flush()
            session = onnxruntime.InferenceSession(beside.name, options, providers=["CPUExecutionProvider"])
    else:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    types = {port.name: _TYPES.get(port.type[len("tensor("):-1]) for port in session.get_inputs()}
    for name in arrays:
        if types.get(name) is None:
            raise ValueError(f"the network has no input {name!r} of numbers; it has {', '.join(types)}")
    asked = list(file.outputs) + taps
    results = session.run(asked, {name: array.astype(types[name]) for name, array in arrays.items()})
    return _split(dict(zip(asked, results)), file.outputs if names is None else names, taps, wanted is not None)


def _tflite_inputs(file, inputs, seed):
    """Arrays by name; without `inputs`, images and other numbers from the seed."""
    if inputs is not None:
        shape = isinstance(inputs, (tuple, list)) and len(inputs) == 4 and all(isinstance(n, Integral) for n in inputs)
        return _named_inputs(seeded_image(inputs, seed, True) if shape else inputs, seed, list(file.inputs))
    arrays = {}
    for name, tensor in file.inputs.items():
        if tensor.type != "float32" and not tensor.scale:
            raise ValueError(f"input {name!r} is {tensor.type}: give the inputs")
        image = len(tensor.shape) == 4
        arrays[name] = (seeded_image(tensor.shape, seed, True) if image else
                        unit(name, seed, tensor.shape).astype(np.float32))
    return arrays


def _run_tflite(file, arrays, wanted, names):
    """Taps and outputs by name, each a pair of the array and None, and the interpreter's name and version."""
    for name in wanted or ():
        if name not in file.values:
            raise ValueError(f"no value is called {name!r}; there are {len(file.values)}: "
                             f"{', '.join(list(file.values)[:8])}...")
    outputs, taps, used = file.run(arrays, list(file.values) if wanted is None else wanted)
    taps = {name.encode()[:LONGEST_TAP].decode("utf-8", "ignore"): value for name, value in taps.items()}
    results = {**{("tap", name): value for name, value in taps.items()}, **outputs}
    found, kept = _split(results, list(file.outputs) if names is None else names, [("tap", name) for name in taps],
                         wanted is not None)
    return {name: value for (_, name), value in found.items()}, kept, used


def _run_function(function, arrays, wanted, names):
    """The same for a function."""
    results = function({name: array.copy() for name, array in arrays.items()})
    if not isinstance(results, Mapping):
        raise TypeError(f"the function returns {type(results).__name__}: expected a dict of arrays by name")
    results = {name: value.detach().numpy() if hasattr(value, "detach") else np.asarray(value)
               for name, value in results.items()}
    outputs = [name for name in results if name not in (wanted or ())] if names is None else names
    taps = [name for name in results if name not in outputs] if wanted is None else wanted
    return _split(results, outputs, taps, wanted is not None)


def _split(results, outputs, taps, strict):
    """Those of `results` that are arrays of floats, and unless `strict`, taps that are finite. ValueError: an output is
    no such array, or if `strict`, a tap."""

    def chosen(names, strict):
        kept = {}
        for name in names:
            value = results.get(name)
            floats = isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size > 0
            if floats and (strict or np.isfinite(value).all()):  # masks may hold -infinity
                kept[name] = (value, None)
            elif strict:
                raise ValueError(f"{name!r} is no array of floats; there are {', '.join(map(str, list(results)[:8]))}")
        return kept

    return chosen(taps, strict), chosen(outputs, True)


# ---- one run of a module ---------------------------------------------------------------------------------------------


def run_module(module, arrays, positional, dtype, names=None, wanted=None):
    """Outputs of submodules by name, in order of completion, and of the module; as arrays."""
    import torch

    found, calls, handles = {}, {}, []

    def hook(name):
        def keep(_, given, output):
            calls[name] = calls.get(name, 0) + 1
            if torch.is_tensor(output) and output.is_floating_point() and output.numel():
                found[name] = output.detach().numpy().copy()  # later operators may overwrite it

        return keep

    for name, submodule in module.named_modules():
        if name and (wanted is None or name in wanted):
            handles.append(submodule.register_forward_hook(hook(name)))
    tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    tensors = {name: t.to(dtype) if t.is_floating_point() else t for name, t in tensors.items()}
    try:
        with torch.no_grad():
            result = module(*tensors.values()) if positional else module(**tensors)
    finally:
        for handle in handles:
            handle.remove()
    # A module that is called twice (torchvision's shared relu) has more than one output.
    taps = {name: value for name, value in found.items() if calls[name] == 1}
    for name in wanted or ():
        if name not in taps:
            called = calls.get(name, 0)
            why = "gives no tensor of floats" if called == 1 else f"is called {called} times"
            raise ValueError(f"submodule {name!r} {why}: it has no one output to record")
    return taps, _outputs(result, names)


def _outputs(result, names):
    import torch

    if isinstance(names, str):
        names = [names]
    if torch.is_tensor(result):
        named = {(names or ["logits"])[0]: result}
    elif isinstance(result, Mapping):
        named = {name: value for name, value in result.items() if names is None or name in names}
    elif isinstance(result, (tuple, list)) and names is not None and len(names) <= len(result):
        named = dict(zip(names, result))
    else:
        raise ValueError(f"forward() gives {type(result).__name__}: say what its outputs are called (outputs=)")
    named = {name: value.detach().numpy() for name, value in named.items()
             if torch.is_tensor(value) and value.is_floating_point() and value.numel()}
    if not named or (names is not None and list(named) != list(names)):
        raise ValueError(f"outputs {names or 'of forward()'}: there are tensors of floats called {list(named)}")
    return named


def _entry(name, exact, rough, samples, stored):
    for array in (exact, rough):
        if array is not None and not np.isfinite(array).all():
            raise ValueError(f"{name!r} has NaN or infinite values, computed in {array.dtype}")
    return entry(name, exact, rough, samples, stored)


def _library(name):
    """Name and version of the package; PyTorch's for modules of the user."""
    version = getattr(sys.modules.get(name), "__version__", None)
    if version is None:
        name, version = "torch", sys.modules["torch"].__version__
    return {"name": name, "version": str(version)}
