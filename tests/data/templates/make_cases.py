#!/usr/bin/env python3
"""Writes cases.json: what Jinja2 (Debian's python3-jinja2), set up as transformers sets it up for chats, makes of
expressions.txt and of the whole templates here with the chats of chats.json.

    python3 tests/data/templates/make_cases.py

A case has `template`, `context`, and `rendered` or `error`; the unit tests ask for the same text, or for any error
where Jinja2 has one, with the same sentence where `raise_exception` said it. The clock stands at 2026-07-03 15:04:05.
"""
import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

HERE = pathlib.Path(__file__).parent
NOW = datetime.datetime(2026, 7, 3, 15, 4, 5)


class Generation(jinja2.ext.Extension):
    """{% generation %}, which marks the assistant's text: ignored here."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


class Raised(Exception):
    pass


def raise_exception(message):
    raise Raised(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def case(env, template, context):
    made = {"template": template, "context": context}
    try:
        made["rendered"] = env.from_string(template).render(**context)
    except Raised as error:
        made["raised"] = str(error)
    except Exception as error:  # any Python exception
        made["error"] = str(error)
    return made


def main():
    env = environment()
    cases, context = [], {}
    for line in (HERE / "expressions.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("context "):
            context = json.loads(line[len("context "):])
        elif line and not line.startswith("# "):
            # "\n" means a newline, "\\" a backslash.
            cases.append(case(env, line.replace("\\\\", "\0").replace("\\n", "\n").replace("\\r", "\r").replace("\0", "\\"),
                              context))
    chats = json.loads((HERE / "chats.json").read_text(encoding="utf-8"))
    for path in sorted(HERE.glob("*.jinja")):
        template = path.read_text(encoding="utf-8")
        for chat in chats:
            cases.append(case(env, template, {"tools": None, "documents": None, "add_generation_prompt": False,
                                              "bos_token": "<s>", "eos_token": "</s>", **chat}))
    with open(HERE / "cases.json", "w", encoding="utf-8") as out:
        out.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
    print(len(cases), "cases,", sum("rendered" not in c for c in cases), "of them errors")


if __name__ == "__main__":
    main()
