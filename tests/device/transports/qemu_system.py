"""A whole arm64 machine under qemu-system-aarch64: it boots Debian's kernel with a root of a few files in memory, runs
what the runner lays into a folder that both share (9p), and powers off."""
import os, re, shutil, subprocess, tempfile, time

from faults import DeviceFault
from initramfs import write_initramfs
from transports.base import ShellTransport, last_line

HERE = os.path.dirname(os.path.abspath(__file__))
CROSS_LIBRARIES = "/usr/aarch64-linux-gnu/lib"  # of Debian's cross compiler: what its programs run with
LIBRARIES = ("ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6")
BOOT_LIMIT = 180
OFF_LIMIT = 30
CPUS = 2
MEMORY_MB = 1024


class QemuSystem(ShellTransport):
    """`cpu`: a name of qemu's. `linux`: the folder of `scripts/fetch-debian arm64 linux` with kernel, modules and busybox."""

    emulated = True
    target = "arm64"
    folder = "/work"

    def __init__(self, cpu, linux):
        self.name = f"qemu-system {cpu}"
        # Plain "max" signs pointers with an algorithm that is very slow to emulate.
        self.cpu = "max,pauth-impdef=on" if cpu == "max" else cpu
        self.linux = linux
        self.machine = None
        self.host_folder = None
        self.jobs = 0

    def connect(self):
        if not shutil.which("qemu-system-aarch64"):
            raise DeviceFault("there is no qemu-system-aarch64 here: apt-get install qemu-system-arm")
        self.host_folder = tempfile.mkdtemp(prefix="ferry-machine-")
        self.share = os.path.join(self.host_folder, "share")
        os.mkdir(self.share)
        initramfs = os.path.join(self.host_folder, "initramfs")
        files = {"init": os.path.join(HERE, "qemu_system_init"), "bin/busybox": os.path.join(self.linux, "busybox")}
        for library in LIBRARIES:
            files[f"lib/{library}"] = os.path.join(CROSS_LIBRARIES, library)
        write_initramfs(initramfs, files, os.path.join(self.linux, "modules"))
        self.console = os.path.join(self.host_folder, "console")
        with open(self.console, "wb") as console:
            self.machine = subprocess.Popen(
                ["qemu-system-aarch64", "-M", "virt", "-cpu", self.cpu, "-smp", str(CPUS), "-m", str(MEMORY_MB),
                 "-nographic", "-no-reboot", "-nic", "none", "-kernel", os.path.join(self.linux, "vmlinuz"),
                 "-initrd", initramfs, "-append", "console=ttyAMA0 quiet panic=-1",
                 "-virtfs", f"local,path={self.share},mount_tag=share,security_model=none"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        if not self.wait("ready", time.monotonic() + BOOT_LIMIT):
            raise DeviceFault(f"{self.name} did not boot within {BOOT_LIMIT} s: {self.said()}")

    def wait(self, name, until):
        """Whether the machine has written that file into the shared folder by then."""
        path = os.path.join(self.share, name)
        while not os.path.exists(path):
            if self.machine.poll() is not None:
                raise DeviceFault(f"{self.name} went away: {self.said()}")
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True

    def said(self):
        """The last line on the machine's console."""
        with open(self.console, errors="replace") as file:
            return last_line(re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", file.read()))

    def shell(self, script, limit, data=None):
        self.jobs += 1
        job = os.path.join(self.share, f"{self.jobs}.")
        with open(job + "part", "w") as file:
            file.write(script + "\n")
        os.rename(job + "part", job + "job")
        if not self.wait(f"{self.jobs}.done", time.monotonic() + limit):
            raise subprocess.TimeoutExpired(script, limit)
        with open(job + "out", "rb") as out, open(job + "err", "rb") as err, open(job + "done") as done:
            return int(done.read()), out.read(), err.read()

    def end_command(self):
        """Its shell still waits for the command: the machine goes, and with it all that ran there."""
        self.machine.kill()

    def push(self, path, name):
        shutil.copyfile(path, os.path.join(self.share, name))
        mode = "755" if os.access(path, os.X_OK) else "644"
        # Into memory: a blob is mapped, which is slow in the shared folder.
        status, _, err = self.ask(f"cp /share/{name} /work/{name} && chmod {mode} /work/{name}", f"{name} was sent", 60)
        os.remove(os.path.join(self.share, name))
        if status != 0:
            raise DeviceFault(self.not_sent(name, os.path.getsize(path), err))

    def pull(self, name, path):
        status, _, err = self.ask(f"cp /work/{name} /share/{name}", f"{name} was fetched", 60)
        if status != 0:
            raise DeviceFault(f"{self.name} did not give {name}: {last_line(err)}")
        shutil.move(os.path.join(self.share, name), path)

    def close(self):
        if self.machine is not None and self.machine.poll() is None:
            with open(os.path.join(self.share, "off"), "w"):
                pass
            try:
                self.machine.wait(OFF_LIMIT)
            except subprocess.TimeoutExpired:
                self.machine.kill()
                self.machine.wait()
        if self.host_folder:
            shutil.rmtree(self.host_folder, ignore_errors=True)
