// SPDX-License-Identifier: Apache-2.0
// TopK, PlumbTopK: every element counts those that come before it, which is its place. Long rows are thinned out first:
// only the k first of each chunk remain candidates.
#include "op/top_k.h"

#include <algorithm>

#include "device/gpu/kernel_list.h"

namespace plumb::gpu {
namespace {

// Each round keeps at most a quarter.
int64_t ChunkOf(const TopKShape& s) { return std::max<int64_t>(64, 4 * s.k); }

struct Candidates {
  int64_t count;  // of a row
  bool listed;
  Port list;  // i32; any buffer where they are all elements
};

Port AddRanks(Plan* plan, const TopKShape& s, const Candidates& c, int64_t chunk, const std::string& number) {
  const int64_t count = s.outer * s.inner * c.count;
  const Port ranks = plan->Scratch(count, "i32");
  Launch rank{"rank_" + number, {ranks, plan->In(0, number), c.listed ? c.list : plan->Ints({0})}, {count}};
  rank.Int(s.size).Int(s.inner).Int(c.count).Int(s.largest).Int(chunk).Int(c.listed);
  plan->AddParts(rank, chunk);
  return ranks;
}

Candidates ThinOut(Plan* plan, const TopKShape& s, const Candidates& c, const std::string& number) {
  const int64_t chunk = ChunkOf(s), rows = s.outer * s.inner;
  const Port ranks = AddRanks(plan, s, c, chunk, number);
  const int64_t kept = c.count / chunk * s.k + std::min(c.count % chunk, s.k);
  const Port list = plan->Scratch(rows * kept, "i32");
  plan->Add("keep_by_rank", rows * c.count, {list, ranks, c.listed ? c.list : plan->Ints({0})})
      .Int(c.count)
      .Int(chunk)
      .Int(s.k)
      .Int(kept)
      .Int(c.listed);
  return {kept, true, list};
}

}  // namespace

Status plan_top_k(Plan* plan) {
  const DType dtype = plan->in(0).dtype;
  PLUMB_ASSIGN_OR_RETURN(const std::string number, plan->NumberOrF64(dtype));
  PLUMB_ASSIGN_OR_RETURN(const TopKShape s, ResolveTopK(plan->layer(), plan->spec.inputs));
  if (s.k == 0 || plan->in(0).shape.NumElements() == 0) return Status::Ok();
  Candidates c{s.size, false, {}};
  while (c.count > 2 * ChunkOf(s)) c = ThinOut(plan, s, c, number);
  const Port ranks = AddRanks(plan, s, c, c.count, number);
  const std::string bits = plan->Bits(dtype);
  plan->Add("place_by_rank_" + bits, s.outer * s.inner * c.count,
            {plan->Out(0, bits), plan->Out(1, "i32"), plan->In(0, bits), ranks, c.listed ? c.list : plan->Ints({0})})
      .Int(s.size)
      .Int(s.inner)
      .Int(s.k)
      .Int(c.count)
      .Int(c.listed)
      .Int(plan->out(1).dtype == DType::kI64);
  return Status::Ok();
}

}  // namespace plumb::gpu
