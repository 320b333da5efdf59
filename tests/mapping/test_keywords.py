"""The terms that name a cluster: one form of each word, pairs of words, no residue, never the same name twice."""

import numpy as np
import pytest

from sbert_app.mapping.clusters import OUTLIER
from sbert_app.mapping.keywords import Words, names
from sbert_app.mapping.word_forms import akin, shortest_form


def terms(*clusters: list[str]) -> list[list[str]]:
    """The terms of clusters with these sentences."""
    labels = np.repeat(np.arange(len(clusters), dtype=np.int32), [len(sentences) for sentences in clusters])
    return Words([sentence for sentences in clusters for sentence in sentences]).keywords(labels)


def test_keywords_are_frequent_in_their_cluster_and_rare_in_the_others():
    sentences = ["the red apple is ripe", "a ripe green apple", "the old car broke down", "my car needs a new engine", "hello"]
    labels = np.array([0, 0, 1, 1, OUTLIER], np.int32)
    words = Words(sentences)
    fruit, cars = words.keywords(labels)
    assert set(fruit[:2]) == {"apple", "ripe"} and cars[0] == "car" and "the" not in fruit
    assert words.distinctive_words(np.array([4])) == ["hello"]
    once = ["urgent urgent apple", "urgent urgent apple pie", "urgent urgent car", "urgent urgent car"]
    assert [words[0] for words in Words(once).keywords(np.array([0, 0, 1, 1], np.int32))] == ["apple", "car"]


def test_a_word_of_one_sentence_names_no_cluster_though_no_other_has_it():
    topics = ["refund", "parcel", "salary", "cheque", "dentist", "bicycle", "piano", "garden"]
    odd = ["curreng", "heyy", "boyfriend", "kensington", "landlord", "zebra", "drawl", "placard"]

    def sentences(topic: str) -> list[str]:
        """Half of them about the topic, each other topic in three of them, an odd word in one."""
        half = [f"card, {topic}"] * 9 + [f"card, {topic}, {odd[topics.index(topic)]}"]
        return [*half, *(f"card, {other}" for other in topics if other != topic for _ in range(3))]

    assert [group[0] for group in terms(*map(sentences, topics))] == topics
    signs, refunds = ["👍"] * 11 + ["mirror"], ["refund"] * 12
    assert terms(signs, refunds) == [[], ["refund"]] and terms(signs[-9:], refunds)[0] == ["mirror"]


@pytest.mark.parametrize("sentences", [["the a of", "is"], ["", "12 %"], ["<br>", "&nbsp;"]])
def test_sentences_without_a_topic_have_no_terms(sentences):
    assert Words(sentences).keywords(np.zeros(2, np.int32)) == [[]]
    assert Words(sentences).keywords(np.full(2, OUTLIER, np.int32)) == []
    assert Words([]).keywords(np.zeros(0, np.int32)) == []


def test_forms_of_a_word_are_one_term_in_its_most_frequent_form():
    boats, notes = terms(
        ["ships sail past", "a ship is sailing", "ships sailed", "old ships", "shipping by sail"],
        ["charged for the companies", "charging a company", "a boss pays taxes", "tax"],
    )
    assert boats[:2] == ["ships", "sail"] and not {"ship", "shipping", "sailing", "sailed"} & set(boats)
    assert {"charged", "boss", "company", "tax"} < set(notes) and not {"charging", "companies", "taxes"} & set(notes)


@pytest.mark.parametrize(
    ("word", "form"),
    [("cancelled", "cancel"), ("ratings", "rate"), ("boxes", "box"), ("logging", "log"), ("movies", "movie"), ("prices", "price")]
    + [(word, word) for word in ("news", "address", "string", "bring", "ios", "planes", "speed")],
)
def test_only_a_form_of_a_known_word_is_merged(word, form):
    known = {"cancel", "rate", "rating", "box", "log", "movie", "price", "new", "addres", "str", "io", "plan", "spe", word}
    assert shortest_form(word, known) == form


def test_a_pair_of_words_is_a_term_where_the_rarer_word_mostly_occurs_in_it():
    resets = ["password reset failed", "password reset mail", "forgot my password", "a password reset", "password resets again"]
    rates = ["exchange rate of euro", "the exchange rate", "bad exchange rates", "my rate", "parcel lost"]
    first, second = terms(resets, rates)
    assert first[0] == "password reset" and second[0] == "exchange rate"
    assert not {"password", "reset", "exchange", "rate"} & {*first, *second}
    seldom, _ = terms(["blue car wash", *["car by day"] * 10, "blue car wash", "blue car wash"], rates)
    assert seldom[0] == "car"  # 3 of its 13 uses are "blue car", but 3 of 3 of "blue"
    across = ["the invoice. Refund", "invoice 12 refund", "invoice of refund", "invoice (refund)"]
    assert set(terms(across, ["parcel lost"])[0]) == {"invoice", "refund"}, "not across a stop, a number or a stop word"


def test_numbers_markup_months_adverbs_and_single_letters_name_nothing():
    noisy = [
        "<b>Parcel</b> 4711&nbsp;lost #39;s quot;no quot;",
        "parcel x lost in March, see https://track.example/abc?page=2",
        "12 parcel accidentally",
    ]
    assert [*map(set, terms(noisy, ["the driver's c++ code", "driver"]))] == [{"parcel", "lost"}, {"driver", "c++", "code"}]


def test_other_languages_keep_their_words_and_repeat_no_form_in_a_name():
    german = ["Rechnung prüfen", "alle Rechnungen", "Rechnung bezahlen", "Rechnungen", "offene Rechnung"]
    russian = ["карта банка", "новая карта", "две карты", "банка", "нет карты карта"]
    bills, cards = terms(german, russian)
    assert bills[0] == "rechnung" and cards[:2] == ["карта", "банка"]
    assert not {"rechnungen", "карты"} & {*bills, *cards} and {"prüfen", "bezahlen"} < set(bills)
    assert terms(["東京 の 駅", "東京 駅"], ["car"])[0][0] in ("東京", "駅", "東京 駅")


def test_forms_are_akin_and_different_words_are_not():
    for one, other in [("iraq", "iraqi"), ("карта", "карты"), ("spam", "spammers"), ("resigned", "resignation"), ("us", "us")]:
        assert akin(one, other) and akin(other, one)
    for one, other in [("transfer", "transit"), ("pay", "payment"), ("airlines", "airways")]:
        assert not akin(one, other)


def test_names_are_all_different_and_never_blank():
    same = ["a", "b", "c", "d"]
    assert names([same, [], same, [], ["b", "a"]]) == ["a · b · c", "cluster 2", "a · c · d", "cluster 4", "b · cluster 5"]
    many = names([same] * 6)
    assert len(set(many)) == 6 and many[3:5] == ["a · cluster 4", "a · cluster 5"]
    assert len({frozenset(name.split(" · ")[:2]) for name in many}) == 6  # the map shows two terms
    assert len({frozenset(name.split(" · ")) for name in many}) == 6
