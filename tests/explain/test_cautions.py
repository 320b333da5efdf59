"""Cautions say what is true, and are silent where nothing is to say. All pairs were written for these tests."""

import numpy as np
import pytest

from sbert_app.explain.cautions import LANGUAGE, NEGATION, NUMBERS, ORDER, cautions, is_foreign, unread
from sbert_app.explain.quantities import differing, quantities
from sbert_app.explain.words import TokenVectors

NOTICED = [
    ("I love this phone.", "I do not love this phone at all.", NEGATION, "“not”"),
    ("The parcel never arrived.", "The parcel arrived.", NEGATION, "The first sentence has “never”, the second has not"),
    ("It doesn't start", "It starts", NEGATION, "“doesn't”"),
    ("Nobody opened the window", "Somebody opened the window", NEGATION, "“nobody”"),
    ("Serve it with dressing", "Serve it without dressing", NEGATION, "“without”"),
    ("A pan for induction hobs", "A pan, not suitable for induction hobs", NEGATION, "“not”"),
    ("Raise my limit by 500", "Raise my limit by 800", NUMBERS, "“500” in the first sentence, “800” in the second"),
    ("Two men ride horses", "Three men ride horses", NUMBERS, "“two” in the first sentence, “three”"),
    ("We meet on Monday", "We meet on Tuesday", NUMBERS, "The days differ: “Monday”"),
    ("We meet in April", "We meet in June", NUMBERS, "The months differ"),
    ("The train leaves at 3 pm", "The train leaves at 4 pm", NUMBERS, "The times differ: “3 pm”"),
    ("The shop opened in 1998", "The shop opened in 2004", NUMBERS, "The years differ"),
    ("It weighs 5 kg", "It weighs 5 pounds", NUMBERS, "The units differ: “5 kg”"),
    ("Saucepan 18 cm, steel 18/10", "Saucepan 20 cm, steel 18/10", NUMBERS, "“18 cm” in the first sentence, “20 cm”"),
    ("Error E27 on my boiler", "Error E14 on my boiler", NUMBERS, "“E27” in the first sentence, “E14”"),
    ("Washing line, 18m", "Washing line, 20m", NUMBERS, "“18m” in the first sentence, “20m”"),
    ("Bed sheet 135x200", "Bed sheet 135 x 220", NUMBERS, "“200” in the first sentence, “220”"),
    ("The dog bit the man.", "The man bit the dog", ORDER, "same words in another order"),
]
SILENT = [
    ("The cat fell asleep on the keyboard.", "A kitten is napping on the laptop."),
    ("Draw the curtains, please", "Do not leave the curtains open, please"),
    ("Don't forget to lock the door", "Remember to lock the door"),
    ("Lock the door", "Not only lock the door, bolt it too"),
    ("He failed to lock the door", "He did not lock the door"),
    ("The train takes 90 minutes", "The train takes 1.5 hours"),
    ("About two hundred and fifty people came", "About 250 people came"),
    ("It costs $3 million", "It costs $3,000,000"),
    ("We meet at 3 pm", "We meet at 15:00"),
    ("The town is 30 miles away", "The town is 48 km away"),
    ("Three people died, twenty were hurt", "Three people died"),
    ("Shares fell 5 percent in 2015", "Shares fell to $12"),
    ("Draw the heavy curtains in the hall", "Do not leave the heavy curtains in the hall open"),
    ("The club opened in 2015", "The club opened with 40 members"),
    ("It opens on Sept. 15", "It opens three weeks late"),
    ("They offer $10 mil. for it", "They offer $10 million for it"),
    ("No one of them came", "One of them came, and not alone"),
    ("They raised £3m", "They raised 3 million pounds"),
    ("Paper, A4, 80 g", "Paper in A4"),
    ("A pot of 1,5 l", "A pot of 1.5 litres"),
    ("The towel is 70x140 cm", "The towel is 70 x 140"),
    ("The same sentence.", "the same sentence"),
    ("", ""),
    ("!!!", "?"),
]


@pytest.mark.parametrize(("first", "second", "kind", "text"), NOTICED)
def test_what_the_score_hides_is_noticed_in_both_directions(first, second, kind, text):
    (caution,) = cautions(first, second)
    assert caution.kind == kind and text in caution.text
    assert [other.kind for other in cautions(second, first)] == [kind]


@pytest.mark.parametrize(("first", "second"), SILENT)
def test_what_says_the_same_gets_no_caution(first, second):
    assert cautions(first, second) == [] == cautions(second, first)


def test_numbers_are_read_with_their_units():
    read = quantities("The 2nd order of 1,200 bolts, 3.5 kg, cost $40 and two hundred and five cents")
    plain = [("2nd", 2.0, ""), ("1,200", 1200.0, ""), ("two hundred and five", 205.0, "")]
    assert {(q.text, q.value, q.dimension) for q in read} == {*plain, ("3.5 kg", 3.5, "mass"), ("$40", 40.0, "dollars")}
    assert list(quantities("no one, this one, COVID, b2b")) == []
    assert [q.text for q in quantities("iPhone5, 1,5m")] == ["iPhone5", "1,5m"]
    assert differing("It cost $55B", "It cost $55bn") is None
    assert [q.text for q in quantities("It weighs 5 kg, 3 kg less")] == ["5 kg", "3 kg"]


def split(words: list[tuple[str, int]], unknown: int) -> TokenVectors:
    """A sentence as a tokeniser splits it: its words, each with its number of pieces."""
    numbers = np.repeat(np.arange(len(words)), [count for _, count in words])
    return TokenVectors([word for word, _ in words], numbers, np.empty((len(numbers), 0), np.float32), False, unknown)


@pytest.mark.parametrize(
    ("sentence", "words", "unknown", "text"),
    [
        ("Где мой багаж", [("Где", 3), ("мой", 3), ("багаж", 5)], 0, "letter by letter"),
        ("Где мой багаж", [("Где", 1), ("мой", 1), ("багаж", 2)], 0, ""),
        ("荷物はどこ", [("荷", 1), ("物", 1), ("は", 1), ("どこ", 2)], 1, "vocabulary"),
        ("荷物はどこ", [("荷物", 1), ("はどこ", 2)], 0, ""),
        ("😀", [("😀", 1)], 1, "vocabulary"),
        ("I love it 😀", [("I", 1), ("love", 1), ("it", 1), ("😀", 1)], 1, ""),
        ("Ich möchte mein Passwort", [("Ich", 1), ("möchte", 3), ("mein", 1), ("Passwort", 2)], 0, "not in English"),
        ("Ich möchte mein Passwort", [("Ich", 1), ("möchte", 1), ("mein", 1), ("Passwort", 1)], 0, ""),
        ("Xylograph Qwertz Zorblax", [("Xylograph", 4), ("Qwertz", 3), ("Zorblax", 4)], 0, ""),
        ("?!", [("?", 1), ("!", 1)], 0, ""),
        ("", [], 0, ""),
    ],
)
def test_a_sentence_is_unread_if_its_pieces_say_so(sentence, words, unknown, text):
    reason = unread(sentence, split(words, unknown), a_sample_word=1.4)
    assert (text in reason) if text else reason == ""


@pytest.mark.parametrize(
    ("sentence", "foreign"),
    [
        ("Die Bremsen an meinem Fahrrad quietschen bei Regen furchtbar.", True),
        ("Tolle Beratung in der Filiale, vielen Dank!", True),
        ("Wann kommt endlich mein Paket an?", True),
        ("Quiero devolver la bicicleta porque no funciona", True),
        ("I was in Los Angeles with the Von Trapp family", False),
        ("So I will be in Bonn on Monday, dank and cold as it was", False),
    ],
)
def test_a_sentence_of_another_language_is_known_by_its_frequent_words(sentence, foreign):
    assert is_foreign(sentence) is foreign


def test_an_unread_sentence_is_named():
    tokens = split([("[CLS]", 1), ("hello", 1)], 0), split([("[CLS]", 1), ("😀", 1)], 1)
    (caution,) = cautions("hello", "😀", tokens, 1.4)
    assert caution.kind == LANGUAGE and caution.text.startswith("The second sentence has signs")
