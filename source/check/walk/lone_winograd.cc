// SPDX-License-Identifier: Apache-2.0
#include "check/walk/lone_winograd.h"

#include <fmt/core.h>

#include <algorithm>

namespace plumb {
namespace {

void MakeGrey(const std::string& why, LayerReport* report) {
  report->verdict = std::min(report->verdict, Verdict::kGrey);
  report->reason = why;
  for (OutputReport& output : report->outputs) {
    if (output.verdict >= Verdict::kGrey) output.reason = why;
    output.verdict = std::min(output.verdict, Verdict::kGrey);
  }
}

}  // namespace

void LoneWinograd::Note(size_t position, const StepRecord& record) {
  if (products_->AsWinograd(position) != nullptr && OtherProducts::IsSpreadAsWinograd(record, *blobs_))
    spread_.insert(position);
}

void LoneWinograd::Name(size_t position, StepRecord* record) const {
  const LayerReport* as_winograd = products_->AsWinograd(position);
  if (as_winograd == nullptr) return;
  LayerReport& report = record->report;
  if (spread_.count(position) != 0) {
    report = *as_winograd;
    report.cause = "computed by Winograd's algorithm";
    report.reason = report.cause + ", as its errors are spread: runtimes choose it layer by layer";
    return;
  }
  const auto would = [](const char* evidence) {
    return fmt::format("Winograd's algorithm would explain it (SessionOptions::arithmetic fp32+winograd), {}",
                       evidence);
  };
  if (!spread_.empty()) {
    MakeGrey(would("and other layers here are so computed, though its errors do not show it"), &report);
  } else if (products_->OneMayBeWinograd()) {
    MakeGrey(would("and no other layer here may be so computed"), &report);
  } else {
    const std::string says = would("but neither do other layers speak for that nor are its errors spread so");
    report.reason += (report.reason.empty() ? "" : "; ") + says;
  }
}

}  // namespace plumb
