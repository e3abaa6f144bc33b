#!/usr/bin/python3
"""Writes tests/data/text/: a line of text, and pages with lines at known places, for the networks that read.

    make_text_images.py OUT_DIR

Needs Debian's python3-pil and fonts-dejavu-core. Prints where the lines are, as text_test.cc has them.
"""
import os
import sys

from PIL import Image, ImageDraw, ImageFont

FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
LINE = "Ferry reads 27 words a minute"
PAGE = [((40, 50), 30, "Timetable"), ((60, 150), 24, "Ferry 12 departs at 07:45"), ((330, 240), 28, "Cabin 308"),
        ((50, 370), 26, "Mind the gap, please")]
# Two columns, the second one lower; printed white on black.
COLUMNS = [((60, 60), 44, "Departures"), ((60, 150), 24, "Monday 6:15"), ((60, 200), 24, "Tuesday 9:40"),
           ((60, 250), 16, "not on holidays"), ((520, 155), 24, "Platform 3"), ((520, 205), 24, "Platform 11"),
           ((520, 420), 60, "EXIT")]
TURNED = [((120, 110), 32, "Lost and found"), ((120, 220), 22, "Ask at the counter"), ((120, 300), 22, "open until 18:30")]
DEGREES = 7


def write_lines(draw, lines, level):
    for place, size, text in lines:
        font = ImageFont.truetype(FONT, size)
        draw.text(place, text, level, font)
        print(text, draw.textbbox(place, text, font))


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    font = ImageFont.truetype(FONT, 32)
    line = Image.new("L", (font.getbbox(LINE)[2] + 8, 48), 245)
    ImageDraw.Draw(line).text((4, 4), LINE, 25, font)
    line.save(os.path.join(out, "line.png"), optimize=True)

    page = Image.new("L", (576, 448), 235)
    draw = ImageDraw.Draw(page)
    draw.rectangle((420, 30, 540, 150), 150)  # a shape that is no text
    draw.ellipse((450, 60, 510, 120), 90)
    write_lines(draw, PAGE, 30)
    page.save(os.path.join(out, "page.png"), optimize=True)

    columns = Image.new("L", (800, 540), 20)
    write_lines(ImageDraw.Draw(columns), COLUMNS, 240)
    columns.save(os.path.join(out, "columns.png"), optimize=True)

    turned = Image.new("L", (560, 460), 235)
    write_lines(ImageDraw.Draw(turned), TURNED, 30)
    turned = turned.rotate(DEGREES, Image.BICUBIC, fillcolor=235)
    turned.save(os.path.join(out, "turned.png"), optimize=True)
    turned.rotate(90, expand=True).save(os.path.join(out, "upwards.png"), optimize=True)
    turned.rotate(-90, expand=True).save(os.path.join(out, "downwards.png"), optimize=True)


if __name__ == "__main__":
    main()
