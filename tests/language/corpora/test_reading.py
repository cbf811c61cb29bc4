import pytest

from attnlab_theory.language.corpora.reading import read_text


def test_line_ends_of_every_system_are_newlines(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_bytes("\ufeffé\r\nb\rc\n".encode())
    assert read_text(path) == "é\nb\nc\n"


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
