#!/usr/bin/env python3
"""Writes tests/data/pytorch: small checkpoints as torch.save writes them, for pytorch_test.cc.

    make_pytorch_fixtures.py tests/data/pytorch        with PyTorch (Debian's python3-torch) and NumPy
"""
import argparse
import collections
import datetime
import enum
import functools
import json
import os
import pathlib
import sys
import types

import numpy
import torch

folder = sys.argv[1]


def save(name, thing, **how):
    torch.save(thing, os.path.join(folder, name), **how)


def ramp(*shape, dtype=torch.float32):
    """Element i is i - 1 (as bool: whether it is not 0)."""
    count = int(numpy.prod(shape))
    return (torch.arange(count) - 1).reshape(shape).to(dtype)


dtypes = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.bool]
tensors = {str(d).removeprefix("torch."): ramp(2, 3, dtype=d) for d in dtypes}
tensors["uint8"] = (ramp(2, 3) + 1).to(torch.uint8)
whole = ramp(4, 6)
tensors.update(
    scalar=torch.tensor(2.5),
    empty=torch.zeros(0, 3),
    parameter=torch.nn.Parameter(ramp(3)),
    tied=whole,
    tied_again=whole,
    transposed=whole.t(),
    sliced=whole[1:3, ::2],
    tail=whole[3],
    expanded=ramp(3, 1).expand(3, 4),
    channels_last=ramp(2, 3, 2, 2).contiguous(memory_format=torch.channels_last),
)
save("tensors.pth", tensors)
save("tensors_protocol4.pth", tensors, pickle_protocol=4)
save("tensors_before_1_6.pth", tensors, _use_new_zipfile_serialization=False)

net = torch.nn.Sequential(collections.OrderedDict(conv=torch.nn.Conv2d(1, 2, 1), bn=torch.nn.BatchNorm2d(2)))
for parameter in net.parameters():
    torch.nn.init.constant_(parameter, 1)
optimizer = torch.optim.AdamW(net.parameters())
net(torch.ones(1, 1, 2, 2)).sum().backward()
optimizer.step()
weights = net.state_dict()
averaged = {name: value + 2 if value.is_floating_point() else value for name, value in weights.items()}


def under(prefix):
    return collections.OrderedDict((prefix + name, value) for name, value in weights.items())


wrapped = under("module.")
save("training.pth", {
    "epoch": 3, "state_dict": wrapped, "state_dict_ema": averaged, "optimizer": optimizer.state_dict(),
    "best": numpy.float64(0.5), "precision": torch.float32, "device": torch.device("cpu"), "size": torch.Size([2, 3]),
    "seen": {1, 2}, "done": frozenset([3]), "note": b"bytes", "none": None, "rate": -1.5, "large": -(1 << 40),
})
save("wrapped.pth", {"model": wrapped})
save("wrapped_compiled.pth", under("module._orig_mod."))
save("wrapped_timm.pth", under("timm_model."))
save("wrapped_timm_in_part.pth", under("timm_model.") | {"head.bias": weights["bn.bias"]})
save("two_names.pth", {"model": weights, "net": averaged})
save("no_names.pth", {"first": weights, "second": {"inner": averaged}})

save("namespace.pth", {"state_dict": weights, "args": argparse.Namespace(lr=0.1)})
save("module.pth", net)
save("no_tensors.pth", {"epoch": 3, "names": ["a", "b"]})
save("one_tensor.pth", whole)
save("sparse.pth", {"weight": torch.eye(2).to_sparse()})

# What training scripts keep beside the weights. The classes of `trainer` cannot be imported where the file is read.
trainer = types.ModuleType("trainer")
sys.modules["trainer"] = trainer


def foreign(cls):
    cls.__module__ = "trainer"
    setattr(trainer, cls.__name__, cls)
    return cls


@foreign
class Phase(enum.Enum):
    WARMUP = 1


@foreign
class AttributeDict(dict):
    pass


@foreign
class State:
    def __init__(self, step):
        self.step, self.log = step, [1.5]


@foreign
class Marked(torch.Tensor):
    pass


counts = collections.defaultdict(list)
counts["a"].append(1)
objects = {
    "state_dict": AttributeDict(weights),
    "args": argparse.Namespace(lr=0.1, out=pathlib.PosixPath("runs/1")),
    "counter": collections.Counter(["a", "b", "a"]), "defaults": counts, "started": datetime.datetime(2023, 5, 17, 12),
    "phase": Phase.WARMUP, "state": State(7), "loss": numpy.float32(0.5), "curve": numpy.arange(6.0).reshape(2, 3),
    "step": functools.partial(max, 3), "range": slice(1, 2), "complex": 1j,
    "callbacks": {State: {"best": numpy.int64(3)}},
}
save("objects.pth", objects)
save("objects_protocol4.pth", objects, pickle_protocol=4)
save("object.pth", State(7))
net.register_buffer("computed", torch.zeros(1), persistent=False)
save("modules.pth", {"epoch": 1, "model": net})
save("objects_before_1_6.pth", objects, _use_new_zipfile_serialization=False)

arrays = {name: numpy.array(tensors[name].numpy()) for name in ["float32", "float64", "int64", "uint8", "scalar"]}
save("arrays.pth", arrays)
save("arrays_protocol4.pth", arrays, pickle_protocol=4)
save("column_major.pth", {"weight": numpy.asfortranarray(ramp(2, 3).numpy())})
save("big_endian.pth", {"weight": numpy.zeros(2, ">f4")})
save("subclass.pth", {"weight": whole.as_subclass(Marked)})


class Command:
    def __reduce__(self):
        return os.system, ("touch ran",)


save("command.pth", {"weight": whole, "command": Command()})
torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), os.path.join(folder, "script.pt"))

shards = {"pytorch_model-00001-of-00002.bin": ["tied", "scalar"], "pytorch_model-00002-of-00002.bin": ["transposed"]}
for shard, names in shards.items():
    save(shard, {name: tensors[name] for name in names})
with open(os.path.join(folder, "pytorch_model.bin.index.json"), "w") as index:
    json.dump({"metadata": {}, "weight_map": {n: shard for shard, names in shards.items() for n in names}}, index, indent=1)
    index.write("\n")
