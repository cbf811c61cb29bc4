"""Sources to pages: Sphinx runs in a temporary folder, and the finished book takes its place."""

import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from attnlab_theory import __version__, exits, files
from attnlab_theory.answers.declarations import declared
from attnlab_theory.answers.questions import Declared
from attnlab_theory.book import runs
from attnlab_theory.experiment import Experiment

LIST = "files.json"
"""The names of all files of a book. What is not named there is somebody else's, and is not written over."""

UNSEEN = re.compile(
    r"(scale\([^)]*\))|(\.\d\d)\d+|DejaVuSans-|<!--.*?-->|<metadata>.*?</metadata>|(?<=>)\s+(?=<)"
    r'|(?<=[;:]) (?=[\w#-])| id="[a-z]\w*_\d+"|xlink:(?=href)',
    re.DOTALL,
)
"""What nobody sees of a figure in SVG: less than a hundredth of a pixel, unused names, and spaces."""

ARTICLE = re.compile(r"(<article.*</article>)", re.DOTALL)
INDENTS = re.compile(r"\s*\n\s*")

PATH = re.compile(r'(?<= d=")([^"]+)"( transform="scale\(0\.015625\)")?')
"""A path. With this scale it is a letter, whose units are a hundredth of a pixel."""

CONF = """
project = "attnlab"
author = "the attnlab founders"
release = {version!r}
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "attnlab_theory.book.sphinx"]
source_suffix = {{".md": "markdown"}}
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
smartquotes = False
default_role = "literal"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
html_theme = "furo"
html_parts = {parts!r}
html_title = "attnlab {version}"
html_math_renderer = "mathml"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_js_files = ["book.js"]
html_extra_path = ["_extra"]
html_show_search_summary = False  # a summary would be asked for by the page, which a browser forbids on disk
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {{"navigation_with_keys": False}}
"""


def write(
    out: Path,
    folders: Sequence[Path],
    root: Path,
    experiments: Sequence[Experiment],
    labs: Mapping[str, Declared],
    command: str,
) -> tuple[str, ...]:
    """Write the book into a folder.

    Args:
        out: the folder. An earlier book there is replaced.
        folders: with results. What none of them has is shown as missing.
        root: the folder with `docs` and `figures`.
        experiments: of the lab, in the order of the book.
        labs: what each lab declares, by its name.
        command: that makes the book.

    Returns:
        A line for each file that is damaged. What it should hold is missing.

    Raises:
        ImportError: if the extra `book` is not installed.
        ValueError: if a folder is missing, `out` holds what no book has, or it cannot be written.
        RuntimeError: if Sphinx fails, with what it says.
    """
    for needed in ("furo", "myst_parser", "sphinx"):
        # Only the process of Sphinx imports them.
        if importlib.util.find_spec(needed) is None:
            raise ImportError(f"there is no {needed}", name=needed)

    from attnlab_theory.book.catalogue import Catalogue
    from attnlab_theory.book.desk import Desk
    from attnlab_theory.book.documents import Documents
    from attnlab_theory.book.pages import PARTS, every

    fresh, _ = declared()
    found = runs.read(folders, [experiment.name for experiment in experiments], list(labs), fresh)
    with files.replacing_folder(out, names=LIST, read=folders) as made, tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary, "source")
        catalogue = Catalogue(root, experiments, labs, found)
        pages_of = {item.name: item.page for item in reversed(catalogue.items) if item.topic != "somebody's own"}
        documents = Documents(root, pages_of.get)
        desk = Desk(catalogue, documents, command)
        for name, text in every(desk):
            _put(source / name, text)
        _put(source / "conf.py", CONF.format(version=__version__, parts=PARTS))
        for name, text in desk.data.items():
            _put(source / "_extra" / name, text)
        for name, path in {**documents.files, **desk.figures}.items():
            _put(source / "_extra" / name, path)
        here = Path(__file__).parent
        shutil.copytree(here / "static", source / "_static")
        shutil.copytree(here / "templates" / "partials", source / "_templates" / "partials")
        said = sphinx(source, made, Path(temporary, "doctrees"))
        (made / ".buildinfo").unlink(missing_ok=True)
        for path in made.rglob("*.html"):
            # Furo indents what is around the article, in each of hundreds of pages.
            parts = ARTICLE.split(path.read_text("utf-8"))
            path.write_text("".join(p if ARTICLE.match(p) else INDENTS.sub("\n", p) for p in parts), "utf-8")
        names = sorted(path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file())
        told = {"schema": 1, "attnlab": __version__, "warnings": said.splitlines(), "files": [*names, LIST]}
        (made / LIST).write_text(json.dumps(told, indent=0) + "\n", "utf-8")
    return (*found.problems, *desk.problems)


def sphinx(source: Path, made: Path, doctrees: Path) -> str:
    """Run Sphinx.

    Args:
        source: the folder with the sources.
        made: the folder for the pages.
        doctrees: a folder for what it keeps.

    Returns:
        Its warnings, a line each.

    Raises:
        RuntimeError: if it fails.
    """
    # One process: two end sooner, and take 36 seconds of processor time in place of 27.
    options = ["-b", "html", "-j", "1", "-q", "-d", str(doctrees), str(source), str(made)]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options],
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONSAFEPATH": "1", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = exits.visible(re.sub(r"\x1b\[[0-9;]*m", "", done.stderr)).replace(f"{source}/", "")
    if done.returncode:
        raise RuntimeError(f"Sphinx ended with exit code {done.returncode}:\n{said}")
    return said


@functools.cache
def _short(path: str, is_letter: bool) -> str:
    """A path in tenths of a pixel. The same letters come again in every figure."""
    unit, digits = (16, None) if is_letter else (1, 1)
    told = re.sub(r"-?\d+(\.\d+)?", lambda number: f"{round(float(number[0]) / unit, digits):g}", path)
    told = re.sub(r"\s*([A-Za-z]) *", r"\1", " ".join(told.split())).replace(" -", "-").strip()
    return told + ('" transform="scale(.25)"' if is_letter else '"')


def _put(path: Path, content: str | Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, Path) and content.suffix == ".svg":
        # A function: a template would be filled in for each of 800,000 places, which is slower.
        seen = UNSEEN.sub(lambda found: found[1] or found[2] or "", content.read_text("utf-8"))
        path.write_text(PATH.sub(lambda found: _short(found[1], bool(found[2])), seen), "utf-8")
    elif isinstance(content, Path):
        shutil.copyfile(content, path)
    else:
        path.write_text(content, "utf-8")
