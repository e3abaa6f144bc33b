"""Measures Ferry on devices, real and emulated. scripts/device-test starts it; docs/device-tests.md is its manual."""
import argparse, json, os, platform, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import models
import table
import transports
from faults import DeviceFault, ModelFault, Usage
from measure import Device, measure, serves
from models import ROOT, say

OK, MODEL, USAGE, DEVICE = 0, 1, 2, 3  # exit codes
TRANSPORTS = "qemu, qemu-user[:CPU], qemu-system[:CPU], adb, ssh HOST, host"
MANUAL = f"""
Sends the command-line tool and certified blobs to each device, has it run `ferry verify`, `ferry run` on a
photograph and `ferry bench`, and prints one table. This machine runs the same, and is compared with.

devices: {TRANSPORTS}
  qemu          qemu-user as cortex-a53, cortex-a76 and max, and qemu-system
  qemu-user     arm64 processes on an emulated CPU, all three where none is named; and on a software GPU
  qemu-system   an arm64 machine that boots Debian's kernel, runs them and powers off
  adb           an Android device; ANDROID_SERIAL says which
  ssh HOST      a Linux board
  host          this machine alone

exit code: 0 all is well, 1 a model's fault (out of bounds, refused, ended by a signal), 2 bad usage,
  3 a device's fault alone (none there, connection lost, time limit, disk full, program of another CPU)

examples:
  scripts/build-device arm64 && scripts/device-test qemu
  scripts/device-test qemu-user:cortex-a53 --backend cpu
  scripts/device-test ssh pi@board.local --json board.json
  scripts/device-test adb --model m.ferry --image photo.jpg
"""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Usage(f"{message} (see scripts/device-test --help)")


def arguments(words):
    parser = Parser(prog="scripts/device-test", epilog=MANUAL, formatter_class=argparse.RawDescriptionHelpFormatter,
                    usage="scripts/device-test DEVICE... [options]")
    parser.add_argument("devices", nargs="*", metavar="DEVICE", help="one or more, as below")
    parser.add_argument("--backend", choices=("cpu", "gpu", "all"), default="all",
                        help="all (default): the CPU, and a GPU where the device has one")
    parser.add_argument("--model", action="append", metavar="BLOB",
                        help="a certified blob (ferry convert --certify) in place of those made here; may be repeated")
    parser.add_argument("--image", default=os.path.join(ROOT, "examples/data/grace_hopper.png"), metavar="FILE",
                        help="the photograph (default: examples/data/grace_hopper.png)")
    parser.add_argument("--runs", type=int, metavar="N", help="timed runs (5; emulated, whose times are no figures: 1)")
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="for each command (300)")
    parser.add_argument("--ferry", metavar="FILE",
                        help="the program for the devices (default: what scripts/build-device made for them)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build/dev"), metavar="FOLDER",
                        help="of this machine's ferry, which converts and is compared with (build/dev)")
    parser.add_argument("--json", metavar="FILE", help="all that was measured, for programs")
    old = "--picture"  # of 0.2; words: ok
    if any(word.split("=")[0] == old for word in words):
        print(f"scripts/device-test: {old} is called --image since 0.3", file=sys.stderr)
        words = ["--image" + word[len(old):] if word.split("=")[0] == old else word for word in words]
    given = parser.parse_args(words)
    if not given.devices:
        raise Usage(f"which device? {TRANSPORTS} (see scripts/device-test --help)")
    if given.runs is not None and given.runs < 1:
        raise Usage(f"--runs {given.runs}: expected 1 or more")
    if given.limit <= 0:
        raise Usage(f"--limit {given.limit:g}: expected a time in seconds")
    for path in [given.image, *(given.model or []), *([given.ferry] if given.ferry else [])]:
        if not os.path.isfile(path):
            raise Usage(f"there is no file '{path}'")
    if given.json and not os.access(os.path.dirname(given.json) or ".", os.W_OK):
        raise Usage(f"--json {given.json}: nothing can be written there")
    return given


def output_of(script, *words):
    """The last line that a script of the project prints; what it says meanwhile is shown."""
    done = subprocess.run([os.path.join(ROOT, "scripts", script), *words], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Usage(f"scripts/{script} {' '.join(words)} failed")
    return (done.stdout.splitlines() or [""])[-1]


def built_for(target, given):
    """The ferry that scripts/build-device has made for a target, or the one that was named."""
    path = given.ferry or os.path.join(ROOT, "build/device", target, "bin/ferry")
    if not os.path.exists(path):
        raise Usage(f"there is no ferry for {target} yet: scripts/build-device {target}, or name one with --ferry")
    return path


def qemu_user(cpus, given):
    output_of("setup", "qemu-user")
    vulkan = "" if given.backend == "cpu" else output_of("fetch-debian", "arm64", "vulkan")
    # An emulated software GPU takes minutes: by default only one CPU tests it.
    with_gpu = cpus if len(cpus) == 1 or given.backend == "gpu" else ["cortex-a76"]
    return [transports.QemuUser(cpu, vulkan if cpu in with_gpu else "") for cpu in cpus]


def qemu_system(cpu):
    output_of("setup", "qemu-system")
    return [transports.QemuSystem(cpu, output_of("fetch-debian", "arm64", "linux"))]


def devices_of(given):
    """A transport for each device that was asked for. What emulators need is installed."""
    if any(word.startswith("qemu") for word in given.devices):
        built_for("arm64", given)  # before anything is downloaded
    found = []
    words = iter(given.devices)
    for word in words:
        kind, colon, cpu = word.partition(":")
        if colon and (kind not in ("qemu-user", "qemu-system") or not cpu):
            raise Usage(f"'{word}': only qemu-user and qemu-system take a CPU after a colon")
        if kind == "ssh":
            host = next(words, "")
            if not host or host.startswith("-"):
                raise Usage("ssh: to which host? scripts/device-test ssh HOST")
            found.append(transports.Ssh(host))
        elif kind == "adb":
            found.append(transports.Adb())
        elif kind in ("qemu-user", "qemu"):
            found += qemu_user([cpu] if cpu else transports.QEMU_USER_CPUS, given)
            found += qemu_system("max") if kind == "qemu" else []
        elif kind == "qemu-system":
            found += qemu_system(cpu or "max")
        elif kind != "host":
            raise Usage(f"'{word}' is no device: {TRANSPORTS}")
    return found


def program_for(transport, given):
    """The ferry that this device can start."""
    if isinstance(transport, transports.Host) and not transport.emulated:
        return os.path.join(given.build, "bin/ferry")
    if transport.target == platform.machine() and not given.ferry:
        return os.path.join(given.build, "bin/ferry")
    return built_for(transport.target, given)


def measure_device(transport, blobs, given, references):
    """All rows of a device; `references` are the host's outputs by model, and filled in by the host."""
    report = {"device": transport.name, "emulated": transport.emulated, "fault": None, "program_bytes": 0,
              "results": []}
    is_host = isinstance(transport, transports.Host) and not transport.emulated
    try:
        transport.connect()
        report.update(transport.describe(), device=transport.name)
        program = program_for(transport, given)
        if not is_host:  # whose program includes the converter
            report["program_bytes"] = os.path.getsize(program)
        device = Device(transport, given.limit, given.runs or (1 if transport.emulated else 5))
        say(f"{transport.name}: sending {os.path.relpath(program)}")
        report["version"], report["gpus"] = device.start(program, given.image)
        backends = ["cpu"] * (given.backend != "gpu" or is_host)
        backends += ["gpu"] * (given.backend == "gpu" or (given.backend == "all" and serves(report["gpus"])))
        for model in blobs:
            transport.push(model.path, "model.ferry")
            for backend in backends:
                say(f"{transport.name}: {model.name}, {backend}")
                row, outputs = measure(device, model, backend, references.get(model.name))
                report["results"].append(row)
                if is_host and backend == "cpu" and outputs is not None:
                    references[model.name] = outputs
    except (DeviceFault, Usage) as fault:
        report["fault"] = {"kind": "device", "sentence": str(fault)}
    except ModelFault as fault:  # without a blob: `ferry devices` itself
        report["fault"] = {"kind": "model", "sentence": f"{transport.name}: {fault.args[0]}"}
    finally:
        transport.close()
    return report


def exit_code(devices):
    faults = [fault for d in devices for fault in [d["fault"], *(row["fault"] for row in d["results"])] if fault]
    if any(fault["kind"] == "model" for fault in faults):
        return MODEL
    return DEVICE if faults else OK


def main(words):
    given = arguments(words)
    found = devices_of(given)
    tools = os.path.join(given.build, "bin")
    if given.model:
        blobs = [models.Model(os.path.basename(path).removesuffix(".ferry"), path) for path in given.model]
    else:
        models.build_tools(tools)
        blobs = models.prepare(tools, os.path.join(ROOT, "build/device-test"))
    references = {}
    devices = [measure_device(t, blobs, given, references) for t in [transports.Host(), *found]]
    report = {"format": "ferry-device-test/1", "devices": devices, "exit_code": exit_code(devices)}
    print("\n" + table.text_of(report))
    if given.json:
        with open(given.json, "w") as file:
            json.dump(report, file, indent=2)
            file.write("\n")
    return report["exit_code"]


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Usage as problem:
        print(f"device-test: {problem}", file=sys.stderr)
        sys.exit(USAGE)
    except KeyboardInterrupt:
        sys.exit(130)
