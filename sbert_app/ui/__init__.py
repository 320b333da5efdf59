"""What the browser shows: one folder a tab.

In the folder of a tab `tab` wires, a `*_panel` is a group of widgets, a `view` turns values into html, a `chart` into a figure, and
a `page` is a file to keep. What all tabs share is in `kit`, which knows no tab.
"""
