#!/usr/bin/env python3
"""scripts/device-test against scripted devices: fake `ssh` and `adb` programs whose boards and phones vanish, fill up,
hang, or are of another CPU, and fake `ferry` programs that compute wrongly. Every fault has its sentence, and its kind
has an exit code."""
import json, os, shutil, subprocess, sys, tempfile, time, unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FAKES = os.path.join(HERE, "fakes")
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

import initramfs
import tensors
import transports
from faults import DeviceFault
from transports import qemu_system

BOARD, PHONE = ("ssh", "board"), ("adb",)
OK, MODEL, USAGE, DEVICE = 0, 1, 2, 3


class DeviceTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="device-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.device = os.path.join(self.folder, "device")
        os.mkdir(self.device)
        self.blob = os.path.join(self.folder, "fake.ferry")
        with open(self.blob, "wb") as file:  # with characters that a terminal or a shell may interpret
            file.write(b"\r\n\0\x04\x1a--ferry-device-test--0\n\n" + bytes(1 << 18))
        os.makedirs(os.path.join(self.folder, "host/bin"))
        self.program("works", "host/bin/ferry")

    def program(self, mode, name="ferry"):
        """A fake ferry with the behaviour `mode`."""
        path = os.path.join(self.folder, name)
        with open(os.path.join(FAKES, "ferry.sh")) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text.replace("mode=works", f"mode={mode}"))
        os.chmod(path, 0o755)
        return path

    def start(self, *words, device="works", path=None):
        """The exit code and the output."""
        environment = dict(os.environ, FAKE_DEVICE=device, FAKE_DEVICE_FOLDER=self.device,
                           PATH=path or f"{FAKES}:{os.environ['PATH']}")
        done = subprocess.run([os.path.join(ROOT, "scripts/device-test"), *words], env=environment, cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def measure(self, *words, device="works", ferry="works", program=None, path=None):
        """The exit code, the output and the report."""
        report = os.path.join(self.folder, "report.json")
        code, text = self.start(*words, "--build", os.path.join(self.folder, "host"), "--model", self.blob, "--ferry",
                                program or self.program(ferry), "--json", report, device=device, path=path)
        self.assertTrue(os.path.exists(report), text)
        with open(report) as file:
            return code, text, json.load(file, parse_constant=self.fail)  # infinities are none of JSON's

    def assert_fault(self, result, code, sentence, results):
        """Expects this message about the second device, after this many rows."""
        found, text, report = result
        self.assertEqual(found, code, text)
        self.assertRegex(text, sentence)
        self.assertEqual(report["exit_code"], code)
        host, device = report["devices"]
        self.assertIsNone(host["fault"])
        self.assertIsNone(host["results"][0]["fault"])
        self.assertEqual(len(device["results"]), results, text)
        fault = device["fault"] if code == DEVICE else device["results"][0]["fault"]
        self.assertRegex(fault["sentence"], sentence)

    def assert_device_fault(self, result, sentence):
        self.assert_fault(result, DEVICE, sentence, 0)

    def assert_model_fault(self, result, sentence):
        self.assert_fault(result, MODEL, sentence, 1)

    def assert_comes_back(self, transport):
        """Expects the pushed model.ferry, byte for byte."""
        back = os.path.join(self.folder, "back")
        transport.pull("model.ferry", back)
        with open(back, "rb") as ours, open(self.blob, "rb") as theirs:
            self.assertEqual(ours.read(), theirs.read())

    def running_there(self):
        """Processes whose folder is the device's."""
        found = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{process}/cwd").startswith(self.device):
                    found.append(process)
            except OSError:  # it has ended, or is another user's
                pass
        return found

    def assert_tidy(self):
        self.assertEqual(os.listdir(self.device), [])


class Works(DeviceTest):
    def test_a_board_and_a_phone_give_rows_of_the_table(self):
        for device, name in ((BOARD, "ssh board"), (PHONE, "adb Fake 9")):
            with self.subTest(device):
                code, text, report = self.measure(*device)
                self.assertEqual(code, OK, text)
                row = next(line for line in text.splitlines() if line.startswith(name + " "))
                for cell in ("fake", "cpu", "fake dotprod (01234567)", "7 ok, 2.0e-06 at features", "0.0e+00",
                             "25.0 MB", "12.5 ms"):
                    self.assertIn(cell, row)
                self.assertNotIn("emulated", row)
                self.assertEqual(text.splitlines()[-1], "in bounds: 2 of 2, and all answer what this machine does")
                measured = report["devices"][1]["results"][0]
                self.assertEqual(measured["answer"]["classes"][0]["label"], "cat")
                self.assertEqual(measured["apart"], {"relative": 0, "output": "logits"})
                self.assertEqual(report["devices"][1]["machine"], os.uname().machine)
                self.assert_tidy()

    def test_files_come_back_as_they_were_sent(self):
        fakes = {"FAKE_DEVICE": "works", "FAKE_DEVICE_FOLDER": self.device, "PATH": f"{FAKES}:{os.environ['PATH']}"}
        with mock.patch.dict(os.environ, fakes):
            for transport in (transports.Ssh("board"), transports.Adb()):
                transport.connect()
                transport.push(self.blob, "model.ferry")
                self.assert_comes_back(transport)
                with self.assertRaisesRegex(DeviceFault, "did not give missing: .*No such file"):
                    transport.pull("missing", os.path.join(self.folder, "missing"))
                transport.close()
        self.assert_tidy()

    def test_a_gpu_that_can_serve_has_a_row_of_its_own(self):
        code, text, report = self.measure(*BOARD, ferry="has_gpu")
        self.assertEqual(code, OK, text)
        self.assertEqual([row["backend"] for row in report["devices"][1]["results"]], ["cpu", "gpu"])
        self.assertRegex(text, r"ssh board +fake +gpu +Fake GPU ")
        _, _, report = self.measure(*BOARD, "--backend", "cpu", ferry="has_gpu")
        self.assertEqual([row["backend"] for row in report["devices"][1]["results"]], ["cpu"])

    def test_every_blob_has_a_row(self):
        other = shutil.copy(self.blob, os.path.join(self.folder, "other.ferry"))
        code, text, report = self.measure(*BOARD, "--model", other)
        self.assertEqual(code, OK, text)
        self.assertEqual([row["model"] for row in report["devices"][1]["results"]], ["other", "fake"])


class DeviceFaults(DeviceTest):
    def test_no_device(self):
        self.assert_device_fault(self.measure(*BOARD, device="none"), "ssh board cannot be reached: .*No route to host")
        self.assert_device_fault(self.measure(*PHONE, device="none"),
                                 "adb has no device: error: no devices/emulators found")
        self.assert_device_fault(self.measure(*PHONE, device="unauthorized"), "adb has no device: .*ADB_VENDOR_KEYS")

    def test_a_device_that_vanishes(self):
        lost = "the connection to {} was lost while `./ferry bench .*` ran: {}"
        self.assert_device_fault(self.measure(*BOARD, device="vanishes"), lost.format("ssh board", ".*Broken pipe"))
        self.assert_device_fault(self.measure(*PHONE, device="vanishes"),
                                 lost.format("adb Fake 9", ".*'FAKE9' not found"))
        self.assert_device_fault(self.measure(*PHONE, device="unplugged"),
                                 "the connection to adb Fake 9 was lost while model.ferry was sent: .*'FAKE9'")

    def test_a_full_disk(self):
        full = "the disk of {} is full: model.ferry has 0.3 MB, of which not all fitted"
        self.assert_device_fault(self.measure(*BOARD, device="full"), full.format("ssh board"))
        self.assert_tidy()
        self.assert_device_fault(self.measure(*PHONE, device="full"), full.format("adb Fake 9"))
        self.assert_tidy()

    def test_a_disk_that_fills_up_while_the_program_runs_is_no_fault_of_the_model(self):
        for device, name in ((BOARD, "ssh board"), (PHONE, "adb Fake 9")):
            self.assert_device_fault(self.measure(*device, ferry="full_while_running"),
                                     f"the disk of {name} is full: .*outputs.safetensors")

    def elf(self, machine):
        """An ELF header only."""
        program = os.path.join(self.folder, "elf")
        with open(program, "wb") as file:
            file.write(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\2\0" + bytes([machine, 0]) + bytes(44))
        os.chmod(program, 0o755)
        return program

    def test_a_program_of_another_cpu(self):
        program = self.elf(22)  # s390x, which is unsupported
        for device, name in ((BOARD, "ssh board"), (PHONE, "adb Fake 9")):
            sentence = f"{name}, which is {os.uname().machine}, cannot start .*elf, which is for machine 22"
            self.assert_device_fault(self.measure(*device, program=program), sentence)
            self.assert_tidy()

    def test_a_program_of_this_cpu_that_does_not_start(self):
        program = self.elf({"x86_64": 62, "aarch64": 183}[os.uname().machine])
        self.assert_device_fault(self.measure(*BOARD, program=program), r"ssh board cannot start [^ ]*elf: \S")

    def test_a_command_beyond_the_time_limit_is_ended(self):
        for device, name in ((BOARD, "ssh board"), (PHONE, "adb Fake 9")):
            begin = time.monotonic()
            self.assert_device_fault(self.measure(*device, "--limit", "3", ferry="hangs"),
                                     f"{name} did not answer within 3.* s while `./ferry bench .*` ran")
            self.assertLess(time.monotonic() - begin, 60)
            self.assert_tidy()
            self.assertEqual(self.running_there(), [])

    def test_a_program_that_is_not_installed(self):
        bin = os.path.join(self.folder, "path")
        os.mkdir(bin)
        for name in ("python3", "bash", "dirname", "env", "sh", "cat"):
            os.symlink(shutil.which(name), os.path.join(bin, name))
        self.assert_device_fault(self.measure(*BOARD, path=bin),
                                 "there is no program 'ssh' here: apt-get install openssh-client")
        self.assert_device_fault(self.measure(*PHONE, path=bin), "there is no program 'adb' here: apt-get install adb")

    def test_no_program_was_built_for_the_device(self):
        if os.path.exists(os.path.join(ROOT, "build/device/android-arm64/bin/ferry")):
            self.skipTest("build/device/android-arm64 is there")
        code, text = self.start(*PHONE, "--build", os.path.join(self.folder, "host"), "--model", self.blob)
        self.assertEqual(code, DEVICE, text)
        self.assertIn("there is no ferry for android-arm64 yet: scripts/build-device android-arm64", text)


class ModelFaults(DeviceTest):
    def test_out_of_bounds(self):
        result = self.measure(*BOARD, ferry="out_of_bounds")
        self.assert_model_fault(result, "parity: block.3 is out of bounds: error 2.5e-01, bound 1.0e-04")
        self.assertRegex(result[1], r"ssh board +fake +cpu +OUT: 2.5e-01 at block.3")
        result = self.measure(*PHONE, ferry="not_a_number")
        self.assert_model_fault(result, "parity: block.3 is out of bounds: error not a number")

    def test_a_refused_blob(self):
        self.assert_model_fault(self.measure(*BOARD, ferry="refuses"),
                                "`ferry verify` refused: model.ferry: damaged: its checksum does not fit")

    def test_a_program_that_is_ended_by_a_signal(self):
        self.assert_model_fault(self.measure(*BOARD, ferry="crashes"), "`ferry verify` was ended by SIGSEGV")
        self.assert_model_fault(self.measure(*PHONE, ferry="illegal"),
                                "`ferry verify` was ended by SIGILL: an instruction that this CPU lacks")

    def test_answers_that_differ_from_the_host_s(self):
        self.assert_model_fault(self.measure(*BOARD, ferry="other_answer"),
                                "'logits' is 1.7e-01 of its maximum from the host's, where 1.0e-04 is allowed")
        self.assert_model_fault(self.measure(*BOARD, ferry="nan_answer"),
                                "'logits' is inf of its maximum from the host's")
        self.assert_model_fault(self.measure(*BOARD, ferry="short_answer"),
                                "'logits' is inf of its maximum from the host's")

    def test_a_model_s_fault_is_the_exit_code_though_a_device_failed_too(self):
        code, text, _ = self.measure("adb", "ssh", "board", device="unplugged", ferry="out_of_bounds")
        self.assertEqual(code, MODEL, text)
        self.assertIn("DEVICE  the connection to adb Fake 9 was lost", text)
        self.assertIn("MODEL   fake on ssh board, cpu: parity: block.3", text)


class Machine(DeviceTest):
    """qemu-system, simulated by a fake that runs jobs here."""

    def setUp(self):
        super().setUp()
        linux = os.path.join(self.folder, "linux")
        os.makedirs(os.path.join(linux, "modules"))
        libraries = os.path.join(self.folder, "libraries")
        os.mkdir(libraries)
        paths = [os.path.join(libraries, name) for name in qemu_system.LIBRARIES]
        for path in [*paths, os.path.join(linux, "busybox")]:
            with open(path, "w") as file:
                file.write("not read\n")
        patch = mock.patch.object(qemu_system, "CROSS_LIBRARIES", libraries)
        patch.start()
        self.addCleanup(patch.stop)
        self.machine = transports.QemuSystem("max", linux)
        self.addCleanup(self.machine.close)

    def boot(self, device):
        fakes = {"FAKE_DEVICE": device, "FAKE_DEVICE_FOLDER": self.device, "PATH": f"{FAKES}:{os.environ['PATH']}"}
        with mock.patch.dict(os.environ, fakes):
            self.machine.connect()

    def test_files_go_there_and_back_and_commands_run(self):
        self.boot("works")
        self.machine.push(self.program("works"), "ferry")
        self.machine.push(self.blob, "model.ferry")
        self.assertEqual(self.machine.describe()["machine"], os.uname().machine)
        self.assertEqual(self.machine.run(["./ferry", "--version"], 10), (0, "ferry 0.0-fake\n", ""))
        refused = self.machine.run(["sh", "-c", "echo why >&2; exit 7"], 10)
        self.assertEqual((refused.code, refused.out, refused.err.strip()), (7, "", "why"))
        self.assert_comes_back(self.machine)
        self.machine.close()
        self.assertIsNotNone(self.machine.machine.poll())

    def test_a_machine_that_does_not_boot(self):
        with self.assertRaisesRegex(DeviceFault, "qemu-system max went away: Kernel panic - not syncing"):
            self.boot("panics")

    def test_a_machine_that_goes_away(self):
        self.boot("vanishes")
        with self.assertRaisesRegex(DeviceFault, "qemu-system max went away: Unable to handle kernel paging request"):
            self.machine.run(["./ferry", "--version"], 10)

    def test_a_command_beyond_the_time_limit(self):
        self.boot("works")
        with self.assertRaisesRegex(DeviceFault, "qemu-system max did not answer within 0.5 s while `sleep 20` ran"):
            self.machine.run(["sleep", "20"], 0.5)
        self.machine.machine.wait(5)


class Usage(DeviceTest):
    def test_wrong_arguments_get_a_sentence(self):
        for words, sentence in (
            ((), "which device? qemu, qemu-user[:CPU]"),
            (("toaster",), "'toaster' is no device: qemu"),
            (("ssh",), "ssh: to which host?"),
            (("adb:FAKE9",), "only qemu-user and qemu-system take a CPU"),
            (("host", "--runs", "0"), "--runs 0: expected 1 or more"),
            (("host", "--limit", "-1"), "--limit -1: expected a time in seconds"),
            (("host", "--modle", "m.ferry"), "unrecognized arguments: --modle"),
            (("host", "--model", "none.ferry"), "there is no file 'none.ferry'"),
            (("host", "--json", "none/report.json"), "--json none/report.json: nothing can be written there"),
            (("host", "--build", self.folder), "holds no ferry and make_checkpoint"),
        ):
            with self.subTest(words):
                code, text = self.start(*words)
                self.assertEqual(code, USAGE, text)
                self.assertIn("device-test: ", text)
                self.assertIn(sentence, text)
                self.assertNotIn("Traceback", text)

    def test_help_is_help(self):
        code, text = self.start("--help")
        self.assertEqual(code, OK)
        self.assertIn("scripts/build-device arm64 && scripts/device-test qemu", text)


class Parts(unittest.TestCase):
    def test_how_far_outputs_are_apart(self):
        self.assertEqual(tensors.apart({"a": [1, 2]}, {"a": [1, 2]}), (0, "a"))
        self.assertEqual(tensors.apart({"a": [1, 2], "b": [0, 5]}, {"a": [1, 2], "b": [0, 4]}), (0.25, "b"))
        self.assertEqual(tensors.apart({"a": [1, 2]}, {"a": [1, 2], "b": [0]}), (float("inf"), "b"))
        self.assertEqual(tensors.apart({"a": [1, float("inf")]}, {"a": [1, 2]})[0], float("inf"))
        self.assertEqual(tensors.apart({"a": [float("nan"), 2]}, {"a": [1, 2]})[0], float("inf"))
        self.assertEqual(tensors.apart({"a": [0, 0]}, {"a": [0, 0]}), (0, "a"))

    def test_modules_are_loaded_after_what_they_need(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, needed in (("9p", "9pnet,netfs"), ("9pnet", ""), ("netfs", ""), ("9pnet_virtio", "virtio,9pnet"),
                                 ("virtio-pci", "virtio_ring"), ("virtio_ring", ""), ("unused", "")):
                with open(os.path.join(folder, name + ".ko"), "wb") as file:
                    file.write(b"\x7fELF\0license=GPL\0depends=" + needed.encode() + b"\0name=" + name.encode() + b"\0")
            names = [os.path.basename(path) for path in initramfs.load_order(folder)]
        self.assertEqual(names, ["virtio_ring.ko", "virtio-pci.ko", "9pnet.ko", "9pnet_virtio.ko", "netfs.ko", "9p.ko"])


if __name__ == "__main__":
    unittest.main()
