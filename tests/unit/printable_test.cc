// Text from files, for people.
#include "sdk/printable.h"

#include <ferry/task.h>
#include <gtest/gtest.h>

#include "sdk/status.h"

namespace ferry {
namespace {

TEST(Printable, ALineHasNothingThatSteersATerminal) {
  EXPECT_EQ(printable("red \x1b[31m, bell \a, \x7f"), "red \\x1b[31m, bell \\x07, \\x7f");
  EXPECT_EQ(printable("one\ntwo\r\tthree"), "one\\ntwo\\r\\tthree");
  EXPECT_EQ(printable("\u009b31m"), "\\x9b31m") << "CSI as a character";
  EXPECT_EQ(printable("\x9b"), "\\x9b") << "CSI as a byte";
  EXPECT_EQ(printable("\u202egnp.exe\u2066 \u200f \u2028"), "\\u202egnp.exe\\u2066 \\u200f \\u2028");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, OrdinaryTextStays) {
  const std::string text = "caf\u00e9 \u732b \U0001F600 \u05d0\u05d1 back\\slash";
  for (const Printed as : {Printed::Line, Printed::Text, Printed::Json}) EXPECT_EQ(printable(text, as), text);
}

TEST(Printable, ATextKeepsItsLines) {
  EXPECT_EQ(printable("a\n\tb\r\n\x1b[2Jc\u202ed\xff", Printed::Text), "a\n\tb\n[2Jcd\uFFFD");
}

TEST(Printable, JsonIsEscaped) {
  EXPECT_EQ(printable("{\"name\": \"a\u202e\u009b\x7f\"}\n", Printed::Json),
            "{\"name\": \"a\\u202e\\u009b\\u007f\"}\n");
}

TEST(Printable, CutsBetweenCharacters) {
  char out[8];
  EXPECT_EQ(make_printable("abcdef\x1b", Printed::Line, out, sizeof out), 6u);
  EXPECT_EQ(make_printable("abcdef\u00e9\u00e9", Printed::Line, out, sizeof out), 8u);
  EXPECT_EQ(make_printable("abcdefg\u00e9", Printed::Line, out, sizeof out), 7u);
}

TEST(Printable, ForApps) {
  char out[12];
  EXPECT_EQ(ferry_printable("a\x1b\nb", false, out, sizeof out), 8u);
  EXPECT_STREQ(out, "a\\x1b\\nb");
  EXPECT_EQ(ferry_printable("a\x1b\nb", true, out, sizeof out), 3u);
  EXPECT_STREQ(out, "a\nb");
  EXPECT_EQ(ferry_printable("a label too long", false, out, sizeof out), 16u);
  EXPECT_STREQ(out, "a label too");
  EXPECT_EQ(ferry_printable(nullptr, false, out, sizeof out), 0u);
  EXPECT_EQ(ferry_printable("four", false, nullptr, 0), 4u);
}

TEST(Printable, ErrorsAreOneLine) {
  const Status status = error(FERRY_CORRUPT, "tensor '%s': bad", "x\n\x1b]0;title\a");
  EXPECT_EQ(status.message(), "tensor 'x\\n\\x1b]0;title\\x07': bad");
}

}  // namespace
}  // namespace ferry
