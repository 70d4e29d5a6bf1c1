// SPDX-License-Identifier: Apache-2.0
// Which blobs of a network a dump takes, decided once: per step the ports that pass the filters, the blobs that are
// known without running anything, and those that never exist, with the reason.
#ifndef PLUMB_DUMP_SELECTION_H_
#define PLUMB_DUMP_SELECTION_H_

#include <map>
#include <string>
#include <vector>

#include "dump/manifest.h"
#include "plumb/dump.h"
#include "plumb/network.h"

namespace plumb {

struct StepSelection {
  std::vector<size_t> inputs;  // positions in StepInfo::inputs
  std::vector<size_t> outputs;
};

struct Selection {
  std::map<const StepInfo*, StepSelection> steps;  // steps without an entry are not dumped
  std::vector<BlobPlace> host;                     // values in Network::blobs(): integers that follow from the shapes
  std::vector<AbsentBlob> absent;
  bool filtered_to_nothing = false;  // the filters take no layer of this network
};

Result<Selection> SelectBlobs(const Network& network, const DumpOptions& options);

// Layer, type and nodes of a port of the step.
BlobPlace PlaceOf(const StepInfo& step, const PortInfo& port, bool output);
const MemberInfo& MemberOf(const StepInfo& step, const PortInfo& port);

}  // namespace plumb

#endif  // PLUMB_DUMP_SELECTION_H_
