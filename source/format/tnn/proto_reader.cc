// SPDX-License-Identifier: Apache-2.0
// The tnnproto reader. Quotes and line feeds mean nothing, commas end the pieces: header, inputs, all blobs (not read),
// outputs, layer count (only compared), then one layer per piece.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>

#include "format/tnn/names.h"
#include "format/tnn/param_tokens.h"
#include "format/tnn/proto.h"
#include "format/tnn/translate.h"
#include "format/tnn/types.h"

namespace plumb::tnn {
namespace {

constexpr int64_t kProtoReaderMaxRank = 16;  // TNN's own limit is lower; a guard against a count that is garbage

// One comma-separated piece and the line where it begins.
struct Piece {
  std::string text;
  int line = 1;
};

bool IsBlank(char byte) { return static_cast<unsigned char>(byte) <= 0x20; }

Result<std::vector<Piece>> SplitPieces(std::string_view text) {
  std::vector<Piece> pieces(1);
  int line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    Piece& piece = pieces.back();
    if (byte == '\0') {
      if (text.find_first_not_of(std::string_view("\0 \t\r\n", 5), i) == std::string_view::npos) break;
      return Status::CorruptModel(
          fmt::format("line {}: byte {} is NUL: this is no text file; expected a tnnproto", line, i));
    }
    if (byte == '\n') ++line;
    if (byte == '"' || byte == '\n') continue;
    if (byte == ',') {
      if (pieces.size() <= 5 || !piece.text.empty()) pieces.emplace_back();  // empty layer pieces mean nothing
      continue;
    }
    if (piece.text.empty()) {
      if (IsBlank(byte)) continue;
      piece.line = line;
    }
    piece.text += byte;
  }
  for (Piece& piece : pieces) {
    while (!piece.text.empty() && IsBlank(piece.text.back())) piece.text.pop_back();
  }
  return pieces;
}

std::vector<std::string_view> SplitTokens(std::string_view text, char separator = ' ') {
  std::vector<std::string_view> tokens;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) tokens.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return tokens;
}

class Parser {
 public:
  explicit Parser(const std::string& source) { proto_.graph.source = source; }

  Result<Proto> Parse(std::string_view text) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<Piece> pieces, SplitPieces(text));
    if (pieces.size() < 6) {
      return Status::CorruptModel(
          fmt::format("expected 5 header lines and the layers, each ended by a comma, found {} commas: the file is "
                      "empty, cut short or no tnnproto",
                      pieces.size() - 1));
    }
    PLUMB_RETURN_IF_ERROR(At(pieces[0], "header", ParseHeader(pieces[0].text)));
    PLUMB_RETURN_IF_ERROR(At(pieces[1], "inputs", ParseInputs(pieces[1].text)));
    PLUMB_RETURN_IF_ERROR(At(pieces[3], "outputs", ParseOutputs(pieces[3].text)));
    for (size_t i = 5; i < pieces.size(); ++i) {
      if (pieces[i].text.empty()) continue;
      const std::string what = "layer " + std::to_string(num_layers_);
      PLUMB_RETURN_IF_ERROR(At(pieces[i], what, ParseLayer(SplitTokens(pieces[i].text))));
      ++num_layers_;
    }
    PLUMB_RETURN_IF_ERROR(Unsupported());
    CompareLayerCount(pieces[4].text);
    return std::move(proto_);
  }

 private:
  static Status At(const Piece& piece, const std::string& what, const Status& status) {
    return status.AddContext(fmt::format("line {}: {}", piece.line, what));
  }

  Status ParseHeader(std::string_view text) {
    const std::vector<std::string_view> tokens = SplitTokens(text);
    if (tokens.size() < 4) {
      return Status::CorruptModel(
          "expected 4 fields, the last one the magic 4206624770 (v1) or 4206624772 (v2), found " +
          std::to_string(tokens.size()));
    }
    PLUMB_ASSIGN_OR_RETURN(const int64_t magic, ParseInteger(tokens[3], 0, std::numeric_limits<uint32_t>::max()));
    if (magic != kMagicV1 && magic != kMagicV2) {
      return Status::CorruptModel("expected the magic 4206624770 (v1) or 4206624772 (v2), found " +
                                  std::string(tokens[3]));
    }
    version_ = magic == kMagicV1 ? 1 : 2;
    proto_.escaped = tokens[2] == kEscapedHeader;
    return Status::Ok();
  }

  Result<std::string> Name(std::string_view token) const {
    if (proto_.escaped) return UnescapeName(token);
    return std::string(token);
  }

  Status ParseInputs(std::string_view text) {
    for (const std::string_view one : SplitTokens(text, ':')) {
      const std::vector<std::string_view> tokens = SplitTokens(one);
      if (tokens.empty()) continue;
      GraphInput input;
      PLUMB_ASSIGN_OR_RETURN(input.name, Name(tokens[0]));
      const Status status = version_ == 1 ? ParseInputV1(tokens, &input) : ParseInputV2(tokens, &input);
      PLUMB_RETURN_IF_ERROR(status.AddContext(fmt::format("input '{}'", input.name)));
      proto_.graph.inputs.push_back(std::move(input));
    }
    return Status::Ok();
  }

  // name d0 d1 ...
  static Status ParseInputV1(const std::vector<std::string_view>& tokens, GraphInput* input) {
    if (tokens.size() > static_cast<size_t>(kProtoReaderMaxRank) + 1) {
      return Status::CorruptModel(
          fmt::format("expected at most {} dims, found {}", kProtoReaderMaxRank, tokens.size() - 1));
    }
    if (tokens.size() < 2) return Status::CorruptModel("expected at least one dim behind the name, found none");
    return ParseDims(tokens, 1, tokens.size(), input);
  }

  // name rank d0 ... dtype
  static Status ParseInputV2(const std::vector<std::string_view>& tokens, GraphInput* input) {
    if (tokens.size() < 3) return Status::CorruptModel("expected rank, dims and dtype behind the name");
    PLUMB_ASSIGN_OR_RETURN(const int64_t rank, ParseInteger(tokens[1], 0, kProtoReaderMaxRank));
    if (tokens.size() != static_cast<size_t>(rank) + 3) {
      return Status::CorruptModel(
          fmt::format("expected {} dims and a dtype behind the rank, found {} fields", rank, tokens.size() - 2));
    }
    PLUMB_RETURN_IF_ERROR(ParseDims(tokens, 2, tokens.size() - 1, input));
    PLUMB_ASSIGN_OR_RETURN(const int64_t number, ParseInteger(tokens.back(), -1, 65535));
    const std::optional<DType> dtype = number == -1 ? DType::kF32 : FindDataType(number);  // -1: TNN's "auto"
    if (!dtype)
      return Status::CorruptModel("expected a data type number (0 f32, 3 i32 ...), found " + std::to_string(number));
    input->dtype = *dtype;
    return Status::Ok();
  }

  static Status ParseDims(const std::vector<std::string_view>& tokens, size_t begin, size_t end, GraphInput* input) {
    for (size_t i = begin; i < end; ++i) {
      const Result<int64_t> dim = ParseInteger(tokens[i], -1, std::numeric_limits<int32_t>::max());
      if (!dim.ok()) return dim.status().AddContext("dim " + std::to_string(i - begin));
      input->shape.dims().push_back(*dim);
    }
    return Status::Ok();
  }

  Status ParseOutputs(std::string_view text) {
    std::set<std::string> seen;
    for (const std::string_view token : SplitTokens(text)) {
      PLUMB_ASSIGN_OR_RETURN(std::string name, Name(token));
      if (seen.insert(name).second) proto_.graph.outputs.push_back(std::move(name));
    }
    if (seen.empty()) return Status::CorruptModel("expected at least one network output, found none");
    return Status::Ok();
  }

  // Type name n_in n_out inputs outputs parameters
  Status ParseLayer(const std::vector<std::string_view>& tokens) {
    if (tokens.size() < 4) {
      return Status::CorruptModel(
          fmt::format("expected type, name, input count and output count, found {} fields", tokens.size()));
    }
    Layer layer;
    PLUMB_ASSIGN_OR_RETURN(layer.name, Name(tokens[1]));
    const std::string type(tokens[0].substr(0, 100));
    const Status status = ParseLayerOfType(type, tokens, &layer);
    return status.AddContext(fmt::format("'{}' ({})", layer.name, type));
  }

  Status ParseLayerOfType(const std::string& type, const std::vector<std::string_view>& tokens, Layer* layer) {
    const std::optional<LayerType> found = FindLayerType(type);
    if (!found) {
      return Status::CorruptModel(
          "the type is unknown to TNN and to Plumb; check its spelling (case matters), or whether a "
          "newer version wrote the file");
    }
    PLUMB_ASSIGN_OR_RETURN(const size_t next, ParseBlobs(tokens, layer));
    const Translation translation = found->op == nullptr ? FindTranslation(type) : Translation();
    if (translation.translate != nullptr)
      return Translate(translation, type, {tokens.begin() + static_cast<std::ptrdiff_t>(next), tokens.end()}, layer);
    if (found->op == nullptr) {
      unsupported_.push_back(fmt::format("'{}' ({})", layer->name, type));
      return Status::Ok();
    }
    layer->kind = found->op->kind;
    layer->type = found->op->name;
    layer->index = static_cast<int>(proto_.graph.layers.size());
    layer->quantized = found->quantized;
    layer->dynamic_range_quantized = found->dynamic_range_quantized;
    layer->param = found->op->make_param();
    PLUMB_RETURN_IF_ERROR(
        ParseParams(found->number < 0, {tokens.begin() + static_cast<std::ptrdiff_t>(next), tokens.end()}, layer));
    proto_.graph.layers.push_back(std::move(*layer));
    return Status::Ok();
  }

  Status Translate(const Translation& translation, const std::string& type, const std::vector<std::string_view>& tokens,
                   Layer* line) {
    if (line->outputs.empty()) return Status::CorruptModel("expected at least one output name, found none");
    line->param = translation.make_param();
    line->type = type;
    const size_t first = proto_.graph.layers.size();
    line->index = static_cast<int>(first);
    PLUMB_RETURN_IF_ERROR(ParseParams(false, tokens, line));
    LineLayers layers(*line, &proto_.graph);
    PLUMB_RETURN_IF_ERROR(translation.translate(&layers));
    for (size_t i = first; i < proto_.graph.layers.size(); ++i) proto_.graph.layers[i].index = static_cast<int>(i);
    return Status::Ok();
  }

  // The blob names; returns the index of the first parameter.
  Result<size_t> ParseBlobs(const std::vector<std::string_view>& tokens, Layer* layer) {
    const auto left = static_cast<int64_t>(tokens.size()) - 4;
    size_t next = 4;
    const auto read = [&](size_t field, const char* what, std::vector<std::string>* names) -> Status {
      const Result<int64_t> count = ParseInteger(tokens[field], 0, std::numeric_limits<int32_t>::max());
      if (!count.ok()) return count.status().AddContext(fmt::format("field '{} count'", what));
      if (*count > left - static_cast<int64_t>(next - 4)) {
        return Status::CorruptModel(fmt::format("expected {} {} names, found the end of the line", *count, what));
      }
      for (int64_t i = 0; i < *count; ++i) {
        PLUMB_ASSIGN_OR_RETURN(std::string name, Name(tokens[next++]));
        names->push_back(std::move(name));
      }
      return Status::Ok();
    };
    PLUMB_RETURN_IF_ERROR(read(2, "input", &layer->inputs));
    PLUMB_RETURN_IF_ERROR(read(3, "output", &layer->outputs));
    return next;
  }

  // Surplus tokens mean nothing to TNN, whose files have them; in a type of our own they are a mistake.
  Status ParseParams(bool own_type, const std::vector<std::string_view>& tokens, Layer* layer) {
    PLUMB_ASSIGN_OR_RETURN(const size_t used, ReadParams(tokens, proto_.escaped, layer->param.get()));
    if (used >= tokens.size()) return Status::Ok();
    std::string surplus;
    for (size_t i = used; i < tokens.size() && surplus.size() < 100; ++i) surplus += " " + std::string(tokens[i]);
    if (own_type) {
      return Status::CorruptModel(
          fmt::format("expected {} parameters, found {}; the surplus is{}", used, tokens.size(), surplus));
    }
    proto_.graph.notes.push_back(fmt::format("layer {} '{}' ({}): surplus parameters are ignored, as TNN does:{}",
                                             layer->index, layer->name, layer->type, surplus));
    return Status::Ok();
  }

  Status Unsupported() const {
    if (unsupported_.empty()) return Status::Ok();
    constexpr size_t kShown = 50;
    std::string names;
    for (size_t i = 0; i < std::min(unsupported_.size(), kShown); ++i) names += (i == 0 ? "" : ", ") + unsupported_[i];
    if (unsupported_.size() > kShown) names += fmt::format(" and {} more", unsupported_.size() - kShown);
    return Status::NotSupported(
        fmt::format("{} of {} layers have a type of TNN's that Plumb has no operator for: {}; replace them, or cut the "
                    "network before the first of them",
                    unsupported_.size(), num_layers_, names));
  }

  void CompareLayerCount(std::string_view text) {
    const Result<int64_t> declared = ParseInteger(text, 0, std::numeric_limits<int64_t>::max());
    if (declared.ok() && *declared == num_layers_) return;
    proto_.graph.notes.push_back(fmt::format("the header says {} layers, the file has {}: it may be cut short",
                                             std::string(text.substr(0, 40)), num_layers_));
  }

  Proto proto_;
  int version_ = 2;
  int num_layers_ = 0;
  std::vector<std::string> unsupported_;
};

}  // namespace

Result<Proto> ParseProto(std::string_view text, const std::string& source) {
  Result<Proto> proto = Parser(source).Parse(text);
  if (!proto.ok()) return proto.status().AddContext(fmt::format("model '{}'", source));
  return proto;
}

}  // namespace plumb::tnn
