// SPDX-License-Identifier: Apache-2.0
// Operators of which LiteRT's own kernels say nothing here (custom ones, branches), and forms of weights; values by
// hand.
#include <gtest/gtest.h>

#include <cmath>

#include "format/tflite/tflite_model.h"

namespace plumb {
namespace {

using Code = TfliteModel::Code;

void ExpectRun(TfliteModel* m, const std::vector<int>& outputs, const std::vector<std::vector<float>>& inputs,
               const std::vector<double>& expected) {
  const auto found = m->Run(outputs, inputs);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  ASSERT_EQ(found->size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR((*found)[i], expected[i], 1e-6) << i;
}

TEST(TfliteOperatorsTest, TransposedConvolutionWithBiasCutsHalfOfWhatSameCuts) {
  TfliteModel m;
  const int x = m.Input("x", {1, 1, 2, 1});
  const int w = m.Constant<float>("w", {1, 1, 3, 1}, {1, 10, 100});
  const int b = m.Constant<float>("b", {1}, {0.5f});
  const int y = m.Tensor("y", {1, 1, 4, 1});
  m.Custom("Convolution2DTransposeBias", {x, w, b}, {y}, {1, 2, 1});  // SAME, stride 2 wide and 1 high
  // The whole is 2, 20, 203, 30, 300; SAME cuts 3 - (2 - 1) % 2 - 1 = 1 pixel, none of it at the beginning.
  ExpectRun(&m, {y}, {{2, 3}}, {2.5, 20.5, 203.5, 30.5});
}

TEST(TfliteOperatorsTest, PlacesOfMaximaCountInsideTheWindow) {
  TfliteModel m;
  const int x = m.Input("x", {1, 2, 4, 1});
  const int y = m.Tensor("y", {1, 1, 2, 1}), place = m.Tensor("place", {1, 1, 2, 1});
  m.Custom("MaxPoolingWithArgmax2D", {x}, {y, place}, {1, 2, 2, 2, 2, 0});
  ExpectRun(&m, {place}, {{1, 2, 9, 4, 5, 3, 7, 8}}, {2.1, 0.1});
}

TEST(TfliteOperatorsTest, UnpoolingPutsValuesBackIntoTheirPlaces) {
  TfliteModel m;
  const int x = m.Input("x", {1, 1, 2, 1}), place = m.Input("place", {1, 1, 2, 1});
  const int y = m.Tensor("y", {1, 2, 4, 1});
  m.Custom("MaxUnpooling2D", {x, place}, {y}, {1, 2, 2, 2, 2, 0});
  ExpectRun(&m, {y}, {{5, 9}, {2.1f, 0.1f}}, {0, 0, 9, 0, 5, 0, 0, 0});
}

// A flexbuffer: left_rotation_idx 0, right_rotation_idx 1, output_height 4, output_width 2, scale_x and scale_y 1.5,
// target_rotation_radians 0, subset_idxs [0,1,1,2].
const std::string& CropOptions() {
  constexpr char kBytes[] =
      "left_rotation_idx\000right_rotation_idx\000output_height\000output_width\000scale_x\000scale_y\000ta"
      "rget_rotation_radians\000subset_idxs\000\004\000\001\001\002\010zVIk\076\067\030\061\000\000\012\000"
      "\000\000\001\000\000\000\010\000\000\000\000\000\000\000\004\000\000\000\002\000\000\000\001\000\000"
      "\000\000\000\300\077\000\000\300\077\063\000\000\000\000\000\000\000\006\006\006\006\016\016\054\006\050"
      "\046\001";
  static const std::string options(kBytes, sizeof(kBytes) - 1);
  return options;
}

TEST(TfliteOperatorsTest, LandmarksGiveTheCropAroundThem) {
  for (const bool turned : {false, true}) {
    TfliteModel m;
    const int x = m.Input("x", {1, 3, 3}), y = m.Tensor("y", {1, 4, 4});
    m.SecondCustom("Landmarks2TransformMatrix", {x}, {y}, CropOptions());
    // The box is 4 by 2 around (2, 1): 1.5 * 4 / 2 and 1.5 * 2 / 4 of it for each pixel of 2 by 4.
    if (!turned)
      ExpectRun(&m, {y}, {{0, 0, 9, 4, 0, 9, 2, 2, 9}}, {3, 0, 0, -1, 0, .75, 0, -.5, 0, 0, 1, 0, 0, 0, 0, 1});
    // Turned by a quarter to the right its middle is (1, 2).
    if (turned)
      ExpectRun(&m, {y}, {{0, 0, 9, 0, 4, 9, 2, 2, 9}}, {0, -.75, 0, 2.5, 3, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 1});
  }
}

TEST(TfliteOperatorsTest, OptionsThatAreNoFlexbufferAreRefused) {
  const std::string whole = CropOptions();
  for (size_t missing = 1; missing < whole.size(); ++missing) {
    TfliteModel m;
    const int x = m.Input("x", {1, 3, 3}), y = m.Tensor("y", {1, 4, 4});
    m.SecondCustom("Landmarks2TransformMatrix", {x}, {y}, whole.substr(missing));
    const auto loaded = m.Load({y});
    EXPECT_NE(loaded.status().message().find("its option"), std::string::npos) << missing;
  }
  TfliteModel m;
  const int x = m.Input("x", {1, 2, 3}), y = m.Tensor("y", {1, 4, 4});
  m.SecondCustom("Landmarks2TransformMatrix", {x}, {y}, whole);
  const Status status = m.Load({y}).status();
  EXPECT_NE(status.message().find("its option subset_idxs names landmark 2 of 2"), std::string::npos)
      << status.message();
}

TEST(TfliteOperatorsTest, APictureIsSampledWhereTheMatrixLeads) {
  TfliteModel m;
  const int x = m.Input("x", {1, 2, 2, 1}), y = m.Tensor("y", {1, 2, 4, 1});
  const int matrix = m.Constant<float>("m", {1, 4, 4}, {.5f, 0, 0, .25f, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  m.SecondCustom("TransformTensorBilinear", {x, matrix}, {y});
  ExpectRun(&m, {y}, {{1, 2, 3, 4}}, {1, 1.5, 2, 0, 3, 3.5, 4, 0});  // the fourth column lies outside
}

TEST(TfliteOperatorsTest, LandmarksAreTransformed) {
  TfliteModel m;
  const int x = m.Input("x", {1, 2, 3}), y = m.Tensor("y", {1, 2, 3});
  const int matrix = m.Constant<float>("m", {1, 4, 4}, {2, 0, 5, 1, 1, 1, 5, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  m.SecondCustom("TransformLandmarks", {x, matrix}, {y});
  ExpectRun(&m, {y}, {{1, 2, 7, 3, 4, 8}}, {3, 3, 7, 7, 7, 8});
}

TEST(TfliteOperatorsTest, WeightsOf16BitsAreConstants) {
  TfliteModel m;
  const int x = m.Input("x", {1, 2});
  const int half = m.Constant<uint16_t>("half", {1, 2}, {0x3c00, 0xc000}, {schema::TensorType::FLOAT16, {}, {}});
  const int w = m.Tensor("w", {1, 2}), y = m.Tensor("y", {1, 1});
  m.Op(Code::DEQUANTIZE, {half}, {w});
  m.Op(Code::FULLY_CONNECTED, {x, w}, {y}, schema::CreateFullyConnectedOptions(m.builder()));
  ExpectRun(&m, {y}, {{5, 3}}, {-1});
}

TEST(TfliteOperatorsTest, WeightsOfFourBitsComeTwoInAByte) {
  TfliteModel m;
  const int x = m.Input("x", {1, 3});
  // 7, -8, -1: the lower half of a byte first.
  const int w = m.Constant<uint8_t>("w", {1, 3}, {0x87, 0x0f}, {schema::TensorType::INT4, {0.5f}, {0}});
  const int y = m.Tensor("y", {1, 1});
  m.Op(Code::FULLY_CONNECTED, {x, w}, {y}, schema::CreateFullyConnectedOptions(m.builder()));
  ExpectRun(&m, {y}, {{1, 10, 100}}, {0.5 * (7 - 80 - 100)});
}

TEST(TfliteOperatorsTest, WeightsOfBlocksAreTheRealsThatTheyStandFor) {
  TfliteModel m;
  const int x = m.Input("x", {1, 4});
  // 2 and -1/2 in 16 bits.
  const int s = m.Constant<uint16_t>("s", {1, 2}, {0x4000, 0xb800}, {schema::TensorType::FLOAT16, {}, {}});
  TensorSpec spec{schema::TensorType::INT4, {}, {}};
  spec.block_scales = s, spec.block_size = 2;
  const int w = m.Constant<uint8_t>("w", {1, 4}, {0x87, 0x2f}, spec), y = m.Tensor("y", {1, 1});  // 7 -8 -1 2
  m.Op(Code::FULLY_CONNECTED, {x, w}, {y}, schema::CreateFullyConnectedOptions(m.builder()));
  ExpectRun(&m, {y}, {{1, 10, 100, 1000}}, {2 * (7 - 80) - 0.5 * (2000 - 100)});
}

TEST(TfliteOperatorsTest, UniqueKeepsTheOrderAndSaysWhereEachStands) {
  TfliteModel m;
  const TensorSpec whole{schema::TensorType::INT32, {}, {}};
  const int given = m.Constant<int32_t>("given", {5}, {7, 3, 7, 9, 3}, whole);
  const int values = m.Tensor("values", {3}, whole), places = m.Tensor("places", {5}, whole);
  m.Op(Code::UNIQUE, {given}, {values, places});
  const int x = m.Input("x", {3}), real = m.Tensor("real", {3}), y = m.Tensor("y", {3});
  m.Op(Code::CAST, {values}, {real}, schema::CreateCastOptions(m.builder()));
  m.Op(Code::ADD, {x, real}, {y}, schema::CreateAddOptions(m.builder()));
  ExpectRun(&m, {y}, {{0.5f, 0.5f, 0.5f}}, {7.5, 3.5, 9.5});
}

// y = x doubled while it is below 100.
TEST(TfliteOperatorsTest, AWhileRunsAsOftenAsItsConditionSays) {
  TfliteModel m;
  const TensorSpec flag{schema::TensorType::BOOL, {}, {}};
  const TensorSpec whole{schema::TensorType::INT32, {}, {}};
  const int x = m.Constant<int32_t>("x", {}, {7}, whole);
  const int y = m.Tensor("y", {}, whole);
  m.Op(Code::WHILE, {x}, {y}, schema::CreateWhileOptions(m.builder(), 1, 2));
  const int input = m.Input("in", {}), sum = m.Tensor("sum", {}), real = m.Tensor("real", {});
  m.Op(Code::CAST, {y}, {real}, schema::CreateCastOptions(m.builder()));
  m.Op(Code::ADD, {input, real}, {sum}, schema::CreateAddOptions(m.builder()));
  m.EndGraph({sum});
  const int state = m.Input("state", {}, whole), most = m.Constant<int32_t>("most", {}, {100}, whole);
  const int go = m.Tensor("go", {}, flag);
  m.Op(Code::LESS, {state, most}, {go});
  m.EndGraph({go});
  const int now = m.Input("now", {}, whole), next = m.Tensor("next", {}, whole);
  m.Op(Code::ADD, {now, now}, {next}, schema::CreateAddOptions(m.builder()));
  ExpectRun(&m, {next}, {{0.25f}}, {112.25});
}

TEST(TfliteOperatorsTest, ResizesPutPixelsWhereTheFlagsSay) {
  for (const int form : {0, 1, 2}) {
    TfliteModel m;
    const int x = m.Input("x", {1, 1, 2, 1}), size = m.Ints("size", {1, 4}), y = m.Tensor("y", {1, 1, 4, 1});
    m.Op(Code::RESIZE_BILINEAR, {x, size}, {y}, schema::CreateResizeBilinearOptions(m.builder(), form == 1, form == 2));
    const std::vector<double> expected[] = {{0, 6, 12, 12}, {0, 4, 8, 12}, {0, 3, 9, 12}};
    ExpectRun(&m, {y}, {{0, 12}}, expected[form]);
  }
}

TEST(TfliteOperatorsTest, ASliceMayDropAndAddDims) {
  TfliteModel m;
  const int x = m.Input("x", {2, 3});
  const int begin = m.Ints("begin", {0, 1, 5}), end = m.Ints("end", {0, 2, 0}), by = m.Ints("by", {1, 1, -1});
  const int y = m.Tensor("y", {1, 3});
  m.Op(Code::STRIDED_SLICE, {x, begin, end, by}, {y},
       schema::CreateStridedSliceOptions(m.builder(), 4, 4, 0, 1, 2));  // new axis, row 1, backwards
  ExpectRun(&m, {y}, {{1, 2, 3, 4, 5, 6}}, {6, 5, 4});
  EXPECT_EQ(m.shape(), (Shape{1, 3}));
}

// Without the pixels' middles: said where the converter may be one that could not name them.
TEST(TfliteOperatorsTest, ResizesOfOldConvertersAreSaid) {
  const auto notes = [](const char* metadata, const std::string& bytes, bool centers) {
    TfliteModel m;
    const int x = m.Input("x", {1, 2, 2, 1}), size = m.Ints("size", {4, 4}), y = m.Tensor("y", {1, 4, 4, 1});
    m.Op(Code::RESIZE_BILINEAR, {x, size}, {y}, schema::CreateResizeBilinearOptions(m.builder(), false, centers));
    if (metadata != nullptr) m.Metadata(metadata, bytes);
    const auto graph = m.Load({y});
    std::vector<std::string> found;
    for (const std::string& note : graph.ok() ? graph->notes : std::vector<std::string>{"not loaded"}) {
      if (note.find("of its resizes") != std::string::npos) found.push_back(note);
    }
    return found;
  };
  const auto converter = [](const char* version) {
    flatbuffers::FlatBufferBuilder b;
    const auto environment = schema::CreateEnvironment(b, b.CreateString(version));
    b.Finish(schema::CreateConversionMetadata(b, environment));
    return std::string(reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize());
  };
  const std::string says =
      "1 of its resizes takes the pixels' corners for their places; converters before TensorFlow 2.3 wrote this of "
      "every resize, also where the network takes the middles, and ";
  EXPECT_EQ(notes(nullptr, "", false), std::vector<std::string>{says + "the file does not say which one made it"});
  EXPECT_EQ(notes("CONVERSION_METADATA", converter("2.2.0"), false),
            std::vector<std::string>{says + "2.2.0 made this file"});
  EXPECT_TRUE(notes("CONVERSION_METADATA", converter("2.15.0"), false).empty());
  EXPECT_TRUE(notes("min_runtime_version", "2.3.0", false).empty());
  EXPECT_EQ(notes("min_runtime_version", "1.14.0", false).size(), 1u);
  EXPECT_EQ(notes("CONVERSION_METADATA", "no flatbuffer at all", false).size(), 1u);
  EXPECT_TRUE(notes(nullptr, "", true).empty());
}

TEST(TfliteOperatorsTest, UpdatesAreAddedIntoZeros) {
  TfliteModel m;
  const int updates = m.Input("x", {3});
  TensorSpec whole;
  whole.type = schema::TensorType::INT32;
  const int at = m.Constant<int32_t>("at", {3, 1}, {4, 1, 4}, whole), shape = m.Ints("shape", {5});
  const int y = m.Tensor("y", {5});
  m.Op(Code::SCATTER_ND, {at, updates, shape}, {y});
  const auto found = m.Run({y}, {{1, 10, 100}});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(*found, (std::vector<double>{0, 10, 0, 0, 101}));
}

// One row of indices for each of the mask's true elements; the file says none of its dims.
TEST(TfliteOperatorsTest, WhereCountsInRows) {
  TfliteModel m;
  TensorSpec truth, index;
  truth.type = schema::TensorType::BOOL;
  index.type = schema::TensorType::INT64;
  const int mask = m.Constant<uint8_t>("mask", {2, 3}, {0, 1, 1, 1, 0, 0}, truth);
  const int rows = m.Tensor("rows", {3, 2}, index), x = m.Input("x", {3, 2}), real = m.Tensor("real", {3, 2});
  const int y = m.Tensor("y", {3, 2});
  m.Op(Code::WHERE, {mask}, {rows});
  m.Op(Code::CAST, {rows}, {real});
  m.Op(Code::ADD, {real, x}, {y}, schema::CreateAddOptions(m.builder()));
  ExpectRun(&m, {y}, {{0.5f}}, {0.5, 1.5, 0.5, 2.5, 1.5, 0.5});
}

// Where it would end outside it is moved inside.
TEST(TfliteOperatorsTest, AnUpdateLiesInside) {
  TfliteModel m;
  const int x = m.Input("x", {2, 3}), part = m.Input("part", {1, 2}), begin = m.Ints("begin", {1, 2});
  const int y = m.Tensor("y", {2, 3});
  m.Op(Code::DYNAMIC_UPDATE_SLICE, {x, part, begin}, {y});
  const auto found = m.Run({y}, {{1, 2, 3, 4, 5, 6}, {70, 80}});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(*found, (std::vector<double>{1, 2, 3, 4, 70, 80}));
}

// Two filters of rank 1 over two steps: the newest step's weights 10 and 100 count, the older ones have seen nothing.
TEST(TfliteOperatorsTest, AnSvdfBeginsWithZeros) {
  TfliteModel m;
  const int x = m.Input("x", {1, 2});
  const int feature = m.Constant<float>("feature", {2, 2}, {1, 2, 3, 4});
  const int time = m.Constant<float>("time", {2, 2}, {-7, 10, -7, 100});
  const int bias = m.Constant<float>("bias", {2}, {0.5f, 0.25f});
  TensorSpec variable;
  variable.variable = true;
  const int state = m.Tensor("state", {1, 4}, variable), y = m.Tensor("y", {1, 2});
  m.Op(Code::SVDF, {x, feature, time, bias, state}, {y}, schema::CreateSVDFOptions(m.builder(), 1));
  const auto found = m.Run({y}, {{1, 1}});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(*found, (std::vector<double>{30.5, 700.25}));
}

// The same with integers: what the filters make, 3 and 7 in steps of 0.6, are 5 and 12 of the state.
TEST(TfliteOperatorsTest, AnSvdfOfIntegersRoundsItsState) {
  const auto spec = [](schema::TensorType type, float scale, bool variable = false) {
    TensorSpec made;
    made.type = type;
    made.scale = {scale};
    made.zero_point = {0};
    made.variable = variable;
    return made;
  };
  TfliteModel m;
  const int x = m.Input("x", {1, 2}, spec(schema::TensorType::INT8, 0.5f));
  const int feature = m.Constant<int8_t>("feature", {2, 2}, {1, 2, 3, 4}, spec(schema::TensorType::INT8, 1));
  const int time = m.Constant<int16_t>("time", {2, 2}, {-7, 10, -7, 100}, spec(schema::TensorType::INT16, 1));
  const int bias = m.Constant<int32_t>("bias", {2}, {50, 0}, spec(schema::TensorType::INT32, 0.6f));
  const int state = m.Tensor("state", {1, 4}, spec(schema::TensorType::INT16, 0.6f, true));
  const int y = m.Tensor("y", {1, 2}, spec(schema::TensorType::INT8, 10));
  m.Op(Code::SVDF, {x, feature, time, bias, state}, {y}, schema::CreateSVDFOptions(m.builder(), 1));
  const auto found = m.Run({y}, {{2, 2}});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(*found, (std::vector<double>{6, 72}));  // 5 x 0.6 x 10 + 50 x 0.6, 12 x 0.6 x 100
}

// One step: c = sigmoid(0) tanh(x) = 0.5 tanh(2), limited to 0.25; y = sigmoid(0) tanh(0.25).
TEST(TfliteOperatorsTest, AnLstmLimitsItsCell) {
  TfliteModel m;
  const int x = m.Input("x", {1, 1, 1});
  const auto one = [&](const char* name, float value) { return m.Constant<float>(name, {1, 1}, {value}); };
  const auto bias = [&](const char* name) { return m.Constant<float>(name, {1}, {0}); };
  TensorSpec variable;
  variable.variable = true;
  std::vector<int> inputs = {x,
                             one("wi", 0),
                             one("wf", 0),
                             one("wc", 1),
                             one("wo", 0),
                             one("ri", 0),
                             one("rf", 0),
                             one("rc", 0),
                             one("ro", 0),
                             -1,
                             -1,
                             -1,
                             bias("bi"),
                             bias("bf"),
                             bias("bc"),
                             bias("bo"),
                             -1,
                             -1};
  inputs.push_back(m.Tensor("h", {1, 1}, variable));
  inputs.push_back(m.Tensor("c", {1, 1}, variable));
  const int y = m.Tensor("y", {1, 1, 1});
  m.Op(Code::UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, {y},
       schema::CreateUnidirectionalSequenceLSTMOptions(m.builder(), schema::Activation::TANH, 0.25f, 0, true));
  const auto found = m.Run({y}, {{2}});
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_NEAR((*found)[0], 0.5 * std::tanh(0.25), 1e-6);
}

}  // namespace
}  // namespace plumb
