#!/usr/bin/env python3
"""Converts checkpoints of published shapes (tests/data/published), opens the blobs, and generates two tokens.

    tests/cli/published_runs.py FERRY [--random] [--weights KIND]... [--folder FOLDER] NAME...

The weights are zeros in holes of the file, or random numbers with --random, which take the disk that the published
checkpoint takes. Prints a line for each conversion: bytes read per second of a core, peak memory, and the blob. Fails
if a command does, if a conversion's memory exceeds its largest tensor by more than 200 MB, or if a killed one leaves a
file. Run by hand: gigabytes and minutes.
"""
import argparse, json, os, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "converter"))
import make_published_shapes

ALLOWANCE = 200 << 20  # bytes of a conversion beyond its largest tensor
# High bytes of bfloat16 values between 2^-9 and 2^-5, of both signs.
HIGH = bytes((0x3B, 0x3C, 0x3C, 0x3D, 0xBB, 0xBC, 0xBC, 0xBD)[i % 8] for i in range(256))


def write_random(file, kind, size):
    if kind != "BF16":
        sys.exit(f"--random: a tensor is {kind}, not BF16")
    while size > 0:
        part = bytearray(min(size, 16 << 20))
        part[0::2] = os.urandom(len(part) // 2)
        part[1::2] = os.urandom(len(part) // 2).translate(HIGH)
        file.write(part)
        size -= len(part)


def make_checkpoint(name, folder, random):
    """Returns the bytes of the weights, and of the largest one."""
    header = make_published_shapes.make_checkpoint(name, folder)
    if random:
        with open(os.path.join(folder, "model.safetensors"), "r+b") as file:
            file.seek(8 + int.from_bytes(file.read(8), "little"))
            for tensor in header.values():
                write_random(file, tensor["dtype"], tensor["data_offsets"][1] - tensor["data_offsets"][0])
    sizes = [tensor["data_offsets"][1] - tensor["data_offsets"][0] for tensor in header.values()]
    return sum(sizes), max(sizes)


def run(*command):
    """(seconds, seconds of processors, peak bytes, output)."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode(errors="replace")
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {child.returncode}\n{text}")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10, text


def check_killed(ferry, checkpoint, blob):
    """A conversion that is killed after half a second leaves no file."""
    folder = os.path.dirname(blob)
    before = sorted(os.listdir(folder))
    child = subprocess.Popen([ferry, "convert", checkpoint, "-o", blob], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    child.send_signal(signal.SIGKILL)
    if child.wait() == 0:
        os.remove(blob)  # it was faster
    if sorted(os.listdir(folder)) != before:
        sys.exit(f"a killed conversion leaves {sorted(set(os.listdir(folder)) - set(before))}")


def check(ferry, name, kinds, random, folder):
    checkpoint, blob = os.path.join(folder, name), os.path.join(folder, "model.ferry")
    size, largest = make_checkpoint(name, checkpoint, random)
    check_killed(ferry, checkpoint, blob)
    failed = False
    for kind in kinds:
        seconds, used, peak, _ = run(ferry, "convert", checkpoint, "-o", blob, "--weights", kind)
        print(f"{name} {kind}: {size / 1e6:.0f} MB in {seconds:.1f} s, {size / 1e6 / used:.0f} MB/s of a core; "
              f"peak {peak / 1e6:.0f} MB, largest tensor {largest / 1e6:.0f} MB; "
              f"blob {os.path.getsize(blob) / 1e6:.0f} MB", flush=True)
        failed = failed or peak > largest + ALLOWANCE
        seconds, _, peak, text = run(ferry, "run", blob, "--tokens", "1,2", "--max-tokens", "2", "--json")
        tokens = json.loads(text)["tokens"]
        print(f"  two tokens {tokens} in {seconds:.1f} s, peak {peak / 1e6:.0f} MB", flush=True)
        os.remove(blob)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ferry")
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--weights", action="append", metavar="KIND")
    parser.add_argument("--folder", help="where the files are written, and removed; default: the system's")
    given = parser.parse_args()
    failed = False
    for name in given.names:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            failed = check(os.path.abspath(given.ferry), name, given.weights or ["i4"], given.random, folder) or failed
    if failed:
        sys.exit("a conversion takes more memory than its largest tensor and 200 MB")


if __name__ == "__main__":
    main()
