// One line on a terminal that is rewritten while we wait, and removed afterwards.
#pragma once

#include <string>

namespace lockset::cli {

class Progress {
 public:
  Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  // Standard error is a terminal; if not, nothing is shown.
  [[nodiscard]] bool on_terminal() const noexcept { return shown_here_; }
  void show(const std::string& text);
  void clear();

 private:
  bool shown_here_;
  bool shown_ = false;
};

}  // namespace lockset::cli
