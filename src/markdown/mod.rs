//! Reading Markdown: front matter, headings, links, tags, chunks. Pure functions over text.
