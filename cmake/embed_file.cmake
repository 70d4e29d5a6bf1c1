# Run by plumb_embed() at build time: INPUT -> OUTPUT, a C++ file with the bytes as NAMESPACE::kBytes_ID and their number.
file(READ ${INPUT} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REPEAT "[0-9a-f]" 64 line)
string(REGEX REPLACE "(${line})" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUTPUT} "// Written by plumb_embed() from ${INPUT}.
#include <cstddef>

namespace ${NAMESPACE} {

extern const unsigned char kBytes_${ID}[];
extern const size_t kSize_${ID};
alignas(16) const unsigned char kBytes_${ID}[] = {
${bytes}0};
const size_t kSize_${ID} = ${size};

}  // namespace ${NAMESPACE}
")
