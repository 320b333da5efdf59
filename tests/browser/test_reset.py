"""A demo that nobody uses any more begins anew, after a notice that any key ends; and a hosted menu says what is left."""

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from sbert_app.quotas import ANONYMOUS, Quota
from tests.browser.conftest import new_context, opened, served, stranger

QUOTAS = {(ANONYMOUS, "hour"): Quota(rows=1_000, indexings=5)}
STORED = "[sessionStorage.getItem('sbert-studio-session'), localStorage.getItem('sbert-studio-owner')]"


@pytest.fixture
def demo(browser, app_url, tmp_path):
    """A page whose clock the test sets forward."""
    with contextmanager(served)(tmp_path, hosted=True, reset_minutes=10.0, quotas=QUOTAS) as url:
        context, bad = new_context(browser, url), []
        page = stranger(context, url)
        page.clock.install()
        yield opened(page, bad, f"{url}?corpus=support_tickets.csv&tab=search")
        context.close()
        assert bad == []


def test_hosted_an_idle_demo_begins_anew_is_not_reset_while_somebody_is_there_and_says_what_is_left(demo):
    notice = demo.locator("#reset")
    demo.evaluate("window.same = true")
    demo.clock.fast_forward("30:00")
    demo.clock.run_for(1_000)
    assert demo.evaluate("window.same") and notice.count() == 0  # nobody has touched it: it is at its start
    demo.locator("#query :is(input, textarea)").fill("refund")
    demo.keyboard.press("End")
    before = demo.evaluate(STORED)
    demo.clock.fast_forward("09:45")
    demo.clock.run_for(1_000)
    expect(notice).to_have_text("Is nobody here? In 14 s this page begins anew, without your data. Press a key to stay.")
    assert notice.evaluate("notice => notice.getBoundingClientRect().bottom <= innerHeight")  # where it is seen
    demo.keyboard.press("Shift")
    expect(notice).to_have_count(0)
    demo.clock.fast_forward("09:30")
    demo.clock.run_for(1_000)
    assert notice.count() == 0 and demo.evaluate("window.same")
    demo.evaluate("document.body.insertAdjacentHTML('beforeend', '<i role=progressbar style=\"display: block\">50 %</i>')")
    demo.clock.run_for(600_000)  # what is being computed is not left alone
    assert notice.count() == 0 and demo.evaluate("window.same")
    demo.evaluate("document.querySelector('i[role=progressbar]').remove()")
    demo.clock.fast_forward("09:50")
    demo.clock.run_for(1_000)
    expect(notice).to_be_visible()
    demo.clock.fast_forward("00:15")
    demo.clock.run_for(1_000)
    demo.wait_for_function("!window.same && document.body?.classList.contains('arrived')")
    after = demo.evaluate(STORED)
    assert "corpus=" not in demo.url and before[0] and after[0] and before[0] != after[0] and before[1] != after[1]
    expect(demo.get_by_text("Cosine similarity", exact=False).first).to_be_visible()  # the example's result is there
    demo.locator("#more summary").click()
    expect(demo.locator("#quota")).to_have_text("Left for you: 1,000 rows, 5 indexings.")


def test_a_local_page_is_never_reset_and_has_no_quota(page):
    assert page.locator("meta[name=studio-reset]").count() == 0
    page.locator("#more summary").click()
    with page.expect_response("**/quota"):
        page.locator("#more summary").click()
        page.locator("#more summary").click()
    expect(page.locator("#quota")).to_be_hidden()
