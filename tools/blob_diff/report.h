// What blob_diff prints and writes; all forms hold the same numbers.
#ifndef PLUMB_TOOLS_BLOB_DIFF_REPORT_H_
#define PLUMB_TOOLS_BLOB_DIFF_REPORT_H_

#include <string>

#include "blob_diff/compare.h"

namespace plumb {

struct DiffStyle {
  bool color = false;
  bool all = false;    // every pair: otherwise those that are not aligned and the five that differ most
  size_t width = 100;  // columns give way to keep it
};

// Head, a table of pairs, what has no pair, last sentence.
std::string DiffTable(const DiffReport& report, const DiffStyle& style);
std::string DiffSummary(const DiffReport& report);
std::string DiffJson(const DiffReport& report);
std::string DiffCsv(const DiffReport& report);

}  // namespace plumb

#endif  // PLUMB_TOOLS_BLOB_DIFF_REPORT_H_
