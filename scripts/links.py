#!/usr/bin/env python3
"""Checks the links of the Markdown pages. Every relative link must lead to a file of the repository and every anchor to a
heading. If a section's name in quotes follows a link ([format.md](format.md), "Graph"), the page must have that section.
The paths in docs/where-things-go.md must exist. scripts/site parses pages with this module.

    scripts/links.py            all pages; exit code 1 if a link is broken
    scripts/links.py PAGE...
"""
import fnmatch, os, posixpath, re, subprocess, sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+(?:\([^()]*\))?)(?:\s+\"[^\"]*\")?\)")
QUOTED_HEADING = re.compile(r"""\]\(([^()\s]+\.md)\),\s+"([^"]+)\"""")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")


def read(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        return file.read()


def files():
    """The repository's paths, including folders; without git, those of the file system."""
    git = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    paths = set(git.stdout.split("\0")) - {""}
    if git.returncode != 0:
        for folder, _, names in os.walk(ROOT):
            paths.update(os.path.relpath(os.path.join(folder, name), ROOT) for name in names)
    folders = {posixpath.dirname(path) for path in paths}
    while folders - paths:
        paths |= folders
        folders = {posixpath.dirname(path) for path in folders}
    return paths


def pages(paths):
    """All Markdown files."""
    return sorted(path for path in paths if path.endswith(".md") and os.path.exists(os.path.join(ROOT, path)))


def prose(text):
    """The page without code, which has no links; line numbers stay the same."""
    lines, fenced, before = [], False, ""
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        code = fenced or fence or (line.startswith("    ") and not before.strip())
        # An indented block continues while lines are indented.
        before = "" if code or not line.strip() else line
        lines.append("" if code else line)
    inline = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
    return inline.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), "\n".join(lines))


def slug(heading):
    """The anchor that GitHub gives a heading."""
    heading = LINK.sub(r"\2", heading).lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def headings(text):
    """[(level, text, anchor)] of a page."""
    found, counts, fenced = [], {}, False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        match = HEADING.match(line)
        if fenced or not match:
            continue
        anchor = slug(match[2])
        count = counts[anchor] = counts.get(anchor, -1) + 1
        found.append((len(match[1]), match[2], f"{anchor}-{count}" if count else anchor))
    return found


def names(text):
    """The lower-case names of a page's sections: its headings, and bold words at the start of paragraphs."""
    bold = re.findall(r"^(?:- )?\*\*(.+?)\.?\*\*", text, re.M)
    return [name.replace("`", "").lower() for name in bold + [heading for _, heading, _ in headings(text)]]


def target_of(page, link):
    """(the file that a relative link of this page leads to, the anchor there or ""); None for an address."""
    if re.match(r"[a-z][a-z0-9+.-]*:", link):
        return None
    path, _, anchor = link.partition("#")
    return (posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page), anchor


def faults(page, paths):
    text = prose(read(page))

    def at(match):
        return f"{page}:{text.count(chr(10), 0, match.start()) + 1}"

    for match in LINK.finditer(text):
        target = target_of(page, match[3])
        if not target:
            continue
        path, anchor = target
        if path not in paths:
            yield f"{at(match)}: the link to {match[3]} leads to {path}, and the repository has no such file"
        elif anchor and not (path.endswith(".md") and anchor in [a for _, _, a in headings(read(path))]):
            yield f"{at(match)}: the link to {match[3]}: {path} has no heading of that anchor"
    for match in QUOTED_HEADING.finditer(text):
        target = target_of(page, match[1])
        if target and target[0] in paths and re.sub(r"\s+", " ", match[2]).lower() not in names(read(target[0])):
            yield f"{at(match)}: {target[0]} has no section \"{match[2]}\""


def faults_of_paths(page, paths):
    """Code with a slash is a path; `<op>` stands for any name."""
    for path in re.findall(r"`([\w.-]+/[\w./<>-]*)`", read(page)):
        pattern = re.sub(r"<\w+>", "*", path.rstrip("/"))
        if not fnmatch.filter(paths, pattern):
            yield f"{page}: the repository has no {path}"


def main():
    paths = files()
    checked = sys.argv[1:] or pages(paths)
    found = [fault for page in checked for fault in faults(page, paths)]
    found += [fault for page in checked if page == "docs/where-things-go.md" for fault in faults_of_paths(page, paths)]
    links = sum(len(LINK.findall(prose(read(page)))) for page in checked)
    print("\n".join(found) or f"{links} links of {len(checked)} pages lead somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
