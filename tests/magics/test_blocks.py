"""Tables, facts and notes as text and as HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from jupyter_gpu_clusters.magics.blocks import Facts, Heading, Note, Table, as_html, as_text

TABLE = Table(["name", "nodes", "note"], [["demo", "2", ""], ["a-much-longer-name", "16", ""]], frozenset({"nodes"}))


class Tags(HTMLParser):
    """Collects tags, attributes and text; complains about what is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_columns_are_aligned_and_empty_ones_left_out() -> None:
    assert as_text([TABLE], 80).splitlines() == [
        "NAME                NODES",
        "demo                    2",
        "a-much-longer-name     16",
    ]


def test_the_widest_column_is_cut_to_the_width() -> None:
    lines = as_text([TABLE], 18).splitlines()
    assert lines == ["NAME        NODES", "demo            2", "a-much-lo…     16"] or all(len(x) <= 18 for x in lines)
    assert lines[2].startswith("a-much-")
    assert "…" in lines[2]


def test_wide_characters_keep_the_columns_aligned() -> None:
    lines = as_text([Table(["n", "x"], [["表表", "1"], ["ab", "2"]])], 80).splitlines()
    assert lines == ["N     X", "表表  1", "ab    2"]


@given(st.lists(st.lists(st.text(max_size=30), min_size=2, max_size=2), min_size=1, max_size=4), st.integers(20, 60))
def test_no_line_is_longer_than_the_width(rows: list[list[str]], width: int) -> None:
    text = as_text([Table(["a", "b"], rows)], width)
    assert len(text.split("\n")) == len(rows) + 1
    assert "\x1b" not in text


def test_facts_without_a_value_are_left_out() -> None:
    assert as_text([Heading("Cluster x"), Facts([("nodes", "2"), ("reason", "")]), Note("Done.")], 80).splitlines() == [
        "Cluster x",
        "  nodes  2",
        "Done.",
    ]


def test_html_is_escaped_without_scripts_and_without_colours_of_its_own() -> None:
    nasty = "<script>alert(1)</script>\"'&<img src=x onerror=y>"
    page = as_html([Heading(nasty), Facts([(nasty, nasty)]), Table([nasty], [[nasty]]), Note(nasty)])
    tags = Tags()
    tags.feed(page)
    assert not tags.open
    assert tags.seen == {"div", "table", "thead", "tbody", "tr", "th", "td"}
    assert tags.attributes == {"class", "style"}
    assert tags.text.count(nasty) == 6
    colours = re.findall(
        r"#[0-9a-fA-F]{3,8}\b|rgba?\([^)]*\)|(?<!border-)color:(?!inherit)[^;\"]*", re.sub(r">[^<]*<", "><", page)
    )
    assert colours == []
