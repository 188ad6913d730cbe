#include "benchmarks/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

namespace lockset::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Json sample() {
  std::ifstream file(LOCKSET_BENCH_SAMPLE);
  return Json::parse(file);
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The JSON that the page's script reads.
Json carried(const std::string& text) {
  const std::string opening = R"(<script type="application/json" id="results">)";
  const std::size_t begin = text.find(opening) + opening.size();
  return Json::parse(text.substr(begin, text.find("</script>", begin) - begin));
}

TEST(Page, CarriesTheResultsAndTheirPromises) {
  const Json json = sample();
  Json shown = carried(page(json));
  EXPECT_FALSE(shown["promises"].empty());
  shown.erase("promises");
  EXPECT_EQ(shown, json);
}

// No string of a run can end the script or become markup.
TEST(Page, LetsNoStringOut) {
  const std::string text = page(sample());
  EXPECT_EQ(times(text, "</script>"), 2U);
  EXPECT_EQ(times(text, "<script"), 2U);
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_THAT(text, Not(HasSubstr("<!-- ")));
  for (const std::string setter : {"innerHTML", "outerHTML", "insertAdjacent", "document.write"}) {
    EXPECT_THAT(text, Not(HasSubstr(setter)));
  }
}

TEST(Page, NeedsNothingBesides) {
  const std::string text = page({{"lockset", "0.1.0"}, {"measurements", Json::array()}});
  EXPECT_THAT(text, HasSubstr("default-src 'none'"));
  EXPECT_THAT(text, Not(HasSubstr("src=")));
  EXPECT_THAT(text, Not(HasSubstr("https:")));
  EXPECT_THAT(text, Not(HasSubstr("url(")));
  EXPECT_THAT(text, Not(HasSubstr("{{"))) << "a place that nothing was put in";
}

TEST(Page, IsReadableWithoutScripts) {
  const std::string text = page(sample());
  const std::size_t begin = text.find("<noscript>");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_THAT(text.substr(begin, text.find("</noscript>") - begin),
              HasSubstr("Promises: what must be"));
}

// Strings of a run may look like the template's placeholders.
TEST(Page, PutsNothingIntoWhatWasPutIn) {
  Json json = sample();
  json["spaces"][0]["settings"]["server"] = "{{results}} {{text}}";
  const std::string text = page(json);
  EXPECT_EQ(carried(text)["spaces"][0]["settings"]["server"], "{{results}} {{text}}");
}

TEST(Page, BearsWhatIsNoUtf8) {
  Json json = sample();
  json["spaces"][0]["settings"]["server"] = "caf\xE9";
  EXPECT_THAT(carried(page(json))["spaces"][0]["settings"]["server"].get<std::string>(),
              HasSubstr("caf"));
}

}  // namespace
}  // namespace lockset::bench
