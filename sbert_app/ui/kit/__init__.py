"""Shared by all tabs: html, figures, events, files, long jobs, endpoints, what is taken home. Imports no tab."""
