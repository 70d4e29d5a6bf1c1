// SPDX-License-Identifier: Apache-2.0
// TNN's types that are several operators of ours, or one of them with other inputs: an LSTMONNX is a PlumbLSTM whose
// result is laid out anew. The reader puts those layers in place of the file's line. The last one writes the line's
// blob; what stands between is called "<layer>/<what>", and all of them name the line as their node.
// translation_list.def lists the types.
#ifndef PLUMB_FORMAT_TNN_TRANSLATE_H_
#define PLUMB_FORMAT_TNN_TRANSLATE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "op/core/op.h"

namespace plumb::tnn {

// The layers of one line.
class LineLayers {
 public:
  // line: name, inputs, outputs and the parameters that the type's make_param() made. graph: where they are put.
  LineLayers(const Layer& line, Graph* graph) : line_(line), graph_(*graph) {}

  const Layer& line() const { return line_; }
  // CorruptModel, "expects <which>", for another number of inputs.
  Status ExpectInputs(size_t least, size_t most, const char* which) const;
  // "<layer>/<what>"
  std::string Name(const std::string& what) const { return line_.name + "/" + what; }
  // A constant of that name; of one element.
  std::string Constant(const std::string& what, Tensor value);
  Result<std::string> Scalar(const std::string& what, DType dtype, double value);
  // A layer that writes `outputs`; it is called after the first one, or as the line where that is the line's own blob.
  void Add(OpKind kind, std::vector<std::string> inputs, std::vector<std::string> outputs,
           std::shared_ptr<OpParam> param = nullptr);
  // What TNN counts, it counts in i32: the line's result from such a blob.
  void AddAsInt32(const std::string& from);

 private:
  const Layer& line_;
  Graph& graph_;
};

struct Translation {
  std::shared_ptr<OpParam> (*make_param)() = nullptr;
  Status (*translate)(LineLayers* layers) = nullptr;
};

// The type's; without `translate`: it has none.
Translation FindTranslation(std::string_view type);

#define PLUMB_TNN_TRANSLATION(type, file) Translation type##Translation();
#include "format/tnn/translation_list.def"
#undef PLUMB_TNN_TRANSLATION

template <class P, class F>
std::shared_ptr<OpParam> ParamWith(F set) {
  auto param = std::make_shared<P>();
  set(param.get());
  return param;
}

}  // namespace plumb::tnn

#endif  // PLUMB_FORMAT_TNN_TRANSLATE_H_
