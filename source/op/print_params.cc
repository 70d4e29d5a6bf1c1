// A layer's parameters as names and values, and what it costs (plumb/support.h).
#include <charconv>

#include "op/op.h"
#include "plumb/support.h"

namespace plumb {
namespace {

class Lister : public ParamVisitor {
 public:
  void Int(const char* name, int& value, Need) override { Put(name, std::to_string(value)); }
  void Float(const char* name, float& value, Need) override {
    char text[32];
    Put(name, std::string(text, std::to_chars(text, text + sizeof(text), value).ptr));
  }
  void Bool(const char* name, bool& value, Need) override { Put(name, value ? "1" : "0"); }
  void Text(const char* name, std::string& value, Need) override { Put(name, value); }
  void Counted(const char* name, std::vector<int>& values, Need) override { List(name, values); }
  void Fixed(const char* name, std::vector<int>& values, size_t, Need) override { List(name, values); }
  void Rest(const char* name, std::vector<int>& values) override { List(name, values); }
  void Ignored(const char*) override {}

  std::vector<std::pair<std::string, std::string>> fields;

 private:
  void Put(const char* name, std::string value) { fields.emplace_back(name, std::move(value)); }
  void List(const char* name, const std::vector<int>& values) {
    std::string text = "[";
    for (int value : values) text += (text.size() > 1 ? "," : "") + std::to_string(value);
    Put(name, text + "]");
  }
};

}  // namespace

std::vector<std::pair<std::string, std::string>> ListParams(const Layer& layer) {
  Lister lister;
  layer.param->Visit(lister);
  return std::move(lister.fields);
}

double CountOperations(const Layer& layer, const BlobTable& blobs) {
  const OpDef& op = GetOp(layer.kind);
  if (op.moves_data_only) return 0;
  std::vector<BlobInfo> inputs, outputs;
  for (const std::string& name : layer.inputs) inputs.push_back(blobs.at(name));
  for (const std::string& name : layer.outputs) outputs.push_back(blobs.at(name));
  if (op.flops != nullptr) return op.flops(layer, inputs, outputs);
  double elements = 0;
  for (const BlobInfo& output : outputs) elements += static_cast<double>(output.shape.NumElements());
  return elements;
}

}  // namespace plumb
