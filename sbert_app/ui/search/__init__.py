"""The Search tab: bring a corpus, search it by meaning."""
