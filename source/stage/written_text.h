// SPDX-License-Identifier: Apache-2.0
// Text: UTF-8 (u8), or numbers of characters, in one row.
#ifndef PLUMB_STAGE_WRITTEN_TEXT_H_
#define PLUMB_STAGE_WRITTEN_TEXT_H_

#include <string>
#include <vector>

#include "stage/picture.h"

namespace plumb {

// Greedy CTC decodings of scores (a row per step, a column per class): which class is the blank (what the parameter
// "blank" says, the first, the last), and the usual mistakes. With the parameter "charset" the characters themselves.
std::vector<Convention> FindText(const Picture& before, const Picture& after, const StageInfo& info);

// Levenshtein's edit distance: insertions, deletions, replacements.
struct TextDifference {
  int64_t distance = 0, length = 0;  // `length`: of the original
  std::string original, port;        // as a person reads them, cut off behind 60 characters
  std::string text() const;
};
// Nothing: they are no texts (not one row of whole numbers, or more than 2^12 of them).
std::optional<TextDifference> CompareTexts(const Tensor& original, const Tensor& port);

}  // namespace plumb

#endif  // PLUMB_STAGE_WRITTEN_TEXT_H_
