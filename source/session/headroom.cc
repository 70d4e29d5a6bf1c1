// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/headroom.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/threads.h"
#include "device/grouped_step.h"
#include "op/core/some_params.h"
#include "plumb/plumb.h"
#include "plumb/tool/support.h"
#include "session/headroom_sums.h"

namespace plumb {
namespace {

constexpr double kSmallestNormal[] = {0x1p-14, 0x1p-126};
constexpr double kRoundsToZero[] = {0x1p-25, 0x1p-134};  // and what is smaller

// Of the finite values.
double LargestSize(const Tensor& values) {
  double largest = 0;
  if (!IsFloat(values.dtype())) return 0;
  for (int64_t i = 0; i < values.NumElements(); ++i) {
    const double size = std::fabs(values.ValueAt(i));
    if (std::isfinite(size)) largest = std::max(largest, size);
  }
  return largest;
}

template <class Is>
bool HasSuch(const Tensor& values, Is is) {
  if (!IsFloat(values.dtype())) return false;
  for (int64_t i = 0; i < values.NumElements(); ++i) {
    if (is(values.ValueAt(i))) return true;
  }
  return false;
}

bool HasInfinity(const Tensor& values) {
  return HasSuch(values, [](double value) { return std::isinf(value); });
}
bool HasNan(const Tensor& values) {
  return HasSuch(values, [](double value) { return std::isnan(value); });
}

// Whether a parameter of the layer is infinite: what a Pad in front of a maximum writes.
class InfinityFinder : public SomeParams {
 public:
  void Float(const char*, float& value, Need) override { found |= std::isinf(value); }
  bool found = false;
};

bool HasInfinity(const Layer& layer) {
  InfinityFinder finder;
  layer.param->Visit(finder);
  return finder.found;
}

void AddLosses(const Tensor& values, LayerHeadroom* layer) {
  if (!IsFloat(values.dtype())) return;
  layer->values += values.NumElements();
  for (int64_t i = 0; i < values.NumElements(); ++i) {
    const double size = std::fabs(values.ValueAt(i));
    if (!(size > 0)) continue;
    for (size_t f = 0; f < kHalfFormats.size(); ++f) {
      if (size <= kRoundsToZero[f]) {
        ++layer->loss[f].zero;
      } else if (size < kSmallestNormal[f]) {
        ++layer->loss[f].subnormal;
      }
    }
  }
}

// Looks at each layer of one Forward.
class HeadroomWatcher : public Observer {
 public:
  HeadroomWatcher(const Network& network, HeadroomReport* report) : network_(network), report_(report) {}

  Status Before(const LayerEvent& event) override {
    const LayerGroup& group = GroupOf(event.step());
    LayerHeadroom layer;
    layer.index = event.step().index;
    layer.name = event.step().name;
    layer.type = event.step().type;
    std::vector<Tensor> inputs;
    given_infinity_ = HasInfinity(group.first());
    for (size_t i = 0; i < group.inputs.size(); ++i) {
      const bool constant = event.step().inputs[i].constant;
      Tensor value;
      if (constant) {
        value = network_.blobs().at(group.inputs[i].blob).value;
      } else {
        PLUMB_ASSIGN_OR_RETURN(value, event.Input(i));
      }
      double& largest = constant ? layer.largest_constant : layer.largest_read;
      largest = std::max(largest, LargestSize(value));
      given_infinity_ = given_infinity_ || HasInfinity(value);
      inputs.push_back(std::move(value));
    }
    for (const auto& [slot, weight] : group.first().resources) {
      layer.largest_constant = std::max(layer.largest_constant, LargestSize(weight));
      given_infinity_ = given_infinity_ || HasInfinity(weight);
    }
    layer.multiply_adds = CountOperations(group.first(), network_.blobs()) / 2;
    PLUMB_ASSIGN_OR_RETURN(const std::optional<LargestSums> sums, LargestSumsOf(group.first(), inputs));
    layer.sums = sums.has_value();
    if (sums) {
      layer.in_order = sums->in_order;
      layer.in_order_f16 = sums->in_order_f16;
      layer.any_order = sums->any_order;
    }
    report_->layers.push_back(std::move(layer));
    return Status::Ok();
  }

  Status After(const LayerEvent& event) override {
    LayerHeadroom& layer = report_->layers.back();
    for (size_t i = 0; i < event.step().outputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor value, event.Output(i));
      layer.largest = std::max(layer.largest, LargestSize(value));
      layer.nan = layer.nan || HasNan(value);
      if (!given_infinity_ && HasInfinity(value)) layer.largest = INFINITY;  // beyond f32, too; a mask's -inf is none
      AddLosses(value, &layer);
    }
    report_->multiply_adds += layer.multiply_adds;
    return Status::Ok();
  }

 private:
  const Network& network_;
  HeadroomReport* report_;
  bool given_infinity_ = false;  // what the layer reads has one, or a parameter is one
};

}  // namespace

const char* HalfFormatName(HalfFormat format) { return format == HalfFormat::kF16 ? "f16" : "bf16"; }

double OverflowOf(HalfFormat format) {
  return format == HalfFormat::kF16 ? 65520 : 0x1.FFp127;  // halfway from the largest number to the next
}

const char* HalfSumsName(HalfSums sums) {
  switch (sums) {
    case HalfSums::kF32: return "f32";
    case HalfSums::kInOrder: return "in order";
    case HalfSums::kAnyOrder: return "any order";
  }
  return "";
}

std::string LayerHeadroom::WhyKept(HalfFormat format, HalfSums sums_in) const {
  const double limit = OverflowOf(format);
  double sum = format == HalfFormat::kF16 ? std::max(in_order, in_order_f16) : in_order;
  if (sums_in == HalfSums::kAnyOrder) sum = std::max(sum, any_order);
  if (largest >= limit) return fmt::format("writes {}", Number(largest, 3));
  if (largest_read >= limit) return fmt::format("reads {}", Number(largest_read, 3));
  if (largest_constant >= limit) return fmt::format("has a constant of {}", Number(largest_constant, 3));
  if (sums && sums_in != HalfSums::kF32 && sum >= limit) return fmt::format("its sums reach {}", Number(sum, 3));
  return "";
}

std::vector<size_t> HeadroomReport::Kept(HalfFormat format, HalfSums sums_in) const {
  std::vector<size_t> kept;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].WhyKept(format, sums_in).empty()) kept.push_back(i);
  }
  return kept;
}

Result<HeadroomReport> MeasureHeadroom(std::shared_ptr<const Graph> graph, const std::map<std::string, Tensor>& inputs,
                                       const NetworkOptions& options) {
  NetworkOptions plain;
  plain.input_shapes = options.input_shapes;
  plain.num_threads = options.num_threads;
  plain.unfuse = true;
  HeadroomReport report;
  report.model = graph->source;
  PLUMB_ASSIGN_OR_RETURN(const auto network, CreateNetwork(std::move(graph), "NAIVE", plain));
  for (const auto& [name, value] : inputs) PLUMB_RETURN_IF_ERROR(network->SetInput(name, value));
  HeadroomWatcher watcher(*network, &report);
  network->AddObserver(&watcher);
  const Status ran = network->Forward();
  network->RemoveObserver(&watcher);
  PLUMB_RETURN_IF_ERROR(ran);
  return report;
}

}  // namespace plumb
