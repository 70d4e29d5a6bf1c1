// SPDX-License-Identifier: Apache-2.0
// Boxes of a network's rows, one per cell of its grids:
//   distances      sides at cell - (l, t) and cell + (r, b), in strides or pixels     (FCOS; YOLOv8 behind its softmax)
//   softmax        each distance is the mean of 16 bins                               (YOLOv8's "DFL")
//   YOLOX          centre (x + cell) * stride, size exp(w) * stride
//   YOLOv5         centre (2 s(x) - 0.5 + cell) * stride, size (2 s(w))^2 * anchor    (s: sigmoid)
//   YOLOv3         centre (s(x) + cell) * stride, size exp(w) * anchor
//   SSD            centre and size of an anchor, moved by 0.1 and 0.2                 (variances)
//   R-CNN          the same without variances
// A cell lies at its corner or half a pixel further.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "stage/several.h"

namespace plumb {
namespace {

enum class BoxCode { kDistances, kSoftmaxDistances, kYolox, kYolo5, kYolo3, kSsd, kRcnn };
enum class BoxOut { kCorners, kCentre, kSize };
constexpr int64_t kBins = 16;

struct CodeWords {
  BoxCode code;
  const char* words;
  double half;  // of a cell, as the network's authors have it
  bool anchors;
};
constexpr CodeWords kCodes[] = {
    {BoxCode::kDistances, "distances to the sides (FCOS, YOLOv8)", 0.5, false},
    {BoxCode::kSoftmaxDistances, "means of 16 bins as distances to the sides (YOLOv8)", 0.5, false},
    {BoxCode::kYolox, "centre and exp(size) of the cell (YOLOX)", 0, false},
    {BoxCode::kYolo5, "YOLOv5's centre and size of anchors", -0.5, true},
    {BoxCode::kYolo3, "YOLOv3's centre and exp(size) of anchors", 0, true},
    {BoxCode::kSsd, "SSD's shifts of anchors (variances 0.1 and 0.2)", 0, true},
    {BoxCode::kRcnn, "shifts of anchors without variances (R-CNN)", 0, true}};

struct Cell {
  double x, y, stride, width, height;  // of the anchor; without one: the stride
};
using Cells = std::vector<Cell>;

struct BoxDecoding {
  CodeWords code;
  double half = 0.5;
  bool in_strides = true;
  BoxOut out = BoxOut::kCorners;
  bool read_anchors = false;
};

double Sigmoid(double value) { return 1 / (1 + std::exp(-value)); }

double MeanOfBins(const float* bins) {
  const double largest = static_cast<double>(*std::max_element(bins, bins + kBins));
  double sum = 0, mean = 0;
  for (int64_t i = 0; i < kBins; ++i) {
    const double power = std::exp(static_cast<double>(bins[i]) - largest);
    sum += power;
    mean += static_cast<double>(i) * power;
  }
  return mean / sum;
}

struct RealBox {
  double x1, y1, x2, y2;
};
RealBox Around(double x, double y, double width, double height) {
  return {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
}

RealBox BoxOf(const BoxDecoding& how, const Cell& cell, const float* row) {
  double v[4];
  for (int64_t i = 0; i < 4; ++i)
    v[i] = how.code.code == BoxCode::kSoftmaxDistances ? MeanOfBins(row + i * kBins) : static_cast<double>(row[i]);
  const double unit = how.in_strides ? cell.stride : 1;
  const double x = (cell.x + how.half) * cell.stride, y = (cell.y + how.half) * cell.stride;
  switch (how.code.code) {
    case BoxCode::kDistances:
    case BoxCode::kSoftmaxDistances: return {x - v[0] * unit, y - v[1] * unit, x + v[2] * unit, y + v[3] * unit};
    case BoxCode::kYolox:
      return Around(x + v[0] * cell.stride, y + v[1] * cell.stride, std::exp(v[2]) * cell.stride,
                    std::exp(v[3]) * cell.stride);
    case BoxCode::kYolo5:
      return Around(x + 2 * Sigmoid(v[0]) * cell.stride, y + 2 * Sigmoid(v[1]) * cell.stride,
                    4 * Sigmoid(v[2]) * Sigmoid(v[2]) * cell.width, 4 * Sigmoid(v[3]) * Sigmoid(v[3]) * cell.height);
    case BoxCode::kYolo3:
      return Around(x + Sigmoid(v[0]) * cell.stride, y + Sigmoid(v[1]) * cell.stride, std::exp(v[2]) * cell.width,
                    std::exp(v[3]) * cell.height);
    case BoxCode::kSsd:
      return Around(cell.x + 0.1 * v[0] * cell.width, cell.y + 0.1 * v[1] * cell.height,
                    std::exp(0.2 * v[2]) * cell.width, std::exp(0.2 * v[3]) * cell.height);
    case BoxCode::kRcnn:
      return Around(cell.x + v[0] * cell.width, cell.y + v[1] * cell.height, std::exp(v[2]) * cell.width,
                    std::exp(v[3]) * cell.height);
  }
  return {};
}

void WriteBox(const RealBox& box, BoxOut out, float* to) {
  const double width = box.x2 - box.x1, height = box.y2 - box.y1;
  const double values[3][4] = {{box.x1, box.y1, box.x2, box.y2},
                               {box.x1 + width / 2, box.y1 + height / 2, width, height},
                               {box.x1, box.y1, width, height}};
  for (int i = 0; i < 4; ++i) to[i] = static_cast<float>(values[static_cast<int>(out)][i]);
}

std::string WordsOfDecoding(const BoxDecoding& how) {
  constexpr const char* kOuts[] = {"corners", "centre and size", "corner and size"};
  std::string words = fmt::format("boxes decoded from {}", how.code.words);
  const bool grid = how.code.code != BoxCode::kSsd && how.code.code != BoxCode::kRcnn;
  if (grid && how.half != how.code.half)
    words += how.half > how.code.half ? ", half a cell further" : ", half a cell before";
  if (!how.in_strides) words += ", not multiplied with the stride";
  return words + fmt::format(", as {}", kOuts[static_cast<int>(how.out)]);
}

std::vector<double> NumbersSaid(const StageInfo& info, const char* name) {
  const StageValue* value = info.Find(name);
  return value == nullptr ? std::vector<double>() : value->numbers;
}

// A grid per stride: rows of cells, `anchors` of each (or of all, plane by plane).
struct Grid {
  std::vector<int64_t> strides;
  int64_t height = 0, width = 0;
};

int64_t CellsOf(const Grid& grid) {
  int64_t count = 0;
  for (const int64_t stride : grid.strides) count += (grid.height / stride) * (grid.width / stride);
  return count;
}

std::vector<Grid> GridsOf(int64_t rows, const StageInfo& info) {
  std::vector<std::vector<int64_t>> strides = {
      {8, 16, 32}, {8, 16, 32, 64}, {8, 16, 32, 64, 128}, {16, 32}, {32, 16, 8}, {8}, {16}};
  const std::vector<double> said = NumbersSaid(info, "strides"), size = NumbersSaid(info, "size");
  const auto sane = [](double value) { return value >= 1 && value <= 1 << 15; };
  if (!said.empty() && said.size() <= 16 && std::all_of(said.begin(), said.end(), sane)) {
    strides = {{}};
    for (const double one : said) strides[0].push_back(static_cast<int64_t>(one));
  }
  std::vector<Grid> grids;
  const auto add = [&](const Grid& grid) {
    const int64_t cells = CellsOf(grid);
    if (cells > 0 && rows % cells == 0 && rows / cells <= 9) grids.push_back(grid);
  };
  for (const std::vector<int64_t>& list : strides) {
    if (size.size() == 2 && sane(size[0]) && sane(size[1])) {
      add({list, static_cast<int64_t>(size[0]), static_cast<int64_t>(size[1])});
    } else {
      for (int64_t side = 32; side <= 2048; side += 32) {
        if (CellsOf({list, side, side}) * 3 == rows || CellsOf({list, side, side}) == rows) add({list, side, side});
      }
    }
  }
  return grids;
}

// YOLOv3's and YOLOv5's, and YOLOv4's and YOLOv7's anchors of COCO.
const std::vector<std::vector<double>>& KnownAnchors() {
  static const std::vector<std::vector<double>> all = {
      {10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119, 116, 90, 156, 198, 373, 326},
      {12, 16, 19, 36, 40, 28, 36, 75, 76, 55, 72, 146, 142, 110, 192, 243, 459, 401}};
  return all;
}

// `anchors`: widths and heights, as many per stride; none: of each cell one.
Cells CellsOnGrid(const Grid& grid, const std::vector<double>& anchors, bool planes) {
  Cells cells;
  const size_t per_level = anchors.empty() ? 1 : anchors.size() / 2 / grid.strides.size();
  for (size_t level = 0; level < grid.strides.size(); ++level) {
    const int64_t stride = grid.strides[level], height = grid.height / stride, width = grid.width / stride;
    const auto add = [&](int64_t y, int64_t x, size_t k) {
      const double unit = static_cast<double>(stride);
      const size_t at = (level * per_level + k) * 2;
      const bool known = !anchors.empty();
      cells.push_back({static_cast<double>(x), static_cast<double>(y), unit, known ? anchors[at] : unit,
                       known ? anchors[at + 1] : unit});
    };
    const size_t outer = planes ? per_level : 1, inner = planes ? 1 : per_level;
    for (size_t k = 0; k < outer; ++k) {
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t x = 0; x < width; ++x) {
          for (size_t i = 0; i < inner; ++i) add(y, x, planes ? k : i);
        }
      }
    }
  }
  return cells;
}

// Anchors that the stage reads: centres and sizes, or corners.
std::optional<Cells> CellsOfRows(const Tensor& tensor, bool corners) {
  const std::optional<Picture> rows = RowsOfTensor(tensor);
  if (!rows.has_value() || rows->width != 4) return std::nullopt;
  Cells cells;
  for (int64_t h = 0; h < rows->height; ++h) {
    const float* row = rows->Row(h);
    const double a = static_cast<double>(row[0]), b = static_cast<double>(row[1]);
    const double c = static_cast<double>(row[2]), d = static_cast<double>(row[3]);
    cells.push_back(corners ? Cell{(a + c) / 2, (b + d) / 2, 1, c - a, d - b} : Cell{a, b, 1, c, d});
  }
  return cells;
}

Convention BoxDecodingRow(const BoxDecoding& how, const std::shared_ptr<const Cells>& cells, const std::string& more,
                          bool corners) {
  const std::string words = WordsOfDecoding(how) + more;
  Convention convention{words, words, "", {}, 0};
  convention.in_float32 = true;
  convention.of_several = [how, cells, corners](const std::vector<Tensor>& read,
                                                const PictureTarget& target) -> std::optional<Picture> {
    const std::optional<Picture> rows = read.empty() ? std::nullopt : RowsOfTensor(read[0]);
    if (!rows.has_value() || target.channels != 1 || rows->height != target.height || target.width < 4)
      return std::nullopt;
    std::optional<Cells> own;
    if (how.read_anchors) own = read.size() > 1 ? CellsOfRows(read[1], corners) : std::nullopt;
    if (how.read_anchors && !own.has_value()) return std::nullopt;
    const Cells& all = own.has_value() ? *own : *cells;
    const int64_t used = how.code.code == BoxCode::kSoftmaxDistances ? 4 * kBins : 4;
    if (static_cast<int64_t>(all.size()) != rows->height || rows->width < used) return std::nullopt;
    const int64_t rest = target.width - 4;
    if (rest > 0 && rest != rows->width - used) return std::nullopt;
    Picture after = MakePicture(target.height, target.width, 1, false);
    for (int64_t h = 0; h < rows->height; ++h) {
      WriteBox(BoxOf(how, all[static_cast<size_t>(h)], rows->Row(h)), how.out, after.Row(h));
      std::copy_n(rows->Row(h) + used, rest, after.Row(h) + 4);
    }
    return after;
  };
  return convention;
}

// Each way to read a cell's numbers, as each form of boxes.
void AddDecodings(const CodeWords& code, const std::shared_ptr<const Cells>& cells, const std::string& more,
                  bool read_anchors, bool corners, std::vector<Convention>* found) {
  const bool distances = code.code == BoxCode::kDistances || code.code == BoxCode::kSoftmaxDistances;
  std::vector<double> halves = {code.half};
  if (!read_anchors) halves.push_back(code.half == 0 ? 0.5 : 0.0);
  for (const double half : halves) {
    for (const bool in_strides : {true, false}) {
      if (!in_strides && !distances) continue;
      for (const BoxOut out : {BoxOut::kCorners, BoxOut::kCentre, BoxOut::kSize})
        found->push_back(BoxDecodingRow({code, half, in_strides, out, read_anchors}, cells, more, corners));
    }
  }
}

}  // namespace

std::vector<Convention> FindBoxDecoding(const std::vector<Tensor>& read, const Picture& after, const StageInfo& info) {
  std::vector<Convention> found;
  const std::optional<Picture> rows = read.empty() ? std::nullopt : RowsOfTensor(read[0]);
  if (!rows.has_value() || rows->height != after.height || after.channels != 1 || after.bytes || rows->width < 4)
    return found;
  if (read.size() > 1) {
    for (const CodeWords& code : kCodes) {
      if (code.code != BoxCode::kSsd && code.code != BoxCode::kRcnn) continue;
      for (const bool corners : {false, true})
        AddDecodings(code, nullptr, corners ? ", anchors of corners" : "", true, corners, &found);
    }
    return found;
  }
  for (const Grid& grid : GridsOf(rows->height, info)) {
    const bool one = CellsOf(grid) == rows->height;
    std::vector<std::vector<double>> sets = KnownAnchors();
    const std::vector<double> said = NumbersSaid(info, "anchors");
    if (!said.empty()) sets = {said};
    for (const CodeWords& code : kCodes) {
      if (code.code == BoxCode::kSsd || code.code == BoxCode::kRcnn || code.anchors == one) continue;
      if (one) {
        AddDecodings(code, std::make_shared<const Cells>(CellsOnGrid(grid, {}, false)), "", false, false, &found);
        continue;
      }
      for (const std::vector<double>& anchors : sets) {
        if (anchors.size() % (2 * grid.strides.size()) != 0) continue;
        for (const bool planes : {true, false}) {
          const auto cells = std::make_shared<const Cells>(CellsOnGrid(grid, anchors, planes));
          if (static_cast<int64_t>(cells->size()) != rows->height) continue;
          AddDecodings(code, cells, planes ? "" : ", anchors of a cell side by side", false, false, &found);
        }
      }
    }
  }
  return found;
}

}  // namespace plumb
