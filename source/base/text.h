// SPDX-License-Identifier: Apache-2.0
// Small questions to texts, and numbers in them.
#ifndef PLUMB_BASE_TEXT_H_
#define PLUMB_BASE_TEXT_H_

#include <initializer_list>
#include <string>
#include <string_view>

namespace plumb {

bool EndsWith(std::string_view text, std::string_view ending);

// Whether one of the words is part of the text.
bool ContainsOneOf(std::string_view text, std::initializer_list<const char*> words);

// A to Z as a to z, whatever the locale.
std::string Lower(std::string text);

// Of what a program said: the last line, which is its error where it ended with one.
std::string LastLineOf(std::string text);

// With so many significant digits at most, as printf's %g has it: "0.125", "1e-07", "inf", "nan".
std::string Number(double value, int digits);

}  // namespace plumb

#endif  // PLUMB_BASE_TEXT_H_
