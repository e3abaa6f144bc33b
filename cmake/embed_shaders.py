"""Packs SPIR-V modules into a C++ include, and names the kernels.

    embed_shaders.py OUT_HEADER OUT_INCLUDE MODULE.spv MODULE.float16.spv ...

Modules come in pairs, float32 and float16, one pair a kernel, in the order of the enumerators. An empty file: there is none.
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


# For ranges of opcodes (first, last): the index of the word with the result's identifier, whose type is the word before
# it (0: no result), and whether all later words are literals. The first matching range counts. All other instructions
# have the result in the second word, followed by identifiers and small literals. sdk/gpu/device/shaders.cc has the same
# list.
OPCODES = [
    (11, 11, 1, True), (12, 12, 2, False), (14, 17, 0, True),  # OpExtInstImport, OpExtInst, OpMemoryModel to OpCapability
    (43, 43, 2, True), (50, 50, 2, True),  # OpConstant, OpSpecConstant
    (19, 39, 1, False), (248, 248, 1, False),  # OpType..., OpLabel
    (18, 18, 0, False), (62, 62, 0, False), (71, 72, 0, False), (224, 224, 0, False),  # OpStore, OpDecorate..., OpControlBarrier
    (246, 255, 0, False),  # merges and branches
]
# By opcode: the first word that is a literal, and the end of the literals if it is not the instruction's end.
LITERALS = {12: (4, 5), 14: (1,), 16: (2,), 17: (1,), 21: (2,), 22: (2,), 23: (3,), 24: (3,), 32: (2, 3), 43: (3,), 50: (3,),
            52: (3, 4), 54: (3, 4), 59: (3, 4), 61: (4,), 62: (3,), 71: (2,), 72: (2,), 79: (5,), 81: (4,), 82: (5,), 246: (3,),
            247: (2,), 349: (4, 5), 350: (4, 5), 358: (4, 5)}
OP_EXT_INST_IMPORT, OP_ENTRY_POINT, OP_FUNCTION, OP_SWITCH, DECORATIONS = 11, 15, 54, 251, (71, 72)


def opcode_of(instruction):
    return instruction[0] & 0xFFFF


def form(instruction):
    """The place of its result's identifier, and whether all behind it are literals."""
    word, literals = next(((word, literals) for first, last, word, literals in OPCODES if first <= opcode_of(instruction) <= last),
                          (2, False))
    return min(word, len(instruction) - 1), literals


def identifiers(instruction):
    """The places of its identifiers."""
    opcode, every = opcode_of(instruction), range(1, len(instruction))
    if opcode == OP_EXT_INST_IMPORT:
        return [1]
    if opcode == OP_ENTRY_POINT:  # the execution model, an identifier, a zero-terminated name, identifiers
        end = next(i for i in every if i > 2 and 0 in instruction[i].to_bytes(4, "little"))
        return [2, *range(end + 1, len(instruction))]
    if opcode == OP_SWITCH:
        return [1, 2, *range(4, len(instruction), 2)]
    literals = range(*(LITERALS.get(opcode, (len(instruction),)) + (len(instruction),))[:2])
    return [i for i in every if i not in literals]


def parse(module):
    words = struct.unpack(f"<{len(module) // 4}I", module)
    instructions, at = [], 5
    while at < len(words):
        instructions.append(words[at : at + (words[at] >> 16)])
        at += words[at] >> 16
    return words[:5], instructions


def renumber(modules):
    """Other identifiers, so that modules which say the same do it in the same words: what lies before the functions, which mostly is
    the same types and constants, and each module's n-th function have the same ones in all modules, from 1 on; whatever is in
    functions has those behind, in its order. Returns headers with instructions, and the first identifier of the latter."""
    names, parsed = {}, []
    for module in modules:
        header, instructions = parse(module)
        begin = next(i for i, instruction in enumerate(instructions) if opcode_of(instruction) == OP_FUNCTION)
        decorations = collections.defaultdict(list)
        for instruction in instructions[:begin]:
            if opcode_of(instruction) in DECORATIONS:
                decorations[instruction[1]].append((instruction[0], *instruction[2:]))
        known, local, counts = {}, [], collections.Counter()
        for i, instruction in enumerate(instructions):
            place, _ = form(instruction)
            if place == 0:
                continue
            if i < begin:  # implied by the opcode
                ids = identifiers(instruction)
                says = tuple(known[w] if k in ids else w for k, w in enumerate(instruction) if k != place)
                says = (*says, *decorations[instruction[place]])
            elif opcode_of(instruction) == OP_FUNCTION:
                says = "function"
            else:
                local.append(instruction[place])
                continue
            counts[says] += 1
            known[instruction[place]] = names.setdefault((says, counts[says]), len(names) + 1)
        parsed.append((header, instructions, known, local))
    first, renumbered = len(names) + 1, []
    for header, instructions, known, local in parsed:
        known |= {name: first + i for i, name in enumerate(local)}
        new = [list(instruction) for instruction in instructions]
        for instruction in new:
            for place in identifiers(instruction):
                instruction[place] = known[instruction[place]]
        renumbered.append(((*header[:3], first + len(local), header[4]), new))
    return renumbered, first


def split(modules, first):
    """Sorts all words of all modules into streams, which compress better: headers, opcodes, results as differences; then types and
    other words by opcode. Identifiers from `first` on are encoded by their distance from the last result: even codes are before it,
    odd ones after it, and all are above the other identifiers. sdk/gpu/device/shaders.cc is the inverse."""
    headers, opcodes, results = [], [], []
    types, operands = collections.defaultdict(list), collections.defaultdict(list)
    for header, instructions in modules:
        headers += header
        result = 0
        for instruction in instructions:
            opcode, (place, literals) = opcode_of(instruction), form(instruction)
            opcodes.append(instruction[0])
            if place == 2:
                types[opcode].append(instruction[1])
            if place > 0:
                results.append(instruction[place] - result & 0xFFFFFFFF)
                result = instruction[place]
            ids = identifiers(instruction)
            for i in range(place + 1, len(instruction)):
                word = instruction[i]
                assert literals or i in ids or word < first, f"opcode {opcode} has a large literal: OPCODES must know it"
                if not literals and word >= first:
                    word = first + (2 * (result - word) if result >= word else 2 * (word - result) - 1)
                operands[opcode].append(word)
    by_opcode = [[word for opcode in sorted(stream) for word in stream[opcode]] for stream in (types, operands)]
    return [headers, opcodes, results, *by_opcode]


everything = b"".join(contents)
renumbered, first_local = renumber([content for content in contents if content])
streams = split(renumbered, first_local)
words = b"".join(struct.pack(f"<{len(s)}I", *s) for s in streams)
# A raw LZMA stream, which sdk/gpu/device/lzma.h decodes.
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
constexpr uint32_t kFirstLocal = {first_local};
constexpr struct {{
  uint16_t first, last, word;
  bool literals;
}} kOpcodes[] = {{{", ".join(f"{{{first}, {last}, {word}, {str(literals).lower()}}}" for first, last, word, literals in OPCODES)}}};
constexpr uint8_t kPacked[] = {{
{",".join(chr(10) + line for line in lines).lstrip()}
}};
}}  // namespace
""")
