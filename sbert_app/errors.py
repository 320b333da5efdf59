"""The only exception whose text is shown to the user."""


class UserError(Exception):
    """An error the user can fix. Its text says what is wrong and what to do."""
