#!/usr/bin/env python3
"""Writes the page that scripts/demo ends with: one HTML file with its images inside.

    OUT=build/demo ... demo_page.py      writes OUT/index.html

The results lie in OUT, as scripts/demo leaves them. The rest is in the environment: PHOTO (the photograph), PROMPT, STORY
(empty without a language model), BIN (where ferry is), VERSION, COMMIT.
"""
import base64
import datetime
import html
import json
import os
import struct

STYLE = """
:root{--page:#f3f5f9;--card:#fff;--ink:#1c2330;--mute:#667085;--line:#e4e8ef;--ours:#2457d6;--good:#1a7f4b}
@media(prefers-color-scheme:dark){:root{--page:#0d121b;--card:#151b26;--ink:#e6eaf2;--mute:#94a0b4;--line:#2a3343;
--ours:#7aa5ff;--good:#56d391}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:960px;margin:0 auto;padding:40px 20px 64px}
h1{font-size:30px;line-height:1.2;margin:0 0 6px;letter-spacing:-.01em}h2{font-size:20px;margin:0 0 4px}
p{margin:0 0 12px}.mute,figcaption{color:var(--mute)}
section{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:22px;margin-top:22px}
img{display:block;width:100%;border-radius:8px}
.slider{position:relative;border-radius:8px;overflow:hidden;--at:50%}
.slider img{border-radius:0}.slider img.before{position:absolute;inset:0;height:100%;clip-path:inset(0 calc(100% - var(--at)) 0 0)}
.slider i{position:absolute;top:0;bottom:0;width:2px;left:var(--at);margin-left:-1px;background:#fff;box-shadow:0 0 4px #0008}
.slider b{position:absolute;top:12px;padding:2px 10px;border-radius:99px;background:#000a;color:#fff;font-size:13px;font-weight:550}
.slider b:nth-of-type(1){left:12px}.slider b:nth-of-type(2){right:12px}
.slider input{position:absolute;inset:0;width:100%;height:100%;margin:0;opacity:0;cursor:ew-resize}
.slider:focus-within{outline:2px solid var(--ours)}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:12px;margin-top:14px}
.pair figure{margin:0}.crop{position:relative;overflow:hidden;aspect-ratio:4/3;border-radius:8px}
.crop img{position:absolute;width:416.67%;max-width:none;left:-132.3%;top:-75%;border-radius:0}
.crop img.before{image-rendering:pixelated}
figcaption{font-size:14px;margin-top:4px}
.ok{color:var(--good);font-weight:600}
blockquote{margin:0 0 12px;padding-left:16px;border-left:3px solid var(--ours);font-family:Georgia,"DejaVu Serif",serif;font-size:19px}
pre{margin:12px 0 0;padding:12px 14px;white-space:pre-wrap;overflow-wrap:anywhere;border-radius:8px;background:var(--page);font-size:13px;line-height:1.5;
font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
footer{color:var(--mute);font-size:14px;margin-top:22px}a{color:var(--ours)}
"""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Ferry demo</title><style>{style}</style></head><body><main>
<h1>Ferry ran {count} networks on this machine</h1>
<p class="mute">Each was converted from its authors' file to one blob, and run by the library that was just built, on the CPU
({machine}).</p>
<section><h2>Upscale: {before_size} to {after_size} pixels</h2>
<p class="mute">{upscale_seconds} s, from starting the command to the written PNG. Drag the line to compare.</p>
<div class="slider"><img id="after" src="{after}" alt="The photograph, upscaled by the network">
<img id="before" class="before" src="{before}" alt="The photograph, upscaled by the browser"><i></i><b>before</b><b>after</b>
<input type="range" min="0" max="100" value="50" aria-label="How much of the image is shown before upscaling"
oninput="this.parentNode.style.setProperty('--at', this.value + '%')"></div>
<div class="pair"><figure><div class="crop"><img class="before" data-of="before" alt="The face before upscaling"></div>
<figcaption>before: the photograph's own pixels</figcaption></figure>
<figure><div class="crop"><img data-of="after" alt="The face after upscaling"></div>
<figcaption>after: what the network returns</figcaption></figure></div>
<p style="margin-top:12px"><span class="ok">Same result as its authors'.</span> On the image that the authors publish with their
result, no pixel differs by more than 1 level of 255. Every layer is compared with the reference:
<a href="parity.html">parity.html</a>.</p>
<pre>{upscale_command}</pre></section>
<section><h2>Detect: {faces}</h2>
<p class="mute">RetinaFace, from an ONNX file. The blob describes how the network's outputs become boxes and landmarks.</p>
<img src="{detected}" alt="The photograph with a box and five landmarks for each face">
<pre>{detect_command}</pre></section>
{story}
<footer>Photograph: Eileen M. Collins, NASA, in the public domain. Made by {version} on {date}. The blobs and images lie
beside this page.</footer>
</main><script>document.querySelectorAll('[data-of]').forEach(e => e.src = document.getElementById(e.dataset.of).src)</script>
</body></html>
"""

STORY = """<section><h2>Generate: a story</h2>
<p class="mute">A language model of 260,000 parameters, trained on stories for children, continues the words in bold.</p>
<blockquote><b>{prompt}</b>{text}</blockquote>
<pre>{command}</pre></section>
"""


ENV = os.environ
OUT = ENV["OUT"]


def read(name):
    with open(os.path.join(OUT, name), encoding="utf-8") as file:
        return file.read()


def inlined(path):
    kind = "jpeg" if path.endswith(".jpg") else "png"
    with open(path, "rb") as file:
        return f"data:image/{kind};base64,{base64.b64encode(file.read()).decode()}"


def png_size(path):
    with open(path, "rb") as file:
        return struct.unpack(">II", file.read(24)[16:])


def machine():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    cores = os.cpu_count()
    return f"{names[0] + ', ' if names else ''}{cores} core{'' if cores == 1 else 's'}"


def story():
    if not ENV["STORY"]:
        return ""
    text = read("story.txt").strip().removeprefix(ENV["PROMPT"])
    end = text.rfind(".") + 1  # the last whole sentence
    command = f'{ENV["BIN"]}/ferry run {OUT}/stories.ferry --prompt "{ENV["PROMPT"]}" --max-tokens 110'
    return STORY.format(prompt=html.escape(ENV["PROMPT"]), text=html.escape(text[:end] or text),
                        command=html.escape(command))


def main():
    large = os.path.join(OUT, "astronaut_x4.png")
    width, height = png_size(large)
    scores = [f"{100 * box['score']:.1f} %" for box in json.loads(read("faces.json"))["boxes"]]
    ferry = f"{ENV['BIN']}/ferry run {OUT}"
    texts = {
        "count": "three" if ENV["STORY"] else "two",
        "machine": machine(),
        "before_size": f"{width // 4}x{height // 4}",
        "after_size": f"{width}x{height}",
        "upscale_seconds": f"{int(read('upscale.microseconds')) / 1e6:.1f}",
        "upscale_command": f"{ferry}/upscale.ferry {ENV['PHOTO']} -o {OUT}/astronaut_x4.png",
        "faces": f"{len(scores)} face{'' if len(scores) == 1 else 's'}" + (f", score {', '.join(scores)}" if scores else ""),
        "detect_command": f"{ferry}/faces.ferry {OUT}/astronaut_x4.png -o {OUT}/astronaut_faces.png",
        "version": ENV["VERSION"] + (f" at commit {ENV['COMMIT']}" if ENV["COMMIT"] else ""),
        "date": datetime.date.today().isoformat(),
    }
    page = PAGE.format(style=STYLE, story=story(), before=inlined(ENV["PHOTO"]), after=inlined(large),
                       detected=inlined(os.path.join(OUT, "astronaut_faces.png")),
                       **{key: html.escape(text) for key, text in texts.items()})
    with open(os.path.join(OUT, "index.html"), "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    main()
