// SPDX-License-Identifier: Apache-2.0
// TNN's types that become several layers of ours: the values that TNN's kernels compute, worked out by hand.
#include "format/tnn/translate.h"

#include <algorithm>
#include <cmath>

#include "format/tnn/tnn_test_util.h"
#include "format/tnn/types.h"
#include "plumb/plumb.h"

namespace plumb::tnn {
namespace {

template <class T>
Tensor TensorOf(DType dtype, const Shape& shape, const std::vector<T>& values) {
  Tensor tensor = Tensor::Create(dtype, shape).value();
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}

// What every device here makes of the line's only input, which is the same on all.
std::vector<double> Ran(const std::string& line, const std::string& input, const Tensor& x,
                        const std::map<std::string, Tensor>& constants = {}) {
  Graph graph = ParseOrDie(ProtoText(line, input));
  graph.constants.insert(constants.begin(), constants.end());
  std::vector<double> first;
  for (const DeviceInfo& device : ListDevices()) {
    if (!device.present) continue;
    auto network = CreateNetwork(Graph(graph), device.name);
    EXPECT_TRUE(network.ok()) << device.name << ": " << network.status().ToString();
    if (!network.ok()) continue;
    EXPECT_TRUE((*network)->SetInput("x", x).ok());
    EXPECT_TRUE((*network)->Forward().ok());
    const Tensor y = (*network)->GetOutput("y").value();
    std::vector<double> values;
    for (int64_t i = 0; i < y.NumElements(); ++i) values.push_back(y.ValueAt(i));
    if (first.empty()) first = values;
    EXPECT_EQ(values.size(), first.size()) << device.name;
    for (size_t i = 0; i < values.size() && i < first.size(); ++i)
      EXPECT_NEAR(values[i], first[i], 1e-5) << device.name << " " << i;
  }
  return first;
}

void ExpectNear(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

double Gate(double x) { return 1 / (1 + std::exp(-x)); }

TEST(TnnTranslate, LinearUnitsThatAreGated) {
  const Tensor x = TensorOf<float>(DType::kF32, {1, 4, 1, 2}, {1, 2, 3, 4, 0, -1, 2, 100});
  const std::vector<double> expected = {1 * Gate(0), 2 * Gate(-1), 3 * Gate(2), 4};
  ExpectNear(Ran("GLU g 1 1 x y 1", "x 4 1 4 1 2 0", x), expected);
  ExpectNear(Ran("GLU g 1 1 x y -3", "x 4 1 4 1 2 0", x), expected);
}

// t = (sign(x - 1) + 0.5) / 2: 1 -> 0.25, above 0.75, below -0.25; times channel 0 of it.
TEST(TnnTranslate, SignedMul) {
  const Tensor x = TensorOf<float>(DType::kF32, {2, 2, 1, 3}, {0, 1, 2, 5, 0, 1, 9, 9, 1, 0, 1, 0});
  ExpectNear(Ran("SignedMul s 1 1 x y 1 0.5 2", "x 4 2 2 1 3 0", x),
             {0.0625, 0.0625, 0.5625, -0.1875, -0.0625, 0.1875, 0.5625, 0.5625, 0.0625, -0.1875, 0.1875, -0.0625});
}

TEST(TnnTranslate, BitsMoveAsUnsigned) {
  const Tensor x = TensorOf<int32_t>(DType::kI32, {1, 4}, {5, -1, 0, 1 << 30});
  ExpectNear(Ran("BitShift b 1 1 x y 1 2", "x 2 1 4 3", x), {20, -4, 0, 0});
  ExpectNear(Ran("BitShift b 1 1 x y 0 28", "x 2 1 4 3", x), {0, 15, 0, 4});
}

TEST(TnnTranslate, HistogramCountsAndReformatKeeps) {
  const Tensor x = TensorOf<int32_t>(DType::kI32, {2, 3}, {0, 2, 2, 4, 2, 0});
  ExpectNear(Ran("Histogram h 1 1 x y 6", "x 2 2 3 3", x), {2, 0, 3, 0, 1, 0});
  const Tensor reals = TensorOf<float>(DType::kF32, {1, 3}, {1.5, -2, 7});
  ExpectNear(Ran("Reformat r 1 1 x y 0 1", "x 2 1 3 0", reals), {1.5, -2, 7});
}

// A window of 3 by 2 over five elements; pads do not count in the average.
TEST(TnnTranslate, PoolingOfRows) {
  const Tensor x = TensorOf<float>(DType::kF32, {1, 2, 5}, {1, 5, 2, 3, 4, -1, -2, -3, -4, -5});
  ExpectNear(Ran("Pooling1D p 1 1 x y 0 3 2 1 -1 -1 -1 0", "x 3 1 2 5 0", x), {5, 5, 4, -1, -2, -4});
  ExpectNear(Ran("Pooling1D p 1 1 x y 1 3 2 1 -1 -1 -1 0", "x 3 1 2 5 0", x), {3, 10.0 / 3, 3.5, -1.5, -3, -4.5});
  ExpectNear(Ran("Pooling1D p 1 1 x y 1 0 1 0 -1 -1 1 0", "x 3 1 2 5 0", x), {3, -3});
}

// One cell: W, R and B of i, o, f and c; two times, two rows.
struct Cell {
  double w[4], r[4], b[4];
  double h = 0, c = 0;
  double Next(double x) {
    double g[4];
    for (int i = 0; i < 4; ++i) g[i] = w[i] * x + r[i] * h + b[i];
    c = Gate(g[2]) * c + Gate(g[0]) * std::tanh(g[3]);
    h = Gate(g[1]) * std::tanh(c);
    return h;
  }
};

TEST(TnnTranslate, LstmOfOnnxWithTimesFirst) {
  const Cell front = {{0.5, -0.25, 1, 2}, {0.3, 0.2, -0.1, 0.4}, {0.15, 0.25, 0.35, -0.45}};
  const Cell back = {{-1, 0.75, 0.5, 1}, {0.1, -0.2, 0.3, 0.5}, {0.05, -0.05, 0.6, 0.2}};
  std::vector<float> w, r, b;
  for (const Cell& cell : {front, back}) {
    w.insert(w.end(), cell.w, cell.w + 4);
    r.insert(r.end(), cell.r, cell.r + 4);
    for (const double bias : cell.b) b.push_back(static_cast<float>(bias - 1));
    b.insert(b.end(), 4, 1.0f);
  }
  const std::vector<float> values = {1, -2, 0.5, 3};  // [time, batch, 1]
  const Tensor x = TensorOf<float>(DType::kF32, {2, 2, 1}, values);
  std::vector<double> both(8);
  for (size_t row = 0; row < 2; ++row) {
    Cell first = front, second = back;
    for (const size_t time : {size_t{0}, size_t{1}}) both[4 * time + 2 * row] = first.Next(values[2 * time + row]);
    for (const size_t time : {size_t{1}, size_t{0}}) both[4 * time + 2 * row + 1] = second.Next(values[2 * time + row]);
  }
  const auto ran = [&](int direction, int64_t directions) {
    const auto cut = [&](const std::vector<float>& all, int64_t each) {
      return std::vector<float>(all.begin(), all.begin() + each * directions);
    };
    return Ran("LSTMONNX l 4 3 x W R B y h c 0 1 " + std::to_string(direction), "x 3 2 2 1 0", x,
               {{"W", TensorOf(DType::kF32, {directions, 4, 1}, cut(w, 4))},
                {"R", TensorOf(DType::kF32, {directions, 4, 1}, cut(r, 4))},
                {"B", TensorOf(DType::kF32, {directions, 8}, cut(b, 8))}});
  };
  ExpectNear(ran(0, 1), {both[0], both[2], both[4], both[6]});
  ExpectNear(ran(2, 2), both);
}

TEST(TnnTranslate, LayersAreOneLine) {
  const Graph graph = ParseOrDie(ProtoText("ReLU r 1 1 x a\nGLU g 1 1 a b 1\nReLU s 1 1 b y", "x 4 1 4 1 2 0"));
  ASSERT_EQ(graph.layers.size(), 5u);
  for (size_t i = 0; i < graph.layers.size(); ++i) EXPECT_EQ(graph.layers[i].index, static_cast<int>(i));
  EXPECT_EQ(graph.layers[3].name, "g");
  EXPECT_EQ(graph.layers[1].nodes, std::vector<std::string>{"g"});
  // Written and read again, they are what they were.
  const auto text = FormatProto(graph);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(ParseOrDie(*text).layers.size(), 5u);
}

TEST(TnnTranslate, RefusesWhatIsNone) {
  const auto why = [](const std::string& line) {
    return ParseProto(ProtoText(line), "test.tnnproto").status().ToString();
  };
  EXPECT_NE(why("GLU g 2 1 x x y 1").find("'g' (GLU): expects one input, found 2"), std::string::npos);
  EXPECT_NE(why("GLU g 1 0 x").find("expected at least one output name"), std::string::npos);
  EXPECT_NE(why("SignedMul s 1 1 x y 1 2 0").find("a gamma other than 0"), std::string::npos);
  EXPECT_NE(why("SignedMul s 1 1 x y 1").find("beta"), std::string::npos);
  EXPECT_NE(why("BitShift b 1 1 x y 0 40").find("0 to 31 bits, found 40"), std::string::npos);
  EXPECT_NE(why("LSTMONNX l 4 1 x W R B y 0 3 7").find("direction 0, 1 or 2, found 7"), std::string::npos);
  EXPECT_NE(why("LSTMONNX l 2 1 x W y 0 3 0").find("x, W, R and B"), std::string::npos);
  EXPECT_NE(why("Reformat r 1 1 x y 0 2").find("int8 of floats"), std::string::npos);
#define PLUMB_TNN_TRANSLATION(type, file) \
  EXPECT_EQ(FindLayerType(#type)->op, nullptr) << #type << " is an operator of ours";
#include "format/tnn/translation_list.def"
#undef PLUMB_TNN_TRANSLATION
}

}  // namespace
}  // namespace plumb::tnn
