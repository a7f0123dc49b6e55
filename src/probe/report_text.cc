#include <algorithm>
#include <set>
#include <sstream>

#include "probe/probe.h"

namespace cordon::probe {
namespace {

constexpr char kRed[] = "\033[31m", kGreen[] = "\033[32m", kYellow[] = "\033[33m",
               kBold[] = "\033[1m", kPlain[] = "\033[0m";

std::string Paint(const std::string& text, const char* code, bool color) {
  return color ? code + text + kPlain : text;
}

std::string Pad(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

// A message of another program must not steer the terminal.
std::string Printable(const std::string& text) {
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return out;
}

const char* ColorOf(const Capability& row) {
  if (row.support == Support::kYes) return kGreen;
  return row.required ? kRed : kYellow;
}

struct Widths {
  std::size_t name = 0, used_for = 0;
};

std::string Line(const Capability& row, const Widths& widths, bool color) {
  std::string state = Pad(SupportName(row.support), 8);
  if (!row.fact) state = Paint(state, ColorOf(row), color);
  std::string name = Pad(row.name + (row.required ? " *" : ""), widths.name);
  return "  " + state + name + "  " + Pad(row.used_for, widths.used_for) + "  " +
         Printable(row.detail) + "\n";
}

std::string Numbered(int number, const std::string& title, const std::string& remedy) {
  std::string out = "  " + std::to_string(number) + ". " + title + "\n";
  std::istringstream lines(remedy);
  for (std::string line; std::getline(lines, line);) out += "       " + line + "\n";
  return out;
}

bool IsOpen(const Capability& row) { return !row.remedy.empty(); }

// Rows with the same remedy become one entry, what is required first.
std::string WhatToDo(const ProbeReport& report, bool color) {
  std::string list;
  std::set<std::string> seen;
  int number = 0;
  for (const bool needed : {true, false}) {
    for (const Capability& row : report.capabilities) {
      const bool stops = row.required || row.name == "wsl" ||
                         (row.name == "bubblewrap" && report.requires_install);
      if (!IsOpen(row) || stops != needed || !seen.insert(row.remedy).second) continue;
      std::string names;
      for (const Capability& other : report.capabilities) {
        if (other.remedy == row.remedy) names += (names.empty() ? "" : ", ") + other.name;
      }
      list += Numbered(++number, "for " + names + (stops ? "" : " (optional)"), row.remedy);
    }
  }
  return list.empty() ? "" : "\n" + Paint("What to do:", kBold, color) + "\n" + list;
}

std::string Verdict(const ProbeReport& report, bool color) {
  if (report.available) {
    return Paint("The native sandbox is available", kGreen, color) + ": " + report.note + ".\n";
  }
  return Paint("The native sandbox is not available", kRed, color) + ": " + report.note + ".\n";
}

}  // namespace

std::string ToText(const ProbeReport& report, bool color) {
  Widths widths;
  for (const Capability& row : report.capabilities) {
    widths.name = std::max(widths.name, row.name.size() + (row.required ? 2 : 0));
    widths.used_for = std::max(widths.used_for, row.used_for.size());
  }
  std::string out = "Cordon on " + Printable(report.distribution) + ", Linux " +
                    Printable(report.kernel) + "\n\n";
  for (const Capability& row : report.capabilities) {
    if (!row.fact) out += Line(row, widths, color);
  }
  out += "\n  * required for the native sandbox\n\nThis host:\n";
  for (const Capability& row : report.capabilities) {
    if (row.fact) out += Line(row, widths, color);
  }
  return out + WhatToDo(report, color) + "\n" + Verdict(report, color);
}

}  // namespace cordon::probe
