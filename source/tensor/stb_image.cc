// The one place that compiles stb_image: PNG, JPEG and BMP from memory.
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>
