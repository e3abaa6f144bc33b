"""Compresses SPIR-V modules into a C++ include, and names the kernels.

    embed_shaders.py OUT_HEADER OUT_INCLUDE MODULE.spv MODULE.float16.spv ...

Modules come in pairs, float32 and float16, one pair a kernel, in the order of the enumerators. An empty file: there is none.
"""
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


def differences(module):
    """Stores each operand as its difference from the same operand of the previous instruction with the same opcode. Most
    operands are identifiers, which a compiler counts up: equal code at other identifiers becomes equal bytes.
    sdk/gpu/device/shaders.cc reverses it."""
    words = struct.unpack(f"<{len(module) // 4}I", module)
    result, previous = list(words[:5]), [[0] * 8 for _ in range(128)]  # the header, then instructions
    at = 5
    while at < len(words):
        length = words[at] >> 16
        before = previous[words[at] % 128]
        result.append(words[at])
        for i in range(1, length):
            result.append((words[at + i] - before[i % 8]) % 2**32)
            before[i % 8] = words[at + i]
        at += length
    return struct.pack(f"<{len(result)}I", *result)


everything = b"".join(contents)
# A raw stream of all modules, as sdk/gpu/device/lzma.h reads it. lp and pb: SPIR-V consists of words of 4 bytes.
packed = lzma.compress(b"".join(map(differences, contents)), lzma.FORMAT_RAW, filters=[
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
namespace ferry::gpu {{
namespace {{
constexpr size_t kUnpackedBytes = {len(everything)};
constexpr uint32_t kModuleEnds[] = {{{", ".join(map(str, ends))}}};  // in words
constexpr uint8_t kPacked[] = {{
{",".join(chr(10) + line for line in lines).lstrip()}
}};
}}  // namespace
}}  // namespace ferry::gpu
""")
