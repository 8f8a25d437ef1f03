/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "report/html.h"
#include "markup.h"
#include "test.h"

struct made {
	struct html html;
	char *text;
	size_t size;
};

static void begin(struct made *m)
{
	*m = (struct made){};
	m->html.out = open_memstream(&m->text, &m->size);
}

static char *end(struct made *m)
{
	fclose(m->html.out);
	return m->text;
}

static char *escaped(const char *text)
{
	struct made m;

	begin(&m);
	html_text(&m.html, "%s", text);
	return end(&m);
}

TEST(signs_of_markup_mean_nothing)
{
	ASSERT_TEXT(escaped("</p><script>alert('1' & \"2\")</script>&amp;"),
		    "&lt;/p&gt;&lt;script&gt;alert(&#39;1&#39; &amp; "
		    "&quot;2&quot;)&lt;/script&gt;&amp;amp;");
}

TEST(what_is_no_printable_character_is_replaced)
{
	ASSERT_TEXT(escaped("a\x1b[31mb\xff"
			    "c\u202ed\xef\xbf\xbf"
			    "e\tf\ng\u00e9"),
		    "a\ufffd[31mb\ufffdc\ufffdd\ufffde f g\u00e9");
}

TEST(what_is_too_long_loses_its_middle)
{
	_cleanup_free_ char *text = NULL;
	char name[2000];

	memset(name, 'x', sizeof(name));
	name[0] = 'a';
	name[sizeof(name) - 2] = 'z';
	name[sizeof(name) - 1] = '\0';
	text = escaped(name);
	ASSERT_EQ(strlen(text), (size_t)HTML_TEXT_MAX + strlen("…"));
	ASSERT(text[0] == 'a' && text[strlen(text) - 1] == 'z');
	ASSERT_CONTAINS(text, "x…x");
}

TEST(elements_end_in_the_order_in_which_they_began)
{
	struct made m;

	begin(&m);
	html_begin_class(&m.html, "p", "a\"b");
	html_attribute(&m.html, "title", "%d %%", 5);
	html_text(&m.html, "x");
	html_begin(&m.html, "br");
	html_end(&m.html);
	html_element(&m.html, "b", NULL, "%s", "");
	html_end(&m.html);
	ASSERT_TEXT(end(&m), "<p class=\"a&quot;b\" title=\"5 %\">x<br/><b></b>\n</p>\n");
	ASSERT(m.html.depth == 0);
}

TEST(a_page_that_is_not_well_formed_is_found)
{
	static const char *const pages[] = {
		"<p></p>\n",
		"<!DOCTYPE html>\n<p>",
		"<!DOCTYPE html>\n<p></b>",
		"<!DOCTYPE html>\n<p>a & b</p>",
		"<!DOCTYPE html>\n<p>a < b</p>",
		"<!DOCTYPE html>\n<p a=b></p>",
		"<!DOCTYPE html>\n<p a=\"b></p>",
		"<!DOCTYPE html>\n<p onclick=\"b\"></p>",
		"<!DOCTYPE html>\n<a href=\"b\"></a>",
		"<!DOCTYPE html>\n<script></script>",
		"<!DOCTYPE html>\n<p>\x1b</p>",
		"<!DOCTYPE html>\n<p>\xff</p>",
		"<!DOCTYPE html>\n<p></p>x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
		ASSERT(markup_find_fault(pages[i]));
	ASSERT(!markup_find_fault("<!DOCTYPE html>\n<p a=\"b\">c &amp; d<br/></p>\n"));
}
