"""The map: points on a plane, groups of them, and what those groups are about. Arrays only; knows no model."""
