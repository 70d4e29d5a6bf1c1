// Small questions to texts, and numbers in them.
#ifndef PLUMB_BASE_TEXT_H_
#define PLUMB_BASE_TEXT_H_

#include <string>
#include <string_view>

namespace plumb {

bool EndsWith(std::string_view text, std::string_view ending);

// With so many significant digits at most, as printf's %g has it: "0.125", "1e-07", "inf", "nan".
std::string Number(double value, int digits);

}  // namespace plumb

#endif  // PLUMB_BASE_TEXT_H_
