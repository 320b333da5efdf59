"""What tests of several jobs share: the app's endpoints, a collection of the example tickets."""

import inspect

import gradio as gr
import pytest

from sbert_app.ui.app import build_app
from tests.jobs.collection.made import make


@pytest.fixture(scope="session")
def built(shared_bench):
    """The app, whose functions are called without a server."""
    return build_app(shared_bench)


@pytest.fixture(scope="session")
def endpoints(built):
    """The function behind each endpoint."""
    return {function.api_name: function.fn for function in built.fns.values()}


@pytest.fixture(scope="session")
def send(endpoints):
    """Call an endpoint with these arguments, and its defaults for the others."""

    def sent(name, **values):
        parameters = inspect.signature(endpoints[name]).parameters
        given = [values.get(each, parameters[each].default) for each in parameters if each != "request"]
        answer = endpoints[name](gr.Request(), *given)
        return list(answer) if inspect.isgenerator(answer) else answer

    return sent


@pytest.fixture(scope="session")
def app_encoder(shared_bench):
    """The bundled encoder in the precision of the app on this machine."""
    return shared_bench.registry.encoder()


@pytest.fixture(scope="session")
def folder(tmp_path_factory, app_encoder):
    """A collection of 200 tickets."""
    make(folder := tmp_path_factory.mktemp("stores") / "tickets", app_encoder)
    return folder
