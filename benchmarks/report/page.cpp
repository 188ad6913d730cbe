#include "benchmarks/report/page.h"

#include <stdexcept>

#include "benchmarks/report/page_template.h"
#include "benchmarks/report/promises.h"
#include "benchmarks/report/terminal.h"

namespace lockset::bench {
namespace {

// ASCII, without anything that could end a <script> or begin a comment in it.
std::string in_script(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

std::string in_markup(const std::string& plain) {
  std::string text;
  for (const char c : plain) {
    switch (c) {
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '&':
        text += "&amp;";
        break;
      default:
        text += c;
    }
  }
  return text;
}

}  // namespace

std::string page(const Json& results) {
  Json shown = results;
  shown["promises"] = promises(results);
  // In the order of the template: inserted text is not searched again.
  std::string_view rest = page_template;
  std::string text;
  const auto put = [&](std::string_view name, const std::string& content) {
    const std::size_t at = rest.find(name);
    if (at == std::string_view::npos) throw std::logic_error("page template without a place");
    text += rest.substr(0, at);
    text += content;
    rest.remove_prefix(at + name.size());
  };
  put("{{text}}", in_markup(terminal_report(results)));
  put("{{results}}", in_script(shown));
  text += rest;
  return text;
}

}  // namespace lockset::bench
