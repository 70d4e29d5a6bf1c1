// SPDX-License-Identifier: Apache-2.0
// What wrong layers do to the network's outputs, in sentences.
#include <fmt/core.h>

#include <cmath>

#include "check/report/util.h"

namespace plumb {
namespace {

// "96 %", "4.2 %".
std::string Percent(double share) {
  const double percent = 100 * share;
  if (std::fabs(percent) < 0.1) return "less than 0.1 %";
  return fmt::format(std::fabs(percent) < 9.95 ? "{:.1f} %" : "{:.0f} %", percent);
}

std::string OthersOf(const OutputEffect& effect) {
  if (effect.others_wrong == 0) return "everything else";
  return fmt::format("everything else ({} more {} wrong)", effect.others_wrong,
                     effect.others_wrong == 1 ? "layer is" : "layers are");
}

std::string ShareSentence(const OutputEffect& effect) {
  std::string text;
  bool against = effect.others < -0.01;
  for (const LayerEffect& layer : effect.layers) {
    text += fmt::format("{}'{}' makes {}", text.empty() ? "" : ", ", layer.step.name, Percent(layer.share));
    if (text.find(" of its error") == std::string::npos) text += " of its error";
    against = against || layer.share < -0.01;
  }
  text += fmt::format(", {} {}", OthersOf(effect), Percent(effect.others));
  return text + (against ? "; what is below 0 cancels a part of the rest" : "");
}

// Of scores that changed places.
std::string MarginSentence(const OutputEffect& effect) {
  std::string text = fmt::format("their margin of {:.3g} was moved by {:.3g}: ", effect.margin, effect.moved);
  if (effect.layers.empty()) {
    if (effect.others_wrong > 0) return "";
    return text + "no layer is wrong, rounding explains it";
  }
  for (const LayerEffect& layer : effect.layers) text += fmt::format("{:.3g} by '{}', ", layer.margin, layer.step.name);
  return text + fmt::format("{:.3g} by {}", effect.others_margin, OthersOf(effect));
}

// "'conv3' healed, the rest by X86: top-1 is #3, 4.1 % of the error are left"
std::string HealedSentence(const RunReport& run, const LayerEffect& layer) {
  const std::string name = layer.step.name;
  const std::string how = layer.healed_by_device ? fmt::format("'{}' healed, the rest by {}", name, run.device)
                                                 : fmt::format("with the reference from '{}' on", name);
  const std::string top = layer.top1_healed < 0 ? "" : fmt::format("top-1 is #{}, ", layer.top1_healed);
  return fmt::format("{}: {}{} of the error is left", how, top, Percent(layer.left));
}

}  // namespace

std::vector<std::string> EffectSentences(const RunReport& run, const OutputSummary& output) {
  const OutputEffect& effect = output.effect;
  std::vector<std::string> sentences;
  if (!effect.layers.empty()) sentences.push_back(ShareSentence(effect));
  if (effect.moved == 0) {
    if (!effect.layers.empty() && effect.layers[0].healed_by_device)
      sentences.push_back(HealedSentence(run, effect.layers[0]));
    return sentences;
  }
  const std::string margin = MarginSentence(effect);
  if (!margin.empty()) sentences.push_back(margin);
  for (const LayerEffect& layer : effect.layers) sentences.push_back(HealedSentence(run, layer));
  if (effect.layers.size() > 1)
    sentences.push_back(
        fmt::format("without what these {} layers do, top-1 is #{}", effect.layers.size(), effect.top1_without));
  return sentences;
}

}  // namespace plumb
