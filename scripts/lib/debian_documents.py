#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what Debian wants beside a package, to standard output.

    debian_documents.py changelog CHANGELOG.md VERSION MAINTAINER      from VERSION back, in Debian's format
    debian_documents.py copyright LICENCES HOMEPAGE                    machine-readable, of NOTICE and LICENSE.* there

The changelog of a version that CHANGELOG.md lacks, and a component of NOTICE without a licence that this script knows,
are errors.
"""
import datetime, os, re, sys, textwrap

WIDTH = 78


def fail(why):
    sys.exit(f"debian_documents: {why}")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


# ---- changelog -------------------------------------------------------------------------------------------------------


def blocks(text):
    """Of one version: (marker, words) of each list item, paragraph and row of a table."""
    found = []
    for line in text.splitlines():
        if re.fullmatch(r"[|\s:-]*", line):  # empty, or the rule below a table's head
            found.append(None)
        elif line.startswith("|"):
            found.append(["-", " | ".join(cell.strip() for cell in line.strip("| ").split(" | "))])
            found.append(None)
        elif line.startswith("- "):
            found.append(["*", line[2:]])
        elif found and found[-1]:
            found[-1][1] += " " + line.strip()
        else:
            found.append(["*", line.strip()])
    return [block for block in found if block]


def plain(words):
    """Markdown's links, code and emphasis as plain text."""
    words = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", words)
    return re.sub(r"`([^`]*)`", r"\1", words).replace("**", "")


def changelog(path, version, maintainer):
    sections = re.split(r"^## (.*)\n", read(path), flags=re.MULTILINE)[1:]
    heads, texts = sections[::2], sections[1::2]
    start = next((i for i, head in enumerate(heads) if head.split(",")[0] == version), None)
    if start is None:
        fail(f"{path} has no section '## {version}, DATE'; its newest is '## {heads[0] if heads else ''}'")
    for head, text in list(zip(heads, texts))[start:]:
        match = re.fullmatch(r"(\d[\w.~+]*), (\d{4}-\d\d-\d\d)", head)
        if not match:
            fail(f"{path}: '## {head}': expected '## VERSION, YEAR-MONTH-DAY'")
        day = datetime.date.fromisoformat(match[2])
        print(f"ferry ({match[1]}) stable; urgency=medium\n")
        for marker, words in blocks(text):
            first, rest = ("  * ", "    ") if marker == "*" else ("    - ", "      ")
            print(textwrap.fill(plain(words), WIDTH, initial_indent=first, subsequent_indent=rest,
                                break_on_hyphens=False))
        print(f"\n -- {maintainer}  {day:%a, %d %b %Y} 00:00:00 +0000\n")


# ---- copyright -------------------------------------------------------------------------------------------------------

# NOTICE's name of a licence that several components share: Debian's name, and the head of its text in NOTICE.
SHARED = {"MIT": ("Expat", "The MIT license"), "BSD-3-Clause": ("BSD-3-Clause", "The three-clause BSD license"),
          "Apache-2.0": ("Apache-2.0", None)}
APACHE = ["On Debian systems, the complete text of the Apache License, Version 2.0, is in",
          "/usr/share/common-licenses/Apache-2.0."]


def field(lines):
    """The lines of a field after its first: indented, an empty one as a dot."""
    return "\n".join(f" {line.rstrip()}" if line.strip() else " ." for line in lines)


def notice_text(notice, head):
    """The licence that NOTICE prints below a line that begins with head."""
    match = re.search(rf"^{head}[^\n]*\n\n((?:(?:  [^\n]*)?\n)*)", notice, re.MULTILINE)
    if not match:
        fail(f"NOTICE has no text below '{head}'")
    return textwrap.dedent(match[1]).strip("\n").splitlines()


def copyright_file(folder, homepage):
    notice = read(folder, "NOTICE")
    holder = re.match(r"Ferry\nCopyright (.*)\n", notice)
    if not holder:
        fail("NOTICE does not begin with Ferry and its copyright")
    texts = {"Apache-2.0": APACHE}
    print(f"""\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Ferry
Source: {homepage}
Comment: third_party/NAME is code of others that the programs and libraries hold.

Files: *
Copyright: {holder[1]}
License: Apache-2.0""")
    for name, page, about in re.findall(r"^  (\S.*), (https?://\S+)\n((?: {6}.*\n)+)", notice, re.MULTILINE):
        # Lines of a copyright may be continued; the last line is the licence.
        *owners, licence = textwrap.dedent(about).strip().splitlines()
        match = re.match(r"([\w.-]+)(?:: (LICENSE\.\w+))?", licence)
        if match[2]:
            label = f"{SHARED.get(match[1], (match[1],))[0]}-{match[2].split('.')[1]}"
            texts[label] = read(folder, match[2]).strip("\n").splitlines()
        elif match[1] in SHARED:
            label, head = SHARED[match[1]]
            texts.setdefault(label, notice_text(notice, head) if head else None)
        else:
            fail(f"NOTICE: {name}: no licence is called '{licence}'; expected {', '.join(SHARED)} or a LICENSE file")
        print(f"\nFiles: third_party/{page.rstrip('/').split('/')[-1]}/*")
        print("Copyright:\n" + field(owners))
        print(f"License: {label}\nComment: {name}, {page}" + ("" if match[2] else f"; {licence}"))
    for label, text in texts.items():
        print(f"\nLicense: {label}\n{field(text)}")


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "changelog":
        changelog(*sys.argv[2:])
    elif len(sys.argv) == 4 and sys.argv[1] == "copyright":
        copyright_file(*sys.argv[2:])
    else:
        fail("expected changelog CHANGELOG.md VERSION MAINTAINER, or copyright LICENCES HOMEPAGE")


main()
