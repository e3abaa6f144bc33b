"""Random nodes that move, pick or resample elements: random_nodes.py."""
import numpy as np

FLOAT, INT, BOOL = "float32", "int64", "bool"


# ---- movement

def transpose(m, x):
    x = m.value() or x
    return "Transpose", [x], {"perm": m.shuffled(list(range(len(m.shape(x)))))} if m.integer(5) else {}


def reshape(m, x):
    x = m.value() or x
    count, shape = int(np.prod(m.shape(x))), []
    for _ in range(m.integer(1, 5)):
        divisors = [d for d in range(1, count + 1) if count % d == 0]
        shape.append(m.choice(divisors))
        count //= shape[-1]
    shape.append(count)
    shape = m.shuffled(shape)
    for i, d in enumerate(shape):
        if i < len(m.shape(x)) and d == m.shape(x)[i] and m.coin():
            shape[i] = 0
    if m.coin():
        shape[m.integer(len(shape))] = -1
    return "Reshape", [x, m.constant(np.array(shape, np.int64))], {"allowzero": 0} if m.integer(6) == 0 else {}


def reshape_by_shape(m, x):
    """Shape, Gather, Concat, Reshape: as exporters flatten."""
    rank = len(m.shape(x))
    if rank < 2:
        return None
    keep = m.integer(1, rank)
    names = [m.fresh() for _ in range(3)]
    return [("Shape", [x], {}, [names[0]]),
            ("Gather", [names[0], m.constant(np.arange(keep).astype(np.int64))], {"axis": 0}, [names[1]]),
            ("Concat", [names[1], m.constant(np.array([-1], np.int64))], {"axis": 0}, [names[2]]),
            ("Reshape", [x, names[2]], {}, [m.fresh()])]


def flatten(m, x):
    rank = len(m.shape(x))
    return "Flatten", [x], {"axis": m.integer(-rank, rank + 1)} if m.coin() else {}


def squeeze(m, x):
    x = m.value() or x
    ones = [i - len(m.shape(x)) * m.integer(2) for i, d in enumerate(m.shape(x)) if d == 1]
    if not ones or m.integer(4) == 0:
        return "Squeeze", [x], {}
    axes = m.some(ones)
    return ("Squeeze", [x], {"axes": axes}) if m.coin() else ("Squeeze", [x, m.constant(np.array(axes, np.int64))], {})


def unsqueeze(m, x):
    x = m.value() or x
    rank = len(m.shape(x)) + 1
    axes = [m.integer(-rank, rank)]
    if m.integer(3) == 0:
        axes = m.some([a - (rank + 1) * m.integer(2) for a in range(rank + 1)])[:2]
    if m.coin():
        return "Unsqueeze", [x], {"axes": axes}
    return "Unsqueeze", [x, m.constant(np.array(axes, np.int64))], {}


def expand(m, x):
    shape = [m.integer(1, 4) if d == 1 else m.choice([1, d]) for d in m.shape(x)]
    shape = [m.integer(1, 3)] * m.integer(2) + shape
    return "Expand", [x, m.constant(np.array(shape[m.integer(2):], np.int64))], {}


def tile(m, x):
    return "Tile", [x, m.constant(np.array([m.integer(1, 4) for _ in m.shape(x)], np.int64))], {}


def concat(m, x):
    x = m.value() or x
    axis, shape = m.axis(x), m.shape(x)
    axis_at = axis % len(shape)
    fits = [v for v in m.values if m.kind(v) == m.kind(x) and len(m.shape(v)) == len(shape)
            and all(a == b for d, (a, b) in enumerate(zip(m.shape(v), shape)) if d != axis_at)]
    other = list(shape)
    other[axis_at] = m.integer(1, 4)
    parts = [x] + [m.choice(fits) for _ in range(m.integer(0, 3))]
    if m.coin():
        parts.append(m.constant(m.array(m.kind(x), other), data=True))
    return "Concat", m.shuffled(parts), {"axis": axis}


def split(m, x):
    axis = m.axis(x)
    size = m.shape(x)[axis]
    if size < 2:
        return None
    first = m.integer(1, size)
    parts = m.choice([[first, size - first], [1] * size if size < 5 else [size]])
    form = m.integer(4)
    if form == 0:
        return "Split", [x], {"axis": axis, "split": parts}, len(parts)
    if form == 1:
        return "Split", [x, m.constant(np.array(parts, np.int64))], {"axis": axis}, len(parts)
    if form == 2:
        return "Split", [x], {"axis": axis, "num_outputs": 2}, 2
    return "Split", [x], {"axis": axis}, 2


def slices(m, x):
    x = m.value() or x
    rank = len(m.shape(x))
    axes = m.some(range(rank))
    rows = []
    for a in axes:
        size = m.shape(x)[a]
        step = m.choice([1, 1, 2, 3, -1, -2])
        begin, end = m.integer(-size - 2, size + 2), m.integer(-size - 2, size + 2)
        if m.integer(3) == 0:
            end = 2 ** 31 - 1 if step > 0 else -2 ** 63
        rows.append((begin, end, a - rank * m.integer(2), step))
    if m.integer(4) == 0:
        begins, ends, at, _ = map(list, zip(*rows))
        return "Slice", [x], {"starts": begins, "ends": ends, "axes": at}
    lists = [m.constant(np.array(v, np.int64)) for v in zip(*rows)]
    return "Slice", [x, *lists[:m.choice([4, 4, 3])]], {}


def pad(m, x):
    shape, rank = m.shape(x), len(m.shape(x))
    mode = m.choice(["constant", "reflect", "edge", "wrap"])
    limit = [d if mode == "reflect" else d + 1 if mode == "wrap" else 4 for d in shape]
    pads = [m.integer(-1 if m.integer(4) == 0 else 0, max(1, min(limit[i % rank], 4))) for i in range(2 * rank)]
    if m.integer(4) == 0:
        return "Pad", [x], {"pads": pads, "mode": mode, "value": m.real(-1, 1)}
    inputs = [x, m.constant(np.array(pads, np.int64))]
    if m.coin():
        inputs.append(m.constant(np.float32(m.real(-1, 1))))
    if m.integer(4) == 0:
        axes = m.some(range(rank))
        inputs[1] = m.constant(np.array([pads[a] for a in axes] + [pads[rank + a] for a in axes], np.int64))
        inputs = inputs + [""] * (3 - len(inputs)) + [m.constant(np.array(axes, np.int64))]
    return "Pad", inputs, {"mode": mode}


def gather(m, x):
    x = m.value() or x
    axis = m.axis(x)
    size = m.shape(x)[axis]
    shape = m.choice([[], [m.integer(1, 5)], [2, m.integer(1, 4)]])
    indices = np.asarray(m.random.integers(-size, size, shape), np.int64)
    return "Gather", [x, m.constant(indices, data=True)], {"axis": axis}


def gather_elements(m, x):
    axis, shape = m.axis(x), list(m.shape(x))
    size = shape[axis]
    shape[axis] = m.integer(1, 5)
    return "GatherElements", [x, m.constant(m.random.integers(-size, size, shape).astype(np.int64), data=True)], \
        {"axis": axis}


def gather_nd(m, x):
    shape = m.shape(x)
    batch = m.choice([0, 0, 1]) if len(shape) > 1 else 0
    depth = m.integer(1, len(shape) - batch + 1)
    lead = list(shape[:batch]) + [m.integer(1, 4)] * m.integer(1, 3)
    indices = np.stack([m.random.integers(-d, d, lead) for d in shape[batch:batch + depth]], -1).astype(np.int64)
    return "GatherND", [x, m.constant(indices, data=True)], {"batch_dims": batch} if batch or m.coin() else {}


def scatter_elements(m, x):
    axis, shape = m.axis(x), list(m.shape(x))
    size = shape[axis]
    shape = [m.integer(1, d + 1) for d in shape]
    shape[axis] = m.integer(1, size + 1)
    order = np.argsort(m.random.random((*shape[:axis % len(shape)], *shape[axis % len(shape) + 1:], size)))
    unique = np.moveaxis(order[..., :shape[axis]], -1, axis % len(shape)) - size * m.integer(2)
    more = {"reduction": m.choice(["none", "add", "mul", "max", "min"])} if m.coin() else {}
    return m.choice(["ScatterElements", "Scatter"]), \
        [x, m.constant(unique.astype(np.int64)), m.constant(m.array(FLOAT, shape), data=True)], {"axis": axis, **more}


def scatter_nd(m, x):
    shape = m.shape(x)
    depth = m.integer(1, len(shape) + 1)
    count = int(np.prod(shape[:depth]))
    flat = m.random.permutation(count)[:m.integer(1, min(count, 6) + 1)]
    indices = np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(np.int64)
    more = {"reduction": m.choice(["none", "add", "mul", "max", "min"])} if m.coin() else {}
    updates = m.constant(m.array(FLOAT, [len(flat), *shape[depth:]]), data=True)
    return "ScatterND", [x, m.constant(indices, data=True), updates], more


def blocks(m, x):
    if len(m.shape(x)) != 4:
        return None
    if m.coin():
        return "SpaceToDepth", [x], {"blocksize": 2}
    return "DepthToSpace", [x], {"blocksize": 2, **({"mode": m.choice(["DCR", "CRD"])} if m.coin() else {})}


def trilu(m, x):
    k = [m.constant(np.asarray(m.integer(-3, 4), np.int64))] if m.coin() else []
    return "Trilu", [x, *k], {"upper": m.integer(2)} if m.coin() else {}


def one_hot(m, x):
    x = m.value(INT)
    # Before opset 11, ONNX Runtime counts negative indices from the end, which the definition does not.
    if not x or (m.opset < 11 and m.value_of(x).min() < 0):
        return None
    values = m.constant(np.float32([m.real(-1, 0), m.real(1, 2)]))
    return "OneHot", [x, m.constant(np.asarray(m.integer(2, 6), np.int64)), values], {"axis": m.choice([-1, 0, 1])}


def compress(m, x):
    axis = m.axis(x)
    keep = m.random.integers(0, 2, m.shape(x)[axis]).astype(bool)
    keep[0] = True
    return "Compress", [x, m.constant(keep)], {"axis": axis}


def reverse_sequence(m, x):
    shape = m.shape(x)
    if len(shape) < 2:
        return None
    time = m.integer(2)
    lengths = m.random.integers(1, shape[time] + 1, shape[1 - time]).astype(np.int64)
    return "ReverseSequence", [x, m.constant(lengths)], {"time_axis": time, "batch_axis": 1 - time}


def center_crop_pad(m, x):
    shape = [m.integer(1, d + 4) for d in m.shape(x)]
    return "CenterCropPad", [x, m.constant(np.array(shape, np.int64))], {}


# ---- images

def resize(m, x):
    shape, rank = m.shape(x), len(m.shape(x))
    mode = m.choice(["nearest", "linear", "cubic"])
    scales = [1.0 if i < rank - 2 else m.choice([0.5, 2.0, 1.5, 0.7, 3.0, 1.0]) for i in range(rank)]
    if m.integer(6) == 0:
        return "Upsample", [x, m.constant(np.float32(scales))], {"mode": mode}
    if m.opset == 10:
        return "Resize", [x, m.constant(np.float32(scales))], {"mode": mode}
    attributes = {"mode": mode, "coordinate_transformation_mode": m.choice(
        ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"])}
    if mode == "nearest" and m.coin():
        attributes["nearest_mode"] = m.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic" and m.coin():
        attributes.update(cubic_coeff_a=-0.5, exclude_outside=m.integer(2))
    if m.integer(5) == 0:
        attributes["antialias"] = m.integer(2)
    empty = m.constant(np.array([], np.float32)) if m.opset < 13 else ""
    # With align_corners, the definition's length is the fraction, ONNX Runtime's the whole number.
    whole = all(float(d * s).is_integer() for d, s in zip(shape, scales))
    if m.coin() and (whole or attributes["coordinate_transformation_mode"] != "align_corners"):
        return "Resize", [x, empty, m.constant(np.float32(scales))], attributes
    sizes = [d if i < rank - 2 else m.integer(1, 2 * d + 2) for i, d in enumerate(shape)]
    if m.integer(4) == 0 and rank > 2:
        attributes["axes"], sizes = [rank - 2, rank - 1], sizes[-2:]
    return "Resize", [x, empty, "" if m.opset >= 13 else empty, m.constant(np.array(sizes, np.int64))], attributes


def grid_sample(m, x):
    shape = m.shape(x)
    if len(shape) != 4:
        return None
    grid = m.constant(m.array(FLOAT, [shape[0], 3, 4, 2], -1.2, 1.2), data=True)
    return "GridSample", [x, grid], {"mode": m.choice(["bilinear", "nearest", "bicubic", "linear", "cubic"]),
                                     "padding_mode": m.choice(["zeros", "border", "reflection"]),
                                     "align_corners": m.integer(2)}


FUNCTIONS = [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__]
