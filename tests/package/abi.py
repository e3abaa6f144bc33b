#!/usr/bin/env python3
"""The C ABI that the public headers declare, compared with the recorded one (sdk/abi.txt): every constant, enumerator,
struct with the places of its fields, callback and function. What a compiled program relies on must not change while the
ABI's version is the same; what is new must be recorded.

    tests/package/abi.py              compares; ends with 1 where something differs, and says what
    tests/package/abi.py --update     records what the headers declare; refuses what needs another version

The ABI's version is FERRY_VERSION_MAJOR.FERRY_VERSION_MINOR while the first is 0, and FERRY_VERSION_MAJOR later; the
libraries' SONAMEs carry it. Sizes and places are those of 64-bit targets, which all agree on them.
"""
import argparse, collections, os, re, subprocess, sys, tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
VULKAN = "vulkan.h"  # only in libraries with the GPU backend
HEAD = """\
# The C ABI of libferry (ferry.h, image.h, task.h; with the GPU backend vulkan.h) and of libferry_text (text.h), which
# tests/package compares with the headers and the libraries. Of fields: offset, size, declaration.
# Written by tests/package/abi.py --update, which says when that needs another version.
"""
Field = collections.namedtuple("Field", "name declaration")


class NotUnderstood(Exception):
    pass


# ---- what the headers declare ----------------------------------------------------------------------------------------


def squeezed(text):
    """One spelling of a declaration: "const char* name"."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r" ?\* ?", "* ", re.sub(r" ?([(),]) ?", r"\1", text)).replace(",", ", ")
    return re.sub(r"\* (?=[*)])", "*", text).replace("(* ", "(*").strip()


def typed(argument):
    """An argument without its name."""
    return squeezed(argument).rsplit(" ", 1)[0]


def c_lines(text):
    """The lines that a C compiler sees, without comments, and the named constants."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    lines, constants, for_cxx = [], [], False
    for line in text.replace("\\\n", " ").split("\n"):
        if line.startswith("#"):
            if line.startswith("#if") or line.startswith(("#el", "#endif")):
                for_cxx = line == "#if defined(__cplusplus)"
            found = re.match(r"#define (FERRY_\w+) \(?-?\d\w*\)?$", line)
            if found and not found[1].startswith("FERRY_VERSION_"):
                constants.append(found[1])
        elif not for_cxx:
            lines.append(line)
    return "\n".join(lines), constants


def fields_of(body, struct):
    fields = []
    for declaration in body.split(";")[:-1]:
        declaration = squeezed(declaration)
        found = re.search(r"\(\*(\w+)\)\(|(\w+)(?:\[\w+\])*$", declaration)
        if not found or "," in re.sub(r"\(.*\)", "", declaration) or ":" in declaration:
            raise NotUnderstood(f"{struct}: one plain field a declaration is expected, not '{declaration}'")
        fields.append(Field(found[1] or found[2], declaration))
    return fields


def declared(text):
    """A header's declarations: [(kind, name, what)]. An unknown declaration is an error."""
    found = []
    text, constants = c_lines(text)
    found += [("constant", name, None) for name in constants]

    def take(pattern, read):
        nonlocal text
        for match in re.finditer(pattern, text, re.S):
            found.append(read(match))
        text = re.sub(pattern, " ", text, flags=re.S)

    def arguments(written):
        return "(" + ", ".join(typed(argument) for argument in written.split(",")) + ")"

    def enumerators(match):
        names = [item.split("=")[0].strip() for item in match["body"].split(",")]
        return "enum", match["name"] or names[0].rsplit("_", 1)[0] + "_...", names

    take(r"(?:typedef )?enum (?P<name>\w+)? ?\{(?P<body>.*?)\}[^;]*;", enumerators)
    take(r"typedef struct (\w+) \{(.*?)\}\s*\1;", lambda m: ("struct", m[1], fields_of(m[2], m[1])))
    take(r"typedef struct (\w+) \1;", lambda m: ("handle", m[1], None))
    take(r"typedef ([^;]*?)\(\*(\w+)\)\((.*?)\);", lambda m: ("callback", m[2], squeezed(m[1]) + arguments(m[3])))
    take(r"(?:FERRY_NODISCARD\s+)?FERRY_API ([^;]*?)(\bferry_\w+)\(([^;]*?)\);",
         lambda m: ("function", m[2], squeezed(m[1]) + arguments(m[3])))
    if text.strip():
        raise NotUnderstood(f"this declaration is of no kind that tests/package/abi.py knows: {squeezed(text)[:120]}")
    return found


def printed_by_c(headers, compiler, include, emulator):
    """The list's lines; a C program prints the numbers."""
    lines = []

    def say(form, *values):
        lines.append(f'  printf("{form}\\n"{"".join(", " + value for value in values)});')

    for header, declarations in headers.items():
        say(f"header {header}")
        for kind, name, what in declarations:
            if kind == "constant":
                say(f"constant {name} %lld", f"(long long){name}")
            elif kind == "enum":
                say(f"enum {name}")
                for enumerator in what:
                    say(f"  %lld {enumerator}", f"(long long){enumerator}")
            elif kind == "struct":
                say(f"struct {name} %zu", f"sizeof({name})")
                for field in what:
                    say(f"  %zu %zu {field.declaration}", f"offsetof({name}, {field.name})",
                        f"sizeof((({name}*)0)->{field.name})")
            elif kind in ("callback", "function"):
                say(f"{kind} {name}: {what}")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "abi")
        with open(program + ".c", "w") as file:
            included = "".join(f"#include <{header}>\n" for header in ["stdio.h"] + [f"ferry/{h}" for h in headers])
            file.write(included + '_Static_assert(sizeof(void*) == 8, "the list is of 64-bit targets");\n'
                       "int main(void) {\n" + "\n".join(lines) + "\n  return 0;\n}\n")
        options = [f"-I{folder}" for folder in include] + ["-static"] * bool(emulator)
        if subprocess.run([compiler, "-std=c11", *options, program + ".c", "-o", program]).returncode != 0:
            sys.exit(f"the headers, and what abi.py asks of them, cannot be compiled by {compiler}")
        return subprocess.run([*emulator, program], check=True, stdout=subprocess.PIPE, text=True).stdout


# ---- the list --------------------------------------------------------------------------------------------------------


class Abi:
    """The list as values: `headers[header][kind, name]` is a number, {enumerator: number}, (size, [(offset, size,
    declaration)]), or a signature."""

    def __init__(self, text):
        self.version, self.headers, entry = None, {}, None
        for line in text.split("\n"):
            if line.startswith("  "):
                words = line.split()
                if isinstance(entry, dict):
                    entry[words[1]] = int(words[0])
                else:
                    entry[1].append((int(words[0]), int(words[1]), " ".join(words[2:])))
                continue
            kind, _, rest = line.partition(" ")
            if kind == "version":
                self.version = rest
            elif kind == "header":
                names = self.headers[rest] = {}
            elif kind == "enum":
                entry = names[kind, rest] = {}
            elif kind == "struct":
                name, size = rest.split()
                entry = names[kind, name] = (int(size), [])
            elif kind == "constant":
                name, value = rest.split()
                names[kind, name] = int(value)
            elif kind in ("callback", "function"):
                name, what = rest.split(": ", 1)
                names[kind, name] = what


def field_name(declaration):
    found = re.search(r"\(\*(\w+)\)\(|(\w+)(?:\[\w+\])*$", declaration)
    return found[1] or found[2]


def compare_struct(name, before, after):
    """Incompatible changes, and additions."""
    (old_size, old_fields), (new_size, new_fields) = before, after
    for at, old in enumerate(old_fields):
        if at >= len(new_fields):
            return [f"{name}.{field_name(old[2])} is gone"], []
        new = new_fields[at]
        if old[2] != new[2]:
            return [f"{name}: '{new[2]}' is where '{old[2]}' was"], []
        if old[:2] != new[:2]:
            return [f"{name}.{field_name(old[2])} has {new[1]} bytes at {new[0]}, and had {old[1]} at {old[0]}"], []
    added = new_fields[len(old_fields):]
    if not added:
        return [f"{name} has {new_size} bytes, and had {old_size}"] if new_size != old_size else [], []
    first = f"{name}.{field_name(added[0][2])}"
    if not old_fields or field_name(old_fields[0][2]) != "struct_size":
        return [f"{first} is new, and {name}, of {old_size} bytes, does not begin with struct_size"], []
    if added[0][0] < old_size:
        return [f"{first} is new at {added[0][0]}, within the {old_size} bytes that {name} had: programs have anything "
                "there (a larger type begins behind them)"], []
    return [], [f"{name}.{field_name(declaration)}" for _, _, declaration in added]


def compare(recorded, now):
    """Changes that break programs compiled with the recorded headers, and additions; one message each."""
    breaks, news = [], []
    for header, names in now.headers.items():
        before = recorded.headers.get(header, {})
        for (kind, name), what in before.items():
            if (kind, name) not in names:
                breaks.append(f"{header}: {kind} {name} is gone")
                continue
            current = names[kind, name]
            if kind == "struct":
                broken, new = compare_struct(name, what, current)
                breaks += [f"{header}: {sentence}" for sentence in broken]
                news += [f"{header}: {sentence}" for sentence in new]
            elif kind == "enum":
                for enumerator, value in what.items():
                    if current.get(enumerator) != value:
                        breaks.append(f"{header}: {enumerator} is {current.get(enumerator, 'gone')}, and was {value}")
                news += [f"{header}: {enumerator}" for enumerator in current if enumerator not in what]
            elif what != current:
                breaks.append(f"{header}: {kind} {name} is {current}, and was {what}")
        news += [f"{header}: {kind} {name}" for kind, name in names if (kind, name) not in before]
    return breaks, news


def abi_version(text):
    major, minor = (re.search(rf"#define FERRY_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR"))
    return f"{major}.{minor}" if major == "0" else major


def verdict(recorded, now):
    """The message, or none; and whether the list may be rewritten."""
    breaks, news = compare(recorded, now)
    if recorded.version != now.version:
        return (f"sdk/abi.txt is of version {recorded.version}, and ferry.h of {now.version}; record it: "
                "tests/package/abi.py --update"), True
    if breaks:
        part = "MINOR" if now.version.startswith("0.") else "MAJOR"
        return "\n".join(breaks + [
            f"Programs that were compiled with Ferry {recorded.version} break by this. Fields may be appended to",
            "structs that begin with struct_size, and functions, enumerators and types be added; what is there stays.",
            f"Where it has to change, raise FERRY_VERSION_{part} in ferry.h (tests/package/project_test.py finds what",
            "repeats it), tell it in CHANGELOG.md, and run tests/package/abi.py --update."]), False
    if news:
        return "\n".join(news + ["These are new and break nothing; record them: tests/package/abi.py --update"]), True
    return "", True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--no-gpu", action="store_true", help="the library has no GPU backend: vulkan.h is left out")
    parser.add_argument("--source", default=ROOT, help="whose headers and list")
    parser.add_argument("--include", action="append", default=[], help="where vulkan/ is, unless the compiler finds it")
    parser.add_argument("--compiler", default=os.environ.get("CC", "cc"))
    parser.add_argument("emulator", nargs="*", help="runs what the compiler makes")
    o = parser.parse_args()
    if o.update and o.no_gpu:
        parser.error("--update needs vulkan.h")

    sdk = os.path.join(o.source, "sdk")
    headers, version = {}, None
    for header in sorted(name for name in os.listdir(os.path.join(sdk, "include", "ferry")) if name.endswith(".h")):
        with open(os.path.join(sdk, "include", "ferry", header), encoding="utf-8") as file:
            text = file.read()
        version = version or abi_version(text)
        if not (o.no_gpu and header == VULKAN):
            try:
                headers[header] = declared(text)
            except NotUnderstood as fault:
                sys.exit(f"{header}: {fault}")
    include = [os.path.join(sdk, "include"), *o.include]
    listed = f"version {version}\n" + printed_by_c(headers, o.compiler, include, o.emulator)

    path = os.path.join(sdk, "abi.txt")
    try:
        with open(path, encoding="utf-8") as file:
            recorded = Abi(file.read())
    except FileNotFoundError:
        recorded = Abi("")
    now = Abi(listed)
    said, may_record = verdict(recorded, now)
    if o.update and may_record:
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.write(HEAD + listed)
        os.replace(path + ".part", path)
        said = ""
    count = sum(len(names) for names in now.headers.values())
    print(said or f"the C ABI {version} of {len(headers)} headers is as recorded: {count} declarations")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
