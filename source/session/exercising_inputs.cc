// SPDX-License-Identifier: Apache-2.0
#include "session/exercising_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "check/core/coverage.h"
#include "check/judge/exercised.h"
#include "device/grouped_step.h"
#include "plumb/inputs.h"
#include "plumb/network.h"
#include "plumb/plumb.h"
#include "plumb/tool/interrupt.h"
#include "plumb/tool/support.h"

namespace plumb {
namespace {

using Values = std::map<std::string, Tensor>;

struct LayerExercise {
  std::string name;
  Exercise exercise;
};

bool IsFinite(const Tensor& values) {
  for (int64_t i = 0; i < values.NumElements(); ++i) {
    if (!std::isfinite(values.ValueAt(i))) return false;
  }
  return true;
}

// Notes of each layer how much of it one Forward exercises.
class ExerciseWatcher : public Observer {
 public:
  explicit ExerciseWatcher(const std::vector<std::string>& layers) : layers_(layers) {}
  std::vector<LayerExercise> found;

  bool Wants(const StepInfo& step, int) override {
    const auto holds = [&](const std::string& name) { return HoldsLayer(step, name); };
    return layers_.empty() || std::any_of(layers_.begin(), layers_.end(), holds);
  }
  Status ForwardBegin(int) override {
    found.clear();
    return Status::Ok();
  }
  Status Before(const LayerEvent& event) override {
    const auto& inputs = event.step().inputs;
    size_t i = 0;
    while (i < inputs.size() && inputs[i].constant) ++i;
    input_ = Tensor();
    if (i == inputs.size()) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(input_, event.Input(i));
    return Status::Ok();
  }
  Status After(const LayerEvent& event) override {
    if (event.step().outputs.empty() || input_.empty()) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(const Tensor output, event.Output(0));
    const bool finite = !IsFloat(output.dtype()) || IsFinite(output);
    found.push_back({event.step().name, finite ? ExerciseOf(GroupOf(event.step()).last(), input_, output)
                                               : Exercise{0, "some of its values are not finite"}});
    return Status::Ok();
  }

 private:
  const std::vector<std::string>& layers_;
  Tensor input_;
};

struct Drawn {
  Values values;
  std::string words;
  double score = 0;  // the mean of log(share)
  LayerExercise weakest = {};
};

double ScoreOf(const std::vector<LayerExercise>& found) {
  constexpr double kNothing = 1e-3;
  double sum = 0;
  for (const LayerExercise& layer : found) sum += std::log(kNothing + layer.exercise.share);
  return found.empty() ? 0 : sum / static_cast<double>(found.size());
}

// Draws the candidates: ready-made ones first, then changes of the best.
class Drawer {
 public:
  Drawer(Values plain, const std::vector<std::string>& fixed, uint64_t seed) : plain_(std::move(plain)), seed_(seed) {
    for (const auto& [name, value] : plain_) {
      if (value.dtype() == DType::kF32 && std::count(fixed.begin(), fixed.end(), name) == 0) free_.push_back(name);
    }
  }
  bool CanChange() const { return !free_.empty(); }

  Result<Drawn> Draw(int number, const Drawn& best) const {
    struct Form {
      double scale, shift, apart;  // times, plus, plus another number of each channel up to it
    };
    static constexpr Form kForms[] = {{4, 0, 0}, {16, 0, 0}, {0.25, 0, 0}, {1, 1, 0}, {1, -1, 0},     {1, 0, 1},
                                      {4, 0, 4}, {64, 0, 0}, {1, 0, 0.25}, {4, 4, 0}, {0.0625, 0, 0}, {16, 0, 16}};
    constexpr int kCount = static_cast<int>(sizeof(kForms) / sizeof(kForms[0]));
    if (number == 0) return Drawn{plain_, ""};
    if (number <= kCount) {
      const Form& form = kForms[number - 1];
      return Changed({plain_, ""}, form.scale, form.shift, form.apart, number);
    }
    // Around what is best so far, ever nearer.
    static constexpr Form kSteps[] = {{1.5, 0, 0}, {1, 0, 0.5}, {0.66, 0, 0}, {1, 0.3, 0}, {1, -0.3, 0}, {1, 0, 1}};
    const Form& step = kSteps[(number - kCount - 1) % 6];
    const double size = SizeOf(best.values);
    return Changed(best, step.scale, step.shift * size, step.apart * size, number);
  }

 private:
  double SizeOf(const Values& values) const {
    double squares = 0, count = 1;
    for (const std::string& name : free_) {
      const Tensor& x = values.at(name);
      for (int64_t i = 0; i < x.NumElements(); ++i) squares += x.ValueAt(i) * x.ValueAt(i);
      count += static_cast<double>(x.NumElements());
    }
    return std::sqrt(squares / count);
  }

  Result<Drawn> Changed(const Drawn& from, double scale, double shift, double apart, int number) const {
    Drawn drawn{from.values, from.words};
    const auto add = [&](const std::string& words) { drawn.words += (drawn.words.empty() ? "" : ", ") + words; };
    if (scale != 1) add(fmt::format("times {}", Number(scale, 3)));
    if (shift != 0) add(fmt::format("shifted by {}", Number(shift, 3)));
    if (apart != 0) add(fmt::format("its channels shifted apart by up to {}", Number(apart, 3)));
    for (const std::string& name : free_) {
      PLUMB_ASSIGN_OR_RETURN(Tensor x, from.values.at(name).Clone());
      const Shape& shape = x.shape();
      const int64_t channels = shape.rank() >= 2 ? shape[1] : 1, plane = shape.rank() >= 2 ? shape.CountFrom(2) : 1;
      PLUMB_ASSIGN_OR_RETURN(const Tensor offsets,
                             RandomInput(name + " offsets", DType::kF32, {channels},
                                         seed_ + static_cast<uint64_t>(number), InputRange{-1, 1}));
      for (int64_t i = 0; i < x.NumElements(); ++i) {
        const double own = apart * offsets.ValueAt(i / plane % channels);
        float& value = x.data<float>()[i];
        value = static_cast<float>(scale * static_cast<double>(value) + shift + own);
      }
      drawn.values[name] = std::move(x);
    }
    return drawn;
  }

  Values plain_;
  uint64_t seed_;
  std::vector<std::string> free_;
};

int CandidatesFor(const Graph& graph, const BlobTable& blobs) {
  constexpr double kOperations = 4e10;  // some ten seconds
  double operations = 1;
  for (const Layer& layer : graph.layers) operations += CountOperations(layer, blobs);
  return static_cast<int>(std::clamp(kOperations / operations, 6.0, 32.0));
}

std::string Sentence(const Drawn& plain, const Drawn& best, int drawn) {
  const auto words = [](const LayerExercise& layer) {
    return layer.exercise.what.empty() ? "all layers are exercised"
                                       : fmt::format("'{}' is exercised least, {}", layer.name, layer.exercise.what);
  };
  if (best.words.empty() && plain.weakest.exercise.what.empty())
    return "probe: all layers are exercised by the plain inputs";
  if (best.words.empty())
    return fmt::format("probe: none of {} is better than the plain inputs: {}", drawn, words(plain.weakest));
  return fmt::format("probe: the best of {}: {}; with the plain inputs {}", drawn, words(best.weakest),
                     words(plain.weakest));
}

}  // namespace

Result<ExercisingInputs> DrawExercisingInputs(const Graph& graph, const BlobTable& blobs, const Values& plain,
                                              const std::vector<std::string>& fixed,
                                              const std::vector<std::string>& layers, uint64_t seed) {
  constexpr double kBetter = 1e-3;
  const Drawer drawer(plain, fixed, seed);
  if (!drawer.CanChange())
    return ExercisingInputs{plain, "", "probe: no network input is free: each has whole numbers or is given"};
  PLUMB_ASSIGN_OR_RETURN(const auto device, OpenDevice("NAIVE"));
  NetworkOptions options;
  for (const auto& [name, value] : plain) options.input_shapes[name] = value.shape();
  PLUMB_ASSIGN_OR_RETURN(const auto network, Network::Create(std::make_shared<const Graph>(graph), device, options));
  ExerciseWatcher watcher(layers);
  network->AddObserver(&watcher);
  Drawn first, best;
  const int count = CandidatesFor(graph, blobs);
  int number = 0;
  for (; number < count && !(best.score > 0); ++number) {  // above 0 everything is exercised
    PLUMB_RETURN_IF_ERROR(Interrupter::Check());
    PLUMB_ASSIGN_OR_RETURN(Drawn drawn, drawer.Draw(number, best));
    PLUMB_RETURN_IF_ERROR(RunNetwork(network.get(), drawn.values).status());
    drawn.score = ScoreOf(watcher.found);
    const auto least = std::min_element(watcher.found.begin(), watcher.found.end(), [](const auto& a, const auto& b) {
      return a.exercise.share < b.exercise.share;
    });
    if (least != watcher.found.end()) drawn.weakest = *least;
    if (number == 0) first = drawn;
    if (number == 0 || drawn.score > best.score + kBetter) best = std::move(drawn);
  }
  network->RemoveObserver(&watcher);
  return ExercisingInputs{best.values, best.words, Sentence(first, best, number)};
}

}  // namespace plumb
