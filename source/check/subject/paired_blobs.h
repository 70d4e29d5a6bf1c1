// SPDX-License-Identifier: Apache-2.0
// Survey: what a foreign set of tensors is as a whole, before any layer is judged: which tensor is which blob, which
// memory layout it has, and whether every tensor can be read. Found once for the whole set, never per tensor, because
// one transposed tensor is precisely a fault; only a model that changes the layout itself has tensors of both.
#ifndef PLUMB_CHECK_SUBJECT_PAIRED_BLOBS_H_
#define PLUMB_CHECK_SUBJECT_PAIRED_BLOBS_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "check/numbers/half_storage.h"
#include "check/subject/integer_grids.h"
#include "interop/pairing.h"
#include "interop/tensor_set.h"
#include "plumb/check.h"
#include "plumb/model.h"

namespace plumb {

struct SurveyOptions {
  std::string what = "subject";  // "golden", in messages
  NameOptions names;
  std::string layout;                    // "NCHW", "NHWC"; "": found
  const ImportRecord* record = nullptr;  // its constants that nodes compute may be in the set, too
};

// The tensors of a set as blobs of a graph: NCHW, of the graph's dtypes.
class PairedBlobs : public BlobSource {
 public:
  // Reads every paired tensor once, so that a broken file is an error here (CorruptModel ...) and no verdict later.
  // InvalidArgument: no tensor has the name of a blob, a dtype that cannot stand for the blob's.
  static Result<std::unique_ptr<PairedBlobs>> Create(TensorSet set, const Graph& graph, const BlobTable& blobs,
                                                     const SurveyOptions& options);

  bool Has(const std::string& blob) const override { return paired_.count(blob) != 0; }
  Result<Tensor> Load(const std::string& blob) const override;
  // What a network input was before a quantised copy rounded it: the tensor of its own name, or `given` (null: none)
  // where the set holds that rounded. Of any other set Load.
  Result<Tensor> LoadInput(const std::string& blob, const Tensor* given) const;
  Numerics ComputedBy(const std::string& blob) const override { return set_.tensors()[paired_.at(blob)].numerics; }

  const TensorSet& set() const { return set_; }
  // Sentences for the report: what it is, layout, pairing.
  const std::vector<std::string>& notes() const { return notes_; }
  const char* layout() const { return nhwc_ || as_declared_ ? "NHWC" : "NCHW"; }
  size_t num_paired() const { return paired_.size(); }
  const HalfStorage& half_storage() const { return half_storage_; }
  // Whether it is of a quantised copy of the model, or at least two, and three of four, of its float tensors of 16
  // values that a sum of products stands behind lie on grids of at most 256 steps.
  bool maybe_int8() const { return maybe_int8_; }
  bool of_quantised_copy() const { return of_quantised_copy_; }

 private:
  // Reals in the place of a blob's integers as these.
  Result<Tensor> AsIntegers(const std::string& blob, const StoredTensor& stored, Tensor value) const;
  Result<Tensor> LoadAs(const std::string& blob, size_t place) const;
  bool IsChannelsLast(const std::string& blob, const Shape& stored) const;
  void GiveToInputs(const std::map<std::string, std::string>& before, const Graph& graph, const BlobTable& blobs);
  Result<Tensor> InShapeOf(const BlobInfo& info, Tensor value) const;
  void GiveToActivations(const std::map<std::string, std::string>& activated, const BlobTable& blobs);
  explicit PairedBlobs(TensorSet set) : set_(std::move(set)) {}
  Status Pair(const Graph& graph, const BlobTable& blobs, const SurveyOptions& options);
  size_t PairStandIns(const std::vector<std::string>& model, const NameOptions& names, const BlobTable& blobs,
                      std::vector<size_t>* unpaired);
  void LogPairs(const std::string& what) const;
  Status PairConstants(const ImportRecord& record, std::vector<size_t>* unpaired);
  Status Survey(const Graph& graph, const BlobTable& blobs, const SurveyOptions& options);

  TensorSet set_;
  std::map<std::string, size_t> paired_;      // blob -> tensor of the set
  std::map<std::string, BlobInfo> expected_;  // of the paired blobs
  std::set<std::string> stand_ins_;           // those of them whose tensor stands for them in a quantised copy
  std::map<std::string, size_t> before_;      // of these what bears the blob's own name
  std::set<std::string> constants_;           // those of them that nodes compute from constants
  std::map<std::string, IntegerGrid> grids_;  // of the graph's blobs of integers
  bool nhwc_ = false;
  bool as_declared_ = false;                           // the model has an order of its own, and they are in that
  std::map<std::string, std::vector<int>> file_axes_;  // of the paired blobs: Graph::file_axes
  std::map<std::string, bool> channels_first_;         // where the model itself goes from one layout to the other
  HalfStorage half_storage_;
  bool maybe_int8_ = false;
  bool of_quantised_copy_ = false;
  bool of_other_format_ = false;  // of another file of the network
  std::vector<std::string> notes_;
};

}  // namespace plumb

#endif  // PLUMB_CHECK_SUBJECT_PAIRED_BLOBS_H_
