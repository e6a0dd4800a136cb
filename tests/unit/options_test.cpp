#include "options/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace forebay {
namespace {

class OptionsTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const std::string& name : variables_) unsetenv(name.c_str());
  }

  void set_variable(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    variables_.push_back(name);
  }

  Options apply(const std::map<std::string, std::string>& values) {
    Options options;
    apply_options(
        options,
        [&](const OptionSpec& spec) -> std::optional<std::string> {
          const auto found = values.find(spec.name);
          return found == values.end() ? std::nullopt : std::optional(found->second);
        },
        complain_);
    return options;
  }

  std::vector<std::string> complaints_;
  std::function<void(std::string_view)> complain_ = [this](std::string_view line) {
    complaints_.emplace_back(line);
  };

 private:
  std::vector<std::string> variables_;
};

TEST(ParseBytes, AcceptsPlainNumbersAndUnits) {
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("64KiB"), 64 << 10);
  EXPECT_EQ(parse_bytes("64kb"), 64 << 10);
  EXPECT_EQ(parse_bytes("1M"), 1 << 20);
  EXPECT_EQ(parse_bytes(" 1.5 GiB "), 3LL << 29);
  EXPECT_EQ(parse_bytes("2T"), 2LL << 40);
  EXPECT_EQ(parse_bytes("12B"), 12);
  EXPECT_EQ(parse_bytes("9223372036854775807"), INT64_MAX);
}

TEST(ParseBytes, RefusesWhatIsNoSize) {
  for (const char* text : {"", " ", "K", "-1", "1X", "1KK", "1iB", "0x10", "1 2", "1e30", "nan",
                           "9223372036854775808", "9000000T", "."}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST_F(OptionsTest, EveryDefaultIsAcceptedAndComesBackAsText) {
  std::map<std::string, std::string> defaults;
  for (const OptionSpec& spec : option_table()) defaults[spec.name] = spec.fallback;
  const Options options = apply(defaults);
  EXPECT_TRUE(complaints_.empty());
  for (const OptionSpec& spec : option_table()) {
    EXPECT_EQ(option_text(options, spec), spec.fallback) << spec.name;
    EXPECT_EQ(option_text(Options{}, spec), spec.fallback) << spec.name;
  }
}

TEST_F(OptionsTest, EveryChoiceIsAcceptedAndComesBackAsText) {
  for (const OptionSpec& spec : option_table()) {
    if (spec.type != OptionType::choice) continue;
    std::string rest = spec.choices;
    for (bool more = true; more;) {
      const std::size_t bar = rest.find('|');
      const std::string choice = rest.substr(0, bar);
      EXPECT_EQ(option_text(apply({{spec.name, choice}}), spec), choice) << spec.name;
      more = bar != std::string::npos;
      if (more) rest.erase(0, bar + 1);
    }
  }
  EXPECT_TRUE(complaints_.empty());
}

TEST_F(OptionsTest, ValuesReachTheirMembers) {
  const Options options = apply({{"enable", "off"},
                                 {"scope", "Process"},
                                 {"consistency", "mpi"},
                                 {"page_size", "512"},
                                 {"dirty_bound", "0.25"},
                                 {"step_aside", "never"},
                                 {"shards", "8"},
                                 {"stats_json", "out.json"}});
  EXPECT_TRUE(complaints_.empty());
  EXPECT_FALSE(options.enable);
  EXPECT_EQ(options.scope, Scope::process);
  EXPECT_EQ(options.consistency, Consistency::mpi);
  EXPECT_EQ(options.page_size_bytes, 512);
  EXPECT_EQ(options.dirty_bound, 0.25);
  EXPECT_EQ(options.step_aside, StepAside::never);
  EXPECT_EQ(options.shards, 8);
  EXPECT_EQ(options.stats_json, "out.json");
}

TEST_F(OptionsTest, ABadValueIsNamedAndChangesNothing) {
  const Options options = apply({{"scope", "galaxy"}, {"page_size", "100"}, {"dirty_bound", "2"}});
  EXPECT_EQ(options.scope, Options{}.scope);
  EXPECT_EQ(options.page_size_bytes, Options{}.page_size_bytes);
  EXPECT_EQ(options.dirty_bound, Options{}.dirty_bound);
  ASSERT_EQ(complaints_.size(), 3u);
  EXPECT_EQ(complaints_[0], "option scope: 'galaxy' is not accepted; give process, node");
  EXPECT_EQ(complaints_[1],
            "option page_size: '100' is not accepted; give 512 to 16MiB, for example 64KiB");
  EXPECT_EQ(complaints_[2], "option dirty_bound: '2' is not accepted; give 0 to 1");
}

TEST_F(OptionsTest, AVariableIsStrongerThanTheConfiguration) {
  set_variable("FOREBAY_CONFIG", "page_size=8K\n commit_size = 1M \n\n");
  set_variable("FOREBAY_PAGE_SIZE", "16K");
  const Options options = options_from_environment(complain_);
  EXPECT_TRUE(complaints_.empty());
  EXPECT_EQ(options.page_size_bytes, 16 << 10);
  EXPECT_EQ(options.commit_size_bytes, 1 << 20);
}

TEST_F(OptionsTest, ABadVariableLeavesTheConfiguredValue) {
  set_variable("FOREBAY_CONFIG", "page_size=8K");
  set_variable("FOREBAY_PAGE_SIZE", "huge");
  EXPECT_EQ(options_from_environment(complain_).page_size_bytes, 8 << 10);
  EXPECT_EQ(complaints_.size(), 1u);
}

TEST_F(OptionsTest, AnUnknownConfiguredNameIsNamed) {
  set_variable("FOREBAY_CONFIG", "pagesize=8K");
  (void)options_from_environment(complain_);
  ASSERT_EQ(complaints_.size(), 1u);
  EXPECT_EQ(complaints_[0], "there is no option 'pagesize'; see `forebay hints`");
}

}  // namespace
}  // namespace forebay
