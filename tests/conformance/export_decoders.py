#!/usr/bin/env python3
"""Writes tests/data/onnx/language/NAME/: tiny language models of transformers, exported as optimum exports them.

    PYTHONPATH=transformers-4.47/src /usr/bin/python3 tests/conformance/export_decoders.py tests/data/onnx/language
    PYTHONPATH=transformers-4.31/src /usr/bin/python3 tests/conformance/export_decoders.py tests/data/onnx/language
    ~/.cache/ferry/debian-amd64/references/inside python3 tests/conformance/export_decoders.py tests/data/onnx/language

Needs Debian's python3-torch and python3-onnx; for the quantised file also node and ONNX Runtime from npm
(onnxruntime-node) in FERRY_PEERS/node_modules. Each version of transformers writes its own networks. model.onnx has
random weights; generate.json has prompts and transformers' greedy continuations, computed without a cache.
"""
import argparse
import json
import os
import subprocess
import warnings

import numpy as np
import onnx
import torch
import transformers
from onnx import TensorProto, helper, numpy_helper
from torch import nn

LATEST = int(transformers.__version__.split(".")[0]) >= 5
VOCABULARY, WIDTH, HIDDEN, HEADS, LAYERS, OPSET = 64, 32, 48, 4, 2, 17 if LATEST else 14
SIZE = WIDTH // HEADS
SIZES = dict(vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=HIDDEN, num_hidden_layers=LAYERS,
             num_attention_heads=HEADS)

# opset 14 has Or, torch's exporter no rule for it
torch.onnx.register_custom_op_symbolic("aten::bitwise_or", lambda g, a, b: g.op("Or", a, b), OPSET)


def build(name, **options):
    config = getattr(transformers, name + "Config")(**options)
    model = {"GPT2": "GPT2LMHeadModel"}.get(name, name + "ForCausalLM")
    return getattr(transformers, model)(config)


class Exported(nn.Module):
    def __init__(self, model, positions, past):
        super().__init__()
        self.model, self.positions, self.past = model, positions, past

    def forward(self, ids, mask, *rest):
        rest = list(rest)
        inputs = {"position_ids": rest.pop(0)} if self.positions else {}
        if self.past:
            layers = [tuple(rest[i:i + 2]) for i in range(0, len(rest), 2)]
            inputs["past_key_values"] = transformers.DynamicCache(layers) if LATEST else tuple(layers)
        out = self.model(input_ids=ids, attention_mask=mask, use_cache=True, return_dict=True, **inputs)
        return (out.logits, *[t for layer in out.past_key_values for t in layer[:2]])


def export(model, path, positions, kind):
    config = model.config
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    past = kind != "prompt"
    tokens, before = 1 if kind == "one_token" else 2, 3 if past else 0
    batch, sequence, total = "batch_size", "sequence_length", "total_sequence_length"
    values = {"input_ids": torch.randint(1, VOCABULARY, (2, tokens)),
              "attention_mask": torch.ones(2, before + tokens, dtype=torch.long)}
    axes = {"input_ids": {0: batch, 1: sequence}, "attention_mask": {0: batch, 1: total},
            "logits": {0: batch, 1: sequence}}
    if kind == "one_token":
        del axes["input_ids"][1], axes["logits"][1]
    if positions:
        values["position_ids"] = torch.arange(before, before + tokens)[None].expand(2, -1).contiguous()
        axes["position_ids"] = axes["input_ids"]
    outputs = ["logits"]
    for layer in range(config.num_hidden_layers):
        for part in ("key", "value"):
            outputs.append(f"present.{layer}.{part}")
            axes[outputs[-1]] = {0: batch, 2: total}
            if past:
                name = f"past_key_values.{layer}.{part}"
                values[name] = torch.randn(2, heads, before, SIZE)
                axes[name] = {0: batch, 2: "past_sequence_length"}
    torch.onnx.export(Exported(model, positions, past).eval(), tuple(values.values()), path, opset_version=OPSET,
                      input_names=list(values), output_names=outputs, dynamic_axes=axes,
                      **({"dynamo": False} if LATEST else {}))


def continued(model, prompt, count):
    ids = list(prompt)
    for _ in range(count):
        mask = torch.ones(1, len(ids), dtype=torch.long)
        ids.append(int(model(input_ids=torch.tensor([ids]), attention_mask=mask).logits[0, -1].argmax()))
    return ids[len(prompt):]


def rename(nodes, names, tag):
    for node in nodes:
        node.name = tag + node.name
        for values in (node.input, node.output):
            for i, value in enumerate(values):
                values[i] = names.get(value, value)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                rename(attribute.g.node, names, tag)
                for output in attribute.g.output:
                    output.name = names.get(output.name, output.name)


def merged(with_past, without, path):
    """Both files in one, as optimum merges them: the input use_cache_branch decides which is computed."""
    branches, weights, models = [], [], [onnx.load(with_past), onnx.load(without)]
    outputs = list(models[0].graph.output)
    for model, tag in zip(models, ("past.", "prompt.")):
        names = {w.name: tag + w.name for w in model.graph.initializer}
        names.update({o: tag + o for node in model.graph.node for o in node.output})
        rename(model.graph.node, names, tag)
        for weight in model.graph.initializer:
            weight.name = names[weight.name]
        weights += model.graph.initializer
        results = [helper.make_tensor_value_info(names[o.name], TensorProto.FLOAT, None) for o in outputs]
        branches.append(helper.make_graph(model.graph.node, tag, [], results))
    choice = helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1])
    node = helper.make_node("If", ["use_cache_branch"], [o.name for o in outputs], name="optimum::if",
                            then_branch=branches[0], else_branch=branches[1])
    graph = helper.make_graph([node], "merged", [*models[0].graph.input, choice], outputs, weights)
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", OPSET)]), path)


def quantised(path, target):
    """With linear layers as ONNX Runtime's dynamic quantization writes them."""
    model = onnx.load(path)
    weights = {w.name: w for w in model.graph.initializer}
    nodes, scaled = [], {}
    for node in model.graph.node:
        if node.op_type != "MatMul" or node.input[1] not in weights:
            nodes.append(node)
            continue
        x, name = node.input[0], node.input[1]
        weight = numpy_helper.to_array(weights[name])
        scale = np.float32(np.abs(weight).max() / 127)
        for array, kind in ((np.round(weight / scale).astype(np.int8), "quantized"), (scale, "scale"),
                            (np.int8(0), "zero_point")):
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), f"{name}_{kind}"))
        if x not in scaled:
            scaled[x] = [x + "_quantized", x + "_scale", x + "_zero_point"]
            nodes.append(helper.make_node("DynamicQuantizeLinear", [x], scaled[x], name=x + "_QuantizeLinear"))
        integers, out = node.output[0] + "_integers", node.output[0]
        nodes += [
            helper.make_node("MatMulInteger", [scaled[x][0], name + "_quantized", scaled[x][2], name + "_zero_point"],
                             [integers], name=node.name + "_quant"),
            helper.make_node("Cast", [integers], [integers + "_cast"], name=node.name + "_cast", to=TensorProto.FLOAT),
            helper.make_node("Mul", [scaled[x][1], name + "_scale"], [out + "_scales"], name=node.name + "_scales"),
            helper.make_node("Mul", [integers + "_cast", out + "_scales"], [out], name=node.name + "_scaled")]
        model.graph.initializer.remove(weights[name])
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    onnx.save(model, target)


def with_attention_operators(path):
    """With the attention of opset 23, which reads the past in the first layer, and the concatenated cache in others."""
    model = onnx.load(path)
    graph = model.graph
    producers = {o: node for node in graph.node for o in node.output}
    replaced, caches = {}, {}
    for node in graph.node:
        if node.op_type == "Concat" and node.output[0].startswith("present."):
            caches[node.output[0]] = node
    for layer, softmax in enumerate(n for n in graph.node if n.op_type == "Softmax"):
        last = softmax
        while last.op_type != "MatMul":
            last = next(n for n in graph.node if last.output[0] in n.input)
        masked = producers[softmax.input[0]]
        scores = producers[producers[masked.input[0]].input[0]]
        present = [f"present.{layer}.{part}" for part in ("key", "value")]
        if layer == 0:
            fresh, past = ([caches[p].input[i] for p in present] for i in (1, 0))
            mask = producers[masked.input[1]].input[0]  # before it is cut to the length of the cache
            node = helper.make_node("Attention", [scores.input[0], *fresh, mask, *past],
                                    [last.output[0], *present], name=last.name)
            for name in present:
                replaced[caches[name].name] = None
        else:
            node = helper.make_node("Attention", [scores.input[0], *present, masked.input[1]], last.output,
                                    name=last.name, scale=float(SIZE**-0.5))
        replaced[last.name] = node
    nodes = []
    for node in graph.node:
        if node.op_type == "ReduceMean":  # its axes are an input since opset 18
            axes = next(a for a in node.attribute if a.name == "axes")
            graph.initializer.append(numpy_helper.from_array(np.array(axes.ints, np.int64), node.name + ".axes"))
            node.input.append(node.name + ".axes")
            node.attribute.remove(axes)
        node = replaced.get(node.name, node)
        if node is not None:
            nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("", 23))
    model.ir_version = 10
    onnx.save(model, path)


def write_json(folder, name, value):
    with open(os.path.join(folder, name), "w") as f:
        json.dump(value, f)
        f.write("\n")


def with_dequantised_weights(model):
    for module in model.modules():
        if isinstance(module, nn.Linear):
            scale = module.weight.abs().max() / 127
            module.weight.data = torch.round(module.weight / scale) * scale


def write(out, name, model, positions=True, kinds=("past",), long_prompt=0):
    for parameter in model.parameters():
        parameter.data += torch.randn_like(parameter) * (0.25 if parameter.dim() > 1 else 0.1)
    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    files = {kind: os.path.join(folder, kind + ".onnx") for kind in kinds}
    for kind, file in files.items():
        export(model, file, positions, kind)
    if len(files) == 2:
        merged(files["past"], files["prompt"], path)
        for file in files.values():
            os.remove(file)
    else:
        os.replace(*files.values(), path)
    if name.endswith("operators"):
        with_attention_operators(path)
    if name.endswith("quantised"):
        quantised(path, path)
        with_dequantised_weights(model)
    expected = {"prompt": torch.randint(1, VOCABULARY, (17,)).tolist()}
    expected["tokens"] = continued(model, expected["prompt"], 24)
    if long_prompt:
        expected["long_prompt"] = torch.randint(1, VOCABULARY, (long_prompt,)).tolist()
        expected["long_tokens"] = continued(model, expected["long_prompt"], 8)
    write_json(folder, "generate.json", expected)


def llama(**options):
    return build("Llama", **SIZES, max_position_embeddings=1024, **options)


NEW = {
    "llama": lambda out, name: write(out, name, llama(num_key_value_heads=2), long_prompt=600),
    "llama_quantised": lambda out, name: write(out, name, llama(num_key_value_heads=2)),
    "attention_operators": lambda out, name: write(out, name, llama(num_key_value_heads=2)),
    "mistral": lambda out, name: write(out, name, build("Mistral", **SIZES, num_key_value_heads=2, sliding_window=7)),
    "gpt2": lambda out, name: write(out, name, build("GPT2", vocab_size=VOCABULARY, n_embd=WIDTH, n_layer=LAYERS,
                                                     n_head=HEADS, n_positions=64), positions=False),
    "bloom": lambda out, name: write(out, name, build("Bloom", vocab_size=VOCABULARY, hidden_size=WIDTH, n_layer=1,
                                                      n_head=HEADS), positions=False),
}
OLD = {
    "gpt_neox": lambda out, name: write(out, name, build("GPTNeoX", **SIZES, max_position_embeddings=64,
                                                         rotary_pct=0.5)),
    "opt": lambda out, name: write(out, name, build("OPT", vocab_size=VOCABULARY, hidden_size=WIDTH, ffn_dim=HIDDEN,
                                                    num_hidden_layers=1, num_attention_heads=HEADS,
                                                    max_position_embeddings=64, word_embed_proj_dim=WIDTH),
                                   positions=False, kinds=("prompt",)),
    "llama_merged": lambda out, name: write(out, name, build("Llama", **{**SIZES, "num_hidden_layers": 1},
                                                             max_position_embeddings=64), kinds=("past", "prompt")),
}

FIFTH = {
    "one_token": lambda out, name: write(out, name, llama(num_key_value_heads=2, attn_implementation="eager"),
                                         kinds=("one_token",)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    out = parser.parse_args().out
    warnings.filterwarnings("ignore")
    old = int(transformers.__version__.split(".")[1]) < 40
    for name, make in (FIFTH if LATEST else OLD if old else NEW).items():
        torch.manual_seed(0)
        with torch.no_grad():
            make(out, name)


if __name__ == "__main__":
    main()
