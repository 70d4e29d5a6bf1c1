// SPDX-License-Identifier: Apache-2.0
// The last step before a terminal: what passes, and that what a file holds cannot pass for what is ours.
#include "plumb/tool/terminal.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

namespace plumb {
namespace {

TEST(TerminalText, LetsTextLinesAndOurColorsPass) {
  const std::string report = "X86: \033[32maligned\033[0m\n  层 α 🦆 \033[1;31mwrong\033[0m\n";
  EXPECT_EQ(TerminalText(report), report);
}

TEST(TerminalText, EscapesWhatIsNoText) {
  EXPECT_EQ(TerminalText("a\033[2Jb\rc\td\033]0;title\007"), "a\\x1B[2Jb\\x0Dc\\x09d\\x1B]0;title\\x07");
  EXPECT_EQ(TerminalText("\033[32"), "\\x1B[32");                         // a colour that is cut off
  EXPECT_EQ(TerminalText("\033[32;5m\u009B2J"), "\\x1B[32;5m\\u{9B}2J");  // none of ours; CSI in one character
  EXPECT_EQ(TerminalText("a\u202Eb\xFF\xC0\x9B"), "a\\u{202E}b\\xFF\\xC0\\x9B");
  EXPECT_EQ(TerminalText(std::string_view("\0", 1)), "\\x00");
}

TEST(TerminalText, IsWhole) { EXPECT_EQ(TerminalText(std::string(5000, 'a')).size(), 5000u); }

// What is written to a terminal and comes out at its other end.
class Pseudoterminal {
 public:
  Pseudoterminal() {
    other_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (other_ < 0 || ::grantpt(other_) != 0 || ::unlockpt(other_) != 0) return;
    end = ::open(::ptsname(other_), O_RDWR | O_NOCTTY);
  }
  ~Pseudoterminal() {
    ::close(other_);
    ::close(end);
  }
  std::string Read() const {
    char text[1000];
    const ssize_t count = ::read(other_, text, sizeof(text));
    return count < 0 ? "" : std::string(text, static_cast<size_t>(count));
  }

  int end = -1;

 private:
  int other_ = -1;
};

// Calls with standard output and standard error at `end`.
template <class Call>
void With(int end, const Call& call) {
  const int out = ::dup(STDOUT_FILENO), error = ::dup(STDERR_FILENO);
  ::dup2(end, STDOUT_FILENO);
  ::dup2(end, STDERR_FILENO);
  call();
  ::dup2(out, STDOUT_FILENO);
  ::dup2(error, STDERR_FILENO);
  ::close(out);
  ::close(error);
}

TEST(Terminal, DataIsEscapedWhereItIsShownAndExactWhereItIsNot) {
  const std::string data = "{\"name\": \"a\u202E\033[2J\"}";
  Pseudoterminal terminal;
  if (terminal.end < 0) GTEST_SKIP() << "no pseudoterminals here";
  With(terminal.end, [&] { EXPECT_TRUE(WriteData(data).ok()); });
  EXPECT_EQ(terminal.Read(), "{\"name\": \"a\\u{202E}\\x1B[2J\"}");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  With(ends[1], [&] { EXPECT_TRUE(WriteData(data).ok()); });
  char text[100];
  EXPECT_EQ(std::string(text, static_cast<size_t>(::read(ends[0], text, sizeof(text)))), data);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Terminal, ALineThatIsDrawnAnewIsOne) {
  Pseudoterminal terminal;
  if (terminal.end < 0) GTEST_SKIP() << "no pseudoterminals here";
  With(terminal.end, [&] { DrawTerminalLine("run 1/2 a\nb\033[32mc"); });
  EXPECT_EQ(terminal.Read(), "\r\033[Krun 1/2 a\\x0Ab\\x1B[32mc");
}

}  // namespace
}  // namespace plumb
