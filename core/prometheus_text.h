// Prometheus' text format: https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/utf8.h"
#include "lockset/clock.h"
#include "lockset/url.h"

namespace lockset {

// `key="value"`, with the value escaped. The format is UTF-8, so other bytes become question marks.
inline std::string prometheus_label(std::string_view key, std::string_view value) {
  std::string text(key);
  text += "=\"";
  while (!value.empty()) {
    const Utf8Char next = next_utf8(value);
    if (next.bytes == 0) {
      text += '?';
      value.remove_prefix(1);
      continue;
    }
    if (value.front() == '\n') {
      text += "\\n";
    } else {
      if (value.front() == '\\' || value.front() == '"') text += '\\';
      text += value.substr(0, next.bytes);
    }
    value.remove_prefix(next.bytes);
  }
  return text + '"';
}

// The labels that every metric of a space has.
inline std::string prometheus_labels_of(std::string_view url) {
  const Result<Url> parsed = Url::parse(url);
  return prometheus_label("store", parsed ? parsed->scheme : "") + "," +
         prometheus_label("space", redact_url(url));
}

inline std::string prometheus_number(double value) {
  std::array<char, 32> text{};
  const auto [end, failed] = std::to_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc{} ? std::string(text.data(), end) : "NaN";
}

inline double in_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

class PrometheusText {
 public:
  // Begins a metric, whose samples follow. `type`: counter, gauge or histogram.
  void metric(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += "# HELP " + name_ + " " + std::string(help) + "\n# TYPE " + name_ + " " +
             std::string(type) + "\n";
  }
  void sample(std::string_view labels, double value, std::string_view suffix = "") {
    text_ += name_;
    text_ += suffix;
    text_ += "{" + std::string(labels) + "} " + prometheus_number(value) + "\n";
  }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string name_;
  std::string text_;
};

}  // namespace lockset
