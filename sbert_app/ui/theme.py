"""The theme: IBM Plex, a teal accent for SBERT, greys; and the scripts of the page. Everything else is in assets/style.css."""

import gradio as gr

from sbert_app.settings import ASSETS
from sbert_app.ui.kit.html import render

STYLE = ASSETS / "style.css"
SCRIPTS = tuple(ASSETS / f"{name}.js" for name in ("page", "bar", "map_names", "take_home", "present", "keep_session", "tour"))
ACCENT = "#0f766e"  # SBERT's colour on the page; figures use a lighter teal, readable on light and dark

SHADES = {  # on a light and on a dark page
    "body_background_fill": ("#fafaf9", "#131316"),
    "block_background_fill": ("#ffffff", "#1b1b1f"),
    "block_label_background_fill": ("transparent", "transparent"),
    "block_info_text_color": ("#5f5f68", "#a5a5b0"),
    "block_label_text_color": ("#4a4a52", "#c4c4cc"),
    "block_title_text_color": ("#4a4a52", "#c4c4cc"),
    "button_primary_background_fill": (ACCENT, ACCENT),
    "button_primary_background_fill_hover": ("#115e59", "#115e59"),
    "button_primary_border_color": (ACCENT, ACCENT),
    "button_primary_text_color": ("#ffffff", "#ffffff"),
    "button_secondary_background_fill": ("#ffffff", "#1b1b1f"),
    "button_secondary_background_fill_hover": ("#f1f1f0", "#2b2b31"),
    "button_secondary_border_color": ("#d4d4d8", "#3f3f46"),
    "input_background_fill": ("#f6f6f5", "#26262b"),
    "input_placeholder_color": ("#6b6b74", "#9a9aa5"),
    "link_text_color": (ACCENT, "#5eead4"),
}


def page_head() -> str:
    """The page's scripts, and the empty page that keep_session.js fills in, as text that the browser does not read."""
    scripts = "".join(f"<script>{script.read_text(encoding='utf-8')}</script>" for script in SCRIPTS)
    empty = render("session_page.html", title="", source="")
    return f'{scripts}<script type="text/plain" id="session-page">{empty}</script>'


def build_theme() -> gr.themes.Base:
    """Build the theme with fonts that Gradio includes: nothing is loaded from other hosts."""
    theme = gr.themes.Base(
        primary_hue=gr.themes.colors.teal,
        secondary_hue=gr.themes.colors.teal,
        neutral_hue=gr.themes.colors.zinc,
        # Not weight 600: Gradio's SemiBold file of Plex Sans lacks some letters.
        font=[gr.themes.LocalFont("IBM Plex Sans", weights=(400, 700)), "system-ui", "sans-serif"],
        font_mono=[gr.themes.LocalFont("IBM Plex Mono"), "ui-monospace", "monospace"],
        radius_size=gr.themes.sizes.radius_md,
    )
    shades = {f"{name}{end}": shade for name, pair in SHADES.items() for end, shade in zip(("", "_dark"), pair, strict=True)}
    return theme.set(
        **shades, color_accent=ACCENT, block_border_width="1px", button_border_width="1px", button_border_width_dark="1px"
    )
