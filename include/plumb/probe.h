// What a dump says of other runs on the same input. Whether being watched changed what a foreign runtime computed: each
// network output beside the same output of a run that exposed nothing else (`plumb-golden --prove-probe`). And whether
// it computes every tensor again: in a fresh session, as a later run, with other threads, as part of a batch (--runs,
// --threads, --batch). doc/dump_format.md, "probe" and "repeats".
#ifndef PLUMB_PROBE_H_
#define PLUMB_PROBE_H_

#include <cstdint>
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

// Every tensor once more, run otherwise.
struct RepeatedRun {
  std::string how;  // "later runs of one session", "4 threads"
  int64_t runs = 1, tensors = 0, changed = 0;
  ProbeResult result = ProbeResult::kSameBits;  // the worst of its tensors
  std::string first;                            // the first blob that changes; where one is different: of these
  std::string first_type;                       // its operator's, or empty
  double relative = 0;                          // as above, of the first
  std::string reason;                           // of a difference

  // "repeated: with 4 threads 12 of 126 tensors change, within rounding; the first: 'conv1' (Conv), by 1.2e-07 ..."
  std::string Describe() const;
};

struct Probe {
  std::string unwatched;              // how the other run was made: "its default delegates"
  std::vector<ProbedOutput> outputs;  // empty: nobody asked
  std::vector<RepeatedRun> repeats;   // likewise

  // "probe: run unwatched (its default delegates), 1 of 2 outputs has the same bits; 'prob' differs within rounding, by
  // 1.2e-07 of its largest value", and where an output is another result that what is judged is not what runs.
  std::string Describe() const;
};

}  // namespace plumb

#endif  // PLUMB_PROBE_H_
