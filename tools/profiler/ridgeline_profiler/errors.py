"""What a user can cause: one clear line, and exit code 2."""


class UsageError(Exception):
    """Bad usage, configuration, input data or path."""


class DeviceLost(Exception):
    """The device answers no more; what was measured before is kept."""
