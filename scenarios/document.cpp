#include "scenarios/document.h"

#include "scenarios/yaml_syntax.h"

#include <algorithm>
#include <istream>
#include <map>
#include <sstream>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace cnuas::scenarios {
namespace {

// Thrown through yaml-cpp to end the parse; the reason has been reported.
struct Abandoned {};

std::size_t count_nodes(const Node& node) {
  std::size_t count = 1;
  for (const Node& item : node.items)
    count += count_nodes(item);
  for (const Entry& entry : node.entries)
    count += 1 + count_nodes(entry.value);
  return count;
}

// Builds the tree from yaml-cpp's events. Marks count from 0, in bytes; a node's mark is where its tag or
// anchor begins, if it has one.
class Builder final : public YAML::EventHandler {
 public:
  Builder(const SourceText& source, Diagnostics& diagnostics) : source_(source), diagnostics_(diagnostics) {}

  std::optional<Node> take() { return std::move(root_); }

  // Where the list or mapping begins that was open last.
  const Place* innermost() const { return open_.empty() ? nullptr : &open_.back().node.place; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    abandon(place_at(mark, 1), "a second document begins here",
            "one file holds one scenario; remove the '---'");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.place = place_at(mark, null_width(offset_of(mark)));
    put(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Place place = place_at(mark, word_length(source_.text().substr(offset_of(mark))));
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) {
      abandon(place, "the alias stands inside the value that it stands for", "write the value out");
      return;
    }
    const Node& original = found->second;
    add_nodes(count_nodes(original), place);
    if (open_.empty() || expects_key()) {
      abandon(place, "an alias cannot be a key", "write the key out");
      return;
    }
    put(original, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(mark, tag);
    const std::size_t start = skip_properties(source_.text(), offset_of(mark));
    const ScalarExtent extent = scalar_extent(source_.text(), start, value);
    Node node;
    node.kind = Node::Kind::scalar;
    node.place = Place{start, extent.bytes};
    node.text = value;
    node.in_quotes = extent.in_quotes;
    if (!extent.closed)
      abandon(Place{start}, "the quote that opens here is never closed", "close it on the same line");
    put(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::list, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::mapping, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  // A list or mapping that has begun and not ended.
  struct Open {
    Node node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;  // a mapping's next node is the value of `key`
    bool duplicate = false;
    std::string key;
    Place key_place;
  };

  std::size_t offset_of(const YAML::Mark& mark) const { return source_.offset(mark.line, mark.column); }
  Place place_at(const YAML::Mark& mark, std::size_t bytes) const { return Place{offset_of(mark), bytes}; }

  // yaml-cpp reports an absent value where the next token begins: only ~ and null have a width of their own.
  std::size_t null_width(std::size_t offset) const {
    return std::max<std::size_t>(1, word_length(source_.text().substr(offset)));
  }

  void abandon(const Place& place, std::string message, std::string help) {
    diagnostics_.error(place, std::move(message), std::move(help));
    throw Abandoned{};
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    const std::string_view at = source_.text().substr(offset_of(mark));
    if (tag.empty() || tag == "?" || (tag == "!" && !at.starts_with("!"))) return;
    diagnostics_.error(place_at(mark, word_length(at)), "tags are not used in scenarios",
                       "remove " + quoted(at.substr(0, word_length(at))));
  }

  void add_nodes(std::size_t count, const Place& place) {
    nodes_ += count;
    if (nodes_ > kMostNodes)
      abandon(place, "more than " + std::to_string(kMostNodes) + " values in one scenario",
              "values behind an anchor count again wherever they are used; make it smaller");
  }

  bool expects_key() const { return open_.back().node.kind == Node::Kind::mapping && !open_.back().has_key; }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    refuse_tag(mark, tag);
    const Place place = Place{skip_properties(source_.text(), offset_of(mark))};
    if (open_.size() >= kDeepest)
      abandon(place, "nested more than " + std::to_string(kDeepest) + " deep",
              "no part of a scenario goes so deep");
    if (!open_.empty() && expects_key()) abandon(place, "a key must be text", "");
    add_nodes(1, place);
    Open next;
    next.node.kind = kind;
    next.node.place = place;
    next.anchor = anchor;
    open_.push_back(std::move(next));
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    attach(std::move(done.node), done.anchor);
  }

  void put(Node node, YAML::anchor_t anchor) {
    add_nodes(1, node.place);
    attach(std::move(node), anchor);
  }

  void attach(Node node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      add_nodes(count_nodes(node), node.place);  // a copy, as an alias is
      anchored_[anchor] = node;
    }
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == Node::Kind::list) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      take_key(parent, node);
    } else {
      if (!parent.duplicate)
        parent.node.entries.push_back(Entry{std::move(parent.key), parent.key_place, std::move(node)});
      parent.has_key = false;
    }
  }

  void take_key(Open& parent, const Node& node) {
    if (parent.node.entries.size() >= kMostKeys)
      abandon(node.place, "more than " + std::to_string(kMostKeys) + " keys in one mapping",
              "no part of a scenario has so many");
    parent.key = node.text;
    parent.key_place = node.place;
    parent.has_key = true;
    const Node* before = parent.node.find(node.text);
    parent.duplicate = before != nullptr;
    if (node.kind == Node::Kind::null) abandon(node.place, "a key is missing here", "write 'key: value'");
    if (node.text == "<<" && !node.in_quotes) {
      parent.duplicate = parent.node.incomplete = true;  // left out, so that it is not an unknown key as well
      diagnostics_.error(node.place, "merge keys ('<<') are not used in scenarios", "repeat the settings");
    } else if (before) {
      const int line = source_.line_number(parent.node.key_place(node.text).offset);
      diagnostics_.error(node.place, "duplicate key " + quoted(node.text),
                         "it is already given in line " + std::to_string(line) + "; remove one of them");
    }
  }

  const SourceText& source_;
  Diagnostics& diagnostics_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchored_;
  std::optional<Node> root_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

// yaml-cpp reads to the end of a [list] or {mapping} before it reports the beginning, and takes some 200
// bytes of memory for each byte of it: what is too much has to be seen before. Brackets in texts and comments
// count too.
bool too_many_brackets(std::string_view text) {
  const auto begins_a_node = [](char c) { return c == '[' || c == '{' || c == ','; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_a_node)) > kMostNodes;
}

// A stream over bytes that stay where they are.
class ViewBuffer final : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin =
        const_cast<char*>(text.data());  // streambuf has no const interface; nothing is ever written
    setg(begin, begin, begin + text.size());
  }
};

void report_syntax(const YAML::Exception& exception, const SourceText& source, const Builder& builder,
                   Diagnostics& diagnostics) {
  const int line = exception.mark.line;
  const std::string_view text = source.line(line + 1);
  const std::size_t tab = text.substr(0, text.find_first_not_of(" \t")).find('\t');
  const Place place = line < 0 ? Place{} : Place{source.offset(line, exception.mark.column)};
  const Position found = PositionFinder(source).find(place);
  const SyntaxMessage message = explain_syntax(exception.msg);
  if (line >= 0 && tab != std::string_view::npos)
    diagnostics.error(Place{source.offset(line, static_cast<int>(tab))}, "a tab in the indentation",
                      "YAML is indented with spaces");
  else if (message.about_bracket && builder.innermost())
    diagnostics.error(
        *builder.innermost(), message.message,
        "it is missed in line " + std::to_string(found.line) + ", column " + std::to_string(found.column));
  else
    diagnostics.error(place, message.message, message.help);
}

// Errors are reported; true when the parse came to its end.
bool parse(const SourceText& source, Builder& builder, Diagnostics& diagnostics) {
  ViewBuffer buffer(source.text());
  std::istream stream(&buffer);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return true;
  } catch (const Abandoned&) {
    return false;
  } catch (const YAML::Exception& exception) {
    report_syntax(exception, source, builder, diagnostics);
    return false;
  } catch (const std::exception& exception) {
    diagnostics.error(Place{}, "cannot be read as YAML: " + std::string(exception.what()));
    return false;
  }
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.key == key; });
  return found == entries.end() ? nullptr : &found->value;
}

const Node* Node::get(std::string_view key) const {
  const Node* node = find(key);
  return node && node->good ? node : nullptr;
}

const Place& Node::key_place(std::string_view key) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.key == key; });
  return found == entries.end() ? place : found->key_place;
}

std::optional<Node> read_document(const SourceText& source, Diagnostics& diagnostics) {
  if (const auto fault = source.fault()) {
    diagnostics.error(fault->place, fault->message, fault->help);
    return std::nullopt;
  }
  if (too_many_brackets(source.text())) {
    diagnostics.error(Place{}, "more than " + std::to_string(kMostNodes) + " brackets and commas",
                      "make the file smaller");
    return std::nullopt;
  }
  Builder builder(source, diagnostics);
  if (!parse(source, builder, diagnostics)) return std::nullopt;
  std::optional<Node> root = builder.take();
  if (!root || root->kind == Node::Kind::null) {
    diagnostics.error(Place{}, "the file is empty",
                      "a scenario needs at least 'scenario', 'fabric' and 'workload'");
    return std::nullopt;
  }
  return root;
}

}  // namespace cnuas::scenarios
