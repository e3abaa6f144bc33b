#!/usr/bin/env python3
"""What our libraries and programs import from glibc is in Android's C library (bionic) at the lowest API level, too. So
a build for Linux finds a function that Android's loader would miss, such as memfd_create() or aligned_alloc().

    tests/package/bionic.py READELF FILE...           compares the imports of these files with bionic.txt
    tests/package/bionic.py --libcxx READELF FILE...  the files contain Debian's libc++, which has imports of its own
    tests/package/bionic.py --make API MAP...         writes bionic.txt from AOSP's libc, libm and libdl.map.txt
"""
import os, re, subprocess, sys, textwrap

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bionic.txt")
ARCHITECTURES = ("arm", "arm64", "x86_64")  # for which we build
HEAD = """\
# What bionic (Android's libc, libm and libdl) exports at API level {api} on each of {architectures}, without
# what is private or for the platform only. tests/package/bionic.py --make writes this from AOSP's map files of bionic.
"""

# glibc's name, bionic's name (none: no import), why they differ.
EQUIVALENTS = {
    "__assert_fail": ("__assert2", "what assert() calls"),
    "__ctype_tolower_loc": ("tolower", "glibc's header inlines tolower()"),
    "__ctype_toupper_loc": ("toupper", "glibc's header inlines toupper()"),
    "__errno_location": ("__errno", "what errno expands to"),
    "__getauxval": ("getauxval", "libgcc's name for it, in its detection of atomic instructions"),
    "__libc_single_threaded": (None, "read by libstdc++'s shared_ptr; the NDK has libc++"),
    "__libc_start_main": ("__libc_init", "what the startup code calls"),
    "__tls_get_addr": (None, "thread_local; below API 29 the NDK's compiler emulates it in its own runtime"),
    "bcmp": ("memcmp", "clang's name for memcmp() == 0, with glibc only"),
    "fcntl64": ("fcntl", "fcntl() with _FILE_OFFSET_BITS=64 on 32-bit targets"),
}
PREFIXES = r"__isoc(?:99|23)_(\w+)|__(\w+)_chk"  # of another standard, or with _FORTIFY_SOURCE: the same function

# Imports of Debian's libc++ that the NDK's does without. Builds by gcc do not contain it, and so show our own calls.
LIBCXX = {
    "aligned_alloc": "operator new; posix_memalign() on Android",
    "catclose": "std::messages, which does nothing on Android",
    "catgets": "as catclose",
    "catopen": "as catclose",
    "strtod_l": "std::locale; strtod() below API 26",
    "strtof_l": "std::locale; strtof() below API 26",
}
# Symbol versions of the compiler's and the C++ library, which the NDK links statically.
RUNTIMES = ("GCC", "GLIBCXX", "CXXABI")


def applies(tags, architecture, api):
    """Do a map file's tags include this architecture and API level?"""
    if any(tag in ("apex", "platform-only", "future") for tag in tags):
        return False
    architectures = [tag for tag in tags if re.fullmatch(r"arm|arm64|x86|x86_64|riscv64|mips|mips64", tag)]
    if architectures and architecture not in architectures:
        return False
    introduced = [tag.split("=")[1] for tag in tags if re.match(rf"introduced(-{architecture})?=", tag)]
    return not introduced or introduced[-1].isdigit() and int(introduced[-1]) <= api


def exports(path, architecture, api):
    names, inside = set(), False
    with open(path, encoding="utf-8") as f:
        for line in f:
            text, _, tags = line.partition("#")
            text, tags = text.strip(), tags.split()
            node = re.match(r"(\w+) \{$", text)
            if node:
                inside = applies(tags, architecture, api) and not re.search("PRIVATE|PLATFORM|DEPRECATED", node[1])
            elif text == "local:":
                inside = False
            elif inside and re.fullmatch(r"\w+;", text) and applies(tags, architecture, api):
                names.add(text[:-1])
    return names


def make(api, maps):
    each = [set().union(*(exports(path, architecture, api) for path in maps)) for architecture in ARCHITECTURES]
    names = sorted(set.intersection(*each))
    if "malloc" not in names:
        sys.exit(f"bionic.py: {', '.join(maps)} have no malloc: are they libc.map.txt, libm.map.txt and libdl.map.txt?")
    with open(LIST, "w", encoding="utf-8") as f:
        f.write(HEAD.format(api=api, architectures=", ".join(ARCHITECTURES)))
        f.write(textwrap.fill(" ".join(names), 120, break_long_words=False, break_on_hyphens=False) + "\n")
    print(f"{LIST}: {len(names)} names")


def imports(readelf, path):
    """Names and versions of the imported symbols, but for weak ones, which may be missing."""
    text = subprocess.run([readelf, "-W", "--dyn-syms", path], check=True, capture_output=True, text=True).stdout
    return re.findall(r" GLOBAL +DEFAULT +UND (\w+)(?:@+(\w+))?", text)


def missing(names, symbols):
    """What Android's loader would not find: [(symbol, why)]."""
    found = []
    for name, version in symbols:
        origin = version.split("_")[0]
        if origin == "GLIBC":
            bionic, _ = EQUIVALENTS.get(name, (name, ""))
            other = re.fullmatch(PREFIXES, name)
            if bionic is None or bionic in names:
                continue
            if other and (other[1] or other[2]) in names:
                continue
            found.append((name, "is not in bionic.txt"))
        elif origin not in RUNTIMES and not name.startswith("ferry_"):
            found.append((name, "comes from none of libc, libm, libdl and libferry"))
    return found


def main(arguments):
    if len(arguments) > 2 and arguments[0] == "--make":
        return make(int(arguments[1]), arguments[2:])
    libcxx = arguments[:1] == ["--libcxx"]
    readelf, *files = arguments[libcxx:] or [None]
    if not files:
        sys.exit(__doc__)
    with open(LIST, encoding="utf-8") as f:
        names = set(word for line in f if not line.startswith("#") for word in line.split())
    names |= set(LIBCXX if libcxx else ())
    failed = False
    for path in files:
        symbols = imports(readelf, path)
        wrong = missing(names, symbols)
        for name, why in wrong:
            print(f"{path} imports {name}, which {why}: Android's loader would refuse the file at the lowest API level")
        if not symbols:
            wrong = True
            print(f"{path} imports nothing: is it a library or program for Linux?")
        if not wrong:
            print(f"{os.path.basename(path)}: {len(symbols)} imports, all of which Android has")
        failed |= bool(wrong)
    if failed:
        sys.exit("Call an older function. If only the names differ: EQUIVALENTS in tests/package/bionic.py has such.")


if __name__ == "__main__":
    main(sys.argv[1:])
