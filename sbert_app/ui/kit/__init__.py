"""Shared by all tabs: html, templates, figures, events, uploads, endpoints. Imports no tab."""
