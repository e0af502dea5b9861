"""The newest value per key is kept, and a complete listing replaces what has not changed since it began."""

from hypothesis import given
from hypothesis import strategies as st

from services.runtime.read_model import Newest

VALUES = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 9))


def newest(sequences: dict[str, int]) -> Newest[str, str]:
    made: Newest[str, str] = Newest()
    for key, sequence in sequences.items():
        made.put(key, sequence, f"{key}{sequence}")
    return made


def sequences_of(model: Newest[str, str]) -> dict[str, int]:
    return {key: sequence for key, (sequence, _) in model.snapshot().items()}


@given(st.lists(st.integers(1, 9), min_size=1))
def test_of_all_values_that_are_added_the_one_with_the_highest_sequence_is_kept(sequences):
    made: Newest[str, int] = Newest()
    changes: list[int] = []
    made.listen(lambda _, value: changes.append(value))
    for sequence in sequences:
        made.add("a", sequence, sequence)
    assert (made.get("a"), made.sequence("a")) == (max(sequences), max(sequences))
    assert changes == sorted(set(changes))


@given(VALUES, VALUES)
def test_a_complete_listing_replaces_everything_whatever_its_sequences(kept, listed):
    made = newest(kept)
    changed: list[str] = []
    dropped: list[str] = []
    made.listen(lambda key, _: changed.append(key), dropped.append)
    made.replace(newest(listed))
    assert sequences_of(made) == listed
    assert set(dropped) == kept.keys() - listed.keys()
    assert sorted(changed) == sorted(key for key in listed if kept.get(key) != listed[key])


@given(VALUES, VALUES, VALUES)
def test_what_changed_while_a_listing_was_read_stays(kept, meanwhile, listed):
    made = newest(kept)
    before = made.snapshot()
    for key, sequence in meanwhile.items():
        made.put(key, sequence + 10, "new")
    made.replace(newest(listed), before)
    assert sequences_of(made) == listed | {key: sequence + 10 for key, sequence in meanwhile.items()}
