// What blob_diff prints and writes; all forms hold the same numbers.
#ifndef PLUMB_TOOLS_BLOB_DIFF_REPORT_H_
#define PLUMB_TOOLS_BLOB_DIFF_REPORT_H_

#include <string>

#include "blob_diff/compare.h"

namespace plumb {

// Head, one row per pair, what has no pair, last sentence.
std::string DiffTable(const DiffReport& report, bool color);
std::string DiffSummary(const DiffReport& report);
std::string DiffJson(const DiffReport& report);
std::string DiffCsv(const DiffReport& report);

}  // namespace plumb

#endif  // PLUMB_TOOLS_BLOB_DIFF_REPORT_H_
