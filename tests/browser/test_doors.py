"""A web page elsewhere, in a real browser, tries to reach the app on this machine; and the app's own page obeys its rules."""

from urllib.parse import urlparse

from tests.browser.chromium import chromium, go_to

EVIL = "http://evil.example"
FORM = """<form method="post" enctype="multipart/form-data" action="{}gradio_api/upload"><input type="file" name="files"></form>"""
FILL = """() => {
    const files = new DataTransfer();
    files.items.add(new File(['planted'], 'planted.txt'));
    document.querySelector('input').files = files.files;
    document.forms[0].submit();
}"""


def test_dns_rebinding_opens_nothing(browser, app_url):
    """A foreign name leads to this machine, as a hostile name server makes it."""
    rule, arguments = "--host-resolver-rules=MAP evil.example 127.0.0.1", chromium()
    with browser.browser_type.launch(**arguments | {"args": [*arguments["args"], rule]}) as rebound:
        page = rebound.new_page()
        answer = page.goto(f"{EVIL}:{urlparse(app_url).port}/")
        assert answer.status == 403 and "This host name is not allowed" in page.locator("body").inner_text()


def test_a_form_of_a_foreign_page_uploads_nothing(browser, app_url):
    context = browser.new_context()
    page = context.new_page()
    page.route(f"{EVIL}/", lambda route: route.fulfill(body=FORM.format(app_url), content_type="text/html"))
    page.goto(f"{EVIL}/")
    with page.expect_response("**/upload") as upload:
        page.evaluate(FILL)
    assert upload.value.status == 403
    context.close()


def test_the_page_lives_within_its_policy_also_where_it_is_hosted(visit, hosted_url):
    """The fixture fails on every error of the page and on everything that its content policy refused."""
    page = visit(url=hosted_url)
    for tab in ("Search", "Map", "Fine-tune", "Timing", "Similarity"):
        go_to(page, tab)
    page.get_by_label("More", exact=True).click()
    page.get_by_role("button", name="Use via API").click()
    page.get_by_text("API documentation").first.wait_for()
