"""The Gradio page: one folder per tab; `kit` has what all tabs share.

In a tab's folder, `tab` builds it and connects events, a `*_panel` is a group of widgets, `view` renders html and pages to keep,
`chart` figures. A small panel renders its own html. None holds visitors' data, which is in their sessions.
"""
