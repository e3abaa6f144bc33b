"""An Android device that is reached by adb; ANDROID_SERIAL says which, where there are several."""
import os, subprocess

from faults import DeviceFault
from transports.base import ShellTransport, arrived, last_line, start

INSTALL = "apt-get install adb, or put the Android SDK's platform-tools on PATH"
SEND_LIMIT = 600
TARGETS = {"arm64-v8a": "android-arm64", "armeabi-v7a": "android-armv7", "x86_64": "android-x86_64"}


class Adb(ShellTransport):
    name = "adb"

    def adb(self, *words, limit=30):
        return start(["adb", *words], INSTALL, timeout=limit, stdin=subprocess.DEVNULL)

    def shell(self, script, limit, data=None):
        done = self.adb("shell", script, limit=limit)
        # Before Android 7 a terminal in between changes line ends.
        return done.returncode, done.stdout.replace(b"\r\n", b"\n"), done.stderr

    def connect(self):
        try:
            done = self.adb("get-state")
        except subprocess.TimeoutExpired:
            raise DeviceFault("adb found no device within 30 s") from None
        if done.returncode != 0 or done.stdout.strip() != b"device":
            complaint = last_line((done.stderr or done.stdout).decode(errors="replace"))
            raise DeviceFault(f"adb has no device: {complaint}")
        self.folder = f"/data/local/tmp/ferry-test-{os.getpid()}"  # the only place where a shell may execute programs
        lines = self.ask(f"mkdir {self.folder} && getprop ro.product.cpu.abi && getprop ro.product.model",
                         "its folder was made")[1].decode(errors="replace").split("\n")
        self.target = TARGETS.get(lines[0].strip(), lines[0].strip())
        self.name = f"adb {lines[1].strip()}" if len(lines) > 1 and lines[1].strip() else "adb"

    def transfer(self, words, what):
        try:
            done = self.adb(*words, limit=SEND_LIMIT)
        except subprocess.TimeoutExpired:
            raise DeviceFault(f"{self.name} did not answer within {SEND_LIMIT} s while {what}") from None
        text = (done.stdout + done.stderr).decode(errors="replace")
        if done.returncode != 0 and any(words in text for words in ("not found", "no devices", "offline", "closed")):
            raise DeviceFault(self.lost(what, done.returncode, text))
        return done.returncode, text

    def push(self, path, name):
        code, text = self.transfer(["push", path, f"{self.folder}/{name}"], f"{name} was sent")
        if code != 0:
            raise DeviceFault(self.not_sent(name, os.path.getsize(path), text))
        if os.access(path, os.X_OK):
            self.ask(f"chmod 755 {self.folder}/{name}", f"{name} was sent")

    def pull(self, name, path):
        code, text = self.transfer(["pull", f"{self.folder}/{name}", path], f"{name} was fetched")
        if code != 0 or not os.path.exists(path):
            raise DeviceFault(f"{self.name} did not give {name}: {last_line(text)}")
