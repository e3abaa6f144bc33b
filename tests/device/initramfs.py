"""Writes the archive that a kernel unpacks as its first root: cpio, "newc" (the kernel's buffer-format.rst)."""
import os, re, stat

MODULES = ("virtio_pci", "virtio_mmio", "9pnet_virtio", "9p")  # needed for the shared folder; dependencies are added


def entry(name, data, mode, inode):
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    return padded(head) + padded(data)


def padded(data):
    return data + bytes(-len(data) % 4)


def module_name(path):
    return os.path.basename(path).removesuffix(".ko").replace("-", "_")


def load_order(folder):
    """The paths of MODULES and of what they depend on, each after what it depends on. A name without a file is built
    in."""
    paths = {}
    for at, _, names in os.walk(folder):
        paths.update({module_name(name): os.path.join(at, name) for name in names if name.endswith(".ko")})
    order = []

    def add(name):
        path = paths.get(name.replace("-", "_"))
        if path is None or path in order:
            return
        with open(path, "rb") as file:
            needed = re.search(rb"\0depends=([^\0]*)\0", file.read())
        for other in (needed.group(1).decode().split(",") if needed else []):
            add(other)
        order.append(path)

    for name in MODULES:
        add(name)
    return order


def write_initramfs(path, files, modules):
    """`files`: by their paths in it. `modules`: a folder of the kernel's."""
    order = load_order(modules)
    contents = {"modules/order": ("".join(os.path.basename(m) + "\n" for m in order).encode(), 0o644)}
    for name, source in [*files.items(), *((f"modules/{os.path.basename(m)}", m) for m in order)]:
        with open(source, "rb") as file:
            contents[name] = (file.read(), stat.S_IMODE(os.stat(source).st_mode) | 0o555)
    folders = {os.path.dirname(name) for name in contents} - {""}
    with open(path, "wb") as out:
        inode = 1
        for folder in sorted(folders):
            out.write(entry(folder, b"", stat.S_IFDIR | 0o755, inode))
            inode += 1
        for name, (data, mode) in contents.items():
            out.write(entry(name, data, stat.S_IFREG | mode, inode))
            inode += 1
        out.write(entry("TRAILER!!!", b"", 0, 0))
