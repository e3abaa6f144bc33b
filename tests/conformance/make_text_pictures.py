#!/usr/bin/python3
"""Writes tests/data/text/: a line of text, and a page with lines at known places, for the networks that read.

    make_text_pictures.py OUT_DIR

Needs Debian's python3-pil and fonts-dejavu-core. Prints where the page's lines are, as text_test.cc has them.
"""
import os
import sys

from PIL import Image, ImageDraw, ImageFont

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
LINE = "Ferry reads 27 words a minute"
PAGE = [((40, 50), 30, "Timetable"), ((60, 150), 24, "Ferry 12 departs at 07:45"), ((330, 240), 28, "Cabin 308"),
        ((50, 370), 26, "Mind the gap, please")]


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    font = ImageFont.truetype(FONT, 32)
    line = Image.new("L", (font.getbbox(LINE)[2] + 8, 48), 245)
    ImageDraw.Draw(line).text((4, 4), LINE, 25, font)
    line.save(os.path.join(out, "line.png"), optimize=True)

    page = Image.new("L", (576, 448), 235)
    draw = ImageDraw.Draw(page)
    draw.rectangle((420, 30, 540, 150), 150)  # something that is no text
    draw.ellipse((450, 60, 510, 120), 90)
    for place, size, text in PAGE:
        font = ImageFont.truetype(FONT, size)
        draw.text(place, text, 30, font)
        print(text, draw.textbbox(place, text, font))
    page.save(os.path.join(out, "page.png"), optimize=True)


if __name__ == "__main__":
    main()
