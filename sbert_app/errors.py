"""The errors whose text is shown to the user: their own, and the one that stands for all others."""

OUR_FAULT = "Something went wrong on our side; it has been logged under the number"


class UserError(Exception):
    """An error the user can fix. Its text says what is wrong and what to do."""


class EndedEarlyError(UserError):
    """A job was ended before it was done. Its text says why."""


class FaultError(Exception):
    """A fault of ours, without any detail of the error that caused it. number: finds that error in the log."""

    def __init__(self, number: str) -> None:
        super().__init__(f"{OUR_FAULT} {number}.")
