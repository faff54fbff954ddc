"""Which ideas say the same again: reworded (`Known`), or with the same subject in words of their own (`Subjects`)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from treesearch.records import Category, Idea

DUPLICATE_THRESHOLD = 0.6
"""Share of words two ideas have in common (Jaccard) from which they are called near-duplicates.

Rewordings of one idea score 0.6 to 1; two ideas about the same loop by different means stay below 0.4.
"""

SUBJECT_THRESHOLD = 0.3
"""Cosine of two ideas' tf-idf vectors from which they have one subject.

In the shipped searches all pairs of a round above it, but for a few, lead to much the same change of a kernel: two
answers, each about a parent of its own, that had not seen each other. Ideas taken at random score below 0.1.
"""

_FILLER = frozenset(
    "a an the and or of to in on at by for from with without into over per as is are be it its this that these "
    "each every all one so then than which while where when instead use using used can will would should".split()
)
_WORD, _ENDING = re.compile(r"[^\W_]+"), re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e)$")


# ── the same, reworded ──────────────────────────────────────────────────────────────────────────


def near_duplicate(idea: Idea, others: Iterable[Idea]) -> Idea | None:
    """The one of `others` most like `idea`, if it is so alike (`DUPLICATE_THRESHOLD`) that both would lead
    to the same kernel; else None. Ideas of one category with the same words in their titles always are."""
    return Known(others).twin(idea)


class Known:
    """Ideas that others may repeat. Their words are worked out once, however many are compared with them."""

    def __init__(self, ideas: Iterable[Idea] = ()) -> None:
        self._gists = [(_gist(idea), idea) for idea in ideas]

    def add(self, idea: Idea) -> None:
        self._gists.append((_gist(idea), idea))

    def twin(self, idea: Idea) -> Idea | None:
        """As `near_duplicate` has it."""
        gist = _gist(idea)
        scored = [(_likeness(gist, other), place) for place, (other, _) in enumerate(self._gists)]
        score, nearest = max(scored, key=lambda pair: pair[0], default=(0.0, 0))
        return self._gists[nearest][1] if score >= DUPLICATE_THRESHOLD else None


@dataclass(frozen=True)
class _Gist:
    category: Category
    title: frozenset[str]
    words: frozenset[str]


@lru_cache(maxsize=1024)
def _gist(idea: Idea) -> _Gist:
    """The words of an idea: those about parents that stay are asked for again each round."""
    return _Gist(idea.category, frozenset(_words(idea.title)), frozenset(_words(f"{idea.title} {idea.mechanism}")))


def _likeness(one: _Gist, other: _Gist) -> float:
    if one.category is other.category and one.title == other.title:
        return 1.0
    shared = len(one.words & other.words)
    return shared / max(len(one.words) + len(other.words) - shared, 1)


def _words(text: str) -> list[str]:
    """Meaningful words with common endings cut, so that `loads` and `loading` are one word."""
    return [_ENDING.sub("", word) for word in _WORD.findall(text.lower()) if word not in _FILLER]


# ── the same subject ────────────────────────────────────────────────────────────────────────────


class Subjects:
    """What ideas are about: vectors of their words, those weighing most that few ideas of `corpus` have.

    A word weighs (1 + log tf) · log(1 + N/df), vectors are compared by their cosine (Salton and Buckley, 1988). The
    words that all ideas about a problem share, `tile` or `wgmma`, then count for little.
    """

    def __init__(self, corpus: Iterable[Idea]) -> None:
        documents = [_gist(idea).words for idea in corpus]
        self._ideas = len(documents)
        self._spread = Counter(word for words in documents for word in words)

    def shared(self, idea: Idea, others: Iterable[Idea]) -> Idea | None:
        """The one of `others` whose subject is nearest to that of `idea`, if it is the same (`SUBJECT_THRESHOLD`)."""
        mine = self._vector(idea)
        scored = [(_product(mine, self._vector(other)), other) for other in others]
        score, nearest = max(scored, key=lambda pair: pair[0], default=(0.0, idea))
        return nearest if score >= SUBJECT_THRESHOLD else None

    def cosine(self, one: Idea, other: Idea) -> float:
        """From 0, no word in common, to 1."""
        return _product(self._vector(one), self._vector(other))

    def _vector(self, idea: Idea) -> dict[str, float]:
        weights = {word: self._weight(word, count) for word, count in _counts(idea).items()}
        length = math.hypot(*weights.values()) or 1.0
        return {word: weight / length for word, weight in weights.items()}

    def _weight(self, word: str, count: int) -> float:
        return (1 + math.log(count)) * math.log(1 + max(self._ideas, 1) / max(self._spread[word], 1))


def _product(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    return sum(weight * other.get(word, 0.0) for word, weight in one.items())


@lru_cache(maxsize=1024)
def _counts(idea: Idea) -> Counter[str]:
    return Counter(_words(f"{idea.title} {idea.mechanism}"))
