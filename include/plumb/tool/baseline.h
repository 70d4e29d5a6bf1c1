// SPDX-License-Identifier: Apache-2.0
// A baseline: how every layer was judged last time, kept in a file, so that none gets worse unnoticed.
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(const auto session, plumb::Session::Open("net.tnnproto"));
//   PLUMB_ASSIGN_OR_RETURN(const plumb::RunReport report, session->CheckDevice("NAIVE"));
//   plumb::Baseline baseline;  // or Baseline::Read("baseline.json")
//   baseline.Update("net", {report});
//   PLUMB_RETURN_IF_ERROR(baseline.Write("baseline.json"));
//   for (const std::string& worse : baseline.Compare("net", {report})) std::puts(worse.c_str());
//
// The file is JSON: {"format": "plumb-baseline", "version": 1, "checks": {KEY: {DEVICE: {"00001 relu1": {"verdict":
// ..., "E": ..., "R": ...}}}}}. A layer that is known to be wrong may also have a "reason" and, until it has to be
// looked at again, "until": "2027-03-31". Threading: values.
#ifndef PLUMB_TOOL_BASELINE_H_
#define PLUMB_TOOL_BASELINE_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/check.h"

namespace plumb {

// Why a layer may be wrong, and the last day (UTC) on which it may; no day: always.
struct KnownDeviation {
  std::string reason, until;
};

class Baseline {
 public:
  // NotFound, IoError; CorruptModel for a file that is none, naming the place.
  static Result<Baseline> Read(const std::string& path);
  // The same of a file's text; `path` stands in errors.
  static Result<Baseline> Parse(std::string_view text, const std::string& path);
  // The file is complete or as it was.
  Status Write(const std::string& path) const;
  // What Write writes.
  std::string Text() const;

  // What is known of `key` becomes these runs; devices that are not among them keep what they had, and so do the other
  // layers of a run that judged only some (CheckOptions::layers).
  // Layers that are not aligned get the reason, where one is given; else they keep theirs.
  void Update(const std::string& key, const std::vector<RunReport>& runs, const KnownDeviation& known = {});
  // The same with what another process found; `partly`: it judged only some layers.
  void Merge(const Baseline& found, bool partly);
  // One sentence for each layer that is worse than it was, in execution order: a worse verdict (aligned, grey, not
  // tested, wrong), or E or R larger by more than a tenth and 0.1; for each that is gone, unless only some were judged;
  // and for a layer, or a whole device, that the baseline does not know under this key.
  std::vector<std::string> Compare(const std::string& key, const std::vector<RunReport>& runs) const;
  // A layer that is wrong, has a reason that holds today ("2026-11-28"), and is no worse than known becomes grey, with
  // that reason; so does the run where nothing else is wrong, or "not tested" where too little of it was compared
  // (CheckOptions::min_tested). Returns a sentence for each such layer, and for each whose reason has expired.
  std::vector<std::string> Accept(const std::string& key, const std::string& today, double min_tested,
                                  RunReport* run) const;
  // A sentence for each layer that was wrong or grey and is aligned now.
  std::vector<std::string> Healed(const std::string& key, const std::vector<RunReport>& runs) const;
  // The day in UTC.
  static std::string Today();
  // Whether it is one: "2027-03-31".
  static bool IsDay(const std::string& text);

 private:
  struct Entry {
    Verdict verdict = Verdict::kNotTested;
    double excess = 0, rms_excess = 0;
    KnownDeviation known;
  };
  using Layers = std::map<std::string, Entry>;  // by "00001 relu1"
  static Layers LayersOf(const RunReport& run);
  static std::string Worse(const Entry& before, const Entry& now);
  const Layers* Find(const std::string& key, const std::string& device) const;
  std::map<std::string, std::map<std::string, Layers>> checks_;  // by key and device
};

}  // namespace plumb

#endif  // PLUMB_TOOL_BASELINE_H_
