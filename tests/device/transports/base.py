"""The interface of transports, and what those have in common whose device has a shell."""
import collections, os, shlex, subprocess

from faults import DeviceFault

Result = collections.namedtuple("Result", "code out err")  # of a command on the device; out and err are text

MARK = "--ferry-device-test--"  # a line between a command's output and its exit status


class Transport:
    """A device. All methods raise DeviceFault, with a sentence, where the device or the way to it fails."""

    name = ""         # for people, and in the report: "qemu-user cortex-a53"
    emulated = False  # emulated times are not printed
    target = ""       # of scripts/build-device, whose program it runs; known once connected. "": the host's own build

    def connect(self):
        """Finds the device and makes a folder on it, in which everything happens."""

    def describe(self):
        """What the device says of itself: machine ("aarch64"), system ("Linux 6.1"), model and memory_bytes; "" and 0
        where it does not say."""
        raise NotImplementedError

    def push(self, path, name):
        """Sends the file `path`, which is called `name` there; an executable stays one."""
        raise NotImplementedError

    def run(self, words, limit):
        """Runs a command in the folder, at most `limit` seconds. Returns its Result, whatever its exit status is."""
        raise NotImplementedError

    def pull(self, name, path):
        """Brings the file `name` back as `path`."""
        raise NotImplementedError

    def close(self):
        """Takes the folder away. Raises nothing: there may be no device any more."""


def size_text(size):
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size} bytes"


def last_line(text):
    """What a program complained of, in one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def is_full(text):
    """Whether a program's complaint is that of a full disk, in the words of libc, of adb or of a quota."""
    return any(words in text for words in ("No space left on device", "not enough space", "Disk quota exceeded"))


def start(words, what_is_it, **options):
    """subprocess.run(), whose program may not be installed."""
    try:
        return subprocess.run(words, capture_output=True, **options)
    except FileNotFoundError:
        raise DeviceFault(f"there is no program '{words[0]}' here: {what_is_it}") from None


class ShellTransport(Transport):
    """A device with a shell. Subclasses say how a script gets there (`shell`), and how files do."""

    folder = ""

    def shell(self, script, limit, data=None):
        """Runs a script by the device's sh; returns (exit status of the transport, stdout and stderr as bytes). Raises
        subprocess.TimeoutExpired."""
        raise NotImplementedError

    def ask(self, script, what, limit=30, data=None):
        """The output of a script that ought to work: one that does not come to its end has lost its device."""
        try:
            code, out, err = self.shell(f"{script}\ncode=$?; echo; echo {MARK}$code", limit, data)
        except subprocess.TimeoutExpired:
            raise DeviceFault(f"{self.name} did not answer within {limit} s while {what}") from None
        body, mark, status = out.rpartition(b"\n" + MARK.encode())
        if not mark or not status.strip().isdigit():
            raise DeviceFault(self.lost(what, code, err.decode(errors="replace")))
        return int(status), body, err.decode(errors="replace")

    def lost(self, what, code, err):
        return f"the connection to {self.name} was lost while {what}: {last_line(err)}"

    def describe(self):
        script = ("uname -m; uname -sr; cat /proc/device-tree/model 2>/dev/null | tr -d '\\000'; echo; "
                  "sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo")
        lines = self.ask(script, "it was asked what it is")[1].decode(errors="replace").split("\n") + [""] * 4
        memory = lines[3].strip()
        return {"machine": lines[0].strip(), "system": lines[1].strip(), "model": lines[2].strip(),
                "memory_bytes": 1024 * int(memory) if memory.isdigit() else 0}

    def run(self, words, limit):
        # In the background, so that its process id is known for the time limit. The pipeline cache is deleted with the
        # folder.
        script = (f"cd {self.folder} && {{ XDG_CACHE_HOME={self.folder}/cache {shlex.join(words)} 2>.err </dev/null &\n"
                  f"echo $! >.pid; wait $!; code=$?\necho; echo {MARK}; cat .err; echo; echo {MARK}$code; }}")
        what = f"`{shlex.join(words)}` ran"
        try:
            status, body, _ = self.ask(script, what, limit)
        except DeviceFault:
            self.end_command()
            raise
        out, _, rest = body.decode(errors="replace").partition(f"\n{MARK}\n")
        err, mark, code = rest.rpartition(f"\n{MARK}")
        if status != 0 or not mark:
            raise DeviceFault(f"{self.name}: the folder {self.folder} is gone")
        return Result(int(code), out, err)

    def end_command(self):
        """A command beyond its time limit must not go on and disturb the next one."""
        try:
            self.shell(f"kill -9 $(cat {self.folder}/.pid)", 10)
        except (subprocess.TimeoutExpired, DeviceFault):
            pass

    def not_sent(self, name, size, complaint):
        """What to say of a file that did not arrive."""
        if not is_full(complaint):
            return f"{self.name} did not take {name}: {last_line(complaint)}"
        return (f"the disk of {self.name} is full: {name} has {size_text(size)}, of which not all fitted into "
                f"{self.folder}")

    def close(self):
        if self.folder:
            try:
                self.shell(f"rm -rf {self.folder}", 30)
            except (subprocess.TimeoutExpired, DeviceFault):
                pass


def arrived(path, size):
    return os.path.exists(path) and os.path.getsize(path) == size
