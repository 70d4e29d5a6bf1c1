// SPDX-License-Identifier: Apache-2.0
// What of a file's text reaches a terminal.
#include "plumb/tool/printing.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(Printable, OrdinaryNamesStayAsTheyAre) {
  EXPECT_EQ(Printable("model/conv_1:0 (a'b\"c) %20"), "model/conv_1:0 (a'b\"c) %20");
  EXPECT_EQ(Printable("层 α é 🦆"), "层 α é 🦆");
  EXPECT_EQ(Printable(""), "");
}

TEST(Printable, ControlBytesAreEscaped) {
  EXPECT_EQ(Printable("\x1B[32mall aligned\x1B[0m"), "\\x1B[32mall aligned\\x1B[0m");
  EXPECT_EQ(Printable("a\rX86: all aligned\nb\tc\x7F"), "a\\x0DX86: all aligned\\x0Ab\\x09c\\x7F");
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, WhatTurnsOrHidesTextIsEscaped) {
  EXPECT_EQ(Printable("a\u202Eb\u2066c\u200Bd\u2028e\uFEFFf"), "a\\u{202E}b\\u{2066}c\\u{200B}d\\u{2028}e\\u{FEFF}f");
  EXPECT_EQ(Printable("\u009B31m"), "\\u{9B}31m");  // C1: CSI in one character
}

TEST(Printable, BytesThatAreNoUtf8AreEscaped) {
  EXPECT_EQ(Printable("a\x9B"
                      "31m"),
            "a\\x9B31m");                                   // C1 as terminals with 8 bits take it
  EXPECT_EQ(Printable("\xC0\x9B"), "\\xC0\\x9B");           // overlong
  EXPECT_EQ(Printable("\xE2\x80"), "\\xE2\\x80");           // cut short
  EXPECT_EQ(Printable("\xED\xA0\x80"), "\\xED\\xA0\\x80");  // a surrogate
}

TEST(Printable, LongNamesAreCut) {
  EXPECT_EQ(Printable(std::string(200, 'a')), std::string(200, 'a'));
  EXPECT_EQ(Printable(std::string(201, 'a')), std::string(200, 'a') + "...");
}

TEST(PrintableMessage, ANameCannotStartALine) {
  EXPECT_EQ(PrintableMessage("layer 'a\nX86: all aligned' (Add)"), "layer 'a\\x0AX86: all aligned' (Add)");
  EXPECT_EQ(PrintableMessage("layer 'a\n  X86: all aligned' (Add)"), "layer 'a\\x0A  X86: all aligned' (Add)");
  EXPECT_EQ(PrintableMessage("dim N\nX86: all aligned"), "dim N\\x0AX86: all aligned");
  EXPECT_EQ(PrintableMessage("a\rb\x1B[2J"), "a\\x0Db\\x1B[2J");
}

TEST(PrintableMessage, OurOwnLinesStay) {
  const std::string list = "2 nodes cannot be imported:\n  node 'one' isn't there\n    'two' (Add)\n  and 3 more";
  EXPECT_EQ(PrintableMessage(list), list);
  EXPECT_EQ(PrintableLine("a\n  b"), "a\\x0A  b");
}

TEST(PrintableMessage, QuotedNamesAreCutAndProseIsNot) {
  EXPECT_EQ(PrintableMessage("model 'm': layer '" + std::string(1000, 'x') + "' is wrong"),
            "model 'm': layer '" + std::string(200, 'x') + "...' is wrong");
  const std::string prose = "the model's weights " + std::string(300, 'y') + " the layer's weights";
  EXPECT_EQ(PrintableMessage(prose), prose);
}

}  // namespace
}  // namespace plumb
