#!/usr/bin/env python3
"""scripts/links.py finds links that lead nowhere; in the site that scripts/site makes every link leads to a file, and to
an anchor in it, and its search finds sections; docs/status.md is what scripts/status writes, and
scripts/tables replaces tables of docs/performance.md.

    tests/package/site_test.py SOURCE_FOLDER
"""
import html.parser, json, os, posixpath, shutil, subprocess, sys, tempfile, unittest

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
        self.links, self.anchors, self.loaded = [], set(), []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.links += [attributes[name] for name in ("href", "src") if name in attributes]
        self.loaded += [attributes[name] for name in ("href", "src") if name in attributes and tag != "a"]
        self.anchors |= {attributes["id"]} if "id" in attributes else set()


@unittest.skipUnless(shutil.which("cmark-gfm"), "cmark-gfm is not installed")
class Site(unittest.TestCase):
    PLOTTED = "timm_mobilenetv2_100"

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.site = os.path.join(cls.folder, "site")
        cls.plots = os.path.join(cls.folder, "plots")
        os.mkdir(cls.plots)
        shutil.copy(os.path.join(SOURCE, "docs", "images", "parity.svg"), os.path.join(cls.plots, cls.PLOTTED + ".svg"))
        cls.make("-o", cls.site).check_returncode()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def make(cls, *options):
        return subprocess.run([os.path.join(SOURCE, "scripts", "site"), "--plots", cls.plots, *options], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)

    @classmethod
    def pages(cls):
        found = {}
        for folder, _, names in os.walk(cls.site):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), cls.site)
                found[path] = Page(os.path.join(folder, name)) if name.endswith(".html") else None
        return found

    @classmethod
    def index(cls):
        """Entries of the search: [place, page, section, text]."""
        with open(os.path.join(cls.site, "search-index.js"), encoding="utf-8") as file:
            return json.loads(file.read().strip().removeprefix("ferryIndex(").removesuffix(");"))

    def test_every_link_leads_to_a_file_and_an_anchor(self):
        pages = self.pages()
        self.assertIn("docs/status.html", pages)
        count = 0
        for path, page in pages.items():
            for link in page.links if page else []:
                if ":" in link.split("/")[0]:
                    self.assertNotIn(link, page.loaded, f"{path}: pages load nothing from other hosts")
                    continue
                to, _, anchor = link.partition("#")
                to = posixpath.normpath(posixpath.join(posixpath.dirname(path), to)) if to else path
                self.assertIn(to, pages, f"{path}: {link}")
                if anchor:
                    self.assertIn(anchor, pages[to].anchors, f"{path}: {link}")
                count += 1
        self.assertGreater(count, 1000)

    def test_results_of_fixtures_have_their_plots(self):
        page = self.pages()["docs/parity-results.html"]
        with open(os.path.join(SOURCE, "tests", "parity", "results.json"), encoding="utf-8") as file:
            self.assertLessEqual(set(json.load(file)), page.anchors)
        self.assertIn(f"parity/{self.PLOTTED}.svg", page.links)
        self.assertEqual(os.listdir(os.path.join(self.site, "docs", "parity")), [self.PLOTTED + ".svg"])

    def test_the_index_has_every_section_and_its_text(self):
        pages, index = self.pages(), self.index()
        for place, page, section, text in index:
            path, _, anchor = place.partition("#")
            self.assertIn(path, pages)
            self.assertEqual(bool(anchor), bool(section), place)
            if anchor:
                self.assertIn(anchor, pages[path].anchors)
            self.assertTrue(page)
            self.assertNotRegex(text, "</?(p|a|code|td|h2)>|&lt;")
        first = {entry[0] for entry in index if not entry[2]}
        self.assertEqual(first, {entry[0].partition("#")[0] for entry in index})
        self.assertLessEqual({"index.html", "CHANGELOG.html", "docs/status.html", "docs/parity-results.html"}, first)
        entry = next(entry for entry in index if entry[0] == "docs/status.html#vision")
        self.assertEqual(entry[1:3], ["Status", "Vision"])
        self.assertIn("ResNet-50", entry[3])

    @unittest.skipUnless(shutil.which("chromium-headless-shell"), "chromium-headless-shell is not installed")
    def test_the_search_finds_sections_without_a_server(self):
        def found(page, words):
            run = subprocess.run(
                ["chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom",
                 f"--user-data-dir={os.path.join(self.folder, 'profile')}",
                 f"file://{self.site}/{page}?search={words.replace(' ', '%20')}"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120, check=True)
            shutil.rmtree(os.path.join(self.folder, "profile"), ignore_errors=True)
            return run.stdout.split('<ul class="found"')[1].split("</ul>")[0]

        self.assertRegex(found("index.html", "MobileSAM TinyViT"), '<a href="./docs/status.html#vision">')
        self.assertRegex(found("docs/status.html", "MobileSAM TinyViT"), '<a href="../docs/status.html#vision">')
        self.assertIn("<mark>", found("index.html", "float16"))
        self.assertIn("Nothing was found.", found("index.html", "xyzzy"))

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
        self.assertEqual(sorted(os.listdir(self.folder)), ["other", "plots", "site"], "nothing is left beside it")


class Performance(unittest.TestCase):
    def tables(self, *options, **more):
        return subprocess.run([os.path.join(self.folder, "scripts/tables"), *options], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, **more)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        shutil.copytree(os.path.join(SOURCE, "tests/bench"), os.path.join(self.folder, "tests/bench"))
        for path in ("scripts/tables", "scripts/build-device", "docs/performance.md"):
            os.makedirs(os.path.join(self.folder, os.path.dirname(path)), exist_ok=True)
            shutil.copy(os.path.join(SOURCE, path), os.path.join(self.folder, path))

    def tearDown(self):
        shutil.rmtree(self.folder)

    def page(self):
        with open(os.path.join(self.folder, "docs/performance.md"), encoding="utf-8") as file:
            return file.read()

    def test_every_table_stands_between_its_marks(self):
        run = self.tables("--check")
        self.assertEqual((run.returncode, run.stdout), (0, ""))
        page = self.page()
        with open(os.path.join(self.folder, "docs/performance.md"), "w", encoding="utf-8") as file:
            file.write(page.replace("| network | bits |", "| network | width |"))
        run = self.tables("--check")
        self.assertEqual(run.returncode, 1)
        self.assertIn("language is no table of scripts/tables", run.stdout)

    def test_what_a_script_prints_takes_the_place_of_its_table(self):
        cells = ["net", "cortex-a76"] + [str(i) for i in range(14)]
        other = ["net", "cortex-a53"] + [str(i) for i in range(14)]
        output = "\n".join(["2026-01-02, somewhere.", "", "|" + " head |" * 16, "|" + " --- |" * 16,
                            f"| {' | '.join(cells)} |", f"| {' | '.join(other)} |", "", "Words."])
        self.tables("arm", input=output).check_returncode()
        self.assertIn("2026-01-02, somewhere.\n\n| network | instructions, G |", self.page())
        self.assertIn("\n| net | 1 | 2 | 3 | 9 | 10 | 11 |\n<!-- end -->\n", self.page())
        self.assertEqual(self.tables("--check").returncode, 0)

    def test_sizes_of_components_become_a_table(self):
        output = "\nlibferry.so, 1,234 bytes stripped:\n      1,000  81.0 %  XNNPACK: kernels\n        234  19.0 %  tasks\n"
        self.tables("size", input=output).check_returncode()
        self.assertIn("| all | 1,234 | 100.0 |\n| XNNPACK: kernels | 1,000 | 81.0 |\n| tasks | 234 | 19.0 |\n", self.page())

    def test_other_output_changes_nothing(self):
        before, run = self.page(), self.tables("arm", input="2026-01-02, nothing.\n")
        self.assertEqual(run.returncode, 1)
        self.assertIn("is not what `tests/bench/arm_work` prints", run.stdout)
        self.assertEqual(self.page(), before)


class Status(unittest.TestCase):
    def test_the_page_is_what_the_script_writes(self):
        run = subprocess.run([os.path.join(SOURCE, "scripts", "status"), "--check"], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        self.assertEqual((run.returncode, run.stdout), (0, ""))

    def test_another_page_is_not(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in ("scripts/status", "docs/status.md", "docs/status.json", "tests/parity/fixtures.json",
                         "tests/parity/results.json"):
                os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
                shutil.copy(os.path.join(SOURCE, path), os.path.join(folder, path))

            def changed(path, old, new, *options):
                with open(os.path.join(folder, path), encoding="utf-8") as file:
                    saved = file.read()
                self.assertIn(old, saved)
                with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                    file.write(saved.replace(old, new, 1))
                run = subprocess.run([os.path.join(folder, "scripts/status"), *options], stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True)
                with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                    file.write(saved)
                return run.returncode, run.stdout

            stale = "status: docs/status.md is not what docs/status.json and tests/parity/results.json say: run scripts/status\n"
            self.assertEqual(changed("docs/status.md", "| Mistral | works", "| Mistral | perhaps", "--check"), (1, stale))
            self.assertEqual(changed("docs/status.json", '"Mistral"', '"Mistral 7B"', "--check"), (1, stale))
            self.assertEqual(changed("tests/parity/results.json", '"worst_relative_error": ', '"worst_relative_error": 1',
                                     "--check"), (1, stale))
            code, said = changed("docs/status.json", '"Mistral"', '"Mistral %s"' % ("x" * 200))
            self.assertEqual(code, 1)
            self.assertIn("characters, and at most 200 are allowed", said)
            code, said = changed("tests/parity/fixtures.json", '"name": "hf_mistral_tiny"', '"name": "hf_otter_tiny"')
            self.assertEqual((code, said), (1, "status: docs/status.json has no row with the fixture hf_otter_tiny\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
