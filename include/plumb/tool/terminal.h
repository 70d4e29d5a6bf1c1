// SPDX-License-Identifier: Apache-2.0
// The one way to the terminal: whatever this library or a tool says on standard output or standard error goes through
// here, and nothing that a file, a folder, a device or a program has named reaches a terminal otherwise
// (test/terminal_gate.cmake looks for other ways). Layouts are escaped where they are made, name by name (printing.h);
// this is the last step, which lets pass what is text, line breaks, and the colours that reports are painted with.
//
// Threading: any thread; what one call says stays together.
#ifndef PLUMB_TOOL_TERMINAL_H_
#define PLUMB_TOOL_TERMINAL_H_

#include <string>
#include <string_view>

#include "plumb/status.h"

namespace plumb {

enum class Terminal { kOutput, kError };

// As Printable (printing.h) shows it, but whole, and with its line breaks and the colours of our reports.
std::string TerminalText(std::string_view text);

// TerminalText of it, at once; false where it cannot be written.
bool WriteTerminal(Terminal terminal, std::string_view text);

// The one line of a terminal that is drawn anew: what stood there is taken away, the text (of one line) stands there.
void DrawTerminalLine(std::string_view text);

// From now on standard output is for WriteData alone, and what is printed goes to standard error.
void ReserveStandardOutput();
// Results on standard output ("-"): byte for byte, unless it is a terminal.
Status WriteData(std::string_view bytes);

}  // namespace plumb

#endif  // PLUMB_TOOL_TERMINAL_H_
