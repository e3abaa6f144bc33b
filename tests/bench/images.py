"""PNG files of 8 bits a channel, without a library: as input of another backend, and its answer."""
import struct
import zlib

COLOUR_TYPES = {1: 0, 3: 2, 4: 6}  # by the number of channels; W3C's PNG specification, 11.2.1
CHANNELS = {kind: channels for channels, kind in COLOUR_TYPES.items()}
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def write_png(path, width, channels, pixels):
    """`pixels`: bytes, rows of `width` pixels of 1, 3 or 4 channels."""
    stride = width * channels
    rows = b"".join(b"\0" + pixels[i:i + stride] for i in range(0, len(pixels), stride))
    head = struct.pack(">IIBBBBB", width, len(pixels) // stride, 8, COLOUR_TYPES[channels], 0, 0, 0)
    with open(path, "wb") as f:
        f.write(SIGNATURE)
        for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")):
            f.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))


def paeth(left, above, corner):
    """Of the three neighbours the one nearest to left + above - corner (9.4 of the specification)."""
    estimate = left + above - corner
    return min((abs(estimate - n), i, n) for i, n in enumerate((left, above, corner)))[2]


def read_png(path):
    """Width, channels and pixels as bytes, of a file of 8 bits a channel without palette or interlacing."""
    with open(path, "rb") as f:
        file = f.read()
    if not file.startswith(SIGNATURE):
        raise ValueError(f"{path}: no PNG")
    at, packed = len(SIGNATURE), b""
    while at < len(file):
        size, kind = struct.unpack_from(">I4s", file, at)
        data = file[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", data)
            if depth != 8 or colours not in CHANNELS or interlaced:
                raise ValueError(f"{path}: depth {depth}, colour type {colours}, interlaced {interlaced}; expected 8 "
                                 f"bits of one of the colour types {sorted(CHANNELS)}, not interlaced")
        elif kind == b"IDAT":
            packed += data
        at += size + 12
    channels = CHANNELS[colours]
    stride, raw, pixels = width * channels, zlib.decompress(packed), bytearray()
    above = bytearray(stride)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride if kind else 0):
            left, corner = (row[i - channels], above[i - channels]) if i >= channels else (0, 0)
            row[i] = row[i] + (0, left, above[i], (left + above[i]) // 2, paeth(left, above[i], corner))[kind] & 255
        pixels += row
        above = row
    return width, channels, bytes(pixels)
