"""A Linux board that is reached by ssh. What it needs is a POSIX shell and a writable /tmp: no scp, no Python."""
import os, shlex, subprocess

from faults import DeviceFault
from transports.base import ShellTransport, last_line, start

# Non-interactive; disconnects after 3 unanswered probes of 5 s.
OPTIONS = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=10",
           "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]
SEND_LIMIT = 600
NO_CONNECTION = 255  # ssh's own exit status where it is not the command's

TARGETS = {"aarch64": "arm64", "armv7l": "armv7", "armv8l": "armv7", "riscv64": "riscv64"}


class Ssh(ShellTransport):
    def __init__(self, host):
        self.host = host
        self.name = f"ssh {host}"

    def shell(self, script, limit, data=None):
        done = start(["ssh", *OPTIONS, "--", self.host, script], "apt-get install openssh-client", timeout=limit,
                     **({"input": data} if data is not None else {"stdin": subprocess.DEVNULL}))
        return done.returncode, done.stdout, done.stderr

    def connect(self):
        code, out, err = 0, b"", b""
        try:
            code, out, err = self.shell("mktemp -d ${TMPDIR:-/tmp}/ferry-test.XXXXXX && uname -m", 30)
        except subprocess.TimeoutExpired:
            raise DeviceFault(f"{self.name} cannot be reached: no answer within 30 s") from None
        complaint = err.decode(errors="replace")
        if code == NO_CONNECTION:
            raise DeviceFault(f"{self.name} cannot be reached: {last_line(complaint)}")
        words = out.decode(errors="replace").split()
        if code != 0 or len(words) != 2:
            raise DeviceFault(f"{self.name} has no place for files: {last_line(complaint)}")
        self.folder = shlex.quote(words[0])
        self.target = TARGETS.get(words[1], words[1])

    def push(self, path, name):
        with open(path, "rb") as file:
            data = file.read()
        target = f"{self.folder}/{name}"
        mode = f"chmod +x {target}" if os.access(path, os.X_OK) else ":"
        script = f"cat >{target} && {mode} && wc -c <{target}"
        status, body, err = self.ask(script, f"{name} was sent", SEND_LIMIT, data)
        if status != 0 or body.split()[-1:] != [str(len(data)).encode()]:
            raise DeviceFault(self.not_sent(name, len(data), err))

    def pull(self, name, path):
        status, body, err = self.ask(f"cat {self.folder}/{name}", f"{name} was fetched", SEND_LIMIT)
        if status != 0:
            raise DeviceFault(f"{self.name} did not give {name}: {last_line(err)}")
        with open(path, "wb") as file:
            file.write(body)
