// SPDX-License-Identifier: Apache-2.0
// How much of a run was compared, and whether that is enough for a verdict.
#ifndef PLUMB_CHECK_CORE_COVERAGE_H_
#define PLUMB_CHECK_CORE_COVERAGE_H_

#include <string>
#include <vector>

#include "plumb/check.h"

namespace plumb {

// Fills the report's coverage from its layers. Where less than `min_tested` of the steps, of the values or of the
// multiply-adds was compared, or a network output was not (unless min_tested is 0), an aligned or grey report becomes
// "not tested" and says why; a wrong one stays wrong.
void ApplyCoverage(const std::vector<std::string>& network_outputs, double min_tested, RunReport* report);

// The same of a report that has its coverage: after its verdict changed.
void ConcludeCoverage(double min_tested, RunReport* report);

// Whether the step holds a layer of this name, of this node in the source model, or of this index.
bool HoldsLayer(const StepInfo& step, const std::string& name);
// InvalidArgument for a name that none of the steps holds.
Status CheckLayerNames(const std::vector<std::string>& names, const std::vector<const StepInfo*>& steps);
// Leaves the steps that hold one of the layers, as if only these had been judged (CheckOptions::layers).
Status KeepNamedLayers(const std::vector<std::string>& names, const std::vector<std::string>& network_outputs,
                       double min_tested, RunReport* report);
// First guilty step and verdict out of the steps' verdicts, coverage included.
void ConcludeRun(const std::vector<std::string>& network_outputs, double min_tested, RunReport* report);

// "39 of 39 steps, 227848 values, 1 of 1 outputs"; of values and multiply-adds the share, where not all were compared.
std::string CoverageText(const Coverage& coverage);

}  // namespace plumb

#endif  // PLUMB_CHECK_CORE_COVERAGE_H_
