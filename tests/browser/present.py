"""Results on the full screen, as browser tests read them."""

from typing import Any

# The sizes in pixels of all letters that a presented result shows.
LETTERS = """() => [...document.querySelectorAll('.present *')]
  .filter(element => [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim()))
  .filter(element => !element.closest('button') && element.checkVisibility({visibilityProperty: true}))
  .map(element => parseFloat(getComputedStyle(element).fontSize) * (element.currentCSSZoom ?? 1))"""


def smallest_letters(page: Any) -> float:
    """The smallest letters of what is presented, in pixels."""
    return min(page.evaluate(LETTERS))


def smallest_presented(page: Any, button: str) -> float:
    """Present a result on a screen of 1920 x 1080 pixels, and leave it again: its smallest letters."""
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.locator(button).click()
    page.locator(".present-text, .present-chart .main-svg").last.wait_for()
    size = smallest_letters(page)
    page.keyboard.press("Escape")
    return size
