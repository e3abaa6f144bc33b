"""Programs that are started here: the host's own, and those of another CPU under qemu's emulation of processes."""
import os, platform, shutil, signal, subprocess, tempfile

from faults import DeviceFault
from transports.base import Result, Transport

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


class Host(Transport):
    """This machine: what the others are compared with."""

    def __init__(self):
        self.name = f"host {platform.machine()}"
        self.before = []  # command that starts a program
        self.environment = {}

    def connect(self):
        self.folder = tempfile.mkdtemp(prefix="ferry-test-")

    def describe(self):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return {"machine": platform.machine(), "system": f"{platform.system()} {platform.release()}", "model": "",
                "memory_bytes": memory}

    def push(self, path, name):
        there = os.path.join(self.folder, name)
        if os.path.lexists(there):
            os.remove(there)
        os.symlink(os.path.abspath(path), there)

    def run(self, words, limit):
        environment = dict(os.environ, XDG_CACHE_HOME=os.path.join(self.folder, "cache"), **self.environment)
        try:
            child = subprocess.Popen(self.before + words, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        except OSError as error:  # for another CPU, or not a program: reported like a shell does
            return Result(126, "", f"{words[0]}: {error.strerror}")
        try:
            out, err = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise DeviceFault(f"{self.name} did not answer within {limit} s while `{' '.join(words)}` ran") from None
        code = child.returncode if child.returncode >= 0 else 128 - child.returncode  # like a shell reports it
        return Result(code, out.decode(errors="replace"), err.decode(errors="replace"))

    def pull(self, name, path):
        try:
            shutil.copyfile(os.path.join(self.folder, name), path)
        except OSError as error:
            raise DeviceFault(f"{self.name} did not give {name}: {error.strerror}") from None

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class QemuUser(Host):
    """An arm64 CPU by qemu-aarch64-static: a process on this machine's kernel. `vulkan`: a folder of
    `scripts/fetch-debian arm64 vulkan` with a software driver, or ""."""

    emulated = True
    target = "arm64"

    def __init__(self, cpu, vulkan=""):
        super().__init__()
        self.name = f"qemu-user {cpu}"
        self.before = [os.path.join(ROOT, "toolchains", "qemu-aarch64")]
        self.environment = {"QEMU_CPU": cpu}
        if vulkan:
            driver = os.path.join(vulkan, "lavapipe.json")
            self.environment.update(QEMU_LD_PREFIX=vulkan, VK_ICD_FILENAMES=driver, VK_DRIVER_FILES=driver)

    def connect(self):
        if not shutil.which("qemu-aarch64-static"):
            raise DeviceFault("there is no qemu-aarch64-static here: apt-get install qemu-user-static")
        super().connect()

    def describe(self):
        return dict(super().describe(), machine="aarch64", model="emulated processes on this machine's kernel")
