#include "core/ccl/verify_expressions.h"

namespace cnuas::ccl {

Expressions::Expressions(Rank ranks) : ranks_(ranks), nodes_(ranks), table_(1024, 0) {
  nodes_[0].left_fold_of = 1;
}

std::size_t Expressions::slot_of(Id left, Id right) const {
  const std::uint64_t key = (static_cast<std::uint64_t>(left) << 32) | right;
  const std::uint64_t mixed = (key ^ (key >> 29)) * 0x9E3779B97F4A7C15u;
  std::size_t slot = static_cast<std::size_t>(mixed >> 20) & (table_.size() - 1);
  while (table_[slot] != 0 && (nodes_[table_[slot]].left != left || nodes_[table_[slot]].right != right))
    slot = (slot + 1) & (table_.size() - 1);
  return slot;
}

void Expressions::grow() {
  table_.assign(2 * table_.size(), 0);
  for (std::size_t id = ranks_; id < nodes_.size(); ++id)
    table_[slot_of(nodes_[id].left, nodes_[id].right)] = static_cast<Id>(id);
}

Expressions::Id Expressions::fold(Id left, Id right) {
  if (2 * (nodes_.size() - ranks_ + 1) > table_.size()) grow();
  const std::size_t slot = slot_of(left, right);
  if (table_[slot] != 0) return table_[slot];
  const std::uint32_t prefix = nodes_[left].left_fold_of;
  Node node;
  node.left = left;
  node.right = right;
  node.left_fold_of = prefix > 0 && right == prefix && is_leaf(right) ? prefix + 1 : 0;
  const Id id = static_cast<Id>(nodes_.size());
  nodes_.push_back(node);
  table_[slot] = id;
  return id;
}

std::string Expressions::flaw(Id id) const {
  std::vector<bool> seen(ranks_, false);
  std::vector<Id> open = {id};
  // At most ranks + 1 leaves are visited before one repeats, so this ends soon even where shared nodes stand
  // for a great many.
  while (!open.empty()) {
    const Id next = open.back();
    open.pop_back();
    if (!is_leaf(next)) {
      open.push_back(nodes_[next].right);
      open.push_back(nodes_[next].left);
      continue;
    }
    if (seen[next]) return "holds the contribution of rank " + std::to_string(next) + " more than once";
    seen[next] = true;
  }
  for (Rank rank = 0; rank < ranks_; ++rank)
    if (!seen[rank]) return "lacks the contribution of rank " + std::to_string(rank);
  return {};
}

std::string Expressions::text(Id id, std::size_t limit) const {
  // What is left to write: an expression, in parentheses or not, or a character.
  struct Item {
    Id id;
    char literal;  // 0: the expression `id`
    bool enclosed;
  };
  std::string text;
  std::vector<Item> open = {{id, 0, false}};
  while (!open.empty()) {
    const Item item = open.back();
    open.pop_back();
    if (item.literal != 0) {
      text += item.literal;
    } else if (is_leaf(item.id)) {
      text.append("r").append(std::to_string(item.id));
    } else {
      const Node& node = nodes_[item.id];
      if (item.enclosed) open.push_back({0, ')', false});
      open.push_back({node.right, 0, true});
      open.push_back({0, '+', false});
      open.push_back({node.left, 0, true});
      if (item.enclosed) open.push_back({0, '(', false});
    }
    if (text.size() > limit) return text.substr(0, limit) + "...";
  }
  return text;
}

}  // namespace cnuas::ccl
