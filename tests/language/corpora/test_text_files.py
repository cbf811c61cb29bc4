import pytest

from attnlab_theory.language.corpora.text_files import read_text


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("\ufeffé\r\nb\r\n", "é\nb\n"),
        ("a\rb\r", "a\nb\n"),
        ("a\nb\n", "a\nb\n"),
        # Written by a program that made \r\n of every \n of a file that had \r\n already.
        ("a\r\r\nb\r\r\n", "a\nb\n"),
    ],
)
def test_line_ends_of_every_system_are_newlines(tmp_path, content, read):
    path = tmp_path / "corpus.txt"
    path.write_bytes(content.encode())
    assert read_text(path) == read


def test_a_carriage_return_inside_a_line_is_a_space(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"two men ride\ra red bicycle\r\na dog\r\rruns\n")
    assert read_text(path) == "two men ride a red bicycle\na dog runs\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"fine\nfine\nbad \xff\n", "is not UTF-8: line 3 holds the byte 0xff"),
    ],
)
def test_files_without_text_are_refused(tmp_path, content, said):
    path = tmp_path / "corpus.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"corpus.txt {said}"):
        read_text(path)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"there is no file .*nowhere\.txt"):
        read_text(tmp_path / "nowhere.txt")
    with pytest.raises(ValueError, match="is a folder"):
        read_text(tmp_path)
