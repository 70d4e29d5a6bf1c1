// SPDX-License-Identifier: Apache-2.0
// What a tool owes its caller whatever happens: one sentence and an exit code of ours, no half-written file.
#ifndef PLUMB_TOOLS_COMMON_GUARD_H_
#define PLUMB_TOOLS_COMMON_GUARD_H_

namespace plumb {

// Before anything else. The three standard streams are open (a closed one takes nothing); a reader that left and the
// limit of file sizes become errors of write(); a signal that ends the tool removes its unfinished files first; one
// that says that code is broken (a driver that found no memory, a file that was cut under a reader) ends in a sentence
// and exit code 4. Not the latter with sanitizers, which have their own reports.
void GuardProcess();

// At the end: the exit code, or 4 and a sentence when standard output could not be written.
int FinishOutput(int exit_code);

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_GUARD_H_
