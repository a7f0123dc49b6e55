// A table, a nat chain and the rule `meta l4proto tcp redirect to :1` in the trial's own network
// namespace, in one nftables transaction over netlink. The library would allocate.
#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "probe/trials.h"

namespace cordon::probe {
namespace {

constexpr char kName[] = "cordon";
// Sequence numbers say which message of the batch an error belongs to.
enum Sequence : std::uint32_t { kBegin = 1, kTable, kChain, kRule, kEnd };

// Netlink messages one after another in a fixed buffer, with nested attributes.
class Batch {
 public:
  const char* data() const { return data_; }
  std::size_t size() const { return size_; }

  void Message(std::uint16_t type, std::uint16_t flags, Sequence sequence, std::uint8_t family,
               std::uint16_t resource) {
    message_ = size_;
    nlmsghdr header = {};
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header.nlmsg_seq = sequence;
    Append(&header, sizeof header);
    const nfgenmsg extra = {family, NFNETLINK_V0, htons(resource)};
    Append(&extra, sizeof extra);
    Finish();
  }
  std::size_t Nest(std::uint16_t type) {
    const std::size_t at = size_;
    const nlattr header = {NLA_HDRLEN, static_cast<std::uint16_t>(type | NLA_F_NESTED)};
    Append(&header, sizeof header);
    return at;
  }
  void EndNest(std::size_t at) {
    const auto length = static_cast<std::uint16_t>(size_ - at);
    memcpy(data_ + at, &length, sizeof length);
    Finish();
  }
  void Bytes(std::uint16_t type, const void* value, std::size_t size) {
    const nlattr header = {static_cast<std::uint16_t>(NLA_HDRLEN + size), type};
    Append(&header, sizeof header);
    Append(value, size);
    Finish();
  }
  void Text(std::uint16_t type, const char* value) { Bytes(type, value, strlen(value) + 1); }
  void Number(std::uint16_t type, std::uint32_t value) {
    const std::uint32_t network_order = htonl(value);
    Bytes(type, &network_order, sizeof network_order);
  }

 private:
  void Append(const void* value, std::size_t size) {
    memcpy(data_ + size_, value, size);
    size_ += (size + 3) & ~std::size_t{3};
  }
  void Finish() {
    const auto length = static_cast<std::uint32_t>(size_ - message_);
    memcpy(data_ + message_, &length, sizeof length);
  }

  alignas(nlmsghdr) char data_[1024] = {};
  std::size_t size_ = 0;
  std::size_t message_ = 0;
};

constexpr std::uint16_t NftType(int message) {
  return static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | message);
}

struct Expression {
  Batch& batch;
  std::size_t element, data;
  Expression(Batch& to, const char* name) : batch(to) {
    element = batch.Nest(NFTA_LIST_ELEM);
    batch.Text(NFTA_EXPR_NAME, name);
    data = batch.Nest(NFTA_EXPR_DATA);
  }
  ~Expression() {
    batch.EndNest(data);
    batch.EndNest(element);
  }
};

void DataValue(Batch& batch, std::uint16_t type, const void* value, std::size_t size) {
  const std::size_t nest = batch.Nest(type);
  batch.Bytes(NFTA_DATA_VALUE, value, size);
  batch.EndNest(nest);
}

void AddRule(Batch& batch) {
  batch.Message(NftType(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND | NLM_F_ACK, kRule,
                NFPROTO_INET, 0);
  batch.Text(NFTA_RULE_TABLE, kName);
  batch.Text(NFTA_RULE_CHAIN, kName);
  const std::size_t expressions = batch.Nest(NFTA_RULE_EXPRESSIONS);
  {
    Expression meta(batch, "meta");
    batch.Number(NFTA_META_DREG, NFT_REG_1);
    batch.Number(NFTA_META_KEY, NFT_META_L4PROTO);
  }
  {
    Expression compare(batch, "cmp");
    const std::uint8_t protocol = IPPROTO_TCP;
    batch.Number(NFTA_CMP_SREG, NFT_REG_1);
    batch.Number(NFTA_CMP_OP, NFT_CMP_EQ);
    DataValue(batch, NFTA_CMP_DATA, &protocol, sizeof protocol);
  }
  {
    Expression load(batch, "immediate");
    const std::uint16_t port = htons(1);
    batch.Number(NFTA_IMMEDIATE_DREG, NFT_REG_1);
    DataValue(batch, NFTA_IMMEDIATE_DATA, &port, sizeof port);
  }
  {
    Expression redirect(batch, "redir");
    batch.Number(NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1);
  }
  batch.EndNest(expressions);
}

void Fill(Batch& batch) {
  batch.Message(NFNL_MSG_BATCH_BEGIN, 0, kBegin, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
  batch.Message(NftType(NFT_MSG_NEWTABLE), NLM_F_CREATE | NLM_F_ACK, kTable, NFPROTO_INET, 0);
  batch.Text(NFTA_TABLE_NAME, kName);
  batch.Message(NftType(NFT_MSG_NEWCHAIN), NLM_F_CREATE | NLM_F_ACK, kChain, NFPROTO_INET, 0);
  batch.Text(NFTA_CHAIN_TABLE, kName);
  batch.Text(NFTA_CHAIN_NAME, kName);
  const std::size_t hook = batch.Nest(NFTA_CHAIN_HOOK);
  batch.Number(NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
  batch.Number(NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(-100));
  batch.EndNest(hook);
  batch.Text(NFTA_CHAIN_TYPE, "nat");
  AddRule(batch);
  batch.Message(NFNL_MSG_BATCH_END, 0, kEnd, AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
}

const char* StageName(std::uint32_t sequence) {
  switch (sequence) {
    case kTable: return "nftables: new table";
    case kChain: return "nftables: new nat chain";
    case kRule: return "nftables: redirect rule";
    default: return "nftables: transaction";
  }
}

// Reads acknowledgements until that of the rule, or the first error.
void ReadAnswers(int fd, TrialAnswer& answer) {
  alignas(nlmsghdr) char buffer[8192];
  for (;;) {
    const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got < 0) return Fail(answer, "recv from nftables");
    auto left = static_cast<unsigned>(got);
    for (auto* header = reinterpret_cast<nlmsghdr*>(buffer); NLMSG_OK(header, left);
         header = NLMSG_NEXT(header, left)) {
      if (header->nlmsg_type != NLMSG_ERROR) continue;
      const auto* error = static_cast<const nlmsgerr*>(NLMSG_DATA(header));
      if (error->error != 0) return Fail(answer, StageName(header->nlmsg_seq), -error->error);
      if (header->nlmsg_seq == kRule) {
        answer.ok = true;
        return;
      }
    }
  }
}

}  // namespace

void TryRedirect(const TrialContext&, TrialAnswer& answer) {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
  if (fd < 0) return Fail(answer, "socket(NETLINK_NETFILTER)");
  Batch batch;
  Fill(batch);
  sockaddr_nl kernel = {};
  kernel.nl_family = AF_NETLINK;
  if (sendto(fd, batch.data(), batch.size(), 0, reinterpret_cast<sockaddr*>(&kernel),
             sizeof kernel) < 0) {
    return Fail(answer, "send to nftables");
  }
  ReadAnswers(fd, answer);
}

}  // namespace cordon::probe
