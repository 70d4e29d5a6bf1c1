// SPDX-License-Identifier: Apache-2.0
// --bundle: a whole check as one folder or .zip to hand over. --environment: what two of them say differently.
#ifndef PLUMB_TOOLS_MODEL_CHECK_BUNDLE_H_
#define PLUMB_TOOLS_MODEL_CHECK_BUNDLE_H_

#include <map>
#include <string>
#include <vector>

#include "plumb/report.h"
#include "plumb/tool/file.h"

namespace plumb {

class CheckBundle {
 public:
  // Before the check: where its files are collected.
  Status Begin();
  bool begun() const { return !work_.path().empty(); }
  // Where the guilty step is written (WriteStepCase).
  std::string case_folder() const { return work_.path() + "/case"; }

  struct Contents {
    const CheckResult& result;
    const std::map<std::string, Tensor>& inputs;
    std::vector<std::string> model;  // its files
    bool with_model = false;
    std::vector<std::string> paths;  // that were named, the model's apart
    std::string subject, golden;     // of these
  };
  // Writes the bundle: a folder, or a file that ends in .zip.
  Status Write(const std::string& path, const Contents& contents) const;

 private:
  Status WriteReports(const Contents& contents, const std::string& command) const;
  Status WriteValues(const Contents& contents) const;
  Status WriteEnvironment(const Contents& contents, const std::string& command) const;

  WorkFolder work_;
};

// Whether the command line has --environment.
bool AsksForEnvironments(int argc, char** argv);
// model_check --environment A B. The exit code: 0 the same, 1 different, 2 not readable.
int ShowEnvironments(int argc, char** argv);

}  // namespace plumb

#endif  // PLUMB_TOOLS_MODEL_CHECK_BUNDLE_H_
