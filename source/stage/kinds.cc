// SPDX-License-Identifier: Apache-2.0
// What a stage does, by its name.
#include <cctype>
#include <string_view>

#include "base/text.h"
#include "plumb/stage.h"

namespace plumb {
namespace {

struct KindWord {
  const char* word;
  const char* kind;
};

// The first word that is part of the name counts: "decode_boxes" is of boxes, "nms_scores" of detections.
constexpr KindWord kKindWords[] = {
    {"letterbox", "letterbox"}, {"nms", "detections"},
    {"suppress", "detections"}, {"detection", "detections"},
    {"box", "boxes"},           {"anchor", "boxes"},
    {"mask", "mask"},           {"softmax", "scores"},
    {"sigmoid", "scores"},      {"prob", "scores"},
    {"score", "scores"},        {"topk", "classes"},
    {"top_k", "classes"},       {"top-k", "classes"},
    {"argmax", "classes"},      {"class", "classes"},
    {"text", "text"},           {"ctc", "text"},
    {"pad", "letterbox"},       {"resize", "resize"},
    {"rescale", "resize"},      {"interpolat", "resize"},
    {"thumbnail", "resize"},    {"crop", "crop"},
    {"normali", "normalise"},   {"to_tensor", "normalise"},
    {"totensor", "normalise"},  {"standardi", "normalise"},
    {"mean", "normalise"},      {"quanti", "quantise"},
    {"cvtcolor", "colour"},     {"color", "colour"},
    {"colour", "colour"},       {"rgb", "colour"},
    {"bgr", "colour"},          {"gray", "colour"},
    {"grey", "colour"},         {"nv12", "colour"},
    {"yuv", "colour"},          {"transpose", "layout"},
    {"permute", "layout"},      {"layout", "layout"},
    {"nchw", "layout"},         {"chw", "layout"},
    {"decode", "decode"},       {"imread", "decode"},
    {"read", "decode"},         {"open", "decode"},
    {"load", "decode"},         {"jpeg", "decode"},
    {"png", "decode"},          {"infer", "model"},
    {"model", "model"},         {"network", "model"},
    {"forward", "model"},       {"logit", "model"},
    {"output", "model"},        {"input", "input"},
    {"blob", "input"},          {"preproc", "input"},
};

}  // namespace

std::string StageKind(const std::string& name) {
  const std::string lower = Lower(name);
  for (const KindWord& row : kKindWords) {
    if (lower.find(row.word) != std::string::npos) return row.kind;
  }
  return "";
}

const StageValue* StageInfo::Find(const std::string& name) const {
  for (const auto& [key, value] : parameters) {
    if (key == name) return &value;
  }
  return nullptr;
}

const char* StageVerdictName(StageVerdict verdict) {
  switch (verdict) {
    case StageVerdict::kAligned: return "aligned";
    case StageVerdict::kIntroduced: return "introduced";
    case StageVerdict::kInherited: return "inherited";
    case StageVerdict::kDiffers: return "differs";
    case StageVerdict::kNotTested: return "not tested";
  }
  return "not tested";
}

}  // namespace plumb
