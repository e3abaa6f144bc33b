"""Reads what count_instructions.c wrote: totals, shares by symbol, steps."""
import bisect
import os
import re
import subprocess

CLASSES = ("fma4 fma2 fma_half dot fp_vector permute integer_vector fp_scalar vector_load vector_store load store prefetch "
           "branch integer scalable").split()
COLUMNS = CLASSES + ["bytes_loaded", "bytes_stored", "l1_misses", "l2_misses"]


class Counts:
    """What one run of a network executed. totals: by COLUMNS; steps: of each step, by COLUMNS."""

    def __init__(self, path):
        self.totals, self.steps, self.blocks, self.maps = {}, [], [], []
        with open(path) as f:
            for line in f:
                kind, *words = line.split()
                if kind == "total":
                    self.totals[words[0]] = int(words[1])
                elif kind == "step":
                    self.steps.append(dict(zip(COLUMNS, map(int, words[1:]))))
                elif kind == "block":
                    self.blocks.append((int(words[0], 16), [int(word) for word in words[2:]]))
                elif kind == "map" and len(words) >= 6:
                    begin, end = (int(word, 16) for word in words[0].split("-"))
                    self.maps.append((begin, end, int(words[2], 16), words[5]))
        if not self.totals.get("branch"):
            raise SystemExit(f"{path}: nothing was counted: the program ended before its region did")

    @property
    def instructions(self):
        return instructions(self.totals)

    @property
    def loads(self):
        return self.totals["vector_load"] + self.totals["load"]

    @property
    def l2_misses(self):
        return self.totals["l2_misses"]

    @property
    def multiply_adds(self):
        """Of four floats, as a share of all instructions."""
        return (self.totals["fma4"] + self.totals["fma_half"]) / self.instructions

    def by_symbol(self, files):
        """[(symbol, counts by COLUMNS)], the most instructions first; files: programs and libraries with symbols."""
        tables = {os.path.realpath(file): Symbols(file) for file in files}
        rows = {}
        for address, (runs, l1, l2, *counts) in self.blocks:
            row = rows.setdefault(self.symbol(address, tables), dict.fromkeys(COLUMNS, 0))
            for name, count in zip(COLUMNS, counts):
                row[name] += runs * count
            row["l1_misses"] += l1
            row["l2_misses"] += l2
        return sorted(rows.items(), key=lambda item: -instructions(item[1]))

    def symbol(self, address, tables):
        for begin, end, offset, path in self.maps:
            if begin <= address < end:
                table = tables.get(os.path.realpath(path))
                return table.at(address - begin + offset) if table else f"[{os.path.basename(path)}]"
        return "?"


class Symbols:
    """Of an arm64 file, by place in the file."""

    def __init__(self, path):
        read = lambda *command: subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        self.segments = [[int(words[i], 16) for i in (1, 2, 4)]  # place, address, size
                         for words in map(str.split, read("aarch64-linux-gnu-readelf", "-lW", path))
                         if words and words[0] == "LOAD"]
        found = []
        for line in read("aarch64-linux-gnu-nm", "-C", "--defined-only", path):
            match = re.match(r"([0-9a-f]+) [tTwWiu] (?!\$)(.*)", line)
            if match:
                found.append((int(match[1], 16), match[2]))
        found.sort()
        self.addresses, self.names = [a for a, _ in found], [n for _, n in found]

    def at(self, place):
        for begin, address, size in self.segments:
            if begin <= place < begin + size:
                i = bisect.bisect_right(self.addresses, place - begin + address) - 1
                return self.names[i] if i >= 0 else "?"
        return "?"


def instructions(counts):
    return sum(counts[name] for name in CLASSES)


def row(counts):
    """A line of text: millions of instructions, of multiply-adds, and so on."""
    millions = lambda *names: f"{sum(counts[name] for name in names) / 1e6:9.2f}"
    return (f"{instructions(counts) / 1e6:9.2f}" + millions("fma4", "fma_half") + millions("fp_vector", "fma2") +
            millions("permute", "integer_vector") + millions("vector_load") + millions("vector_store") +
            millions("load", "store") + millions("integer", "branch", "fp_scalar") + millions("l2_misses"))


HEADER = "".join(f"{title:>9}" for title in ("all", "fma", "fp", "permute", "vld", "vst", "ld st", "scalar", "L2 miss"))
