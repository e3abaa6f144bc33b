#!/usr/bin/env python3
"""Writes tests/data/onnx/language/NAME/: tiny language models as optimum and ONNX Runtime's model builder write them.

    FERRY_PEERS=FOLDER /usr/bin/python3 tests/conformance/make_decoders.py tests/data/onnx/language

Needs Debian's python3-onnx and python3-numpy, node, and ONNX Runtime from npm (onnxruntime-node) in
FERRY_PEERS/node_modules. model.onnx has random weights; generate.json has a prompt and ONNX Runtime's greedy
continuation, token by token with its cache.
"""

import json
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "com.microsoft"
VOCABULARY, WIDTH, HIDDEN, HEADS, KV_HEADS, SIZE, LAYERS, ROWS = 64, 32, 64, 2, 1, 16, 2, 48
BLOCK = 32
PROMPT = [5, 9, 33, 2, 7, 1]
TOKENS = 24


class Decoder:
    def __init__(self, rotary_inside, norms, quantized_table):
        self.random = np.random.default_rng(7)
        self.weights, self.nodes = [], []
        self.rotary_inside, self.norms, self.quantized_table = rotary_inside, norms, quantized_table

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def floats(self, *dims):
        return self.random.standard_normal(dims).astype(np.float32)

    def node(self, op, inputs, outputs, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0], domain=domain, **attributes))
        return outputs[0]

    def blocks(self, name, rows, columns):
        integers = self.random.integers(0, 256, (rows, columns // BLOCK, BLOCK // 2)).astype(np.uint8)
        scales = (np.abs(self.floats(rows, columns // BLOCK)) * 0.05 + 0.02).astype(np.float32)
        return integers, self.weight(name + ".scales", scales)

    def linear(self, x, name, columns, rows):
        integers, scales = self.blocks(name, rows, columns)
        return self.node("MatMulNBits", [x, self.weight(name + ".weight", integers), scales], [name], DOMAIN, K=columns,
                         N=rows, bits=4, block_size=BLOCK)

    def norm_of_heads(self, x, name, heads):
        split = self.weight(name + ".split", np.array([0, 0, -1, SIZE], np.int64))
        join = self.weight(name + ".join", np.array([0, 0, heads * SIZE], np.int64))
        y = self.node("Reshape", [x, split], [name + ".heads"])
        y = self.node("SimplifiedLayerNormalization", [y, self.weight(name + ".norm", 1 + 0.1 * self.floats(SIZE))],
                      [name + ".normal"], epsilon=1e-6, axis=-1)
        return self.node("Reshape", [y, join], [name + ".joined"])

    def embeddings(self):
        if not self.quantized_table:
            table = self.weight("embeddings", self.floats(VOCABULARY, WIDTH))
            return self.node("Gather", [table, "input_ids"], ["embedded"])
        integers, scales = self.blocks("embeddings", VOCABULARY, WIDTH)
        table = self.weight("embeddings", integers.reshape(VOCABULARY, WIDTH // 2))
        return self.node("GatherBlockQuantized", [table, "input_ids", scales], ["embedded"], DOMAIN, bits=4,
                         block_size=BLOCK, quantize_axis=1, gather_axis=0)

    def lengths(self):
        axis, one = self.weight("axis", np.array([1], np.int64)), self.weight("one", np.array([1], np.int64))
        count = self.node("ReduceSum", ["attention_mask", axis], ["count"], keepdims=0)
        last = self.node("Sub", [count, one], ["last"])
        total = self.node("Gather", [self.node("Shape", ["attention_mask"], ["shape"]),
                                     self.weight("index", np.array(1, np.int64))], ["total64"])
        return (self.node("Cast", [last], ["seqlens_k"], to=TensorProto.INT32),
                self.node("Cast", [total], ["total"], to=TensorProto.INT32))

    def skip_norm(self, x, skip, name):
        scale = self.weight(name + ".norm", 1 + 0.1 * self.floats(WIDTH))
        self.node("SkipSimplifiedLayerNormalization", [x, skip, scale], [name, "", "", name + ".sum"], DOMAIN,
                  epsilon=1e-6)
        return name, name + ".sum"

    def attention(self, x, layer, lengths, tables):
        q = self.linear(x, f"q{layer}", WIDTH, HEADS * SIZE)
        k = self.linear(x, f"k{layer}", WIDTH, KV_HEADS * SIZE)
        v = self.linear(x, f"v{layer}", WIDTH, KV_HEADS * SIZE)
        if self.norms:
            q, k = self.norm_of_heads(q, f"q{layer}", HEADS), self.norm_of_heads(k, f"k{layer}", KV_HEADS)
        if not self.rotary_inside:
            q, k = (self.node("RotaryEmbedding", [t, "position_ids", *tables], [t + ".turned"], DOMAIN) for t in (q, k))
        past = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
        present = [f"present.{layer}.{part}" for part in ("key", "value")]
        inputs = [q, k, v, *past, *lengths, *(tables if self.rotary_inside else [])]
        self.node("GroupQueryAttention", inputs, [f"attention{layer}", *present], DOMAIN, num_heads=HEADS,
                  kv_num_heads=KV_HEADS, do_rotary=int(self.rotary_inside))
        return self.linear(f"attention{layer}", f"o{layer}", HEADS * SIZE, WIDTH)

    def model(self):
        angles = np.arange(ROWS)[:, None] / 10000 ** (np.arange(SIZE // 2) / (SIZE // 2))
        tables = [self.weight(f.__name__, f(angles).astype(np.float32)) for f in (np.cos, np.sin)]
        lengths, skip = self.lengths(), self.embeddings()
        scale = self.weight("first.norm", 1 + 0.1 * self.floats(WIDTH))
        x = self.node("SimplifiedLayerNormalization", [skip, scale], ["first"], epsilon=1e-6, axis=-1)
        for layer in range(LAYERS):
            x, skip = self.skip_norm(self.attention(x, layer, lengths, tables), skip, f"middle{layer}")
            gate, up = (self.linear(x, f"{n}{layer}", WIDTH, HIDDEN) for n in ("gate", "up"))
            silu = self.node("Mul", [gate, self.node("Sigmoid", [gate], [f"sigmoid{layer}"])], [f"silu{layer}"])
            down = self.linear(self.node("Mul", [silu, up], [f"hidden{layer}"]), f"down{layer}", HIDDEN, WIDTH)
            x, skip = self.skip_norm(down, skip, f"end{layer}")
        self.linear(x, "logits", WIDTH, VOCABULARY)

        value = helper.make_tensor_value_info
        inputs = [value("input_ids", TensorProto.INT64, ["batch", "sequence"]),
                  value("attention_mask", TensorProto.INT64, ["batch", "total"])]
        if not self.rotary_inside:
            inputs.append(value("position_ids", TensorProto.INT64, ["batch", "sequence"]))
        outputs = [value("logits", TensorProto.FLOAT, ["batch", "sequence", VOCABULARY])]
        for layer in range(LAYERS):
            for part in ("key", "value"):
                dims = ["batch", KV_HEADS, "past", SIZE]
                inputs.append(value(f"past_key_values.{layer}.{part}", TensorProto.FLOAT, dims))
                outputs.append(value(f"present.{layer}.{part}", TensorProto.FLOAT, ["batch", KV_HEADS, "total", SIZE]))
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.weights)
        return helper.make_model(graph, ir_version=8, producer_name="make_decoders.py",
                                 opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)])


DECODERS = {
    "rotary_inside": dict(rotary_inside=True, norms=False, quantized_table=False),
    "rotary_outside": dict(rotary_inside=False, norms=False, quantized_table=False),
    "norms_of_heads": dict(rotary_inside=True, norms=True, quantized_table=True),
}


def main():
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ort_generate.mjs")
    for name, options in DECODERS.items():
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "model.onnx")
        onnx.save(Decoder(**options).model(), path)
        words = [",".join(map(str, PROMPT)), str(TOKENS), str(LAYERS), str(KV_HEADS), str(SIZE)]
        done = subprocess.run(["node", script, path, *words], check=True, capture_output=True, text=True)
        with open(os.path.join(folder, "generate.json"), "w") as f:
            json.dump({"prompt": PROMPT, "tokens": json.loads(done.stdout)}, f)
            f.write("\n")


if __name__ == "__main__":
    main()
