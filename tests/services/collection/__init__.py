"""Tests of collections that are opened in the app."""
