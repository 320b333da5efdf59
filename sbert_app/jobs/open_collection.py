"""The job open_collection: open a collection, which other jobs refer to by its id as they do to a corpus."""

from dataclasses import dataclass

from sbert_app.collections import open_collection, parse
from sbert_app.collections.collection import Collection, CollectionError
from sbert_app.collections.opened import OpenCollection, read_sample, reading
from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps
from sbert_app.jobs.declaring.option import option, text
from sbert_app.runtime import Session, Workbench
from sbert_app.runtime.sessions import ENDED
from sbert_app.settings import Settings
from sbert_app.step import Step
from sbert_app.tables import Table

OPENING = "opening"  # job name
KEY = "collection:"  # before the name of a listed collection in a page's address


@dataclass(frozen=True)
class OpenOptions:
    address: str = option(
        "Where the collection is: a folder, FILE.db/NAME or http://host:port/NAME. Hosted: the name of one that the app offers.",
        text("address"),
    )


def open_job(call: Call, options: OpenOptions) -> Steps:
    """Open a collection of embedded rows, and get its id for search, duplicates and cluster_map, which draws a sample of it.

    Returns:
        corpus (its id, which gives access to it), name, rows, sampled (rows of the sample), model, columns (of metadata), files,
        index, recall (at 10, of the index), recall_queries (the number of rows it was measured on, 0: not measured).
    """
    yield Step("Opening the collection")
    session = call.bench.sessions.open(call.stop.visitor)
    opened = open_address(call.bench, session, options.address)
    facts = opened.facts
    summary = {
        "corpus": session.id,
        "name": opened.name,
        "rows": opened.rows,
        "sampled": len(opened.sample.corpus),
        "model": facts.model,
        "columns": list(facts.columns),
        "files": len(facts.files),
        "index": facts.index,
        "recall": facts.recall,
        "recall_queries": facts.recall_queries,
    }
    yield Outcome(summary, [f"Collection '{opened.name}': {opened.rows:,} rows, {opened.index}, model {facts.model}."])


def open_address(bench: Workbench, session: Session, address: str) -> OpenCollection:
    """Open a collection, hosted only a listed one, with a sample as the session's corpus. UserError leaves what was open."""
    hosted, offered = bench.settings.hosted, listed(bench.settings)
    if not (text := validation.line(address, "address")):
        raise UserError("The address is blank. Type a folder, FILE.db/NAME or http://host:port/NAME.")
    if hosted and text not in offered:
        raise UserError(f"There is no collection of this name here. The collections are: {', '.join(offered) or 'none'}.")
    stop, name = session.begin(OPENING), text if text in offered else name_of(text)
    with reading(name, hosted):
        collection = open_collection(offered.get(text, text), bench.settings.store_token)
        try:
            _check_model(bench, name, collection)
            if not (rows := collection.count()):
                raise CollectionError(f"The collection '{name}' has no rows yet. Index files into it first.")
            key = text if text in offered else collection.address
            sample = read_sample(name, key, collection, rows)
            opened = OpenCollection(name, key, collection, rows, sample, text in offered, hosted)
            if not session.open(sample, stop, opened, without=Table):
                late = f"'{name}' was not opened, because another corpus was opened meanwhile."
                raise UserError(ENDED if session.closed else late)
        except BaseException:
            collection.close()
            raise
    return opened


def open_key(bench: Workbench, session: Session, key: str) -> bool:
    """Open the listed collection that a page's address names; False for anything else."""
    name = key.removeprefix(KEY)
    if key == name or name not in listed(bench.settings):  # a link must not make the app connect to an address of its choice
        return False
    try:
        open_address(bench, session, name)
    except UserError:
        return False
    return True


def key_of(opened: OpenCollection) -> str:
    """What a page's address remembers of a collection, "" if nothing opens it again."""
    return f"{KEY}{opened.name}" if opened.listed else ""


def listed(settings: Settings) -> dict[str, str]:
    """The addresses of the collections that the app offers, by name; a name that occurs again gets a number. Raises UserError."""
    named: dict[str, str] = {}
    for address in settings.collections:
        own = name_of(address)
        if settings.hosted and parse(address).is_local_milvus:  # which is for one process and one visitor
            raise UserError(
                f"SBERT_STUDIO_COLLECTIONS lists '{own}' in a Milvus Lite file, which a hosted app cannot offer. "
                "Name a folder or a Milvus server."
            )
        name, number = own, 2
        while name in named:
            name, number = f"{own} ({number})", number + 1
        named[name] = address
    return named


def name_of(address: str) -> str:
    """The last part of an address: the name of the collection, without host and folder."""
    return parse(address).name or address


def _check_model(bench: Workbench, name: str, collection: Collection) -> None:
    """Raise UserError unless the encoder that made the collection is here."""
    facts = collection.facts
    try:
        encoder = bench.registry.encoder(facts.model)
    except UserError as error:
        raise UserError(f"The collection '{name}' was made with '{facts.model}', which cannot be loaded: {error}") from None
    if encoder.fingerprint != facts.fingerprint:
        raise UserError(
            f"The collection '{name}' was made with other weights or another precision of '{facts.model}' than are used here "
            f"({encoder.hardware.precision}). Index its files again, or set SBERT_STUDIO_PRECISION to that of the collection."
        )


OPEN_COLLECTION = Job("open_collection", Needs.NOTHING, OpenOptions, open_job)
