# Makes C++ of the examples in the documentation, so that they cannot rot: awk -f extract.awk README.md doc/*.md include/plumb/*.h
# A ```cpp block that includes something stands at file scope. Every other one, and what is indented behind "// Example:" in a
# header, becomes the body of a function that has `image` and `network`; kExamples lists these.
function open(line) { at = FILENAME ":" line; sub(/^.*\//, "", at); body = ""; scope = 0 }
function close_block() {
  if (scope) { printf "// %s\n%s\n", at, body; return }
  ++count; names[count] = at
  printf "// %s\nplumb::Status Example%d(const plumb::Tensor& image, std::unique_ptr<plumb::Network>& network) {\n", at, count
  printf "  (void)image;\n  (void)network;\n  {\n%s  }\n  return plumb::Status::Ok();\n}\n\n", body
}
/^```cpp/ { open(FNR); fenced = 1; next }
/^```/ && fenced { close_block(); fenced = 0; next }
fenced { if ($0 ~ /^#include/) scope = 1; body = body $0 "\n"; next }
/^\/\/ Example:/ { open(FNR); header = 1; next }
header && /^\/\/   / { body = body substr($0, 5) "\n"; next }
header { close_block(); header = 0 }
END {
  print "struct Example { const char* where; plumb::Status (*run)(const plumb::Tensor&, std::unique_ptr<plumb::Network>&); };"
  print "const Example kExamples[] = {"
  for (i = 1; i <= count; ++i) printf "    {\"%s\", Example%d},\n", names[i], i
  print "};"
}
