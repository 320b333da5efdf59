"""Addresses of collections are read strictly: what is shown on screen holds no credentials, and names are what Milvus allows."""

import importlib.util
import subprocess
import sys

import pytest

from sbert_app.collections import Address, open_collection, parse
from sbert_app.collections.collection import CollectionError
from sbert_app.errors import UserError


@pytest.mark.parametrize(
    ("text", "address"),
    {
        "http://10.0.0.7:19530/tickets": Address("milvus", "http://10.0.0.7:19530", "tickets"),
        " https://milvus.example/_t9/ ": Address("milvus", "https://milvus.example:443", "_t9"),
        "http://host/t": Address("milvus", "http://host:19530", "t"),
        "HTTP://[::1]:19530/a": Address("milvus", "http://[::1]:19530", "a"),
        "/data/store.db/tickets": Address("milvus", "/data/store.db", "tickets"),
        "store.db/tickets": Address("milvus", "store.db", "tickets"),
        "/data/tickets": Address("folder", "/data/tickets", "tickets"),
        "store.db/old/tickets": Address("folder", "store.db/old/tickets", "tickets"),
        "1st & 2nd": Address("folder", "1st & 2nd", "1st & 2nd"),
        f"http://host:1/{'x' * 255}": Address("milvus", "http://host:1", "x" * 255),
    }.items(),
)
def test_an_address_names_its_store_and_is_shown_as_what_names_it_too(text, address):
    assert parse(text) == parse(str(address)) == address


def test_only_a_file_of_milvus_lite_is_local():
    texts = ("store.db/t", "http://127.0.0.1:19530/t", "folder", "http://milvus.db/t")
    assert [parse(text).is_local_milvus for text in texts] == [True, False, False, False]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "needs an address"),
        *[(f"{scheme}://host/t", f"{scheme}://") for scheme in ("ftp", "s3", "file")],
        *[(f"http://host:19530{path}", "end with the name") for path in ("", "/", "/db/t")],
        ("http:///t", "no host"),
        *[(f"http://{host}/t", "no address of a Milvus server") for host in ("host:99999", "host:port", "[::1")],
        ("http://host/t#part", "apart from it"),
        ("store.db", "name the collection"),
        ("a\0b", "NUL"),
        *[(f"http://host/{name}", "cannot be the name") for name in ("1st", "a-b", "a b", "ü", "a.b", "x" * 256, "a%62", "a;b")],
        ("store.db/1st", "cannot be the name"),
    ],
)
def test_other_addresses_are_refused_with_the_way_out(text, part):
    with pytest.raises(UserError, match=part):
        parse(text)


CREDENTIALS = """
http://root:hunter2@host:19530/t https://hunter2@host/t http://host/t?token=hunter2 http://root:hunter2@host:port/t
http://root:hunter2@[::1/t http://root:hunter2@host/1st http://root:hunter2@/t ftp://root:hunter2@host/t
"""


@pytest.mark.parametrize("text", CREDENTIALS.split())
def test_credentials_in_an_address_are_refused_and_not_repeated(text):
    with pytest.raises(UserError) as error:
        parse(text)
    assert "hunter2" not in str(error.value)


@pytest.mark.skipif(importlib.util.find_spec("pymilvus") is not None, reason="pymilvus is installed")
@pytest.mark.parametrize("text", ["http://127.0.0.1:1/t", "store.db/t"])
def test_without_pymilvus_the_way_to_install_it_is_shown(text):
    with pytest.raises(CollectionError, match="requirements-scale.txt"):
        open_collection(text)


def test_neither_milvus_nor_ray_is_imported_before_it_is_needed():
    modules = "sbert_app.collections.folder, sbert_app.collections.milvus"
    code = f"import {modules}, sys; sys.exit(bool({{'pymilvus', 'milvus_lite', 'grpc', 'ray'}} & sys.modules.keys()))"
    subprocess.run([sys.executable, "-c", code], check=True)
