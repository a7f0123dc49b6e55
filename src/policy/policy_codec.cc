#include "policy/policy_codec.h"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace cordon::policy {
namespace {

constexpr std::string_view kMagic = "cordon policy 1\n";

class Writer {
 public:
  void Bytes(std::string_view bytes) { out_ += bytes; }
  void Number(std::uint64_t value) {
    while (value >= 0x80) {
      out_ += static_cast<char>((value & 0x7f) | 0x80);
      value >>= 7;
    }
    out_ += static_cast<char>(value);
  }
  void Field(const std::string& text) {
    Number(text.size());
    out_ += text;
  }
  void Field(bool value) { Number(value ? 1 : 0); }
  void Field(int value) { Number(static_cast<std::uint32_t>(value)); }
  void Field(std::size_t value) { Number(value); }
  template <typename T>
    requires std::is_enum_v<T>
  void Field(T value) {
    Number(static_cast<std::uint64_t>(value));
  }
  template <typename T>
  void Field(const std::vector<T>& list) {
    Number(list.size());
    for (const T& item : list) Field(item);
  }
  void Field(const Source& source) { Fields(source.origin, source.line, source.column); }
  void Field(const ExistingPath& e) { Fields(e.path, e.kind); }
  void Field(const BindMount& m) { Fields(m.host_path, m.guest_path, m.read_only, m.source); }
  template <typename... T>
  void Fields(const T&... fields) {
    (Field(fields), ...);
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// Once something did not fit, everything that follows is empty and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}
  bool ok() const { return ok_; }
  bool AtEnd() const { return data_.empty(); }
  void Expect(std::string_view bytes) {
    if (data_.substr(0, bytes.size()) != bytes) return Fail();
    data_.remove_prefix(bytes.size());
  }
  std::uint64_t Number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !data_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(data_.front());
      data_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    Fail();
    return 0;
  }
  // A count of items, each of at least one byte.
  std::size_t Count() {
    const std::uint64_t n = Number();
    if (n > data_.size()) Fail();
    return ok_ ? static_cast<std::size_t>(n) : 0;
  }
  void Field(std::string* text) {
    const std::size_t n = Count();
    text->assign(data_.substr(0, n));
    data_.remove_prefix(n);
  }
  void Field(bool* value) { *value = Below(2) != 0; }
  void Field(int* value) {
    const std::uint64_t n = Number();
    if (n > UINT32_MAX) Fail();
    *value = static_cast<int>(static_cast<std::uint32_t>(n));
  }
  void Field(std::size_t* value) { *value = static_cast<std::size_t>(Number()); }
  void Field(RuleKind* kind) {
    *kind = static_cast<RuleKind>(Below(static_cast<std::uint64_t>(RuleKind::kSystem) + 1));
  }
  void Field(FileKind* kind) {
    *kind = static_cast<FileKind>(Below(static_cast<std::uint64_t>(FileKind::kOther) + 1));
  }
  void Field(View* view) {
    *view = static_cast<View>(Below(static_cast<std::uint64_t>(View::kHost) + 1));
  }
  void Field(Mode* mode) {
    *mode = static_cast<Mode>(Below(static_cast<std::uint64_t>(Mode::kOrchestrate) + 1));
  }
  template <typename T>
  void Field(std::vector<T>* list) {
    const std::size_t n = Count();
    list->clear();
    for (std::size_t i = 0; i < n && ok_; ++i) {
      T item{};
      Field(&item);
      list->push_back(std::move(item));
    }
  }
  void Field(Source* source) { Fields(&source->origin, &source->line, &source->column); }
  void Field(ExistingPath* e) { Fields(&e->path, &e->kind); }
  void Field(BindMount* m) { Fields(&m->host_path, &m->guest_path, &m->read_only, &m->source); }
  template <typename... T>
  void Fields(T*... fields) {
    (Field(fields), ...);
  }
  void Fail() {
    ok_ = false;
    data_ = {};
  }

 private:
  std::uint64_t Below(std::uint64_t end) {
    const std::uint64_t n = Number();
    if (n >= end) Fail();
    return ok_ ? n : 0;
  }
  std::string_view data_;
  bool ok_ = true;
};

void WriteRule(const Rule& rule, Writer* out) {
  out->Fields(rule.kind, rule.text, rule.source, rule.reason, rule.built_in_default, rule.read_only,
              rule.executable, rule.empty_mask, rule.paths, rule.globs, rule.exceptions,
              rule.pattern_folds, rule.fold_from, rule.existing, rule.links, rule.needs_supervisor,
              rule.git_config);
}

Status ReadRule(Reader* in, Rule* rule) {
  in->Fields(&rule->kind, &rule->text, &rule->source, &rule->reason, &rule->built_in_default,
             &rule->read_only, &rule->executable, &rule->empty_mask, &rule->paths, &rule->globs,
             &rule->exceptions, &rule->pattern_folds, &rule->fold_from, &rule->existing,
             &rule->links, &rule->needs_supervisor, &rule->git_config);
  if (!in->ok()) return MakeError(ErrorCode::kInvalid, "encoded policy: a rule is cut short");
  for (std::size_t i = 0; i < rule->globs.size(); ++i) {
    const bool folds = i < rule->pattern_folds.size() && rule->pattern_folds[i];
    CORDON_TRY(
        glob::Pattern pattern,
        glob::Pattern::Parse(rule->globs[i], folds ? glob::Case::kFolded : glob::Case::kSensitive));
    rule->patterns.push_back(std::move(pattern));
  }
  for (const std::string& text : rule->exceptions) {
    CORDON_TRY(glob::Pattern pattern, glob::Pattern::Parse(text));
    rule->exception_patterns.push_back(std::move(pattern));
  }
  return Ok();
}

}  // namespace

std::string EncodePolicy(const EffectivePolicy& policy) {
  Writer out;
  out.Bytes(kMagic);
  out.Fields(policy.view, policy.mode, policy.files_disabled, policy.allow_git_config, policy.home,
             policy.workdir, policy.mounts, policy.exec_grants, policy.warnings);
  out.Number(policy.rules.size());
  for (const Rule& rule : policy.rules) WriteRule(rule, &out);
  return out.Take();
}

Result<EffectivePolicy> DecodePolicy(std::string_view bytes) {
  EffectivePolicy policy;
  Reader in(bytes);
  in.Expect(kMagic);
  in.Fields(&policy.view, &policy.mode, &policy.files_disabled, &policy.allow_git_config,
            &policy.home, &policy.workdir, &policy.mounts, &policy.exec_grants, &policy.warnings);
  const std::size_t rules = in.Count();
  for (std::size_t i = 0; i < rules && in.ok(); ++i) {
    policy.rules.emplace_back();
    CORDON_CHECK(ReadRule(&in, &policy.rules.back()));
  }
  if (!in.ok() || !in.AtEnd()) {
    return MakeError(ErrorCode::kInvalid, "encoded policy: not of the form that this build writes");
  }
  policy.index.Build(policy.rules);
  return policy;
}

}  // namespace cordon::policy
