// For tests: a host as a directory tree below a temporary directory, removed at the end.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "probe/host_facts.h"

namespace cordon::probe {

class MadeHost {
 public:
  MadeHost() {
    char name[] = "/tmp/cordon-probe-test.XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~MadeHost() { std::filesystem::remove_all(root_); }
  MadeHost(const MadeHost&) = delete;
  MadeHost& operator=(const MadeHost&) = delete;

  MadeHost& File(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path, std::ios::binary) << text;
    return *this;
  }
  MadeHost& Link(const std::string& path, const std::string& target) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::filesystem::create_symlink(target, root_ + path);
    return *this;
  }
  HostFiles Files() const { return HostFiles(root_); }
  HostFacts Facts(const std::string& kernel = "6.1.0-18-amd64") const {
    return ReadHostFacts(HostFiles(root_), kernel);
  }

 private:
  std::string root_;
};

}  // namespace cordon::probe
