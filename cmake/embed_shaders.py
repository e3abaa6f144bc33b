"""Packs SPIR-V modules into a C++ include, and names the kernels.

    embed_shaders.py OUT_HEADER OUT_INCLUDE MODULE.spv MODULE.half.spv ...

Modules come in pairs, plain and half, one pair a kernel, in the order of the enumerators.
"""
import collections
import hashlib
import lzma
import os
import struct
import sys

out_header, out_include, *modules = sys.argv[1:]
names = [os.path.basename(m)[: -len(".spv")] for m in modules[::2]]
contents = [open(m, "rb").read() for m in modules]


def write(path, text):
    """Beside, then renamed; untouched where nothing changed, so that nothing is built again."""
    if os.path.exists(path) and open(path).read() == text:
        os.utime(path)
        return
    with open(path + ".part", "w") as f:
        f.write(text)
    os.replace(path + ".part", path)


def enumerator(name):
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


# Which word of an instruction is the identifier of its result, the one before being its type, by opcodes from first to last;
# 0: it has none. Of all others the second. The first range that fits counts; sdk/gpu/shaders.cc reads the same list.
RESULT_WORDS = [
    (11, 11, 1), (19, 39, 1), (248, 248, 1),  # OpExtInstImport, OpType..., OpLabel
    (14, 18, 0), (62, 62, 0), (71, 72, 0), (224, 224, 0),  # OpMemoryModel to OpCapability, OpStore, OpDecorate..., OpControlBarrier
    (246, 0xFFFF, 0),  # merges and branches
]


def result_word(opcode):
    return next((word for first, last, word in RESULT_WORDS if first <= opcode <= last), 2)


def split(modules):
    """All words of all modules, sorted into streams that compress to less than half: headers, opcodes, results (which count up)
    by their distance from the one before; then types, and all other words by their distance from the last result, each sorted
    by the opcode that they belong to. sdk/gpu/shaders.cc does the reverse."""
    headers, opcodes, results = [], [], []
    types, operands = collections.defaultdict(list), collections.defaultdict(list)
    for module in modules:
        words = struct.unpack(f"<{len(module) // 4}I", module)
        headers += words[:5]
        at, result = 5, 0
        while at < len(words):
            length, opcode = words[at] >> 16, words[at] & 0xFFFF
            opcodes.append(words[at])
            place = min(result_word(opcode), length - 1)
            if place == 2:
                types[opcode].append(words[at + 1])
            if place > 0:
                results.append(words[at + place] - result & 0xFFFFFFFF)
                result = words[at + place]
            operands[opcode] += [result - w & 0xFFFFFFFF for w in words[at + place + 1 : at + length]]
            at += length
    by_opcode = [[word for opcode in sorted(stream) for word in stream[opcode]] for stream in (types, operands)]
    return [headers, opcodes, results, *by_opcode]


everything = b"".join(contents)
streams = split(contents)
words = b"".join(struct.pack(f"<{len(s)}I", *s) for s in streams)
# A raw stream, as sdk/gpu/lzma.h reads it.
packed = lzma.compress(words, lzma.FORMAT_RAW, filters=[
    {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "nice_len": 273, "lc": 0, "lp": 2, "pb": 2}])
ends, total = [], 0
for content in contents:
    total += len(content) // 4
    ends.append(total)

write(out_header, f"""// Generated from shaders/*.comp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ferry::gpu {{

enum class Kernel : uint8_t {{ {", ".join(enumerator(n) for n in names)} }};
inline constexpr size_t kKernelCount = {len(names)};
inline constexpr const char* kKernelNames[] = {{{", ".join(f'"{n}"' for n in names)}}};
inline const char* kernel_name(Kernel kernel) {{ return kKernelNames[static_cast<size_t>(kernel)]; }}

// Of all SPIR-V: what a cache on disk was made from.
inline constexpr uint64_t kShadersHash = 0x{hashlib.sha256(everything).hexdigest()[:16]}ull;

}}  // namespace ferry::gpu
""")
lines = [",".join(str(b) for b in packed[i : i + 32]) for i in range(0, len(packed), 32)]
write(out_include, f"""// Generated from shaders/*.comp.
namespace {{
constexpr size_t kUnpackedBytes = {len(everything)};
constexpr uint32_t kModuleEnds[] = {{{", ".join(map(str, ends))}}};  // in words
constexpr size_t kStreamWords[] = {{{", ".join(str(len(s)) for s in streams)}}};
constexpr size_t kOpcodeLimit = {max(word & 0xFFFF for word in streams[1]) + 1};
constexpr struct {{
  uint16_t first, last, word;
}} kResultWords[] = {{{", ".join(f"{{{first}, {last}, {word}}}" for first, last, word in RESULT_WORDS)}}};
constexpr uint8_t kPacked[] = {{
{",".join(chr(10) + line for line in lines).lstrip()}
}};
}}  // namespace
""")
