"""The wheel carries everything: installed into a fresh environment, it works in an empty folder."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from attnlab_theory.claims import CLAIMS
from tests.book import browser
from tests.circles import EXPLORING

ROOT = Path(__file__).parents[1]


def run(*command, cwd, seconds=240, **environment):
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def attnlab(tmp_path_factory):
    """The command of an environment that has our wheel, and lends the dependencies of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "fresh", with_pip=False)
    python = folder / "fresh" / "bin" / "python"
    run(
        *(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel),
        cwd=folder,
    )
    # A folder named in a .pth file lends its packages, but not its own .pth files: our checkout stays unseen.
    (site,) = (folder / "fresh").glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "fresh" / "bin" / "attnlab"


@pytest.mark.slow("nothing inside asks this: a wheel must be built and installed")
def test_installed_command_lists_and_runs_in_an_empty_folder(attnlab, tmp_path):
    """The fixture builds the wheel and installs it, and the command judges an experiment."""
    listed = json.loads(run(attnlab, "list", "--json", cwd=tmp_path))
    labs = {path.parent.name for path in (ROOT / "attnlab_theory" / "labs").glob("*/claims.py")}
    assert {path.stem for path in (ROOT / "experiments").glob("*.py")} | labs == {e["name"] for e in listed}
    result = json.loads(run(attnlab, "run", "copying", "--json", cwd=tmp_path, XDG_CACHE_HOME=str(tmp_path)))
    assert [f for f in result["findings"] if f["verdict"] != f["expect"]] == []
    assert result["run"]["commit"] is None
    written = {path.name for path in (tmp_path / "lab").glob("copying*")}
    assert written == {"copying.json", "copying.run.json", "copying.svg", "copying.png"}


@pytest.mark.slow("answers that quote a run of a named folder stay inside")
def test_answers_about_training_quote_the_committed_run_in_an_empty_folder(attnlab, tmp_path):
    """Starts the installed command, which imports the whole package."""
    (answer,) = json.loads(run(attnlab, "answers", "uw/3.q1", "--json", cwd=tmp_path))
    assert answer["status"] == "supported"
    assert "not measured" not in answer["answer"]


@pytest.mark.slow("nothing inside asks this: a wheel must be built and installed")
def test_no_top_level_package_called_experiments_is_installed(attnlab):
    (site,) = attnlab.parents[1].glob("lib/python*/site-packages")
    assert not (site / "experiments").exists()
    assert (site / "attnlab_theory" / "experiments").is_dir()


@pytest.mark.slow("what a package without the folder board prints stays inside")
def test_the_committed_board_is_printed_and_only_a_checkout_judges(attnlab, tmp_path):
    """Starts the installed command three times."""
    (site,) = attnlab.parents[1].glob("lib/python*/site-packages")
    assert not (site / "board").exists()
    told = json.loads(run(attnlab, "conform", "--peers", "--json", cwd=tmp_path))
    assert told == json.loads((ROOT / "figures" / "conformance" / "board.json").read_text("utf-8"))
    assert "A maintainer would call 13 cells a bug" in run(attnlab, "conform", "--peers", cwd=tmp_path)
    asked = [str(attnlab), "conform", "--peers", "--install"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--peers --install needs a checkout of attnlab" in done.stderr


@pytest.mark.timeout(1200)
@pytest.mark.slow("pages of strangers, damaged and missing runs, links and formulas stay inside")
def test_the_wheel_makes_the_book_and_a_browser_opens_its_pages(attnlab, tmp_path, subtests):
    """A minute: builds the book, and opens each eighth page and one of each kind. `make explore` opens all."""
    executable = browser.chromium()
    (address,) = run(attnlab, "report", "--out", "book", cwd=tmp_path, seconds=900).splitlines()
    book = tmp_path / "book"
    assert address == (book / "index.html").resolve().as_uri()
    told = json.loads((book / "files.json").read_text("utf-8"))
    pages = sorted(book.rglob("*.html"))
    with subtests.test("Sphinx warns of nothing"):
        assert told["warnings"] == []
    with subtests.test("every claim and every document has its page"):
        names = {path.relative_to(book).as_posix() for path in pages}
        assert {f"claims/{claim.name}.html" for claim in CLAIMS} <= names
        documents = {path.relative_to(ROOT).with_suffix(".html").as_posix() for path in ROOT.glob("docs/**/*.md")}
        assert documents <= names
    with subtests.test("it is no larger than was promised"):
        assert sum(path.stat().st_size for path in book.rglob("*") if path.is_file()) <= 40e6
        assert max(path.stat().st_size for path in book.glob("claims/*.html")) <= 300e3
    with subtests.test("links"):
        assert [*browser.leading_nowhere(book)] == []
    with subtests.test("no page loads anything from elsewhere"):
        assert [*browser.asking(book)] == []
    with subtests.test("nothing is written over files of others"):
        (book / "notes.txt").write_text("somebody's own")
        asked = [str(attnlab), "report", "--out", "book"]
        done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, timeout=240)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "notes.txt is not a file of an earlier book" in done.stderr
        (book / "notes.txt").unlink()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        # Others may have the processor: half a minute is no fault of a page.
        page.set_default_timeout(120_000)
        said: list[str] = []
        page.on("console", lambda each: said.append(f"{page.url}: {each.text}") if each.type == "error" else None)
        page.on("pageerror", lambda error: said.append(f"{page.url}: {error}"))
        page.on("request", lambda each: None if each.url.startswith(("file:", "data:")) else said.append(each.url))
        with subtests.test("a page loads from disk, asks nobody, and says nothing"):
            for path in pages if EXPLORING else pages[::8]:
                page.goto(path.as_uri(), wait_until="domcontentloaded")
            assert said == []
        with subtests.test("a newcomer finds the question in one click, and a paper in two"):
            page.goto(address)
            page.get_by_role("link", name="Why do two heads beat one?").first.click()
            assert page.url.endswith("questions/two_heads_hedge.html")
            page.goto(address)
            page.locator("article").get_by_role("link", name="Your paper").click()
            page.get_by_role("link", name="Rethinking Attention with Performers").click()
            assert "What of arXiv 2009.14794 was checked" in page.locator("article").inner_text()
        with subtests.test("search is typed, and finds"):
            page.goto(address)
            page.get_by_placeholder("Search").first.fill("two heads hedge")
            page.keyboard.press("Enter")
            # Results come one after the other.
            page.locator("#search-results a", has_text="Two heads hedge").first.wait_for()
        with subtests.test("the ledger is filtered and sorted, and its address holds the filter"):
            page.goto((book / "ledger.html").as_uri())
            page.get_by_label("topic").select_option("noisy_keys")
            page.get_by_label("verdict").select_option("REFUTED")
            assert page.url.endswith("#topic=noisy_keys&verdict=REFUTED")
            shown = page.locator("#ledger tbody tr:visible")
            topics = {row.get_attribute("data-topic") for row in shown.all()}
            assert (topics, 0 < shown.count() < 40) == ({"noisy_keys"}, True)
            page.get_by_role("button", name="claim").first.click()
            names = shown.locator("td:first-child a").all_inner_texts()
            assert names == sorted(names)
            other = chromium.new_page()
            other.goto(page.url)
            assert other.locator("#ledger tbody tr:visible").count() == shown.count()
            other.close()
        with subtests.test("a keyboard reaches search, filters, heads of columns and tokens, and is seen"):
            page.goto((book / "ledger.html").as_uri())
            reached = browser.walked(page, 40)
            fields = [f"filter-{name}" for name in ("text", "topic", "question", "verdict", "lab", "source")]
            named = [name for name, _, _ in reached]
            assert {"q", *fields, "claim", "what it says", "verdict"} <= set(named)
            assert [name for name, seen, _ in reached if not seen] == []
            page.get_by_role("button", name="claim").first.focus()
            page.keyboard.press("Enter")
            assert page.locator("#ledger th").first.get_attribute("aria-sort") == "ascending"
            page.goto((book / "labs" / "knowledge.html").as_uri())
            viewer = page.locator(".attention").first
            heads = viewer.locator(".grid button")
            assert heads.count() == 2 * 2 * 4
            heads.first.press("Enter")
            assert "has kept no map of head 1" in viewer.get_by_role("status").inner_text()
            viewer.locator(".grid button.kept").last.focus()
            page.keyboard.press("Enter")
            for _ in range(3):
                page.keyboard.press("Tab")
            assert all(seen and token for _, seen, token in browser.walked(page, 3))
            assert "Token 3 reads token" in viewer.get_by_role("status").inner_text()
        with subtests.test("a token shows what it reads, in every head of two texts"):
            viewer = page.locator(".attention").last
            kept = viewer.locator(".grid button.kept")
            assert kept.count() == viewer.locator(".grid button").count() == 2 * 4
            shown = set()
            for name in viewer.locator("option").all_inner_texts():
                viewer.get_by_label("question about").select_option(name)
                for head in kept.all():
                    head.click()
                    viewer.locator(".tokens button").nth(9).focus()
                    assert "Token 10 reads token" in viewer.get_by_role("status").inner_text()
                shown.add("".join(viewer.locator(".tokens button").all_inner_texts()))
            assert len(shown) == 2
        for name in browser.KINDS:
            page.set_viewport_size({"width": 1280, "height": 900})
            page.emulate_media(color_scheme="light")
            page.goto(browser.address(book, name))
            for scheme in ("light", "dark") if name in browser.DARK else ("light",):
                with subtests.test("axe finds nothing serious", page=name, scheme=scheme):
                    page.emulate_media(color_scheme=scheme)
                    assert browser.serious(page) == []
            with subtests.test("no page is wider than a telephone", page=name):
                page.set_viewport_size({"width": 400, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth") <= 400
        chromium.close()
