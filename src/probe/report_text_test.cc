#include <gtest/gtest.h>

#include "probe/probe.h"

namespace cordon::probe {
namespace {

Capability Row(const std::string& name, Support support, const std::string& remedy = "") {
  Capability row;
  row.name = name;
  row.support = support;
  row.used_for = "use of " + name;
  row.detail = "detail of " + name;
  row.remedy = remedy;
  return row;
}

ProbeReport Sample() {
  ProbeReport report;
  report.available = false;
  report.note = "no sandbox on this host";
  report.distribution = "debian 12";
  report.kernel = "6.1.0";
  Capability fact = Row("container", Support::kNo);
  fact.fact = true;
  Capability required = Row("user_namespace", Support::kNo, "the sysctl\nto keep it: the file");
  required.required = true;
  report.capabilities = {Row("fuse", Support::kNo, "chmod"), required,
                         Row("openat2", Support::kNo, "chmod"), Row("kvm", Support::kYes), fact};
  return report;
}

TEST(ReportTextTest, TableThenRemediesThenVerdict) {
  EXPECT_EQ(ToText(Sample(), false),
            "Cordon on debian 12, Linux 6.1.0\n"
            "\n"
            "  no      fuse              use of fuse            detail of fuse\n"
            "  no      user_namespace *  use of user_namespace  detail of user_namespace\n"
            "  no      openat2           use of openat2         detail of openat2\n"
            "  yes     kvm               use of kvm             detail of kvm\n"
            "\n"
            "  * required for the native sandbox\n"
            "\n"
            "This host:\n"
            "  no      container         use of container       detail of container\n"
            "\n"
            "What to do:\n"
            "  1. for user_namespace\n"
            "       the sysctl\n"
            "       to keep it: the file\n"
            "  2. for fuse, openat2 (optional)\n"
            "       chmod\n"
            "\n"
            "The native sandbox is not available: no sandbox on this host.\n");
}

TEST(ReportTextTest, ColorsOnRequestOnly) {
  EXPECT_EQ(ToText(Sample(), false).find('\033'), std::string::npos);
  const std::string text = ToText(Sample(), true);
  EXPECT_NE(text.find("\033[31mno      \033[0muser_namespace"), std::string::npos);
  EXPECT_NE(text.find("\033[33mno      \033[0mfuse"), std::string::npos);
  EXPECT_NE(text.find("\033[32myes"), std::string::npos);
}

TEST(ReportTextTest, NothingToDoIsNotAList) {
  ProbeReport report = Sample();
  report.available = true;
  report.note = "namespace isolation, no kernel boundary";
  for (Capability& row : report.capabilities) row.remedy.clear();
  const std::string text = ToText(report, false);
  EXPECT_EQ(text.find("What to do"), std::string::npos);
  EXPECT_NE(text.find("The native sandbox is available: namespace isolation"), std::string::npos);
}

TEST(ReportTextTest, MessagesCannotSteerTheTerminal) {
  ProbeReport report = Sample();
  report.capabilities[0].detail = "a\033[2Jb\nc";
  EXPECT_NE(ToText(report, false).find("a?[2Jb?c\n"), std::string::npos);
}

}  // namespace
}  // namespace cordon::probe
