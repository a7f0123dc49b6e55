// Which names of a view init watches (launcher/watch.h), because a mount that holds a rule falls
// off when a program outside replaces what it stands on (`mv tmp ~/.npmrc`), and because a path
// that a denyRead names may come only later. Pure.
//
// The names form a tree: every component on the way to a target is watched in its parent, so that a
// directory that is made or replaced leads to what is below it. Of the directories below a glob's
// only those that hold matches now are named; the launcher finds the others
// (launcher/watch_globs.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jail/plan.h"
#include "policy/policy.h"

namespace cordon::jail {

struct Watches {
  // What is done about a name that has no mount on it (any longer).
  enum class Action : std::uint32_t {
    kNone,       // only on the way to others
    kMask,       // hidden, as a file or as an empty directory
    kEmptyMask,  // the same, but a file reads as an empty one
    kSelf,       // what is there is bound onto itself, with `attributes`
  };
  enum Flag : std::uint32_t {
    kGlob = 1,         // a directory in which names are compared with the patterns
    kLinkAtStart = 2,  // kMask of a name that is a link now: what it leads to is masked
    kOpenings = 4,     // a mask with targets below it
  };
  // Breadth first, "/" is the first; the children of a node stand together, sorted by name.
  struct Node {
    std::string name;
    std::uint32_t parent = 0;
    std::uint32_t first_child = 0, child_count = 0;
    Action action = Action::kNone;
    std::uint32_t flags = 0;
    std::uint32_t attributes = 0;  // Operation::Attribute, for kSelf
  };
  // Paths that are hidden wherever one of the kGlob directories gets such a name.
  struct Pattern {
    std::string text;
    bool folded = false;
    bool operator==(const Pattern&) const = default;
  };
  std::vector<Node> nodes;
  std::vector<Pattern> patterns;
  bool empty() const { return nodes.empty(); }
};

// Not in it: what stands in trees of the session's own, below masks, and in /proc.
Watches WatchesFor(const policy::EffectivePolicy& policy, const Plan& plan);

// The path of a node, for people.
std::string PathOf(const Watches& watches, std::uint32_t node);

// Payload of wire::Type::kWatches.
std::string Encode(const Watches& watches);

}  // namespace cordon::jail
