// SPDX-License-Identifier: Apache-2.0
// A case to hand over: what a check computed on, what it found, and where it ran, without paths, user and host names.
//
// Example:
//   plumb::EnvironmentRequest request;
//   request.files = {"net.onnx"};
//   request.devices = {"X86"};
//   PLUMB_ASSIGN_OR_RETURN(const std::string environment, plumb::DescribeEnvironment(request));
//   const std::string shared = plumb::WithoutPrivateWords(environment, {"net.onnx"});
//   PLUMB_RETURN_IF_ERROR(plumb::WriteBundle("case.zip", {{"environment.json", shared}}));
//
// Threading: free functions without shared state.
#ifndef PLUMB_TOOL_BUNDLE_H_
#define PLUMB_TOOL_BUNDLE_H_

#include <string>
#include <utility>
#include <vector>

#include "plumb/status.h"

namespace plumb {

struct EnvironmentRequest {
  std::vector<std::string> files;    // whose sizes and checksums are written: the model's
  std::vector<std::string> devices;  // that are described; empty: all that are present
  std::string command;               // that is to be run again
  // What somebody else says of himself, by name: "subject": "ONNX Runtime 1.20".
  std::vector<std::pair<std::string, std::string>> said;
};

// JSON, "format": "plumb-environment", version 1: Plumb and its compiler; system, kernel, libraries; CPU with its
// flags, threads, instructions; devices with drivers; variables that change what runs; files by XXH64 (xxh64sum).
// Errors: a file that cannot be read.
Result<std::string> DescribeEnvironment(const EnvironmentRequest& request);

struct EnvironmentDifference {
  std::string what;  // "cpu.flags", "devices.X86"
  std::string a, b;  // "" where one side has none
};

// What two such texts say differently; of lists of words what one side alone has. CorruptModel for a text that is none.
Result<std::vector<EnvironmentDifference>> CompareEnvironments(const std::string& a, const std::string& b);
// The text of a file, or of the environment.json in a bundle's folder.
Result<std::string> ReadEnvironment(const std::string& path);

// Without what is private: each of the paths becomes its last part; the working and the home folder become "." and "~";
// the user's and the machine's name become USER and HOST.
std::string WithoutPrivateWords(std::string text, std::vector<std::string> paths);

struct BundleFile {
  std::string name, bytes;  // name: with folders, "case/model.onnx"
};
// Into a folder, which is made, or one file that ends in .zip. InvalidArgument for a name that leaves the folder.
Status WriteBundle(const std::string& path, const std::vector<BundleFile>& files);
// Every file below a folder, as "NAME/..." of a bundle; without a name as it lies there.
Result<std::vector<BundleFile>> FilesBelow(const std::string& folder, const std::string& name);

}  // namespace plumb

#endif  // PLUMB_TOOL_BUNDLE_H_
