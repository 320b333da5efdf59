"""Why a score is what it is, and what it means. Works on arrays."""
