# SPDX-License-Identifier: Apache-2.0
"""ferry.fixture(): what a PyTorch module computes, recorded as a parity fixture (docs/parity.md)."""
import copy, hashlib, inspect, os, sys
from numbers import Integral
from typing import Iterable, Mapping, Optional, Sequence, Union

import numpy as np

from .fixture_files import entry, input_entry, seeded_image, write_files


def fixture(module, inputs, folder, *, taps: Optional[Iterable[str]] = None,
            outputs: Union[None, str, Sequence[str]] = None, seed: int = 0, samples: int = 2048,
            library: Optional[Mapping[str, str]] = None, arch: Optional[str] = None,
            extra: Optional[Mapping] = None) -> str:
    """Records a parity fixture: runs `module` in float64 and in float32, and writes its inputs, its outputs and the
    output of every submodule into `folder`, for `ferry parity blob folder`, `ferry convert --certify folder`, `ferry
    bisect` and ferry.verify(). The module is copied, and run in eval mode on the CPU; gives the folder's path.

        ferry.fixture(net, (1, 3, 224, 224), "fixtures/net")               # an image that follows from the seed
        ferry.fixture(net, pixels, "fixtures/net", taps=["layer1", "layer2"])
        ferry.fixture(net, {"ids": ids, "mask": mask}, "fixtures/net")     # by the names of forward()'s arguments

    inputs   a shape N,C,H,W: a made-up image, which a certificate has room for, and which is not stored; or what
             forward() takes, in PyTorch's own layout: a tensor or array, several of them, or a dict of them by name.
             Floats are rounded to float32, integers stay what they are
    taps     names of the submodules to record, as named_modules() has them; None: all that are called once and give a
             tensor of floats; (): none
    outputs  names of what forward() gives, as the blob has them; None: "logits" for one tensor, and a dict's own
    samples  of a tensor larger than twice as much (outputs: eight times that) so many values are stored
    library  "name" and "version" of where the network is from; None: the package of its class
    arch     the network's name; None: that of its class
    extra    more entries of the manifest

    Values are float64's rounded to float32; the error of the float32 run is the fixture's floor, entry by entry.

    TypeError: `module` is no torch.nn.Module, or does not compute in float64. ValueError: a tap that is not there or
    has no one output, a shape that is not N,C,H,W, a result that is not a number, outputs without names."""
    import torch

    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"a torch.nn.Module is recorded, not {type(module).__name__}")
    if not isinstance(seed, Integral) or not 0 <= seed < 2**64:
        raise ValueError(f"seed is {seed!r}: must be an integer of 0 or more, within 64 bits")
    wanted = None if taps is None else [taps] if isinstance(taps, str) else list(taps)
    known = [name for name, _ in module.named_modules() if name]
    for name in wanted or ():
        if name not in known:
            raise ValueError(f"no submodule is called {name!r}; there are {len(known)}: {', '.join(known[:8])}...")
    arrays, positional = _inputs(module, inputs, seed)

    def run(dtype):  # each time a copy: what a module keeps of a run is of that run's type
        return run_module(copy.deepcopy(module).cpu().eval().to(dtype), arrays, positional, dtype, outputs, wanted)

    try:
        exact_taps, exact = run(torch.float64)
    except RuntimeError as error:
        raise TypeError(f"the module does not compute in float64, which a reference is made in: {error}") from error
    rough_taps, rough = run(torch.float32)

    stored = {}

    def entries(exact, rough, most, prefix=""):
        return [_entry(prefix + name, value, rough[name], most, stored) for name, value in exact.items()]

    package = type(module).__module__.split(".")[0]
    manifest = {
        "library": {**(library or _library(package)), "torch": str(torch.__version__)},
        "arch": arch or type(module).__name__,
        "seed": int(seed),
        "inputs": [_input_entry(name, array, seed, stored) for name, array in arrays.items()],
        "taps": entries(exact_taps, rough_taps, samples, "tap/"),
        "outputs": entries(exact, rough, 8 * samples),
        "tensors": _weights(module),
        **(extra or {}),
    }
    write_files(os.fspath(folder), manifest, stored)
    return os.fspath(folder)


def _weights(module):
    """The identity of each tensor, by which `ferry bisect` names those that differ in another checkpoint."""
    out = []
    for name, tensor in module.state_dict().items():
        if not tensor.is_floating_point():
            continue
        values = np.ascontiguousarray(tensor.detach().cpu().float().numpy())
        out.append({"name": name, "dtype": "F32", "shape": list(values.shape), "kind": "recorded",
                    "sha256": hashlib.sha256(values.tobytes()).hexdigest()})
    return out


# ---- inputs ----------------------------------------------------------------------------------------------------------


def _inputs(module, inputs, seed):
    """Arrays by name, and whether forward() takes them in their order. float32 and integers."""
    if isinstance(inputs, (tuple, list)) and all(isinstance(side, Integral) for side in inputs):
        if len(inputs) != 4 or min(inputs) < 1:
            raise ValueError(f"an image's shape is N,C,H,W, not {tuple(inputs)}: give other inputs as arrays")
        inputs = seeded_image(tuple(inputs), seed)
    if isinstance(inputs, Mapping):
        return {name: _array(name, value) for name, value in inputs.items()}, False
    given = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    names = list(inspect.signature(module.forward).parameters)
    if len(given) == 1:
        names = ["input"] if not names or names[0] in ("x", "args", "input") else names
    if len(given) > len(names):
        raise ValueError(f"{len(given)} inputs were given, forward() names {len(names)}: give a dict")
    return {name: _array(name, value) for name, value in zip(names, given)}, True


def _array(name, value):
    array = np.ascontiguousarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
    if array.dtype.kind == "f":
        array = array.astype(np.float32)
        if not np.isfinite(array).all():
            raise ValueError(f"input {name!r} holds what is not a number")
    elif array.dtype.kind not in "iub":
        raise TypeError(f"input {name!r} is {array.dtype}: floats, integers and truth values are recorded")
    if array.size == 0:
        raise ValueError(f"input {name!r} is empty: {list(array.shape)}")
    return array


def _input_entry(name, array, seed, stored):
    if array.dtype.kind != "f":
        array = array.astype(np.int64)
    elif array.ndim == 4 and np.array_equal(array, seeded_image(array.shape, seed)):
        return input_entry(name, array, stored, 1)  # it is remade
    return input_entry(name, array, stored)


# ---- one run ---------------------------------------------------------------------------------------------------------


def run_module(module, arrays, positional, dtype, names=None, wanted=None):
    """Submodules' outputs by name, in the order of their ends, and the module's own; as arrays."""
    import torch

    found, calls, handles = {}, {}, []

    def hook(name):
        def keep(_, given, output):
            calls[name] = calls.get(name, 0) + 1
            if torch.is_tensor(output) and output.is_floating_point() and output.numel():
                found[name] = output.detach().numpy().copy()  # what follows may write in its place

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
    # One module called twice (torchvision's shared relu) has no one output.
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
        if not np.isfinite(array).all():
            raise ValueError(f"{name!r} holds what is not a number, computed in {array.dtype}")
    return entry(name, exact, rough, samples, stored)


def _library(name):
    """Of a package that has a version; what is the user's own is PyTorch's."""
    version = getattr(sys.modules.get(name), "__version__", None)
    if version is None:
        name, version = "torch", sys.modules["torch"].__version__
    return {"name": name, "version": str(version)}
