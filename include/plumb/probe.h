// Whether being watched changed what a foreign runtime computed: each network output of its dump beside the same output
// of a run on the same input that exposed nothing else. `plumb-golden --prove-probe` finds out and writes it into the
// dump (doc/dump_format.md, "probe").
#ifndef PLUMB_PROBE_H_
#define PLUMB_PROBE_H_

#include <string>
#include <vector>

namespace plumb {

enum class ProbeResult { kSameBits, kWithinRounding, kDifferent };

// "same bits", "within rounding", "different".
const char* ProbeResultName(ProbeResult result);

struct ProbedOutput {
  std::string blob;
  ProbeResult result = ProbeResult::kSameBits;
  double relative = 0;  // the largest difference over the largest value; NaN where there is none
  std::string reason;   // of a difference
};

struct Probe {
  std::string unwatched;              // how the other run was made: "its default delegates"
  std::vector<ProbedOutput> outputs;  // empty: nobody asked

  // "unwatched (its default delegates) 1 of 2 outputs has the same bits; 'prob' differs by 1.2e-07 ..."
  std::string Describe() const;
};

}  // namespace plumb

#endif  // PLUMB_PROBE_H_
