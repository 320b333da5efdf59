"""Labels made here: which pairs of a corpus are asked, what was answered, and what follows from it."""
