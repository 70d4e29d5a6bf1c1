// SPDX-License-Identifier: Apache-2.0
// What a signal that ends this process would leave behind beside unfinished files (atomic_file.h): programs that it
// started, and folders for its own work.
#ifndef PLUMB_BASE_LEFTOVERS_H_
#define PLUMB_BASE_LEFTOVERS_H_

#include <sys/types.h>

#include <string>

namespace plumb {

// Beyond the size of the table they are only not removed there. Threading: any thread.
void KeepForRemoval(const std::string& folder);
void ForgetFolder(const std::string& folder);
void KeepForEnding(pid_t child);
void ForgetChild(pid_t child);

// Asks the programs to end, gives them some seconds for their own leftovers, ends them, and removes the folders. May be
// called by a signal handler.
void EndLeftovers();

}  // namespace plumb

#endif  // PLUMB_BASE_LEFTOVERS_H_
