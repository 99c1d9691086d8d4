from sardonyx.ir.names import fresh_name


def test_a_taken_name_gets_a_number():
    taken = {"a", "a_2"}
    assert [fresh_name(name, taken) for name in ("b", "a", "a", "b")] == ["b", "a_3", "a_4", "b_2"]
    assert taken == {"a", "a_2", "a_3", "a_4", "b", "b_2"}
