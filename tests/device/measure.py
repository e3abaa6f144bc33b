"""What is done on a device: `ferry verify`, `run` on a photograph and `bench`, of every blob, on the CPU and on a GPU
that can serve. Faults are kept apart: a model's ends what is done with that blob there, a device's ends the device."""
import json, math, os, shlex, signal, tempfile

import tensors
from faults import DeviceFault, ModelFault
from transports.base import is_full, last_line

FERRY, IMAGE, BLOB, OUTPUTS = "ferry", "photo", "model.ferry", "outputs.safetensors"
# The float32 bound of docs/parity.md, for outputs of the same blob and image. Rounded weights have their certificate's
# bound.
APART = 1e-4


def json_of(result, what):
    try:
        return json.loads(result.out)
    except ValueError:
        raise ModelFault(f"`{what}` gave no JSON but: {last_line(result.out)}") from None


def judge(result, words, name):
    """A command that ended otherwise than with its answer: whose fault it was."""
    what = shlex.join(words[:2]).removeprefix("./")
    if is_full(result.err):
        raise DeviceFault(f"the disk of {name} is full: {last_line(result.err)}")
    if result.code > 128:
        number = result.code - 128
        try:
            signal_name = signal.Signals(number).name
        except ValueError:
            signal_name = f"signal {number}"
        hint = {"SIGILL": ": an instruction that this CPU lacks", "SIGKILL": ": probably memory ran out"}
        raise ModelFault(f"`{what}` was ended by {signal_name}{hint.get(signal_name, '')}")
    raise ModelFault(f"`{what}` refused: {last_line(result.err).removeprefix(what + ': ')}")


class Device:
    """One device while it is measured."""

    def __init__(self, transport, limit, runs):
        self.transport, self.limit, self.runs = transport, limit, runs

    def ferry(self, *words, accept=(0,)):
        words = [f"./{FERRY}", *words]
        result = self.transport.run(words, self.limit)
        if result.code not in accept:
            judge(result, words, self.transport.name)
        return result

    def start(self, program, image):
        """Sends what all blobs share, and sees that the program starts. Returns what it says of itself and of GPUs."""
        self.transport.push(program, FERRY)
        first = self.transport.run([f"./{FERRY}", "--version"], self.limit)
        if first.code != 0:
            machine, wanted = self.transport.describe()["machine"], machine_of(program)
            of, what = (f", which is {machine},", f", which is for {wanted}") if machine != wanted else ("", "")
            raise DeviceFault(f"{self.transport.name}{of} cannot start {program}{what}: {last_line(first.err)}")
        self.transport.push(image, IMAGE)
        return first.out.strip(), json_of(self.ferry("devices", "--json"), "ferry devices")

    def verify(self, backend):
        verdict = json_of(self.ferry("verify", BLOB, "--json", *backend, accept=(0, 1)), "ferry verify")
        if not verdict["passed"]:
            error, bound, before = (number(verdict[key]) for key in ("error", "bound", "error_at_conversion"))
            raise ModelFault(f"parity: {verdict['stage']} is out of bounds: error {error}, bound {bound} ({before} at "
                             "conversion)", verdict)
        return verdict

    def run(self, backend):
        """The answer for the photograph, and the network's outputs."""
        result = self.ferry("run", BLOB, IMAGE, "--json", "--save", OUTPUTS, *backend)
        # After the output of --save.
        answer = json_of(result._replace(out=result.out.rstrip().rpartition("\n")[2]), "ferry run")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, OUTPUTS)
            self.transport.pull(OUTPUTS, path)
            return answer, tensors.read(path)

    def bench(self, backend):
        return json_of(self.ferry("bench", BLOB, "--json", "--runs", str(self.runs), *backend), "ferry bench")


def number(value):
    return "not a number" if value is None else f"{value:.1e}"


def machine_of(program):
    """What an ELF file says it is for."""
    with open(program, "rb") as file:
        head = file.read(20)
    if head[:4] != b"\x7fELF":
        return "no machine (it is no ELF file)"
    machine = int.from_bytes(head[18:20], "little")
    return {3: "x86", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}.get(machine, f"machine {machine}")


def serves(devices):
    return any(not gpu["problem"] for gpu in devices.get("devices", ()))


def measure(device, model, backend, reference):
    """One row: a blob on one backend. `reference`: the outputs of the host, or None."""
    row = {"model": model.name, "backend": backend, "blob_bytes": os.path.getsize(model.path), "fault": None}
    words = ["--backend", backend]
    outputs = None
    try:
        row["verify"] = device.verify(words)
        row["answer"], outputs = device.run(words)
        if reference is not None:
            distance, output = tensors.apart(outputs, reference)
            row["apart"] = {"relative": distance if math.isfinite(distance) else None, "output": output}
            bound = max(APART, row["verify"]["bound"])
            if not distance <= bound:
                raise ModelFault(f"for the photograph '{output}' is {distance:.1e} of its maximum from the host's, "
                                 f"where {bound:.1e} is allowed")
        row["bench"] = device.bench(words)
    except ModelFault as fault:
        row["fault"] = {"kind": "model", "sentence": fault.args[0]}
        if len(fault.args) > 1:
            row["verify"] = fault.args[1]
    return row, outputs
