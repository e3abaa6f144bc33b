#!/usr/bin/env python3
"""scripts/links.py finds links that lead nowhere; in the site that scripts/site makes every link leads to a file, and to
an anchor in it.

    tests/package/site_test.py SOURCE_FOLDER
"""
import html.parser, os, posixpath, shutil, subprocess, sys, tempfile, unittest

SOURCE = os.path.abspath(sys.argv[1])
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "scripts"))
import links


class Links(unittest.TestCase):
    FILES = {"README.md", "docs", "docs/a.md", "docs/b.md", "docs/b.svg", "LICENSE"}

    def faults(self, text, page="docs/a.md"):
        other = "# B\n\n## What it is: `code`, twice\n\n## What it is: `code`, twice\n\n**Run-in.** Words.\n"
        saved, links.read = links.read, lambda path: {page: text}.get(path, other)
        try:
            return [fault.partition(": ")[2] for fault in links.faults(page, self.FILES)]
        finally:
            links.read = saved

    def test_links_that_lead_somewhere_are_no_faults(self):
        self.assertEqual(self.faults(
            "# A\n[x](b.md) ![y](b.svg) [z](../README.md) [l](../LICENSE) [w](https://example.org/no.md) [top](#a)\n"
            "[s](b.md#what-it-is-code-twice) [t](b.md#what-it-is-code-twice-1) [d](.)\n"
            "([b.md](b.md), \"Run-in\"; [b.md](b.md),\n\"What it is: code, twice\")\n\n"
            "    [in](code.md)\n\n```\n[in](code.md)\n```\n`[in](code.md)` and `\n[in](code.md)`\n"), [])

    def test_others_are(self):
        no_file, no_heading = "and the repository has no such file", "has no heading of that anchor"
        for text, said in (
                ("[x](c.md)\n", f"the link to c.md leads to docs/c.md, {no_file}"),
                ("[x](../../etc)\n", f"the link to ../../etc leads to ../etc, {no_file}"),
                ("a [x `b`\n[y]](b.md#what)\n", f"the link to b.md#what: docs/b.md {no_heading}"),
                ("# A\n[x](#b)\n", f"the link to #b: docs/a.md {no_heading}"),
                ("[x](../LICENSE#L3)\n", f"the link to ../LICENSE#L3: LICENSE {no_heading}"),
                ("[x](b.md), \"Walk-in\"\n", 'docs/b.md has no section "Walk-in"')):
            self.assertEqual(self.faults(text), [said])


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.title = [], set(), ""
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.links += [attributes[name] for name in ("href", "src") if name in attributes]
        self.anchors |= {attributes["id"]} if "id" in attributes else set()


@unittest.skipUnless(shutil.which("cmark-gfm"), "cmark-gfm is not installed")
class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.site = os.path.join(cls.folder, "site")
        cls.make("-o", cls.site).check_returncode()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @staticmethod
    def make(*options):
        return subprocess.run([os.path.join(SOURCE, "scripts", "site"), *options], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)

    def test_every_link_leads_to_a_file_and_an_anchor(self):
        pages = {}
        for folder, _, names in os.walk(self.site):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), self.site)
                pages[path] = Page(os.path.join(folder, name)) if name.endswith(".html") else None
        self.assertIn("docs/status.html", pages)
        count = 0
        for path, page in pages.items():
            for link in page.links if page else []:
                if ":" in link.split("/")[0]:
                    continue
                to, _, anchor = link.partition("#")
                to = posixpath.normpath(posixpath.join(posixpath.dirname(path), to)) if to else path
                self.assertIn(to, pages, f"{path}: {link}")
                if anchor:
                    self.assertIn(anchor, pages[to].anchors, f"{path}: {link}")
                count += 1
        self.assertGreater(count, 1000)

    def test_a_folder_with_other_things_is_not_replaced(self):
        other = os.path.join(self.folder, "other")
        os.makedirs(other)
        with open(os.path.join(other, "mine"), "w"):
            pass
        run = self.make("-o", other)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stdout, f"site: -o {other}: it holds something else than a site; name another folder\n")
        self.assertEqual(os.listdir(other), ["mine"])
        self.assertEqual(self.make("-o", self.site).returncode, 0)
        self.assertEqual(sorted(os.listdir(self.folder)), ["other", "site"], "nothing is left beside it")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
