// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/printing.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

TEST(TextTable, ColumnsGiveWayInTheirOrder) {
  TextTable table({{"name", 0, false, true}, {"kernel", 1}, {"type", 2}, {"number", 0, true}});
  table.Add({{"a layer of some length"}, {"the kernel"}, {"the type"}, {"1"}}, "  below\n");
  table.Add({{"b"}, {"k"}, {"t"}, {"22"}});
  EXPECT_EQ(table.Format(80),
            "name                    kernel      type      number\n"
            "a layer of some length  the kernel  the type       1\n  below\n"
            "b                       k           t             22\n");
  EXPECT_EQ(table.Format(45).substr(0, 42),
            "name                    type      number\n"
            "a");
  EXPECT_EQ(table.Format(30).substr(0, 31), "name                    number\n");
  EXPECT_EQ(table.Format(24),
            "name              number\n...f some length       1\n  below\nb                     22\n");
}

TEST(TextTable, ColoursTakeNoWidthAndControlBytesAreShown) {
  TextTable table({{"a"}, {"b"}});
  table.Add({{"red", "\033[31m"}, {"x\033y"}});
  EXPECT_EQ(table.Format(80), "a    b\n\033[31mred\033[0m  x\\x1By\n");
}

TEST(Wrapped, BreaksAtSpacesAndKeepsWords) {
  EXPECT_EQ(Wrapped("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(Wrapped("one two three", 8, 2, 4), "one\n  two\n  three");
  EXPECT_EQ(Wrapped("a 123  b 456", 9, 0), "a 123\nb 456") << "double spaces first";
  EXPECT_EQ(Wrapped("averylongword x", 5, 0), "averylongword\nx");
  EXPECT_EQ(Wrapped("short", 80, 4), "short");
}

TEST(CutFront, KeepsTheEndAndWholeCharacters) {
  EXPECT_EQ(CutFront("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(CutFront("abcdefghijk", 10), "...efghijk");
  EXPECT_EQ(CutFront("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\xA4\xC3\xB6\xC3\xBC", 5), "...\xC3\xB6\xC3\xBC");
}

}  // namespace
}  // namespace plumb
