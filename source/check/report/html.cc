// SPDX-License-Identifier: Apache-2.0
// The report for a browser: one page that holds its style, its program, the layout of graphs (third_party/dagre), the
// JSON report and, in a second JSON, what only the page needs: who reads whose output, and how errors are spread.
#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/embed.h"
#include "base/text.h"
#include "check/report/util.h"
#include "plumb/graph.h"
#include "plumb/model.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace page {
extern const EmbeddedFile kEmbedded[];
extern const size_t kNumEmbedded;
}  // namespace page

namespace {

using PageJson = nlohmann::ordered_json;

std::string_view PagePart(std::string_view name) {
  for (size_t i = 0; i < page::kNumEmbedded; ++i) {
    if (page::kEmbedded[i].name == name) return page::kEmbedded[i].text();
  }
  return "";
}

// What no letter of can end the element that holds it.
std::string Inert(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) c == '<' ? text += "\\u003c" : text += c;
  return text;
}

std::string EscapedHtml(const std::string& text) {
  std::string html;
  for (const char c : PrintableLine(text)) {
    switch (c) {
      case '&': html += "&amp;"; break;
      case '<': html += "&lt;"; break;
      case '>': html += "&gt;"; break;
      case '"': html += "&quot;"; break;
      default: html += c;
    }
  }
  return html;
}

// Of so many digits, which are all that a picture shows; what is not finite as in the report.
PageJson Rounded(double value, int digits) {
  if (!std::isfinite(value)) return Number(value, digits);
  if (value == std::trunc(value) && std::fabs(value) < 1e6) return static_cast<int64_t>(value);
  return std::strtod(Number(value, digits).c_str(), nullptr);
}

PageJson RoundedAll(const std::vector<double>& values, int digits) {
  PageJson rounded = PageJson::array();
  for (const double value : values) rounded.push_back(Rounded(value, digits));
  return rounded;
}

PageJson PictureJson(const ErrorPicture& picture) {
  PageJson maps = PageJson::array();
  for (const ErrorMap& map : picture.maps) {
    PageJson one = {{"channel", map.channel}, {"E", RoundedAll(map.excess, 2)}};
    if (map.channel >= 0 || picture.maps.size() == 1) {  // the worst of all channels is no image
      one["device"] = RoundedAll(map.device, 3);
      one["reference"] = RoundedAll(map.reference, 3);
    }
    maps.push_back(std::move(one));
  }
  return {{"values", picture.values},
          {"exact", picture.exact},
          {"outside", picture.outside},
          {"mean", Rounded(picture.mean, 3)},
          {"reach", Rounded(picture.reach, 3)},
          {"histogram", picture.histogram},
          {"quantiles", RoundedAll(picture.quantiles, 3)},
          {"size", {picture.rows, picture.columns, picture.height, picture.width}},
          {"maps", std::move(maps)}};
}

PageJson BlobsOf(const std::vector<PortInfo>& ports) {
  PageJson blobs = PageJson::array();
  for (const PortInfo& port : ports) {
    if (!port.constant) blobs.push_back(port.blob);
  }
  return blobs;
}

PageJson StepsJson(const RunReport& run) {
  PageJson steps = PageJson::array();
  for (const LayerReport& layer : run.layers) {
    PageJson pictures = PageJson::array();
    for (const OutputReport& output : layer.outputs)
      pictures.push_back(output.picture == nullptr ? PageJson(nullptr) : PictureJson(*output.picture));
    steps.push_back({{"reads", BlobsOf(layer.step.inputs)},
                     {"writes", BlobsOf(layer.step.outputs)},
                     {"pictures", std::move(pictures)}});
  }
  return steps;
}

PageJson ModelJson(const Graph* model, const FileNodes& file) {
  PageJson layers = PageJson::array();
  for (const Layer& layer : model == nullptr ? std::vector<Layer>() : model->layers) {
    const auto place = static_cast<size_t>(layer.index);
    layers.push_back({{"index", layer.index},
                      {"name", layer.name},
                      {"type", layer.type},
                      {"nodes", layer.nodes},
                      {"source_line", layer.source_line},
                      {"node", place < file.of_layers.size() ? file.of_layers[place] : -1},
                      {"reads", layer.inputs},
                      {"writes", layer.outputs}});
  }
  return layers;
}

PageJson FileJson(const FileNodes& file) {
  constexpr const char* kFates[] = {"layers", "folded", "handed on", "unread"};
  PageJson nodes = PageJson::array();
  for (const FileNodes::Node& node : file.nodes) {
    nodes.push_back({{"name", node.name},
                     {"type", node.type},
                     {"fate", kFates[static_cast<int>(node.fate)]},
                     {"source_line", node.source_line},
                     {"reads", node.inputs},
                     {"inner_reads", node.inner_inputs},
                     {"writes", node.outputs}});
  }
  return {{"format", file.format}, {"nodes", std::move(nodes)}};
}

std::string DrawnJson(const CheckResult& result) {
  PageJson runs = PageJson::array();
  for (const RunReport& run : result.runs) runs.push_back(StepsJson(run));
  PageJson inputs = PageJson::array();
  for (const GraphInput& input : result.model == nullptr ? std::vector<GraphInput>() : result.model->inputs)
    inputs.push_back(input.name);
  const FileNodes file = result.file_nodes == nullptr ? FileNodes() : *result.file_nodes;
  const PageJson drawn = {{"inputs", std::move(inputs)},
                          {"file", FileJson(file)},
                          {"model", ModelJson(result.model.get(), file)},
                          {"runs", std::move(runs)}};
  return drawn.dump(-1, ' ', false, PageJson::error_handler_t::replace);
}

std::string Program() {
  std::string program;
  for (const char* part :
       {"base.js", "layout.js", "graph.js", "list.js", "plots.js", "views.js", "details.js", "main.js"})
    program += PagePart(part);
  return program;
}

}  // namespace

int PictureCells(size_t layers) { return layers <= 300 ? 16 : layers <= 2000 ? 8 : 4; }

std::string FormatHtml(const CheckResult& result) {
  const std::vector<std::pair<std::string, std::string>> fills = {{"@title@", EscapedHtml(result.checked.model)},
                                                                  {"@style@", std::string(PagePart("page.css"))},
                                                                  {"@verdict@", EscapedHtml(Conclude(result).line)},
                                                                  {"@report@", Inert(FormatJson(result, -1))},
                                                                  {"@drawn@", Inert(DrawnJson(result))},
                                                                  {"@layout@", std::string(PagePart("dagre.js"))},
                                                                  {"@program@", Program()}};
  std::string_view rest = PagePart("page.html");
  std::string html;
  for (const auto& [mark, text] : fills) {  // in the order in which the page has them: what is filled in has none
    const size_t place = rest.find(mark);
    html += rest.substr(0, place);
    html += text;
    rest.remove_prefix(place + mark.size());
  }
  return html.append(rest);
}

}  // namespace plumb
