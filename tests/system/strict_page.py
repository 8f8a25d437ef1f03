# SPDX-License-Identifier: MIT
"""strict_page - a page, read so that every element ends where it should."""

import html.parser


class StrictPage(html.parser.HTMLParser):
    """A file's own handle_element() says what may stand in it."""
    VOID = {"br", "col", "hr", "input", "link", "meta"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"{self.open[-1]} does not end"
        assert len(self.ids) == len(set(self.ids)), "an id stands twice"

    def handle_element(self, tag, attributes):
        raise NotImplementedError

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"an attribute of {tag} stands twice"
        self.ids += [value for name, value in attributes if name == "id"]
        self.handle_element(tag, dict(attributes))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        assert tag in self.VOID, f"{tag} cannot end itself"
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"{tag} ends in between"

    def handle_data(self, data):
        self.texts.append(data)

    def handle_comment(self, data):
        assert False, "a comment"

    def unknown_decl(self, data):
        assert False, "a declaration"

    @property
    def text(self):
        return "".join(self.texts)
