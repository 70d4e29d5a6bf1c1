// SPDX-License-Identifier: Apache-2.0
// The observer that dumps: takes blobs as the layers run, hands them to the writer, and ends each Forward with a
// manifest.
#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <deque>
#include <filesystem>
#include <memory>

#include "base/log.h"
#include "base/threads.h"
#include "device/device.h"
#include "dump/file_name.h"
#include "dump/filter.h"
#include "dump/folder.h"
#include "dump/io_tensors.h"
#include "dump/selection.h"
#include "dump/writer.h"
#include "graph/file_order.h"
#include "plumb/dump.h"

namespace plumb {
namespace {

constexpr int kMaxWriters = 4;  // more only wait for the disk

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

const char* FormatName(DumpOptions::Format format) {
  switch (format) {
    case DumpOptions::Format::kText: return "text";
    case DumpOptions::Format::kTextFixed9: return "text9";
    case DumpOptions::Format::kNpy: return "npy";
    case DumpOptions::Format::kRaw: return "raw";
  }
  return "";
}

class DumpObserver : public Observer {
 public:
  DumpObserver(Network* network, DumpOptions options, Selection selection, IndexRanges blob_forwards,
               IndexRanges io_forwards)
      : network_(*network),
        options_(std::move(options)),
        first_(network->forwards()),
        selection_(std::move(selection)),
        blob_forwards_(std::move(blob_forwards)),
        io_forwards_(std::move(io_forwards)) {}

  bool Wants(const StepInfo& step, int forward) override { return writing_ && selection_.steps.count(&step) != 0; }

  Status ForwardBegin(int forward) override {
    opened_ = false;
    writing_ = false;
    saving_ = false;
    entries_.clear();
    manifest_ = Manifest();
    first_error_ = Status::Ok();
    if (process_ != getpid()) {  // a forked child: the writer's threads are not here, and the folder is its parent's
      process_ = getpid();
      (void)writer_.release();
      network_folder_ = {};
    }
    if (writer_ != nullptr) {  // a Forward that broke off left its blobs behind
      std::vector<size_t> done;
      (void)writer_->Finish(&done);
    }
    const bool blobs = (options_.inputs || options_.outputs) && blob_forwards_.Contains(forward);
    const bool io = options_.save_io && io_forwards_.Contains(forward);
    // The first Forward's manifest is what keeps other runs out of the folder, so there always is one.
    if (!blobs && !io && forward != first_) return Status::Ok();
    PLUMB_RETURN_IF_ERROR(OpenFolder(forward));
    opened_ = true;
    writing_ = blobs;
    if (writing_) AddHostBlobs();
    if (!io) return Status::Ok();
    saving_ = true;
    return Note(SaveIoTensors(network_, false, folder_, &manifest_.io_files));
  }

  Status Before(const LayerEvent& event) override {
    const auto it = selection_.steps.find(&event.step());
    if (it == selection_.steps.end()) return Status::Ok();
    for (size_t i : it->second.inputs) Take(event.step(), event.step().inputs[i], false, event.Input(i));
    return Status::Ok();
  }

  Status After(const LayerEvent& event) override {
    const auto it = selection_.steps.find(&event.step());
    if (it == selection_.steps.end()) return Status::Ok();
    for (size_t i : it->second.outputs) Take(event.step(), event.step().outputs[i], true, event.Output(i));
    return Status::Ok();
  }

  // Returns the first thing that went wrong since ForwardBegin.
  Status ForwardEnd(int forward) override {
    if (!opened_) return Status::Ok();
    opened_ = false;
    if (saving_) (void)Note(SaveIoTensors(network_, true, folder_, &manifest_.io_files));
    std::vector<size_t> done;
    if (writer_ != nullptr) (void)Note(writer_->Finish(&done));
    std::sort(done.begin(), done.end());
    for (size_t id : done) {
      Entry& entry = entries_[id];
      entry.blob.bytes = entry.result.bytes;
      entry.blob.checksum = std::move(entry.result.checksum);
      entry.blob.values_checksum = std::move(entry.result.values_checksum);
      entry.blob.statistics = entry.result.statistics;
      manifest_.files.push_back(std::move(entry.blob));
    }
    FillManifest(forward);
    const Status written = WriteManifest(fmt::format("{}/{}", folder_, kManifestName), manifest_);
    if (written.ok()) RemoveMark(folder_);
    (void)Note(written);
    if (options_.written) TellWritten();
    return std::exchange(first_error_, Status::Ok()).AddContext(fmt::format("dump to '{}'", folder_));
  }

 private:
  struct Entry {
    DumpedBlob blob;
    BlobFileResult result;
  };

  Status OpenFolder(int forward) {
    opened_ = false;
    if (network_folder_.path.empty()) {
      PLUMB_ASSIGN_OR_RETURN(network_folder_, TakeNetworkFolder(options_.folder));
      if (!network_folder_.note.empty()) Tell(network_folder_.note);
      if (selection_.filtered_to_nothing) {
        Tell(
            fmt::format("the dump's filters (DUMP_BLOB_LAYERS '{}', DUMP_BLOB_TYPES '{}') take no layer of model '{}', "
                        "whose first layer is '{}'",
                        options_.layers, options_.types, network_.graph().source, network_.graph().layers[0].name));
      }
    }
    PLUMB_ASSIGN_OR_RETURN(folder_, MakeForwardFolder(network_folder_.path, forward, forward == first_));
    return Status::Ok();
  }

  void TellWritten() const {
    size_t files = manifest_.io_files.size(), bytes = 0;
    for (const DumpedBlob& blob : manifest_.files) {
      files += !blob.file.empty();
      bytes += blob.file.empty() ? 0 : blob.bytes;
    }
    for (const std::string& file : manifest_.io_files) {
      std::error_code error;
      const auto size = std::filesystem::file_size(fmt::format("{}/{}", folder_, file), error);
      if (!error) bytes += size;
    }
    options_.written(network_folder_.path, files, bytes);
  }

  void Tell(const std::string& text) const {
    if (options_.note) {
      options_.note(text);
    } else {
      Log(LogLevel::kInfo, text);
    }
  }

  Status Note(Status status) {
    if (status.ok()) return status;
    manifest_.errors.push_back(status.message());
    if (first_error_.ok()) first_error_ = std::move(status);
    return Status::Ok();  // returned at the Forward's end, with the folder's name
  }

  void AddHostBlobs() {
    for (const BlobPlace& place : selection_.host) {
      DumpedBlob blob;
      blob.place = place;
      blob.device = "host";
      blob.layout = "NCHW";
      blob.step_index = place.layer_index;
      blob.nodes = {place.layer};
      Write(std::move(blob), network_.blobs().at(place.blob).value);
    }
  }

  void Take(const StepInfo& step, const PortInfo& port, bool output, Result<Tensor> tensor) {
    if (!tensor.ok()) {
      (void)Note(tensor.status().AddContext(fmt::format("layer {} '{}'", step.index, step.name)));
      return;
    }
    DumpedBlob blob;
    blob.place = PlaceOf(step, port, output);
    blob.constant = port.constant;
    blob.layout = port.layout;
    blob.device = step.device;
    blob.kernel = step.kernel;
    blob.detail = step.detail;
    if (output) blob.numerics = step.numerics;
    blob.fallback = step.fallback;
    blob.step_index = step.index;
    if (step.members.size() > 1) {
      for (const MemberInfo& member : step.members) blob.fused.push_back(member.name);
    }
    blob.nodes = MemberOf(step, port).nodes;
    Write(std::move(blob), std::move(tensor).value());
  }

  // Values go out in the order of the model's axes, unless ours is asked for.
  void Write(DumpedBlob blob, Tensor tensor) {
    if (!options_.channels_first) {
      Result<Tensor> turned = ToFileOrder(network_.graph(), blob.place.blob, tensor);
      if (!turned.ok()) {
        (void)Note(turned.status().AddContext(fmt::format("blob '{}'", blob.place.blob)));
        return;
      }
      tensor = std::move(turned).value();
    }
    blob.model_dtype = network_.graph().ModelDType(blob.place.blob, tensor.dtype());
    if (!IsFloat(tensor.dtype()) && blob.model_dtype != tensor.dtype()) {
      Result<Tensor> narrow = tensor.ConvertedTo(blob.model_dtype);
      if (narrow.ok()) tensor = std::move(narrow).value();
    }
    blob.dtype = tensor.dtype();
    blob.shape = tensor.shape();
    std::string path;
    if (!options_.statistics_only) {
      const BlobPlace& place = blob.place;
      blob.file = BlobFileName(place.layer_index, place.layer, place.output, place.slot, place.blob, blob.shape) +
                  BlobFileEnding(options_.format, options_.zstd);
      path = fmt::format("{}/{}", folder_, blob.file);
    }
    if (writer_ == nullptr) {
      const int threads = options_.num_threads > 0 ? options_.num_threads : NumThreads();
      writer_ = std::make_unique<BlobWriter>(options_.format, options_.zstd, options_.max_queued_bytes,
                                             std::min(threads, kMaxWriters));
    }
    entries_.push_back({std::move(blob), {}});
    writer_->Add(std::move(tensor), std::move(path), entries_.size() - 1, &entries_.back().result);
  }

  void FillManifest(int forward) {
    const Graph& graph = network_.graph();
    Manifest& m = manifest_;
    m.tool = "Plumb " PLUMB_VERSION;
    m.created = UtcNow();
    m.model = graph.source;
    m.weights_generated = graph.weights_generated;
    m.weight_seed = graph.weight_seed;
    m.device = network_.device().name();
    m.device_description = network_.device().Description();
    m.precision = PrecisionName(network_.options().precision);
    m.num_threads = NumThreads();
    m.network = network_folder_.network;
    m.forward = forward;
    if (options_.forwards.empty()) {
      m.forwards_note = fmt::format("only Forward {} is written; DUMP_BLOB_FORWARDS=all, or 0-9, writes more", first_);
    } else {
      m.forwards_note = "written Forwards: " + options_.forwards;
    }
    m.inputs = options_.inputs;
    m.outputs = options_.outputs;
    m.statistics_only = options_.statistics_only;
    m.unfuse = network_.options().unfuse;
    m.order = options_.channels_first ? "NCHW" : "model";
    m.format = FormatName(options_.format);
    m.compress = options_.zstd ? "zstd" : "none";
    m.layers = options_.layers;
    m.types = options_.types;
    m.forwards = options_.forwards;
    m.complete = m.errors.empty();
    if (writing_) m.absent = selection_.absent;
  }

  Network& network_;
  const DumpOptions options_;
  const int first_;  // Forward after AddDump
  const Selection selection_;
  const IndexRanges blob_forwards_;
  const IndexRanges io_forwards_;
  pid_t process_ = getpid();
  NetworkFolder network_folder_;
  std::string folder_;    // of this Forward
  bool opened_ = false;   // this Forward has a folder and gets a manifest
  bool writing_ = false;  // this Forward's blobs are dumped
  bool saving_ = false;   // its inputs and outputs are saved
  Manifest manifest_;
  Status first_error_;
  std::deque<Entry> entries_;           // the writer holds pointers into it
  std::unique_ptr<BlobWriter> writer_;  // last: its threads end before what they write to
};

}  // namespace

Status AddDump(Network* network, const DumpOptions& options) {
  if (!options.enabled()) return Status::Ok();
#ifndef PLUMB_BLOB_HOOKS
  return Status::NotSupported(
      "this build of Plumb cannot dump blobs: it was configured with -DPLUMB_BLOB_HOOKS=OFF; "
      "build it with -DPLUMB_BLOB_HOOKS=ON");
#else
  PLUMB_ASSIGN_OR_RETURN(Selection selection, SelectBlobs(*network, options));
  if (options.unfuse && !network->options().unfuse) {
    return Status::InvalidArgument(
        "DumpOptions::unfuse: this network was made fused; make it with NetworkOptions::unfuse");
  }
  const int next = network->forwards();
  PLUMB_ASSIGN_OR_RETURN(IndexRanges blob_forwards, IndexRanges::Parse(options.forwards, std::to_string(next)));
  if (!blob_forwards.AnyFrom(next)) {
    return Status::InvalidArgument(
        fmt::format("DumpOptions::forwards '{}' would write nothing: the network's next Forward has the number {}",
                    options.forwards, next));
  }
  PLUMB_ASSIGN_OR_RETURN(IndexRanges io_forwards, IndexRanges::Parse(options.forwards, "all"));
  network->AddObserver(std::make_shared<DumpObserver>(network, options, std::move(selection), std::move(blob_forwards),
                                                      std::move(io_forwards)));
  return Status::Ok();
#endif
}

}  // namespace plumb
