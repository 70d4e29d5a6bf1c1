// Words that somebody typed and nobody knows: what was meant? For option names and values, devices, variables.
#ifndef PLUMB_BASE_WORDS_H_
#define PLUMB_BASE_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

namespace plumb {

// Insertions, deletions, replacements and swaps of neighbours that make `a` to `b`; upper and lower case are the same.
int EditDistance(std::string_view a, std::string_view b);

// The word that `text` most likely stands for: within a third of its length, or the only one that begins with it (three
// letters at least). Empty when there is none.
std::string NearestWord(std::string_view text, const std::vector<std::string>& words);

// For the end of a message: "; did you mean 'X86'?", or nothing.
std::string DidYouMean(std::string_view text, const std::vector<std::string>& words);

// "--rule: expected default, allclose, tnn or cosine, found 'cosin'; did you mean 'cosine'?"
std::string UnknownWord(std::string_view what, std::string_view text, const std::vector<std::string>& words);

}  // namespace plumb

#endif  // PLUMB_BASE_WORDS_H_
