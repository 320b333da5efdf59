"""The Search tab: search the open corpus."""
