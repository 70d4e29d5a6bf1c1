// SPDX-License-Identifier: Apache-2.0
// Operators of mediapipe on landmarks. Matrices are [x', y', z', 1] = M [x, y, z, 1]; only their first two rows say
// something.
#include <fmt/core.h>

#include <cmath>

#include "format/onnx/node_context.h"
#include "format/tflite/map/flex_options.h"
#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

constexpr double kLargestSide = 1 << 16;

Status CheckVersion(const OpContext& c, size_t inputs, int version) {
  if (c.NumInputs() != inputs || !c.Has(0) || !c.Has(inputs - 1))
    return Status::CorruptModel(fmt::format("it has {} inputs, expected {}", c.NumInputs(), inputs));
  if (version == 2) return Status::Ok();
  return Status::NotSupported(fmt::format("version {} of it; version 2 is read", version));
}

// Arithmetic on values that broadcast, written as nodes.
class Sketch {
 public:
  explicit Sketch(OpContext* c) : c_(*c) {}

  Result<std::string> Number(double value) { return c_.Number(static_cast<float>(value)); }
  std::string Add(const std::string& a, const std::string& b) { return c_.Emit("Add", {a, b}); }
  std::string Sub(const std::string& a, const std::string& b) { return c_.Emit("Sub", {a, b}); }
  std::string Mul(const std::string& a, const std::string& b) { return c_.Emit("Mul", {a, b}); }
  Result<std::string> Scaled(const std::string& a, double by) {
    PLUMB_ASSIGN_OR_RETURN(const std::string factor, Number(by));
    return Mul(a, factor);
  }
  Result<std::string> Reshaped(const std::string& x, const std::vector<int64_t>& dims) {
    PLUMB_ASSIGN_OR_RETURN(const std::string shape, c_.IntsConstant(dims));
    return c_.Emit("Reshape", {x, shape});
  }
  // x[..., begin .. end) along an axis.
  Result<std::string> Cut(const std::string& x, int64_t axis, int64_t begin, int64_t end) {
    PLUMB_ASSIGN_OR_RETURN(const std::string from, c_.IntsConstant({begin}));
    PLUMB_ASSIGN_OR_RETURN(const std::string to, c_.IntsConstant({end}));
    PLUMB_ASSIGN_OR_RETURN(const std::string along, c_.IntsConstant({axis}));
    return c_.Emit("Slice", {x, from, to, along});
  }
  Result<std::string> Extreme(const char* type, const std::string& x) {
    PLUMB_ASSIGN_OR_RETURN(const std::string rows, c_.IntsConstant({0}));
    return c_.Emit(type, {x, rows}, {{"keepdims", IntAttribute(1)}});
  }
  Result<std::string> Floats(const std::vector<float>& values, const std::vector<int64_t>& dims) {
    PLUMB_ASSIGN_OR_RETURN(const std::string list, c_.writer().Floats(values));
    return Reshaped(list, dims);
  }

 private:
  OpContext& c_;
};

// The numbers of a matrix that count: x' = xx x + xy y + x0, y' alike.
struct Affine {
  std::string xx, xy, x0, yx, yy, y0;
};

Result<Affine> ReadMatrix(OpContext& c, Sketch* s, const std::vector<int64_t>& dims) {
  if (c.InShape(1).NumElements() != 16)
    return Status::CorruptModel(fmt::format("its matrix is {}, expected [1,4,4]", c.InShape(1).ToString()));
  PLUMB_ASSIGN_OR_RETURN(const std::string read, c.Real(1, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string flat, s->Reshaped(read, {16}));
  Affine m;
  const std::pair<std::string*, int64_t> entries[] = {{&m.xx, 0}, {&m.xy, 1}, {&m.x0, 3},
                                                      {&m.yx, 4}, {&m.yy, 5}, {&m.y0, 7}};
  for (const auto& [entry, place] : entries) {
    PLUMB_ASSIGN_OR_RETURN(const std::string one, s->Cut(flat, 0, place, place + 1));
    PLUMB_ASSIGN_OR_RETURN(*entry, s->Reshaped(one, dims));
  }
  return m;
}

std::string Applied(Sketch* s, const std::string& x, const std::string& y, const std::string& of_x,
                    const std::string& of_y, const std::string& shift) {
  return s->Add(s->Add(s->Mul(x, of_x), s->Mul(y, of_y)), shift);
}

// The cosine and sine of the angle that turns the line between two landmarks to the target.
struct Turn {
  std::string cosine, sine;
};

Result<Turn> TurnOf(OpContext& c, Sketch* s, const std::string& left, const std::string& right, double target) {
  const std::string line = s->Sub(right, left);
  PLUMB_ASSIGN_OR_RETURN(const std::string across, s->Cut(line, 1, 0, 1));
  PLUMB_ASSIGN_OR_RETURN(const std::string dy, s->Cut(line, 1, 1, 2));
  const std::string square = s->Add(s->Mul(across, across), s->Mul(dy, dy));
  PLUMB_ASSIGN_OR_RETURN(const std::string zero, s->Number(0));
  PLUMB_ASSIGN_OR_RETURN(const std::string one, s->Number(1));
  const std::string none = c.Emit("Equal", {square, zero});  // of one point the angle is 0
  const std::string dx = c.Emit("Where", {none, one, across});
  const std::string length = c.Emit("Sqrt", {c.Emit("Where", {none, one, square})});
  const auto part = [&](double of_dx, double of_dy) -> Result<std::string> {
    PLUMB_ASSIGN_OR_RETURN(const std::string a, s->Scaled(dx, of_dx));
    PLUMB_ASSIGN_OR_RETURN(const std::string b, s->Scaled(dy, of_dy));
    return c.Emit("Div", {s->Add(a, b), length});
  };
  Turn turn;
  PLUMB_ASSIGN_OR_RETURN(turn.cosine, part(std::cos(target), std::sin(target)));
  PLUMB_ASSIGN_OR_RETURN(turn.sine, part(std::sin(target), -std::cos(target)));
  return turn;
}

// The box around turned points: its middle, turned back, and its size.
struct Box {
  std::string x, y, width, height;
};

Result<Box> BoxAround(Sketch* s, const std::string& points, const Turn& turn) {
  PLUMB_ASSIGN_OR_RETURN(const std::string x, s->Cut(points, 1, 0, 1));
  PLUMB_ASSIGN_OR_RETURN(const std::string y, s->Cut(points, 1, 1, 2));
  const std::string u = s->Sub(s->Mul(turn.cosine, x), s->Mul(turn.sine, y));
  const std::string v = s->Add(s->Mul(turn.sine, x), s->Mul(turn.cosine, y));
  PLUMB_ASSIGN_OR_RETURN(const std::string right, s->Extreme("ReduceMax", u));
  PLUMB_ASSIGN_OR_RETURN(const std::string left, s->Extreme("ReduceMin", u));
  PLUMB_ASSIGN_OR_RETURN(const std::string bottom, s->Extreme("ReduceMax", v));
  PLUMB_ASSIGN_OR_RETURN(const std::string top, s->Extreme("ReduceMin", v));
  PLUMB_ASSIGN_OR_RETURN(const std::string middle_u, s->Scaled(s->Add(left, right), 0.5));
  PLUMB_ASSIGN_OR_RETURN(const std::string middle_v, s->Scaled(s->Add(top, bottom), 0.5));
  return Box{s->Add(s->Mul(turn.cosine, middle_u), s->Mul(turn.sine, middle_v)),
             s->Sub(s->Mul(turn.cosine, middle_v), s->Mul(turn.sine, middle_u)), s->Sub(right, left),
             s->Sub(bottom, top)};
}

Result<std::string> Rows(OpContext& c, const std::string& landmarks, const std::vector<int64_t>& places) {
  PLUMB_ASSIGN_OR_RETURN(const std::string list, c.IntsConstant(places));
  return c.Emit("Gather", {landmarks, list}, {{"axis", IntAttribute(0)}});
}

struct CropOptions {
  double height = 0, width = 0, scale_x = 0, scale_y = 0, target = 0;
  std::vector<int64_t> left, right, subset;
};

Result<CropOptions> ReadCrop(const OpContext& c, int64_t landmarks) {
  PLUMB_ASSIGN_OR_RETURN(const FlexOptions options, FlexOptions::Of(c));
  CropOptions crop;
  PLUMB_ASSIGN_OR_RETURN(crop.height, options.Number("output_height", 1, kLargestSide));
  PLUMB_ASSIGN_OR_RETURN(crop.width, options.Number("output_width", 1, kLargestSide));
  PLUMB_ASSIGN_OR_RETURN(crop.scale_x, options.Number("scale_x", 1e-6, 1e6));
  PLUMB_ASSIGN_OR_RETURN(crop.scale_y, options.Number("scale_y", 1e-6, 1e6));
  PLUMB_ASSIGN_OR_RETURN(crop.target, options.Number("target_rotation_radians", -1e3, 1e3));
  const auto last = static_cast<double>(landmarks - 1);
  PLUMB_ASSIGN_OR_RETURN(const double left, options.Number("left_rotation_idx", 0, last));
  PLUMB_ASSIGN_OR_RETURN(const double right, options.Number("right_rotation_idx", 0, last));
  crop.left = {static_cast<int64_t>(left)};
  crop.right = {static_cast<int64_t>(right)};
  PLUMB_ASSIGN_OR_RETURN(crop.subset, options.Places("subset_idxs", landmarks));
  return crop;
}

// From the crop's pixels: their middle to 0, their size to the box's, turned back, to the box's middle.
Result<std::string> MatrixOf(OpContext& c, Sketch* s, const Turn& turn, const Box& box, const CropOptions& crop) {
  PLUMB_ASSIGN_OR_RETURN(const std::string scale_x, s->Scaled(box.width, crop.scale_x / crop.width));
  PLUMB_ASSIGN_OR_RETURN(const std::string scale_y, s->Scaled(box.height, crop.scale_y / crop.height));
  PLUMB_ASSIGN_OR_RETURN(const std::string zero, s->Floats({0}, {1, 1}));
  PLUMB_ASSIGN_OR_RETURN(const std::string one, s->Floats({1}, {1, 1}));
  const std::string xx = s->Mul(turn.cosine, scale_x), xy = s->Mul(turn.sine, scale_y);
  const std::string yx = c.Emit("Neg", {s->Mul(turn.sine, scale_x)}), yy = s->Mul(turn.cosine, scale_y);
  const auto shifted = [&](const std::string& middle, const std::string& of_x,
                           const std::string& of_y) -> Result<std::string> {
    PLUMB_ASSIGN_OR_RETURN(const std::string by_x, s->Scaled(of_x, -crop.width / 2));
    PLUMB_ASSIGN_OR_RETURN(const std::string by_y, s->Scaled(of_y, -crop.height / 2));
    return s->Add(middle, s->Add(by_x, by_y));
  };
  PLUMB_ASSIGN_OR_RETURN(const std::string x0, shifted(box.x, xx, xy));
  PLUMB_ASSIGN_OR_RETURN(const std::string y0, shifted(box.y, yx, yy));
  const std::string all =
      c.Emit("Concat", {xx, xy, zero, x0, yx, yy, zero, y0, zero, zero, one, zero, zero, zero, zero, one},
             {{"axis", IntAttribute(1)}});
  return s->Reshaped(all, {1, 4, 4});
}

// Where a crop's pixels lie in a picture, [1,h,w], and which of them lie in it.
struct Crop {
  std::string x, y, inside;
};

Result<Crop> CropOf(OpContext& c, Sketch* s, const Affine& m, const Shape& picture, const Shape& crop) {
  std::vector<float> across, down;  // the pixels' middles
  for (int64_t i = 0; i < crop[2]; ++i) across.push_back(static_cast<float>(i) + 0.5F);
  for (int64_t i = 0; i < crop[1]; ++i) down.push_back(static_cast<float>(i) + 0.5F);
  PLUMB_ASSIGN_OR_RETURN(const std::string x, s->Floats(across, {1, 1, crop[2]}));
  PLUMB_ASSIGN_OR_RETURN(const std::string y, s->Floats(down, {1, crop[1], 1}));
  PLUMB_ASSIGN_OR_RETURN(const std::string half, s->Number(0.5));
  PLUMB_ASSIGN_OR_RETURN(const std::string zero, s->Number(0));
  PLUMB_ASSIGN_OR_RETURN(const std::string last_x, s->Number(static_cast<double>(picture[2] - 1)));
  PLUMB_ASSIGN_OR_RETURN(const std::string last_y, s->Number(static_cast<double>(picture[1] - 1)));
  Crop made;
  made.x = s->Sub(Applied(s, x, y, m.xx, m.xy, m.x0), half);
  made.y = s->Sub(Applied(s, x, y, m.yx, m.yy, m.y0), half);
  const auto within = [&](const std::string& at, const std::string& last) {
    return c.Emit("And", {c.Emit("GreaterOrEqual", {at, zero}), c.Emit("LessOrEqual", {at, last})});
  };
  made.inside = c.Emit("And", {within(made.x, last_x), within(made.y, last_y)});
  return made;
}

}  // namespace

// [1,n,3] to the matrix [1,4,4] that leads from the crop's pixels to the picture's.
Status MapLandmarks2TransformMatrix(OpContext& c) {
  PLUMB_RETURN_IF_ERROR(CheckVersion(c, 1, c.version()));
  const Shape shape = c.InShape(0);
  if (shape.rank() != 3 || shape[0] != 1 || shape[2] != 3)
    return Status::CorruptModel(fmt::format("its landmarks are {}, expected [1,n,3]", shape.ToString()));
  PLUMB_ASSIGN_OR_RETURN(const CropOptions crop, ReadCrop(c, shape[1]));
  Sketch s(&c);
  PLUMB_ASSIGN_OR_RETURN(const std::string read, c.Real(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string landmarks, s.Reshaped(read, {shape[1], 3}));
  PLUMB_ASSIGN_OR_RETURN(const std::string left, Rows(c, landmarks, crop.left));
  PLUMB_ASSIGN_OR_RETURN(const std::string right, Rows(c, landmarks, crop.right));
  PLUMB_ASSIGN_OR_RETURN(const std::string subset, Rows(c, landmarks, crop.subset));
  PLUMB_ASSIGN_OR_RETURN(const Turn turn, TurnOf(c, &s, left, right, crop.target));
  PLUMB_ASSIGN_OR_RETURN(const Box box, BoxAround(&s, subset, turn));
  PLUMB_ASSIGN_OR_RETURN(const std::string matrix, MatrixOf(c, &s, turn, box, crop));
  return c.Set(0, matrix, Order::kFile);
}

// The crop, by a picture [1,h,w,c] and that matrix.
Status MapTransformTensorBilinear(OpContext& c) {
  PLUMB_RETURN_IF_ERROR(CheckVersion(c, 2, c.version()));
  const Shape picture = c.InShape(0), crop = c.OutShape();
  const bool fits = picture.rank() == 4 && crop.rank() == 4 && picture[0] == 1 && crop[0] == 1 &&
                    picture[3] == crop[3] && picture[1] > 1 && picture[2] > 1 && crop[1] > 0 && crop[2] > 0 &&
                    crop[1] <= static_cast<int64_t>(kLargestSide) && crop[2] <= static_cast<int64_t>(kLargestSide);
  if (!fits)
    return Status::CorruptModel(fmt::format("it makes {} of {}, expected pictures of one batch with the same channels",
                                            crop.ToString(), picture.ToString()));
  Sketch s(&c);
  PLUMB_ASSIGN_OR_RETURN(const Affine m, ReadMatrix(c, &s, {1, 1, 1}));
  PLUMB_ASSIGN_OR_RETURN(const Crop at, CropOf(c, &s, m, picture, crop));
  std::vector<std::string> grid;  // from -1 to 1 between the middles of the outermost pixels
  for (const auto& [place, side] : {std::pair{at.x, picture[2]}, std::pair{at.y, picture[1]}}) {
    PLUMB_ASSIGN_OR_RETURN(const std::string scaled, s.Scaled(place, 2.0 / static_cast<double>(side - 1)));
    PLUMB_ASSIGN_OR_RETURN(const std::string one, s.Number(1));
    PLUMB_ASSIGN_OR_RETURN(const std::string apart, s.Reshaped(s.Sub(scaled, one), {1, crop[1], crop[2], 1}));
    grid.push_back(apart);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, Order::kFirst));
  const std::string sampled = c.Emit("GridSample", {x, c.Emit("Concat", grid, {{"axis", IntAttribute(3)}})},
                                     {{"align_corners", IntAttribute(1)}, {"mode", TextAttribute("linear")}});
  PLUMB_ASSIGN_OR_RETURN(const std::string inside, s.Reshaped(at.inside, {1, 1, crop[1], crop[2]}));
  PLUMB_ASSIGN_OR_RETURN(const std::string zero, s.Number(0));
  return c.Set(0, c.Emit("Where", {inside, sampled, zero}), Order::kFirst);
}

// [1,n,2] or [1,n,3] of a crop to those of the picture.
Status MapTransformLandmarks(OpContext& c) {
  PLUMB_RETURN_IF_ERROR(CheckVersion(c, 2, c.version()));
  const Shape shape = c.InShape(0);
  if (shape.rank() != 3 || shape[0] != 1 || shape[2] < 2 || shape[2] > 3)
    return Status::CorruptModel(fmt::format("its landmarks are {}, expected [1,n,2] or [1,n,3]", shape.ToString()));
  Sketch s(&c);
  PLUMB_ASSIGN_OR_RETURN(const Affine m, ReadMatrix(c, &s, {1, 1, 1}));
  PLUMB_ASSIGN_OR_RETURN(const std::string landmarks, c.Real(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, s.Cut(landmarks, 2, 0, 1));
  PLUMB_ASSIGN_OR_RETURN(const std::string y, s.Cut(landmarks, 2, 1, 2));
  std::vector<std::string> parts = {Applied(&s, x, y, m.xx, m.xy, m.x0), Applied(&s, x, y, m.yx, m.yy, m.y0)};
  if (shape[2] == 3) {
    PLUMB_ASSIGN_OR_RETURN(const std::string z, s.Cut(landmarks, 2, 2, 3));
    parts.push_back(z);
  }
  return c.Set(0, c.Emit("Concat", parts, {{"axis", IntAttribute(2)}}), Order::kFile);
}

}  // namespace plumb::tflite
