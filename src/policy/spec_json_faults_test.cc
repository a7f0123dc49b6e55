// Wrong spec files, each with the exact message that a person gets.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "policy/spec_json.h"

namespace cordon::policy {
namespace {

class SpecFaultTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "spec-XXXXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Path() const { return directory_ + "/spec.json"; }

  // The message for a file of these bytes, with the directory taken out; "" when it is fine.
  std::string MessageFor(const std::string& bytes) {
    std::ofstream(Path(), std::ios::binary) << bytes;
    return Message(ReadSpecFile(Path()));
  }
  std::string Message(const Result<SandboxSpec>& result) const {
    if (result.ok()) return "";
    std::string out = result.error().ToString();
    const std::size_t at = out.find(directory_ + "/");
    if (at != std::string::npos) out.erase(at, directory_.size() + 1);
    return out;
  }

  std::string directory_;
};

// `body` after the two required fields, on lines of their own.
std::string With(const std::string& body) {
  return "{\n  \"sessionId\": \"s\", \"workspaceId\": \"w\",\n  " + body + "\n}\n";
}

TEST_F(SpecFaultTest, NamesTheFieldThePlaceAndTheRemedy) {
  using namespace std::string_literals;
  const struct {
    const char* name;
    std::string bytes;
    const char* message;
  } faults[] = {
      {"empty file", "", "spec.json:1:1: is empty; expected a JSON object"},
      {"half written", "{\"sessionId\": \"s\", \"workspa", "spec.json:1:20: string is not closed"},
      {"half written after a value", "{\"sessionId\": \"s\",\n",
       "spec.json:1:1: object is not closed"},
      {"byte order mark", "\xEF\xBB\xBF" + With("\"mode\": \"chat\""),
       "spec.json:1:1: starts with a byte order mark; save it as UTF-8 without one"},
      {"NUL", With("\"view\": \"ho\0st\""s), "spec.json:3:14: holds a NUL byte"},
      {"not UTF-8", With("\"view\": \"ho\xFFst\""),
       "spec.json:3:14: is not valid UTF-8 (byte 0xff)"},
      {"CR LF, wrong on the third line",
       "{\r\n\"sessionId\": \"s\",\r\n\"workspaceId\": 7\r\n}\r\n",
       "spec.json:3:16: workspaceId must be a string, not 7"},
      {"deep nesting", With("\"filesystem\": " + std::string(100, '[') + std::string(100, ']')),
       "spec.json:3:80: is nested deeper than 64 levels"},
      {"two documents", With("\"mode\": \"chat\"") + "{}",
       "spec.json:5:1: expected the end of the text, found '{'"},
      {"duplicate field", With("\"view\": \"host\",\n  \"view\": \"bound\""),
       "spec.json:4:3: field \"view\" stands twice (first in line 3)"},
      {"duplicate, one of them escaped", With("\"view\": \"host\",\n  \"vi\\u0065w\": \"bound\""),
       "spec.json:4:3: field \"view\" stands twice (first in line 3)"},
      {"a list", "[]", "spec.json:1:1: a spec must be an object, not a list"},
      {"missing session", "{\"workspaceId\": \"w\"}",
       "spec.json:1:1: sessionId is missing; it is the stable identifier of the session: "
       "1 to 64 of A-Z a-z 0-9 . _ -"},
      {"session with a slash", "{\"sessionId\": \"a/b\"}",
       "spec.json:1:15: sessionId must be 1 to 64 of A-Z a-z 0-9 . _ -, not \"a/b\""},
      {"session is ..", "{\"sessionId\": \"..\"}",
       "spec.json:1:15: sessionId must be 1 to 64 of A-Z a-z 0-9 . _ -, not \"..\""},
      {"unknown field near a known one", With("\"veiw\": \"host\""),
       "spec.json:3:3: unknown field \"veiw\"; did you mean \"view\"?"},
      {"snake case", With("\"bind_mounts\": []"),
       "spec.json:3:3: unknown field \"bind_mounts\"; did you mean \"bindMounts\"?"},
      {"unknown field in filesystem", With("\"filesystem\": {\"denyReads\": []}"),
       "spec.json:3:18: unknown field \"denyReads\" in filesystem; did you mean \"denyRead\"?"},
      {"field at the wrong level", With("\"denyRead\": []"),
       "spec.json:3:3: unknown field \"denyRead\"; it belongs in \"filesystem\""},
      {"top-level field in an object", With("\"limits\": {\"mode\": \"plan\"}"),
       "spec.json:3:14: unknown field \"mode\" in limits; it belongs at the top level"},
      {"unknown field near none", With("\"exec\": {\"colour\": 1}"),
       "spec.json:3:12: unknown field \"colour\" in exec; "
       "known fields: deny, defaultDenies, blockWritableDirs"},
      {"wrong type of a flag", With("\"filesystem\": {\"disabled\": \"yes\"}"),
       "spec.json:3:30: filesystem.disabled must be true or false, not \"yes\""},
      {"a string for a list", With("\"filesystem\": {\"denyRead\": \"~/.ssh\"}"),
       "spec.json:3:30: filesystem.denyRead must be a list, not \"~/.ssh\""},
      {"a number for a path", With("\"filesystem\": {\"denyRead\": [\"/a\", 3]}"),
       "spec.json:3:37: filesystem.denyRead[1] must be a path, or {\"path\": ..., \"literal\": "
       "true}, "
       "not 3"},
      {"an empty path", With("\"protectedPaths\": [\"\"]"),
       "spec.json:3:22: protectedPaths[0] must not be empty"},
      {"path object without a path", With("\"protectedPaths\": [{\"literal\": true}]"),
       "spec.json:3:22: protectedPaths[0].path is missing"},
      {"path object with another field",
       With("\"protectedPaths\": [{\"path\": \"/a\", \"glob\": true}]"),
       "spec.json:3:37: unknown field \"glob\" in protectedPaths[0]; known fields: path, literal"},
      {"relative mount", With("\"bindMounts\": [{\"hostPath\": \"a\"}]"),
       "spec.json:3:31: bindMounts[0].hostPath must be an absolute path, not \"a\""},
      {"mount without a source", With("\"bindMounts\": [{\"guestPath\": \"/a\"}]"),
       "spec.json:3:18: bindMounts[0].hostPath is missing"},
      {"mount with a near field",
       With("\"bindMounts\": [{\"hostPath\": \"/a\", \"readonly\": true}]"),
       "spec.json:3:37: unknown field \"readonly\" in bindMounts[0]; did you mean \"readOnly\"?"},
      {"unknown mode", With("\"mode\": \"plna\""),
       "spec.json:3:11: mode must be \"chat\", \"review\", \"plan\" or \"orchestrate\", not "
       "\"plna\"; "
       "did you mean \"plan\"?"},
      {"unknown view", With("\"view\": null"),
       "spec.json:3:11: view must be \"bound\" or \"host\", not null"},
      {"relative working directory", With("\"guestWorkdir\": \"src\""),
       "spec.json:3:19: guestWorkdir must be an absolute path, not \"src\""},
      {"size in words", With("\"limits\": {\"memory\": \"lots\"}"),
       "spec.json:3:24: limits.memory must be a whole number of bytes, at least 1, or a size such "
       "as "
       "\"512M\" or \"2GiB\", not \"lots\""},
      {"negative size", With("\"limits\": {\"memory\": -1}"),
       "spec.json:3:24: limits.memory must be a whole number of bytes, at least 1, or a size such "
       "as "
       "\"512M\" or \"2GiB\", not -1"},
      {"2 to the 64", With("\"limits\": {\"memory\": 18446744073709551616}"),
       "spec.json:3:24: limits.memory must be a whole number of bytes, at least 1, or a size such "
       "as "
       "\"512M\" or \"2GiB\", not 18446744073709551616"},
      {"no processes", With("\"limits\": {\"pids\": 0}"),
       "spec.json:3:22: limits.pids must be a whole number, at least 1, not 0"},
      {"half a process", With("\"limits\": {\"pids\": 1.5}"),
       "spec.json:3:22: limits.pids must be a whole number, at least 1, not 1.5"},
      {"no processor", With("\"limits\": {\"cpus\": 0}"),
       "spec.json:3:22: limits.cpus must be a number above 0 and at most 4096, not 0"},
      {"a number out of range", With("\"limits\": {\"cpus\": 1e400}"),
       "spec.json:3:22: number out of range: 1e400"},
      {"time without a unit", With("\"limits\": {\"wallTime\": \"30\"}"),
       "spec.json:3:26: limits.wallTime must be a whole number of milliseconds, at least 1, or a "
       "time "
       "such as \"30s\" or \"5m\", not \"30\""},
      {"variable name with =", With("\"environment\": {\"set\": {\"A=B\": \"1\"}}"),
       "spec.json:3:27: \"A=B\" in environment.set is not the name of a variable"},
      {"variable that is a number", With("\"environment\": {\"set\": {\"A\": 1}}"),
       "spec.json:3:32: environment.set.A must be a string, not 1"},
      {"prefix in keep", With("\"environment\": {\"keep\": [\"LD_*\"]}"),
       "spec.json:3:28: environment.keep[0] must be the name of a variable, not \"LD_*\""},
      {"lone star in drop", With("\"environment\": {\"drop\": [\"*\"]}"),
       "spec.json:3:28: environment.drop[0] must be the name of a variable, or a prefix followed "
       "by "
       "one *, not \"*\""},
      {"relative program", With("\"exec\": {\"deny\": [\"bin/tool\"]}"),
       "spec.json:3:21: exec.deny[0] must be the name of a program or an absolute path, not "
       "\"bin/tool\""},
      {"violations as a list", With("\"ignoreViolations\": [\"*\"]"),
       "spec.json:3:23: ignoreViolations must be an object of lists, not a list"},
      {"violations without a command", With("\"ignoreViolations\": {\"\": [\"/x\"]}"),
       "spec.json:3:24: ignoreViolations has an empty command pattern; \"*\" stands for every "
       "command"},
      {"one violation in place of a list", With("\"ignoreViolations\": {\"make\": \"/x\"}"),
       "spec.json:3:32: ignoreViolations[\"make\"] must be a list, not \"/x\""},
      {"violation that is a number", With("\"ignoreViolations\": {\"*\": [\"/x\", 1]}"),
       "spec.json:3:36: ignoreViolations[\"*\"][1] must be a string, not 1"},
      {"empty violation", With("\"ignoreViolations\": {\"*\": [\"\"]}"),
       "spec.json:3:30: ignoreViolations[\"*\"][0] must not be empty"},
      {"network that is a word", With("\"network\": \"none\""),
       "spec.json:3:14: network must be an object, not \"none\""},
      {"network mode that is no word", With("\"network\": {\"mode\": false}"),
       "spec.json:3:23: network.mode must be \"none\", not false"},
      {"misspelt list of sockets", With("\"network\": {\"allowUnixSocket\": []}"),
       "spec.json:3:15: unknown field \"allowUnixSocket\" in network; did you mean "
       "\"allowUnixSockets\"?"},
      {"one socket in place of a list", With("\"network\": {\"allowUnixSockets\": \"/a\"}"),
       "spec.json:3:35: network.allowUnixSockets must be a list, not \"/a\""},
  };
  EXPECT_GE(std::size(faults), 20u);
  for (const auto& fault : faults) EXPECT_EQ(MessageFor(fault.bytes), fault.message) << fault.name;
}

TEST_F(SpecFaultTest, CrLfAndCommentsAreFine) {
  EXPECT_EQ(MessageFor("{\r\n\"sessionId\": \"s\", // one\r\n\"workspaceId\": \"w\",\r\n}\r\n"),
            "");
}

TEST_F(SpecFaultTest, RefusesADirectory) {
  ASSERT_EQ(::mkdir(Path().c_str(), 0700), 0);
  EXPECT_EQ(Message(ReadSpecFile(Path())), "spec.json: is a directory; name a JSON file");
}

TEST_F(SpecFaultTest, RefusesAMissingFile) {
  EXPECT_EQ(Message(ReadSpecFile(Path())), "spec.json: open the spec: No such file or directory");
  EXPECT_EQ(ReadSpecFile(Path()).error().code, ErrorCode::kNotFound);
}

TEST_F(SpecFaultTest, RefusesAFileThatMayNotBeRead) {
  std::ofstream(Path()) << With("\"mode\": \"chat\"");
  ASSERT_EQ(::chmod(Path().c_str(), 0), 0);
  // Root may read every file, so root asks as somebody else.
  const bool root = ::geteuid() == 0;
  ASSERT_EQ(::seteuid(root ? 65534 : ::geteuid()), 0);
  const auto result = ReadSpecFile(Path());
  ASSERT_EQ(::seteuid(root ? 0 : ::geteuid()), 0);
  EXPECT_EQ(Message(result), "spec.json: open the spec: Permission denied");
  EXPECT_EQ(result.error().code, ErrorCode::kDenied);
}

TEST_F(SpecFaultTest, RefusesAHundredMegabytesUnread) {
  std::ofstream(Path()) << "{";
  ASSERT_EQ(::truncate(Path().c_str(), 100 << 20), 0);
  EXPECT_EQ(Message(ReadSpecFile(Path())), "spec.json: is larger than 16 MiB");
}

TEST_F(SpecFaultTest, AnEndlessDeviceEnds) {
  EXPECT_EQ(Message(ReadSpecFile("/dev/zero")), "/dev/zero: is larger than 16 MiB");
}

TEST_F(SpecFaultTest, ReadsAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string text = With("\"mode\": \"review\"");
  ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  const auto spec = ReadSpecFile("/proc/self/fd/" + std::to_string(ends[0]));
  ::close(ends[0]);
  ASSERT_TRUE(spec.ok()) << spec.error().ToString();
  EXPECT_EQ(spec->mode, Mode::kReview);
}

}  // namespace
}  // namespace cordon::policy
