"""The one kind of error that is shown to a person as it stands."""


class UserError(Exception):
    """A mistake the user can mend. Its text names the thing and the way out."""
