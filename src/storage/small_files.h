// The names in a folder, and the text of a small file, such as the kernel's below /proc. Without
// std::filesystem, which ends the process if the system refuses it memory, and without streams.
#pragma once

#include <string>
#include <vector>

namespace forebay {

// With "." and ".."; empty: the folder cannot be read, and errno says why.
std::vector<std::string> names_in(const std::string& folder);

// "": the file cannot be read.
std::string text_of_file(const std::string& path);

}  // namespace forebay
