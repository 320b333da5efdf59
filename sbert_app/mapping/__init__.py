"""The map as arrays: points on a plane, their clusters, and what these are about. Independent of any model."""
