// SPDX-License-Identifier: Apache-2.0
// Which steps of a run the report shows as rows, and what it says of the others.
#ifndef PLUMB_CHECK_REPORT_SHOWN_H_
#define PLUMB_CHECK_REPORT_SHOWN_H_

#include <string>
#include <vector>

#include "plumb/report.h"

namespace plumb {

// Grey steps that one cause explains.
struct GreyGroup {
  std::string cause;  // "computed as one fused HardSwish"
  int steps = 0;
  const LayerReport* worst = nullptr;  // the one of the largest E
};

struct Shown {
  std::vector<const LayerReport*> layers;  // rows, in execution order
  std::vector<GreyGroup> greys;            // a line each
  int aligned = 0, not_tested = 0;         // only counted
};
Shown ChooseShown(const RunReport& run, const ReportStyle& style);

// Below the table: a line per group of greys, and how many steps are left out; wrapped.
std::string FormatLeftOut(const Shown& shown, const ReportStyle& style);

}  // namespace plumb

#endif  // PLUMB_CHECK_REPORT_SHOWN_H_
