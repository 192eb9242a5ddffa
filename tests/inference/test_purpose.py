"""What a file is for, by its path and by what it says itself."""

import pytest
from given import given

PROGRAM = """
    import argparse
    args = argparse.ArgumentParser().parse_args()

    def test(net, batch):
        return net.cuda()(batch)

    test(made(args), read(args))
"""
SNIPPET = """
    def test(net, batch):
        return net.cuda()(batch)

    if __name__ == "__main__":
        test(made(), read())
"""


@pytest.mark.parametrize(
    ("path", "code", "of_test"),
    [
        ("test.py", PROGRAM, False),
        ("tools/test.py", PROGRAM, False),
        ("test_net.py", PROGRAM, False),
        ("tests/test.py", PROGRAM, True),
        ("test.py", SNIPPET, True),
        ("test_cuda.py", PROGRAM, True),
    ],
)
def test_a_program_that_tries_a_model_tests_no_code(path, code, of_test):
    (mention,) = given(code, path=path).mentions
    assert mention.guarded is of_test
