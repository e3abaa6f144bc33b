#!/usr/bin/env python3
"""Writes the networks of tasks with seeded random weights: NAME.safetensors under the published names, from which ferry
converts, and NAME.onnx of the same plain PyTorch forward (tasks/) for ONNX Runtime.

    export_tasks.py OUT_DIR [--checkpoints] [NAME ...]      (default: all; --checkpoints: without the .onnx)

Needs Debian's python3-torch, python3-torchvision and python3-onnx. Exports with opset 17, batch 1, constants folded, as an
application would. What this torch has no ONNX operator for, deformable convolution, becomes DeformConv of opset 19.
"""
import os
import sys

import onnx
import torch
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from export_peers import write_safetensors
from tasks.birefnet import BiRefNet
from tasks.depth_anything import DepthAnything
from tasks.migan import MiGan
from tasks.mobile_sam import EMBEDDING, SIDE, MobileSam, Prompt
from tasks.rrdbnet import RRDBNet

OWN = "bench"  # a domain for operators that torch lacks


class Task:
    def __init__(self, make, shapes, outputs, part=None, checkpoint=None):
        self.make = make
        self.shapes = shapes  # of the inputs
        self.outputs = outputs
        self.part = part or (lambda network: network)  # the exported part of the network
        self.checkpoint = checkpoint  # another task's, None: its own


TASKS = {
    "rrdbnet_x4": Task(RRDBNet, {"input": (1, 3, 256, 256)}, ["output"]),
    "migan_512": Task(MiGan, {"input": (1, 4, 512, 512)}, ["output"]),
    "depth_anything_v2_small": Task(DepthAnything, {"pixel_values": (1, 3, 518, 518)}, ["predicted_depth"]),
    "mobile_sam_encoder": Task(MobileSam, {"input": (1, 3, SIDE, SIDE)}, ["image_embedding"]),
    "mobile_sam_decoder": Task(
        MobileSam, {"image_embedding": (1, EMBEDDING, SIDE // 16, SIDE // 16), "point_coords": (1, 2, 2),
                    "point_labels": (1, 2), "mask_input": (1, 1, SIDE // 4, SIDE // 4), "has_mask_input": (1,)},
        ["mask_logits", "mask_qualities"], Prompt, "mobile_sam_encoder"),
    "birefnet_lite": Task(BiRefNet, {"input": (1, 3, 1024, 1024)}, ["output"]),
}


@torch.no_grad()
def build(task):
    """Reproducible weights that keep activations at an ordinary magnitude."""
    torch.manual_seed(0)
    network = task.make().eval()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    embeddings = [module.weight for module in network.modules() if isinstance(module, torch.nn.Embedding)]
    for name, p in network.named_parameters():
        if p.dim() == 0 or "filter.weight" in name:
            continue
        if p.dim() == 1:
            p.uniform_(0.5, 1.5) if name.endswith(("weight", "lambda1")) else p.normal_(0, 0.1)
        elif any(p is table for table in embeddings):
            p.normal_()
        elif name.endswith(("_token", "_embeddings", "biases", "bias_table")):
            p.normal_(0, 0.1)
        else:
            p.normal_(0, (p.numel() / p.shape[0]) ** -0.5)
    return network


def deform_conv(g, x, weight, offset, mask, bias, *settings):
    stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, masked = (
        torch.onnx.symbolic_helper._maybe_get_const(s, "i") for s in settings)
    assert masked
    return g.op(OWN + "::DeformConv", x, weight, offset, bias, mask, strides_i=[stride_h, stride_w],
                pads_i=[pad_h, pad_w] * 2, dilations_i=[dilation_h, dilation_w], group_i=groups,
                offset_group_i=offset_groups)


def raise_opset(path):
    """Raises it to 19, which has DeformConv, and rewrites the other operators that changed."""
    model = onnx.load(path)
    graph = model.graph
    if not any(node.domain == OWN for node in graph.node):
        return
    for node in graph.node:
        node.domain = ""
        if node.op_type == "ReduceMean":  # its axes became an input in later opsets
            axes = next(a for a in node.attribute if a.name == "axes")
            graph.initializer.append(numpy_helper.from_array(
                onnx.numpy_helper.np.array(axes.ints, "int64"), node.output[0] + ".axes"))
            node.input.append(node.output[0] + ".axes")
            node.attribute.remove(axes)
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("", 19))
    with open(path, "wb") as f:
        f.write(model.SerializeToString())


def main():
    out = sys.argv[1]
    names = [word for word in sys.argv[2:] if word != "--checkpoints"] or list(TASKS)
    os.makedirs(out, exist_ok=True)
    torch.onnx.register_custom_op_symbolic("torchvision::deform_conv2d", deform_conv, 17)
    for name in names:
        task = TASKS[name]
        network = build(task)
        if not task.checkpoint:
            write_safetensors(os.path.join(out, name + ".safetensors"), network.state_dict())
        if "--checkpoints" in sys.argv:
            continue
        path = os.path.join(out, name + ".onnx")
        torch.onnx.export(task.part(network), tuple(torch.zeros(s) for s in task.shapes.values()), path, opset_version=17,
                          input_names=list(task.shapes), output_names=task.outputs, custom_opsets={OWN: 1})
        raise_opset(path)
        print(name, flush=True)


if __name__ == "__main__":
    main()
