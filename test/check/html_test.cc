// SPDX-License-Identifier: Apache-2.0
// The page for a browser: one file that loads nothing, holds the JSON report whole, and in which no name is markup.
// What a browser makes of it: test/tools/page/page_test.py.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "check/judge/picture.h"
#include "plumb/graph.h"
#include "plumb/model.h"
#include "plumb/report.h"

namespace plumb {
namespace {

constexpr const char* kHostile = "</script><!--<img src=x onerror=alert(1)>\"'&@report@\xe2\x80\xae";

Tensor Values(const Shape& shape, const std::vector<double>& values, DType dtype = DType::kF64) {
  Tensor tensor = Tensor::Create(dtype, shape).value();
  for (size_t i = 0; i < values.size(); ++i) {
    dtype == DType::kF64 ? tensor.data<double>()[i] = values[i]
                         : tensor.data<float>()[i] = static_cast<float>(values[i]);
  }
  return tensor;
}

CheckResult Hostile() {
  CheckResult result;
  result.checked.model = kHostile;
  GraphBuilder builder;
  builder.Input(kHostile, Shape({1, 2}));
  builder.Add("ReLU", {kHostile}, {"out"});
  builder.Output("out");
  result.model = std::make_shared<const Graph>(builder.Build().value());
  auto file = std::make_shared<FileNodes>();
  file->format = "ONNX";
  file->nodes = {{"c", "Constant", {}, {"k"}, "", FileNodes::Fate::kFolded, {}},
                 {kHostile, "Relu", {kHostile}, {"out"}, "", FileNodes::Fate::kLayers, {"k"}}};
  file->of_layers = {1};
  result.file_nodes = file;
  RunReport run;
  run.device = "X86";
  run.verdict = Verdict::kWrong;
  LayerReport layer;
  layer.step.name = kHostile;
  layer.step.members.push_back({0, kHostile, "ReLU", {kHostile}, ""});
  PortInfo port;
  port.blob = kHostile;
  layer.step.inputs.push_back(port);
  layer.reason = kHostile;
  layer.verdict = Verdict::kWrong;
  OutputReport output;
  output.blob = "out";
  output.excess = INFINITY;
  output.picture = std::make_shared<const ErrorPicture>();
  layer.outputs.push_back(output);
  run.layers.push_back(layer);
  result.runs.push_back(run);
  return result;
}

std::string Element(const std::string& html, const std::string& open) {
  const size_t begin = html.find(open) + open.size();
  return html.substr(begin, html.find("</script>", begin) - begin);
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Html, HoldsTheJsonReport) {
  const CheckResult result = Hostile();
  const std::string html = FormatHtml(result);
  const std::string report = Element(html, "<script type=\"application/json\" id=\"report\">");
  EXPECT_EQ(nlohmann::json::parse(report), nlohmann::json::parse(FormatJson(result)));
  const auto drawn = nlohmann::json::parse(Element(html, "<script type=\"application/json\" id=\"drawn\">"));
  EXPECT_EQ(drawn["runs"][0][0]["reads"][0], kHostile);
  EXPECT_EQ(drawn["inputs"][0], kHostile);
  EXPECT_EQ(drawn["model"][0]["type"], "ReLU");
  EXPECT_EQ(drawn["model"][0]["node"], 1);
  EXPECT_EQ(drawn["file"]["format"], "ONNX");
  EXPECT_EQ(drawn["file"]["nodes"][0]["fate"], "folded");
  EXPECT_EQ(drawn["file"]["nodes"][1]["name"], kHostile);
  EXPECT_EQ(drawn["file"]["nodes"][1]["fate"], "layers");
  EXPECT_EQ(drawn["file"]["nodes"][1]["inner_reads"][0], "k");
}

TEST(Html, NamesAreNoMarkup) {
  const std::string html = FormatHtml(Hostile());
  EXPECT_EQ(Count(html, "</script>"), 4u) << "the page's own";
  EXPECT_EQ(Count(html, "<img"), 0u);
  EXPECT_EQ(Count(html, "<!--"), 0u);
  EXPECT_EQ(Count(html, "<title>Plumb: &lt;/script&gt;"), 1u);
}

TEST(Html, LoadsNothing) {
  const std::string html = FormatHtml(Hostile());
  EXPECT_EQ(Count(html, "default-src 'none'"), 1u);
  for (const char* loads : {"src=\"", "href=\"http", "@import", "url(", "fetch(", "XMLHttpRequest", "import("})
    EXPECT_EQ(Count(html, loads), 0u) << loads;
  for (const char* mark : {"@title@", "@style@", "@verdict@", "@drawn@", "@layout@", "@program@"})
    EXPECT_EQ(Count(html, mark), 0u) << mark << " was not filled in";
  EXPECT_EQ(Count(html, "dagre.layout = "), 1u);
}

TEST(Html, OfNothingIsAPageToo) {
  const std::string html = FormatHtml({});
  EXPECT_EQ(Count(html, "\"runs\":[]"), 2u);
}

TEST(Picture, CountsAndPlacesErrors) {
  const Shape shape({1, 2, 2, 4});
  std::vector<double> reference(16, 1), tau(16, 0.5);
  std::vector<double> device = reference;
  device[13] = 4;    // channel 1, row 1, column 1: e / tau = 6
  device[2] = 0.75;  // channel 0, row 0, column 2: -0.5
  tau[0] = 0;        // the same
  tau[1] = 0;
  device[1] = 2;  // no bound covers it
  const Tensor d = Values(shape, device, DType::kF32), r = Values(shape, reference), t = Values(shape, tau);
  const ErrorPicture picture = DrawErrors({d, r, t}, 2, 1);
  EXPECT_EQ(picture.values, 14);
  EXPECT_EQ(picture.exact, 1);
  EXPECT_EQ(picture.outside, 1);
  EXPECT_NEAR(picture.mean, 8 * 5.5 / 14, 1e-12);
  EXPECT_EQ(picture.reach, 6);
  ASSERT_EQ(picture.histogram.size(), 32u);
  EXPECT_EQ(picture.histogram.back(), 1);
  EXPECT_EQ(picture.histogram[16], 12);
  ASSERT_EQ(picture.quantiles.size(), 32u);
  EXPECT_EQ(picture.quantiles.front(), -4);
  EXPECT_EQ(picture.quantiles.back(), 48);
  EXPECT_EQ(picture.rows * picture.columns, 4);
  ASSERT_EQ(picture.maps.size(), 2u);
  const double inf = INFINITY;
  EXPECT_EQ(picture.maps[0].excess, (std::vector<double>{inf, 0.5, 6, 0}));
  EXPECT_EQ(picture.maps[1].channel, 0) << "the infinite one";
  EXPECT_EQ(picture.maps[1].device, (std::vector<double>{2, 0.75, 1, 1}));
  EXPECT_EQ(picture.maps[1].reference, (std::vector<double>{1, 1, 1, 1}));
}

TEST(Picture, OfScoresIsOneRow) {
  const Tensor d = Values(Shape({1, 10, 1, 1}), std::vector<double>(10, 1), DType::kF32);
  const Tensor r = Values(Shape({1, 10, 1, 1}), std::vector<double>(10, 1));
  const Tensor none = Values(Shape({0}), {});
  const ErrorPicture picture = DrawErrors({d, r, none}, 16, 4);
  EXPECT_EQ(picture.exact, 10);
  EXPECT_EQ(picture.columns, 10);
  EXPECT_EQ(picture.maps.size(), 1u);
  const Tensor empty = Values(Shape({0}), {});
  EXPECT_EQ(DrawErrors({empty, empty, empty}, 16, 4).maps.size(), 0u);
}

}  // namespace
}  // namespace plumb
