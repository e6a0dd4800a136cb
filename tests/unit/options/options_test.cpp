#include "options/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "options/nearest.h"
#include "page/page_kind.h"

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
    return given({values.begin(), values.end()}, Notation::plain, Settable::at_start);
  }

  using Pairs = std::vector<std::pair<std::string, std::string>>;
  Options given(const Pairs& pairs, Notation notation, Settable when, Options options = {}) {
    std::vector<Given> all;
    for (const auto& [name, value] : pairs) all.push_back({name, value});
    apply_options(options, all, notation, when, complain_);
    return options;
  }

  std::vector<std::string> complaints_;
  Complain complain_ = [this](const Mistake& mistake) { complaints_.push_back(mistake.line()); };

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

TEST_F(OptionsTest, OnlyChoicesHaveAList) {
  for (const OptionSpec& spec : option_table()) {
    EXPECT_EQ(spec.choice_list().empty(), *spec.choices == '\0') << spec.name;
    EXPECT_EQ(name_of(spec.type) == "choice", spec.type == OptionType::choice) << spec.name;
  }
  EXPECT_EQ(name_of(OptionType::boolean), "boolean");
  EXPECT_EQ(name_of(OptionType::text), "text");
}

TEST_F(OptionsTest, EveryChoiceIsAcceptedAndComesBackAsText) {
  for (const OptionSpec& spec : option_table()) {
    if (spec.type != OptionType::choice) continue;
    EXPECT_FALSE(spec.choice_list().empty()) << spec.name;
    for (const std::string_view choice : spec.choice_list()) {
      const Options options = apply({{spec.name, std::string(choice)}});
      EXPECT_EQ(option_text(options, spec), choice) << spec.name;
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

TEST_F(OptionsTest, FractionsComeBackInTheDigitsThatTheyNeed) {
  const OptionSpec& spec = *std::ranges::find_if(option_table(), [](const auto& each) {
    return std::string_view(each.name) == "dirty_bound";
  });
  for (const char* text : {"0", "1", "0.1", "0.05", "0.3333333333333333", "1e-05"})
    EXPECT_EQ(option_text(apply({{"dirty_bound", text}}), spec), text);
  EXPECT_EQ(option_text(apply({{"dirty_bound", "0.250"}}), spec), "0.25");
  EXPECT_TRUE(complaints_.empty());
}

TEST_F(OptionsTest, WhatIsNoFractionIsRefused) {
  const std::vector<std::string> texts = {"0x1p-1", "inf", "nan", "+0.5", "0.5.5", "-0.1",
                                          "1.1",    "0,5", "e",   "-",    "0.5 6"};
  for (const std::string& text : texts)
    EXPECT_EQ(apply({{"dirty_bound", text}}).dirty_bound, Options{}.dirty_bound) << text;
  EXPECT_EQ(complaints_.size(), texts.size());
}

TEST_F(OptionsTest, ABadValueIsNamedAndChangesNothing) {
  const Options options = apply({{"scope", "galaxy"}, {"page_size", "100"}, {"dirty_bound", "2"}});
  EXPECT_EQ(options.scope, Options{}.scope);
  EXPECT_EQ(options.page_size_bytes, Options{}.page_size_bytes);
  EXPECT_EQ(options.dirty_bound, Options{}.dirty_bound);
  const std::vector<std::string> said = {
      "dirty_bound=2 is not accepted; 0.5 is used; give 0 to 1",
      "page_size=100 is not accepted; 64KiB is used; give 512 to 16MiB in steps of 64, for example "
      "64KiB",
      "scope=galaxy is not accepted; job is used; give process, node, job"};
  EXPECT_EQ(complaints_, said);
}

TEST_F(OptionsTest, APageSizeIsOneThatPagesCanHave) {
  for (const int64_t bytes : {511, 512, 544, 576, 1000, 3000, 3008, 16777216, 16777280}) {
    complaints_.clear();
    (void)apply({{"page_size", std::to_string(bytes)}});
    EXPECT_EQ(complaints_.empty(), is_page_size(bytes)) << bytes;
  }
}

TEST_F(OptionsTest, TheNearestNameOrChoiceIsNamed) {
  (void)apply({{"page_siez", "4096"}, {"polcy", "lru"}, {"zzz", "1"}, {"policy", "arcc"}});
  const std::vector<std::string> said = {
      "there is no option 'page_siez'; it is ignored; did you mean page_size?",
      "there is no option 'polcy'; it is ignored; did you mean policy?",
      "policy=arcc is not accepted; lru is used; did you mean arc? give lru, fifo, lfu, arc, "
      "sieve, "
      "s3fifo, fcf, informed",
      "there is no option 'zzz'; it is ignored; see `forebay hints`"};
  std::sort(complaints_.begin(), complaints_.end());
  std::vector<std::string> sorted = said;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(complaints_, sorted);
}

TEST_F(OptionsTest, NamesAreReadAndSaidAsTheSourceWritesThem) {
  const Options options =
      given({{"forebay_policy", "arc"}, {"forebay_polcy", "fifo"}, {"policy", "lfu"}},
            Notation::hint, Settable::at_open);
  EXPECT_EQ(options.policy, "arc");
  const std::vector<std::string> said = {
      "there is no option 'forebay_polcy'; it is ignored; did you mean forebay_policy?",
      "there is no option 'policy'; it is ignored; see `forebay hints`"};
  EXPECT_EQ(complaints_, said);
}

TEST_F(OptionsTest, WhatAUserGivesStaysOneLine) {
  (void)apply({{"policy", "arc\nforebay: all is well"}, {"pol\x1b[2Jicy", "lru"}});
  for (const std::string& line : complaints_) {
    EXPECT_EQ(std::count_if(line.begin(), line.end(), [](char c) { return c < ' '; }), 0) << line;
  }
}

// Every option at every time: it takes effect, or is a mistake that names the value that stays.
TEST_F(OptionsTest, AnOptionGivenTooLateStaysAsItIs) {
  for (const OptionSpec& spec : option_table()) {
    const std::string other =
        spec.type == OptionType::boolean ? (spec.fallback == std::string("true") ? "false" : "true")
        : spec.type == OptionType::fraction ? "0.25"
        : spec.type == OptionType::choice
            ? std::string(spec.choices).substr(std::string(spec.choices).rfind('|') + 1)
        : spec.type == OptionType::text ? "other"
                                        : "128KiB";
    const std::string value = spec.type == OptionType::count ? "8" : other;
    for (const Settable when : {Settable::at_start, Settable::at_open, Settable::any_time}) {
      complaints_.clear();
      const std::string hint = written(spec, Notation::hint);
      const Options options = given({{hint, value}}, Notation::hint, when);
      const bool takes_effect = spec.settable >= when;
      const bool changes = value != spec.fallback;
      EXPECT_EQ(option_text(options, spec), takes_effect ? value : spec.fallback) << spec.name;
      ASSERT_EQ(complaints_.size(), !takes_effect && changes ? 1u : 0u) << spec.name;
      if (!complaints_.empty()) {
        EXPECT_TRUE(complaints_[0].starts_with(hint + "=" + value)) << complaints_[0];
      }
      // A program may give back what it read from MPI_File_get_info.
      complaints_.clear();
      (void)given({{hint, spec.fallback}}, Notation::hint, when);
      EXPECT_TRUE(complaints_.empty()) << spec.name;
    }
  }
}

TEST_F(OptionsTest, WhatMayChangeOnAnOpenFileIsTakenOver) {
  Options changed, options;
  changed.read_ahead_bytes = 0;
  changed.step_aside = StepAside::never;
  changed.policy = "arc";
  changed.trace = "elsewhere";
  take_changeable(options, changed);
  EXPECT_EQ(options.read_ahead_bytes, 0);
  EXPECT_EQ(options.step_aside, StepAside::never);
  EXPECT_EQ(options.policy, Options{}.policy);
  EXPECT_EQ(options.trace, "");
}

TEST_F(OptionsTest, APageLargerThanTheCacheIsMadeToFit) {
  Options options = apply({{"cache_size", "10000"}, {"page_size", "1MiB"}});
  EXPECT_TRUE(complaints_.empty());
  fit_sizes(options, Notation::plain, complain_);
  EXPECT_EQ(options.page_size_bytes, 9984);
  EXPECT_TRUE(is_page_size(options.page_size_bytes));
  ASSERT_EQ(complaints_.size(), 1u);
  EXPECT_EQ(
      complaints_[0],
      "cache_size=10000 holds no page of page_size=1MiB; pages of 9984 are used; give a larger "
      "cache_size or a smaller page_size");
  complaints_.clear();
  fit_sizes(options, Notation::plain, complain_);
  EXPECT_TRUE(complaints_.empty());
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

TEST_F(OptionsTest, AMistakeInTheConfigurationSaysSo) {
  set_variable("FOREBAY_CONFIG", "pagesize=8K\npolicy\n");
  (void)options_from_environment(complain_);
  ASSERT_EQ(complaints_.size(), 2u);
  EXPECT_EQ(
      complaints_[0],
      "FOREBAY_CONFIG: there is no option 'pagesize'; it is ignored; did you mean page_size?");
  EXPECT_TRUE(complaints_[1].starts_with("FOREBAY_CONFIG: policy= is not accepted"));
}

TEST_F(OptionsTest, AVariableThatIsNoOptionIsNamed) {
  set_variable("FOREBAY_POLCY", "lru");
  set_variable("FOREBAY_policy", "lru");
  set_variable("FOREBAY_RUN_DIR", "/tmp");  // not an option, but known
  set_variable("FOREBAY_ROOT", "/opt/forebay");
  (void)options_from_environment(complain_);
  std::sort(complaints_.begin(), complaints_.end());
  const std::vector<std::string> said = {
      "there is no option 'FOREBAY_POLCY'; it is ignored; did you mean FOREBAY_POLICY?",
      "there is no option 'FOREBAY_policy'; it is ignored; did you mean FOREBAY_POLICY?"};
  EXPECT_EQ(complaints_, said);
}

TEST_F(OptionsTest, ContradictorySizesOfTheEnvironmentAreNamed) {
  set_variable("FOREBAY_CACHE_SIZE", "16KiB");
  EXPECT_EQ(options_from_environment(complain_).page_size_bytes, 16 << 10);
  ASSERT_EQ(complaints_.size(), 1u);
  EXPECT_TRUE(
      complaints_[0].starts_with("FOREBAY_CACHE_SIZE=16KiB holds no page of "
                                 "FOREBAY_PAGE_SIZE=64KiB; pages of 16KiB are used"));
}

TEST(NearestName, CountsLettersChangedAddedLeftOutAndSwapped) {
  const std::vector<std::string> names = {"lru", "fifo", "arc", "page_size"};
  EXPECT_EQ(nearest_name("lur", names), "lru");
  EXPECT_EQ(nearest_name("ARCC", names), "arc");
  EXPECT_EQ(nearest_name("ffo", names), "fifo");
  EXPECT_EQ(nearest_name("pagesize", names), "page_size");
  EXPECT_EQ(nearest_name("page-siez", names), "page_size");
  EXPECT_EQ(nearest_name("xx", names), "");
  EXPECT_EQ(nearest_name("", names), "");
}

}  // namespace
}  // namespace forebay
