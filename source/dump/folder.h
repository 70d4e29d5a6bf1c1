// SPDX-License-Identifier: Apache-2.0
// Where a dump goes. A folder that holds a manifest, finished or not, is never mixed with a new run: the run takes
// <dir>-2, <dir>-3, ... The first network of a process that dumps gets the folder itself, later ones network-2/,
// network-3/, ...; the first Forward of each that is dumped goes to that folder, later ones to forward-00001/ and so on
// inside it. Threading: networks of several threads may ask at once; runs of several processes keep apart, too.
#ifndef PLUMB_DUMP_FOLDER_H_
#define PLUMB_DUMP_FOLDER_H_

#include <string>

#include "plumb/status.h"

namespace plumb {

constexpr const char* kManifestName = "manifest.json";

struct NetworkFolder {
  std::string path;
  int network = 1;   // its number in this process
  std::string note;  // not empty: what the user should know about the place
};

// Takes a place for the next network that dumps to `folder` (DUMP_BLOB_DIR), and creates it. IoError.
Result<NetworkFolder> TakeNetworkFolder(const std::string& folder);

// The folder of one Forward, created; of the first one the network's own. IoError.
Result<std::string> MakeForwardFolder(const std::string& network_folder, int forward, bool first);

// Each of these folders begins with the mark `manifest.json.part`, which goes when its manifest stands.
void RemoveMark(const std::string& folder);
// Whether a dump was begun there and never finished: a manifest under construction (manifest.json*.part) and none that
// is whole.
bool IsCutOff(const std::string& folder);

}  // namespace plumb

#endif  // PLUMB_DUMP_FOLDER_H_
