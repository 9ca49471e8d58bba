"""Random questions to `ridgeline plan`: `./dev properties questions` asks more of them."""

import random_questions
from conftest import BINARY, too_long_sanitized


@too_long_sanitized
def test_answers_hold():
    wrong = []
    for number, kind, words, _, found in random_questions.ask_all(BINARY, 20, 47, 2):
        if found:
            wrong.append(f"{number} ({kind}) {' '.join(words)}: {found}")
    assert not wrong, "\n".join(wrong)
