"""Reads what `ferry run --save` wrote, and says how far two runs are apart."""
import array, json, math, struct, sys

CODES = {"F32": "f", "I32": "i"}


def read(path):
    """The tensors of a safetensors file by name, flat."""
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack_from("<Q", data)
    out = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        values = array.array(CODES[entry["dtype"]])
        values.frombytes(data[8 + size + begin:8 + size + end])
        if sys.byteorder == "big":
            values.byteswap()
        out[name] = values
    return out


def apart(ours, theirs):
    """The largest difference of any output, over the absolute maximum of that output in `theirs`, and the output's
    name. Infinite where one has what the other has not, or what is not a number."""
    worst, where = -1.0, ""
    for name in sorted(set(ours) | set(theirs)):
        a, b = ours.get(name, ()), theirs.get(name, ())
        if len(a) != len(b) or len(a) == 0:
            return math.inf, name
        largest = max(map(abs, b))
        difference = max(abs(x - y) for x, y in zip(a, b))
        relative = difference / largest if largest > 0 else (0.0 if difference == 0 else math.inf)
        # max() ignores NaN, a sum does not.
        if not math.isfinite(math.fsum(a) if all(map(math.isfinite, a)) else math.nan):
            return math.inf, name
        if relative > worst:
            worst, where = relative, name
    return worst, where
