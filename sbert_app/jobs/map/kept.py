"""What a session has of a map: before it is drawn, the map, what is selected on it, the names that its visitor gave to clusters.

The same clustering has these names again; with a saved corpus they are on disk, beside how the clusters named last were chosen.
"""

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.library import Library
from sbert_app.corpus_map.colouring import CLUSTERS
from sbert_app.corpus_map.projecting import Points2D, fitted_rows
from sbert_app.corpus_map.result import NAME_LENGTH, CorpusMap
from sbert_app.corpus_map.selection import Selection
from sbert_app.errors import UserError
from sbert_app.jobs.search.open_corpus import Within
from sbert_app.mapping.projection import preview as first_points
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runtime import Session, Workbench
from sbert_app.runtime.examples import CALIBRATION_EXAMPLE
from sbert_app.storage import read_object, reading, write_object, writing

FILE = "cluster_names.json"  # in the folder of a saved corpus, and deleted with it
PREVIEW, SKETCH = "Preview", "Sketch"  # stages before a map is drawn
DRAWN_AT_ONCE = 20_000  # rows; a larger corpus is drawn when its visitor asks for it
MOST_CLUSTERINGS = 50  # of a visitor or a saved corpus: the oldest are forgotten first

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GivenNames:
    """The names by clustering, and by cluster."""

    by_clustering: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class MapColour:
    """What the session's map is coloured by, one of `colouring.choices`."""

    by: str = CLUSTERS
    of_corpus: ClassVar[bool] = True


@dataclass(frozen=True)
class DrawingBegun:
    """In the session while its corpus is drawn, so that opening the tab does not begin another drawing."""

    of_corpus: ClassVar[bool] = True


def mapped_corpus(bench: Workbench, session: Session, model: str = DEFAULT_ENCODER) -> IndexedCorpus:
    """The session's corpus, or the example tickets embedded with this model."""
    return session.get(IndexedCorpus) or bench.examples.indexed(CALIBRATION_EXAMPLE, bench.registry.encoder(model))


def own_model(session: Session, model: str) -> str:
    """The model of the session's map, else of its corpus; without both `model`, the header's, which embeds the example."""
    current, indexed = session.get(CorpusMap), session.get(IndexedCorpus)
    return current.model if current else indexed.model if indexed else model


def other_models(bench: Workbench, session: Session, model: str) -> list[str]:
    """The encoders to compare the map with: all available ones and `model`, the header's, except the map's own."""
    own = own_model(session, model)
    return [name for name in dict.fromkeys([*bench.registry.encoders(), model]) if name != own]


def preview(bench: Workbench, session: Session, model: str = DEFAULT_ENCODER) -> Points2D | None:
    """Two principal components of the open corpus, or of its static vectors while it is read; None if there is a map."""
    if session.get(CorpusMap) is not None:
        return None
    indexed = mapped_corpus(bench, session, model)
    vectors = indexed.growing.static.rows if indexed.growing else indexed.embeddings
    drawn = fitted_rows(len(vectors))
    return Points2D(SKETCH if indexed.growing else PREVIEW, drawn, first_points(vectors[drawn]))


def begins(session: Session) -> bool:
    """Whether to draw the open corpus now, without a click: once for each corpus of at most DRAWN_AT_ONCE rows."""
    indexed = session.get(IndexedCorpus)
    if indexed is None or indexed.growing or len(indexed.corpus) > DRAWN_AT_ONCE or session.get(CorpusMap) is not None:
        return False
    return session.swap(None, DrawingBegun())


def draws(session: Session) -> bool:
    """Whether the first map of the open corpus is being drawn."""
    return session.get(DrawingBegun) is not None and session.get(CorpusMap) is None


def current_map(session: Session) -> CorpusMap:
    """The session's map. Raises UserError if the open corpus has none yet."""
    return session.require(CorpusMap, "There is no map of this corpus yet. Draw it first.")


def colour(session: Session) -> str:
    """What the session's map is coloured by."""
    return (session.get(MapColour) or MapColour()).by


def current_selection(session: Session) -> Selection | None:
    """What is selected on the session's map."""
    selected, corpus_map = session.get(Selection), session.get(CorpusMap)
    if selected is None or corpus_map is None:
        return None
    return selected if selected.clustering is corpus_map.clustering else None  # else it is of a former map


def is_searched(session: Session, corpus_map: CorpusMap) -> bool:
    """Whether the Search tab searches the rows of this map: not for the example's map, and that of a sample of a collection."""
    return session.get(OpenCollection) is None and session.get(IndexedCorpus) is corpus_map.projection.indexed


def search_inside(session: Session) -> None:
    """Search only the rows that are selected on the map, from now on. Raises UserError if none are."""
    selected, corpus_map = current_selection(session), current_map(session)
    if selected is None or not len(selected.rows) or not is_searched(session, corpus_map):
        raise UserError("Nothing of the open corpus is selected on the map. Choose a cluster or draw around points first.")
    indexed = corpus_map.projection.indexed
    among = np.zeros(len(indexed.corpus), bool)
    among[selected.rows] = True
    session.put(Within(replace(indexed, among=among), selected.title(corpus_map)))


def named(library: Library, session: Session, corpus_map: CorpusMap) -> CorpusMap:
    """The map with the names that its clusters were given before."""
    earlier, key = session.get(GivenNames) or GivenNames(), _key(corpus_map)
    names = earlier.by_clustering.get(key, _saved(library, corpus_map.projection.indexed)[0].get(key, {}))
    numbers = {str(number) for number in range(corpus_map.clustering.count)}
    return replace(corpus_map, given_names={int(n): name[:NAME_LENGTH] for n, name in names.items() if n in numbers})


def keep_names(library: Library, session: Session, corpus_map: CorpusMap) -> None:
    """Keep the names of a map. Raises UserError if the disk is full."""
    given = {_key(corpus_map): {str(number): name for number, name in corpus_map.given_names.items()}}
    session.put(GivenNames(_newest((session.get(GivenNames) or GivenNames()).by_clustering, given)))
    indexed = corpus_map.projection.indexed
    folder = library.folder / indexed.saved_id
    if folder != library.folder and folder.is_dir():  # else it is not saved, or deleted meanwhile
        names, grouping = _newest(_saved(library, indexed)[0], given), corpus_map.grouping if corpus_map.given_names else ()
        with writing("The names of the clusters"):
            write_object(folder / FILE, {"names": names, "grouping": grouping})


def last_grouping(library: Library, indexed: IndexedCorpus) -> list[Any]:
    """How the clusters of a saved corpus were chosen that were named last: method and number, as they were typed; else nothing."""
    return _saved(library, indexed)[1]


def _saved(library: Library, indexed: IndexedCorpus) -> tuple[dict[str, dict[str, str]], list[Any]]:
    """The names with the saved corpus, and `last_grouping`; none if their file is damaged."""
    if not (path := library.folder / indexed.saved_id / FILE).is_file():
        return {}, []
    try:
        with reading("The file of cluster names", "Name the clusters again."):
            content = read_object(path)
            names = {key: {str(n): str(name) for n, name in given.items()} for key, given in content["names"].items()}
            return names, list(content.get("grouping", ()))
    except UserError as error:
        log.warning("%s", error)
        return {}, []


def _newest(kept: Mapping[str, Mapping[str, str]], given: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    others = {key: names for key, names in kept.items() if key not in given}
    return dict([*others.items(), *given.items()][-MOST_CLUSTERINGS:])


def _key(corpus_map: CorpusMap) -> str:
    """A digest of the sentences and their clusters."""
    digest = hashlib.blake2b(corpus_map.clustering.labels.tobytes(), digest_size=12)
    digest.update("\0".join(corpus_map.projection.indexed.corpus.sentences).encode(errors="surrogatepass"))
    return digest.hexdigest()
