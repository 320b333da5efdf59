"""The only exception whose text is shown to the user, and what is shown for all others."""

OUR_FAULT = "Something went wrong on our side; it has been logged."


class UserError(Exception):
    """An error the user can fix. Its text says what is wrong and what to do."""
