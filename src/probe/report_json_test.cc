#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "probe/probe.h"

namespace cordon::probe {
namespace {

ProbeReport Sample() {
  ProbeReport report;
  report.available = true;
  report.backend = "native";
  report.launcher = "native";
  report.note = "a note";
  report.distribution = "debian 12";
  report.kernel = "6.1.0";
  Capability row;
  row.name = "kvm";
  row.support = Support::kNo;
  row.detail = "EACCES from open /dev/kvm";
  row.used_for = "the microVM backend";
  row.remedy = "first\nsecond";
  report.capabilities = {row};
  row.name = "wsl";
  row.fact = true;
  row.support = Support::kUnknown;
  report.capabilities.push_back(row);
  return report;
}

TEST(ReportJsonTest, HasEveryField) {
  const auto json = nlohmann::json::parse(ToJson(Sample()));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["available"], true);
  EXPECT_EQ(json["backend"], "native");
  EXPECT_EQ(json["launcher"], "native");
  EXPECT_EQ(json["requiresInstall"], false);
  EXPECT_EQ(json["note"], "a note");
  EXPECT_EQ(json["hint"], "");
  EXPECT_EQ(json["distribution"], "debian 12");
  EXPECT_EQ(json["kernel"], "6.1.0");
  ASSERT_EQ(json["capabilities"].size(), 2u);
  const auto& row = json["capabilities"][0];
  EXPECT_EQ(row["name"], "kvm");
  EXPECT_EQ(row["support"], "no");
  EXPECT_EQ(row["required"], false);
  EXPECT_EQ(row["kind"], "capability");
  EXPECT_EQ(row["detail"], "EACCES from open /dev/kvm");
  EXPECT_EQ(row["usedFor"], "the microVM backend");
  EXPECT_EQ(row["remedy"], "first\nsecond");
  EXPECT_EQ(json["capabilities"][1]["kind"], "fact");
  EXPECT_EQ(json["capabilities"][1]["support"], "unknown");
}

TEST(ReportJsonTest, NoCapabilitiesIsStillValid) {
  EXPECT_TRUE(nlohmann::json::parse(ToJson(ProbeReport{}))["capabilities"].empty());
}

TEST(ReportJsonTest, AnyBytesGiveValidJson) {
  const char* kTexts[] = {
      "quote \" backslash \\ tab \t bell \a del \x7f",
      "\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80",  // valid sequences of 2, 3 and 4 bytes
      "\xff",
      "\xc3",
      "\xc0\xaf",
      "\xe0\x80\x80",
      "\xf5\x80\x80\x80",
      "\xed\xa0\x80",
      "a\x80z",
  };
  for (const char* text : kTexts) {
    ProbeReport report = Sample();
    report.capabilities[0].detail = text;
    const std::string out = ToJson(report);
    ASSERT_TRUE(nlohmann::json::accept(out)) << text;
  }
  ProbeReport report = Sample();
  report.note = kTexts[0];
  report.hint = kTexts[1];
  report.kernel = std::string("a\0b\xff", 4);
  const auto json = nlohmann::json::parse(ToJson(report));
  EXPECT_EQ(json["note"], kTexts[0]);
  EXPECT_EQ(json["hint"], kTexts[1]);
  EXPECT_EQ(json["kernel"], std::string("a\0b\xef\xbf\xbd", 6));
}

}  // namespace
}  // namespace cordon::probe
