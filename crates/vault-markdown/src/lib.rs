//! Notes as values: everything about Markdown text that needs no disk.
