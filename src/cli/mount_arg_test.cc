#include "cli/mount_arg.h"

#include <gtest/gtest.h>

namespace cordon::cli {
namespace {

void Expect(std::string_view text, std::string_view host, std::string_view guest, bool read_only) {
  const auto mount = ParseMount(text);
  ASSERT_TRUE(mount.ok()) << text << ": " << mount.error().message;
  EXPECT_EQ(mount->host, host) << text;
  EXPECT_EQ(mount->guest, guest) << text;
  EXPECT_EQ(mount->read_only, read_only) << text;
}

TEST(MountArgumentTest, ReadsItsParts) {
  Expect("/a", "/a", "", false);
  Expect("/a:ro", "/a", "", true);
  Expect("/a:rw", "/a", "", false);
  Expect("/a:/b", "/a", "/b", false);
  Expect("/a:/b:ro", "/a", "/b", true);
  Expect("data:/b", "data", "/b", false);
  Expect("/a:/ro", "/a", "/ro", false);
}

TEST(MountArgumentTest, ReadsEscapedColonsAndBackslashes) {
  Expect("/a\\:b:/c", "/a:b", "/c", false);
  Expect("/a:/c\\:ro", "/a", "/c:ro", false);
  Expect("/a\\\\:ro", "/a\\", "", true);
}

TEST(MountArgumentTest, RefusesWhatIsNotOne) {
  for (const char* text : {"", ":", "/a:", ":/b", "/a:/b:/c", "/a:/b:rx", "/a:b", "/a:/b:ro:ro",
                           "/a\\", "/a\\x:/b", "ro:ro:ro"}) {
    EXPECT_FALSE(ParseMount(text).ok()) << text;
  }
  EXPECT_FALSE(ParseMount(std::string_view("/a\0b", 4)).ok());
}

TEST(MountArgumentTest, AloneRoIsAPath) { Expect("ro", "ro", "", false); }

}  // namespace
}  // namespace cordon::cli
