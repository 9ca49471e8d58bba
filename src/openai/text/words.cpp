// 1,024 lower-case English words of 3 to 9 letters. Each is one token, at the beginning of a text
// and after a space, for the tokenizers of Llama 2 and 3, Qwen3, DeepSeek-V3, Gemma 3, GPT-2 and
// OpenAI's cl100k and o200k: words of a word list that all eight keep whole, checked with random
// texts of 1 to 4,000 of them, none of which had another count.
#include "openai/text/words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace ridgeline::text {
namespace {

constexpr std::string_view kText =
    "the and for this that with return you new from are class not was public have get can "
    "self all will your out has but function set else more his they data one name true end "
    "their private who time which any false value about add string over type inter part work "
    "when use off other been sup had were file would our year some there said her like let "
    "also than static just result them into what list case first import act char only print "
    "its back need start user under then may how people should test make after right long "
    "array she par read form want number require col key two size where while look could know "
    "hand most try now him break every point text show find current used play log see help "
    "these pass down even item don did through last event again high line does before because "
    "state cons here final run very model way call well object years default view many being "
    "good using stud request echo person style method found post such think much count check "
    "open next follow car game path each support own sign those system best same create made "
    "mark group world process main color report take day top free action index real build "
    "message input art between table head must order say product double place week prop "
    "program response code without still assert cap field team second going range nil fact "
    "android home left direct allow page different around really image target both put level "
    "document local content quest float develop too fore great month super title context met "
    "life catch pay change position book version three law base during console against power "
    "width label project element success date big map few ear match node another sit care "
    "effect fun service since non full turn body something stand available block keep throw "
    "things red control come custom source mill ask output email disc business required might "
    "never hard intern called options height small access protected job address sum little "
    "port status update link given better feel including always parent got less account lot "
    "valid bit prom search invest rest interest site values won video cell player cost total "
    "load clear row short company done health days initial instance organ reason within "
    "design cent school consider include stop later client love able give condition copy "
    "either important lead family option exist offer water step display times four far "
    "present room once results continue talk mass mean until market area length kind side "
    "example camp miss based plan away button render near country author specific along "
    "express begin software win thing why single season sent command money auto working query "
    "window column record making close percent past write move pat special city tell select "
    "font course late amount looking hold property low price today story sort thought task "
    "opt review switch above question word research cover whether having large created host "
    "role web deal problem press though points ever services actually million server files "
    "often info space password store format details face save items social major expected yet "
    "food members bar send makes global contact except character news device material below "
    "media component added buy delete card root handle getting claim air enter location night "
    "doing pick watch human tax box strong interface house track pack section unsigned wait "
    "terms apply session fund template subject history users future mode games products bad "
    "known seen border live variable provided study network limit cut went fire community "
    "official received token months learn mind quick comment represent series original bill "
    "frame draw comes elect filter remove front dig selected according virtual anything hours "
    "models early center language ago easy fig buffer due register period screen net common "
    "accept random hit click players among answer walk age five friend clean words header "
    "issue land stream quality works half simple empty relations nothing running someone "
    "share entry changes personal offset pie events likely writing rate correct fall features "
    "similar bring member foot board push please types edit defined thread instead film phone "
    "active article almost sell connect feature install complete general icon party vector "
    "normal database music speed taking forward term published probably weight module engine "
    "issues parse stay lower perfect former six margin heart rather building security inside "
    "graph tag round friends energy raise policy third bed training exit release shall "
    "outside ground unique pour tree byte ball fast memory fit extra resources wrong unit "
    "coming settings quite blog pretty menu currently names actual fields fix cases higher "
    "respect progress resource direction sound statement alert contract lines soon join fill "
    "office transform hash flag note upon groups risk gets cause van focus multiple commit "
    "leave align reading notice lock standard padding states internal cross national script "
    "arch written images platform force living pattern entity tool feed popular allowed "
    "impact train related scale score student average court container parts song channel "
    "changed ways mat plus profile ready sense latest region deep reach counter paper staff "
    "driver category oil stock rules stack playing bottom road held includes avoid tab insert "
    "machine operation operator argument movie sec activity uses license ability pen choice "
    "flex rev legal ten reference regular goal touch built worth natural storage bytes travel "
    "grid bus levels necessary respond financial rule starting seek drop usually door plant "
    "distance route primary comments updated led bank sample hands shape sleep safe shared "
    "remember scene park equal serial middle actions objects ones green layer views core "
    "directory secret chat origin effects setting happy stuff town slow blue cast package "
    "club loop played existing complex analysis computer mobile owner leading flow shift eyes "
    "nice floor stage solid worked editor medical hour books mount felt modern seconds cache "
    "roll growth mix letter collect knowledge drive photo trade parents piece practice "
    "selection cam reader heard gold fair manager loaded grand credit pub whose pair split "
    "capital parser education library brand charge basic arm star positive conduct layout "
    "picture pull pages gas edge bound learning comfort shown classes none laws wide jobs "
    "math scope keys vote mask theme fine writer destroy named panel rock trust economic "
    "physical rows define nature nation wall cool handler sun sometimes ";

consteval auto split() {
  std::array<std::string_view, kNumWords> words{};
  std::string_view rest = kText;
  for (std::string_view& word : words) {
    const std::size_t end = rest.find(' ');
    word = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  return words;
}
constexpr std::array<std::string_view, kNumWords> kWords = split();

using Entry = std::pair<std::string_view, std::size_t>;
/// The words in alphabetical order, with their numbers.
std::span<const Entry> sorted() {
  static const auto kAll = [] {
    std::array<Entry, kNumWords> entries;
    for (std::size_t i = 0; i < kNumWords; ++i) {
      entries[i] = {kWords[i], i};
    }
    std::ranges::sort(entries);
    return entries;
  }();
  return kAll;
}

}  // namespace

std::string_view word(std::size_t number) {
  return kWords[number % kNumWords];
}

std::optional<std::size_t> word_number(std::string_view text) {
  const auto entries = sorted();
  const auto found = std::ranges::lower_bound(entries, text, {}, &Entry::first);
  return found != entries.end() && found->first == text ? std::optional(found->second)
                                                        : std::nullopt;
}

}  // namespace ridgeline::text
